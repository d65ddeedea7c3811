//! The columns of a file of Greeks: names, types and units. The names are those of the native record, and the table of
//! the engine's columns makes most of them. Never: a file, a row.

use crate::recipe::Recipe;
use engine::store::chain::Slice;
use engine::store::columns::{Col, Group, Unit};
use engine::store::quotes::QuoteNumber;

/// Content of a column of a file.
#[derive(Clone, Copy, Debug)]
pub enum FileCell {
    /// The time of the snapshot.
    Time,
    /// The Eastern date of the snapshot.
    Date,
    /// A word that is constant over a chain or one of its slices.
    Word(FileWord),
    /// The date of expiration.
    Expiry,
    /// The strike, currency per share.
    Strike,
    /// The strike in thousandths.
    StrikeMilli,
    /// Call or put.
    Right,
    /// The OSI symbol, 21 characters.
    Osym,
    /// A number that is constant over a (root, expiry).
    Slice(fn(&Slice) -> f64),
    /// A number of the contract.
    Number(Col),
    /// A number of its quote.
    Quote(QuoteNumber),
    /// The time of the contract's quote.
    QuoteTime,
    /// Why the contract's quote is not used.
    Dropped,
}

/// A word that is constant over a slice or a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileWord {
    /// Underlying symbol.
    Underlying,
    /// Option root.
    Root,
    /// `american` or `european`.
    Style,
    /// `am` or `pm`.
    Settle,
    /// The field groups that the file has.
    Groups,
    /// Whether to exercise early.
    Exercise,
}

/// A column of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileColumn {
    /// Name of the column.
    pub name: &'static str,
    /// Content of the column.
    pub cell: FileCell,
    /// Unit; empty: none.
    pub unit: &'static str,
    /// Meaning in one line.
    pub meaning: &'static str,
}

const fn column(name: &'static str, cell: FileCell, unit: &'static str, meaning: &'static str) -> FileColumn {
    FileColumn { name, cell, unit, meaning }
}

const SHARE: &str = "currency per share";

/// Columns that identify a row.
const IDENTITY: [FileColumn; 11] = [
    column("quote_time", FileCell::Time, "UTC", "when it was quoted, which is when it is valued"),
    column("quote_date", FileCell::Date, "US Eastern", "the date of quote_time in New York"),
    column("underlying", FileCell::Word(FileWord::Underlying), "", "underlying symbol"),
    column("root", FileCell::Word(FileWord::Root), "", "option root"),
    column("expiry", FileCell::Expiry, "", "expiration date"),
    column("strike", FileCell::Strike, SHARE, "strike price"),
    column("strike_milli", FileCell::StrikeMilli, "thousandths of the currency per share", "strike price, exactly"),
    column("right", FileCell::Right, "", "call or put"),
    column("osym", FileCell::Osym, "", "OSI symbol, 21 characters"),
    column("greeks", FileCell::Word(FileWord::Groups), "", "the field groups of the file"),
    column(
        "und_price",
        FileCell::Slice(|s| s.und_price),
        SHARE,
        "price of the underlying; of the VIX family the forward",
    ),
];

/// Columns that are constant over an expiry.
const EXPIRY: [FileColumn; 8] = [
    column("fwd_price", FileCell::Slice(|s| s.fwd_price), SHARE, "calibrated forward"),
    column("ex_style", FileCell::Word(FileWord::Style), "", "american or european"),
    column("settle", FileCell::Word(FileWord::Settle), "", "am or pm"),
    column("days", FileCell::Slice(|s| s.days), "calendar days", "time to settlement"),
    column("disc_rate", FileCell::Slice(|s| s.disc_rate), "per year, decimal", "rate, continuously compounded"),
    column("borr_rate", FileCell::Slice(|s| s.borr_rate), "per year, decimal", "implied borrow rate"),
    column("divs", FileCell::Slice(|s| s.divs), SHARE, "cash dividends to expiry"),
    column("days_vt", FileCell::Slice(|s| s.days_vt), "variance days", "time to settlement by the variance clock"),
];

/// The advice on exercise, in words.
const EXERCISE: FileColumn =
    column("exercise", FileCell::Word(FileWord::Exercise), "", "exercise early: no, before_ex or now");

