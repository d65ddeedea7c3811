//! Vendors that are asked over HTTP: a watch list of names, swept again and again within the vendor's limits. [`plan`] says
//! what is asked next and when, a [`vendor`]'s file which requests a name takes and how answers are read, [`client`] gets
//! them; here are the threads that do it. Whatever a vendor answers, the last chain of a name that was whole stays.

pub mod alpaca;
pub mod cboe;
pub mod client;
pub mod failure;
pub mod massive;
pub mod plan;
pub mod theta;
pub mod tradier;
pub mod treasury;
pub mod vendor;
pub mod wholeness;

use super::asked::Asked;
use super::facts::{SourceFacts, SourceState};
use super::inbox::Inbox;
use super::{Delivery, Moment, QuoteSource};
use client::{Client, Received, Validators};
use engine::calendar::Calendar;
use engine::contract::Symbol;
use engine::feeds::{Grade, SpotRecord};
use failure::{Failed, Failure};
use jiff::Timestamp;
use plan::{Next, Outcome, Plan, VendorTerms};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use vendor::{Asks, Document, Question, Sweep, Vendor};

/// Contracts that wait for the market loop at most.
const WAITING_MOST: usize = 4_000_000;
/// How long a thread sleeps at most before it looks whether the source is to end.
const SLEEP_MOST: Duration = Duration::from_millis(500);
/// By how much quotes are late of which the vendor says that they are.
const DELAYED: Duration = Duration::from_secs(900);

/// What a vendor is polled with.
pub struct PollTerms {
    /// The source as its user named it.
    pub name: String,
    /// Its other server, for what that has.
    pub second: Option<Client>,
    /// How often it may be asked.
    pub terms: VendorTerms,
    /// The watch list.
    pub names: Vec<Symbol>,
    /// Names that somebody asked for.
    pub asked: Arc<Asked>,
    /// The time of the market.
    pub clock: MarketTime,
}

/// A clock of the market.
pub type MarketTime = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A vendor that is asked over HTTP.
pub struct PollSource {
    shared: Arc<Shared>,
}

/// What the asking threads share with the market loop.
struct Shared {
    name: String,
    delay: Duration,
    every: Duration,
    vendor: Box<dyn Vendor>,
    client: Client,
    second: Option<Client>,
    plan: Mutex<Plan>,
    /// Something has ended: whoever waits looks again.
    changed: Condvar,
    inbox: Inbox,
    memory: Mutex<Memory>,
    asked: Arc<Asked>,
    clock: MarketTime,
    calendar: Calendar,
    began: Instant,
    /// The vendor marks quotes as late.
    says_delayed: AtomicBool,
}

/// What is known of answers before.
#[derive(Debug, Default)]
struct Memory {
    wholeness: wholeness::Wholeness,
    validators: BTreeMap<String, Validators>,
    /// The last price of each name: a sweep may come without one.
    spots: BTreeMap<Symbol, SpotRecord>,
}

impl fmt::Debug for PollSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollSource").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

impl PollSource {
    /// Starts to ask a vendor by a client.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(vendor: Box<dyn Vendor>, client: Client, terms: PollTerms) -> std::io::Result<Self> {
        let PollTerms { name, second, terms, names, asked, clock } = terms;
        // no two daemons start at one nanosecond
        let seed =
            u64::try_from(clock().as_nanosecond() & i128::from(u32::MAX)).unwrap_or(1) ^ u64::from(std::process::id());
        let shared = Arc::new(Shared {
            name,
            delay: terms.delay,
            every: terms.every,
            vendor,
            client,
            second,
            plan: Mutex::new(Plan::new(terms, names, seed)),
            changed: Condvar::new(),
            inbox: Inbox::new(WAITING_MOST),
            memory: Mutex::default(),
            asked,
            clock,
            calendar: Calendar::embedded(),
            began: Instant::now(),
            says_delayed: AtomicBool::new(false),
        });
        for _ in 0..terms.at_once.max(1) {
            let asking = Arc::clone(&shared);
            std::thread::Builder::new().name("poll".to_owned()).spawn(move || asking.work())?;
        }
        Ok(Self { shared })
    }
}

