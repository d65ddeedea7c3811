//! Records that feeds deliver, whatever their format, and that stores take in. Never: a format, a column.
#![warn(clippy::arithmetic_side_effects)]

use crate::calendar::{ClockWeight, Day, EventDate, MarketEvent};
use crate::contract::{ContractKey, Deliverable, Right, Symbol};
use crate::error::Reason;
use crate::limits;
use crate::report::Report;
use core::cmp::{Ordering, Reverse};
use jiff::{SignedDuration, Timestamp, civil::Date};
use std::collections::{BTreeSet, BinaryHeap};

/// A two-sided quote of one contract. NaN: that side is not quoted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuoteRecord {
    /// The quote's own time.
    pub ts: Timestamp,
    /// Underlying symbol.
    pub underlying: Symbol,
    /// The contract.
    pub contract: ContractKey,
    /// Bid, currency per share; 0 or NaN: none.
    pub bid: f64,
    /// Ask, currency per share; 0 or NaN: none.
    pub ask: f64,
    /// Contracts at the bid; NaN: not recorded.
    pub bid_size: f64,
    /// Contracts at the ask; NaN: not recorded.
    pub ask_size: f64,
    /// Volume and open interest of the contract.
    pub activity: Activity,
}

/// Volume and open interest of a contract. No value depends on them.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// Contracts traded since the open of the session; NaN: not recorded.
    pub volume: f64,
    /// Contracts open, as counted before the session; NaN: not recorded.
    pub open_interest: f64,
}

impl Default for Activity {
    /// Nothing is recorded.
    fn default() -> Self {
        Self { volume: f64::NAN, open_interest: f64::NAN }
    }
}

impl PartialEq for Activity {
    /// Compares bits: two fields that are not recorded are equal.
    fn eq(&self, other: &Self) -> bool {
        let bits = |activity: &Self| [activity.volume, activity.open_interest].map(f64::to_bits);
        bits(self) == bits(other)
    }
}

/// The price of an underlying.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpotRecord {
    /// The price's own time.
    pub ts: Timestamp,
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Currency per share.
    pub price: f64,
}

/// A cash dividend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DividendRecord {
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Ex-dividend date.
    pub ex_date: Date,
    /// Currency per share.
    pub amount: f64,
    /// True if not declared yet, but projected from past dividends.
    pub projected: bool,
}

/// One point of a discount curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRecord {
    /// The date that the curve belongs to.
    pub date: Date,
    /// Days from that date.
    pub tenor_days: f64,
    /// Continuously compounded, per year; NaN: removes the point.
    pub rate: f64,
}

/// Records that a feed delivers together. Their order does not matter.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Underlyings whose earlier records are dropped first: the batch is complete for them.
    pub reset: Vec<Symbol>,
    /// Quotes.
    pub quotes: Vec<QuoteRecord>,
    /// Prices of underlyings.
    pub spots: Vec<SpotRecord>,
    /// Every dividend of every underlying; `None`: as before.
    pub dividends: Option<Vec<DividendRecord>>,
    /// Names whose dividends the source covers, in addition to those with a dividend; used if `dividends` is given.
    pub dividend_cover: DividendCover,
    /// Every deliverable of an adjusted root ([`Override::Deliverable`]); `None`: as before.
    pub deliverables: Option<Vec<OverrideRecord>>,
    /// Every discount curve; `None`: as before.
    pub rates: Option<Vec<RateRecord>>,
    /// Dates on which the feed overrides the calendar; `None`: as before.
    pub days: Option<Vec<(Date, Day)>>,
    /// Every event that is known by date; `None`: as before.
    pub events: Option<Vec<EventRecord>>,
}

/// An event that is known by date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventRecord {
    /// Of a name.
    Name(Symbol, EventDate),
    /// Of the whole market.
    Market(MarketEvent),
    /// A weight of the variance clock, on every date.
    Weight(ClockWeight, f64),
}

/// The names whose dividends a source covers: for such a name, no dividend means that none is paid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DividendCover {
    /// The names covered.
    pub names: BTreeSet<Symbol>,
}

impl DividendCover {
    /// True if the source covers a name.
    #[must_use]
    pub fn covers(&self, name: Symbol) -> bool {
        self.names.contains(&name)
    }

