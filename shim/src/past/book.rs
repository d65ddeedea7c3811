//! Waits for the chains of some names at an earlier and a later moment, and on the days between on which contracts of
//! them settle. Never: a row.

use super::archive::{DayChains, Flight};
use super::market::{PastMarket, landed};
use api::past::moment::{AsOf, date_of};
use api::refusal::Refusal;
use api::vendors::native_positions::{ExplainedSince, ExplainedSpan};
use desk::explained::book::{ExplainedMarket, SettlementPrices};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use http::{Answer, Awaited};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::contract::Symbol;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Maximum days of names of an answer: fewer than may be queued for computation.
const DAYS_MOST: usize = 1000;

/// Names at two moments.
pub struct BookQuestion {
    /// The underlyings.
    pub names: Vec<Symbol>,
    /// The dates on which contracts of them settle.
    pub expiries: Vec<(Symbol, Date)>,
    /// The moments.
    pub span: ExplainedSpan,
    /// The market of now.
    pub live: Arc<Snapshot>,
}

/// Makes an answer from the market at two moments, or from the refusal if there is none.
pub(super) type BookAnswer = Box<dyn FnOnce(Result<ExplainedMarket, Refusal>) -> Answer + Send>;

/// A pending answer about two moments.
pub(super) struct AwaitedBook {
    market: Arc<PastMarket>,
    question: BookQuestion,
    /// The days, once they are determined.
    days: Option<BookDays>,
    /// Makes the answer; `None`: done.
    then: Option<BookAnswer>,
}

/// The days of a question, and their flights.
struct BookDays {
    since: (Date, Timestamp),
    until: Option<(Date, Timestamp)>,
    keys: Vec<(Symbol, Date)>,
    flights: Vec<Arc<Flight>>,
}

impl Awaited for AwaitedBook {
    fn look(&mut self) -> Option<Answer> {
        let found = self.find()?;
        self.then.take().map(|then| then(found))
    }
}

impl AwaitedBook {
    pub(super) fn new(market: Arc<PastMarket>, question: BookQuestion, then: BookAnswer) -> Self {
        Self { market, question, days: None, then: Some(then) }
    }

    /// The market at both moments; `None`: it is being computed.
    fn find(&mut self) -> Option<Result<ExplainedMarket, Refusal>> {
        if self.days.is_none() {
            match self.days_of()? {
                Ok(days) => self.days = Some(days),
                Err(refusal) => return Some(Err(refusal)),
            }
        }
        let BookDays { since, until, keys, flights } = self.days.as_ref()?;
        let of_day = match landed(flights)? {
            Ok(of_day) => of_day,
            Err(refusal) => return Some(Err(refusal)),
        };
        let recorded: HashMap<(Symbol, Date), Arc<DayChains>> = keys.iter().copied().zip(of_day).collect();
        let at = |(day, until): (Date, Timestamp)| -> Result<Snapshot, Refusal> {
            let chain = |name: &Symbol| recorded.get(&(*name, day))?.last_by(until).map(|(_, chain)| Arc::clone(chain));
            let chains: Vec<Arc<Chain>> = self.question.names.iter().filter_map(chain).collect();
            if chains.is_empty() && !self.question.names.is_empty() {
                return Err(self.lacking(AsOf::Instant(until), &recorded));
            }
            Ok(Snapshot::new(1, chains, Vec::new()))
        };
        let found = at(*since).and_then(|before| {
            let after = until.map_or_else(|| Ok(Arc::clone(&self.question.live)), |until| at(until).map(Arc::new))?;
            Ok((before, after))
        });
        Some(found.map(|(before, after)| {
            let zone = self.market.zone.clone();
            let settlements = settlements(recorded, zone.clone());
            ExplainedMarket { before, after, settlements, roots: Arc::clone(&self.market.roots), zone }
        }))
    }

    /// The days that the answer needs; `None`: the index is being read.
    fn days_of(&self) -> Option<Result<BookDays, Refusal>> {
        let BookQuestion { names, expiries, span, live } = &self.question;
        let zone = &self.market.zone;
        let known = self.market.archive.days(names)?;
        let until = span.until.and_then(|moment| Some((moment.day(zone)?, moment.until(zone))));
        let latest = || names.iter().filter_map(|&name| live.chain(name)).map(|chain| chain.valued_at).max();
        let last = until.map_or_else(|| date_of(latest().unwrap_or(live.time), zone), |(day, _)| day);
        let since = match span.since {
            ExplainedSince::Session => known.iter().rev().find(|&&day| day < last).map(|&day| AsOf::Day(day)),
            ExplainedSince::Moment(moment) => Some(moment),
        };
        let since = since.and_then(|moment| Some((moment.day(zone)?, moment.until(zone))));
        let Some(since) = since else {
            return Some(Err(self.market.lacking(names, AsOf::Day(last), &[]).refusal()));
        };
        let ends = [Some(since.0), until.map(|(day, _)| day)];
        let ends = ends.into_iter().flatten().flat_map(|day| names.iter().map(move |&name| (name, day)));
        let between = expiries.iter().copied().filter(|(_, day)| (since.0..=last).contains(day));
        let wanted: BTreeSet<(Symbol, Date)> = ends.chain(between).collect();
        if wanted.len() > DAYS_MOST {
            let reason = "explain computes at most 1000 days of names at once: pick positions by underlying or account";
            return Some(Err(Refusal::Conflict { reason }));
        }
        let flight = |&(name, day): &(Symbol, Date)| Some(((name, day), self.market.archive.snapshots(name, day)?));
        let (keys, flights) = wanted.iter().filter_map(flight).unzip();
        Some(Ok(BookDays { since, until, keys, flights }))
    }

    fn lacking(&self, moment: AsOf, recorded: &HashMap<(Symbol, Date), Arc<DayChains>>) -> Refusal {
        let day = moment.day(&self.market.zone);
        let of_day = recorded.iter().filter(|((_, of), _)| Some(*of) == day).map(|(_, chains)| Arc::clone(chains));
        self.market.lacking(&self.question.names, moment, &of_day.collect::<Vec<_>>()).refusal()
    }
}

/// Prices by the recorded snapshot of the day: the last one up to the settlement, else the first.
fn settlements(recorded: HashMap<(Symbol, Date), Arc<DayChains>>, zone: TimeZone) -> SettlementPrices {
    Box::new(move |name, at| {
        let chains = recorded.get(&(name, date_of(at, &zone)))?;
        let first = || chains.last_by(chains.times().next()?);
        chains.last_by(at).or_else(first).map(|(_, chain)| chain.underlying_price())
    })
}
