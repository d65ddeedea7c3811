//! Contracts, shares and legs as users write them. Never: a list of expiries.

use crate::query::items;
use crate::query::parameter::{Param, ReadAs};
use crate::query::parse_date;
use jiff::civil::Date;
use kernel::contract::{ContractKey, Right, RootTable, Symbol, strike_milli};
use kernel::limits;

/// Prices that legs were bought or sold at.
pub const PRICE: Param<ReadAs<Vec<f64>>> = Param::new(
    "price",
    ReadAs { read: read_prices, wants: "prices per share, one for each leg" },
    "Price paid or received for each leg, per share, comma-separated",
);

/// Most shares or contracts of a leg.
const MOST: f64 = 1e6;
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// A leg of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskedLeg {
    /// Shares or contracts, negative if sold; `None`: none is written.
    pub quantity: Option<f64>,
    /// The instrument.
    pub instrument: AskedInstrument,
}

/// The instrument of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedInstrument {
    /// Shares.
    Share(Symbol),
    /// A contract.
    Contract(ContractKey),
    /// A contract without a year: the next such date.
    Near {
        /// Root, strike and right, with some expiry.
        key: ContractKey,
        /// Month and day of the expiry.
        month_day: (i8, i8),
    },
}

impl AskedLeg {
    /// Reads a leg: `-1 SPY 12/18 712 C`, `100 SPY`, `SPY261218C00712000`, `-SPY 18DEC26 712 P`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1.0, rest),
            None => (1.0, text.strip_prefix('+').unwrap_or(text)),
        };
        let rest = rest.trim_start();
        // a number of its own word is how many
        let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let counted = rest.split_once(' ').filter(|(number, _)| is_number(number));
        let counted = counted.and_then(|(number, what)| Some((number.parse::<f64>().ok()?, what)));
        let (number, what) = counted.unwrap_or((1.0, rest));
        let is_written = counted.is_some() || rest.len() < text.len();
        let is_held = number > 0.0 && number <= MOST;
        let instrument = AskedInstrument::parse(what.trim())?;
        is_held.then_some(Self { quantity: is_written.then_some(sign * number), instrument })
    }

    /// Reads an instrument, perhaps with a number before it: `-KO261218C72` is a broker's symbol here and no sale.
    #[must_use]
    pub fn parse_named(text: &str) -> Option<Self> {
        let alone = AskedInstrument::parse(text.trim()).map(|instrument| Self { quantity: None, instrument });
        alone.or_else(|| Self::parse(text))
    }
}

impl AskedInstrument {
    /// Reads a contract: `SPY 12/18 712 C`, `SPY261218C00712000`, `.SPY261218C712`.
    #[must_use]
    pub fn parse_contract(text: &str) -> Option<Self> {
        Self::parse(text.trim()).filter(|asked| !matches!(asked, Self::Share(_)))
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(key) = ContractKey::parse_osi(text).or_else(|| ContractKey::parse_osi(&format!(".{text}"))) {
            return Some(Self::Contract(key));
        }
        if !text.contains(' ') {
            let is_named = text.contains(|c: char| c.is_ascii_alphabetic());
            return Symbol::parse_underlying(text).filter(|_| is_named).map(Self::Share);
        }
        parse_words(text)
    }

    /// The underlying or root that it names.
    #[must_use]
    pub fn root(self) -> Symbol {
        match self {
            Self::Share(symbol) => symbol,
            Self::Contract(key) | Self::Near { key, .. } => key.root,
        }
    }

    /// The contract on a day; `None`: shares. An index is written for all of its roots: the first one that lists such
    /// a contract counts, else the root that is written.
    #[must_use]
    pub fn contract(
        self,
        today: Date,
        roots: &RootTable,
        is_listed: impl Fn(&ContractKey) -> bool,
    ) -> Option<ContractKey> {
        let key = self.written(today)?;
        let others = roots.roots_of(key.root).filter(|other| *other != key.root);
        let mut meant = core::iter::once(key).chain(others.map(|root| ContractKey { root, ..key }));
        meant.find(is_listed).or(Some(key))
    }

    /// The contract of the root that is written, on a day.
    fn written(self, today: Date) -> Option<ContractKey> {
        match self {
            Self::Share(_) => None,
            Self::Contract(key) => Some(key),
            Self::Near { key, month_day: (month, day) } => {
                // a leap day may be eight years away
                let mut dates = (0..=8).filter_map(|n| Date::new(today.year().saturating_add(n), month, day).ok());
                dates.find(|date| *date >= today).map(|expiry| ContractKey { expiry, ..key })
            }
        }
    }
}

