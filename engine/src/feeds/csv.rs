//! Typed rows of a comma-separated file: columns in any order, further ones ignored, one bad field costs one row.
//! Never: a meaning of a column, a file handle.

use super::report::Report;
use super::times;
use crate::calendar::Day;
use crate::contract::{Right, Symbol};
use crate::error::{FeedError, Reason, Refused};
use crate::limits::{self, Bound};
use csv::{ByteRecord, ReaderBuilder};
use jiff::{Timestamp, civil::Date};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A column that a format has.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name in the header; case does not matter.
    pub name: &'static str,
    /// Whether a file may lack it; its fields are then empty.
    pub optional: bool,
}

/// A column that a file must have.
#[must_use]
pub const fn required(name: &'static str) -> Column {
    Column { name, optional: false }
}

/// A column that a file may lack.
#[must_use]
pub const fn optional(name: &'static str) -> Column {
    Column { name, optional: true }
}

/// What is wrong with a row: the place of the column in the format's list, and why.
pub type Bad = (usize, Reason);

/// The fields of one row, by the place of their column in the format's list.
#[derive(Debug)]
pub struct Row<'a, const N: usize> {
    record: &'a ByteRecord,
    at: &'a [Option<usize>; N],
    file: &'a [u8],
}

impl<const N: usize> Row<'_, N> {
    /// The line that the row begins on, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.record.position().map_or(0, |start| line_of(start, self.file))
    }

    /// The bytes of a field, without blanks around it; empty where the file has no such column.
    ///
    /// # Errors
    /// The row ends before the field.
    pub fn bytes(&self, column: usize) -> Result<&[u8], Bad> {
        match self.at[column] {
            Some(i) => self.record.get(i).map(<[u8]>::trim_ascii).ok_or((column, Reason::Missing)),
            None => Ok(&[]),
        }
    }

    /// A field that must not be empty, as text.
    ///
    /// # Errors
    /// Missing or empty, or not UTF-8.
    pub fn text(&self, column: usize) -> Result<&str, Bad> {
        let text = core::str::from_utf8(self.bytes(column)?).map_err(|_| (column, Reason::NotUtf8))?;
        if text.is_empty() { Err((column, Reason::Missing)) } else { Ok(text) }
    }

    /// A number within its bound.
    ///
    /// # Errors
    /// Missing, empty, no number or out of range.
    pub fn number(&self, column: usize, bound: Bound) -> Result<f64, Bad> {
        let x: f64 = self.text(column)?.parse().map_err(|_| (column, Reason::NotANumber))?;
        bound.admit(x).map_err(|reason| (column, reason))
    }

    /// A number within its bound, NaN where the field is empty.
    ///
    /// # Errors
    /// The row ends before the field; no number or out of range.
    pub fn number_or_nan(&self, column: usize, bound: Bound) -> Result<f64, Bad> {
        if self.bytes(column)?.is_empty() { Ok(f64::NAN) } else { self.number(column, bound) }
    }

    /// An underlying symbol, in any spelling of class shares.
    ///
    /// # Errors
    /// Missing or not a ticker.
    pub fn underlying(&self, column: usize) -> Result<Symbol, Bad> {
        Symbol::parse_underlying(self.text(column)?).ok_or((column, Reason::NotASymbol))
    }

    /// A date, `YYYY-MM-DD`.
    ///
    /// # Errors
    /// Missing, not a date or out of the years allowed.
    pub fn date(&self, column: usize) -> Result<Date, Bad> {
        times::parse_date(self.text(column)?).ok_or((column, Reason::NotADate))
    }

    /// A time with an offset, as in RFC 3339.
    ///
    /// # Errors
    /// Missing, not a time or out of the years allowed.
    pub fn time(&self, column: usize) -> Result<Timestamp, Bad> {
        times::parse_rfc3339(self.text(column)?).ok_or((column, Reason::NotATime))
    }

    /// `call`, `put`, `c` or `p` in either case.
    ///
    /// # Errors
    /// Missing or another word.
    pub fn right(&self, column: usize) -> Result<Right, Bad> {
        Right::parse(self.text(column)?).ok_or((column, Reason::NotARight))
    }

    /// `closed`, `early` or `open`.
    ///
    /// # Errors
    /// Missing or another word.
    pub fn day(&self, column: usize) -> Result<Day, Bad> {
        Day::parse(self.text(column)?).ok_or((column, Reason::NotAWord))
    }
}

