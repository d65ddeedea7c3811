//! Raw units to native units, blocks to columns. NaN goes out only as "missing", infinity never.

use super::value::Rows;
use crate::kernel::greeks::Greeks;
use crate::kernel::lanes::{BLOCK, Block, Lanes};
use crate::store::columns::{Col, Columns};

/// The columns that a raw Greek goes to, in the raw unit of the kernel: per 1.00 and per year.
fn raw_columns(g: &Greeks<Block>, decay: Block) -> [(Col, Block); 22] {
    [
        (Col::SvcTheo, g.value),
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
        (Col::Decay, decay),
    ]
}

/// Writes one block. A row with any number that is not finite has no model value: all its numbers stay missing, and it
/// is counted in the result.
pub(super) fn publish(rows: &Rows, greeks: &Greeks<Block>, decay: Block, start: usize, columns: &mut Columns) -> usize {
    let mut numbers = [[0.0; BLOCK]; 22];
    let raw = raw_columns(greeks, decay);
    let mut finite = [true; BLOCK];
    for ((col, value), out) in raw.iter().zip(&mut numbers) {
        (*value * Block::splat(1.0 / col.unit().divisor())).store(out);
        for (ok, number) in finite.iter_mut().zip(out) {
            *ok &= number.is_finite();
        }
    }
    let mut without = 0;
    for lane in 0..rows.n {
        if !finite[lane] {
            without += 1;
            continue;
        }
        let row = start + rows.row[lane];
        for ((col, _), numbers) in raw.iter().zip(&numbers) {
            columns.get_mut(*col)[row] = numbers[lane];
        }
        columns.get_mut(Col::SvcVol)[row] = rows.sigma.lane(lane);
    }
    without
}
