//! Schwab's Trader API as JSON: chains, quotes for the price of the underlying, expirations. Bytes to records. Never:
//! the volatilities and Greeks beside the quotes.

use super::Grade;
use super::intake::{Fault, Intake, PriceFrom, at, price_of, read_listed};
use super::json::{self, Flag, Given, Keyed, Listed, Number, Text, Whole, Words, objects};
use super::spelling::parse_contract;
use super::times::{of_millis, parse_date};
use jiff::{Timestamp, civil::Date};
use kernel::contract::Symbol;
use kernel::error::{Instead, Reason};
use kernel::limits;
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use std::path::Path;

/// Contracts of one right: by expiration and days to it, then by strike.
type ByExpiry<'a> = Given<Keyed<'a, Keyed<'a, Listed<SchwabContract<'a>>>>>;

objects! {
    struct SchwabChain {
        symbol: Text<'a> = "symbol",
        delayed: Flag = "isDelayed",
        truncated: Flag = "isChainTruncated",
        calls: ByExpiry<'a> = "callExpDateMap",
        puts: ByExpiry<'a> = "putExpDateMap",
        errors: Given<Listed<SchwabError<'a>>> = "errors",
        fault: Given<SchwabError<'a>> = "fault",
    }
    struct SchwabContract {
        symbol: Text<'a> = "symbol",
        bid: Number = "bid",
        ask: Number = "ask",
        bid_size: Number = "bidSize",
        ask_size: Number = "askSize",
        volume: Number = "totalVolume",
        open_interest: Number = "openInterest",
        quoted: Whole = "quoteTimeInLong",
    }
    struct SchwabEntry {
        symbol: Text<'a> = "symbol",
        realtime: Flag = "realtime",
        quote: Given<SchwabPrices<'a>> = "quote",
        invalid: Words<'a> = "invalidSymbols",
    }
    struct SchwabPrices {
        bid: Number = "bidPrice",
        ask: Number = "askPrice",
        last: Number = "lastPrice",
        quoted: Whole = "quoteTime",
        traded: Whole = "tradeTime",
    }
    struct SchwabExpirations {
        list: Given<Listed<SchwabExpiration<'a>>> = "expirationList",
        errors: Given<Listed<SchwabError<'a>>> = "errors",
        fault: Given<SchwabError<'a>> = "fault",
    }
    /// The vendor's documents have the date under either name.
    struct SchwabExpiration {
        date: Text<'a> = "expirationDate",
        other: Text<'a> = "expiration",
    }
    struct SchwabError {
        title: Text<'a> = "title",
    }
}

/// Reads a chain, or the part of one that was asked for. A contract without a quote time is as of `asked_at`.
#[must_use]
pub fn parse_schwab_chain(
    source: &Path,
    bytes: &[u8],
    underlying: Symbol,
    asked_at: Timestamp,
) -> (Batch, Grade, Report) {
    let mut report = Report::default();
    let nothing = |report| (Batch::default(), Grade::Live, report);
    let Some(chain) = json::parse::<SchwabChain<'_>>(source, bytes, &mut report) else { return nothing(report) };
    let (Some(calls), Some(puts)) = (&chain.calls.0, &chain.puts.0) else {
        report.say_instead(source, instead(&chain.errors, &chain.fault));
        return nothing(report);
    };
    let lists = || [calls, puts].into_iter().flat_map(|right| &right.0.items).map(|(_, strikes)| &strikes.0);
    let contracts = || lists().flat_map(|strikes| &strikes.items).map(|(_, contracts)| contracts);
    let is_cut = calls.0.cut || puts.0.cut || lists().any(|list| list.cut) || contracts().any(|list| list.cut);
    let named = chain.symbol.read(Reason::NotASymbol, Symbol::parse_underlying);
    let what = match () {
        // a cut chain would be fitted as if it were whole
        () if is_cut || chain.truncated.is(true) => Some(Instead::TooManyRecords),
        () if named.is_ok_and(|named| named != underlying) => Some(Instead::OtherUnderlying),
        () if contracts().all(|list| list.items.is_empty()) => Some(Instead::Nothing),
        () => None,
    };
    if let Some(what) = what {
        report.say_instead(source, what);
        return nothing(report);
    }
    let mut intake = Intake::new(source, report);
    for (i, contract) in (1..).zip(contracts().flat_map(|list| &list.items)) {
        intake.quote(i, "symbol", contract.quote(underlying, asked_at));
    }
    let (batch, report) = intake.finish();
    (batch, if chain.delayed.is(true) { Grade::Delayed } else { Grade::Live }, report)
}

