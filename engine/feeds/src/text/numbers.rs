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
    let power = if exponent.is_empty() { "0" } else { exponent };
    format!("{sign}{whole}.{decimals}e{power}").parse().map_err(|_| Reason::NotANumber)
}

/// The decimal mark that a text shows, if it is a number that can be read in one way only.
pub(super) fn decimal_of(text: &str) -> Option<Decimal> {
    let (_, digits) = unsigned(text);
    if !digits.contains(['.', ',']) {
        return None;
    }
    let as_point = Written::of(digits, Some(Decimal::Point)).is_ok();
    let as_comma = Written::of(digits, Some(Decimal::Comma)).is_ok();
    match (as_point, as_comma) {
        (true, false) => Some(Decimal::Point),
        (false, true) => Some(Decimal::Comma),
        _ => None,
    }
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

/// The digits of a number before and behind its decimal mark.
struct Written {
    whole: String,
    decimals: String,
}

impl Written {
    /// Takes the marks out.
    fn of(text: &str, decimal: Option<Decimal>) -> Result<Self, Reason> {
        let mark = match decimal {
            Some(Decimal::Point) => Some('.'),
            Some(Decimal::Comma) => Some(','),
            None => decimal_mark(text)?,
        };
        let (whole, decimals) = mark.and_then(|mark| text.split_once(mark)).unwrap_or((text, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let whole = ungrouped(whole).filter(|whole| !whole.is_empty() || !decimals.is_empty());
        match whole {
            Some(whole) if is_digits(decimals) => {
                let or_zero = |text: String| if text.is_empty() { "0".to_owned() } else { text };
                Ok(Self { whole: or_zero(whole), decimals: or_zero(decimals.to_owned()) })
            }
            _ => Err(Reason::NotANumber),
        }
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

/// The digits of a whole number, whose marks of thousands are all alike and stand where they must; `None`: they do
/// not, or something else is there.
fn ungrouped(text: &str) -> Option<String> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits(text) {
        return Some(text.to_owned());
    }
    let mark = text.chars().find(|c| !c.is_ascii_digit())?;
    if !matches!(mark, ',' | '.') && !GROUP_MARKS.contains(&mark) {
        return None;
    }
    let mut groups = text.split(mark);
    let first = groups.next().filter(|first| (1..=GROUP).contains(&first.len()) && is_digits(first))?;
    let rest: Option<Vec<&str>> =
        groups.map(|group| (group.len() == GROUP && is_digits(group)).then_some(group)).collect();
    Some(first.to_owned() + &rest?.concat())
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
