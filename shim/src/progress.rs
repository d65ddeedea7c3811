//! What a computation that takes long says of itself. Never: a computation.

use std::time::{Duration, Instant};

/// Between two lines.
const EVERY: Duration = Duration::from_secs(5);

/// How far a computation is.
pub(crate) struct ProgressLog {
    what: &'static str,
    names: usize,
    began: Instant,
    said: Instant,
    done: usize,
    contracts: u64,
}

impl ProgressLog {
    /// Of `what`, over a number of names.
    pub(crate) fn new(what: &'static str, names: usize) -> Self {
        let now = Instant::now();
        Self { what, names, began: now, said: now, done: 0, contracts: 0 }
    }

    /// Takes in a batch, and says how far it is where nothing was said for a while.
    pub(crate) fn add(&mut self, names: usize, contracts: u64) {
        self.done += names;
        self.contracts += contracts;
        if self.said.elapsed() > EVERY {
            self.said = Instant::now();
            tracing::info!("{}", self.line());
        }
    }

    /// Says that it is done, if it took long enough to have said something.
    pub(crate) fn end(&self) {
        if self.began.elapsed() > EVERY {
            tracing::info!("{}, done", self.line());
        }
    }

    fn line(&self) -> String {
        let Self { what, names, done, contracts, began, .. } = self;
        // a name that changed meanwhile is computed twice
        let part = 100 * (*done).min(*names) / (*names).max(1);
        format!(
            "{what}: {done} of {names} names ({part} %), {contracts} contracts, {:.1} s",
            began.elapsed().as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_names_part_contracts_and_seconds() {
        let mut progress = ProgressLog::new("first look", 200);
        progress.add(50, 1_000);
        progress.add(10, 234);
        assert_eq!(
            progress.line().split(", ").take(2).collect::<Vec<_>>(),
            ["first look: 60 of 200 names (30 %)", "1234 contracts"]
        );
        progress.add(190, 0);
        assert!(progress.line().contains("(100 %)") && progress.line().ends_with(" s"));
    }
}
