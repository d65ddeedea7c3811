//! Reads the lines before the header of a quote table of Cboe, the CSV of its page of delayed quotes: name and price of
//! the underlying, and the time. Never: a row of the table.

use feeds::fields::{CsvFields, Lines};
use feeds::text::Dialect;

/// Begin of the header of such a table.
const HEADER: &[u8] = b"expiration date,calls,";
/// Number of lines among which the header is sought.
const LINES: usize = 6;
/// Words before the values of the lines above the header, and the names of the values in the layout.
const IN_ONE_FIELD: [(&str, &str); 4] =
    [("Date:", "quote_time"), ("Last:", "und_price"), ("Bid:", "und_bid"), ("Ask:", "und_ask")];
/// Words and names of old tables, where a word is a field of its own and its value the next field.
const IN_TWO_FIELDS: [(&str, &str); 2] = [("Bid", "und_bid"), ("Ask", "und_ask")];
/// Ends of the time, which are dropped: a time without a zone is Eastern.
const ZONES: [&str; 3] = [" EDT", " EST", " ET"];

/// Columns that have one value for all rows.
#[derive(Debug, Default)]
pub(super) struct QuoteTable {
    /// Number of lines before the header.
    pub(super) before: u64,
    /// Names of the columns.
    pub(super) names: Vec<String>,
    /// Values of the columns.
    pub(super) values: Vec<String>,
}

impl QuoteTable {
    /// The values before the header of a table that begins with `head`; none for any other text.
    pub(super) fn of(head: &[u8], dialect: Dialect) -> Self {
        let is_header = |line: &[u8]| line.get(..HEADER.len()).is_some_and(|l| l.eq_ignore_ascii_case(HEADER));
        let mut table = Self::default();
        let mut lines: Vec<&[u8]> = Vec::new();
        for (number, line) in Lines::after(0, head).take(LINES) {
            if is_header(line) {
                table.before = number - 1;
                break;
            }
            lines.push(line);
        }
        if table.before == 0 {
            return Self::default();
        }
        let mut fields = CsvFields::default();
        for line in lines {
            fields.split(line, dialect.separator);
            let texts: Vec<_> = fields.found().iter().map(|field| String::from_utf8_lossy(field)).collect();
            for (at, text) in texts.iter().enumerate() {
                let text = text.trim();
                let is_said = |(word, name)| Some((name, text.strip_prefix(word)?.trim()));
                let is_before =
                    |(word, name)| texts.get(at + 1).filter(|_| text == word).map(|next| (name, next.trim()));
                // `Aug 18 2017 @ 14:54 ET`
                let is_time = || Some(("quote_time", text)).filter(|_| text.contains(" @ "));
                let said = IN_ONE_FIELD
                    .into_iter()
                    .find_map(is_said)
                    .or_else(|| IN_TWO_FIELDS.into_iter().find_map(is_before));
                if let Some((name, value)) = said.or_else(is_time) {
                    table.names.push(name.to_owned());
                    let value = ZONES.iter().find_map(|zone| value.strip_suffix(zone)).unwrap_or(value);
                    table.values.push(value.replace(" at ", " ").replace(" @ ", " "));
                }
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_before_the_header_are_told_by_their_words() {
        let head = b"\nSYNTH INDEX,Last: 3900.86,Change: 87.36\n\
            \"Date: June 27, 2022 at 10:45 AM EDT\",Bid: 3896.34,Ask: 3905.69,Size: 1*1,Volume: 0\n\
            Expiration Date,Calls,Last Sale\nFri Jul 15 2022,SPX220715C00600000,1\n";
        let table = QuoteTable::of(head, Dialect::default());
        assert_eq!((table.before, table.names.join(" ").as_str()), (3, "und_price quote_time und_bid und_ask"));
        assert_eq!(table.values, ["3900.86", "June 27, 2022 10:45 AM", "3896.34", "3905.69"]);
        let head = b"SYNTH (SYNTH INDEX),2470.95,-5.54,\n\
            Aug 18 2017 @ 14:54 ET,Bid,2470.83,Ask,2471.19,Size,1x1,Vol,0,\n\
            Expiration Date,Calls,Last Sale\nAug 18 2017,SPX170818C01000000,1\n";
        let table = QuoteTable::of(head, Dialect::default());
        assert_eq!((table.before, table.names.join(" ").as_str()), (2, "quote_time und_bid und_ask"));
        assert_eq!(table.values, ["Aug 18 2017 14:54", "2470.83", "2471.19"]);
        for other in [&b"quote_time,strike\n1,2\n"[..], b"", b"Expiration Date,Calls,Bid\n"] {
            assert_eq!(QuoteTable::of(other, Dialect::default()).before, 0);
        }
    }
}
