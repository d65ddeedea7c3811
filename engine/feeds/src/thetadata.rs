//! ThetaData's local server, version 3: snapshots of option and stock quotes and of index prices, as csv or as one JSON
//! object a line. Bytes to records. Never: the vendor's volatilities and Greeks.
//!
//! Times are Eastern without an offset. A request is for one root, so an index takes two (SPX and SPXW), and no
//! document has all that is known of an underlying.

use super::csv::{Row, read_rows, required};
use super::intake::{Fault, Intake, PriceFrom, at, price_of};
use super::json::{self, Number, Text, objects};
use super::spelling::{parse_root, parse_strike};
use super::times::{parse_date, parse_eastern};
use kernel::calendar::Calendar;
use kernel::contract::ContractKey;
use kernel::contract::{Right, Symbol};
use kernel::error::{FeedError, Instead, Reason};
use kernel::limits;
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use std::path::Path;

objects! {
    /// A row of any of the snapshots; what a snapshot does not have is missing.
    struct Cells {
        timestamp: Text<'a> = "timestamp",
        symbol: Text<'a> = "symbol",
        expiration: Text<'a> = "expiration",
        strike: Number = "strike",
        right: Text<'a> = "right",
        bid_size: Number = "bid_size",
        bid: Number = "bid",
        ask_size: Number = "ask_size",
        ask: Number = "ask",
        price: Number = "price",
    }
}

/// Meaning of a status of the local server; `None`: the answer is data, or the status is not one of the server's own.
#[must_use]
pub fn instead_of_status(status: u16) -> Option<Instead> {
    match status {
        404 | 460..=470 | 473 => Some(Instead::WrongQuestion),
        401 | 403 | 471 | 476 | 478 => Some(Instead::NotPermitted),
        472 => Some(Instead::Nothing),
        429 | 570 => Some(Instead::TooMuch),
        474 | 571 | 572 => Some(Instead::NotReady),
        _ => None,
    }
}

/// Reads a snapshot of option quotes of one root of an underlying; `None`: of any roots of it. Rows of another root
/// than the one that was asked for are refused.
#[must_use]
pub fn parse_thetadata_options(
    source: &Path,
    bytes: &[u8],
    underlying: Symbol,
    root: Option<Symbol>,
    calendar: &Calendar,
) -> (Batch, Report) {
    let mut intake = Intake::new(source, Report::default());
    let columns =
        ["timestamp", "symbol", "expiration", "strike", "right", "bid_size", "bid", "ask_size", "ask"].map(required);
    let errors = each_row(source, bytes, &columns, |place, cells| {
        let quote = cells.quote(underlying, calendar).and_then(|quote| {
            // rows of another root of the underlying belong to that root's own request
            let is_asked = root.is_none_or(|root| root == quote.contract.root);
            if is_asked { Ok(quote) } else { Err(("symbol", Reason::OtherUnderlying)) }
        });
        intake.quote(place, "strike", quote);
    });
    intake.report_wrong_name();
    intake.finish_with(errors)
}

/// Reads a snapshot of stock quotes: the middle of each.
#[must_use]
pub fn parse_thetadata_stocks(source: &Path, bytes: &[u8], calendar: &Calendar) -> (Batch, Report) {
    let mut intake = Intake::new(source, Report::default());
    let columns = ["timestamp", "symbol", "bid", "ask"].map(required);
    let errors = each_row(source, bytes, &columns, |place, cells| intake.spot(place, cells.stock(calendar)));
    intake.finish_with(errors)
}

/// Reads a snapshot of index prices.
#[must_use]
pub fn parse_thetadata_indices(source: &Path, bytes: &[u8], calendar: &Calendar) -> (Batch, Report) {
    let mut intake = Intake::new(source, Report::default());
    let columns = ["timestamp", "symbol", "price"].map(required);
    let errors = each_row(source, bytes, &columns, |place, cells| intake.spot(place, cells.index(calendar)));
    intake.finish_with(errors)
}