fn read_prices(text: &str) -> Option<Vec<f64>> {
    let price = |item: &str| item.parse().ok().filter(|&price| limits::PRICE.holds(price));
    items(text).map(price).collect()
}

/// An expiry, perhaps without its year.
#[derive(Clone, Copy, Debug)]
enum Day {
    Full(Date),
    Near(i8, i8),
}

/// Words after a root, in any order: a date, a strike and a right.
fn parse_words(text: &str) -> Option<AskedInstrument> {
    let text = text.to_ascii_uppercase();
    let mut words = text.split_ascii_whitespace().peekable();
    let root = Symbol::parse_underlying(words.next()?)?.bare();
    let (mut day, mut strike, mut right) = (None, None, None);
    while let Some(word) = words.next() {
        let is_new = if let Some(found) = parse_right(word) {
            right.replace(found).is_none()
        } else if let Some(month) = month_of(word) {
            let date = words.next()?.parse().ok()?;
            day.replace(Day::Near(month, date)).is_none()
        } else if let Some(found) = parse_day(word) {
            day.replace(found).is_none()
        } else {
            // the right may stand at the strike: 712C, C712
            let letter = |c: char| matches!(c, 'C' | 'P');
            let (number, glued) = match (word.strip_suffix(letter), word.strip_prefix(letter)) {
                (Some(number), _) => (number, parse_right(&word[number.len()..])),
                (None, Some(number)) => (number, parse_right(&word[..1])),
                (None, None) => (word, None),
            };
            let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let found = strike_milli(number.parse().ok().filter(|_| is_plain)?)?;
            let is_right_new = glued.is_none_or(|glued| right.replace(glued).is_none());
            strike.replace(found).is_none() && is_right_new
        };
        if !is_new {
            return None;
        }
    }
    let (expiry, month_day) = match day? {
        Day::Full(expiry) => (expiry, None),
        // a leap year has every day
        Day::Near(month, day) => (Date::new(2028, month, day).ok()?, Some((month, day))),
    };
    let key = ContractKey { root, expiry, strike_milli: strike?, right: right? };
    Some(month_day.map_or(AskedInstrument::Contract(key), |month_day| AskedInstrument::Near { key, month_day }))
}

fn parse_right(word: &str) -> Option<Right> {
    match word {
        "C" | "CALL" | "CALLS" => Some(Right::Call),
        "P" | "PUT" | "PUTS" => Some(Right::Put),
        _ => None,
    }
}

fn month_of(word: &str) -> Option<i8> {
    (1..).zip(MONTHS).find(|(_, month)| *month == word).map(|(n, _)| n)
}

/// `12/18`, `12/18/26`, `12/18/2026`, `2026-12-18`, `18DEC`, `18DEC26`, `DEC18`, `DEC18'26`.
fn parse_day(word: &str) -> Option<Day> {
    if let Some((month, rest)) = word.split_once('/') {
        let (day, year) = rest.split_once('/').map_or((rest, None), |(day, year)| (day, Some(year)));
        return day_of(month.parse().ok()?, day, year);
    }
    if word.contains('-') {
        return parse_date(word).map(Day::Full);
    }
    let at = word.find(|c: char| c.is_ascii_alphabetic())?;
    let (before, named) = word.split_at(at);
    let (month, after) = named.split_at_checked(3)?;
    let month = month_of(month)?;
    if before.is_empty() {
        let (day, year) = after.split_once('\'').map_or((after, None), |(day, year)| (day, Some(year)));
        return day_of(month, day, year);
    }
    day_of(month, before, Some(after).filter(|year| !year.is_empty()))
}

