//! The forward of an American expiry. Parity holds for European values, so the early-exercise premium is removed.
//!
//! At each strike near the money the right that is out of the money gives the volatility, and with it the premium of
//! both rights. The difference of the quoted C − P from the model's shows the error of the forward; the model gives the
//! sensitivity of that difference to the forward. A call that is as good as exercised carries no information and does
//! not count.
//!
//! The premium comes from remembered tables. An expiry seen for the first time has none, and its borrow rate changes
//! with the sought forward, so that each step would need new tables: a lattice serves instead. Never: a European slice.

use super::carry::{Carry, effective_spot, implied_borrow};
use super::forward::{Pair, Parity, fit_wide};
use super::implied::{VolSearch, imply_block, start_vols};
use super::input::SliceInput;
use super::settings::PREMIUM;
use super::slice_work::{SliceState, SliceWork};
use crate::early::settings::LATTICE;
use crate::early::{EarlyExercise, PremiumByVol, Valuation};
use crate::store::ladder::Ladder;
use core::ops::Range;
use kernel::black76::{Horizon, european_vol};
use kernel::contract::Right;
use kernel::dividends::Terms;
use kernel::lanes::{BLOCK, Block, Lanes, Mask};
use kernel::lattice::Lattice;

/// The forward without early-exercise premium, starting from `carry`.
///
/// # Units    forward and errors in currency per share
/// # Domain   an American slice; without a first forward or a carry the first one stays
/// # Accuracy settled within 0.1 basis point of the spot (`PREMIUM.settled`), or after `PREMIUM.rounds`
/// # Source   docs/model.md, step 3
/// # Cost     one round where the market moved little: a volatility and two premiums for up to 24 strikes; the first
/// time two
/// lattices of 60 layers a round
pub(super) fn refine_forward(input: &SliceInput, carry: &Carry, slice: &mut SliceWork) -> Parity {
    let first = slice.parity;
    if first.fwd.is_nan() || carry.fwd.is_nan() {
        return first;
    }
    let SliceWork { state, terms, quotes, pairs, premium: room, sorted, updated, reach, .. } = slice;
    let SliceState { ladder, early, sigma, shift, last: before, .. } = state;
    let df = terms.df();
    let width = first.sd * first.fwd;
    // with unbounded borrow the forward may be far below the spot, and the pairs that show this lie about the spot
    let blocks = near_blocks(ladder, if *reach > 0.0 { input.s } else { first.fwd }, first.sd);
    room.near.clear();
    room.near.extend(pairs.iter().filter(|p| blocks.contains(&(p.strike / BLOCK))));
    terms.b = carry.b;
    let cold = start_vols(input, terms, first.fwd, quotes, ladder, sigma);
    let mut fwd = carry.fwd + shift.clamp(-PREMIUM.shift_most * carry.fwd, PREMIUM.shift_most * carry.fwd);
    let look = NearMoney { input, carry, quotes, ladder, blocks };
    // with overrides, values are at the overridden carry, which may be far from the implied one
    if !cold && let Some((_, b)) = before.filter(|_| !input.forced.is_any()) {
        // the first update of the pass: at the last pass's carry and the spot that it implies now
        *updated = Some(input.update_early(early, &look.here_at(fwd, b, terms), ladder, sigma));
    }
    let early = updated.map(|_| &*early);
    let mut last = first;
    let mut moved = f64::INFINITY;
    let mut is_of_last = shift.abs() > 0.0;
    // Newton in the forward, pair by pair: each gives the forward at which its difference vanishes, and `fit_forward`
    // weighs these. It converges to the forward at which the model's C − P, premium included, agree with the quoted
    // ones on average. Borrow and volatilities follow the forward from round to round, so the sensitivities are total
    // derivatives.
    for _ in 0..PREMIUM.rounds {
        look.gaps(fwd, terms, early, sigma, [&mut room.gaps, &mut room.vols]);
        if moved > PREMIUM.steady * input.s {
            let h = PREMIUM.bump * width;
            look.gaps(fwd + h, terms, early, &room.vols, [&mut room.bumped, &mut room.slope]);
            let slope = |(here, there): (&f64, &f64)| 1.0 + (there - here) / (df * h);
            room.slope.clear();
            room.slope.extend(room.gaps.iter().zip(&room.bumped).map(slope));
        }
        room.seen.clear();
        room.seen.extend(room.near.iter().filter_map(|p| seen_from(fwd, df, p, &room.gaps, &room.slope)));
        let next = fit_wide(&room.seen, df, input.t, *reach, sorted);
        if next.fwd.is_nan() {
            // where the last pass ended, all pairs are as good as exercised now: back to where a first pass begins
            if core::mem::take(&mut is_of_last) {
                fwd = carry.fwd;
                continue;
            }
            break;
        }
        is_of_last = false;
        last = Parity { sd: first.sd, ..next };
        moved = (next.fwd - fwd).abs();
        if moved < PREMIUM.settled * input.s {
            break;
        }
        fwd = next.fwd;
        if cold {
            // the first volatilities were European ones at the first forward
            let found = sigma.iter_mut().zip(&room.vols).filter(|(_, vol)| vol.is_finite());
            found.for_each(|(sigma, &vol)| *sigma = vol);
        }
    }
    *shift = last.fwd - carry.fwd;
    if cold {
        sigma.clear();
    }
    last
}

