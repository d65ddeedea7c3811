//! Facts beside the rows of a file: sessions, roots, the underlying of a file that does not name it, closing prices.
//! Never: a byte of a file.

use super::columns::{Clock, Layout};
use super::options::ReadOptions;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::expirations::canonical_expiry;
use kernel::calendar::{Calendar, Day};
use kernel::contract::{ForwardBasis, RootTable, Symbol};
use std::collections::HashMap;
use std::path::Path;

/// From when on the roots of files are those of today's symbols: 2010-06-01, Eastern. Before, an index had many roots,
/// and their names did not imply the terms.
const SYMBOLS_SINCE: Timestamp = Timestamp::constant(1_275_364_800, 0);

/// Endings of files, the outer one first.
const ENDINGS: [&str; 5] = [".gz", ".zip", ".csv", ".txt", ".parquet"];

/// Closing prices by underlying and date; `None`: a file of prices that names no underlying.
pub(super) type Closes = HashMap<(Option<Symbol>, Date), f64>;

/// Facts beside the rows of a file.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) options: &'a ReadOptions,
    pub(super) roots: RootTable,
    pub(super) closes: Closes,
    /// True where the vendor's own numbers are read, too.
    pub(super) reads_shown: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn new(options: &'a ReadOptions) -> Self {
        Self { options, roots: RootTable::embedded(), closes: Closes::new(), reads_shown: false }
    }

    /// True if files may have this layout: any, unless the options name one.
    pub(super) fn accepts(&self, layout: &Layout) -> bool {
        self.options.layout.as_deref().is_none_or(|name| layout.is_called(name))
    }

    pub(super) fn calendar(&self) -> &'a Calendar {
        &self.options.calendar
    }

    /// The underlying of a file that does not name it.
    pub(super) fn underlying_of_file(&self, file: &Path) -> Option<Symbol> {
        let by_name = || {
            let name = file.file_name()?.to_str()?;
            let bare = ENDINGS.iter().fold(name, |name, ending| name.strip_suffix(ending).unwrap_or(name));
            let ticker = bare.split(['_', '-', ' ']).next()?;
            Symbol::parse_underlying(ticker)
        };
        self.options.underlying.or_else(by_name).map(|ticker| self.roots.canonical(ticker))
    }

    /// The root of a contract whose file gives `root`: files of indices before `SYMBOLS_SINCE` have former roots.
    pub(super) fn root_of(&self, root: Symbol, underlying: Symbol, expiry: Date, ts: Timestamp) -> Symbol {
        // asked for every row, and the time alone tells of most
        let is_of_old = ts < SYMBOLS_SINCE && self.roots.get(root).is_none() && self.roots.is_index(underlying);
        if is_of_old { self.default_root(underlying, expiry) } else { root }
    }

    /// The root of a contract where a file has none: the underlying's own ticker. An index with two roots of one
    /// exercise style has standard expirations under the first, which is its ticker, and all others under the second.
    pub(super) fn default_root(&self, underlying: Symbol, expiry: Date) -> Symbol {
        let own = underlying.bare();
        let Some(standard) = self.roots.roots_of(underlying).find(|root| *root == own).and_then(|r| self.roots.get(r))
        else {
            return self.roots.roots_of(underlying).next().unwrap_or(own);
        };
        let is_other =
            |root: &Symbol| *root != own && self.roots.get(*root).is_some_and(|facts| facts.style == standard.style);
        let other = self.roots.roots_of(underlying).find(is_other);
        let month = canonical_expiry(expiry);
        let monthly = match standard.basis {
            ForwardBasis::Parity => self.calendar().vix_expiry(month),
            ForwardBasis::Spot => self.calendar().monthly_expiry(month),
        };
        if month == monthly { own } else { other.unwrap_or(own) }
    }

    /// The instant of a date without a time; `None`: the layout defines none.
    pub(super) fn instant_of(&self, date: Date, clock: Clock) -> Option<Timestamp> {
        let calendar = self.calendar();
        let close = calendar.close(date);
        if let Some(time) = self.options.day_time {
            return Some(calendar.instant(date.to_datetime(time)).min(close));
        }
        let Clock::BeforeClose { minutes, early_since } = clock else { return None };
        let at_close = date < early_since && calendar.day(date) == Day::Early;
        if at_close { Some(close) } else { close.checked_sub(SignedDuration::from_mins(minutes)).ok() }
    }

    /// The closing price of an underlying; NaN: not known.
    pub(super) fn close(&self, underlying: Symbol, ts: Timestamp) -> f64 {
        if self.closes.is_empty() {
            return f64::NAN;
        }
        let date = self.calendar().eastern(ts).date();
        let of = |name| self.closes.get(&(name, date)).copied();
        of(Some(underlying)).or_else(|| of(None)).unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn sym(text: &str) -> Symbol {
        Symbol::parse(text).unwrap()
    }

    #[test]
    fn roots_are_told_by_the_expiry() {
        let options = ReadOptions::default();
        let facts = Facts::new(&options);
        for (underlying, expiry, root) in [
            ("SPX", date(2024, 1, 19), "SPX"),
            ("SPX", date(2024, 1, 18), "SPXW"),
            ("SPX", date(2019, 4, 18), "SPX"), // Good Friday follows
            ("SPX", date(2014, 1, 18), "SPX"), // Saturdays of old listings, also of closed Fridays
            ("SPX", date(2014, 4, 19), "SPX"),
            ("SPX", date(2008, 3, 22), "SPX"),
            ("SPX", date(2014, 4, 26), "SPXW"),
            ("NDX", date(2018, 1, 20), "NDX"), // and of later files
            ("RUT", date(2026, 6, 19), "RUT"), // Juneteenth is closed
            ("RUT", date(2026, 6, 26), "RUTW"),
            ("SPX", date(2024, 1, 26), "SPXW"),
            ("NDX", date(2024, 1, 22), "NDXP"),
            ("VIX", date(2024, 1, 17), "VIX"),
            ("VIX", date(2024, 1, 24), "VIXW"),
            ("VIX", date(2024, 6, 19), "VIX"), // closed: the Tuesday before
            ("OEX", date(2024, 1, 26), "OEX"),
            ("BRK.B", date(2024, 1, 26), "BRKB"),
            ("SPY", date(2024, 1, 26), "SPY"),
        ] {
            assert_eq!(facts.default_root(sym(underlying), expiry), sym(root), "{underlying} {expiry}");
        }
        let at = |text: &str| text.parse().unwrap();
        let of = |root, underlying, ts| facts.root_of(sym(root), sym(underlying), date(2006, 8, 19), at(ts));
        assert_eq!(of("JGA", "XSP", "2006-08-01T20:00:00Z"), sym("XSP"));
        assert_eq!(of("JGA", "XSP", "2010-05-31T23:59:59-04:00"), sym("XSP"));
        assert_eq!(of("JGA", "XSP", "2010-06-01T00:00:00-04:00"), sym("JGA"));
        assert_eq!(of("WGO", "GOOG", "2006-08-01T20:00:00Z"), sym("WGO"));
    }

    #[test]
    fn a_date_is_an_instant_of_its_session() {
        let mut options = ReadOptions::default();
        let since = date(2020, 2, 5);
        let quarter = Clock::BeforeClose { minutes: 15, early_since: since };
        let of =
            |options: &ReadOptions, date, clock| Facts::new(options).instant_of(date, clock).map(|ts| ts.to_string());
        for (date, want) in [
            (date(2024, 1, 3), "2024-01-03T20:45:00Z"),
            (date(2024, 7, 2), "2024-07-02T19:45:00Z"),
            (date(2024, 7, 3), "2024-07-03T16:45:00Z"),
            (date(2019, 7, 3), "2019-07-03T17:00:00Z"),
        ] {
            assert_eq!(of(&options, date, quarter).as_deref(), Some(want), "{date}");
        }
        assert_eq!(of(&options, since, Clock::Told), None);
        options.day_time = Some(jiff::civil::time(15, 0, 0, 0));
        assert_eq!(of(&options, date(2024, 1, 3), quarter).as_deref(), Some("2024-01-03T20:00:00Z"));
        assert_eq!(of(&options, date(2024, 7, 3), Clock::Told).as_deref(), Some("2024-07-03T17:00:00Z"));
    }

    #[test]
    fn a_file_is_called_after_its_underlying() {
        let options = ReadOptions::default();
        let facts = Facts::new(&options);
        for (file, want) in [
            ("a/spx_eod_202301.txt", Some("SPX")),
            ("SPXW-2023.csv", Some("SPX")),
            ("^vix.csv.gz", Some("VIX")),
            ("a-very-long.csv", Some("A")),
            ("quotes2023long.csv", None),
            ("_x.csv", None),
            ("brk.b_eod_202301.txt", Some("BRK.B")),
            ("brk.b.csv.gz", Some("BRK.B")),
        ] {
            assert_eq!(facts.underlying_of_file(Path::new(file)), want.map(sym), "{file}");
        }
    }
}
