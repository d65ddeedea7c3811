//! Numbers of recorded names that another program worked out from the same quotes. The recordings are not in the
//! repository: `just chains FOLDER`.

use engine::exercise;
use engine::pass::{MarketData, Passes};
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::store::ingest::Store;
use engine::store::quotes::QuoteNumber;
use engine::term::{EventState, Exposures, PutsAndCalls, Tenors, TermStructure, gamma_flip, max_pain};
use feeds::dir::DirFeed;
use history::layouts::read_chains;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{Right, RootTable, Symbol};
use std::path::Path;
use std::sync::Arc;

/// The chain of a name of a folder or file, with its quotes.
fn chain(path: &Path, name: &str) -> Arc<Chain> {
    let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
    store.keep_sizes();
    let (batch, _) = DirFeed::open(path, read_chains).unwrap().poll(core::time::Duration::ZERO).unwrap().unwrap();
    store.ingest(&batch, Timestamp::MAX);
    store.expire(None);
    let rates = RateTable::of(RateSource::User, store.curves().clone());
    let book = store.book(Symbol::parse(name).unwrap()).unwrap();
    let mut passes = Passes::new(2, |_| ()).unwrap();
    passes.keep_quotes();
    let market = MarketData { calendar: store.calendar(), rates: &rates };
    passes.run_first(market, &[(book, book.ts)]).pop().unwrap().chain
}

/// Found and wanted numbers; those that are further apart than is tolerated are printed, and fail the test at its end.
#[derive(Default)]
struct Checked(Vec<String>);

impl Checked {
    fn near(&mut self, what: &str, found: f64, wanted: f64, within: f64) {
        let text = format!("{what}: {found} is not {wanted}");
        println!("{what}: {found} for {wanted}");
        self.0.extend(((found - wanted).abs() > within || found.is_nan()).then_some(text));
    }

    /// Volatilities, to two hundredths of a point.
    fn vols(&mut self, what: &str, found: impl Iterator<Item = f64>, wanted: &[f64]) {
        let found: Vec<f64> = found.collect();
        for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            self.near(&format!("{what} {i}"), 100.0 * found, *wanted, 0.02);
        }
    }
}

fn row(chain: &Chain, expiry: Date, strike: u32, right: Right) -> usize {
    let slice = chain.slices.iter().find(|slice| slice.expiry == expiry && !slice.adjusted).unwrap();
    let is = |row: &u32| (chain.strike_milli[*row as usize], chain.right[*row as usize]) == (strike, right);
    slice.rows.clone().find(is).unwrap() as usize
}

