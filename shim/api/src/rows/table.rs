//! A short table of facts in every format, written whole. Rows of contracts go through [`super::template`] instead.
//! Never: the meaning of a fact.

use super::frame::{ColumnHead, Format, Heading};
use super::identity::push_date;
use super::number::{self, Print};
use jiff::civil::Date;
use kernel::contract::strike_of;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// No value: `null` in JSON, empty in CSV and HTML.
    Missing,
    /// A word, quoted in JSON.
    Word(String),
    /// A word of the program, without a character that a format escapes; quoted in JSON.
    Term(&'static str),
    /// A date, as a word.
    Date(Date),
    /// Several words: an array in JSON, with spaces between them elsewhere.
    Words(Vec<String>),
    /// Columns and why they are missing, written as words, `column:reason`.
    Reasons(Vec<(&'static str, &'static str)>),
    /// A count.
    Count(u64),
    /// A price in thousandths of a dollar, always with a decimal point; four decimals in tables.
    Milli(u32),
    /// `true` or `false`.
    Flag(bool),
    /// A number with up to six decimals, four in HTML; missing if it is not finite.
    Number(f64),
}

impl Fact {
    /// The value as a number; NaN: it is none.
    #[must_use]
    pub fn number(&self) -> f64 {
        match self {
            Self::Number(x) => *x,
            Self::Count(n) => *n as f64,
            Self::Milli(milli) => strike_of(*milli),
            Self::Missing | Self::Word(_) | Self::Term(_) | Self::Date(_) | Self::Words(_) => f64::NAN,
            Self::Reasons(_) | Self::Flag(_) => f64::NAN,
        }
    }

    /// Bytes held, about.
    pub(crate) fn bytes(&self) -> usize {
        let words = match self {
            Self::Word(word) => word.len(),
            Self::Words(words) => words.iter().map(|word| size_of::<String>() + word.len()).sum(),
            Self::Reasons(all) => size_of_val(all.as_slice()),
            _ => 0,
        };
        size_of::<Self>() + words
    }

    /// The value as words, with spaces between them; `None`: it has none.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Word(word) => Some(word.clone()),
            Self::Term(word) => Some((*word).to_owned()),
            Self::Date(date) => Some(date.to_string()),
            Self::Words(words) => Some(words.join(" ")),
            Self::Reasons(all) => Some(joined(all)),
            Self::Flag(flag) => Some(flag.to_string()),
            Self::Missing | Self::Number(_) | Self::Count(_) | Self::Milli(_) => None,
        }
    }
}

