//! Option chains as comma-separated rows, one contract each: quote time, contract, bid and ask, price of the
//! underlying. Bytes to records. Never: a file handle, a look-up of what a root means.

use super::csv::{Column, CsvFault, Repeated, Row, optional, read_rows, required};
use super::intake::Distinct;
use super::spelling::{parse_root, parse_strike};
use jiff::{Timestamp, civil::Date};
use kernel::contract::ContractKey;
use kernel::contract::Symbol;
use kernel::limits;
use kernel::records::{Activity, DividendCover, DividendRecord, QuoteRecord, RateRecord, SpotRecord};
use kernel::report::Report;
use std::path::Path;

const COLUMNS: [Column; 13] = [
    required("quote_time"),
    required("underlying"),
    required("und_price"),
    required("root"),
    required("expiry"),
    required("right"),
    required("strike"),
    required("bid"),
    required("ask"),
    optional("bid_size"),
    optional("ask_size"),
    optional("volume"),
    optional("open_interest"),
];
const QUOTE_TIME: usize = 0;
const UNDERLYING: usize = 1;
const UND_PRICE: usize = 2;
const ROOT: usize = 3;
const EXPIRY: usize = 4;
const RIGHT: usize = 5;
const STRIKE: usize = 6;
const BID: usize = 7;
const ASK: usize = 8;
const BID_SIZE: usize = 9;
const ASK_SIZE: usize = 10;
const VOLUME: usize = 11;
const OPEN_INTEREST: usize = 12;

/// What one chain file has.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// One record per contract and time, in the order of the file.
    pub quotes: Vec<QuoteRecord>,
    /// The underlyings' prices, wherever they differ from the row before.
    pub spots: Vec<SpotRecord>,
    /// Dividends; a recording has some, rows of chains never.
    pub dividends: Vec<DividendRecord>,
    /// The names whose dividends it covers.
    pub dividend_cover: DividendCover,
    /// Points of discount curves; the same.
    pub rates: Vec<RateRecord>,
}

/// Reads a chain file. A contract that occurs again with the same time is refused at its second line, and the one of
/// the two that [`QuoteRecord::precedence`] prefers is kept. Empty prices and sizes are NaN. An `und_price` that is
/// empty is no price, and one that is no price is refused; the quote beside it counts all the same, so that a name
/// whose price is missing keeps its contracts.
#[must_use]
pub fn parse_chains(file: &Path, bytes: &[u8]) -> (Chains, Report) {
    let mut parser = Parser::default();
    let report = read_rows(file, bytes, &COLUMNS, |row| parser.take(row));
    (Chains { quotes: parser.quotes.into_quotes(), spots: parser.spots, ..Chains::default() }, report)
}

#[derive(Default)]
struct Parser {
    quotes: Distinct,
    spots: Vec<SpotRecord>,
    time: Repeated<Timestamp>,
    underlying: Repeated<Symbol>,
    root: Repeated<Symbol>,
    expiry: Repeated<Date>,
}

impl Parser {
    fn take(&mut self, row: &Row<'_, { COLUMNS.len() }>) -> Result<(), CsvFault> {
        let quote = self.quote(row)?;
        let price = row.number_or_nan(UND_PRICE, limits::SPOT);
        let spot = SpotRecord { ts: quote.ts, underlying: quote.underlying, price: price.unwrap_or(f64::NAN) };
        // every row repeats the price: one record for each that differs
        if !spot.price.is_nan() && self.spots.last() != Some(&spot) {
            self.spots.push(spot);
        }
        self.quotes.keep(quote).map_err(|reason| (STRIKE, reason))?;
        // a bad price refuses no quote: it is reported after the quote was kept
        price.map(|_| ())
    }

