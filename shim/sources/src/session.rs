//! A session that streams the quotes of some names, on a thread of its own. Every end of it counts as a failure, even
//! an orderly one: after a pause the session is opened again. Never: a vendor, a socket, a format.

use super::facts::{SourceFacts, SourceState};
use super::inbox::{Inbox, WAITING_MOST};
use super::poll::failure::{Failed, Failure};
use super::poll::plan::{Next, Outcome, Plan, VendorTerms};
use super::{Delivery, Moment, QuoteSource};
use host::clock::MarketClock;
use host::{faults, threads};
use kernel::contract::Symbol;
use kernel::records::Batch;
use kernel::report::Report;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which received records are handed over.
pub const HAND_OVER: Duration = Duration::from_millis(250);
/// Maximum sleep before the thread checks whether the source ends.
const SLEEP_MOST: Duration = Duration::from_millis(500);

/// A source whose session is opened again when it ends. Its thread ends with it.
#[derive(Debug)]
pub struct SessionSource {
    names: BTreeSet<Symbol>,
    session: Arc<Session>,
}

/// State shared by the thread of a session and the market loop.
#[derive(Debug)]
pub struct Session {
    /// The feed, as the user specified it.
    name: String,
    inbox: Inbox,
    plan: Mutex<Plan>,
    is_connected: AtomicBool,
    began: Instant,
    /// The name of the plan that means all names.
    all: Symbol,
}

impl SessionSource {
    /// Starts the thread `thread` of a source, which runs `run` until that returns `Ok`; `name`: the feed, as the user
    /// specified it; `terms`: how often a session may be opened.
    ///
    /// # Errors
    /// The system has no thread for it, or no name is given.
    pub fn start(
        thread: &'static str,
        name: String,
        names: &[Symbol],
        terms: VendorTerms,
        clock: MarketClock,
        mut run: impl FnMut(&Session) -> Result<(), Failed> + Send + 'static,
    ) -> std::io::Result<Self> {
        let all = *names.first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let session = Arc::new(Session {
            name,
            inbox: Inbox::new(WAITING_MOST, clock),
            plan: Mutex::new(Plan::new(terms, [all], u64::from(std::process::id()) << 8 | 1)),
            is_connected: AtomicBool::new(false),
            began: Instant::now(),
            all,
        });
        let working = Arc::clone(&session);
        threads::spawn_lasting(thread, move || {
            while working.wait() {
                faults::here(thread);
                // a panic of a library ends only the session
                let ended = threads::guarded(thread, || run(&working));
                working.is_connected.store(false, Ordering::Relaxed);
                match ended.unwrap_or(Err(Failure::Malformed.into())) {
                    Ok(()) => return,
                    Err(failed) => working.done(Outcome::Failed(failed)),
                }
            }
        })?;
        Ok(Self { names: names.iter().copied().collect(), session })
    }
}

impl QuoteSource for SessionSource {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        self.session.inbox.take()
    }

    fn is_vendors(&self) -> bool {
        true
    }

    fn expected(&self) -> Option<BTreeSet<Symbol>> {
        Some(self.names.clone())
    }

    fn facts(&self) -> SourceFacts {
        let Session { name, inbox, is_connected, began, .. } = &*self.session;
        let (superseded, waiting_bytes) = (inbox.superseded(), inbox.bytes());
        let plan = self.session.plan();
        SourceFacts {
            feed: name.clone(),
            state: plan.state(),
            last_success: plan.last_success().map(|at| began.elapsed().saturating_sub(at)),
            requests: plan.requests(),
            failures: plan.failures(),
            connections: usize::from(is_connected.load(Ordering::Relaxed)),
            superseded,
            waiting_bytes,
            ..SourceFacts::default()
        }
    }
}

impl Drop for SessionSource {
    fn drop(&mut self) {
        self.session.inbox.end();
    }
}

impl Session {
    /// The feed, as the user specified it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the source ends: the session is to return `Ok`.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.inbox.is_ending()
    }

    /// Counts the connection from now until the session ends.
    pub fn connected(&self) {
        self.is_connected.store(true, Ordering::Relaxed);
    }

    /// Hands records over, if there are any.
    pub fn put(&self, batch: Batch, report: Report) {
        if report.records > 0 {
            self.inbox.put(batch, report);
            self.done(Outcome::Delivered);
        }
    }

    /// Waits until a further request may be sent; false if the source ends.
    #[must_use]
    pub fn permit(&self) -> bool {
        while !self.is_ending() {
            let permitted = self.plan().permit(self.began.elapsed());
            match permitted {
                Ok(()) => return true,
                Err(until) => self.sleep(until),
            }
        }
        false
    }

    /// Waits until a session may be opened; false if the source ends.
    fn wait(&self) -> bool {
        while !self.is_ending() {
            let next = self.plan().next(self.began.elapsed(), true, |_| None);
            match next {
                Next::Ask(_) => return true,
                Next::Wait(until) => self.sleep(until),
            }
        }
        false
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep(&self, until: Duration) {
        std::thread::sleep(until.saturating_sub(self.began.elapsed()).min(SLEEP_MOST));
    }

    fn done(&self, outcome: Outcome) {
        let name = &self.name;
        let mut plan = self.plan();
        let state_changed = plan.done(self.all, self.began.elapsed(), outcome);
        let (state, trouble) = (plan.state(), plan.trouble());
        drop(plan);
        match (outcome, trouble) {
            (Outcome::Delivered, _) if state_changed => tracing::info!("{name}: delivers"),
            (Outcome::Failed(_), _) if self.is_ending() => {}
            (Outcome::Failed(Failed { failure, .. }), None) => {
                tracing::warn!("{name}: {}: {}; the last data stay in use", failure.name(), failure.sentence());
            }
            (_, Some(why)) if state_changed && state != SourceState::Ok => tracing::warn!(
                "{name}: {}: {}: {}; the last data stay in use",
                state.name(),
                why.name(),
                why.sentence()
            ),
            _ => {}
        }
    }
}
