//! Nasdaq's lists of dividends: of one name, and of one day for all names. Bytes to records. Never: what is likely to
//! follow (`declared.rs`).

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
    struct OfDay {
        data: Given<DayData<'a>> = "data",
    }
    struct DayData {
        calendar: Given<DayRows<'a>> = "calendar",
    }
    struct DayRows {
        rows: Listed<DayRow<'a>> = "rows",
    }
    struct DayRow {
        symbol: Text<'a> = "symbol",
        ex_date: Text<'a> = "dividend_Ex_Date",
        rate: Number = "dividend_Rate",
        annual: Number = "indicated_Annual_Dividend",
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

/// Reads the dividends of every name with its ex-date on one day.
#[must_use]
pub fn parse_nasdaq_calendar(source: &Path, bytes: &[u8]) -> (Vec<DeclaredDividend>, Report) {
    let mut report = Report::default();
    let Some(document) = json::parse::<OfDay<'_>>(source, bytes, &mut report) else { return (Vec::new(), report) };
    match document.data.0.and_then(|data| data.calendar.0) {
        Some(calendar) => read_listed(source, report, &calendar.rows, DayRow::dividend),
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

impl DayRow<'_> {
    fn dividend(&self) -> Result<DeclaredDividend, Fault> {
        let amount = at("dividend_Rate", self.rate.get(limits::DIVIDEND))?;
        // The indicated sum of a year says how often it is paid, where the two agree.
        let times = self.annual.get(limits::DIVIDEND).map_or(f64::NAN, |annual| annual / amount);
        let per_year = [1u8, 2, 4, 12, 52].into_iter().find(|&n| (times / f64::from(n) - 1.0).abs() < 0.02);
        Ok(DeclaredDividend {
            underlying: at("symbol", self.symbol.read(Reason::NotASymbol, Symbol::parse_underlying))?,
            ex_date: at("dividend_Ex_Date", self.ex_date.read(Reason::NotADate, parse_slashed))?,
            amount,
            kind: DividendKind::Regular,
            per_year,
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

    #[test]
    fn a_day_has_its_names() {
        let text = r#"{"data":{"calendar":{"headers":{},"rows":[
            {"companyName":"One","symbol":"KO","dividend_Ex_Date":"9/15/2026","payment_Date":"10/1/2026",
             "record_Date":"9/15/2026","dividend_Rate":0.51,"indicated_Annual_Dividend":2.04,"announcement_Date":"N/A"},
            {"symbol":"BRK/B","dividend_Ex_Date":"9/15/2026","dividend_Rate":0.3,"indicated_Annual_Dividend":0},
            {"symbol":"X","dividend_Ex_Date":"N/A","dividend_Rate":0.3},
            {"symbol":"Y","dividend_Ex_Date":"9/15/2026","dividend_Rate":-1}]}}}"#;
        let (rows, report) = parse_nasdaq_calendar(Path::new("c"), text.as_bytes());
        let seen: Vec<_> = rows.iter().map(|d| (d.underlying.to_string(), d.amount, d.per_year)).collect();
        assert_eq!(seen, [("KO".to_owned(), 0.51, Some(4)), ("BRK.B".to_owned(), 0.3, None)]);
        let places: Vec<_> = report.places.iter().map(|p| (p.line, p.field, p.reason)).collect();
        assert_eq!(places, [(3, "dividend_Ex_Date", Reason::NotADate), (4, "dividend_Rate", Reason::OutOfRange)]);
        let (rows, report) = parse_nasdaq_calendar(Path::new("c"), br#"{"data":{"calendar":{"rows":null}}}"#);
        assert_eq!((rows.len(), report.errors.len()), (0, 0), "a day without ex-dates");
    }
}
