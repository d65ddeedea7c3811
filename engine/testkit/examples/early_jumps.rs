//! Finds jumps of American values in sweeps of spot, volatility, time, rate and borrow. Each value is read from the
//! tables that a pass would use, and tables are renewed when a pass would renew them.
//!
//! ```text
//! cargo run --profile fast -p greeksd-testkit --example early_jumps -- [--points N] [--all] [--accurate] [PART]
//! ```
//!
//! PART: only cases whose name contains it. `--accurate` reads each point from tables of its own, which shows the noise
//! of the measure.
//!
//! There are two measures, both scaled by testkit::ruler. `renewal`: difference of a contract's values from the old and
//! the new tables. `step`: distance of a value from the cubic through its neighbours, less the same at twice the step,
//! which a smooth function would have. Windows where exercise begins or ends are left out, and so are true jumps at
//! ex-dates: values by time, and calls that are exercised right before. A jump is open if it exceeds twice the aim of
//! testkit::aims. Without `--all` only open jumps are printed. Exit code 1: a jump is open.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a report")]
#![allow(clippy::float_cmp, reason = "what is exercised has exactly these values")]

use kernel::american::{Numbers, Pricer};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::{AtTheMoney, Greek, Greeks};
use std::collections::BTreeMap;
use std::process::ExitCode;
use testkit::aims::aim;
use testkit::chain::{accurate, bring_up_to_date, served, serves, skewed, strikes};
use testkit::ruler::error;

const SPOT: f64 = 100.0;
const SIGMA: f64 = 0.25;
const RATE: f64 = 0.04;
/// Number of points of a sweep.
const POINTS: usize = 1500;
/// Indices of the strikes in sweeps: 92, 100 and 109.
const SWEPT: [usize; 3] = [4, 6, 8];
/// Range of volatilities in a sweep.
const VOLS: (f64, f64) = (0.12, 0.6);
const RATES: (f64, f64) = (-0.005, 0.06);
const BORROW: (f64, f64) = (-0.02, 0.12);
/// Range of spots in a sweep, standard deviations to either side.
const SPOTS: f64 = 2.5;
/// Remaining part of the term at the end of a sweep of time.
const LEFT: f64 = 0.1;
/// Years before an ex-date at which sweeps of time begin, finer and finer.
const BEFORE_EX: [f64; 3] = [3.0 / 365.0, 0.3 / 365.0, 0.03 / 365.0];
const AFTER_EX: f64 = 0.15;
const POINTS_EX: usize = 240;
const EX_DATES: usize = 3;
/// Deviations from the spot of exercise right before an ex-date, within which a call may jump there.
const CRITICAL: f64 = 5.0;
/// Distance of rates from 0 or from each other, where exercise begins to pay, within which values bend sharply and
/// windows do not count.
const TURN: f64 = 1e-3;
/// Points of a window: those of the cubic are neighbours, those of the comparison lie twice as far apart.
const WINDOW: usize = 9;
/// Minimum growth of a smooth function's fourth difference at twice the step.
const SMOOTH: f64 = 8.0;
/// Greeks in sweeps: all but Black-76's d1 and d2.
const SHOWN: &[Greek] = Greek::ALL.split_at(Greek::D1 as usize).0;

/// One market of one strike.
#[derive(Clone, Debug)]
struct Market {
    s: f64,
    sigma: f64,
    terms: Terms,
}

/// A point of a sweep.
struct Point {
    market: Market,
    greeks: Greeks<f64>,
}

impl Point {
    fn exercised(&self) -> bool {
        self.greeks.gamma == 0.0 && self.greeks.delta.abs() == 1.0
    }
}

/// The contract whose Greeks scale the errors.
fn at_the_money(market: &Market, k: f64) -> AtTheMoney {
    AtTheMoney { s: market.s, k, sigma: market.sigma, t: market.terms.t }
}

/// A jump of one value.
#[derive(Clone, Debug, Default)]
struct Jump {
    worst: f64,
    place: String,
    /// Number of values above twice the aim, and number of values.
    open: usize,
    of: usize,
}

