//! `GET /l1/positions?explain=since:…`: the change of each position between two moments, by cause, and its sums. The
//! positions of now are meant, as if they had been held all the time. Never: a formula.

use crate::listed::{ListedPlace, facts_of, find, identity_of_share, multiplier, name_of};
use crate::positions::answer::{ROUTE, failed};
use crate::positions::rows::picks;
use crate::positions::valued::{TotalKey, total_key};
use crate::scenario::answer::ScenarioDesk;
use crate::tables::table_of;
use api::refusal::Refusal;
use api::rows::binary::content_type;
use api::rows::clock::Stamp;
use api::rows::frame::Heading;
use api::rows::table::{self, Fact};
use api::vendors::native;
use api::vendors::native_positions::{EXPLAINED, PositionRequest, PositionRows};
use api::vendors::native_scenario::{ROWS_MOST, TABLES_MOST};
use engine::scenario::{
    ExerciseOutcome, ScenarioTables, SliceAt, Unvalued, ValueChange, explain_contracts, explain_settled, explain_share,
};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use http::Answer;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::contract::{RootTable, Symbol};
use kernel::position::{Instrument, PositionLine};
use std::collections::BTreeMap;
use std::io;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of positions of an explanation: its rows are written whole.
const LINES_MOST: usize = 20_000;
/// Bytes of a cell, with its text or its digits.
const CELL_BYTES: usize = size_of::<Fact>() + 16;
/// Values computed for a contract.
const VALUES: usize = 6;
/// Tables that may be built for an expiry.
const TABLES: usize = 6;

/// Gives the price of an underlying at a settlement.
pub type SettlementPrices = Box<dyn FnMut(Symbol, Timestamp) -> Option<f64> + Send>;

/// The market at two moments.
pub struct ExplainedMarket {
    /// The earlier one.
    pub before: Snapshot,
    /// The later one.
    pub after: Arc<Snapshot>,
    /// Prices at settlements between them.
    pub settlements: SettlementPrices,
    /// Names of roots.
    pub roots: Arc<RootTable>,
    /// The zone of times.
    pub zone: TimeZone,
}

/// The answer to a request, made on a thread among those of scenarios.
#[must_use]
pub fn answer(
    desk: &ScenarioDesk,
    request: PositionRequest,
    book: Arc<Vec<PositionLine>>,
    market: ExplainedMarket,
) -> Answer {
    let bytes = bytes_of(&request, &book, &market.roots);
    let work = move |tables: &ScenarioTables, has_gone: &AtomicBool| {
        let kind = request.table.map_or(request.format.frame().content_type, content_type);
        match ExplainedBook::of(&request, &book, market, tables, has_gone).map(|book| book.write(&request)) {
            Ok(Ok(body)) => Answer::full(ROUTE, 200, kind, body),
            Ok(Err(why)) => failed(500, &why.to_string()),
            Err(refusal) => refused(&refusal),
        }
    };
    desk.compute(ROUTE, bytes, work).unwrap_or_else(|refusal| refused(&refusal))
}

/// Bytes of the rows of an explanation, about: one for each position, and as many for all sums together.
fn bytes_of(request: &PositionRequest, book: &[PositionLine], roots: &RootTable) -> usize {
    let picks = picks(request);
    let lines = book.iter().filter(|line| picks(line, name_of(line.instrument, roots))).count();
    2 * lines.min(LINES_MOST) * EXPLAINED.len() * CELL_BYTES
}

/// The answer to a refused request.
#[must_use]
pub fn refused(refusal: &Refusal) -> Answer {
    native::refused(ROUTE, refusal)
}