impl QuoteSource for PollSource {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        self.shared.inbox.take()
    }

    /// Rates do not go with the clock.
    fn is_live(&self) -> bool {
        self.shared.vendor.has_names()
    }

    fn facts(&self) -> SourceFacts {
        let shared = &self.shared;
        let delay = if shared.says_delayed.load(Ordering::Relaxed) { shared.delay.max(DELAYED) } else { shared.delay };
        let superseded = shared.inbox.superseded();
        let plan = shared.plan();
        SourceFacts {
            feed: shared.name.clone(),
            state: plan.state(),
            delay,
            every: shared.every,
            last_success: plan.last_success().map(|at| shared.began.elapsed().saturating_sub(at)),
            requests: plan.requests(),
            failures: plan.failures(),
            superseded,
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

impl Shared {
    /// Asks until the source is to end.
    fn work(&self) {
        while !self.inbox.is_ending() {
            let is_open = self.is_open();
            let mut plan = self.plan();
            match plan.next(self.began.elapsed(), is_open, |name| self.asked.since(name)) {
                Next::Wait(until) => self.sleep(plan, until),
                Next::Ask(name) => {
                    drop(plan);
                    let outcome = self.sweep(name);
                    self.done(name, outcome);
                }
            }
        }
    }

    /// Whether quotes change that the vendor shows now.
    fn is_open(&self) -> bool {
        let now = (self.clock)();
        let shown = now.checked_sub(jiff::SignedDuration::try_from(self.delay).unwrap_or_default()).unwrap_or(now);
        self.calendar.is_open(now) || self.calendar.is_open(shown)
    }

    fn sleep(&self, plan: MutexGuard<'_, Plan>, until: Duration) {
        let time = until.saturating_sub(self.began.elapsed()).min(SLEEP_MOST);
        drop(self.changed.wait_timeout(plan, time).unwrap_or_else(PoisonError::into_inner));
    }

    fn done(&self, name: Symbol, outcome: Outcome) {
        let mut plan = self.plan();
        let is_other = plan.done(name, self.began.elapsed(), outcome);
        let (state, trouble) = (plan.state(), plan.trouble());
        drop(plan);
        self.changed.notify_all();
        match (outcome, is_other) {
            (Outcome::Failed(Failed { failure, .. }), _) if !failure.is_of_vendor() => {
                tracing::warn!("{}: {name}: {}; what was known stays", self.name, failure.name());
            }
            (_, true) if state == SourceState::Ok => tracing::info!("{}: delivers", self.name),
            (_, true) => {
                let why = trouble.map_or("", Failure::name);
                tracing::warn!("{}: {}: {why}; what was known stays", self.name, state.name());
            }
            _ => {}
        }
    }

    /// All requests that a name takes.
    fn sweep(&self, name: Symbol) -> Outcome {
        let mut sweep = Sweep::new(self.vendor.begin(name, self.calendar.eastern((self.clock)()).date()));
        let (mut is_first, mut unchanged) = (true, false);
        while let Some(request) = sweep.wanted.pop_front() {
            if !is_first && !self.wait_for_permit() {
                return Outcome::Delivered;
            }
            is_first = false;
            match self.ask(name, &request, &mut sweep) {
                Ok(is_new) => unchanged |= !is_new,
                Err(failed) => {
                    if let Some(instead) = self.vendor.instead(name, &request, failed.failure) {
                        sweep.wanted.push_front(instead);
                    } else if self.vendor.may_miss(&request, failed.failure) {
                        self.plan().note(failed.failure);
                    } else {
                        tracing::debug!("{}: {}: {}", self.name, request.path(), failed.failure.name());
                        return Outcome::Failed(failed);
                    }
                }
            }
        }
        if unchanged { Outcome::Delivered } else { self.deliver(name, sweep) }
    }

    /// One request; whether its answer is a new one.
    fn ask(&self, name: Symbol, request: &Question, sweep: &mut Sweep) -> Result<bool, Failed> {
        // an answer of several parts is whole only where each of them is sent
        let is_alone = sweep.wanted.is_empty() && sweep.batch.quotes.is_empty();
        let known = self.memory().validators.get(&request.target).filter(|_| is_alone).cloned();
        let asked_at = (self.clock)();
        let (status, bytes, validators, retry_after) =
            match self.server(request).get(&request.target, known.as_ref())? {
                Received::Unchanged => return Ok(false),
                Received::Body { status, bytes, validators, retry_after } => (status, bytes, validators, retry_after),
            };
        if let Some(failure) = self.vendor.failure_of(status) {
            return Err(Failed { failure, retry_after });
        }
        let source = PathBuf::from(format!("{}{}", self.name.split(':').next().unwrap_or_default(), request.path()));
        let data = Document { name, request, source: &source, bytes: &bytes, asked_at, calendar: &self.calendar };
        self.vendor.read(&data, sweep)?;
        if is_alone && sweep.wanted.is_empty() && validators != Validators::default() {
            self.memory().validators.insert(request.target.clone(), validators);
        }
        Ok(true)
    }

    fn server(&self, request: &Question) -> &Client {
        self.second.as_ref().filter(|_| request.what == Asks::Overnight).unwrap_or(&self.client)
    }

    /// Hands over what a sweep brought, if it is whole.
    fn deliver(&self, name: Symbol, sweep: Sweep) -> Outcome {
        let Sweep { mut batch, report, grade, .. } = sweep;
        if !self.vendor.has_names() {
            if batch.rates.as_ref().is_none_or(Vec::is_empty) {
                return Outcome::Failed(Failure::Empty.into());
            }
            self.inbox.put(batch, report);
            return Outcome::Delivered;
        }
        let mut memory = self.memory();
        if let Err(failure) = memory.wholeness.judge(name, &batch) {
            // the same answer again would have to be judged again
            memory.validators.clear();
            return Outcome::Failed(failure.into());
        }
        match batch.spots.iter().find(|spot| spot.underlying == name) {
            Some(&spot) => _ = memory.spots.insert(name, spot),
            None => batch.spots.extend(memory.spots.get(&name)),
        }
        drop(memory);
        self.says_delayed.store(grade != Grade::Live, Ordering::Relaxed);
        batch.reset = vec![name];
        self.inbox.put(batch, report);
        Outcome::Delivered
    }

    /// Waits until a further request may go; `false`: the source is to end.
    fn wait_for_permit(&self) -> bool {
        while !self.inbox.is_ending() {
            let mut plan = self.plan();
            match plan.permit(self.began.elapsed()) {
                Ok(()) => return true,
                Err(until) => self.sleep(plan, until),
            }
        }
        false
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
