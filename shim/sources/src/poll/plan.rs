//! Schedule of the sweeps of a vendor: which name is next and when, with rate limits, priorities and back-off, and one
//! request at a time while the vendor fails. It knows numbers and names only. Never: a socket, a clock, a vendor.
//!
//! Of the names that are due, recently requested ones come first, the latest request first. Every fourth turn belongs
//! to the name that has waited longest, so that requests do not starve other names.

use super::failure::{Failed, Failure};
use crate::facts::SourceState;
use kernel::contract::Symbol;
use std::collections::BTreeMap;
use std::time::Duration;

/// Rate limits of a vendor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VendorTerms {
    /// Polling interval of a name.
    pub every: Duration,
    /// Polling interval of a name while the market is closed.
    pub every_closed: Duration,
    /// Maximum number of requests per minute.
    pub per_minute: f64,
    /// Maximum number of requests at once after a pause, at least 1.
    pub burst: f64,
    /// Maximum number of concurrent sweeps.
    pub at_once: usize,
    /// Delay of the vendor's quotes.
    pub delay: Duration,
}

/// Next step of the polling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Begin a sweep of this name with its first request.
    Ask(Symbol),
    /// Wait until this time, or until a sweep ends.
    Wait(Duration),
}

/// Outcome of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The sweep brought data, or the data have not changed.
    Delivered,
    /// The sweep brought no usable data.
    Failed(Failed),
}

/// Age of a request up to which its name comes first.
const RECENT: Duration = Duration::from_secs(600);
/// Number of turns of which one belongs to the name that has waited longest.
const FAIR_TURN: u64 = 4;
/// Pause after a failure of the vendor; each further failure doubles it.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause after failures.
const PAUSE_MOST: Duration = Duration::from_secs(300);
/// First and maximum pause after a rejected key: repeated requests with a wrong key get accounts locked.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
const REFUSED_PAUSE_MOST: Duration = Duration::from_secs(3600);
/// Pause after too many requests, where the vendor does not name one.
const LIMITED_PAUSE: Duration = Duration::from_secs(5);
/// Maximum pause that a server can request.
const RETRY_AFTER_MOST: Duration = Duration::from_secs(3600);
/// Number of failures in a row from which the circuit counts as open.
const OPEN_AFTER: u32 = 5;
/// Maximum factor of the polling interval of a name whose responses are unusable.
const SELDOM_MOST: u32 = 16;
/// Number of unusable responses in a row after which the market no longer waits for the first chain of a name. One or
/// two may be an accident of the vendor.
const GIVEN_UP_AFTER: u32 = 3;
/// Maximum interval of requests for prices that bring none.
const SPOTS_SELDOM: Duration = Duration::from_secs(60);
/// Wait while a request to a failing vendor is running.
const LOOK: Duration = Duration::from_secs(1);
/// Relative random change of a pause, so that daemons do not poll in step.
const JITTER: f64 = 0.1;

/// State of the polling of a vendor.
#[derive(Debug)]
pub struct Plan {
    terms: VendorTerms,
    names: BTreeMap<Symbol, NameState>,
    /// Number of requests that may be sent at once (token bucket).
    tokens: f64,
    refilled: Duration,
    /// Number of failures of the vendor in a row, and the last of them.
    in_row: u32,
    last_failure: Option<Failure>,
    quiet_until: Duration,
    turns: u64,
    draw: u64,
    was_open: bool,
    requests: u64,
    failures: [u64; Failure::ALL.len()],
    last_success: Option<Duration>,
    /// `None`: prices come with the chains alone.
    spots: Option<SpotSchedule>,
}