/// A pair with its premium removed: at the forward at which its difference vanishes, its error larger the less
/// sensitive it is.
fn seen_from(fwd: f64, df: f64, pair: &Pair, gaps: &[f64], slope: &[f64]) -> Option<Pair> {
    let european = df * (fwd - pair.k);
    let miss = pair.gap - european - gaps[pair.strike];
    let slope = slope[pair.strike].min(PREMIUM.sensitivity_most);
    // near exercise the slope goes to zero and miss/slope diverges, so the error grows faster than the miss
    let known = ((slope - PREMIUM.sensitivity_none) / (PREMIUM.sensitivity_full - PREMIUM.sensitivity_none)).min(1.0);
    (miss.is_finite() && known > 0.0).then(|| Pair {
        gap: european + miss / slope,
        half: pair.half / (slope * known),
        ..*pair
    })
}

/// Blocks of the strikes near the money.
fn near_blocks(ladder: &Ladder, fwd: f64, sd: f64) -> Range<usize> {
    let strikes = &ladder.strikes()[..ladder.len()];
    let at = |k: f64| strikes.partition_point(|&strike| strike < k);
    let (middle, reach) = (at(fwd), (PREMIUM.far * sd).exp());
    let low = at(fwd / reach).max(middle.saturating_sub(PREMIUM.strikes_most));
    let high = at(fwd * reach).min(middle + PREMIUM.strikes_most).max(low + 1);
    low / BLOCK..high.div_ceil(BLOCK).min(ladder.blocks())
}

/// The strikes near the money and their data.
struct NearMoney<'a> {
    input: &'a SliceInput<'a>,
    carry: &'a Carry,
    quotes: &'a super::clean::Quotes,
    ladder: &'a Ladder,
    blocks: Range<usize>,
}

impl NearMoney<'_> {
    /// The market at a forward, its borrow rate put into `terms`.
    fn here<'t>(&self, fwd: f64, terms: &'t mut Terms) -> Valuation<'t> {
        self.here_at(fwd, borrow_at(fwd, self.input, self.carry), terms)
    }

    /// The market at a forward and a borrow rate.
    fn here_at<'t>(&self, fwd: f64, b: f64, terms: &'t mut Terms) -> Valuation<'t> {
        terms.b = b;
        let s = effective_spot(fwd, self.input, b);
        self.input.valuation(s, terms)
    }

    /// Computes the premium of the call less that of the put at each strike, at a forward, and the volatility; NaN:
    /// none. Premiums come from `early`, or from a lattice.
    ///
    /// # Shapes   `sigma`, where the volatilities are sought from, and both results by strike, padded to blocks; NaN
    /// outside of the blocks near the money
    /// # Cost     a volatility and two premiums a strike; without `early` two lattices more
    fn gaps(
        &self,
        fwd: f64,
        terms: &mut Terms,
        early: Option<&EarlyExercise>,
        sigma: &[f64],
        [gaps, vols]: [&mut Vec<f64>; 2],
    ) {
        let here = self.here(fwd, terms);
        for column in [&mut *gaps, &mut *vols] {
            column.clear();
            column.resize(self.ladder.strikes().len(), f64::NAN);
        }
        const RIGHTS: [Right; 2] = [Right::Call, Right::Put];
        let lattices =
            early.is_none().then(|| RIGHTS.map(|right| Lattice::new(here.terms, here.s, right, LATTICE.forward)));
        for block in self.blocks.clone() {
            let k = self.ladder.block(block);
            let start = Block::load(&sigma[block * BLOCK..]);
            let premium = RIGHTS.map(|right| match (early, &lattices) {
                (Some(early), _) => early.by_sigma(&here, right, block),
                (None, Some(lattices)) => by_lattice(&here, right, &lattices[right as usize], k, start),
                (None, None) => PremiumByVol::none(),
            });
            let of = |right: Right| {
                let mid = self.ladder.gather(right, block, &self.quotes.mid);
                imply_block(&here, right, &VolSearch { k, price: mid, start }, &premium[right as usize]).sigma
            };
            // the right that is out of the money has less exercise premium, so its volatility depends least on the
            // sought forward; against the spot and not the forward, as exercise pays S − K
            let calls = Block::splat(here.s).le(k);
            let sigma = match (calls.any(), calls.all()) {
                (_, true) => of(Right::Call),
                (false, _) => of(Right::Put),
                _ => Block::select(calls, of(Right::Call), of(Right::Put)),
            };
            let [call, put] = premium.map(|p| p.at(sigma).value);
            (call - put).store(&mut gaps[block * BLOCK..]);
            sigma.store(&mut vols[block * BLOCK..]);
        }
    }
}