/// Writes rows in a format: JSON is an array of flat objects. Each row has a cell per column.
#[must_use]
pub fn write(format: Format, heading: &Heading, columns: &[ColumnHead<'_>], rows: &[Vec<Fact>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut lines = TableLines::begin(format, heading, columns, &mut out);
    rows.iter().for_each(|row| lines.push(columns, row, &mut out));
    lines.end(&mut out);
    out
}

/// Text before each cell of a row, made once for many rows.
#[derive(Clone, Debug, Default)]
pub struct CellLeads {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl CellLeads {
    /// Text before the cells of all columns of a row, in their order.
    #[must_use]
    pub fn new(format: Format, columns: &[ColumnHead<'_>]) -> Self {
        let mut all = Self::default();
        for (j, column) in columns.iter().enumerate() {
            push_lead(&mut all.text, format, column, j == 0);
            all.ends.push(all.text.len());
        }
        all
    }
}

/// Writes a table row by row.
#[derive(Clone, Debug)]
pub struct TableLines {
    format: Format,
    is_first: bool,
}

impl TableLines {
    /// Begins a table.
    #[must_use]
    pub fn begin(format: Format, heading: &Heading, columns: &[ColumnHead<'_>], out: &mut Vec<u8>) -> Self {
        let frame = format.frame();
        if frame.wrapped {
            out.push(b'[');
        }
        (frame.head)(out, heading, columns);
        Self::within(format)
    }

    /// Writes rows alone, without the text around all rows.
    #[must_use]
    pub const fn within(format: Format) -> Self {
        Self { format, is_first: true }
    }

    /// Appends a row with a cell per column.
    pub fn push(&mut self, columns: &[ColumnHead<'_>], row: &[Fact], out: &mut Vec<u8>) {
        self.open_row(out);
        self.push_cells(columns, row, true, out);
        self.close_row(out);
    }

    /// Appends a row with a cell per column, as [`Self::push`] does.
    pub fn push_led(&mut self, leads: &CellLeads, row: &[Fact], out: &mut Vec<u8>) {
        let mut cells = self.open_led(leads, out);
        row.iter().for_each(|fact| cells.push(fact));
        cells.close();
    }

    /// Begins a row, whose cells follow one by one.
    pub fn open_led<'a>(&mut self, leads: &'a CellLeads, out: &'a mut Vec<u8>) -> LedCells<'a> {
        self.open_row(out);
        LedCells { format: self.format, leads, n: 0, start: 0, out }
    }

    /// Appends rows that were written within another table.
    pub fn push_rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        let between = if self.is_first { "" } else { self.format.frame().row_between };
        self.is_first = false;
        out.extend_from_slice(between.as_bytes());
        out.extend_from_slice(rows);
    }

    /// Begins a row.
    pub fn open_row(&mut self, out: &mut Vec<u8>) {
        self.push_rows(self.format.frame().row_open.as_bytes(), out);
    }

    /// Appends cells; `is_first`: they begin their row.
    pub fn push_cells(&self, columns: &[ColumnHead<'_>], cells: &[Fact], is_first: bool, out: &mut Vec<u8>) {
        for (j, (column, fact)) in columns.iter().zip(cells).enumerate() {
            push_cell(out, self.format, column, fact, is_first && j == 0);
        }
    }

    /// Ends a row.
    pub fn close_row(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.format.frame().row_close.as_bytes());
    }

    /// Ends the table.
    pub fn end(&self, out: &mut Vec<u8>) {
        let frame = self.format.frame();
        if frame.wrapped {
            out.push(b']');
        }
        out.extend_from_slice(frame.foot.as_bytes());
    }
}

/// A row whose cells are appended one by one, in the order of its columns: numbers without a [`Fact`] for each.
pub struct LedCells<'a> {
    format: Format,
    leads: &'a CellLeads,
    /// Cells so far, and the end of the text before the last one.
    n: usize,
    start: usize,
    out: &'a mut Vec<u8>,
}

impl LedCells<'_> {
    /// Appends a cell.
    pub fn push(&mut self, fact: &Fact) {
        self.lead();
        push_value(self.out, self.format, fact);
        self.end_cell();
    }

    /// Appends a number; one that is not finite is missing.
    #[inline]
    pub fn number(&mut self, x: f64) {
        self.lead();
        push_number(self.out, self.format, x);
        self.end_cell();
    }

    /// Ends the row.
    pub fn close(self) {
        self.out.extend_from_slice(self.format.frame().row_close.as_bytes());
    }

    #[inline]
    fn lead(&mut self) {
        let end = self.leads.ends.get(self.n).copied().unwrap_or(self.start);
        self.out.extend_from_slice(&self.leads.text[self.start..end]);
        (self.n, self.start) = (self.n + 1, end);
    }

    #[inline]
    fn end_cell(&mut self) {
        self.out.extend_from_slice(self.format.frame().cell_close.as_bytes());
    }
}

/// Writes rows in JSON, column by column: `{"a":[…],"b":[…]}`.
#[must_use]
pub fn write_columns(columns: &[ColumnHead<'_>], rows: &[Vec<Fact>]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (j, column) in columns.iter().enumerate() {
        out.extend_from_slice(if j > 0 { b",\"" } else { b"\"" });
        out.extend_from_slice(column.name.as_bytes());
        out.extend_from_slice(b"\":");
        push_array(&mut out, rows.iter().filter_map(|row| row.get(j)));
    }
    out.push(b'}');
    out
}

/// Writes rows in JSON as arrays, `[[…],[…]]`; as bare values, `[…]`, if each row has one cell.
#[must_use]
pub fn write_arrays(rows: &[Vec<Fact>]) -> Vec<u8> {
    let mut out = Vec::new();
    if rows.iter().all(|row| row.len() == 1) {
        push_array(&mut out, rows.iter().flatten());
        return out;
    }
    out.push(b'[');
    for (i, row) in rows.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_array(&mut out, row);
    }
    out.push(b']');
    out
}

fn push_array<'a>(out: &mut Vec<u8>, facts: impl IntoIterator<Item = &'a Fact>) {
    out.push(b'[');
    for (i, fact) in facts.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_value(out, Format::Json, fact);
    }
    out.push(b']');
}

