//! The parts of a contract's identity and terms besides strike and date: symbol, call or put, exercise, settlement, and
//! where its forward comes from.

use core::fmt;

/// An upper-case ticker of at most eight bytes: an underlying (`SPX`, `BRK.B`) or an option root (`SPXW`, `BRKB`).
///
/// Orders like its text. A plain value: copying one costs a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol([u8; 8]);

impl Symbol {
    /// Reads a ticker: 1 to 8 of `A-Z`, `0-9` and `.`, letters of either case. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        // eight bytes inline: symbols are keys of every map and are copied by the million
        let legal = |b: &u8| b.is_ascii_alphanumeric() || *b == b'.';
        if bytes.is_empty() || bytes.len() > 8 || !bytes.iter().all(legal) {
            return None;
        }
        let mut out = [0; 8];
        out[..bytes.len()].copy_from_slice(bytes);
        // the same name in any case is one key
        out.make_ascii_uppercase();
        Some(Self(out))
    }

    /// Reads an underlying in any of the spellings of class shares (`BRK.B`, `BRK/B`, `BRK-B`, `BRK_B`, `BRK B`): the
    /// dot form. The mark of an index does not count: `^SPX` of Yahoo, `$SPX` and `$SPX.X` of Schwab, `_SPX` of Cboe.
    #[must_use]
    pub fn parse_underlying(text: &str) -> Option<Self> {
        let text = text.trim();
        let index = text
            .strip_prefix('$')
            .map(|index| index.strip_suffix(".X").or_else(|| index.strip_suffix(".x")).unwrap_or(index));
        let bytes = index.or_else(|| text.strip_prefix(['^', '_'])).unwrap_or(text).as_bytes();
        let mut out = [0; 8];
        if bytes.len() > out.len() || !bytes.first()?.is_ascii_alphanumeric() {
            return None;
        }
        for (to, &from) in out.iter_mut().zip(bytes) {
            // vendors spell BRK.B with five different signs
            *to = if matches!(from, b'/' | b'-' | b'_' | b' ') { b'.' } else { from };
        }
        Self::parse(core::str::from_utf8(&out[..bytes.len()]).ok()?)
    }

    /// The option root that an underlying's standard contracts have: the ticker without its dot (`BRK.B`: `BRKB`).
    #[must_use]
    pub fn bare(self) -> Self {
        let mut out = [0; 8];
        let kept = self.0.iter().filter(|&&b| b != b'.');
        for (to, &from) in out.iter_mut().zip(kept) {
            *to = from;
        }
        Self(out)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The bytes of the text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0[..self.0.iter().position(|&b| b == 0).unwrap_or(8)]
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Call or put. Orders call before put, as rows do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Right {
    /// The right to buy.
    Call,
    /// The right to sell.
    Put,
}

impl Right {
    /// The spellings of a call, in any case: files of vendors mix them.
    pub const CALL: [&'static str; 4] = ["call", "c", "calls", "call option"];
    /// The spellings of a put.
    pub const PUT: [&'static str; 4] = ["put", "p", "puts", "put option"];

    /// Reads one of the spellings in [`Right::CALL`] and [`Right::PUT`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        match (is(Self::CALL), is(Self::PUT)) {
            (true, _) => Some(Self::Call),
            (_, true) => Some(Self::Put),
            _ => None,
        }
    }

    /// +1 for a call, −1 for a put.
    #[must_use]
    pub fn phi(self) -> f64 {
        match self {
            Self::Call => 1.0,
            Self::Put => -1.0,
        }
    }
}

/// When the holder may exercise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Style {
    /// At any time.
    American,
    /// At expiry only.
    European,
}

/// The price of the expiration date that settles the contract. Orders AM before PM, as rows do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Settle {
    /// The opening, 09:30 Eastern.
    Am,
    /// The close, 16:00 Eastern (13:00 on an early close).
    Pm,
}

/// Source of the forward of an expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardBasis {
    /// The spot, carried by rate, borrow and dividends.
    Spot,
    /// Put-call parity of the expiry alone; then S := F and b := r (VIX family).
    Parity,
}

/// The strike of so many thousandths, currency.
#[must_use]
pub fn strike_of(milli: u32) -> f64 {
    f64::from(milli) / 1000.0
}
