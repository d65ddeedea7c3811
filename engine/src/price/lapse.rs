//! Total variance of an expiry that is left at a later moment, by the variance clock. Never: a date, a clock.

use kernel::lanes::Lanes;

/// Decrease of an expiry's total variance until a later moment, by the variance clock
/// ([`kernel::calendar::VarianceClock`]). In a pass that moment is this clock time on the next trading day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lapse {
    /// Variance days to settlement, market events among them.
    pub days: f64,
    /// Variance days to the later moment.
    pub step: f64,
    /// Total variance of the name's own event, if it comes before settlement; variance days do not contain it.
    pub event: f64,
    /// Probability that the event comes after the later moment, 0 to 1.
    pub event_left: f64,
}

impl Lapse {
    /// Total variances at strikes, less that of the event.
    fn without_event<L: Lanes>(&self, variance: L) -> L {
        L::splat(0.0).max(variance - L::splat(self.event))
    }

    /// Total variances at the later moment, from those at strikes now.
    #[must_use]
    pub fn left<L: Lanes>(&self, variance: L) -> L {
        let usual = self.without_event(variance);
        usual * (1.0 - self.step / self.days).clamp(0.0, 1.0) + (variance - usual) * self.event_left
    }

    /// Total variance of one variance day, from those at strikes now.
    #[must_use]
    pub fn of_day<L: Lanes>(&self, variance: L) -> L {
        self.without_event(variance) * (1.0 / self.days)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::lanes::Block;

    #[test]
    fn variance_runs_out_by_days_and_that_of_an_event_with_it() {
        let lane = |x: Block| x.lane(0);
        let plain = Lapse { days: 5.0, step: 1.15, event: 0.0, event_left: 0.0 };
        let w = Block::splat(0.01);
        assert!((lane(plain.left(w)) - 0.01 * 3.85 / 5.0).abs() < 1e-15);
        assert!((lane(plain.of_day(w)) - 0.002).abs() < 1e-15);
        let before = Lapse { event: 0.004, event_left: 0.25, ..plain };
        assert!((lane(before.left(w)) - (0.006 * 3.85 / 5.0 + 0.001)).abs() < 1e-15);
        assert!((lane(before.of_day(w)) - 0.0012).abs() < 1e-15);
        // far from the money a curve may have less than the event's: all of it is the event's
        let w = Block::splat(0.003);
        assert!((lane(before.left(w)) - 0.00075).abs() < 1e-15 && lane(before.of_day(w)) == 0.0);
        // the next session may be later than settlement
        assert!(lane(Lapse { step: 9.0, ..plain }.left(w)) == 0.0);
    }
}
