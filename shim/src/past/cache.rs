//! Computes each day of a name once for all requests, and keeps the results within a bound: an archive made from
//! [`RecordedDays`].
//!
//! A request joins a running computation ([`Flight`]) or starts one. A few threads of low priority compute in the order
//! of requests, and skip computations without waiting requests. Above the bound the least recently used results are
//! evicted. Evicted results that slow readers hold still count: beyond twice the bound nothing new is begun. Never: a
//! request.

use super::archive::{Archive, DayChains, Flight, Landed, Trouble};
use super::index::DayIndex;
use api::listing::Listing;
use host::{faults, threads};
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Maximum number of queued computations.
const WAITING_MOST: usize = 1024;
/// Time after which a day that could not be computed is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// Computes one day of one name.
pub trait RecordedDays: Send + Sync {
    /// Index of the recorded days; `None`: not read yet.
    fn index(&self) -> Option<Arc<DayIndex>>;

    /// Computes the snapshots of a name on a day; this may take long.
    ///
    /// # Errors
    /// The recorded files cannot be used: where and why.
    fn compute(&self, name: Symbol, day: Date) -> Result<DayChains, String>;
}

/// An archive of computed days and running computations.
pub struct CachedArchive<R> {
    shared: Arc<CacheShared<R>>,
}

struct CacheShared<R> {
    recorded: R,
    state: Mutex<CacheState>,
    /// Signals a queued computation, or the end, to the threads.
    work: Condvar,
    most_bytes: u64,
}

/// Name, day, and a fingerprint of their files.
type Key = (Symbol, Date, u64);

#[derive(Default)]
struct CacheState {
    flights: HashMap<Key, CacheEntry>,
    queue: VecDeque<Key>,
    /// Number of uses so far, for the order of eviction.
    uses: u64,
    bytes: u64,
    computed: u64,
    /// Removed from the cache, and perhaps still read by a response.
    gone: Vec<Weak<DayChains>>,
    ended: bool,
}

struct CacheEntry {
    flight: Arc<Flight>,
    used: u64,
    bytes: u64,
    /// Time of the failure.
    failed: Option<Instant>,
}

impl CacheState {
    /// Removes the least recently used entries until the rest fits.
    fn shrink(&mut self, most: u64) {
        while self.bytes > most {
            let landed = self.flights.iter().filter(|(_, entry)| entry.bytes > 0);
            let Some(key) = landed.min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key) else { return };
            let Some(entry) = self.flights.remove(&key) else { return };
            self.bytes -= entry.bytes;
            if let Some(Ok(chains)) = entry.flight.get() {
                self.gone.push(Arc::downgrade(chains));
            }
        }
    }

    /// Bytes of the cache, and of removed entries that responses still read.
    fn held(&mut self) -> u64 {
        self.gone.retain(|gone| gone.strong_count() > 0);
        self.bytes + self.gone.iter().filter_map(Weak::upgrade).map(|chains| chains.bytes()).sum::<u64>()
    }
}

impl<R: RecordedDays + 'static> CachedArchive<R> {
    /// Starts an archive that keeps about `most_bytes` of computed days and computes on `threads` threads, each of
    /// which calls `begin` first.
    ///
    /// # Errors
    /// The system has no threads.
    pub fn start(recorded: R, most_bytes: u64, threads: usize, begin: fn()) -> std::io::Result<Self> {
        let shared = CacheShared { recorded, state: Mutex::default(), work: Condvar::new(), most_bytes };
        let archive = Self { shared: Arc::new(shared) };
        for _ in 0..threads.max(1) {
            let shared = Arc::clone(&archive.shared);
            threads::spawn_lasting("archive", move || {
                begin();
                shared.work();
            })?;
        }
        Ok(archive)
    }

    /// Number of computed days of names.
    #[must_use]
    pub fn computed(&self) -> u64 {
        self.shared.lock().computed
    }
}

impl<R> Drop for CachedArchive<R> {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.work.notify_all();
    }
}

