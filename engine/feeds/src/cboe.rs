//! Cboe's delayed chains, one JSON document for an underlying with every root of it. Bytes to records. Never: the
//! vendor's volatilities and Greeks.
//!
//! A document is read as a whole or not at all: if it breaks off, the data before it stay. Quotes have no time of their
//! own: they count as of fifteen minutes before the document.

use super::intake::{Fault, Intake, at};
use super::json::{self, Listed, Number, Text, objects};
use super::spelling::parse_contract;
use super::times::{allowed, parse_civil, parse_eastern};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use kernel::error::{Instead, Reason};
use kernel::limits;
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use std::path::Path;

/// How far the quotes are behind the time of their document.
const DELAY: SignedDuration = SignedDuration::from_mins(15);

objects! {
    struct Document {
        timestamp: Text<'a> = "timestamp",
        symbol: Text<'a> = "symbol",
        data: Data<'a> = "data",
    }
    struct Data {
        options: Option<Listed<CboeContract<'a>>> = "options",
        symbol: Text<'a> = "symbol",
        current_price: Number = "current_price",
        last_trade_time: Text<'a> = "last_trade_time",
    }
    struct CboeContract {
        option: Text<'a> = "option",
        bid: Number = "bid",
        ask: Number = "ask",
        bid_size: Number = "bid_size",
        ask_size: Number = "ask_size",
        volume: Number = "volume",
        open_interest: Number = "open_interest",
        last_trade_time: Text<'a> = "last_trade_time",
    }
}

/// Reads the chain of an underlying: everything that Cboe lists of it, so the batch resets it, unless the document has
/// no price of it: then the last one stays, and with it the contracts that left. A document about another underlying,
/// or without a contract that can be used, changes nothing.
#[must_use]
pub fn parse_cboe(source: &Path, bytes: &[u8], underlying: Symbol, calendar: &Calendar) -> (Batch, Report) {
    let mut report = Report::default();
    let Some(document) = json::parse::<Document<'_>>(source, bytes, &mut report) else {
        return (Batch::default(), report);
    };
    let is_named = [&document.data.symbol, &document.symbol].into_iter().any(|symbol| names(symbol, underlying));
    let contracts = match &document.data.options {
        // a document of another name, or half a list, would reset the chain to the wrong contracts
        Some(contracts) if is_named && !contracts.cut => contracts,
        other => {
            let is_cut = other.as_ref().is_some_and(|contracts| contracts.cut);
            report.say_instead(
                source,
                match () {
                    () if other.is_none() => Instead::OtherFormat,
                    () if is_cut => Instead::TooManyRecords,
                    () => Instead::OtherUnderlying,
                },
            );
            return (Batch::default(), report);
        }
    };
    let mut intake = Intake::new(source, report);
    let ts = match quote_time(&document, calendar) {
        Ok(ts) => ts,
        Err(fault) => {
            intake.spot(1, Err(fault));
            return intake.finish();
        }
    };
    // a chain without a usable price is still listed; the price stays the one before
    let price = at("current_price", document.data.current_price.get(limits::SPOT));
    intake.spot(1, price.map(|price| SpotRecord { ts, underlying, price }));
    for (i, contract) in contracts.items.iter().enumerate() {
        intake.quote(i + 1, "option", contract.quote(underlying, ts));
    }
    // an empty chain would delist the name: the last one stays instead
    if intake.is_empty() {
        intake.say_instead(Instead::Nothing);
        return (Batch::default(), intake.finish().1);
    }
    let (mut batch, report) = intake.finish();
    if !batch.spots.is_empty() {
        batch.reset = vec![underlying];
    }
    (batch, report)
}

/// True if a document's name of its underlying is that one: indices have a `_` or a `^` in front.
fn names(symbol: &Text<'_>, underlying: Symbol) -> bool {
    let name = symbol.get(Reason::NotASymbol).unwrap_or_default();
    Symbol::parse_underlying(name) == Some(underlying)
}

/// When the quotes stood as they are. Documents carry no offset, and are in UTC by all signs; where that would put the
/// document before the newest trade in it, and Eastern time would not, they are in Eastern time.
fn quote_time(document: &Document<'_>, calendar: &Calendar) -> Result<Timestamp, Fault> {
    let made = at("timestamp", document.timestamp.read(Reason::NotATime, parse_civil))?;
    let in_utc = TimeZone::UTC.to_timestamp(made).ok().and_then(allowed).ok_or(("timestamp", Reason::NotATime))?;
    let in_eastern = calendar.instant(made);
    let before_trade =
        newest_trade(&document.data, calendar).is_some_and(|trade| in_utc < trade && trade <= in_eastern);
    let made = if before_trade { in_eastern } else { in_utc };
    made.checked_sub(DELAY).ok().and_then(allowed).ok_or(("timestamp", Reason::NotATime))
}

