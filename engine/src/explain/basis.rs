//! Inputs of the values of an expiry, from its chain and the evidence beside it. Never: a value.

use crate::rates::source::RateOrigin;
use crate::store::chain::{Chain, Slice};
use crate::store::evidence::{CountedDividend, KnownTerms, SliceEvidence};
use core::ops::Range;
use kernel::calendar::years_between;
use kernel::dividends::{Dividend, Terms};

/// Inputs of the values of an expiry.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueBasis {
    /// Time, rates and dividends until expiry.
    pub terms: Terms,
    /// The spot that forward and borrow imply, currency per share.
    pub s: f64,
    /// Standard error of the forward, currency per share; NaN: the expiry has no usable call/put pair.
    pub fwd_error: f64,
    /// Years to the same clock time on the next trading day.
    pub step: f64,
    /// Overrides of the expiry.
    pub known: KnownTerms,
    /// Shift added to the volatilities of the curve, per √year.
    pub vol_shift: f64,
    /// Dividends before the expiry.
    pub dividends: Vec<CountedDividend>,
    /// Number of dividends before the expiry if they are too many, so that none counts; else 0.
    pub dividends_refused: u32,
    /// True if a source of dividends covers the name.
    pub dividends_known: bool,
    /// Source of the rate; `None` if a user overrides it.
    pub rates: Option<RateOrigin>,
}

/// Inputs of the values of a slice; `None`: it has no values, or its evidence is not available.
#[must_use]
pub fn value_basis(chain: &Chain, slice: usize) -> Option<ValueBasis> {
    basis(chain, chain.slices.get(slice)?, chain.evidence.as_ref()?.slices.get(slice)?)
}

pub(super) fn basis(chain: &Chain, slice: &Slice, own: &SliceEvidence) -> Option<ValueBasis> {
    let t = years_between(chain.valued_at, slice.settles_at);
    if !(slice.fwd_price > 0.0 && own.s > 0.0 && t > 0.0) {
        return None;
    }
    let all = chain.evidence.as_ref().map_or(&[][..], |evidence| &evidence.dividends);
    let is_counted = |dividend: &&CountedDividend| dividend.t <= t && own.dividends_refused == 0;
    let dividends: Vec<CountedDividend> = all.iter().filter(is_counted).copied().collect();
    let divs = dividends.iter().map(|&CountedDividend { t, amount, .. }| Dividend { t, amount }).collect();
    Some(ValueBasis {
        terms: Terms { t, r: slice.disc_rate, b: slice.borr_rate, divs },
        s: own.s,
        fwd_error: own.fwd_error,
        step: own.step,
        known: own.known,
        vol_shift: own.vol_shift,
        dividends,
        dividends_refused: own.dividends_refused,
        dividends_known: chain.evidence.as_ref().is_some_and(|evidence| evidence.dividends_known),
        rates: chain.evidence.as_ref().and_then(|evidence| evidence.rates).filter(|_| !own.known.rate),
    })
}

/// The rows of a slice.
pub(super) fn rows(slice: &Slice) -> Range<usize> {
    slice.rows.start as usize..slice.rows.end as usize
}
