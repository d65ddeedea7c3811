//! Lines of the file: turns a record into a contract, and values into text. Never: the meaning of a value.

use engine::explicit::{ParameterCell, ParameterColumns};
use feeds::text::numbers::parse_number;
use feeds::text::{Decimal, Dialect};
use kernel::quality::Quality;
use std::borrow::Cow;

/// Columns and dialect of the file.
#[derive(Debug)]
pub(super) struct Layout(ParameterColumns, Dialect);

/// One line of output.
#[derive(Debug)]
pub(super) struct OutputLine {
    pub(super) text: Vec<u8>,
    pub(super) failed: bool,
    /// Numbers that are probably in another unit.
    pub(super) doubts: Vec<String>,
}

impl Layout {
    /// Reads the header.
    pub(super) fn new(header: &csv::ByteRecord, dialect: Dialect) -> Result<Self, String> {
        let place = |name: &str| {
            header
                .iter()
                .position(|cell| cell.trim_ascii().trim_start_with_mark().eq_ignore_ascii_case(name.as_bytes()))
        };
        ParameterColumns::new(place).map(|columns| Self(columns, dialect))
    }

    /// The header of the output.
    pub(super) fn header(&self) -> String {
        let inputs = self.0.inputs().iter().map(|&(name, _)| name);
        let implied = self.0.is_implied().then_some("iv");
        let values = self.0.values().map(|value| value.name);
        let names: Vec<&str> = inputs.chain(implied).chain(values).chain(["error"]).collect();
        names.join(",") + "\n"
    }

    /// Prices one record.
    pub(super) fn line(&self, record: &csv::ByteRecord, scheme: Quality) -> OutputLine {
        let columns = &self.0;
        let decimal = self.1.decimal;
        let cell = |at: usize| {
            let text = String::from_utf8_lossy(record.get(at).unwrap_or_default().trim_ascii());
            // only numbers with commas are parsed here: others stay text, which an error can quote
            let is_local = text.contains(',') || decimal == Some(Decimal::Comma);
            let number = if is_local { parse_number(&text, decimal).ok() } else { None };
            number.map_or(ParameterCell::Text(text), ParameterCell::Number)
        };
        let contract = columns.contract(cell);
        let doubts = contract.iter().flat_map(|contract| contract.doubts()).collect();
        let outcome = contract.and_then(|contract| columns.value(&contract, scheme));
        let mut text = Vec::with_capacity(640);
        for &(_, place) in columns.inputs() {
            write_cell(record.get(place).unwrap_or_default(), &mut text);
            text.push(b',');
        }
        match &outcome {
            Ok(priced) => {
                if columns.is_implied() {
                    write_number(priced.sigma, &mut text);
                }
                for value in columns.values() {
                    write_number(value.number(priced), &mut text);
                }
            }
            Err(_) => text.extend((0..columns.values().count() + usize::from(columns.is_implied())).map(|_| b',')),
        }
        write_cell(outcome.as_ref().err().map_or("", String::as_str).as_bytes(), &mut text);
        text.push(b'\n');
        OutputLine { text, failed: outcome.is_err(), doubts }
    }
}

trait ByteOrderMark {
    fn trim_start_with_mark(&self) -> &Self;
}

impl ByteOrderMark for [u8] {
    /// Removes the byte order mark, with which spreadsheets begin a file.
    fn trim_start_with_mark(&self) -> &Self {
        self.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self)
    }
}

/// Writes the shortest text that reads back as the same double, and a comma.
fn write_number(x: f64, out: &mut Vec<u8>) {
    if x.is_finite() {
        // adding 0 turns -0 into 0
        out.extend_from_slice(ryu::Buffer::new().format_finite(x + 0.0).as_bytes());
    }
    out.push(b',');
}

/// Writes a cell, quoted where CSV needs it.
fn write_cell(cell: &[u8], out: &mut Vec<u8>) {
    let plain = !cell.iter().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n'));
    let cell: Cow<'_, [u8]> = if plain {
        Cow::Borrowed(cell)
    } else {
        let doubled = cell.iter().flat_map(|&b| std::iter::repeat_n(b, if b == b'"' { 2 } else { 1 }));
        Cow::Owned([b'"'].into_iter().chain(doubled).chain([b'"']).collect())
    };
    out.extend_from_slice(&cell);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_whatever_a_spreadsheet_made_of_it() {
        let header =
            |text: &str| Layout::new(&text.split(',').collect::<Vec<_>>().into(), Dialect::default()).unwrap().header();
        let given = header("\u{feff}K, S ,right,style,extra,b,r,t_years,price");
        assert!(given.starts_with("style,right,s,k,t_years,r,b,price,iv,delta,"), "{given}");
        assert!(header("id,style,right,s,k,t_years,r,b,sigma,divs").ends_with(",d1,d2,fwd,error\n"));
    }

    #[test]
    fn numbers_read_back_and_cells_are_quoted_where_needed() {
        let mut out = Vec::new();
        for x in [0.1, -0.0, 1e-300, 123_456_789.123, f64::NAN] {
            write_number(x, &mut out);
        }
        write_cell(b"a \"b\", c", &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "0.1,0.0,1e-300,123456789.123,,\"a \"\"b\"\", c\"");
    }
}
