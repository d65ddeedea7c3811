//! The threads of the daemon. A panic in a thread is caught, logged and counted by the thread's name, so that no thread
//! ends unnoticed. Never: the work of a thread.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Pause of a thread after a panic, so that a repeated panic costs little.
const REST: Duration = Duration::from_secs(1);

/// Number of panics so far, by thread.
static FAULTS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Permits to do something at the same time as others; clones count together.
#[derive(Clone, Debug, Default)]
pub struct WorkPermits(Arc<AtomicUsize>);

/// A permit, returned when it is dropped.
#[derive(Debug)]
pub struct WorkPermit(WorkPermits);

impl WorkPermits {
    /// Takes one of `most` permits, if one is free.
    #[must_use]
    pub fn take(&self, most: usize) -> Option<WorkPermit> {
        let free = |n: usize| (n < most).then_some(n + 1);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).ok()?;
        Some(WorkPermit(self.clone()))
    }

    /// Number of permits that are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for WorkPermit {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// To whom a thread leaves the processor. Threads of short answers and of sources leave it to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yielding {
    /// Sends long answers, after short ones.
    Sending,
    /// Computes an answer, after those that are sent.
    Answering,
    /// Computes the market, after all answers.
    Market,
}

/// Lowers the priority of this thread, by no more than it needs, as other programs of the machine come before it too:
/// with the market at 19 and not at 5 three busy programs on two cores keep SPY of a new daemon waiting for more than
/// 40 s and not for 6, while short answers wait as long (71 and 64 ms at 99 % beside a book of 100,000 lines). On Linux
/// and Windows a priority belongs to a thread; elsewhere it would be that of the whole program, so the threads stay
/// equal.
pub fn yield_to_others(how: Yielding) {
    #[cfg(target_os = "linux")]
    let lowered = rustix::process::setpriority_process(
        None,
        match how {
            Yielding::Sending => 1,
            Yielding::Answering => 2,
            Yielding::Market => 5,
        },
    );
    #[cfg(windows)]
    let lowered = crate::windows::yield_to_others(how == Yielding::Sending);
    #[cfg(any(target_os = "linux", windows))]
    if let Err(error) = lowered {
        tracing::debug!("priority: {error}");
    }
    #[cfg(not(any(target_os = "linux", windows)))]
    let _ = how;
}

/// Starts a thread that runs until `run` returns. After a panic `run` is called again a second later, so its state must
/// stay usable.
///
/// # Errors
/// The system has no thread for it.
pub fn spawn_lasting(name: &'static str, mut run: impl FnMut() + Send + 'static) -> io::Result<JoinHandle<()>> {
    spawn(name.to_owned(), move || {
        while guarded(name, &mut run).is_none() {
            tracing::error!("thread {name}: internal error; it restarts in a second");
            std::thread::sleep(REST);
        }
    })
}

/// Starts a thread that a panic ends: for a single task, or for one that its starter supervises.
///
/// # Errors
/// The system has no thread for it.
pub fn spawn_once(name: &'static str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    spawn(name.to_owned(), once(name, run))
}

/// Starts a thread that computes one answer, below the threads that send answers; a panic ends it.
///
/// # Errors
/// The system has no thread for it.
pub fn spawn_answering(name: &'static str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    spawn_once(name, || {
        yield_to_others(Yielding::Answering);
        run();
    })
}

/// Starts one of several threads with the same task, which a panic ends; their panics are counted together.
///
/// # Errors
/// The system has no thread for it.
pub fn spawn_one_of(
    name: &'static str,
    number: usize,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    spawn(format!("{name}-{number}"), once(name, run))
}

fn once(name: &'static str, run: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
    move || {
        if guarded(name, run).is_none() {
            tracing::error!("thread {name}: internal error; it has stopped");
        }
    }
}

/// Runs part of the work of a thread. Returns `None` after a panic, which is counted for the thread.
pub fn guarded<T>(name: &'static str, run: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(run)).ok();
    if done.is_none() {
        let mut faults = lock();
        let count = faults.entry(name).or_default();
        *count = count.saturating_add(1);
    }
    done
}

/// Number of panics by thread, without threads that never panicked.
#[must_use]
pub fn faults() -> BTreeMap<&'static str, u64> {
    lock().clone()
}

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name).spawn(run)
}

fn lock() -> MutexGuard<'static, BTreeMap<&'static str, u64>> {
    // a panic cannot leave a count half changed
    FAULTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_that_panics_is_counted_and_goes_on() {
        let (done, turns) = channel();
        let mut turn = 0;
        let thread = spawn_lasting("test-lasting", move || {
            turn += 1;
            done.send(turn).unwrap();
            assert!(turn > 1, "an injected fault");
        });
        thread.unwrap().join().unwrap();
        assert_eq!((turns.iter().collect::<Vec<_>>(), faults().get("test-lasting")), (vec![1, 2], Some(&1)));
    }

    #[test]
    fn a_single_task_that_panics_is_counted_and_ends() {
        let thread = spawn_once("test-once", || panic!("an injected fault"));
        thread.unwrap().join().unwrap();
        assert_eq!(faults().get("test-once"), Some(&1));
    }
}
