//! Passes over a simulated market one after the other: how long each took, what it had to take again and why, and how
//! far its values are from those that are computed of the same quotes anew.
//!
//! ```text
//! cargo run --release -p greeksd-testkit --example steady -- [full[=SHARE] | NAME...]
//! ```
//!
//! `PASSES=n` passes (60), `EVERY=n` seconds apart (1); `FRESH=1` compares the values of the last one; `LINES=1` prints
//! a line for each pass. Figures at the end are of the second half of the passes; the counts are `name=number`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a report")]

use engine::early::{EarlyWork, Left};
use engine::pass::{ChainReport, Computed, FIRST, MarketData, Passes, Stage, StageTimes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::Style;
use kernel::greeks::{AtTheMoney, Greek};
use kernel::quality::Quality;
use sim::SimMarket;
use sim::symbols::well_known;
use std::sync::LazyLock;
use std::time::Instant;
use testkit::{quantile, ruler};

/// 15:42 Eastern on a Friday.
const NOW: Timestamp = Timestamp::constant(1_795_207_320, 0);

fn clock() -> u64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed().as_nanos() as u64
}

fn setting(name: &str, otherwise: i64) -> i64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

fn market(names: &[String]) -> SimMarket {
    match names.first().and_then(|name| name.strip_prefix("full")) {
        Some(share) => SimMarket::full(1, 1.0, NOW, share.trim_start_matches('=').parse().unwrap_or(1.0)),
        None => {
            let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
            let universe: Vec<_> = well_known().into_iter().filter(|name| wanted(&name.symbol)).collect();
            SimMarket::with_universe(1, NOW, &universe)
        }
    }
}

/// The reports of a pass, summed up.
#[derive(Clone, Copy, Default)]
struct Pass {
    seconds: f64,
    contracts: u64,
    slices: u64,
    searched: u64,
    early: EarlyWork,
    stages: StageTimes,
}

impl Pass {
    fn of(computed: &[Computed], seconds: f64) -> Self {
        let mut sum = Self { seconds, ..Self::default() };
        computed.iter().for_each(|done| sum.add(&done.report));
        sum
    }

    fn add(&mut self, report: &ChainReport) {
        self.contracts += u64::from(report.contracts);
        self.slices += u64::from(report.slices);
        self.searched += u64::from(report.searched);
        self.early += report.early;
        self.stages.iter_mut().zip(report.stages).for_each(|(sum, nanos)| *sum += nanos);
    }

    fn counts(&self, passes: f64) -> String {
        let each = |name: &str, n: u64| format!("{name}={:.0}", n as f64 / passes);
        let left = Left::ALL.iter().zip(self.early.left).map(|(left, n)| each(&format!("left_{}", left.name()), n));
        let work = self.early.work.named().map(|(name, n)| each(name, n));
        let own = [
            ("kept", self.early.kept),
            ("taken", self.early.taken()),
            ("second_points", self.early.second_points),
            ("by_volatility", self.early.by_volatility),
            ("rebuilt", self.early.rebuilt),
            ("widened", self.early.widened),
            ("searched", self.searched),
        ];
        let own = own.iter().map(|(name, n)| each(name, *n));
        own.chain(left).chain(work).collect::<Vec<_>>().join(" ")
    }

    fn stages(&self, passes: f64) -> String {
        let of = |(stage, nanos): (&Stage, u64)| format!("{} {:.1} ms", stage.name(), nanos as f64 / passes * 1e-6);
        Stage::ALL.iter().zip(self.stages).map(of).collect::<Vec<_>>().join(", ")
    }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let passes_run = setting("PASSES", 60);
    let sim = market(&names);
    let rates = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
    let calendar = Calendar::embedded();
    let shared = MarketData { calendar: &calendar, rates: &rates };
    let mut passes = Passes::new(setting("THREADS", 0) as usize, |_| ()).unwrap();
    passes.time_stages(clock);
    let mut books: Vec<Book> = passes.map(0..sim.len(), |i| sim.book(i, NOW)).into_iter().flatten().collect();
    let mut at = NOW;
    let mut all: Vec<Pass> = Vec::new();
    let mut last = Vec::new();
    for n in 0..passes_run {
        let work: Vec<_> = books.iter().map(|book| (book, at)).collect();
        let began = Instant::now();
        // the first pass of all are several
        let qualities = if n == 0 { FIRST } else { &[Quality::Full] };
        let mut computed = Vec::new();
        let mut pass = Pass::default();
        for &quality in qualities {
            let began = Instant::now();
            computed = passes.run_to(quality, shared, &work);
            pass = Pass::of(&computed, began.elapsed().as_secs_f64());
            if n == 0 || setting("LINES", 0) > 0 {
                println!("pass {n}: {:.1} ms; {}; {}", pass.seconds * 1e3, pass.stages(1.0), pass.counts(1.0));
            }
        }
        pass.seconds = began.elapsed().as_secs_f64();
        all.push(pass);
        if n + 1 < passes_run {
            drop(computed);
            at += SignedDuration::from_secs(setting("EVERY", 1));
            passes.map(&mut books, |book| sim.update(book, at));
        } else {
            last = computed;
        }
    }
    let half = &all[all.len() / 2..];
    let mut sum = Pass::default();
    half.iter().for_each(|pass| {
        sum.early += pass.early;
        sum.searched += pass.searched;
        sum.stages.iter_mut().zip(pass.stages).for_each(|(sum, nanos)| *sum += nanos);
    });
    let n = half.len() as f64;
    let mut took: Vec<f64> = half.iter().map(|pass| pass.seconds * 1e3).collect();
    let contracts = all[0].contracts;
    println!(
        "steady: {contracts} contracts in {} slices; median {:.1} ms, 90 % {:.1} ms, mean {:.1} ms",
        all[0].slices,
        quantile(&mut took, 0.5),
        quantile(&mut took, 0.9),
        took.iter().sum::<f64>() / n
    );
    println!("stages: {}", sum.stages(n));
    println!("counts: {}", sum.counts(n));
    if setting("FRESH", 0) > 0 {
        let mut fresh = Passes::new(0, |_| ()).unwrap();
        let work: Vec<_> = books.iter().map(|book| (book, at)).collect();
        let anew = fresh.run_first(shared, &work);
        moved(&last, &anew);
        stale(&last, &anew);
    }
}

