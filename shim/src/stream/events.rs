//! The events of one stream: a full image first, then what has changed, heartbeats in between.

use super::image::{ClientImage, number};
use super::permit::{NUMBERS_OF_ONE, StreamPermit};
use crate::alerts::log::AlertLog;
use crate::positions::answer::rows as position_rows;
use crate::positions::desk::PositionDesk;
use api::picked::Picked;
use api::refusal::Refusal;
use api::rows::clock::Stamp;
use api::rows::frame::Format;
use api::rows::heading::Heading;
use api::rows::number::{Print, push_as};
use api::rows::table::write;
use api::selection::select;
use api::vendors::native_positions::{COLUMNS, PositionRequest};
use api::vendors::native_stream::StreamRequest;
use arc_swap::ArcSwap;
use engine::snapshot::Snapshot;
use http::{Progress, Stream};
use jiff::tz::TimeZone;
use kernel::contract::ContractKey;
use kernel::contract::osi::OSI_LEN;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A client hears at least so often that it is still connected.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// About how many bytes an event has at most; a longer update is several events.
const EVENT: usize = 48 * 1024;
/// Most rows of positions that are sent at once.
const POSITION_ROWS: usize = 5_000;

/// What events are made of.
#[derive(Clone, Debug)]
pub struct EventSources {
    /// The market.
    pub market: Arc<ArcSwap<Snapshot>>,
    /// The positions.
    pub positions: Arc<PositionDesk>,
    /// Hits of alert rules.
    pub alerts: Arc<AlertLog>,
    /// The zone of times.
    pub zone: TimeZone,
    /// Differs from run to run of the daemon.
    pub run: u64,
}

/// A stream of events.
pub struct EventStream {
    request: StreamRequest,
    sources: EventSources,
    permit: StreamPermit,
    image: ClientImage,
    /// The client has a full image, of this snapshot.
    seen: Option<u64>,
    /// The snapshot that a client names which connects again.
    resumed: Option<u64>,
    update: Option<StreamUpdate>,
    updates: u64,
    /// When the next update may begin.
    next_at: Instant,
    beat_at: Instant,
    /// The snapshot and the text of the positions that were last sent.
    positions: (u64, Vec<u8>),
    /// The last alert that was sent.
    alert: u64,
    ended: bool,
}

/// An update that is being sent.
struct StreamUpdate {
    snapshot: Arc<Snapshot>,
    picked: Vec<Picked>,
    /// Next chain and slice.
    at: (usize, usize),
    missed: u64,
    is_full: bool,
}

impl EventStream {
    /// A stream; nothing is sent yet.
    ///
    /// # Errors
    /// Nothing of what is named has been computed yet, or it has too many rows.
    pub fn begin(
        request: StreamRequest,
        last: Option<&str>,
        sources: EventSources,
        permit: StreamPermit,
    ) -> Result<Self, Refusal> {
        if let Some(selection) = &request.selection {
            let picked = select(&sources.market.load(), selection)?;
            let rows: usize = picked.iter().map(Picked::count).sum();
            if rows.saturating_mul(request.fields.len()) > NUMBERS_OF_ONE {
                return Err(Refusal::Conflict {
                    reason: "more than a million numbers in one stream: name fewer underlyings, expiries or fields",
                });
            }
        }
        // an id of another run of the daemon says nothing about this one's snapshots
        let run = sources.run;
        let of_this_run = |id: &str| id.strip_prefix(&run_prefix(run))?.parse().ok();
        let now = Instant::now();
        let alert = sources.alerts.last();
        Ok(Self {
            request,
            sources,
            permit,
            image: ClientImage::default(),
            seen: None,
            resumed: last.and_then(of_this_run),
            update: None,
            updates: 0,
            next_at: now,
            beat_at: now + HEARTBEAT,
            positions: (0, Vec::new()),
            alert,
            ended: false,
        })
    }

    /// Begins an update where there is something newer than what the client has.
    fn begin_update(&mut self) {
        let Some(selection) = &self.request.selection else { return };
        let snapshot = self.sources.market.load_full();
        if self.seen == Some(snapshot.number) {
            return;
        }
        // names that are gone for a moment leave the client with what it has
        let Ok(picked) = select(&snapshot, selection) else { return };
        let before = self.seen.or(self.resumed);
        let missed = before.map_or(0, |before| snapshot.number.saturating_sub(before).saturating_sub(1));
        self.permit.missed(missed);
        self.updates = self.updates.wrapping_add(1);
        let is_full = self.seen.is_none();
        self.update = Some(StreamUpdate { snapshot, picked, at: (0, 0), missed, is_full });
    }

