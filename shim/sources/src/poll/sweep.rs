//! Sweeps of names: sends all requests of a name one after the other, and checks that the responses make a whole chain
//! of that name. It keeps the facts of earlier responses that this takes. Never: a schedule, a thread.

use super::client::{Client, Received, Validators};
use super::dividends::likely;
use super::failure::{Failed, Failure};
use super::vendor::{Asks, DataKind, Document, Question, Sweep, Vendor};
use super::wholeness::Wholeness;
use feeds::Grade;
use host::clock::MarketClock;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::records::{Batch, DividendRecord, SpotRecord};
use kernel::report::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of requests of a sweep: a million contracts in the smallest pages.
const REQUESTS_MOST: usize = 4_000;
/// Maximum number of requests for dividends of a name: a few years are one page.
const DIVIDEND_REQUESTS_MOST: usize = 20;
/// Time limit of a sweep: a large index in pages of 250 at five requests a minute takes 16 minutes.
const SWEEP_TIME: Duration = Duration::from_secs(3600);

/// Sweeps names of a vendor.
pub struct Sweeps {
    /// The feed, as the user specified it.
    name: String,
    vendor: Box<dyn Vendor>,
    client: Client,
    second: Option<Client>,
    clock: MarketClock,
    calendar: Calendar,
    roots: RootTable,
    memory: Mutex<Memory>,
}

/// Facts of earlier responses.
#[derive(Debug, Default)]
struct Memory {
    wholeness: Wholeness,
    validators: BTreeMap<String, Validators>,
    /// The last price of each name, for sweeps without one.
    spots: BTreeMap<Symbol, SpotRecord>,
    /// Paths without whose data sweeps continued, and the failures, which were logged.
    missed: BTreeSet<(String, &'static str)>,
    /// The last dividends of each name.
    dividends: BTreeMap<Symbol, Vec<DividendRecord>>,
}

impl Memory {
    /// Keeps the price of a name, unless a later one is there.
    fn remember(&mut self, name: Symbol, spot: SpotRecord) {
        if self.spots.get(&name).is_none_or(|last| last.ts <= spot.ts) {
            self.spots.insert(name, spot);
        }
    }

    /// Adds a dividend of 0 for each ex-date of the last sweep of a name that this one lacks: the store keeps a
    /// dividend until it is replaced.
    fn cancel_missing(&mut self, name: Symbol, dividends: &mut Vec<DividendRecord>) {
        let before = self.dividends.insert(name, dividends.clone()).unwrap_or_default();
        let stay: BTreeSet<Date> = dividends.iter().map(|dividend| dividend.ex_date).collect();
        let gone = before.into_iter().filter(|dividend| !stay.contains(&dividend.ex_date));
        dividends.extend(gone.map(|dividend| DividendRecord { amount: 0.0, ..dividend }));
    }
}

/// Result of a sweep.
#[derive(Clone, Debug)]
pub struct SweepResult {
    /// The whole chain of the name, or the rates of a vendor without names.
    pub batch: Batch,
    /// Counts and refused rows of reading the responses.
    pub report: Report,
    /// Whether the quotes are live or delayed.
    pub grade: Grade,
}

/// Permits of requests, and the count of failures despite which a sweep continues.
pub trait Permits {
    /// Waits until a further request may be sent; false if the source ends.
    fn wait(&self) -> bool;

    /// Counts a failure despite which the sweep continues.
    fn note(&self, failure: Failure);
}

impl Sweeps {
    /// `client` sends requests to the vendor, `second` those for its other server; `name` is the feed, as the user
    /// specified it.
    #[must_use]
    pub fn new(
        name: String,
        vendor: Box<dyn Vendor>,
        client: Client,
        second: Option<Client>,
        clock: MarketClock,
    ) -> Self {
        let (calendar, roots) = (Calendar::embedded(), RootTable::embedded());
        Self { name, vendor, client, second, clock, calendar, roots, memory: Mutex::default() }
    }

    /// The feed, as the user specified it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The vendor.
    #[must_use]
    pub fn vendor(&self) -> &dyn Vendor {
        &*self.vendor
    }

