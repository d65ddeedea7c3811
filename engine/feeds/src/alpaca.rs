//! Alpaca's snapshots: option chains page by page, and stocks for the price of the underlying. Bytes to records. Never:
//! the vendor's volatilities and Greeks.

use super::intake::{Fault, Intake, PriceFrom, at, price_of};
use super::json::{self, Given, Keyed, Number, Text, objects};
use super::spelling::parse_contract;
use super::times::parse_rfc3339;
use super::{Grade, QuotePage};
use jiff::Timestamp;
use kernel::contract::{ContractKey, Symbol};
use kernel::error::{Instead, Reason};
use kernel::limits;
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use std::path::Path;

/// Which of the vendor's feeds was asked for; the answer does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlpacaFeed {
    /// The consolidated quotes.
    Opra,
    /// Quotes that the vendor altered: contracts are listed without a bid and an ask.
    Indicative,
    /// The free plan's altered quotes, which the user wants to use as they are.
    IndicativeUsed,
}

objects! {
    struct AlpacaPage {
        snapshots: Given<Keyed<'a, Snapshot<'a>>> = "snapshots",
        next_page_token: Text<'a> = "next_page_token",
        message: Text<'a> = "message",
    }
    struct Snapshot {
        quote: Given<AlpacaQuote<'a>> = "latestQuote",
        trade: Trade<'a> = "latestTrade",
    }
    struct AlpacaQuote {
        time: Text<'a> = "t",
        bid: Number = "bp",
        ask: Number = "ap",
        bid_size: Number = "bs",
        ask_size: Number = "as",
    }
    struct Trade {
        time: Text<'a> = "t",
        price: Number = "p",
    }
}

/// Reads one page of a chain. A contract without a quote is as of the page's latest quote. The price of the underlying
/// is not in it: [`parse_alpaca_stocks`].
#[must_use]
pub fn parse_alpaca_snapshots(
    source: &Path,
    bytes: &[u8],
    underlying: Symbol,
    feed: AlpacaFeed,
) -> (QuotePage, Report) {
    let mut report = Report::default();
    let grade = if feed == AlpacaFeed::Opra { Grade::Live } else { Grade::Indicative };
    let empty = QuotePage { batch: Batch::default(), next: None, grade };
    let Some(page) = json::parse::<AlpacaPage<'_>>(source, bytes, &mut report) else { return (empty, report) };
    let Some(Keyed(snapshots)) = page.snapshots.0 else {
        report.say_instead(source, instead_of_snapshots(&page.message));
        return (empty, report);
    };
    let next = page.next_page_token.get(Reason::NotAWord).ok().map(str::to_owned);
    if snapshots.cut {
        report.say_instead(source, Instead::TooManyRecords);
        return (empty, report);
    }
    // an empty page with a successor is not the end
    if snapshots.items.is_empty() && next.is_none() {
        report.say_instead(source, Instead::Nothing);
    }
    let mut intake = Intake::new(source, report);
    let mut unquoted = Vec::new();
    for (i, (osi, snapshot)) in (1..).zip(&snapshots.items) {
        match (parse_contract(osi.as_str()), &snapshot.quote.0) {
            (Err(reason), _) => intake.quote(i, "snapshots", Err(("snapshots", reason))),
            // listed without a quote: kept, as the chain needs its strikes
            (Ok(contract), None) => unquoted.push((i, contract)),
            (Ok(contract), Some(quote)) => {
                let mut record = quote.record(underlying, contract);
                // indicative prices are changed on purpose by the vendor: the listing counts, the prices do not
                if let (Ok(record), AlpacaFeed::Indicative) = (&mut record, feed) {
                    (record.bid, record.ask) = (f64::NAN, f64::NAN);
                    (record.bid_size, record.ask_size) = (f64::NAN, f64::NAN);
                }
                intake.quote(i, "snapshots", record);
            }
        }
    }
    intake.list_unquoted(underlying, "snapshots", unquoted);
    let (batch, report) = intake.finish();
    (QuotePage { batch, next, grade }, report)
}

