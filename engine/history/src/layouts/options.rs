//! Options of reading files, for facts that files do not state. Never: a file.

use super::columns::Meaning;
use core::fmt;
use feeds::text::{DateOrder, Decimal};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use std::path::PathBuf;

/// Options of reading files.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Names of columns in files with unknown headers.
    pub columns: ColumnMap,
    /// The decimal mark of texts; `None`: the one that they show.
    pub decimal: Option<Decimal>,
    /// The order of day and month in dates of numbers; `None`: the one that texts show.
    pub dates: Option<DateOrder>,
    /// The zone of times that have no offset; `None`: Eastern.
    pub zone: Option<TimeZone>,
    /// The Eastern clock time of a date without a time, or the close if that is earlier; `None`: the time of the
    /// layout, mostly the close.
    pub day_time: Option<Time>,
    /// Divisor of strikes: 1000 if they are thousandths.
    pub strike_divisor: f64,
    /// The underlying of files that do not name it; `None`: the name of the file without its ending, up to the first
    /// `_`, `-` or blank.
    pub underlying: Option<Symbol>,
    /// A file of closing prices of underlyings, for quotes that have none beside them; `None`: one of
    /// `underlying_prices.parquet`, `underlying.parquet`, `underlying_prices.csv` and `underlying.csv` in the folder of
    /// the file, if it is there.
    pub prices: Option<PathBuf>,
    /// Recordings: the time from one snapshot to the next, whole seconds.
    pub every: SignedDuration,
    /// The layout that every file is of; `None`: the one that its columns fit.
    pub layout: Option<String>,
    /// The instant of every quote, in place of the file's times.
    pub time: Option<Timestamp>,
    /// The sessions: they give closes and snapshots.
    pub calendar: Calendar,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            columns: ColumnMap::default(),
            decimal: None,
            dates: None,
            zone: None,
            day_time: None,
            strike_divisor: 1.0,
            underlying: None,
            prices: None,
            every: SignedDuration::from_mins(1),
            layout: None,
            time: None,
            calendar: Calendar::embedded(),
        }
    }
}

/// Meanings of columns of a file, as given by a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMap(Vec<(Meaning, String)>);

/// Errors of a text of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnMapError {
    /// A part that is not `NAME=COLUMN`.
    NoPair(String),
    /// Not a name that a column can have.
    UnknownName(String),
    /// A name that stands there twice.
    Twice(&'static str),
}

impl fmt::Display for ColumnMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPair(part) => write!(f, "columns are NAME=COLUMN,NAME=COLUMN,…, not '{}'", part.escape_default()),
            Self::UnknownName(name) => {
                write!(f, "no column is called '{}'; the names are", name.escape_default())?;
                let names = Meaning::NAMES.into_iter().map(|(_, name)| name).enumerate();
                names.into_iter().try_for_each(|(i, name)| write!(f, "{} {name}", if i == 0 { "" } else { "," }))
            }
            Self::Twice(name) => write!(f, "the column '{name}' is named twice"),
        }
    }
}

impl core::error::Error for ColumnMapError {}

impl ColumnMap {
    /// Reads `NAME=COLUMN,NAME=COLUMN,…`: a name of [`Meaning`], and what the header of the files calls that column.
    ///
    /// # Errors
    /// For a part that is not a pair, an unknown name, a name that is given twice.
    pub fn parse(text: &str) -> Result<Self, ColumnMapError> {
        let mut map = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let pair = part.split_once('=').map(|(name, column)| (name.trim(), column.trim()));
            let Some((name, column)) = pair.filter(|(name, column)| !name.is_empty() && !column.is_empty()) else {
                return Err(ColumnMapError::NoPair(part.to_owned()));
            };
            let meaning = Meaning::of_name(name).ok_or_else(|| ColumnMapError::UnknownName(name.to_owned()))?;
            if map.column(meaning).is_some() {
                return Err(ColumnMapError::Twice(meaning.name()));
            }
            map.0.push((meaning, column.to_owned()));
        }
        Ok(map)
    }

    /// The name in the header of the column of a meaning.
    pub(super) fn column(&self, meaning: Meaning) -> Option<&str> {
        self.0.iter().find(|(own, _)| *own == meaning).map(|(_, column)| column.as_str())
    }

    /// Every pair.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Meaning, &str)> {
        self.0.iter().map(|(meaning, column)| (*meaning, column.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_or_refused_with_their_text() {
        let map = ColumnMap::parse("strike=K, expiry = EXP date,").unwrap();
        assert_eq!(map.column(Meaning::Strike), Some("K"));
        assert_eq!(map.column(Meaning::Expiry), Some("EXP date"));
        assert_eq!(map.column(Meaning::Bid), None);
        assert_eq!(ColumnMap::parse(""), Ok(ColumnMap::default()));
        for (text, error) in [
            ("strike", ColumnMapError::NoPair("strike".to_owned())),
            ("strike=", ColumnMapError::NoPair("strike=".to_owned())),
            ("k=strike", ColumnMapError::UnknownName("k".to_owned())),
            ("bid=a,bid=b", ColumnMapError::Twice("bid")),
        ] {
            assert_eq!(ColumnMap::parse(text), Err(error), "{text}");
        }
        let message = ColumnMapError::UnknownName("k".to_owned()).to_string();
        assert!(
            message.contains("names are quote_time, unix_time") && message.ends_with("put_open_interest"),
            "{message}"
        );
    }
}