/// Reads quotes of underlyings: the middle of a narrow quote, else the last trade. Symbols that the vendor does not
/// know are refused.
#[must_use]
pub fn parse_schwab_quotes(source: &Path, bytes: &[u8], asked_at: Timestamp) -> (Batch, Grade, Report) {
    let mut report = Report::default();
    let Some(Keyed(entries)) = json::parse::<Keyed<'_, SchwabEntry<'_>>>(source, bytes, &mut report) else {
        return (Batch::default(), Grade::Live, report);
    };
    let has_some = |entry: &SchwabEntry<'_>| entry.quote.0.is_some() || !entry.invalid.0.items.is_empty();
    if !entries.items.iter().any(|(_, entry)| has_some(entry)) {
        let what = match entries.items.first() {
            Some((key, _)) if key.as_str() == "errors" => Instead::WrongQuestion,
            Some((key, _)) if key.as_str() == "fault" => Instead::NotPermitted,
            Some(_) => Instead::OtherFormat,
            None => Instead::Nothing,
        };
        report.say_instead(source, what);
        return (Batch::default(), Grade::Live, report);
    }
    let (mut intake, mut grade) = (Intake::new(source, report), Grade::Live);
    for (i, (key, entry)) in (1..).zip(&entries.items) {
        if key.as_str() == "errors" {
            entry.invalid.0.items.iter().for_each(|_| intake.spot(i, Err(("invalidSymbols", Reason::NotASymbol))));
            continue;
        }
        intake.spot(i, entry.spot(key.as_str(), asked_at));
        if entry.realtime.is(false) {
            grade = Grade::Delayed;
        }
    }
    let (batch, report) = intake.finish();
    (batch, grade, report)
}

/// Reads the expirations of an underlying, ascending, each once: an index has several roots.
#[must_use]
pub fn parse_schwab_expirations(source: &Path, bytes: &[u8]) -> (Vec<Date>, Report) {
    let mut report = Report::default();
    let Some(document) = json::parse::<SchwabExpirations<'_>>(source, bytes, &mut report) else {
        return (Vec::new(), report);
    };
    let list = document.list.0.as_ref();
    let Some(list) = list.filter(|list| !list.items.is_empty()) else {
        let what = if list.is_some() { Instead::Nothing } else { instead(&document.errors, &document.fault) };
        report.say_instead(source, what);
        return (Vec::new(), report);
    };
    let (mut out, report) = read_listed(source, report, list, |expiration| {
        let date = if expiration.date.is_some() { &expiration.date } else { &expiration.other };
        at("expirationDate", date.read(Reason::NotADate, parse_date))
    });
    out.sort_unstable();
    out.dedup();
    (out, report)
}

/// Meaning of an answer without data: errors are of the endpoint (the request), a fault is of the gateway.
fn instead(errors: &Given<Listed<SchwabError<'_>>>, fault: &Given<SchwabError<'_>>) -> Instead {
    match () {
        () if errors.0.as_ref().is_some_and(|list| list.items.iter().any(|error| error.title.is_some())) => {
            Instead::WrongQuestion
        }
        () if fault.0.is_some() => Instead::NotPermitted,
        () => Instead::OtherFormat,
    }
}

