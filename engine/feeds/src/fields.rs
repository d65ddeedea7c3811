//! Splits a delimited text into lines, and a line into fields, with any delimiter. Never: the meaning of a field.

use kernel::error::Reason;
use kernel::limits;

/// As many bytes of a text show how it is written.
pub const HEAD: usize = 1 << 18;

/// The whole lines at the beginning of a text that show how it is written.
#[must_use]
pub fn head(text: &[u8]) -> &[u8] {
    let Some(head) = text.get(..HEAD) else { return text };
    let end = head.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(head.len());
    head.get(..end).unwrap_or(head)
}

/// The fields of a line.
#[derive(Debug, Default)]
pub struct CsvFields<'a> {
    /// The fields before the end of the line, or before a quotation mark that opens and does not close.
    found: Vec<&'a [u8]>,
    /// Why there are no more.
    end: Option<Reason>,
}

/// The lines of a text that are not empty, with their numbers from 1. `\n`, `\r\n` and `\r` end a line.
#[derive(Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    number: u64,
}

impl<'a> Lines<'a> {
    /// The lines of a piece of a text that `number` lines stand before. A piece ends where a line does.
    #[must_use]
    pub fn after(number: u64, piece: &'a [u8]) -> Self {
        Self { rest: piece, number }
    }

    /// The number of the last line so far, empty ones too.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            self.number += 1;
            // a lone carriage return ends a line too: old exports have no newline at all
            let end = self.rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(self.rest.len());
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
            if !line.is_empty() {
                return Some((self.number, line));
            }
        }
        None
    }
}

impl<'a> CsvFields<'a> {
    /// A field without blanks around it, by its place from 0.
    ///
    /// # Errors
    /// The line ends before the field, is too long, or has an open quotation mark before it.
    pub fn get(&self, at: usize) -> Result<&'a [u8], Reason> {
        let field = self.found.get(at).map(|field| field.trim_ascii());
        // a row that was cut short blames the cut, not each missing field
        field.ok_or(self.end.unwrap_or(Reason::Missing))
    }

    /// The fields of the line, as they stand in it.
    #[must_use]
    pub fn found(&self) -> &[&'a [u8]] {
        &self.found
    }

    /// Splits a line, and forgets the one before. A field that begins with a quotation mark ends at the next lone one;
    /// a pair of marks within it stays a pair, which only names of accounts may have. With anything between that mark
    /// and the separator the field is what stands there, marks included.
    pub fn split(&mut self, line: &'a [u8], separator: u8) {
        self.found.clear();
        self.end = None;
        // a file without line ends must not become one field of its whole length
        if !limits::LINE_BYTES.holds(line.len() as f64) {
            self.end = Some(Reason::TooLong);
            return;
        }
        let mut rest = line;
        loop {
            let (field, after) = match rest.strip_prefix(b"\"") {
                None => rest.split_at(end_of_field(rest, separator)),
                Some(quoted) => {
                    let Some(close) = closing_mark(quoted) else {
                        self.end = Some(Reason::OpenQuote);
                        return;
                    };
                    let (field, after) = quoted.split_at(close);
                    let after = after.get(1..).unwrap_or_default();
                    let (between, after) = after.split_at(end_of_field(after, separator));
                    // text behind a closing quote means that the quote was no quoting: the field is taken as it stands
                    let is_alone = between.trim_ascii().is_empty();
                    (if is_alone { field } else { &rest[..rest.len() - after.len()] }, after)
                }
            };
            self.found.push(field);
            // what is left begins with the separator, or is nothing
            match after.split_first() {
                Some((_, next)) => rest = next,
                None => return,
            }
        }
    }
}

/// Where the next separator stands, or where the line ends.
fn end_of_field(bytes: &[u8], separator: u8) -> usize {
    bytes.iter().position(|&b| b == separator).unwrap_or(bytes.len())
}

/// Where the quotation mark stands that closes a field: the first that is not one of a pair.
fn closing_mark(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|&b| b == b'"')?;
        // a doubled quote stands for one inside the field
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}
