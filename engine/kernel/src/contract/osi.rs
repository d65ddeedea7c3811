//! OSI contract symbols both ways: root, `YYMMDD`, `C` or `P`, strike in thousandths.
//!
//! Symbols are read from the right, because adjusted roots end in a digit (`AMD1221118C00070000` is root AMD1, expiry
//! 2022-11-18). The symbols of brokers and terminals that are none of OSI are read as well. Writing goes into the
//! caller's array. Never: allocates, looks up what a root means.

use super::{ContractKey, Right, Symbol, strike_milli};
use crate::limits;
use jiff::civil::Date;

/// Length of the padded form, and the greatest length of the compact form.
pub const OSI_LEN: usize = 21;
/// Greatest length of a root in a symbol.
const ROOT_LEN: usize = 6;
/// Date, right and strike: the part after the root.
const TAIL_LEN: usize = OSI_LEN - ROOT_LEN;
/// The date and the right of a symbol.
const DATE_RIGHT_LEN: usize = 7;

impl ContractKey {
    /// Reads a symbol: padded (`SPXW  261218C05000000`) or compact, `_` in place of the padding, after an `O:` prefix,
    /// or with a plain decimal strike behind a `.` (`.AAPL240920C270` of thinkorswim and dxFeed) or a `-`
    /// (`-AAPL240920C270` of Fidelity). So are the forms of TD Ameritrade (`AAPL_092024C270`) and of Bloomberg
    /// (`AAPL US 09/20/24 C270 Equity`), and words with the right at the end: `AAPL 09/20/2024 270.00 C` of Schwab,
    /// `AAPL 20SEP24 270 C` and `AAPL Sep20'24 270 CALL` of Interactive Brokers. Letters of either case.
    #[must_use]
    pub fn parse_osi(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix(['.', '-']) {
            return parse_decimal(rest);
        }
        parse_exact(text)
            .or_else(|| parse_ameritrade(text))
            .or_else(|| parse_bloomberg(text))
            .or_else(|| parse_words(text))
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

/// The form of OSI.
fn parse_exact(text: &str) -> Option<ContractKey> {
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
    Some(ContractKey { root: parse_root(head)?, expiry, strike_milli, right })
}

/// The form with a decimal strike of any length, its leading mark taken off.
fn parse_decimal(text: &str) -> Option<ContractKey> {
    // the last letter is the right: roots have letters, strikes have none
    let at = text.rfind(|c: char| c.is_ascii_alphabetic())?;
    let (head, strike) = text.split_at_checked(at + 1)?;
    let strike_milli = parse_decimal_strike(strike)?;
    let head = head.as_bytes();
    let (root, date_right) = head.split_at_checked(head.len().checked_sub(DATE_RIGHT_LEN)?)?;
    let (expiry, right) = parse_date_right(date_right)?;
    Some(ContractKey { root: parse_root(root)?, expiry, strike_milli, right })
}

/// The form of TD Ameritrade: root, `_`, `MMDDYY`, the right, a decimal strike.
fn parse_ameritrade(text: &str) -> Option<ContractKey> {
    let (root, rest) = text.split_once('_')?;
    let (date, rest) = rest.split_at_checked(6)?;
    let (right, strike) = rest.split_at_checked(1)?;
    // leading zeros are of a strike in thousandths, whose date would stand in another order
    let is_padded = strike.len() > 1 && strike.starts_with('0') && !strike.starts_with("0.");
    let strike_milli = parse_decimal_strike(strike).filter(|_| !is_padded)?;
    let (month, day, year) = (date.get(..2)?, date.get(2..4)?, date.get(4..)?);
    let expiry = date_of(year, month, day)?;
    Some(ContractKey { root: parse_root(root.as_bytes())?, expiry, strike_milli, right: Right::parse(right)? })
}

/// The form of Bloomberg: root, perhaps an exchange, `MM/DD/YY`, the right with the strike, perhaps the kind of the
/// underlying.
fn parse_bloomberg(text: &str) -> Option<ContractKey> {
    let mut words = text.split_ascii_whitespace();
    let root = parse_root(words.next()?.as_bytes())?;
    let mut date = words.next()?;
    if date.len() == 2 && date.bytes().all(|b| b.is_ascii_alphabetic()) {
        // one contract is listed on many exchanges
        date = words.next()?;
    }
    let (month, rest) = date.split_once('/')?;
    let (day, year) = rest.split_once('/')?;
    let (right, strike) = words.next()?.split_at_checked(1)?;
    let is_kind = |word: &str| ["equity", "index"].iter().any(|kind| word.eq_ignore_ascii_case(kind));
    if !words.next().is_none_or(is_kind) || words.next().is_some() {
        return None;
    }
    let (expiry, strike_milli) = (date_of(year, month, day)?, parse_decimal_strike(strike)?);
    Some(ContractKey { root, expiry, strike_milli, right: Right::parse(right)? })
}

/// Four words: root, date, decimal strike, right.
fn parse_words(text: &str) -> Option<ContractKey> {
    let mut words = text.split_ascii_whitespace();
    let (root, date) = (parse_root(words.next()?.as_bytes())?, words.next()?);
    let (strike, right) = (words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    let expiry = match date.split_once('/') {
        Some((month, rest)) => {
            let (day, year) = rest.split_once('/')?;
            date_of(year.strip_prefix("20").filter(|_| year.len() == 4).unwrap_or(year), month, day)?
        }
        None => date_with_month(date)?,
    };
    Some(ContractKey { root, expiry, strike_milli: parse_decimal_strike(strike)?, right: Right::parse(right)? })
}

/// A date with the name of its month: `20SEP24`, or `Sep20'24`.
fn date_with_month(date: &str) -> Option<Date> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let named = |name: &str| MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name));
    let (name, day, year) = match date.split_once('\'') {
        Some((month_day, year)) => (month_day.get(..3)?, month_day.get(3..)?, year),
        None => {
            let (day, rest) = date.split_at_checked(date.len().checked_sub(5)?)?;
            (rest.get(..3)?, day, rest.get(3..)?)
        }
    };
    let month = (named(name)? + 1).to_string();
    date_of(year, &month, day)
}