impl<R> CacheShared<R> {
    fn lock(&self) -> MutexGuard<'_, CacheState> {
        // no partial change under this lock matters
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: RecordedDays> CacheShared<R> {
    /// Computes queued days until the archive ends.
    fn work(&self) {
        while let Some((key, flight)) = self.next() {
            let (name, day, _) = key;
            // waiting requests get an answer even after a panic
            if threads::guarded("archive", || self.compute(key, &flight)).is_none() {
                let why = format!("{name} on {day}: not computed because of an internal error");
                tracing::warn!("{why}");
                self.land(key, &flight, Err(Trouble::Damaged(why)));
            }
        }
    }

    fn compute(&self, key: Key, flight: &Flight) {
        faults::here("archive");
        let (name, day, _) = key;
        let landed = self.recorded.compute(name, day).map(Arc::new).map_err(Trouble::Damaged);
        if let Err(why) = &landed {
            tracing::warn!("{why}");
        }
        self.land(key, flight, landed);
    }

    /// Returns the next queued day that a request still waits for.
    fn next(&self) -> Option<(Key, Arc<Flight>)> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return None;
            }
            let Some(key) = state.queue.pop_front() else {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let Some(entry) = state.flights.get(&key) else { continue };
            if Arc::strong_count(&entry.flight) == 1 {
                state.flights.remove(&key);
                continue;
            }
            let flight = Arc::clone(&entry.flight);
            return Some((key, flight));
        }
    }

    fn land(&self, key: Key, flight: &Flight, landed: Landed) {
        let mut state = self.lock();
        state.computed += 1;
        let bytes = landed.as_ref().map_or(0, |chains| chains.bytes().max(1));
        if let Some(entry) = state.flights.get_mut(&key) {
            entry.failed = landed.is_err().then(Instant::now);
            entry.bytes = bytes;
            state.bytes += bytes;
        }
        flight.land(landed);
        state.shrink(self.most_bytes);
    }

    /// Returns the flight of a name on a day; starts it if there is none.
    fn flight(&self, key: Key) -> Arc<Flight> {
        let mut state = self.lock();
        state.uses += 1;
        let used = state.uses;
        let is_old = |entry: &CacheEntry| entry.failed.is_some_and(|failed| failed.elapsed() > TRY_AGAIN);
        if state.flights.get(&key).is_some_and(is_old) {
            state.flights.remove(&key);
        }
        if let Some(entry) = state.flights.get_mut(&key) {
            entry.used = used;
            return Arc::clone(&entry.flight);
        }
        if state.queue.len() >= WAITING_MOST || state.held() > self.most_bytes.saturating_mul(2) {
            return Arc::new(Flight::landed(Err(Trouble::Busy)));
        }
        let flight = Arc::<Flight>::default();
        state.flights.insert(key, CacheEntry { flight: Arc::clone(&flight), used, bytes: 0, failed: None });
        state.queue.push_back(key);
        drop(state);
        self.work.notify_one();
        flight
    }
}

impl<R: RecordedDays> Archive for CachedArchive<R> {
    fn held_bytes(&self) -> u64 {
        self.shared.lock().held()
    }

    fn days(&self, names: &[Symbol]) -> Option<Vec<Date>> {
        Some(self.shared.recorded.index()?.days(names))
    }

    fn names(&self, day: Date) -> Vec<Symbol> {
        self.shared.recorded.index().map_or_else(Vec::new, |index| index.names(day))
    }

    fn listings(&self, name: Symbol, day: Date) -> Vec<Arc<Listing>> {
        self.shared.recorded.index().map_or_else(Vec::new, |index| index.listings(name, day))
    }

