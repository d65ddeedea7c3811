//! The clock of the market: the system's, a fixed one, or one that started at an instant and runs at a speed.
//!
//! Market time follows it: simulated quotes, sessions, opening hours, the age of values. Real time does not: timeouts,
//! retries, rate limits, the time of writing.

use jiff::{SignedDuration, Timestamp};
use std::ops::RangeInclusive;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Range of the speed of a clock, as a multiple of real time; 0 is excluded. At the maximum a day passes in nine
/// seconds.
pub const SPEED: RangeInclusive<f64> = 0.0..=10_000.0;

/// The clock of the market.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MarketClock {
    /// The system's clock.
    Running,
    /// A fixed clock, at this instant.
    Fixed(Timestamp),
    /// A clock that started at an instant.
    From {
        /// Market time at the start.
        start: Timestamp,
        /// Real time at the start.
        began: Instant,
        /// Speed, as a multiple of real time.
        speed: f64,
    },
}

impl MarketClock {
    /// A clock that shows `start` now and runs `speed` times as fast as real time.
    #[must_use]
    pub fn starting(start: Timestamp, speed: f64) -> Self {
        Self::From { start, began: Instant::now(), speed }
    }

    /// Market time now.
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self {
            Self::Running => Timestamp::now(),
            Self::Fixed(at) => at,
            Self::From { start, began, speed } => after(start, began.elapsed(), speed),
        }
    }

    /// The later of the market's and the system's time; records of a later time are refused.
    #[must_use]
    pub fn latest(self) -> Timestamp {
        self.now().max(Timestamp::now())
    }

    /// The instant of a fixed clock.
    #[must_use]
    pub fn fixed(self) -> Option<Timestamp> {
        if let Self::Fixed(at) = self { Some(at) } else { None }
    }

    /// True for the system's clock. With another clock, which may be an experiment, nothing is saved as real data.
    #[must_use]
    pub fn is_real(self) -> bool {
        self == Self::Running
    }

    /// Speed, as a multiple of real time.
    #[must_use]
    pub fn speed(self) -> f64 {
        if let Self::From { speed, .. } = self { speed } else { 1.0 }
    }
}

/// Market time after `elapsed`, for a clock that started at `start`; at most the last representable instant.
fn after(start: Timestamp, elapsed: Duration, speed: f64) -> Timestamp {
    let passed = SignedDuration::try_from_secs_f64(elapsed.as_secs_f64() * speed).unwrap_or(SignedDuration::MAX);
    start.checked_add(passed).unwrap_or(Timestamp::MAX)
}

/// Nanoseconds of real time since the first call, for durations.
#[must_use]
pub fn nanoseconds() -> u64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGAN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_clock_that_was_started_runs_at_its_speed() {
        let start = at("2026-11-20T09:25:00-05:00");
        for (speed, passed, shown) in [
            (1.0, Duration::from_millis(1500), "2026-11-20T09:25:01.5-05:00"),
            (60.0, Duration::from_secs(5), "2026-11-20T09:30:00-05:00"),
            (10_000.0, Duration::from_secs(9), "2026-11-21T10:25:00-05:00"),
            (0.5, Duration::from_secs(60), "2026-11-20T09:25:30-05:00"),
        ] {
            assert_eq!(after(start, passed, speed), at(shown), "{speed}");
        }
        assert_eq!(after(start, Duration::MAX, 10_000.0), Timestamp::MAX, "and never ends");
        let clock = MarketClock::starting(start, 10_000.0);
        let (first, began) = (clock.now(), Instant::now());
        while clock.now() < first + SignedDuration::from_secs(60) {}
        assert!(first >= start && began.elapsed() >= Duration::from_millis(5), "a minute takes six thousandths");
        assert!(clock.latest() >= Timestamp::now() - SignedDuration::from_secs(60) && !clock.is_real());
    }
}
