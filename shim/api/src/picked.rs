//! Rows that pass a selection, and their expirations. Never: a request, bytes.

use engine::store::chain::{Chain, Slice};
use jiff::civil::Date;
use std::ops::Range;
use std::sync::Arc;

/// Rows of one chain, ascending.
#[derive(Clone, Debug)]
pub struct Picked {
    /// The chain.
    pub chain: Arc<Chain>,
    /// Ranges of its rows, not empty; ascending, none touching the next, until they are arranged for a vendor.
    pub rows: Vec<Range<u32>>,
}

impl Picked {
    /// Number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.iter().map(ExactSizeIterator::len).sum()
    }

    /// The picked rows of one slice, ascending.
    pub fn rows_of(&self, slice: &Slice) -> impl Iterator<Item = u32> {
        slice.rows_among(&self.rows)
    }
}

/// One date on which contracts expire, and the strikes of all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiration {
    /// The date.
    pub date: Date,
    /// Strikes in thousandths, ascending, each once.
    pub strikes_milli: Vec<u32>,
}

/// Rows as ranges; consecutive rows join one range.
#[must_use]
pub fn ranges_of(rows: impl IntoIterator<Item = u32>) -> Vec<Range<u32>> {
    let mut ranges = Ranges::default();
    rows.into_iter().for_each(|row| ranges.push(row..row + 1));
    ranges.into_vec()
}

/// Ranges in ascending order; adjacent ranges are joined.
#[derive(Debug, Default)]
pub struct Ranges(Vec<Range<u32>>);

impl Ranges {
    /// Appends a range.
    pub fn push(&mut self, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.0.push(range),
        }
    }

    /// The ranges.
    #[must_use]
    pub fn into_vec(self) -> Vec<Range<u32>> {
        self.0
    }
}
