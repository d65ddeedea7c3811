//! Everything behind one contract of a finished chain.
//!
//! What is served is read from the chain and never computed again. What is added here follows from what the chain was
//! computed from ([`ChainEvidence`](crate::store::evidence::ChainEvidence)): which pairs of call and put told the forward,
//! what other schemes say of the value, and what a reader should be warned of. So an explanation is of what was served,
//! whatever was quoted since. Never: a book, a text for people.

mod parity;
mod schemes;
mod warnings;

pub use parity::{StrikeOutcome, StrikeSaid, Unused};
pub use schemes::{EarlyMethod, SchemeValues};
pub use warnings::Warning;

use crate::calibrate::forward::Parity;
use crate::contract::{ContractKey, Right};
use crate::kernel::dividends::{Dividend, Terms};
use crate::store::chain::{Chain, Slice};
use crate::store::columns::Col;
use crate::store::evidence::{CountedDividend, KnownTerms, SliceEvidence};
use core::ops::Range;

/// Neighbouring strikes that are shown to either side.
const STRIKES_BESIDE: usize = 3;

/// Everything behind one contract.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Its slice in the chain.
    pub slice: usize,
    /// Its row.
    pub row: usize,
    /// What it is valued on; `None`: it is not, or nobody knows any more.
    pub basis: Option<ValueBasis>,
    /// What the pairs of its expiry say of the forward together, without the other expiries.
    pub told: Parity,
    /// What each strike of the expiry says of it, ascending.
    pub strikes: Vec<StrikeSaid>,
    /// Rows of the same right around it, itself among them, ascending.
    pub beside: Vec<usize>,
    /// Of the expiries before and after it the row of the same right whose strike is as far from the forward: slice and row.
    pub expiries: Vec<(usize, usize)>,
    /// Its values by other schemes; `None`: it has no value.
    pub values: Option<SchemeValues>,
    /// What a reader should know, the gravest first.
    pub warnings: Vec<Warning>,
}

/// What values of an expiry are computed on.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueBasis {
    /// Time, rates and dividends of its life.
    pub terms: Terms,
    /// The spot that forward and borrow imply, currency per share.
    pub s: f64,
    /// Standard error of the forward, currency per share; NaN: no pair of its own tells it.
    pub fwd_error: f64,
    /// Years to the same clock time on the next trading day.
    pub step: f64,
    /// What a user knows of it.
    pub known: KnownTerms,
    /// Added to the volatilities of its curve, per √year.
    pub vol_shift: f64,
    /// The dividends of its life, as they are known.
    pub dividends: Vec<CountedDividend>,
}

/// Everything behind a contract; `None`: the chain does not list it.
///
/// # Domain   any chain, one that was read back or written by hand included: what is not known of it is left out
/// # Cost     a value by the reference scheme: up to some tenths of a second where dividends are ahead
#[must_use]
pub fn explain(chain: &Chain, contract: &ContractKey) -> Option<Explanation> {
    let (slice, row) = place(chain, contract)?;
    let of = &chain.slices[slice];
    let evidence = chain.evidence.as_ref().and_then(|evidence| evidence.slices.get(slice));
    let basis = evidence.and_then(|own| basis(chain, of, own));
    let (told, strikes) = match (&basis, evidence) {
        (Some(basis), Some(evidence)) => parity::strikes_said(chain, of, basis, evidence),
        _ => (Parity::NONE, Vec::new()),
    };
    let sigma = chain.columns.get(Col::SvcVol)[row];
    let strike = f64::from(chain.strike_milli[row]) / 1000.0;
    let values = basis.as_ref().filter(|_| sigma > 0.0).map(|basis| {
        schemes::values((of.style, chain.right[row]), &basis.terms, basis.s, (strike, sigma), chain.rough)
    });
    let mut found = Explanation {
        slice,
        row,
        basis,
        told,
        strikes,
        beside: beside(chain, of, row),
        expiries: neighbours(chain, slice, row),
        values,
        warnings: Vec::new(),
    };
    found.warnings = warnings::of(chain, &found);
    Some(found)
}

/// Slice and row of a contract.
fn place(chain: &Chain, contract: &ContractKey) -> Option<(usize, usize)> {
    let is_of = |slice: &Slice| slice.root == contract.root && slice.expiry == contract.expiry;
    chain.slices.iter().enumerate().filter(|(_, slice)| is_of(slice)).find_map(|(i, slice)| {
        let row = rows(slice)
            .find(|&row| chain.strike_milli[row] == contract.strike_milli && chain.right[row] == contract.right)?;
        Some((i, row))
    })
}

fn rows(slice: &Slice) -> Range<usize> {
    slice.rows.start as usize..slice.rows.end as usize
}

/// What values of a slice are computed on; `None`: it has none, or nobody knows any more.
#[must_use]
pub fn value_basis(chain: &Chain, slice: usize) -> Option<ValueBasis> {
    basis(chain, chain.slices.get(slice)?, chain.evidence.as_ref()?.slices.get(slice)?)
}

fn basis(chain: &Chain, slice: &Slice, own: &SliceEvidence) -> Option<ValueBasis> {
    let t = crate::calendar::years_between(chain.valued_at, slice.settles_at);
    if !(slice.fwd_price > 0.0 && own.s > 0.0 && t > 0.0) {
        return None;
    }
    let all = chain.evidence.as_ref().map_or(&[][..], |evidence| &evidence.dividends);
    let dividends: Vec<CountedDividend> = all.iter().filter(|dividend| dividend.t <= t).copied().collect();
    let divs = dividends.iter().map(|&CountedDividend { t, amount, .. }| Dividend { t, amount }).collect();
    Some(ValueBasis {
        terms: Terms { t, r: slice.disc_rate, b: slice.borr_rate, divs },
        s: own.s,
        fwd_error: own.fwd_error,
        step: own.step,
        known: own.known,
        vol_shift: own.vol_shift,
        dividends,
    })
}

/// Rows of the same right around a row.
fn beside(chain: &Chain, slice: &Slice, row: usize) -> Vec<usize> {
    let same: Vec<usize> = rows(slice).filter(|&other| chain.right[other] == chain.right[row]).collect();
    let Some(at) = same.iter().position(|&other| other == row) else { return Vec::new() };
    same[at.saturating_sub(STRIKES_BESIDE)..(at + STRIKES_BESIDE + 1).min(same.len())].to_vec()
}

/// The expiries before and after that have a curve, and in each the row that is as far from its forward.
fn neighbours(chain: &Chain, slice: usize, row: usize) -> Vec<(usize, usize)> {
    let of = &chain.slices[slice];
    let ratio = f64::from(chain.strike_milli[row]) / of.fwd_price;
    let has_curve = |i: &usize| *i != slice && chain.slices[*i].fwd_price > 0.0 && !chain.slices[*i].adjusted;
    let before = (0..slice).rev().find(has_curve);
    let after = (slice + 1..chain.slices.len()).find(has_curve);
    before.into_iter().chain(after).filter_map(|i| Some((i, nearest(chain, i, ratio, chain.right[row])?))).collect()
}

/// The row of a right whose strike is nearest to a multiple of the forward, in logarithms.
fn nearest(chain: &Chain, slice: usize, ratio: f64, right: Right) -> Option<usize> {
    let of = &chain.slices[slice];
    let far = |row: usize| (f64::from(chain.strike_milli[row]) / (ratio * of.fwd_price)).ln().abs();
    let same = rows(of).filter(|&row| chain.right[row] == right && far(row).is_finite());
    same.min_by(|&a, &b| far(a).total_cmp(&far(b)))
}
