//! The events of one stream: first a full image, then changes, with heartbeats in between. Never: a permit.

use super::image::{ClientImage, number};
use super::permit::{NUMBERS_OF_ONE, StreamPermit};
use crate::alerts::log::AlertLog;
use crate::positions::desk::PositionDesk;
use crate::positions::texts::LevelEvent;
use crate::positions::valued::ValuedBook;
use api::picked::Picked;
use api::refusal::Refusal;
use api::rows::clock::Stamp;
use api::rows::number::{Print, push_as};
use api::selection::select;
use api::vendors::native_stream::StreamRequest;
use arc_swap::ArcSwap;
use engine::snapshot::Snapshot;
use host::faults;
use http::stream::PIECE_BYTES;
use http::{Progress, Stream};
use jiff::tz::TimeZone;
use kernel::contract::ContractKey;
use kernel::contract::osi::OSI_LEN;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Maximum time without an event; a heartbeat then shows that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Size at which an event ends, bytes; a longer update is several events.
const EVENT: usize = 48 * 1024;

/// Data of events.
#[derive(Clone, Debug)]
pub struct EventSources {
    /// Published snapshots.
    pub market: Arc<ArcSwap<Snapshot>>,
    /// Positions and their values.
    pub positions: Arc<PositionDesk>,
    /// Hits of alert rules.
    pub alerts: Arc<AlertLog>,
    /// Time zone of shown times.
    pub zone: TimeZone,
    /// Random number of this run of the daemon.
    pub run: u64,
}

/// A stream of events.
pub struct EventStream {
    request: StreamRequest,
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
    beat_at: Instant,
    positions: SentPositions,
    /// Number of the last alert that was sent.
    alert: u64,
    ended: bool,
}

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

/// An update that is being sent.
struct StreamUpdate {
    snapshot: Arc<Snapshot>,
    picked: Vec<Picked>,
    /// Indices of the next chain and slice.
    at: (usize, usize),
    missed: u64,
    is_full: bool,
}

impl EventStream {
    /// Begins a stream, without sending anything.
    ///
    /// # Errors
    /// Nothing of the selection has been computed yet, or it has too many rows, alone or together with other streams.
    pub fn begin(
        request: StreamRequest,
        last: Option<&str>,
        sources: EventSources,
        mut permit: StreamPermit,
    ) -> Result<Self, Refusal> {
        if let Some(selection) = &request.selection {
            let picked = select(&sources.market.load(), selection)?;
            let rows: usize = picked.iter().map(Picked::count).sum();
            // the name of a row counts as one number
            let numbers = rows.saturating_mul(request.fields.len() + 1);
            if numbers > NUMBERS_OF_ONE {
                return Err(Refusal::Conflict {
                    reason: "more than a million numbers in one stream: name fewer underlyings, expiries or fields",
                });
            }
            // counted before anything is sent, since a slow reader holds it for long
            if !permit.holds(numbers) {
                return Err(Refusal::Busy);
            }
        }
        // an id of another run of the daemon has nothing to do with the snapshots of this one
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
            positions: SentPositions::default(),
            alert,
            ended: false,
        })
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
        self.update = Some(StreamUpdate { snapshot, picked, at: (0, 0), missed, is_full });
    }

    /// Appends the next event of the running update; true if anything was appended.
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
        // an update without changes is not sent, except the image that every client begins with
        if is_empty && (more || !is_full) {
            if !more {
                self.finish(number);
            }
            return false;
        }
        let at = update.snapshot.time.to_zoned_datetime(self.sources.zone.clone());
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
            // too many contracts have been listed since the stream began
            self.ended = true;
        }
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

    /// Appends the next piece of the positions; true if there was one.
    fn send_positions(&mut self, out: &mut Vec<u8>) -> bool {
        let Some((event, start)) = self.positions.sending.take() else { return false };
        // the text was taken away because the client is too slow; it may connect again
        let Some(text) = event.text() else {
            self.ended = true;
            return true;
        };
        let end = text.len().min(start + PIECE_BYTES);
        out.extend_from_slice(&text[start..end]);
        if end < text.len() {
            self.positions.sending = Some((event, end));
        }
        true
    }

    /// Appends new alerts; true if there were any.
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
        faults::here("stream");
        if self.ended {
            return Progress::Done;
        }
        let now = Instant::now();
        let mut sent = false;
        // nothing may come between the pieces of an event
        if self.positions.sending.is_none() {
            if self.seen.is_none() && self.update.is_none() && self.updates == 0 {
                // milliseconds that a browser waits before it connects again
                out.extend_from_slice(b"retry: 2000\n\n");
                sent = true;
            }
            sent |= self.send_alerts(out);
            if self.update.is_none() && now >= self.next_at {
                self.next_at = now + self.request.every;
                self.begin_positions();
                self.begin_update();
                // a stream without contracts must begin only once
                self.updates = self.updates.max(1);
            }
        }
        if !self.send_positions(out) {
            sent |= self.update.is_some() && self.send_update(out);
        } else if self.ended {
            return Progress::Broken;
        } else {
            sent = true;
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

/// Prefix of the ids of a run of the daemon.
fn run_prefix(run: u64) -> String {
    format!("{run:x}-")
}
