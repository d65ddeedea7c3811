//! Progress of a job, and the request to stop it. Never: a unit.

use history::watch::{JobPhase, JobWatch};
use host::log::say;
use host::progress::ProgressLog;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Shows the progress of a job on standard error, and stops the job on request.
pub(super) struct BatchWatch {
    is_quiet: bool,
    is_stopped: AtomicBool,
    progress: Mutex<Option<ProgressLog>>,
}

impl BatchWatch {
    pub(super) fn new(is_quiet: bool) -> Self {
        Self { is_quiet, is_stopped: AtomicBool::new(false), progress: Mutex::new(None) }
    }

    /// Requests the job to stop; returns true if it was requested before.
    pub(super) fn stop(&self) -> bool {
        self.is_stopped.swap(true, Ordering::AcqRel)
    }

    /// Ends the last phase.
    pub(super) fn end(&self) {
        if let Some(progress) = self.progress.lock().unwrap_or_else(PoisonError::into_inner).take() {
            progress.end();
        }
    }
}

impl JobWatch for BatchWatch {
    fn begin(&self, phase: JobPhase, total: u64) {
        let (what, unit) = match phase {
            JobPhase::Reading => ("read", "files"),
            JobPhase::Sorting => ("sorted", "rows"),
            JobPhase::Computing => ("computed", "rows"),
        };
        let say: fn(&str) = if self.is_quiet { |_| () } else { say };
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        let next = ProgressLog::new(what, unit, Some(total), say).with_pace();
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = progress.replace(next) {
            before.end();
        }
    }

    fn advance(&self, done: u64, rows: u64) {
        if let Some(progress) = &mut *self.progress.lock().unwrap_or_else(PoisonError::into_inner) {
            progress.add(usize::try_from(done).unwrap_or(usize::MAX), rows);
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }
}
