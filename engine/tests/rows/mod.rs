//! Reads the option files of golden/.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)] // test code; each test file uses its own part

use engine::contract::{Right, Style};
use engine::kernel::dividends::{Dividend, Terms};
use std::collections::HashMap;
use std::path::Path;

/// One row: a contract with its inputs, and its values by column name.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) style: Style,
    pub(crate) right: Right,
    pub(crate) s: f64,
    pub(crate) k: f64,
    pub(crate) sigma: Option<f64>,
    pub(crate) terms: Terms,
    text: HashMap<String, String>,
}

impl Row {
    /// The value of a column; `None` where it is blank.
    pub(crate) fn get(&self, column: &str) -> Option<f64> {
        self.text[column].parse().ok()
    }

    /// The text of a column.
    pub(crate) fn text(&self, column: &str) -> &str {
        &self.text[column]
    }
}

/// Every row of a file of golden/.
pub(crate) fn read(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(file);
    let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let names = reader.headers().unwrap().clone();
    let rows: Vec<Row> = reader.records().map(|record| row(&names, &record.unwrap())).collect();
    assert!(!rows.is_empty(), "{file} is empty");
    rows
}

fn row(names: &csv::StringRecord, record: &csv::StringRecord) -> Row {
    let text: HashMap<String, String> =
        names.iter().zip(record).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let number = |name: &str| text[name].parse::<f64>().unwrap();
    let dividend = |entry: &str| {
        let (t, amount) = entry.split_once(':').unwrap();
        Dividend { t: t.parse().unwrap(), amount: amount.parse().unwrap() }
    };
    Row {
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
