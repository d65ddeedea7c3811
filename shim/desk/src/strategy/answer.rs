//! `GET /l1/strategy`: the request, answered on a thread among those of scenarios, whose tables it shares. Never: a
//! number.

use super::document::StrategyDocument;
use super::found::FoundLegs;
use crate::scenario::answer::ScenarioDesk;
use api::query::Query;
use api::refusal::Refusal;
use api::rows::binary::content_type;
use api::vendors::native;
use api::vendors::native_strategy::{self, StrategyRequest, StrategySubject};
use engine::scenario::ScenarioTables;
use engine::snapshot::Snapshot;
use http::Answer;
use jiff::tz::TimeZone;
use kernel::contract::{RootTable, Symbol};
use kernel::position::PositionLine;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Name of the route in metrics.
pub const ROUTE: &str = "strategy";
/// Bytes of the legs and the payoff of a strategy, about.
const BYTES: usize = 256 * 1024;

/// Data that a strategy is answered from.
#[derive(Clone, Debug)]
pub struct StrategySurroundings {
    /// The market.
    pub snapshot: Arc<Snapshot>,
    /// The positions.
    pub book: Arc<Vec<PositionLine>>,
    /// Names of roots.
    pub roots: Arc<RootTable>,
    /// The zone of times.
    pub zone: TimeZone,
    /// Lines below the title of a page.
    pub note: Vec<String>,
}

/// Parses a query.
///
/// # Errors
/// The refusal of a query that is malformed.
pub fn request_of(query: &str) -> Result<StrategyRequest, Refusal> {
    native_strategy::parse(&Query::parse(query))
}

/// The underlyings of a request, each once.
#[must_use]
pub fn names_of(request: &StrategyRequest, roots: &RootTable) -> Vec<Symbol> {
    let mut names: Vec<Symbol> = match &request.subject {
        StrategySubject::Legs { legs, .. } => {
            legs.iter().map(|leg| roots.underlying_of(leg.instrument.root())).collect()
        }
        StrategySubject::Positions { underlying, .. } | StrategySubject::Proposed { underlying, .. } => {
            vec![roots.canonical(*underlying)]
        }
    };
    names.sort_unstable();
    names.dedup();
    names
}

/// The answer to a request.
#[must_use]
pub fn answer(desk: &ScenarioDesk, request: StrategyRequest, around: StrategySurroundings) -> Answer {
    let work = move |tables: &ScenarioTables, _: &AtomicBool| {
        found(&request, &around, tables).unwrap_or_else(|why| refused(&why))
    };
    desk.compute(ROUTE, BYTES, work).unwrap_or_else(|refusal| refused(&refusal))
}

fn found(request: &StrategyRequest, around: &StrategySurroundings, tables: &ScenarioTables) -> Result<Answer, Refusal> {
    let StrategySurroundings { snapshot, book, roots, zone, note } = around;
    let today = snapshot.time.to_zoned_datetime(zone.clone()).date();
    let legs = FoundLegs::of(&request.subject, book, snapshot, roots, today)?;
    let document = StrategyDocument::of(&legs, request, tables);
    let kind = request.table.map_or(request.format.frame().content_type, content_type);
    Ok(match document.write(request, note, zone) {
        Ok(body) => Answer::full(ROUTE, 200, kind, body),
        Err(why) => {
            tracing::warn!("a strategy as a table: {why}");
            Answer::full(ROUTE, 500, "application/json", r#"{"error":"internal error"}"#)
        }
    })
}

/// The answer to a refused request.
#[must_use]
pub fn refused(refusal: &Refusal) -> Answer {
    native::refused(ROUTE, refusal)
}
