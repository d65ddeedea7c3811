//! Long computations: they run on threads of their own without the interpreter's lock, while the caller's thread
//! reports progress and handles signals. Never: a computation.

use crate::errors::JobError;
use history::watch::{JobPhase, JobWatch};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Interval between checks of signals and progress.
const LOOK: Duration = Duration::from_millis(50);
/// Names of the phases.
const PHASES: [&str; 3] = ["read", "sorted", "computed"];

/// Progress of a computation, and the request to stop it.
#[derive(Debug, Default)]
pub(crate) struct WorkWatch {
    phase: AtomicUsize,
    total: AtomicU64,
    done: AtomicU64,
    is_stopped: AtomicBool,
}

impl WorkWatch {
    /// Requests the computation to stop.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }
}

impl JobWatch for WorkWatch {
    fn begin(&self, phase: JobPhase, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        let phase = match phase {
            JobPhase::Reading => 0,
            JobPhase::Sorting => 1,
            JobPhase::Computing => 2,
        };
        self.phase.store(phase, Ordering::Release);
    }

    fn advance(&self, done: u64, _: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }
}

/// The end of a computation.
#[derive(Default)]
struct End {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl End {
    fn set(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for a short time; returns true if the computation has ended.
    fn wait(&self) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        *self.changed.wait_timeout_while(is_over, LOOK, |is_over| !*is_over).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Sets the end when dropped, even after a panic.
struct SetAtEnd<'a>(&'a End);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs a computation. `progress` is called at intervals with the phase, the number done and the total.
///
/// # Errors
/// The exception of a signal or of the callback, after the computation has ended; or a panic.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    watch: &WorkWatch,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let end = End::default();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let _end = SetAtEnd(&end);
            work()
        });
        let mut interrupted = None;
        while !py.detach(|| end.wait()) {
            if interrupted.is_some() {
                continue;
            }
            let continued = py.check_signals().and_then(|()| report(watch, progress));
            if let Err(error) = continued {
                watch.stop();
                interrupted = Some(error);
            }
        }
        let done = py.detach(|| worker.join());
        match (interrupted, done) {
            (Some(error), _) => Err(error),
            (None, Ok(done)) => report(watch, progress).map(|()| done),
            (None, Err(_)) => Err(JobError::new_err("a computation panicked; this is an error of greeksd")),
        }
    })
}

fn report(watch: &WorkWatch, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let phase = PHASES[watch.phase.load(Ordering::Acquire)];
    let (done, total) = (watch.done.load(Ordering::Relaxed), watch.total.load(Ordering::Relaxed));
    progress.call1((phase, done.min(total), total)).map(drop)
}