#[test]
#[ignore = "wants GREEKSD_REALDATA, a folder of recorded chains"]
fn numbers_of_recorded_names_are_those_that_were_worked_out() {
    let folder = testkit::recorded::folder();
    let july = folder.join("market335/2026-07-16_intraday");
    let (calendar, roots) = (Calendar::embedded(), RootTable::embedded());
    let mut checked = Checked::default();
    let date = |text: &str| -> Date { text.parse().unwrap() };

    let aapl = chain(&july.join("chains/AAPL.csv.gz"), "AAPL");
    let term = TermStructure::of(&aapl, &calendar);
    let tenors = Tenors::new(&term.clock, aapl.valued_at);
    let first = |n: usize| term.expiries().iter().take(n);
    assert_eq!((term.event.state, term.event.from), (EventState::Found, Some(date("2026-07-29"))));
    checked.near("AAPL J", term.event.variance, 0.001406, 2e-5);
    checked.near("AAPL move", term.event.move_sd(), 0.0375, 3e-4);
    let atm = [31.02, 22.49, 24.93, 26.29, 24.37, 26.84, 32.43, 30.37, 28.82, 27.88];
    checked.vols("AAPL atm_vol", first(10).map(|of| of.vol), &atm);
    let ex_event = [31.02, 22.49, 24.93, 26.29, 24.37, 26.84, 26.72, 26.29, 25.59, 25.21];
    checked.vols("AAPL ex_event_vol", first(10).map(|of| of.ex_event_vol()), &ex_event);
    let by_clock = [24.72, 24.65, 24.73, 24.95, 24.91, 26.00, 25.36, 25.11, 24.54, 24.29];
    checked.vols("AAPL vol_vt", first(10).map(|of| term.vol_vt(of)), &by_clock);
    for (days, wanted) in [(7.0, 0.24800), (10.0, 0.24926), (30.0, 0.28209), (60.0, 0.27186), (90.0, 0.26886)] {
        checked.near(&format!("AAPL iv{days}d"), term.iv(&tenors, days), wanted, 2e-4);
    }
    checked.near("AAPL ex-event", term.ex_event_vol_at(&tenors, 30.0, |of| of.vol), 0.24994, 3e-4);
    let iv = |days: f64| term.iv(&tenors, days);
    checked.near("AAPL forward 30-60", TermStructure::forward_iv(iv, 30.0, 60.0), 0.26122, 4e-4);
    // three times the error of the 90 days
    checked.near("AAPL forward 60-90", TermStructure::forward_iv(iv, 60.0, 90.0), 0.26277, 6e-4);
    for (n_d1, wanted) in [(0.25, 0.27282), (0.75, 0.29707)] {
        checked.near(&format!("AAPL {n_d1}"), term.vol_at(&tenors, 30.0, |of| of.vol_at(n_d1)), wanted, 3e-4);
    }
    let ratio = |number| PutsAndCalls::of(&aapl, &aapl.slices, number).ratio();
    checked.near("AAPL put/call volume", ratio(QuoteNumber::Volume), 0.5526, 1e-4);
    checked.near("AAPL put/call interest", ratio(QuoteNumber::OpenInterest), 0.7131, 1e-4);
    for (place, wanted) in [(0, 295.0), (1, 325.0)] {
        let pain = max_pain(&aapl, &aapl.slices[term.expiries()[place].slice]).unwrap().0;
        checked.near("AAPL max pain", pain, wanted, 1e-9);
    }
    let rows = 0..aapl.rows();
    let all = Exposures::of_rows(&aapl, std::slice::from_ref(&rows), &roots);
    for (what, found, wanted) in [
        ("AAPL gex", all.net(|of| of.gamma), 1.6521e9),
        ("AAPL call gamma", all.calls.gamma, 2.3181e9),
        ("AAPL put gamma", all.puts.gamma, 6.6601e8),
        ("AAPL vanna", all.net(|of| of.vanna), 1.832e8),
        ("AAPL charm", all.net(|of| of.charm), -3.222e7),
    ] {
        checked.near(what, found / wanted, 1.0, 1e-3);
    }
    checked.near("AAPL flip", gamma_flip(&aapl, std::slice::from_ref(&rows), &roots).unwrap(), 265.82, 0.3);
    let put = row(&aapl, date("2026-08-21"), 315_000, Right::Put);
    checked.near("AAPL prob_itm", aapl.columns.get(Col::ProbItm)[put], 0.2697, 1e-3);

    let nflx = chain(&july.join("chains/NFLX.csv.gz"), "NFLX");
    let term = TermStructure::of(&nflx, &calendar);
    let tenors = Tenors::new(&term.clock, nflx.valued_at);
    assert_eq!((term.event.state, term.event.to), (EventState::Found, Some(date("2026-07-17"))));
    // within half of its error, and what is left of a volatility likewise
    let half_error = 0.5 * 0.000330;
    checked.near("NFLX J", term.event.variance, 0.012030, half_error);
    let first = |n: usize| term.expiries().iter().take(n);
    let atm = [197.2, 81.25, 65.09, 58.13, 53.71, 51.38, 48.93, 44.76];
    checked.vols("NFLX atm_vol", first(8).map(|of| of.vol), &atm);
    for (days, wanted, ex_event) in [(7.0, 0.86097, 0.33759), (30.0, 0.52695, 0.36236)] {
        checked.near(&format!("NFLX iv{days}d"), term.iv(&tenors, days), wanted, 2e-4);
        let found = term.ex_event_vol_at(&tenors, days, |of| of.vol);
        let within = half_error * 365.0 / days / (2.0 * ex_event);
        checked.near(&format!("NFLX ex-event {days}"), found, ex_event, within);
    }
    let straddle = &term.expiries()[0];
    checked.near("NFLX straddle", straddle.expected_move() * straddle.fwd_price, 6.5946, 3e-3);

    let spx = chain(&folder.join("chains/spx_2023-09-14.csv.gz"), "SPX");
    let term = TermStructure::of(&spx, &calendar);
    let tenors = Tenors::new(&term.clock, spx.valued_at);
    for (days, wanted) in [(10.0, 0.09444), (30.0, 0.10187)] {
        checked.near(&format!("SPX iv{days}d"), term.iv(&tenors, days), wanted, 2e-4);
    }
    let put = row(&spx, date("2023-10-06"), 4_465_000, Right::Put);
    checked.near("SPX prob_itm", spx.columns.get(Col::ProbItm)[put], 0.2455, 1e-3);
    checked.near("SPX prob_touch", spx.columns.get(Col::ProbTouch)[put], 0.487, 2e-3);
    for (expiry, strike, decay_vt, theta_vt) in [
        ("2023-09-18", 4_510_000, -4.144078, -3.374589),
        ("2023-09-20", 4_510_000, -2.366782, -2.008154),
        ("2023-10-06", 4_520_000, -1.626944, -1.219827),
    ] {
        let call = row(&spx, date(expiry), strike, Right::Call);
        checked.near(&format!("SPX decay_vt {expiry}"), spx.columns.get(Col::DecayVt)[call], decay_vt, 1e-2);
        checked.near(&format!("SPX theta_vt {expiry}"), spx.columns.get(Col::ThetaVt)[call], theta_vt, 1e-2);
    }
    assert!(checked.0.is_empty(), "{:#?}", checked.0);
}

