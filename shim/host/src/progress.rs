//! Reports the progress of a long computation every few seconds. Never: a computation.

use std::time::{Duration, Instant};

/// Interval between two lines.
const EVERY: Duration = Duration::from_secs(5);

/// Progress of a computation.
pub struct ProgressLog {
    what: &'static str,
    unit: &'static str,
    total: Option<usize>,
    /// True if lines have the rate and the remaining time.
    has_pace: bool,
    say: fn(&str),
    began: Instant,
    reported: Instant,
    done: usize,
    contracts: u64,
}

impl ProgressLog {
    /// Begins the progress of `what`, counted in `unit`; `total`: number to do, if known; `say` takes the lines.
    pub fn new(what: &'static str, unit: &'static str, total: Option<usize>, say: fn(&str)) -> Self {
        let now = Instant::now();
        Self { what, unit, total, has_pace: false, say, began: now, reported: now, done: 0, contracts: 0 }
    }

    /// Adds the rate and the remaining time to the lines.
    pub fn with_pace(self) -> Self {
        Self { has_pace: true, ..self }
    }

    /// Counts a batch, and reports the progress if the last report is old.
    pub fn add(&mut self, done: usize, contracts: u64) {
        self.done += done;
        self.contracts += contracts;
        if self.reported.elapsed() > EVERY {
            self.reported = Instant::now();
            (self.say)(&self.line());
        }
    }

    /// Reports the end of a computation that took long.
    pub fn end(&self) {
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
        let seconds = self.began.elapsed().as_secs_f64();
        let pace = if self.has_pace { self.pace(seconds) } else { String::new() };
        format!("{what}: {done}{of} {unit}{percent}{contracts}, {seconds:.1} s{pace}")
    }

    /// Contracts or other units per second, and the remaining time at this rate.
    fn pace(&self, seconds: f64) -> String {
        let done = self.done as f64;
        let (n, unit) = if self.contracts > 0 { (self.contracts as f64, "contracts") } else { (done, self.unit) };
        let rate = format!(", {:.0} {unit}/s", n / seconds.max(1e-3));
        let left = self.total.filter(|&total| self.done > 0 && total > self.done);
        let left = left.map(|total| duration_text(seconds * (total as f64 - done) / done));
        left.map_or(rate.clone(), |left| format!("{rate}, {left} left"))
    }
}

/// A rounded duration.
fn duration_text(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
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
    fn pace_and_time_left_are_said_where_they_are_asked_for() {
        let mut progress = ProgressLog::new("computed", "rows", Some(400), |_| ()).with_pace();
        progress.add(100, 0);
        assert_eq!(progress.pace(50.0), ", 2 rows/s, 2 min left");
        assert_eq!(progress.pace(10.0), ", 10 rows/s, 30 s left");
        assert_eq!(progress.pace(3600.0), ", 0 rows/s, 3.0 h left");
        progress.add(300, 0);
        assert_eq!(progress.pace(40.0), ", 10 rows/s");
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let mut progress = ProgressLog::new("priced", "rows", None, |_| ());
        progress.add(70, 0);
        assert!(progress.line().starts_with("priced: 70 rows, "), "{}", progress.line());
    }
}
