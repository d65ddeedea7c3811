//! The recorded chains: what calibration makes of real quotes, against what the vendors published beside them.
//! Prints its table and holds it to bounds. Skips, saying so, where the recordings are absent.
#![allow(missing_docs)]

mod real;

use engine::calibrate::{Calibrated, SliceInput, SliceState};
use engine::surface::{Curve, SurfaceInput, fit};
use real::{Recorded, RecordedSlice, load};

fn calibrate(chain: &Recorded) -> (Vec<Calibrated>, Vec<Curve>) {
    let inputs: Vec<SliceInput> = chain.slices.iter().map(|s| s.input(chain)).collect();
    let mut states: Vec<SliceState> = inputs.iter().map(|_| SliceState::default()).collect();
    let started = std::time::Instant::now();
    let done = engine::calibrate::chain(&inputs, &mut states);
    println!("{}: calibrated {:?}", chain.name, started.elapsed());
    let surface: Vec<SurfaceInput> = inputs
        .iter()
        .zip(&done)
        .map(|(i, c)| SurfaceInput {
            t: i.t,
            fwd: c.fwd,
            strike_milli: i.strike_milli,
            right: i.right,
            vol_bid: &c.vol_bid,
            vol_mid: &c.vol_mid,
            vol_ask: &c.vol_ask,
            used: &c.used,
        })
        .collect();
    let started = std::time::Instant::now();
    let curves = fit(&surface);
    println!("{}: surface {:?} for {} slices", chain.name, started.elapsed(), curves.len());
    (done, curves)
}

fn quantiles(mut x: Vec<f64>) -> (f64, f64, usize) {
    x.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| if x.is_empty() { f64::NAN } else { x[((x.len() - 1) as f64 * p).round() as usize] };
    (at(0.5), at(0.9), x.len())
}

fn liquid(s: &RecordedSlice, row: usize) -> bool {
    let (bid, ask) = (s.bid[row], s.ask[row]);
    let spread = ask - bid;
    bid > 0.0 && ask > 0.0 && (spread <= 0.25 * 0.5 * (bid + ask) || spread <= 0.10)
}

/// Prints what arbitrage is left between the outermost used strikes.
fn arbitrage(chain: &Recorded, done: &[Calibrated], curves: &[Curve]) {
    let range = |i: usize| {
        let s = &chain.slices[i];
        let mut used = (0..s.bid.len()).filter(|&r| {
            done[i].used[r] && s.right[r].phi() * (f64::from(s.strike_milli[r]) * 1e-3 - done[i].fwd) > 0.0
        });
        let first = used.next()?;
        let k = |r: usize| (f64::from(s.strike_milli[r]) * 1e-3 / done[i].fwd).ln();
        Some((k(first), k(used.last()?)))
    };
    for i in 0..curves.len() {
        let Some((a, b)) = range(i) else { continue };
        let at = |j: u32| a + (b - a) * f64::from(j) / 1000.0;
        let fly = (0..=1000)
            .map(|j| engine::surface::arbitrage::durrleman(at(j), &curves[i].ln_variance_at(at(j))))
            .fold(f64::INFINITY, f64::min);
        let mut cal = f64::NEG_INFINITY;
        if i + 1 < curves.len() && curves[i + 1].fwd > 0.0 {
            cal = (0..=1000)
                .map(|j| curves[i].variance_at(at(j)) / curves[i + 1].variance_at(at(j)) - 1.0)
                .fold(cal, f64::max);
        }
        if fly < 0.0 || cal > 0.0 {
            println!(
                "{} {} {} butterfly {fly:.2e} calendar {cal:.2e} range {a:.3} {b:.3}",
                chain.name, chain.slices[i].root, chain.slices[i].expiry
            );
        }
    }
}

fn report(name: &str) {
    let Some(chain) = load(name) else {
        println!("skipped: no recorded chain {name}");
        return;
    };
    let (done, curves) = calibrate(&chain);
    let (mut vol_err, mut delta_err, mut gamma_err) = (Vec::new(), Vec::new(), Vec::new());
    let (mut inside, mut n_liquid) = (0, 0);
    for ((s, c), curve) in chain.slices.iter().zip(&done).zip(&curves) {
        let (mut sv, mut si, mut sn) = (Vec::new(), 0, 0);
        for row in 0..s.bid.len() {
            let k = f64::from(s.strike_milli[row]) * 1e-3;
            let vd = s.vendor_delta[row];
            if s.t * 365.0 <= 6.5 || !liquid(s, row) || !(0.05..=0.95).contains(&vd.abs()) {
                continue;
            }
            let sigma = curve.vol(k);
            let (theo, delta, gamma) = real::black(s.right[row].phi(), c.fwd, k, s.t, s.r, c.s, sigma);
            delta_err.push((delta - vd).abs());
            let vg = s.vendor_gamma[row];
            if vg > 5e-4 {
                gamma_err.push((gamma / vg - 1.0).abs());
            }
            sn += 1;
            si += i32::from(theo >= s.bid[row] && theo <= s.ask[row]);
            let otm = s.right[row].phi() * (k - c.fwd) > 0.0;
            if otm && s.vendor_iv[row] > 0.0 {
                sv.push((sigma - s.vendor_iv[row]).abs() * 100.0);
            }
        }
        inside += si;
        n_liquid += sn;
        let (a, b, _) = quantiles(sv.clone());
        vol_err.extend(sv);
        println!(
            "{} {} t {:.4} F {:.3} ± {:.3} b {:+.4} s {:.3} atm {:.4} | inside {si}/{sn} vol {a:.3} {b:.3} out {} conf {:.2} drop {:?}",
            s.root,
            s.expiry,
            s.t,
            c.fwd,
            c.fwd_error,
            c.borr,
            c.s,
            curve.vol(c.fwd),
            curve.outliers,
            curve.confidence(c.fwd),
            c.dropped
        );
    }
    println!(
        "{name}: inside {:.3} of {n_liquid}; vol {:?}; delta {:?}; gamma {:?}",
        f64::from(inside) / f64::from(n_liquid),
        quantiles(vol_err),
        quantiles(delta_err),
        quantiles(gamma_err)
    );
}

#[test]
fn spx() {
    report("spx_2023-09-14");
}

#[test]
fn others() {
    for name in [
        "spy_2023-09-14",
        "tsla_2026-08-21",
        "clx_2026-07-24",
        "gdx_2026-08-21",
        "f_2026-08-21",
        "bynd_2024-07-22",
        "goog_2015-12-24",
        "qqq_2026-06-02",
        "msft_2021-05-17",
    ] {
        report(name);
    }
}
