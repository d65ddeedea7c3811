//! State that outlives the program: the closing volatilities of sessions, for `prev_vol`, and the market that a restart
//! begins with. It decides when they are saved. Never: a file's name, a request.
//!
//! The session of a chain is that of the instant at which it is valued. So a recorded folder belongs to the session of
//! its quotes, whenever it is served, and its own volatilities are never those of the previous session.

use arc_swap::ArcSwap;
use engine::closes::{Closes, ClosingRow};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::session::SessionVols;
use host::newest::NewestJob;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use restart::folder::{Permit, SavedMarket, StateFolder};
use sources::facts::StateFacts;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which closing volatilities are saved during a session: a power cut loses this much at most.
const KEPT_EVERY: Duration = Duration::from_mins(15);

/// Minimum time between two saves of a changed market for a restart.
const SAVED_EVERY: Duration = Duration::from_secs(10);
/// Maximum average rate of saving, bytes per second: a whole market of 380 MB is saved every six minutes, which spares
/// the disk.
const SAVED_BYTES: f64 = 1e6;

/// Duration above which writing counts as failing: the disk hangs.
const SLOW: Duration = Duration::from_secs(10);
/// Maximum number of lists of chains that wait while the disk hangs; the oldest is dropped.
const KEEPS_WAITING: usize = 4;

/// Number of sessions whose previous volatilities are in memory: those that names may belong to. A whole market takes
/// 40 MB.
const REMEMBERED: usize = 3;

/// The session of an instant: that of its Eastern date, even before the open, else the last one before.
#[must_use]
pub fn session_of(calendar: &Calendar, at: Timestamp) -> Date {
    calendar.session_on_or_before(calendar.eastern(at).date())
}

/// True if a market may replace the saved one: every quoted name has a chain at full accuracy. A name that a vendor has
/// not answered for yet keeps its saved chain.
fn is_whole(snapshot: &Snapshot) -> bool {
    !snapshot.chains().is_empty()
        && snapshot.has_all_quoted()
        && !snapshot.chains().iter().any(|chain| chain.preliminary)
}

/// The sessions of the market loop, and what was saved of them.
#[derive(Debug)]
pub struct Sessions {
    folder: Arc<StateFolder>,
    before: BTreeMap<Date, Arc<SessionVols>>,
    state_writer: Option<StateWriter>,
    /// Last chains of a session that has ended.
    ended: Vec<Arc<Chain>>,
    /// Time of the last save of closing volatilities.
    kept_at: Duration,
    /// Snapshot whose volatilities were saved last.
    kept: u64,
    /// Time of the last save for a restart; `None`: not since the start, since restored chains may be old.
    saved_at: Option<Duration>,
    /// Snapshot that was saved or restored last.
    saved: u64,
    was_open: bool,
    is_due: bool,
}

impl Sessions {
    /// Reads sessions from `folder`; without a `state_writer` nothing is saved.
    #[must_use]
    pub fn new(folder: Arc<StateFolder>, state_writer: Option<&StateWriter>) -> Self {
        let (before, ended, state_writer) = (BTreeMap::new(), Vec::new(), state_writer.cloned());
        let kept_at = Duration::ZERO;
        Self {
            folder,
            before,
            state_writer,
            ended,
            kept_at,
            kept: 0,
            saved_at: None,
            saved: 0,
            was_open: false,
            is_due: false,
        }
    }

    /// Closing volatilities of the session before `session`, read once from the folder.
    pub(super) fn before(&mut self, session: Date) -> Arc<SessionVols> {
        let folder = &self.folder;
        let found = Arc::clone(self.before.entry(session).or_insert_with(|| Arc::new(folder.before(session))));
        while self.before.len() > REMEMBERED {
            self.before.pop_first();
        }
        found
    }

    /// Notes that a chain was replaced: if the new one is of a later session, the old one is the last of its session.
    pub(super) fn replaced(&mut self, old: &Arc<Chain>, new: &Chain, calendar: &Calendar) {
        if !old.preliminary && session_of(calendar, old.valued_at) < session_of(calendar, new.valued_at) {
            self.ended.push(Arc::clone(old));
        }
    }