/// Schedule of the requests for the prices of all names together.
#[derive(Clone, Copy, Debug)]
struct SpotSchedule {
    every: Duration,
    due: Duration,
    /// Number of requests in a row that brought nothing.
    in_row: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct NameState {
    /// Time at which the name is due.
    due: Duration,
    /// Number of failures of the name in a row.
    in_row: u32,
    /// True while a sweep is running.
    is_running: bool,
    /// True once a sweep has ended.
    has_ended: bool,
    /// True once the name was delivered, or has finally failed.
    is_answered: bool,
}

impl Plan {
    /// A plan for some names, all due; `seed` randomizes its pauses.
    #[must_use]
    pub fn new(terms: VendorTerms, names: impl IntoIterator<Item = Symbol>, seed: u64) -> Self {
        Self {
            terms,
            names: names.into_iter().map(|name| (name, NameState::default())).collect(),
            tokens: terms.burst,
            refilled: Duration::ZERO,
            in_row: 0,
            last_failure: None,
            quiet_until: Duration::ZERO,
            turns: 0,
            draw: seed | 1,
            was_open: false,
            requests: 0,
            failures: [0; Failure::ALL.len()],
            last_success: None,
            spots: None,
        }
    }

    /// Asks for the prices of all names together at this interval, too.
    #[must_use]
    pub fn with_spots(self, every: Option<Duration>) -> Self {
        Self { spots: every.map(|every| SpotSchedule { every, due: Duration::ZERO, in_row: 0 }), ..self }
    }

    /// The names whose prices are to be requested at `now`: those with a chain, while the market is open and the vendor
    /// works.
    ///
    /// # Errors
    /// Time at which to try again.
    pub fn next_spots(&self, now: Duration, is_open: bool) -> Result<Vec<Symbol>, Duration> {
        let Some(spots) = self.spots else { return Err(Duration::MAX) };
        if now < spots.due {
            return Err(spots.due);
        }
        let delivered = self.names.iter().filter(|(_, state)| state.is_answered && state.in_row == 0);
        let names: Vec<Symbol> = delivered.map(|(&name, _)| name).collect();
        if !is_open || self.in_row > 0 || names.is_empty() { Err(now.saturating_add(LOOK)) } else { Ok(names) }
    }

    /// Ends a request for prices; `is_new`: it brought some. Returns true if the state of the vendor has changed.
    pub fn done_spots(&mut self, now: Duration, outcome: Result<bool, Failed>) -> bool {
        let before = self.state();
        let Some(mut spots) = self.spots else { return false };
        let is_new = match outcome {
            Ok(is_new) => is_new,
            Err(Failed { failure, retry_after }) => {
                self.note(failure);
                if failure.is_of_vendor() {
                    self.fail(now, failure, retry_after);
                }
                false
            }
        };
        spots.in_row = if is_new { 0 } else { spots.in_row.saturating_add(1) };
        let wait = spots.every.saturating_mul(1 << spots.in_row.min(10)).min(SPOTS_SELDOM.max(spots.every));
        spots.due = now.saturating_add(self.jittered(wait));
        self.spots = Some(spots);
        before != self.state()
    }

    /// Next step at `now`; `asked` returns the age of the last request for a name. [`Next::Ask`] counts the first
    /// request.
    pub fn next(&mut self, now: Duration, is_open: bool, asked: impl Fn(Symbol) -> Option<Duration>) -> Next {
        if is_open && !self.was_open {
            let soon = now.saturating_add(self.terms.every);
            self.names.values_mut().for_each(|state| state.due = state.due.min(soon));
        }
        self.was_open = is_open;
        if self.in_row > 0 && self.names.values().any(|state| state.is_running) {
            // one request shows whether the vendor works again
            return Next::Wait(now.saturating_add(LOOK));
        }
        if let Err(until) = self.gate(now) {
            return Next::Wait(until);
        }
        let free = || self.names.iter().filter(|(_, state)| !state.is_running);
        let is_fair = (self.turns + 1).is_multiple_of(FAIR_TURN);
        let lately = |name: Symbol| asked(name).filter(|&age| !is_fair && age < RECENT).unwrap_or(Duration::MAX);
        let due = free().filter(|(_, state)| state.due <= now);
        let Some(name) = due.min_by_key(|&(&name, state)| (lately(name), state.due)).map(|(&name, _)| name) else {
            return Next::Wait(free().map(|(_, state)| state.due).min().unwrap_or(now.saturating_add(LOOK)));
        };
        self.turns += 1;
        self.spend();
        self.names.entry(name).and_modify(|state| state.is_running = true);
        Next::Ask(name)
    }

    /// Permits a further request of a sweep at `now`, and counts it.
    ///
    /// # Errors
    /// Time at which to try again.
    pub fn permit(&mut self, now: Duration) -> Result<(), Duration> {
        self.gate(now)?;
        self.spend();
        Ok(())
    }

