//! OSI contract symbols both ways: root, `YYMMDD`, `C` or `P`, strike in thousandths.
//!
//! Symbols are read from the right, because adjusted roots end in a digit (`AMD1221118C00070000` is root AMD1, expiry
//! 2022-11-18). Writing goes into the caller's array. Never: allocates, looks up what a root means.

use super::{ContractKey, Right, Symbol, strike_milli};
use crate::limits;
use jiff::civil::Date;

/// Length of the padded form, and the greatest length of the compact form.
pub const OSI_LEN: usize = 21;
/// Greatest length of a root in a symbol.
const ROOT_LEN: usize = 6;
/// Date, right and strike: what follows the root.
const TAIL_LEN: usize = OSI_LEN - ROOT_LEN;
/// The date and the right of a symbol.
const DATE_RIGHT_LEN: usize = 7;

impl ContractKey {
    /// Reads a symbol: padded (`SPXW  261218C05000000`) or compact, `_` in place of the padding, after an `O:` prefix,
    /// or with a leading `.` and a plain decimal strike (`.AAPL240920C270`). Letters of either case.
    #[must_use]
    pub fn parse_osi(text: &str) -> Option<Self> {
        let text = text.trim();
        // the spelling of thinkorswim and dxFeed: a dot in front, the strike as a decimal
        if let Some(rest) = text.strip_prefix('.') {
            return parse_decimal(rest);
        }
        let text = text.strip_prefix("O:").or_else(|| text.strip_prefix("o:")).unwrap_or(text);
        let bytes = text.as_bytes();
        // from the end: the date, right and strike have a fixed length, the root does not
        let (head, tail) = bytes.split_at_checked(bytes.len().checked_sub(TAIL_LEN)?)?;
        let (date_right, strike) = tail.split_at(DATE_RIGHT_LEN);
        let strike_milli = digits(strike)?;
        if !limits::STRIKE_MILLI.holds(f64::from(strike_milli)) {
            return None;
        }
        let (expiry, right) = parse_date_right(date_right)?;
        Some(Self { root: parse_root(head)?, expiry, strike_milli, right })
    }

    /// Writes the padded form. A root of more than six bytes is cut there.
    pub fn write_padded(&self, out: &mut [u8; OSI_LEN]) {
        let (head, tail) = out.split_at_mut(ROOT_LEN);
        head.fill(b' ');
        put_root(self.root, head);
        self.put_tail(tail);
    }

    /// Writes the compact form and returns its length. A root of more than six bytes is cut there.
    pub fn write_compact(&self, out: &mut [u8; OSI_LEN]) -> usize {
        let n = put_root(self.root, &mut out[..ROOT_LEN]);
        self.put_tail(&mut out[n..n + TAIL_LEN]);
        n + TAIL_LEN
    }

    fn put_tail(&self, tail: &mut [u8]) {
        let part = |x: i32| u32::try_from(x).unwrap_or_default();
        // the format has two digits, whatever the century
        put_digits(part(i32::from(self.expiry.year()).rem_euclid(100)), &mut tail[..2]);
        put_digits(part(i32::from(self.expiry.month())), &mut tail[2..4]);
        put_digits(part(i32::from(self.expiry.day())), &mut tail[4..6]);
        tail[6] = match self.right {
            Right::Call => b'C',
            Right::Put => b'P',
        };
        put_digits(self.strike_milli, &mut tail[DATE_RIGHT_LEN..]);
    }
}

/// The form with a decimal strike of any length, its leading dot taken off.
fn parse_decimal(text: &str) -> Option<ContractKey> {
    // the last letter is the right: roots have letters, strikes have none
    let at = text.rfind(|c: char| c.is_ascii_alphabetic())?;
    let (head, strike) = text.split_at_checked(at + 1)?;
    let plain = !strike.is_empty() && strike.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let strike_milli = if plain { strike_milli(strike.parse().ok()?)? } else { return None };
    let head = head.as_bytes();
    let (root, date_right) = head.split_at_checked(head.len().checked_sub(DATE_RIGHT_LEN)?)?;
    let (expiry, right) = parse_date_right(date_right)?;
    Some(ContractKey { root: parse_root(root)?, expiry, strike_milli, right })
}

fn parse_date_right(bytes: &[u8]) -> Option<(Date, Right)> {
    let right = match bytes.get(6)? {
        b'C' | b'c' => Right::Call,
        b'P' | b'p' => Right::Put,
        _ => return None,
    };
    let yymmdd = digits(&bytes[..6])?;
    // two digits of a year: options were listed in this form from 2010 on
    let year = i16::try_from(2000 + yymmdd / 10_000).ok()?;
    let month = i8::try_from(yymmdd / 100 % 100).ok()?;
    let day = i8::try_from(yymmdd % 100).ok()?;
    Some((Date::new(year, month, day).ok()?, right))
}