/// Reads snapshots of stocks by their symbols: the middle of a narrow quote, else the last trade.
#[must_use]
pub fn parse_alpaca_stocks(source: &Path, bytes: &[u8]) -> (Batch, Report) {
    let mut report = Report::default();
    let Some(Keyed(stocks)) = json::parse::<Keyed<'_, Given<Snapshot<'_>>>>(source, bytes, &mut report) else {
        return (Batch::default(), report);
    };
    if let [(key, _), ..] = stocks.items.as_slice()
        // errors are objects as well: their keys would read as symbols
        && matches!(key.as_str(), "message" | "code")
    {
        let said = json::parse::<AlpacaPage<'_>>(source, bytes, &mut report).unwrap_or_default();
        report.say_instead(source, instead_of_snapshots(&said.message));
        return (Batch::default(), report);
    }
    if stocks.items.is_empty() {
        report.say_instead(source, Instead::Nothing);
    }
    let mut intake = Intake::new(source, report);
    for (i, (symbol, stock)) in (1..).zip(&stocks.items) {
        let underlying = Symbol::parse_underlying(symbol.as_str()).ok_or(("symbol", Reason::NotASymbol));
        let spot = underlying.and_then(|underlying| match &stock.0 {
            Some(stock) => stock.spot(underlying),
            None => Err(("latestTrade", Reason::Missing)),
        });
        intake.spot(i, spot);
    }
    intake.finish()
}

/// Meaning of an answer without snapshots: the vendor refuses in a sentence. Known words in it show a refused key or
/// too many requests; any other sentence counts as a wrong request.
fn instead_of_snapshots(message: &Text<'_>) -> Instead {
    let Ok(message) = message.get(Reason::NotAWord) else { return Instead::OtherFormat };
    let message = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match () {
        // the vendor has no codes here, only sentences
        () if has(&["too many"]) => Instead::TooMuch,
        () if has(&["forbidden", "unauthorized", "not authorized", "subscription", "agreement"]) => {
            Instead::NotPermitted
        }
        () => Instead::WrongQuestion,
    }
}

impl AlpacaQuote<'_> {
    fn time(&self) -> Result<Timestamp, Fault> {
        at("latestQuote.t", self.time.read(Reason::NotATime, parse_rfc3339))
    }

    fn record(&self, underlying: Symbol, contract: ContractKey) -> Result<QuoteRecord, Fault> {
        Ok(QuoteRecord {
            ts: self.time()?,
            underlying,
            contract,
            bid: at("latestQuote.bp", self.bid.or_nan(limits::PRICE))?,
            ask: at("latestQuote.ap", self.ask.or_nan(limits::PRICE))?,
            bid_size: at("latestQuote.bs", self.bid_size.or_nan(limits::SIZE))?,
            ask_size: at("latestQuote.as", self.ask_size.or_nan(limits::SIZE))?,
            activity: Activity::default(),
        })
    }
}

