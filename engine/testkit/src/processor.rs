//! Processor time of one thread: what a machine that others use can still measure.

use std::time::Duration;

/// The processor time that this thread has used; time on the wall where the system does not say.
#[cfg(unix)]
#[must_use]
pub fn time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The processor time that this thread has used; time on the wall where the system does not say.
#[cfg(not(unix))]
#[must_use]
pub fn time() -> Duration {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}

/// Processor time of `work`.
pub fn took(work: impl FnOnce()) -> Duration {
    let began = time();
    work();
    time().saturating_sub(began)
}