/// SPY the evening before an ex-date, of 1.583: the dividend is worth more than what is left of a call of the next day,
/// and not than a month of one.
#[test]
#[ignore = "wants GREEKSD_REALDATA, a folder of recorded chains"]
fn calls_before_a_recorded_ex_date_are_exercised_as_was_worked_out() {
    let recorded = testkit::recorded::folder();
    let folder = std::env::temp_dir().join(format!("greeksd-worked-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("chains")).unwrap();
    for file in ["chains/spy_2023-09-14.csv.gz", "dividends.csv", "rates.csv"] {
        std::fs::copy(recorded.join(file), folder.join(file)).unwrap();
    }
    let spy = chain(&folder, "SPY");
    std::fs::remove_dir_all(&folder).unwrap();
    let mut checked = Checked::default();
    for (expiry, strike, cost, boundary, advice) in [
        ("2023-09-15", 440_000, Some(1.461), Some(440.55), "before_ex"),
        ("2023-09-29", 430_000, Some(0.219), Some(447.1), "before_ex"),
        ("2023-10-20", 430_000, None, None, "no"),
    ] {
        let call = row(&spy, expiry.parse().unwrap(), strike, Right::Call);
        let found = |col| exercise::column(&spy, col)[call];
        let (found_cost, found_boundary) = (found(Col::CostOfWaiting), found(Col::ExerciseBoundary));
        println!("{expiry} {strike}: cost {found_cost}, boundary {found_boundary}");
        match cost {
            Some(wanted) => checked.near(&format!("SPY {expiry} cost"), found_cost, wanted, 5e-3),
            None => assert!(found_cost < 0.0, "{expiry}: {found_cost}"),
        }
        match boundary {
            Some(wanted) => checked.near(&format!("SPY {expiry} boundary"), found_boundary, wanted, 0.05),
            None => assert!(found_boundary.is_nan(), "{expiry}: {found_boundary}"),
        }
        assert_eq!(exercise::ADVICE[found(Col::ExerciseState) as usize], advice, "{expiry}");
    }
    assert!(checked.0.is_empty(), "{:#?}", checked.0);
}