/// Reads every row of a file. `take` makes a record of a row or says what is wrong with it; refused rows are counted.
pub fn read_rows<const N: usize>(
    file: &Path,
    bytes: &[u8],
    columns: &[Column; N],
    mut take: impl FnMut(&Row<'_, N>) -> Result<(), Bad>,
) -> Report {
    let mut report = Report::default();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut record = ByteRecord::new();
    // A reader of bytes in memory has nothing that fails: an error here is the end of what can be read.
    let header = reader.read_byte_record(&mut record).map(|_| find_columns(&record, columns));
    let at = match header {
        Ok(Ok(at)) => at,
        Ok(Err(column)) => {
            report.errors.push(FeedError::NoColumn { file: file.to_path_buf(), column });
            return report;
        }
        Err(_) => {
            report.errors.push(FeedError::Malformed { file: file.to_path_buf(), line: 1 });
            return report;
        }
    };
    let name = Arc::new(file.to_path_buf());
    while reader.read_byte_record(&mut record).unwrap_or(false) {
        report.records += 1;
        let row = Row { record: &record, at: &at, file: bytes };
        if let Err((column, reason)) = take(&row) {
            let field = columns[column].name;
            report.refuse(Refused { file: Arc::clone(&name), line: row.line(), field, reason });
        }
    }
    report
}

/// The line of a record. The reader leaves the `\n` of `\r\n`, and blank lines, to the record after them.
fn line_of(start: &csv::Position, bytes: &[u8]) -> u64 {
    let rest = usize::try_from(start.byte()).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
    let breaks = rest.iter().take_while(|b| matches!(b, b'\r' | b'\n')).filter(|&&b| b == b'\n');
    start.line() + breaks.count() as u64
}

/// Where each column stands in the header, or the name of a required one that does not.
fn find_columns<const N: usize>(
    header: &ByteRecord,
    columns: &[Column; N],
) -> Result<[Option<usize>; N], &'static str> {
    let mut at = [None; N];
    for (place, column) in at.iter_mut().zip(columns) {
        let named = |field: &[u8]| field.trim_ascii().eq_ignore_ascii_case(column.name.as_bytes());
        *place = header.iter().position(named);
        if place.is_none() && !column.optional {
            return Err(column.name);
        }
    }
    Ok(at)
}

/// A cell that is parsed again only when its bytes change: files repeat dates, times and symbols row after row.
#[derive(Debug)]
pub struct Repeated<T> {
    last: Option<(Vec<u8>, T)>,
}

impl<T> Default for Repeated<T> {
    fn default() -> Self {
        Self { last: None }
    }
}

impl<T: Copy> Repeated<T> {
    /// The parsed cell.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn get<'a, const N: usize>(
        &mut self,
        row: &Row<'a, N>,
        column: usize,
        parse: impl FnOnce(&Row<'a, N>, usize) -> Result<T, Bad>,
    ) -> Result<T, Bad> {
        let bytes = row.bytes(column)?;
        if let Some((last, value)) = &self.last
            && last == bytes
        {
            return Ok(*value);
        }
        let value = parse(row, column)?;
        let mut kept = self.last.take().map_or_else(Vec::new, |(kept, _)| kept);
        kept.clear();
        kept.extend_from_slice(bytes);
        self.last = Some((kept, value));
        Ok(value)
    }
}

/// Decompresses gzip if the bytes are gzip, in any number of members. On damage: what came before it, up to the last
/// whole line, and the error.
#[must_use]
pub fn decompress(file: &Path, raw: Vec<u8>) -> (Vec<u8>, Option<FeedError>) {
    use std::io::Read;
    if !raw.starts_with(&[0x1f, 0x8b]) {
        return (raw, None);
    }
    let file = || -> PathBuf { file.to_path_buf() };
    let most = limits::FILE_BYTES.most as u64;
    let mut out = Vec::with_capacity(raw.len().saturating_mul(8).min(1 << 28));
    let read = flate2::read::MultiGzDecoder::new(raw.as_slice()).take(most + 1).read_to_end(&mut out);
    match read {
        Ok(n) if n as u64 <= most => (out, None),
        Ok(_) => (Vec::new(), Some(FeedError::TooLarge { file: file() })),
        Err(e) => {
            let whole = out.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
            out.truncate(whole);
            (out, Some(FeedError::Io { file: file(), kind: e.kind() }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let columns = [required("a"), required("b"), optional("c")];
        let mut seen = Vec::new();
        let report = read_rows(Path::new("x"), b"\xef\xbb\xbfB, z ,A\r\n1,x,2\r\n\r\n3\r\n", &columns, |row| {
            seen.push((row.text(0)?.to_owned(), row.text(1)?.to_owned(), row.bytes(2)?.to_owned()));
            Ok(())
        });
        assert_eq!(seen, [("2".to_owned(), "1".to_owned(), vec![])]);
        assert_eq!((report.records, report.refused_total()), (2, 1));
        let place = &report.places[0];
        assert_eq!((place.line, place.field, place.reason), (4, "a", Reason::Missing));
    }

    #[test]
    fn a_required_column_must_be_there() {
        let report = read_rows(Path::new("x.csv"), b"a\n1\n", &[required("a"), required("b")], |_| Ok(()));
        assert_eq!(report.errors[0].to_string(), "x.csv: no column `b`");
        assert_eq!(report.records, 0);
    }

    proptest! {
        #[test]
        fn no_compressed_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), header in any::<bool>()) {
            // A member header with no options, then noise as its data.
            let start: &[u8] = if header { &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3] } else { &[0x1f, 0x8b] };
            let (out, error) = decompress(Path::new("x"), [start, &bytes].concat());
            prop_assert!(error.is_none() || out.is_empty() || out.ends_with(b"\n"));
        }
    }
}
