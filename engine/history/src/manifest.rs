//! The list of finished files with the digests of their inputs, so that another run keeps them. A run that is killed
//! leaves at most one incomplete line, which is ignored. Never: a row.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name of the list in the folder of a job ([`job_folder`]).
pub const MANIFEST: &str = "_manifest.csv";
const HEADER: [&str; 6] = ["file", "from", "made_by", "bytes", "contracts", "failed"];

/// The folder of a job's own files, beside that of its outputs: readers take every file there for data.
#[must_use]
pub fn job_folder(out: &Path) -> PathBuf {
    let named = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        Some(path.with_file_name(format!("{name}.job")))
    };
    // `.` and `..` have a name where they lead to
    named(out).or_else(|| named(&out.canonicalize().ok()?)).unwrap_or_else(|| out.join("_job"))
}

/// One finished file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Stands for everything that it was computed from.
    pub from: String,
    /// Program, recipe and form.
    pub made_by: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Number of rows.
    pub contracts: u64,
    /// The names of its day that could not be computed, a blank between two.
    pub failed: String,
}

/// The finished files of a folder, by their path in it.
#[derive(Debug)]
pub struct Manifest {
    path: PathBuf,
    entries: BTreeMap<String, ManifestEntry>,
    log: Option<File>,
}

impl Manifest {
    /// Reads the manifest of a folder; an empty one if the file is missing or damaged.
    ///
    /// # Errors
    /// The list exists and cannot be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(MANIFEST);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        // what does not end was not finished
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&bytes[..whole]);
        let entries = reader.records().filter_map(Result::ok).filter_map(|record| entry(&record)).collect();
        Ok(Self { path, entries, log: None })
    }

    /// The entry of a file.
    #[must_use]
    pub fn get(&self, file: &str) -> Option<&ManifestEntry> {
        self.entries.get(file)
    }

    /// Adds an entry, at once.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, file: String, entry: ManifestEntry) -> io::Result<()> {
        if self.log.is_none() {
            // the lines of runs before, without what was cut off
            self.write()?;
            self.log = Some(File::options().append(true).open(&self.path)?);
        }
        let line = line(&file, &entry)?;
        self.entries.insert(file, entry);
        self.log.iter_mut().try_for_each(|log| log.write_all(&line))
    }

    /// Paths of the files, in their order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Forgets a file that is no more.
    pub fn remove(&mut self, file: &str) {
        self.entries.remove(file);
    }

    /// Writes every entry, in order of their files.
    ///
    /// # Errors
    /// The list cannot be written; the old one stays.
    pub fn write(&mut self) -> io::Result<()> {
        self.log = None;
        let mut text = format!("{}\n", HEADER.join(",")).into_bytes();
        for (file, entry) in &self.entries {
            text.extend(line(file, entry)?);
        }
        write_whole(&self.path, &text)
    }
}

/// Writes a small file: all of it, or what was there before.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let mut file = File::create(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

fn line(file: &str, entry: &ManifestEntry) -> io::Result<Vec<u8>> {
    let ManifestEntry { from, made_by, bytes, contracts, failed } = entry;
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record([file, from, made_by, &bytes.to_string(), &contracts.to_string(), failed])?;
    out.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

fn entry(record: &csv::StringRecord) -> Option<(String, ManifestEntry)> {
    let [file, from, made_by, bytes, contracts, failed] = std::array::from_fn(|i| record.get(i));
    let entry = ManifestEntry {
        from: from?.to_owned(),
        made_by: made_by?.to_owned(),
        bytes: bytes?.parse().ok()?,
        contracts: contracts?.parse().ok()?,
        failed: failed?.to_owned(),
    };
    Some((file?.to_owned(), entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(contracts: u64) -> ManifestEntry {
        let [from, made_by, failed] = ["0f", "greeksd 1, full", "KO F"].map(str::to_owned);
        ManifestEntry { from, made_by, bytes: 7, contracts, failed }
    }

    #[test]
    fn a_job_has_its_folder_beside_the_outputs() {
        assert_eq!(job_folder(Path::new("a/greeks")), Path::new("a/greeks.job"));
        assert_eq!(job_folder(Path::new("greeks/")), Path::new("greeks.job"));
        assert_eq!(job_folder(Path::new("/")), Path::new("/_job"));
        let here = std::env::current_dir().unwrap();
        let name = format!("{}.job", here.file_name().unwrap().to_str().unwrap());
        assert_eq!(job_folder(Path::new(".")), here.with_file_name(name));
    }

    #[test]
    fn lines_come_back_and_one_that_is_cut_off_does_not() {
        let folder = std::env::temp_dir().join(format!("greeksd-manifest-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(MANIFEST);
        let mut manifest = Manifest::open(&folder).unwrap();
        manifest.add("day=2024-01-04/greeks.parquet".to_owned(), entry(1)).unwrap();
        manifest.add("day=2024-01-03/greeks.parquet".to_owned(), entry(2)).unwrap();
        let text = fs::read(&path).unwrap();
        for cut in 0..text.len() {
            fs::write(&path, &text[..cut]).unwrap();
            let read = Manifest::open(&folder).unwrap();
            let whole = text[..cut].iter().filter(|&&b| b == b'\n').count().saturating_sub(1);
            assert_eq!(read.entries.len(), whole, "{cut}");
        }
        // what follows a line that is cut off is read
        let mut manifest = Manifest::open(&folder).unwrap();
        manifest.add("day=2024-01-05/greeks.parquet".to_owned(), entry(3)).unwrap();
        manifest.remove("nothing");
        let read = Manifest::open(&folder).unwrap();
        assert_eq!(read.get("day=2024-01-05/greeks.parquet"), Some(&entry(3)));
        assert_eq!(read.get("day=2024-01-04/greeks.parquet"), Some(&entry(1)));
        // in the end in order, whatever came first
        manifest.write().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().skip(1).is_sorted() && text.lines().count() == 3, "{text}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
