//! Massive's (once Polygon's) snapshots of option chains, page by page, with the price of the underlying in every
//! record. Bytes to records. Never: the vendor's volatilities and Greeks.

use super::intake::{Fault, Intake, at, read_listed};
use super::json::{self, Given, Listed, Number, Text, Whole, objects};
use super::spelling::parse_contract;
use super::times::{of_nanos, parse_date};
use super::{DeclaredDividend, DividendKind, DividendPage, Grade, QuotePage};
use jiff::Timestamp;
use kernel::contract::{ContractKey, Symbol};
use kernel::error::{Instead, Reason};
use kernel::limits;
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use std::path::Path;

objects! {
    struct MassivePage {
        status: Text<'a> = "status",
        results: Given<Listed<MassiveContract<'a>>> = "results",
        next_url: Text<'a> = "next_url",
    }
    struct DividendList {
        status: Text<'a> = "status",
        results: Given<Listed<MassiveDividend<'a>>> = "results",
        next_url: Text<'a> = "next_url",
    }
    /// The older kind is `dividend_type`, the newer one `distribution_type`.
    struct MassiveDividend {
        ticker: Text<'a> = "ticker",
        ex_date: Text<'a> = "ex_dividend_date",
        amount: Number = "cash_amount",
        currency: Text<'a> = "currency",
        frequency: Whole = "frequency",
        dividend_type: Text<'a> = "dividend_type",
        distribution_type: Text<'a> = "distribution_type",
    }
    struct MassiveContract {
        details: Details<'a> = "details",
        last_quote: Given<MassiveQuote<'a>> = "last_quote",
        underlying: Underlying<'a> = "underlying_asset",
        day: MassiveDay<'a> = "day",
        open_interest: Number = "open_interest",
    }
    struct MassiveDay {
        volume: Number = "volume",
    }
    struct Details {
        ticker: Text<'a> = "ticker",
    }
    struct MassiveQuote {
        bid: Number = "bid",
        ask: Number = "ask",
        bid_size: Number = "bid_size",
        ask_size: Number = "ask_size",
        last_updated: Whole = "last_updated",
        timeframe: Text<'a> = "timeframe",
    }
    struct Underlying {
        ticker: Text<'a> = "ticker",
        price: Number = "price",
        value: Number = "value",
        last_updated: Whole = "last_updated",
    }
}

/// Reads one page of a chain. A contract without a quote is as of the page's latest quote. A page on which no contract
/// has one is [`Instead::NoQuotes`]: plans below the dearest have trades only.
#[must_use]
pub fn parse_massive_snapshot(source: &Path, bytes: &[u8], underlying: Symbol) -> (QuotePage, Report) {
    let mut report = Report::default();
    let empty = QuotePage { batch: Batch::default(), next: None, grade: Grade::Live };
    let Some(page) = json::parse::<MassivePage<'_>>(source, bytes, &mut report) else { return (empty, report) };
    // an empty page is no empty chain: its status says what it stands for
    let Some(results) = page.results.0.filter(|results| !results.items.is_empty()) else {
        report.say_instead(source, instead_of_results(&page.status));
        return (empty, report);
    };
    if results.cut {
        report.say_instead(source, Instead::TooManyRecords);
        return (empty, report);
    }
    // a plan without quotes lists contracts and nothing else: saying so beats a chain that never has Greeks
    if results.items.iter().all(|contract| contract.last_quote.0.is_none()) {
        report.say_instead(source, Instead::NoQuotes);
        return (empty, report);
    }
    let mut intake = Intake::new(source, report);
    let (mut unquoted, mut delayed) = (Vec::new(), false);
    for (i, contract) in (1..).zip(&results.items) {
        match contract.key(underlying) {
            Err(fault) => intake.quote(i, "ticker", Err(fault)),
            Ok(key) => match &contract.last_quote.0 {
                None => unquoted.push((i, key)),
                Some(quote) => {
                    // one delayed quote makes the page delayed: a mixture must not pass as live
                    delayed |= quote.timeframe.get(Reason::NotAWord) == Ok("DELAYED");
                    let record = contract.activity().and_then(|activity| quote.record(underlying, key, activity));
                    intake.quote(i, "ticker", record);
                }
            },
        }
    }
    intake.list_unquoted(underlying, "ticker", unquoted);
    intake.report_wrong_name();
    // each contract repeats the underlying's price: the newest of them counts, once
    let own = (1..).zip(&results.items).filter(|(_, contract)| contract.key(underlying).is_ok());
    if let Some((i, newest)) = own.max_by_key(|(_, contract)| contract.underlying.time()) {
        intake.spot(i, newest.underlying.spot(underlying));
    }
    let (batch, report) = intake.finish();
    let grade = if delayed { Grade::Delayed } else { Grade::Live };
    (QuotePage { batch, next: query_of(&page.next_url), grade }, report)
}

