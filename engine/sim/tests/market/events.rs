//! Earnings of the made-up market, whose dates and sizes are known, as its expiries show them.

use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::scenario::{EventWithoutSize, NameLapse, ScenarioClock, ScenarioGrid};
use engine::term::{EventState, TermStructure};
use jiff::Timestamp;
use kernel::calendar::{Calendar, EventDate, EventTime};
use kernel::contract::RootTable;
use kernel::quality::Quality;
use sim::SimMarket;
use sim::symbols::Name;
use sim::tier::Tier;
use sim::universe;

/// Expiries that are looked at, and as many that an event needs.
const DAYS: f64 = 80.0;
const FEWEST: usize = 4;

/// A jump of fewer usual days of the name is not looked for.
const USUAL_DAYS: f64 = 2.0;

#[test]
fn earnings_are_found_by_weekly_expiries_and_never_in_funds() {
    // whichever way the market counts weekends, a fund has no event
    found_in(|market| market);
    let (found, stocks, low, high) = found_in(SimMarket::in_variance_time);
    assert!(f64::from(found) > 0.95 * f64::from(stocks), "{found} of {stocks}");
    assert!(low > 0.9 && high < 1.1, "{low} {high}");
}

/// Stocks with an event that is found, stocks with one, and found parts of their sizes at a tenth and at nine tenths.
fn found_in(time: impl Fn(SimMarket) -> SimMarket) -> (u32, u32, f64, f64) {
    let now: Timestamp = "2026-10-07T15:00:00Z".parse().unwrap();
    let names: Vec<Name> = universe::names(3, 0.5);
    let is_weekly = |name: &&Name| matches!(name.tier, Tier::Broad | Tier::Mega | Tier::Weekly);
    // every third: those that others follow are the first
    let weekly: Vec<Name> = names.iter().filter(is_weekly).step_by(3).cloned().collect();
    let market = time(SimMarket::with_universe(3, now, &weekly));
    let mut passes = Passes::new(0, |_| ()).unwrap();
    let books = passes.map(0..market.len(), |i| market.book(i, now).unwrap());
    let (calendar, curves) =
        (Calendar::embedded(), RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates())));
    let work: Vec<_> = books.iter().map(|b| (b, b.ts)).collect();
    let data = MarketData { calendar: &calendar, rates: &curves };
    let computed = passes.run_to(Quality::Preliminary, data, &work);

    let (mut funds, mut stocks, mut found, mut sizes) = (0, 0, 0, Vec::new());
    for (i, computed) in computed.iter().enumerate() {
        let term = TermStructure::of(&computed.chain, &calendar);
        let (of, near) = (&term.event, term.expiries().iter().filter(|of| of.days < DAYS));
        let Some((at, variance)) = market.earnings(i, now).first().copied() else {
            assert_ne!(of.state, EventState::Found, "{}: a fund", computed.chain.underlying);
            funds += 1;
            continue;
        };
        let after = near.clone().filter(|of| of.settles_at > at).count();
        let usual =
            |name: &Name| (name.symbol == computed.chain.underlying.as_str()).then_some(name.vol.powi(2) / 260.0);
        let usual = weekly.iter().find_map(usual).unwrap();
        if near.count() < FEWEST || after < 2 || variance.sqrt() < 0.03 || variance < USUAL_DAYS * usual {
            continue;
        }
        stocks += 1;
        let date = calendar.eastern(at).date();
        let is_found = of.state == EventState::Found && of.from.is_some_and(|from| from <= date) && of.to > Some(date);
        if is_found {
            found += 1;
            sizes.push(of.move_sd() / variance.sqrt());
        }
        // a scenario on that date needs a size where none is found
        let event = EventDate { date, time: EventTime::AfterClose, size: None, is_earnings: false };
        let name = computed.chain.underlying;
        let grid = ScenarioGrid { clock: ScenarioClock::Variance, events: vec![(name, event)], ..Default::default() };
        match NameLapse::of(&computed.chain, &grid, &calendar, &RootTable::embedded()) {
            Ok(lapse) => assert!(lapse.is_some() && is_found, "{name}: {of:?}"),
            Err(refused) => {
                assert!(!is_found, "{name}: {of:?}");
                assert_eq!(refused, EventWithoutSize { name, date, state: of.state });
            }
        }
    }
    sizes.sort_by(f64::total_cmp);
    let [low, high] = [sizes.len() / 10, sizes.len() - 1 - sizes.len() / 10].map(|at| sizes[at]);
    println!("{found} of {stocks} found, {low:.2} to {high:.2} of their size; {funds} funds without one");
    assert!(stocks > 50 && funds > 20, "{stocks} and {funds}");
    (found, stocks, low, high)
}
