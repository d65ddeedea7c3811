//! Numbers as programs and people write them: decimal points and commas, marks between thousands, a sign of currency.
//! Never: a bound.

use super::dialect::Decimal;
use kernel::error::Reason;

/// Marks that stand between thousands and nowhere else.
const GROUP_MARKS: [char; 4] = [' ', '\u{a0}', '\u{202f}', '\''];
/// Signs of currency before or behind a number.
const CURRENCIES: [char; 3] = ['$', '€', '£'];
/// Digits between two marks of thousands.
const GROUP: usize = 3;

/// Reads a number.
///
/// # Errors
/// It is none; or it has one comma that may stand before decimals or between thousands, and nothing says which.
pub fn parse_number(text: &str, decimal: Option<Decimal>) -> Result<f64, Reason> {
    // what all programs write is read first, and fast; a point in a text of commas stands between thousands
    if (decimal != Some(Decimal::Comma) || !text.contains('.'))
        && let Ok(x) = text.parse()
    {
        return Ok(x);
    }
    let (sign, digits) = unsigned(text);
    let (digits, exponent) = digits.split_once(['e', 'E']).map_or((digits, ""), |(digits, power)| (digits, power));
    let Written { whole, decimals } = Written::of(digits, decimal)?;
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    let power = if exponent.is_empty() { "0" } else { exponent };
    // either part may be empty
    format!("{sign}0{whole}.{decimals}0e{power}").parse().map_err(|_| Reason::NotANumber)
}

/// The decimal mark that a text shows, if it is a number that can be read in one way only.
pub(super) fn decimal_of(text: &str) -> Option<Decimal> {
    if !text.bytes().any(|b| matches!(b, b'.' | b',')) {
        return None;
    }
    if is_plain_decimal(text) {
        return Some(Decimal::Point);
    }
    let (_, digits) = unsigned(text);
    let as_point = Written::of(digits, Some(Decimal::Point)).is_ok();
    let as_comma = Written::of(digits, Some(Decimal::Comma)).is_ok();
    match (as_point, as_comma) {
        (true, false) => Some(Decimal::Point),
        (false, true) => Some(Decimal::Comma),
        _ => None,
    }
}

/// True of digits with a point among them that does not stand before a group of thousands: what most programs write.
fn is_plain_decimal(text: &str) -> bool {
    let is_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let Some(point) = bytes.iter().position(|&b| b == b'.') else { return false };
    let (whole, decimals) = bytes.split_at(point);
    let decimals = decimals.get(1..).unwrap_or_default();
    is_digits(whole) && is_digits(decimals) && decimals.len() != GROUP
}

/// A number's sign, and what is left without it and a sign of currency.
fn unsigned(text: &str) -> (&str, &str) {
    let bare = |text| str::trim_matches(text, CURRENCIES).trim();
    let text = bare(text);
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    (sign, bare(rest))
}

/// A number as text, split at its decimal mark.
struct Written<'a> {
    /// Digits, and marks between thousands.
    whole: &'a str,
    decimals: &'a str,
}