/// The newest trade: the underlying's own, where its time is given, else the newest of the contracts'.
fn newest_trade(data: &Data<'_>, calendar: &Calendar) -> Option<Timestamp> {
    let time = |text: &Text<'_>| text.read(Reason::NotATime, |text| parse_eastern(text, calendar)).ok();
    let contracts = data.options.iter().flat_map(|options| &options.items);
    time(&data.last_trade_time).or_else(|| {
        // Times of one form order like their texts, which are quicker to compare.
        let texts = contracts.filter_map(|contract| contract.last_trade_time.get(Reason::NotATime).ok());
        texts.max().and_then(|text| parse_eastern(text, calendar))
    })
}

impl CboeContract<'_> {
    fn quote(&self, underlying: Symbol, ts: Timestamp) -> Result<QuoteRecord, Fault> {
        let symbol = at("option", self.option.get(Reason::NotASymbol))?;
        Ok(QuoteRecord {
            ts,
            underlying,
            contract: at("option", parse_contract(symbol))?,
            bid: at("bid", self.bid.or_nan(limits::PRICE))?,
            ask: at("ask", self.ask.or_nan(limits::PRICE))?,
            bid_size: at("bid_size", self.bid_size.or_nan(limits::SIZE))?,
            ask_size: at("ask_size", self.ask_size.or_nan(limits::SIZE))?,
            activity: Activity {
                volume: at("volume", self.volume.or_nan(limits::SIZE))?,
                open_interest: at("open_interest", self.open_interest.or_nan(limits::SIZE))?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three contracts of the vendor's own layout, of two roots, one of them adjusted.
    const DOCUMENT: &str = r#"{"timestamp": "2026-07-24 14:45:00", "data": {"options": [
        {"option": "CLX260821C00055000", "bid": 39.0, "bid_size": 5.0, "ask": 42.1, "ask_size": 5.0, "iv": 0.0,
         "open_interest": 6.0, "delta": 0.9998, "tick": "down", "last_trade_time": "2026-07-23T09:30:32"},
        {"option": "CLX260821P00055000", "bid": 0.0, "bid_size": 0.0, "ask": 0.25, "ask_size": 9.0, "iv": 0.9409,
         "last_trade_time": null},
        {"option": "CLX1260821C00070500", "bid": 1.0, "bid_size": 2.0, "ask": 1.5, "ask_size": 4.0}],
        "symbol": "CLX", "security_type": "stock", "current_price": 95.55, "bid": 95.15, "ask": 95.7,
        "last_trade_time": "2026-07-24T10:29:59"}, "symbol": "CLX"}"#;

    fn clx() -> Symbol {
        Symbol::parse("CLX").unwrap()
    }

    fn parse(text: &str) -> (Batch, Report) {
        parse_cboe(Path::new("cboe/CLX"), text.as_bytes(), clx(), &Calendar::embedded())
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_document_is_the_whole_chain_of_its_underlying() {
        let (batch, report) = parse(DOCUMENT);
        assert_eq!((report.records, report.refused_total(), report.errors.len()), (4, 0, 0));
        assert_eq!(batch.reset, [clx()]);
        let ts = time("2026-07-24T14:30:00Z");
        assert_eq!(batch.spots, [SpotRecord { ts, underlying: clx(), price: 95.55 }]);
        let rows = batch.quotes.iter().map(|q| (q.contract.root.to_string(), q.contract.strike_milli, q.bid, q.ask));
        let want = [("CLX", 55_000, 39.0, 42.1), ("CLX", 55_000, 0.0, 0.25), ("CLX1", 70_500, 1.0, 1.5)];
        assert_eq!(rows.collect::<Vec<_>>(), want.map(|(root, k, b, a)| (root.to_owned(), k, b, a)));
        assert!(batch.quotes.iter().all(|q| q.ts == ts && q.underlying == clx()));
        assert_eq!((batch.quotes[1].bid_size, batch.quotes[1].ask_size), (0.0, 9.0));
    }

    #[test]
    fn the_clock_is_utc_unless_that_lies_before_the_newest_trade() {
        let at = |from: &str, to: &str| parse(&DOCUMENT.replace(from, to)).0.quotes[0].ts;
        let eastern = time("2026-07-24T14:30:00Z");
        assert_eq!(at("14:45:00", "10:45:00"), eastern, "Eastern, or four hours before its trade");
        assert_eq!(at("2026-07-24 14:45:00", "2026-07-25 00:43:14"), time("2026-07-25T00:28:14Z"), "after the close");
        let stray = DOCUMENT.replace("2026-07-24T10:29:59", "2036-07-24T10:29:59");
        assert_eq!(parse(&stray).0.quotes[0].ts, eastern, "a trade that neither reading has seen says nothing");
        let (by_contract, own) = (r#""last_trade_time": null"#, r#""last_trade_time": "2026-07-24T10:29:59"},"#);
        let text = DOCUMENT.replace(own, r#""last_trade_time": null},"#).replace("14:45:00", "10:45:00");
        assert_eq!(parse(&text).0.quotes[0].ts, time("2026-07-24T10:30:00Z"), "no trade since the day before");
        let text = text.replacen(by_contract, r#""last_trade_time": "2026-07-24T10:30:00""#, 1);
        assert_eq!(parse(&text).0.quotes[0].ts, eastern, "a contract's trade says it too");
    }

    #[test]
    fn an_index_is_named_in_its_own_ways_and_has_no_quote() {
        let spx = Symbol::parse("SPX").unwrap();
        for name in ["SPX", "_SPX", "^SPX"] {
            let text = DOCUMENT.replace("\"CLX\"", &format!("\"{name}\"")).replace("95.15", "0").replace("95.7", "0");
            let text = text.replace("CLX260821", "SPXW260821").replace("CLX1260821", "SPX260821");
            let (batch, report) = parse_cboe(Path::new("c"), text.as_bytes(), spx, &Calendar::embedded());
            assert_eq!((batch.quotes.len(), batch.spots.len(), report.refused_total()), (3, 1, 0), "{name}");
        }
    }

    #[test]
    fn a_bad_record_is_refused_with_its_place_and_loses_nothing_else() {
        let cases = [
            ("\"CLX260821P00055000\"", "\"CLX\"", "option", Reason::NotASymbol),
            ("\"CLX260821P00055000\"", "7", "option", Reason::NotASymbol),
            ("\"CLX260821P00055000\"", "null", "option", Reason::Missing),
            ("\"CLX260821P00055000\"", "\"2CLX260821P00055000\"", "option", Reason::Flex),
            ("\"CLX260821P00055000\"", "\"CLX260821C00055000\"", "option", Reason::Duplicate),
            ("\"ask\": 0.25", "\"ask\": -0.25", "ask", Reason::OutOfRange),
            ("\"ask\": 0.25", "\"ask\": 1e300", "ask", Reason::OutOfRange),
            ("\"ask\": 0.25", "\"ask\": \"NaN\"", "ask", Reason::NotANumber),
            ("\"ask\": 0.25", "\"ask\": [0.25]", "ask", Reason::NotANumber),
            ("\"ask_size\": 9.0", "\"ask_size\": -9", "ask_size", Reason::OutOfRange),
        ];
        for (from, to, field, reason) in cases {
            let (batch, report) = parse(&DOCUMENT.replacen(from, to, 1));
            assert_eq!((batch.quotes.len(), report.records, report.refused_total()), (2, 4, 1), "{to}");
            let place = &report.places[0];
            assert_eq!((place.line, place.field, place.reason), (2, field, reason), "{to}");
        }
        let (batch, report) = parse(&DOCUMENT.replace("95.55", "0"));
        assert_eq!((batch.quotes.len(), batch.spots.len(), batch.reset.len()), (3, 0, 0), "the last price stays");
        assert_eq!(report.places[0].to_string(), "cboe/CLX:1: current_price: out_of_range");
    }

    #[test]
    fn what_is_no_chain_of_it_changes_nothing() {
        let other = DOCUMENT.replace("\"CLX\"", "\"CLF\"");
        for (text, said) in [
            (other.as_str(), "cboe/CLX: data of another underlying"),
            ("{}", "cboe/CLX: not in the format"),
            ("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "cboe/CLX: not in the format"),
            (
                "{\"timestamp\":\"2026-07-24 14:45:00\",\"symbol\":\"CLX\",\"data\":{\"options\":[]}}",
                "cboe/CLX: the vendor has no data for this",
            ),
            (&DOCUMENT[..DOCUMENT.len() - 40], "cboe/CLX:8: not a record"),
        ] {
            let (batch, report) = parse(text);
            assert_eq!((batch.quotes.len(), batch.reset.len(), batch.spots.len()), (0, 0, 0), "{said}");
            assert_eq!(report.errors[0].to_string(), said);
        }
        let (batch, report) = parse(&DOCUMENT.replace("2026-07-24 14:45:00", "yesterday"));
        assert_eq!((batch.quotes.len(), batch.reset.len()), (0, 0));
        assert_eq!((report.places[0].field, report.places[0].reason), ("timestamp", Reason::NotATime));
    }
}
