//! Legs of one underlying as a whole: profit at the first settlement, where it is none, its bounds, its probability by
//! the curve, and the name that traders give it. Never: a text of a request, a format.
#![warn(clippy::arithmetic_side_effects)]
#![allow(clippy::arithmetic_side_effects, reason = "sums of floats")]

mod distribution;
mod known;
mod payoff;
mod proposed;

pub use distribution::SpotDistribution;
pub use known::{KnownLeg, KnownStrategy, name_of};
pub use payoff::Payoff;

use crate::explain::value_basis;
use crate::scenario::{ExerciseOutcome, ScenarioGrid, ScenarioMoment, ScenarioRows, ScenarioTables, SpotUnit, revalue};
use crate::store::chain::{Chain, Slice};
use jiff::Timestamp;
use kernel::calendar::years_between;
use kernel::contract::{Right, Style, strike_of};
use std::collections::{BTreeMap, BTreeSet};

/// Standard deviations of the spot that the profit is computed for, where it is no straight line between strikes.
const DEVIATIONS: f64 = 6.0;
/// Spots of such a profit, beside the strikes.
const SPOTS: usize = 241;
/// Factor from the highest strike or forward to the spot beyond which profit is a straight line.
const FAR: f64 = 4.0;

/// A leg of a strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrategyLeg {
    /// The instrument.
    pub held: HeldLeg,
    /// Shares, or contracts times their multiplier; negative if sold.
    pub units: f64,
}

/// The instrument of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldLeg {
    /// Shares of the underlying.
    Shares,
    /// The contract of a row.
    Contract {
        /// Index of the slice in the chain.
        slice: usize,
        /// Index of the row in the chain.
        row: usize,
    },
}

/// Legs of one underlying.
#[derive(Clone, Copy, Debug)]
pub struct Strategy<'a> {
    /// The chain that lists them.
    pub chain: &'a Chain,
    /// The legs.
    pub legs: &'a [StrategyLeg],
}

