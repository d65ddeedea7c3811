//! Bodies of requests: skipped, or kept for the app. The length of a kept body, as named by its head, counts against a
//! bound from before its first byte until it is dropped. Never: a socket.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A body that is kept for the app.
#[derive(Debug)]
pub struct ReceivedBody {
    bytes: Vec<u8>,
    length: usize,
    /// Bytes of all kept bodies.
    of_all: Arc<AtomicUsize>,
}

/// The body of the current request.
#[derive(Debug)]
pub(super) enum IncomingBody {
    /// A skipped body: number of bytes still to come.
    Skipped(u64),
    /// A body for the app.
    Kept(ReceivedBody),
}

impl ReceivedBody {
    /// Begins a body of `length` bytes; `None` if all kept bodies would exceed `most` bytes.
    pub(super) fn begin(length: usize, of_all: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let fits = |all: usize| all.checked_add(length).filter(|&all| all <= most);
        of_all.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()?;
        Some(Self { bytes: Vec::with_capacity(length), length, of_all: Arc::clone(of_all) })
    }

    /// A body that is complete.
    #[must_use]
    pub fn whole(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), length: bytes.len(), of_all: Arc::new(AtomicUsize::new(bytes.len())) }
    }
}

impl Deref for ReceivedBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for ReceivedBody {
    fn drop(&mut self) {
        self.of_all.fetch_sub(self.length, Ordering::AcqRel);
    }
}

impl IncomingBody {
    /// Number of bytes still to come.
    pub(super) fn left(&self) -> u64 {
        match self {
            Self::Skipped(left) => *left,
            Self::Kept(body) => body.length.saturating_sub(body.bytes.len()) as u64,
        }
    }

    /// Takes the bytes of the body at the start of `received`; returns their number.
    pub(super) fn receive(&mut self, received: &[u8]) -> usize {
        let n = received.len().min(usize::try_from(self.left()).unwrap_or(usize::MAX));
        match self {
            Self::Skipped(left) => *left = left.saturating_sub(n as u64),
            Self::Kept(body) => body.bytes.extend_from_slice(&received[..n]),
        }
        n
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        if let Self::Kept(body) = self { body.bytes.capacity() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_counted_by_what_they_name_until_they_are_used() {
        let all = Arc::new(AtomicUsize::new(0));
        let begin = |length| ReceivedBody::begin(length, &all, 100).map(IncomingBody::Kept);
        let (mut first, second) = (begin(60).unwrap(), begin(40));
        assert!(second.is_some() && begin(1).is_none());
        assert_eq!((first.receive(b"abc"), first.left(), first.receive(&[0; 100]), first.left()), (3, 57, 57, 0));
        drop(second);
        assert!(begin(41).is_none() && begin(40).is_some());
        drop(first);
        assert_eq!(all.load(Ordering::Acquire), 0);
        let mut dropped = IncomingBody::Skipped(5);
        assert_eq!((dropped.receive(b"1234567"), dropped.left(), dropped.bytes()), (5, 0, 0));
    }
}
