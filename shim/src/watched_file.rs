//! A file that a user edits while the daemon runs: when it has changed, and stands still long enough to be read; its
//! bytes. Never: what stands in it.

use feeds::dir::{FileStamp, SETTLED, read_raw};
use kernel::error::{FeedError, said_by_system};
use kernel::limits::Bound;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often it was asked for that every file is read again.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Has every watched file read again, changed or not.
pub(crate) fn read_again() {
    ASKED.fetch_add(1, Ordering::AcqRel);
}

/// Reads a file that a user has written. Pipes and devices are not opened.
///
/// # Errors
/// It cannot be read, is no regular file, or is too large: why, for the user.
pub(crate) fn read(path: &Path, bytes: &Bound) -> Result<Vec<u8>, String> {
    let raw = read_raw(path, bytes).map_err(|error| error.to_string())?;
    raw.ok_or_else(|| FeedError::TooLarge { file: path.to_owned() }.to_string())
}

/// The file.
#[derive(Debug)]
pub(crate) struct WatchedFile {
    path: PathBuf,
    /// As it was last read; `None`: it was not there.
    read: Option<FileStamp>,
    /// It is not as it was read: how it is now, and since when.
    moving: Option<(Option<FileStamp>, Duration)>,
    /// Nothing was read yet, or it is to be read whether it has changed or not.
    is_new: bool,
    /// The last time that it was asked for, of [`ASKED`].
    asked: u64,
}

impl WatchedFile {
    /// A file, which must be there; nothing is read yet. `what` names it in errors.
    ///
    /// # Errors
    /// It is not there, or no file: why, for the user.
    pub(crate) fn open(what: &str, path: &Path) -> Result<Self, String> {
        let wrong = |why: String| format!("{what} {}: {why}", path.display());
        let metadata = fs::metadata(path).map_err(|error| wrong(said_by_system(error.kind())))?;
        if !metadata.is_file() {
            return Err(wrong("not a regular file".to_owned()));
        }
        let asked = ASKED.load(Ordering::Acquire);
        Ok(Self { path: path.to_owned(), read: None, moving: None, is_new: true, asked })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file is there, if it has changed since it was read and stands still; it counts as read
    /// then. `at` is the time since some fixed moment.
    pub(crate) fn changed(&mut self, at: Duration) -> Option<bool> {
        let now = self.stamp();
        let asked = ASKED.load(Ordering::Acquire);
        self.is_new |= asked != self.asked;
        self.asked = asked;
        if now == self.read && !self.is_new {
            self.moving = None;
            return None;
        }
        let since = self.moving.filter(|(seen, _)| *seen == now).map_or(at, |(_, since)| since);
        if !self.is_new && at.saturating_sub(since) < SETTLED {
            self.moving = Some((now, since));
            return None;
        }
        (self.read, self.moving, self.is_new) = (now, None, false);
        Some(now.is_some())
    }

    /// True if the file changed while it was read: it is to be read again.
    pub(crate) fn has_moved_on(&mut self, at: Duration) -> bool {
        let after = self.stamp();
        let has_moved = after != self.read;
        if has_moved {
            (self.read, self.moving) = (None, Some((after, at)));
        }
        has_moved
    }

    /// When it should be looked at again, if that is soon.
    pub(crate) fn look_within(&self) -> Option<Duration> {
        self.moving.map(|_| SETTLED)
    }

    fn stamp(&self) -> Option<FileStamp> {
        fs::metadata(&self.path).ok().as_ref().map(FileStamp::of)
    }
}
