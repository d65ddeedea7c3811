//! Inputs of responses about the past: an archive, reference data of all days, and the request. Never: a moment.

use crate::past::archive::{Archive, DayChains, Flight, Trouble};
use api::edition;
use api::metrics::NameRows;
use api::past::moment::AsOf;
use api::past::{Lacking, Nearby, PastQuestion};
use api::refusal::Refusal;
use api::vendors::layer::{Layer, LayerRequest, RequestContext};
use arc_swap::ArcSwap;
use engine::closes::Closes;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A market of many days, and the data common to all of them.
pub struct PastMarket {
    /// Archive of the days.
    pub archive: Arc<dyn Archive>,
    /// Closes of sessions: those before a moment count.
    pub closes: Arc<ArcSwap<Closes>>,
    /// Index roots.
    pub roots: Arc<RootTable>,
    /// Sessions.
    pub calendar: Calendar,
    /// The zone of the market.
    pub zone: TimeZone,
    /// The feed, as given to the program.
    pub feed: String,
    /// True if chains have quotes.
    pub shows_quotes: bool,
    /// Bytes held by all answers that are built whole in memory.
    pub columns_bytes: Arc<AtomicUsize>,
}

/// A request for past moments.
pub struct PastRequest {
    /// Layer of the request.
    pub layer: &'static Layer,
    /// Parsed query.
    pub parsed: LayerRequest,
    /// Host in the client's request.
    pub host: Option<String>,
    /// Requested underlyings, each once.
    pub names: Vec<Symbol>,
    /// True if the request is for every name.
    pub everything: bool,
    /// Prefixes of the symbols to list, if it lists symbols.
    pub prefixes: Option<Vec<Symbol>>,
    /// Requested moments.
    pub question: PastQuestion,
}

impl PastMarket {
    /// Calls `look` with the request, its dates resolved at `asked`, and a market that consists of `chains`. Without
    /// `asked` they are resolved at the time of the snapshot.
    pub fn show<T>(
        &self,
        request: &PastRequest,
        chains: Vec<Arc<Chain>>,
        asked: Option<Timestamp>,
        look: impl FnOnce(LayerRequest, &RequestContext<'_>) -> T,
    ) -> T {
        let snapshot = Snapshot::new(1, chains, Vec::new());
        let shown = asked.unwrap_or(snapshot.time);
        let note = || {
            vec![format!(
                "As of {} · recorded",
                shown.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z")
            )]
        };
        let context = RequestContext {
            snapshot: &snapshot,
            closes: self.closes.load_full(),
            rows: &NameRows::default(),
            now: snapshot.time,
            asked: Some(shown),
            zone: &self.zone,
            calendar: &self.calendar,
            roots: &self.roots,
            host: request.host.as_deref(),
            is_crowded: false,
            market_open: self.calendar.is_open(snapshot.time),
            feed: &self.feed,
            shows_quotes: self.shows_quotes,
            edition: Some(edition::single()),
            note: &note,
        };
        let mut parsed = request.parsed.clone();
        parsed.settle(&context.clock());
        look(parsed, &context)
    }

    /// Flights of some names on a day, without names that have no data.
    #[must_use]
    pub fn flights(&self, names: &[Symbol], day: Date) -> Vec<Arc<Flight>> {
        names.iter().filter_map(|&name| self.archive.snapshots(name, day)).collect()
    }

    /// Describes a moment without a snapshot, given the snapshots of its day.
    #[must_use]
    pub fn lacking(&self, names: &[Symbol], moment: AsOf, of_day: &[Arc<DayChains>]) -> Lacking {
        let days = self.archive.days(names).unwrap_or_default();
        let day = moment.day(&self.zone);
        let until = moment.until(&self.zone);
        let (mut before, mut after) = (None, None);
        if let Some(day) = day {
            before = days.iter().rev().find(|&&other| other < day).map(|&day| Nearby::Day(day));
            after = days.iter().find(|&&other| other > day).map(|&day| Nearby::Day(day));
        }
        let first = of_day.iter().flat_map(|chains| chains.times().find(|&time| time > until)).min();
        after = first.map(Nearby::Time).or(after);
        let span = days.first().copied().zip(days.last().copied());
        Lacking { names: names.to_vec(), day, before, after, span, zone: self.zone.clone() }
    }
}

/// Returns the chains once all flights are complete.
///
/// # Errors
/// Some files cannot be used, or there are too many requests at once.
pub fn landed(flights: &[Arc<Flight>]) -> Option<Result<Vec<Arc<DayChains>>, Refusal>> {
    let mut all = Vec::with_capacity(flights.len());
    for flight in flights {
        match flight.get()? {
            Ok(chains) => all.push(Arc::clone(chains)),
            Err(Trouble::Damaged(why)) => return Some(Err(Refusal::Damaged { text: why.clone() })),
            Err(Trouble::Busy) => return Some(Err(Refusal::Busy)),
        }
    }
    Some(Ok(all))
}