    /// Saves after a turn: the last chains of ended sessions, and the whole market if the session has closed or the
    /// last save was long ago. `elapsed` is the time since a fixed moment.
    pub(super) fn turned(&mut self, snapshot: &Snapshot, is_open: bool, elapsed: Duration) {
        if !self.ended.is_empty() {
            let ended = std::mem::take(&mut self.ended);
            self.submit(|job| job.keep(ended));
        }
        self.is_due |= (self.was_open && !is_open) || elapsed.saturating_sub(self.kept_at) >= KEPT_EVERY;
        self.was_open = is_open;
        if self.is_due && snapshot.number != self.kept && is_whole(snapshot) {
            (self.is_due, self.kept_at, self.kept) = (false, elapsed, snapshot.number);
            self.submit(|job| job.keep(snapshot.chains().to_vec()));
        }
        let may_save = self.saved_at.is_none_or(|at| elapsed.saturating_sub(at) >= SAVED_EVERY);
        if may_save && snapshot.number != self.saved && is_whole(snapshot) {
            (self.saved_at, self.saved) = (Some(elapsed), snapshot.number);
            self.submit(|job| job.save = Some(snapshot.chains().to_vec()));
        }
    }

    /// Notes that a snapshot has only restored chains, so that it is not saved again.
    pub(super) fn restored(&mut self, number: u64) {
        self.saved = number;
    }

    /// Bytes of the volatilities of previous sessions.
    pub(super) fn bytes(&self) -> usize {
        self.before.values().map(|vols| vols.bytes()).sum()
    }

    /// Status of the state-writer thread.
    pub(super) fn facts(&self) -> Option<StateFacts> {
        self.state_writer.as_ref().map(StateWriter::facts)
    }

    fn submit(&self, put: impl FnOnce(&mut StateJob)) {
        if let Some(state_writer) = &self.state_writer {
            state_writer.submit(put);
        }
    }
}

/// A job of the state-writer thread.
#[derive(Debug, Default)]
struct StateJob {
    /// Chains whose volatilities are saved, each under its session; the oldest list first.
    keep: Vec<Vec<Arc<Chain>>>,
    /// Market to save for a restart.
    save: Option<Vec<Arc<Chain>>>,
    /// True if the market is saved even if the last save was recent.
    is_last: bool,
}

impl StateJob {
    fn keep(&mut self, chains: Vec<Arc<Chain>>) {
        self.keep.push(chains);
        let beyond = self.keep.len().saturating_sub(KEEPS_WAITING);
        self.keep.drain(..beyond);
    }
}

/// The thread that saves state, so that the market loop does not wait for a disk. Of the markets to save only the
/// newest waits.
#[derive(Clone, Debug)]
pub struct StateWriter {
    jobs: NewestJob<StateJob>,
    facts: Arc<Mutex<StateFacts>>,
}

/// Settings of the thread that saves state.
#[derive(Debug)]
pub struct StateWriterSettings {
    /// Folder to write to.
    pub folder: Arc<StateFolder>,
    /// Calendar of sessions.
    pub calendar: Calendar,
    /// The system's clock.
    pub clock: fn() -> Timestamp,
    /// True if the clock of the market is the system's. With another clock the market is not saved: it may be an
    /// experiment.
    pub is_real: bool,
    /// File that the market is saved to.
    pub market: SavedMarket,
    /// Closes of sessions, to which closing rows are added.
    pub closes: Arc<ArcSwap<Closes>>,
}

