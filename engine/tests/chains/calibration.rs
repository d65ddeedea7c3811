//! Calibration against a market whose truth is known, and against nonsense.

use crate::truth::{Market, calibrate, curves, surface_inputs};
use engine::store::ladder::Ladder;
use engine::surface::arbitrage::durrleman;
use engine::surface::{Curve, Fitted, Fitter, SurfaceInput, fit};
use kernel::contract::{Right, Style};
use kernel::dividends::Dividend;
use kernel::lanes::{BLOCK, Lanes};
use proptest::prelude::*;
use testkit::quantile;

#[test]
fn forward_error_is_below_a_tenth_of_the_parity_half_spread() {
    let mut ratio = Vec::new();
    for seed in 0..40 {
        let market = Market::draw(seed);
        for (slice, c) in market.slices.iter().zip(calibrate(&market)) {
            ratio.push((c.fwd - slice.fwd).abs() / slice.parity_half_spread());
        }
    }
    let (median, high) = (quantile(&mut ratio, 0.5), quantile(&mut ratio, 0.9));
    println!("forward error over the least parity half spread: median {median:.4}, 90 % {high:.4}");
    assert!(median < 0.1, "median {median}, 90 % {high}");
}

#[test]
fn curve_error_is_below_half_the_mid_spread_in_volatility() {
    let (mut ratio, mut inside, mut rows) = (Vec::new(), 0, 0);
    for seed in 0..40 {
        let market = Market::draw(seed);
        let done = calibrate(&market);
        for ((slice, c), curve) in market.slices.iter().zip(&done).zip(curves(&market, &done)) {
            for row in 0..slice.strike_milli.len() {
                let half = 0.5 * (c.vol_ask[row] - c.vol_bid[row]);
                if !c.used[row] || half.is_nan() || !slice.is_otm(row) {
                    continue;
                }
                let strike = f64::from(slice.strike_milli[row]) * 1e-3;
                ratio.push((curve.vol(strike) - slice.sigma[row]).abs() / half);
                rows += 1;
                inside += usize::from(curve.vol(strike) >= c.vol_bid[row] && curve.vol(strike) <= c.vol_ask[row]);
            }
        }
    }
    let (median, high) = (quantile(&mut ratio, 0.5), quantile(&mut ratio, 0.9));
    let inside = inside as f64 / rows as f64;
    println!(
        "curve error over half the spread in vol: median {median:.3}, 90 % {high:.3}; inside {inside:.3} of {rows}"
    );
    assert!(median < 0.5 && inside > 0.9, "median {median}, 90 % {high}, inside {inside}");
}

/// Places of a curve between two strikes where the density is negative, and the least value of Durrleman's function.
fn worst_butterfly(curve: &Curve, low: f64, high: f64) -> f64 {
    let (a, b) = ((low / curve.fwd).ln(), (high / curve.fwd).ln());
    let at = |i: u32| a + (b - a) * f64::from(i) / 400.0;
    (0..=400).map(|i| durrleman(at(i), &curve.ln_variance_at(at(i)))).fold(f64::INFINITY, f64::min)
}

