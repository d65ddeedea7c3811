//! Editions of answers: two answers to one target with the same edition are the same, byte for byte. Never: a target, a
//! body.

use jiff::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds of an hour: dates change at full hours, in New York too.
const HOUR_S: i64 = 3600;
/// Hours since 1970 are below 2 to the power of this until the year 2089.
const HOUR_BITS: u32 = 20;
/// Changes of the closes that an edition distinguishes: more than happen while one snapshot is served.
const CLOSES_BITS: u32 = 12;
/// Marks editions that are given once.
const SINGLE: u64 = 1 << 63;

/// The edition of answers that depend on a published snapshot, the closes of earlier sessions and the date alone.
#[must_use]
pub fn of_snapshot(number: u64, closes: u64, now: Timestamp) -> u64 {
    let hour = now.as_second().div_euclid(HOUR_S).unsigned_abs();
    let of_market = number << CLOSES_BITS | closes & ((1 << CLOSES_BITS) - 1);
    (of_market << HOUR_BITS | hour & ((1 << HOUR_BITS) - 1)) & !SINGLE
}

/// A new edition, for an answer that no other answer equals: ranges of it are ranges of one body.
#[must_use]
pub fn single() -> u64 {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    SINGLE | GIVEN.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editions_change_with_snapshot_and_date() {
        let at = |text: &str| of_snapshot(7, 0, text.parse().unwrap());
        assert_eq!(at("2026-11-20T16:00:00-05:00"), at("2026-11-20T16:59:59-05:00"));
        assert_ne!(at("2026-11-20T23:59:59-05:00"), at("2026-11-21T00:00:00-05:00"));
        let now = Timestamp::UNIX_EPOCH;
        assert_ne!(of_snapshot(7, 0, now), of_snapshot(8, 0, now));
        assert_ne!(of_snapshot(7, 0, now), of_snapshot(7, 1, now));
        assert_ne!(single(), single());
        assert_ne!(single(), of_snapshot(0, 0, now));
    }
}
