//! The filters of MarketData.app: dates in five spellings, strikes, deltas and days as numbers, lists, ranges and
//! comparisons, and contracts in words.

use crate::limits::NUMBERS;
use crate::past::day::{DISTANCE_MOST, NamedDay, PastDays, PastDaysAsked, RequestDays};
use crate::query::parameter::{AnyText, FiniteNumber, OneWord, Param, ReadAs, TrueFalse, WholeNumber, parameters};
use crate::query::{Bounds, Query, Rights, items, parse_date, parse_number};
use crate::refusal::Refusal;
use crate::selection::Selection;
use crate::selection::filters::{Deltas, Expirations, Money, VendorFilters};
use jiff::civil::{Date, date};
use jiff::{Span, Timestamp};
use kernel::contract::{ContractKey, Right, Symbol, strike_milli};

pub(super) const SIDE: Param<OneWord<Rights>> = Param::new("side", OneWord(Rights::ANY), "call or put");
pub(super) const NONSTANDARD: Param<TrueFalse> = Param::new("nonstandard", TrueFalse, "true includes adjusted roots");
pub(super) const RANGE: Param<OneWord<Money>> = Param::new("range", OneWord(RANGES), "itm, otm or all");
pub(super) const STRIKE_LIMIT: Param<WholeNumber> =
    Param::new("strikeLimit", WholeNumber::from(1), "Number of strikes around the money");
pub(super) const AM: Param<TrueFalse> =
    Param::new("am", TrueFalse, "true selects AM-settled contracts only, false excludes them");
pub(super) const PM: Param<TrueFalse> =
    Param::new("pm", TrueFalse, "true selects PM-settled contracts only, false excludes them");
pub(super) const STRIKE: Param<AnyText> = Param::new("strike", AnyText, "Strikes, numbers or ranges, comma-separated");
pub(super) const DELTA: Param<AnyText> = Param::new("delta", AnyText, "Deltas, numbers or ranges, comma-separated");
pub(super) const MIN_VOLUME: Param<FiniteNumber> =
    Param::new("minVolume", FiniteNumber, "Minimum volume, where quotes are shown");
pub(super) const MIN_OPEN_INTEREST: Param<FiniteNumber> =
    Param::new("minOpenInterest", FiniteNumber, "Minimum open interest, where quotes are shown");
pub(super) const DATE: Param<ReadAs<NamedDay>> = Param::new("date", A_DAY, "Date, for feeds with past data");

const A_DAY: ReadAs<NamedDay> = ReadAs { read: read_day, wants: "a date" };

parameters! {
    /// The parameters that choose expirations; without any of them an answer holds the next monthly one.
    OF_EXPIRATIONS:
    pub(super) const EXPIRATION: Param<AnyText> = Param::new("expiration", AnyText, "Expiration date, or all");
    pub(super) const DTE: Param<AnyText> =
        Param::new("dte", AnyText, "Calendar days to expiry, numbers or ranges, comma-separated");
    pub(super) const FROM: Param<ReadAs<NamedDay>> =
        Param::new("from", A_DAY, "First expiration; for one contract, the start date");
    pub(super) const TO: Param<ReadAs<NamedDay>> =
        Param::new("to", A_DAY, "End of the expirations, exclusive; for one contract, the end date");
    pub(super) const MONTH: Param<WholeNumber> =
        Param::new("month", WholeNumber { least: 1, most: 12 }, "Expirations of this month, 1 to 12");
    pub(super) const YEAR: Param<WholeNumber> =
        Param::new("year", WholeNumber { least: 1000, most: 9999 }, "Expirations of this year");
    pub(super) const WEEKLY: Param<TrueFalse> =
        Param::new("weekly", TrueFalse, "true selects weekly expirations, false excludes them");
    pub(super) const MONTHLY: Param<TrueFalse> =
        Param::new("monthly", TrueFalse, "true selects monthly expirations, false excludes them");
    pub(super) const QUARTERLY: Param<TrueFalse> =
        Param::new("quarterly", TrueFalse, "true selects quarterly expirations, false excludes them");
}
const RANGES: &[(&str, Money)] = &[("itm", Money::In), ("otm", Money::Out), ("all", Money::Any), ("atm", Money::At)];
/// The first day of spreadsheets.
const DAY_ZERO: Date = date(1899, 12, 30);
/// Numbers from here on are seconds, below it days of a spreadsheet.
const SECONDS_FROM: f64 = 1e6;

