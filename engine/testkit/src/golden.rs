//! The option files of golden/: contracts with their reference values. golden/README.md describes the columns.

use flate2::read::GzDecoder;
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::{AtTheMoney, Greek};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The values of golden/frozen.csv.gz, with the digits after the first.
pub const FROZEN: [(Greek, usize); 9] = [
    (Greek::Value, 11),
    (Greek::Delta, 9),
    (Greek::Gamma, 8),
    (Greek::Vega, 7),
    (Greek::Volga, 6),
    (Greek::Theta, 7),
    (Greek::Rho, 7),
    (Greek::Epsilon, 7),
    (Greek::DualDelta, 8),
];

/// One contract with its reference values.
#[derive(Clone, Debug)]
pub struct GoldenRow {
    /// Name of the contract in the file.
    pub id: String,
    /// Exercise style.
    pub style: Style,
    /// Call or put.
    pub right: Right,
    /// Spot, currency per share.
    pub s: f64,
    /// Strike.
    pub k: f64,
    /// Volatility, per √year; `None` where a file gives prices instead.
    pub sigma: Option<f64>,
    /// Time, rates and dividends.
    pub terms: Terms,
    text: HashMap<String, String>,
}

impl GoldenRow {
    /// The volatility of a row that has one.
    ///
    /// # Panics
    /// It has none.
    #[must_use]
    pub fn vol(&self) -> f64 {
        self.sigma.unwrap()
    }

    /// The number in a column; `None` where it is blank or the file has no such column.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<f64> {
        self.text.get(column)?.parse().ok()
    }

    /// The text in a column.
    ///
    /// # Panics
    /// The file has no such column.
    #[must_use]
    pub fn text(&self, column: &str) -> &str {
        &self.text[column]
    }

    /// The text in a column; `None` where it is blank or the file has no such column.
    #[must_use]
    pub fn text_in(&self, column: &str) -> Option<&str> {
        self.text.get(column).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Inputs that scale the errors of its Greeks.
    #[must_use]
    pub fn at_the_money(&self) -> AtTheMoney {
        AtTheMoney { s: self.s, k: self.k, sigma: self.vol(), t: self.terms.t }
    }
}

/// The folder golden/.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden")
}

/// Every row of a file of golden/, or of another with its columns: an absolute path. A name that ends in `.gz` is that
/// of a compressed file.
///
/// # Panics
/// The file is not there, not whole or empty.
#[must_use]
pub fn rows(file: &str) -> Vec<GoldenRow> {
    let path = folder().join(file);
    let bytes = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text: Box<dyn Read> = if file.ends_with(".gz") { Box::new(GzDecoder::new(bytes)) } else { Box::new(bytes) };
    let mut reader = csv::Reader::from_reader(text);
    let names = reader.headers().unwrap().clone();
    let rows: Vec<GoldenRow> = reader.records().map(|record| row(&names, &record.unwrap())).collect();
    assert!(!rows.is_empty(), "{file} is empty");
    rows
}

fn row(names: &csv::StringRecord, record: &csv::StringRecord) -> GoldenRow {
    let text: HashMap<String, String> =
        names.iter().zip(record).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let number = |name: &str| text[name].parse::<f64>().unwrap();
    let dividend = |entry: &str| {
        let (t, amount) = entry.split_once(':').unwrap();
        Dividend { t: t.parse().unwrap(), amount: amount.parse().unwrap() }
    };
    GoldenRow {
        id: text["id"].clone(),
        style: if text["style"] == "american" { Style::American } else { Style::European },
        right: if text["right"] == "call" { Right::Call } else { Right::Put },
        s: number("s"),
        k: number("k"),
        sigma: text.get("sigma").and_then(|s| s.parse().ok()),
        terms: Terms {
            t: number("t_years"),
            r: number("r"),
            b: number("b"),
            divs: text["divs"].split(';').filter(|d| !d.is_empty()).map(dividend).collect(),
        },
        text,
    }
}
