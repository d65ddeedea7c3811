//! Rows of any number in bounded memory: sorted runs on disk, merged into one sorted file. Never: what a row means.

use crate::packed::{PackedRow, ROW_BYTES};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of runs that are merged at once: each is an open file with a buffer.
const FAN_IN: usize = 128;
/// Bytes of a run that are read at once.
const READ_BYTES: usize = 128 << 10;
const WRITE_BYTES: usize = 1 << 20;

/// The sorted runs of a job, in one folder.
#[derive(Debug)]
pub struct RunFolder {
    folder: PathBuf,
    next: AtomicU64,
    runs: Mutex<Vec<PathBuf>>,
}

impl RunFolder {
    /// Runs in `folder`, which is there and empty.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), next: AtomicU64::new(0), runs: Mutex::default() }
    }

    fn new_path(&self) -> PathBuf {
        self.folder.join(format!("run-{}", self.next.fetch_add(1, Ordering::Relaxed)))
    }

    fn add(&self, run: PathBuf) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(run);
    }

    /// Merges all runs into `sorted` and removes them. `take` gets each row once, in order: of several quotes of one
    /// contract and time the one that counts. Returns the number of rows.
    ///
    /// # Errors
    /// A file cannot be written or read.
    pub fn merge(self, sorted: &Path, mut take: impl FnMut(&PackedRow) -> io::Result<()>) -> io::Result<u64> {
        let mut runs = std::mem::take(&mut *self.runs.lock().unwrap_or_else(PoisonError::into_inner));
        while runs.len() > FAN_IN {
            let path = self.new_path();
            let first: Vec<PathBuf> = runs.drain(..FAN_IN).collect();
            merge_into(&first, &path, &mut |_| Ok(()))?;
            runs.push(path);
        }
        merge_into(&runs, sorted, &mut take)
    }
}

/// Rows that wait to become a run: those of one reading thread.
#[derive(Debug)]
pub struct RunWriter<'f> {
    folder: &'f RunFolder,
    most: usize,
    rows: Vec<PackedRow>,
}

