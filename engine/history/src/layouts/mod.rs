//! Files of recorded quotes, of whatever layout and packing, read row by row: docs/history/layouts.md.
//!
//! A layout is a table (`vendors.rs`) of what its columns mean (`columns.rs`), found by the header (`header.rs`); one
//! reader stands below all of them (`rows.rs`), whether values come as text (`text.rs`) or typed (`columnar.rs`).
//! Memory does not grow with the file. Never: a computation on quotes, an order of rows but the file's.

mod cells;
#[cfg(feature = "tables")]
mod columnar;
#[cfg(not(feature = "tables"))]
#[path = "no_columnar.rs"]
mod columnar;
mod columns;
mod documents;
mod facts;
mod header;
mod options;
mod packed;
pub mod pushed;
#[cfg(feature = "tables")]
mod pushed_rows;
#[cfg(not(feature = "tables"))]
#[path = "no_pushed_rows.rs"]
mod pushed_rows;
mod quote_table;
mod recorded;
mod recorded_lines;
mod refusal;
mod responses;
mod rows;
mod shown;
mod sink;
mod text;
mod vendors;

#[cfg(feature = "tables")]
pub use columnar::{TableBatch, TableCells, TableSchema, table_text};
pub use columns::{Meaning, SHOWN};
pub use options::{ColumnMap, ColumnMapError, ReadOptions};
#[cfg(not(feature = "tables"))]
pub use pushed_rows::AbsentTable as PushedTable;
#[cfg(feature = "tables")]
pub use pushed_rows::PushedTable;
pub use refusal::{LayoutError, NearLayout};
pub use shown::ShownNumbers;

use crate::reference::RecordedReference;
use crate::row::HistoryRow;
use facts::Facts;
use feeds::chains::{ChainRows, Chains};
use feeds::recording::is_recording;
use feeds::text::encoding::{FromUtf16, Utf16, utf8};
use flate2::read::MultiGzDecoder;
use kernel::error::{FeedError, Instead, Reason};
use kernel::report::Report;
use packed::{Packing, each_member, is_document, is_of_lines, open, unreadable};
use sink::{Prices, Quotes, UniqueQuotes};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// Bytes of a file that are read ahead.
const AHEAD: usize = 1 << 18;
/// Names of files of closing prices, in the folder of a file of quotes that has none.
const BESIDE: [&str; 4] =
    ["underlying_prices.parquet", "underlying.parquet", "underlying_prices.csv", "underlying.csv"];

/// Outcome of reading a file.
#[derive(Clone, Debug)]
pub struct Read {
    /// Layout of the file, or of the first file of an archive.
    pub layout: &'static str,
    /// Dividends and rates of a recording.
    pub reference: RecordedReference,
    /// Rows read and refused. If it has `errors`, not all of the file could be read.
    pub report: Report,
}

impl Read {
    /// True if the file was read from its beginning to its end.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.report.errors.is_empty()
    }
}

/// Passes every quote of a file to `take`, in the order of the file, in bounded memory. The report counts unusable
/// rows; damage of the file loses the rows after it, and is an error of the report.
///
/// # Errors
/// The file cannot be opened, is packed in a way that is not read, or has no known header.
pub fn read(path: &Path, options: &ReadOptions, take: &mut dyn FnMut(HistoryRow)) -> Result<Read, LayoutError> {
    read_all(path, Facts::new(options), &mut |row, _| take(row))
}

/// [`read`] with the vendor's own volatility and Greeks beside each quote. Saved responses of vendors are read as well.
///
/// # Errors
/// As of [`read`]; also if the file has no column of such numbers.
pub fn read_shown(
    path: &Path,
    options: &ReadOptions,
    take: &mut dyn FnMut(HistoryRow, &ShownNumbers),
) -> Result<Read, LayoutError> {
    read_all(path, Facts { reads_shown: true, ..Facts::new(options) }, take)
}

