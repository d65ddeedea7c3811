//! Errors of readers and feeds. Variants carry data; text is made when shown. Never: text built on the way up.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why one field of one record was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// The record ends before this field.
    Missing,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// Not a number.
    NotANumber,
    /// A number outside its bound in [`limits`](crate::limits).
    OutOfRange,
    /// Not a calendar date, or one outside the years allowed.
    NotADate,
    /// Not a time with an offset, or one outside the years allowed.
    NotATime,
    /// Not a ticker.
    NotASymbol,
    /// Neither call nor put.
    NotARight,
    /// Not a word that the field allows.
    NotAWord,
    /// A FLEX series, which is not served.
    Flex,
    /// The contract occurs twice in one file.
    Duplicate,
    /// The quote is not before the settlement of its contract.
    Expired,
    /// A line that is no record at all.
    Malformed,
    /// A record of another underlying than the one that was asked for.
    OtherUnderlying,
    /// The vendor itself marks the record as doubtful.
    Doubtful,
    /// The record's time is later than any clock allows.
    FromTheFuture,
    /// The line is longer than readers accept.
    TooLong,
    /// A quotation mark is opened at this field or before it, and not closed in its line.
    OpenQuote,
    /// More items than are accepted: strikes of an expiry.
    TooMany,
    /// The field does not apply to this kind of record.
    Unused,
    /// A number with one comma, which may stand before decimals or between thousands.
    AmbiguousNumber,
    /// A date whose day and month can be exchanged.
    AmbiguousDate,
}

impl Reason {
    /// Every reason, in the order of its counts.
    pub const ALL: [Self; 22] = [
        Self::Missing,
        Self::NotUtf8,
        Self::NotANumber,
        Self::OutOfRange,
        Self::NotADate,
        Self::NotATime,
        Self::NotASymbol,
        Self::NotARight,
        Self::NotAWord,
        Self::Flex,
        Self::Duplicate,
        Self::Expired,
        Self::Malformed,
        Self::OtherUnderlying,
        Self::Doubtful,
        Self::FromTheFuture,
        Self::TooLong,
        Self::OpenQuote,
        Self::TooMany,
        Self::Unused,
        Self::AmbiguousNumber,
        Self::AmbiguousDate,
    ];

    /// The name of the reason's count.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotUtf8 => "not_utf8",
            Self::NotANumber => "not_a_number",
            Self::OutOfRange => "out_of_range",
            Self::NotADate => "not_a_date",
            Self::NotATime => "not_a_time",
            Self::NotASymbol => "not_a_symbol",
            Self::NotARight => "not_a_right",
            Self::NotAWord => "not_a_word",
            Self::Flex => "flex",
            Self::Duplicate => "duplicate",
            Self::Expired => "expired",
            Self::Malformed => "malformed",
            Self::OtherUnderlying => "other_underlying",
            Self::Doubtful => "doubtful",
            Self::FromTheFuture => "from_the_future",
            Self::TooLong => "too_long",
            Self::OpenQuote => "open_quote",
            Self::TooMany => "too_many",
            Self::Unused => "unused",
            Self::AmbiguousNumber => "ambiguous_number",
            Self::AmbiguousDate => "ambiguous_date",
        }
    }

    /// The option that makes a refused value readable; empty: none.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            Self::AmbiguousNumber => "--decimal point or --decimal comma reads it",
            Self::AmbiguousDate => "--dates month-first or --dates day-first reads it",
            _ => "",
        }
    }

    /// The form that the field needs, for the user; `None`: the user cannot cure it.
    #[must_use]
    pub const fn cure(self) -> Option<&'static str> {
        match self {
            Self::Missing => Some("the column is empty here; --columns MEANING=COLUMN reads another one"),
            Self::NotANumber => Some("a number is 1000.25, 1,000.25 or 1.000,25"),
            Self::OutOfRange => Some("no market has such a number; is it another column, or another unit?"),
            Self::NotADate => Some("a date is 2026-12-18, 12/18/2026 or 20261218"),
            Self::NotATime => Some(
                "a time is 2026-11-20 15:42:00 (Eastern, or of --zone), 2026-11-20T15:42:00-05:00, or a count since 1970",
            ),
            Self::NotASymbol => Some("a ticker is KO or BRK.B, a contract KO261218C00070000"),
            Self::NotARight => Some("a right is call, put, C or P"),
            Self::Malformed | Self::TooLong => Some("not a line of quotes"),
            _ => None,
        }
    }
}

/// A path in one line: a line end in a file name would forge a line of the log.
struct OneLine<'a>(&'a Path);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string_lossy();
        text.chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
    }
}

/// One refused record and the place where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The file, or the request to a vendor.
    pub file: Arc<PathBuf>,
    /// The line, from 1; in a document without lines, the number of the record.
    pub line: u64,
    /// The column's name.
    pub field: &'static str,
    /// The fault of the field.
    pub reason: Reason,
    /// The begin of the field's value ([`Refused::value_of`]); empty: the field is empty, or its value unknown.
    pub value: String,
}

impl Refused {
    /// Number of characters of a value that are shown.
    const SHOWN: usize = 40;

