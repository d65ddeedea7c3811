//! What a computation that takes long says of itself, every few seconds. Never: a computation.

use std::time::{Duration, Instant};

/// Between two lines.
const EVERY: Duration = Duration::from_secs(5);

/// How far a computation is.
pub(crate) struct ProgressLog {
    what: &'static str,
    unit: &'static str,
    total: Option<usize>,
    say: fn(&str),
    began: Instant,
    said: Instant,
    done: usize,
    contracts: u64,
}

impl ProgressLog {
    /// Of `what`, in some unit, of which `total` are to be done if that is known; `say` takes the lines.
    pub(crate) fn new(what: &'static str, unit: &'static str, total: Option<usize>, say: fn(&str)) -> Self {
        let now = Instant::now();
        Self { what, unit, total, say, began: now, said: now, done: 0, contracts: 0 }
    }

    /// Takes in a batch, and says how far it is where nothing was said for a while.
    pub(crate) fn add(&mut self, done: usize, contracts: u64) {
        self.done += done;
        self.contracts += contracts;
        if self.said.elapsed() > EVERY {
            self.said = Instant::now();
            (self.say)(&self.line());
        }
    }

    /// Says that it is done, if it took long enough to have said something.
    pub(crate) fn end(&self) {
        if self.began.elapsed() > EVERY {
            (self.say)(&format!("{}, done", self.line()));
        }
    }

    fn line(&self) -> String {
        let Self { what, unit, done, contracts, .. } = self;
        let of = self.total.map_or_else(String::new, |total| format!(" of {total}"));
        // a name that changed meanwhile is computed twice
        let percent = self.total.map(|total| 100 * (*done).min(total) / total.max(1));
        let percent = percent.map_or_else(String::new, |percent| format!(" ({percent} %)"));
        let contracts = if *contracts > 0 { format!(", {contracts} contracts") } else { String::new() };
        format!("{what}: {done}{of} {unit}{percent}{contracts}, {:.1} s", self.began.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_names_part_contracts_and_seconds() {
        let mut progress = ProgressLog::new("first look", "names", Some(200), |_| ());
        progress.add(50, 1_000);
        progress.add(10, 234);
        assert_eq!(
            progress.line().split(", ").take(2).collect::<Vec<_>>(),
            ["first look: 60 of 200 names (30 %)", "1234 contracts"]
        );
        progress.add(190, 0);
        assert!(progress.line().contains("(100 %)") && progress.line().ends_with(" s"));
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let mut progress = ProgressLog::new("priced", "rows", None, |_| ());
        progress.add(70, 0);
        assert!(progress.line().starts_with("priced: 70 rows, "), "{}", progress.line());
    }
}
