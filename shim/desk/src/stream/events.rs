//! The events of one client: first a full image, then changes. Never: a permit's bounds, a connection.

use super::image::{ClientImage, number};
use super::metrics::MetricsImage;
use super::permit::{NUMBERS_OF_ONE, StreamPermit};
use crate::alerts::log::{AlertHit, AlertLog};
use crate::positions::desk::PositionDesk;
use crate::positions::texts::LevelEvent;
use crate::positions::valued::ValuedBook;
use api::metrics::{NameRows, RowInputs};
use api::picked::Picked;
use api::refusal::Refusal;
use api::rows::binary;
use api::rows::clock::Stamp;
use api::rows::number::{Print, push_as};
use api::selection::Selection;
use api::selection::select;
use api::selection::unserved::unserved;
use api::vendors::native_stream::{RowForm, StreamField, StreamRequest, StreamedMetrics};
use arc_swap::ArcSwap;
use engine::closes::Closes;
use engine::exercise;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Slice};
use http::limits::PIECE_BYTES;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kernel::calendar::Calendar;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{ContractKey, RootTable, Symbol};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Size at which an event ends, bytes; a longer update is several events.
const EVENT: usize = 48 * 1024;

/// Hears of the names that a stream shows, each time that it looks for changes: they are computed before others.
#[derive(Clone)]
pub struct NamesShown(pub Arc<dyn Fn(Symbol) + Send + Sync>);

impl fmt::Debug for NamesShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NamesShown")
    }
}

/// Data of events.
#[derive(Clone, Debug)]
pub struct EventSources {
    /// Published snapshots.
    pub market: Arc<ArcSwap<Snapshot>>,
    /// Closes of earlier sessions.
    pub closes: Arc<ArcSwap<Closes>>,
    /// Metrics of names, for all who ask.
    pub rows: Arc<NameRows>,
    /// The calendar of the market.
    pub calendar: Calendar,
    /// Index roots.
    pub roots: Arc<RootTable>,
    /// Positions and their values.
    pub positions: Arc<PositionDesk>,
    /// Hits of alert rules.
    pub alerts: Arc<AlertLog>,
    /// Time zone of shown times.
    pub zone: TimeZone,
    /// Hears of the names of contracts and metrics.
    pub shown: NamesShown,
    /// Random number of this run of the daemon.
    pub run: u64,
}

/// The events of a client, one after the other, in one of the forms of [`Wire`].
pub(super) struct Events {
    request: StreamRequest,
    wire: Wire,
    sources: EventSources,
    permit: StreamPermit,
    image: ClientImage,
    /// Snapshot that the client has in full.
    seen: Option<u64>,
    /// Snapshot that the client had before it connected again.
    resumed: Option<u64>,
    update: Option<StreamUpdate>,
    updates: u64,
    /// Earliest time of the next update.
    next_at: Instant,
    positions: SentPositions,
    metrics: MetricsImage,
    /// Number of the last alert that was taken, and hits to send.
    alert: u64,
    hits: VecDeque<AlertHit>,
}

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// Server-sent events, one behind the other.
    Lines,
    /// A JSON object for each event, and for one with rows the form that is requested.
    Messages,
}

/// One step of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A piece of an event was written.
    Piece {
        /// True for an Arrow stream.
        is_binary: bool,
        /// True if the event ends with it.
        is_last: bool,
    },
    /// There is nothing new.
    Nothing,
    /// Too many contracts have been listed since the stream began.
    Outgrown,
    /// The rest of an event was taken away, as the client is too slow, or cannot be written.
    Broken,
}

/// An event that is written whole.
const WHOLE: Step = Step::Piece { is_binary: false, is_last: true };

/// Positions that a client was sent.
#[derive(Default)]
struct SentPositions {
    /// Last book that was compared.
    looked: Weak<ValuedBook>,
    /// Hash of the last rows that were sent.
    digest: Option<u64>,
    /// Event that is being sent, and the number of bytes sent.
    sending: Option<(Arc<LevelEvent>, usize)>,
}

/// An update that is being sent. It holds the chains that it sends, and no snapshot: a slow reader of a few names would
/// hold the market.
struct StreamUpdate {
    /// Number and time of the snapshot.
    snapshot: (u64, Timestamp),
    picked: Vec<Picked>,
    /// Chains whose columns of early exercise may have to be computed before they are compared.
    late: Vec<Arc<Chain>>,
    /// Indices of the next chain and slice.
    at: (usize, usize),
    missed: u64,
    is_full: bool,
}

