//! The facts of option roots: style, settlement, multiplier, underlying, and where the forward comes from.
//!
//! They come from a table, not from the weekday and not from a vendor. What the table does not have is an equity or
//! ETF option: American, PM, 100 shares; but under an index it is an option of unknown terms. Never: a global.

use super::terms::{ForwardBasis, Settle, Style, Symbol};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;

/// Facts of a root that hold for all its contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootFacts {
    /// Option root.
    pub root: Symbol,
    /// Underlying symbol, in the dot form for class shares.
    pub underlying: Symbol,
    /// Exercise style.
    pub style: Style,
    /// Settlement.
    pub settle: Settle,
    /// Shares per contract.
    pub multiplier: u32,
    /// Source of the forward.
    pub basis: ForwardBasis,
    /// Why its contracts have identity only and no Greeks; `None`: they are plain options.
    pub identity_only: Option<IdentityOnly>,
    /// True if the root had other facts at another time.
    pub is_dated: bool,
}

/// Why contracts of a root are listed without Greeks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityOnly {
    /// The deliverable was changed by a corporate action.
    Adjusted,
    /// The option pays a fixed amount or nothing.
    Binary,
    /// The underlying is an index, and the table does not have the root.
    Unknown,
}

/// The roots that are not plain equity options, and class shares. A value: made once, passed down.
#[derive(Clone, Debug)]
pub struct RootTable {
    /// By root, then by the time up to which they hold, the present ones last.
    rows: Vec<RootRow>,
    /// Underlyings that the table has and that are no class shares, ascending.
    indices: Vec<Symbol>,
}

#[derive(Clone, Copy, Debug)]
struct RootRow {
    facts: RootFacts,
    /// From this instant on the root has other terms, or is listed no more; the last instant: it still has these.
    until: Timestamp,
}

impl RootTable {
    /// The table that the crate carries (`data/index_roots.csv`).
    ///
    /// # Panics
    /// Never: a test reads the same text.
    #[must_use]
    pub fn embedded() -> Self {
        let table = Self::parse(include_str!("../../data/index_roots.csv"));
        table.expect("the embedded root table is well formed")
    }

    /// Reads `root,underlying,style,settle,multiplier,basis,until` with a header line; `None` if any line is not that.
    /// `until` is empty where the root is listed now, and `past` where it no longer is and only one row has it.
    fn parse(text: &str) -> Option<Self> {
        let rows = text.lines().skip(1).map(parse_row);
        let mut rows = rows.collect::<Option<Vec<_>>>()?;
        // read by every contract of a feed: a binary search in place of a map
        rows.sort_unstable_by_key(|row| (row.facts.root, row.until));
        let is_several: Vec<bool> = rows.iter().map(|row| of_root(&rows, row.facts.root).len() > 1).collect();
        rows.iter_mut().zip(is_several).for_each(|(row, several)| row.facts.is_dated = several);
        let underlyings = rows.iter().map(|row| row.facts.underlying);
        let indices: BTreeSet<Symbol> = underlyings.filter(|name| !name.as_str().contains('.')).collect();
        Some(Self { rows, indices: indices.into_iter().collect() })
    }

    /// The row of a root, if the table has one: the present one, else the last one.
    #[must_use]
    pub fn get(&self, root: Symbol) -> Option<&RootFacts> {
        of_root(&self.rows, root).last().map(|row| &row.facts)
    }

    /// The present facts of a root that a feed lists under an underlying ([`RootTable::facts_at`]).
    #[must_use]
    pub fn facts(&self, root: Symbol, underlying: Symbol) -> RootFacts {
        self.facts_at(root, underlying, Timestamp::MAX)
    }

    /// The facts at an instant of a root that a feed lists under an underlying. The table's own underlying overrides
    /// the feed's.
    ///
    /// A root outside the table that ends in 1 to 9 and is not the underlying's own ticker is adjusted (`AAPL1`; 7 was
    /// a mini of 10 shares until 2014). That holds too where a renamed underlying no longer is its prefix: no Greeks is
    /// the safe side, as it is for any other root of an index.
    #[must_use]
    pub fn facts_at(&self, root: Symbol, underlying: Symbol, at: Timestamp) -> RootFacts {
        let rows = of_root(&self.rows, root);
        if let Some(row) = rows.iter().find(|row| at < row.until).or(rows.last()) {
            return row.facts;
        }
        let underlying = self.canonical(underlying);
        let identity_only = match () {
            // a digit at the end marks an adjusted root, unless the underlying itself ends in one
            () if is_adjusted(root) && root != underlying.bare() => Some(IdentityOnly::Adjusted),
            () if self.is_index(underlying) => Some(IdentityOnly::Unknown),
            () => None,
        };
        // the digit 7 is kept for mini options of ten shares
        let is_mini = identity_only == Some(IdentityOnly::Adjusted) && root.as_str().ends_with('7');
        RootFacts {
            root,
            underlying,
            style: Style::American,
            settle: Settle::Pm,
            multiplier: if is_mini { 10 } else { 100 },
            basis: ForwardBasis::Spot,
            identity_only,
            is_dated: false,
        }
    }

