//! What outlives the program: what `prev_vol` remembers (what a chain's own session was preceded by, and when what a
//! session ends with is kept), and when the market is saved that a restart begins with. Never: a file's name, a
//! request.
//!
//! A chain's session is that of the instant at which it is valued. So a recorded folder belongs to the session of its
//! quotes, whenever it is served, and its own volatilities are never those of the session before.

use super::state::{Permit, SavedMarket, StateFolder};
use crate::newest::NewestJob;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::session::SessionVols;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use sources::facts::StateFacts;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A market is kept this often while it is open: as much may be lost to a power cut.
const KEPT_EVERY: Duration = Duration::from_mins(15);

/// The market is saved this often for a restart, if something has changed.
const SAVED_EVERY: Duration = Duration::from_secs(10);
/// Bytes a second that saving writes at most on average: a whole market of 380 MB is saved every six minutes, so that
/// no disk is worn out.
const SAVED_BYTES: f64 = 1e6;

/// Writing that takes longer counts as failing: the disk hangs.
const SLOW: Duration = Duration::from_secs(10);
/// Lists of chains to keep that wait at most while the disk hangs; the oldest goes.
const KEEPS_WAITING: usize = 4;

/// Sessions whose predecessors are held: those that names without a chain may belong to. A whole market takes 40 MB.
const REMEMBERED: usize = 3;

/// The session of an instant: the last one that has begun, before its open too.
#[must_use]
pub fn session_of(calendar: &Calendar, at: Timestamp) -> Date {
    calendar.session_on_or_before(calendar.eastern(at).date())
}

/// True if a market is worth more than what was kept of its session: all of it that quotes are there for, at full
/// accuracy. A name that a vendor has not answered for yet stays as it was saved.
fn is_whole(snapshot: &Snapshot) -> bool {
    !snapshot.chains().is_empty()
        && snapshot.has_all_quoted()
        && !snapshot.chains().iter().any(|chain| chain.preliminary)
}

/// State of the market loop about sessions.
#[derive(Debug)]
pub struct Sessions {
    folder: Arc<StateFolder>,
    before: BTreeMap<Date, Arc<SessionVols>>,
    keeper: Option<Keeper>,
    /// Chains that were the last ones of their session.
    ended: Vec<Arc<Chain>>,
    /// When the market was last kept.
    kept_at: Duration,
    /// Which snapshot that was.
    kept: u64,
    /// When the market was last saved for a restart: not yet. What a restart served may be old.
    saved_at: Option<Duration>,
    /// Which snapshot the saved one is, or the one that was read back.
    saved: u64,
    was_open: bool,
    is_due: bool,
}

impl Sessions {
    /// Reads sessions from `folder`. `keeper` saves chains; without one nothing is saved.
    #[must_use]
    pub fn new(folder: Arc<StateFolder>, keeper: Option<&Keeper>) -> Self {
        let (before, ended, keeper) = (BTreeMap::new(), Vec::new(), keeper.cloned());
        let kept_at = Duration::ZERO;
        Self {
            folder,
            before,
            keeper,
            ended,
            kept_at,
            kept: 0,
            saved_at: None,
            saved: 0,
            was_open: false,
            is_due: false,
        }
    }

    /// Closing volatilities of the session before one, as saved at the first request for them.
    pub(super) fn before(&mut self, session: Date) -> Arc<SessionVols> {
        let folder = &self.folder;
        let found = Arc::clone(self.before.entry(session).or_insert_with(|| Arc::new(folder.before(session))));
        while self.before.len() > REMEMBERED {
            self.before.pop_first();
        }
        found
    }

    /// Takes note that a chain was replaced: where the new one is of a later session, the old one is what its session
    /// ended with.
    pub(super) fn replaced(&mut self, old: &Arc<Chain>, new: &Chain, calendar: &Calendar) {
        if !old.preliminary && session_of(calendar, old.valued_at) < session_of(calendar, new.valued_at) {
            self.ended.push(Arc::clone(old));
        }
    }

    /// Takes note of what is published after a turn, `elapsed` since some fixed moment: keeps what has ended, and the
    /// whole market where the session has closed or that was long ago.
    pub(super) fn turned(&mut self, snapshot: &Snapshot, is_open: bool, elapsed: Duration) {
        if !self.ended.is_empty() {
            let ended = std::mem::take(&mut self.ended);
            self.ask(|due| due.keep(ended));
        }
        self.is_due |= (self.was_open && !is_open) || elapsed.saturating_sub(self.kept_at) >= KEPT_EVERY;
        self.was_open = is_open;
        if self.is_due && snapshot.number != self.kept && is_whole(snapshot) {
            (self.is_due, self.kept_at, self.kept) = (false, elapsed, snapshot.number);
            self.ask(|due| due.keep(snapshot.chains().to_vec()));
        }
        let may_save = self.saved_at.is_none_or(|at| elapsed.saturating_sub(at) >= SAVED_EVERY);
        if may_save && snapshot.number != self.saved && is_whole(snapshot) {
            (self.saved_at, self.saved) = (Some(elapsed), snapshot.number);
            self.ask(|due| due.save = Some(snapshot.chains().to_vec()));
        }
    }

    /// Takes note that a snapshot shows what was saved: it is not saved again.
    pub(super) fn restored(&mut self, number: u64) {
        self.saved = number;
    }

