//! Files of a folder that have one date each (`PREFIX-YYYY-MM-DD.csv`) and are replaced as a whole. Never: the contents
//! of a line.

use super::private::{self, DAMAGED_OR_FOREIGN};
use jiff::civil::Date;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};

/// The files of one prefix in a folder.
#[derive(Clone, Debug)]
pub struct DatedFiles {
    folder: PathBuf,
    prefix: &'static str,
    /// Maximum bytes that are read of one file.
    bytes: u64,
}

/// The readable part of a file.
#[derive(Debug)]
pub struct Readable<T> {
    /// Value of the readable lines; `None`: there are none.
    pub value: Option<T>,
    /// True if every line was readable.
    pub is_whole: bool,
}

impl DatedFiles {
    /// Files whose names begin with `prefix`, of which at most so many bytes are read.
    #[must_use]
    pub fn new(folder: &Path, prefix: &'static str, bytes: u64) -> Self {
        Self { folder: folder.to_owned(), prefix, bytes }
    }

    /// The file of a date.
    #[must_use]
    pub fn file(&self, date: Date) -> PathBuf {
        self.folder.join(format!("{}{date}.csv", self.prefix))
    }

    /// Dates that have a file, oldest first, with their files.
    #[must_use]
    pub fn all(&self) -> Vec<(Date, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let dated = |path: PathBuf| {
            let name = path.file_name()?.to_str()?;
            let date = name.strip_prefix(self.prefix)?.strip_suffix(".csv")?.parse().ok()?;
            Some((date, path))
        };
        let mut all: Vec<(Date, PathBuf)> = entries.filter_map(|entry| dated(entry.path())).collect();
        all.sort();
        all
    }

    /// Replaces the file of a date.
    ///
    /// # Errors
    /// `write` fails, or the file system does.
    pub fn write(&self, date: Date, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
        private::replace(&self.file(date), write)
    }

    /// Reads the file of a date by `parse`, which gets its complete lines; `None`: no line is readable. A file that is
    /// not whole is moved aside, and its readable part written again by `write`, so that the next start finds it.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn read<T>(
        &self,
        date: Date,
        parse: impl FnOnce(&[u8]) -> Readable<T>,
        write: impl FnOnce(&T, &mut BufWriter<File>) -> io::Result<()>,
    ) -> io::Result<Option<T>> {
        let path = self.file(date);
        let mut text = Vec::new();
        match File::open(&path).and_then(|file| file.take(self.bytes).read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        // a number that was cut off would be read as another one: the last incomplete line is dropped
        let complete = text.iter().rposition(|&b| b == b'\n').map_or(0, |end| end.saturating_add(1));
        let Readable { value, is_whole } = parse(&text[..complete]);
        if is_whole && complete == text.len() {
            return Ok(value);
        }
        private::move_aside(&path, DAMAGED_OR_FOREIGN);
        if let Some(value) = &value
            && let Err(error) = self.write(date, |file| write(value, file))
        {
            tracing::warn!("{}: {error}", path.display());
        }
        Ok(value)
    }
}