impl<'f> RunWriter<'f> {
    /// A writer that keeps at most `bytes` in memory.
    #[must_use]
    pub fn new(folder: &'f RunFolder, bytes: usize) -> Self {
        Self { folder, most: (bytes / ROW_BYTES).max(1), rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A run cannot be written.
    pub fn push(&mut self, row: PackedRow) -> io::Result<()> {
        if self.rows.len() == self.most {
            self.flush()?;
        }
        if self.rows.capacity() == self.rows.len() {
            // not twice the memory that is allowed
            let more = self.rows.len().max(1024).min(self.most - self.rows.len());
            self.rows.reserve_exact(more);
        }
        self.rows.push(row);
        Ok(())
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// The run cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.rows.sort_unstable();
        let path = self.folder.new_path();
        let mut out = BufWriter::with_capacity(WRITE_BYTES, File::create(&path)?);
        self.rows.iter().try_for_each(|row| out.write_all(row.bytes()))?;
        out.flush()?;
        self.rows.clear();
        self.folder.add(path);
        Ok(())
    }
}

/// Merges runs into a file, one row for each quote; the runs are gone then.
fn merge_into(runs: &[PathBuf], to: &Path, take: &mut dyn FnMut(&PackedRow) -> io::Result<()>) -> io::Result<u64> {
    let mut readers = Vec::with_capacity(runs.len());
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (i, run) in runs.iter().enumerate() {
        let mut reader = BufReader::with_capacity(READ_BYTES, File::open(run)?);
        heads.extend(next_row(&mut reader)?.map(|row| Reverse((row, i))));
        readers.push(reader);
    }
    let mut out = BufWriter::with_capacity(WRITE_BYTES, File::create(to)?);
    let (mut rows, mut last) = (0, None::<PackedRow>);
    let mut put = |row: PackedRow| {
        rows += 1;
        take(&row)?;
        out.write_all(row.bytes())
    };
    while let Some(Reverse((row, i))) = heads.pop() {
        heads.extend(next_row(&mut readers[i])?.map(|row| Reverse((row, i))));
        last = match last {
            Some(before) if before.is_same_quote(&row) => Some(before.merged(row)),
            Some(before) => {
                put(before)?;
                Some(row)
            }
            None => Some(row),
        };
    }
    last.into_iter().try_for_each(&mut put)?;
    out.flush()?;
    drop(readers);
    runs.iter().try_for_each(fs::remove_file)?;
    Ok(rows)
}

/// The next row; `None` at the end.
fn next_row(reader: &mut impl Read) -> io::Result<Option<PackedRow>> {
    let mut bytes = [0; ROW_BYTES];
    match reader.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(PackedRow::of_bytes(bytes))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// A part of a sorted file, row by row.
#[derive(Debug)]
pub struct SortedRows {
    reader: io::Take<BufReader<File>>,
}

impl SortedRows {
    /// `rows` rows from the `first` on.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(sorted: &Path, first: u64, rows: u64) -> io::Result<Self> {
        let mut file = File::open(sorted)?;
        file.seek(SeekFrom::Start(first * ROW_BYTES as u64))?;
        let reader = BufReader::with_capacity(READ_BYTES, file).take(rows * ROW_BYTES as u64);
        Ok(Self { reader })
    }
}

impl Iterator for SortedRows {
    type Item = io::Result<PackedRow>;

    fn next(&mut self) -> Option<Self::Item> {
        next_row(&mut self.reader).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::HistoryRow;
    use jiff::{Timestamp, civil::date};
    use kernel::contract::{ContractKey, Right, Symbol};
    use kernel::records::{Activity, QuoteRecord};

    fn row(strike_milli: u32, bid: f64) -> PackedRow {
        let symbol = Symbol::parse("ABC").unwrap();
        let contract = ContractKey { root: symbol, expiry: date(2024, 2, 16), strike_milli, right: Right::Call };
        let ts = Timestamp::from_second(1_704_294_000).unwrap();
        let (ask, bid_size, ask_size) = (9.0, 1.0, 1.0);
        let quote = QuoteRecord {
            ts,
            underlying: symbol,
            contract,
            bid,
            ask,
            bid_size,
            ask_size,
            activity: Activity::default(),
        };
        PackedRow::new(date(2024, 1, 3), symbol, &HistoryRow { quote, spot: 100.0 }).unwrap()
    }

    /// Sorted through runs of `most` rows.
    fn sorted(rows: &[PackedRow], most: usize, name: &str) -> Vec<PackedRow> {
        let folder = std::env::temp_dir().join(format!("greeksd-spill-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (runs, path) = (RunFolder::new(&folder), folder.join("sorted"));
        let mut writer = RunWriter::new(&runs, most * ROW_BYTES);
        rows.iter().for_each(|row| writer.push(*row).unwrap());
        writer.flush().unwrap();
        let mut seen = Vec::new();
        let n = runs
            .merge(&path, |row| {
                seen.push(*row);
                Ok(())
            })
            .unwrap();
        let read: Vec<PackedRow> = SortedRows::open(&path, 0, n).unwrap().map(Result::unwrap).collect();
        assert!(read == seen && n == seen.len() as u64);
        let part: Vec<PackedRow> = SortedRows::open(&path, 2, 3).unwrap().map(Result::unwrap).collect();
        assert_eq!(part, seen[2..5]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the runs are gone");
        fs::remove_dir_all(folder).unwrap();
        seen
    }

    #[test]
    fn runs_of_any_length_give_the_same_rows() {
        let mut random = testkit::random::Random::new(7);
        // each quote several times, some of them with another bid
        let rows: Vec<PackedRow> =
            (0..3000).map(|_| row(1000 + random.below(700) as u32, random.below(3) as f64)).collect();
        let all = sorted(&rows, 10_000, "one");
        assert!(all.is_sorted() && all.windows(2).all(|pair| !pair[0].is_same_quote(&pair[1])));
        assert!(all.len() > 600 && all.iter().filter(|row| row.row().unwrap().quote.bid > 1.5).count() > 500);
        assert_eq!(sorted(&rows, 1000, "three"), all);
        // more runs than are merged at once
        assert_eq!(sorted(&rows, 7, "many"), all);
        let backwards: Vec<PackedRow> = rows.iter().rev().copied().collect();
        assert_eq!(sorted(&backwards, 100, "backwards"), all);
    }
}