    /// The begin of a value, with control characters escaped: a line end would forge a line of the log.
    #[must_use]
    pub fn value_of(bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        text.trim().chars().take(Self::SHOWN).flat_map(char::escape_debug).collect()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, field, reason, value } = self;
        write!(f, "{}:{line}: {field}: {}", OneLine(file), reason.name())?;
        if !value.is_empty() {
            write!(f, ": `{value}`")?;
        }
        if !reason.option().is_empty() {
            write!(f, "; {}", reason.option())?;
        }
        Ok(())
    }
}

/// Kinds of vendors' answers that are not the requested data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instead {
    /// Not in the format: a page, a sentence, a document of another kind.
    OtherFormat,
    /// The vendor has no such data, for now or at all.
    Nothing,
    /// The vendor does not accept the request.
    WrongQuestion,
    /// The key, the plan or the address does not permit the request.
    NotPermitted,
    /// More requests than the plan allows, or a larger one.
    TooMuch,
    /// The vendor's server is starting, or is itself cut off.
    NotReady,
    /// Data of another underlying.
    OtherUnderlying,
    /// Contracts without a bid or an ask, as in plans without quotes.
    NoQuotes,
    /// More records than are accepted in one document ([`limits::RECORDS`](crate::limits::RECORDS)).
    TooManyRecords,
}

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherFormat => "not in the format",
            Self::Nothing => "the vendor has no data for this",
            Self::WrongQuestion => "the vendor does not accept the request",
            Self::NotPermitted => "not permitted by the vendor: key, plan or address",
            Self::TooMuch => "more than the vendor's plan allows",
            Self::NotReady => "the vendor's server is not ready",
            Self::OtherUnderlying => "data of another underlying",
            Self::NoQuotes => "contracts without bid and ask: the vendor's plan may not include quotes",
            Self::TooManyRecords => "too many records",
        })
    }
}

/// Why a whole file, or the rest of one, cannot be used.
#[derive(Clone, Debug)]
pub enum FeedError {
    /// The file or folder cannot be read, or compressed data break off.
    Io {
        /// The file.
        file: PathBuf,
        /// The system's error.
        kind: io::ErrorKind,
    },
    /// The header has no such column.
    NoColumn {
        /// The file.
        file: PathBuf,
        /// The column.
        column: &'static str,
    },
    /// A line that is not a record.
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// Neither a file nor a link to one: a device, a pipe, a folder.
    NotAFile {
        /// The path.
        file: PathBuf,
    },
    /// A chain file that cannot be read. The reason names the file.
    Unread {
        /// The reason.
        why: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// A chain file without a row that can be used.
    NoRows {
        /// The file.
        file: PathBuf,
    },
    /// A file larger, once decompressed, than is accepted.
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// A vendor's answer that is not the requested data.
    Instead {
        /// The request.
        file: PathBuf,
        /// The kind of answer.
        what: Instead,
    },
    /// There is no chain file in the folder.
    NoChains {
        /// The folder.
        folder: PathBuf,
    },
}

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, kind } => write!(f, "{}: {}", OneLine(file), said_by_system(*kind)),
            Self::NoColumn { file, column } => write!(f, "{}: no column `{column}`", OneLine(file)),
            Self::Malformed { file, line } => write!(f, "{}:{line}: not a record", OneLine(file)),
            Self::NotAFile { file } => write!(f, "{}: not a regular file", OneLine(file)),
            Self::Unread { why } => why.fmt(f),
            Self::NoRows { file } => write!(f, "{}: no usable row", OneLine(file)),
            Self::TooLarge { file } => write!(f, "{}: too large", OneLine(file)),
            Self::Instead { file, what } => write!(f, "{}: {what}", OneLine(file)),
            Self::NoChains { folder } => {
                write!(f, "{}: no chain file: put quotes into chains/*.csv or chains/*.csv.gz", OneLine(folder))
            }
        }
    }
}

impl std::error::Error for FeedError {}

/// Words for a failure of the system to open a file or folder.
#[must_use]
pub fn said_by_system(kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        kind => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_place() {
        let file = Arc::new(PathBuf::from("chains/a.csv"));
        let refused = Refused { file, line: 7, field: "bid", reason: Reason::NotANumber, value: String::new() };
        assert_eq!(refused.to_string(), "chains/a.csv:7: bid: not_a_number");
        let with_value = Refused { value: Refused::value_of(b" t\nn\x1b "), ..refused };
        assert_eq!(with_value.to_string(), "chains/a.csv:7: bid: not_a_number: `t\\nn\\u{1b}`");
        let error = FeedError::NoColumn { file: PathBuf::from("x.csv"), column: "strike" };
        assert_eq!(error.to_string(), "x.csv: no column `strike`");
        let forged = FeedError::NoRows { file: PathBuf::from("a\nINFO all is well\u{1b}.csv") };
        assert_eq!(forged.to_string(), "a\\nINFO all is well\\u{1b}.csv: no usable row");
    }

    #[test]
    fn reasons_are_counted_in_their_order() {
        for (i, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, i, "{}", reason.name());
        }
    }
}
