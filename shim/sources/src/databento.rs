//! Databento's live gateway: a session with the contracts of some roots, on a thread of its own. Every end of a session
//! counts as a failure, even an orderly one: after a pause the session is opened again. This is the only file that
//! names `databento` and its asynchronous runtime; it is built with the feature `databento-live`. Never: a record's
//! layout.

use super::facts::{SourceFacts, SourceState};
use super::inbox::{Inbox, WAITING_MOST};
use super::poll::failure::{Failed, Failure};
use super::poll::plan::{Next, Outcome, Plan, VendorTerms};
use super::poll::vendor::roots_of;
use super::{Delivery, Moment, QuoteSource};
use databento::dbn::{ErrorCode, ErrorMsg, SType, Schema};
use databento::live::Subscription;
use databento::{Error, LiveClient};
use feeds::databento_live::DbnRecords;
use host::clock::MarketClock;
use host::secret::Secret;
use host::{faults, threads};
use kernel::contract::{RootTable, Symbol};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The consolidated quotes of every US options exchange.
const DATASET: &str = "OPRA.PILLAR";
/// Schemas of quotes: the last best quote of each second, or each change of it.
pub const SCHEMAS: [(&str, Schema); 2] = [("cbbo-1s", Schema::Cbbo1S), ("cmbp-1", Schema::Cmbp1)];
/// Interval at which received records are handed over.
const HAND_OVER: Duration = Duration::from_millis(250);
/// Maximum sleep before the thread checks whether the source ends.
const SLEEP_MOST: Duration = Duration::from_millis(500);
/// Rate limits for opening sessions; a list of unusable names is tried once a minute.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(60),
    every_closed: Duration::from_secs(60),
    per_minute: 30.0,
    burst: 3.0,
    at_once: 1,
    delay: Duration::ZERO,
};

/// Settings of a session.
#[derive(Clone, Debug)]
pub struct SessionTerms {
    /// Underlyings whose contracts are requested.
    pub names: Vec<Symbol>,
    /// Schema of quotes.
    pub schema: Schema,
    /// `HOST:PORT` to connect to instead of the vendor's gateway.
    pub address: Option<String>,
    /// The key; the gateway is sent a digest of it.
    pub key: Secret,
    /// Clock of the market.
    pub clock: MarketClock,
}

/// A live session, opened again when it ends.
#[derive(Debug)]
pub struct DatabentoSource {
    name: String,
    names: BTreeSet<Symbol>,
    shared: Arc<SessionShared>,
}

/// State shared by the thread and the market loop.
#[derive(Debug)]
struct SessionShared {
    inbox: Inbox,
    plan: Mutex<Plan>,
    is_connected: AtomicBool,
    began: Instant,
    /// The name of the plan that means all names.
    session: Symbol,
}

