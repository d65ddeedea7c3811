//! A folder of one test, and what is read of files in it.

use history::layouts::{LayoutError, Read, ReadOptions, read};
use history::row::HistoryRow;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{ContractKey, Right};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is gone after its test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("greeksd-layouts-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Every row of a file.
pub(crate) fn rows_of(path: &Path, options: &ReadOptions) -> Result<(Vec<HistoryRow>, Read), LayoutError> {
    let mut rows = Vec::new();
    let outcome = read(path, options, &mut |row| rows.push(row))?;
    Ok((rows, outcome))
}

/// The rows of a file with these bytes.
pub(crate) fn rows_in(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<(Vec<HistoryRow>, Read), LayoutError> {
    let folder = Folder::new();
    rows_of(&folder.put(name, bytes), options)
}

/// A row in one line.
pub(crate) fn line(row: &HistoryRow) -> String {
    let HistoryRow { quote, spot } = row;
    let key = quote.contract;
    let (ts, name, bid, ask) = (quote.ts, quote.underlying, quote.bid, quote.ask);
    format!("{ts} {name} {} {} {} {:?} {bid} {ask} {spot}", key.root, key.expiry, key.strike_milli, key.right)
}

/// A price as vendors write it that have no other word for none.
pub(crate) fn zero(price: f64) -> f64 {
    if price.is_nan() { 0.0 } else { price }
}

pub(crate) fn osi(contract: ContractKey) -> String {
    let mut symbol = [0; OSI_LEN];
    let length = contract.write_compact(&mut symbol);
    String::from_utf8_lossy(&symbol[..length]).into_owned()
}

pub(crate) fn word(right: Right) -> &'static str {
    if right == Right::Call { "call" } else { "put" }
}

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// An archive of files.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
