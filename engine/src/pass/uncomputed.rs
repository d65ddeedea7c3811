//! Names that cannot be computed: their contracts are still listed, with the reason. All reasons are decided here.
//! Never: a formula.

use super::name_clock::NameClock;
use super::task::{ChainReport, Task};
use crate::store::book::BookSlice;
use crate::store::chain::{Chain, Slice, Slices, Uncomputed};
use crate::store::columns::{Col, Columns};
use crate::store::firm_quotes::FirmQuotes;
use core::ops::Range;
use jiff::Timestamp;
use kernel::calendar::days_between;
use std::sync::Arc;

/// Reason why no contract of a chain has Greeks; `None`: some have, or the chain has only adjusted roots, which never
/// have any.
pub(super) fn why_uncomputed(chain: &Chain, report: &ChainReport) -> Option<Uncomputed> {
    if report.priced > 0 || chain.slices.iter().all(|slice| slice.adjusted) {
        None
    } else if chain.spot.is_nan() {
        Some(Uncomputed::NoSpot)
    } else if report.contradictory_pairs {
        Some(Uncomputed::ContradictoryPairs)
    } else {
        Some(Uncomputed::NoUsableQuote)
    }
}

/// The chain of a book whose computation panicked.
pub(super) fn failed(task: &Task<'_>) -> Arc<Chain> {
    let (mut chain, _) = identity_only(task, Uncomputed::Failed, |_, _| ());
    // here, adjusted roots have the reason, too
    Arc::make_mut(&mut chain).uncomputed = Some(Uncomputed::Failed);
    chain
}

/// The chain of a book that is not computed: identity and days of each contract, and volatilities of the previous
/// session (`prev_vols` sets those of a slice); every other number is missing.
///
/// # Shapes   the rows of the slices that have not settled, in the book's order
/// # Domain   any book, one without a live slice included: a chain without rows
pub(super) fn identity_only(
    task: &Task<'_>,
    why: Uncomputed,
    prev_vols: impl Fn(&BookSlice, &mut [f64]),
) -> (Arc<Chain>, ChainReport) {
    let (book, at) = (task.book, task.at);
    let live: Vec<&BookSlice> = task.live().collect();
    let mut chain = Chain {
        underlying: book.underlying,
        spot: f64::NAN,
        implied_spot: f64::NAN,
        implied_spot_error: f64::NAN,
        spot_off: false,
        doubt: None,
        firm: FirmQuotes::default(),
        uncomputed: None,
        valued_at: at,
        // a full pass would not find more
        preliminary: false,
        slices: Slices::default(),
        strike_milli: live.iter().flat_map(|slice| &slice.strike_milli).copied().collect(),
        right: live.iter().flat_map(|slice| &slice.right).copied().collect(),
        dropped: vec![None; live.iter().map(|slice| slice.rows()).sum()],
        columns: Columns::missing(live.iter().map(|slice| slice.rows()).sum()),
        quotes: task.chain_quotes(),
        evidence: None,
    };
    let clock = NameClock::new(task);
    let mut start = 0;
    for slice in live {
        let rows = start..start + slice.rows();
        prev_vols(slice, &mut chain.columns.get_mut(Col::PrevVol)[rows.clone()]);
        start = rows.end;
        chain.slices.push(identity(slice, rows, at, &clock));
    }
    let slices = u32::try_from(chain.slices.len()).unwrap_or(u32::MAX);
    let report = ChainReport { slices, contracts: chain.rows(), ..ChainReport::default() };
    chain.uncomputed = why_uncomputed(&chain, &report).map(|_| why);
    (Arc::new(chain), report)
}