impl Events {
    /// Events of a client that has requested nothing yet.
    pub(super) fn new(wire: Wire, last: Option<&str>, sources: EventSources, permit: StreamPermit) -> Self {
        // an id of another run of the daemon has nothing to do with the snapshots of this one
        let run = sources.run;
        let of_this_run = |id: &str| id.strip_prefix(&run_prefix(run))?.parse().ok();
        Self {
            request: StreamRequest::default(),
            wire,
            permit,
            image: ClientImage::default(),
            seen: None,
            resumed: last.and_then(of_this_run),
            update: None,
            updates: 0,
            next_at: Instant::now(),
            positions: SentPositions::default(),
            metrics: MetricsImage::default(),
            alert: sources.alerts.last(),
            hits: VecDeque::new(),
            sources,
        }
    }

    /// Begins with a request, or goes on with another, from its image on. Returns names that are not served. Call it
    /// between two events.
    ///
    /// # Errors
    /// Nothing of the selection has been computed yet, or it has too many rows, alone or together with other streams.
    /// The request before then stays.
    pub(super) fn request(&mut self, request: StreamRequest) -> Result<Option<String>, Refusal> {
        let mut missing = None;
        let mut numbers = 0;
        if let Some(selection) = &request.selection {
            let market = self.sources.market.load();
            missing = unserved(&market, selection);
            let rows: usize = select(&market, selection)?.iter().map(Picked::count).sum();
            // the name of a row counts as one number
            numbers = rows.saturating_mul(request.fields.len() + 1);
        }
        if let Some(metrics) = &request.metrics {
            let market = self.sources.market.load();
            let names = Selection { underlyings: metrics.names.clone(), ..Selection::default() };
            missing = missing.or(unserved(&market, &names));
        }
        numbers = numbers.saturating_add(metrics_numbers(&request));
        if numbers > NUMBERS_OF_ONE {
            return Err(Refusal::Conflict {
                reason: "more than a million numbers in one stream: name fewer underlyings, expiries or fields",
            });
        }
        // counted before anything is sent, since a slow reader holds it for long
        let before = self.permit.numbers();
        if !self.permit.holds(numbers) {
            self.permit.holds(before);
            return Err(Refusal::Busy);
        }
        if !self.request.alerts {
            self.alert = self.sources.alerts.last();
        }
        self.request = request;
        (self.image, self.metrics) = (ClientImage::default(), MetricsImage::default());
        (self.resumed, self.seen, self.update, self.updates) = (self.resumed.or(self.seen), None, None, 0);
        (self.next_at, self.positions) = (Instant::now(), SentPositions::default());
        Ok(missing)
    }

    /// Appends the next event, or a piece of it.
    pub(super) fn step(&mut self, out: &mut Vec<u8>) -> Step {
        // nothing may come between the pieces of an event
        if self.positions.sending.is_some() {
            return self.send_positions(out);
        }
        if self.send_alert(out) {
            return WHOLE;
        }
        let now = Instant::now();
        if self.update.is_none() && now >= self.next_at {
            self.next_at = now + self.request.every;
            self.say_shown();
            self.begin_positions();
            self.begin_update();
            self.begin_metrics();
        }
        if self.positions.sending.is_some() {
            return self.send_positions(out);
        }
        if self.send_metrics(out) {
            return WHOLE;
        }
        if self.update.is_none() { Step::Nothing } else { self.send_update(out) }
    }

    /// Says which names the client waits for.
    fn say_shown(&self) {
        let selected = self.request.selection.iter().flat_map(|selection| selection.names());
        let measured = self.request.metrics.iter().flat_map(|metrics| metrics.names.iter().copied());
        let roots = &self.sources.roots;
        selected.chain(measured).for_each(|name| (self.sources.shown.0)(roots.underlying_of(name)));
    }

    /// Begins an update if there is a newer snapshot than that of the client.
    fn begin_update(&mut self) {
        let Some(selection) = &self.request.selection else { return };
        let snapshot = self.sources.market.load_full();
        if self.seen == Some(snapshot.number) {
            return;
        }
        // names may be gone for a moment: the client keeps its rows
        let Ok(picked) = select(&snapshot, selection) else { return };
        let before = self.seen.or(self.resumed);
        let missed = before.map_or(0, |before| snapshot.number.saturating_sub(before).saturating_sub(1));
        self.permit.missed(missed);
        self.updates = self.updates.wrapping_add(1);
        let is_full = self.seen.is_none();
        let has_late = self.request.fields.iter().any(|field| field.is_late());
        let late = picked.iter().filter(|_| has_late).map(|of| Arc::clone(&of.chain)).collect();
        let snapshot = (snapshot.number, snapshot.time);
        self.update = Some(StreamUpdate { snapshot, picked, late, at: (0, 0), missed, is_full });
    }

