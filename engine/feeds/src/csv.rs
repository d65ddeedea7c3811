//! Typed rows of a file of separated text: columns in any order, further ones ignored, one bad field costs one row.
//! How the text is written ([`Dialect`]) is found by its first rows.
//!
//! A row is a line: no field holds a line end, not even between quotation marks, so that a mark which is never closed
//! costs its own row and not all rows after it. Never: a meaning of a column, a file handle.

use super::fields::{CsvFields, Lines, head};
use super::text::encoding::utf8;
use super::text::numbers::parse_number;
use super::text::{Decimal, Dialect, dates, declared_separator, is_missing};
use jiff::civil::Date;
use kernel::calendar::Day;
use kernel::contract::{Right, Symbol};
use kernel::error::{FeedError, Reason, Refused};
use kernel::limits::{self, Bound};
use kernel::report::Report;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A column that a format has.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name in the header; case does not matter.
    pub name: &'static str,
    /// True if a file may lack it; its fields are then empty.
    pub optional: bool,
}

impl Column {
    /// True if a field of a header is its name.
    fn names(&self, field: &[u8]) -> bool {
        field.trim_ascii().eq_ignore_ascii_case(self.name.as_bytes())
    }
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

/// Fault of a row: index of the column in the format's list, and the reason.
pub type CsvFault = (usize, Reason);

/// The fields of one row, by the place of their column in the format's list.
#[derive(Debug)]
pub struct Row<'a, const N: usize> {
    fields: &'a CsvFields<'a>,
    at: &'a [Option<usize>; N],
    line: u64,
    dialect: Dialect,
}

impl<const N: usize> Row<'_, N> {
    /// Line of the row, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The bytes of a field, without blanks around it; empty where the file has no such column.
    ///
    /// # Errors
    /// The row ends before the field.
    pub fn bytes(&self, column: usize) -> Result<&[u8], CsvFault> {
        // an optional column that the header lacks reads like an empty field
        let Some(i) = self.at[column] else { return Ok(&[]) };
        self.fields.get(i).map_err(|reason| (column, reason))
    }

    /// A field that must not be empty, as text.
    ///
    /// # Errors
    /// Missing or empty, or not UTF-8.
    pub fn text(&self, column: usize) -> Result<&str, CsvFault> {
        let text = core::str::from_utf8(self.bytes(column)?).map_err(|_| (column, Reason::NotUtf8))?;
        if text.is_empty() { Err((column, Reason::Missing)) } else { Ok(text) }
    }

    /// A number within its bound.
    ///
    /// # Errors
    /// Missing, empty, no number or out of range.
    pub fn number(&self, column: usize, bound: Bound) -> Result<f64, CsvFault> {
        let x = self.number_or_nan(column, bound)?;
        if x.is_nan() { Err((column, Reason::Missing)) } else { Ok(x) }
    }

    /// A number within its bound, NaN where the field is empty or a word for nothing.
    ///
    /// # Errors
    /// The row ends before the field; no number or out of range.
    pub fn number_or_nan(&self, column: usize, bound: Bound) -> Result<f64, CsvFault> {
        if self.bytes(column)?.is_empty() {
            return Ok(f64::NAN);
        }
        let text = self.text(column)?;
        if is_missing(text) {
            return Ok(f64::NAN);
        }
        parse_number(text, self.dialect.decimal).and_then(|x| bound.admit(x)).map_err(|reason| (column, reason))
    }

    /// An underlying symbol, in any spelling of class shares.
    ///
    /// # Errors
    /// Missing or not a ticker.
    pub fn underlying(&self, column: usize) -> Result<Symbol, CsvFault> {
        Symbol::parse_underlying(self.text(column)?).ok_or((column, Reason::NotASymbol))
    }

    /// A date in any of the common forms.
    ///
    /// # Errors
    /// Missing, not a date or out of the years allowed.
    pub fn date(&self, column: usize) -> Result<Date, CsvFault> {
        dates::parse_date(self.text(column)?, self.dialect).map_err(|reason| (column, reason))
    }

    /// Call or put, in any spelling.
    ///
    /// # Errors
    /// Missing or another word.
    pub fn right(&self, column: usize) -> Result<Right, CsvFault> {
        Right::parse(self.text(column)?).ok_or((column, Reason::NotARight))
    }

    /// `closed`, `early` or `open`.
    ///
    /// # Errors
    /// Missing or another word.
    pub fn day(&self, column: usize) -> Result<Day, CsvFault> {
        Day::parse(self.text(column)?).ok_or((column, Reason::NotAWord))
    }
}

