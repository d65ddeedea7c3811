//! What outlives the program: what `prev_vol` remembers (what a chain's own session was preceded by, and when what a
//! session ends with is kept), and when the market is saved that a restart begins with. Never: a file's name, a request.
//!
//! A chain's session is that of the instant at which it is valued. So a recorded folder belongs to the session of its
//! quotes, whenever it is served, and its own volatilities are never those of the session before.

use super::state::{Permit, SavedMarket, StateFolder};
use engine::calendar::Calendar;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::session::SessionVols;
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A market is kept this often while it is open: as much may be lost to a power cut.
const KEPT_EVERY: Duration = Duration::from_mins(15);

/// The market is saved this often for a restart, if something has changed.
const SAVED_EVERY: Duration = Duration::from_secs(10);
/// Bytes a second that saving writes at most on average: a whole market of 380 MB is saved every six minutes, so that no
/// disk is worn out.
const SAVED_BYTES: f64 = 1e6;

/// Sessions whose predecessors are held: those that names without a chain may belong to. A whole market takes 40 MB.
const REMEMBERED: usize = 3;

/// The session of an instant: the last one that has begun, before its open too.
#[must_use]
pub fn session_of(calendar: &Calendar, at: Timestamp) -> Date {
    calendar.session_on_or_before(calendar.eastern(at).date())
}

/// Whether a market is worth more than what was kept of its session: all of it that quotes are there for, at full accuracy.
/// A name that a vendor has not answered for yet stays as it was saved.
fn is_whole(snapshot: &Snapshot) -> bool {
    !snapshot.chains().is_empty() && snapshot.has_all_quoted() && !snapshot.chains().iter().any(|chain| chain.rough)
}

/// What the market loop knows of sessions.
#[derive(Debug)]
pub struct Sessions {
    folder: Arc<StateFolder>,
    before: BTreeMap<Date, Arc<SessionVols>>,
    jobs: Option<Sender<Job>>,
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
    /// What `folder` knows. Chains are kept by `keeper`; without one nothing is kept.
    #[must_use]
    pub fn new(folder: Arc<StateFolder>, keeper: Option<&Keeper>) -> Self {
        let (before, ended, jobs) = (BTreeMap::new(), Vec::new(), keeper.map(|keeper| keeper.jobs.clone()));
        let kept_at = Duration::ZERO;
        Self { folder, before, jobs, ended, kept_at, kept: 0, saved_at: None, saved: 0, was_open: false, is_due: false }
    }

    /// What the session before one ended with, as it was kept when it was first asked for.
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
        if !old.rough && session_of(calendar, old.valued_at) < session_of(calendar, new.valued_at) {
            self.ended.push(Arc::clone(old));
        }
    }

    /// Takes note of what is published after a turn, `elapsed` since some fixed moment: keeps what has ended, and the whole market
    /// where the session has closed or that was long ago.
    pub(super) fn turned(&mut self, snapshot: &Snapshot, is_open: bool, elapsed: Duration) {
        if !self.ended.is_empty() {
            let ended = std::mem::take(&mut self.ended);
            self.send(Job::Keep(ended));
        }
        self.is_due |= (self.was_open && !is_open) || elapsed.saturating_sub(self.kept_at) >= KEPT_EVERY;
        self.was_open = is_open;
        if self.is_due && snapshot.number != self.kept && is_whole(snapshot) {
            (self.is_due, self.kept_at, self.kept) = (false, elapsed, snapshot.number);
            self.send(Job::Keep(snapshot.chains().to_vec()));
        }
        let may_save = self.saved_at.is_none_or(|at| elapsed.saturating_sub(at) >= SAVED_EVERY);
        if may_save && snapshot.number != self.saved && is_whole(snapshot) {
            (self.saved_at, self.saved) = (Some(elapsed), snapshot.number);
            self.send(Job::Save { chains: snapshot.chains().to_vec(), is_last: false });
        }
    }

    /// Takes note that a snapshot shows what was saved: it is not saved again.
    pub(super) fn restored(&mut self, number: u64) {
        self.saved = number;
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // a keeper that has ended has said why
            let _ = jobs.send(job);
        }
    }
}

/// What a keeper is asked for.
#[derive(Debug)]
enum Job {
    /// Keep these chains, each under its session.
    Keep(Vec<Arc<Chain>>),
    /// Save this market, which is whole, for a restart: the last one in any case, others where there is time.
    Save { chains: Vec<Arc<Chain>>, is_last: bool },
    /// There is nothing more to come.
    End,
}

/// A thread that writes what is kept, so that the market does not wait for a disk.
#[derive(Debug)]
pub struct Keeper {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
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
        let (jobs, waiting) = channel();
        let thread = std::thread::Builder::new().name("state".to_owned()).spawn(move || keep_all(&waiting, &terms))?;
        Ok(Self { jobs, thread })
    }

    /// Keeps the last market, if it is whole, and waits until everything is written.
    pub fn finish(self, last: &Snapshot) {
        if is_whole(last) {
            let _ = self.jobs.send(Job::Keep(last.chains().to_vec()));
            let _ = self.jobs.send(Job::Save { chains: last.chains().to_vec(), is_last: true });
        }
        let _ = self.jobs.send(Job::End);
        // a thread that panicked has said so already
        let _ = self.thread.join();
    }
}

fn keep_all(jobs: &Receiver<Job>, terms: &KeeperTerms) {
    // before this moment another market is not worth the time that it takes
    let mut busy_until = Instant::now();
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Keep(chains) => keep(&chains, terms),
            Job::Save { .. } if !terms.is_real => {}
            Job::Save { chains, is_last } => {
                let began = Instant::now();
                if is_last || began >= busy_until {
                    let bytes = terms.folder.save_market(&terms.market, &chains, (terms.clock)());
                    busy_until = began + Duration::from_secs_f64(bytes as f64 / SAVED_BYTES);
                }
            }
            Job::End => return,
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
    use engine::contract::Symbol;
    use engine::store::columns::Columns;

    fn chain(at: &str, rough: bool) -> Arc<Chain> {
        Arc::new(Chain {
            underlying: Symbol::parse("ACME").unwrap(),
            spot: 100.0,
            implied_spot: f64::NAN,
            implied_spot_error: f64::NAN,
            spot_off: false,
            uncomputed: None,
            valued_at: at.parse().unwrap(),
            rough,
            slices: Vec::new(),
            strike_milli: Vec::new(),
            right: Vec::new(),
            dropped: Vec::new(),
            columns: Columns::missing(0),
            quotes: None,
            evidence: None,
        })
    }

    /// Sessions that send to whoever holds the other end.
    fn sessions() -> (Sessions, Receiver<Job>) {
        let (jobs, waiting) = channel();
        let folder = Arc::new(StateFolder::open(std::path::Path::new("/no/such/folder")));
        (Sessions { jobs: Some(jobs), ..Sessions::new(folder, None) }, waiting)
    }

    fn sent(waiting: &Receiver<Job>) -> usize {
        waiting.try_iter().filter(|job| matches!(job, Job::Keep(_))).count()
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
                waiting.try_iter().any(|job| matches!(job, Job::Save { .. }))
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
        let job = waiting.try_recv().unwrap();
        assert!(matches!(job, Job::Keep(chains) if chains.len() == 1 && Arc::ptr_eq(&chains[0], &saturday)));
    }
}