    /// Counts a failure despite which a sweep continues.
    pub fn note(&mut self, failure: Failure) {
        self.failures[failure as usize] += 1;
    }

    /// Ends a sweep. Returns true if the state of the vendor has changed.
    pub fn done(&mut self, name: Symbol, now: Duration, outcome: Outcome) -> bool {
        let before = self.state();
        let mut wait = if self.was_open { self.terms.every } else { self.terms.every_closed };
        let last = self.names.get(&name).copied().unwrap_or_default();
        let (mut in_row, mut is_answered) = (0, true);
        match outcome {
            Outcome::Delivered => {
                (self.in_row, self.last_failure) = (0, None);
                self.last_success = Some(now);
            }
            Outcome::Failed(Failed { failure, retry_after }) => {
                self.note(failure);
                is_answered = last.is_answered || failure.is_final();
                if failure.is_of_vendor() {
                    self.fail(now, failure, retry_after);
                    // the name stays due
                    wait = Duration::ZERO;
                } else {
                    // the vendor itself works
                    (self.in_row, self.last_failure) = (0, None);
                    in_row = last.in_row + 1;
                    is_answered |= in_row >= GIVEN_UP_AFTER;
                    wait *= SELDOM_MOST.min(1 << in_row.min(8) >> 1);
                }
            }
        }
        let due = now.saturating_add(self.jittered(wait));
        self.names.insert(name, NameState { due, in_row, is_running: false, has_ended: true, is_answered });
        before != self.state()
    }

    /// The names that were not delivered yet and have not finally failed.
    pub fn unanswered(&self) -> impl Iterator<Item = Symbol> {
        self.names.iter().filter(|(_, state)| !state.is_answered).map(|(&name, _)| name)
    }

    /// True if some name was not swept yet, and the vendor works.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        self.last_failure.is_none() && self.names.values().any(|state| !state.has_ended)
    }

    /// All names, ascending.
    pub fn names(&self) -> impl Iterator<Item = Symbol> {
        self.names.keys().copied()
    }

    /// State of the vendor.
    #[must_use]
    pub fn state(&self) -> SourceState {
        match (self.in_row, self.last_failure) {
            (0, _) if self.last_success.is_some() => SourceState::Ok,
            (0, _) => SourceState::Waiting,
            (_, Some(Failure::Refused | Failure::SignIn)) => SourceState::Refused,
            (n, _) if n < OPEN_AFTER => SourceState::BackingOff,
            _ => SourceState::CircuitOpen,
        }
    }

    /// Last failure of the vendor; `None`: it works.
    #[must_use]
    pub fn trouble(&self) -> Option<Failure> {
        self.last_failure
    }

    /// Number of requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Number of failures so far by kind, without zeros.
    #[must_use]
    pub fn failures(&self) -> Vec<(&'static str, u64)> {
        let counted = Failure::ALL.iter().zip(self.failures).map(|(failure, n)| (failure.name(), n));
        counted.filter(|&(_, n)| n > 0).collect()
    }

    /// Time of the last successful sweep.
    #[must_use]
    pub fn last_success(&self) -> Option<Duration> {
        self.last_success
    }

    /// Checks the rate limit; the error is the time of the next permit.
    fn gate(&mut self, now: Duration) -> Result<(), Duration> {
        if now < self.quiet_until {
            return Err(self.quiet_until);
        }
        let per_second = self.terms.per_minute / 60.0;
        let since = now.saturating_sub(self.refilled).as_secs_f64();
        self.tokens = (self.tokens + since * per_second).min(self.terms.burst);
        self.refilled = now;
        // rounding may leave a token just below 1: the wait for the rest would be zero, again and again
        let missing = 1.0 - self.tokens;
        if missing <= 1e-6 {
            return Ok(());
        }
        // the wait of a very low rate may exceed any duration
        let wait = Duration::try_from_secs_f64(missing / per_second).unwrap_or(Duration::MAX);
        Err(now.saturating_add(wait))
    }

    fn spend(&mut self) {
        self.tokens -= 1.0;
        self.requests += 1;
    }