/// Reads every row of a file. `take` makes a record of a row or says what is wrong with it; refused rows are counted.
pub fn read_rows<const N: usize>(
    file: &Path,
    bytes: &[u8],
    columns: &[Column; N],
    take: impl FnMut(&Row<'_, N>) -> Result<(), CsvFault>,
) -> Report {
    read_rows_after(0, None, file, bytes, columns, take)
}

/// As [`read_rows`], of the rest of a file whose header stands behind `before` lines; `decimal` is the mark of its
/// numbers where that is known.
pub fn read_rows_after<const N: usize>(
    before: u64,
    decimal: Option<Decimal>,
    file: &Path,
    bytes: &[u8],
    columns: &[Column; N],
    mut take: impl FnMut(&Row<'_, N>) -> Result<(), CsvFault>,
) -> Report {
    let mut report = Report::default();
    let bytes = utf8(bytes);
    // spreadsheets write a byte order mark, which would become part of the first column's name
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let dialect = Dialect::of(head(bytes), decimal, None);
    let mut lines = Lines::after(before, bytes).skip_while(|(_, line)| declared_separator(line).is_some());
    let mut fields = CsvFields::default();
    if let Some((_, header)) = lines.next() {
        fields.split(header, dialect.separator);
    }
    // columns are found by name once, so that their order and further columns do not matter
    let at = match find_columns(&fields, columns) {
        Ok(at) => at,
        Err(column) => {
            report.errors.push(FeedError::NoColumn { file: file.to_path_buf(), column });
            return report;
        }
    };
    let name = Arc::new(file.to_path_buf());
    if let Some(twice) =
        columns.iter().find(|column| fields.found().iter().filter(|field| column.names(field)).count() > 1)
    {
        // nobody knows which is meant
        report.records += 1;
        report.refuse(Refused {
            file: name,
            line: 1,
            field: twice.name,
            reason: Reason::TooMany,
            value: String::new(),
        });
        return report;
    }
    for (line, text) in lines {
        report.records += 1;
        fields.split(text, dialect.separator);
        let row = Row { fields: &fields, at: &at, line, dialect };
        // one bad row costs itself; the rest of the file is read
        if let Err((column, reason)) = take(&row) {
            let value = row.bytes(column).map(Refused::value_of).unwrap_or_default();
            report.refuse(Refused { file: Arc::clone(&name), line, field: columns[column].name, reason, value });
        }
    }
    report
}

/// Where each column stands in the header, or the name of a required one that does not.
fn find_columns<const N: usize>(
    header: &CsvFields<'_>,
    columns: &[Column; N],
) -> Result<[Option<usize>; N], &'static str> {
    let mut at = [None; N];
    for (place, column) in at.iter_mut().zip(columns) {
        *place = header.found().iter().position(|field| column.names(field));
        if place.is_none() && !column.optional {
            // a file of another kind is refused as a whole, by the first column that it lacks
            return Err(column.name);
        }
    }
    Ok(at)
}

/// Decompresses gzip if the bytes are gzip, in any number of members. On damage: what came before it, up to the last
/// whole line, and the error.
///
/// It may grow as far as [`limits::grown`] says. What a line has beyond [`limits::LINE_BYTES`] is not kept, so that no
/// more memory is used than the rows that can be read.
#[must_use]
pub fn decompress(file: &Path, raw: Vec<u8>) -> (Vec<u8>, Option<FeedError>) {
    if !raw.starts_with(&[0x1f, 0x8b]) {
        return (raw, None);
    }
    let file = || -> PathBuf { file.to_path_buf() };
    let most = limits::grown(raw.len() as u64) as usize;
    let mut kept = LineBuffer::default();
    let mut decoder = flate2::read::MultiGzDecoder::new(raw.as_slice());
    let (mut piece, mut total) = (vec![0; 1 << 16], 0);
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return (kept.bytes, None),
            Ok(n) => {
                total += n;
                if total > most {
                    return (Vec::new(), Some(FeedError::TooLarge { file: file() }));
                }
                kept.extend(piece.get(..n).unwrap_or_default());
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                // a file that is still being written ends within a line, whose numbers may be cut
                let whole = kept.bytes.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
                kept.bytes.truncate(whole);
                return (kept.bytes, Some(FeedError::Io { file: file(), kind: e.kind() }));
            }
        }
    }
}

