//! Times at which contracts are quoted again: each has a beat of its own, so that every second a few percent are
//! quoted. Never: a price.

use super::rng::Stream;

/// For so long after the opening everything is quoted faster, seconds.
const OPENING: i64 = 300;
/// Speed-up at the opening, as a power of two.
const OPENING_HASTE: u8 = 4;
/// In how many turns contracts of one beat are quoted: few, as each is a moment of the name to be computed.
const TURNS: u8 = 8;

/// Interval between quotes of a contract: 1, 2, 4 … 1,024 seconds, in one of up to eight turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Beat(u8);

impl Beat {
    const SLOWEST: u8 = 10;

    /// The beat of a contract that is quoted again every `seconds` or sooner.
    pub(super) fn new(seconds: f64, chance: Stream) -> Self {
        let doublings = (seconds.clamp(1.0, 1024.0) as u32).ilog2() as u8;
        Self(doublings.min(Self::SLOWEST) * TURNS + (chance.bits(4) % u64::from(TURNS)) as u8)
    }

    /// The last time it fell at or before `now`, but not before the opening.
    #[inline]
    pub(super) fn last(self, now: i64, clock: Clock) -> i64 {
        let calm = clock.open + OPENING;
        let slow = self.fallen(now, clock, 0);
        let last = if slow >= calm { slow } else { self.fallen(now.min(calm - 1), clock, OPENING_HASTE).max(slow) };
        last.max(clock.open)
    }

    fn fallen(self, now: i64, clock: Clock, haste: u8) -> i64 {
        let (doublings, turn) = (self.0 / TURNS, i64::from(self.0 % TURNS));
        let period = 1_i64 << doublings.saturating_sub(haste);
        let phase = clock.offset + ((turn << doublings) / i64::from(TURNS));
        now - ((now - phase) & (period - 1))
    }
}

/// Origin of the beats of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The opening, seconds.
    pub(super) open: i64,
    /// Shifts all beats of the name.
    pub(super) offset: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_fall_in_turns_and_never_after_now() {
        let clock = Clock { open: 1_000_000, offset: 5 };
        for n in 0..=Beat::SLOWEST * TURNS + TURNS - 1 {
            let (beat, period) = (Beat(n), 1 << (n / TURNS));
            let mut before = 0;
            for now in 1_000_000..1_003_000 {
                let last = beat.last(now, clock);
                assert!(last <= now && now - last < period.max(1), "beat {n}: {last} at {now}");
                assert!(last >= before, "beat {n} goes back at {now}");
                assert_eq!(beat.last(last, clock), last, "beat {n} has fallen when it falls");
                before = last;
            }
        }
        let phases: std::collections::BTreeSet<_> = (80..88).map(|n| Beat(n).last(1_900_063, clock)).collect();
        assert_eq!(phases.len(), 8, "turns differ: {phases:?}");
    }

    #[test]
    fn everything_is_quoted_faster_after_the_opening() {
        let clock = Clock { open: 1_000_000, offset: 0 };
        let beat = Beat::new(64.0, Stream::new(1));
        let times = |from: i64| (from..from + 256).filter(|&u| beat.last(u, clock) == u).count();
        assert_eq!((times(1_000_010), times(1_001_000)), (64, 4));
    }
}
