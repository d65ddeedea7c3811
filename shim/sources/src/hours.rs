//! Admits quotes of live sources by the time at which they were made. Outside sessions the market holds the last values
//! of the previous session: quotes and prices of a session stay until the next session has new ones, whatever vendors
//! send meanwhile. For a name without data of a session, every quote is used. Never: a store, a clock.

use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::limits;
use kernel::records::{Batch, QuoteRecord, reached_by_several};
use std::collections::{BTreeMap, BTreeSet};

/// The names that have data of a session.
#[derive(Debug)]
pub struct Hours {
    roots: RootTable,
    /// Names with quotes of a session.
    quoted: BTreeSet<Symbol>,
    /// Names with a price of a session.
    priced: BTreeSet<Symbol>,
    /// Number of unused quotes and prices.
    held_back: u64,
}

impl Hours {
    /// State without data.
    pub fn new(roots: RootTable) -> Self {
        Self { roots, quoted: BTreeSet::new(), priced: BTreeSet::new(), held_back: 0 }
    }

    /// Number of quotes and prices so far that were not used because they were made outside sessions.
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Returns the records of a batch that are used. A chain that replaces another (`Batch::reset`) is used as a whole
    /// if its newest quote is of a session. Else its quotes of a session are used, and the previous chain is kept.
    pub fn admit(&mut self, calendar: &Calendar, mut batch: Batch) -> Batch {
        let mut sessions = InSession { calendar, last: None };
        let whole = self.whole_chains(&mut batch, &mut sessions);
        for name in &whole {
            self.quoted.remove(name);
            self.priced.remove(name);
        }
        let before = batch.quotes.len() + batch.spots.len();
        let (mut quoted, mut priced) = (BTreeSet::new(), BTreeSet::new());
        let (roots, held) = (&self.roots, &self.quoted);
        let mut namer = Namer { roots, last: None };
        batch.quotes.retain(|quote| {
            let (name, is_inside) = (namer.name(quote), sessions.has(quote.ts));
            if is_inside {
                quoted.insert(name);
            }
            is_inside || !held.contains(&name)
        });
        let held = &self.priced;
        batch.spots.retain(|spot| {
            let (name, is_inside) = (roots.canonical(spot.underlying), sessions.has(spot.ts));
            if is_inside {
                priced.insert(name);
            }
            is_inside || !held.contains(&name)
        });
        self.held_back += (before - batch.quotes.len() - batch.spots.len()) as u64;
        keep(&mut self.quoted, quoted);
        keep(&mut self.priced, priced);
        batch
    }

    /// The names whose chains are replaced as a whole. Removes all others from `Batch::reset`: their quotes are used
    /// one by one.
    fn whole_chains(&self, batch: &mut Batch, sessions: &mut InSession<'_>) -> BTreeSet<Symbol> {
        let mut times: BTreeMap<Symbol, Vec<Timestamp>> = BTreeMap::new();
        let mut whole: BTreeSet<Symbol> = batch.reset.iter().map(|&name| self.roots.canonical(name)).collect();
        if whole.is_empty() {
            return whole;
        }
        let mut namer = Namer { roots: &self.roots, last: None };
        for quote in &batch.quotes {
            let name = namer.name(quote);
            times.entry(name).or_default().push(quote.ts);
        }
        let newest: BTreeMap<Symbol, Timestamp> = times
            .iter()
            .filter_map(|(&name, times)| Some((name, reached_by_several(times.iter().copied())?)))
            .collect();
        // a name that is reset without a new chain is removed at any hour
        let is_late =
            |name: &Symbol, sessions: &mut InSession<'_>| newest.get(name).is_some_and(|&ts| !sessions.has(ts));
        whole.retain(|name| !(self.quoted.contains(name) && is_late(name, sessions)));
        batch.reset.retain(|&name| whole.contains(&self.roots.canonical(name)));
        whole
    }
}