/// The underlyings of the positions that a request picks, and the dates on which contracts of them settle; each once,
/// ascending.
#[must_use]
pub fn names_of(
    request: &PositionRequest,
    book: &[PositionLine],
    roots: &RootTable,
) -> (Vec<Symbol>, Vec<(Symbol, Date)>) {
    let picks = picks(request);
    let asked = || book.iter().filter(|line| picks(line, name_of(line.instrument, roots)));
    let mut names: Vec<Symbol> = asked().map(|line| name_of(line.instrument, roots)).collect();
    let expiry = |line: &PositionLine| match line.instrument {
        Instrument::Share(_) => None,
        Instrument::Contract(key) => Some((roots.underlying_of(key.root), key.served().expiry)),
    };
    let mut expiries: Vec<(Symbol, Date)> = asked().filter_map(expiry).collect();
    names.sort_unstable();
    names.dedup();
    expiries.sort_unstable();
    expiries.dedup();
    (names, expiries)
}

/// Positions with their changes.
pub(super) struct ExplainedBook<'a> {
    positions: Vec<ExplainedPosition<'a>>,
    zone: TimeZone,
}

/// A position with its change.
struct ExplainedPosition<'a> {
    line: &'a PositionLine,
    underlying: Symbol,
    /// Moments of its chains.
    span: Option<(Timestamp, Timestamp)>,
    change: Result<Explained, Unvalued>,
}

/// A change in currency.
#[derive(Clone, Copy)]
struct Explained {
    change: ValueChange,
    has_settled: bool,
}

/// A line with its place in the earlier market, and in the later one unless it has settled.
struct Held<'a> {
    line: &'a PositionLine,
    from: ListedPlace,
    to: Option<ListedPlace>,
}

