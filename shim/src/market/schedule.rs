//! Schedule of the market loop: which names are due, in which order, and how many form a batch. It knows numbers and
//! names only, so that it can be tested. Never: a clock, a book, a thread.
//!
//! A round computes every name that was due when it began, in batches. A name that changes after it was computed waits
//! in a second queue, and batches come from the two queues alternately. So a new quote is computed soon although a
//! round is running, and a round takes at most twice its batches, whatever changes meanwhile. Every waiting name is
//! computed within two rounds. A name that has changed and was requested recently comes first: where all names change
//! all the time, each would wait.

use jiff::{SignedDuration, Timestamp};
use kernel::contract::Symbol;
use kernel::quality::Quality;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Settings of the market loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopSettings {
    /// Contracts in a batch, for each thread, 5,000 to 200,000. Between two batches finished chains are published and
    /// the feed is polled; the smaller a batch is, the longer the threads wait for each other. A contract that was
    /// computed before takes 0.6 to 1.5 µs, so 20,000 take 12 to 30 ms. A steady pass of `sim:full` took 0.96 of the
    /// time that it takes with 10,000. The chains of a batch are in memory twice: 30,000 in place of 10,000 took 35 to
    /// 40 MB more.
    pub batch_contracts: u32,
    /// Time after which a batch begins no further name, 20 to 500 ms: the rest is postponed. Names of different
    /// accuracy, which are rarely in one batch, have this time each. A contract that needs new tables of early exercise
    /// takes 0.05 to 3 ms: 10,000 of names with dividends held up every fresh quote for seconds, on a busy machine for
    /// 45.
    pub batch_time: Duration,
    /// Number of contracts without a chain above which every name is first computed by a preliminary pass. At full
    /// accuracy they take about ten seconds, ten times as long; a smaller market is computed at full accuracy at once.
    pub preliminary_above_contracts: usize,
    /// Minimum time between two snapshots while chains are computed for the first time: each snapshot lists the whole
    /// market.
    pub first_publish: Duration,
    /// Minimum time between two updates of the counts while a round runs: they are sums over all names.
    pub report_every: Duration,
    /// Number of rounds in the median duration.
    pub rounds_kept: usize,
    /// Age of a request up to which its name is computed before others. Programs poll every few seconds.
    pub requested_within: Duration,
}

impl Default for LoopSettings {
    fn default() -> Self {
        Self {
            batch_contracts: 20_000,
            batch_time: Duration::from_millis(100),
            preliminary_above_contracts: 100_000,
            first_publish: Duration::from_millis(250),
            report_every: Duration::from_millis(250),
            rounds_kept: 101,
            requested_within: Duration::from_secs(10),
        }
    }
}

impl LoopSettings {
    /// Quality of a round that begins with names without a chain, given their numbers of contracts.
    pub fn quality(&self, cold_contracts: impl IntoIterator<Item = usize>) -> Quality {
        let mut sum = 0;
        // counting may be work, and stops when the answer is known
        let exceeds = cold_contracts.into_iter().any(|contracts| {
            sum += contracts;
            sum > self.preliminary_above_contracts
        });
        if exceeds { Quality::Preliminary } else { Quality::Full }
    }
}

/// Maximum age of values without a new quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decay {
    /// Absolute maximum. Theta of a minute is far below the spread of any contract with days to settlement.
    pub after: SignedDuration,
    /// Reciprocal of the maximum as a fraction of the time to the next settlement: the last hours decay faster.
    pub fraction: i32,
}

impl Default for Decay {
    fn default() -> Self {
        Self { after: SignedDuration::from_secs(60), fraction: 1000 }
    }
}

impl Decay {
    /// True if values of the instant `valued` are too old at `at`; `settles` is the next settlement after `valued`.
    /// Values of the future, after a clock was set back, are due as well.
    #[must_use]
    pub fn is_due(&self, valued: Timestamp, at: Timestamp, settles: Option<Timestamp>) -> bool {
        let patience = settles.map_or(self.after, |settles| settles.duration_since(valued) / self.fraction);
        at < valued || at.duration_since(valued) >= patience.min(self.after)
    }
}

