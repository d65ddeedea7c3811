//! A folder of files as a source: reads changed files. Never: a layout of a file.

use super::facts::{SourceFacts, SourceState};
use super::{Delivery, Moment, Outstanding, QuoteSource};
use feeds::dir::{DirFeed, SETTLED};
use history::layouts::read_chains;
use kernel::error::FeedError;
use std::path::Path;
use std::time::Duration;

/// Minimum time between two polls of the folder within a pass: a poll takes a system call per file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Interval of the log line that the folder itself is unreadable.
const LOG_AGAIN: Duration = Duration::from_secs(60);

/// A market folder, or one chain file.
pub struct DirectorySource {
    name: String,
    files: DirFeed,
    /// Time of the last poll.
    looked: Duration,
    /// Time at which a file was last read.
    read: Option<Duration>,
    /// True once all files were read.
    is_listed: bool,
    /// Time and reason of the last log line that the folder is unreadable; `None`: it is readable.
    unreadable: Option<(Duration, String)>,
}

impl DirectorySource {
    /// Opens a folder or file without reading it. `reference_only` accepts a folder without chains that has dividends,
    /// rates or dates.
    ///
    /// # Errors
    /// There is no such folder or file.
    pub fn open(path: &Path, reference_only: bool) -> Result<Self, FeedError> {
        let open = if reference_only { DirFeed::open_reference } else { DirFeed::open };
        let files = open(path, read_chains)?;
        Ok(Self {
            name: format!("dir:{}", path.display()),
            files,
            looked: Duration::ZERO,
            read: None,
            is_listed: false,
            unreadable: None,
        })
    }

    /// Logs that the folder is unreadable, unless that was logged recently.
    fn complain(&mut self, error: &FeedError, moment: &Moment<'_>) {
        let why = error.to_string();
        let is_logged =
            |(at, logged): &(Duration, String)| *logged == why && moment.elapsed.saturating_sub(*at) < LOG_AGAIN;
        if !self.unreadable.as_ref().is_some_and(is_logged) {
            (moment.log)(&format!("{why}; the last version read stays in use"));
            self.unreadable = Some((moment.elapsed, why));
        }
    }
}

impl QuoteSource for DirectorySource {
    fn take(&mut self, moment: &Moment<'_>) -> Option<Delivery> {
        self.looked = moment.elapsed;
        match self.files.poll(moment.elapsed) {
            Ok(read) => {
                (self.unreadable, self.is_listed) = (None, true);
                let (batch, report) = read?;
                self.read = Some(moment.elapsed);
                Some(Delivery { batch, report })
            }
            Err(error) => {
                self.complain(&error, moment);
                None
            }
        }
    }

    fn take_between(&mut self, moment: &Moment<'_>) -> Option<Delivery> {
        if moment.elapsed.saturating_sub(self.looked) < LOOK_EVERY { None } else { self.take(moment) }
    }

    fn is_live(&self) -> bool {
        false
    }

    /// The first poll reads every file, even one that is being written.
    fn outstanding(&self) -> Outstanding {
        Outstanding { is_starting: !self.is_listed, ..Outstanding::default() }
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts {
            feed: self.name.clone(),
            state: if self.read.is_some() { SourceState::Ok } else { SourceState::Waiting },
            last_success: self.read.map(|read| self.looked.saturating_sub(read)),
            files_unusable: self.files.unusable() + usize::from(self.unreadable.is_some()),
            look_within: self.files.is_waiting().then_some(SETTLED),
            ..SourceFacts::default()
        }
    }
}
