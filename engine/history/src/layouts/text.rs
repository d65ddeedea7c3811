//! Rows of separated text, streamed: pieces of whole lines, whatever the length of the file. Never: a meaning of a
//! column.

use super::cells::{Cell, Cells};
use super::header::names;
use super::quote_table::QuoteTable;
use super::refusal::LayoutError;
use super::sink::Sink;
use feeds::fields::{CsvFields, HEAD, Lines, head};
use feeds::text::{Dialect, declared_separator};
use kernel::error::{FeedError, Reason, Refused};
use kernel::limits;
use kernel::report::Report;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// Bytes that are asked for at once.
const PIECE: usize = 1 << 18;

/// Reads every row of a text. What cannot be read behind some place is an error of the report, and so is an end in the
/// middle of a row.
///
/// # Errors
/// There is no header, or the sink does not know it.
pub(super) fn read<S: Sink>(
    file: &Path,
    from: impl Read,
    sink: &mut S,
    report: &mut Report,
) -> Result<(), LayoutError> {
    let mut pieces = Pieces::of(from);
    let options = sink.options();
    let (decimal, dates) = (options.decimal, options.dates);
    let head = pieces.head();
    let dialect = Dialect::of(head, decimal, dates);
    let QuoteTable { before, names: said, values } = QuoteTable::of(head, dialect);
    let (mut number, mut begun, mut columns, mut is_cut) = (0, false, 0, false);
    let name = Arc::new(file.to_path_buf());
    while let Some(piece) = pieces.next() {
        let mut lines = Lines::after(number, piece);
        let mut fields = CsvFields::default();
        for (line, text) in lines.by_ref() {
            if !begun && (line <= before || declared_separator(text).is_some()) {
                continue;
            }
            fields.split(text, dialect.separator);
            if !begun {
                begun = true;
                columns = fields.found().len();
                let header = names(fields.found().iter().copied()).into_iter().chain(said.iter().cloned());
                sink.header(file, &header.collect::<Vec<_>>())?;
                continue;
            }
            report.records += 1;
            let row = TextRow { fields: &fields, columns, said: &values, dialect };
            if let Err((field, reason)) = sink.row(&row) {
                let value = sink.value(&row, field);
                report.refuse(Refused { file: Arc::clone(&name), line, field, reason, value });
            }
        }
        number = lines.number();
        // only the last line may lack its end; where it lacks columns too, the rest of the file is missing
        is_cut = !piece.ends_with(b"\n") && !piece.ends_with(b"\r") && fields.found().len() < columns;
    }
    let error = pieces.error.or(is_cut.then_some(ErrorKind::UnexpectedEof));
    match error {
        Some(kind) if !begun => Err(LayoutError::Unreadable(FeedError::Io { file: file.to_path_buf(), kind })),
        Some(kind) => {
            report.errors.push(FeedError::Io { file: file.to_path_buf(), kind });
            Ok(())
        }
        None if !begun => Err(LayoutError::Empty { file: file.to_path_buf() }),
        None => Ok(()),
    }
}

struct TextRow<'a> {
    fields: &'a CsvFields<'a>,
    columns: usize,
    /// Values before the header that hold for all rows, as further columns.
    said: &'a [String],
    dialect: Dialect,
}

impl Cells for TextRow<'_> {
    fn cell(&self, at: usize) -> Result<Cell<'_>, Reason> {
        let said = at.checked_sub(self.columns).and_then(|at| self.said.get(at));
        Cell::of_text(said.map_or_else(|| self.fields.get(at), |text| Ok(text.as_bytes()))?)
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// A text in pieces that end where a line does.
pub(super) struct Pieces<R> {
    from: R,
    held: Vec<u8>,
    /// Number of held bytes that were consumed.
    given: usize,
    ended: bool,
    /// The error that ended the text too early.
    pub(super) error: Option<ErrorKind>,
}

impl<R: Read> Pieces<R> {
    pub(super) fn of(from: R) -> Self {
        Self { from, held: Vec::new(), given: 0, ended: false, error: None }
    }

    /// The whole lines at the beginning that show how the text is written; they are handed out all the same.
    pub(super) fn head(&mut self) -> &[u8] {
        while !self.ended && self.held.len() < HEAD {
            self.fill();
        }
        head(&self.held)
    }

    /// Holds more of the text, or notes that there is no more.
    fn fill(&mut self) {
        let before = self.held.len();
        self.held.resize(before + PIECE, 0);
        let n = match self.from.read(&mut self.held[before..]) {
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {
                self.held.truncate(before);
                return;
            }
            Err(e) => {
                self.error = Some(e.kind());
                0
            }
        };
        self.held.truncate(before + n);
        self.ended = n == 0;
    }

