//! Profit by the spot as a line of straight pieces: its zeros, its bounds, and how likely it is. Never: a chain.

use super::distribution::SpotDistribution;

/// Less profit than this, in currency, is none.
const NONE: f64 = 1e-7;

/// Profit by the spot: straight between points, and beyond the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Payoff {
    /// Spot and profit, by ascending spots from zero on.
    points: Vec<[f64; 2]>,
    /// Change of profit with the spot beyond the last point.
    slope: f64,
}

impl Payoff {
    /// The line through some points, by ascending spots; `None`: there are none.
    #[must_use]
    pub fn new(points: Vec<[f64; 2]>, slope: f64) -> Option<Self> {
        let slope = if slope.abs() < NONE { 0.0 } else { slope };
        (!points.is_empty()).then_some(Self { points, slope })
    }

    /// Spot and profit at the points.
    #[must_use]
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// The spots where profit turns from loss to gain or back.
    #[must_use]
    pub fn breakevens(&self) -> Vec<f64> {
        let ranges = self.profitable();
        let mut ends: Vec<f64> =
            ranges.iter().flatten().copied().filter(|&s| s > self.points[0][0] && s.is_finite()).collect();
        // a gain that touches zero within itself has no end there
        ends.dedup();
        ends
    }

    /// The largest profit; `None`: it is without bound.
    #[must_use]
    pub fn largest_gain(&self) -> Option<f64> {
        (self.slope <= 0.0).then(|| self.points.iter().fold(f64::NEG_INFINITY, |most, [_, p]| most.max(*p)))
    }

    /// The least profit, negative if it is a loss; `None`: loss is without bound.
    #[must_use]
    pub fn largest_loss(&self) -> Option<f64> {
        (self.slope >= 0.0).then(|| self.points.iter().fold(f64::INFINITY, |least, [_, p]| least.min(*p)))
    }

    /// The probability of a profit.
    #[must_use]
    pub fn chance(&self, spot: &SpotDistribution) -> f64 {
        let below = |s: f64| if s.is_finite() { spot.below(s) } else { 1.0 };
        self.profitable().iter().map(|[from, to]| (below(*to) - below(*from)).max(0.0)).sum::<f64>().clamp(0.0, 1.0)
    }

    /// The ranges of the spot with a profit, ascending; the last may have no end.
    #[must_use]
    pub fn profitable(&self) -> Vec<[f64; 2]> {
        let mut ranges: Vec<[f64; 2]> = Vec::new();
        let mut push = |from: f64, to: f64| match ranges.last_mut() {
            Some(last) if last[1] >= from => last[1] = to,
            _ => ranges.push([from, to]),
        };
        for pair in self.points.windows(2) {
            let ([a, pa], [b, pb]) = (pair[0], pair[1]);
            let zero = || a + (b - a) * pa / (pa - pb);
            match (pa > NONE, pb > NONE) {
                (true, true) => push(a, b),
                (true, false) => push(a, zero().min(b)),
                (false, true) => push(zero().max(a), b),
                (false, false) => {}
            }
        }
        if let Some(&[last, profit]) = self.points.last() {
            let zero = last - profit / self.slope;
            match (profit > NONE, self.slope > 0.0) {
                (true, _) if self.slope >= 0.0 => push(last, f64::INFINITY),
                (true, _) => push(last, zero),
                (false, true) => push(zero, f64::INFINITY),
                (false, false) => {}
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], wanted: &[f64]) {
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    }

    /// Short 100/105 calls and 90/95 puts for a credit of 1.50, a hundred shares.
    #[test]
    fn a_condor_is_bounded_on_both_sides() {
        let points = [[0.0, -350.0], [90.0, -350.0], [95.0, 150.0], [100.0, 150.0], [105.0, -350.0], [400.0, -350.0]];
        let payoff = Payoff::new(points.to_vec(), 0.0).unwrap();
        near(&payoff.breakevens(), &[93.5, 101.5]);
        near(&payoff.profitable().concat(), &[93.5, 101.5]);
        assert_eq!((payoff.largest_gain(), payoff.largest_loss()), (Some(150.0), Some(-350.0)));
    }

    #[test]
    fn what_is_sold_naked_has_no_bound() {
        let call = Payoff::new(vec![[0.0, 200.0], [100.0, 200.0], [400.0, -29_800.0]], -100.0).unwrap();
        near(&call.breakevens(), &[102.0]);
        assert_eq!((call.largest_gain(), call.largest_loss()), (Some(200.0), None));
        let straddle = Payoff::new(vec![[0.0, 9_000.0], [100.0, -1_000.0], [105.0, -500.0]], 100.0).unwrap();
        near(&straddle.breakevens(), &[90.0, 110.0]);
        assert_eq!((straddle.largest_gain(), straddle.largest_loss()), (None, Some(-1_000.0)));
        let [from, to] = straddle.profitable()[1];
        assert!((from - 110.0).abs() < 1e-9 && to == f64::INFINITY, "{from} {to}");
        let falling = Payoff::new(vec![[0.0, 500.0], [50.0, 100.0]], -10.0).unwrap();
        near(&falling.breakevens(), &[60.0]);
    }

    #[test]
    fn what_always_or_never_gains_has_no_breakeven() {
        let gift = Payoff::new(vec![[0.0, 5.0], [100.0, 5.0]], 0.0).unwrap();
        assert!(gift.breakevens().is_empty() && gift.profitable() == [[0.0, f64::INFINITY]]);
        let nothing = Payoff::new(vec![[0.0, 0.0], [100.0, 0.0]], 0.0).unwrap();
        assert!(nothing.breakevens().is_empty() && nothing.profitable().is_empty());
        assert!(Payoff::new(Vec::new(), 0.0).is_none());
    }
}