impl SchwabContract<'_> {
    fn quote(&self, underlying: Symbol, asked_at: Timestamp) -> Result<QuoteRecord, Fault> {
        let symbol = at("symbol", self.symbol.get(Reason::NotASymbol))?;
        Ok(QuoteRecord {
            ts: at("quoteTimeInLong", self.quoted.time(of_millis))?.unwrap_or(asked_at),
            underlying,
            contract: at("symbol", parse_contract(symbol))?,
            bid: at("bid", self.bid.or_nan(limits::PRICE))?,
            ask: at("ask", self.ask.or_nan(limits::PRICE))?,
            bid_size: at("bidSize", self.bid_size.or_nan(limits::SIZE))?,
            ask_size: at("askSize", self.ask_size.or_nan(limits::SIZE))?,
            activity: Activity {
                volume: at("totalVolume", self.volume.or_nan(limits::SIZE))?,
                open_interest: at("openInterest", self.open_interest.or_nan(limits::SIZE))?,
            },
        })
    }
}

impl SchwabEntry<'_> {
    fn spot(&self, key: &str, asked_at: Timestamp) -> Result<SpotRecord, Fault> {
        let symbol = self.symbol.get(Reason::NotASymbol).unwrap_or(key);
        let underlying = at("symbol", Symbol::parse_underlying(symbol).ok_or(Reason::NotASymbol))?;
        let prices = self.quote.0.as_ref().ok_or(("quote", Reason::Missing))?;
        let price = |field, number: Number| at(field, number.or_nan(limits::PRICE));
        let found =
            price_of(price("bidPrice", prices.bid)?, price("askPrice", prices.ask)?, price("lastPrice", prices.last)?);
        let (price, ts) = match found {
            Some(PriceFrom::Quote(price)) => (price, at("quoteTime", prices.quoted.time(of_millis))?),
            // an index has neither quotes nor their time
            Some(PriceFrom::Trade(price)) => (price, at("tradeTime", prices.traded.time(of_millis))?),
            None => return Err(("lastPrice", Reason::Missing)),
        };
        let price = at("lastPrice", limits::SPOT.admit(price))?;
        Ok(SpotRecord { ts: ts.unwrap_or(asked_at), underlying, price })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const CALL: &str = r#"{"putCall":"CALL","symbol":"SPXW  261218C05000000","bid":21.5,"ask":21.9,"bidSize":12,
        "askSize":7,"totalVolume":25,"openInterest":1304,"quoteTimeInLong":1790370060000,"volatility":"NaN",
        "strikePrice":5000.0}"#;

    fn asked_at() -> Timestamp {
        "2026-09-25T21:00:00Z".parse().unwrap()
    }

    fn spx() -> Symbol {
        Symbol::parse("SPX").unwrap()
    }

    fn chain(head: &str, calls: &str, puts: &str) -> (Batch, Grade, Report) {
        let text = format!("{{{head}\"callExpDateMap\":{calls},\"putExpDateMap\":{puts}}}");
        parse_schwab_chain(Path::new("schwab"), text.as_bytes(), spx(), asked_at())
    }

    fn at_a_strike(contract: &str) -> String {
        format!("{{\"2026-12-18:84\":{{\"5000.0\":[{contract}]}}}}")
    }

    #[test]
    fn contracts_are_nested_by_expiration_and_strike() {
        let put = CALL.replace("1218C", "1218P").replace("1790370060000", "0");
        let head = "\"symbol\":\"$SPX\",\"status\":\"SUCCESS\",\"isDelayed\":true,\"isChainTruncated\":false,";
        let (batch, grade, report) = chain(head, &at_a_strike(CALL), &at_a_strike(&put));
        assert_eq!((report.refused_total(), report.errors.len(), grade), (0, 0, Grade::Delayed));
        let [call, put] = &batch.quotes[..] else { panic!("{batch:?}") };
        assert_eq!((call.ts, put.ts), ("2026-09-25T21:01:00Z".parse().unwrap(), asked_at()));
        assert_eq!((call.contract.root.as_str(), call.contract.strike_milli, call.bid), ("SPXW", 5_000_000, 21.5));
        assert_eq!((call.activity.volume, call.activity.open_interest, call.ask_size), (25.0, 1304.0, 7.0));
    }

    #[test]
    fn what_is_no_whole_chain_of_the_name_has_its_reason() {
        let one = at_a_strike(CALL);
        for (head, calls, want) in [
            ("\"symbol\":\"$NDX\",", one.as_str(), Instead::OtherUnderlying),
            ("\"isChainTruncated\":true,", &one, Instead::TooManyRecords),
            ("\"status\":\"FAILED\",", "{}", Instead::Nothing),
            ("\"status\":\"FAILED\",", "null", Instead::Nothing),
        ] {
            let (batch, _, report) = chain(head, calls, "{}");
            assert!(batch.quotes.is_empty(), "{head}");
            assert_eq!(report.errors[0].to_string(), format!("schwab: {want}"), "{head}");
        }
        for (text, want) in [
            (r#"{"errors":[{"id":"x","status":"400","title":"Bad Request"}]}"#, Instead::WrongQuestion),
            (r#"{"fault":{"faultstring":"Body buffer overflow"}}"#, Instead::NotPermitted),
            ("{}", Instead::OtherFormat),
            ("<html>", Instead::OtherFormat),
        ] {
            let source = Path::new("schwab");
            let read = parse_schwab_chain(source, text.as_bytes(), spx(), asked_at()).2;
            let dates = parse_schwab_expirations(source, text.as_bytes()).1;
            for report in [read, dates] {
                assert_eq!(report.errors[0].to_string(), format!("schwab: {want}"), "{text}");
            }
        }
    }

    #[test]
    fn quotes_of_many_names_are_read_together() {
        let text = r#"{"$SPX":{"assetMainType":"INDEX","symbol":"$SPX","realtime":true,
            "quote":{"lastPrice":6601.5,"tradeTime":1790370059000}},
            "BRK/B":{"realtime":true,"quote":{"bidPrice":480.1,"askPrice":480.3,"lastPrice":470,
            "quoteTime":1790370060000,"tradeTime":1790370000000}},"errors":{"invalidSymbols":["NOPE","X?"]}}"#;
        let (batch, grade, report) = parse_schwab_quotes(Path::new("schwab"), text.as_bytes(), asked_at());
        assert_eq!((grade, report.refused[Reason::NotASymbol as usize], report.errors.len()), (Grade::Live, 2, 0));
        let spots: Vec<_> = batch.spots.iter().map(|spot| (spot.underlying.as_str(), spot.price)).collect();
        assert!(
            matches!(spots[..], [("SPX", a), ("BRK.B", b)] if (a - 6601.5).abs() < 1e-9 && (b - 480.2).abs() < 1e-9),
            "{spots:?}"
        );
        assert!(batch.spots[0].ts < batch.spots[1].ts);
        let delayed = text.replace("\"realtime\":true", "\"realtime\":false");
        assert_eq!(parse_schwab_quotes(Path::new("schwab"), delayed.as_bytes(), asked_at()).1, Grade::Delayed);
        let refused = parse_schwab_quotes(Path::new("schwab"), br#"{"errors":[{"status":400}]}"#, asked_at()).2;
        assert_eq!(refused.errors[0].to_string(), format!("schwab: {}", Instead::WrongQuestion));
    }

    #[test]
    fn expirations_of_two_roots_are_one() {
        let text = r#"{"status":"SUCCESS","expirationList":[{"expirationDate":"2027-01-15","expirationType":"S"},
            {"expiration":"2026-12-18"},{"expirationDate":"2026-12-18","expirationType":"W"}]}"#;
        let (dates, report) = parse_schwab_expirations(Path::new("schwab"), text.as_bytes());
        assert_eq!((dates, report.refused_total()), (vec![date(2026, 12, 18), date(2027, 1, 15)], 0));
    }
}
