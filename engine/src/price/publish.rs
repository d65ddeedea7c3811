//! Raw units to native units, blocks to columns. NaN goes out only as "missing", infinity never.

use crate::contract::Right;
use crate::kernel::greeks::Greeks;
use crate::kernel::lanes::{BLOCK, Block as Numbers, Lanes};
use crate::store::columns::{Col, Columns};
use crate::store::ladder::Ladder;

/// One right of a block of strikes, valued.
pub(super) struct Block<'a> {
    pub(super) ladder: &'a Ladder,
    pub(super) right: Right,
    pub(super) block: usize,
    pub(super) sigma: Numbers,
    pub(super) greeks: Greeks<Numbers>,
    pub(super) decay: Numbers,
}

/// The columns that a valued contract has, the greeks in the raw unit of the kernel: per 1.00 and per year.
fn raw_columns(of: &Block<'_>) -> [(Col, Numbers); 23] {
    let g = &of.greeks;
    [
        (Col::SvcTheo, g.value),
        (Col::SvcVol, of.sigma),
        (Col::Delta, g.delta),
        (Col::Gamma, g.gamma),
        (Col::Speed, g.speed),
        (Col::Vega, g.vega),
        (Col::Volga, g.volga),
        (Col::Ultima, g.ultima),
        (Col::Vanna, g.vanna),
        (Col::Zomma, g.zomma),
        (Col::Theta, g.theta),
        (Col::Charm, g.charm),
        (Col::Color, g.color),
        (Col::Veta, g.veta),
        (Col::Rho, g.rho),
        (Col::Vera, g.vera),
        (Col::Epsilon, g.epsilon),
        (Col::Lambda, g.lambda),
        (Col::DualDelta, g.dual_delta),
        (Col::DualGamma, g.dual_gamma),
        (Col::D1, g.d1),
        (Col::D2, g.d2),
        (Col::Decay, of.decay),
    ]
}

/// Writes one block and says how many rows it has. A row with any number that is not finite has no model value: all its
/// numbers stay missing.
pub(super) fn publish(of: &Block<'_>, columns: &mut Columns) -> u32 {
    let raw = raw_columns(of);
    // a finite number times zero is zero, any other NaN
    let zero = Numbers::splat(0.0);
    let mut poison = zero;
    for (_, value) in &raw {
        poison += *value * zero;
    }
    let mut numbers = [0.0; BLOCK];
    for (col, value) in raw {
        (value * Numbers::splat(1.0 / col.unit().divisor()) + poison).store(&mut numbers);
        of.ladder.scatter(of.right, of.block, &numbers, columns.get_mut(col));
    }
    poison.store(&mut numbers);
    let listed = |lane: usize| of.ladder.is_listed(of.right, of.block * BLOCK + lane);
    (0..BLOCK).map(|lane| u32::from(!numbers[lane].is_nan() && listed(lane))).sum()
}
