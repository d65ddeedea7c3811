//! Permits for streams, and the bound on their total memory. Never: an event.

use host::threads::{WorkPermit, WorkPermits};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Maximum number of concurrent streams; further requests get status 503.
pub const CLIENTS: usize = 512;
/// Maximum number of numbers in the images of all streams: 256 MB.
const NUMBERS: usize = 32 << 20;
/// Maximum number of numbers in the image of one stream.
pub const NUMBERS_OF_ONE: usize = 1 << 20;

/// Counts over all streams.
#[derive(Debug, Default)]
pub struct StreamCounts {
    clients: WorkPermits,
    numbers: AtomicUsize,
    missed: AtomicU64,
}

/// A permit for one stream, and the size of its image; returned when dropped.
#[derive(Debug)]
pub struct StreamPermit {
    counts: Arc<StreamCounts>,
    _client: WorkPermit,
    numbers: usize,
}

impl StreamCounts {
    /// Takes a permit, if one is free.
    pub fn take(self: &Arc<Self>) -> Option<StreamPermit> {
        let client = self.clients.take(CLIENTS)?;
        Some(StreamPermit { counts: Arc::clone(self), _client: client, numbers: 0 })
    }

    /// Bytes of the images of all streams.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.numbers.load(Ordering::Relaxed).saturating_mul(size_of::<f64>())
    }

    /// Number of open streams, and number of snapshots that their clients missed.
    #[must_use]
    pub fn counts(&self) -> (usize, u64) {
        (self.clients.taken(), self.missed.load(Ordering::Relaxed))
    }
}

impl StreamPermit {
    /// Sets the size of the image, in numbers; false if that is too many.
    pub fn holds(&mut self, numbers: usize) -> bool {
        let before = core::mem::replace(&mut self.numbers, numbers);
        let all = &self.counts.numbers;
        let sum = all.fetch_add(numbers, Ordering::AcqRel).saturating_add(numbers).saturating_sub(before);
        all.fetch_sub(before, Ordering::AcqRel);
        numbers <= NUMBERS_OF_ONE && sum <= NUMBERS
    }

    /// Size of the image, in numbers.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// Counts snapshots that a client missed.
    pub fn missed(&self, n: u64) {
        self.counts.missed.fetch_add(n, Ordering::Relaxed);
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.counts.numbers.fetch_sub(self.numbers, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_numbers_are_bounded_and_given_back() {
        let desk = Arc::<StreamCounts>::default();
        let mut permits: Vec<StreamPermit> = (0..CLIENTS).filter_map(|_| desk.take()).collect();
        assert!(permits.len() == CLIENTS && desk.take().is_none());
        assert!(!permits[0].holds(NUMBERS_OF_ONE + 1) && permits[0].holds(10));
        assert_eq!(desk.bytes(), 80);
        let mut fit = 0;
        while permits[fit + 1].holds(NUMBERS_OF_ONE) {
            fit += 1;
        }
        assert_eq!(fit, 31, "the 32nd goes beyond the sum, with ten more");
        permits.clear();
        assert_eq!((desk.bytes(), desk.counts().0), (0, 0));
        assert!(desk.take().is_some());
    }
}