impl StateWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(terms: StateWriterSettings) -> io::Result<Self> {
        let folder = terms.folder.path().display().to_string();
        let failing = !terms.folder.is_claimed();
        let facts = Arc::new(Mutex::new(StateFacts { folder, failing, ..StateFacts::default() }));
        let known = Arc::clone(&facts);
        // until this moment no further market is saved, which bounds the rate of writing
        let mut busy_until = Instant::now();
        let work = move |job: StateJob| {
            job.keep.iter().for_each(|chains| keep(chains, &terms));
            let began = Instant::now();
            let Some(chains) = job.save.filter(|_| terms.is_real && (job.is_last || began >= busy_until)) else {
                return;
            };
            let now = (terms.clock)();
            let saved = terms.folder.save_market(&terms.market, &chains, now);
            let mut facts = known.lock().unwrap_or_else(PoisonError::into_inner);
            facts.failing = saved.is_none();
            if let Some(bytes) = saved {
                facts.saved_at = Some(now);
                busy_until = began + Duration::from_secs_f64(bytes as f64 / SAVED_BYTES);
            }
        };
        Ok(Self { jobs: NewestJob::start("state", work)?, facts })
    }

    fn submit(&self, put: impl FnOnce(&mut StateJob)) {
        self.jobs.put(|waiting| {
            let mut job = waiting.unwrap_or_default();
            put(&mut job);
            job
        });
    }

    /// Status of the thread.
    fn facts(&self) -> StateFacts {
        let facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        StateFacts { failing: facts.failing || self.jobs.busy_for() > SLOW, ..facts }
    }

    /// Submits the last market, if it is whole, and ends the thread.
    pub fn keep_last(&self, last: &Snapshot) {
        if is_whole(last) {
            self.submit(|job| {
                job.keep(last.chains().to_vec());
                (job.save, job.is_last) = (Some(last.chains().to_vec()), true);
            });
        }
        self.jobs.end();
    }

    /// Waits, at most `patience`, until everything is written.
    pub fn finish(self, patience: Duration) {
        if !self.jobs.has_ended_within(patience) {
            tracing::error!("{}: the market has not been saved: the disk does not respond", self.facts().folder);
        }
    }
}

