//! Meanings of columns, and layouts: tables of columns. Never: a byte of a file.

use jiff::civil::{Date, date};

/// Meaning of a column. Users map the columns of their own files to these names
/// ([`ColumnMap`](super::options::ColumnMap)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Meaning {
    /// The time of the snapshot, or its date alone.
    QuoteTime,
    /// The time of the snapshot as a count since 1970, in seconds to nanoseconds.
    UnixTime,
    /// Symbol of the underlying, in any spelling of class shares, with or without the mark of an index (`^SPX`).
    Underlying,
    /// Price of the underlying, dollars a share; 0: none.
    UndPrice,
    /// Bid of the underlying.
    UndBid,
    /// Ask of the underlying; the middle of a two-sided quote overrides [`Meaning::UndPrice`].
    UndAsk,
    /// Price of the underlying implied by the options of an expiry.
    ExpiryPrice,
    /// Price of a share; for an index, the price implied by the options of an expiry.
    ShareOrExpiryPrice,
    /// Option root.
    Root,
    /// OSI symbol.
    Contract,
    /// Expiration date.
    Expiry,
    /// Strike, dollars a share.
    Strike,
    /// Call or put.
    Right,
    /// Bid, dollars a share; 0 or empty: none.
    Bid,
    /// Ask.
    Ask,
    /// Contracts at the bid.
    BidSize,
    /// Contracts at the ask.
    AskSize,
    /// OSI symbol of the call.
    CallContract,
    /// Bid of the call.
    CallBid,
    /// Ask of the call.
    CallAsk,
    /// Contracts at the bid of the call.
    CallBidSize,
    /// Contracts at the ask of the call.
    CallAskSize,
    /// Both sizes of the call, as `12 x 14`.
    CallSizes,
    /// OSI symbol of the put.
    PutContract,
    /// Bid of the put.
    PutBid,
    /// Ask of the put.
    PutAsk,
    /// Contracts at the bid of the put.
    PutBidSize,
    /// Contracts at the ask of the put.
    PutAskSize,
    /// Both sizes of the put.
    PutSizes,
    /// Milliseconds since midnight, Eastern, of the date in the column of the time.
    DayMillis,
    /// Contracts traded since the open of the session.
    Volume,
    /// Contracts open.
    OpenInterest,
    /// Contracts of the call of a strike that were traded.
    CallVolume,
    /// Contracts of the call of a strike that are open.
    CallOpenInterest,
    /// Contracts of the put of a strike that were traded.
    PutVolume,
    /// Contracts of the put of a strike that are open.
    PutOpenInterest,
}

impl Meaning {
    /// Every meaning, in its order, with its name.
    pub(super) const NAMES: [(Self, &'static str); 36] = [
        (Self::QuoteTime, "quote_time"),
        (Self::UnixTime, "unix_time"),
        (Self::Underlying, "underlying"),
        (Self::UndPrice, "und_price"),
        (Self::UndBid, "und_bid"),
        (Self::UndAsk, "und_ask"),
        (Self::ExpiryPrice, "expiry_price"),
        (Self::ShareOrExpiryPrice, "share_or_expiry_price"),
        (Self::Root, "root"),
        (Self::Contract, "osym"),
        (Self::Expiry, "expiry"),
        (Self::Strike, "strike"),
        (Self::Right, "right"),
        (Self::Bid, "bid"),
        (Self::Ask, "ask"),
        (Self::BidSize, "bid_size"),
        (Self::AskSize, "ask_size"),
        (Self::CallContract, "call_osym"),
        (Self::CallBid, "call_bid"),
        (Self::CallAsk, "call_ask"),
        (Self::CallBidSize, "call_bid_size"),
        (Self::CallAskSize, "call_ask_size"),
        (Self::CallSizes, "call_sizes"),
        (Self::PutContract, "put_osym"),
        (Self::PutBid, "put_bid"),
        (Self::PutAsk, "put_ask"),
        (Self::PutBidSize, "put_bid_size"),
        (Self::PutAskSize, "put_ask_size"),
        (Self::PutSizes, "put_sizes"),
        (Self::DayMillis, "day_millis"),
        (Self::Volume, "volume"),
        (Self::OpenInterest, "open_interest"),
        (Self::CallVolume, "call_volume"),
        (Self::CallOpenInterest, "call_open_interest"),
        (Self::PutVolume, "put_volume"),
        (Self::PutOpenInterest, "put_open_interest"),
    ];
    /// Number of meanings.
    pub(super) const COUNT: usize = Self::NAMES.len();

    /// The meaning with a name, in either case.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, own)| own.eq_ignore_ascii_case(name)).map(|&(meaning, _)| meaning)
    }