/// Reads the rows of a document in either format, with their lines.
fn each_row<const N: usize>(
    source: &Path,
    bytes: &[u8],
    columns: &[super::csv::Column; N],
    mut take: impl FnMut(usize, &Cells<'_>),
) -> Vec<FeedError> {
    let mut report = Report::default();
    if !report.admits(source, bytes) {
        return report.errors;
    }
    // the vendor answers in CSV or lines of JSON by its settings: the first line shows which
    let first = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let start = first.trim_ascii_start();
    if start.starts_with(b"{") {
        for (line, text) in (1..).zip(bytes.split(|&b| b == b'\n')).filter(|(_, text)| !text.trim_ascii().is_empty()) {
            // a line that is no object is counted and refused like any other, by its first field
            let damaged = Cells { timestamp: Text::Other, ..Cells::default() };
            take(line, &json::parse_line(text).unwrap_or(damaged));
        }
    // errors come as a sentence in plain text
    } else if !first.contains(&b',') {
        report.say_instead(source, instead_of_sentence(start));
    } else {
        let read = read_rows(source, bytes, columns, |row| {
            take(usize::try_from(row.line()).unwrap_or(usize::MAX), &Cells::of(row, columns));
            Ok(())
        });
        report.absorb(read);
    }
    report.errors
}

/// Meaning of a sentence in place of rows, from servers that do not send their own statuses.
fn instead_of_sentence(sentence: &[u8]) -> Instead {
    // a bound: only the beginning of a sentence is searched
    let text = String::from_utf8_lossy(sentence.get(..200).unwrap_or(sentence)).to_ascii_lowercase();
    match () {
        () if text.contains("no data") => Instead::Nothing,
        () if text.contains("permission") || text.contains("subscription") => Instead::NotPermitted,
        () => Instead::OtherFormat,
    }
}

impl<'a> Cells<'a> {
    fn of<const N: usize>(row: &'a Row<'_, N>, columns: &[super::csv::Column; N]) -> Self {
        let mut cells = Self::default();
        for (i, column) in columns.iter().enumerate() {
            let bytes = row.bytes(i).unwrap_or_default();
            let text = core::str::from_utf8(bytes);
            let as_text = || text.map_or(Text::Other, Text::from);
            let as_number = || text.map_or(Number::Other, Number::parse);
            match column.name {
                "timestamp" => cells.timestamp = as_text(),
                "symbol" => cells.symbol = as_text(),
                "expiration" => cells.expiration = as_text(),
                "right" => cells.right = as_text(),
                "strike" => cells.strike = as_number(),
                "bid_size" => cells.bid_size = as_number(),
                "bid" => cells.bid = as_number(),
                "ask_size" => cells.ask_size = as_number(),
                "ask" => cells.ask = as_number(),
                _ => cells.price = as_number(),
            }
        }
        cells
    }

    fn time(&self, calendar: &Calendar) -> Result<jiff::Timestamp, Fault> {
        at("timestamp", self.timestamp.read(Reason::NotATime, |text| parse_eastern(text, calendar)))
    }

    fn quote(&self, underlying: Symbol, calendar: &Calendar) -> Result<QuoteRecord, Fault> {
        let strike = at("strike", self.strike.get(limits::PRICE))?;
        Ok(QuoteRecord {
            ts: self.time(calendar)?,
            underlying,
            contract: ContractKey {
                root: at("symbol", self.symbol.get(Reason::NotASymbol).and_then(parse_root))?,
                expiry: at("expiration", self.expiration.read(Reason::NotADate, parse_date))?,
                strike_milli: at("strike", parse_strike(strike))?,
                right: at("right", self.right.read(Reason::NotARight, Right::parse))?,
            },
            bid: at("bid", self.bid.or_nan(limits::PRICE))?,
            ask: at("ask", self.ask.or_nan(limits::PRICE))?,
            bid_size: at("bid_size", self.bid_size.or_nan(limits::SIZE))?,
            ask_size: at("ask_size", self.ask_size.or_nan(limits::SIZE))?,
            activity: Activity::default(),
        })
    }

    fn underlying(&self) -> Result<Symbol, Fault> {
        at("symbol", self.symbol.read(Reason::NotASymbol, Symbol::parse_underlying))
    }

    fn stock(&self, calendar: &Calendar) -> Result<SpotRecord, Fault> {
        let (ts, underlying) = (self.time(calendar)?, self.underlying()?);
        let bid = at("bid", self.bid.or_nan(limits::PRICE))?;
        let ask = at("ask", self.ask.or_nan(limits::PRICE))?;
        // the endpoint of quotes has no trades
        match price_of(bid, ask, f64::NAN) {
            Some(PriceFrom::Quote(price) | PriceFrom::Trade(price)) => {
                Ok(SpotRecord { ts, underlying, price: at("bid", limits::SPOT.admit(price))? })
            }
            None => Err(("bid", Reason::Missing)),
        }
    }

    fn index(&self, calendar: &Calendar) -> Result<SpotRecord, Fault> {
        let price = at("price", self.price.get(limits::SPOT))?;
        Ok(SpotRecord { ts: self.time(calendar)?, underlying: self.underlying()?, price })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "timestamp,symbol,expiration,strike,right,bid_size,bid_exchange,bid,bid_condition,ask_size,\
                          ask_exchange,ask,ask_condition\n";
    const ROW: &str = "2026-09-25T15:59:59.250,SPXW,2026-12-18,5000.000,CALL,10,5,1650.10,50,12,5,1655.90,50\n";
    const LINE: &str = "{\"timestamp\":\"2026-09-25T15:59:59.250\",\"symbol\":\"SPXW\",\"expiration\":\"2026-12-18\",\
                        \"strike\":5000.0,\"right\":\"CALL\",\"bid_size\":10,\"bid_exchange\":5,\"bid\":1650.10,\
                        \"ask_size\":12,\"ask\":1655.90}\n";

    fn options(text: &str) -> (Batch, Report) {
        let spx = Symbol::parse("SPX").unwrap();
        parse_thetadata_options(Path::new("theta"), text.as_bytes(), spx, None, &Calendar::embedded())
    }

    #[test]
    fn both_formats_give_the_same_record() {
        let (from_csv, report) = options(&format!("{HEADER}{ROW}"));
        assert_eq!((report.records, report.refused_total(), report.errors.len()), (1, 0, 0));
        let (from_lines, report) = options(LINE);
        assert_eq!((report.records, report.refused_total(), report.errors.len()), (1, 0, 0));
        assert_eq!(from_csv.quotes, from_lines.quotes);
        let q = &from_csv.quotes[0];
        assert_eq!((q.underlying.as_str(), q.contract.root.as_str()), ("SPX", "SPXW"));
        assert_eq!(q.ts, "2026-09-25T19:59:59.25Z".parse().unwrap());
        assert_eq!((q.contract.strike_milli, q.contract.right), (5_000_000, Right::Call));
        assert_eq!((q.bid, q.ask, q.bid_size, q.ask_size), (1650.1, 1655.9, 10.0, 12.0));
        assert!(from_csv.reset.is_empty(), "SPX has other roots");
    }

    #[test]
    fn each_bad_field_is_refused_with_its_place() {
        for (from, to, field, reason) in [
            ("2026-09-25T15:59:59.250", "2026-09-25T15:59:59.250Z", "timestamp", Reason::NotATime),
            ("SPXW", "1SPXW", "symbol", Reason::Flex),
            ("SPXW", "TOOLONGX", "symbol", Reason::NotASymbol),
            ("2026-12-18", "2026-02-30", "expiration", Reason::NotADate),
            ("5000.0", "5000.0005", "strike", Reason::OutOfRange),
            ("CALL", "X", "right", Reason::NotARight),
            ("1650.10", "-1", "bid", Reason::OutOfRange),
            ("12,", "-12,", "ask_size", Reason::OutOfRange),
        ] {
            let (row, line) = (ROW.replacen(from, to, 1), LINE.replacen(from, to, 1));
            let (other_row, other_line) = (ROW.replace("CALL", "PUT"), LINE.replace("CALL", "PUT"));
            for (text, at) in [(format!("{HEADER}{row}{other_row}"), 2), (format!("{line}{other_line}"), 1)] {
                let (batch, report) = options(&text);
                assert_eq!((batch.quotes.len(), report.records, report.refused_total()), (1, 2, 1), "{text}");
                let place = &report.places[0];
                assert_eq!((place.line, place.field, place.reason), (at, field, reason), "{text}");
            }
        }
        let (batch, report) = options(&format!("{LINE}{{\"timestamp\":\n{}", LINE.replace("CALL", "PUT")));
        assert_eq!((batch.quotes.len(), report.refused_total(), report.places[0].line), (2, 1, 2), "a damaged line");
    }

    #[test]
    fn rows_of_another_root_than_the_one_asked_for_are_not_its() {
        let asked = |text: &str| {
            let symbols = (Symbol::parse("SPX").unwrap(), Symbol::parse("SPXW"));
            parse_thetadata_options(Path::new("theta"), text.as_bytes(), symbols.0, symbols.1, &Calendar::embedded())
        };
        let other = ROW.replace("SPXW", "NDXP");
        let (batch, report) = asked(&format!("{HEADER}{ROW}{other}"));
        assert_eq!((batch.quotes.len(), report.errors.len()), (1, 0));
        assert_eq!(report.places[0].to_string(), "theta:3: symbol: other_underlying");
        let (batch, report) = asked(&format!("{HEADER}{other}"));
        assert_eq!(
            (batch.quotes.len(), report.errors[0].to_string()),
            (0, "theta: data of another underlying".to_owned())
        );
    }

    #[test]
    fn sentences_and_statuses_are_typed() {
        for (text, want) in [
            ("No data found for your request", "theta: the vendor has no data for this"),
            ("Invalid session", "theta: not in the format"),
            ("You do not have permission", "theta: not permitted by the vendor: key, plan or address"),
            ("", "theta: not in the format"),
            ("a,b\n", "theta: no column `timestamp`"),
        ] {
            let (batch, report) = options(text);
            assert!(batch.quotes.is_empty());
            assert_eq!(report.errors[0].to_string(), want);
        }
        let of = [200, 471, 472, 473, 474, 476, 478, 429, 570, 571, 500].map(instead_of_status);
        let want = [
            None,
            Some(Instead::NotPermitted),
            Some(Instead::Nothing),
            Some(Instead::WrongQuestion),
            Some(Instead::NotReady),
            Some(Instead::NotPermitted),
            Some(Instead::NotPermitted),
            Some(Instead::TooMuch),
            Some(Instead::TooMuch),
            Some(Instead::NotReady),
            None,
        ];
        assert_eq!(of, want);
    }

    #[test]
    fn prices_of_stocks_and_indices() {
        let calendar = Calendar::embedded();
        let spot = |symbol: &str, price| SpotRecord {
            ts: "2026-09-25T20:00:00Z".parse().unwrap(),
            underlying: Symbol::parse(symbol).unwrap(),
            price,
        };
        let stocks = "timestamp,symbol,bid_size,bid_exchange,bid,bid_condition,ask_size,ask_exchange,ask,ask_condition\n\
                      2026-09-25T16:00:00.000,AAPL,1,1,250.0,0,1,1,250.5,0\n\
                      2026-09-25T16:00:00.000,BRK.B,1,1,0,0,1,1,501,0\n";
        let (batch, report) = parse_thetadata_stocks(Path::new("s"), stocks.as_bytes(), &calendar);
        assert_eq!(batch.spots, [spot("AAPL", 250.25)]);
        assert_eq!(report.places[0].to_string(), "s:3: bid: missing");
        let indices = "timestamp,symbol,price\n2026-09-25T16:00:00.000,SPX,6600.5\n2026-09-25T16:00:00.000,NDX,0\n";
        let (batch, report) = parse_thetadata_indices(Path::new("i"), indices.as_bytes(), &calendar);
        assert_eq!(batch.spots, [spot("SPX", 6600.5)]);
        assert_eq!(report.places[0].to_string(), "i:3: price: out_of_range");
        let line = "{\"timestamp\":\"2026-09-25T16:00:00.000\",\"symbol\":\"SPX\",\"price\":6600.5}";
        assert_eq!(parse_thetadata_indices(Path::new("i"), line.as_bytes(), &calendar).0.spots, [spot("SPX", 6600.5)]);
    }
}
