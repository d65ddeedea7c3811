//! Vendors polled over HTTP: sweeps of a watch list of names, within the rate limits of the vendor. [`plan`] decides
//! which name is next and when; the file of a [`vendor`] has the requests of a name and reads the responses; [`client`]
//! sends requests; [`sweep`] assembles a chain from the responses. This module has the threads. Whatever a vendor
//! answers, the last whole chain of a name stays in use.

pub mod alpaca;
pub mod cboe;
pub mod client;
pub mod dividends;
pub mod failure;
pub mod massive;
pub mod nasdaq;
pub mod plan;
pub mod registry;
pub mod schwab;
pub mod sign_in;
pub mod sweep;
pub mod theta;
pub mod tradier;
pub mod treasury;
pub mod vendor;
pub mod wholeness;

use super::facts::{SourceFacts, SourceState};
use super::inbox::{Inbox, WAITING_MOST};
use super::requested::RequestedNames;
use super::{Delivery, Moment, Outstanding, QuoteSource};
use dividends::OnceADay;
use failure::{Failed, Failure};
use feeds::Grade;
use host::clock::MarketClock;
use host::{faults, threads};
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use plan::{Next, Outcome, Plan, VendorTerms};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use sweep::{Permits, SweepResult, Sweeps};
use vendor::DataKind;

/// Maximum sleep before a thread checks whether the source ends.
const SLEEP_MOST: Duration = Duration::from_millis(500);
/// Delay of quotes that the vendor marks as delayed.
const DELAYED: Duration = Duration::from_secs(900);

/// Settings of a polled vendor.
pub struct PollTerms {
    /// Rate limits of the vendor.
    pub terms: VendorTerms,
    /// The watch list.
    pub names: Vec<Symbol>,
    /// Recently requested names.
    pub requested: Arc<RequestedNames>,
    /// Clock of the market.
    pub clock: MarketClock,
    /// Interval of requests for the prices of all names together; `None`: there are none.
    pub spots_every: Option<Duration>,
    /// True if dividends are requested besides chains, where the vendor has both.
    pub asks_dividends: bool,
}

/// A vendor polled over HTTP.
pub struct PollSource {
    shared: Arc<PollShared>,
    /// Data that were not delivered before the last take.
    outstanding: Outstanding,
}

/// State shared by the polling threads and the market loop.
struct PollShared {
    sweeps: Sweeps,
    delay: Duration,
    every: Duration,
    plan: Mutex<Plan>,
    /// Schedule of requests for dividends besides chains; `None`: there are none.
    daily: Option<Mutex<OnceADay>>,
    /// Signals the end of a sweep or of the source to waiting threads.
    changed: Condvar,
    inbox: Inbox,
    requested: Arc<RequestedNames>,
    clock: MarketClock,
    calendar: Calendar,
    began: Instant,
    /// True if the vendor marks quotes as delayed.
    says_delayed: AtomicBool,
}

impl fmt::Debug for PollSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollSource").field("name", &self.shared.sweeps.name()).finish_non_exhaustive()
    }
}

impl PollSource {
    /// Starts the polling threads.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(sweeps: Sweeps, terms: PollTerms) -> std::io::Result<Self> {
        let PollTerms { terms, names, requested, clock, spots_every, asks_dividends } = terms;
        // the seed differs between daemons: none start in the same nanosecond
        let seed = u64::try_from(clock.latest().as_nanosecond() & i128::from(u32::MAX)).unwrap_or(1)
            ^ u64::from(std::process::id());
        let shared = Arc::new(PollShared {
            sweeps,
            delay: terms.delay,
            every: terms.every,
            plan: Mutex::new(Plan::new(terms, names, seed).with_spots(spots_every)),
            daily: asks_dividends.then(Mutex::default),
            changed: Condvar::new(),
            inbox: Inbox::new(WAITING_MOST, clock),
            requested,
            clock,
            calendar: Calendar::embedded(),
            began: Instant::now(),
            says_delayed: AtomicBool::new(false),
        });
        for _ in 0..terms.at_once.max(1) {
            let asking = Arc::clone(&shared);
            threads::spawn_lasting("poll", move || asking.work())?;
        }
        if spots_every.is_some() {
            let asking = Arc::clone(&shared);
            threads::spawn_lasting("spots", move || asking.work_spots())?;
        }
        let outstanding = shared.outstanding();
        Ok(Self { shared, outstanding })
    }
}

