//! Files of closing rows, one a session (`closes-YYYY-MM-DD.csv`), in the state folder of a daemon or one that `batch`
//! writes. A file is replaced as a whole; a damaged or foreign one is moved aside, and what is readable of it written
//! again. Never: a number.

use engine::closes::{Closes, ClosingRow, KEPT_SESSIONS};
use host::dated::{DatedFiles, Readable};
use host::private;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Prefix of the files.
pub const PREFIX: &str = "closes-";
/// Maximum bytes of all files: 300 sessions of 8,000 names take 250 MB.
const BYTES: u64 = 256 << 20;
/// Maximum bytes of one file that is read.
const FILE_BYTES: u64 = 16 << 20;

/// Lock file of a folder in use.
pub const LOCK: &str = ".serving";

/// A folder with files of closing rows.
#[derive(Debug)]
pub struct ClosesFolder {
    files: DatedFiles,
    /// Lock against daemons, and other jobs; `None`: none was requested.
    _claim: Option<File>,
}

impl ClosesFolder {
    /// The folder, which need not exist yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self { files: DatedFiles::new(path, PREFIX, FILE_BYTES), _claim: None }
    }

    /// The folder for this process alone; created if need be.
    ///
    /// # Errors
    /// A daemon or another job uses it, or it cannot be written to.
    pub fn claimed(path: &Path) -> io::Result<Self> {
        let claim = private::claim_folder(path, LOCK).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => io::Error::new(error.kind(), "a daemon or another job uses this folder"),
            _ => error,
        })?;
        Ok(Self { _claim: Some(claim), ..Self::new(path) })
    }

    /// The closes of every session in the folder.
    #[must_use]
    pub fn closes(&self) -> Closes {
        let (mut rows, mut bytes) = (Vec::new(), 0_u64);
        for (day, path) in self.files.all().into_iter().rev().take(KEPT_SESSIONS) {
            bytes = bytes.saturating_add(fs::metadata(&path).map_or(0, |facts| facts.len()));
            if bytes > BYTES {
                break;
            }
            match self.read(day) {
                Ok(found) => rows.extend(found.into_values()),
                Err(error) => tracing::warn!("{}: {error}", path.display()),
            }
        }
        rows.into_iter().collect()
    }

    /// The last session in the folder.
    #[must_use]
    pub fn last(&self) -> Option<Date> {
        self.files.all().last().map(|(day, _)| *day)
    }

    /// Adds rows of a session; a row replaces an earlier one of its name. The oldest sessions beyond the bounds go.
    /// Sessions after `today` do not count there.
    ///
    /// # Errors
    /// The file of the session cannot be read or written.
    pub fn add(&self, day: Date, rows: &[ClosingRow], today: Date) -> io::Result<()> {
        let mut all = self.read(day)?;
        all.extend(rows.iter().map(|row| (row.underlying, *row)));
        self.files.write(day, |file| ClosingRow::write(all.values(), file))?;
        let (mut sessions, mut bytes) = (0_usize, 0_u64);
        // a file of a future date must not displace those of past sessions
        for (_, path) in self.files.all().into_iter().rev().filter(|(day, _)| *day <= today) {
            sessions = sessions.saturating_add(1);
            bytes = bytes.saturating_add(fs::metadata(&path).map_or(0, |facts| facts.len()));
            if sessions > KEPT_SESSIONS || bytes > BYTES {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// The rows of a session by name.
    fn read(&self, day: Date) -> io::Result<BTreeMap<Symbol, ClosingRow>> {
        let parse = |text: &[u8]| {
            let (rows, refused) = ClosingRow::read(day, text);
            let rows: BTreeMap<Symbol, ClosingRow> = rows.into_iter().map(|row| (row.underlying, row)).collect();
            Readable { is_whole: refused == 0, value: Some(rows).filter(|rows| !rows.is_empty()) }
        };
        Ok(self.files.read(day, parse, |rows, file| ClosingRow::write(rows.values(), file))?.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use std::path::PathBuf;

    const HEADER: &str = "underlying,valued_at,close,iv30d,ex_event_iv30d,rr25_30d,skew25_30d,event_state,event_from,\
                          event_to,event_move,ex_date,dividend";

    /// A folder of its own, removed at the end.
    struct Folder(ClosesFolder, PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("greeksd-closes-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(ClosesFolder::new(&path), path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.1).unwrap();
            let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }

        fn prices(&self, name: &str) -> Vec<f64> {
            self.0.closes().of(Symbol::parse(name).unwrap()).iter().map(|close| close.price).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.1);
        }
    }

    fn text(day: Date, names: &[(&str, f64)]) -> String {
        let lines = names.iter().map(|(name, price)| format!("{name},{day}T21:00:00Z,{price},0.2,,,,none,,,,,\n"));
        format!("{HEADER}\n{}", lines.collect::<String>())
    }

    fn rows(day: Date, names: &[(&str, f64)]) -> Vec<ClosingRow> {
        let (rows, refused) = ClosingRow::read(day, text(day, names).as_bytes());
        assert_eq!(refused, 0);
        rows
    }

    #[test]
    fn rows_of_a_session_are_joined_by_name() {
        let folder = Folder::new("joined");
        let (first, second) = (date(2026, 11, 19), date(2026, 11, 20));
        for (day, names) in
            [(second, &[("KO", 2.0), ("F", 9.0)][..]), (first, &[("KO", 1.0)]), (second, &[("KO", 3.0)])]
        {
            folder.0.add(day, &rows(day, names), second).unwrap();
        }
        assert_eq!((folder.prices("KO"), folder.prices("F")), (vec![1.0, 3.0], vec![9.0]));
        assert_eq!(folder.names(), ["closes-2026-11-19.csv", "closes-2026-11-20.csv"]);
    }

    #[test]
    fn a_damaged_file_is_moved_aside_and_its_readable_part_stays() {
        let folder = Folder::new("damaged");
        let day = date(2026, 11, 20);
        let whole = text(day, &[("KO", 2.0), ("F", 9.0)]);
        let put = |text: &str| fs::write(folder.0.files.file(day), text).unwrap();
        put(&whole[..whole.len() - 3]);
        assert_eq!((folder.prices("KO"), folder.prices("F")), (vec![2.0], vec![]));
        assert_eq!(folder.names(), ["closes-2026-11-20.csv", "closes-2026-11-20.csv.bad"]);
        assert_eq!(folder.prices("KO"), [2.0], "written again");
        put("not,ours\n");
        assert_eq!(folder.prices("KO"), [0.0; 0]);
        assert_eq!(folder.names(), ["closes-2026-11-20.csv.bad"]);
    }

    #[test]
    fn the_oldest_sessions_go_and_later_ones_do_not_count() {
        let folder = Folder::new("bounded");
        let day = |n: i64| date(2020, 1, 1).saturating_add(jiff::Span::new().days(n));
        let most = i64::try_from(KEPT_SESSIONS).unwrap();
        (0..most).for_each(|n| fs::write(folder.0.files.file(day(n)), text(day(n), &[("KO", 1.0)])).unwrap());
        folder.0.add(day(most + 1), &rows(day(most + 1), &[("KO", 1.0)]), day(most)).unwrap();
        assert_eq!(folder.names().len(), KEPT_SESSIONS + 1, "a file of the future");
        folder.0.add(day(most), &rows(day(most), &[("KO", 1.0)]), day(most)).unwrap();
        let names = folder.names();
        assert_eq!((names.len(), names[0].as_str()), (KEPT_SESSIONS + 1, "closes-2020-01-02.csv"));
    }
}
