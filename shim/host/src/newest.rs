//! A thread that does one job while at most one other waits; further jobs are merged into the waiting one. So a disk
//! that hangs delays only this thread, and costs the memory of two jobs. Never: the contents of a job.

use crate::{faults, threads};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A thread, and the job that waits for it.
#[derive(Debug)]
pub struct NewestJob<T> {
    shared: Arc<NewestShared<T>>,
}

#[derive(Debug)]
struct NewestShared<T> {
    state: Mutex<NewestState<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct NewestState<T> {
    waiting: Option<T>,
    /// Start of the running job.
    busy_since: Option<Instant>,
    is_ending: bool,
    has_ended: bool,
}

impl<T> Clone for NewestJob<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T: Send + 'static> NewestJob<T> {
    /// Starts the thread; `work` does a job.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(name: &'static str, mut work: impl FnMut(T) + Send + 'static) -> io::Result<Self> {
        let state = NewestState { waiting: None, busy_since: None, is_ending: false, has_ended: false };
        let shared = Arc::new(NewestShared { state: Mutex::new(state), changed: Condvar::new() });
        let own = Arc::clone(&shared);
        threads::spawn_lasting(name, move || {
            while let Some(job) = own.next() {
                faults::here(name);
                work(job);
            }
        })?;
        Ok(Self { shared })
    }

    /// Submits a job; `merge` makes it from the waiting job, if there is one.
    pub fn put(&self, merge: impl FnOnce(Option<T>) -> T) {
        let mut state = self.shared.lock();
        let waiting = state.waiting.take();
        state.waiting = Some(merge(waiting));
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Time that the running job has taken so far; zero without one.
    #[must_use]
    pub fn busy_for(&self) -> Duration {
        self.shared.lock().busy_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Ends the thread after the last job.
    pub fn end(&self) {
        self.shared.lock().is_ending = true;
        self.shared.changed.notify_all();
    }

    /// Waits until the last job is done. False if that takes longer than `patience`; the thread then goes on by itself.
    #[must_use]
    pub fn has_ended_within(&self, patience: Duration) -> bool {
        let state = self.shared.lock();
        let waited = self.shared.changed.wait_timeout_while(state, patience, |state| !state.has_ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }
}

impl<T> NewestShared<T> {
    fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            state.busy_since = None;
            if let Some(job) = state.waiting.take() {
                state.busy_since = Some(Instant::now());
                return Some(job);
            }
            if state.is_ending {
                state.has_ended = true;
                drop(state);
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, NewestState<T>> {
        // a panic cannot leave the state half changed
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> NewestJob<T> {
    /// A queue without a thread, for tests of submitted jobs.
    #[must_use]
    pub fn without_thread() -> Self {
        let state = NewestState { waiting: None, busy_since: None, is_ending: false, has_ended: false };
        Self { shared: Arc::new(NewestShared { state: Mutex::new(state), changed: Condvar::new() }) }
    }

    /// Takes the waiting job, in place of the thread.
    #[must_use]
    pub fn take_waiting(&self) -> Option<T> {
        self.shared.lock().waiting.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_comes_while_a_job_hangs_is_merged_into_one() {
        let ((done, jobs), (open, gate)) = (channel(), channel::<()>());
        let worker = NewestJob::start("test-newest", move |job: Vec<u32>| {
            done.send(job).unwrap();
            let _ = gate.recv();
        });
        let worker = worker.unwrap();
        let put = |n: u32| worker.put(|waiting| waiting.into_iter().flatten().chain([n]).collect());
        put(0);
        assert_eq!(jobs.recv_timeout(LONG).unwrap(), [0]);
        (1..=3).for_each(put);
        worker.end();
        assert!(!worker.has_ended_within(Duration::from_millis(20)), "the first hangs");
        assert!(worker.busy_for() > Duration::ZERO);
        open.send(()).unwrap();
        assert_eq!(jobs.recv_timeout(LONG).unwrap(), [1, 2, 3]);
        open.send(()).unwrap();
        assert!(worker.has_ended_within(LONG));
        assert!(worker.busy_for() < Duration::from_micros(1));
    }

    #[test]
    fn a_job_that_panics_costs_itself() {
        let (done, jobs) = channel();
        let worker = NewestJob::start("test-newest-fault", move |job: u32| {
            assert!(job != 1, "an injected fault");
            done.send(job).unwrap();
        });
        let worker = worker.unwrap();
        worker.put(|_| 1);
        while worker.busy_for() == Duration::ZERO && !threads::faults().contains_key("test-newest-fault") {
            std::thread::yield_now();
        }
        worker.put(|_| 2);
        assert_eq!(jobs.recv_timeout(LONG).unwrap(), 2);
        assert_eq!(threads::faults().get("test-newest-fault"), Some(&1));
        worker.end();
        assert!(worker.has_ended_within(LONG));
    }
}
