//! Tradier's market data as JSON: chains of one expiration, quotes for the price of the underlying, expirations. Bytes
//! to records. Never: the Greeks beside the quotes, which are another company's and up to an hour old.
//!
//! The answers were XML once: a list with one entry comes as that entry, an empty one as `null` or the word "null".

use super::intake::{Fault, Intake, PriceFrom, at, price_of, read_listed};
use super::json::{self, Given, Listed, Number, Text, Whole, Words, objects};
use super::spelling::parse_contract;
use super::times::{of_millis, parse_date};
use super::{DeclaredDividend, DividendKind};
use jiff::{Timestamp, civil::Date};
use kernel::contract::Symbol;
use kernel::error::{Instead, Reason};
use kernel::limits;
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use std::path::Path;

objects! {
    struct Chain {
        options: Given<Options<'a>> = "options",
        refusal: Refusal<'a> = "fault",
        errors: Refusal<'a> = "errors",
    }
    struct Options {
        option: Listed<TradierContract<'a>> = "option",
    }
    struct TradierContract {
        symbol: Text<'a> = "symbol",
        underlying: Text<'a> = "underlying",
        bid: Number = "bid",
        ask: Number = "ask",
        bidsize: Number = "bidsize",
        asksize: Number = "asksize",
        volume: Number = "volume",
        open_interest: Number = "open_interest",
        bid_date: Whole = "bid_date",
        ask_date: Whole = "ask_date",
    }
    struct Quotes {
        quotes: Given<QuoteList<'a>> = "quotes",
        refusal: Refusal<'a> = "fault",
        errors: Refusal<'a> = "errors",
    }
    struct QuoteList {
        quote: Listed<TradierQuote<'a>> = "quote",
        unmatched: Unmatched<'a> = "unmatched_symbols",
    }
    struct TradierQuote {
        symbol: Text<'a> = "symbol",
        last: Number = "last",
        bid: Number = "bid",
        ask: Number = "ask",
        bid_date: Whole = "bid_date",
        ask_date: Whole = "ask_date",
        trade_date: Whole = "trade_date",
    }
    struct Unmatched {
        symbol: Words<'a> = "symbol",
    }
    struct Expirations {
        expirations: Given<Dates<'a>> = "expirations",
        refusal: Refusal<'a> = "fault",
        errors: Refusal<'a> = "errors",
    }
    struct Dates {
        date: Words<'a> = "date",
        expiration: Listed<Expiration<'a>> = "expiration",
    }
    struct Expiration {
        date: Text<'a> = "date",
    }
    struct Fundamentals {
        request: Text<'a> = "request",
        results: Listed<Company<'a>> = "results",
    }
    struct Company {
        tables: Tables<'a> = "tables",
    }
    struct Tables {
        cash_dividends: Listed<TradierDividend<'a>> = "cash_dividends",
    }
    struct TradierDividend {
        ex_date: Text<'a> = "ex_date",
        amount: Number = "cash_amount",
        currency: Text<'a> = "currency_i_d",
        kind: Text<'a> = "dividend_type",
        frequency: Whole = "frequency",
    }
    /// Either of the vendor's two ways to refuse: `fault` for the key, `errors` for the question.
    struct Refusal {
        faultstring: Text<'a> = "faultstring",
        error: Words<'a> = "error",
    }
}

/// Reads the chain of one expiration. The time of a quote is that of its newer side; a contract of which the vendor
/// gives neither is as of `asked_at`.
#[must_use]
pub fn parse_tradier_chain(source: &Path, bytes: &[u8], underlying: Symbol, asked_at: Timestamp) -> (Batch, Report) {
    let mut report = Report::default();
    let Some(chain) = json::parse::<Chain<'_>>(source, bytes, &mut report) else { return (Batch::default(), report) };
    // no options are null, an empty list, or a fault, and each means something else to the user
    let Some(options) = chain.options.0.as_ref().filter(|options| !options.option.items.is_empty()) else {
        report.say_instead(source, instead(&chain.options, &chain.refusal, &chain.errors));
        return (Batch::default(), report);
    };
    // a cut chain would be fitted as if it were whole
    if options.option.cut {
        report.say_instead(source, Instead::TooManyRecords);
        return (Batch::default(), report);
    }
    let mut intake = Intake::new(source, report);
    for (i, contract) in options.option.items.iter().enumerate() {
        intake.quote(i + 1, "symbol", contract.quote(underlying, asked_at));
    }
    // a stand-in or a wrong address answers with another chain
    intake.report_wrong_name();
    intake.finish()
}