    /// The next whole lines, some; `None`: that was all. The last line may lack its end, but not where an error ends
    /// the text. Of a line that is too long, as much is held as shows it.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        self.held.drain(..self.given);
        self.given = 0;
        let mut searched = 0;
        loop {
            // a carriage return at the very end may be half of a line end
            let whole = self.held.len() - usize::from(!self.ended && self.held.ends_with(b"\r"));
            let end = self.held[searched.min(whole)..whole].iter().rposition(|b| matches!(b, b'\n' | b'\r'));
            if let Some(end) = end {
                self.given = searched + end + 1;
                return Some(&self.held[..self.given]);
            }
            if whole == self.held.len() {
                self.held.truncate(whole.min(limits::LINE_BYTES.most as usize + 2));
            }
            searched = self.held.len().saturating_sub(1);
            if self.ended {
                break;
            }
            self.fill();
        }
        if self.error.is_some() || self.held.is_empty() {
            return None;
        }
        self.given = self.held.len();
        Some(&self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layouts::ReadOptions;
    use proptest::prelude::*;

    /// A sink that accepts every row.
    struct Any(ReadOptions);

    impl Sink for Any {
        fn header(&mut self, _: &Path, _: &[String]) -> Result<(), LayoutError> {
            Ok(())
        }

        fn places(&self) -> Vec<usize> {
            Vec::new()
        }

        fn row<C: Cells>(&mut self, _: &C) -> Result<(), crate::layouts::cells::Fault> {
            Ok(())
        }

        fn options(&self) -> &ReadOptions {
            &self.0
        }

        fn place_of(&self, _: &str) -> Option<usize> {
            None
        }
    }

    #[test]
    fn an_end_in_the_middle_of_a_row_is_damage() {
        for (text, errors) in
            [("a,b,c\n1,2,3\n", 0), ("a,b,c\n1,2,3", 0), ("a,b,c\n1,2,3\n4,5", 1), ("a,b,c\n1,2\n", 0)]
        {
            let mut report = Report::default();
            read(Path::new("a.csv"), text.as_bytes(), &mut Any(ReadOptions::default()), &mut report).unwrap();
            assert_eq!(report.errors.len(), errors, "{text:?}");
        }
    }

    /// A reader that returns at most so many bytes at a time, and fails at the end if requested.
    struct Drops<'a> {
        rest: &'a [u8],
        most: usize,
        fails: bool,
    }

    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = self.rest.len().min(self.most).min(into.len());
            if n == 0 && self.fails {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            into[..n].copy_from_slice(&self.rest[..n]);
            self.rest = &self.rest[n..];
            Ok(n)
        }
    }

    fn lines(text: &[u8], most: usize, fails: bool, peeks: bool) -> Vec<(u64, Vec<u8>)> {
        let mut pieces = Pieces::of(Drops { rest: text, most, fails });
        if peeks {
            pieces.head();
        }
        let (mut number, mut out) = (0, Vec::new());
        while let Some(piece) = pieces.next() {
            let mut lines = Lines::after(number, piece);
            out.extend(lines.by_ref().map(|(line, text)| (line, text.to_vec())));
            number = lines.number();
        }
        assert_eq!(pieces.error.is_some(), fails);
        out
    }

    #[test]
    fn an_error_costs_the_line_that_it_cuts() {
        let got = lines(b"a\nb\nc", 2, true, false);
        assert_eq!(got, [(1, b"a".to_vec()), (2, b"b".to_vec())]);
        assert_eq!(lines(b"a\nb\nc", 2, false, true).len(), 3);
    }

    #[test]
    fn a_line_without_end_is_not_held() {
        let long = vec![b'x'; 3 << 20];
        let text = [b"a\n", &long[..], b"\nb\n"].concat();
        let mut pieces = Pieces::of(&text[..]);
        let mut most = 0;
        let mut seen = Vec::new();
        while let Some(piece) = pieces.next() {
            seen.extend(Lines::after(0, piece).map(|(_, line)| line.len()));
            most = most.max(pieces.held.capacity());
        }
        assert_eq!((seen.len(), seen[0], seen[2]), (3, 1, 1));
        assert!(!limits::LINE_BYTES.holds(seen[1] as f64) && most < 1 << 20, "{} {most}", seen[1]);
    }

    proptest! {
        #[test]
        fn lines_are_the_same_whatever_the_pieces(text in "[ab\r\n]{0,60}", most in 1usize..70, peeks in any::<bool>()) {
            let whole: Vec<(u64, Vec<u8>)> =
                Lines::after(0, text.as_bytes()).map(|(line, text)| (line, text.to_vec())).collect();
            prop_assert_eq!(lines(text.as_bytes(), most, false, peeks), whole);
        }
    }
}