    /// Appends the next event of the running update, if there is one.
    fn send_update(&mut self, out: &mut Vec<u8>) -> Step {
        let Some(update) = &mut self.update else { return Step::Nothing };
        // a chain takes the time of many rows: one in each step
        while let Some(chain) = update.late.pop() {
            if exercise::fill(&chain) {
                return Step::Nothing;
            }
        }
        let is_binary = self.wire == Wire::Messages && self.request.form == RowForm::Arrow;
        let mut rows = if is_binary { EventRows::Table(Vec::new()) } else { EventRows::Text(Vec::new()) };
        let mut gone: Vec<ContractKey> = Vec::new();
        let (fields, min_move) = (&self.request.fields, self.request.min_move);
        while rows.bytes(fields) < EVENT {
            let Some(picked) = update.picked.get(update.at.0) else { break };
            let Some(slice) = picked.chain.slices.get(update.at.1) else {
                update.at = (update.at.0 + 1, 0);
                continue;
            };
            update.at.1 += 1;
            let chain = &picked.chain;
            let change = self.image.take(chain, slice, picked.rows_of(slice), fields, min_move, self.updates);
            gone.extend(change.gone);
            rows.push(chain, slice, &change.changed, fields);
        }
        let more = update.at.0 < update.picked.len();
        if !more {
            gone.extend(self.image.end(self.updates));
        }
        let ((number, time), is_full, missed) = (update.snapshot, update.is_full, update.missed);
        // an update without changes is not sent, except the image that every client begins with
        if rows.is_empty() && gone.is_empty() && !is_full {
            return self.finish(number).unwrap_or(Step::Nothing);
        }
        let at = Stamp::EasternOffsetMillis.text(&time.to_zoned_datetime(self.sources.zone.clone()));
        let name = if is_full { "image" } else { "update" };
        let id = (!more).then(|| format!("{}{number}", run_prefix(self.sources.run)));
        let facts = format!("\"snapshot\":{number},\"time\":\"{at}\",\"missed\":{missed},\"more\":{more},");
        match rows {
            EventRows::Text(rows) => {
                self.wire.open(out, name, id.as_deref());
                out.extend_from_slice(facts.as_bytes());
                out.extend_from_slice(b"\"rows\":[");
                out.extend_from_slice(&rows);
                out.extend_from_slice(b"],");
                push_gone(out, &gone);
                self.wire.close(out);
            }
            EventRows::Table(picked) => {
                let mut about = Vec::new();
                self.wire.open(&mut about, name, id.as_deref());
                about.extend_from_slice(facts.as_bytes());
                push_gone(&mut about, &gone);
                self.wire.close(&mut about);
                let about = String::from_utf8_lossy(&about).into_owned();
                if binary::push_rows(fields.iter().map(|field| field.name()), about, &picked, out).is_err() {
                    return Step::Broken;
                }
            }
        }
        if !more && let Some(end) = self.finish(number) {
            return end;
        }
        Step::Piece { is_binary, is_last: true }
    }

    /// Ends an update; the end of the stream, if its image is too large by now.
    fn finish(&mut self, number: u64) -> Option<Step> {
        (self.update, self.seen, self.resumed) = (None, Some(number), None);
        let numbers = self.image.len().saturating_add(metrics_numbers(&self.request));
        (!self.permit.holds(numbers)).then_some(Step::Outgrown)
    }

    /// Finds the metrics that have changed.
    fn begin_metrics(&mut self) {
        let Some(wanted) = &self.request.metrics else { return };
        let EventSources { market, closes, rows, calendar, roots, .. } = &self.sources;
        let (market, closes) = (market.load(), closes.load());
        self.metrics.look(wanted, &market, rows, RowInputs { closes: &closes, calendar, roots });
    }

    /// Appends an event with changed metrics, if there are any.
    fn send_metrics(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(rows) = self.metrics.next(EVENT) else { return false };
        self.wire.open(out, "metrics", None);
        out.extend_from_slice(format!("\"more\":{},\"rows\":[{rows}]", self.metrics.has_more()).as_bytes());
        self.wire.close(out);
        true
    }

    /// Begins to send the positions if they have changed.
    fn begin_positions(&mut self) {
        let Some(level) = self.request.positions else { return };
        let (book, sent) = (self.sources.positions.valued(), &mut self.positions);
        if Weak::as_ptr(&sent.looked) == Arc::as_ptr(&book) {
            return;
        }
        sent.looked = Arc::downgrade(&book);
        let event = self.sources.positions.event(&book, level);
        if sent.digest.replace(event.digest) != Some(event.digest) {
            sent.sending = Some((event, 0));
        }
    }

    /// Appends the next piece of the positions.
    fn send_positions(&mut self, out: &mut Vec<u8>) -> Step {
        let Some((event, start)) = self.positions.sending.take() else { return Step::Nothing };
        // the text was taken away because the client is too slow; it may connect again
        let Some(text) = event.text() else { return Step::Broken };
        if start == 0 {
            self.wire.open(out, "positions", None);
        }
        // the object is opened and closed by the event
        let (start, end) = (start.max(1), text.len() - 1);
        let piece = end.min(start + PIECE_BYTES);
        out.extend_from_slice(&text[start..piece]);
        let is_last = piece == end;
        if is_last {
            self.wire.close(out);
        } else {
            self.positions.sending = Some((event, piece));
        }
        Step::Piece { is_binary: false, is_last }
    }