/// [`read_shown`] of the bytes of a response, which errors call `source`. Parquet is not accepted.
///
/// # Errors
/// As of [`read_shown`].
pub fn read_shown_response(
    source: &Path,
    bytes: &[u8],
    options: &ReadOptions,
    take: &mut dyn FnMut(HistoryRow, &ShownNumbers),
) -> Result<Read, LayoutError> {
    let facts = Facts { reads_shown: true, ..Facts::new(options) };
    read_guarded(source, &facts, Report::default(), take, |quotes, report| match packed::packing_of(source, bytes)? {
        Packing::Zip => read_archive(source, Cursor::new(bytes), &facts, quotes, report),
        _ => read_member(source, bytes, bytes.len() as u64, &facts, quotes, report),
    })
}

/// Passes on every quote of a table in memory, as [`read`] does for a file. Errors call the table `source`; `refused`
/// receives every unusable row, counted from 0.
///
/// # Errors
/// The columns are of no known layout.
#[cfg(feature = "tables")]
pub fn read_table(
    source: &Path,
    schema: &TableSchema,
    batches: &mut dyn Iterator<Item = TableBatch>,
    options: &ReadOptions,
    take: &mut dyn FnMut(HistoryRow),
    refused: &mut dyn FnMut(u64, &kernel::error::Refused),
) -> Result<Read, LayoutError> {
    let facts = Facts::new(options);
    read_guarded(source, &facts, Report::default(), &mut |row, _| take(row), |quotes, report| {
        columnar::read_batches(source, schema, batches, quotes, report, refused)
    })
}

/// The places of the columns of a table in memory that [`read_table`] reads; none if it refuses the table.
#[must_use]
pub fn columns_read(names: &[String], options: &ReadOptions) -> Vec<usize> {
    sink::used(&names.iter().map(|name| header::bare(name).to_owned()).collect::<Vec<_>>(), options)
}

/// Names of the layouts that can have a vendor's own numbers, each once.
#[must_use]
pub fn names_with_shown() -> Vec<&'static str> {
    let documents = responses::DOCUMENTS.iter().map(|document| &document.layout);
    let mut names = Vec::new();
    for layout in documents.chain(vendors::LAYOUTS).filter(|layout| !layout.shown.is_empty()) {
        if !names.contains(&layout.name) {
            names.push(layout.name);
        }
    }
    names
}

/// True if `name` is the name of a layout of files or responses, or a former one.
#[must_use]
pub fn is_layout(name: &str) -> bool {
    let documents = responses::DOCUMENTS.iter().map(|document| &document.layout);
    documents.chain(vendors::LAYOUTS).any(|layout| layout.is_called(name))
}

/// Reads the text of a chain file of a market folder: every quote once at a time.
#[must_use]
pub fn read_chains(path: &Path, bytes: &[u8]) -> (Chains, Report) {
    static OPTIONS: LazyLock<ReadOptions> = LazyLock::new(ReadOptions::default);
    let facts = Facts::new(&OPTIONS);
    let (rows, is_repeated) = (RefCell::new(ChainRows::default()), Cell::new(false));
    let mut keep = |HistoryRow { quote, spot }: HistoryRow, _: &ShownNumbers| {
        is_repeated.set(rows.borrow_mut().keep(quote, spot).is_err() || is_repeated.get());
    };
    let mut report = Report::default();
    let mut quotes = UniqueQuotes { quotes: Quotes::new(&facts, &mut keep), is_repeated: &is_repeated };
    let outcome = text::read(path, utf8(bytes).as_ref(), &mut quotes, &mut report);
    if let Err(why) = outcome {
        report.errors.push(FeedError::Unread { why: Arc::new(why) });
    }
    drop(quotes);
    (rows.into_inner().finish(), report)
}

fn read_all(
    path: &Path,
    mut facts: Facts<'_>,
    take: &mut dyn FnMut(HistoryRow, &ShownNumbers),
) -> Result<Read, LayoutError> {
    let mut report = Report::default();
    read_closes(path, &mut facts, &mut report)?;
    read_guarded(path, &facts, report, take, |quotes, report| read_into(path, &facts, quotes, report))
}