impl QuoteSource for PollSource {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        if self.outstanding != Outstanding::default() {
            // read before the inbox is emptied: data that the plan counts as delivered are then in the inbox, or were
            // taken before
            self.outstanding = self.shared.outstanding();
        }
        self.shared.inbox.take()
    }

    fn expected(&self) -> Option<BTreeSet<Symbol>> {
        Some(if self.is_live() { self.shared.plan().names().collect() } else { BTreeSet::new() })
    }

    fn outstanding(&self) -> Outstanding {
        self.outstanding.clone()
    }

    fn is_vendors(&self) -> bool {
        true
    }

    /// Rates and dividends do not follow the clock.
    fn is_live(&self) -> bool {
        self.shared.sweeps.vendor().data_kind() == DataKind::Chains
    }

    fn facts(&self) -> SourceFacts {
        let shared = &self.shared;
        let delay = if shared.says_delayed.load(Ordering::Relaxed) { shared.delay.max(DELAYED) } else { shared.delay };
        let (superseded, waiting_bytes) = (shared.inbox.superseded(), shared.inbox.bytes());
        let plan = shared.plan();
        SourceFacts {
            feed: shared.sweeps.name().to_owned(),
            state: plan.state(),
            delay,
            every: shared.every,
            last_success: plan.last_success().map(|at| shared.began.elapsed().saturating_sub(at)),
            requests: plan.requests(),
            failures: plan.failures(),
            superseded,
            waiting_bytes,
            ..SourceFacts::default()
        }
    }
}

impl Drop for PollSource {
    fn drop(&mut self) {
        self.shared.inbox.end();
        self.shared.changed.notify_all();
    }
}

impl PollShared {
    /// Sweeps names until the source ends.
    fn work(&self) {
        while !self.inbox.is_ending() {
            faults::here("poll");
            let is_open = self.is_open();
            let mut plan = self.plan();
            match plan.next(self.began.elapsed(), is_open, |name| self.requested.since(name)) {
                Next::Wait(until) => self.sleep(plan, until),
                Next::Ask(name) => {
                    drop(plan);
                    // a panic over a response counts as a malformed response
                    let outcome = threads::guarded("poll", || self.take_in(name));
                    let outcome = outcome.unwrap_or_else(|| Outcome::Failed(Failure::Malformed.into()));
                    self.done(name, outcome);
                    if outcome == Outcome::Delivered {
                        self.take_in_dividends(name);
                    }
                }
            }
        }
    }

    /// Requests the prices of all names between sweeps until the source ends.
    fn work_spots(&self) {
        while !self.inbox.is_ending() {
            faults::here("poll");
            let is_open = self.is_open();
            let plan = self.plan();
            let names = match plan.next_spots(self.began.elapsed(), is_open) {
                Ok(names) => names,
                Err(until) => {
                    self.sleep(plan, until);
                    continue;
                }
            };
            drop(plan);
            let result = threads::guarded("poll", || self.sweeps.spots(&names, self));
            let outcome = match result.unwrap_or_else(|| Err(Failure::Malformed.into())) {
                Ok(Some(SweepResult { batch, report, .. })) => {
                    self.inbox.put(batch, report);
                    Ok(true)
                }
                Ok(None) => Ok(false),
                Err(failed) => Err(failed),
            };
            let mut plan = self.plan();
            let state_changed = plan.done_spots(self.began.elapsed(), outcome);
            let (state, trouble) = (plan.state(), plan.trouble());
            drop(plan);
            if state_changed {
                self.say_state(state, trouble);
            }
        }
    }