/// The filters of a chain: into the selection where it has them, else into the vendor's filters and the days that
/// depend on the date of the answer.
pub(super) fn parse(query: &Query<'_>, selection: &mut Selection) -> Result<(VendorFilters, RequestDays), Refusal> {
    selection.rights = query.get(&SIDE)?.unwrap_or_default();
    selection.standard_only = !query.get(&NONSTANDARD)?.unwrap_or(false);
    let days = RequestDays {
        expiration: parse_expiration(query)?,
        first_expiration: query.get(&FROM)?,
        last_expiration: query.get(&TO)?,
        past: None,
    };
    let days_near = match query.text(&DTE).map(parse_days).transpose()? {
        None => Vec::new(),
        Some(Numbers::Plain(near)) => near,
        Some(Numbers::Ranges(ranges)) => {
            selection.dte = ranges.into_iter().fold(Bounds::default(), Bounds::and);
            Vec::new()
        }
    };
    let money = query.get(&RANGE)?.unwrap_or_default();
    let near_strikes = query.get(&STRIKE_LIMIT)?;
    let filters = VendorFilters {
        am: query.get(&AM)?,
        pm: query.get(&PM)?,
        expirations: Expirations { days_near, ..parse_series(query)? },
        money,
        strikes: query.text(&STRIKE).map(parse_strikes).transpose()?.unwrap_or_default(),
        deltas: query.text(&DELTA).map(parse_deltas).transpose()?.unwrap_or_default(),
        near_strikes: near_strikes.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        volume: at_least(query.get(&MIN_VOLUME)?),
        open_interest: at_least(query.get(&MIN_OPEN_INTEREST)?),
        near_each_right: matches!(money, Money::In | Money::Out) && selection.rights == Rights::Both,
        ..VendorFilters::default()
    };
    Ok((filters, days))
}

/// Bounds from this number on; `None`: no bound.
fn at_least(number: Option<f64>) -> Bounds {
    Bounds { least: number, most: None }
}

/// Kinds of expirations.
fn parse_series(query: &Query<'_>) -> Result<Expirations, Refusal> {
    let (weekly, monthly, quarterly) = (query.get(&WEEKLY)?, query.get(&MONTHLY)?, query.get(&QUARTERLY)?);
    let kinds = [weekly, monthly, quarterly];
    if kinds.contains(&Some(true)) && kinds.contains(&Some(false)) {
        let reason = "weekly, monthly and quarterly are either asked for or left out, not both";
        return Err(Refusal::Conflict { reason });
    }
    Ok(Expirations {
        next_monthly: OF_EXPIRATIONS.iter().all(|param| query.first(param.name()).is_none()),
        month: query.get(&MONTH)?.and_then(|n| i8::try_from(n).ok()),
        year: query.get(&YEAR)?.and_then(|n| i16::try_from(n).ok()),
        weekly,
        monthly,
        quarterly,
        days_near: Vec::new(),
    })
}

/// The requested past day, if any; a future date is refused.
pub(super) fn parse_day_before(query: &Query<'_>) -> Result<Option<PastDays>, Refusal> {
    let day = query.get(&DATE)?;
    Ok(day.map(|day| PastDays { which: PastDaysAsked::One(day), not_past: not_past(query, &DATE) }))
}

/// The requested past day, or the days from one up to but not including another.
pub(super) fn parse_days_before(query: &Query<'_>) -> Result<Option<PastDays>, Refusal> {
    if let Some(day) = parse_day_before(query)? {
        return Ok(Some(day));
    }
    let (from, to) = (query.get(&FROM)?, query.get(&TO)?);
    let decisive = match (from, to) {
        (Some(_), _) => &FROM,
        (None, Some(_)) => &TO,
        (None, None) => return Ok(None),
    };
    Ok(Some(PastDays { which: PastDaysAsked::Between(from, to), not_past: not_past(query, decisive) }))
}

