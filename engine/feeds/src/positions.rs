//! Positions as comma-separated rows: what is held, by account. Bytes to records. Never: a file handle, a value.

mod exports;

use super::csv::{CsvFault, Row, read_rows_after};
use super::text::encoding::utf8;
use exports::{ACCOUNT, BETA, COLUMNS, Found, KIND, Layout, OSYM, QUANTITY, SYMBOL};
use kernel::contract::{ContractKey, Symbol};
use kernel::error::Reason;
use kernel::limits;
use kernel::position::{Instrument, PositionLine};
use kernel::report::Report;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Longest name of an account, bytes.
const ACCOUNT_BYTES: usize = 64;

/// Reads `account,osym,symbol,quantity,price,beta`, or the export of a broker. Each row has a quantity and either an
/// option (`osym`, an OSI symbol, padded or compact) or shares (`symbol`); an option's symbol under `symbol` is an
/// option, too. Rows of the same contract are lots of their own. A row that cannot be used costs itself; those after
/// the hundred-thousandth are refused.
#[must_use]
pub fn parse_positions(file: &Path, bytes: &[u8]) -> (Vec<PositionLine>, Report) {
    let mut lines = Vec::new();
    // lines of an account share its name
    let mut accounts: HashSet<Arc<str>> = HashSet::new();
    let text = utf8(bytes);
    let Found { layout, before, rest, mut title } = Layout::of(&text);
    let report = read_rows_after(before, layout.decimal(), file, rest, &layout.columns, |row| {
        if layout.is_export() && !is_position(row, &mut title)? {
            return Ok(());
        }
        if lines.len() >= limits::POSITION_LINES.most as usize {
            return Err((QUANTITY, Reason::TooMany));
        }
        let name = match &title {
            Some(title) => Cow::Borrowed(plain_name(title)?),
            None => account(row)?,
        };
        let known = accounts.get(&*name).cloned();
        let account = known.unwrap_or_else(|| {
            let new: Arc<str> = (*name).into();
            accounts.insert(Arc::clone(&new));
            new
        });
        let (instrument, quantity) = (instrument(row)?, row.number(QUANTITY, limits::QUANTITY)?);
        lines.push(PositionLine {
            account,
            instrument,
            quantity,
            price: layout.price(row, instrument, quantity)?,
            beta: row.number_or_nan(BETA, limits::BETA)?,
        });
        Ok(())
    });
    (lines, report)
}

/// True if a row of an export is a position, and not cash, a total, or a footer. A line that names an account sets
/// `title`.
fn is_position(row: &Row<'_, COLUMNS>, title: &mut Option<String>) -> Result<bool, CsvFault> {
    // a footer has one field only, and funds that hold cash end in two stars
    let symbol = row.bytes(SYMBOL).unwrap_or_default();
    if let Some(name) = exports::account_in(symbol) {
        *title = Some(name);
    }
    let quantity = row.bytes(QUANTITY).unwrap_or_default();
    let has_quantity = quantity.iter().any(u8::is_ascii_digit);
    if symbol.is_empty() || symbol.ends_with(b"**") || !has_quantity {
        return Ok(false);
    }
    match row.bytes(KIND)? {
        kind if exports::is_held(kind) => Ok(true),
        _ => Err((KIND, Reason::Unused)),
    }
}

fn account<'a>(row: &'a Row<'_, COLUMNS>) -> Result<Cow<'a, str>, CsvFault> {
    let bytes = row.bytes(ACCOUNT)?;
    let text = plain_name(core::str::from_utf8(bytes).map_err(|_| (ACCOUNT, Reason::NotUtf8))?)?;
    // a pair of marks within a quoted field is one
    Ok(if text.contains("\"\"") { text.replace("\"\"", "\"").into() } else { text.into() })
}

/// The name of an account, if it may be shown everywhere.
fn plain_name(text: &str) -> Result<&str, CsvFault> {
    // it is written into logs, pages and tables: no cursor moves, no text turns round, no spreadsheet computes
    let is_odd = |c: char| c.is_control() || c == ',' || is_direction(c);
    let is_plain = text.len() <= ACCOUNT_BYTES && !text.contains(is_odd) && !text.starts_with(['=', '+', '-', '@']);
    if is_plain { Ok(text) } else { Err((ACCOUNT, Reason::NotAWord)) }
}