    /// Returns the bytes of the data of previous sessions.
    pub(super) fn bytes(&self) -> usize {
        self.before.values().map(|vols| vols.bytes()).sum()
    }

    /// Returns the status of the state-writer thread.
    pub(super) fn facts(&self) -> Option<StateFacts> {
        self.keeper.as_ref().map(Keeper::facts)
    }

    fn ask(&self, put: impl FnOnce(&mut Due)) {
        if let Some(keeper) = &self.keeper {
            keeper.ask(put);
        }
    }
}

/// A task of the state-writer thread.
#[derive(Debug, Default)]
struct Due {
    /// Chains to keep, each under its session; the oldest first.
    keep: Vec<Vec<Arc<Chain>>>,
    /// A market to save for a restart.
    save: Option<Vec<Arc<Chain>>>,
    /// The market is saved in any case, not only where there is time.
    is_last: bool,
}

impl Due {
    fn keep(&mut self, chains: Vec<Arc<Chain>>) {
        self.keep.push(chains);
        let beyond = self.keep.len().saturating_sub(KEEPS_WAITING);
        self.keep.drain(..beyond);
    }
}

/// A thread that writes what is kept, so that the market does not wait for a disk. Of the markets to save the newest
/// waits.
#[derive(Clone, Debug)]
pub struct Keeper {
    jobs: NewestJob<Due>,
    facts: Arc<Mutex<StateFacts>>,
}

/// What a keeper goes by.
#[derive(Debug)]
pub struct KeeperTerms {
    /// Where it writes.
    pub folder: Arc<StateFolder>,
    /// Sessions.
    pub calendar: Calendar,
    /// The system's clock.
    pub clock: fn() -> Timestamp,
    /// The clock of the market is the system's: what another one shows may be tried out.
    pub is_real: bool,
    /// What the market is saved as.
    pub market: SavedMarket,
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gave none.
    pub fn start(terms: KeeperTerms) -> io::Result<Self> {
        let folder = terms.folder.path().display().to_string();
        let failing = !terms.folder.is_claimed();
        let facts = Arc::new(Mutex::new(StateFacts { folder, failing, ..StateFacts::default() }));
        let known = Arc::clone(&facts);
        // before this moment another market is not worth the time that it takes
        let mut busy_until = Instant::now();
        let work = move |due: Due| {
            due.keep.iter().for_each(|chains| keep(chains, &terms));
            let began = Instant::now();
            let Some(chains) = due.save.filter(|_| terms.is_real && (due.is_last || began >= busy_until)) else {
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

    fn ask(&self, put: impl FnOnce(&mut Due)) {
        self.jobs.put(|waiting| {
            let mut due = waiting.unwrap_or_default();
            put(&mut due);
            due
        });
    }

    /// Returns when it last saved, and whether it can.
    fn facts(&self) -> StateFacts {
        let facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        StateFacts { failing: facts.failing || self.jobs.busy_for() > SLOW, ..facts }
    }

    /// Starts to save the final market, if it is complete.
    pub fn keep_last(&self, last: &Snapshot) {
        if is_whole(last) {
            self.ask(|due| {
                due.keep(last.chains().to_vec());
                (due.save, due.is_last) = (Some(last.chains().to_vec()), true);
            });
        }
        self.jobs.end();
    }

    /// Waits until everything is written, for so long at most.
    pub fn finish(self, patience: Duration) {
        if !self.jobs.has_ended_within(patience) {
            tracing::error!("{}: the market has not been saved: the disk does not respond", self.facts().folder);
        }
    }
}

/// Keeps the volatilities of some chains, each under its session.
fn keep(chains: &[Arc<Chain>], terms: &KeeperTerms) {
    let mut sessions: BTreeMap<Date, SessionVols> = BTreeMap::new();
    for chain in chains {
        sessions.entry(session_of(&terms.calendar, chain.valued_at)).or_default().add(chain);
    }
    let permit = Permit { today: session_of(&terms.calendar, (terms.clock)()), is_real: terms.is_real };
    for (session, vols) in sessions {
        terms.folder.keep(session, vols, permit);
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
            firm: engine::store::doubted::FirmQuotes::default(),
            uncomputed: None,
            valued_at: at.parse().unwrap(),
            preliminary,
            slices: Vec::new(),
            strike_milli: Vec::new(),
            right: Vec::new(),
            dropped: Vec::new(),
            columns: Columns::missing(0),
            quotes: None,
            evidence: None,
        })
    }

    /// Sessions, and what they ask for.
    fn sessions() -> (Sessions, NewestJob<Due>) {
        let waiting = NewestJob::without_thread();
        let folder = Arc::new(StateFolder::open(std::path::Path::new("/no/such/folder")));
        let keeper = Keeper { jobs: waiting.clone(), facts: Arc::default() };
        (Sessions::new(folder, Some(&keeper)), waiting)
    }

    fn sent(waiting: &NewestJob<Due>) -> usize {
        waiting.take_waiting().map_or(0, |due| due.keep.len())
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
                waiting.take_waiting().is_some_and(|due| due.save.is_some())
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
        let due = waiting.take_waiting().unwrap();
        assert_eq!((due.keep.len(), due.save.map(|chains| chains.len())), (KEEPS_WAITING, Some(1)));
    }
}
