//! Recently requested names, for computing them first. Serving threads note them without a lock; a table of fixed size
//! drops the names whose last requests are oldest. Never: the client of a request.

use kernel::contract::Symbol;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Size of the table, a power of two: a few times the listed names.
const PLACES: usize = 16_384;
/// Number of places where a name may be.
const TRIES: usize = 8;

/// Names, and the times of their last requests.
#[derive(Debug)]
pub struct RequestedNames {
    began: Instant,
    names: Box<[AtomicU64]>,
    /// Milliseconds since `began`, by place.
    times: Box<[AtomicU64]>,
}

impl Default for RequestedNames {
    fn default() -> Self {
        let zeros = || (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { began: Instant::now(), names: zeros(), times: zeros() }
    }
}

impl RequestedNames {
    /// Notes a request for a name now.
    pub fn note(&self, name: Symbol) {
        self.note_at(name, self.began.elapsed());
    }

    /// Age of the last request for a name.
    #[must_use]
    pub fn since(&self, name: Symbol) -> Option<Duration> {
        let key = key(name);
        let place = places(key).find(|&place| self.names[place].load(Ordering::Relaxed) == key)?;
        let at = Duration::from_millis(self.times[place].load(Ordering::Relaxed));
        Some(self.began.elapsed().saturating_sub(at))
    }

    fn note_at(&self, name: Symbol, at: Duration) {
        let (key, ms) = (key(name), u64::try_from(at.as_millis()).unwrap_or(u64::MAX));
        let mut oldest = (u64::MAX, 0);
        for place in places(key) {
            let held = self.names[place].load(Ordering::Relaxed);
            let is_own = held == key
                || held == 0
                    && self.names[place]
                        .compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed)
                        .map_or_else(|now| now == key, |_| true);
            if is_own {
                self.times[place].store(ms, Ordering::Relaxed);
                return;
            }
            oldest = oldest.min((self.times[place].load(Ordering::Relaxed), place));
        }
        // if two threads do this at once, a name may get the time of another, which is harmless
        self.names[oldest.1].store(key, Ordering::Relaxed);
        self.times[oldest.1].store(ms, Ordering::Relaxed);
    }
}

/// A name as a number that is not 0.
fn key(name: Symbol) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(name.as_str().bytes()).for_each(|(to, from)| *to = from);
    u64::from_le_bytes(bytes)
}

/// The places where a name may be.
fn places(key: u64) -> impl Iterator<Item = usize> {
    let start = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    (0..TRIES).map(move |i| (start as usize + i) % PLACES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(i: usize) -> Symbol {
        Symbol::parse(&format!("N{i}")).unwrap()
    }

    #[test]
    fn what_was_asked_for_is_known_and_the_rest_is_not() {
        let asked = RequestedNames::default();
        (0..500).for_each(|i| asked.note(name(i)));
        assert!((0..500).all(|i| asked.since(name(i)).is_some_and(|age| age < Duration::from_secs(60))));
        assert_eq!(asked.since(name(500)), None);
    }

    #[test]
    fn a_full_table_forgets_what_was_asked_for_longest_ago() {
        let asked = RequestedNames::default();
        for i in 0..4 * PLACES {
            asked.note_at(name(i), Duration::from_millis(i as u64));
        }
        let known = |from: usize, to: usize| (from..to).filter(|&i| asked.since(name(i)).is_some()).count();
        let (first, last) = (known(0, PLACES), known(3 * PLACES, 4 * PLACES));
        assert!(last > PLACES * 9 / 10 && first < PLACES / 10, "{first}, {last}");
    }
}