    /// Appends one event of the update in the making; true if anything was appended.
    fn send_update(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(update) = &mut self.update else { return false };
        let mut rows: Vec<u8> = Vec::new();
        let mut gone: Vec<ContractKey> = Vec::new();
        let (fields, min_move) = (&self.request.fields, self.request.min_move);
        while rows.len() < EVENT {
            let Some(picked) = update.picked.get(update.at.0) else { break };
            let Some(slice) = picked.chain.slices.get(update.at.1) else {
                update.at = (update.at.0 + 1, 0);
                continue;
            };
            update.at.1 += 1;
            let chain = &picked.chain;
            let change = self.image.take(chain, slice, picked.rows_of(slice), fields, min_move, self.updates);
            gone.extend(change.gone);
            for row in change.changed {
                let key = slice.contract(chain.strike_milli[row], chain.right[row]);
                rows.extend_from_slice(if rows.is_empty() { b"{\"osym\":" } else { b",{\"osym\":" });
                push_osym(&mut rows, &key);
                for field in fields {
                    rows.extend_from_slice(b",\"");
                    rows.extend_from_slice(field.name().as_bytes());
                    rows.extend_from_slice(b"\":");
                    let x = number(*field, chain, slice, row);
                    if x.is_finite() {
                        push_as(&mut rows, x, Print::UpTo(6));
                    } else {
                        rows.extend_from_slice(b"null");
                    }
                }
                rows.push(b'}');
            }
        }
        let more = update.at.0 < update.picked.len();
        if !more {
            gone.extend(self.image.end(self.updates));
        }
        let (number, is_full, missed) = (update.snapshot.number, update.is_full, update.missed);
        let is_empty = rows.is_empty() && gone.is_empty();
        // an update in which nothing has changed is none, but for the image that every client begins with
        if is_empty && (more || !is_full) {
            if !more {
                self.finish(number);
            }
            return false;
        }
        let at = update.snapshot.time.to_zoned(self.sources.zone.clone());
        out.extend_from_slice(if is_full { b"event: image\n" } else { b"event: update\n" });
        if !more {
            out.extend_from_slice(format!("id: {}{number}\n", run_prefix(self.sources.run)).as_bytes());
        }
        let head = format!(
            "data: {{\"snapshot\":{number},\"time\":\"{}\",\"missed\":{missed},\"more\":{more},\"rows\":[",
            Stamp::EasternOffsetMillis.text(&at)
        );
        out.extend_from_slice(head.as_bytes());
        out.append(&mut rows);
        out.extend_from_slice(b"],\"gone\":[");
        for (n, key) in gone.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            push_osym(out, key);
        }
        out.extend_from_slice(b"]}\n\n");
        if !more {
            self.finish(number);
        }
        true
    }

    fn finish(&mut self, number: u64) {
        (self.update, self.seen, self.resumed) = (None, Some(number), None);
        if !self.permit.holds(self.image.len()) {
            // many contracts were listed since the stream began
            self.ended = true;
        }
    }

    /// Appends the positions where they have changed.
    fn send_positions(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(level) = self.request.positions else { return false };
        let valued = self.sources.positions.valued();
        let (snapshot, before) = &self.positions;
        if valued.snapshot == *snapshot && !before.is_empty() {
            return false;
        }
        let request = PositionRequest {
            levels: vec![level],
            accounts: Vec::new(),
            underlyings: Vec::new(),
            index: None,
            format: Format::Json,
            table: None,
        };
        let mut rows = position_rows(&valued, &request);
        let is_cut = rows.len() > POSITION_ROWS;
        rows.truncate(POSITION_ROWS);
        let text = write(Format::Json, &Heading::default(), COLUMNS, &rows);
        let has_changed = text != *before;
        self.positions = (valued.snapshot, text);
        if !has_changed {
            return false;
        }
        let head = format!("event: positions\ndata: {{\"snapshot\":{},\"cut\":{is_cut},\"rows\":", valued.snapshot);
        out.extend_from_slice(head.as_bytes());
        // a line feed would end the field
        out.extend(self.positions.1.iter().filter(|&&byte| byte != b'\n'));
        out.extend_from_slice(b"}\n\n");
        true
    }

    /// Appends the alerts that have come.
    fn send_alerts(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.request.alerts {
            return false;
        }
        let (last, hits) = self.sources.alerts.since(self.alert);
        self.alert = last;
        for hit in &hits {
            out.extend_from_slice(b"event: alert\ndata: ");
            out.extend_from_slice(hit.json().as_bytes());
            out.extend_from_slice(b"\n\n");
        }
        !hits.is_empty()
    }
}

impl Stream for EventStream {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        if self.ended {
            return Progress::Done;
        }
        let now = Instant::now();
        let mut sent = false;
        if self.seen.is_none() && self.update.is_none() && self.updates == 0 {
            // a browser waits this long before it connects again
            out.extend_from_slice(b"retry: 2000\n\n");
            sent = true;
        }
        sent |= self.send_alerts(out);
        if self.update.is_none() && now >= self.next_at {
            self.next_at = now + self.request.every;
            sent |= self.send_positions(out);
            self.begin_update();
            // a stream without contracts begins only once
            self.updates = self.updates.max(1);
        }
        if self.update.is_some() {
            sent |= self.send_update(out);
        }
        if !sent && now >= self.beat_at {
            out.extend_from_slice(b": heartbeat\n\n");
            sent = true;
        }
        if sent {
            self.beat_at = now + HEARTBEAT;
        }
        if self.update.is_some() || sent { Progress::More } else { Progress::Later }
    }
}

fn push_osym(out: &mut Vec<u8>, key: &ContractKey) {
    let mut osi = [0; OSI_LEN];
    key.write_padded(&mut osi);
    out.push(b'"');
    out.extend_from_slice(&osi);
    out.push(b'"');
}

/// What ids of this run of the daemon begin with.
fn run_prefix(run: u64) -> String {
    format!("{run:x}-")
}
