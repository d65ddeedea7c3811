//! tastytrade: the contracts of names by HTTP, their quotes over `dxLink`, on a thread of its own. Every end of a
//! session counts as a failure, even an orderly one: after a pause the session is opened again, with the contracts of
//! that time. Never: a format, a socket.

use super::facts::{SourceFacts, SourceState};
use super::inbox::{Inbox, WAITING_MOST};
use super::poll::client::{AnswerBounds, Client, Received, ServerBase};
use super::poll::failure::{Failed, Failure};
use super::poll::plan::{Next, Outcome, Plan, VendorTerms};
use super::poll::sign_in::SignIn;
use super::socket::Socket;
use super::{Delivery, Moment, QuoteSource};
use feeds::dxlink::{self, DxEvent, DxEvents};
use feeds::tasty::{StreamedContract, StreamerToken, parse_tasty_chain, parse_tasty_token};
use host::clock::MarketClock;
use host::secret::Secret;
use host::{faults, threads};
use kernel::contract::Symbol;
use kernel::report::Report;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which received records are handed over.
const HAND_OVER: Duration = Duration::from_millis(250);
/// Maximum sleep before the thread checks whether the source ends.
const SLEEP_MOST: Duration = Duration::from_millis(500);
/// Interval at which new contracts are looked for.
const LIST_AGAIN: Duration = Duration::from_secs(3600);
/// Rate limits of requests; the vendor names none, and asks for streams in place of requests.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(5),
    every_closed: Duration::from_secs(5),
    per_minute: 60.0,
    burst: 20.0,
    at_once: 1,
    delay: Duration::ZERO,
};
/// The vendor refuses requests without a user agent of this form.
const USER_AGENT: &str = concat!("greeksd/", env!("CARGO_PKG_VERSION"));

/// Settings of a session.
#[derive(Debug)]
pub struct TastyTerms {
    /// Names whose contracts are streamed.
    pub names: Vec<Symbol>,
    /// Address of the server of contracts and tokens.
    pub base: ServerBase,
    /// The sign-in of the user.
    pub sign_in: SignIn,
    /// CA certificates to use instead of those of the system.
    pub authorities: Option<PathBuf>,
    /// Limits of responses.
    pub bounds: AnswerBounds,
    /// Time without a message of the streamer after which it counts as dead.
    pub silence: Duration,
    /// Clock of the market.
    pub clock: MarketClock,
}

/// A streamed session, opened again when it ends.
#[derive(Debug)]
pub struct TastySource {
    name: String,
    names: BTreeSet<Symbol>,
    shared: Arc<TastyShared>,
}

/// State shared by the thread and the market loop.
#[derive(Debug)]
struct TastyShared {
    inbox: Inbox,
    plan: Mutex<Plan>,
    is_connected: AtomicBool,
    began: Instant,
    /// The name of the plan that means all names.
    session: Symbol,
    name: String,
    client: Client,
    names: Vec<Symbol>,
    authorities: Option<PathBuf>,
    connect: Duration,
    silence: Duration,
    clock: MarketClock,
}

/// Starts the thread of a source; `name` is the feed, as the user specified it.
///
/// # Errors
/// The certificates cannot be read, the system has no thread, or no name is given.
pub fn start(name: String, terms: TastyTerms) -> Result<TastySource, String> {
    let TastyTerms { names, base, sign_in, authorities, bounds, silence, clock } = terms;
    let session = *names.first().ok_or("expected symbols, such as tasty:SPY,QQQ")?;
    let headers = vec![("accept", Secret::plain("application/json")), ("user-agent", Secret::plain(USER_AGENT))];
    let client = Client::new(base, headers, authorities.as_deref(), bounds)?.signed_in(Some(sign_in));
    let shared = Arc::new(TastyShared {
        inbox: Inbox::new(WAITING_MOST, clock),
        plan: Mutex::new(Plan::new(TERMS, [session], u64::from(std::process::id()) << 8 | 1)),
        is_connected: AtomicBool::new(false),
        began: Instant::now(),
        session,
        name: name.clone(),
        client,
        names,
        authorities,
        connect: bounds.connect,
        silence,
        clock,
    });
    let working = Arc::clone(&shared);
    let run = move || {
        while working.wait() {
            faults::here("tasty");
            let ended = threads::guarded("tasty", || working.session());
            working.is_connected.store(false, Ordering::Relaxed);
            let failed = match ended {
                Some(Err(failed)) => failed,
                Some(Ok(())) => return,
                None => Failure::Malformed.into(),
            };
            working.done(Outcome::Failed(failed));
        }
    };
    threads::spawn_lasting("tasty", run).map_err(|error| error.to_string())?;
    let names = shared.names.iter().copied().collect();
    Ok(TastySource { name, names, shared })
}

