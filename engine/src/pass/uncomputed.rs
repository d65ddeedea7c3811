//! Names that cannot be computed: their contracts are listed all the same, with the reason. The one place that decides
//! which reason. Never: a formula.

use super::report::ChainReport;
use super::task::Task;
use crate::calendar::days_between;
use crate::store::book::BookSlice;
use crate::store::chain::{Chain, Slice, Uncomputed};
use crate::store::columns::{Col, Columns};
use core::ops::Range;
use jiff::Timestamp;
use std::sync::Arc;

/// Why not one contract of a chain has Greeks, if none has. Adjusted roots have none by their nature, so they give no
/// reason.
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
    let (mut chain, _) = identity_only(task, |_, _| ());
    Arc::make_mut(&mut chain).uncomputed = Some(Uncomputed::Failed);
    chain
}

/// The chain of a book that is not computed: who each contract is, its days, the volatilities of the session before
/// (`prev_vols` fills in those of a slice); every other number is missing.
pub(super) fn identity_only(task: &Task<'_>, prev_vols: impl Fn(&BookSlice, &mut [f64])) -> (Arc<Chain>, ChainReport) {
    let (book, at) = (task.book, task.at);
    let live: Vec<&BookSlice> = task.live().collect();
    let mut chain = Chain {
        underlying: book.underlying,
        spot: f64::NAN,
        implied_spot: f64::NAN,
        implied_spot_error: f64::NAN,
        spot_off: false,
        uncomputed: None,
        valued_at: at,
        // a second, finer look would show nothing more
        rough: false,
        slices: Vec::with_capacity(live.len()),
        strike_milli: live.iter().flat_map(|slice| &slice.strike_milli).copied().collect(),
        right: live.iter().flat_map(|slice| &slice.right).copied().collect(),
        dropped: vec![None; live.iter().map(|slice| slice.rows()).sum()],
        columns: Columns::missing(live.iter().map(|slice| slice.rows()).sum()),
        quotes: task.chain_quotes(),
    };
    let mut start = 0;
    for slice in live {
        let rows = start..start + slice.rows();
        prev_vols(slice, &mut chain.columns.get_mut(Col::PrevVol)[rows.clone()]);
        start = rows.end;
        chain.slices.push(identity(slice, rows, at));
    }
    let slices = u32::try_from(chain.slices.len()).unwrap_or(u32::MAX);
    let report = ChainReport { slices, contracts: chain.rows(), ..ChainReport::default() };
    chain.uncomputed = why_uncomputed(&chain, &report);
    (Arc::new(chain), report)
}

/// A slice of which nothing but its terms is known.
fn identity(slice: &BookSlice, rows: Range<usize>, at: Timestamp) -> Slice {
    let BookSlice { root, expiry, style, settle, settles_at, adjusted, .. } = *slice;
    let row = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
    Slice {
        root,
        expiry,
        rows: row(rows.start)..row(rows.end),
        style,
        settle,
        settles_at,
        adjusted,
        days: days_between(at, settles_at),
        und_price: f64::NAN,
        fwd_price: f64::NAN,
        disc_rate: f64::NAN,
        borr_rate: f64::NAN,
        divs: f64::NAN,
    }
}
