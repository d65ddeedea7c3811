//! Answers about many past moments: the rows of one snapshot after the other, in time order. A snapshot is in memory
//! only while its rows are sent. The next day is computed meanwhile.
//!
//! JSON column by column, or contract by contract, cannot be sent in this order, nor tables that are sorted: they are
//! built whole in memory, up to a bound. A day that cannot be used aborts the response, so that a client cannot mistake
//! it for a complete one. Never: a vendor.

use super::market::{PastMarket, PastRequest, landed};
use crate::past::archive::{DayChains, Flight};
use api::edition;
use api::limits::{ALL_COLUMNS_BYTES, COLUMNS_BYTES};
use api::listing::Listing;
use api::past::span::{Pace, PastSpan, Pick};
use api::picked::Picked;
use api::refusal::Refusal;
use api::rows::binary::{TableParts, content_type};
use api::rows::clock::Clock;
use api::rows::grouped::GroupedRows;
use api::rows::layout::{AnswerLayout, Walk};
use api::rows::stream::RowStream;
use api::vendors::facts::FactRow;
use api::vendors::layer::{FactTable, Headers, Layer, LayerRequest, RequestContext, RowSet};
use engine::store::chain::Chain;
use history::tables::TableSymbols;
use http::limits::PIECE_BYTES;
use http::{Answer, Awaited, Progress, Stream};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Maximum steps of one look, snapshots without rows or parts of columns, so that other answers are not delayed.
const STEPS_PER_LOOK: usize = 8;
/// Number of days in computation ahead, the one that is sent included.
const DAYS_AHEAD: usize = 2;
/// Pause before a busy archive is asked again, which searches every name of the answer.
const BUSY_PAUSE: Duration = Duration::from_millis(50);
const TOO_MANY: &str = "too many rows for an answer that is made whole: request fewer days, or rows as csv or ndjson";

/// The snapshots of an answer, one after the other.
struct Series {
    market: Arc<PastMarket>,
    request: PastRequest,
    span: PastSpan,
    /// Days that are not started; `None`: the index is not read yet.
    days: Option<VecDeque<Date>>,
    ahead: VecDeque<(Date, Vec<Arc<Flight>>)>,
    /// Remaining snapshots of the current day.
    of_day: Vec<Arc<DayChains>>,
    picks: VecDeque<Pick>,
    /// Time of the next attempt after the archive was too busy for the current day.
    again_at: Option<Instant>,
}

enum Step<T> {
    /// The next rows are being computed.
    Later,
    /// The rows of the next snapshot.
    Rows(T),
    /// No snapshot is left.
    End,
}

impl Series {
    fn new(market: Arc<PastMarket>, request: PastRequest, span: PastSpan) -> Self {
        let (ahead, of_day, picks) = (VecDeque::new(), Vec::new(), VecDeque::new());
        Self { market, request, span, days: None, ahead, of_day, picks, again_at: None }
    }

    fn step(&mut self) -> Result<Step<Box<RowSet>>, Refusal> {
        let layer = self.request.layer;
        self.step_by(|parsed, context| layer.rows_of_one(parsed, context).map(Box::new))
    }

