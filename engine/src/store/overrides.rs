//! Overrides as passes look them up: of two of one kind the one that names more
//! counts, an expiry before a root. Never: a formula, a file.

use jiff::civil::Date;
use kernel::calendar::EventDate;
use kernel::calendar::expirations::canonical_expiry;
use kernel::contract::{Deliverable, Right, RootTable, Symbol};
use kernel::records::{Override, OverrideRecord, OverrideScope};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Points in a volatility of 1 per √year.
const VOL_POINTS: f64 = 100.0;

/// All overrides of feeds and quotes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    borrow: ByExpiry,
    rate: ByExpiry,
    forward: ByExpiry,
    /// In points.
    vol_shift: ByExpiry,
    /// Names whose dividends from the feed are ignored; `None`: all names.
    no_dividends: BTreeMap<Option<Symbol>, ()>,
    dividends: BTreeMap<Symbol, BTreeMap<Date, f64>>,
    events: BTreeMap<Symbol, BTreeMap<Date, EventDate>>,
    /// Excluded contracts by underlying.
    excluded: BTreeMap<Option<Symbol>, Vec<OverrideScope>>,
    /// Deliverables by underlying and root, then by their first date.
    deliverables: BTreeMap<(Option<Symbol>, Option<Symbol>), DatedTerms>,
    counts: [usize; Override::KINDS.len()],
}

/// The terms of an adjusted root by the date from which they hold; `None`: from the beginning.
type DatedTerms = BTreeMap<Option<Date>, Deliverable>;

/// A number by underlying, root and expiry, each of which may be any.
type ByExpiry = BTreeMap<(Option<Symbol>, Option<Symbol>, Option<Date>), f64>;

/// The (root, expiry) to look up.
#[derive(Clone, Copy, Debug)]
pub struct OverridePlace {
    /// Underlying.
    pub underlying: Symbol,
    /// Option root.
    pub root: Symbol,
    /// Expiration date.
    pub expiry: Date,
}

impl Overrides {
    /// The overrides of some records; underlyings may have the spellings of feeds.
    #[must_use]
    pub fn new(records: &[OverrideRecord], roots: &RootTable) -> Self {
        let mut all = Self::default();
        for OverrideRecord { scope, what } in records {
            let underlying = scope.underlying.map(|name| roots.canonical(name));
            let scope = OverrideScope { underlying, expiry: scope.expiry.map(canonical_expiry), ..*scope };
            let key = (underlying, scope.root, scope.expiry);
            all.counts[what.kind()] += 1;
            match (*what, underlying) {
                (Override::Dividend(date, amount), Some(name)) => {
                    _ = all.dividends.entry(name).or_default().insert(date, amount);
                }
                // the reader refuses it
                (Override::Dividend(..) | Override::Event(_), None) => {}
                (Override::Event(event), Some(name)) => {
                    _ = all.events.entry(name).or_default().insert(event.date, event);
                }
                (Override::NoDividends, name) => _ = all.no_dividends.insert(name, ()),
                (Override::Borrow(b), _) => _ = all.borrow.insert(key, b),
                (Override::Rate(r), _) => _ = all.rate.insert(key, r),
                (Override::Forward(fwd), _) => _ = all.forward.insert(key, fwd),
                (Override::VolShift(points), _) => _ = all.vol_shift.insert(key, points),
                (Override::Deliverable(terms, from), name) => {
                    _ = all.deliverables.entry((name, scope.root)).or_default().insert(from, terms);
                }
                (Override::Exclude, name) => all.excluded.entry(name).or_default().push(scope),
            }
        }
        all
    }

    /// Number of overrides of each of [`Override::KINDS`].
    #[must_use]
    pub fn counts(&self) -> [usize; Override::KINDS.len()] {
        self.counts
    }

    /// Borrow of an expiry, continuously compounded, per year.
    #[must_use]
    pub fn borrow(&self, place: OverridePlace) -> Option<f64> {
        find(&self.borrow, place)
    }

    /// The rate to an expiry, continuously compounded, per year.
    #[must_use]
    pub fn rate(&self, place: OverridePlace) -> Option<f64> {
        find(&self.rate, place)
    }

    /// The forward of an expiry, currency per share.
    #[must_use]
    pub fn forward(&self, place: OverridePlace) -> Option<f64> {
        find(&self.forward, place)
    }

    /// Shift of the volatilities of an expiry, per √year; 0 without an override.
    #[must_use]
    pub fn vol_shift(&self, place: OverridePlace) -> f64 {
        find(&self.vol_shift, place).unwrap_or(0.0) / VOL_POINTS
    }