    /// Adds the names that another source covers.
    pub fn extend(&mut self, other: &Self) {
        self.names.extend(&other.names);
    }
}

impl Batch {
    /// Drops the records of a name: those in the batch so far, and earlier ones.
    pub fn forget(&mut self, underlying: Symbol) {
        self.quotes.retain(|quote| quote.underlying != underlying);
        self.spots.retain(|spot| spot.underlying != underlying);
        // later records of the name stay: the store applies resets first
        self.reset.push(underlying);
    }

    /// Refuses quotes and prices of a live source that are more than [`limits::AHEAD_MINUTES`] ahead of `now`. Clocks
    /// differ by seconds; a record that is hours ahead would hide every true one until its time has come.
    pub fn refuse_ahead(&mut self, now: Timestamp, report: &mut Report) {
        let ahead = SignedDuration::from_secs(limits::AHEAD_MINUTES.most as i64 * 60);
        // clocks of vendors are a little off; beyond that one wrong record would outlive every right one
        let latest = now.checked_add(ahead).unwrap_or(Timestamp::MAX);
        let before = self.quotes.len() + self.spots.len();
        self.quotes.retain(|quote| quote.ts <= latest);
        self.spots.retain(|spot| spot.ts <= latest);
        let refused = before - self.quotes.len() - self.spots.len();
        report.refused[Reason::FromTheFuture as usize] += refused as u64;
    }
}

/// The latest time that a record received at `now` may have: clocks differ, and times of files whose zone is unknown
/// may be off by hours ([`limits::AHEAD_HOURS`]). [`Batch::refuse_ahead`] is stricter, for live sources.
#[must_use]
pub fn latest_at(now: Timestamp) -> Timestamp {
    let ahead = SignedDuration::from_secs(limits::AHEAD_HOURS.most as i64 * 3600);
    now.checked_add(ahead).unwrap_or(Timestamp::MAX)
}

/// The time of a set of quotes: the latest instant that several of them reach, so that a few wrong time stamps cannot
/// make all other quotes look old. Several means three; half of fewer than five quotes; one in fifty of more than 150.
/// `None` if there are no quotes.
///
/// # Domain   any times, in any order
pub fn reached_by_several(times: impl Iterator<Item = Timestamp> + Clone) -> Option<Timestamp> {
    let count = times.clone().count();
    // one quote with a wrong time must not move the clock of a chain, and a chain of three still has one
    let several = (count / 50).max(3).min(count.div_ceil(2));
    // the newest ones, the earliest of them in front: a pass asks this of every name, and allocates little
    let mut newest = BinaryHeap::with_capacity(several);
    for time in times {
        if newest.len() < several {
            newest.push(Reverse(time));
        } else if let Some(mut earliest) = newest.peek_mut()
            && time > earliest.0
        {
            *earliest = Reverse(time);
        }
    }
    newest.peek().map(|earliest| earliest.0)
}

/// A price as quoted, or NaN where it is none: 0, negative or NaN.
#[must_use]
pub fn quoted(price: f64) -> f64 {
    // zero stands for no quote with most vendors, and a bid of nothing is none
    if price > 0.0 { price } else { f64::NAN }
}

impl SpotRecord {
    /// Precedence of two prices of one underlying, whatever order they come in: the later one counts; of two at one
    /// time the higher.
    #[must_use]
    pub fn precedence(&self, other: &Self) -> Ordering {
        // two at one instant come in any order over several connections: the choice must not depend on it
        self.ts.cmp(&other.ts).then(self.price.total_cmp(&other.price))
    }
}

impl QuoteRecord {
    /// Precedence of two quotes of one contract, whatever order they come in: the later one counts; of two at one time
    /// the one with the higher bid, then the lower ask, then the larger sizes, volume and open interest. A missing
    /// number loses.
    #[must_use]
    pub fn precedence(&self, other: &Self) -> Ordering {
        // a missing price ranks as no quote, 0 or NaN alike, so the order is total
        let bid = |q: &Self| if q.bid > 0.0 { q.bid } else { 0.0 };
        let ask = |q: &Self| if q.ask > 0.0 { q.ask } else { f64::INFINITY };
        let by_bid = bid(self).total_cmp(&bid(other));
        let size = |n: f64| if n >= 0.0 { n } else { -1.0 };
        let by_size = |a: f64, b: f64| size(a).total_cmp(&size(b));
        self.ts
            .cmp(&other.ts)
            .then(by_bid)
            .then(ask(other).total_cmp(&ask(self)))
            .then(by_size(self.bid_size, other.bid_size))
            .then(by_size(self.ask_size, other.ask_size))
            .then(by_size(self.activity.volume, other.activity.volume))
            .then(by_size(self.activity.open_interest, other.activity.open_interest))
    }
}