/// Saves volatilities of chains by session, and closing rows of chains that were valued at the end of one.
fn keep(chains: &[Arc<Chain>], terms: &StateWriterSettings) {
    let mut sessions: BTreeMap<Date, (SessionVols, Vec<ClosingRow>)> = BTreeMap::new();
    for chain in chains {
        let (vols, rows) = sessions.entry(session_of(&terms.calendar, chain.valued_at)).or_default();
        vols.add(chain);
        rows.extend(ClosingRow::of(chain, &terms.calendar));
    }
    let permit = Permit { today: session_of(&terms.calendar, (terms.clock)()), is_real: terms.is_real };
    for (session, (vols, rows)) in sessions {
        terms.folder.keep(session, vols, permit);
        if terms.folder.keep_closes(session, &rows, permit) {
            let mut closes = Closes::clone(&terms.closes.load());
            closes.add(&rows);
            terms.closes.store(Arc::new(closes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::columns::Columns;
    use kernel::contract::Symbol;

    fn chain(at: &str, preliminary: bool) -> Arc<Chain> {
        Arc::new(Chain {
            underlying: Symbol::parse("ACME").unwrap(),
            spot: 100.0,
            implied_spot: f64::NAN,
            implied_spot_error: f64::NAN,
            spot_off: false,
            doubt: None,
            firm: engine::store::firm_quotes::FirmQuotes::default(),
            uncomputed: None,
            valued_at: at.parse().unwrap(),
            preliminary,
            slices: Default::default(),
            strike_milli: Vec::new(),
            right: Vec::new(),
            dropped: Vec::new(),
            columns: Columns::missing(0),
            quotes: None,
            evidence: None,
        })
    }

    /// Sessions, and what they ask for.
    fn sessions() -> (Sessions, NewestJob<StateJob>) {
        let waiting = NewestJob::without_thread();
        let folder = Arc::new(StateFolder::open(std::path::Path::new("/no/such/folder")));
        let state_writer = StateWriter { jobs: waiting.clone(), facts: Arc::default() };
        (Sessions::new(folder, Some(&state_writer)), waiting)
    }

    fn sent(waiting: &NewestJob<StateJob>) -> usize {
        waiting.take_waiting().map_or(0, |job| job.keep.len())
    }

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn a_market_is_kept_at_each_close_and_every_quarter_of_an_hour() {
        let (mut sessions, waiting) = sessions();
        let market = |number| Snapshot::new(number, vec![chain("2024-11-20T15:42:00-05:00", false)], vec![]);
        sessions.turned(&market(1), true, MINUTE);
        assert_eq!(sent(&waiting), 0);
        sessions.turned(&market(2), false, 2 * MINUTE);
        assert_eq!(sent(&waiting), 1, "the session has closed");
        sessions.turned(&market(3), false, 16 * MINUTE);
        assert_eq!(sent(&waiting), 0);
        sessions.turned(&market(4), false, 17 * MINUTE);
        assert_eq!(sent(&waiting), 1, "a quarter of an hour has passed");
        sessions.turned(&market(4), false, 99 * MINUTE);
        assert_eq!(sent(&waiting), 0, "nothing new was published");
    }

    #[test]
    fn what_a_restart_served_is_saved_anew_with_the_first_quotes() {
        let begun = |restored: Option<u64>| {
            let (mut sessions, waiting) = sessions();
            restored.into_iter().for_each(|number| sessions.restored(number));
            move |number, seconds| {
                let market = Snapshot::new(number, vec![chain("2024-11-20T15:42:00-05:00", false)], vec![]);
                sessions.turned(&market, true, Duration::from_secs(seconds));
                waiting.take_waiting().is_some_and(|job| job.save.is_some())
            }
        };
        let mut is_saved = begun(None);
        assert!(is_saved(1, 1), "there is none yet");
        assert!(!is_saved(2, 5) && is_saved(3, 11), "every ten seconds");
        let mut is_saved = begun(Some(1));
        assert!(!is_saved(1, 1), "that is what was read");
        assert!(is_saved(2, 2), "it may have been old");
        assert!(!is_saved(3, 4) && is_saved(4, 12));
    }

    #[test]
    fn only_a_whole_market_at_full_accuracy_is_kept() {
        let (mut sessions, waiting) = sessions();
        let at = "2024-11-20T15:42:00-05:00";
        let late = vec![Symbol::parse("LATE").unwrap()];
        sessions.turned(&Snapshot::new(1, vec![chain(at, false)], late), true, 20 * MINUTE);
        sessions.turned(&Snapshot::new(2, vec![chain(at, true)], vec![]), true, 21 * MINUTE);
        sessions.turned(&Snapshot::new(3, vec![], vec![]), true, 22 * MINUTE);
        assert_eq!(sent(&waiting), 0);
        sessions.turned(&Snapshot::new(4, vec![chain(at, false)], vec![]), true, 23 * MINUTE);
        assert_eq!(sent(&waiting), 1, "as soon as it is whole");
    }

    #[test]
    fn the_last_chain_of_a_session_is_kept_when_the_next_one_begins() {
        let (mut sessions, waiting) = sessions();
        let calendar = Calendar::embedded();
        // a Friday evening, a Saturday, the Monday after
        let [friday, saturday, monday] =
            ["2024-11-22T15:42:00-05:00", "2024-11-23T15:42:00-05:00", "2024-11-25T08:00:00-05:00"]
                .map(|at| chain(at, false));
        sessions.replaced(&friday, &saturday, &calendar);
        sessions.replaced(&chain("2024-11-22T15:42:00-05:00", true), &monday, &calendar);
        sessions.turned(&Snapshot::empty(vec![]), false, MINUTE);
        assert_eq!(sent(&waiting), 0);
        sessions.replaced(&saturday, &monday, &calendar);
        sessions.turned(&Snapshot::empty(vec![]), false, MINUTE);
        let kept = waiting.take_waiting().unwrap().keep;
        assert!(kept.len() == 1 && kept[0].len() == 1 && Arc::ptr_eq(&kept[0][0], &saturday));
    }

    #[test]
    fn a_disk_that_hangs_holds_one_market_and_a_few_lists() {
        let (mut sessions, waiting) = sessions();
        for number in 1..100 {
            let market = Snapshot::new(number, vec![chain("2024-11-20T15:42:00-05:00", false)], vec![]);
            sessions.turned(&market, true, Duration::from_mins(20 * number));
        }
        let job = waiting.take_waiting().unwrap();
        assert_eq!((job.keep.len(), job.save.map(|chains| chains.len())), (KEEPS_WAITING, Some(1)));
    }
}
