//! Work that takes long: on threads of its own, without the interpreter's lock, while the caller's thread says how far
//! it is and hears signals. Never: what is computed.

use crate::errors::JobError;
use history::watch::{JobPhase, JobWatch};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);
/// What phases are called.
const PHASES: [&str; 3] = ["read", "sorted", "computed"];

/// How far a work is, and whether it is to end.
#[derive(Debug, Default)]
pub(crate) struct WorkWatch {
    phase: AtomicUsize,
    total: AtomicU64,
    done: AtomicU64,
    is_stopped: AtomicBool,
}

impl WorkWatch {
    /// Asks the work to end.
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

/// Whether a work has ended.
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

    /// Waits a while; whether it has ended.
    fn wait(&self) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        *self.changed.wait_timeout_while(is_over, LOOK, |is_over| !*is_over).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Sets the end when it is dropped, after a panic too.
struct SetAtEnd<'a>(&'a End);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Does a work. `progress` is called with what is done, how much of it, and of how much, now and then.
///
/// # Errors
/// A signal's exception, or the callback's: the work has ended by then. A panic.
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
