//! Strikes or prices in other units than the spot: strikes in thousandths, prices of a whole contract.
//!
//! C − P falls by the discount factor for each unit of strike, whatever spot and volatility are. If in most expiries it
//! falls by that times a power of ten, strikes and prices have different units. Never: a repair.

use super::input::SliceInput;
use super::settings::SCALE;
use super::slice_work::SliceWork;
use crate::store::chain::Uncomputed;
use crate::store::ladder::Ladder;
use kernel::contract::Right;

/// Finds whether strikes or prices are in other units than the spot; `None`: neither are.
///
/// # Domain   slices with their ladders, any quotes; an expiry needs two strikes with both sides of call and put
/// # Cost     a few ns a slice
pub(super) fn wrong_scale(published: f64, inputs: &[SliceInput<'_>], slices: &[SliceWork]) -> Option<Uncomputed> {
    let (mut asked, mut strikes, mut prices) = (0, 0, 0);
    for (input, slice) in inputs.iter().zip(slices).filter(|(input, _)| input.shares.is_none()) {
        let ladder = &slice.state.ladder;
        let pair = |strike: usize| CrudePair::of(input, ladder, strike);
        let (Some(low), Some(high)) = ((0..ladder.len()).find_map(pair), (0..ladder.len()).rev().find_map(pair)) else {
            continue;
        };
        asked += 1;
        let (fall, apart) = (low.gap - high.gap, high.k - low.k);
        // errors of the two gaps must be small against their difference
        if !(apart > 0.0 && fall > 2.0 * (low.half + high.half)) {
            continue;
        }
        let slope = fall / apart;
        let power = 10f64.powf(slope.log10().round());
        let is_power = (slope / power).ln().abs() < SCALE.within.ln();
        if is_power && (power * SCALE.least <= 1.0 || power >= SCALE.least) {
            // strikes of the order of the spot are right
            let middle = 0.5 * (low.k + high.k) / published;
            let is_strike = !(SCALE.strike_least..SCALE.strike_most).contains(&middle);
            strikes += usize::from(is_strike);
            prices += usize::from(!is_strike);
        }
    }
    match () {
        () if 2 * strikes > asked => Some(Uncomputed::StrikeScale),
        () if 2 * prices > asked => Some(Uncomputed::PriceScale),
        () => None,
    }
}

/// Call and put of one strike as they are quoted, clean or not: prices in other units are mostly too wide.
struct CrudePair {
    k: f64,
    /// Call mid less put mid.
    gap: f64,
    /// Half of both spreads.
    half: f64,
}

impl CrudePair {
    fn of(input: &SliceInput<'_>, ladder: &Ladder, strike: usize) -> Option<Self> {
        let sides = |right: Right| {
            let row = ladder.row(right, strike)?;
            let (bid, ask) = (input.bid[row], input.ask[row]);
            (bid >= 0.0 && ask > bid).then_some((0.5 * (bid + ask), 0.5 * (ask - bid)))
        };
        let ((call, wide), (put, other)) = (sides(Right::Call)?, sides(Right::Put)?);
        Some(Self { k: ladder.strikes()[strike], gap: call - put, half: wide + other })
    }
}