    /// True if a user overrides the dividends of a name: with a dividend, or with none.
    #[must_use]
    pub fn has_dividends(&self, underlying: Symbol) -> bool {
        let pays_none = [Some(underlying), None].iter().any(|name| self.no_dividends.contains_key(name));
        pays_none || self.dividends.contains_key(&underlying)
    }

    /// Deliverable of a root on a date: the terms with the latest first date up to it. Those that name the
    /// underlying override those of the root alone.
    #[must_use]
    pub fn deliverable(&self, underlying: Symbol, root: Symbol, on: Date) -> Option<Deliverable> {
        let of = |name: Option<Symbol>| {
            let (_, terms) = self.deliverables.get(&(name, Some(root)))?.range(..=Some(on)).next_back()?;
            Some(*terms)
        };
        of(Some(underlying)).or_else(|| of(None))
    }

    /// The dividends of a name, ascending: those of the feed unless overridden, and the overrides.
    #[must_use]
    pub fn dividends<'d>(&self, underlying: Symbol, of_feed: &'d [(Date, f64)]) -> Cow<'d, [(Date, f64)]> {
        let none = [Some(underlying), None].iter().any(|name| self.no_dividends.contains_key(name));
        let own = self.dividends.get(&underlying);
        if !none && own.is_none() {
            return Cow::Borrowed(of_feed);
        }
        let mut all: BTreeMap<Date, f64> = if none { BTreeMap::new() } else { of_feed.iter().copied().collect() };
        all.extend(own.into_iter().flatten().map(|(&date, &amount)| (date, amount)));
        Cow::Owned(all.into_iter().filter(|&(_, amount)| amount > 0.0).collect())
    }

    /// The events of a name, ascending: those that are known unless overridden, and the overrides.
    #[must_use]
    pub fn events(&self, underlying: Symbol, known: &[EventDate]) -> Vec<EventDate> {
        let mut all: BTreeMap<Date, EventDate> = known.iter().map(|event| (event.date, *event)).collect();
        all.extend(self.events.get(&underlying).into_iter().flatten());
        all.into_values().filter(|event| event.size != Some(0.0)).collect()
    }

    /// Fills `excluded` by row with whether quotes of an expiry do not count; empties it where all do.
    pub fn fill_excluded(&self, place: OverridePlace, strike_milli: &[u32], right: &[Right], excluded: &mut Vec<bool>) {
        excluded.clear();
        let names = [Some(place.underlying), None];
        let scopes = names.iter().filter_map(|name| self.excluded.get(name)).flatten();
        for scope in scopes.filter(|scope| is_any(scope.root, place.root) && is_any(scope.expiry, place.expiry)) {
            excluded.resize(strike_milli.len(), false);
            for ((out, &strike), &right) in excluded.iter_mut().zip(strike_milli).zip(right) {
                *out |= is_any(scope.strike_milli, strike) && is_any(scope.right, right);
            }
        }
    }
}

fn is_any<T: PartialEq>(wanted: Option<T>, is: T) -> bool {
    wanted.is_none_or(|wanted| wanted == is)
}