/// The premium near `sigma`, from a lattice.
fn by_lattice(here: &Valuation<'_>, right: Right, lattice: &Lattice, k: Block, sigma: Block) -> PremiumByVol {
    let premium = lattice.premium(k, sigma);
    if !premium.exercised.any() {
        return PremiumByVol::straight(sigma, premium.value, premium.vega);
    }
    let x = Block::splat(here.s - here.terms.a(0.0));
    let european = european_vol(right.phi(), &Horizon::from(here.terms), x, k, sigma);
    let payoff = (Block::splat(here.s) - k) * Block::splat(right.phi());
    let pick = |now: Block, waiting: Block| Block::select(premium.exercised, now, waiting);
    let value = pick(payoff - european.value, premium.value);
    PremiumByVol::straight(sigma, value, pick(-european.vega, premium.vega))
}

/// The borrow rate of a forward: the expiry's own, and in the last days the smoothed one.
fn borrow_at(fwd: f64, input: &SliceInput, carry: &Carry) -> f64 {
    // quadratic in t, as the error of borrow is the forward's over t: the two weigh the same where their errors are
    // equal
    let own_share = 1.0 / (1.0 + (PREMIUM.own_borrow_years / input.t).powi(2));
    let own = implied_borrow(carry.spot, fwd, input.t, input.r, input.divs) - carry.b;
    carry.b + if own.is_finite() { own_share * own } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::forward::fit_forward;
    use crate::calibrate::testing::{calibrated, fair};
    use kernel::contract::Style;

    fn pair(gap: f64) -> Pair {
        Pair { strike: 0, k: 100.0, gap, half: 0.1, straddle: 8.0 }
    }

    #[test]
    fn what_exercise_adds_is_taken_out_of_parity() {
        // puts in the money have a premium of up to several percent: parity as quoted is off by as much
        let slice = fair(Style::American, 100.0, 0.5, 0.25, &[80, 85, 90, 95, 100, 105, 110, 115, 120], 0.02);
        let truth = 100.0 * (0.04_f64 * 0.5).exp();
        let mut pairs = Vec::new();
        let input = slice.input();
        let mut quotes = crate::calibrate::clean::Quotes::default();
        crate::calibrate::clean::clean_quotes(&input, &mut quotes);
        let ladder = Ladder::new(input.strike_milli, input.right);
        crate::calibrate::forward::pair_quotes(&ladder, &quotes, &mut pairs);
        let raw = fit_forward(&pairs, (-0.04_f64 * 0.5).exp(), 0.5, &mut Vec::new());
        assert!((raw.fwd / truth - 1.0).abs() > 1e-3, "nothing to take out: {raw:?}");
        let fwd = calibrated(&slice).fwd;
        assert!((fwd / truth - 1.0).abs() < 2e-4, "{fwd} for {truth}, {} before", raw.fwd);
    }

    #[test]
    fn a_pair_says_its_miss_by_how_far_it_follows_the_forward() {
        let (fwd, df) = (101.0, 0.98);
        let european = df * (fwd - 100.0);
        let near = |seen: Option<Pair>, gap: f64, half: f64| {
            let seen = seen.unwrap();
            (seen.gap - gap).abs() < 1e-12 && (seen.half - half).abs() < 1e-12
        };
        // quoted as the model has it: it implies the forward that it was valued at
        assert!(near(seen_from(fwd, df, &pair(european - 0.3), &[-0.3], &[1.0]), european, 0.1));
        // half as sensitive: the same miss is twice as far, and twice as uncertain
        assert!(near(seen_from(fwd, df, &pair(european + 0.2), &[0.0], &[0.5]), european + 0.4, 0.2));
        // as good as exercised, or without a premium: nothing
        assert!(seen_from(fwd, df, &pair(european), &[0.0], &[PREMIUM.sensitivity_none]).is_none());
        assert!(seen_from(fwd, df, &pair(european), &[f64::NAN], &[1.0]).is_none());
    }

    #[test]
    fn only_blocks_near_the_money_are_looked_at() {
        let strikes: Vec<u32> = (1..=64).map(|k| k * 5000).collect();
        let both = |right| vec![right; strikes.len()];
        let rows: Vec<u32> = strikes.iter().flat_map(|&k| [k, k]).collect();
        let rights: Vec<Right> =
            both(Right::Call).into_iter().zip(both(Right::Put)).flat_map(|(c, p)| [c, p]).collect();
        let ladder = Ladder::new(&rows, &rights);
        // 160 is strike 31, in block 3; 3 % of it to either side is one strike
        assert_eq!(near_blocks(&ladder, 160.0, 0.02), 3..4);
        let wide = near_blocks(&ladder, 160.0, 9.0);
        assert_eq!(wide, (31 - PREMIUM.strikes_most) / BLOCK..(31 + PREMIUM.strikes_most).div_ceil(BLOCK));
        // a forward beyond all strikes has the last block
        assert_eq!(near_blocks(&ladder, 1e4, 0.1), 8..8);
    }
}