    /// True if the quotes that the vendor shows now change, given its delay.
    fn is_open(&self) -> bool {
        let now = self.clock.now();
        let shown = now.checked_sub(jiff::SignedDuration::try_from(self.delay).unwrap_or_default()).unwrap_or(now);
        self.calendar.is_open(now) || self.calendar.is_open(shown)
    }

    fn sleep(&self, plan: MutexGuard<'_, Plan>, until: Duration) {
        let time = until.saturating_sub(self.began.elapsed()).min(SLEEP_MOST);
        drop(self.changed.wait_timeout(plan, time).unwrap_or_else(PoisonError::into_inner));
    }

    fn done(&self, name: Symbol, outcome: Outcome) {
        let mut plan = self.plan();
        let state_changed = plan.done(name, self.began.elapsed(), outcome);
        let (state, trouble) = (plan.state(), plan.trouble());
        drop(plan);
        self.changed.notify_all();
        let source = self.sweeps.name();
        match (outcome, state_changed) {
            (Outcome::Failed(Failed { failure, .. }), _) if !failure.is_of_vendor() => {
                tracing::warn!(
                    "{source}: {name}: {}: {}; the last data stay in use",
                    failure.name(),
                    failure.sentence()
                );
            }
            (_, true) => self.say_state(state, trouble),
            _ => {}
        }
    }

    /// Logs a change of the vendor's state.
    fn say_state(&self, state: SourceState, trouble: Option<Failure>) {
        let source = self.sweeps.name();
        if state == SourceState::Ok {
            tracing::info!("{source}: delivers");
            return;
        }
        let (why, says) = trouble.map_or(("", ""), |failure| (failure.name(), failure.sentence()));
        let keys = self.sweeps.vendor().keys();
        let keys = if state == SourceState::Refused && !keys.is_empty() {
            format!(" (see {})", keys.join(", "))
        } else {
            String::new()
        };
        tracing::warn!("{source}: {}: {why}: {says}{keys}; the last data stay in use", state.name());
    }

    /// Sweeps a name, and puts the result into the inbox.
    fn take_in(&self, name: Symbol) -> Outcome {
        faults::here("poll.answer");
        match self.sweeps.sweep(name, self) {
            Ok(result) => {
                if let Some(SweepResult { batch, report, grade }) = result {
                    self.says_delayed.store(grade != Grade::Live, Ordering::Relaxed);
                    self.inbox.put(batch, report);
                }
                Outcome::Delivered
            }
            Err(failed) => Outcome::Failed(failed),
        }
    }

    /// Requests the dividends of a name whose chain has come, once a day. A failure does not concern its chain.
    fn take_in_dividends(&self, name: Symbol) {
        let Some(daily) = &self.daily else { return };
        let daily = || daily.lock().unwrap_or_else(PoisonError::into_inner);
        if !daily().claim(name, self.began.elapsed()) {
            return;
        }
        let result = threads::guarded("poll", || {
            faults::here("poll.dividends");
            self.sweeps.dividends(name, self)
        });
        let result = result.unwrap_or_else(|| Err(Failure::Malformed.into()));
        daily().done(name, self.began.elapsed(), result.as_ref().err().map(|failed| failed.failure));
        if let Ok(Some(SweepResult { batch, report, .. })) = result {
            self.inbox.put(batch, report);
        }
    }

    /// Chains not delivered yet.
    fn outstanding(&self) -> Outstanding {
        if self.sweeps.vendor().data_kind() != DataKind::Chains {
            return Outstanding::default();
        }
        let plan = self.plan();
        Outstanding { names: plan.unanswered().collect(), is_starting: plan.is_starting() }
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permits for PollShared {
    fn wait(&self) -> bool {
        while !self.inbox.is_ending() {
            let mut plan = self.plan();
            match plan.permit(self.began.elapsed()) {
                Ok(()) => return true,
                Err(until) => self.sleep(plan, until),
            }
        }
        false
    }

    fn note(&self, failure: Failure) {
        self.plan().note(failure);
    }
}