impl QuoteSource for TastySource {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        self.shared.inbox.take()
    }

    fn is_vendors(&self) -> bool {
        true
    }

    fn expected(&self) -> Option<BTreeSet<Symbol>> {
        Some(self.names.clone())
    }

    fn facts(&self) -> SourceFacts {
        let TastyShared { inbox, is_connected, began, .. } = &*self.shared;
        let (superseded, waiting_bytes) = (inbox.superseded(), inbox.bytes());
        let plan = self.shared.plan();
        SourceFacts {
            feed: self.name.clone(),
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

impl Drop for TastySource {
    fn drop(&mut self) {
        self.shared.inbox.end();
    }
}

impl TastyShared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a session may be opened; false if the source ends.
    fn wait(&self) -> bool {
        while !self.inbox.is_ending() {
            let next = self.plan().next(self.began.elapsed(), true, |_| None);
            match next {
                Next::Ask(_) => return true,
                Next::Wait(until) => self.sleep(until),
            }
        }
        false
    }

    /// Waits until a further request may be sent; false if the source ends.
    fn permit(&self) -> bool {
        while !self.inbox.is_ending() {
            let permitted = self.plan().permit(self.began.elapsed());
            match permitted {
                Ok(()) => return true,
                Err(until) => self.sleep(until),
            }
        }
        false
    }

    fn sleep(&self, until: Duration) {
        std::thread::sleep(until.saturating_sub(self.began.elapsed()).min(SLEEP_MOST));
    }

    fn done(&self, outcome: Outcome) {
        let name = &self.name;
        let mut plan = self.plan();
        let state_changed = plan.done(self.session, self.began.elapsed(), outcome);
        let (state, trouble) = (plan.state(), plan.trouble());
        drop(plan);
        match (outcome, trouble) {
            (Outcome::Delivered, _) if state_changed => tracing::info!("{name}: delivers"),
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

    /// Runs a session until the source ends.
    fn session(&self) -> Result<(), Failed> {
        let mut events = DxEvents::new(Path::new("tasty"));
        let mut wanted = self.list(&mut events)?;
        if !self.permit() {
            return Ok(());
        }
        let StreamerToken { token, url } = match self.ask("/api-quote-tokens", parse_tasty_token)? {
            (Some(token), _) => token,
            (None, report) => return Err(failure_of(&report).into()),
        };
        let mut socket = Socket::connect(&url, self.authorities.as_deref(), self.connect)?;
        socket.send(&dxlink::setup())?;
        let (mut is_signed, mut is_open) = (false, false);
        let mut listed = Instant::now();
        let (mut received, mut sent, mut handed_over) = (listed, listed, listed);
        while !self.inbox.is_ending() {
            let text = socket.next(HAND_OVER)?;
            let event = match &text {
                Some(text) => {
                    received = Instant::now();
                    events.take_in(text, self.clock.now()).map_err(Failure::instead)?
                }
                None => DxEvent::Taken,
            };
            match event {
                DxEvent::Unauthorized if !is_signed => {
                    is_signed = true;
                    socket.send(&dxlink::auth(&token))?;
                }
                DxEvent::Unauthorized => return Err(Failure::Refused.into()),
                DxEvent::Authorized if !is_open => {
                    is_open = true;
                    socket.send(&dxlink::channel_request())?;
                }
                DxEvent::Opened => {
                    socket.send(&dxlink::feed_setup())?;
                    wanted.drain(..).try_for_each(|text| socket.send(&text))?;
                    self.is_connected.store(true, Ordering::Relaxed);
                }
                DxEvent::Closed => return Err(Failure::Cut.into()),
                DxEvent::Error(what) => return Err(Failure::instead(what).into()),
                DxEvent::Authorized | DxEvent::Taken => {}
            }
            if received.elapsed() > self.silence {
                return Err(Failure::Timeout.into());
            }
            if sent.elapsed() > self.silence.mul_f64(0.5) {
                sent = Instant::now();
                socket.send(dxlink::keepalive())?;
            }
            if handed_over.elapsed() >= HAND_OVER {
                handed_over = Instant::now();
                self.hand_over(&mut events);
            }
            if listed.elapsed() > LIST_AGAIN && wanted.is_empty() {
                listed = Instant::now();
                // what is streamed goes on, whatever the server of contracts answers
                let new = self.list(&mut events).unwrap_or_default();
                new.iter().try_for_each(|text| socket.send(text))?;
            }
        }
        Ok(())
    }

    /// Hands over what is new.
    fn hand_over(&self, events: &mut DxEvents) {
        let (batch, report) = events.take();
        if report.records > 0 {
            self.inbox.put(batch, report);
            self.done(Outcome::Delivered);
        }
    }

    /// Lists the contracts of every name; returns the messages that subscribe to new ones. A name that the vendor does
    /// not have costs itself.
    fn list(&self, events: &mut DxEvents) -> Result<Vec<String>, Failed> {
        let (mut wanted, mut last) = (Vec::new(), None);
        for (i, &name) in self.names.iter().enumerate() {
            if i > 0 && !self.permit() {
                break;
            }
            let target = format!("/option-chains/{}/nested", name.as_str().replace('.', "%2F"));
            match self.contracts(&target) {
                Ok(contracts) => wanted.extend(events.add(name, &name.as_str().replace('.', "/"), contracts)),
                Err(failed) if failed.failure.is_of_vendor() => return Err(failed),
                Err(failed) => {
                    let (kind, says) = (failed.failure.name(), failed.failure.sentence());
                    tracing::warn!("{}: {target}: {kind}: {says}; continuing without it", self.name);
                    last = Some(failed);
                }
            }
        }
        match last {
            Some(failed) if wanted.is_empty() => Err(failed),
            _ => Ok(wanted),
        }
    }

    fn contracts(&self, target: &str) -> Result<Vec<StreamedContract>, Failed> {
        let (contracts, report) = self.ask(target, parse_tasty_chain)?;
        if report.errors.is_empty() { Ok(contracts) } else { Err(failure_of(&report).into()) }
    }

    /// Sends a request, and reads the response.
    fn ask<T>(&self, target: &str, read: fn(&Path, &[u8]) -> (T, Report)) -> Result<(T, Report), Failed> {
        match self.client.get(target, None)? {
            Received::Unchanged => Err(Failure::Status.into()),
            Received::Body { status, bytes, retry_after, .. } => match Failure::of_status(status) {
                Some(failure) => Err(Failed { failure, retry_after }),
                None => Ok(read(Path::new("tasty"), &bytes)),
            },
        }
    }
}

fn failure_of(report: &Report) -> Failure {
    report.errors.first().map_or(Failure::Malformed, Failure::of_error)
}