    /// Sends all requests of a name, the first one at once. `None`: nothing has changed, or the source ends.
    ///
    /// # Errors
    /// No usable data came; the last data stay in use.
    pub fn sweep(&self, name: Symbol, permits: &impl Permits) -> Result<Option<SweepResult>, Failed> {
        let mut sweep = Sweep::new(self.vendor.begin(name, self.today()));
        let most = if self.vendor.data_kind() == DataKind::Dividends { DIVIDEND_REQUESTS_MOST } else { REQUESTS_MOST };
        if self.ask_all(name, &mut sweep, permits, most)? { Ok(Some(self.whole(name, sweep)?)) } else { Ok(None) }
    }

    /// Requests the dividends of a name from a vendor that has them besides its chains; every request waits for a
    /// permit. `None`: the vendor has none, nothing has changed, or the source ends.
    ///
    /// # Errors
    /// No usable data came; the last data stay in use.
    pub fn dividends(&self, name: Symbol, permits: &impl Permits) -> Result<Option<SweepResult>, Failed> {
        let Some(first) = self.vendor.dividends(name, self.today()) else { return Ok(None) };
        if !permits.wait() {
            return Ok(None);
        }
        let (path, mut sweep) = (first.path().to_owned(), Sweep::new([first]));
        let result = match self.ask_all(name, &mut sweep, permits, DIVIDEND_REQUESTS_MOST) {
            Ok(false) => return Ok(None),
            Ok(true) => self.whole_dividends(name, sweep),
            Err(failed) => Err(failed),
        };
        result.map(Some).inspect_err(|failed| {
            permits.note(failed.failure);
            self.log_missed(&path, failed.failure);
        })
    }

    /// Requests the prices of names together; every request waits for a permit. `None`: nothing came, or the source
    /// ends.
    ///
    /// # Errors
    /// No usable prices came; the last ones stay in use.
    pub fn spots(&self, names: &[Symbol], permits: &impl Permits) -> Result<Option<SweepResult>, Failed> {
        let mut sweep = Sweep::new(self.vendor.spots(names));
        while let Some(request) = sweep.wanted.pop_front() {
            if !permits.wait() {
                return Ok(None);
            }
            match names.first().map_or(Ok(false), |&name| self.ask(name, &request, &mut sweep)) {
                Ok(_) => {}
                Err(failed) if self.vendor.may_miss(&request, failed.failure) => {
                    permits.note(failed.failure);
                    self.log_missed(request.path(), failed.failure);
                }
                Err(failed) => return Err(failed),
            }
        }
        let Sweep { batch: Batch { mut spots, .. }, mut report, grade, .. } = sweep;
        let came = spots.len();
        spots.retain(|spot| names.contains(&self.roots.canonical(spot.underlying)));
        if came > 0 && spots.is_empty() {
            return Err(Failure::WrongName.into());
        }
        let mut batch = Batch { spots, ..Batch::default() };
        batch.refuse_ahead(self.clock.latest(), &mut report);
        if came > 0 && batch.spots.is_empty() {
            return Err(Failure::Ahead.into());
        }
        let mut memory = self.memory();
        batch.spots.iter().for_each(|spot| memory.remember(self.roots.canonical(spot.underlying), *spot));
        Ok((!batch.spots.is_empty()).then_some(SweepResult { batch, report, grade }))
    }

    fn today(&self) -> Date {
        self.calendar.eastern(self.clock.now()).date()
    }

    /// Sends requests until none is left. Returns true if all responses came and are new.
    fn ask_all(&self, name: Symbol, sweep: &mut Sweep, permits: &impl Permits, most: usize) -> Result<bool, Failed> {
        let (mut asked, mut unchanged, began) = (BTreeSet::new(), false, Instant::now());
        while let Some(request) = sweep.wanted.pop_front() {
            if !asked.is_empty() && !permits.wait() {
                return Ok(false);
            }
            if began.elapsed() > SWEEP_TIME {
                return Err(Failure::Timeout.into());
            }
            if asked.len() == most || !asked.insert(request.target.clone()) {
                // pages that lead back to an earlier one would have no end
                return Err(Failure::Malformed.into());
            }
            match self.ask(name, &request, sweep) {
                Ok(is_new) => unchanged |= !is_new,
                Err(failed) => {
                    if let Some(instead) = self.vendor.instead(name, &request, failed.failure) {
                        sweep.wanted.push_front(instead);
                    } else if self.vendor.may_miss(&request, failed.failure) {
                        permits.note(failed.failure);
                        self.log_missed(request.path(), failed.failure);
                    } else {
                        tracing::debug!("{}: {}: {}", self.name, request.path(), failed.failure.name());
                        return Err(failed);
                    }
                }
            }
        }
        Ok(!unchanged)
    }

