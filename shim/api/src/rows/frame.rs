//! Text around cells and rows in JSON, NDJSON, CSV and HTML, as data. A page of HTML has no script, asks for nothing,
//! is readable in light and in dark, and has one plain `<table>`, which spreadsheets import. Never: a column, a vendor.

use super::number::Print;

/// Heading of an answer, shown in formats that have one.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// Title: the request in words.
    pub title: String,
    /// Lines below the title.
    pub lines: Vec<String>,
}

/// The head of one column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnHead<'a> {
    /// Name of the column, with the names of objects around it.
    pub name: &'a str,
    /// True if every row shows a number there.
    pub is_number: bool,
}

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

/// The style sheet of every page.
const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#667085;--page:#fff;--head:#f3f5f8;--line:#e3e7ec;--hover:#eef4ff;--link:#0b57d0}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#98a2b3;--page:#14171a;--head:#1d2126;--line:#2b3138;--hover:#1f2a3a;--link:#8ab4f8}}
body{margin:0;background:var(--page);color:var(--ink);font:14px/1.5 system-ui,-apple-system,\"Segoe UI\",sans-serif}
header,main{padding:14px 18px}
h1{margin:0;font-size:18px;font-weight:600}
p{margin:2px 0;color:var(--soft)}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
table{border-collapse:separate;border-spacing:0;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{position:sticky;top:0;background:var(--head);font-weight:600}
th:first-child,td:first-child{padding-left:18px}
.w{text-align:left}
td.w{white-space:pre}
tbody tr:hover{background:var(--hover)}
";

/// Text after the last row.
const FOOT: &str = "</tbody></table>\n</body></html>\n";

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
    head: push_page_head,
    wrapped: false,
    nested: false,
    tabular: true,
    foot: FOOT,
    row_open: "<tr>",
    row_between: "",
    row_close: "</tr>\n",
    keys: false,
    text_open: "<td class=w>",
    number_open: "<td>",
    cell_between: "",
    cell_close: "</td>",
    quote: "",
    escape: escape_html,
    null: "",
    print: Some(Print::Fixed(4)),
};

/// Appends everything before the first row: page head, heading, header row.
fn push_page_head(out: &mut Vec<u8>, heading: &Heading, columns: &[ColumnHead<'_>]) {
    push_top(out, heading);
    out.extend_from_slice(b"<table>\n<thead><tr>");
    for column in columns {
        let open = if column.is_number { "<th>" } else { "<th class=w>" };
        out.extend_from_slice(open.as_bytes());
        escape_html(out, column.name);
        out.extend_from_slice(b"</th>");
    }
    out.extend_from_slice(b"</tr></thead>\n<tbody>\n");
}

/// Appends the page's head and its heading.
pub fn push_top(out: &mut Vec<u8>, heading: &Heading) {
    out.extend_from_slice(b"<!doctype html>\n<html lang=en><head><meta charset=utf-8>");
    out.extend_from_slice(b"<meta name=viewport content=\"width=device-width\"><title>");
    escape_html(out, &heading.title);
    out.extend_from_slice(b"</title>\n<style>\n");
    out.extend_from_slice(STYLE.as_bytes());
    out.extend_from_slice(b"</style></head>\n<body>\n<header><h1>");
    escape_html(out, &heading.title);
    out.extend_from_slice(b"</h1>\n");
    for line in &heading.lines {
        out.extend_from_slice(b"<p>");
        escape_html(out, line);
        out.extend_from_slice(b"</p>\n");
    }
    out.extend_from_slice(b"</header>\n");
}

/// Appends text with the escapes of HTML, for use between tags and in quoted attributes.
pub fn escape_html(out: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            _ => out.push(byte),
        }
    }
}

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
        assert_eq!(escaped(escape_html, "<b>&\"'é"), "&lt;b&gt;&amp;&quot;&#39;é");
        let text = "a\"b\\c\n\u{1}é<";
        let json: String = serde_json::from_str(&format!("\"{}\"", escaped(escape_json, text))).unwrap();
        assert_eq!(json, text);
    }
}
