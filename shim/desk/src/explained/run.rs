//! `greeksd positions explain`: computes names from a feed at both moments, and explains without a daemon. Never: a
//! formula.

use super::book::{ExplainedBook, ExplainedMarket, names_of};
use crate::positions::file::read_positions;
use crate::scenario::FeedChains;
use api::past::moment::{date_of, end_of, instant_of};
use api::query::Query;
use api::vendors::native_positions::{self, ExplainedSince, ExplainedSpan, PositionRequest};
use engine::scenario::ScenarioTables;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use host::log::say;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::position::PositionLine;
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bytes that tables of early exercise may take.
const TABLES: usize = 1 << 30;

/// Runs the command for the query of a request and a file of positions; `open` opens the feed, its clock fixed at a
/// moment if there is one.
#[must_use]
pub fn run<C: FeedChains>(
    query: &str,
    positions: &Path,
    open: impl FnMut(Option<Timestamp>) -> Result<C, String>,
) -> ExitCode {
    let written = explained(query, positions, open)
        .and_then(|body| std::io::stdout().write_all(&body).map_err(|error| format!("cannot write: {error}")));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&format!("greeksd positions explain: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn explained<C: FeedChains>(
    query: &str,
    positions: &Path,
    open: impl FnMut(Option<Timestamp>) -> Result<C, String>,
) -> Result<Vec<u8>, String> {
    let request = native_positions::parse(&Query::parse(query)).map_err(|refusal| refusal.to_string())?;
    let Some(span) = request.explained else { return Err("--since: give the earlier moment".to_owned()) };
    let (book, complaints) = read_positions(positions)?;
    complaints.iter().for_each(|complaint| say(&format!("refused: {complaint}")));
    let market = TwoMoments { open, calendar: Calendar::embedded() }.market(&request, span, &book)?;
    let tables = ScenarioTables::new(TABLES);
    let found = ExplainedBook::of(&request, &book, market, &tables, &AtomicBool::new(false))
        .map_err(|refusal| refusal.to_string())?;
    found.write(&request).map_err(|error| error.to_string())
}

/// A feed that is opened for each moment.
struct TwoMoments<F> {
    open: F,
    calendar: Calendar,
}

impl<C: FeedChains, F: FnMut(Option<Timestamp>) -> Result<C, String>> TwoMoments<F> {
    fn market(
        &mut self,
        request: &PositionRequest,
        span: ExplainedSpan,
        book: &[PositionLine],
    ) -> Result<ExplainedMarket, String> {
        let roots = RootTable::embedded();
        let zone = self.calendar.zone().clone();
        let (names, expiries) = names_of(request, book, &roots);
        let after = self.chains(span.until.map(|moment| moment.until(&zone)), &names)?;
        let latest = after.iter().map(|chain| chain.valued_at).max().ok_or("no chain at the later moment")?;
        let since = match span.since {
            ExplainedSince::Moment(moment) => moment.until(&zone),
            ExplainedSince::Session => {
                let midnight = instant_of(date_of(latest, &zone).at(0, 0, 0, 0), &zone);
                let before = midnight.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(midnight);
                end_of(date_of(self.calendar.last_session_instant(before), &zone), &zone)
            }
        };
        let before = self.chains(Some(since), &names)?;
        let prices = self.prices(&before, &expiries, latest)?;
        let settlements = Box::new(move |name: Symbol, at: Timestamp| prices.get(&(name, at)).copied());
        let [before, after] = [before, after].map(|chains| Snapshot::new(1, chains, Vec::new()));
        Ok(ExplainedMarket { before, after: Arc::new(after), settlements, roots: Arc::new(roots), zone })
    }

    /// Names at the last quotes up to a moment.
    fn chains(&mut self, at: Option<Timestamp>, names: &[Symbol]) -> Result<Vec<Arc<Chain>>, String> {
        let found = self.chains_by_clock(at, names)?;
        // as recorded days are served: by the time of a snapshot, and not by that of the question
        let quoted = found.iter().filter_map(|chain| latest_quote(chain)).max();
        match (at, quoted) {
            (Some(at), Some(quoted)) if quoted < at => self.chains_by_clock(Some(quoted), names),
            _ => Ok(found),
        }
    }

    /// Names that the feed lists where its clock stands; the others are reported.
    fn chains_by_clock(&mut self, at: Option<Timestamp>, names: &[Symbol]) -> Result<Vec<Arc<Chain>>, String> {
        let mut source = (self.open)(at)?;
        let chain = |&name: &Symbol| source.chain(name).map_err(|why| say(&why)).ok();
        Ok(names.iter().filter_map(chain).collect())
    }

    /// Prices at the settlements of some expiries until a moment, from chains of the same date.
    fn prices(
        &mut self,
        before: &[Arc<Chain>],
        expiries: &[(Symbol, Date)],
        until: Timestamp,
    ) -> Result<HashMap<(Symbol, Timestamp), f64>, String> {
        let of = |chain: &Arc<Chain>| {
            let name = chain.underlying;
            let is_held = |date: Date| expiries.binary_search(&(name, date)).is_ok();
            let slices = chain.slices.iter().filter(|slice| is_held(slice.expiry) && slice.settles_at <= until);
            slices.map(|slice| (slice.settles_at, name)).collect::<Vec<_>>()
        };
        let settlements: BTreeSet<(Timestamp, Symbol)> = before.iter().flat_map(of).collect();
        let mut prices = HashMap::new();
        for (at, name) in settlements {
            for chain in self.chains(Some(at), &[name])? {
                let [of_chain, of_settlement] = [chain.valued_at, at].map(|at| date_of(at, self.calendar.zone()));
                if of_chain == of_settlement {
                    prices.insert((name, at), chain.underlying_price());
                }
            }
        }
        Ok(prices)
    }
}

/// The time of the latest quote of a chain.
fn latest_quote(chain: &Chain) -> Option<Timestamp> {
    let quotes = chain.quotes.as_ref()?;
    (0..chain.rows()).map(|row| quotes.time(row as usize)).max()
}
