//! Nasdaq's list of the dividends of one name. Bytes to records. Never: what is likely to follow (`declared.rs`).

use super::intake::{Fault, at, read_listed};
use super::json::{self, Given, Listed, Number, Text, objects};
use super::times::parse_slashed;
use super::{DeclaredDividend, DividendKind};
use kernel::contract::Symbol;
use kernel::error::{Instead, Reason};
use kernel::limits;
use kernel::report::Report;
use std::path::Path;

objects! {
    struct OfName {
        data: Given<NameData<'a>> = "data",
    }
    struct NameData {
        dividends: Given<NameRows<'a>> = "dividends",
    }
    struct NameRows {
        rows: Listed<NameRow<'a>> = "rows",
    }
    struct NameRow {
        ex_date: Text<'a> = "exOrEffDate",
        kind: Text<'a> = "type",
        amount: Text<'a> = "amount",
        currency: Text<'a> = "currency",
    }
}

/// Reads the dividends of one name. One that pays none has an empty list.
#[must_use]
pub fn parse_nasdaq_dividends(source: &Path, bytes: &[u8], underlying: Symbol) -> (Vec<DeclaredDividend>, Report) {
    let mut report = Report::default();
    let Some(document) = json::parse::<OfName<'_>>(source, bytes, &mut report) else { return (Vec::new(), report) };
    match document.data.0.and_then(|data| data.dividends.0) {
        Some(dividends) => read_listed(source, report, &dividends.rows, |row| row.dividend(underlying)),
        None => {
            report.say_instead(source, Instead::Nothing);
            (Vec::new(), report)
        }
    }
}

impl NameRow<'_> {
    fn dividend(&self, underlying: Symbol) -> Result<DeclaredDividend, Fault> {
        // a row without a kind is a regular payment
        let kind = self.kind.get(Reason::NotAWord).unwrap_or("cash").to_ascii_lowercase();
        let kind = match kind.as_str() {
            kind if kind.contains("special") => DividendKind::Special,
            kind if kind.contains("cash") || kind == "n/a" => DividendKind::Regular,
            _ => return Err(("type", Reason::NotAWord)),
        };
        let currency = self.currency.get(Reason::NotAWord).unwrap_or("USD");
        if !["USD", "N/A"].contains(&currency) {
            return Err(("currency", Reason::NotAWord));
        }
        let amount = at("amount", self.amount.get(Reason::NotANumber))?;
        // written for readers: with a dollar sign and commas
        let amount = Number::parse(&amount.trim_start_matches('$').replace(',', ""));
        Ok(DeclaredDividend {
            underlying,
            ex_date: at("exOrEffDate", self.ex_date.read(Reason::NotADate, parse_slashed))?,
            amount: at("amount", amount.get(limits::DIVIDEND))?,
            kind,
            per_year: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_name_has_its_history() {
        let text = r#"{"data":{"exDividendDate":"08/10/2026","dividends":{"asOf":null,"headers":{},"rows":[
            {"exOrEffDate":"08/10/2026","type":"CASH","amount":"$0.26","declarationDate":"07/30/2026","currency":"USD"},
            {"exOrEffDate":"05/11/2026","type":"Special Cash","amount":"$1,000.50","currency":"USD"},
            {"exOrEffDate":"N/A","type":"CASH","amount":"$0.26","currency":"USD"},
            {"exOrEffDate":"02/09/2026","type":"CASH","amount":"N/A","currency":"USD"},
            {"exOrEffDate":"02/09/2026","type":"STOCK","amount":"0.05","currency":"USD"},
            {"exOrEffDate":"02/09/2026","type":"CASH","amount":"$0.25","currency":"CAD"}]}},"status":{"rCode":200}}"#;
        let aapl = Symbol::parse("AAPL").unwrap();
        let (rows, report) = parse_nasdaq_dividends(Path::new("n"), text.as_bytes(), aapl);
        let row = |ex_date, amount, kind| DeclaredDividend { underlying: aapl, ex_date, amount, kind, per_year: None };
        let want = [
            row(date(2026, 8, 10), 0.26, DividendKind::Regular),
            row(date(2026, 5, 11), 1000.5, DividendKind::Special),
        ];
        assert_eq!(rows, want);
        let places: Vec<_> = report.places.iter().map(|p| (p.line, p.field, p.reason)).collect();
        assert_eq!(
            places,
            [
                (3, "exOrEffDate", Reason::NotADate),
                (4, "amount", Reason::NotANumber),
                (5, "type", Reason::NotAWord),
                (6, "currency", Reason::NotAWord),
            ]
        );
        let none = br#"{"data":{"dividends":{"rows":null}}}"#;
        let (rows, report) = parse_nasdaq_dividends(Path::new("n"), none, aapl);
        assert_eq!((rows.len(), report.errors.len()), (0, 0), "no fault");
        let (_, report) = parse_nasdaq_dividends(Path::new("n"), br#"{"data":null,"status":{"rCode":400}}"#, aapl);
        assert_eq!(report.errors[0].to_string(), format!("n: {}", Instead::Nothing));
    }
}
