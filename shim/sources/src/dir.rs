//! A folder of files as a source: what changed is read.

use super::facts::{SourceFacts, SourceState};
use super::{Delivery, Moment, Outstanding, QuoteSource};
use feeds::dir::{DirFeed, SETTLED};
use history::layouts::read_chains;
use kernel::error::FeedError;
use std::path::Path;
use std::time::Duration;

/// Between two batches of a pass the folder is looked at so often at most: a look costs a system call a file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Interval of the log line that the folder itself cannot be read, while it stays so.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// A market folder, or one chain file.
pub struct DirectorySource {
    name: String,
    files: DirFeed,
    /// When it was last looked at.
    looked: Duration,
    /// When something of it was last read.
    read: Option<Duration>,
    /// It was gone through once.
    is_listed: bool,
    /// Time of the last log line that the folder cannot be read, and the reason; `None`: it can.
    unreadable: Option<(Duration, String)>,
}

impl DirectorySource {
    /// Opens the folder or file; nothing is read yet. With `reference_only` a folder will do that has no chains but
    /// dividends, rates or dates.
    ///
    /// # Errors
    /// It is not there.
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

    /// Logs that the folder cannot be read, unless that was logged just before.
    fn complain(&mut self, error: &FeedError, moment: &Moment<'_>) {
        let why = error.to_string();
        let is_said = |(at, said): &(Duration, String)| *said == why && moment.elapsed.saturating_sub(*at) < SAY_AGAIN;
        if !self.unreadable.as_ref().is_some_and(is_said) {
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

    /// The first look reads every file, whatever is being written.
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