/// A slice with terms but without values.
fn identity(slice: &BookSlice, rows: Range<usize>, at: Timestamp, clock: &NameClock<'_>) -> Slice {
    let BookSlice { root, expiry, listed, style, settle, settles_at, adjusted, .. } = *slice;
    let row = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
    Slice {
        root,
        expiry,
        listed,
        rows: row(rows.start)..row(rows.end),
        style,
        settle,
        settles_at,
        adjusted,
        days: days_between(at, settles_at),
        days_vt: clock.days(settles_at),
        und_price: f64::NAN,
        fwd_price: f64::NAN,
        disc_rate: f64::NAN,
        borr_rate: f64::NAN,
        divs: f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::MarketData;
    use crate::rates::table::RateTable;
    use crate::store::book::Book;
    use crate::store::columns::SpareBlocks;
    use crate::store::overrides::Overrides;
    use jiff::Timestamp;
    use kernel::american::SharedBoundaries;
    use kernel::calendar::Calendar;
    use kernel::contract::{ForwardBasis, Right, Settle, Style, Symbol};
    use kernel::quality::Quality;

    /// Applies `f` to a book.
    fn of<R>(book: &Book, f: impl FnOnce(&Task<'_>) -> R) -> R {
        let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
        let market = MarketData { calendar: &calendar, rates: &curves };
        let overrides = &Overrides::default();
        let spare = &SpareBlocks::default();
        let shared = &SharedBoundaries::default();
        let (quality, quotes) = (Quality::Full, false);
        f(&Task { market, book, at: at(), quality, quotes, overrides, spare, shared, clock: || 0 })
    }

    fn at() -> Timestamp {
        "2026-11-20T16:00:00-05:00".parse().unwrap()
    }

    /// Two contracts each of an expiry that has settled and of one that has not.
    fn book(spot: f64, adjusted: bool) -> Book {
        let slice = |days: i64| BookSlice {
            root: Symbol::parse("ABC").unwrap(),
            expiry: jiff::civil::date(2026, 11, 20),
            listed: jiff::civil::date(2026, 11, 20),
            style: Style::American,
            settle: Settle::Pm,
            settles_at: at() + jiff::SignedDuration::from_hours(24 * days),
            basis: ForwardBasis::Spot,
            multiplier: 100,
            adjusted,
            deliverables: Vec::new(),
            strike_milli: vec![90_000, 90_000],
            right: vec![Right::Call, Right::Put],
            bid: vec![1.0; 2],
            ask: vec![2.0; 2],
            counts: Vec::new(),
            ts: vec![at(); 2],
            stale: true,
        };
        Book {
            underlying: Symbol::parse("ABC").unwrap(),
            spot,
            ts: at(),
            dividends: Vec::new(),
            projected_from: None,
            dividends_known: true,
            slices: vec![slice(0), slice(30)],
        }
    }

    #[test]
    fn a_name_without_a_spot_has_identity_and_the_volatilities_of_the_session_before() {
        let (chain, report) = of(&book(f64::NAN, false), |task| {
            identity_only(task, Uncomputed::NoSpot, |_, vols| vols.copy_from_slice(&[0.3, 0.4]))
        });
        assert_eq!(
            (chain.uncomputed, chain.rows(), report.contracts, report.priced),
            (Some(Uncomputed::NoSpot), 2, 2, 0)
        );
        assert_eq!(chain.columns.get(Col::PrevVol), [0.3, 0.4]);
        let missing = |col: &Col| chain.columns.get(*col).iter().all(|x| x.is_nan());
        assert!(Col::ALL.iter().filter(|col| **col != Col::PrevVol).all(missing));
        assert_eq!((chain.slices.len(), chain.slices[0].rows.clone()), (1, 0..2));
        assert!((chain.slices[0].days - 30.0).abs() < 1e-9 && chain.slices[0].fwd_price.is_nan());
    }

    #[test]
    fn the_first_reason_that_holds_is_the_reason() {
        let (chain, _) = of(&book(100.0, false), |task| identity_only(task, Uncomputed::NoSpot, |_, _| ()));
        let mut chain = Chain { spot: 100.0, ..(*chain).clone() };
        let none = ChainReport::default();
        let contradictory = ChainReport { contradictory_pairs: true, ..none };
        let priced = ChainReport { priced: 1, ..contradictory };
        assert_eq!(why_uncomputed(&chain, &none), Some(Uncomputed::NoUsableQuote));
        assert_eq!(why_uncomputed(&chain, &contradictory), Some(Uncomputed::ContradictoryPairs));
        assert_eq!(why_uncomputed(&chain, &priced), None, "one contract with Greeks is enough");
        chain.spot = f64::NAN;
        assert_eq!(why_uncomputed(&chain, &contradictory), Some(Uncomputed::NoSpot));
    }

    #[test]
    fn adjusted_roots_and_empty_books_are_no_case_but_a_panic_is() {
        let (adjusted, _) = of(&book(f64::NAN, true), |task| identity_only(task, Uncomputed::NoSpot, |_, _| ()));
        assert_eq!(adjusted.uncomputed, None);
        let mut settled = book(f64::NAN, false);
        settled.slices.truncate(1);
        let (settled, report) = of(&settled, |task| identity_only(task, Uncomputed::NoSpot, |_, _| ()));
        assert_eq!((settled.uncomputed, settled.rows(), report.slices), (None, 0, 0));
        let failed = of(&book(100.0, false), failed);
        assert_eq!((failed.uncomputed, failed.rows()), (Some(Uncomputed::Failed), 2));
    }
}
