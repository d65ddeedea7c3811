//! Text around cells and rows in JSON, NDJSON, CSV and HTML, as data. Never: a column, a vendor.

use super::heading::{ColumnHead, Heading};
use super::number::Print;
use super::page;

/// The formats that a request can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// An array of objects, or what a layer wraps around them.
    #[default]
    Json,
    /// A header row, then rows.
    Csv,
    /// CSV with a decimal point in every number that is no count, for readers that infer integers from the first values
    /// of a column and fail on the others.
    PointCsv,
    /// NDJSON: one object per line.
    Ndjson,
    /// One page with one table.
    Html,
}

impl Format {
    /// The words of the interface.
    pub const WORDS: &'static [(&'static str, Self)] =
        &[("json", Self::Json), ("csv", Self::Csv), ("ndjson", Self::Ndjson), ("html", Self::Html)];
    /// The words of the native interface.
    pub const NATIVE_WORDS: &'static [(&'static str, Self)] =
        &[("json", Self::Json), ("csv", Self::PointCsv), ("ndjson", Self::Ndjson), ("html", Self::Html)];

    /// The frame of the format.
    #[must_use]
    pub const fn frame(self) -> &'static Frame {
        match self {
            Self::Json => &JSON,
            Self::Csv => &CSV,
            Self::PointCsv => &POINT_CSV,
            Self::Ndjson => &NDJSON,
            Self::Html => &HTML,
        }
    }
}

/// Text around cells and rows in one format.
#[derive(Debug)]
pub struct Frame {
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// Writes the text before the first row.
    pub head: fn(&mut Vec<u8>, &Heading, &[ColumnHead<'_>]),
    /// True if the layer's own text stands around the rows, instead of `[` and `]`.
    pub wrapped: bool,
    /// True if objects nest in a row.
    pub nested: bool,
    /// True if people see a table: strikes then have the decimals of tables.
    pub tabular: bool,
    /// Text after the last row.
    pub foot: &'static str,
    /// Text before a row.
    pub row_open: &'static str,
    /// Text between two rows.
    pub row_between: &'static str,
    /// Text after a row.
    pub row_close: &'static str,
    /// True if each cell repeats the column's name as a key.
    pub keys: bool,
    /// Text before a cell of words.
    pub text_open: &'static str,
    /// Text before a cell of numbers.
    pub number_open: &'static str,
    /// Text between two cells.
    pub cell_between: &'static str,
    /// Text after a cell.
    pub cell_close: &'static str,
    /// Quote around words, and around numbers that a layer prints as words.
    pub quote: &'static str,
    /// Appends words with escapes.
    pub escape: fn(&mut Vec<u8>, &str),
    /// Text of a missing value.
    pub null: &'static str,
    /// Number format of this frame, which overrides the column's; `None`: the column's.
    pub print: Option<Print>,
}

/// JSON: objects, in the text that the layer puts around them.
pub static JSON: Frame = Frame {
    content_type: "application/json",
    head: |_, _, _| {},
    wrapped: true,
    nested: true,
    tabular: false,
    foot: "",
    row_open: "{",
    row_between: ",\n",
    row_close: "}",
    keys: true,
    text_open: "",
    number_open: "",
    cell_between: ",",
    cell_close: "",
    quote: "\"",
    escape: escape_json,
    null: "null",
    print: None,
};

/// JSON: bare arrays of values, in the text that the layer puts around them.
pub static ARRAYS: Frame = Frame { row_open: "[", row_close: "]", keys: false, ..JSON };

/// One object per line.
pub static NDJSON: Frame = Frame {
    content_type: "application/x-ndjson; charset=utf-8",
    wrapped: false,
    nested: false,
    row_between: "",
    row_close: "}\n",
    ..JSON
};

/// JSON: bare values of one column, for answers that go column by column.
pub static VALUES: Frame = Frame { wrapped: false, keys: false, row_open: "", row_between: ",", row_close: "", ..JSON };

/// CSV (RFC 4180): always a header row, CRLF after every line, quotes only where needed.
pub static CSV: Frame = Frame {
    content_type: "text/csv; charset=utf-8",
    head: push_csv_header,
    wrapped: false,
    nested: false,
    tabular: true,
    foot: "",
    row_open: "",
    row_between: "",
    row_close: "\r\n",
    keys: false,
    text_open: "",
    number_open: "",
    cell_between: ",",
    cell_close: "",
    quote: "",
    escape: escape_csv,
    null: "",
    print: None,
};

/// CSV with a decimal point in every number that is no count.
pub static POINT_CSV: Frame = Frame { print: Some(Print::Point(6)), ..CSV };

/// HTML: one complete page with one plain table, which spreadsheets import, too.
pub static HTML: Frame = Frame {
    content_type: "text/html; charset=utf-8",
    head: page::push_head,
    wrapped: false,
    nested: false,
    tabular: true,
    foot: page::FOOT,
    row_open: "<tr>",
    row_between: "",
    row_close: "</tr>\n",
    keys: false,
    text_open: "<td class=w>",
    number_open: "<td>",
    cell_between: "",
    cell_close: "</td>",
    quote: "",
    escape: page::escape,
    null: "",
    print: Some(Print::Fixed(4)),
};

fn push_csv_header(out: &mut Vec<u8>, _: &Heading, columns: &[ColumnHead<'_>]) {
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        escape_csv(out, column.name);
    }
    out.extend_from_slice(b"\r\n");
}

fn escape_csv(out: &mut Vec<u8>, text: &str) {
    if !text.contains([',', '"', '\r', '\n']) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Text as a JSON string, quotes included.
#[must_use]
pub fn json_text(text: &str) -> String {
    let mut out = vec![b'"'];
    escape_json(&mut out, text);
    out.push(b'"');
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends text as the inside of a JSON string.
pub fn escape_json(out: &mut Vec<u8>, text: &str) {
    for char in text.chars() {
        match char {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\0'..='\x1f' => out.extend_from_slice(format!("\\u{:04x}", u32::from(char)).as_bytes()),
            _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(escape: fn(&mut Vec<u8>, &str), text: &str) -> String {
        let mut out = Vec::new();
        escape(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_format_spells_words_so_that_they_mean_themselves() {
        assert_eq!(escaped(escape_csv, "core"), "core");
        assert_eq!(escaped(escape_csv, "ACME  261218C00100000"), "ACME  261218C00100000");
        assert_eq!(escaped(escape_csv, "core,chain"), "\"core,chain\"");
        assert_eq!(escaped(escape_csv, "a \"b\"\r\n"), "\"a \"\"b\"\"\r\n\"");
        assert_eq!(escaped(page::escape, "<b>&\"'é"), "&lt;b&gt;&amp;&quot;&#39;é");
        let text = "a\"b\\c\n\u{1}é<";
        let json: String = serde_json::from_str(&format!("\"{}\"", escaped(escape_json, text))).unwrap();
        assert_eq!(json, text);
    }
}
