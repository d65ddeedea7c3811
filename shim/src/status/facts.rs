//! What the market loop says of itself after a pass. Never: a request.

use super::spelling::three_decimals;
use crate::source::facts::{OverrideFacts, RecordFacts, SourceFacts};
use engine::kernel::american::Counts;
use serde::Serialize;

/// What the market loop knows after a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarketFacts {
    /// The market is in session.
    pub market_open: bool,
    /// Contracts with Greeks.
    pub contracts_priced: u64,
    /// The passes so far.
    pub pass: PassFacts,
    /// Records that the feed delivered.
    pub quotes_received: u64,
    /// Records that were not used, by reason.
    pub quotes_dropped: Vec<(&'static str, u64)>,
    /// Implied volatilities that needed a bracketed search, since the start.
    pub searches: u64,
    /// Blocks of contracts whose early exercise was taken from its tables anew, since the start.
    pub blocks_refreshed: u64,
    /// The tables of early exercise held.
    pub tables: Counts,
    /// Names whose last computation panicked: their chains are older than the pass.
    pub failing: usize,
    /// Files of the feed that cannot be used as they are: what was last read of them is served.
    pub files_unusable: usize,
    /// Names that are served as they were before the program was started, until they are computed.
    pub restored: usize,
    /// Computations that panicked, since the start.
    pub failures: u64,
    /// What the sources of the feed say of themselves.
    pub sources: Vec<SourceFacts>,
    /// What the recorder says of itself, if there is one.
    pub record: Option<RecordFacts>,
    /// What goes before feeds and quotes, if anything may.
    pub overrides: Option<OverrideFacts>,
}

/// Times of the passes, and what the last one did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PassFacts {
    /// The last pass, milliseconds.
    #[serde(serialize_with = "three_decimals")]
    pub last_ms: f64,
    /// The median pass.
    #[serde(serialize_with = "three_decimals")]
    pub p50_ms: f64,
    /// The longest pass.
    #[serde(serialize_with = "three_decimals")]
    pub max_ms: f64,
    /// Expiries that the last pass computed.
    pub expiries: u64,
    /// Contracts that the last pass computed.
    pub contracts: u64,
}
