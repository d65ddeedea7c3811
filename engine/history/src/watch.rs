//! The observer of a job: it receives the progress, and may stop the job. Never: a clock, an output.

/// Phase of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobPhase {
    /// Files are read.
    Reading,
    /// Rows are sorted.
    Sorting,
    /// Names and days are computed and written.
    Computing,
}

/// Whoever watches a job.
pub trait JobWatch: Sync {
    /// A phase begins. `total` is its number of files when they are read, and its number of rows later.
    fn begin(&self, phase: JobPhase, total: u64);

    /// Reports `done` more items of the phase, and for files `rows` more rows.
    fn advance(&self, done: u64, rows: u64);

    /// True if the job is to end as soon as it can.
    fn is_stopped(&self) -> bool;
}

/// A watch that ignores progress and never stops the job.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl JobWatch for Unwatched {
    fn begin(&self, _: JobPhase, _: u64) {}

    fn advance(&self, _: u64, _: u64) {}

    fn is_stopped(&self) -> bool {
        false
    }
}
