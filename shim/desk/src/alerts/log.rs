//! The last hits of alert rules, for streams.

use api::rows::clock::Stamp;
use api::rows::frame::json_text;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of kept hits.
const KEPT: usize = 256;

/// A rule whose condition has become true or false.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertHit {
    /// Serial number, from 1.
    pub number: u64,
    /// Text of the rule.
    pub rule: String,
    /// Line of the rule in the file, from 1.
    pub line: u64,
    /// The compared number.
    pub value: f64,
    /// True if the condition has become true, false if it has become false.
    pub is_on: bool,
    /// Time of the values.
    pub at: Timestamp,
}

impl AlertHit {
    /// The hit as JSON, on one line.
    #[must_use]
    pub fn json(&self) -> String {
        let at = Stamp::EasternOffsetMillis
            .text(&self.at.to_zoned_datetime(TimeZone::get("America/New_York").unwrap_or(TimeZone::UTC)));
        let state = if self.is_on { "on" } else { "off" };
        format!(
            "{{\"number\":{},\"rule\":{},\"line\":{},\"value\":{},\"state\":\"{state}\",\"time\":\"{at}\"}}",
            self.number,
            json_text(&self.rule),
            self.line,
            if self.value.is_finite() { self.value.to_string() } else { "null".to_owned() },
        )
    }
}

/// The last hits.
#[derive(Debug, Default)]
pub struct AlertLog {
    hits: Mutex<KeptHits>,
}

#[derive(Debug, Default)]
struct KeptHits {
    last: u64,
    hits: VecDeque<AlertHit>,
}

impl AlertLog {
    /// Adds a hit and returns it with its number.
    pub fn add(&self, hit: AlertHit) -> AlertHit {
        let mut kept = self.kept();
        kept.last = kept.last.saturating_add(1);
        let hit = AlertHit { number: kept.last, ..hit };
        kept.hits.push_back(hit.clone());
        if kept.hits.len() > KEPT {
            kept.hits.pop_front();
        }
        hit
    }

    /// Number of the last hit; 0: there was none.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.kept().last
    }

    /// Number of the last hit, and the kept hits after `number`.
    #[must_use]
    pub fn since(&self, number: u64) -> (u64, Vec<AlertHit>) {
        let kept = self.kept();
        if kept.last == number {
            return (number, Vec::new());
        }
        (kept.last, kept.hits.iter().filter(|hit| hit.number > number).cloned().collect())
    }

    fn kept(&self) -> MutexGuard<'_, KeptHits> {
        // a hit is added whole or not at all
        self.hits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hits_are_kept() {
        let log = AlertLog::default();
        let hit = |value: f64| AlertHit {
            number: 0,
            rule: "SPY spot > 1".to_owned(),
            line: 1,
            value,
            is_on: true,
            at: Timestamp::UNIX_EPOCH,
        };
        (0..300).for_each(|n| drop(log.add(hit(f64::from(n)))));
        let (last, hits) = log.since(298);
        assert_eq!((last, hits.len(), log.since(300).1.len(), log.since(0).1.len()), (300, 2, 0, 256));
        assert!(hits[1].json().starts_with(r#"{"number":300,"rule":"SPY spot > 1","line":1,"value":299,"state":"on""#));
    }
}