/// Columns of the quote.
const QUOTE: [FileColumn; 7] = [
    column("bid", FileCell::Quote(QuoteNumber::Bid), SHARE, "bid"),
    column("ask", FileCell::Quote(QuoteNumber::Ask), SHARE, "ask"),
    column("bid_size", FileCell::Quote(QuoteNumber::BidSize), "contracts", "contracts at the bid"),
    column("ask_size", FileCell::Quote(QuoteNumber::AskSize), "contracts", "contracts at the ask"),
    column("mid", FileCell::Quote(QuoteNumber::Mid), SHARE, "middle of bid and ask"),
    column(
        "volume",
        FileCell::Quote(QuoteNumber::Volume),
        "contracts",
        "contracts traded since the open of the session",
    ),
    column("open_interest", FileCell::Quote(QuoteNumber::OpenInterest), "contracts", "contracts open"),
];

/// Columns of served tables alone: a file has one time per snapshot, a daemon one per quote; reasons are those of the
/// pass that is served.
const SERVED: [FileColumn; 3] = [
    column("quote_time", FileCell::QuoteTime, "UTC", "when the contract was quoted"),
    column("dropped", FileCell::Dropped, "", "why the quote is not used"),
    column("snapshot_time", FileCell::Time, "UTC", "when the snapshot was valued"),
];

fn number(col: Col) -> FileColumn {
    column(col.name(), FileCell::Number(col), unit_text(col), col.meaning())
}

/// The columns of files of a recipe, in the order of the native record.
#[must_use]
pub fn file_columns(recipe: Recipe) -> Vec<FileColumn> {
    let is_later = |col: &Col| matches!(col.group(), Group::Vt | Group::Prob);
    let is_greek = |col: &Col| col.late().is_none() && col.group() != Group::Layer && !is_later(col);
    let greeks = Col::ALL.iter().copied().filter(is_greek).map(number);
    let later = Col::ALL.iter().copied().filter(is_later).map(number);
    let quote: &[FileColumn] = if recipe.quotes { &QUOTE } else { &[] };
    IDENTITY.into_iter().chain(greeks).chain(EXPIRY).chain(later).chain(quote.iter().copied()).collect()
}

/// The column of a served table that has the name of a field of the native record.
#[must_use]
pub fn served_column(name: &str) -> Option<FileColumn> {
    let numbers = Col::ALL.iter().copied().map(number);
    IDENTITY
        .into_iter()
        .chain(numbers)
        .chain(EXPIRY)
        .chain([EXERCISE])
        .chain(QUOTE)
        .chain(SERVED)
        .rfind(|column| column.name == name)
}

/// The field groups of files of a recipe.
#[must_use]
pub const fn file_groups(recipe: Recipe) -> &'static str {
    if recipe.quotes { "core,extra,exotic,chain,vt,prob,quote" } else { "core,extra,exotic,chain,vt,prob" }
}

/// The unit of a column in words; empty: it has none.
#[must_use]
pub fn unit_text(col: Col) -> &'static str {
    match (col, col.unit()) {
        (Col::SvcTheo | Col::Decay | Col::DecayVt | Col::ExerciseBoundary | Col::CostOfWaiting, _) => SHARE,
        (Col::ThetaVt, _) => "per variance day",
        (Col::Density, _) => "per currency unit",
        (Col::SvcVol | Col::BidVol | Col::AskVol | Col::PrevVol, _) => "per square root of a year, decimal",
        (Col::Volga | Col::Vanna | Col::Zomma | Col::Ultima | Col::Vera, _) => "volatility and rate per 1.00",
        (_, Unit::PerPercent) => "per 1 %",
        (_, Unit::PerDay) => "per calendar day",
        (_, Unit::PerYear) => "per year",
        (_, Unit::PerOne) => "per 1.00",
        (_, Unit::Plain) => "",
    }
}

impl FileColumn {
    /// True if values repeat, so that a dictionary is smaller.
    #[must_use]
    pub const fn repeats(&self) -> bool {
        !matches!(self.cell, FileCell::Osym | FileCell::Number(_) | FileCell::Quote(_) | FileCell::QuoteTime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_native_column_is_there_once() {
        let quotes = Recipe { quotes: true, ..Recipe::default() };
        let columns = file_columns(quotes);
        for col in Col::ALL {
            let n = columns.iter().filter(|column| column.name == col.name()).count();
            assert_eq!(n, usize::from(col.late().is_none() && col.group() != Group::Layer), "{}", col.name());
        }
        let mut names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert_eq!(columns.len(), file_columns(Recipe::default()).len() + 7);
        assert!(columns.iter().all(|column| !column.meaning.is_empty()));
    }
}