/// The worst jump by class, sweep, measure and value.
#[derive(Default)]
struct Jumps(BTreeMap<(&'static str, &'static str, &'static str, Greek), Jump>);

impl Jumps {
    fn add(&mut self, key: (&'static str, &'static str, &'static str, Greek), size: f64, place: impl Fn() -> String) {
        let jump = self.0.entry(key).or_default();
        jump.of += 1;
        jump.open += usize::from(size.is_nan() || size > 2.0 * aim(key.3).error);
        if size.is_nan() || size > jump.worst {
            (jump.worst, jump.place) = (size, place());
        }
    }

    /// Prints the worst of each that is open, or of all; returns how many are open.
    fn report(&self, all: bool) -> usize {
        println!(
            "{:12} {:12} {:8} {:>10}  {:>7} {:>7}  {:>6} of {:>7}  where",
            "class", "sweep", "measure", "value", "worst", "2 aims", "open", "points"
        );
        let mut open = 0;
        for (&(class, sweep, measure, greek), jump) in &self.0 {
            let Jump { worst, place, open: own, of } = jump;
            open += usize::from(*own > 0);
            if *own == 0 && !all {
                continue;
            }
            println!(
                "{class:12} {sweep:12} {measure:8} {:>10}  {worst:7.0e} {:7.0e}  {own:6} of {of:7}  {}{place}",
                greek.name(),
                2.0 * aim(greek).error,
                if *own > 0 { "OPEN " } else { "" },
            );
        }
        println!("\n{open} of {} entries are open", self.0.len());
        open
    }
}

/// One contract but for its strike.
struct Case {
    class: &'static str,
    name: &'static str,
    right: Right,
    terms: Terms,
    /// True if each point is read from tables of its own.
    accurately: bool,
}

impl Case {
    /// The values of a market as it moves, from tables renewed as in a pass.
    fn sweep(&self, jumps: &mut Jumps, sweep: &'static str, k: f64, markets: impl Iterator<Item = Market>) {
        let chain = strikes(SPOT);
        let mut pricer: Option<Pricer> = None;
        let mut points: Vec<Point> = Vec::new();
        let value = |pricer: &mut Pricer, market: &Market| {
            let Market { s, sigma, ref terms, .. } = *market;
            pricer.prepare(terms, s, k, sigma, Numbers::Greeks).greeks(k, sigma)
        };
        for market in markets {
            if self.accurately {
                let mut own = accurate(Style::American, self.right, &market.terms, k, market.sigma);
                points.push(Point { greeks: value(&mut own, &market), market });
                continue;
            }
            let sigma = |strike: f64| skewed(market.sigma, k, strike);
            let held =
                pricer.get_or_insert_with(|| served(Style::American, self.right, &market.terms, SPOT, sigma(SPOT)));
            if !serves(held, &market.terms, &chain, sigma) {
                let before = value(held, &market);
                bring_up_to_date(held, &market.terms, &chain, sigma);
                let after = value(held, &market);
                for &greek in SHOWN.iter().filter(|greek| before.get(**greek).is_finite()) {
                    let (old, new) = (before.get(greek), after.get(greek));
                    let size = error(greek, old, new, 0.0, &at_the_money(&market, k));
                    jumps.add((self.class, sweep, "renewal", greek), size, || self.place(&market, k));
                }
            }
            let greeks = value(held, &market);
            points.push(Point { market, greeks });
        }
        self.steps(jumps, sweep, k, &points);
    }

    fn place(&self, market: &Market, k: f64) -> String {
        let Market { s, sigma, terms: Terms { t, r, b, divs } } = market;
        let next = divs.first().map_or(f64::NAN, |d| d.t * 365.0);
        format!("{}, k {k:.2} s {s:.4} sigma {sigma:.4} t {t:.5} r {r:.5} b {b:.5}, ex in {next:.2} days", self.name)
    }

    /// The name of a window of a sweep; `None`: values do jump in it.
    fn window(&self, sweep: &'static str, k: f64, window: &[Point]) -> Option<&'static str> {
        let (first, last) = (&window[0].market, &window[WINDOW - 1].market);
        if window.iter().any(Point::exercised) {
            return None;
        }
        let length = (first.terms.t - last.terms.t).abs();
        let ahead = last.terms.divs.first().map_or(f64::INFINITY, |d| d.t);
        let crosses = first.terms.divs.len() != last.terms.divs.len();
        match sweep {
            // a finer sweep covers this window
            "time" if crosses || ahead < 2.0 * length => None,
            "ex-date" if crosses => {
                let after = window.iter().find(|point| point.market.terms.divs.len() == last.terms.divs.len())?;
                let near = CRITICAL * first.sigma * length.sqrt() * first.s;
                let pays = self.right.phi() * (first.s - k);
                (self.right == Right::Put || pays + near < after.greeks.value).then_some("ex-instant")
            }
            "ex-date" if ahead < 2.0 * length => None,
            "rate" | "borrow" => {
                let turns = |of: fn(&Terms) -> f64| of(&first.terms).abs().min(of(&last.terms).abs()) < TURN;
                let swept: fn(&Terms) -> f64 = if sweep == "rate" { |t| t.r } else { |t| t.b };
                let turning = turns(swept) || turns(|t| t.r - t.b);
                Some(match sweep {
                    "rate" if turning => "rate, turn",
                    "borrow" if turning => "borrow, turn",
                    _ => sweep,
                })
            }
            _ => Some(sweep),
        }
    }

    /// Adds the distance of each value from its neighbours.
    fn steps(&self, jumps: &mut Jumps, sweep: &'static str, k: f64, points: &[Point]) {
        for window in points.windows(WINDOW) {
            let Some(sweep) = self.window(sweep, k, window) else { continue };
            let middle = &window[WINDOW / 2];
            for &greek in SHOWN {
                use Greek::{Charm, Color, Lambda, Theta, Veta};
                // these do jump at an ex-date: the spot falls, and so does what it would earn
                if sweep == "ex-instant" && matches!(greek, Lambda | Theta | Charm | Color | Veta) {
                    continue;
                }
                let of = |i: usize| window[i].greeks.get(greek);
                let fourth = |step: usize| {
                    let at = |i: i32| of((WINDOW / 2).wrapping_add_signed((i * step as i32) as isize));
                    (at(-2) - 4.0 * at(-1) + 6.0 * at(0) - 4.0 * at(1) + at(2)).abs()
                };
                // a jump between two points shows three times in a fourth difference
                let size = (fourth(1) - fourth(2) / SMOOTH) / 3.0;
                let value = of(WINDOW / 2);
                let size = error(greek, value + size.max(0.0), value, 0.0, &at_the_money(&middle.market, k));
                jumps.add((self.class, sweep, "step", greek), size, || self.place(&middle.market, k));
            }
        }
    }

    /// All sweeps of one strike.
    fn all(&self, jumps: &mut Jumps, k: f64, n: usize) {
        let range = |(from, to): (f64, f64)| (0..n).map(move |i| from + (to - from) * i as f64 / (n - 1) as f64);
        let here = Market { s: SPOT, sigma: SIGMA, terms: self.terms.clone() };
        let width = SPOTS * SIGMA * self.terms.t.sqrt();
        let spots = range((-width, width)).map(|x| Market { s: SPOT * x.exp(), ..here.clone() });
        self.sweep(jumps, "spot", k, spots);
        let vols = range((VOLS.0.ln(), VOLS.1.ln())).map(|x| Market { sigma: x.exp(), ..here.clone() });
        self.sweep(jumps, "volatility", k, vols);
        let with = |change: &dyn Fn(&mut Terms)| {
            let mut moved = here.clone();
            change(&mut moved.terms);
            moved
        };
        self.sweep(jumps, "rate", k, range(RATES).map(|r| with(&|terms| terms.r = r)));
        self.sweep(jumps, "borrow", k, range(BORROW).map(|b| with(&|terms| terms.b = b)));
        // X stays, so that the spot falls by each dividend
        let x = SPOT - self.terms.a(0.0);
        let later = |age: f64| {
            let ahead = self.terms.divs.iter().filter(|d| d.t > age);
            let divs = ahead.map(|d| Dividend { t: d.t - age, ..*d }).collect();
            let terms = Terms { t: self.terms.t - age, divs, ..self.terms };
            Market { s: x + terms.a(0.0), sigma: SIGMA, terms }
        };
        self.sweep(jumps, "time", k, range((0.0, (1.0 - LEFT) * self.terms.t)).map(later));
        for ex in self.terms.divs.iter().take(EX_DATES) {
            for before in BEFORE_EX.into_iter().filter(|&before| before < ex.t) {
                let step = before * (1.0 + AFTER_EX) / (POINTS_EX - 1) as f64;
                let ages = (0..POINTS_EX).map(|i| ex.t - before + step * i as f64);
                self.sweep(jumps, "ex-date", k, ages.map(later));
            }
        }
    }
}

fn terms(t: f64, b: f64, first: f64, step: f64, amount: f64) -> Terms {
    let dates = (0..).map(|i| first + step * f64::from(i)).take_while(|&date| date < t && amount > 0.0);
    Terms { t, r: RATE, b, divs: dates.map(|t| Dividend { t, amount }).collect() }
}

/// Terms with one dividend more.
fn special(mut terms: Terms, t: f64, amount: f64) -> Terms {
    terms.divs.push(Dividend { t, amount });
    terms.divs.sort_by(|a, b| a.t.total_cmp(&b.t));
    terms
}

fn cases(accurately: bool) -> Vec<Case> {
    use Right::{Call, Put};
    const NONE: &str = "none";
    const DIVIDENDS: &str = "dividends";
    const QUARTER: f64 = 0.25;
    const MONTH: f64 = 1.0 / 12.0;
    const WEEK: f64 = 7.0 / 365.0;
    let case = |class, name, right, terms| Case { class, name, right, terms, accurately };
    vec![
        case(NONE, "put", Put, terms(0.8, 0.005, 0.0, 1.0, 0.0)),
        case(NONE, "put, high borrow", Put, terms(0.8, 0.06, 0.0, 1.0, 0.0)),
        case(NONE, "put of two weeks", Put, terms(0.04, 0.0, 0.0, 1.0, 0.0)),
        case(NONE, "call", Call, terms(0.8, 0.03, 0.0, 1.0, 0.0)),
        case(NONE, "hard-to-borrow call", Call, terms(0.8, 0.15, 0.0, 1.0, 0.0)),
        case(DIVIDENDS, "put, exercise now", Put, terms(0.8, 0.003, 0.2, QUARTER, 0.4)),
        case(DIVIDENDS, "put, exercise at an ex-date", Put, terms(0.8, 0.0, 0.05, QUARTER, 0.7)),
        case(DIVIDENDS, "put, half-yearly", Put, terms(1.6, 0.003, 0.3, 0.5, 1.0)),
        case(DIVIDENDS, "put, monthly", Put, terms(0.5, 0.003, 0.03, MONTH, 0.3)),
        case(DIVIDENDS, "put, weekly", Put, terms(0.25, 0.0, 0.01, WEEK, 0.06)),
        case(DIVIDENDS, "put, special", Put, special(terms(0.6, 0.002, 0.1, QUARTER, 0.4), 0.3, 8.0)),
        case(DIVIDENDS, "put of two weeks", Put, terms(0.04, 0.0, 0.014, QUARTER, 0.5)),
        case(DIVIDENDS, "call, exercise at an ex-date", Call, terms(0.8, 0.0, 0.02, QUARTER, 1.4)),
        case(DIVIDENDS, "call, hard to borrow", Call, terms(0.8, 0.12, 0.1, QUARTER, 0.3)),
        case(DIVIDENDS, "call, monthly", Call, terms(0.5, 0.01, 0.03, MONTH, 0.5)),
        case(DIVIDENDS, "call, weekly", Call, terms(0.25, 0.0, 0.01, WEEK, 0.3)),
        case(DIVIDENDS, "call, special", Call, special(terms(0.6, 0.002, 0.1, QUARTER, 0.4), 0.3, 8.0)),
        case(DIVIDENDS, "call of two weeks", Call, terms(0.04, 0.0, 0.014, QUARTER, 0.5)),
    ]
}

fn main() -> ExitCode {
    let (mut points, mut all, mut accurately, mut only) = (POINTS, false, false, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--points" => points = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(points),
            "--all" => all = true,
            "--accurate" => accurately = true,
            part => part.clone_into(&mut only),
        }
    }
    let mut jumps = Jumps::default();
    for case in cases(accurately).iter().filter(|case| case.name.contains(&only)) {
        eprintln!("{}: {}", case.class, case.name);
        for at in SWEPT {
            case.all(&mut jumps, strikes(SPOT)[at], points.max(WINDOW));
        }
    }
    if jumps.report(all) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
