//! Rows of separated text, streamed: pieces of whole lines, whatever the length of the file. Never: a meaning of a
//! column.

use super::cells::{Cell, Cells};
use super::header::names;
use super::refusal::LayoutError;
use super::sink::Sink;
use feeds::csv::{CsvFields, Lines};
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
    let (mut number, mut begun, mut columns, mut is_cut) = (0, false, 0, false);
    let name = Arc::new(file.to_path_buf());
    while let Some(piece) = pieces.next() {
        let mut lines = Lines::after(number, piece);
        let mut fields = CsvFields::default();
        for (line, text) in lines.by_ref() {
            fields.split(text);
            if !begun {
                begun = true;
                columns = fields.found().len();
                sink.header(file, &names(fields.found().iter().copied()))?;
                continue;
            }
            report.records += 1;
            if let Err((field, reason)) = sink.row(&TextRow(&fields)) {
                let value = sink.place(field).and_then(|at| fields.get(at).ok()).map(Refused::shown);
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

struct TextRow<'a>(&'a CsvFields<'a>);

impl Cells for TextRow<'_> {
    fn cell(&self, at: usize) -> Result<Cell<'_>, Reason> {
        Cell::of_text(self.0.get(at)?)
    }
}

/// A text in pieces that end where a line does.
pub(super) struct Pieces<R> {
    from: R,
    held: Vec<u8>,
    /// How much of what is held was handed out.
    given: usize,
    ended: bool,
    /// What ended it too early.
    pub(super) error: Option<ErrorKind>,
}

impl<R: Read> Pieces<R> {
    pub(super) fn of(from: R) -> Self {
        Self { from, held: Vec::new(), given: 0, ended: false, error: None }
    }

    /// The next whole lines, some; `None`: that was all. The last line may lack its end, but not where an error ends
    /// the text. Of a line that is too long, as much is held as shows it.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        self.held.drain(..self.given);
        self.given = 0;
        while !self.ended {
            let before = self.held.len();
            self.held.resize(before + PIECE, 0);
            let n = match self.from.read(&mut self.held[before..]) {
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {
                    self.held.truncate(before);
                    continue;
                }
                Err(e) => {
                    self.error = Some(e.kind());
                    0
                }
            };
            self.held.truncate(before + n);
            self.ended = n == 0;
            // a carriage return at the very end may be half of a line end
            let whole = self.held.len() - usize::from(!self.ended && self.held.ends_with(b"\r"));
            let searched = before.saturating_sub(1);
            let end = self.held[searched..whole].iter().rposition(|b| matches!(b, b'\n' | b'\r'));
            if let Some(end) = end {
                self.given = searched + end + 1;
                return Some(&self.held[..self.given]);
            }
            if whole == self.held.len() {
                self.held.truncate(whole.min(limits::LINE_BYTES.most as usize + 2));
            }
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
    use proptest::prelude::*;

    /// Takes every row as it is.
    struct Any;

    impl Sink for Any {
        fn header(&mut self, _: &Path, _: &[String]) -> Result<(), LayoutError> {
            Ok(())
        }

        fn places(&self) -> Vec<usize> {
            Vec::new()
        }

        fn place(&self, _: &str) -> Option<usize> {
            None
        }

        fn row<C: Cells>(&mut self, _: &C) -> Result<(), crate::layouts::cells::Fault> {
            Ok(())
        }
    }

    #[test]
    fn an_end_in_the_middle_of_a_row_is_damage() {
        for (text, errors) in
            [("a,b,c\n1,2,3\n", 0), ("a,b,c\n1,2,3", 0), ("a,b,c\n1,2,3\n4,5", 1), ("a,b,c\n1,2\n", 0)]
        {
            let mut report = Report::default();
            read(Path::new("a.csv"), text.as_bytes(), &mut Any, &mut report).unwrap();
            assert_eq!(report.errors.len(), errors, "{text:?}");
        }
    }

    /// Hands out at most so many bytes at a time, and fails at the end if requested.
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

    fn lines(text: &[u8], most: usize, fails: bool) -> Vec<(u64, Vec<u8>)> {
        let mut pieces = Pieces::of(Drops { rest: text, most, fails });
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
        let got = lines(b"a\nb\nc", 2, true);
        assert_eq!(got, [(1, b"a".to_vec()), (2, b"b".to_vec())]);
        assert_eq!(lines(b"a\nb\nc", 2, false).len(), 3);
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
        fn lines_are_the_same_whatever_the_pieces(text in "[ab\r\n]{0,60}", most in 1usize..70) {
            let whole: Vec<(u64, Vec<u8>)> =
                Lines::after(0, text.as_bytes()).map(|(line, text)| (line, text.to_vec())).collect();
            prop_assert_eq!(lines(text.as_bytes(), most, false), whole);
        }
    }
}