/// The most specific override of the place.
fn find(numbers: &ByExpiry, OverridePlace { underlying, root, expiry }: OverridePlace) -> Option<f64> {
    if numbers.is_empty() {
        return None;
    }
    let parts = [(Some(root), Some(expiry)), (None, Some(expiry)), (Some(root), None), (None, None)];
    let names = [Some(underlying), None];
    let mut keys = names.iter().flat_map(|&name| parts.iter().map(move |&(root, expiry)| (name, root, expiry)));
    keys.find_map(|key| numbers.get(&key).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use feeds::overrides::parse_overrides;
    use jiff::civil::date;
    use kernel::calendar::EventTime;
    use std::path::Path;

    fn overrides(rows: &str) -> Overrides {
        let text = format!("underlying,root,expiry,strike,right,what,value,date\n{rows}");
        let (records, report) = parse_overrides(Path::new("o"), text.as_bytes());
        assert_eq!(report.places, []);
        Overrides::new(&records, &RootTable::embedded())
    }

    fn place(underlying: &str, root: &str, day: i8) -> OverridePlace {
        let symbol = |text| Symbol::parse(text).unwrap();
        OverridePlace { underlying: symbol(underlying), root: symbol(root), expiry: date(2026, 12, day) }
    }

    #[test]
    fn events_go_before_those_that_are_known_and_zero_strikes_out() {
        let all = overrides("KO,,,,,event,0,2026-12-02\nKO,,,,,event,4,2026-12-09\n");
        let known = |day, size| {
            let (date, time) = (date(2026, 12, day), EventTime::AfterClose);
            EventDate { date, time, size, is_earnings: false }
        };
        let [ko, pep] = ["KO", "PEP"].map(|name| Symbol::parse(name).unwrap());
        let events = all.events(ko, &[known(2, None), known(9, None), known(16, Some(0.02))]);
        let shown = |event: &EventDate| (event.date.day(), event.time, event.size);
        assert_eq!(
            events.iter().map(shown).collect::<Vec<_>>(),
            [(9, EventTime::Unknown, Some(0.04)), (16, EventTime::AfterClose, Some(0.02))]
        );
        assert_eq!(all.events(pep, &[known(2, None)]), [known(2, None)]);
    }

    #[test]
    fn what_names_more_counts() {
        let all = overrides(
            "*,,,,,rate,0.01,\nSPX,,,,,rate,0.02,\nSPX,SPXW,,,,rate,0.03,\nSPXW,,2026-12-18,,,rate,0.04,\n\
             SPX,SPXW,2026-12-18,,,rate,0.05,\n",
        );
        let rate = |name, root, day| all.rate(place(name, root, day)).map(|r| (r * 100.0).round() as i32);
        assert_eq!(rate("KO", "KO", 18), Some(1));
        assert_eq!(rate("SPX", "SPX", 1), Some(2));
        assert_eq!(rate("SPX", "SPXW", 1), Some(3));
        assert_eq!(rate("SPX", "SPX", 18), Some(4), "an underlying may be spelt as its root");
        assert_eq!(rate("SPX", "SPXW", 18), Some(5));
        assert_eq!((all.borrow(place("SPX", "SPX", 1)), all.counts()), (None, [0, 0, 0, 5, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn a_forward_is_of_an_expiry_and_a_shift_of_whatever_is_named() {
        let all = overrides(
            "SPX,,2026-12-18,,,forward,5100,\nSPX,SPXW,2026-12-18,,,forward,5090,\n*,,,,,vol_shift,-1,\n\
             SPX,,,,,vol_shift,2.5,\nSPX,,2026-12-18,,,vol_shift,0,\n",
        );
        let forward = |root, day| all.forward(place("SPX", root, day)).map(|fwd| fwd as i32);
        assert_eq!([forward("SPX", 18), forward("SPXW", 18), forward("SPX", 19)], [Some(5100), Some(5090), None]);
        let shift = |name, day| (all.vol_shift(place(name, name, day)) * 1e4).round() as i32;
        assert_eq!([shift("KO", 18), shift("SPX", 1), shift("SPX", 18)], [-100, 250, 0], "a shift of nothing is one");
        assert_eq!(all.counts(), [0, 0, 0, 0, 2, 3, 0, 0, 0]);
    }

    #[test]
    fn dividends_are_added_replaced_and_taken_away() {
        let feed = [(date(2026, 12, 1), 0.5), (date(2027, 3, 1), 0.5)];
        let ko = Symbol::parse("KO").unwrap();
        let of = |rows: &str| overrides(rows).dividends(ko, &feed).to_vec();
        assert_eq!(of("F,,,,,no_dividends,,\n"), feed);
        assert_eq!(of("KO,,,,,dividend,0.6,2026-12-01\nKO,,,,,dividend,0,2027-03-01\n"), [(date(2026, 12, 1), 0.6)]);
        assert_eq!(of("KO,,,,,dividend,1,2027-01-15\n").len(), 3);
        assert_eq!(of("KO,,,,,no_dividends,,\nKO,,,,,dividend,1,2027-01-15\n"), [(date(2027, 1, 15), 1.0)]);
        assert_eq!(of("*,,,,,no_dividends,,\n"), []);
    }

    #[test]
    fn contracts_are_left_out_by_name_expiry_strike_and_right() {
        let (strikes, rights) = ([1000, 1000, 2000], [Right::Call, Right::Put, Right::Call]);
        let mask = |rows: &str| {
            let mut excluded = vec![true];
            overrides(rows).fill_excluded(place("KO", "KO", 18), &strikes, &rights, &mut excluded);
            excluded
        };
        assert_eq!(mask("F,,,,,exclude,,\nKO,,2026-12-17,,,exclude,,\n"), [true; 0]);
        assert_eq!(mask("KO,,2026-12-18,,,exclude,,\n"), [true; 3]);
        assert_eq!(mask("KO,,2026-12-19,,,exclude,,\n"), [true; 3], "as it is listed");
        assert_eq!(mask("KO,,,1,put,exclude,,\n"), [false, true, false]);
        assert_eq!(mask("*,,,1,,exclude,,\nKO,KO,,2,,exclude,,\n"), [true; 3]);
    }
}