    /// The name of the meaning.
    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// A column of a layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayoutColumn {
    /// Names of the column in headers, separated by `|`; case does not matter.
    pub(super) names: &'static str,
    pub(super) meaning: Meaning,
    /// True if every file of the layout has the column.
    pub(super) must: bool,
}

/// A column that every file of a layout has.
pub(super) const fn must(names: &'static str, meaning: Meaning) -> LayoutColumn {
    LayoutColumn { names, meaning, must: true }
}

/// A column that a file may lack.
pub(super) const fn may(names: &'static str, meaning: Meaning) -> LayoutColumn {
    LayoutColumn { names, meaning, must: false }
}

/// Content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// One contract.
    Contract,
    /// One strike, with its call and its put.
    CallAndPut,
    /// No contract: a price of an underlying.
    Price,
}

/// The instant of a date in files without times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// The file must give the time.
    Told,
    /// Minutes before the close of the session, including early closes; before a date, early closes themselves.
    BeforeClose { minutes: i64, early_since: Date },
}

/// The close of the session.
pub(super) const AT_CLOSE: Clock = Clock::BeforeClose { minutes: 0, early_since: date(1990, 1, 1) };

/// A layout: the form in which a vendor, or this program, writes quotes into a table.
#[derive(Debug)]
pub(super) struct Layout {
    /// The name in options and messages.
    pub(super) name: &'static str,
    pub(super) rows: Rows,
    pub(super) clock: Clock,
    /// The columns. Of several with one meaning, the first that a file has counts.
    pub(super) columns: &'static [LayoutColumn],
    /// The layout for rows whose bid and ask are both empty in this one.
    pub(super) otherwise: Option<&'static Layout>,
    /// Columns of the vendor's own volatility and Greeks, of the contract of a row, or of its call and then its put. In
    /// the vendor's units: [`ShownNumbers`](super::shown::ShownNumbers).
    pub(super) shown: &'static [ShownColumns],
    /// Divisor that takes strikes to dollars a share.
    pub(super) strike_divisor: f64,
    /// A former name that is still accepted; empty: none.
    pub(super) former_name: &'static str,
}

/// Number of a vendor's own numbers that are read: volatility, delta, gamma, vega, theta, rho.
pub const SHOWN: usize = 6;

/// Names of the columns of volatility, delta, gamma, vega, theta and rho, with `|` between several; empty: no such
/// column.
pub(super) type ShownColumns = [&'static str; SHOWN];

/// The fields that most layouts share.
pub(super) const PLAIN: Layout = Layout {
    name: "",
    rows: Rows::Contract,
    clock: Clock::Told,
    columns: &[],
    otherwise: None,
    shown: &[],
    strike_divisor: 1.0,
    former_name: "",
};

impl Layout {
    /// True if `name` is the name of the layout, or a former one.
    pub(super) fn is_called(&self, name: &str) -> bool {
        name == self.name || (!name.is_empty() && name == self.former_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_stand_in_their_order_and_have_their_names() {
        for (i, (meaning, name)) in Meaning::NAMES.into_iter().enumerate() {
            assert_eq!((meaning as usize, meaning.name()), (i, name));
            assert_eq!(Meaning::of_name(&name.to_uppercase()), Some(meaning));
        }
        assert_eq!(Meaning::of_name("strke"), None);
    }
}