/// Adds names, as many as there may be in all: a source may send names without end.
fn keep(all: &mut BTreeSet<Symbol>, new: BTreeSet<Symbol>) {
    let room = (limits::NAMES.most as usize).saturating_sub(all.len());
    let unknown: Vec<Symbol> = new.into_iter().filter(|name| !all.contains(name)).take(room).collect();
    all.extend(unknown);
}

/// Finds the name of a quote; keeps the last one, since most quotes are of the name of the quote before.
struct Namer<'a> {
    roots: &'a RootTable,
    last: Option<((Symbol, Symbol), Symbol)>,
}

impl Namer<'_> {
    fn name(&mut self, quote: &QuoteRecord) -> Symbol {
        let key = (quote.underlying, quote.contract.root);
        match self.last {
            Some((last, name)) if last == key => name,
            _ => {
                let name = self.roots.facts(key.1, key.0).underlying;
                self.last = Some((key, name));
                name
            }
        }
    }
}

/// Decides whether instants are within sessions; keeps the last session, since most instants are near the one before.
struct InSession<'a> {
    calendar: &'a Calendar,
    /// Begin and end of a session or of the time between two sessions; true for a session.
    last: Option<(Timestamp, Timestamp, bool)>,
}

impl InSession<'_> {
    /// True if an instant is within a session, opening and close included: the last quotes are made at the close.
    fn has(&mut self, ts: Timestamp) -> bool {
        let is_known = |&(from, to, is_session): &(Timestamp, Timestamp, bool)| {
            if is_session { from <= ts && ts <= to } else { from < ts && ts < to }
        };
        if let Some((_, _, is_session)) = self.last.filter(is_known) {
            return is_session;
        }
        let found = self.around(ts);
        self.last = Some(found);
        found.2
    }

    fn around(&self, ts: Timestamp) -> (Timestamp, Timestamp, bool) {
        let date = self.calendar.eastern(ts).date();
        let own = self.calendar.session(date);
        if let Some((open, close)) = own.filter(|&(open, close)| open <= ts && ts <= close) {
            return (open, close, true);
        }
        let has_been = own.is_some_and(|(_, close)| close < ts);
        let is_to_come = own.is_some_and(|(open, _)| ts < open);
        let before = if has_been { date } else { self.calendar.previous_session(date) };
        let after = if is_to_come { date } else { self.calendar.next_session(date) };
        let from = self.calendar.session(before).map_or(ts, |(_, close)| close);
        let to = self.calendar.session(after).map_or(ts, |(open, _)| open);
        (from, to, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use feeds::lines::parse_lines;
    use kernel::records::SpotRecord;
    use std::path::Path;

    fn batch(lines: &[String]) -> Batch {
        let (batch, report) = parse_lines(Path::new("x"), lines.join("\n").as_bytes());
        assert_eq!(report.places, []);
        batch
    }

    fn quote(strike: u32, time: &str) -> String {
        format!("{{\"osym\":\"SPXW261218C{:08}\",\"bid\":1,\"ask\":2,\"time\":\"{time}\"}}", strike * 1000)
    }

    fn price(time: &str) -> String {
        format!("{{\"symbol\":\"SPX\",\"price\":5000,\"time\":\"{time}\"}}")
    }

    /// How many quotes, prices and names to forget are left of a batch.
    fn left(batch: &Batch) -> (usize, usize, usize) {
        (batch.quotes.len(), batch.spots.len(), batch.reset.len())
    }

    #[test]
    fn instants_are_in_sessions_from_the_opening_to_the_close_of_their_day() {
        let calendar = Calendar::embedded();
        let mut sessions = InSession { calendar: &calendar, last: None };
        for (at, want) in [
            ("2026-11-25T09:29:59.999-05:00", false),
            ("2026-11-25T09:30:00-05:00", true),
            ("2026-11-25T16:00:00-05:00", true),
            ("2026-11-25T16:00:00.001-05:00", false),
            ("2026-11-26T12:00:00-05:00", false),
            ("2026-11-27T09:29:59-05:00", false),
            ("2026-11-27T13:00:00-05:00", true),
            ("2026-11-27T13:00:01-05:00", false),
            ("2026-11-29T12:00:00-05:00", false),
            ("2026-11-30T09:30:00-05:00", true),
            ("2026-10-30T13:30:00Z", true),
            ("2026-11-02T13:30:00Z", false),
            ("2026-11-02T14:30:00Z", true),
        ] {
            let ts = at.parse().unwrap();
            assert_eq!(sessions.has(ts), want, "{at}");
            let mut fresh = InSession { calendar: &calendar, last: None };
            assert_eq!(fresh.has(ts), want, "{at}, asked first");
        }
    }

    #[test]
    fn names_without_end_are_not_kept() {
        let mut hours = Hours::new(RootTable::embedded());
        let most = limits::NAMES.most as u32;
        let spot = |i| SpotRecord {
            ts: "2026-11-20T15:59:00-05:00".parse().unwrap(),
            underlying: Symbol::parse(&format!("N{i:07}")).unwrap(),
            price: 1.0,
        };
        let batch = Batch { spots: (0..most + 10).map(spot).collect(), ..Batch::default() };
        assert_eq!(hours.admit(&Calendar::embedded(), batch).spots.len() as u32, most + 10, "the store refuses them");
        assert_eq!(hours.priced.len() as u32, most);
    }

    #[test]
    fn what_is_made_outside_of_sessions_takes_the_place_of_nothing() {
        let calendar = Calendar::embedded();
        let mut hours = Hours::new(RootTable::embedded());
        let (early, inside) = ("2026-11-20T09:00:00-05:00", "2026-11-20T15:59:00-05:00");
        let (late, monday) = ("2026-11-20T16:05:00-05:00", "2026-11-23T09:30:00-05:00");
        let mut admit = |lines: &[String]| left(&hours.admit(&calendar, batch(lines)));
        assert_eq!(admit(&[quote(5000, early), price(early)]), (1, 1, 0), "there is nothing else");
        assert_eq!(admit(&[quote(5000, inside), price(inside)]), (1, 1, 0));
        assert_eq!(admit(&[quote(5000, late), quote(5005, late), price(late)]), (0, 0, 0));
        assert_eq!(admit(&[quote(5000, late), quote(5005, "2026-11-20T15:59:59-05:00")]), (1, 0, 0), "one by one");
        assert_eq!(admit(&[quote(5000, monday), price(monday)]), (1, 1, 0));
        assert_eq!(hours.held_back(), 4);
    }

    #[test]
    fn a_chain_after_the_close_replaces_none_of_the_session() {
        let calendar = Calendar::embedded();
        let mut hours = Hours::new(RootTable::embedded());
        let (inside, late) = ("2026-11-20T15:59:00-05:00", "2026-11-20T16:05:00-05:00");
        let mut admit = |lines: &[String]| {
            let reset = batch(&["{\"forget\":\"SPX\"}".to_owned()]).reset;
            left(&hours.admit(&calendar, Batch { reset, ..batch(lines) }))
        };
        assert_eq!(admit(&[quote(5000, late), quote(5005, inside)]), (2, 0, 1), "the first is taken whole");
        assert_eq!(
            admit(&[quote(5000, inside), quote(5005, "2026-11-20T09:00:00-05:00")]),
            (2, 0, 1),
            "so is a newer one"
        );
        assert_eq!(
            admit(&[quote(5000, late), quote(5005, inside), price(late)]),
            (1, 1, 0),
            "here there is no price yet"
        );
        assert_eq!(admit(&[]), (0, 0, 1), "a name may be forgotten at any hour");
        assert_eq!(admit(&[quote(5000, late)]), (1, 0, 1), "and begins anew");
    }
}