/// The greatest relative fall of total variance from one expiry to the next at equal forward moneyness.
fn worst_calendar(early: &Curve, late: &Curve, low: f64, high: f64) -> f64 {
    let (a, b) = ((low / early.fwd).ln(), (high / early.fwd).ln());
    let at = |i: u32| a + (b - a) * f64::from(i) / 400.0;
    (0..=400).map(|i| early.variance_at(at(i)) / late.variance_at(at(i)) - 1.0).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn exercise_premium_is_taken_out_of_the_forward() {
    let dividends = [30.5, 121.0, 212.0, 303.0].map(|d| Dividend { t: d / 365.0, amount: 0.006 });
    let cases: [(f64, &[Dividend]); 5] = [(-0.004, &[]), (0.0, &dividends), (0.02, &[]), (0.35, &[]), (0.9, &[])];
    for (case, (b, divs)) in cases.into_iter().enumerate() {
        let (mut fwd, mut borrow, mut vol) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..4 {
            let market = Market::draw_style(100 + seed, Style::American, Some(b), divs);
            let done = calibrate(&market);
            for ((slice, c), curve) in market.slices.iter().zip(&done).zip(curves(&market, &done)) {
                fwd.push((c.fwd - slice.fwd).abs() / slice.parity_half_spread());
                if slice.t > 0.1 {
                    borrow.push((c.borr - b).abs());
                }
                vol.push((curve.vol(slice.fwd) / slice.at_the_money() - 1.0).abs());
            }
        }
        let (fwd, borrow, vol) = (quantile(&mut fwd, 0.5), quantile(&mut borrow, 0.5), quantile(&mut vol, 0.5));
        println!(
            "b {b}, {} dividends: forward {fwd:.4} of the half spread, borrow {borrow:.5}, vol {vol:.5}",
            divs.len()
        );
        assert!(fwd < 0.25 && borrow < 0.004 + 0.02 * b.abs() && vol < 0.02, "case {case}: {fwd} {borrow} {vol}");
    }
}

#[test]
fn no_arbitrage_is_left_inside_the_quoted_strikes() {
    let (mut butterfly, mut calendar) = (f64::INFINITY, f64::NEG_INFINITY);
    for seed in 0..60 {
        let market = Market::draw(seed);
        let done = calibrate(&market);
        let curves = curves(&market, &done);
        for i in 0..curves.len() {
            let Some((low, high)) = market.slices[i].quoted(&done[i]) else { continue };
            butterfly = butterfly.min(worst_butterfly(&curves[i], low, high));
            if i + 1 < curves.len() {
                let worst = worst_calendar(&curves[i], &curves[i + 1], low, high);
                calendar = calendar.max(worst);
            }
        }
    }
    println!("least density factor {butterfly:.2e}, greatest calendar crossing {calendar:.2e}");
    assert!(butterfly > -1e-3, "density factor {butterfly}");
    assert!(calendar < 1e-3, "calendar crossing {calendar}");
}

/// Volatility and confidence of every strike, by bits.
fn bits(inputs: &[SurfaceInput], curves: &[Curve]) -> Vec<(u64, u64)> {
    let mut out = Vec::new();
    for (input, curve) in inputs.iter().zip(curves) {
        let ladder = Ladder::new(input.strike_milli, input.right);
        for strike in 0..ladder.len() {
            let (vol, conf) = curve.at_strikes(ladder.block(strike / BLOCK));
            out.push((vol.lane(strike % BLOCK).to_bits(), conf.lane(strike % BLOCK).to_bits()));
        }
    }
    out
}

#[test]
fn a_fit_depends_on_its_quotes_alone() {
    let mut fitter = Fitter::default();
    for seed in 0..30 {
        let market = Market::draw(seed);
        let done = calibrate(&market);
        let inputs = surface_inputs(&market, &done);
        // chains of different lengths and sizes one after the other
        let inputs = &inputs[..2 + seed as usize % (inputs.len() - 1)];
        assert_eq!(bits(inputs, fitter.fit(inputs)), bits(inputs, &fit(inputs)), "seed {seed}");
    }
}

#[test]
fn strikes_read_at_once_equal_those_read_one_by_one() {
    for seed in 0..10 {
        let market = Market::draw(seed);
        let done = calibrate(&market);
        let inputs = surface_inputs(&market, &done);
        let curves = fit(&inputs);
        for (input, curve) in inputs.iter().zip(&curves) {
            for n in [0, 1, 2, 15, 16, 17, input.right.len()].into_iter().filter(|&n| n <= input.right.len()) {
                let input = SurfaceInput { strike_milli: &input.strike_milli[..n], right: &input.right[..n], ..*input };
                let ladder = Ladder::new(input.strike_milli, input.right);
                let alone = ladder.strikes().iter().map(|&k| (curve.vol(k), curve.confidence(k)));
                for (i, ((vol, conf), (v, c))) in alone.zip(bits(&[input], core::slice::from_ref(curve))).enumerate() {
                    let (v, c) = (f64::from_bits(v), f64::from_bits(c));
                    assert!(
                        (v / vol - 1.0).abs() < 1e-12 && (c - conf).abs() < 1e-9,
                        "strike {i}, {n} rows: {v} for {vol}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nonsense_gives_finite_curves_or_none(
        rows in prop::collection::vec((1u32..400_000, any::<bool>(), -1.0f64..60.0, -5.0f64..30.0), 0..24),
        s in 0.01f64..1e4,
        t in prop_oneof![1e-5f64..0.01, 0.01f64..5.0],
    ) {
        let market = Market::nonsense(s, t, &rows);
        let done = calibrate(&market);
        for (slice, (c, curve)) in market.slices.iter().zip(done.iter().zip(curves(&market, &done))) {
            prop_assert!(!c.fwd.is_infinite() && !c.borr.is_infinite());
            for &k in &slice.strike_milli {
                let (vol, conf) = (curve.vol(f64::from(k) * 1e-3), curve.confidence(f64::from(k) * 1e-3));
                prop_assert!(vol.is_nan() && curve.fwd.is_nan() || vol.is_finite() && vol > 0.0, "vol {vol}");
                prop_assert!((0.0..=1.0).contains(&conf), "confidence {conf}");
            }
        }
    }
}

#[test]
fn an_expiry_without_quotes_takes_its_neighbours_shape() {
    let mut market = Market::draw(3);
    let truth: Vec<f64> = market.slices[2].sigma.clone();
    market.slices[2].bid.fill(f64::NAN);
    market.slices[2].ask.fill(f64::NAN);
    let done = calibrate(&market);
    let curves = curves(&market, &done);
    for (row, &sigma) in truth.iter().enumerate() {
        let strike = f64::from(market.slices[2].strike_milli[row]) * 1e-3;
        let vol = curves[2].vol(strike);
        assert!((vol / sigma).ln().abs() < 0.35, "{vol} for {sigma} at {strike}");
        assert!(curves[2].confidence(strike) < 1e-9);
    }
}

#[test]
fn one_quote_sets_the_level_and_none_at_all_is_missing() {
    let nothing: [f64; 2] = [f64::NAN; 2];
    let input = SurfaceInput {
        t: 0.1,
        fwd: 50.0,
        strike_milli: &[50_000, 55_000],
        right: &[Right::Call; 2],
        vol_bid: &nothing,
        vol_mid: &nothing,
        vol_ask: &nothing,
        used: &[false; 2],
    };
    assert!(fit(&[input])[0].vol(50.0).is_nan());
    let one = SurfaceInput {
        vol_bid: &[0.35, f64::NAN],
        vol_mid: &[0.4, f64::NAN],
        vol_ask: &[0.45, f64::NAN],
        used: &[true, false],
        ..input
    };
    let curve = &fit(&[one])[0];
    assert!((curve.vol(50.0) - 0.4).abs() < 0.02, "{}", curve.vol(50.0));
    assert!(curve.confidence(50.0) < 0.5 && curve.vol(80.0).is_finite());
}

/// An expiry about a forward of 100 with the right that is out of the money at each strike; a volatility of NaN: none.
struct Flat {
    t: f64,
    strike_milli: Vec<u32>,
    right: Vec<Right>,
    vol_bid: Vec<f64>,
    vol_mid: Vec<f64>,
    vol_ask: Vec<f64>,
    used: Vec<bool>,
}

impl Flat {
    /// Two-sided quotes of a volatility from 80 to 120.
    fn new(t: f64, vol: f64) -> Self {
        let strike_milli: Vec<u32> = (80..=120).step_by(5).map(|k| k * 1000).collect();
        let right = |&k: &u32| if k < 100_000 { Right::Put } else { Right::Call };
        let of = |part: f64| vec![part * vol; strike_milli.len()];
        Self {
            t,
            right: strike_milli.iter().map(right).collect(),
            vol_bid: of(0.99),
            vol_mid: of(1.0),
            vol_ask: of(1.01),
            used: vec![vol.is_finite(); strike_milli.len()],
            strike_milli,
        }
    }

    /// A call with an ask alone.
    fn add_ask(&mut self, strike_milli: u32, vol: f64) {
        self.strike_milli.push(strike_milli);
        self.right.push(Right::Call);
        self.vol_bid.push(f64::NAN);
        self.vol_mid.push(f64::NAN);
        self.vol_ask.push(vol);
        self.used.push(false);
    }

    fn input(&self) -> SurfaceInput<'_> {
        SurfaceInput {
            t: self.t,
            fwd: 100.0,
            strike_milli: &self.strike_milli,
            right: &self.right,
            vol_bid: &self.vol_bid,
            vol_mid: &self.vol_mid,
            vol_ask: &self.vol_ask,
            used: &self.used,
        }
    }
}

#[test]
fn an_expiry_without_quotes_has_the_total_variance_between_its_neighbours() {
    let slices = [(0.05, f64::NAN), (0.1, 0.5), (0.2, f64::NAN), (0.3, 0.3), (0.6, f64::NAN)];
    let slices = slices.map(|(t, vol)| Flat::new(t, vol));
    let curves = fit(&slices.each_ref().map(Flat::input));
    // 0.025 and 0.027 at a tenth of a year and at three
    let between = (0.026_f64 / 0.2).sqrt();
    for (curve, want) in curves.iter().zip([0.5, 0.5, between, 0.3, 0.3]) {
        let vol = curve.vol(100.0);
        assert!((vol / want - 1.0).abs() < 0.01, "{vol} for {want} at {}", curve.t);
    }
}

#[test]
fn where_nobody_bids_a_curve_is_below_the_asks_and_near_them() {
    let mut slice = Flat::new(0.1, 0.3);
    let asks = [(125_000, 0.292), (130_000, 0.288), (135_000, 0.285)];
    asks.iter().for_each(|&(k, vol)| slice.add_ask(k, vol));
    let curve = &fit(&[slice.input()])[0];
    for (k, ask) in asks {
        let vol = curve.vol(1e-3 * f64::from(k));
        assert!(vol <= ask && vol > 0.97 * ask, "{vol} where {ask} is asked, at {k}");
    }
    assert!((curve.vol(100.0) / 0.3 - 1.0).abs() < 0.003, "what has two sides stays");
}