fn push_cell(out: &mut Vec<u8>, format: Format, column: &ColumnHead<'_>, fact: &Fact, is_first: bool) {
    push_lead(out, format, column, is_first);
    push_value(out, format, fact);
    out.extend_from_slice(format.frame().cell_close.as_bytes());
}

/// Appends what stands before the value of a cell.
fn push_lead(out: &mut Vec<u8>, format: Format, column: &ColumnHead<'_>, is_first: bool) {
    let frame = format.frame();
    let mut push = |text: &str| out.extend_from_slice(text.as_bytes());
    push(if is_first { "" } else { frame.cell_between });
    if frame.keys {
        push("\"");
        push(column.name);
        push("\":");
    }
    push(if column.is_number { frame.number_open } else { frame.text_open });
}

fn push_value(out: &mut Vec<u8>, format: Format, fact: &Fact) {
    let frame = format.frame();
    let mut push = |text: &str| out.extend_from_slice(text.as_bytes());
    match fact {
        Fact::Missing => push(frame.null),
        Fact::Word(word) => push_word(out, format, word),
        Fact::Term(word) => {
            push(frame.quote);
            push(word);
            push(frame.quote);
        }
        Fact::Date(date) => {
            push(frame.quote);
            push_date(out, *date);
            out.extend_from_slice(frame.quote.as_bytes());
        }
        Fact::Words(words) => push_words(out, format, words),
        Fact::Reasons(all) => push_reasons(out, format, all),
        Fact::Count(n) => push(&n.to_string()),
        Fact::Milli(milli) => push(&pointed(*milli, frame.tabular)),
        Fact::Flag(yes) => push(if *yes { "true" } else { "false" }),
        Fact::Number(x) => push_number(out, format, *x),
    }
}

#[inline]
fn push_number(out: &mut Vec<u8>, format: Format, x: f64) {
    let frame = format.frame();
    if x.is_finite() {
        number::push_as(out, x, frame.print.unwrap_or(Print::UpTo(6)));
    } else {
        out.extend_from_slice(frame.null.as_bytes());
    }
}

/// Thousandths with a decimal point: `100.0` and `102.5`, in tables `100.0000` and `102.5000`.
fn pointed(milli: u32, is_tabular: bool) -> String {
    let text = format!("{}.{:03}0", milli / 1000, milli % 1000);
    if is_tabular {
        return text;
    }
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

fn push_words(out: &mut Vec<u8>, format: Format, words: &[String]) {
    if !format.frame().keys {
        return push_word(out, format, &words.join(" "));
    }
    out.push(b'[');
    for (i, word) in words.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_word(out, format, word);
    }
    out.push(b']');
}

fn joined(reasons: &[(&str, &str)]) -> String {
    reasons.iter().map(|(column, why)| format!("{column}:{why}")).collect::<Vec<_>>().join(" ")
}

/// Columns and reasons are words of the program: none has a character that a format escapes.
fn push_reasons(out: &mut Vec<u8>, format: Format, reasons: &[(&str, &str)]) {
    let [open, between, close] = if format.frame().keys { ["[\"", "\",\"", "\"]"] } else { ["", " ", ""] };
    if reasons.is_empty() {
        return push_words(out, format, &[]);
    }
    for (i, (column, why)) in reasons.iter().enumerate() {
        for text in [if i > 0 { between } else { open }, column, ":", why] {
            out.extend_from_slice(text.as_bytes());
        }
    }
    out.extend_from_slice(close.as_bytes());
}