/// Lines, of each a byte more than is read at most: enough to see that it is too long.
#[derive(Default)]
struct LineBuffer {
    bytes: Vec<u8>,
    /// How much of the last line there is.
    line: usize,
}

impl LineBuffer {
    fn extend(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|&b| b == b'\n') {
            let (text, end) = part.split_at(part.len() - usize::from(part.ends_with(b"\n")));
            // one byte more than allowed is kept, so that the line is refused as too long and not read as if it were
            // whole
            let room = (limits::LINE_BYTES.most as usize + 1).saturating_sub(self.line);
            let text = text.get(..room).unwrap_or(text);
            self.bytes.extend_from_slice(text);
            self.bytes.extend_from_slice(end);
            self.line = if end.is_empty() { self.line + text.len() } else { 0 };
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

    /// Column `a` of each row of a file, or why it is refused.
    fn column(text: &[u8]) -> (Vec<Vec<u8>>, Vec<(u64, Reason)>) {
        let mut seen = Vec::new();
        let report = read_rows(Path::new("x"), text, &[required("a"), required("b")], |row| {
            let a = row.bytes(0)?.to_vec();
            row.bytes(1)?;
            seen.push(a);
            Ok(())
        });
        (seen, report.places.iter().map(|place| (place.line, place.reason)).collect())
    }

    #[test]
    fn a_quotation_mark_that_is_not_closed_costs_its_row_alone() {
        let (seen, refused) = column(b"a,b\n1,x\n\"2,x\n3,\"x\n4,x\n5,x,\"ignored\n6\"6,x\n");
        assert_eq!(seen, [&b"1"[..], b"4", b"5", b"6\"6"]);
        assert_eq!(refused, [(3, Reason::OpenQuote), (4, Reason::OpenQuote)]);
    }

    #[test]
    fn quoted_fields_end_at_their_mark() {
        let (seen, refused) = column(b"\"a\",\"b\"\n\"1,2\",x\n\"\" ,\"\"\n\"3\"4,x\n\"5\"\"6\",x\n");
        assert_eq!(seen, [&b"1,2"[..], b"", b"\"3\"4", b"5\"\"6"]);
        assert!(refused.is_empty());
    }

    #[test]
    fn texts_of_other_countries_are_read_as_they_are_written() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for text in [
            b"b;a\nx;1,5\ny;2,25\n".to_vec(),
            b"sep=;\r\nb;a\r\nx;1,5\r\ny;2,25\r\n".to_vec(),
            b"b\ta\nx\t1.5\ny\t2.25\n".to_vec(),
            b"b|a\nx|$1.5\ny|\"2.25\"\n".to_vec(),
            b"b,a\nx,\"1,5\"\ny,2.25\n".to_vec(),
            utf16("\u{feff}b\ta\nx\t1,5\ny\t2,25\n"),
        ] {
            let mut seen = Vec::new();
            let report = read_rows(Path::new("x"), &text, &[required("a"), required("b")], |row| {
                seen.push((row.text(1)?.to_owned(), row.number(0, limits::PRICE)?));
                Ok(())
            });
            assert_eq!(seen, [("x".to_owned(), 1.5), ("y".to_owned(), 2.25)], "{text:?}");
            assert!(report.places.is_empty() && report.errors.is_empty());
        }
    }

