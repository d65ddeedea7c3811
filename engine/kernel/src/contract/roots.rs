//! The facts of option roots: style, settlement, multiplier, underlying, and where the forward comes from.
//!
//! They come from a table, not from the weekday and not from a vendor. What the table does not have is an equity or
//! ETF option: American, PM, 100 shares. Never: a global, a date.

use super::symbol::Symbol;
use super::terms::{ForwardBasis, Settle, Style};

/// What a root says about its contracts.
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
    /// Where the forward comes from.
    pub basis: ForwardBasis,
    /// The deliverable was changed by a corporate action: identity only, no Greeks.
    pub adjusted: bool,
}

/// The roots that are not plain equity options, and class shares. A value: made once, passed down.
#[derive(Clone, Debug)]
pub struct RootTable {
    /// By root.
    rows: Vec<RootFacts>,
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

    /// Reads `root,underlying,style,settle,multiplier,basis` with a header line; `None` if any line is not that.
    fn parse(text: &str) -> Option<Self> {
        let rows = text.lines().skip(1).map(parse_row);
        let mut rows = rows.collect::<Option<Vec<_>>>()?;
        // read by every contract of a feed: a binary search in place of a map
        rows.sort_unstable_by_key(|r| r.root);
        Some(Self { rows })
    }

    /// The row of a root, if the table has one.
    #[must_use]
    pub fn get(&self, root: Symbol) -> Option<&RootFacts> {
        let i = self.rows.binary_search_by_key(&root, |r| r.root).ok()?;
        Some(&self.rows[i])
    }

    /// The facts of a root that a feed lists under an underlying. The table's own underlying overrides the feed's.
    ///
    /// A root outside the table that ends in 1 to 9 and is not the underlying's own ticker is adjusted (`AAPL1`; 7 was
    /// a mini of 10 shares until 2014). That holds too where a renamed underlying no longer is its prefix: no Greeks is
    /// the safe side.
    #[must_use]
    pub fn facts(&self, root: Symbol, underlying: Symbol) -> RootFacts {
        if let Some(row) = self.get(root) {
            return *row;
        }
        let underlying = self.canonical(underlying);
        // a digit at the end marks an adjusted root, unless the underlying itself ends in one
        let adjusted = adjustment(root).is_some() && root != underlying.bare();
        // the digit 7 is kept for mini options of ten shares
        let multiplier = if adjusted && adjustment(root) == Some(b'7') { 10 } else { 100 };
        RootFacts {
            root,
            underlying,
            style: Style::American,
            settle: Settle::Pm,
            multiplier,
            basis: ForwardBasis::Spot,
            adjusted,
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
        let stem = adjustment(root).and_then(|_| Symbol::parse(&text[..text.len() - 1])).unwrap_or(root);
        self.canonical(stem)
    }

    /// The underlying that a feed means by a ticker: some feeds say `SPXW` or `BRKB` for `SPX` and `BRK.B`.
    #[must_use]
    pub fn canonical(&self, ticker: Symbol) -> Symbol {
        // some feeds send SPXW as the underlying of SPX's weeklies
        self.get(ticker).map_or(ticker, |row| row.underlying)
    }

    /// The roots of an underlying that the table has, in text order; none for a plain equity.
    pub fn roots_of(&self, underlying: Symbol) -> impl Iterator<Item = Symbol> {
        self.rows.iter().filter(move |r| r.underlying == underlying).map(|r| r.root)
    }
}

/// True if a root is a FLEX series, which feeds drop: it starts with a digit.
#[must_use]
pub fn is_flex(root: Symbol) -> bool {
    root.as_str().as_bytes().first().is_some_and(u8::is_ascii_digit)
}

/// The digit 1 to 9 that a root of two or more bytes ends in.
fn adjustment(root: Symbol) -> Option<u8> {
    match root.as_str().as_bytes() {
        [_, .., digit @ b'1'..=b'9'] => Some(*digit),
        _ => None,
    }
}

fn parse_row(line: &str) -> Option<RootFacts> {
    let cells: Vec<&str> = line.split(',').collect();
    let &[root, underlying, style, settle, multiplier, basis] = cells.as_slice() else { return None };
    Some(RootFacts {
        root: Symbol::parse(root)?,
        underlying: Symbol::parse(underlying)?,
        style: match style {
            "american" => Style::American,
            "european" => Style::European,
            _ => return None,
        },
        settle: match settle {
            "am" => Settle::Am,
            "pm" => Settle::Pm,
            _ => return None,
        },
        multiplier: multiplier.parse().ok()?,
        basis: match basis {
            "parity" => ForwardBasis::Parity,
            "spot" => ForwardBasis::Spot,
            _ => return None,
        },
        adjusted: false,
    })
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
            assert_eq!((f.style, f.settle, f.basis, f.adjusted), (style, settle, basis, false), "{root}");
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
            assert_eq!((f.adjusted, f.multiplier), (adjusted, multiplier), "{root}");
        }
        assert_eq!(table.underlying_of(sym("AMD1")), sym("AMD"));
        assert_eq!(table.underlying_of(sym("BRKB")), sym("BRK.B"));
        assert_eq!(table.underlying_of(sym("BRKB1")), sym("BRK.B"));
        assert_eq!(table.facts(sym("SPXW"), sym("SPXW")).underlying, sym("SPX"));
        assert_eq!(table.facts(sym("BRKB1"), sym("BRKB")).underlying, sym("BRK.B"));
        assert!(is_flex(sym("1SPX")) && !is_flex(sym("SPX")));
    }

    #[test]
    fn class_shares_have_one_spelling() {
        for text in ["BRK.B", "BRK/B", "BRK_B", "BRK B", " brk.b "] {
            assert_eq!(Symbol::parse_underlying(text), Some(sym("BRK.B")), "{text}");
        }
        assert_eq!(sym("BRK.B").bare(), sym("BRKB"));
        assert_eq!(sym("SPX").bare(), sym("SPX"));
        for text in ["", " ", ".B", "/B", "BRK-B", "ABCDEFGHI", "ÄB"] {
            assert_eq!(Symbol::parse_underlying(text), None, "{text}");
        }
    }

    #[test]
    fn a_malformed_table_is_refused() {
        assert!(RootTable::parse("header\nSPX,SPX,european,am,100").is_none());
        assert!(RootTable::parse("header\nSPX,SPX,bermudan,am,100,spot").is_none());
    }
}