impl Strategy<'_> {
    /// The slice that settles first; `None`: all legs are shares.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        let slices = self.legs.iter().filter_map(|leg| match leg.held {
            HeldLeg::Contract { slice, .. } => Some(slice),
            HeldLeg::Shares => None,
        });
        slices.min_by_key(|&slice| self.chain.slices[slice].settles_at)
    }

    /// The distribution of the spot at the first settlement.
    #[must_use]
    pub fn distribution(&self) -> Option<SpotDistribution> {
        SpotDistribution::of(self.chain, self.chain.slices.get(self.first()?)?)
    }

    /// Profit at the first settlement by the spot then, of legs that have cost so much: contracts that settle then pay,
    /// later ones are valued by the model, shares keep the dividends until then. `None`: a value is missing.
    #[must_use]
    pub fn payoff(&self, cost: f64, tables: &ScenarioTables) -> Option<Payoff> {
        let first = self.first().map(|slice| &self.chain.slices[slice]);
        let spots = self.spots(first)?;
        let later = first.map_or_else(|| Some(BTreeMap::new()), |first| self.later_values(first, &spots, tables))?;
        let paid = first.map_or(0.0, |slice| self.dividends_until(slice.settles_at));
        let mut profit = vec![-cost; spots.len()];
        // units that gain as the spot does where it is high
        let mut slope = 0.0;
        for leg in self.legs {
            for (n, (sum, &s)) in profit.iter_mut().zip(&spots).enumerate() {
                let value = match leg.held {
                    HeldLeg::Shares => s + paid,
                    HeldLeg::Contract { row, .. } => match later.get(&row) {
                        Some(values) => values[n],
                        None => (self.chain.right[row].phi() * (s - self.strike(row))).max(0.0),
                    },
                };
                *sum += leg.units * value;
            }
            if self.right_of(leg) != Some(Right::Put) {
                slope += leg.units;
            }
        }
        let points = spots.into_iter().zip(profit).filter(|(_, profit)| profit.is_finite()).map(|(s, p)| [s, p]);
        Payoff::new(points.collect(), slope)
    }

    fn strike(&self, row: usize) -> f64 {
        strike_of(self.chain.strike_milli[row])
    }

    fn right_of(&self, leg: &StrategyLeg) -> Option<Right> {
        match leg.held {
            HeldLeg::Contract { row, .. } => Some(self.chain.right[row]),
            HeldLeg::Shares => None,
        }
    }

    /// The spots that profit is computed at, ascending: none, the strikes, the spot now and one far beyond; and a grid,
    /// where legs settle later.
    fn spots(&self, first: Option<&Slice>) -> Option<Vec<f64>> {
        let now = if self.chain.spot > 0.0 { self.chain.spot } else { self.chain.implied_spot };
        let center = first.map_or(now, |slice| slice.fwd_price);
        if !(center > 0.0 && now > 0.0) {
            return None;
        }
        let strikes = self.legs.iter().filter_map(|leg| match leg.held {
            HeldLeg::Contract { row, .. } => Some(self.strike(row)),
            HeldLeg::Shares => None,
        });
        let mut spots: Vec<f64> = strikes.collect();
        let far = spots.iter().fold(center.max(now), |most, &k| most.max(k)) * FAR;
        spots.extend([0.0, now, far]);
        if let Some(slice) = first.filter(|first| !self.later(first).is_empty()) {
            let deviation = SpotDistribution::of(self.chain, slice)?.deviation();
            let width = (DEVIATIONS * deviation).clamp(0.02, 2.0);
            let step = 2.0 * width / (SPOTS - 1) as f64;
            spots.extend((0..SPOTS).map(|n| center * (step * n as f64 - width).exp()));
        }
        spots.sort_by(f64::total_cmp);
        spots.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * center);
        Some(spots)
    }

    /// The rows of each slice that settles later.
    fn later(&self, first: &Slice) -> BTreeMap<usize, BTreeSet<usize>> {
        let mut rows: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for leg in self.legs {
            if let HeldLeg::Contract { slice, row } = leg.held
                && self.chain.slices[slice].settles_at > first.settles_at
            {
                rows.entry(slice).or_default().insert(row);
            }
        }
        rows
    }

    /// Values at the first settlement of the rows that settle later. Without a spot, a put is worth its strike.
    fn later_values(&self, first: &Slice, spots: &[f64], tables: &ScenarioTables) -> Option<BTreeMap<usize, Vec<f64>>> {
        let at = first.settles_at;
        let grid = ScenarioGrid {
            spot: spots.to_vec(),
            spot_unit: SpotUnit::Level,
            at: vec![ScenarioMoment::At(at)],
            ..ScenarioGrid::default()
        };
        let mut all = BTreeMap::new();
        for (slice, rows) in self.later(first) {
            let rows: Vec<usize> = rows.into_iter().collect();
            let of =
                ScenarioRows { chain: self.chain, slice, rows: &rows, delivery: ExerciseOutcome::Cash, lapse: None };
            let found = revalue(&of, &grid, &[at], tables, false).ok()?;
            let basis = value_basis(self.chain, slice)?;
            let left = basis.terms.t - years_between(self.chain.valued_at, at);
            for (row, found) in rows.into_iter().zip(found.values.chunks(spots.len())) {
                let paid = match (self.chain.right[row], self.chain.slices[slice].style) {
                    (Right::Call, _) => 0.0,
                    (Right::Put, Style::American) => 1.0,
                    (Right::Put, Style::European) => (-basis.terms.r * left).exp(),
                };
                let mut values: Vec<f64> = found.iter().map(|value| value.value).collect();
                values[0] = paid * self.strike(row);
                all.insert(row, values);
            }
        }
        Some(all)
    }

    /// Dividends of a share until a moment.
    fn dividends_until(&self, at: Timestamp) -> f64 {
        let t = years_between(self.chain.valued_at, at);
        let counted = self.chain.evidence.iter().flat_map(|evidence| &evidence.dividends);
        counted.filter(|dividend| dividend.t <= t).map(|dividend| dividend.amount).sum()
    }
}
