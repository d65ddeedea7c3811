//! Days of the simulated market: their sessions and snapshots, and the quotes of each. Never: a file.

pub mod layouts;
mod truth;

pub use truth::TrueGreeks;

use super::SimMarket;
use super::rng::Stream;
use super::symbols::{Name, funds, indices, well_known};
use engine::store::book::Book;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::{Calendar, days_between};
use kernel::contract::{ContractKey, Right, Settle, Style, Symbol, strike_of};
use kernel::elementary::{exp, ln};
use kernel::records::{DividendRecord, RateRecord};
use std::collections::BTreeMap;

/// Names that are taken first, of every kind: shares with and without dividends, a fund, an index, class shares.
const FIRST: [&str; 8] = ["AAPL", "KO", "SPX", "BRK.B", "SPY", "XOM", "F", "TSLA"];

/// Kind of an underlying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeKind {
    /// An index.
    Index,
    /// A fund.
    Fund,
    /// A company.
    Share,
}

impl MadeKind {
    /// Returns the kind of a name.
    #[must_use]
    pub fn of(name: Symbol) -> Self {
        let among = |names: Vec<Name>| names.iter().any(|one| one.symbol == name.as_str());
        if among(indices()) {
            Self::Index
        } else if among(funds()) {
            Self::Fund
        } else {
            Self::Share
        }
    }
}

/// One contract of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct MadeQuote {
    /// The contract.
    pub contract: ContractKey,
    /// Currency per share; NaN: none.
    pub bid: f64,
    /// Currency per share; NaN: none.
    pub ask: f64,
    /// Contracts at bid and at ask, by strike.
    pub size: u32,
    /// Contracts traded since the open of the session.
    pub volume: u32,
    /// Contracts open since the close before.
    pub open_interest: u32,
    /// Exercise style.
    pub style: Style,
    /// True value and Greeks, if requested.
    pub truth: Option<TrueGreeks>,
}

/// One name at one instant.
#[derive(Clone, Debug)]
pub struct MadeSnapshot {
    /// The instant.
    pub ts: Timestamp,
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Price of the underlying, currency per share.
    pub spot: f64,
    /// Contracts in native order.
    pub rows: Vec<MadeQuote>,
}

impl MadeSnapshot {
    /// Keeps the strikes that have both a call and a put, for layouts with one row per strike.
    #[must_use]
    pub fn paired(mut self) -> Self {
        let all = std::mem::take(&mut self.rows);
        let same = |a: &MadeQuote, b: &MadeQuote| ContractKey { right: Right::Put, ..a.contract } == b.contract;
        let mut rows = all.into_iter().peekable();
        while let Some(call) = rows.next() {
            if let Some(put) = rows.next_if(|put| call.contract.right == Right::Call && same(&call, put)) {
                self.rows.extend([call, put]);
            }
        }
        self
    }
}

/// Dividends and discount curves of simulated days.
#[derive(Clone, Debug, Default)]
pub struct MadeReference {
    /// Dividends by name and ex-date.
    pub dividends: BTreeMap<(Symbol, Date), f64>,
    /// Points of discount curves, by date and tenor.
    pub rates: Vec<RateRecord>,
}

impl MadeReference {
    /// Adds the reference data of a later day; a dividend of an earlier day stays.
    pub fn extend(&mut self, later: Self) {
        for (key, amount) in later.dividends {
            self.dividends.entry(key).or_insert(amount);
        }
        self.rates.extend(later.rates);
    }

    /// The dividends as records, by name and ex-date.
    pub fn dividend_records(&self) -> impl Iterator<Item = DividendRecord> + '_ {
        let record = |(&(underlying, ex_date), &amount): (&(Symbol, Date), &f64)| DividendRecord {
            underlying,
            ex_date,
            amount,
            projected: false,
        };
        self.dividends.iter().map(record)
    }
}

/// Every name of the simulated days, those of every kind first.
#[must_use]
pub fn names() -> Vec<Symbol> {
    let known = well_known();
    let others = known.iter().map(|name| name.symbol.as_str()).filter(|name| !FIRST.contains(name));
    FIRST.into_iter().chain(others).filter_map(Symbol::parse).collect()
}

/// Returns the first sessions from a date on.
#[must_use]
pub fn sessions(calendar: &Calendar, from: Date, count: usize) -> Vec<Date> {
    let first = calendar.session_on_or_after(from);
    core::iter::successors(Some(first), |&date| Some(calendar.next_session(date))).take(count).collect()
}

/// Returns the close of a session.
#[must_use]
pub fn close(calendar: &Calendar, date: Date) -> Timestamp {
    calendar.settlement(date, Settle::Pm)
}

