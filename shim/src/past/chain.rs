//! Waits for the last snapshots of some names at or before one past moment. Never: a row.

use super::market::{PastMarket, landed};
use crate::past::archive::Flight;
use api::past::PastQuestion;
use api::past::moment::AsOf;
use api::refusal::Refusal;
use engine::store::chain::Chain;
use http::{Answer, Awaited};
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::sync::Arc;

/// Makes an answer from chains, at least one, or from the refusal if there is none.
pub(super) type ChainsAnswer = Box<dyn FnOnce(Result<Vec<Arc<Chain>>, Refusal>) -> Answer + Send>;

/// The names whose chains of a day are wanted.
pub(super) type NamesOfDay = Box<dyn Fn(Date) -> Result<Vec<Symbol>, Refusal> + Send>;

/// A pending answer about chains.
pub(super) struct AwaitedChains {
    pub(super) market: Arc<PastMarket>,
    /// Names whose days are searched.
    pub(super) names: Vec<Symbol>,
    pub(super) names_of: NamesOfDay,
    pub(super) moment: AsOf,
    pub(super) question: PastQuestion,
    /// Flights of the day, once the day is determined.
    pub(super) flights: Option<Vec<Arc<Flight>>>,
    /// Makes the answer; `None`: done.
    pub(super) then: Option<ChainsAnswer>,
}

impl AwaitedChains {
    /// The chains; `None`: they are being computed.
    fn find(&mut self) -> Option<Result<Vec<Arc<Chain>>, Refusal>> {
        if self.flights.is_none() {
            let days = self.market.archive.days(&self.names)?;
            let day = self.moment.day(&self.market.zone).or(days.last().copied());
            match day.map_or(Ok(Vec::new()), |day| Ok(self.market.flights(&(self.names_of)(day)?, day))) {
                Ok(flights) => self.flights = Some(flights),
                Err(refusal) => return Some(Err(refusal)),
            }
        }
        let of_day = match landed(self.flights.as_deref()?)? {
            Ok(of_day) => of_day,
            Err(refusal) => return Some(Err(refusal)),
        };
        let until = self.moment.until(&self.market.zone);
        let last = of_day.iter().filter_map(|chains| chains.last_by(until));
        let chains: Vec<Arc<Chain>> = last.map(|(_, chain)| Arc::clone(chain)).collect();
        let lacking = || (self.question.if_none)(&self.market.lacking(&self.names, self.moment, &of_day));
        Some(if chains.is_empty() { Err(lacking()) } else { Ok(chains) })
    }
}

impl Awaited for AwaitedChains {
    fn look(&mut self) -> Option<Answer> {
        let found = self.find()?;
        self.then.take().map(|then| then(found))
    }
}
