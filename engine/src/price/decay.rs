//! `decay`: what the price is expected to change by until the same clock time on the next trading day (MODEL, Greeks).

use super::value::{Rows, SlicePrice};
use crate::kernel::american::Pricer;
use crate::kernel::dividends::{Dividend, Terms};
use crate::kernel::lanes::{Block, Lanes};

/// A slice as it will be at the same clock time on the next trading day, all else equal.
#[derive(Debug)]
pub struct NextSession<'a> {
    /// The spot less the dividends that go ex in between, currency per share.
    pub s: f64,
    /// Time, rates and dividends then; `None`: the contract settles before.
    pub terms: Option<Terms>,
    /// Pricers that serve those terms, calls and puts.
    pub pricers: &'a [Pricer; 2],
}

impl NextSession<'_> {
    /// Spot and terms after `step` years: dividends that go ex meanwhile leave the spot, the others come nearer.
    #[must_use]
    pub fn shift(s: f64, terms: &Terms, step: f64) -> (f64, Option<Terms>) {
        let gone: f64 = terms.divs.iter().filter(|d| d.t <= step.min(terms.t)).map(|d| d.amount).sum();
        let later = (terms.t > step).then(|| Terms {
            t: terms.t - step,
            r: terms.r,
            b: terms.b,
            divs: terms
                .divs
                .iter()
                .filter(|d| d.t > step)
                .map(|d| Dividend { t: d.t - step, amount: d.amount })
                .collect(),
        });
        (s - gone, later)
    }
}

/// V(S', T−Δ) − V(S, T) at the same volatility, or the payoff at S' − V where the contract settles before.
#[inline(never)]
pub(super) fn decay(slice: &SlicePrice<'_>, rows: &Rows, value: Block) -> Block {
    let next = slice.next;
    let then = match &next.terms {
        Some(terms) => next.pricers[rows.right as usize].at(terms, next.s).vol_jet(rows.k, rows.sigma).value,
        None => {
            let phi = Block::splat(rows.right.phi());
            (phi * (Block::splat(next.s) - rows.k)).max(Block::splat(0.0))
        }
    };
    then - value
}
