//! The closes of many sessions, by name. Never: a number that needs several of them.

use super::row::{ClosingRow, NameClose};
use kernel::contract::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most sessions with closes that are kept: a year, and two months in which nothing is lost by a gap.
pub const KEPT_SESSIONS: usize = 300;

/// Closes by name, each by session, ascending. A clone shares those of names that do not change.
#[derive(Clone, Debug, Default)]
pub struct Closes {
    by_name: BTreeMap<Symbol, Arc<[NameClose]>>,
    /// Number of changes.
    number: u64,
}

impl Closes {
    /// Number of times that rows were added.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The closes of a name, ascending; empty if there are none.
    #[must_use]
    pub fn of(&self, underlying: Symbol) -> &[NameClose] {
        self.by_name.get(&underlying).map_or(&[], |closes| closes)
    }

    /// Adds rows. A row replaces an earlier one of its name and session.
    pub fn add(&mut self, rows: &[ClosingRow]) {
        self.number = self.number.wrapping_add(1);
        for row in rows {
            let mut all = self.of(row.underlying).to_vec();
            match all.binary_search_by_key(&row.close.day, |close| close.day) {
                Ok(place) => all[place] = row.close,
                Err(place) => all.insert(place, row.close),
            }
            all.drain(..all.len().saturating_sub(KEPT_SESSIONS));
            self.by_name.insert(row.underlying, all.into());
        }
    }

    /// Bytes held, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.by_name.values().map(|closes| size_of_val::<[NameClose]>(closes)).sum()
    }
}

impl FromIterator<ClosingRow> for Closes {
    /// The closes of some rows; of two of one name and session the later one counts.
    fn from_iter<I: IntoIterator<Item = ClosingRow>>(rows: I) -> Self {
        let mut by_name: BTreeMap<Symbol, Vec<NameClose>> = BTreeMap::new();
        rows.into_iter().for_each(|row| by_name.entry(row.underlying).or_default().push(row.close));
        let sorted = |mut all: Vec<NameClose>| -> Arc<[NameClose]> {
            all.sort_by_key(|close| close.day);
            all.reverse();
            all.dedup_by_key(|close| close.day);
            all.truncate(KEPT_SESSIONS);
            all.reverse();
            all.into()
        };
        Self { by_name: by_name.into_iter().map(|(name, all)| (name, sorted(all))).collect(), number: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::EventState;
    use jiff::Timestamp;
    use jiff::civil::{Date, date};

    fn row(name: &str, day: Date, price: f64) -> ClosingRow {
        let close = NameClose {
            day,
            at: Timestamp::UNIX_EPOCH,
            price,
            iv30d: 0.2,
            event: EventState::None,
            event_days: None,
            dividend: None,
        };
        let (underlying, nan) = (Symbol::parse(name).unwrap(), f64::NAN);
        ClosingRow { underlying, close, ex_event_iv30d: nan, rr25_30d: nan, skew25_30d: nan, event_move: nan }
    }

    #[test]
    fn the_last_row_of_a_session_counts_and_the_oldest_go() {
        let day = |n: i8| date(2026, 1, n);
        let rows = [row("KO", day(7), 3.0), row("KO", day(5), 1.0), row("F", day(5), 9.0), row("KO", day(7), 4.0)];
        let mut closes: Closes = rows.into_iter().collect();
        let prices = |closes: &Closes, name: &str| -> Vec<f64> {
            closes.of(Symbol::parse(name).unwrap()).iter().map(|close| close.price).collect()
        };
        assert_eq!(prices(&closes, "KO"), [1.0, 4.0]);
        let before = closes.clone();
        closes.add(&[row("KO", day(6), 2.0), row("KO", day(5), 0.5), row("PEP", day(5), 7.0)]);
        assert_eq!((prices(&closes, "KO"), prices(&closes, "F")), (vec![0.5, 2.0, 4.0], vec![9.0]));
        assert_eq!((prices(&closes, "PEP"), prices(&closes, "X").len()), (vec![7.0], 0));
        assert_eq!(prices(&before, "KO"), [1.0, 4.0]);
        let many = |n: usize| date(2020, 1, 1).saturating_add(jiff::Span::new().days(i64::try_from(n).unwrap()));
        let mut all: Closes = (0..KEPT_SESSIONS + 9).map(|n| row("KO", many(n), n as f64 + 1.0)).collect();
        assert_eq!((prices(&all, "KO").len(), prices(&all, "KO")[0]), (KEPT_SESSIONS, 10.0));
        all.add(&[row("KO", many(KEPT_SESSIONS + 9), 1.0)]);
        assert_eq!((prices(&all, "KO").len(), prices(&all, "KO")[0]), (KEPT_SESSIONS, 11.0));
        assert_eq!(all.bytes(), KEPT_SESSIONS * size_of::<NameClose>());
    }
}