/// The contracts that an override applies to; a field that is `None` admits all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OverrideScope {
    /// Underlying; `*` in the file means all.
    pub underlying: Option<Symbol>,
    /// Option root.
    pub root: Option<Symbol>,
    /// Expiration date.
    pub expiry: Option<Date>,
    /// Strike in thousandths.
    pub strike_milli: Option<u32>,
    /// Call or put.
    pub right: Option<Right>,
}

/// An override: a user's value in place of a derived one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Override {
    /// The dividend of an ex-date, currency per share, in place of the feed's; 0: no dividend.
    Dividend(Date, f64),
    /// Ignores the feed's dividends.
    NoDividends,
    /// Borrow, continuously compounded, per year.
    Borrow(f64),
    /// Interest, continuously compounded, per year.
    Rate(f64),
    /// Forward of an expiry, currency per share.
    Forward(f64),
    /// Shift of the volatilities of the curve, in points: 1 is 0.01 per √year.
    VolShift(f64),
    /// Ignores the quotes of the contracts.
    Exclude,
    /// The deliverable of an adjusted root, from a date on; `None`: at any time.
    Deliverable(Deliverable, Option<Date>),
    /// An event of a name, known by date.
    Event(EventDate),
}

impl Override {
    /// The words of the file, in the order of [`Override::kind`].
    pub const KINDS: [&'static str; 9] =
        ["dividend", "no_dividends", "borrow", "rate", "forward", "vol_shift", "exclude", "deliverable", "event"];

    /// Index of the kind in [`Override::KINDS`].
    #[must_use]
    pub const fn kind(&self) -> usize {
        match self {
            Self::Dividend(..) => 0,
            Self::NoDividends => 1,
            Self::Borrow(_) => 2,
            Self::Rate(_) => 3,
            Self::Forward(_) => 4,
            Self::VolShift(_) => 5,
            Self::Exclude => 6,
            Self::Deliverable(..) => 7,
            Self::Event(_) => 8,
        }
    }
}

/// One row of a file of overrides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverrideRecord {
    /// The contracts that it applies to.
    pub scope: OverrideScope,
    /// The override.
    pub what: Override,
}

impl OverrideScope {
    /// True if the scope is every contract of every name.
    #[must_use]
    pub fn is_of_all(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_quotes_is_one_that_several_reach() {
        let at = |second: i64| Timestamp::from_second(1_795_207_320 + second).unwrap();
        let reached = |seconds: &[i64]| reached_by_several(seconds.iter().map(|&s| at(s)));
        assert_eq!(reached(&[]), None);
        assert_eq!(reached(&[7]), Some(at(7)));
        assert_eq!(reached(&[9, 7]), Some(at(9)), "half of two");
        assert_eq!((reached(&[9, 7, 3600]), reached(&[9, 7, 3600, 8])), (Some(at(9)), Some(at(9))));
        assert_eq!(reached(&[0, 5, 3600, 4, 9999]), Some(at(5)));
        let many: Vec<i64> = (0..1000).collect();
        assert_eq!(reached(&many), Some(at(980)), "one of fifty");
    }

    #[test]
    fn a_live_record_may_be_ahead_by_two_minutes() {
        let now = Timestamp::from_second(1_795_207_320).unwrap();
        let spot = |ahead: i64| SpotRecord {
            ts: now + SignedDuration::from_secs(ahead),
            underlying: Symbol::parse("KO").unwrap(),
            price: 70.0,
        };
        let mut batch = Batch { spots: [-86_400, 0, 120, 121, 3600].map(spot).to_vec(), ..Batch::default() };
        let mut report = Report::default();
        batch.refuse_ahead(now, &mut report);
        assert_eq!((batch.spots.len(), report.refused[Reason::FromTheFuture as usize]), (3, 2));
    }
}
