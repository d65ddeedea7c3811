//! A file that a user edits while the daemon runs: decides when it has changed and settled, and reads its bytes. Never:
//! its contents.

use feeds::dir::{FileStamp, SETTLED, read_raw};
use kernel::error::{FeedError, said_by_system};
use kernel::limits::Bound;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Number of requests to read every file again.
static RELOADS: AtomicU64 = AtomicU64::new(0);

/// Makes every watched file be read again, changed or not.
pub fn read_again() {
    RELOADS.fetch_add(1, Ordering::AcqRel);
}

/// Reads a regular file; pipes and devices are not opened.
///
/// # Errors
/// Why the file cannot be read, is no regular file, or is too large, for the user.
pub fn read(path: &Path, bytes: &Bound) -> Result<Vec<u8>, String> {
    let raw = read_raw(path, bytes).map_err(|error| error.to_string())?;
    raw.ok_or_else(|| FeedError::TooLarge { file: path.to_owned() }.to_string())
}

/// A watched file, and its state when it was last read.
#[derive(Debug)]
pub struct WatchedFile {
    path: PathBuf,
    /// State when it was last read; `None`: it did not exist.
    read: Option<FileStamp>,
    /// A change that has not settled: state of the file, and since when.
    unsettled: Option<(Option<FileStamp>, Duration)>,
    /// True if the file must be read even if it has not changed.
    is_new: bool,
    /// True if the system could not say whether the file exists.
    is_lost: bool,
    /// Value of [`RELOADS`] at the last check.
    reloads: u64,
}

impl WatchedFile {
    /// Opens a file, which must exist, without reading it; `what` names it in errors.
    ///
    /// # Errors
    /// Why there is no such regular file, for the user.
    pub fn open(what: &str, path: &Path) -> Result<Self, String> {
        let wrong = |why: String| format!("{what} {}: {why}", path.display());
        let metadata = fs::metadata(path).map_err(|error| wrong(said_by_system(error.kind())))?;
        if !metadata.is_file() {
            return Err(wrong("not a regular file".to_owned()));
        }
        let reloads = RELOADS.load(Ordering::Acquire);
        Ok(Self { path: path.to_owned(), read: None, unsettled: None, is_new: true, is_lost: false, reloads })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file exists, if it has changed since it was read and has settled; it then counts as read.
    /// `at` is the time since a fixed moment. A file that cannot be looked at has not changed: a folder that is not
    /// mounted for a moment takes nothing away.
    pub fn changed(&mut self, at: Duration) -> Option<bool> {
        let now = match self.stamp() {
            Ok(now) => now,
            Err(kind) => {
                if !std::mem::replace(&mut self.is_lost, true) {
                    let (path, why) = (self.path.display(), said_by_system(kind));
                    tracing::warn!("{path}: {why}; its last valid version still counts");
                }
                return None;
            }
        };
        self.is_lost = false;
        let reloads = RELOADS.load(Ordering::Acquire);
        self.is_new |= reloads != self.reloads;
        self.reloads = reloads;
        if now == self.read && !self.is_new {
            self.unsettled = None;
            return None;
        }
        let since = self.unsettled.filter(|(seen, _)| *seen == now).map_or(at, |(_, since)| since);
        if !self.is_new && at.saturating_sub(since) < SETTLED {
            self.unsettled = Some((now, since));
            return None;
        }
        (self.read, self.unsettled, self.is_new) = (now, None, false);
        Some(now.is_some())
    }

    /// True if the file changed while it was read; it will be read again.
    pub fn changed_while_read(&mut self, at: Duration) -> bool {
        let after = self.stamp();
        let has_changed = after != Ok(self.read);
        if has_changed {
            (self.read, self.unsettled) = (None, after.ok().map(|after| (after, at)));
        }
        has_changed
    }

    /// Time within which to check again, if a change has not settled.
    pub fn look_within(&self) -> Option<Duration> {
        self.unsettled.map(|_| SETTLED)
    }

    /// State of the file; `None`: it does not exist.
    fn stamp(&self) -> Result<Option<FileStamp>, ErrorKind> {
        match fs::metadata(&self.path) {
            Ok(facts) => Ok(Some(FileStamp::of(&facts))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.kind()),
        }
    }
}
