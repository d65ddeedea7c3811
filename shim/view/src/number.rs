//! Formats numbers with the decimals of their column, never wider than their cell. Never: a column.

use kernel::columns::Shape;

/// Text of a missing number.
pub(crate) const MISSING: &str = "-";

/// A number in at most `width` characters; `-` if it is missing, `#` in every place if it does not fit.
pub(crate) fn shown(value: f64, shape: Shape, width: usize) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    match shape {
        Shape::Decimals(decimals) | Shape::Price(decimals) => fixed(value, usize::from(decimals), width),
        Shape::Percent(decimals) => fixed(value * 100.0, usize::from(decimals), width),
        Shape::Digits(digits) => significant(value, usize::from(digits), width),
    }
}

/// A number with `decimals` decimals, or as many as fit.
fn fixed(value: f64, decimals: usize, width: usize) -> String {
    (0..=decimals)
        .rev()
        .map(|decimals| unsigned_zero(format!("{value:.decimals$}")))
        .find(|text| text.len() <= width)
        .unwrap_or_else(|| "#".repeat(width))
}

/// A number with `digits` significant digits: `1234`, `12.34`, `0.01234`, `1.2e-7`.
fn significant(value: f64, digits: usize, width: usize) -> String {
    if value.abs() < f64::MIN_POSITIVE {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    let after = (digits as f64 - 1.0 - magnitude).max(0.0);
    if magnitude >= -4.0 {
        let text = fixed(value, after as usize, width);
        if !text.contains('#') {
            return text;
        }
    }
    (0..digits)
        .rev()
        .map(|decimals| format!("{value:.decimals$e}"))
        .find(|text| text.len() <= width)
        .unwrap_or_else(|| "#".repeat(width))
}

/// Removes the sign of `-0.00`.
fn unsigned_zero(text: String) -> String {
    let is_zero = text.starts_with('-') && !text.bytes().any(|b| b.is_ascii_digit() && b != b'0');
    if is_zero { text[1..].to_owned() } else { text }
}

/// A strike without trailing zeros: `720`, `72.5`, `0.125`.
pub(crate) fn strike(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A large number in three digits: `1.23M`, `-456k`, `0`; `-` if it is missing.
pub(crate) fn compact(value: f64) -> String {
    const STEPS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")];
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    // 999.7 is 1.00k
    let step = STEPS.into_iter().find(|(step, _)| value.abs() >= 0.9995 * step);
    let (scaled, unit) = step.map_or((value, ""), |(step, unit)| (value / step, unit));
    let decimals = match scaled.abs() {
        small if small < 9.995 => 2,
        small if small < 99.95 => 1,
        _ => 0,
    };
    unsigned_zero(format!("{scaled:.decimals$}")) + unit
}

/// A count with commas: `40,123`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_their_cell() {
        use Shape::{Decimals, Digits, Percent};
        for (value, shape, wanted) in [
            (9.548_875, Decimals(2), "9.55"),
            (-0.001, Decimals(2), "0.00"),
            (-0.48, Decimals(3), "-0.480"),
            (0.132_136, Percent(2), "13.21"),
            (1_234_567.0, Decimals(2), "1234567"),
            (12_345.678, Decimals(2), "12345.7"),
            (1e9, Decimals(2), "#######"),
            (f64::NAN, Decimals(2), "-"),
            (f64::INFINITY, Digits(3), "-"),
            (0.0, Digits(4), "0"),
            (1234.5, Digits(4), "1234"),
            (-12.345, Digits(4), "-12.35"),
            (0.012_34, Digits(4), "0.01234"),
            (1.234e-7, Digits(4), "1.23e-7"),
            (-1.234e-7, Digits(4), "-1.2e-7"),
            (4.2e12, Digits(3), "4.20e12"),
        ] {
            let text = shown(value, shape, 7);
            assert_eq!(text, wanted, "{value} {shape:?}");
            assert!(text.len() <= 7, "{value} {shape:?}");
        }
    }

    #[test]
    fn large_numbers_have_three_digits() {
        let numbers = [0.0, -0.001, 7.5, 999.7, -45_600.0, 1.234e6, 9.9996e9, 4e15, f64::NAN];
        let texts = ["0.00", "0.00", "7.50", "1.00k", "-45.6k", "1.23M", "10.0B", "4000T", "-"];
        assert_eq!(numbers.map(compact), texts);
    }

    #[test]
    fn strikes_have_their_decimals_and_counts_their_commas() {
        assert_eq!([720.0, 72.5, 0.125, 12_000.0].map(strike), ["720", "72.5", "0.125", "12000"]);
        assert_eq!([0, 999, 1000, 1_600_123].map(count), ["0", "999", "1,000", "1,600,123"]);
    }
}
