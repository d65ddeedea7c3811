//! Processor time instead of time on the wall: what a machine that others use can still measure.

use std::time::{Duration, Instant};

/// The processor time that the calling thread uses to do `work` `n` times.
#[must_use]
pub fn of_thread(n: u64, work: impl FnMut()) -> Duration {
    spent(rustix::time::ClockId::ThreadCPUTime, repeated(n, work))
}

/// The processor time that all threads of the program use meanwhile.
#[must_use]
pub fn of_process(n: u64, work: impl FnMut()) -> Duration {
    spent(rustix::time::ClockId::ProcessCPUTime, repeated(n, work))
}

/// Duration of one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// On the wall.
    pub wall: Duration,
    /// Processor time of all threads of the program.
    pub processor: Duration,
}

/// Returns the result of `work` and its duration.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, Took) {
    let (began, mut result) = (Instant::now(), None);
    let processor = spent(rustix::time::ClockId::ProcessCPUTime, || result = Some(work()));
    (result.expect("it was called"), Took { wall: began.elapsed(), processor })
}

fn repeated(n: u64, mut work: impl FnMut()) -> impl FnOnce() {
    move || (0..n).for_each(|_| work())
}

fn spent(clock: rustix::time::ClockId, work: impl FnOnce()) -> Duration {
    let read = || {
        let time = rustix::time::clock_gettime(clock);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    let began = read();
    work();
    read() - began
}