fn not_past(query: &Query<'_>, param: &Param<ReadAs<NamedDay>>) -> Refusal {
    Refusal::invalid(DATE.name(), query.text(param).unwrap_or_default(), "a date in the past")
}

/// The requested expiration; `None`: all.
pub(super) fn parse_expiration(query: &Query<'_>) -> Result<Option<NamedDay>, Refusal> {
    match query.text(&EXPIRATION) {
        Some(text) if !text.eq_ignore_ascii_case("all") => A_DAY.text(EXPIRATION.name(), text).map(Some),
        _ => Ok(None),
    }
}

/// `YYYY-MM-DD`, `MM/DD/YYYY`, unix seconds, days of a spreadsheet, `today`, `yesterday`, `-5 days`, `5 days ago`.
fn read_day(text: &str) -> Option<NamedDay> {
    if let Some(date) = parse_date(text) {
        return Some(NamedDay::Date(date));
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["today"] => Some(NamedDay::FromToday(0)),
        ["yesterday"] => Some(NamedDay::FromToday(-1)),
        [n, "day" | "days"] => Some(NamedDay::FromToday(read_distance(n)?)),
        [n, "day" | "days", "ago"] => Some(NamedDay::FromToday(-read_distance(n)?)),
        [number] => match parse_number(number)? {
            seconds if seconds >= SECONDS_FROM => Some(NamedDay::Of(Timestamp::from_second(seconds as i64).ok()?)),
            days if days >= 1.0 => {
                Some(NamedDay::Date(DAY_ZERO.checked_add(Span::new().try_days(days as i64).ok()?).ok()?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A number of days.
fn read_distance(days: &str) -> Option<i64> {
    days.parse().ok().filter(|days| (-DISTANCE_MOST..=DISTANCE_MOST).contains(days))
}

/// Parsed filter of numbers.
enum Numbers {
    /// Numbers and nothing else.
    Plain(Vec<f64>),
    /// At least one range or comparison; numbers are ranges of themselves.
    Ranges(Vec<Bounds>),
}

/// A comma list of numbers, ranges `a-b` and comparisons `>a`, `>=a`, `<a`, `<=a`, for the parameter `name`.
fn parse_numbers(name: &str, text: &str, wants: &'static str) -> Result<Numbers, Refusal> {
    let n = items(text).count();
    if n > NUMBERS {
        return Err(Refusal::invalid(name, &format!("{n} items"), format!("a list of up to {NUMBERS}")));
    }
    read_numbers(text).ok_or_else(|| Refusal::invalid(name, text, wants))
}

fn read_numbers(text: &str) -> Option<Numbers> {
    let plain: Option<Vec<f64>> = items(text).map(parse_number).collect();
    if let Some(plain) = plain {
        return (!plain.is_empty()).then_some(Numbers::Plain(plain));
    }
    items(text).map(read_bounds).collect::<Option<Vec<_>>>().map(Numbers::Ranges)
}

fn read_bounds(text: &str) -> Option<Bounds> {
    if let Some(rest) = text.strip_prefix('>') {
        let (number, including) = read_equals(rest);
        return Some(Bounds::above(number?, including));
    }
    if let Some(rest) = text.strip_prefix('<') {
        let (number, including) = read_equals(rest);
        return Some(Bounds::below(number?, including));
    }
    if let Some(number) = parse_number(text) {
        return Some(Bounds::exactly(number));
    }
    let (least, most) = text.split_once('-')?;
    Some(Bounds { least: Some(parse_number(least.trim())?), most: Some(parse_number(most.trim())?) })
}

/// The number after `>` or `<`, and whether it is inclusive.
fn read_equals(rest: &str) -> (Option<f64>, bool) {
    let number = rest.strip_prefix('=');
    (parse_number(number.unwrap_or(rest).trim()), number.is_some())
}

fn parse_days(text: &str) -> Result<Numbers, Refusal> {
    parse_numbers(DTE.name(), text, "a number, list, range or comparison of days")
}

fn parse_strikes(text: &str) -> Result<Vec<Bounds>, Refusal> {
    Ok(match parse_numbers(STRIKE.name(), text, "a number, list, range or comparison")? {
        Numbers::Plain(strikes) => strikes.into_iter().map(Bounds::exactly).collect(),
        Numbers::Ranges(ranges) => ranges,
    })
}

fn parse_deltas(text: &str) -> Result<Deltas, Refusal> {
    Ok(match parse_numbers(DELTA.name(), text, "a number, list, range or comparison")? {
        Numbers::Plain(deltas) => Deltas::Nearest(deltas.into_iter().map(f64::abs).collect()),
        Numbers::Ranges(ranges) => Deltas::Within(ranges),
    })
}

/// `AAPL 7/28/2028 200 call` in any order of the words.
pub(super) fn parse_words(text: &str) -> Option<ContractKey> {
    let (mut root, mut expiry, mut strike, mut right) = (None, None, None, None);
    for word in text.split_whitespace() {
        let number = word.strip_prefix('$').unwrap_or(word);
        if let Some(date) = parse_date(word).filter(|_| expiry.is_none()) {
            expiry = Some(date);
        } else if let Some(number) = parse_number(number).filter(|_| strike.is_none()) {
            strike = Some(strike_milli(number)?);
        } else if let Some(side) = read_side(word).filter(|_| right.is_none()) {
            right = Some(side);
        } else {
            root = Some(Symbol::parse_underlying(word).filter(|_| root.is_none())?.bare());
        }
    }
    Some(ContractKey { root: root?, expiry: expiry?, strike_milli: strike?, right: right? })
}

/// A right in words; `C` is also a ticker, which comes before the right.
fn read_side(word: &str) -> Option<Right> {
    match word.to_ascii_lowercase().as_str() {
        "call" | "calls" | "c" => Some(Right::Call),
        "put" | "puts" | "p" => Some(Right::Put),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::compact;
    use kernel::calendar::Calendar;
    use proptest::prelude::*;

    /// The date of a text on a Friday in November 2026.
    fn read(text: &str) -> Option<Date> {
        read_day(text).map(|day| day.date(date(2026, 11, 20), Calendar::embedded().zone()))
    }

    #[test]
    fn dates_have_the_vendors_spellings() {
        for (text, wanted) in [
            ("2026-12-18", "2026-12-18"),
            ("12/18/2026", "2026-12-18"),
            ("1/5/2027", "2027-01-05"),
            ("1797627600", "2026-12-18"),
            // Midnight Eastern, and a second before it.
            ("1797570000", "2026-12-18"),
            ("1797569999", "2026-12-17"),
            ("46374", "2026-12-18"),
            ("46374.66667", "2026-12-18"),
            ("today", "2026-11-20"),
            ("Yesterday", "2026-11-19"),
            ("-5 days", "2026-11-15"),
            ("5 days ago", "2026-11-15"),
            ("30 days", "2026-12-20"),
        ] {
            assert_eq!(read(text).map(|d| d.to_string()).as_deref(), Some(wanted), "{text}");
        }
        for bad in ["", "soon", "2026-13-01", "13/13/2026", "1/1/26", "-5", "0", "five days", "1e99", "99999999999999"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_are_lists_ranges_or_comparisons() {
        let strikes = |text: &str| {
            parse_strikes(text).map_or_else(
                |refusal| refusal.to_string(),
                |bounds| bounds.iter().map(|b| format!("{:?}..{:?}", b.least, b.most)).collect::<Vec<_>>().join(" "),
            )
        };
        assert_eq!(strikes("400"), "Some(400.0)..Some(400.0)");
        assert_eq!(strikes("400, 405"), "Some(400.0)..Some(400.0) Some(405.0)..Some(405.0)");
        assert_eq!(strikes("400-410"), "Some(400.0)..Some(410.0)");
        assert_eq!(strikes(">=400"), "Some(400.0)..None");
        assert_eq!(strikes("<= 400"), "None..Some(400.0)");
        assert_eq!(strikes(">400"), format!("Some({:?})..None", 400f64.next_up()));
        assert_eq!(strikes("<400,500"), format!("None..Some({:?}) Some(500.0)..Some(500.0)", 400f64.next_down()));
        for bad in ["high", "400-", "-", ">", "=400", ",", "4-5-6"] {
            assert!(strikes(bad).starts_with("strike: not a number"), "{bad}: {}", strikes(bad));
        }
        assert_eq!(parse_deltas(".60,-.30"), Ok(Deltas::Nearest(vec![0.6, 0.3])));
        let within = Bounds { least: Some(0.3), most: Some(0.6) };
        assert_eq!(parse_deltas(".30-.60"), Ok(Deltas::Within(vec![within])));
    }

    #[test]
    fn words_make_a_symbol() {
        for (text, wanted) in [
            ("AAPL 12/18/2026 230 call", "AAPL261218C00230000"),
            ("aapl 2026-12-18 $257.5 put", "AAPL261218P00257500"),
            ("call AAPL 275.0 1/5/2027", "AAPL270105C00275000"),
            ("BRK.B 12/18/2026 480 p", "BRKB261218P00480000"),
        ] {
            assert_eq!(parse_words(text).map(|key| compact(&key)).as_deref(), Some(wanted), "{text}");
        }
        for bad in
            ["", "AAPL", "AAPL 12/18/2026 230", "AAPL 12/18/2026 call", "12/18/2026 230 call", "A B 1/1/2027 1 c"]
        {
            assert_eq!(parse_words(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_next_monthly_expiration_is_meant_where_none_is_said() {
        let next = |text: &str| parse_series(&Query::parse(text)).unwrap().next_monthly;
        assert!(next("") && next("side=call&strike=100&date=&expiration="));
        for said in OF_EXPIRATIONS
            .iter()
            .map(|param| format!("{}={}", param.name(), if param.name() == "year" { 2026 } else { 1 }))
        {
            assert!(!next(&said), "{said}");
        }
        assert!(parse_series(&Query::parse("weekly=true&monthly=false")).is_err());
        assert!(parse_series(&Query::parse("weekly=false&monthly=false")).is_ok());
    }

    #[test]
    fn a_list_has_an_end() {
        let list = |n: usize| vec!["1"; n].join(",");
        for n in [NUMBERS, NUMBERS + 1, 16_000] {
            let results =
                [parse_deltas(&list(n)).is_ok(), parse_strikes(&list(n)).is_ok(), parse_days(&list(n)).is_ok()];
            assert_eq!(results, [n <= NUMBERS; 3], "{n}");
        }
        let ranges = vec!["1-2"; NUMBERS + 1].join(",");
        assert_eq!(parse_deltas(&ranges).unwrap_err().to_string(), "delta: not a list of up to 64: 65 items");
    }

    proptest! {
        #[test]
        fn no_day_panics(text in "[-+0-9.e/ ]{0,24}( ?(day|days|days ago))?", any in any::<String>(), n in any::<i64>()) {
            for text in [text, any, format!("{n} days"), format!("{n} days ago"), n.to_string()] {
                let _ = (read(&text), parse_words(&text));
            }
        }

        #[test]
        fn every_day_is_read_in_each_spelling(back in 7_305i64..47_482) {
            let day = date(1970, 1, 1).saturating_add(Span::new().days(back));
            let away = (day - date(2026, 11, 20)).get_days();
            for text in [day.to_string(), day.strftime("%m/%d/%Y").to_string(), format!("{away} days")] {
                prop_assert_eq!(read(&text), Some(day), "{}", text);
            }
        }

        #[test]
        fn no_list_of_numbers_panics(text in "[-0-9.,<>= einf]{0,40}") {
            let _ = (parse_deltas(&text), parse_strikes(&text), parse_days(&text).is_ok());
        }
    }
}