/// Reads quotes of underlyings: the middle of a narrow quote, else the last trade. Options among them, and names that
/// the vendor does not know, are refused.
#[must_use]
pub fn parse_tradier_quotes(source: &Path, bytes: &[u8], asked_at: Timestamp) -> (Batch, Report) {
    let mut report = Report::default();
    let Some(quotes) = json::parse::<Quotes<'_>>(source, bytes, &mut report) else { return (Batch::default(), report) };
    // names that the vendor does not know are listed apart, and are an answer, too
    let some = |list: &&QuoteList<'_>| !list.quote.items.is_empty() || !list.unmatched.symbol.0.items.is_empty();
    let Some(list) = quotes.quotes.0.as_ref().filter(some) else {
        report.say_instead(source, instead(&quotes.quotes, &quotes.refusal, &quotes.errors));
        return (Batch::default(), report);
    };
    let mut intake = Intake::new(source, report);
    for (i, quote) in list.quote.items.iter().enumerate() {
        intake.spot(i + 1, quote.spot(asked_at));
    }
    for i in 1..=list.unmatched.symbol.0.items.len() {
        intake.spot(list.quote.items.len() + i, Err(("unmatched_symbols", Reason::NotASymbol)));
    }
    intake.finish()
}

/// Reads the expirations of an underlying, ascending, in either form (plain dates, or objects with strikes and roots).
#[must_use]
pub fn parse_tradier_expirations(source: &Path, bytes: &[u8]) -> (Vec<Date>, Report) {
    let mut report = Report::default();
    let Some(document) = json::parse::<Expirations<'_>>(source, bytes, &mut report) else {
        return (Vec::new(), report);
    };
    let some = |dates: &Dates<'_>| !dates.date.0.items.is_empty() || !dates.expiration.items.is_empty();
    if !document.expirations.0.as_ref().is_some_and(some) {
        report.say_instead(source, instead(&document.expirations, &document.refusal, &document.errors));
        return (Vec::new(), report);
    }
    let dates = document.expirations.0.unwrap_or_default();
    let mut listed = Listed::default();
    // two forms of one answer: plain dates, or objects where details are asked for
    dates.date.0.items.into_iter().for_each(|date| listed.push(date));
    dates.expiration.items.into_iter().for_each(|expiration| listed.push(expiration.date));
    let (mut out, report) =
        read_listed(source, report, &listed, |date| at("date", date.read(Reason::NotADate, parse_date)));
    // a plan of requests needs each date once, and in order
    out.sort_unstable();
    out.dedup();
    (out, report)
}

/// Reads dividends of the names asked for. What a name is listed with more than once is one.
#[must_use]
pub fn parse_tradier_dividends(source: &Path, bytes: &[u8]) -> (Vec<DeclaredDividend>, Report) {
    let mut report = Report::default();
    let Some(names) = json::parse::<Listed<Fundamentals<'_>>>(source, bytes, &mut report) else {
        return (Vec::new(), report);
    };
    // any JSON list parses: one without a name is no answer of this endpoint
    if names.cut || !names.items.iter().any(|name| name.request.is_some()) {
        report.say_instead(source, if names.cut { Instead::TooManyRecords } else { Instead::OtherFormat });
        return (Vec::new(), report);
    }
    let mut rows = Listed::default();
    for name in names.items {
        let symbol = name.request.read(Reason::NotASymbol, Symbol::parse_underlying);
        let companies = name.results.items.into_iter().flat_map(|company| company.tables.cash_dividends.items);
        companies.for_each(|dividend| rows.push((symbol, dividend)));
    }
    let (mut out, report) =
        read_listed(source, report, &rows, |(symbol, dividend)| dividend.declared(at("request", *symbol)?));
    out.sort_by_key(|dividend| (dividend.underlying, dividend.ex_date));
    out.dedup();
    (out, report)
}

