//! Values and Greeks of one slice: rows gathered by right into padded blocks, one pass of the kernel, scattered back.
//!
//! Call or put is decided once per block and never inside a kernel. The last block of a right is padded with copies of
//! its last row, so that every row goes through the same instructions whatever its neighbours.

use super::decay::{self, NextSession};
use super::publish;
use crate::contract::Right;
use crate::kernel::american::Pricer;
use crate::kernel::dividends::Terms;
use crate::kernel::greeks::Greeks;
use crate::kernel::lanes::{BLOCK, Block, Lanes};
use crate::store::columns::Columns;
use core::ops::Range;

/// Everything that the rows of one slice are priced with.
#[derive(Clone, Copy, Debug)]
pub struct SlicePrice<'a> {
    /// The spot to value at (F for the VIX family), currency per share.
    pub s: f64,
    /// Time, rates and dividends.
    pub terms: &'a Terms,
    /// Pricers of calls and puts, built for a band that holds every strike and volatility of the slice.
    pub pricers: &'a [Pricer; 2],
    /// Strikes by row, thousandths.
    pub strike_milli: &'a [u32],
    /// Call or put, by row.
    pub right: &'a [Right],
    /// Volatility by row; NaN: the row stays missing.
    pub sigma: &'a [f64],
    /// The same clock time on the next trading day.
    pub next: &'a NextSession<'a>,
}

/// Up to [`BLOCK`] rows of one right, padded with copies of the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) right: Right,
    /// Rows of the slice; the first `n` count.
    pub(super) row: [usize; BLOCK],
    pub(super) n: usize,
    pub(super) k: Block,
    pub(super) sigma: Block,
}

/// Fills the columns of the rows `at` of a chain with everything that depends on `svc_vol`.
///
/// # Units   native: vega, rho, epsilon per 1 %, theta per calendar day, the rest as in [`Greeks`]
/// # Missing a row without volatility, or without model value (S ≤ A(0)), keeps NaN. Returns how many have none.
pub fn value_slice(slice: &SlicePrice<'_>, at: Range<u32>, columns: &mut Columns) -> usize {
    let start = at.start as usize;
    let mut without = 0;
    for right in [Right::Call, Right::Put] {
        let pricer = slice.pricers[right as usize].at(slice.terms, slice.s);
        for rows in blocks(slice, right) {
            let greeks: Greeks<Block> = pricer.greeks(rows.k, rows.sigma);
            let decay = decay::decay(slice, &rows, greeks.value);
            without += publish::publish(&rows, &greeks, decay, start, columns);
        }
    }
    without
}

/// The rows of one right that have a volatility, in blocks.
fn blocks<'a>(slice: &'a SlicePrice<'_>, right: Right) -> impl Iterator<Item = Rows> + 'a {
    let mut rest =
        (0..slice.strike_milli.len()).filter(move |&i| slice.right[i] == right && slice.sigma[i].is_finite());
    core::iter::from_fn(move || {
        let mut row = [rest.next()?; BLOCK];
        let mut n = 1;
        for next in rest.by_ref().take(BLOCK - 1) {
            row[n..].fill(next);
            n += 1;
        }
        let k = row.map(|i| f64::from(slice.strike_milli[i]) / 1000.0);
        let sigma = row.map(|i| slice.sigma[i]);
        Some(Rows { right, row, n, k: Block::load(&k), sigma: Block::load(&sigma) })
    })
}