fn push_word(out: &mut Vec<u8>, format: Format, word: &str) {
    let frame = format.frame();
    out.extend_from_slice(frame.quote.as_bytes());
    (frame.escape)(out, word);
    out.extend_from_slice(frame.quote.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [ColumnHead<'static>; 3] = [
        ColumnHead { name: "a", is_number: false },
        ColumnHead { name: "b", is_number: false },
        ColumnHead { name: "c", is_number: true },
    ];

    #[test]
    fn rows_with_leads_are_the_same_rows() {
        let row = [
            Fact::Term("found"),
            Fact::Date(jiff::civil::date(2026, 1, 9)),
            Fact::Reasons(vec![("iv7d", "no_event"), ("rv20", "too_few_closes")]),
        ];
        for (format, wanted) in [
            (Format::Json, r#"{"a":"found","b":"2026-01-09","c":["iv7d:no_event","rv20:too_few_closes"]}"#),
            (Format::PointCsv, "found,2026-01-09,iv7d:no_event rv20:too_few_closes\r\n"),
            (
                Format::Html,
                "<tr><td class=w>found</td><td class=w>2026-01-09</td>\
                 <td>iv7d:no_event rv20:too_few_closes</td></tr>\n",
            ),
        ] {
            let (mut led, mut plain) = (Vec::new(), Vec::new());
            TableLines::within(format).push_led(&CellLeads::new(format, &COLUMNS), &row, &mut led);
            TableLines::within(format).push(&COLUMNS, &row, &mut plain);
            assert_eq!((String::from_utf8(led).unwrap().as_str(), plain), (wanted, wanted.as_bytes().to_vec()));
        }
        let words: Vec<String> = row.iter().filter_map(Fact::words).collect();
        assert_eq!(words.join(" "), "found 2026-01-09 iv7d:no_event rv20:too_few_closes");
    }

    fn written(format: Format) -> String {
        let words = |words: &[&str]| Fact::Words(words.iter().map(|&word| word.to_owned()).collect());
        let rows = [
            vec![Fact::Word("x\"<".to_owned()), words(&["P", "Q"]), Fact::Count(7)],
            vec![Fact::Flag(true), words(&[]), Fact::Missing],
        ];
        String::from_utf8(write(format, &Heading::default(), &COLUMNS, &rows)).unwrap()
    }

    #[test]
    fn each_format_has_the_same_facts() {
        assert_eq!(
            written(Format::Json),
            "[{\"a\":\"x\\\"<\",\"b\":[\"P\",\"Q\"],\"c\":7},\n{\"a\":true,\"b\":[],\"c\":null}]"
        );
        assert_eq!(
            written(Format::Ndjson),
            "{\"a\":\"x\\\"<\",\"b\":[\"P\",\"Q\"],\"c\":7}\n{\"a\":true,\"b\":[],\"c\":null}\n"
        );
        assert_eq!(written(Format::Csv), "a,b,c\r\n\"x\"\"<\",P Q,7\r\ntrue,,\r\n");
        let html = written(Format::Html);
        assert!(html.contains("<td class=w>x&quot;&lt;</td><td class=w>P Q</td><td>7</td></tr>"), "{html}");
        assert!(html.contains("<td class=w>true</td><td class=w></td><td></td></tr>"), "{html}");
    }

    #[test]
    fn json_goes_by_columns_or_as_arrays_too() {
        let rows = [vec![Fact::Word("A".to_owned()), Fact::Milli(102_500)], vec![Fact::Missing, Fact::Milli(100_000)]];
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(text(write_columns(&COLUMNS[..2], &rows)), r#"{"a":["A",null],"b":[102.5,100.0]}"#);
        assert_eq!(text(write_arrays(&rows)), r#"[["A",102.5],[null,100.0]]"#);
        assert_eq!(text(write_arrays(&[vec![Fact::Count(7)], vec![Fact::Count(8)]])), "[7,8]");
        assert_eq!(text(write_columns(&COLUMNS[..1], &[])), r#"{"a":[]}"#);
        let csv = write(Format::Csv, &Heading::default(), &COLUMNS[..2], &rows);
        assert_eq!(text(csv), "a,b\r\nA,102.5000\r\n,100.0000\r\n");
    }

    #[test]
    fn no_rows_are_an_empty_table() {
        let none = |format| String::from_utf8(write(format, &Heading::default(), &COLUMNS, &[])).unwrap();
        assert_eq!((none(Format::Json).as_str(), none(Format::Ndjson).as_str()), ("[]", ""));
        assert_eq!(none(Format::Csv), "a,b,c\r\n");
    }
}
