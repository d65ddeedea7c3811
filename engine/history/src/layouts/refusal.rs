//! Reasons why a file is refused as a whole. Never: text built on the way up.

use core::fmt;
use kernel::error::FeedError;
use std::path::{Path, PathBuf};

/// Reason why a file is refused as a whole.
#[derive(Clone, Debug)]
pub enum LayoutError {
    /// The file cannot be opened, or breaks off before its header ends.
    Unreadable(FeedError),
    /// The file has a packing that is not supported.
    Packed {
        /// The file.
        file: PathBuf,
        /// The packing.
        how: &'static str,
    },
    /// The file is empty.
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// The file has closing prices of underlyings, which are read beside quotes, and no quotes.
    OfPrices {
        /// The file.
        file: PathBuf,
    },
    /// The header lacks a column that the map of columns names.
    NoMappedColumn {
        /// The file.
        file: PathBuf,
        /// The column that the map names.
        column: String,
    },
    /// Neither a column nor the name of the file gives the underlying.
    NoUnderlying {
        /// The file.
        file: PathBuf,
        /// Layout of the file.
        layout: &'static str,
    },
    /// No column has the time of its quotes.
    NoTime {
        /// The file.
        file: PathBuf,
        /// Layout of the file.
        layout: &'static str,
    },
    /// A file of quotes lacks the vendor's own Greeks, which a comparison needs.
    NoShown {
        /// The file.
        file: PathBuf,
        /// Layout of the file.
        layout: &'static str,
    },
    /// The document is not valid JSON.
    NotJson {
        /// The file.
        file: PathBuf,
        /// The problem, with line and column.
        problem: String,
    },
    /// The file is a JSON document, but only tables and recordings can be read here.
    Document {
        /// The file.
        file: PathBuf,
    },
    /// The columns of a JSON document differ in length.
    Uneven {
        /// The file.
        file: PathBuf,
        /// The shortest and the longest column, each with its length.
        columns: [(&'static str, usize); 2],
    },
    /// A JSON document of no known layout.
    UnknownDocument {
        /// The file.
        file: PathBuf,
    },
    /// The header is of no known layout.
    UnknownHeader {
        /// The file.
        file: PathBuf,
        /// Number of columns.
        columns: usize,
        /// The layouts that it is nearest to, the nearest first.
        nearest: Vec<NearLayout>,
    },
}

/// A time for all quotes, as every command takes it.
const TIME: &str = "--time 2026-11-20T15:42:00-05:00";
/// Columns in whose place `--time` may be given.
const TIMES: [&str; 3] = ["quote_time", "ts_recv", "timestamp"];

/// A layout that a header nearly fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearLayout {
    /// Name of the layout.
    pub layout: &'static str,
    /// The columns that the header lacks, each with what it may be called there.
    pub missing: Vec<(&'static str, Option<String>)>,
}

/// The begin of a name, with control characters escaped: a line end would forge a line of the log.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(40).flat_map(char::escape_debug).collect()
}

/// A path in one line.
fn path(file: &Path) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().collect() } else { String::from(c) };
    file.to_string_lossy().chars().map(escape).collect()
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Packed { file, how } => {
                write!(f, "{}: {how} is not read; plain text, gzip, zip and Parquet are", path(file))
            }
            Self::Empty { file } => write!(f, "{}: empty", path(file)),
            Self::OfPrices { file } => {
                write!(f, "{}: prices of underlyings, which are read beside quotes", path(file))
            }
            Self::NoMappedColumn { file, column } => {
                write!(f, "{}: the header has no column `{}`", path(file), shown(column))
            }
            Self::NoUnderlying { file, layout } => {
                write!(
                    f,
                    "{}: files of {layout} do not name their underlying, and this one's name does not: give --underlying",
                    path(file)
                )
            }
            Self::NoTime { file, layout } => {
                write!(
                    f,
                    "{}: of {layout}, and no column has the time of the quotes: give the time when they were saved, such as {TIME}",
                    path(file)
                )
            }
            Self::NoShown { file, layout } => {
                write!(f, "{}: of {layout}, and without a column of the vendor's volatility or Greeks", path(file))
            }
            Self::NotJson { file, problem } => write!(f, "{}: not JSON: {problem}", path(file)),
            Self::Uneven { file, columns: [(short, few), (long, many)] } => {
                write!(f, "{}: `{long}` has {many} values, `{short}` {few}", path(file))
            }
            Self::Document { file } => {
                let file = path(file);
                write!(
                    f,
                    "{file}: a JSON document, not lines of quotes or a table; `greeksd compare {file}` reads those of vendors"
                )
            }
            Self::UnknownDocument { file } => write!(f, "{}: a document of no known layout", path(file)),
            Self::UnknownHeader { file, columns, nearest } => {
                write!(f, "{}: {columns} columns of no known layout", path(file))?;
                for NearLayout { layout, missing } in nearest {
                    write!(f, "; {layout} has ")?;
                    for (i, (name, near)) in missing.iter().enumerate() {
                        write!(f, "{}`{name}`", if i == 0 { "" } else { ", " })?;
                        if let Some(near) = near {
                            write!(f, " (here `{near}`?)")?;
                        }
                    }
                    if let [(name, None)] = missing.as_slice()
                        && TIMES.contains(name)
                    {
                        write!(f, " (or give --time)")?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl core::error::Error for LayoutError {}