    /// The underlying of a root, where a feed gives none: the table's, else the root without its adjustment digit.
    #[must_use]
    pub fn underlying_of(&self, root: Symbol) -> Symbol {
        if let Some(row) = self.get(root) {
            return row.underlying;
        }
        let text = root.as_str();
        // without a row the digit is taken off: AAPL1 delivers what AAPL became
        let stem = is_adjusted(root).then(|| Symbol::parse(&text[..text.len() - 1])).flatten().unwrap_or(root);
        self.canonical(stem)
    }

    /// The underlying that a feed means by a ticker: some feeds say `SPXW` or `BRKB` for `SPX` and `BRK.B`.
    #[must_use]
    pub fn canonical(&self, ticker: Symbol) -> Symbol {
        // some feeds send SPXW as the underlying of SPX's weeklies
        self.get(ticker).map_or(ticker, |row| row.underlying)
    }

    /// The roots that an underlying has now and that the table has, in text order; none for a plain equity.
    pub fn roots_of(&self, underlying: Symbol) -> impl Iterator<Item = Symbol> {
        let is_listed = move |row: &&RootRow| row.until == Timestamp::MAX && row.facts.underlying == underlying;
        self.rows.iter().filter(is_listed).map(|row| row.facts.root)
    }

    /// The indices, ascending: underlyings that the table has and that are no class shares.
    #[must_use]
    pub fn indices(&self) -> &[Symbol] {
        &self.indices
    }

    /// True if an underlying is an index.
    #[must_use]
    pub fn is_index(&self, underlying: Symbol) -> bool {
        // asked for each contract of a feed
        self.indices.binary_search(&underlying).is_ok()
    }
}

/// The rows of a root.
fn of_root(rows: &[RootRow], root: Symbol) -> &[RootRow] {
    let rest = &rows[rows.partition_point(|row| row.facts.root < root)..];
    &rest[..rest.partition_point(|row| row.facts.root == root)]
}

/// True if a root is a FLEX series, which feeds drop: it starts with a digit.
#[must_use]
pub fn is_flex(root: Symbol) -> bool {
    root.as_bytes().first().is_some_and(u8::is_ascii_digit)
}

/// True if a root of two or more bytes ends in 1 to 9, as those of adjusted contracts do.
#[must_use]
pub fn is_adjusted(root: Symbol) -> bool {
    matches!(root.as_bytes(), [_, .., b'1'..=b'9'])
}

fn parse_row(line: &str) -> Option<RootRow> {
    let cells: Vec<&str> = line.split(',').collect();
    let &[root, underlying, style, settle, multiplier, basis, until] = cells.as_slice() else { return None };
    let (style, identity_only) = match style {
        "american" => (Style::American, None),
        "european" => (Style::European, None),
        "binary" => (Style::European, Some(IdentityOnly::Binary)),
        _ => return None,
    };
    let (root, underlying) = (Symbol::parse(root)?, Symbol::parse(underlying)?);
    let settle = match settle {
        "am" => Settle::Am,
        "pm" => Settle::Pm,
        _ => return None,
    };
    let basis = match basis {
        "parity" => ForwardBasis::Parity,
        "spot" => ForwardBasis::Spot,
        _ => return None,
    };
    let multiplier = multiplier.parse().ok()?;
    let facts = RootFacts { root, underlying, style, settle, multiplier, basis, identity_only, is_dated: false };
    Some(RootRow { facts, until: parse_until(until)? })
}

