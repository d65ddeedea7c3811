//! The file of overrides, reloaded when it changes. An unusable row is refused; with an unusable file the last
//! overrides stay in force. Never: the effect of a row.

use desk::watched_file::{self, WatchedFile};
use engine::store::overrides::Overrides;
use feeds::overrides::parse_overrides;
use kernel::contract::RootTable;
use kernel::limits;
use kernel::records::Override;
use sources::facts::OverrideFacts;
use std::path::Path;
use std::time::Duration;

/// Maximum number of refused rows that are shown and logged; all are counted.
const PLACES_SHOWN: usize = 20;

/// The watched file of overrides.
#[derive(Debug)]
pub struct OverridesFile {
    file: WatchedFile,
    facts: OverrideFacts,
}

impl OverridesFile {
    /// Opens a file, which must exist, without reading it.
    ///
    /// # Errors
    /// Why there is no such regular file, for the user.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = WatchedFile::open("overrides", path)?;
        let facts = OverrideFacts { file: path.display().to_string(), ..OverrideFacts::default() };
        Ok(Self { file, facts })
    }

    /// Returns the overrides if the file has changed and is readable; those of a deleted file are empty. `at` is the
    /// time since a fixed moment, `log` takes complaints.
    pub fn poll(&mut self, at: Duration, log: &dyn Fn(&str)) -> Option<Overrides> {
        let is_there = self.file.changed(at)?;
        let facts = OverrideFacts { file: self.facts.file.clone(), ..OverrideFacts::default() };
        if !is_there {
            log(&format!("overrides {}: the file is gone, no override applies", self.facts.file));
            self.facts = facts;
            return Some(Overrides::default());
        }
        match read(self.file.path()) {
            Ok((overrides, refused, errors)) => {
                errors.iter().for_each(|error| log(&format!("refused: {error}")));
                let counts = overrides.counts().map(|n| n as u64);
                let applied = Override::KINDS.into_iter().zip(counts).filter(|&(_, n)| n > 0).collect();
                self.facts = OverrideFacts { applied, refused, errors, ..facts };
                Some(overrides)
            }
            Err(error) => {
                log(&format!("overrides: {error}; the overrides stay as they are"));
                (self.facts.is_unusable, self.facts.errors) = (true, vec![error]);
                None
            }
        }
    }

    /// Time within which to poll again, if a change is pending.
    #[must_use]
    pub fn poll_within(&self) -> Option<Duration> {
        self.file.look_within()
    }

    /// Status of the file.
    #[must_use]
    pub fn facts(&self) -> &OverrideFacts {
        &self.facts
    }
}

/// Reads a file: overrides, number of refused rows, and the first errors.
fn read(path: &Path) -> Result<(Overrides, u64, Vec<String>), String> {
    let bytes = watched_file::read(path, &limits::DOCUMENT_BYTES)?;
    let (records, report) = parse_overrides(path, &bytes);
    match report.errors.first() {
        Some(error) => Err(error.to_string()),
        None => {
            let places = report.places.iter().take(PLACES_SHOWN).map(ToString::to_string).collect();
            Ok((Overrides::new(&records, &RootTable::embedded()), report.refused_total(), places))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_changed_file_is_read_when_it_stands_still_and_a_broken_one_changes_nothing() {
        let path = std::env::temp_dir().join(format!("greeksd-overrides-{}.csv", std::process::id()));
        let ms = Duration::from_millis;
        let quiet = |_: &str| ();
        assert!(OverridesFile::open(&path).unwrap_err().contains("overrides "));
        fs::write(&path, "underlying,what,value\nKO,borrow,0.1\nKO,borow,1\n").unwrap();
        let mut file = OverridesFile::open(&path).unwrap();
        assert!(file.poll(ms(0), &quiet).is_some() && file.poll(ms(1), &quiet).is_none());
        assert_eq!((file.facts().applied.clone(), file.facts().refused), (vec![("borrow", 1)], 1));
        assert!(file.facts().errors[0].ends_with(":3: what: not_a_word: `borow`"), "{:?}", file.facts());
        fs::write(&path, "no header").unwrap();
        assert!(file.poll(ms(1000), &quiet).is_none() && file.poll_within().is_some());
        assert!(file.poll(ms(1300), &quiet).is_none());
        assert!(file.facts().is_unusable && file.facts().applied == [("borrow", 1)], "{:?}", file.facts());
        fs::write(&path, "underlying,what,value\nKO,rate,0.1\n").unwrap();
        assert!(file.poll(ms(2000), &quiet).is_none() && file.poll(ms(2300), &quiet).is_some());
        assert!(!file.facts().is_unusable && file.facts().applied == [("rate", 1)], "{:?}", file.facts());
        fs::remove_file(&path).unwrap();
        assert!(file.poll(ms(3000), &quiet).is_none());
        assert_eq!(file.poll(ms(3300), &quiet), Some(Overrides::default()));
    }
}