/// Reads a file so that a panic of a reader or a library costs this file and nothing else.
fn read_guarded<'f>(
    path: &Path,
    facts: &'f Facts<'f>,
    mut report: Report,
    take: &mut dyn FnMut(HistoryRow, &ShownNumbers),
    read: impl FnOnce(&mut Quotes<'f, '_>, &mut Report) -> Result<(), LayoutError>,
) -> Result<Read, LayoutError> {
    let mut quotes = Quotes::new(facts, take);
    let outcome = catch_unwind(AssertUnwindSafe(|| read(&mut quotes, &mut report)));
    outcome.unwrap_or_else(|_| Err(unreadable(path, ErrorKind::InvalidData)))?;
    let layout = quotes.layout.unwrap_or(recorded::NAME);
    Ok(Read { layout, reference: quotes.reference.finish(), report })
}

/// Reads a file whatever its packing.
fn read_into(
    path: &Path,
    facts: &Facts<'_>,
    quotes: &mut Quotes<'_, '_>,
    report: &mut Report,
) -> Result<(), LayoutError> {
    let (file, packing) = open(path)?;
    let packed = file.metadata().map_err(|e| unreadable(path, e.kind()))?.len();
    match packing {
        Packing::Plain => read_text(path, BufReader::with_capacity(AHEAD, file), packed, facts, quotes, report),
        Packing::Parquet => columnar::read(path, file, quotes, report),
        Packing::Gzip => {
            let mut text = BufReader::with_capacity(AHEAD, MultiGzDecoder::new(BufReader::with_capacity(AHEAD, file)));
            if facts.reads_shown || (!is_recording(path) && !is_of_lines(&mut text)) {
                return read_text(path, text, packed, facts, quotes, report);
            }
            drop(text);
            let again = File::open(path).map_err(|e| unreadable(path, e.kind()))?;
            let mut members = recorded::Members::of(again);
            recorded::read(path, &mut members, facts, quotes, report);
            report.errors.extend(members.errors(path));
            Ok(())
        }
        Packing::Zip => read_archive(path, file, facts, quotes, report),
    }
}

/// Reads separated text or a recording that was `packed` bytes long before it was unpacked; UTF-16 too.
fn read_text(
    path: &Path,
    mut text: impl BufRead,
    packed: u64,
    facts: &Facts<'_>,
    quotes: &mut Quotes<'_, '_>,
    report: &mut Report,
) -> Result<(), LayoutError> {
    match Utf16::of(text.fill_buf().unwrap_or_default()) {
        None => read_utf8(path, text, packed, facts, quotes, report),
        Some(order) => read_utf8(path, BufReader::new(FromUtf16::new(text, order)), packed, facts, quotes, report),
    }
}

fn read_utf8(
    path: &Path,
    mut text: impl BufRead,
    packed: u64,
    facts: &Facts<'_>,
    quotes: &mut Quotes<'_, '_>,
    report: &mut Report,
) -> Result<(), LayoutError> {
    if !facts.reads_shown && (is_recording(path) || is_of_lines(&mut text)) {
        let (is_document, before) = (is_document(&mut text), report.clone());
        recorded::read(path, text, facts, quotes, report);
        let is_refused = report.refused_total() - before.refused_total() == report.records - before.records;
        let first = report.places.get(before.places.len()).map(|first| first.reason);
        if is_document && is_refused && matches!(first, Some(Reason::Malformed | Reason::TooLong)) {
            *report = before;
            return Err(LayoutError::Document { file: path.to_path_buf() });
        }
        return Ok(());
    }
    if is_document(&mut text) {
        return match facts.reads_shown {
            true => documents::read(path, text, packed, facts, quotes, report),
            false => Err(LayoutError::Document { file: path.to_path_buf() }),
        };
    }
    text::read(path, text, quotes, report)
}