    /// The next snapshot, as `look` shows it.
    fn step_by<T>(
        &mut self,
        look: impl FnOnce(LayerRequest, &RequestContext<'_>) -> Result<T, Refusal>,
    ) -> Result<Step<T>, Refusal> {
        loop {
            if let Some(pick) = self.picks.pop_front() {
                return self.of_pick(pick, look).map(Step::Rows);
            }
            self.of_day.clear();
            if !self.look_ahead() {
                return Ok(Step::Later);
            }
            let Some((day, flights)) = self.ahead.front() else { return Ok(Step::End) };
            let of_day = match landed(flights) {
                None => return Ok(Step::Later),
                Some(Err(Refusal::Busy)) => {
                    let now = Instant::now();
                    if now >= *self.again_at.get_or_insert(now + BUSY_PAUSE) {
                        self.again_at = None;
                        let again = self.market.flights(&self.request.names, *day);
                        self.ahead[0].1 = again;
                    }
                    return Ok(Step::Later);
                }
                Some(of_day) => of_day?,
            };
            let mut times: Vec<Timestamp> = of_day.iter().flat_map(|chains| chains.times()).collect();
            times.sort_unstable();
            times.dedup();
            self.picks = self.span.picks(*day, &times, &self.market.zone).into();
            self.of_day = of_day;
            self.ahead.pop_front();
        }
    }

    /// Starts the next day; false while the index is not read yet.
    fn look_ahead(&mut self) -> bool {
        if self.days.is_none() {
            let Some(days) = self.market.archive.days(&self.request.names) else { return false };
            let asked = days.into_iter().filter(|&day| self.span.has(day, &self.market.zone));
            self.days = Some(asked.collect());
        }
        while self.ahead.len() < DAYS_AHEAD {
            let Some(day) = self.days.as_mut().and_then(VecDeque::pop_front) else { break };
            self.ahead.push_back((day, self.market.flights(&self.request.names, day)));
        }
        true
    }

    /// Approximate upper bound on the remaining snapshots, the current one included: other days count as many as this
    /// one.
    fn snapshots_left(&self) -> usize {
        let days = self.ahead.len() + self.days.as_ref().map_or(0, VecDeque::len);
        (self.picks.len() + 1).saturating_mul(days + 1)
    }

    /// Symbols that the rows may have, from the first rows and from the index.
    fn symbols(&self, first: &[Picked]) -> TableSymbols {
        let archive = &self.market.archive;
        let names = &self.request.names;
        let days = archive.days(names).unwrap_or_default();
        let asked = days.into_iter().filter(|&day| self.span.has(day, &self.market.zone));
        let listings = asked.flat_map(|day| names.iter().flat_map(move |&name| archive.listings(name, day)));
        let of_listing = |listing: Arc<Listing>| listing.slices().iter().map(|slice| slice.root).collect::<Vec<_>>();
        let mut roots: BTreeSet<Symbol> = listings.flat_map(of_listing).collect();
        roots.extend(first.iter().flat_map(|picked| picked.chain.slices.iter().map(|slice| slice.root)));
        TableSymbols { underlyings: names.clone(), roots: roots.into_iter().collect() }
    }

    fn of_pick<T>(
        &self,
        pick: Pick,
        look: impl FnOnce(LayerRequest, &RequestContext<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        // if every snapshot is requested, a name without a snapshot at this time was shown at its own times
        let each = self.span.every == Pace::Snapshot;
        let is_meant = |&&(time, _): &&(Timestamp, Arc<Chain>)| !each || time == pick.time;
        let last = self.of_day.iter().filter_map(|chains| chains.last_by(pick.time));
        let chains = last.filter(is_meant).map(|(_, chain)| Arc::clone(chain)).collect();
        self.market.show(&self.request, chains, Some(pick.asked), look)
    }

    /// The refusal of an answer without a snapshot.
    fn none(&self) -> Refusal {
        let lacking = self.market.lacking(&self.request.names, self.span.start, &[]);
        (self.request.question.if_none)(&lacking)
    }
}

/// A pending answer about many past moments.
pub(super) struct AwaitedSeries {
    layer: &'static Layer,
    clock: Clock,
    /// Remaining work until the response starts.
    series: Option<Series>,
    /// The first snapshot without rows, while no snapshot has any.
    empty: Option<Box<RowSet>>,
    /// Text collected so far, if the answer is built whole in memory.
    collected: Option<CollectedText>,
}

/// Text of an answer that is built whole in memory.
struct CollectedText {
    layout: AnswerLayout,
    headers: Headers,
    text: Collected,
    held: HeldBytes,
}

enum Collected {
    /// Text of each column.
    Columns(Vec<Vec<u8>>),
    /// Rows of each contract.
    Contracts(GroupedRows),
}

impl Collected {
    fn bytes(&self) -> usize {
        match self {
            Self::Columns(columns) => columns.iter().map(Vec::len).sum(),
            Self::Contracts(rows) => rows.bytes(),
        }
    }
}

/// Bytes of one answer, counted in the total of all answers until dropped.
struct HeldBytes {
    of_all: Arc<AtomicUsize>,
    bytes: usize,
}

impl HeldBytes {
    /// Counts the bytes that the response holds now.
    ///
    /// # Errors
    /// [`Refusal::Conflict`] if one answer holds more than [`COLUMNS_BYTES`], [`Refusal::Busy`] if all of them hold
    /// more than [`ALL_COLUMNS_BYTES`].
    fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let of_all = self.of_all.fetch_add(bytes - self.bytes, Ordering::Relaxed) + bytes - self.bytes;
        self.bytes = bytes;
        match () {
            () if bytes > COLUMNS_BYTES => Err(Refusal::Conflict { reason: TOO_MANY }),
            () if of_all > ALL_COLUMNS_BYTES => Err(Refusal::Busy),
            () => Ok(()),
        }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.of_all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Awaited for AwaitedSeries {
    fn look(&mut self) -> Option<Answer> {
        for _ in 0..STEPS_PER_LOOK {
            let answered = match self.series.as_mut()?.step() {
                Ok(Step::Later) => return None,
                Ok(Step::Rows(rows)) => self.take(rows),
                Ok(Step::End) => Some(self.end()),
                Err(refusal) => Some(Err(refusal)),
            };
            if let Some(answered) = answered {
                return Some(answered.unwrap_or_else(|refusal| self.layer.refused(&refusal, &self.clock)));
            }
        }
        None
    }
}

/// A pending table of numbers of many past moments, which is made whole: it may be sorted.
pub(super) struct AwaitedTable {
    clock: Clock,
    series: Series,
    table: FactTable,
    rows: Vec<FactRow>,
    held: HeldBytes,
    has_snapshot: bool,
}

impl AwaitedTable {
    pub(super) fn new(
        market: Arc<PastMarket>,
        request: PastRequest,
        span: PastSpan,
        table: FactTable,
        clock: Clock,
    ) -> Self {
        let held = HeldBytes { of_all: Arc::clone(&market.columns_bytes), bytes: 0 };
        let series = Series::new(market, request, span);
        Self { clock, series, table, rows: Vec::new(), held, has_snapshot: false }
    }

    /// Takes the rows of the next snapshot; `None`: the next rows are being computed.
    fn step(&mut self) -> Result<Option<Answer>, Refusal> {
        let layer = self.series.request.layer;
        for _ in 0..STEPS_PER_LOOK {
            match self.series.step_by(|_, context| Ok(self.table.of_one(context)))? {
                Step::Later => break,
                Step::Rows(rows) => {
                    let bytes: usize = rows.iter().map(FactRow::bytes).sum();
                    self.held.grow(self.held.bytes.saturating_add(bytes))?;
                    self.rows.extend(rows);
                    self.has_snapshot = true;
                }
                Step::End if !self.has_snapshot => return Err(self.series.none()),
                Step::End => {
                    let rows = std::mem::take(&mut self.rows);
                    // ranges of it must be ranges of one answer
                    let answer = layer.facts_of_many(&self.table, rows, &self.clock);
                    return Ok(Some(answer.of_edition(Some(edition::single()))));
                }
            }
        }
        Ok(None)
    }
}

impl Awaited for AwaitedTable {
    fn look(&mut self) -> Option<Answer> {
        let layer = self.series.request.layer;
        self.step().unwrap_or_else(|refusal| Some(layer.refused(&refusal, &self.clock)))
    }
}

impl AwaitedSeries {
    pub(super) fn new(market: Arc<PastMarket>, request: PastRequest, span: PastSpan, clock: Clock) -> Self {
        let layer = request.layer;
        let series = Series::new(market, request, span);
        Self { layer, clock, series: Some(series), empty: None, collected: None }
    }

    /// Takes the rows of a snapshot; returns the answer if it can start.
    fn take(&mut self, rows: Box<RowSet>) -> Option<Result<Answer, Refusal>> {
        if rows.picked.is_empty() {
            self.empty.get_or_insert(rows);
            return None;
        }
        if matches!(rows.layout.walk, Walk::Columns | Walk::Grouped) && rows.layout.frame.nested {
            return self.put_together(*rows).err().map(Err);
        }
        let RowSet { layout, picked, headers, table, .. } = *rows;
        let series = self.series.take()?;
        if let Some(format) = table {
            let parts = TableParts::new(format, &layout.fields, &layout.groups, &series.symbols(&picked));
            return Some(parts.map_err(|_| Refusal::NoRows).map(|parts| {
                let most = parts.most_bytes(&picked).saturating_mul(series.snapshots_left());
                let stream = TableSeries { series, parts, next: Some(picked), most };
                self.answer(content_type(format), stream, headers)
            }));
        }
        let part = RowStream::part(layout.clone(), picked, true);
        let most = part.most_bytes().map(|most| most.saturating_mul(series.snapshots_left()));
        let content_type = layout.frame.content_type;
        let stream = SeriesStream { series, layout, is_begun: false, part: Some(part), most };
        Some(Ok(self.answer(content_type, stream, headers)))
    }

    fn put_together(&mut self, rows: RowSet) -> Result<(), Refusal> {
        let RowSet { layout, picked, headers, .. } = rows;
        let Some(series) = &self.series else { return Err(Refusal::NoRows) };
        let collected = self.collected.get_or_insert_with(|| {
            let text = match layout.walk {
                Walk::Grouped => Collected::Contracts(GroupedRows::default()),
                _ => Collected::Columns(vec![Vec::new(); layout.fields.len()]),
            };
            let held = HeldBytes { of_all: Arc::clone(&series.market.columns_bytes), bytes: 0 };
            CollectedText { layout: layout.clone(), headers, text, held }
        });
        match &mut collected.text {
            Collected::Columns(columns) => RowStream::push_columns(&layout, &picked, columns),
            Collected::Contracts(rows) => rows.push(&layout, picked),
        }
        collected.held.grow(collected.text.bytes())
    }

    /// The answer if no snapshot is left and none was sent.
    fn end(&mut self) -> Result<Answer, Refusal> {
        if let Some(CollectedText { layout, headers, text, held }) = self.collected.take() {
            let pieces = match text {
                Collected::Columns(columns) => layout.around_columns(columns),
                Collected::Contracts(rows) => rows.into_pieces(&layout),
            };
            let pieces = Pieces { pieces: pieces.into(), _held: held };
            return Ok(self.answer(layout.frame.content_type, pieces, headers));
        }
        if let Some(rows) = self.empty.take() {
            let RowSet { layout, headers, when_empty, .. } = *rows;
            if let Some(refusal) = when_empty {
                return Err(refusal);
            }
            let content_type = layout.frame.content_type;
            return Ok(self.answer(content_type, RowStream::new(layout, Vec::new()), headers));
        }
        Err(self.series.as_ref().map_or(Refusal::NoRows, Series::none))
    }

    fn answer(&self, content_type: &'static str, stream: impl Stream + 'static, headers: Headers) -> Answer {
        let answer = Answer { headers, ..Answer::stream(self.layer.name, content_type, stream) };
        // ranges of it must be ranges of one answer
        self.layer.with_headers(answer.of_edition(Some(edition::single())), &self.clock)
    }
}

/// An answer about many past moments, while it is sent.
struct SeriesStream {
    series: Series,
    layout: AnswerLayout,
    is_begun: bool,
    /// Current rows.
    part: Option<RowStream>,
    /// Approximate upper bound on the bytes of the answer.
    most: Option<usize>,
}

impl Stream for SeriesStream {
    fn most_bytes(&self) -> Option<usize> {
        self.most
    }

    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.layout.push_head(out, &self.layout.names());
        }
        let full = out.len() + PIECE_BYTES;
        for _ in 0..STEPS_PER_LOOK {
            if let Some(part) = &mut self.part {
                if part.fill(out) == Progress::More {
                    return Progress::More;
                }
                self.part = None;
            }
            if out.len() >= full {
                return Progress::More;
            }
            match self.series.step() {
                Ok(Step::Later) => return Progress::Later,
                Ok(Step::Rows(rows)) => self.part = Some(RowStream::part(rows.layout, rows.picked, false)),
                Ok(Step::End) => {
                    self.layout.push_foot(out);
                    return Progress::Done;
                }
                Err(refusal) => {
                    tracing::warn!("response with several days aborted: {refusal}");
                    return Progress::Broken;
                }
            }
        }
        Progress::More
    }
}

/// An answer about many past moments as a table, while it is sent.
struct TableSeries {
    series: Series,
    parts: TableParts,
    /// Current rows.
    next: Option<Vec<Picked>>,
    /// Approximate upper bound on the bytes of the answer.
    most: usize,
}

impl Stream for TableSeries {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        let full = out.len() + PIECE_BYTES;
        for _ in 0..STEPS_PER_LOOK {
            if let Some(picked) = self.next.take()
                && self.parts.push(&picked, out) == Progress::Broken
            {
                return Progress::Broken;
            }
            if out.len() >= full {
                return Progress::More;
            }
            match self.series.step() {
                Ok(Step::Later) => return Progress::Later,
                Ok(Step::Rows(rows)) => self.next = Some(rows.picked).filter(|picked| !picked.is_empty()),
                Ok(Step::End) => return self.parts.finish(out),
                Err(refusal) => {
                    tracing::warn!("response with several days aborted: {refusal}");
                    return Progress::Broken;
                }
            }
        }
        Progress::More
    }