    /// Appends an alert, if there is one.
    fn send_alert(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.request.alerts {
            return false;
        }
        if self.hits.is_empty() {
            let (last, hits) = self.sources.alerts.since(self.alert);
            self.alert = last;
            self.hits.extend(hits);
        }
        let Some(hit) = self.hits.pop_front() else { return false };
        self.wire.open(out, "alert", None);
        let text = hit.json();
        out.extend_from_slice(text.trim_start_matches('{').trim_end_matches('}').as_bytes());
        self.wire.close(out);
        true
    }
}

impl Wire {
    /// Begins an event and its object.
    fn open(self, out: &mut Vec<u8>, name: &str, id: Option<&str>) {
        let text = match (self, id) {
            (Self::Lines, None) => format!("event: {name}\ndata: {{"),
            (Self::Lines, Some(id)) => format!("event: {name}\nid: {id}\ndata: {{"),
            (Self::Messages, None) => format!("{{\"event\":\"{name}\","),
            (Self::Messages, Some(id)) => format!("{{\"event\":\"{name}\",\"id\":\"{id}\","),
        };
        out.extend_from_slice(text.as_bytes());
    }

    /// Ends an event and its object.
    fn close(self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self {
            Self::Lines => b"}\n\n",
            Self::Messages => b"}",
        });
    }
}

/// The rows of an event.
enum EventRows {
    /// Objects, with commas between them.
    Text(Vec<u8>),
    /// Rows of chains, for a table.
    Table(Vec<Picked>),
}

impl EventRows {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Table(picked) => picked.is_empty(),
        }
    }

    /// Approximate bytes of the event.
    fn bytes(&self, fields: &[StreamField]) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Table(picked) => {
                let rows: usize = picked.iter().map(Picked::count).sum();
                rows.saturating_mul(binary::row_bytes(fields.len()))
            }
        }
    }

    /// Appends rows of a slice.
    fn push(&mut self, chain: &Arc<Chain>, slice: &Slice, changed: &[usize], fields: &[StreamField]) {
        match self {
            Self::Text(text) => changed.iter().for_each(|&row| push_row(text, chain, slice, row, fields)),
            Self::Table(picked) => {
                if picked.last().is_none_or(|last| !Arc::ptr_eq(&last.chain, chain)) {
                    picked.push(Picked { chain: Arc::clone(chain), rows: Vec::new() });
                }
                let Some(last) = picked.last_mut() else { return };
                for row in changed.iter().filter_map(|&row| u32::try_from(row).ok()) {
                    match last.rows.last_mut().filter(|range| range.end == row) {
                        Some(range) => range.end += 1,
                        None => last.rows.push(row..row + 1),
                    }
                }
                picked.retain(|picked| !picked.rows.is_empty());
            }
        }
    }
}

fn push_row(out: &mut Vec<u8>, chain: &Chain, slice: &Slice, row: usize, fields: &[StreamField]) {
    out.extend_from_slice(if out.is_empty() { b"{\"osym\":" } else { b",{\"osym\":" });
    push_osym(out, &slice.contract(chain.strike_milli[row], chain.right[row]));
    for field in fields {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(field.name().as_bytes());
        out.extend_from_slice(b"\":");
        let x = number(*field, chain, slice, row);
        if x.is_finite() {
            push_as(out, x, Print::UpTo(6));
        } else {
            out.extend_from_slice(b"null");
        }
    }
    out.push(b'}');
}

fn push_gone(out: &mut Vec<u8>, gone: &[ContractKey]) {
    out.extend_from_slice(b"\"gone\":[");
    for (n, key) in gone.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        push_osym(out, key);
    }
    out.push(b']');
}

fn push_osym(out: &mut Vec<u8>, key: &ContractKey) {
    let mut osi = [0; OSI_LEN];
    key.write_padded(&mut osi);
    out.push(b'"');
    out.extend_from_slice(&osi);
    out.push(b'"');
}

/// Numbers that the metrics of a request count as: their text is kept, which takes as much as three.
fn metrics_numbers(request: &StreamRequest) -> usize {
    let of = |metrics: &StreamedMetrics| {
        metrics.columns.len().saturating_add(1).saturating_mul(3).saturating_mul(metrics.names.len())
    };
    request.metrics.as_ref().map_or(0, of)
}

/// Prefix of the ids of a run of the daemon.
fn run_prefix(run: u64) -> String {
    format!("{run:x}-")
}