impl<'a> ExplainedBook<'a> {
    /// Explains the positions that a request picks.
    ///
    /// # Errors
    /// There are too many, the moments are in the wrong order, or whoever asked has gone.
    pub(super) fn of(
        request: &PositionRequest,
        book: &'a [PositionLine],
        market: ExplainedMarket,
        tables: &ScenarioTables,
        has_gone: &AtomicBool,
    ) -> Result<Self, Refusal> {
        let ExplainedMarket { before, after, mut settlements, roots, zone } = market;
        let picks = picks(request);
        let asked = book.iter().filter(|line| picks(line, name_of(line.instrument, &roots)));
        let (mut held, mut positions) = (Vec::new(), Vec::new());
        for line in asked {
            match place(line, &before, &after, &roots) {
                Ok(found) => held.push(found),
                Err(why) => {
                    let underlying = name_of(line.instrument, &roots);
                    positions.push(ExplainedPosition { line, underlying, span: None, change: Err(why) });
                }
            }
        }
        if held.iter().any(|of| later(of, &after).is_some_and(|chain| chain.valued_at < of.from.chain.valued_at)) {
            return Err(Refusal::Conflict {
                reason: "explain=since: must lie before as_of, or before the values of now",
            });
        }
        held.sort_by(|a, b| (a.from.order(), &a.line.account).cmp(&(b.from.order(), &b.line.account)));
        let is_same = |a: &Held<'_>, b: &Held<'_>| {
            Arc::ptr_eq(&a.from.chain, &b.from.chain)
                && a.from.slice == b.from.slice
                && a.to.is_some() == b.to.is_some()
        };
        let groups: Vec<&[Held<'_>]> = held.chunk_by(is_same).collect();
        let lines = held.len() + positions.len();
        let is_many = lines > LINES_MOST || lines * VALUES > ROWS_MOST || groups.len() * TABLES > TABLES_MOST;
        if is_many {
            return Err(Refusal::Conflict { reason: "more than 20000 positions: pick some by account or underlying" });
        }
        let mut found = Vec::with_capacity(lines);
        for group in groups {
            if has_gone.load(Ordering::Acquire) {
                return Err(Refusal::Busy);
            }
            let changes = changes_of(group, &after, &mut settlements, &roots, &zone, tables);
            for (of, change) in group.iter().zip(changes) {
                let units = of.line.quantity * of.from.slice.map_or(1.0, |slice| multiplier(&of.from.chain, slice));
                let change =
                    change.map(|change| Explained { change: change.times(units), has_settled: of.to.is_none() });
                let until = later(of, &after).map_or(after.time, |chain| chain.valued_at);
                let span = Some((of.from.chain.valued_at, until));
                found.push(ExplainedPosition { line: of.line, underlying: of.from.chain.underlying, span, change });
            }
        }
        found.append(&mut positions);
        Ok(Self { positions: found, zone })
    }

    /// The answer's bytes.
    ///
    /// # Errors
    /// A binary table cannot be written.
    pub(super) fn write(&self, request: &PositionRequest) -> io::Result<Vec<u8>> {
        let rows: Vec<Vec<Fact>> = request.levels.iter().flat_map(|&level| self.rows(level)).collect();
        match request.table {
            Some(format) => table_of(format, EXPLAINED, &rows),
            None => {
                let heading = Heading { title: "Positions explained".to_owned(), lines: Vec::new() };
                Ok(table::write(request.format, &heading, EXPLAINED, &rows))
            }
        }
    }

    fn rows(&self, level: PositionRows) -> Vec<Vec<Fact>> {
        if level == PositionRows::Contract {
            return self.positions.iter().map(|of| self.position_row(of)).collect();
        }
        let mut sums = BTreeMap::<TotalKey, ExplainedSum>::new();
        for of in &self.positions {
            sums.entry(total_key(level, of.line, of.underlying)).or_default().add(of);
        }
        sums.iter().map(|(key, sum)| self.sum_row(level, key, sum)).collect()
    }

    fn position_row(&self, of: &ExplainedPosition<'_>) -> Vec<Fact> {
        let mut row = vec![word(PositionRows::Contract.name()), word(&of.line.account)];
        row.extend(match of.line.instrument {
            Instrument::Share(_) => identity_of_share(of.underlying),
            Instrument::Contract(key) => facts_of(of.underlying, &key),
        });
        let (state, why) = match of.change {
            Ok(Explained { has_settled: true, .. }) => (word("settled"), Fact::Missing),
            Ok(_) => (word("open"), Fact::Missing),
            Err(why) => (Fact::Missing, word(why.name())),
        };
        let missing = u64::from(of.change.is_err());
        row.extend([Fact::Number(of.line.quantity), Fact::Count(1), Fact::Count(missing), why, state]);
        row.extend(self.moments(of.span));
        row.extend(numbers(&of.change.map_or(ValueChange::MISSING, |of| of.change)));
        row
    }

    fn sum_row(&self, level: PositionRows, key: &TotalKey, sum: &ExplainedSum) -> Vec<Fact> {
        let (account, underlying, expiry) = key;
        let or_missing = |text: Option<String>| text.map_or(Fact::Missing, Fact::Word);
        let mut row = vec![
            word(level.name()),
            or_missing(account.as_ref().map(ToString::to_string)),
            or_missing(underlying.map(|name| name.to_string())),
            Fact::Missing,
            or_missing(expiry.map(|date| date.to_string())),
        ];
        row.extend([Fact::Missing, Fact::Missing, Fact::Missing, Fact::Missing]);
        row.extend([Fact::Count(sum.positions), Fact::Count(sum.missing), Fact::Missing, Fact::Missing]);
        row.extend(self.moments(sum.span.filter(|_| sum.is_of_one_span)));
        let is_known = sum.missing < sum.positions;
        row.extend(numbers(if is_known { &sum.change } else { &ValueChange::MISSING }));
        row
    }

    fn moments(&self, span: Option<(Timestamp, Timestamp)>) -> [Fact; 2] {
        let text = |at: Timestamp| Fact::Word(Stamp::EasternOffset.text(&at.to_zoned_datetime(self.zone.clone())));
        span.map_or([Fact::Missing, Fact::Missing], |(since, until)| [text(since), text(until)])
    }
}

/// Sum of changes.
struct ExplainedSum {
    change: ValueChange,
    positions: u64,
    missing: u64,
    span: Option<(Timestamp, Timestamp)>,
    is_of_one_span: bool,
}

impl Default for ExplainedSum {
    fn default() -> Self {
        Self { change: ValueChange::NONE, positions: 0, missing: 0, span: None, is_of_one_span: true }
    }
}

impl ExplainedSum {
    fn add(&mut self, of: &ExplainedPosition<'_>) {
        self.positions += 1;
        match of.change {
            Ok(Explained { change, .. }) => self.change.add_assign(change),
            Err(_) => self.missing += 1,
        }
        self.is_of_one_span &= self.span.is_none() || of.span.is_none() || self.span == of.span;
        self.span = self.span.or(of.span);
    }
}

fn word(text: &str) -> Fact {
    Fact::Word(text.to_owned())
}

fn numbers(of: &ValueChange) -> impl Iterator<Item = Fact> + use<> {
    [of.before, of.after, of.total()].into_iter().chain(of.causes).map(Fact::Number)
}

/// The chain of a held line in the later market.
fn later<'a>(of: &'a Held<'_>, after: &'a Snapshot) -> Option<&'a Arc<Chain>> {
    of.to.as_ref().map(|place| &place.chain).or_else(|| after.chain(of.from.chain.underlying))
}