/// Meaning of an answer without an entry.
fn instead<T>(list: &Given<T>, fault: &Refusal<'_>, errors: &Refusal<'_>) -> Instead {
    match () {
        // faults come from the gateway (token, plan), errors from the endpoint (the request)
        () if fault.faultstring.is_some() => Instead::NotPermitted,
        () if errors.error.0.items.iter().any(Text::is_some) => Instead::WrongQuestion,
        () if list.0.is_some() => Instead::Nothing,
        () => Instead::OtherFormat,
    }
}

impl TradierContract<'_> {
    fn quote(&self, underlying: Symbol, asked_at: Timestamp) -> Result<QuoteRecord, Fault> {
        let symbol = at("symbol", self.symbol.get(Reason::NotASymbol))?;
        if self.underlying.is_some() {
            let named = at("underlying", self.underlying.read(Reason::NotASymbol, Symbol::parse_underlying))?;
            at("underlying", if named == underlying { Ok(()) } else { Err(Reason::OtherUnderlying) })?;
        }
        let bid_time = at("bid_date", self.bid_date.time(of_millis))?;
        let ask_time = at("ask_date", self.ask_date.time(of_millis))?;
        Ok(QuoteRecord {
            // a contract without a quote time: the quote is as of the request
            ts: bid_time.max(ask_time).unwrap_or(asked_at),
            underlying,
            contract: at("symbol", parse_contract(symbol))?,
            bid: at("bid", self.bid.or_nan(limits::PRICE))?,
            ask: at("ask", self.ask.or_nan(limits::PRICE))?,
            bid_size: at("bidsize", self.bidsize.or_nan(limits::SIZE))?,
            ask_size: at("asksize", self.asksize.or_nan(limits::SIZE))?,
            activity: Activity {
                volume: at("volume", self.volume.or_nan(limits::SIZE))?,
                open_interest: at("open_interest", self.open_interest.or_nan(limits::SIZE))?,
            },
        })
    }
}

impl TradierDividend<'_> {
    fn declared(&self, underlying: Symbol) -> Result<DeclaredDividend, Fault> {
        if self.currency.is_some() {
            // a dividend in another currency has no place in a dollar price
            at("currency_i_d", self.currency.read(Reason::NotAWord, |word| (word == "USD").then_some(())))?;
        }
        let per_year = match self.frequency {
            Whole::Is(n) => u8::try_from(n).ok(),
            _ => None,
        };
        // special dividends do not recur, so nothing may be projected from them
        let is_regular = matches!(self.kind.get(Reason::NotAWord), Ok("CD") | Err(Reason::Missing));
        Ok(DeclaredDividend {
            underlying,
            ex_date: at("ex_date", self.ex_date.read(Reason::NotADate, parse_date))?,
            amount: at("cash_amount", self.amount.get(limits::DIVIDEND))?,
            kind: if is_regular && per_year != Some(0) { DividendKind::Regular } else { DividendKind::Special },
            per_year,
        })
    }
}