fn parse_until(text: &str) -> Option<Timestamp> {
    match text {
        "" => Some(Timestamp::MAX),
        "past" => Some(Timestamp::MIN),
        // markets are closed at midnight, in New York and in Greenwich
        date => Some(date.parse::<Date>().ok()?.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sym(text: &str) -> Symbol {
        Symbol::parse(text).unwrap()
    }

    #[test]
    fn index_roots_have_their_facts() {
        let table = RootTable::embedded();
        let facts = |root, und| table.facts(sym(root), sym(und));
        for (root, und, style, settle, basis) in [
            ("SPX", "SPX", Style::European, Settle::Am, ForwardBasis::Spot),
            ("SPXW", "SPX", Style::European, Settle::Pm, ForwardBasis::Spot),
            ("VIXW", "VIX", Style::European, Settle::Am, ForwardBasis::Parity),
            ("OEX", "OEX", Style::American, Settle::Pm, ForwardBasis::Spot),
            ("XEO", "OEX", Style::European, Settle::Pm, ForwardBasis::Spot),
            ("AAPL", "AAPL", Style::American, Settle::Pm, ForwardBasis::Spot),
        ] {
            let f = facts(root, und);
            assert_eq!((f.style, f.settle, f.basis, f.identity_only), (style, settle, basis, None), "{root}");
            assert_eq!(table.underlying_of(sym(root)), sym(und), "{root}");
        }
        assert_eq!(facts("NANOS", "NANOS").multiplier, 1);
        assert_eq!(table.roots_of(sym("SPX")).collect::<Vec<_>>(), [sym("SPX"), sym("SPXW")]);
        assert_eq!(table.roots_of(sym("KO")).count(), 0);
    }

    #[test]
    fn roots_that_end_in_a_digit_are_adjusted() {
        let table = RootTable::embedded();
        for (root, und, adjusted, multiplier) in [
            ("AAPL1", "AAPL", true, 100),
            ("AAPL7", "AAPL", true, 10),
            ("FB1", "META", true, 100),
            ("BRKB2", "BRK.B", true, 100),
            ("BRKB", "BRK.B", false, 100),
            ("B500", "B500", false, 100),
            ("X5", "X5", false, 100),
            ("GME0", "GME", false, 100),
        ] {
            let f = table.facts(sym(root), sym(und));
            let expected = adjusted.then_some(IdentityOnly::Adjusted);
            assert_eq!((f.identity_only, f.multiplier), (expected, multiplier), "{root}");
        }
        assert_eq!(table.underlying_of(sym("AMD1")), sym("AMD"));
        assert_eq!(table.underlying_of(sym("BRKB")), sym("BRK.B"));
        assert_eq!(table.underlying_of(sym("BRKB1")), sym("BRK.B"));
        assert_eq!(table.facts(sym("SPXW"), sym("SPXW")).underlying, sym("SPX"));
        assert_eq!(table.facts(sym("BRKB1"), sym("BRKB")).underlying, sym("BRK.B"));
        assert!(is_flex(sym("1SPX")) && !is_flex(sym("SPX")));
    }

    #[test]
    fn roots_of_an_index_have_their_own_terms_or_none() {
        use IdentityOnly::{Adjusted, Binary, Unknown};
        use Settle::{Am, Pm};
        let table = RootTable::embedded();
        let day = |text: &str| format!("{text}T20:00:00Z").parse().unwrap();
        let (european, american) = (Style::European, Style::American);
        for (root, und, on, style, settle, identity_only) in [
            ("XSP", "XSP", "2013-11-04", european, Am, None),
            ("XSP", "XSP", "2013-11-05", european, Pm, None),
            ("XSPAM", "XSP", "2013-11-15", european, Am, None),
            ("SPXPM", "SPX", "2013-05-21", european, Pm, None),
            ("SPXQ", "SPX", "2012-03-01", european, Pm, None),
            ("MNX", "MNX", "2012-03-01", european, Am, None),
            ("GVZ", "GVZ", "2013-03-01", european, Am, None),
            ("BSZ", "SPX", "2013-05-21", european, Am, Some(Binary)),
            ("BVZ", "VIX", "2016-06-01", european, Am, Some(Binary)),
            ("JXB", "SPX", "2013-05-21", american, Pm, Some(Unknown)),
            ("NDXQ", "NDX", "2016-06-01", american, Pm, Some(Unknown)),
            ("RUTX", "^RUT", "2016-06-01", american, Pm, Some(Unknown)),
            ("SPX1", "SPX", "2016-06-01", american, Pm, Some(Adjusted)),
            ("BRKX", "BRK.B", "2016-06-01", american, Pm, None),
        ] {
            let f = table.facts_at(sym(root), sym(und.trim_start_matches('^')), day(on));
            assert_eq!((f.style, f.settle, f.identity_only), (style, settle, identity_only), "{root} on {on}");
        }
        for (root, und) in [("BSZ", "SPX"), ("BVZ", "VIX"), ("SPXPM", "SPX"), ("XSPAM", "XSP")] {
            assert_eq!(table.canonical(sym(root)), sym(und), "{root}");
            assert!(table.roots_of(sym(und)).all(|listed| listed != sym(root)), "{root} is not listed now");
        }
    }

    #[test]
    fn class_shares_have_one_spelling() {
        for text in ["BRK.B", "BRK/B", "BRK-B", "BRK_B", "BRK B", " brk.b ", "brk-b"] {
            assert_eq!(Symbol::parse_underlying(text), Some(sym("BRK.B")), "{text}");
        }
        for text in ["^SPX", "$SPX", "$spx.x", "_SPX", " ^spx"] {
            assert_eq!(Symbol::parse_underlying(text), Some(sym("SPX")), "{text}");
        }
        assert_eq!(sym("BRK.B").bare(), sym("BRKB"));
        assert_eq!(sym("SPX").bare(), sym("SPX"));
        for text in ["", " ", ".B", "/B", "-B", "^", "$", "^^SPX", "$.X", "ABCDEFGHI", "ÄB"] {
            assert_eq!(Symbol::parse_underlying(text), None, "{text}");
        }
    }

    #[test]
    fn a_malformed_table_is_refused() {
        assert!(RootTable::parse("header\nSPX,SPX,european,am,100,spot").is_none());
        assert!(RootTable::parse("header\nSPX,SPX,bermudan,am,100,spot,").is_none());
        assert!(RootTable::parse("header\nSPX,SPX,european,am,100,spot,2013").is_none());
    }
}