impl Snapshot<'_> {
    fn spot(&self, underlying: Symbol) -> Result<SpotRecord, Fault> {
        let none = AlpacaQuote::default();
        let quote = self.quote.0.as_ref().unwrap_or(&none);
        let bid = at("latestQuote.bp", quote.bid.or_nan(limits::PRICE))?;
        let ask = at("latestQuote.ap", quote.ask.or_nan(limits::PRICE))?;
        let trade = at("latestTrade.p", self.trade.price.or_nan(limits::PRICE))?;
        let (price, ts) = match price_of(bid, ask, trade) {
            Some(PriceFrom::Quote(price)) => (price, quote.time()?),
            Some(PriceFrom::Trade(price)) => {
                (price, at("latestTrade.t", self.trade.time.read(Reason::NotATime, parse_rfc3339))?)
            }
            None => return Err(("latestTrade", Reason::Missing)),
        };
        Ok(SpotRecord { ts, underlying, price: at("latestTrade.p", limits::SPOT.admit(price))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#""AAPL261218C00250000":{"latestQuote":{"t":"2026-09-25T19:59:59.123456789Z","ax":"C","ap":12.6,
        "as":40,"bx":"N","bp":12.4,"bs":31,"c":"A"},"latestTrade":{"t":"2026-09-25T19:00:00Z","p":12.5,"s":1},
        "greeks":{"delta":0.5},"impliedVolatility":0.3}"#;
    const QUIET: &str = r#""AAPL261218P00010000":{"prevDailyBar":{"c":0.01}}"#;

    fn aapl() -> Symbol {
        Symbol::parse("AAPL").unwrap()
    }

    fn page(entries: &[&str], token: &str, feed: AlpacaFeed) -> (QuotePage, Report) {
        let text = format!(r#"{{"next_page_token":{token},"snapshots":{{{}}}}}"#, entries.join(","));
        parse_alpaca_snapshots(Path::new("alpaca"), text.as_bytes(), aapl(), feed)
    }

    #[test]
    fn a_page_has_quotes_by_symbol_and_the_next_token() {
        let (page, report) = page(&[QUIET, CALL], "\"QUFQTA==\"", AlpacaFeed::Opra);
        assert_eq!((page.next.as_deref(), page.grade), (Some("QUFQTA=="), Grade::Live));
        assert_eq!((report.records, report.refused_total(), page.batch.reset.len()), (2, 0, 0));
        let [call, quiet] = page.batch.quotes.as_slice() else { panic!("two contracts") };
        assert_eq!(call.ts, "2026-09-25T19:59:59.123456789Z".parse().unwrap());
        assert_eq!((call.bid, call.ask, call.bid_size, call.ask_size), (12.4, 12.6, 31.0, 40.0));
        assert_eq!((quiet.contract.strike_milli, quiet.ts), (10_000, call.ts));
        assert!(quiet.bid.is_nan());
    }

    #[test]
    fn altered_quotes_are_used_only_if_asked_for() {
        let (listed, _) = page(&[CALL], "null", AlpacaFeed::Indicative);
        assert_eq!((listed.grade, listed.next.is_none(), listed.batch.quotes.len()), (Grade::Indicative, true, 1));
        assert!(listed.batch.quotes[0].bid.is_nan() && listed.batch.quotes[0].ask.is_nan());
        let (used, _) = page(&[CALL], "null", AlpacaFeed::IndicativeUsed);
        assert_eq!((used.grade, used.batch.quotes[0].bid.to_bits()), (Grade::Indicative, 12.4f64.to_bits()));
    }

    #[test]
    fn refusals_are_typed() {
        for (text, want) in [
            (r#"{"message":"forbidden."}"#, Instead::NotPermitted),
            (r#"{"message":"OPRA agreement is not signed"}"#, Instead::NotPermitted),
            (r#"{"message":"too many requests."}"#, Instead::TooMuch),
            (r#"{"message":"invalid limit"}"#, Instead::WrongQuestion),
            (r#"{"snapshots":{},"next_page_token":null}"#, Instead::Nothing),
            (r#"{"snapshots":null}"#, Instead::Nothing),
            ("{}", Instead::OtherFormat),
            ("404 page not found", Instead::OtherFormat),
        ] {
            let (page, report) = parse_alpaca_snapshots(Path::new("a"), text.as_bytes(), aapl(), AlpacaFeed::Opra);
            assert!(page.batch.quotes.is_empty());
            assert_eq!(report.errors[0].to_string(), format!("a: {want}"), "{text}");
        }
    }

    #[test]
    fn each_bad_field_is_refused_with_its_place() {
        for (from, to, field, reason) in [
            ("AAPL261218C00250000", "AAPL", "snapshots", Reason::NotASymbol),
            ("2026-09-25T19:59:59.123456789Z", "2026-09-25T19:59:59", "latestQuote.t", Reason::NotATime),
            ("\"bp\":12.4", "\"bp\":-12.4", "latestQuote.bp", Reason::OutOfRange),
            ("\"as\":40", "\"as\":1e13", "latestQuote.as", Reason::OutOfRange),
        ] {
            let (page, report) =
                page(&[&CALL.replace("C00250", "C00260"), &CALL.replace(from, to)], "null", AlpacaFeed::Opra);
            assert_eq!((page.batch.quotes.len(), report.records), (1, 2), "{to}");
            let place = &report.places[0];
            assert_eq!((place.line, place.field, place.reason), (2, field, reason), "{to}");
        }
    }

    #[test]
    fn stocks_have_a_price() {
        let stocks = r#"{"AAPL":{"latestTrade":{"t":"2026-09-25T19:59:58Z","p":250.1},
            "latestQuote":{"t":"2026-09-25T19:59:59Z","ap":250.2,"bp":250.0,"as":1,"bs":2}},
            "BRK.B":{"latestTrade":{"t":"2026-09-25T19:59:57Z","p":500.0},"latestQuote":{"t":"x","ap":0,"bp":0}},
            "NOPE":null}"#;
        let (batch, report) = parse_alpaca_stocks(Path::new("s"), stocks.as_bytes());
        let spot = |symbol: &str, price, ts: &str| SpotRecord {
            ts: ts.parse().unwrap(),
            underlying: Symbol::parse(symbol).unwrap(),
            price,
        };
        assert_eq!(
            batch.spots,
            [spot("AAPL", 250.1, "2026-09-25T19:59:59Z"), spot("BRK.B", 500.0, "2026-09-25T19:59:57Z")]
        );
        assert_eq!(report.places[0].to_string(), "s:3: latestTrade: missing");
        let (_, report) = parse_alpaca_stocks(Path::new("s"), br#"{"message":"forbidden."}"#);
        assert_eq!(report.errors[0].to_string(), format!("s: {}", Instead::NotPermitted));
        let (_, report) = parse_alpaca_stocks(Path::new("s"), br#"{"code":42910000,"message":"too many requests."}"#);
        assert_eq!(report.errors[0].to_string(), format!("s: {}", Instead::TooMuch));
    }
}