impl<'a> Written<'a> {
    /// Finds the decimal mark.
    fn of(text: &'a str, decimal: Option<Decimal>) -> Result<Self, Reason> {
        let mark = match decimal {
            Some(Decimal::Point) => Some('.'),
            Some(Decimal::Comma) => Some(','),
            None => decimal_mark(text)?,
        };
        let (whole, decimals) = mark.and_then(|mark| text.split_once(mark)).unwrap_or((text, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_some = !whole.is_empty() || !decimals.is_empty();
        let is_number = is_some && is_grouped(whole) && is_digits(decimals);
        is_number.then_some(Self { whole, decimals }).ok_or(Reason::NotANumber)
    }
}

/// The decimal mark of a number that stands alone; `None`: it has none.
fn decimal_mark(text: &str) -> Result<Option<char>, Reason> {
    let (commas, points) = (text.matches(',').count(), text.matches('.').count());
    match (commas, points) {
        (0, 0) | (2.., 0) | (0, 2..) => Ok(None),
        (0, 1) => Ok(Some('.')),
        (1, 0) => {
            let (whole, decimals) = text.split_once(',').unwrap_or((text, ""));
            let may_be_thousands =
                decimals.len() == GROUP && (1..=GROUP).contains(&whole.len()) && !whole.starts_with('0');
            if may_be_thousands { Err(Reason::AmbiguousNumber) } else { Ok(Some(',')) }
        }
        // of two marks the last one is that of decimals
        _ => Ok(text.chars().rev().find(|mark| matches!(mark, ',' | '.'))),
    }
}

/// True of digits, whose marks of thousands are all alike and stand where they must.
fn is_grouped(text: &str) -> bool {
    let Some(mark) = text.chars().find(|c| !c.is_ascii_digit()) else { return true };
    if !matches!(mark, ',' | '.') && !GROUP_MARKS.contains(&mark) {
        return false;
    }
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = text.split(mark);
    groups.next().is_some_and(|first| (1..=GROUP).contains(&first.len()) && is_digits(first))
        && groups.all(|group| group.len() == GROUP && is_digits(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_in_the_marks_of_their_text() {
        let (point, comma) = (Some(Decimal::Point), Some(Decimal::Comma));
        for (text, decimal, want) in [
            ("5.29", None, 5.29),
            ("5,29", None, 5.29),
            ("-0,5", None, -0.5),
            ("0,125", None, 0.125),
            ("1,234.50", None, 1234.5),
            ("1.234,50", None, 1234.5),
            ("1,234,567", None, 1_234_567.0),
            ("1.234.567,5", None, 1_234_567.5),
            ("1 234,5", None, 1234.5),
            ("1\u{202f}234\u{202f}567", None, 1_234_567.0),
            ("1'234.5", None, 1234.5),
            ("$1.20", None, 1.2),
            ("-$1,200.5", None, -1200.5),
            ("5,00 €", None, 5.0),
            ("1,5e-3", None, 0.0015),
            ("1,234", point, 1234.0),
            ("1,234", comma, 1.234),
            ("1.234", point, 1.234),
            ("1.234", comma, 1234.0),
            ("63", comma, 63.0),
            (",5", comma, 0.5),
        ] {
            assert_eq!(parse_number(text, decimal), Ok(want), "{text} {decimal:?}");
        }
        assert_eq!(parse_number("1,234", None), Err(Reason::AmbiguousNumber));
        for (text, decimal) in [
            ("", None),
            (",", None),
            (".", comma),
            ("1,23,4", None),
            ("1,23.4", None),
            ("12,34,567", None),
            ("1234,567.5", None),
            ("5,29", point),
            ("63.5", comma),
            ("5;29", None),
            ("ten", None),
            ("1 2", None),
            ("1,5,e", None),
            ("--5", None),
        ] {
            assert_eq!(parse_number(text, decimal), Err(Reason::NotANumber), "{text} {decimal:?}");
        }
    }

    proptest! {
        #[test]
        fn plain_decimals_show_their_point(text in "[0-9]{1,4}\\.[0-9]{1,4}") {
            let as_comma = Written::of(&text, Some(Decimal::Comma)).is_ok();
            prop_assert_eq!(decimal_of(&text), (!as_comma).then_some(Decimal::Point));
        }

        #[test]
        fn no_text_panics(text in "[-0-9.,eE$ ']{0,12}|\\PC{0,12}") {
            for decimal in [None, Some(Decimal::Point), Some(Decimal::Comma)] {
                let _ = (parse_number(&text, decimal), decimal_of(&text));
            }
        }

        #[test]
        fn both_marks_say_the_same(x in -1e7..1e7f64) {
            let point = format!("{x:.4}");
            let comma = point.replace('.', ",");
            prop_assert_eq!(parse_number(&comma, None), Ok(point.parse::<f64>().unwrap()));
            prop_assert_eq!(parse_number(&comma, Some(Decimal::Comma)), parse_number(&point, Some(Decimal::Point)));
        }
    }
}
