//! Cost of American values: nanoseconds a contract once tables are built, and time and bytes of the tables of one
//! (expiry, right), by payer and term.
//!
//! ```text
//! cargo run --profile fast -p greeksd-testkit --example early_times -- [PART OF A NAME]
//! ```
//!
//! Processor time of one thread, the least of several rounds. A line is a name, a number and its unit; two builds are
//! compared by benches/early_times.py, which runs them in turn.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a report")]

use kernel::american::{Band, Numbers, Pricer, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::Greeks;
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::quality::Quality;
use std::hint::black_box;
use std::time::Duration;
use testkit::chain::bands;
use testkit::processor::took;

/// Spot, currency per share, and volatility at the money, per √year.
const SPOT: f64 = 100.0;
const SIGMA: f64 = 0.25;
const RATE: f64 = 0.04;
/// Strikes of one (expiry, right): whole blocks, from this part of the spot to that.
const STRIKES: usize = 5 * BLOCK;
const REACH: (f64, f64) = (0.7, 1.4);
/// Volatility is proportional to the strike to this power.
const SKEW: f64 = -0.35;
/// Years to the first ex-date where half a period is not less.
const FIRST_EX: f64 = 0.06;
const NONE: Payer = Payer::new("none", f64::INFINITY, 0.0);
const HALF_YEARLY: Payer = Payer::new("half-yearly", 0.5, 1.0);
const QUARTERLY: Payer = Payer::new("quarterly", 0.25, 0.5);
/// A quarterly payer with most of the quarter to go: a put can be exercised now.
const QUARTER_AHEAD: Payer = Payer { name: "quarterly in 80 days", first: 80.0 / 365.0, ..QUARTERLY };
const MONTHLY: Payer = Payer::new("monthly", 1.0 / 12.0, 0.4);
const WEEKLY: Payer = Payer::new("weekly", 7.0 / 365.0, 0.3);
/// Years to the expiries whose tables are built, and borrow rates, also of the values.
const TERMS: [f64; 3] = [0.1, 0.5, 2.0];
const BORROW: [f64; 2] = [0.0, 0.01];
/// Of values alone.
const HARD_TO_BORROW: f64 = 0.08;
/// Of the values.
const TERM: f64 = 0.5;
/// A contract next to the boundary lies between these standard deviations from it.
const NEAR: (f64, f64) = (0.02, 0.5);
/// The least time that rounds of one measurement take together, and how many there are at least and at most.
const LEAST: Duration = Duration::from_millis(150);
const ROUNDS: (usize, usize) = (4, 60);
/// Intended time of one round of values.
const ROUND: Duration = Duration::from_millis(2);

/// Ex-dates of dividends, in years, and amounts.
struct Payer {
    name: &'static str,
    first: f64,
    period: f64,
    amount: f64,
}

impl Payer {
    const fn new(name: &'static str, period: f64, amount: f64) -> Self {
        Self { name, first: (0.5 * period).min(FIRST_EX), period, amount }
    }
}

/// The least that `work` takes in several rounds of `times` calls, a call.
fn least(times: u32, mut work: impl FnMut()) -> Duration {
    let (mut best, mut sum, mut rounds) = (Duration::MAX, Duration::ZERO, 0);
    while rounds < ROUNDS.0 || (sum < LEAST && rounds < ROUNDS.1) {
        let round = took(|| (0..times).for_each(|_| work()));
        (best, sum, rounds) = (best.min(round), sum + round, rounds + 1);
    }
    best / times
}

fn terms(t: f64, b: f64, payer: &Payer) -> Terms {
    let &Payer { first, period, amount, .. } = payer;
    let dates = (0..).map(|i| first + period * f64::from(i));
    let dates = dates.take_while(|&date| date < t && amount > 0.0);
    Terms { t, r: RATE, b, divs: dates.map(|t| Dividend { t, amount }).collect() }
}

/// A volatility by strike.
fn smile(k: f64) -> f64 {
    SIGMA * (k / SPOT).powf(SKEW)
}

fn strikes() -> Vec<f64> {
    let step = (REACH.1 / REACH.0).ln() / (STRIKES - 1) as f64;
    (0..STRIKES).map(|i| SPOT * REACH.0 * (step * i as f64).exp()).collect()
}

/// One (expiry, right).
struct Slice {
    name: String,
    right: Right,
    terms: Terms,
    k: Vec<f64>,
    sigma: Vec<f64>,
    bands: Vec<Band>,
}

impl Slice {
    fn new(right: Right, payer: &Payer, t: f64, b: f64) -> Self {
        let k = strikes();
        let side = if right == Right::Call { "call" } else { "put" };
        let name = format!("{side} {} b={:.0}% T={t}", payer.name, 100.0 * b);
        let (sigma, bands) = (k.iter().map(|&k| smile(k)).collect(), bands(&k, smile));
        Self { name, right, terms: terms(t, b, payer), k, sigma, bands }
    }

    /// The tables that its contracts need.
    fn pricer(&self) -> Pricer {
        let shared = SharedBoundaries::default();
        let mut pricer =
            Pricer::laid_out(&shared, Style::American, self.right, &self.terms, &self.bands, Quality::Full);
        for (k, sigma) in self.k.chunks_exact(BLOCK).zip(self.sigma.chunks_exact(BLOCK)) {
            pricer.prepare(&self.terms, SPOT, Block::load(k), Block::load(sigma), Numbers::Greeks);
        }
        pricer
    }

    /// Every value of every contract.
    fn value(&self, pricer: &Pricer) {
        let at = pricer.at(&self.terms, SPOT);
        for (k, sigma) in self.k.chunks_exact(BLOCK).zip(self.sigma.chunks_exact(BLOCK)) {
            let greeks: Greeks<Block> = at.greeks(Block::load(k), Block::load(sigma));
            black_box(&greeks);
        }
    }

    /// Value and volatility derivatives of every contract.
    fn value_by_vol(&self, pricer: &Pricer) {
        let at = pricer.at(&self.terms, SPOT);
        for (k, sigma) in self.k.chunks_exact(BLOCK).zip(self.sigma.chunks_exact(BLOCK)) {
            black_box(&at.vol_derivatives(Block::load(k), Block::load(sigma)));
        }
    }

    /// Number of contracts without a value.
    fn missing(&self, pricer: &Pricer) -> usize {
        let at = pricer.at(&self.terms, SPOT);
        let value = |(&k, &sigma): (&f64, &f64)| at.greeks::<f64>(k, sigma).value;
        self.k.iter().zip(&self.sigma).map(value).filter(|value| !value.is_finite()).count()
    }

    /// The slice with only those strikes whose boundary is near the spot; `None`: there are none.
    fn near(mut self) -> Option<Self> {
        let (mut pricer, deviation) = (self.pricer(), SIGMA * self.terms.t.sqrt());
        let candidates = (0..4000).map(|i| SPOT * REACH.0 * (REACH.1 / REACH.0).powf(f64::from(i) / 3999.0));
        let near: Vec<f64> = candidates
            .filter(|&k| {
                let boundary: f64 =
                    pricer.prepare(&self.terms, SPOT, k, smile(k), Numbers::Boundary).boundary(k, smile(k));
                let away = -self.right.phi() * (SPOT / boundary).ln() / deviation;
                NEAR.0 < away && away < NEAR.1
            })
            .collect();
        if near.len() < STRIKES {
            return None;
        }
        self.k = (0..STRIKES).map(|i| near[i * (near.len() - 1) / (STRIKES - 1)]).collect();
        self.sigma = self.k.iter().map(|&k| smile(k)).collect();
        self.name = format!("{} near the boundary", self.name);
        Some(self)
    }
}

fn report(kind: &str, name: &str, value: f64, unit: &str) {
    println!("{:60} {value:>10.1} {unit}", format!("{kind} {name}"));
}

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let wanted = |kind: &str, name: &str| format!("{kind} {name}").contains(&only);
    for payer in &[NONE, QUARTERLY, QUARTER_AHEAD, MONTHLY, WEEKLY] {
        for right in [Right::Put, Right::Call] {
            for b in [BORROW[0], BORROW[1], HARD_TO_BORROW] {
                let slices = [Some(Slice::new(right, payer, TERM, b)), Slice::new(right, payer, TERM, b).near()];
                for slice in slices.into_iter().flatten() {
                    let pricer = slice.pricer();
                    let missing = slice.missing(&pricer);
                    if missing > 0 {
                        eprintln!("{}: {missing} of {STRIKES} contracts have no value", slice.name);
                    }
                    let measure = |kind: &str, work: &mut dyn FnMut()| {
                        if wanted(kind, &slice.name) {
                            let times = ROUND.as_nanos() / took(&mut *work).as_nanos().max(100) + 1;
                            let call = least(u32::try_from(times).unwrap_or(1), &mut *work);
                            report(kind, &slice.name, call.as_secs_f64() * 1e9 / STRIKES as f64, "ns");
                        }
                    };
                    measure("values", &mut || slice.value(&pricer));
                    measure("by vol", &mut || slice.value_by_vol(&pricer));
                }
            }
        }
    }
    for payer in &[NONE, HALF_YEARLY, QUARTERLY, MONTHLY, WEEKLY] {
        for t in TERMS {
            for right in [Right::Put, Right::Call] {
                for b in BORROW {
                    let slice = Slice::new(right, payer, t, b);
                    if wanted("tables", &slice.name) {
                        let build = least(1, || drop(black_box(slice.pricer())));
                        report("tables", &slice.name, build.as_secs_f64() * 1e6, "us");
                        report("bytes", &slice.name, slice.pricer().bytes() as f64 / 1024.0, "KiB");
                    }
                }
            }
        }
    }
}