    /// Logs once that sweeps continue without some data: a name without a price may have no Greeks, and the log must
    /// show why.
    fn log_missed(&self, path: &str, failure: Failure) {
        if self.memory().missed.insert((path.to_owned(), failure.name())) {
            let (name, kind, says) = (&self.name, failure.name(), failure.sentence());
            tracing::warn!("{name}: {path}: {kind}: {says}; continuing without it");
        }
    }

    /// Sends a request. Returns true if the response is new.
    fn ask(&self, name: Symbol, request: &Question, sweep: &mut Sweep) -> Result<bool, Failed> {
        // with several requests every response is needed, even an unchanged one
        let is_alone = sweep.wanted.is_empty() && sweep.batch.quotes.is_empty();
        let known = self.memory().validators.get(&request.target).filter(|_| is_alone).cloned();
        let asked_at = self.clock.now();
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

    /// The result of a sweep, if it is whole.
    fn whole(&self, name: Symbol, sweep: Sweep) -> Result<SweepResult, Failed> {
        if self.vendor.data_kind() == DataKind::Dividends {
            return self.whole_dividends(name, sweep);
        }
        let Sweep { mut batch, mut report, grade, .. } = sweep;
        let mut memory = self.memory();
        match self.vendor.data_kind() {
            DataKind::Chains | DataKind::Dividends => {}
            DataKind::Rates if batch.rates.as_ref().is_none_or(Vec::is_empty) => return Err(Failure::Empty.into()),
            DataKind::Rates => return Ok(SweepResult { batch, report, grade }),
        }
        let judged = self.about(name, &mut batch, &mut report);
        if let Err(failure) = judged.and_then(|()| memory.wholeness.judge(name, &batch, self.clock.now())) {
            // the same response must be judged again, and not count as unchanged
            memory.validators.clear();
            return Err(failure.into());
        }
        if let Some(&spot) = batch.spots.iter().find(|spot| spot.underlying == name) {
            memory.remember(name, spot);
        }
        // the price of all names together may be later than that of a long sweep
        batch.spots.retain(|spot| spot.underlying != name);
        batch.spots.extend(memory.spots.get(&name));
        batch.reset = vec![name];
        Ok(SweepResult { batch, report, grade })
    }

    /// Declared and projected dividends of a name. A page about another name is refused as a whole.
    fn whole_dividends(&self, name: Symbol, sweep: Sweep) -> Result<SweepResult, Failed> {
        let Sweep { declared, mut batch, report, grade, .. } = sweep;
        if declared.iter().any(|dividend| self.roots.canonical(dividend.underlying) != name) {
            return Err(Failure::WrongName.into());
        }
        let mut dividends = likely(&declared, &self.calendar, self.today());
        self.memory().cancel_missing(name, &mut dividends);
        batch.dividends = Some(dividends);
        batch.dividend_cover.names.insert(name);
        Ok(SweepResult { batch, report, grade })
    }

    /// Checks that records are of the requested name and not of the future. Some contracts of a chain must have a root
    /// of the name; not all, since a name may have changed.
    fn about(&self, name: Symbol, batch: &mut Batch, report: &mut Report) -> Result<(), Failure> {
        let own = name.bare();
        let is_own = |root: Symbol| root == own || self.roots.underlying_of(root).bare() == own;
        let is_strange = !batch.quotes.is_empty() && !batch.quotes.iter().any(|quote| is_own(quote.contract.root));
        if is_strange || batch.spots.iter().any(|spot| self.roots.canonical(spot.underlying) != name) {
            return Err(Failure::WrongName);
        }
        let before = batch.quotes.len();
        batch.refuse_ahead(self.clock.latest(), report);
        if before > 0 && batch.quotes.is_empty() { Err(Failure::Ahead) } else { Ok(()) }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
