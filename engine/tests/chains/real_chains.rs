//! The recorded chains: what calibration makes of real quotes, against what the vendors published beside them.
//! Prints its table and holds it to bounds. The recordings are not in the repository: `just chains FOLDER` runs this.

use engine::calibrate::chain::{ChainCalibration, OneByOne};
use engine::calibrate::{SliceInput, SliceWork};
use engine::store::drop_reason::DropReason;
use engine::surface::arbitrage::durrleman;
use engine::surface::{Curve, SurfaceInput, fit};
use kernel::american::{Band, Pricer};
use kernel::contract::Right;
use kernel::dividends::Terms;
use kernel::quality::Quality;
use testkit::recorded::{Recorded, RecordedSlice, load};

/// A chain with everything that the engine makes of it.
struct Done {
    chain: Recorded,
    slices: Vec<SliceWork>,
    curves: Vec<Curve>,
}

/// Calibrates the slices; `before` are those of the last pass, whose states it takes.
fn pass(inputs: &[SliceInput<'_>], before: &mut [SliceWork]) -> Vec<SliceWork> {
    let mut work: Vec<SliceWork> = before.iter().map(|_| SliceWork::default()).collect();
    work.iter_mut().zip(before).for_each(|(now, before)| std::mem::swap(&mut now.state, &mut before.state));
    let _ = ChainCalibration::default().run(inputs, &mut work, &OneByOne);
    work
}

fn calibrate(name: &str) -> Done {
    let recorded = load(name);
    let inputs: Vec<SliceInput> = recorded.slices.iter().map(|s| s.input(&recorded)).collect();
    let mut none: Vec<SliceWork> = inputs.iter().map(|_| SliceWork::default()).collect();
    let clock = std::time::Instant::now();
    let mut slices = pass(&inputs, &mut none);
    let calibrated = clock.elapsed();
    let surface: Vec<SurfaceInput> = inputs.iter().zip(&slices).map(|(i, c)| surface_input(i, c)).collect();
    let clock = std::time::Instant::now();
    let curves = fit(&surface);
    let fitted = clock.elapsed();
    for (SliceWork { state, .. }, curve) in slices.iter_mut().zip(&curves) {
        state.sigma = state.ladder.strikes().iter().map(|&k| curve.vol(k)).collect();
    }
    let clock = std::time::Instant::now();
    let mut again = pass(&inputs, &mut slices);
    println!("{name}: again in {:?}", clock.elapsed());
    let third = pass(&inputs, &mut again);
    // the first pass takes early exercise from a coarse lattice, the later ones from the tables: the forward moves by a
    // part of what is known of it, and then stays
    for ((a, b), (c, s)) in slices.iter().zip(&again).zip(third.iter().zip(&recorded.slices)) {
        let (moved, stays) = ((a.fwd / b.fwd - 1.0).abs(), (b.fwd / c.fwd - 1.0).abs());
        let known = a.fwd_error / a.fwd;
        assert!(
            a.fwd.is_nan() || moved < (0.6 * known).max(1e-4) && stays < (0.05 * known).max(3e-5),
            "{name} {}: the forward moved from {} ± {} to {} and {}",
            s.expiry,
            a.fwd,
            a.fwd_error,
            b.fwd,
            c.fwd
        );
    }
    println!("{name}: {} slices calibrated in {calibrated:?}, fitted in {fitted:?}", curves.len());
    Done { slices, curves, chain: recorded }
}

fn surface_input<'a>(input: &SliceInput<'a>, done: &'a SliceWork) -> SurfaceInput<'a> {
    SurfaceInput {
        t: input.t,
        fwd: done.fwd,
        strike_milli: input.strike_milli,
        right: input.right,
        vol_bid: &done.vol_bid,
        vol_mid: &done.vol_mid,
        vol_ask: &done.vol_ask,
        used: &done.used,
    }
}

/// Value, delta, gamma, vega per 1 % of every row at the curve's volatility.
fn values(s: &RecordedSlice, c: &SliceWork, curve: &Curve) -> Vec<[f64; 4]> {
    let terms = Terms { t: s.t, r: s.r, b: c.borr, divs: s.divs.clone() };
    let strike = |row: usize| f64::from(s.strike_milli[row]) * 1e-3;
    let vols: Vec<f64> = (0..s.bid.len()).map(|row| curve.vol(strike(row))).collect();
    let ends = |x: &mut dyn Iterator<Item = f64>| x.fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
    let band = Band { k: ends(&mut (0..s.bid.len()).map(strike)), sigma: ends(&mut vols.iter().copied()) };
    let pricer = |right| Pricer::new(s.style, right, &terms, &band, Quality::Full);
    let pricers = [pricer(Right::Call), pricer(Right::Put)];
    (0..s.bid.len())
        .map(|row| {
            let g = pricers[s.right[row] as usize].at(&terms, c.s).greeks(strike(row), vols[row]);
            [g.value, g.delta, g.gamma, g.vega / 100.0]
        })
        .collect()
}

/// The filter of the comparison: a spread of at most a quarter of the mid or 0.10.
fn liquid(s: &RecordedSlice, row: usize) -> bool {
    let (bid, ask) = (s.bid[row], s.ask[row]);
    bid > 0.0 && ask > 0.0 && (ask - bid <= 0.125 * (bid + ask) || ask - bid <= 0.10)
}

/// Distances from the vendor, all expiries of a chain together.
#[derive(Default)]
struct Table {
    delta: Vec<f64>,
    gamma: Vec<f64>,
    vega: Vec<f64>,
    vol: Vec<f64>,
    inside: usize,
    liquid: usize,
}

impl Table {
    fn add(&mut self, s: &RecordedSlice, c: &SliceWork, curve: &Curve) {
        if s.t * 365.0 <= 6.5 {
            return;
        }
        for (row, [theo, delta, gamma, vega]) in values(s, c, curve).into_iter().enumerate() {
            let vendor = s.vendor_delta[row];
            if !liquid(s, row) || !(0.05..=0.95).contains(&vendor.abs()) {
                continue;
            }
            self.liquid += 1;
            self.inside += usize::from(theo >= s.bid[row] && theo <= s.ask[row]);
            self.delta.push((delta - vendor).abs());
            if s.vendor_gamma[row] > 5e-4 {
                self.gamma.push((gamma / s.vendor_gamma[row] - 1.0).abs());
            }
            if s.vendor_vega[row] > 0.0 {
                self.vega.push((vega / s.vendor_vega[row] - 1.0).abs());
            }
            let strike = f64::from(s.strike_milli[row]) * 1e-3;
            if s.vendor_iv[row] > 0.0 && s.right[row].phi() * (strike - c.fwd) > 0.0 {
                self.vol.push((curve.vol(strike) - s.vendor_iv[row]).abs() * 100.0);
            }
        }
    }

    fn of(done: &Done) -> Self {
        let mut table = Self::default();
        for ((s, c), curve) in done.chain.slices.iter().zip(&done.slices).zip(&done.curves) {
            table.add(s, c, curve);
        }
        table
    }

    fn inside(&self) -> f64 {
        self.inside as f64 / self.liquid as f64
    }
}

/// Median and 90th percentile.
fn spread(x: &[f64]) -> (f64, f64) {
    let mut x = x.to_vec();
    x.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| if x.is_empty() { f64::NAN } else { x[((x.len() - 1) as f64 * p).round() as usize] };
    (at(0.5), at(0.9))
}

/// Least Durrleman function and greatest fall of total variance to the next expiry, inside the used strikes.
fn arbitrage(done: &Done) -> (f64, f64) {
    let (mut fly, mut calendar) = (f64::INFINITY, f64::NEG_INFINITY);
    for i in 0..done.curves.len() {
        let (s, c, curve) = (&done.chain.slices[i], &done.slices[i], &done.curves[i]);
        let k = |row: usize| (f64::from(s.strike_milli[row]) * 1e-3 / c.fwd).ln();
        let mut used = (0..s.bid.len()).filter(|&row| c.used[row] && s.right[row].phi() * k(row) > 0.0);
        let (Some(first), Some(last)) = (used.next(), used.next_back()) else { continue };
        let at = |j: u32| k(first) + (k(last) - k(first)) * f64::from(j) / 1000.0;
        for j in 0..=1000 {
            fly = fly.min(durrleman(at(j), &curve.ln_variance_at(at(j))));
            if let Some(next) = done.curves.get(i + 1).filter(|n| n.fwd > 0.0) {
                let fall = curve.variance_at(at(j)) / next.variance_at(at(j)) - 1.0;
                calendar = calendar.max(fall);
            }
        }
    }
    (fly, calendar)
}

fn print_slices(done: &Done) {
    for ((s, c), curve) in done.chain.slices.iter().zip(&done.slices).zip(&done.curves) {
        let mut table = Table::default();
        table.add(s, c, curve);
        println!(
            "  {} {} t {:.4} F {:.3} ± {:.3} b {:+.4} S {:.3} atm {:.4} inside {}/{} delta {:.4?} vol {:.3?} conf {:.2} dropped {:?}",
            s.root,
            s.expiry,
            s.t,
            c.fwd,
            c.fwd_error,
            c.borr,
            c.s,
            curve.vol(c.fwd),
            table.inside,
            table.liquid,
            spread(&table.delta),
            spread(&table.vol),
            curve.confidence(c.fwd),
            DropReason::ALL.map(|drop| c.fault.iter().filter(|f| **f == Some(drop)).count())
        );
    }
}

/// Median and 90th percentile allowed; NaN: not compared.
struct Bounds {
    delta: (f64, f64),
    vol: (f64, f64),
    inside: f64,
}

fn hold(name: &str, bounds: &Bounds) {
    let done = calibrate(name);
    if std::env::var_os("GREEKSD_VERBOSE").is_some() {
        print_slices(&done);
    }
    let table = Table::of(&done);
    let (fly, calendar) = arbitrage(&done);
    println!(
        "{name}: {} rows, delta {:.4?}, gamma {:.3?} of {}, vega {:.3?} of {}, vol {:.3?} of {}, inside {:.3}, least density {fly:.2e}, calendar {calendar:.1e}",
        table.liquid,
        spread(&table.delta),
        spread(&table.gamma),
        table.gamma.len(),
        spread(&table.vega),
        table.vega.len(),
        spread(&table.vol),
        table.vol.len(),
        table.inside()
    );
    let mut failures = Vec::new();
    let mut check = |what: &str, seen: (f64, f64), most: (f64, f64)| {
        let held = seen.0 <= most.0 && seen.1 <= most.1;
        if !held {
            failures.push(format!("{what} {seen:?} over {most:?}"));
        }
    };
    check("delta", spread(&table.delta), bounds.delta);
    check("gamma", spread(&table.gamma), (0.04, 0.12));
    if !table.vega.is_empty() {
        check("vega", spread(&table.vega), (0.03, 0.20));
    }
    check("vol", spread(&table.vol), bounds.vol);
    check("outside", (1.0 - table.inside(), 0.0), (1.0 - bounds.inside, 0.0));
    check("density, calendar", (-fly, calendar), (1e-3, 1e-3));
    assert!(failures.is_empty(), "{name}: {failures:?}");
}

const ANY: (f64, f64) = (f64::INFINITY, f64::INFINITY);

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn spx() {
    hold("spx_2023-09-14", &Bounds { delta: (0.003, 0.008), vol: (0.15, 0.5), inside: 0.9 });
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn spy() {
    hold("spy_2023-09-14", &Bounds { delta: (0.008, 0.02), vol: (0.15, 0.5), inside: 0.9 });
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn tsla() {
    hold("tsla_2026-08-21", &Bounds { delta: (0.003, 0.008), vol: ANY, inside: 0.9 });
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn clx() {
    hold("clx_2026-07-24", &Bounds { delta: (0.008, 0.02), vol: ANY, inside: 0.0 });
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn gdx() {
    hold("gdx_2026-08-21", &Bounds { delta: (0.008, 0.02), vol: ANY, inside: 0.0 });
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn f() {
    hold("f_2026-08-21", &Bounds { delta: (0.012, 0.03), vol: ANY, inside: 0.0 });
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn hard_borrow_is_found_on_every_expiry() {
    let done = calibrate("bynd_2024-07-22");
    print_slices(&done);
    for (s, c) in done.chain.slices.iter().zip(&done.slices).filter(|(s, _)| s.expiry.as_str() >= "2024-09-20") {
        assert!((0.45..=1.10).contains(&c.borr), "{}: borrow {}", s.expiry, c.borr);
    }
}

/// Part of the liquid rows whose model value lies inside bid and ask.
fn inside(done: &Done) -> f64 {
    let (mut inside, mut n) = (0u32, 0u32);
    for ((s, c), curve) in done.chain.slices.iter().zip(&done.slices).zip(&done.curves) {
        for (row, [theo, ..]) in values(s, c, curve).into_iter().enumerate().filter(|(row, _)| liquid(s, *row)) {
            n += 1;
            inside += u32::from(theo >= s.bid[row] && theo <= s.ask[row]);
        }
    }
    f64::from(inside) / f64::from(n)
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn chains_without_vendor_greeks_fit_their_quotes() {
    // the quotes of QQQ are of different moments, half an hour after the open
    for (name, least) in [("goog_2015-12-24", 0.98), ("qqq_2026-06-02", 0.7), ("msft_2021-05-17", 0.98)] {
        let done = calibrate(name);
        if std::env::var_os("GREEKSD_VERBOSE").is_some() {
            print_slices(&done);
        }
        let (inside, (fly, calendar)) = (inside(&done), arbitrage(&done));
        println!("{name}: inside {inside:.3}, least density {fly:.2e}, calendar {calendar:.1e}");
        assert!(inside > least && fly > -1e-3 && calendar < 1e-3, "{name}: {inside} {fly} {calendar}");
    }
}