/// True for characters that change the order in which others are shown.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn instrument(row: &Row<'_, COLUMNS>) -> Result<Instrument, CsvFault> {
    let is_there = |column: usize| row.bytes(column).is_ok_and(|bytes| !bytes.is_empty());
    if is_there(OSYM) {
        if is_there(SYMBOL) {
            return Err((SYMBOL, Reason::Unused));
        }
        let contract = ContractKey::parse_osi(row.text(OSYM)?);
        return contract.map(Instrument::Contract).ok_or((OSYM, Reason::NotASymbol));
    }
    let text = row.text(SYMBOL)?;
    if let Some(contract) = ContractKey::parse_osi(text) {
        return Ok(Instrument::Contract(contract));
    }
    Symbol::parse_underlying(text).map(Instrument::Share).ok_or((SYMBOL, Reason::NotASymbol))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "account,osym,symbol,quantity,price,beta\n";

    fn parse(rows: &str) -> (Vec<PositionLine>, Vec<(u64, &'static str, Reason)>) {
        let (lines, report) = parse_positions(Path::new("p.csv"), format!("{HEADER}{rows}").as_bytes());
        (lines, report.places.iter().map(|place| (place.line, place.field, place.reason)).collect())
    }

    #[test]
    fn a_row_is_an_option_or_shares() {
        let (lines, refused) = parse(
            "ira,SPY   261218C00700000,,-2,9.5,\nira,,KO,100,61.25,0.6\n,,AAPL261218P00200000,3,,\n,,BRK.B,1.5,0,\n",
        );
        assert_eq!(refused, []);
        assert_eq!(lines.len(), 4);
        assert!(matches!(lines[0].instrument, Instrument::Contract(key) if key.strike_milli == 700_000));
        assert!(Arc::ptr_eq(&lines[0].account, &lines[1].account), "one name for all lines of an account");
        assert_eq!(lines[1].instrument, Instrument::Share(Symbol::parse("KO").unwrap()));
        assert_eq!(&*parse("\"my \"\"own\"\"\",,KO,1,,\n").0[0].account, "my \"own\"");
        assert!(lines[2].price.is_nan() && lines[2].account.is_empty() && lines[3].price == 0.0);
        assert!((lines[1].beta - 0.6).abs() < 1e-15 && lines[0].beta.is_nan());
    }

    #[test]
    fn exports_of_brokers_are_read_as_they_are() {
        let read = |text: &str| {
            let (lines, report) = parse_positions(Path::new("p.csv"), text.as_bytes());
            let of = |line: &PositionLine| {
                let mut osi = [0; 21];
                let name = match line.instrument {
                    Instrument::Share(symbol) => symbol.to_string(),
                    Instrument::Contract(key) => {
                        let n = key.write_compact(&mut osi);
                        String::from_utf8_lossy(&osi[..n]).into_owned()
                    }
                };
                format!("{}|{name}|{}|{}", line.account, line.quantity, line.price)
            };
            let refused: Vec<u64> = report.places.iter().map(|place| place.line).collect();
            assert!(report.errors.is_empty(), "{:?}", report.errors);
            (lines.iter().map(of).collect::<Vec<_>>(), refused)
        };
        let fidelity = "\u{feff}Account Number,Account Name,Symbol,Description,Quantity,Last Price,Current Value,\
             Cost Basis Total,Average Cost Basis,Type\r\n\
             X1,Individual,SPAXX**,HELD IN MONEY MARKET,,,$100.00,,,Cash,\r\n\
             X1,Individual,KO,COCA COLA,1000,$72.10,$72100.00,$61250.00,$61.25,Cash,\r\n\
             X1,Individual, -KO261218C72,KO DEC 18 2026 $72 CALL,-2,$1.05,-$210.00,-$240.00,$1.20,Margin,\r\n\
             X1,Individual,Pending Activity,,,,$3.00,,,,\r\n\r\n\
             \"The data and information in this spreadsheet is provided to you solely for your use\"\r\n";
        assert_eq!(read(fidelity), (vec!["X1|KO|1000|61.25".into(), "X1|KO261218C00072000|-2|1.2".into()], vec![]));
        let schwab = "\"Positions for account Individual ...123 as of 03:57 PM ET, 2026/11/20\"\n\n\
             \"Symbol\",\"Description\",\"Qty (Quantity)\",\"Price\",\"Mkt Val (Market Value)\",\"Cost Basis\",\"Security Type\",\n\
             \"KO\",\"COCA COLA\",\"1,000\",\"$72.10\",\"$72,100.00\",\"$61,250.00\",\"Equity\",\n\
             \"KO 12/18/2026 72.00 C\",\"CALL COCA COLA\",\"-2\",\"$1.05\",\"-$210.00\",\"-$240.00\",\"Option\",\n\
             \"SWVXX\",\"MONEY FUND\",\"5\",\"1\",\"$5.00\",\"$5.00\",\"Mutual Fund\",\n\
             \"Cash & Cash Investments\",\"--\",\"--\",\"--\",\"$10.00\",\"--\",\"Cash and Money Market\",\n\
             \"Account Total\",\"--\",\"--\",\"--\",\"$1.00\",\"$1.00\",\"--\",\n\n\
             \"Positions for account Roth ...9 as of 03:57 PM ET, 2026/11/20\"\n\n\
             \"Symbol\",\"Description\",\"Qty (Quantity)\",\"Price\",\"Mkt Val (Market Value)\",\"Cost Basis\",\"Security Type\",\n\
             \"SPY\",\"SPDR\",\"3\",\"$700\",\"$2,100.00\",\"--\",\"ETFs & Closed End Funds\",\n";
        let held =
            ["Individual ...123|KO|1000|61.25", "Individual ...123|KO261218C00072000|-2|1.2", "Roth ...9|SPY|3|NaN"];
        assert_eq!(read(schwab), (held.map(String::from).to_vec(), vec![6]));
        let tastytrade = "Account,Symbol,Type,Quantity,Exp Date,DTE,Strike Price,Call/Put,P/L Open,Trade Price\n\
             5WX,KO    261218C00072000,OPTION,-2,Dec 18,28d,72,CALL,30,1.2\n5WX,KO,STOCK,100,,,,,5,61.25\n";
        assert_eq!(read(tastytrade).0, ["5WX|KO261218C00072000|-2|1.2", "5WX|KO|100|61.25"]);
        let flex = "\"ClientAccountID\",\"AssetClass\",\"Symbol\",\"Multiplier\",\"Quantity\",\"MarkPrice\",\"CostBasisPrice\"\n\
             \"U1\",\"OPT\",\"KO    261218C00072000\",\"100\",\"-2\",\"1.05\",\"1.2\"\n\
             \"U1\",\"STK\",\"KO\",\"1\",\"100\",\"72.1\",\"61.25\"\n\"U1\",\"FUT\",\"ESZ6\",\"50\",\"1\",\"1\",\"1\"\n";
        let held = ["U1|KO261218C00072000|-2|1.2", "U1|KO|100|61.25"];
        assert_eq!(read(flex), (held.map(String::from).to_vec(), vec![4]), "a future is none of ours");
        let by_hand = "Account,Symbol,Qty,Avg Price\nmain,KO 18DEC26 72 C,-2,1.2\nmain,KO,100,61.25\nmain,KO Dec18'26 72 PUT,1,\n";
        let held = ["main|KO261218C00072000|-2|1.2", "main|KO|100|61.25", "main|KO261218P00072000|1|NaN"];
        assert_eq!(read(by_hand).0, held);
    }

    #[test]
    fn columns_may_be_missing_and_a_bad_row_costs_itself() {
        let (lines, report) = parse_positions(Path::new("p"), b"symbol,quantity\nSPY,1\nSPY,x\n");
        assert_eq!((lines.len(), report.refused_total()), (1, 1));
        assert!(!parse_positions(Path::new("p"), b"symbol\nSPY\n").1.errors.is_empty());
        let (lines, report) = parse_positions(Path::new("p"), b"symbol,quantity,Quantity\nSPY,1,2\n");
        assert!(lines.is_empty() && report.places[0].to_string() == "p:1: quantity: too_many", "{:?}", report.places);
        let bad = [
            ("a,,,1,,", "symbol", Reason::Missing),
            ("a,,S$,1,,", "symbol", Reason::NotASymbol),
            ("a,SPY,,1,,", "osym", Reason::NotASymbol),
            ("a,SPY261218C00700000,SPY,1,,", "symbol", Reason::Unused),
            ("a,,SPY,,,", "quantity", Reason::Missing),
            ("a,,SPY,1e12,,", "quantity", Reason::OutOfRange),
            ("a,,SPY,1,-1,", "price", Reason::OutOfRange),
            ("a,,SPY,1,1,1000", "beta", Reason::OutOfRange),
            ("a\u{7},,SPY,1,1,", "account", Reason::NotAWord),
            ("=1+1,,SPY,1,1,", "account", Reason::NotAWord),
            ("@SUM(A1),,SPY,1,1,", "account", Reason::NotAWord),
            ("\"+1\",,SPY,1,1,", "account", Reason::NotAWord),
            ("-a,,SPY,1,1,", "account", Reason::NotAWord),
            ("a\u{202e}b,,SPY,1,1,", "account", Reason::NotAWord),
        ];
        for (row, field, reason) in bad {
            let (lines, refused) = parse(&format!("a,,F,1,,\n{row}\na,,F,2,,\n"));
            assert_eq!((lines.len(), refused), (2, vec![(3, field, reason)]), "{row}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_positions(Path::new("x"), &[HEADER.as_bytes(), &bytes].concat());
        }
    }
}
