//! Vendors that are asked over HTTP: a watch list of names, swept again and again within the vendor's limits. [`plan`]
//! says what is asked next and when, a [`vendor`]'s file which requests a name takes and how answers are read,
//! [`client`] gets them, [`sweep`] makes a whole of them; here are the threads that do it. Whatever a vendor answers,
//! the last chain of a name that was whole stays.

pub mod alpaca;
pub mod cboe;
pub mod client;
pub mod dividends;
pub mod failure;
pub mod massive;
pub mod nasdaq;
pub mod plan;
pub mod registry;
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
use vendor::Brings;

/// How long a thread sleeps at most before it looks whether the source is to end.
const SLEEP_MOST: Duration = Duration::from_millis(500);
/// By how much quotes are late of which the vendor says that they are.
const DELAYED: Duration = Duration::from_secs(900);

/// What a vendor is polled with.
pub struct PollTerms {
    /// How often it may be asked.
    pub terms: VendorTerms,
    /// The watch list.
    pub names: Vec<Symbol>,
    /// Names that somebody asked for.
    pub asked: Arc<RequestedNames>,
    /// The time of the market.
    pub clock: MarketClock,
    /// Dividends are asked for beside chains, where the vendor has both.
    pub asks_dividends: bool,
}

/// A vendor that is asked over HTTP.
pub struct PollSource {
    shared: Arc<PollShared>,
    /// What had not been brought before what was last taken.
    outstanding: Outstanding,
}

/// What the asking threads share with the market loop.
struct PollShared {
    sweeps: Sweeps,
    delay: Duration,
    every: Duration,
    plan: Mutex<Plan>,
    /// When dividends are asked for beside chains, where they are.
    daily: Option<Mutex<OnceADay>>,
    /// Something has ended: whoever waits looks again.
    changed: Condvar,
    inbox: Inbox,
    asked: Arc<RequestedNames>,
    clock: MarketClock,
    calendar: Calendar,
    began: Instant,
    /// The vendor marks quotes as late.
    says_delayed: AtomicBool,
}

impl fmt::Debug for PollSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollSource").field("name", &self.shared.sweeps.name()).finish_non_exhaustive()
    }
}

impl PollSource {
    /// Starts to ask a vendor.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(sweeps: Sweeps, terms: PollTerms) -> std::io::Result<Self> {
        let PollTerms { terms, names, asked, clock, asks_dividends } = terms;
        // no two daemons start at one nanosecond
        let seed = u64::try_from(clock.latest().as_nanosecond() & i128::from(u32::MAX)).unwrap_or(1)
            ^ u64::from(std::process::id());
        let shared = Arc::new(PollShared {
            sweeps,
            delay: terms.delay,
            every: terms.every,
            plan: Mutex::new(Plan::new(terms, names, seed)),
            daily: asks_dividends.then(Mutex::default),
            changed: Condvar::new(),
            inbox: Inbox::new(WAITING_MOST, clock),
            asked,
            clock,
            calendar: Calendar::embedded(),
            began: Instant::now(),
            says_delayed: AtomicBool::new(false),
        });
        for _ in 0..terms.at_once.max(1) {
            let asking = Arc::clone(&shared);
            threads::spawn_lasting("poll", move || asking.work())?;
        }
        let outstanding = shared.outstanding();
        Ok(Self { shared, outstanding })
    }
}

impl QuoteSource for PollSource {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        if self.outstanding != Outstanding::default() {
            // before the inbox is emptied: what the plan counts as delivered is in it, or was
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

    /// Rates and dividends do not go with the clock.
    fn is_live(&self) -> bool {
        self.shared.sweeps.vendor().brings() == Brings::Chains
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
    /// Asks until the source is to end.
    fn work(&self) {
        while !self.inbox.is_ending() {
            faults::here("poll");
            let is_open = self.is_open();
            let mut plan = self.plan();
            match plan.next(self.began.elapsed(), is_open, |name| self.asked.since(name)) {
                Next::Wait(until) => self.sleep(plan, until),
                Next::Ask(name) => {
                    drop(plan);
                    // a fault over one answer is a fault of that answer
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

    /// True if quotes change that the vendor shows now.
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
                tracing::warn!("{source}: {name}: {}: {}; the last data stay in use", failure.name(), failure.says());
            }
            (_, true) if state == SourceState::Ok => tracing::info!("{source}: delivers"),
            (_, true) => {
                let (why, says) = trouble.map_or(("", ""), |failure| (failure.name(), failure.says()));
                let keys = self.sweeps.vendor().keys();
                let keys = if state == SourceState::Refused && !keys.is_empty() {
                    format!(" (see {})", keys.join(", "))
                } else {
                    String::new()
                };
                tracing::warn!("{source}: {}: {why}: {says}{keys}; the last data stay in use", state.name());
            }
            _ => {}
        }
    }

    /// A sweep of a name, into the inbox.
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

    /// The dividends of a name whose chain has come, once a day. What becomes of them is nothing to its chain.
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

    /// What has not been brought yet of chains.
    fn outstanding(&self) -> Outstanding {
        if self.sweeps.vendor().brings() != Brings::Chains {
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