/// A plain decimal strike in thousandths.
fn parse_decimal_strike(strike: &str) -> Option<u32> {
    let plain = !strike.is_empty() && strike.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if plain { strike_milli(strike.parse().ok()?) } else { None }
}

/// A date of this century by two digits of its year, and one or two of month and day.
fn date_of(year: &str, month: &str, day: &str) -> Option<Date> {
    let short = |part: &str| digits(part.as_bytes()).filter(|_| matches!(part.len(), 1 | 2));
    civil(short(year).filter(|_| year.len() == 2)?, short(month)?, short(day)?)
}

/// A date by the last two digits of its year: options were listed in this form from 2010 on.
fn civil(year: u32, month: u32, day: u32) -> Option<Date> {
    Date::new(i16::try_from(2000 + year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn parse_date_right(bytes: &[u8]) -> Option<(Date, Right)> {
    let right = match bytes.get(6)? {
        b'C' | b'c' => Right::Call,
        b'P' | b'p' => Right::Put,
        _ => return None,
    };
    let yymmdd = digits(&bytes[..6])?;
    Some((civil(yymmdd / 10_000, yymmdd / 100 % 100, yymmdd % 100)?, right))
}

/// A root, also where it is the ticker of a class share (`BRK/B`).
fn parse_root(bytes: &[u8]) -> Option<Symbol> {
    let padding = bytes.iter().rev().take_while(|b| matches!(b, b' ' | b'_')).count();
    let bytes = &bytes[..bytes.len() - padding];
    let text = core::str::from_utf8(bytes).ok()?;
    // nearly every root is plain, and symbols come by the million
    if bytes.len() <= ROOT_LEN && bytes.iter().all(u8::is_ascii_alphanumeric) {
        return Symbol::parse(text);
    }
    // a blank within a root is damage
    let legal = text.as_bytes().first()?.is_ascii_alphanumeric() && !text.contains([' ', '_']);
    Symbol::parse_underlying(text).filter(|_| legal).map(Symbol::bare).filter(|root| root.as_str().len() <= ROOT_LEN)
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
        let brkb = key("BRKB", "2026-12-18", 510_000, Right::Call);
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
            ("-AAPL240920C270", aapl),
            (" -AAPL240920C270.0", aapl),
            ("AAPL_092024C270", aapl),
            ("aapl_092024c270.00", aapl),
            ("AAPL US 09/20/24 C270 Equity", aapl),
            ("AAPL 9/20/24 C270", aapl),
            ("SPXW US 12/18/26 c5000 index", spxw),
            ("SPXW_121826C5000", spxw),
            (".BRK/B261218C510", brkb),
            ("BRK/B  261218C00510000", brkb),
            ("BRK.B261218C00510000", brkb),
            ("-BRK-B261218C510", brkb),
            ("BRK/B_121826C510", brkb),
            ("BRK/B US 12/18/26 C510 Equity", brkb),
            ("F_011626P0.5", key("F", "2026-01-16", 500, Right::Put)),
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
            "MSFT_212105C215",
            "MSFT_052121C00215000",
            "MSFT_052121C2,15",
            "MSFT_052121",
            "_052121C215",
            "KO US 12/18/26 68 Equity",
            "KO US 18/12/26 C68 Equity",
            "KO US 12/18/2026 C68 Curncy",
            "KO US 12/18/26",
            "KO261218C68",
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
