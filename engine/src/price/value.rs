//! Values and Greeks of one slice, a block of strikes and one right at a time: the European part in closed form, and
//! the early-exercise premium. Call or put is decided once per block and never inside a kernel.

use super::priced::PricedSlice;
use super::publish::{ValuedBlock, publish};
use crate::early::{BlockMethod, EarlyExercise, Valuation, plain};
use crate::store::ladder::Ladder;
use kernel::black76::european_vol;
use kernel::contract::{Right, Style};
use kernel::lanes::{BLOCK, Block, Lanes};

/// Fills the columns of a slice with everything that depends on `svc_vol`: `sigma` by strike, padded; where it is NaN
/// rows stay missing. Premiums of early exercise are read from `early`, which must be up to date. Returns how many rows
/// have Greeks.
///
/// # Units   native: vega, rho, epsilon per 1 %, theta per calendar day, the rest as in [`kernel::greeks::Greeks`]
/// # Missing a row without volatility, or without model value (S ≤ A(0)), keeps NaN.
pub(super) fn value_slice(
    here: &Valuation<'_>,
    ladder: &Ladder,
    sigma: &[f64],
    early: &EarlyExercise,
    out: &mut PricedSlice,
) -> u32 {
    let american = here.style == Style::American;
    let mut priced = 0;
    let (next_spot, next_horizon) = (here.next_spot(), here.next_horizon());
    for block in 0..ladder.blocks() {
        let (k, sigma) = (ladder.block(block), Block::load(&sigma[block * BLOCK..]));
        for right in [Right::Call, Right::Put] {
            let mut greeks = plain(right, here, k, sigma);
            let added = american.then(|| early.add(here, right, block, k, sigma, &mut greeks));
            let payoff = (Block::splat(next_spot) - k) * Block::splat(right.phi());
            let next = match &next_horizon {
                Some((horizon, x)) => {
                    let european = european_vol(right.phi(), horizon, Block::splat(*x), k, sigma).value;
                    added.map_or(european, |added| added.next.value(european, payoff))
                }
                None => payoff.max(Block::splat(0.0)),
            };
            let method = added.map_or_else(BlockMethod::european, |added| added.method);
            let decay = next - greeks.value;
            priced += publish(&ValuedBlock { ladder, right, block, sigma, greeks, decay, method }, out);
        }
    }
    priced
}
