//! The European expiries of books, as the implied discount curve takes them. Never: a rate.

use super::book::Book;
use crate::rates::parity::EuropeanExpiry;
use jiff::{Timestamp, civil::Date};
use kernel::calendar::{Calendar, years_between};
use kernel::contract::Style;
use std::collections::BTreeMap;

/// The European expiries of one date.
#[derive(Clone, Debug)]
pub struct EuropeanDate<'a> {
    /// The newest quote of its books.
    pub at: Timestamp,
    /// The expiries; the time of each is counted from the newest quote of its own book.
    pub expiries: Vec<EuropeanExpiry<'a>>,
}

/// Returns the European expiries of books by the Eastern date of their newest quotes. Adjusted roots and settled
/// expiries are left out.
#[must_use]
pub fn european_dates<'a>(
    books: impl Iterator<Item = &'a Book>,
    calendar: &Calendar,
) -> BTreeMap<Date, EuropeanDate<'a>> {
    let mut dates = BTreeMap::new();
    for book in books {
        let of_book = |slice: &'a super::book::BookSlice| EuropeanExpiry {
            underlying: book.underlying,
            t: years_between(book.ts, slice.settles_at),
            strike_milli: &slice.strike_milli,
            right: &slice.right,
            bid: &slice.bid,
            ask: &slice.ask,
        };
        let european = book.slices.iter().filter(|slice| slice.style == Style::European && !slice.adjusted);
        let mut live = european.filter(|slice| slice.settles_at > book.ts).map(of_book).peekable();
        if live.peek().is_none() || book.ts == Timestamp::MIN {
            continue;
        }
        let date = calendar.eastern(book.ts).date();
        let entry = dates.entry(date).or_insert_with(|| EuropeanDate { at: book.ts, expiries: Vec::new() });
        entry.at = entry.at.max(book.ts);
        entry.expiries.extend(live);
    }
    dates
}
