//! The finished rows of a slice: raw units to native units, blocks to columns. NaN means missing; infinity never
//! occurs.

use super::chances::Chances;
use crate::early::BlockMethod;
use crate::store::columns::{Col, ColumnRows};
use crate::store::evidence::ValueMethod;
use crate::store::ladder::Ladder;
use kernel::contract::Right;
use kernel::greeks::{Greek, Greeks};
use kernel::lanes::{BLOCK, Block as Numbers, Lanes};

/// One right of a block of strikes, valued.
pub(super) struct ValuedBlock<'a> {
    pub(super) ladder: &'a Ladder,
    pub(super) right: Right,
    pub(super) block: usize,
    pub(super) sigma: Numbers,
    pub(super) greeks: Greeks<Numbers>,
    pub(super) decay: Numbers,
    pub(super) decay_vt: Numbers,
    pub(super) theta_vt: Numbers,
    pub(super) chances: Chances,
    pub(super) method: BlockMethod,
}

/// The columns that hold Greeks.
const GREEKS: [(Col, Greek); Greek::ALL.len()] = {
    let mut greeks = [(Col::SvcTheo, Greek::Value); Greek::ALL.len()];
    let (mut i, mut n) = (0, 0);
    while i < Col::ALL.len() {
        if let Some(greek) = Col::ALL[i].greek() {
            greeks[n] = (Col::ALL[i], greek);
            n += 1;
        }
        i += 1;
    }
    assert!(n == greeks.len(), "a Greek has no column");
    greeks
};

/// Writes one block and returns how many rows it has. A row with any number that is not finite has no model value: all
/// its numbers stay missing. A number of the variance clock or of the slope of the curve may be missing by itself.
///
/// # Domain   rows that are missing so far, in the places that the ladder gives
pub(super) fn publish(of: &ValuedBlock<'_>, columns: &mut ColumnRows<'_>, methods: &mut [Option<ValueMethod>]) -> u32 {
    // a finite number times zero is zero, any other is NaN
    let zero = Numbers::splat(0.0);
    let mut poison = of.sigma * zero + of.decay * zero;
    for (_, greek) in GREEKS {
        poison += of.greeks.get(greek) * zero;
    }
    let mut numbers = [0.0; BLOCK];
    let mut write = |col: Col, value: Numbers| {
        (value * (1.0 / col.unit().divisor()) + poison).store(&mut numbers);
        of.ladder.scatter(of.right, of.block, &numbers, columns.get_mut(col));
    };
    for (col, greek) in GREEKS {
        write(col, of.greeks.get(greek));
    }
    write(Col::SvcVol, of.sigma);
    write(Col::Decay, of.decay);
    let Chances { itm, touch, density } = of.chances;
    for (col, x) in [
        (Col::DecayVt, of.decay_vt),
        (Col::ThetaVt, of.theta_vt),
        (Col::ProbItm, itm),
        (Col::ProbTouch, touch),
        (Col::Density, density),
    ] {
        write(col, x + x * zero);
    }
    poison.store(&mut numbers);
    let mut priced = 0;
    for lane in (0..BLOCK).filter(|&lane| !numbers[lane].is_nan()) {
        let Some(row) = of.ladder.row(of.right, of.block * BLOCK + lane) else { continue };
        methods[row] = Some(of.method.of(lane));
        priced += 1;
    }
    priced
}
