//! How a text of rows is written, whatever it says: its encoding ([`encoding`]), what stands between its fields, its
//! decimal mark and the order of its dates ([`Dialect`]), and the spellings of numbers, dates and nothing at all.
//!
//! A value that can be read in two ways is refused, unless the rest of the text or its user decides. Never: a meaning
//! of a column.

pub mod dates;
mod dialect;
pub mod encoding;
mod found;
pub mod numbers;

pub use dialect::{DateOrder, Decimal, Dialect};
pub use found::declared_separator;

/// Words for a value that is not there, in lower case.
const MISSING: [&str; 12] = ["nan", "n/a", "na", "n.a.", "-", "--", "null", "none", "nil", "#n/a", "<na>", "nat"];

/// True if a text is one of the words for a value that is not there.
#[must_use]
pub fn is_missing(text: &str) -> bool {
    // numbers are the most, and none begins as a word does but one with a sign
    let begins = matches!(text.as_bytes().first(), Some(b'n' | b'N' | b'-' | b'#' | b'<'));
    begins && MISSING.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A number of a quote; NaN for the -1 with which Interactive Brokers and programs behind it say that there is none.
#[must_use]
pub fn side(x: f64) -> f64 {
    if (x + 1.0).abs() < f64::EPSILON { f64::NAN } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_many_spellings_and_a_number_none_of_them() {
        assert!(MISSING.iter().all(|word| is_missing(word)));
        for text in ["NaN", "nan", "N/A", "n/a", "NA", "-", "--", "null", "NULL", "None", "#N/A", "<NA>"] {
            assert!(is_missing(text), "{text}");
        }
        for text in ["", "0", "-1", ".", "---", "x", "n", "-0"] {
            assert!(!is_missing(text), "{text}");
        }
        assert!(side(-1.0).is_nan());
        for x in [0.0, 1.0, -1.01, -2.0] {
            assert_eq!(side(x).to_bits(), x.to_bits());
        }
    }
}
