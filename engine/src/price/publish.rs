//! Raw units to native units, blocks to columns. NaN goes out only as "missing", infinity never.

use crate::contract::Right;
use crate::kernel::greeks::Greeks;
use crate::kernel::lanes::{BLOCK, Block as Numbers, Lanes};
use crate::store::columns::{Col, Columns};
use crate::store::ladder::Ladder;

/// One right of a block of strikes, valued.
pub(super) struct ValuedBlock<'a> {
    pub(super) ladder: &'a Ladder,
    pub(super) right: Right,
    pub(super) block: usize,
    pub(super) sigma: Numbers,
    pub(super) greeks: Greeks<Numbers>,
    pub(super) decay: Numbers,
}

/// Writes one block and says how many rows it has. A row with any number that is not finite has no model value: all its
/// numbers stay missing.
pub(super) fn publish(of: &ValuedBlock<'_>, columns: &mut Columns) -> u32 {
    let greeks = Col::ALL.iter().filter_map(|&col| Some((col, of.greeks.get(col.greek()?))));
    let raw = greeks.chain([(Col::SvcVol, of.sigma), (Col::Decay, of.decay)]);
    // a finite number times zero is zero, any other NaN
    let zero = Numbers::splat(0.0);
    let mut poison = zero;
    for (_, value) in raw.clone() {
        poison += value * zero;
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