/// Returns the instants of a session, one `step` after the other from one step after its open on; the close is the last
/// where it is one of them.
#[must_use]
pub fn instants(calendar: &Calendar, date: Date, step: SignedDuration) -> Vec<Timestamp> {
    let (open, close) = calendar.session(date).unwrap_or_default();
    let steps = core::iter::successors(open.checked_add(step).ok(), |at| at.checked_add(step).ok());
    steps.take_while(|at| *at <= close).collect()
}

/// Passes the market at each instant of one session to `take`, with true values if requested, and returns the reference
/// data. Names that the market does not have are left out.
pub fn snapshots(
    seed: u64,
    names: &[Symbol],
    instants: &[Timestamp],
    with_truth: bool,
    mut take: impl FnMut(MadeSnapshot),
) -> MadeReference {
    let mut open: Option<(SimMarket, Vec<Book>)> = None;
    let mut reference = MadeReference::default();
    for &ts in instants {
        match open.as_mut().filter(|(market, _)| market.covers(ts)) {
            Some((market, books)) => books.iter_mut().for_each(|book| _ = market.update(book, ts)),
            None => {
                let market = SimMarket::at(seed, ts);
                let place = |name: &Symbol| market.underlyings().position(|own| own == *name);
                let books: Vec<Book> = names.iter().filter_map(|name| market.book(place(name)?, ts)).collect();
                let of_book = |book: &Book| {
                    let name = book.underlying;
                    book.dividends.iter().map(move |&(date, amount)| ((name, date), amount)).collect::<Vec<_>>()
                };
                let dividends = books.iter().flat_map(of_book).collect();
                let rates = if open.is_none() { market.rates() } else { Vec::new() };
                reference.extend(MadeReference { dividends, rates });
                open = Some((market, books));
            }
        }
        if let Some((market, books)) = &open {
            let passed = market.part_of_session(ts);
            books.iter().for_each(|book| take(snapshot(market, book, SnapshotMoment { ts, passed, seed }, with_truth)));
        }
    }
    reference
}

/// Time of a snapshot.
#[derive(Clone, Copy)]
struct SnapshotMoment {
    ts: Timestamp,
    /// The part of the session that has passed, 0 to 1.
    passed: f64,
    seed: u64,
}

fn snapshot(market: &SimMarket, book: &Book, moment: SnapshotMoment, with_truth: bool) -> MadeSnapshot {
    let SnapshotMoment { ts, passed, seed } = moment;
    let mut rows = Vec::with_capacity(book.rows());
    let name = Stream::new(seed).named("activity").named(book.underlying.as_str());
    for slice in &book.slices {
        let truths = with_truth.then(|| truth::true_greeks(market, slice, ts)).flatten();
        let days = days_between(ts, slice.settles_at).max(1.0);
        for (row, &strike_milli) in slice.strike_milli.iter().enumerate() {
            let contract =
                ContractKey { root: slice.root, expiry: slice.expiry, strike_milli, right: slice.right[row] };
            let [volume, open_interest] = activity(name, contract, book.spot, days, passed);
            rows.push(MadeQuote {
                contract,
                bid: slice.bid[row],
                ask: slice.ask[row],
                size: 1 + strike_milli / 500 % 97,
                volume,
                open_interest,
                style: slice.style,
                truth: truths.as_ref().and_then(|truths| truths.get(row).copied()),
            });
        }
    }
    MadeSnapshot { ts, underlying: book.underlying, spot: book.spot, rows }
}

/// Contracts that were traded so far and that are open: most near the money and of the next weeks, many at round
/// strikes, none in the wings.
///
/// # Domain   any spot, NaN too; days of at least 1; a part of the session from 0 to 1
fn activity(name: Stream, contract: ContractKey, spot: f64, days: f64, passed: f64) -> [u32; 2] {
    let strike = strike_of(contract.strike_milli);
    let width = 0.02 + 0.02 * days.sqrt();
    let away = (ln(strike / spot) / width).abs();
    let round = if contract.strike_milli.is_multiple_of(5000) { 2.0 } else { 1.0 };
    let luck = name
        .sub(contract.expiry.year().unsigned_abs().into())
        .sub(contract.expiry.day_of_year().unsigned_abs().into())
        .sub((u64::from(contract.strike_milli) << 1) | u64::from(contract.right == Right::Put));
    let open = 20_000.0 * round * exp(-away) * (0.2 + luck.unit(0)) / (1.0 + days / 30.0);
    let traded = open * 0.4 * luck.unit(1) * passed;
    // a spot that is missing leaves NaN, which becomes 0 here
    [traded, open].map(|contracts| contracts as u32)
}