fn day_of(month: i8, day: &str, year: Option<&str>) -> Option<Day> {
    let day = day.parse().ok()?;
    let Some(year) = year else { return Date::new(2028, month, day).ok().map(|_| Day::Near(month, day)) };
    let short = match year.len() {
        2 => year,
        4 => year.strip_prefix("20")?,
        _ => return None,
    };
    let year = i16::from(short.parse::<u8>().ok().filter(|_| short.bytes().all(|b| b.is_ascii_digit()))?);
    Date::new(year.saturating_add(2000), month, day).ok().map(Day::Full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn contract(text: &str) -> (f64, String) {
        let leg = AskedLeg::parse(text).unwrap_or_else(|| panic!("{text}"));
        let key = leg.instrument.written(date(2026, 11, 20)).unwrap_or_else(|| panic!("{text}"));
        let mut osi = [0; kernel::contract::osi::OSI_LEN];
        key.write_padded(&mut osi);
        (leg.quantity.unwrap_or(1.0), String::from_utf8(osi.to_vec()).unwrap())
    }

    #[test]
    fn a_contract_is_written_in_many_ways() {
        let wanted = "SPY   261218C00712000".to_owned();
        for text in [
            "-1 SPY 12/18 712 C",
            "-1 SPY   261218C00712000",
            "- 1 SPY261218C00712000",
            "-SPY 12/18/26 712 CALL",
            "-1 spy 12/18/2026 712.0 c",
            "-1 SPY 18DEC26 712 C",
            "-1 SPY 18DEC 712 C",
            "-1 SPY DEC18'26 712 C",
            "-1 SPY Dec 18 712C",
            "-1 SPY C712 2026-12-18",
            "-1 .SPY261218C712",
            "-SPY261218C712",
        ] {
            assert_eq!(contract(text), (-1.0, wanted.clone()), "{text}");
        }
        assert_eq!(contract(" 2 SPX 11/19 6000.5 put").1, "SPX   271119P06000500", "the next year");
        assert_eq!(contract("SPX 11/20 6000 P").1, "SPX   261120P06000000", "today");
        assert_eq!(contract("BRK.B 2/29 500 C").1, "BRKB  280229C00500000");
    }

    #[test]
    fn shares_have_a_symbol_alone() {
        let share = |text: &str| AskedLeg::parse(text).map(|leg| (leg.quantity, leg.instrument));
        let spy = AskedInstrument::Share(Symbol::parse("SPY").unwrap());
        assert_eq!(share("100 SPY"), Some((Some(100.0), spy)));
        assert_eq!(share("-100 spy"), Some((Some(-100.0), spy)));
        assert_eq!(share("SPY"), Some((None, spy)));
        assert_eq!(AskedInstrument::parse_contract("SPY"), None);
        for bad in [
            "",
            "1",
            "0 SPY",
            "-",
            "1e9 SPY",
            "nan SPY",
            "SPY 12/18 C",
            "SPY 12/18 712",
            "SPY 712 C",
            "SPY 13/18 712 C",
            "SPY 2/30 712 C",
            "SPY 12/18 12/19 712 C",
            "SPY 12/18 712 C P",
            "SPY 12/18 712 713 C",
        ] {
            assert_eq!(share(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_name_alone_has_no_number_and_a_leg_has_one() {
        let named =
            |text: &str| AskedLeg::parse_named(text).map(|leg| (leg.quantity, leg.instrument.root().to_string()));
        for (text, quantity, root) in [
            ("SPY 12/18 712 C", None, "SPY"),
            ("-KO261218C72", None, "KO"),
            ("-2 SPY 2026-12-18 712 call", Some(-2.0), "SPY"),
            ("-SPY 12/18 712 C", Some(-1.0), "SPY"),
            ("100 SPY", Some(100.0), "SPY"),
        ] {
            assert_eq!(named(text), Some((quantity, root.to_owned())), "{text}");
        }
        assert_eq!(read_prices("1.5,0"), Some(vec![1.5, 0.0]));
        for bad in ["-1", "1,x", "inf", "nan", "1e9"] {
            assert_eq!(read_prices(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_index_is_written_for_all_of_its_roots() {
        let (roots, today) = (RootTable::embedded(), date(2026, 11, 20));
        let spx = AskedInstrument::parse_contract("SPX 11/30 6000 C").unwrap();
        let root =
            |listed: &str| spx.contract(today, &roots, |key| key.root.as_str() == listed).unwrap().root.to_string();
        assert_eq!(["SPXW", "SPX", "none"].map(root), ["SPXW", "SPX", "SPX"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+ 0-9A-Ca-c/.'DEé]{0,24}", any in any::<String>()) {
            let _ = (AskedLeg::parse(&text), AskedLeg::parse(&any), AskedLeg::parse_named(&text), read_prices(&text));
        }
    }
}
