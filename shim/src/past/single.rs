//! Answers about one past moment: the last snapshot of each name at or before it. Never: a row.

use super::market::{PastMarket, PastRequest, landed};
use crate::past::archive::Flight;
use api::limits::NAMES_AT_ONCE;
use api::past::moment::AsOf;
use api::refusal::Refusal;
use api::rows::clock::Clock;
use api::vendors::layer::RequestContext;
use engine::store::chain::Chain;
use http::{Answer, Awaited};
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::sync::Arc;

/// Maximum names of one answer: fewer than may be queued for computation.
const NAMES_OF_A_DAY: usize = 1000;

/// A pending answer about one past moment.
pub(super) struct AwaitedMoment {
    market: Arc<PastMarket>,
    request: PastRequest,
    moment: AsOf,
    clock: Clock,
    /// Flights of the day, once the day is determined.
    flights: Option<Vec<Arc<Flight>>>,
}

impl Awaited for AwaitedMoment {
    fn look(&mut self) -> Option<Answer> {
        let found = self.find()?;
        Some(found.unwrap_or_else(|refusal| self.request.layer.refused(&refusal, &self.clock)))
    }
}

impl AwaitedMoment {
    pub(super) fn new(market: Arc<PastMarket>, request: PastRequest, moment: AsOf, clock: Clock) -> Self {
        Self { market, request, moment, clock, flights: None }
    }

    fn find(&mut self) -> Option<Result<Answer, Refusal>> {
        if self.flights.is_none() {
            let days = self.market.archive.days(&self.request.names)?;
            let day = self.moment.day(&self.market.zone).or(days.last().copied());
            match day.map_or(Ok(Vec::new()), |day| self.names_of(day)) {
                Ok(names) => {
                    self.flights = Some(day.map_or_else(Vec::new, |day| self.market.flights(&names, day)));
                }
                Err(refusal) => return Some(Err(refusal)),
            }
        }
        let of_day = match landed(self.flights.as_deref()?)? {
            Ok(of_day) => of_day,
            Err(refusal) => return Some(Err(refusal)),
        };
        let until = self.moment.until(&self.market.zone);
        let chains: Vec<Arc<Chain>> =
            of_day.iter().filter_map(|chains| chains.last_by(until)).map(|(_, chain)| Arc::clone(chain)).collect();
        if chains.is_empty() {
            let lacking = self.market.lacking(&self.request.names, self.moment, &of_day);
            return Some(Err((self.request.question.if_none)(&lacking)));
        }
        let asked = self.moment.instant(&self.market.zone);
        let layer = self.request.layer;
        let answer = |request, context: &RequestContext<'_>| layer.answer(request, context, context.clock());
        Some(Ok(self.market.show(&self.request, chains, asked, answer)))
    }

    /// Requested names: those of the request, or the symbols of the day that it lists.
    fn names_of(&self, day: Date) -> Result<Vec<Symbol>, Refusal> {
        if self.request.everything {
            let names = self.market.archive.names(day);
            let reason = "underlying=* with as_of serves days of at most 1000 names: name those that are wanted, or use \
                          greeksd batch";
            return if names.len() > NAMES_OF_A_DAY { Err(Refusal::Conflict { reason }) } else { Ok(names) };
        }
        let Some(prefixes) = &self.request.prefixes else { return Ok(self.request.names.clone()) };
        let begins = |name: &Symbol| prefixes.iter().any(|prefix| name.as_str().starts_with(prefix.as_str()));
        let mut names = self.market.archive.names(day);
        names.retain(|name| prefixes.is_empty() || begins(name));
        if names.len() > NAMES_AT_ONCE {
            let reason = "as_of lists at most 16 symbols at once: select them with symbol";
            return Err(Refusal::Conflict { reason });
        }
        Ok(names)
    }
}