impl TradierQuote<'_> {
    fn spot(&self, asked_at: Timestamp) -> Result<SpotRecord, Fault> {
        let underlying = at("symbol", self.symbol.read(Reason::NotASymbol, Symbol::parse_underlying))?;
        let price = |field, number: Number| at(field, number.or_nan(limits::PRICE));
        let found = price_of(price("bid", self.bid)?, price("ask", self.ask)?, price("last", self.last)?);
        let bid_time = at("bid_date", self.bid_date.time(of_millis))?;
        let ask_time = at("ask_date", self.ask_date.time(of_millis))?;
        let (price, ts) = match found {
            Some(PriceFrom::Quote(price)) => (price, bid_time.max(ask_time)),
            // a trade has its own time, often hours before the quote's
            Some(PriceFrom::Trade(price)) => (price, at("trade_date", self.trade_date.time(of_millis))?),
            None => return Err(("last", Reason::Missing)),
        };
        let price = at("last", limits::SPOT.admit(price))?;
        Ok(SpotRecord { ts: ts.unwrap_or(asked_at), underlying, price })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const CALL: &str = r#"{"symbol":"BRKB261218C00500000","last":0.3,"bid":21.5,"ask":21.9,"bidsize":12,"asksize":7,
        "bid_date":1790370000000,"ask_date":1790370060000,"underlying":"BRK/B","root_symbol":"BRKB","strike":500.0,
        "expiration_date":"2026-12-18","option_type":"call","greeks":null,"close":null}"#;

    fn asked_at() -> Timestamp {
        "2026-09-25T21:00:00Z".parse().unwrap()
    }

    fn brk() -> Symbol {
        Symbol::parse("BRK.B").unwrap()
    }

    fn chain(text: &str) -> (Batch, Report) {
        parse_tradier_chain(Path::new("tradier"), text.as_bytes(), brk(), asked_at())
    }

    #[test]
    fn one_contract_is_a_list_too_and_the_newer_side_has_the_time() {
        for text in [format!(r#"{{"options":{{"option":{CALL}}}}}"#), format!(r#"{{"options":{{"option":[{CALL}]}}}}"#)]
        {
            let (batch, report) = chain(&text);
            assert_eq!((report.refused_total(), report.errors.len(), batch.reset.len()), (0, 0, 0));
            let q = &batch.quotes[0];
            assert_eq!((q.ts, q.underlying), ("2026-09-25T21:01:00Z".parse().unwrap(), brk()));
            assert_eq!(
                (q.contract.root.as_str(), q.contract.strike_milli, q.bid, q.ask),
                ("BRKB", 500_000, 21.5, 21.9)
            );
            assert_eq!((q.bid_size, q.ask_size), (12.0, 7.0));
        }
        let undated = CALL.replace("1790370000000", "0").replace("1790370060000", "null");
        assert_eq!(chain(&format!(r#"{{"options":{{"option":{undated}}}}}"#)).0.quotes[0].ts, asked_at());
    }

    #[test]
    fn an_empty_chain_has_three_forms_and_a_refusal_two() {
        for (text, want) in [
            (r#"{"options":null}"#, Instead::Nothing),
            (r#"{"options":"null"}"#, Instead::Nothing),
            (r#"{"options":{"option":null}}"#, Instead::Nothing),
            (r#"{"fault":{"faultstring":"Invalid access token","detail":{"errorcode":"x"}}}"#, Instead::NotPermitted),
            (r#"{"errors":{"error":"Invalid parameter, expiration"}}"#, Instead::WrongQuestion),
            (r#"{"errors":{"error":["one","two"]}}"#, Instead::WrongQuestion),
            ("Invalid Access Token", Instead::OtherFormat),
            ("{}", Instead::OtherFormat),
        ] {
            let (batch, report) = chain(text);
            assert!(batch.quotes.is_empty(), "{text}");
            assert_eq!(report.errors[0].to_string(), format!("tradier: {want}"), "{text}");
        }
    }

    #[test]
    fn contracts_of_another_name_are_refused() {
        let other = CALL.replace("BRK/B", "BRK/A");
        let (batch, report) = chain(&format!(r#"{{"options":{{"option":[{other},{CALL}]}}}}"#));
        assert_eq!((batch.quotes.len(), report.refused[Reason::OtherUnderlying as usize]), (1, 1));
        let (batch, report) = chain(&format!(r#"{{"options":{{"option":[{other}]}}}}"#));
        assert!(batch.quotes.is_empty());
        assert_eq!(report.errors[0].to_string(), "tradier: data of another underlying");
    }

    #[test]
    fn each_bad_field_is_refused_with_its_place() {
        for (from, to, field, reason) in [
            ("\"BRKB261218C00510000\"", "\"null\"", "symbol", Reason::NotASymbol),
            ("21.5", "-21.5", "bid", Reason::OutOfRange),
            ("21.9", "\"x\"", "ask", Reason::NotANumber),
            ("1790370060000", "1790370060000000", "ask_date", Reason::NotATime),
            ("1790370060000", "-1", "ask_date", Reason::NotATime),
            (":12", ":-1", "bidsize", Reason::OutOfRange),
        ] {
            let other = CALL.replace("C00500000", "C00510000").replace(from, to);
            let text = format!(r#"{{"options":{{"option":[{CALL},{other}]}}}}"#);
            let (batch, report) = chain(&text);
            assert_eq!((batch.quotes.len(), report.records), (1, 2), "{to}");
            let place = &report.places[0];
            assert_eq!((place.line, place.field, place.reason), (2, field, reason), "{to}");
        }
    }

    #[test]
    fn the_price_is_the_middle_of_a_narrow_quote_else_the_trade() {
        let quote = |bid: f64, ask: f64| {
            format!(
                r#"{{"quotes":{{"quote":{{"symbol":"BRK/B","last":501.0,"bid":{bid},"ask":{ask},"bid_date":1790370000000,
                "ask_date":1790370001000,"trade_date":1790369000000}},"unmatched_symbols":{{"symbol":"NOPE"}}}}}}"#
            )
        };
        for (bid, ask, price, ts) in [
            (500.0, 501.0, 500.5, "2026-09-25T21:00:01Z"),
            (400.0, 600.0, 501.0, "2026-09-25T20:43:20Z"),
            (0.0, 0.0, 501.0, "2026-09-25T20:43:20Z"),
            (502.0, 501.0, 501.0, "2026-09-25T20:43:20Z"),
        ] {
            let (batch, report) = parse_tradier_quotes(Path::new("q"), quote(bid, ask).as_bytes(), asked_at());
            assert_eq!(batch.spots, [SpotRecord { ts: ts.parse().unwrap(), underlying: brk(), price }], "{bid} {ask}");
            assert_eq!(report.places[0].to_string(), "q:2: unmatched_symbols: not_a_symbol");
        }
        let (batch, report) = parse_tradier_quotes(Path::new("q"), br#"{"quotes":"null"}"#, asked_at());
        assert_eq!(
            (batch.spots.len(), report.errors[0].to_string().as_str()),
            (0, "q: the vendor has no data for this")
        );
    }

    #[test]
    fn expirations_are_dates_or_objects() {
        let read = |text: &str| parse_tradier_expirations(Path::new("e"), text.as_bytes());
        let want = [date(2026, 9, 18), date(2026, 12, 18)];
        for text in [
            r#"{"expirations":{"date":["2026-12-18","2026-09-18"]}}"#,
            r#"{"expirations":{"expiration":[{"date":"2026-09-18","strikes":{"strike":[1]}},{"date":"2026-12-18"},{"date":"2026-12-18"}]}}"#,
        ] {
            assert_eq!(read(text).0, want, "{text}");
        }
        assert_eq!(read(r#"{"expirations":{"date":"2026-09-18"}}"#).0, want[..1]);
        assert_eq!(read(r#"{"expirations":{"date":["2026-09-18","soon"]}}"#).1.refused_total(), 1);
        assert_eq!(read(r#"{"expirations":null}"#).1.errors[0].to_string(), "e: the vendor has no data for this");
    }

    #[test]
    fn dividends_stand_in_tables_of_tables() {
        let row = r#"{"share_class_id":"0P","dividend_type":"CD","ex_date":"2026-08-10","cash_amount":0.26,
            "currency_i_d":"USD","declaration_date":"2026-07-30","frequency":4,"pay_date":"2026-08-13"}"#;
        let text = format!(
            r#"[{{"request":"AAPL","type":"Symbol","results":[{{"type":"Company","tables":{{"cash_dividends":null}}}},
            {{"type":"Stock","tables":{{"cash_dividends":[{row},{row},{}]}}}}]}},
            {{"request":"KO","results":[{{"tables":{{"cash_dividends":{}}}}}]}}]"#,
            row.replace("USD", "CAD"),
            row.replace("CD", "SD").replace("0.26", "1.5"),
        );
        let (rows, report) = parse_tradier_dividends(Path::new("d"), text.as_bytes());
        let seen: Vec<_> = rows.iter().map(|d| (d.underlying.to_string(), d.amount, d.kind, d.per_year)).collect();
        let want = [
            ("AAPL".to_owned(), 0.26, DividendKind::Regular, Some(4)),
            ("KO".to_owned(), 1.5, DividendKind::Special, Some(4)),
        ];
        assert_eq!(seen, want);
        assert_eq!(report.places[0].to_string(), "d:3: currency_i_d: not_a_word");
        let (_, report) = parse_tradier_dividends(Path::new("d"), br#"{"fault":{"faultstring":"x"}}"#);
        assert_eq!(report.errors[0].to_string(), format!("d: {}", Instead::OtherFormat));
    }
}
