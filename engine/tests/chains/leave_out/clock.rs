//! How well the expiries beside one imply its volatility at the forward, by calendar time and by the variance clock:
//! total variance, without that of the name's event, is linear between them in the time of either clock.

use super::super::moments::{Moment, chains};
use engine::pass::MarketData;
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::term::{TermExpiry, TermStructure};
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use sim::SimMarket;
use std::collections::BTreeMap;
use testkit::quantile;

/// Days to the expiry, up to which the distances are put together.
const CLASSES: [(&str, f64); 3] = [("to 10 days", 10.0), ("10 to 35", 35.0), ("over 35", f64::INFINITY)];
/// Funds, which hold no event of their own.
const FUNDS: [&str; 8] = ["SPY", "QQQ", "IWM", "DIA", "GLD", "SLV", "TLT", "SMH"];

/// Distances from the true volatility, vol points: by calendar time, by the clock.
#[derive(Default)]
struct Missed([Vec<f64>; 2]);

/// Distances by kind of name and class of days.
type Table = BTreeMap<(&'static str, usize), Missed>;

impl Missed {
    fn figures(&self) -> [[f64; 3]; 2] {
        self.0.each_ref().map(|off| {
            let mut off = off.clone();
            let rms = (off.iter().map(|x| x * x).sum::<f64>() / off.len() as f64).sqrt();
            [quantile(&mut off, 0.5), quantile(&mut off, 0.9), rms]
        })
    }
}

/// The volatility of an expiry by its neighbours, where `time` is that of a clock; with `knows_event` each is without
/// the event.
fn interpolated([before, of, after]: [&TermExpiry; 3], time: fn(&TermExpiry) -> f64, knows_event: bool) -> f64 {
    let event = |of: &TermExpiry| if knows_event { of.event } else { 0.0 };
    let rest = |of: &TermExpiry| of.variance() - event(of);
    let part = (time(of) - time(before)) / (time(after) - time(before));
    let variance = rest(before) + part * (rest(after) - rest(before)) + event(of);
    (variance.max(0.0) / of.years()).sqrt()
}

/// Adds every expiry of a chain that has neighbours.
fn add(table: &mut Table, chain: &Chain, calendar: &Calendar, roots: &RootTable) {
    let term = TermStructure::of(chain, calendar);
    // beyond a second event nothing is known without it
    let is_known = |of: &&TermExpiry| of.vol > 0.0 && of.half_spread(chain) < 0.02 && of.event.is_finite();
    let known: Vec<&TermExpiry> = term.expiries().iter().filter(is_known).collect();
    for beside in known.windows(3) {
        let beside = [beside[0], beside[1], beside[2]];
        let [before, of, after] = beside;
        let kind = if roots.is_index(chain.underlying) {
            "index"
        } else if FUNDS.contains(&chain.underlying.as_str()) {
            "fund"
        } else if (after.event - before.event).abs() > 0.0 {
            "event between"
        } else {
            "stock"
        };
        let class = CLASSES.iter().position(|&(_, days)| of.days <= days).unwrap();
        let Missed(missed) = table.entry((kind, class)).or_default();
        let by_clock = |of: &TermExpiry| of.days_vt;
        let vols = [interpolated(beside, |of| of.days, false), interpolated(beside, by_clock, true)];
        for (missed, vol) in missed.iter_mut().zip(vols) {
            missed.push(100.0 * (vol - of.vol).abs());
        }
    }
}

fn print(market: &str, table: &Table) {
    println!("{market}: expiries left out, vol points off: median, 90 %, rms by calendar time; by the clock");
    for ((kind, class), missed) in table {
        let [calendar, clock] = missed.figures();
        let n = missed.0[0].len();
        println!("  {kind:14}{:11}{n:5}  {calendar:6.2?}  {clock:6.2?}", CLASSES[*class].0);
    }
}

#[test]
fn the_clock_tells_left_out_expiries_of_a_market_that_runs_by_it() {
    let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
    let sim = SimMarket::at(7, at).in_variance_time();
    let books: Vec<Book> = (0..sim.len()).filter_map(|i| sim.book(i, at)).collect();
    let (calendar, roots) = (Calendar::embedded(), RootTable::embedded());
    let rates = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
    let mut table = Table::new();
    for chain in chains(&books, MarketData { calendar: &calendar, rates: &rates }, |_| at) {
        add(&mut table, &chain, &calendar, &roots);
    }
    print("sim", &table);
    for kind in ["index", "fund", "stock"] {
        let [calendar, clock] = table[&(kind, 0)].figures();
        assert!((0..3).all(|at| clock[at] < calendar[at]), "{kind}: {calendar:?} {clock:?}");
        assert!(clock[0] < 0.5 * calendar[0], "{kind}: {calendar:?} {clock:?}");
    }
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn the_clock_tells_left_out_expiries_of_recorded_chains() {
    let roots = RootTable::embedded();
    let mut moments = vec![Moment::of(&testkit::recorded::folder())];
    moments.append(&mut Moment::all());
    let (mut all, mut spx_spy) = (Table::new(), Table::new());
    for moment in moments {
        let mut books = moment.books.clone();
        books.retain(Book::has_spot);
        for chain in chains(&books, moment.market(), |book| book.ts) {
            add(&mut all, &chain, moment.market().calendar, &roots);
            if ["SPX", "SPY"].contains(&chain.underlying.as_str()) {
                add(&mut spx_spy, &chain, moment.market().calendar, &roots);
            }
        }
    }
    print("SPX and SPY", &spx_spy);
    print("all", &all);
    for ((kind, class), missed) in spx_spy.iter().filter(|((_, class), _)| *class < 2) {
        let [calendar, clock] = missed.figures();
        let most = if *kind == "index" { 0.03 } else { calendar[0] };
        assert!(clock[0] <= most, "{kind} {}: {calendar:?} {clock:?}", CLASSES[*class].0);
    }
}