/// Sorts names: first those with a waiting request, then those without dividends, which take the least time. Within a
/// group the order stays.
pub fn soonest_first(
    names: &mut [Symbol],
    is_awaited: impl Fn(Symbol) -> bool,
    pays_dividends: impl Fn(Symbol) -> bool,
) {
    names.sort_by_cached_key(|&name| (!is_awaited(name), pays_dividends(name)));
}

/// Queue in which a name of a round waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnState {
    /// Names not computed yet in this round.
    Due,
    /// Names that changed after they were computed.
    Changed,
    /// Names that changed and were requested recently.
    Awaited,
}

/// One round over the names that were due when it began.
#[derive(Debug, Default)]
pub struct Round {
    /// Names by queue, oldest first. An entry is void if `places` has the name in another queue.
    lines: [VecDeque<Symbol>; 3],
    /// Number of names that wait in each queue.
    waiting: [usize; 3],
    /// Queue of each name.
    places: BTreeMap<Symbol, TurnState>,
    /// Names of the last batch, each with its former queue.
    batch: Vec<(Symbol, TurnState)>,
    /// True if the next batch is one of changed names.
    changed_next: bool,
}

impl Round {
    /// A round over some names, in this order, each once.
    pub fn new(names: impl IntoIterator<Item = Symbol>) -> Self {
        let mut round = Self::default();
        for name in names {
            if !round.places.contains_key(&name) {
                round.place(name, TurnState::Due);
            }
        }
        round
    }

    /// Number of names not computed yet.
    #[must_use]
    pub fn due(&self) -> usize {
        self.waiting[TurnState::Due as usize]
    }

    /// Queues names that have changed. A name that still waits keeps its place, since it is computed from its newest
    /// quotes; others go to the end of the changed names. Recently requested names come first.
    pub fn note_changed(&mut self, names: impl IntoIterator<Item = Symbol>, is_awaited: impl Fn(Symbol) -> bool) {
        for name in names {
            match self.places.get(&name) {
                Some(TurnState::Awaited) => {}
                _ if is_awaited(name) => self.place(name, TurnState::Awaited),
                Some(_) => {}
                None => self.place(name, TurnState::Changed),
            }
        }
    }

