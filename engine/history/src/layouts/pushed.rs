//! Results of reading a pushed stream of Arrow: the end of the read bytes, or the reason of a refusal. Never: a column.

use core::fmt;

/// First bytes of a message of Arrow; no line begins with such a byte.
pub const MARK: [u8; 4] = [0xFF; 4];
/// Greatest body of a message, bytes: about 200,000 quotes. It is also the bound of all dictionaries of a stream.
pub(super) const BODY_MOST: usize = 16 << 20;
/// Greatest number of columns.
pub(super) const COLUMNS_MOST: usize = 256;
/// Why a stream is not read any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushRefusal {
    /// A message is larger than the bound.
    Large,
    /// A batch has more rows than its bytes can hold.
    Rows,
    /// Buffers are compressed.
    Compressed,
    /// A dictionary is extended instead of replaced.
    Delta,
    /// There are more columns than the bound.
    Columns,
    /// No kind of line has these columns.
    NoKind,
    /// A name occurs twice.
    Twice(&'static str),
    /// A column has a type that its field cannot have.
    Type(&'static str, String),
    /// Times without a zone.
    Zone(&'static str),
    /// The bytes are no stream of Arrow, or damaged.
    Damaged,
    /// This build reads no Arrow.
    Absent,
}

impl fmt::Display for PushRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Large => write!(f, "a message of Arrow of more than {} MB; send fewer rows in a batch", BODY_MOST >> 20),
            Self::Rows => f.write_str("a batch of Arrow whose rows have less than eight bytes each"),
            Self::Compressed => f.write_str("compressed Arrow is not read; write the stream without compression"),
            Self::Delta => f.write_str("a delta of a dictionary is not read; send the whole dictionary"),
            Self::Columns => write!(f, "more than {COLUMNS_MOST} columns"),
            Self::NoKind => f.write_str(
                "the columns make no line: give osym, bid, ask, time (or root, expiry, strike, right for osym); symbol, \
                 price, time; symbol, ex_date, amount; date, tenor_days, rate; or forget",
            ),
            Self::Twice(name) => write!(f, "two columns `{name}`"),
            Self::Type(name, kind) => write!(f, "column `{name}`: {kind} is not read"),
            Self::Zone(name) => write!(f, "column `{name}`: times without a zone; give them one, such as UTC"),
            Self::Damaged => f.write_str("not a stream of Arrow, or a damaged one"),
            Self::Absent => f.write_str("this build reads no Arrow"),
        }
    }
}

/// The end of the read bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedSoFar {
    /// Number of bytes that were used: all of them, unless the stream has ended.
    pub used: usize,
    /// True if the stream has ended.
    pub ended: bool,
}