    fn most_bytes(&self) -> Option<usize> {
        Some(self.most)
    }
}

/// Finished text, in pieces.
struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    /// Counts the bytes until the answer is sent.
    _held: HeldBytes,
}

impl Stream for Pieces {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        if let Some(piece) = self.pieces.pop_front() {
            out.extend_from_slice(&piece);
        }
        if self.pieces.is_empty() { Progress::Done } else { Progress::More }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_one_answer_and_of_all_are_bounded() {
        let of_all = Arc::new(AtomicUsize::new(0));
        let held = || HeldBytes { of_all: Arc::clone(&of_all), bytes: 0 };
        let mut answers: Vec<HeldBytes> = (0..5).map(|_| held()).collect();
        for answer in &mut answers[..4] {
            assert_eq!((answer.grow(1), answer.grow(COLUMNS_BYTES)), (Ok(()), Ok(())));
        }
        assert_eq!(answers[4].grow(1), Err(Refusal::Busy));
        answers.truncate(3);
        let mut last = held();
        assert_eq!((last.grow(7), last.grow(COLUMNS_BYTES)), (Ok(()), Ok(())));
        assert_eq!(last.grow(COLUMNS_BYTES + 1), Err(Refusal::Conflict { reason: TOO_MANY }));
        drop((answers, last));
        assert_eq!(of_all.load(Ordering::Relaxed), 0);
    }
}
