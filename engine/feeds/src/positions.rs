//! Positions as comma-separated rows: what is held, by account. Bytes to records. Never: a file handle, a value.

use super::csv::{Column, CsvFault, Row, optional, read_rows, required};
use kernel::contract::{ContractKey, Symbol};
use kernel::error::Reason;
use kernel::limits;
use kernel::position::{Instrument, PositionLine};
use kernel::report::Report;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

const COLUMNS: [Column; 6] = [
    optional("account"),
    optional("osym"),
    optional("symbol"),
    required("quantity"),
    optional("price"),
    optional("beta"),
];
const ACCOUNT: usize = 0;
const OSYM: usize = 1;
const SYMBOL: usize = 2;
const QUANTITY: usize = 3;
const PRICE: usize = 4;
const BETA: usize = 5;
/// Longest name of an account, bytes.
const ACCOUNT_BYTES: usize = 64;

/// Reads `account,osym,symbol,quantity,price,beta`. Each row has a quantity and either an option (`osym`, an OSI
/// symbol, padded or compact) or shares (`symbol`); an OSI symbol under `symbol` is an option, too. Rows of the same
/// contract are lots of their own. A row that cannot be used costs itself; those after the hundred-thousandth are
/// refused.
#[must_use]
pub fn parse_positions(file: &Path, bytes: &[u8]) -> (Vec<PositionLine>, Report) {
    let mut lines = Vec::new();
    // lines of an account share its name
    let mut accounts: HashSet<Arc<str>> = HashSet::new();
    let report = read_rows(file, bytes, &COLUMNS, |row| {
        if lines.len() >= limits::POSITION_LINES.most as usize {
            return Err((QUANTITY, Reason::TooMany));
        }
        let name = &*account(row)?;
        let known = accounts.get(name).cloned();
        let account = known.unwrap_or_else(|| {
            let new: Arc<str> = name.into();
            accounts.insert(Arc::clone(&new));
            new
        });
        lines.push(PositionLine {
            account,
            instrument: instrument(row)?,
            quantity: row.number(QUANTITY, limits::QUANTITY)?,
            price: row.number_or_nan(PRICE, limits::PRICE)?,
            beta: row.number_or_nan(BETA, limits::BETA)?,
        });
        Ok(())
    });
    (lines, report)
}

fn account<'a>(row: &'a Row<'_, { COLUMNS.len() }>) -> Result<Cow<'a, str>, CsvFault> {
    let bytes = row.bytes(ACCOUNT)?;
    let text = core::str::from_utf8(bytes).map_err(|_| (ACCOUNT, Reason::NotUtf8))?;
    // it is written into logs, pages and tables: no cursor moves, no text turns round, no spreadsheet computes
    let is_odd = |c: char| c.is_control() || c == ',' || is_direction(c);
    let is_plain = text.len() <= ACCOUNT_BYTES && !text.contains(is_odd) && !text.starts_with(['=', '+', '-', '@']);
    // a pair of marks within a quoted field is one
    let whole = if text.contains("\"\"") { text.replace("\"\"", "\"").into() } else { text.into() };
    if is_plain { Ok(whole) } else { Err((ACCOUNT, Reason::NotAWord)) }
}

/// True for characters that change the order in which others are shown.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn instrument(row: &Row<'_, { COLUMNS.len() }>) -> Result<Instrument, CsvFault> {
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
