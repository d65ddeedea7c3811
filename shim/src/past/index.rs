//! Index of an archive: names by day, each with its contracts and a stamp that changes with its files.
//! Never: a file.

use api::listing::Listing;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names by day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayIndex {
    days: BTreeMap<Date, BTreeMap<Symbol, Noted>>,
}

/// Entry of a name on a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Noted {
    stamp: u64,
    listings: Vec<Arc<Listing>>,
}

impl DayIndex {
    /// Adds a file with this stamp to the entry of a name on a day. Several stamps are combined.
    pub fn note(&mut self, name: Symbol, day: Date, stamp: u64) {
        let noted = self.days.entry(day).or_default().entry(name).or_default();
        // files have a fixed order, so the combined stamp is reproducible
        noted.stamp = noted.stamp.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stamp;
    }

    /// Adds contracts to the entry of a name on a day, if there is one.
    pub fn note_listing(&mut self, name: Symbol, day: Date, listing: Arc<Listing>) {
        if let Some(noted) = self.days.get_mut(&day).and_then(|of_day| of_day.get_mut(&name)) {
            noted.listings.push(listing);
        }
    }

    /// Days with data of any of `names`; an empty list means any name.
    #[must_use]
    pub fn days(&self, names: &[Symbol]) -> Vec<Date> {
        let has =
            |of_day: &BTreeMap<Symbol, Noted>| names.is_empty() || names.iter().any(|name| of_day.contains_key(name));
        self.days.iter().filter(|(_, of_day)| has(of_day)).map(|(&day, _)| day).collect()
    }

    /// The names of a day, in order.
    #[must_use]
    pub fn names(&self, day: Date) -> Vec<Symbol> {
        self.days.get(&day).map_or_else(Vec::new, |of_day| of_day.keys().copied().collect())
    }

    /// The stamp of a name on a day; `None`: no data.
    #[must_use]
    pub fn stamp(&self, name: Symbol, day: Date) -> Option<u64> {
        Some(self.days.get(&day)?.get(&name)?.stamp)
    }

    /// The contracts that a name had on a day.
    #[must_use]
    pub fn listings(&self, name: Symbol, day: Date) -> Vec<Arc<Listing>> {
        let noted = self.days.get(&day).and_then(|of_day| of_day.get(&name));
        noted.map_or_else(Vec::new, |noted| noted.listings.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn days_and_names_are_found_both_ways() {
        let [acme, dull] = ["ACME", "DULL"].map(|name| Symbol::parse(name).unwrap());
        let [first, second] = [date(2024, 1, 2), date(2024, 1, 3)];
        let mut index = DayIndex::default();
        index.note(acme, second, 1);
        index.note(acme, first, 1);
        index.note(dull, second, 1);
        assert_eq!(index.days(&[]), [first, second]);
        assert_eq!((index.days(&[acme]), index.days(&[dull])), (vec![first, second], vec![second]));
        assert_eq!((index.names(second), index.names(date(2024, 1, 4))), (vec![acme, dull], Vec::new()));
        let (before, other) = (index.stamp(acme, second), index.stamp(dull, first));
        index.note(acme, second, 2);
        assert!(index.stamp(acme, second) != before && before.is_some() && other.is_none());
    }
}