/// Starts the thread of a source; `name` is the feed, as the user specified it.
///
/// # Errors
/// The system has no thread for it, or no name is given.
pub fn start(name: String, terms: SessionTerms) -> std::io::Result<DatabentoSource> {
    let session = *terms.names.first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let seed = u64::from(std::process::id()) << 8 | 1;
    let names = terms.names.iter().copied().collect();
    let shared = Arc::new(SessionShared {
        inbox: Inbox::new(WAITING_MOST, terms.clock),
        plan: Mutex::new(Plan::new(TERMS, [session], seed)),
        is_connected: AtomicBool::new(false),
        began: Instant::now(),
        session,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (working, named) = (Arc::clone(&shared), name.clone());
    threads::spawn_lasting("databento", move || {
        while working.wait() {
            faults::here("databento");
            // a panic of the library ends only the session
            let ended = threads::guarded("databento", || runtime.block_on(working.session(&terms, &named)));
            working.is_connected.store(false, Ordering::Relaxed);
            working.done(&named, Outcome::Failed(ended.unwrap_or(Failure::Malformed).into()));
        }
    })?;
    Ok(DatabentoSource { name, names, shared })
}

impl QuoteSource for DatabentoSource {
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
        let SessionShared { inbox, is_connected, began, .. } = &*self.shared;
        let superseded = inbox.superseded();
        let plan = self.shared.plan();
        SourceFacts {
            feed: self.name.clone(),
            state: plan.state(),
            last_success: plan.last_success().map(|at| began.elapsed().saturating_sub(at)),
            requests: plan.requests(),
            failures: plan.failures(),
            connections: usize::from(is_connected.load(Ordering::Relaxed)),
            superseded,
            ..SourceFacts::default()
        }
    }
}

impl Drop for DatabentoSource {
    fn drop(&mut self) {
        self.shared.inbox.end();
    }
}

impl SessionShared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a session may be opened; false if the source ends.
    fn wait(&self) -> bool {
        while !self.inbox.is_ending() {
            let next = self.plan().next(self.began.elapsed(), true, |_| None);
            match next {
                Next::Ask(_) => return true,
                Next::Wait(until) => std::thread::sleep(until.saturating_sub(self.began.elapsed()).min(SLEEP_MOST)),
            }
        }
        false
    }

    fn done(&self, name: &str, outcome: Outcome) {
        let mut plan = self.plan();
        let state_changed = plan.done(self.session, self.began.elapsed(), outcome);
        let (state, trouble) = (plan.state(), plan.trouble());
        drop(plan);
        match (outcome, trouble) {
            (Outcome::Delivered, _) if state_changed => tracing::info!("{name}: delivers"),
            (Outcome::Failed(Failed { failure, .. }), None) if !self.inbox.is_ending() => {
                tracing::warn!("{name}: {}: {}; the last data stay in use", failure.name(), failure.sentence());
            }
            (_, Some(why)) if state_changed && state != SourceState::Ok && !self.inbox.is_ending() => {
                tracing::warn!(
                    "{name}: {}: {}: {}; the last data stay in use",
                    state.name(),
                    why.name(),
                    why.sentence()
                );
            }
            _ => {}
        }
    }

    /// Runs a session; returns why it ended.
    async fn session(&self, terms: &SessionTerms, name: &str) -> Failure {
        match self.run(terms, name).await {
            Ok(failure) => failure,
            Err(error) => failure_of(&error),
        }
    }

    async fn run(&self, terms: &SessionTerms, name: &str) -> databento::Result<Failure> {
        let roots = RootTable::embedded();
        let mut builder = LiveClient::builder();
        if let Some(address) = &terms.address {
            builder = builder.addr(address.as_str()).await?;
        }
        let mut client = builder.key(terms.key.expose())?.dataset(DATASET).build().await?;
        let parents = terms.names.iter().flat_map(|&name| roots_of(&roots, name)).map(|root| format!("{root}.OPT"));
        let parents: Vec<String> = parents.collect();
        for schema in [Schema::Definition, terms.schema] {
            let asked = Subscription::builder().symbols(parents.clone()).schema(schema).stype_in(SType::Parent);
            client.subscribe(asked.build()).await?;
        }
        let version = client.start().await?.version;
        self.is_connected.store(true, Ordering::Relaxed);
        let mut records = DbnRecords::new(Path::new("databento"), version, roots);
        let mut handed_over = Instant::now();
        while !self.inbox.is_ending() {
            let ended = match tokio::time::timeout(HAND_OVER, client.next_record()).await {
                Err(_) => None,
                // after an orderly end by the gateway no further record comes
                Ok(Ok(None)) => Some(Failure::Cut),
                Ok(Ok(Some(record))) => match record.get::<ErrorMsg>() {
                    Some(said) => said.code().ok().and_then(failure_of_code),
                    None => records.add(record.as_ref()).err().map(Failure::instead),
                },
                Ok(Err(error)) => Some(failure_of(&error)),
            };
            if ended.is_some() || handed_over.elapsed() >= HAND_OVER {
                handed_over = Instant::now();
                let (batch, report) = records.take();
                if report.records > 0 {
                    self.inbox.put(batch, report);
                    self.done(name, Outcome::Delivered);
                }
            }
            if let Some(failure) = ended {
                return Ok(failure);
            }
        }
        Ok(Failure::Cut)
    }
}

/// The kind of an error of the library. Its text is never shown, since the server may have written it.
fn failure_of(error: &Error) -> Failure {
    match error {
        Error::Auth(_) | Error::BadArgument { param_name: "key", .. } => Failure::Refused,
        Error::BadArgument { .. } => Failure::Connect,
        Error::ConnectTimeout(_) | Error::AuthTimeout(_) | Error::HeartbeatTimeout(_) => Failure::Timeout,
        Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Failure::Cut,
        Error::Io(_) => Failure::Connect,
        _ => Failure::Malformed,
    }
}

/// The kind of an error message of the gateway; `None`: the session goes on.
fn failure_of_code(code: ErrorCode) -> Option<Failure> {
    match code {
        ErrorCode::AuthFailed | ErrorCode::ApiKeyDeactivated => Some(Failure::Refused),
        ErrorCode::ConnectionLimitExceeded => Some(Failure::Limited),
        ErrorCode::SymbolResolutionFailed | ErrorCode::InvalidSubscription => Some(Failure::NotFound),
        ErrorCode::InternalError => Some(Failure::Server),
        _ => None,
    }
}
