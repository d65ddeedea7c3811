//! The file of positions, read again when it has changed and settled. An unusable row is refused; with an unusable file
//! the last positions stay. Never: a value.

use crate::watched_file::{self, WatchedFile};
use feeds::positions::parse_positions;
use kernel::limits;
use kernel::position::PositionLine;
use std::path::Path;
use std::time::Duration;

/// Maximum number of refused rows that are shown and logged; all are counted.
const PLACES_SHOWN: usize = 20;

/// The watched file of positions.
#[derive(Debug)]
pub struct PositionsFile {
    file: WatchedFile,
}

/// Positions of a file or of a request.
#[derive(Clone, Debug, Default)]
pub struct ReadPositions {
    /// The positions.
    pub lines: Vec<PositionLine>,
    /// Number of refused rows.
    pub refused: u64,
    /// The first refused rows, with place and reason.
    pub complaints: Vec<String>,
}

impl PositionsFile {
    /// Opens a file, which must exist, without reading it.
    ///
    /// # Errors
    /// Why there is no such regular file, for the user.
    pub fn open(path: &Path) -> Result<Self, String> {
        WatchedFile::open("positions", path).map(|file| Self { file })
    }

    /// Path of the file, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the positions if the file has changed and settled; a deleted file has none. `at` is the time since a
    /// fixed moment. The error is why a changed file is unusable.
    pub fn poll(&mut self, at: Duration) -> Option<Result<ReadPositions, String>> {
        if !self.file.changed(at)? {
            return Some(Ok(ReadPositions::default()));
        }
        let (lines, read) = match read(self.file.path()) {
            Ok(read) => (read.lines.len(), Ok(read)),
            Err(why) => (0, Err(why)),
        };
        // the file may have been truncated and written again while it was read
        if lines > 0 && self.file.changed_while_read(at) {
            return None;
        }
        Some(read)
    }
}

/// Reads a file once: its positions, and the first refused rows.
///
/// # Errors
/// The file cannot be read, has no usable header, or none of its rows is usable.
pub fn read_positions(path: &Path) -> Result<(Vec<PositionLine>, Vec<String>), String> {
    read(path).map(|read| (read.lines, read.complaints))
}

fn read(path: &Path) -> Result<ReadPositions, String> {
    parse(path, &watched_file::read(path, &limits::DOCUMENT_BYTES)?)
}

/// Parses positions; `path` is their name in messages.
///
/// # Errors
/// There is no usable header, or none of the rows is usable.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<ReadPositions, String> {
    let (lines, report) = parse_positions(path, bytes);
    match report.errors.first() {
        Some(error) => Err(error.to_string()),
        // no usable row must not empty the book
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

    #[cfg(unix)]
    #[test]
    fn a_file_that_cannot_be_looked_at_is_not_deleted() {
        let path = std::env::temp_dir().join(format!("greeksd-lost-{}.csv", std::process::id()));
        let ms = Duration::from_millis;
        let text = "symbol,quantity\nKO,100\n";
        fs::write(&path, text).unwrap();
        let mut file = PositionsFile::open(&path).unwrap();
        assert_eq!(file.poll(ms(0)).unwrap().unwrap().lines.len(), 1);
        fs::remove_file(&path).unwrap();
        // a link to itself cannot be followed, whoever asks
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert!(file.poll(ms(1000)).is_none());
        assert!(file.poll(ms(9000)).is_none());
        fs::remove_file(&path).unwrap();
        fs::write(&path, text.to_owned() + "SPY,1\n").unwrap();
        assert!(file.poll(ms(10_000)).is_none(), "it has just been written");
        assert_eq!(file.poll(ms(11_000)).unwrap().unwrap().lines.len(), 2);
        fs::remove_file(&path).unwrap();
    }
}