/// Prints how far forwards, volatilities and values lie from those of the same quotes computed anew.
fn moved(steady: &[Computed], anew: &[Computed]) {
    let mut far: [(&str, Vec<f64>); 3] =
        ["forward, bp", "volatility, of itself", "value, bp of the spot"].map(|name| (name, Vec::new()));
    for (one, other) in steady.iter().zip(anew) {
        for (slice, again) in one.chain.slices.iter().zip(&other.chain.slices) {
            far[0].1.push(1e4 * (slice.fwd_price / again.fwd_price - 1.0).abs());
            let rows = slice.rows.start as usize..slice.rows.end as usize;
            let both =
                |col: Col| rows.clone().map(move |row| [one, other].map(|done| done.chain.columns.get(col)[row]));
            far[1].1.extend(both(Col::SvcVol).map(|[a, b]| (a / b - 1.0).abs()));
            far[2].1.extend(both(Col::SvcTheo).map(|[a, b]| 1e4 * (a - b).abs() / slice.und_price));
        }
    }
    for (name, mut far) in far {
        far.retain(|far| far.is_finite());
        let at = [0.5, 0.9, 0.99, 0.999].map(|p| quantile(&mut far, p));
        println!("moved: {name}: 50 % {:.1e}, 90 % {:.1e}, 99 % {:.1e}, 99.9 % {:.1e}", at[0], at[1], at[2], at[3]);
    }
}

/// Prints how far values of American contracts lie from those of the same quotes computed anew, at the same volatility
/// and forward within a part in 10,000.
fn stale(steady: &[Computed], anew: &[Computed]) {
    let greeks = Col::ALL.iter().filter_map(|&col| Some((col.greek()?, col)));
    let greeks: Vec<(Greek, Col)> = greeks.filter(|(greek, _)| Greek::DERIVATIVES.contains(greek)).collect();
    let mut errors: Vec<Vec<f64>> = vec![Vec::new(); greeks.len()];
    let (mut compared, mut rows) = (0, 0);
    for (one, other) in steady.iter().zip(anew) {
        let (one, other): (&Chain, &Chain) = (&one.chain, &other.chain);
        for (slice, again) in one.slices.iter().zip(&other.slices).filter(|(slice, _)| slice.style == Style::American) {
            let is_same = (slice.borr_rate - again.borr_rate).abs() * slice.days / 365.0 < 1e-5;
            for row in slice.rows.start as usize..slice.rows.end as usize {
                rows += 1;
                let vol = [one, other].map(|chain| chain.columns.get(Col::SvcVol)[row]);
                if !is_same || (vol[0] / vol[1] - 1.0).abs() >= 1e-5 {
                    continue;
                }
                compared += 1;
                let k = f64::from(one.strike_milli[row]) * 1e-3;
                let at = AtTheMoney { s: slice.und_price, k, sigma: vol[0], t: slice.days / 365.0 };
                for ((greek, col), errors) in greeks.iter().zip(&mut errors) {
                    let [got, want] = [one, other].map(|c| c.columns.get(*col)[row] * greek.unit().divisor());
                    if got.is_finite() && want.is_finite() {
                        errors.push(ruler::error(*greek, got, want, 0.0, &at));
                    }
                }
            }
        }
    }
    println!("stale: {compared} of {rows} American rows have the same carry and volatility");
    for ((greek, _), mut errors) in greeks.into_iter().zip(errors) {
        let at = [0.9, 0.99, 0.999].map(|p| quantile(&mut errors, p));
        println!("  {}: 90 % {:.1e}, 99 % {:.1e}, 99.9 % {:.1e}", greek.name(), at[0], at[1], at[2]);
    }
}
