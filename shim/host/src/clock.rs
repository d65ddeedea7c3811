//! The clock of the market: the system's, one that stands still, or one that began at an instant and runs at a speed.
//!
//! What is of the market's time asks it: quotes that are made up, sessions, whether the market is open, how old values
//! are. What is of real time does not: timeouts, retries, limits of rates, when something is written.

use jiff::{SignedDuration, Timestamp};
use std::ops::RangeInclusive;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How many times as fast as real time a clock may run, above 0: a day passes in nine seconds at the most.
pub const SPEED: RangeInclusive<f64> = 0.0..=10_000.0;

/// The clock of the market.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MarketClock {
    /// The system's.
    Running,
    /// Stands still.
    Fixed(Timestamp),
    /// Began at an instant when the program began, and runs since.
    From {
        /// The instant that it showed first.
        start: Timestamp,
        /// When that was.
        began: Instant,
        /// How many times as fast as real time it runs.
        speed: f64,
    },
}

impl MarketClock {
    /// A clock that shows `start` now, and runs `speed` times as fast as real time.
    #[must_use]
    pub fn starting(start: Timestamp, speed: f64) -> Self {
        Self::From { start, began: Instant::now(), speed }
    }

    /// Now.
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self {
            Self::Running => Timestamp::now(),
            Self::Fixed(at) => at,
            Self::From { start, began, speed } => after(start, began.elapsed(), speed),
        }
    }

    /// The later of the market's and the system's time: no record is from a later one.
    #[must_use]
    pub fn latest(self) -> Timestamp {
        self.now().max(Timestamp::now())
    }

    /// The instant at which it stands still, if it does.
    #[must_use]
    pub fn fixed(self) -> Option<Timestamp> {
        if let Self::Fixed(at) = self { Some(at) } else { None }
    }

    /// True if it is the system's. What another one shows may be tried out, and is not kept as what has been.
    #[must_use]
    pub fn is_real(self) -> bool {
        self == Self::Running
    }

    /// How many times as fast as real time it runs: 1, unless another speed was set.
    #[must_use]
    pub fn speed(self) -> f64 {
        if let Self::From { speed, .. } = self { speed } else { 1.0 }
    }
}

/// The instant that a clock shows which showed `start` so long ago; the last instant that there is, beyond that.
fn after(start: Timestamp, elapsed: Duration, speed: f64) -> Timestamp {
    let passed = SignedDuration::try_from_secs_f64(elapsed.as_secs_f64() * speed).unwrap_or(SignedDuration::MAX);
    start.checked_add(passed).unwrap_or(Timestamp::MAX)
}

/// Nanoseconds since the first call: for durations, whatever the market's clock says.
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