    /// True if the next round should begin at once: some names changed after their turn.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.places.len() > self.due()
    }

    /// The names of the next batch: up to `most` contracts, but at least one name while any is due.
    pub fn next_batch(&mut self, most: usize, contracts: impl Fn(Symbol) -> usize) -> Vec<Symbol> {
        let lines: &[TurnState] = if self.changed_next && self.has_changed() {
            &[TurnState::Awaited, TurnState::Changed]
        } else {
            &[TurnState::Due]
        };
        self.changed_next = !self.changed_next;
        self.batch.clear();
        let mut left = most.max(1);
        while left > 0 {
            let Some((name, line)) = lines.iter().find_map(|&line| Some((self.next_of(line)?, line))) else { break };
            left = left.saturating_sub(contracts(name));
            self.batch.push((name, line));
        }
        self.batch.iter().map(|&(name, _)| name).collect()
    }

    /// Takes back names of the last batch that were not begun: they are the first of their queues again.
    pub fn take_back(&mut self, postponed: &[Symbol]) {
        let postponed: BTreeSet<Symbol> = postponed.iter().copied().collect();
        for (name, line) in self.batch.drain(..).rev().filter(|(name, _)| postponed.contains(name)) {
            self.lines[line as usize].push_front(name);
            self.waiting[line as usize] += 1;
            self.places.insert(name, line);
        }
    }

    /// Puts a name at the end of a queue, and removes it from its former one.
    fn place(&mut self, name: Symbol, line: TurnState) {
        self.lines[line as usize].push_back(name);
        self.waiting[line as usize] += 1;
        if let Some(before) = self.places.insert(name, line) {
            self.waiting[before as usize] -= 1;
        }
    }

    /// Takes the first name of a queue.
    fn next_of(&mut self, line: TurnState) -> Option<Symbol> {
        while let Some(name) = self.lines[line as usize].pop_front() {
            if self.places.get(&name) == Some(&line) {
                self.places.remove(&name);
                self.waiting[line as usize] -= 1;
                return Some(name);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<Symbol> {
        let letter = |i: usize| char::from(b'A' + u8::try_from(i % 26).unwrap());
        (0..n).map(|i| Symbol::parse(&format!("{}{}", letter(i / 26), letter(i))).unwrap()).collect()
    }

    /// Rounds over a feed that marks names as changed after each batch; for each name, the batches that it was in.
    fn batches_of(all: &[Symbol], changes: impl Fn(usize) -> Vec<Symbol>, rounds: usize) -> Vec<Vec<usize>> {
        let mut batches = vec![Vec::new(); all.len()];
        let (mut due, mut n) = (all.to_vec(), 0);
        for _ in 0..rounds {
            let mut round = Round::new(due);
            while round.due() > 0 {
                for name in round.next_batch(10, |_| 1) {
                    batches[all.binary_search(&name).unwrap()].push(n);
                }
                n += 1;
                round.note_changed(changes(n), |_| false);
            }
            // what a feed says that was not handed out
            due = round.places.into_keys().collect();
        }
        batches
    }

    #[test]
    fn a_feed_that_changes_everything_at_each_look_starves_nobody() {
        let all = names(100);
        let batches = batches_of(&all, |_| all.clone(), 20);
        for (name, batches) in all.iter().zip(&batches) {
            assert!(batches.len() >= 10 && batches[0] < 20, "{name}: {batches:?}");
            // a round of all names is ten batches
            assert!(batches.windows(2).all(|pair| pair[1] - pair[0] <= 20), "{name}: {batches:?}");
        }
    }

    #[test]
    fn names_that_change_without_end_do_not_hold_up_one_that_changed_once() {
        let all = names(100);
        let loud = &all[70..];
        let batches = batches_of(&all, |n| if n == 5 { all.clone() } else { loud.to_vec() }, 4);
        for (name, batches) in all.iter().zip(&batches).take(70) {
            assert!(batches.iter().any(|&batch| (5..25).contains(&batch)), "{name}: {batches:?}");
        }
    }

    #[test]
    fn a_tick_is_computed_within_two_batches_of_a_round() {
        let all = names(100);
        let mut round = Round::new(all.clone());
        assert_eq!(round.next_batch(10, |_| 1), all[..10]);
        round.note_changed([all[3], all[50]], |_| false);
        assert!(round.has_changed());
        assert_eq!(round.next_batch(10, |_| 1), [all[3]], "the other is still to come");
        round.note_changed([all[3]], |_| false);
        assert_eq!(round.next_batch(10, |_| 1), all[10..20]);
        assert_eq!(round.next_batch(10, |_| 1), [all[3]]);
        assert_eq!(round.next_batch(10, |_| 1), all[20..30], "no batch is empty while a name is due");
        assert_eq!(round.next_batch(10, |_| 1), all[30..40]);
    }

    #[test]
    fn names_that_were_not_begun_are_the_first_of_their_queues_again() {
        let all = names(30);
        let mut round = Round::new(all.clone());
        assert_eq!(round.next_batch(10, |_| 1), all[..10]);
        round.take_back(&all[7..10]);
        assert_eq!(round.due(), 23);
        round.note_changed([all[0], all[1], all[8], all[20]], |name| name == all[20]);
        let changed = [all[20], all[0], all[1]];
        assert_eq!(round.next_batch(10, |_| 1), changed);
        round.take_back(&[all[1], all[20]]);
        assert_eq!(round.next_batch(4, |_| 1), all[7..11]);
        assert_eq!(round.next_batch(10, |_| 1), [all[20], all[1]]);
        round.take_back(&[]);
        let left: Vec<_> = all[11..20].iter().chain(&all[21..]).copied().collect();
        assert_eq!(round.next_batch(100, |_| 1), left);
        assert!(round.due() == 0 && !round.has_changed());
    }

    #[test]
    fn a_round_ends_and_says_whether_the_next_should_begin_at_once() {
        let all = names(3);
        let mut round = Round::new([all[0], all[1], all[0], all[2]]);
        assert_eq!(round.due(), 3, "each once");
        assert_eq!(round.next_batch(100, |_| 1), all);
        assert!(round.due() == 0 && !round.has_changed());
        round.note_changed([all[0]], |_| false);
        assert!(round.due() == 0 && round.has_changed());
    }

    #[test]
    fn a_large_cold_market_begins_with_a_preliminary_pass() {
        let settings = LoopSettings::default();
        assert_eq!(settings.quality([]), Quality::Full);
        assert_eq!(settings.quality([60_000, 40_000]), Quality::Full);
        assert_eq!(settings.quality([60_000, 40_001]), Quality::Preliminary);
        let counted = std::cell::Cell::new(0);
        let _ = settings.quality((0..100).map(|_| {
            counted.set(counted.get() + 1);
            50_000
        }));
        assert_eq!(counted.get(), 3, "what is known is not counted on");
    }

    #[test]
    fn what_somebody_waits_for_comes_before_what_changed_sooner() {
        let all = names(100);
        let mut round = Round::new(all.clone());
        assert_eq!(round.next_batch(50, |_| 1), all[..50]);
        let is_awaited = |name| [all[20], all[25], all[90]].contains(&name);
        for _ in 0..2 {
            round.note_changed([&all[..30], &all[90..]].concat(), is_awaited);
            assert_eq!(round.due(), 49, "one that is due and awaited waits in one line");
        }
        assert_eq!(round.next_batch(5, |_| 1), [all[20], all[25], all[90], all[0], all[1]]);
        assert_eq!(round.next_batch(2, |_| 1), all[50..52], "the others of the round are not held up");
        round.note_changed([all[90]], |_| false);
        let mut seen = BTreeMap::new();
        while round.due() > 0 || round.has_changed() {
            let batch = round.next_batch(7, |_| 1);
            assert!(!batch.is_empty() || round.due() == 0);
            batch.into_iter().for_each(|name| *seen.entry(name).or_insert(0) += 1);
        }
        assert!(seen.values().all(|&times| times == 1) && seen.len() == 26 + 48, "{}: {seen:?}", seen.len());
    }

    #[test]
    fn what_is_awaited_and_what_pays_no_dividends_come_first_and_else_the_order_stays() {
        let mut all = names(6);
        let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|i| all[i]);
        soonest_first(&mut all, |name| [e, f].contains(&name), |name| [a, c, f].contains(&name));
        assert_eq!(all, [e, f, b, d, a, c]);
    }

    #[test]
    fn values_are_due_after_a_minute_sooner_near_settlement_and_when_the_clock_was_set_back() {
        let decay = Decay::default();
        let at = |seconds: i64| Timestamp::from_second(1_795_207_320 + seconds).unwrap();
        let hour = Some(at(3600));
        assert!(!decay.is_due(at(0), at(0), None) && !decay.is_due(at(0), at(59), None));
        assert!(decay.is_due(at(0), at(60), None));
        assert!(!decay.is_due(at(0), at(3), hour) && decay.is_due(at(0), at(4), hour), "a thousandth of an hour");
        assert!(decay.is_due(at(0), at(60), Some(at(86_400 * 30))), "never longer than a minute");
        assert!(decay.is_due(at(0), at(-1), None) && decay.is_due(at(0), at(-7200), hour));
    }
}