    /// Begins a pause after a failure of the vendor.
    fn fail(&mut self, now: Duration, failure: Failure, retry_after: Option<Duration>) {
        let (first, most) = match failure {
            Failure::Refused => (REFUSED_PAUSE, REFUSED_PAUSE_MOST),
            // the user signs in again, and should not wait for an hour
            Failure::SignIn => (REFUSED_PAUSE, PAUSE_MOST),
            Failure::Limited => (LIMITED_PAUSE, PAUSE_MOST),
            _ => (PAUSE, PAUSE_MOST),
        };
        let pause = first.saturating_mul(1 << self.in_row.min(20)).min(most);
        let pause = self.jittered(pause).max(retry_after.unwrap_or_default().min(RETRY_AFTER_MOST));
        self.in_row += 1;
        self.last_failure = Some(failure);
        self.quiet_until = self.quiet_until.max(now.saturating_add(pause));
    }

    fn jittered(&mut self, time: Duration) -> Duration {
        self.draw ^= self.draw << 13;
        self.draw ^= self.draw >> 7;
        self.draw ^= self.draw << 17;
        let unit = (self.draw >> 11) as f64 / (1u64 << 53) as f64;
        time.mul_f64(1.0 + JITTER * (2.0 * unit - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: VendorTerms = VendorTerms {
        every: Duration::from_secs(60),
        every_closed: Duration::from_secs(900),
        per_minute: 60.0,
        burst: 1.0,
        at_once: 2,
        delay: Duration::ZERO,
    };

    fn name(i: usize) -> Symbol {
        Symbol::parse(&format!("N{i}")).unwrap()
    }

    fn plan(names: usize) -> Plan {
        Plan::new(TERMS, (0..names).map(name), 7)
    }

    fn failed(failure: Failure) -> Outcome {
        Outcome::Failed(failure.into())
    }

    /// Runs a vendor that answers at once for so long; when each request went, and for which name.
    fn run(
        plan: &mut Plan,
        from: Duration,
        time: Duration,
        asked: impl Fn(Symbol) -> Option<Duration>,
        mut outcome: impl FnMut(Duration) -> Outcome,
    ) -> Vec<(Duration, Symbol)> {
        let (mut now, mut went) = (from, Vec::new());
        while now < from + time {
            match plan.next(now, true, &asked) {
                Next::Ask(name) => {
                    went.push((now, name));
                    plan.done(name, now, outcome(now));
                }
                Next::Wait(until) => {
                    assert!(until > now, "a wait that is over");
                    now = until;
                }
            }
        }
        went
    }

    #[test]
    fn every_name_has_its_turn_once_in_its_time_and_the_rate_is_kept() {
        let mut plan = plan(20);
        let went = run(&mut plan, Duration::ZERO, Duration::from_secs(600), |_| None, |_| Outcome::Delivered);
        assert!(went.windows(2).all(|two| two[1].0 - two[0].0 >= Duration::from_millis(999)), "{went:?}");
        for i in 0..20 {
            let times: Vec<Duration> = went.iter().filter(|(_, n)| *n == name(i)).map(|(at, _)| *at).collect();
            assert!((9..=12).contains(&times.len()), "{i}: {times:?}");
            assert!(times.windows(2).all(|two| two[1] - two[0] >= Duration::from_secs(54)), "{i}: {times:?}");
        }
        assert_eq!(plan.requests(), went.len() as u64);
        assert_eq!((plan.state(), plan.failures()), (SourceState::Ok, vec![]));
    }

    #[test]
    fn prices_of_all_names_are_due_between_sweeps_while_the_vendor_works() {
        let mut plan = plan(3).with_spots(Some(Duration::from_secs(2)));
        let seconds = Duration::from_secs;
        assert_eq!(plan.next_spots(seconds(0), true), Err(seconds(1)), "there is no chain");
        for at in 0..2 {
            let Next::Ask(name) = plan.next(seconds(at), true, |_| None) else { panic!("{at}") };
            plan.done(name, seconds(at), Outcome::Delivered);
        }
        let names = plan.next_spots(seconds(2), true).unwrap();
        assert_eq!(names.len(), 2, "those with a chain");
        assert_eq!(plan.next_spots(seconds(2), false), Err(seconds(3)), "a closed market");
        assert!(!plan.done_spots(seconds(2), Ok(true)));
        let due = plan.next_spots(seconds(3), true).unwrap_err();
        assert!((3.79..4.21).contains(&due.as_secs_f64()), "{due:?}");
        // nothing new: less and less often; a failure of the vendor: not while it fails
        (0..9).for_each(|_| _ = plan.done_spots(seconds(10), Err(Failure::NotFound.into())));
        let due = plan.next_spots(seconds(10), true).unwrap_err();
        assert!((64.0..76.1).contains(&due.as_secs_f64()), "{due:?}");
        assert!(plan.done_spots(seconds(80), Err(Failure::Server.into())), "the state is another");
        assert!(plan.next_spots(seconds(200), true).is_err());
        assert_eq!(plan.state(), SourceState::BackingOff);
    }

    #[test]
    fn names_that_somebody_asked_for_go_first_and_no_name_starves() {
        // more names than the rate allows in their time
        let mut plan = plan(300);
        let asked = |n: Symbol| (n < name(100)).then_some(Duration::from_secs(5));
        let loud = (0..300).filter(|&i| asked(name(i)).is_some()).count();
        let went = run(&mut plan, Duration::ZERO, Duration::from_secs(3600), asked, |_| Outcome::Delivered);
        let first: Vec<bool> = went.iter().take(40).map(|(_, n)| asked(*n).is_some()).collect();
        assert!(
            first.iter().filter(|&&is_requested| is_requested).count() >= loud.min(40) * 3 / 5,
            "{loud}: {first:?}"
        );
        assert!((0..300).all(|i| went.iter().any(|(_, n)| *n == name(i))), "a name was never asked for");
    }

    #[test]
    fn a_vendor_in_trouble_is_left_alone_longer_and_longer_and_asked_for_one_name_only() {
        let mut plan = plan(20);
        let went = run(&mut plan, Duration::ZERO, Duration::from_secs(3600), |_| None, |_| failed(Failure::Server));
        let gaps: Vec<f64> = went.windows(2).map(|two| (two[1].0 - two[0].0).as_secs_f64()).collect();
        for (i, gap) in gaps.iter().enumerate() {
            let wanted = 2f64.powi(i32::try_from(i).unwrap()).min(300.0);
            assert!((0.89..1.11).contains(&(gap / wanted)), "{i}: {gap}");
        }
        assert_eq!(plan.state(), SourceState::CircuitOpen);
        let probe = plan.quiet_until;
        let Next::Ask(asked) = plan.next(probe, true, |_| None) else { panic!("no probe") };
        assert!(matches!(plan.next(probe + TERMS.every, true, |_| None), Next::Wait(_)), "a second while one is out");
        assert!(plan.done(asked, probe, Outcome::Delivered), "the state is another");
        assert_eq!(plan.state(), SourceState::Ok);
        assert!(
            matches!(plan.next(probe + Duration::from_secs(1), true, |_| None), Next::Ask(_)),
            "at the full rate again"
        );
    }

    #[test]
    fn a_server_that_says_when_is_asked_then() {
        for (retry_after, least, most) in [(None, 4.4, 5.6), (Some(90), 90.0, 90.1), (Some(1_000_000), 3600.0, 3600.1)]
        {
            let mut plan = plan(3);
            let Next::Ask(name) = plan.next(Duration::ZERO, true, |_| None) else { panic!("nothing is due") };
            let retry_after = retry_after.map(Duration::from_secs);
            plan.done(name, Duration::ZERO, Outcome::Failed(Failed { failure: Failure::Limited, retry_after }));
            let Next::Wait(until) = plan.next(Duration::ZERO, true, |_| None) else { panic!("asked at once") };
            assert!((least..most).contains(&until.as_secs_f64()), "{retry_after:?}: {until:?}");
            assert_eq!(plan.permit(Duration::ZERO), Err(until), "nor the next page");
        }
    }

    #[test]
    fn a_key_that_is_refused_is_not_tried_often() {
        let mut plan = plan(20);
        let went = run(&mut plan, Duration::ZERO, Duration::from_secs(3600), |_| None, |_| failed(Failure::Refused));
        assert!(went.len() <= 9, "{went:?}");
        assert_eq!((plan.state(), plan.failures()), (SourceState::Refused, vec![("refused", went.len() as u64)]));
    }

    #[test]
    fn a_name_that_cannot_be_read_waits_longer_and_holds_up_no_other() {
        let mut plan = plan(2);
        let mut good = 0;
        let (mut now, mut bad) = (Duration::ZERO, Vec::new());
        while now < Duration::from_secs(36_000) {
            match plan.next(now, true, |_| None) {
                Next::Ask(asked) if asked == name(1) => {
                    bad.push(now);
                    plan.done(asked, now, failed(Failure::Malformed));
                }
                Next::Ask(asked) => {
                    good += 1;
                    plan.done(asked, now, Outcome::Delivered);
                }
                Next::Wait(until) => now = until,
            }
        }
        assert!(good > 550, "{good}");
        let last = bad.windows(2).next_back().map(|two| (two[1] - two[0]).as_secs_f64()).unwrap();
        assert!((860.0..1060.0).contains(&last) && bad.len() < 50, "{last}, {}", bad.len());
        assert_eq!(plan.state(), SourceState::Ok);
    }

    #[test]
    fn a_closed_market_is_asked_for_seldom_and_at_once_when_it_opens() {
        let mut plan = plan(1);
        let Next::Ask(name) = plan.next(Duration::ZERO, false, |_| None) else { panic!("nothing is due") };
        plan.done(name, Duration::ZERO, Outcome::Delivered);
        let Next::Wait(until) = plan.next(Duration::from_secs(100), false, |_| None) else { panic!("asked") };
        assert!(until > Duration::from_secs(800));
        let Next::Wait(until) = plan.next(Duration::from_secs(100), true, |_| None) else { panic!("asked") };
        assert_eq!(until, Duration::from_secs(160));
    }

    #[test]
    fn whoever_waits_as_long_as_it_is_told_to_may_go_then() {
        for per_minute in (1..=300).map(f64::from) {
            let mut plan = Plan::new(VendorTerms { per_minute, ..TERMS }, [name(0)], 7);
            let mut now = Duration::ZERO;
            for i in 0..50 {
                now += Duration::from_nanos(i * 123_456_789);
                if let Err(until) = plan.permit(now) {
                    assert_eq!(plan.permit(until), Ok(()), "{per_minute} a minute, told {until:?} at {now:?}");
                    now = until;
                }
            }
        }
    }

    #[test]
    fn pages_of_a_sweep_keep_the_rate_too() {
        let mut plan = plan(1);
        assert!(matches!(plan.next(Duration::ZERO, true, |_| None), Next::Ask(_)));
        assert_eq!(plan.permit(Duration::from_millis(500)).map_err(|until| until.as_millis()), Err(1000));
        assert_eq!(plan.permit(Duration::from_secs(1)), Ok(()));
        assert_eq!(plan.requests(), 2);
    }

    #[test]
    fn a_name_is_waited_for_until_it_came_or_has_failed_for_good() {
        let (mut plan, at) = (plan(4), Duration::from_secs);
        let waits = |plan: &Plan| plan.unanswered().collect::<Vec<_>>();
        assert!(plan.is_starting() && waits(&plan).len() == 4);
        plan.done(name(0), at(1), Outcome::Delivered);
        plan.done(name(1), at(2), failed(Failure::NotFound));
        plan.done(name(2), at(3), failed(Failure::Partial));
        assert_eq!(waits(&plan), [name(2), name(3)]);
        assert!(plan.is_starting(), "one was not asked for");
        plan.done(name(3), at(4), failed(Failure::Timeout));
        assert_eq!(waits(&plan), [name(2), name(3)], "trouble of the vendor says nothing of a name");
        assert!(!plan.is_starting());
        (1..GIVEN_UP_AFTER).for_each(|_| _ = plan.done(name(2), at(5), failed(Failure::Partial)));
        plan.done(name(0), at(6), failed(Failure::Partial));
        assert_eq!(waits(&plan), [name(3)]);
        plan.done(name(3), at(7), Outcome::Delivered);
        assert!(waits(&plan).is_empty());
    }
}
