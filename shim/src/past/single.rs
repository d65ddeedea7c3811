//! Answers about one past moment: the last snapshot of each name at or before it. Never: a row.

use super::chain::{AwaitedChains, ChainsAnswer};
use super::market::{PastMarket, PastRequest};
use api::limits::NAMES_AT_ONCE;
use api::past::moment::AsOf;
use api::refusal::Refusal;
use api::rows::clock::Clock;
use api::vendors::layer::RequestContext;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::sync::Arc;

/// Maximum names of one answer: fewer than may be queued for computation.
const NAMES_OF_A_DAY: usize = 1000;

/// The pending answer about a moment; refusals have the times of `clock`.
pub(super) fn awaited(market: Arc<PastMarket>, request: PastRequest, moment: AsOf, clock: Clock) -> AwaitedChains {
    let PastRequest { names, everything, prefixes, question, .. } = &request;
    let (names, question) = (names.clone(), question.clone());
    let (archive, listed, everything, prefixes) =
        (Arc::clone(&market.archive), names.clone(), *everything, prefixes.clone());
    let names_of = move |day: Date| match &prefixes {
        _ if everything => all_of(archive.names(day)),
        Some(prefixes) => beginning(archive.names(day), prefixes),
        None => Ok(listed.clone()),
    };
    let (layer, shown_by) = (request.layer, Arc::clone(&market));
    let then = move |chains| match chains {
        Ok(chains) => {
            let asked = moment.instant(&shown_by.zone);
            let answer = |parsed, context: &RequestContext<'_>| layer.answer(parsed, context, context.clock());
            shown_by.show(&request, chains, asked, answer)
        }
        Err(refusal) => layer.refused(&refusal, &clock),
    };
    let (names_of, then): (_, ChainsAnswer) = (Box::new(names_of), Box::new(then));
    AwaitedChains { market, names, names_of, moment, question, flights: None, then: Some(then) }
}

fn all_of(names: Vec<Symbol>) -> Result<Vec<Symbol>, Refusal> {
    let reason = "underlying=* with as_of serves days of at most 1000 names: name those that are wanted, or use \
                  greeksd batch";
    if names.len() > NAMES_OF_A_DAY { Err(Refusal::Conflict { reason }) } else { Ok(names) }
}

/// Symbols of a day with one of some prefixes; without prefixes all.
fn beginning(mut names: Vec<Symbol>, prefixes: &[Symbol]) -> Result<Vec<Symbol>, Refusal> {
    let begins = |name: &Symbol| prefixes.iter().any(|prefix| name.as_str().starts_with(prefix.as_str()));
    names.retain(|name| prefixes.is_empty() || begins(name));
    let reason = "as_of lists at most 16 symbols at once: select them with symbol";
    if names.len() > NAMES_AT_ONCE { Err(Refusal::Conflict { reason }) } else { Ok(names) }
}
