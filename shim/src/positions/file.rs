//! The file of positions, read again when it has changed and stands still. A row that cannot be used costs itself, a
//! file that cannot be used leaves the positions that were last read. Never: a value.

use crate::watched_file::{self, WatchedFile};
use feeds::positions::parse_positions;
use kernel::limits;
use kernel::position::PositionLine;
use std::path::Path;
use std::time::Duration;

/// Complaints that are shown and logged at most; all are counted.
const PLACES_SHOWN: usize = 20;

/// A file that is watched.
#[derive(Debug)]
pub struct PositionsFile {
    file: WatchedFile,
}

/// What was read of a file, or of a request.
#[derive(Clone, Debug, Default)]
pub struct ReadPositions {
    /// The positions.
    pub lines: Vec<PositionLine>,
    /// Rows that were refused.
    pub refused: u64,
    /// The first ones, with place and reason.
    pub complaints: Vec<String>,
}

impl PositionsFile {
    /// A file, which must be there; nothing is read yet.
    ///
    /// # Errors
    /// It is not there, or no file: why, for the user.
    pub fn open(path: &Path) -> Result<Self, String> {
        WatchedFile::open("positions", path).map(|file| Self { file })
    }

    /// Its path, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the positions if the file has changed and stands still; `at` is the time since some fixed moment. A
    /// deleted file has none. An error says why a changed file cannot be used.
    pub fn poll(&mut self, at: Duration) -> Option<Result<ReadPositions, String>> {
        if !self.file.changed(at)? {
            return Some(Ok(ReadPositions::default()));
        }
        let (lines, read) = match read(self.file.path()) {
            Ok(read) => (read.lines.len(), Ok(read)),
            Err(why) => (0, Err(why)),
        };
        // a file that is being written may have been cut between two looks at its size: it is read again then
        if lines > 0 && self.file.has_moved_on(at) {
            return None;
        }
        Some(read)
    }
}

/// Reads a file once: its positions, and complaints on rows.
///
/// # Errors
/// It cannot be read, or has no usable header.
pub fn read_positions(path: &Path) -> Result<(Vec<PositionLine>, Vec<String>), String> {
    read(path).map(|read| (read.lines, read.complaints))
}

fn read(path: &Path) -> Result<ReadPositions, String> {
    parse(path, &watched_file::read(path, &limits::DOCUMENT_BYTES)?)
}

/// Reads positions from bytes; `path` is their name in messages.
///
/// # Errors
/// There is no usable header, or not one of its rows can be used.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<ReadPositions, String> {
    let (lines, report) = parse_positions(path, bytes);
    match report.errors.first() {
        Some(error) => Err(error.to_string()),
        // it would leave nothing of a book that is meant to go on
        None if lines.is_empty() && report.refused_total() > 0 => {
            let place = report.places.first().map_or_else(|| path.display().to_string(), ToString::to_string);
            Err(format!("{place}; no row can be used"))
        }
        None => {
            let complaints = report.places.iter().take(PLACES_SHOWN).map(ToString::to_string).collect();
            Ok(ReadPositions { lines, refused: report.refused_total(), complaints })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_read_when_it_stands_still() {
        let path = std::env::temp_dir().join(format!("greeksd-positions-{}.csv", std::process::id()));
        let ms = Duration::from_millis;
        assert!(PositionsFile::open(&path).unwrap_err().contains("positions "));
        fs::write(&path, "symbol,quantity\nKO,100\nKO,x\n").unwrap();
        let mut file = PositionsFile::open(&path).unwrap();
        let first = file.poll(ms(0)).unwrap().unwrap();
        assert_eq!((first.lines.len(), first.refused), (1, 1));
        assert!(first.complaints[0].ends_with(":3: quantity: not_a_number: `x`"), "{:?}", first.complaints);
        assert!(file.poll(ms(1)).is_none());
        fs::write(&path, "symbol,quantity\nKO,100\nSPY,20\n").unwrap();
        assert!(file.poll(ms(1000)).is_none(), "it has just been written");
        assert_eq!(file.poll(ms(2000)).unwrap().unwrap().lines.len(), 2);
        fs::write(&path, "no header").unwrap();
        assert!(file.poll(ms(3000)).is_none());
        assert!(file.poll(ms(4000)).unwrap().is_err());
        fs::remove_file(&path).unwrap();
        assert!(file.poll(ms(5000)).is_none());
        assert!(file.poll(ms(6000)).unwrap().unwrap().lines.is_empty());
    }
}