fn parse_root(bytes: &[u8]) -> Option<Symbol> {
    let text = core::str::from_utf8(bytes).ok()?.trim_end_matches([' ', '_']);
    let legal = text.len() <= ROOT_LEN && !text.contains('.');
    if legal { Symbol::parse(text) } else { None }
}

/// A number of at most eight decimal digits and nothing else.
fn digits(bytes: &[u8]) -> Option<u32> {
    bytes.iter().try_fold(0, |n: u32, b| b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0')))
}

fn put_digits(mut n: u32, out: &mut [u8]) {
    for b in out.iter_mut().rev() {
        *b = b'0' + (n % 10) as u8;
        n /= 10;
    }
}

fn put_root(root: Symbol, out: &mut [u8]) -> usize {
    let text = root.as_str().as_bytes();
    let n = text.len().min(out.len());
    out[..n].copy_from_slice(&text[..n]);
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(root: &str, expiry: &str, strike_milli: u32, right: Right) -> ContractKey {
        ContractKey { root: Symbol::parse(root).unwrap(), expiry: expiry.parse().unwrap(), strike_milli, right }
    }

    fn padded(k: ContractKey) -> String {
        let mut out = [0; OSI_LEN];
        k.write_padded(&mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    fn compact(k: ContractKey) -> String {
        let mut out = [0; OSI_LEN];
        let n = k.write_compact(&mut out);
        String::from_utf8(out[..n].to_vec()).unwrap()
    }

    #[test]
    fn every_spelling_of_the_plan_is_read() {
        let spxw = key("SPXW", "2026-12-18", 5_000_000, Right::Call);
        let amd1 = key("AMD1", "2022-11-18", 70_000, Right::Call);
        let aapl = key("AAPL", "2024-09-20", 270_000, Right::Call);
        for (text, want) in [
            ("SPXW  261218C05000000", spxw),
            ("SPXW261218C05000000", spxw),
            ("O:SPXW261218C05000000", spxw),
            ("spxw__261218c05000000", spxw),
            (" SPXW261218C05000000 ", spxw),
            ("AMD1221118C00070000", amd1),
            (".AMD1221118C70", amd1),
            (".AAPL240920C270", aapl),
            ("X160115P00000001", key("X", "2016-01-15", 1, Right::Put)),
            ("SPEQX1261218P99999999", key("SPEQX1", "2026-12-18", 99_999_999, Right::Put)),
            (".F260116P0.001", key("F", "2026-01-16", 1, Right::Put)),
            ("1SPX  261218C05000000", key("1SPX", "2026-12-18", 5_000_000, Right::Call)),
        ] {
            assert_eq!(ContractKey::parse_osi(text), Some(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_symbol_is_refused() {
        for text in [
            "",
            "261218C05000000",
            "SPXW261318C05000000",
            "SPXW260230C05000000",
            "SPXW261218X05000000",
            "SPXW261218C00000000",
            "SPXW261218C0500000",
            "SPXWEEK261218C05000000",
            "SP XW261218C05000000",
            "BRK.B261218C05000000",
            "MSFT_052121C215",
            "SPXW261218C0500000é",
            ".AAPL240920C",
            ".AAPL240920C2e2",
            ".AAPL240920Cinf",
            ".C1",
            "O:",
        ] {
            assert_eq!(ContractKey::parse_osi(text), None, "{text}");
        }
    }

    #[test]
    fn both_forms_are_written() {
        let k = key("F", "2026-01-05", 12_500, Right::Put);
        assert_eq!(padded(k), "F     260105P00012500");
        assert_eq!(compact(k), "F260105P00012500");
    }

    proptest! {
        #[test]
        fn written_symbols_read_back(
            root in "[A-Z]{1,5}[0-9A-Z]?", year in 2000i16..2100, month in 1i8..=12, day in 1i8..=28,
            strike_milli in 1u32..=99_999_999, put in any::<bool>(),
        ) {
            let right = if put { Right::Put } else { Right::Call };
            let expiry = Date::new(year, month, day).unwrap();
            let k = ContractKey { root: Symbol::parse(&root).unwrap(), expiry, strike_milli, right };
            prop_assert_eq!(ContractKey::parse_osi(&padded(k)), Some(k));
            prop_assert_eq!(ContractKey::parse_osi(&compact(k)), Some(k));
            prop_assert_eq!(ContractKey::parse_osi(&format!("O:{}", compact(k))), Some(k));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = ContractKey::parse_osi(&text);
            let _ = Symbol::parse_underlying(&text);
        }
    }
}