/// Finds a line in both markets.
fn place<'a>(
    line: &'a PositionLine,
    before: &Snapshot,
    after: &Snapshot,
    roots: &RootTable,
) -> Result<Held<'a>, Unvalued> {
    let from = find(line.instrument, before, roots)?;
    if let Some(slice) = from.slice {
        let settles_at = from.chain.slices[slice].settles_at;
        if settles_at <= from.chain.valued_at {
            return Err(Unvalued::Expired);
        }
        let now = after.chain(from.chain.underlying).map_or(after.time, |chain| chain.valued_at);
        if settles_at <= now {
            return Ok(Held { line, from, to: None });
        }
    }
    let to = find(line.instrument, after, roots)?;
    Ok(Held { line, from, to: Some(to) })
}

/// The changes of lines that are in one slice of the earlier market, and of which all or none have settled.
fn changes_of(
    group: &[Held<'_>],
    after: &Snapshot,
    settlements: &mut SettlementPrices,
    roots: &RootTable,
    zone: &TimeZone,
    tables: &ScenarioTables,
) -> Vec<Result<ValueChange, Unvalued>> {
    let Some(first) = group.first() else { return Vec::new() };
    let (chain, to) = (&first.from.chain, later(first, after));
    let Some(slice) = first.from.slice else {
        let change = to.map_or(ValueChange::MISSING, |to| explain_share(chain, to));
        let change = if change.is_known() { Ok(change) } else { Err(Unvalued::NoValues) };
        return vec![change; group.len()];
    };
    let before = SliceAt { chain, slice };
    if let Some(ListedPlace { chain: to, slice: Some(slice), .. }) = &first.to {
        let row = |of: &Held<'_>| (of.from.row, of.to.as_ref().map_or(0, |to| to.row));
        let rows: Vec<(usize, usize)> = group.iter().map(row).collect();
        let known = |change: ValueChange| if change.is_known() { Ok(change) } else { Err(Unvalued::NoValues) };
        return match explain_contracts(before, SliceAt { chain: to, slice: *slice }, &rows, tables) {
            Ok(changes) => changes.into_iter().map(known).collect(),
            Err(why) => vec![Err(why); group.len()],
        };
    }
    let name = chain.underlying;
    let settles_at = chain.slices[slice].settles_at;
    let date = |at: Timestamp| at.to_zoned_datetime(zone.clone()).date();
    // the later moment may lie on the day of the settlement
    let of_day = || {
        to.filter(|to| date(to.valued_at) == date(settles_at)).map(|to| to.underlying_price()).filter(|s| s.is_finite())
    };
    let Some(price) = settlements(name, settles_at).filter(|price| price.is_finite()).or_else(of_day) else {
        return vec![Err(Unvalued::NoSettlement); group.len()];
    };
    let delivery = if roots.is_index(name) { ExerciseOutcome::Cash } else { ExerciseOutcome::Shares };
    let change = |of: &Held<'_>| explain_settled(before, of.from.row, price, to.map(|to| &**to), delivery);
    group.iter().map(change).collect()
}