/// Reads one page of dividends, of the older or the newer address.
#[must_use]
pub fn parse_massive_dividends(source: &Path, bytes: &[u8]) -> (DividendPage, Report) {
    let mut report = Report::default();
    let empty = DividendPage { dividends: Vec::new(), next: None };
    let Some(page) = json::parse::<DividendList<'_>>(source, bytes, &mut report) else { return (empty, report) };
    match &page.results.0 {
        Some(rows) => {
            let (dividends, report) = read_listed(source, report, rows, MassiveDividend::declared);
            (DividendPage { dividends, next: query_of(&page.next_url) }, report)
        }
        None => {
            report.say_instead(source, instead_of_results(&page.status));
            (empty, report)
        }
    }
}

/// Meaning of an answer without results.
fn instead_of_results(status: &Text<'_>) -> Instead {
    match status.get(Reason::NotAWord) {
        Ok("OK" | "DELAYED") => Instead::Nothing,
        Ok("NOT_AUTHORIZED") => Instead::NotPermitted,
        Ok("NOT_FOUND") => Instead::Nothing,
        Ok("ERROR") => Instead::WrongQuestion,
        _ => Instead::OtherFormat,
    }
}

/// The query of the next page's address.
fn query_of(next_url: &Text<'_>) -> Option<String> {
    // only the query is taken over: the next page is asked of the same server, whatever the document names
    let (_, query) = next_url.get(Reason::NotAWord).ok()?.split_once('?')?;
    Some(query.to_owned())
}

impl MassiveContract<'_> {
    fn key(&self, underlying: Symbol) -> Result<ContractKey, Fault> {
        // where it is there it must match, or a mixed page would file contracts under the wrong name
        if self.underlying.ticker.is_some() {
            let named = at("underlying_asset", self.underlying.ticker.read(Reason::NotASymbol, parse_underlying))?;
            at("underlying_asset", if named == underlying { Ok(()) } else { Err(Reason::OtherUnderlying) })?;
        }
        at("ticker", self.details.ticker.get(Reason::NotASymbol).and_then(parse_contract))
    }
}

/// An underlying: indices have `I:` in front.
fn parse_underlying(text: &str) -> Option<Symbol> {
    Symbol::parse_underlying(text.strip_prefix("I:").unwrap_or(text))
}

impl MassiveDividend<'_> {
    fn declared(&self) -> Result<DeclaredDividend, Fault> {
        let per_year = match self.frequency {
            Whole::Is(n) => u8::try_from(n).ok(),
            _ => None,
        };
        let kind = match (self.dividend_type.get(Reason::NotAWord), self.distribution_type.get(Reason::NotAWord)) {
            // the vendor's frequency of 0 means a one-time payment
            _ if per_year == Some(0) => DividendKind::Special,
            (Ok("CD"), _) | (_, Ok("recurring" | "unknown")) => DividendKind::Regular,
            // without either word it counts as regular
            (Err(Reason::Missing), Err(Reason::Missing)) => DividendKind::Regular,
            _ => DividendKind::Special,
        };
        // amounts in another currency would be added to dollars
        if self.currency.is_some() {
            at(
                "currency",
                self.currency.read(Reason::NotAWord, |word| word.eq_ignore_ascii_case("USD").then_some(())),
            )?;
        }
        Ok(DeclaredDividend {
            underlying: at("ticker", self.ticker.read(Reason::NotASymbol, Symbol::parse_underlying))?,
            ex_date: at("ex_dividend_date", self.ex_date.read(Reason::NotADate, parse_date))?,
            amount: at("cash_amount", self.amount.get(limits::DIVIDEND))?,
            kind,
            per_year,
        })
    }
}

impl MassiveContract<'_> {
    fn activity(&self) -> Result<Activity, Fault> {
        Ok(Activity {
            volume: at("day.volume", self.day.volume.or_nan(limits::SIZE))?,
            open_interest: at("open_interest", self.open_interest.or_nan(limits::SIZE))?,
        })
    }
}

impl MassiveQuote<'_> {
    fn record(&self, underlying: Symbol, contract: ContractKey, activity: Activity) -> Result<QuoteRecord, Fault> {
        let time = at("last_updated", self.last_updated.time(of_nanos))?;
        Ok(QuoteRecord {
            ts: time.ok_or(("last_updated", Reason::Missing))?,
            underlying,
            contract,
            bid: at("bid", self.bid.or_nan(limits::PRICE))?,
            ask: at("ask", self.ask.or_nan(limits::PRICE))?,
            bid_size: at("bid_size", self.bid_size.or_nan(limits::SIZE))?,
            ask_size: at("ask_size", self.ask_size.or_nan(limits::SIZE))?,
            activity,
        })
    }
}