/// Reads the files of an archive. One that is not understood is an error of the report, unless none of them is.
fn read_archive(
    path: &Path,
    archive: impl io::Read + Seek,
    facts: &Facts<'_>,
    quotes: &mut Quotes<'_, '_>,
    report: &mut Report,
) -> Result<(), LayoutError> {
    let (mut read, mut refused) = (false, Vec::new());
    each_member(path, archive, |name, member| {
        let within = member_path(path, &name);
        let outcome = match member {
            Ok((member, packed)) => {
                read_member(&within, BufReader::with_capacity(AHEAD, member), packed, facts, quotes, report)
            }
            Err(kind) => Err(unreadable(&within, kind)),
        };
        match outcome {
            Ok(()) => read = true,
            Err(error) => refused.push((within, error)),
        }
    })?;
    if read {
        report.errors.extend(refused.into_iter().map(|(file, error)| match error {
            LayoutError::Unreadable(error) => error,
            _ => FeedError::Instead { file, what: Instead::OtherFormat },
        }));
        return Ok(());
    }
    let first = refused.into_iter().next().map(|(_, error)| error);
    Err(first.unwrap_or_else(|| LayoutError::Empty { file: path.to_path_buf() }))
}

/// The path of a file of an archive in messages: `archive!/member`, whatever path the archive claims for it.
fn member_path(archive: &Path, name: &Path) -> PathBuf {
    let mut within = archive.as_os_str().to_owned();
    within.push("!");
    let parts = name.components().filter(|part| matches!(part, Component::Normal(_)));
    parts.fold(PathBuf::from(within), |path, part| path.join(part))
}

/// Reads one file of an archive, which may be compressed once more.
fn read_member(
    path: &Path,
    mut member: impl BufRead,
    packed: u64,
    facts: &Facts<'_>,
    quotes: &mut Quotes<'_, '_>,
    report: &mut Report,
) -> Result<(), LayoutError> {
    let head = member.fill_buf().map_err(|e| unreadable(path, e.kind()))?;
    match packed::packing_of(path, head)? {
        Packing::Plain => read_text(path, member, packed, facts, quotes, report),
        Packing::Gzip => {
            let text = BufReader::with_capacity(AHEAD, MultiGzDecoder::new(member));
            read_text(path, text, packed, facts, quotes, report)
        }
        Packing::Zip => Err(LayoutError::Packed { file: path.to_path_buf(), how: "an archive in an archive" }),
        Packing::Parquet => Err(LayoutError::Packed { file: path.to_path_buf(), how: "Parquet in an archive" }),
    }
}

/// Reads the closing prices that the options name, or those beside a file. A file beside it that has no closing prices
/// is ignored.
fn read_closes(path: &Path, facts: &mut Facts<'_>, report: &mut Report) -> Result<(), LayoutError> {
    let beside = || -> Option<PathBuf> {
        let folder = path.parent()?;
        BESIDE.iter().map(|name| folder.join(name)).find(|beside| beside.is_file() && beside != path)
    };
    let named = facts.options.prices.clone();
    let is_named = named.is_some();
    let Some(file) = named.or_else(beside) else { return Ok(()) };
    let mut prices = Prices::new(facts);
    let mut of_prices = Report::default();
    match read_prices(&file, &mut prices, &mut of_prices) {
        Ok(()) => {
            facts.closes = prices.closes;
            report.absorb(of_prices);
            Ok(())
        }
        Err(refused) if is_named => Err(refused),
        Err(_) => Ok(()),
    }
}

/// Reads a table of closing prices.
fn read_prices(file: &Path, prices: &mut Prices<'_, '_>, report: &mut Report) -> Result<(), LayoutError> {
    match open(file)? {
        (from, Packing::Parquet) => columnar::read(file, from, prices, report),
        (from, Packing::Gzip) => {
            text::read(file, MultiGzDecoder::new(BufReader::with_capacity(AHEAD, from)), prices, report)
        }
        (from, _) => text::read(file, BufReader::with_capacity(AHEAD, from), prices, report),
    }
}