    fn snapshots(&self, name: Symbol, day: Date) -> Option<Arc<Flight>> {
        let stamp = self.shared.recorded.index()?.stamp(name, day)?;
        Some(self.shared.flight((name, day, stamp)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::chain::Chain;
    use engine::store::columns::Columns;
    use engine::store::firm_quotes::FirmQuotes;
    use jiff::Timestamp;
    use jiff::civil::date;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    const DAY: Date = date(2024, 1, 2);

    fn name(i: usize) -> Symbol {
        Symbol::parse(&format!("N{i}")).unwrap()
    }

    /// Chains of ten rows; N7 is damaged, N8 a fault of the program.
    #[derive(Default)]
    struct Slow {
        computed: AtomicUsize,
        held_up: AtomicBool,
    }

    impl RecordedDays for Arc<Slow> {
        fn index(&self) -> Option<Arc<DayIndex>> {
            let mut index = DayIndex::default();
            (0..9).for_each(|i| index.note(name(i), DAY, 1));
            Some(Arc::new(index))
        }

        fn compute(&self, of: Symbol, _: Date) -> Result<DayChains, String> {
            while self.held_up.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.computed.fetch_add(1, Ordering::SeqCst);
            match of {
                of if of == name(7) => return Err("a.csv:3: no number".to_owned()),
                of if of == name(8) => panic!("a fault"),
                _ => {}
            }
            Ok(DayChains::new(vec![(Timestamp::UNIX_EPOCH, Arc::new(chain(of)))]))
        }
    }

    fn chain(of: Symbol) -> Chain {
        Chain {
            underlying: of,
            spot: 1.0,
            implied_spot: f64::NAN,
            implied_spot_error: f64::NAN,
            spot_off: false,
            doubt: None,
            firm: FirmQuotes::default(),
            uncomputed: None,
            valued_at: Timestamp::UNIX_EPOCH,
            preliminary: false,
            slices: Default::default(),
            strike_milli: vec![0; 10],
            right: Vec::new(),
            dropped: Vec::new(),
            columns: Columns::missing(10),
            quotes: None,
            evidence: None,
        }
    }

    fn start(most_units: u64) -> (Arc<Slow>, CachedArchive<Arc<Slow>>) {
        let slow = Arc::<Slow>::default();
        let archive = CachedArchive::start(Arc::clone(&slow), most_units * unit(), 2, || {}).unwrap();
        (slow, archive)
    }

    /// Bytes of a day of a name.
    fn unit() -> u64 {
        chain(name(0)).bytes() as u64
    }

    fn wait(flight: &Flight) -> Landed {
        let began = Instant::now();
        loop {
            if let Some(landed) = flight.get() {
                return landed.clone();
            }
            assert!(began.elapsed() < Duration::from_secs(60), "nothing landed");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn many_who_ask_share_one_computation() {
        let (slow, archive) = start(9);
        slow.held_up.store(true, Ordering::SeqCst);
        let flights: Vec<_> = (0..50).map(|_| archive.snapshots(name(0), DAY).unwrap()).collect();
        assert!(flights.iter().all(|flight| flight.get().is_none()));
        slow.held_up.store(false, Ordering::SeqCst);
        let first = wait(&flights[0]).unwrap();
        assert!(flights.iter().all(|flight| Arc::ptr_eq(&wait(flight).unwrap(), &first)));
        assert!(Arc::ptr_eq(&wait(&archive.snapshots(name(0), DAY).unwrap()).unwrap(), &first));
        assert_eq!((slow.computed.load(Ordering::SeqCst), archive.computed()), (1, 1));
        assert!(archive.snapshots(name(0), date(2024, 1, 3)).is_none(), "of another day there is nothing");
        assert!(archive.snapshots(name(9), DAY).is_none());
    }

    #[test]
    fn what_was_used_longest_ago_goes_first_and_readers_count() {
        let (slow, archive) = start(2);
        for i in [0, 1, 0, 2] {
            wait(&archive.snapshots(name(i), DAY).unwrap()).unwrap();
        }
        assert_eq!(archive.held_bytes(), 2 * unit());
        wait(&archive.snapshots(name(0), DAY).unwrap()).unwrap();
        assert_eq!(slow.computed.load(Ordering::SeqCst), 3, "0 was used after 1");
        wait(&archive.snapshots(name(1), DAY).unwrap()).unwrap();
        assert_eq!(slow.computed.load(Ordering::SeqCst), 4);
        // readers hold more than twice the bound
        let held: Vec<_> = (0..6).map(|i| archive.snapshots(name(i), DAY).map(|flight| wait(&flight))).collect();
        assert!(held.iter().any(|landed| matches!(landed, Some(Err(Trouble::Busy)))));
        assert!(archive.held_bytes() >= 4 * unit());
        drop(held);
        assert_eq!(archive.held_bytes(), 2 * unit());
        wait(&archive.snapshots(name(6), DAY).unwrap()).unwrap();
    }

    #[test]
    fn a_damaged_day_and_a_fault_cost_themselves() {
        let (_, archive) = start(9);
        let [damaged, faulty, good] = [7, 8, 3].map(|i| archive.snapshots(name(i), DAY).unwrap());
        assert_eq!(wait(&damaged).unwrap_err(), Trouble::Damaged("a.csv:3: no number".to_owned()));
        assert!(wait(&faulty).unwrap_err().to_string().contains("an internal error"));
        assert!(wait(&good).is_ok());
    }

    #[test]
    fn what_nobody_waits_for_is_not_computed() {
        let (slow, archive) = start(9);
        slow.held_up.store(true, Ordering::SeqCst);
        let first: Vec<_> = [0, 1].map(|i| archive.snapshots(name(i), DAY).unwrap()).into();
        while !archive.shared.lock().queue.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(archive.snapshots(name(2), DAY));
        let last = archive.snapshots(name(3), DAY).unwrap();
        slow.held_up.store(false, Ordering::SeqCst);
        first.iter().chain([&last]).for_each(|flight| drop(wait(flight)));
        assert_eq!(slow.computed.load(Ordering::SeqCst), 3);
    }
}
