//! Files of positions as brokers export them: titles before the header, other names of columns, costs in total, cash
//! and totals among the rows. Never: a record.

use crate::csv::{Column, CsvFault, Row, optional, required};
use crate::fields::{CsvFields, Lines, head};
use crate::text::{Decimal, Dialect, declared_separator};
use kernel::limits;
use kernel::position::Instrument;

/// Place of the account.
pub(super) const ACCOUNT: usize = 0;
/// Place of an OSI symbol.
pub(super) const OSYM: usize = 1;
/// Place of the symbol of shares or of an option.
pub(super) const SYMBOL: usize = 2;
/// Place of the quantity.
pub(super) const QUANTITY: usize = 3;
/// Place of the cost.
pub(super) const PRICE: usize = 4;
/// Place of the beta.
pub(super) const BETA: usize = 5;
/// Place of the kind of holding.
pub(super) const KIND: usize = 6;
/// Number of columns.
pub(super) const COLUMNS: usize = 7;
/// Lines that may stand before a header.
const TITLES: usize = 20;
/// Shares of a contract.
const CONTRACT: f64 = 100.0;
/// A column that no file has.
const NONE: Column = optional("\0");
/// The beginning of the line with which Schwab names an account.
const TITLE: &[u8] = b"Positions for account ";
/// Kinds of holdings that have options or are: other kinds have no row here.
const HELD: [&str; 8] = ["", "stk", "opt", "stock", "option", "equity", "equity option", "etfs & closed end funds"];

/// How the columns of a file are called.
#[derive(Debug)]
pub(super) struct Layout {
    /// Columns that no other layout has, besides the required ones.
    marks: &'static [&'static str],
    /// The columns, by the place that they have here.
    pub(super) columns: [Column; COLUMNS],
    /// True if the cost is that of the whole line, and not per share.
    is_total: bool,
}

/// The layout of a file, and where it begins.
pub(super) struct Found<'a> {
    pub(super) layout: &'static Layout,
    /// Lines before the header.
    pub(super) before: u64,
    /// The text from the header on.
    pub(super) rest: &'a [u8],
    /// The account that a line before the header names.
    pub(super) title: Option<String>,
}

/// A layout without an account, an OSI symbol, a kind or a beta of its own.
const PLAIN: [Column; COLUMNS] = {
    let mut columns = [NONE; COLUMNS];
    columns[SYMBOL] = required("symbol");
    columns[QUANTITY] = required("quantity");
    columns
};

const fn with(mut columns: [Column; COLUMNS], more: &[(usize, Column)]) -> [Column; COLUMNS] {
    let mut i = 0;
    while i < more.len() {
        columns[more[i].0] = more[i].1;
        i += 1;
    }
    columns
}

/// The layout that docs/positions.md describes.
static OWN: Layout = Layout {
    marks: &[],
    columns: with(
        PLAIN,
        &[
            (ACCOUNT, optional("account")),
            (OSYM, optional("osym")),
            (SYMBOL, optional("symbol")),
            (PRICE, optional("price")),
            (BETA, optional("beta")),
        ],
    ),
    is_total: false,
};

/// Exports of Fidelity, Schwab (two namings), tastytrade, Interactive Brokers (two), and lists by hand.
static EXPORTS: [Layout; 7] = [
    Layout {
        marks: &["average cost basis"],
        columns: with(PLAIN, &[(ACCOUNT, optional("account number")), (PRICE, optional("average cost basis"))]),
        is_total: false,
    },
    schwab("qty (quantity)"),
    schwab("quantity"),
    Layout {
        marks: &["trade price", "type"],
        columns: with(
            PLAIN,
            &[(ACCOUNT, optional("account")), (PRICE, optional("trade price")), (KIND, optional("type"))],
        ),
        is_total: false,
    },
    flex("quantity"),
    flex("position"),
    Layout {
        marks: &["avg price"],
        columns: with(
            PLAIN,
            &[(ACCOUNT, optional("account")), (QUANTITY, required("qty")), (PRICE, optional("avg price"))],
        ),
        is_total: false,
    },
];

const fn schwab(quantity: &'static str) -> Layout {
    Layout {
        marks: &["security type", "cost basis"],
        columns: with(
            PLAIN,
            &[(QUANTITY, required(quantity)), (PRICE, optional("cost basis")), (KIND, optional("security type"))],
        ),
        is_total: true,
    }
}

const fn flex(quantity: &'static str) -> Layout {
    Layout {
        marks: &["costbasisprice", "assetclass"],
        columns: with(
            PLAIN,
            &[
                (ACCOUNT, optional("clientaccountid")),
                (QUANTITY, required(quantity)),
                (PRICE, optional("costbasisprice")),
                (KIND, optional("assetclass")),
            ],
        ),
        is_total: false,
    }
}

impl Layout {
    /// The layout of a text; its own where none is recognized, so that its header says what is missing.
    pub(super) fn of(text: &[u8]) -> Found<'_> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut title = None;
        let mut fields = CsvFields::default();
        let lines = Lines::after(0, head(text)).filter(|(_, line)| declared_separator(line).is_none());
        for (number, line) in lines.take(TITLES) {
            let start = line.as_ptr() as usize - text.as_ptr() as usize;
            let rest = text.get(start..).unwrap_or_default();
            fields.split(line, Dialect::of(line, None, None).separator);
            let has = |name: &str| {
                fields.found().iter().any(|field| field.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
            };
            let is_of = |layout: &&Layout| {
                let mut wanted = layout.columns.iter().filter(|column| !column.optional).map(|column| column.name);
                wanted.all(has) && layout.marks.iter().all(|mark| has(mark))
            };
            if let Some(layout) = EXPORTS.iter().find(is_of) {
                return Found { layout, before: number - 1, rest, title };
            }
            if is_of(&&OWN) {
                break;
            }
            title = title.or_else(|| account_in(fields.found().first().copied().unwrap_or_default()));
        }
        Found { layout: &OWN, before: 0, rest: text, title: None }
    }

    /// True if it is a broker's, whose files have more rows than positions.
    pub(super) fn is_export(&self) -> bool {
        !self.marks.is_empty()
    }

    /// The decimal mark, where it is known: all these brokers write American numbers.
    pub(super) fn decimal(&self) -> Option<Decimal> {
        self.is_export().then_some(Decimal::Point)
    }

    /// The price paid per share of a row; NaN: unknown.
    ///
    /// # Errors
    /// The cost is no number, or out of range.
    pub(super) fn price(&self, row: &Row<'_, COLUMNS>, instrument: Instrument, quantity: f64) -> Result<f64, CsvFault> {
        if !self.is_total {
            return row.number_or_nan(PRICE, limits::PRICE);
        }
        let shares = match instrument {
            Instrument::Share(_) => quantity,
            Instrument::Contract(_) => quantity * CONTRACT,
        };
        let per_share = row.number_or_nan(PRICE, limits::COST)? / shares;
        Ok(if per_share.is_finite() { per_share.abs() } else { f64::NAN })
    }
}

/// The account that a line names.
pub(super) fn account_in(field: &[u8]) -> Option<String> {
    let text = core::str::from_utf8(field.strip_prefix(TITLE)?).ok()?;
    Some(text.split(" as of ").next().unwrap_or(text).trim().to_owned())
}

/// True if a kind of holding is shares or an option.
pub(super) fn is_held(kind: &[u8]) -> bool {
    HELD.iter().any(|held| kind.eq_ignore_ascii_case(held.as_bytes()))
}
