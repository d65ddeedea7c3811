//! Compares rules with each new snapshot and when they change, and keeps the state of each rule.

use super::deliver::AlertSender;
use super::log::{AlertHit, AlertLog};
use super::rules::{AlertRule, AlertState, Compared, NameTerms, exercised, parse_rules};
use crate::positions::valued::ValuedBook;
use crate::watched_file::{self, WatchedFile};
use api::metrics::NameRows;
use arc_swap::ArcSwap;
use engine::closes::Closes;
use engine::snapshot::Snapshot;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::limits;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of complaints about rules that are logged.
const PLACES_SHOWN: usize = 20;

/// The file of rules, and the state of each rule.
#[derive(Debug)]
pub struct AlertWatch {
    file: WatchedFile,
    rules: Vec<AlertRule>,
    /// State by the text of the rule: a rule that stays in a changed file keeps its state.
    states: HashMap<String, KnownState>,
    log: Arc<AlertLog>,
    sender: AlertSender,
    closes: Arc<ArcSwap<Closes>>,
    rows: Arc<NameRows>,
    roots: RootTable,
    calendar: Calendar,
    began: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct KnownState {
    is_on: bool,
    /// The last number.
    value: f64,
    /// Time from the start to the last hit.
    last_hit: Option<Duration>,
    /// The condition became true during the quiet period.
    is_delayed: bool,
    /// Name, contract or positions of the rule are not there, which was logged.
    is_unserved: bool,
}

impl AlertWatch {
    /// Opens a file of rules.
    ///
    /// # Errors
    /// Why the file cannot be read, for the user.
    pub fn open(path: &Path, log: Arc<AlertLog>, sender: AlertSender) -> Result<Self, String> {
        let mut watch = Self {
            file: WatchedFile::open("alerts", path)?,
            rules: Vec::new(),
            states: HashMap::new(),
            log,
            sender,
            closes: Arc::default(),
            rows: Arc::default(),
            roots: RootTable::embedded(),
            calendar: Calendar::embedded(),
            began: Instant::now(),
        };
        watch.reload().map_err(|why| format!("alerts {}: {why}", path.display()))?;
        Ok(watch)
    }

    /// Adds the closes of earlier sessions, and the metrics of names for all who ask.
    #[must_use]
    pub fn with_metrics(self, closes: Arc<ArcSwap<Closes>>, rows: Arc<NameRows>) -> Self {
        Self { closes, rows, ..self }
    }

    /// Reads the file again once it has changed and settled, and returns whether it did; an unreadable file leaves the
    /// rules as they are.
    fn reload(&mut self) -> Result<bool, String> {
        let Some(is_there) = self.file.changed(self.began.elapsed()) else { return Ok(false) };
        let path = self.file.path();
        if !is_there {
            return Err("the file is gone".to_owned());
        }
        let text = String::from_utf8(watched_file::read(path, &limits::ALERT_BYTES)?).map_err(|_| "not UTF-8 text")?;
        let (rules, complaints) = parse_rules(&text);
        for complaint in complaints.iter().take(PLACES_SHOWN) {
            tracing::warn!("alerts {}: {complaint}", path.display());
        }
        tracing::info!("alerts {}: {} rules", path.display(), rules.len());
        self.states.retain(|text, _| rules.iter().any(|rule| rule.text == *text));
        self.rules = rules;
        Ok(true)
    }

    /// The underlyings of the rules.
    pub fn names(&self) -> impl Iterator<Item = Symbol> {
        self.rules.iter().filter_map(|rule| rule.name(&self.roots))
    }

    /// Compares every rule, if the values are new or the rules have changed.
    pub fn look(&mut self, snapshot: &Snapshot, valued: &ValuedBook, is_new: bool) {
        let is_read = self.reload().unwrap_or_else(|why| {
            tracing::warn!("alerts {}: {why}; the last rules still count", self.file.path().display());
            false
        });
        if !is_new && !is_read {
            return;
        }
        let (now, closes) = (self.began.elapsed(), self.closes.load());
        let exercised = exercised(&self.rules, snapshot, valued, &self.roots);
        let compared = Compared {
            snapshot,
            valued,
            exercised: &exercised,
            closes: &closes,
            rows: &self.rows,
            terms: &NameTerms::default(),
            roots: &self.roots,
            calendar: &self.calendar,
        };
        for rule in &self.rules {
            let value = rule.value(&compared);
            let known = self.states.entry(rule.text.clone()).or_default();
            // until every name was computed once, a missing one may still come
            let why = rule.unserved(snapshot, valued, &self.roots).filter(|_| snapshot.pending().is_empty());
            if let Some(why) = why.as_ref().filter(|_| !known.is_unserved) {
                tracing::warn!("alerts {}: line {}: {}: {why}", self.file.path().display(), rule.line, rule.text);
            }
            known.is_unserved = why.is_some();
            let grows = rule.is_count() && value > known.value;
            if value.is_finite() {
                known.value = value;
            }
            let was_on = known.is_on;
            match rule.state(value) {
                AlertState::On => known.is_on = true,
                AlertState::Off => known.is_on = false,
                AlertState::Same => {}
            }
            let is_quiet = known.last_hit.is_some_and(|hit| now.saturating_sub(hit) < rule.quiet);
            let comes = known.is_on && (!was_on || known.is_delayed || grows);
            known.is_delayed = comes && is_quiet;
            let goes = !known.is_on && was_on && !is_quiet;
            let rings = comes && !is_quiet;
            if !rings && !goes {
                continue;
            }
            if comes {
                known.last_hit = Some(now);
            }
            let hit = AlertHit {
                number: 0,
                rule: rule.text.clone(),
                line: rule.line,
                value,
                is_on: known.is_on,
                at: snapshot.time,
            };
            let hit = self.log.add(hit);
            tracing::warn!("alert {}: {}: {value:.6} ({})", hit.number, rule.text, if comes { "on" } else { "off" });
            self.sender.send(&hit);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn rules_come_of_regular_files_and_the_last_ones_count() {
        let folder = std::env::temp_dir().join(format!("greeksd-rules-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let path = folder.join("rules");
        let open = || AlertWatch::open(&path, Arc::default(), AlertSender::default());
        let pipe = || assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        pipe();
        assert!(open().unwrap_err().contains("not a regular file"));
        fs::remove_file(&path).unwrap();
        fs::write(&path, " ".repeat(limits::ALERT_BYTES.most as usize + 1)).unwrap();
        assert!(open().is_err());
        fs::write(&path, "SPY spot > 1\n").unwrap();
        let mut watch = open().unwrap();
        let (snapshot, book) = (Snapshot::empty(Vec::new()), ValuedBook::default());
        fs::remove_file(&path).unwrap();
        pipe();
        watched_file::read_again();
        watch.look(&snapshot, &book, false);
        assert_eq!(watch.rules.len(), 1);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "SPY spot > 1\nSPY spot > 2\n").unwrap();
        watched_file::read_again();
        watch.look(&snapshot, &book, false);
        assert_eq!(watch.rules.len(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
