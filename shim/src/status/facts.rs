//! Facts that the market loop reports after a pass. Never: a request.

use super::spelling::three_decimals;
use engine::early::EarlyWork;
use engine::pass::StageTimes;
use engine::rates::source::RateSource;
use engine::rates::table::{DatedCurve, RateTable};
use jiff::{Timestamp, civil::Date};
use kernel::american::Counts;
use serde::Serialize;
use sources::facts::{OverrideFacts, RecordFacts, SourceFacts, StateFacts};

/// Facts of the market loop after a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarketFacts {
    /// True if the market is in session.
    pub market_open: bool,
    /// Number of contracts with Greeks.
    pub contracts_priced: u64,
    /// Durations of passes, and counts of the last one.
    pub pass: PassFacts,
    /// Number of records that the feed delivered.
    pub quotes_received: u64,
    /// Number of unused records, by reason.
    pub quotes_dropped: Vec<(&'static str, u64)>,
    /// Number of implied volatilities that needed a bracketed search, since the start.
    pub searches: u64,
    /// Counts of the work on early exercise, since the start.
    pub early: EarlyWork,
    /// Time in the stages of passes since the start, nanoseconds summed over threads.
    pub stages: StageTimes,
    /// Number of early exercise tables in memory, by kind.
    pub tables: Counts,
    /// Bytes of the state that passes keep: mostly early exercise tables.
    pub state_bytes: u64,
    /// Bytes of the books.
    pub book_bytes: u64,
    /// Bytes of the closing volatilities of previous sessions.
    pub session_bytes: u64,
    /// Number of names whose last computation panicked: their chains are older than the pass.
    pub failing: usize,
    /// Number of unusable files of the feed; their last readable versions are served.
    pub files_unusable: usize,
    /// Number of names that were saved before the start and are not recomputed yet.
    pub restored: usize,
    /// Number of computations that panicked, since the start.
    pub failures: u64,
    /// Facts of the sources of the feed.
    pub sources: Vec<SourceFacts>,
    /// Facts of the recorder, if there is one.
    pub record: Option<RecordFacts>,
    /// Facts of the state-writer thread, if there is one.
    pub state: Option<StateFacts>,
    /// Overrides in force, if a file of overrides is given.
    pub overrides: Option<OverrideFacts>,
    /// The discount curve in force; `None` before the first pass.
    pub rates: Option<RateFacts>,
}

impl MarketFacts {
    /// True if the recording or the state folder cannot be written to.
    #[must_use]
    pub fn is_unsaved(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.failing)
            || self.state.as_ref().is_some_and(|state| state.failing)
    }
}

/// The discount curve in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateFacts {
    /// Source of the curve.
    pub source: &'static str,
    /// Date of the curve.
    pub as_of: Option<String>,
    /// Days from the date of the curve to the newest values.
    pub age_days: Option<i64>,
    /// Pairs of tenor (days) and rate (continuously compounded) at `SHOWN_DAYS`.
    pub nodes: Vec<(f64, f64)>,
    /// Warning about the curve, with a remedy.
    pub warning: Option<String>,
}

/// Shown tenors of a curve, days.
const SHOWN_DAYS: [f64; 7] = [7.0, 30.0, 91.0, 182.0, 365.0, 730.0, 1826.0];

impl RateFacts {
    /// Describes the curve in force for values at an instant of a date.
    #[must_use]
    pub fn of(rates: &RateTable, at: Timestamp, date: Date) -> Self {
        let DatedCurve { curve, origin } = rates.on(at, date);
        let node = |days: f64| (days, (curve.rate(days / 365.0) * 1e6).round() / 1e6);
        let cure = "add --feed treasury:, a rates.csv, or usable quotes of an index such as SPX to the feed";
        let warning = match (origin.source, rates.disagreement(at, date)) {
            (RateSource::Zero, _) => Some("rates are zero because of --rates zero".to_owned()),
            (_, Some(apart)) => Some(format!(
                "the given curve has {:.3} % at {} days, European chains imply {:.3} %; the given curve is used",
                apart.given * 100.0,
                apart.tenor_days,
                apart.implied * 100.0
            )),
            (RateSource::Simulated | RateSource::User, _) => None,
            _ => origin.is_old(at).then(|| format!("the newest curve is of {}: {cure}", display(origin.as_of))),
        };
        Self {
            source: origin.source.name(),
            as_of: origin.as_of.map(|date| date.to_string()),
            age_days: origin.age_days(at),
            nodes: SHOWN_DAYS.map(node).to_vec(),
            warning,
        }
    }
}

fn display(date: Option<Date>) -> String {
    date.map_or_else(|| "no date".to_owned(), |date| date.to_string())
}

/// Durations of the passes, and counts of the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PassFacts {
    /// Duration of the last pass, milliseconds.
    #[serde(serialize_with = "three_decimals")]
    pub last_ms: f64,
    /// Median duration of passes, milliseconds.
    #[serde(serialize_with = "three_decimals")]
    pub p50_ms: f64,
    /// Longest duration of a pass, milliseconds.
    #[serde(serialize_with = "three_decimals")]
    pub max_ms: f64,
    /// Number of expiries that the last pass computed.
    pub expiries: u64,
    /// Number of contracts that the last pass computed.
    pub contracts: u64,
}
