//! Waits for the chain of one name at one past moment. Never: a row.

use super::market::{PastMarket, landed};
use crate::past::archive::Flight;
use api::past::moment::AsOf;
use api::past::{PastMoments, PastQuestion};
use api::refusal::Refusal;
use engine::store::chain::Chain;
use http::{Answer, Awaited};
use kernel::contract::Symbol;
use std::sync::Arc;

/// Makes an answer from a chain, or from the refusal if there is none.
pub(super) type ChainAnswer = Box<dyn FnOnce(Result<Arc<Chain>, Refusal>) -> Answer + Send>;

/// A pending answer about a chain.
pub(super) struct AwaitedChain {
    market: Arc<PastMarket>,
    names: Vec<Symbol>,
    moment: AsOf,
    question: PastQuestion,
    /// Flights of the day, once the day is determined.
    flights: Option<Vec<Arc<Flight>>>,
    /// Makes the answer; `None`: done.
    then: Option<ChainAnswer>,
}

impl AwaitedChain {
    pub(super) fn new(market: Arc<PastMarket>, names: Vec<Symbol>, question: PastQuestion, then: ChainAnswer) -> Self {
        let moment = match question.moments {
            PastMoments::One(moment) => moment,
            PastMoments::Many(span) => span.end,
        };
        Self { market, names, moment, question, flights: None, then: Some(then) }
    }

    /// The chain; `None`: it is being computed.
    fn find(&mut self) -> Option<Result<Arc<Chain>, Refusal>> {
        if self.flights.is_none() {
            let days = self.market.archive.days(&self.names)?;
            let day = self.moment.day(&self.market.zone).or(days.last().copied());
            self.flights = Some(day.map_or_else(Vec::new, |day| self.market.flights(&self.names, day)));
        }
        let of_day = match landed(self.flights.as_deref()?)? {
            Ok(of_day) => of_day,
            Err(refusal) => return Some(Err(refusal)),
        };
        let until = self.moment.until(&self.market.zone);
        let found = of_day.iter().find_map(|chains| chains.last_by(until)).map(|(_, chain)| Arc::clone(chain));
        let lacking = || (self.question.if_none)(&self.market.lacking(&self.names, self.moment, &of_day));
        Some(found.ok_or_else(lacking))
    }
}

impl Awaited for AwaitedChain {
    fn look(&mut self) -> Option<Answer> {
        let found = self.find()?;
        self.then.take().map(|then| then(found))
    }
}
