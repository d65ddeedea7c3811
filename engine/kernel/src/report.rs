//! Outcome of reading the records of a feed: how many were read, how many refused and why, with the first places.
//! Never: stops a file.

use crate::error::{FeedError, Instead, Reason, Refused};
use crate::limits;
use std::path::Path;

/// Number of refused records that keep their place; all are counted.
const PLACES_KEPT: usize = 100;

/// The outcome of reading one or more files.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Records read, including refused ones.
    pub records: u64,
    /// Refused records by [`Reason`], in its order.
    pub refused: [u64; Reason::ALL.len()],
    /// The first refused records of each file, with their places.
    pub places: Vec<Refused>,
    /// Files that could not be used, in whole or from some place on.
    pub errors: Vec<FeedError>,
}

impl Report {
    /// Number of records refused for any reason.
    #[must_use]
    pub fn refused_total(&self) -> u64 {
        self.refused.iter().sum()
    }

    /// Counts one refused record.
    pub fn refuse(&mut self, refused: Refused) {
        self.refused[refused.reason as usize] += 1;
        // all are counted; places beyond a hundred would only make the log long
        if self.places.len() < PLACES_KEPT {
            self.places.push(refused);
        }
    }

    /// True if a document is small enough to be read; records an error if not.
    pub fn admits(&mut self, source: &Path, bytes: &[u8]) -> bool {
        // before it is parsed: a parser may need many times the memory of its text
        let fits = limits::DOCUMENT_BYTES.holds(bytes.len() as f64);
        if !fits {
            self.errors.push(FeedError::TooLarge { file: source.to_path_buf() });
        }
        fits
    }

    /// Records that a document is not the requested data.
    pub fn say_instead(&mut self, source: &Path, what: Instead) {
        self.errors.push(FeedError::Instead { file: source.to_path_buf(), what });
    }

    /// Adds the outcome of another file.
    pub fn absorb(&mut self, other: Self) {
        self.records += other.records;
        for (n, more) in self.refused.iter_mut().zip(other.refused) {
            *n += more;
        }
        self.places.extend(other.places);
        self.errors.extend(other.errors);
    }
}
