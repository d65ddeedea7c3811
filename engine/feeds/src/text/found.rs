//! Finds separator, decimal mark and order of dates from the first rows of a text. Never: a value of a row.

use super::dates::order_of;
use super::dialect::{DateOrder, Decimal, Dialect};
use super::numbers::decimal_of;
use crate::fields::{CsvFields, Lines};

/// Bytes that may stand between fields; of two that are equally frequent in the header the first counts.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

impl Dialect {
    /// Finds the dialect of a text from its first lines `head`. The user's options override the text.
    #[must_use]
    pub fn of(head: &[u8], decimal: Option<Decimal>, dates: Option<DateOrder>) -> Self {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let mut lines = Lines::after(0, head).map(|(_, line)| line).peekable();
        let declared = lines.next_if(|line| declared_separator(line).is_some()).and_then(declared_separator);
        let Some(header) = lines.next() else { return Self { decimal, dates, ..Self::default() } };
        let separator = declared.unwrap_or_else(|| separator_of(header));
        let (mut decimals, mut orders) = (Seen::default(), Seen::default());
        let mut fields = CsvFields::default();
        for line in lines {
            fields.split(line, separator);
            // a field without such a mark shows neither decimal mark nor order
            let tells = |field: &&&[u8]| field.iter().any(|b| matches!(b, b'.' | b',' | b'/' | b'-'));
            for field in fields.found().iter().filter(tells).filter_map(|field| core::str::from_utf8(field).ok()) {
                decimals.note(decimal_of(field.trim()));
                orders.note(order_of(field.trim()));
            }
        }
        Self { separator, decimal: decimal.or(decimals.only()), dates: dates.or(orders.only()) }
    }
}

/// The separator that a line declares by itself (`sep=;`), as spreadsheets do before the header.
#[must_use]
pub fn declared_separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii_end();
    let (word, rest) = line.split_at_checked(4)?;
    let &[separator] = rest else { return None };
    word.eq_ignore_ascii_case(b"sep=").then_some(separator)
}

/// Returns the separator of a header: the most frequent one outside of quotation marks.
fn separator_of(header: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [0usize; SEPARATORS.len()];
    for &byte in header {
        quoted ^= byte == b'"';
        if let Some(at) = SEPARATORS.iter().position(|&separator| separator == byte && !quoted) {
            counts[at] = counts[at].saturating_add(1);
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    SEPARATORS.into_iter().zip(counts).find(|&(_, count)| count == most).map_or(b',', |(separator, _)| separator)
}

/// Evidence in the values of a text so far.
#[derive(Debug, Default)]
enum Seen<T> {
    #[default]
    Nothing,
    Only(T),
    /// Both: no value decides for others.
    Both,
}

impl<T: Copy + PartialEq> Seen<T> {
    fn note(&mut self, shown: Option<T>) {
        match (&*self, shown) {
            (_, None) | (Self::Both, _) => {}
            (Self::Nothing, Some(shown)) => *self = Self::Only(shown),
            (Self::Only(seen), Some(shown)) if *seen == shown => {}
            (Self::Only(_), Some(_)) => *self = Self::Both,
        }
    }

    fn only(&self) -> Option<T> {
        if let Self::Only(seen) = self { Some(*seen) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Dialect {
        Dialect::of(text.as_bytes(), None, None)
    }

    #[test]
    fn the_header_shows_what_separates_fields() {
        for (text, separator) in [
            ("a,b,c\n", b','),
            ("a;b;c\n", b';'),
            ("\u{feff}a\tb\n", b'\t'),
            ("a|b|c", b'|'),
            ("\"a,b,c\";\"d\"\n", b';'),
            ("sep=;\nstrike\n", b';'),
            ("strike\n", b','),
            ("", b','),
        ] {
            assert_eq!(of(text).separator, separator, "{text:?}");
        }
    }

    #[test]
    fn rows_show_the_decimal_mark_unless_they_differ() {
        for (text, decimal) in [
            ("a;b\n5,29;63\n", Some(Decimal::Comma)),
            ("a;b\n5.29;63\n", Some(Decimal::Point)),
            ("a;b\n5.29;6,3\n", None),
            ("a;b\n1,234;63\n", None),
            ("a,b\n\"1,234.50\",63\n", Some(Decimal::Point)),
            ("a;b\n1.234.567;x\n", Some(Decimal::Comma)),
            ("a;b\n04.01.2024;16.02.24\n", None),
        ] {
            assert_eq!(of(text).decimal, decimal, "{text:?}");
        }
        assert_eq!(Dialect::of(b"a;b\n5.29;1\n", Some(Decimal::Comma), None).decimal, Some(Decimal::Comma));
    }

    #[test]
    fn rows_show_the_order_of_dates_unless_they_differ() {
        for (text, order) in [
            ("a,b\n18/12/2026,04/01/2024 16:00\n", Some(DateOrder::DayFirst)),
            ("a,b\n12/18/2026,1/4/2024\n", Some(DateOrder::MonthFirst)),
            ("a,b\n12/18/2026,18/12/2026\n", None),
            ("a,b\n1/4/2024,2026-12-18\n", None),
            ("a,b\n18-12-2026,4-1-2024\n", Some(DateOrder::DayFirst)),
            ("a,b\n12/18/26,1/4/24\n", None),
        ] {
            assert_eq!(of(text).dates, order, "{text:?}");
        }
    }
}