    #[test]
    fn a_refused_field_is_shown_and_what_reads_it_is_told() {
        let report = read_rows(Path::new("x.csv"), b"a;b\n1,250;1/4/2024\n", &[required("a"), required("b")], |row| {
            row.date(1)?;
            row.number(0, limits::PRICE).map(|_| ())
        });
        let said = report.places[0].to_string();
        assert!(said.starts_with("x.csv:2: b: ambiguous_date: `1/4/2024`") && said.contains("--dates"), "{said}");
        let report = read_rows(Path::new("x.csv"), b"a;b\n1,250;x\n", &[required("a"), required("b")], |row| {
            row.number(0, limits::PRICE).map(|_| ())
        });
        let said = report.places[0].to_string();
        assert!(said.starts_with("x.csv:2: a: ambiguous_number: `1,250`") && said.contains("--decimal"), "{said}");
    }

    #[test]
    fn lines_end_in_three_ways_and_are_counted_alike() {
        for end in ["\n", "\r\n", "\r"] {
            let (seen, refused) = column(["a,b", "1,x", "", "2", "3,x"].join(end).as_bytes());
            assert_eq!((seen, refused), (vec![b"1".to_vec(), b"3".to_vec()], vec![(4, Reason::Missing)]), "{end:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_costs_its_row_alone_in_a_compressed_file_too() {
        let most = limits::LINE_BYTES.most as usize;
        let of = |n: usize| "y".repeat(n - 2);
        let text = format!("a,b\n1,{}\n2,{}\n3,{}\n4,x\n", of(most), of(most + 1), of(10 * most));
        let (bytes, error) = decompress(Path::new("x"), gzip(text.as_bytes()));
        assert!(error.is_none() && bytes.len() < 4 * most);
        for bytes in [text.as_bytes(), &bytes] {
            let (seen, refused) = column(bytes);
            assert_eq!(
                (seen, refused),
                (vec![b"1".to_vec(), b"4".to_vec()], vec![(3, Reason::TooLong), (4, Reason::TooLong)])
            );
        }
    }

    #[test]
    fn a_compressed_file_may_not_grow_without_bound() {
        let rows = "a,b\n".to_owned() + &"1,x\n".repeat(250_000);
        let (bytes, error) = decompress(Path::new("x"), gzip(rows.as_bytes()));
        assert!(error.is_none() && bytes == rows.as_bytes(), "a megabyte may come of anything");
        let (bytes, error) = decompress(Path::new("x"), gzip(rows.repeat(20).as_bytes()));
        assert!(bytes.is_empty() && matches!(error, Some(FeedError::TooLarge { .. })));
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_required_column_must_be_there() {
        let report = read_rows(Path::new("x.csv"), b"a\n1\n", &[required("a"), required("b")], |_| Ok(()));
        assert_eq!(report.errors[0].to_string(), "x.csv: no column `b`");
        assert_eq!(report.records, 0);
    }

    proptest! {
        #[test]
        fn every_piece_keeps_what_the_whole_keeps(cuts in proptest::collection::vec(0usize..200_000, 0..9)) {
            let text = format!("ab\n{}\n\nc\n{}", "z".repeat(150_000), "w".repeat(30_000));
            let (mut whole, mut pieces) = (LineBuffer::default(), LineBuffer::default());
            whole.extend(text.as_bytes());
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            cuts.windows(2).for_each(|cut| pieces.extend(&text.as_bytes()[cut[0]..cut[1]]));
            prop_assert_eq!(whole.bytes, pieces.bytes);
        }

        #[test]
        fn no_compressed_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), header in any::<bool>()) {
            // A member header with no options, then noise as its data.
            let start: &[u8] = if header { &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3] } else { &[0x1f, 0x8b] };
            let (out, error) = decompress(Path::new("x"), [start, &bytes].concat());
            prop_assert!(error.is_none() || out.is_empty() || out.ends_with(b"\n"));
        }
    }
}
