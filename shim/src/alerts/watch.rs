//! Rules compared with each new snapshot, and what came of them before.

use super::deliver::AlertSender;
use super::log::{AlertHit, AlertLog};
use super::rules::{AlertRule, AlertState, parse_rules};
use crate::positions::valued::ValuedBook;
use engine::snapshot::Snapshot;
use feeds::dir::FileStamp;
use kernel::contract::RootTable;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest file of rules.
const FILE_BYTES: u64 = 1 << 20;

/// The file of rules, and the state of each rule.
#[derive(Debug)]
pub struct AlertWatch {
    path: PathBuf,
    read: Option<FileStamp>,
    rules: Vec<AlertRule>,
    /// By the text of the rule, so that a file that is written again rings nothing twice.
    states: HashMap<String, KnownState>,
    log: Arc<AlertLog>,
    sender: AlertSender,
    roots: RootTable,
    began: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct KnownState {
    is_on: bool,
    /// The last hit that was passed on, since the start.
    rang: Option<Duration>,
    /// It has come true while it was quiet.
    is_held: bool,
}

impl AlertWatch {
    /// Opens a file of rules.
    ///
    /// # Errors
    /// It cannot be read: why, for the user.
    pub fn open(path: &Path, log: Arc<AlertLog>, sender: AlertSender) -> Result<Self, String> {
        let mut watch = Self {
            path: path.to_owned(),
            read: None,
            rules: Vec::new(),
            states: HashMap::new(),
            log,
            sender,
            roots: RootTable::embedded(),
            began: Instant::now(),
        };
        watch.reload().map_err(|why| format!("alerts {}: {why}", path.display()))?;
        Ok(watch)
    }

    /// Reads the file where it has changed; one that cannot be read leaves the rules as they are.
    fn reload(&mut self) -> Result<(), String> {
        let metadata = fs::metadata(&self.path).map_err(|error| error.to_string())?;
        let stamp = FileStamp::of(&metadata);
        if self.read == Some(stamp) {
            return Ok(());
        }
        self.read = Some(stamp);
        if metadata.len() > FILE_BYTES {
            return Err("longer than a megabyte".to_owned());
        }
        let text = fs::read_to_string(&self.path).map_err(|error| error.to_string())?;
        let (rules, complaints) = parse_rules(&text);
        for complaint in complaints.iter().take(20) {
            tracing::warn!("alerts {}: {complaint}", self.path.display());
        }
        tracing::info!("alerts {}: {} rules", self.path.display(), rules.len());
        self.states.retain(|text, _| rules.iter().any(|rule| rule.text == *text));
        self.rules = rules;
        Ok(())
    }

    /// Compares every rule with a new snapshot.
    pub fn look(&mut self, snapshot: &Snapshot, valued: &ValuedBook) {
        if let Err(why) = self.reload() {
            tracing::warn!("alerts {}: {why}; the last rules still count", self.path.display());
        }
        let now = self.began.elapsed();
        for rule in &self.rules {
            let value = rule.value(snapshot, valued, &self.roots);
            let known = self.states.entry(rule.text.clone()).or_default();
            let was_on = known.is_on;
            match rule.state(value) {
                AlertState::On => known.is_on = true,
                AlertState::Off => known.is_on = false,
                AlertState::Same => {}
            }
            let is_quiet = known.rang.is_some_and(|rang| now.saturating_sub(rang) < rule.quiet);
            let comes = known.is_on && (!was_on || known.is_held);
            known.is_held = comes && is_quiet;
            let goes = !known.is_on && was_on && !is_quiet;
            let rings = comes && !is_quiet;
            if !rings && !goes {
                continue;
            }
            if comes {
                known.rang = Some(now);
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