impl Underlying<'_> {
    fn time(&self) -> Option<Timestamp> {
        self.last_updated.time(of_nanos).ok().flatten()
    }

    /// The price, or the value of an index.
    fn spot(&self, underlying: Symbol) -> Result<SpotRecord, Fault> {
        const PLACE: &str = "underlying_asset";
        // indices have a value in place of a price
        let number = if self.price == Number::Missing { self.value } else { self.price };
        let price = at(PLACE, number.get(limits::SPOT))?;
        let time = at(PLACE, self.last_updated.time(of_nanos))?;
        Ok(SpotRecord { ts: time.ok_or((PLACE, Reason::Missing))?, underlying, price })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record in the layout of the vendor's own example.
    const RECORD: &str = r#"{"break_even_price":179.075,"day":{"close":29,"last_updated":1651204800000000000},
        "details":{"contract_type":"call","exercise_style":"american","expiration_date":"2023-06-16",
        "shares_per_contract":100,"strike_price":150,"ticker":"O:AAPL230616C00150000"},"fmv":20.5,
        "greeks":{"delta":0.64},"implied_volatility":0.357,
        "last_quote":{"ask":29.25,"ask_size":209,"bid":28.9,"bid_size":294,"last_updated":1651254260800059648,
        "midpoint":29.075,"timeframe":"REAL-TIME"},"open_interest":8133,
        "underlying_asset":{"change_to_break_even":19.1,"last_updated":1651254263172073152,"price":159.9606,
        "ticker":"AAPL","timeframe":"REAL-TIME"}}"#;

    fn aapl() -> Symbol {
        Symbol::parse("AAPL").unwrap()
    }

    fn page(records: &[&str], rest: &str) -> (QuotePage, Report) {
        let text = format!(r#"{{"request_id":"x","results":[{}],"status":"OK"{rest}}}"#, records.join(","));
        parse_massive_snapshot(Path::new("massive"), text.as_bytes(), aapl())
    }

    fn put() -> String {
        RECORD.replace("C00150000", "P00150000")
    }

    fn unquoted() -> String {
        let end = RECORD.find("\"open_interest\"").unwrap();
        format!("{}{}", &RECORD[..RECORD.find("\"last_quote\"").unwrap()], &RECORD[end..])
    }

    #[test]
    fn a_page_has_quotes_with_their_own_times_and_the_newest_price() {
        let older = put().replace("1651254263172073152", "1651254263172073000").replace("159.9606", "1.0");
        let (page, report) =
            page(&[RECORD, &older], r#","next_url":"https://api.example.com/v3/x?cursor=abc&limit=2""#);
        assert_eq!((report.records, report.refused_total(), report.errors.len()), (3, 0, 0), "two quotes and a price");
        assert_eq!(
            (page.next.as_deref(), page.grade, page.batch.reset.len()),
            (Some("cursor=abc&limit=2"), Grade::Live, 0)
        );
        let q = &page.batch.quotes[0];
        assert_eq!(q.ts.as_nanosecond(), 1_651_254_260_800_059_648);
        assert_eq!((q.bid, q.ask, q.bid_size, q.ask_size), (28.9, 29.25, 294.0, 209.0));
        let ts = Timestamp::from_nanosecond(1_651_254_263_172_073_152).unwrap();
        assert_eq!(page.batch.spots, [SpotRecord { ts, underlying: aapl(), price: 159.9606 }]);
    }

    #[test]
    fn delayed_pages_are_marked_and_indices_have_a_value() {
        let index = put().replace("\"price\":159.9606", "\"value\":160.0").replace("\"AAPL\"", "\"I:AAPL\"");
        let (page, report) = page(&[&index.replace("REAL-TIME", "DELAYED")], "");
        assert_eq!((page.grade, page.next, report.refused_total()), (Grade::Delayed, None, 0));
        assert_eq!(page.batch.spots[0].price.to_bits(), 160f64.to_bits());
    }

    #[test]
    fn a_contract_without_a_quote_is_listed_and_a_page_without_any_is_said() {
        let (found, report) = page(&[&unquoted().replace("C00150000", "C00160000"), RECORD], "");
        assert_eq!((found.batch.quotes.len(), report.refused_total()), (2, 0));
        let listed = &found.batch.quotes[1];
        assert_eq!((listed.contract.strike_milli, listed.ts), (160_000, found.batch.quotes[0].ts));
        assert!(listed.bid.is_nan() && listed.ask.is_nan());
        let (found, report) = page(&[&unquoted()], "");
        assert!(found.batch.quotes.is_empty() && found.batch.spots.is_empty());
        assert_eq!(report.errors[0].to_string(), format!("massive: {}", Instead::NoQuotes));
    }

    #[test]
    fn refusals_are_typed() {
        for (text, want) in [
            (r#"{"status":"NOT_AUTHORIZED","message":"You are not entitled"}"#, Instead::NotPermitted),
            (r#"{"status":"ERROR","error":"bad cursor"}"#, Instead::WrongQuestion),
            (r#"{"status":"OK","results":[]}"#, Instead::Nothing),
            (r#"{"results":null}"#, Instead::OtherFormat),
            ("Too many", Instead::OtherFormat),
        ] {
            let (page, report) = parse_massive_snapshot(Path::new("m"), text.as_bytes(), aapl());
            assert!(page.batch.quotes.is_empty());
            assert_eq!(report.errors[0].to_string(), format!("m: {want}"), "{text}");
        }
        let (page, report) = page(&[&RECORD.replace("\"AAPL\"", "\"AAL\"")], "");
        assert!(page.batch.quotes.is_empty());
        assert_eq!(report.errors[0].to_string(), format!("massive: {}", Instead::OtherUnderlying));
    }

    #[test]
    fn each_bad_field_is_refused_with_its_place() {
        for (from, to, field, reason) in [
            ("O:AAPL230616P", "AAPL23P", "ticker", Reason::NotASymbol),
            ("\"bid\":28.9", "\"bid\":-1", "bid", Reason::OutOfRange),
            ("\"ask\":29.25", "\"ask\":\"inf\"", "ask", Reason::OutOfRange),
            ("1651254260800059648", "16512542608", "last_updated", Reason::NotATime),
            ("1651254260800059648", "null", "last_updated", Reason::Missing),
            ("\"bid_size\":294", "\"bid_size\":{}", "bid_size", Reason::NotANumber),
        ] {
            let (page, report) = page(&[RECORD, &put().replace(from, to)], "");
            assert_eq!((page.batch.quotes.len(), report.records), (1, 3), "{to}");
            let place = &report.places[0];
            assert_eq!((place.line, place.field, place.reason), (2, field, reason), "{to}");
        }
    }

    #[test]
    fn dividends_of_both_addresses() {
        let text = r#"{"results":[
            {"cash_amount":0.26,"currency":"USD","declaration_date":"2026-07-30","dividend_type":"CD",
             "ex_dividend_date":"2026-08-10","frequency":4,"pay_date":"2026-08-13","ticker":"AAPL"},
            {"cash_amount":1.5,"currency":"USD","dividend_type":"SC","ex_dividend_date":"2026-05-10","frequency":0,"ticker":"AAPL"},
            {"cash_amount":0.2,"distribution_type":"recurring","ex_dividend_date":"2026-05-11","frequency":12,"ticker":"X"},
            {"cash_amount":0.2,"distribution_type":"supplemental","ex_dividend_date":"2026-05-11","frequency":4,"ticker":"Y"},
            {"cash_amount":0.2,"currency":"CAD","ex_dividend_date":"2026-05-11","ticker":"Z"},
            {"cash_amount":-0.2,"ex_dividend_date":"2026-05-11","ticker":"Z"},
            {"cash_amount":0.2,"ex_dividend_date":"05/11/2026","ticker":"Z"}],
            "status":"OK","next_url":"https://api.example.com/v3/reference/dividends?cursor=z"}"#;
        let (page, report) = parse_massive_dividends(Path::new("d"), text.as_bytes());
        let seen: Vec<_> = page.dividends.iter().map(|d| (d.amount, d.kind, d.per_year)).collect();
        let want = [
            (0.26, DividendKind::Regular, Some(4)),
            (1.5, DividendKind::Special, Some(0)),
            (0.2, DividendKind::Regular, Some(12)),
            (0.2, DividendKind::Special, Some(4)),
        ];
        assert_eq!(seen, want);
        assert_eq!(page.next.as_deref(), Some("cursor=z"));
        let places: Vec<_> = report.places.iter().map(|p| (p.line, p.field)).collect();
        assert_eq!(places, [(5, "currency"), (6, "cash_amount"), (7, "ex_dividend_date")]);
        let (_, report) = parse_massive_dividends(Path::new("d"), br#"{"status":"NOT_AUTHORIZED"}"#);
        assert_eq!(report.errors[0].to_string(), format!("d: {}", Instead::NotPermitted));
    }
}