    fn quote(&mut self, row: &Row<'_, { COLUMNS.len() }>) -> Result<QuoteRecord, CsvFault> {
        let strike = row.number(STRIKE, limits::PRICE)?;
        let contract = ContractKey {
            root: self
                .root
                .get(row, ROOT, |row, column| parse_root(row.text(column)?).map_err(|reason| (column, reason)))?,
            // rows of a chain repeat these cells, so the last one parsed is compared before it is parsed again
            expiry: self.expiry.get(row, EXPIRY, Row::date)?,
            strike_milli: parse_strike(strike).map_err(|reason| (STRIKE, reason))?,
            right: row.right(RIGHT)?,
        };
        Ok(QuoteRecord {
            ts: self.time.get(row, QUOTE_TIME, Row::time)?,
            underlying: self.underlying.get(row, UNDERLYING, Row::underlying)?,
            contract,
            bid: row.number_or_nan(BID, limits::PRICE)?,
            ask: row.number_or_nan(ASK, limits::PRICE)?,
            bid_size: row.number_or_nan(BID_SIZE, limits::SIZE)?,
            ask_size: row.number_or_nan(ASK_SIZE, limits::SIZE)?,
            activity: Activity {
                volume: row.number_or_nan(VOLUME, limits::SIZE)?,
                open_interest: row.number_or_nan(OPEN_INTEREST, limits::SIZE)?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::error::Reason;
    use proptest::prelude::*;

    const HEADER: &str =
        "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size,vendor_iv\n";
    const GOOD: &str = "2026-08-21T16:00:00-04:00,BRK/B,14.41,BRKB,2026-08-28,call,5.5,8.9,10.05,,7,4.2\n";

    fn parse(rows: &str) -> (Chains, Report) {
        parse_chains(Path::new("c.csv"), format!("{HEADER}{rows}").as_bytes())
    }

    #[test]
    fn a_row_becomes_a_quote_and_a_spot() {
        let (chains, report) = parse(GOOD);
        assert_eq!((report.records, report.refused_total()), (1, 0));
        let q = &chains.quotes[0];
        assert_eq!((q.underlying.as_str(), q.contract.root.as_str()), ("BRK.B", "BRKB"));
        assert_eq!((q.contract.strike_milli, q.contract.expiry.to_string().as_str()), (5500, "2026-08-28"));
        assert_eq!((q.bid, q.ask, q.ask_size), (8.9, 10.05, 7.0));
        assert!(q.bid_size.is_nan());
        assert_eq!(q.ts, "2026-08-21T20:00:00Z".parse().unwrap());
        assert_eq!(chains.spots.len(), 1);
    }

    #[test]
    fn each_bad_field_is_refused_with_its_place_and_the_rest_is_served() {
        let swap = |from: &str, to: &str| GOOD.replace(from, to);
        let cases = [
            (swap("2026-08-21T16:00:00-04:00", "2026-08-21T16:00:00"), "quote_time", Reason::NotATime),
            (swap("2026-08-21T16:00:00-04:00", "1066-10-14T16:00:00Z"), "quote_time", Reason::NotATime),
            (swap("BRK/B", ""), "underlying", Reason::Missing),
            (swap("BRK/B", "B?"), "underlying", Reason::NotASymbol),
            (swap("BRKB", "1SPX"), "root", Reason::Flex),
            (swap("BRKB", "TOOLONGX"), "root", Reason::NotASymbol),
            (swap("2026-08-28", "2026-02-30"), "expiry", Reason::NotADate),
            (swap("2026-08-28", "9026-08-28"), "expiry", Reason::NotADate),
            (swap("call", "calls"), "right", Reason::NotARight),
            (swap(",5.5,", ",0,"), "strike", Reason::OutOfRange),
            (swap(",5.5,", ",5.50005,"), "strike", Reason::OutOfRange),
            (swap(",5.5,", ",100000,"), "strike", Reason::OutOfRange),
            (swap(",5.5,", ",,"), "strike", Reason::Missing),
            (swap("8.9", "-1"), "bid", Reason::OutOfRange),
            (swap("8.9", "NaN"), "bid", Reason::NotANumber),
            (swap("10.05", "inf"), "ask", Reason::OutOfRange),
            (swap("10.05", "1e300"), "ask", Reason::OutOfRange),
            (swap("10.05", "ten"), "ask", Reason::NotANumber),
            (swap(",7,", ",-7,"), "ask_size", Reason::OutOfRange),
            ("2026-08-21T16:00:00-04:00,X\n".to_owned(), "strike", Reason::Missing),
        ];
        for (row, field, reason) in cases {
            let other = swap("5.5", "7.5");
            let (chains, report) = parse(&format!("{row}{other}"));
            assert_eq!(report.refused[reason as usize], 1, "{row}");
            let place = &report.places[0];
            assert_eq!((place.line, place.field, place.reason), (2, field, reason), "{row}");
            assert_eq!((report.records, chains.quotes.len()), (2, 1), "{row}");
        }
    }

    #[test]
    fn a_price_that_is_none_costs_the_price_and_not_the_quote() {
        let refused = [
            ("-14.41", Reason::OutOfRange),
            ("0", Reason::OutOfRange),
            ("inf", Reason::OutOfRange),
            ("NaN", Reason::NotANumber),
            ("n/a", Reason::NotANumber),
        ];
        for (price, reason) in refused {
            let (chains, report) = parse(&GOOD.replace("14.41", price));
            assert_eq!((chains.quotes.len(), chains.spots.len(), report.refused_total()), (1, 0, 1), "{price}");
            assert_eq!((report.places[0].field, report.places[0].reason), ("und_price", reason), "{price}");
        }
        let (chains, report) = parse(&GOOD.replace("14.41", ""));
        assert_eq!((chains.quotes.len(), chains.spots.len(), report.refused_total()), (1, 0, 0), "empty is no fault");
        let rows = GOOD.to_owned() + &GOOD.replace("14.41", "0").replace("5.5", "6.5");
        let (chains, _) = parse(&rows);
        assert_eq!((chains.quotes.len(), chains.spots.len()), (2, 1), "other rows have a price");
        assert!((chains.spots[0].price - 14.41).abs() < 1e-12);
    }

    #[test]
    fn bytes_that_are_not_text_cost_one_row() {
        let mut bytes = format!("{HEADER}{GOOD}").into_bytes();
        let bad = bytes.len() + 28;
        bytes.extend_from_slice(GOOD.replace("5.5", "6.5").as_bytes());
        bytes[bad] = 0xff;
        let (chains, report) = parse_chains(Path::new("c.csv"), &bytes);
        assert_eq!((chains.quotes.len(), report.refused[Reason::NotUtf8 as usize]), (1, 1));
    }

    #[test]
    fn a_contract_quoted_twice_at_one_time_is_kept_once_whatever_the_order() {
        let lower = GOOD.replace("8.9", "8.8");
        for rows in [format!("{GOOD}{lower}"), format!("{lower}{GOOD}")] {
            let (chains, report) = parse(&rows);
            assert_eq!(chains.quotes.len(), 1);
            assert_eq!(chains.quotes[0].bid.to_bits(), 8.9f64.to_bits());
            assert_eq!((report.refused[Reason::Duplicate as usize], report.places[0].line), (1, 3));
        }
    }

    #[test]
    fn a_contract_that_comes_again_after_others_is_found_wherever_the_order_broke() {
        let strikes = [1, 3, 2, 4, 3, 1];
        let rows: String = strikes.iter().map(|k| GOOD.replace(",5.5,", &format!(",{k},"))).collect();
        let (chains, report) = parse(&rows);
        let kept: Vec<u32> = chains.quotes.iter().map(|q| q.contract.strike_milli / 1000).collect();
        assert_eq!((kept, report.refused[Reason::Duplicate as usize]), (vec![1, 3, 2, 4], 2));
        assert_eq!(report.places.iter().map(|place| place.line).collect::<Vec<_>>(), [6, 7]);
        let later = GOOD.replace("16:00:00", "16:00:01");
        let (chains, report) = parse(&format!("{GOOD}{later}"));
        assert_eq!((chains.quotes.len(), report.refused_total()), (2, 0), "another time is another quote");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), header in any::<bool>()) {
            let mut file = if header { HEADER.as_bytes().to_vec() } else { Vec::new() };
            file.extend_from_slice(&bytes);
            let _ = parse_chains(Path::new("c.csv"), &file);
        }

        #[test]
        fn no_damage_to_a_row_panics(at in 0usize..90, byte in any::<u8>()) {
            let mut file = format!("{HEADER}{GOOD}").into_bytes();
            let i = HEADER.len() + at % GOOD.len();
            file[i] = byte;
            let (chains, _) = parse_chains(Path::new("c.csv"), &file);
            for q in chains.quotes {
                prop_assert!(!(q.bid < 0.0 || q.ask < 0.0 || q.bid.is_infinite() || q.ask.is_infinite()));
            }
        }
    }
}
