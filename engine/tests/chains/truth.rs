//! A made-up market whose forwards and volatilities are known, with the faults of real quotes.

use engine::calibrate::chain::{ChainCalibration, OneByOne};
use engine::calibrate::{ForcedCarry, SliceInput, SliceWork};
use engine::surface::{Curve, SurfaceInput, fit};
use kernel::american::{Band, Pricer, SharedBoundaries};
use kernel::contract::{ForwardBasis, Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::normal::norm_cdf;
use kernel::quality::Quality;
use testkit::random::Random;

/// One name.
pub(crate) struct Market {
    pub(crate) s: f64,
    pub(crate) style: Style,
    pub(crate) slices: Vec<TrueSlice>,
}

/// One expiry with its truth.
pub(crate) struct TrueSlice {
    pub(crate) t: f64,
    pub(crate) r: f64,
    pub(crate) fwd: f64,
    pub(crate) divs: Vec<Dividend>,
    pub(crate) strike_milli: Vec<u32>,
    pub(crate) right: Vec<Right>,
    pub(crate) bid: Vec<f64>,
    pub(crate) ask: Vec<f64>,
    pub(crate) age_s: Vec<f64>,
    pub(crate) sigma: Vec<f64>,
    pub(crate) shared: SharedBoundaries,
}

/// The drawn facts of a name.
struct Name {
    vol: f64,
    long_vol: f64,
    rho: f64,
    eta: f64,
    wide: f64,
    /// How far the smile departs from SSVI near the money, part of the volatility.
    bump: f64,
    b: f64,
    style: Style,
    divs: Vec<Dividend>,
}

fn ssvi(theta: f64, rho: f64, eta: f64, k: f64) -> f64 {
    let phi = eta * theta.powf(-0.45) * (1.0 + theta).powf(-0.55);
    let pk = phi * k;
    0.5 * theta * (1.0 + rho * pk + ((pk + rho).powi(2) + 1.0 - rho * rho).sqrt())
}

impl Market {
    /// A European name without dividends.
    pub(crate) fn draw(seed: u64) -> Self {
        Self::draw_style(seed, Style::European, None, &[])
    }

    /// A name by seed; `b`: its borrow rate, drawn if none is given.
    pub(crate) fn draw_style(seed: u64, style: Style, b: Option<f64>, divs: &[Dividend]) -> Self {
        let mut dice = Random::new(seed.wrapping_mul(7919).wrapping_add(17));
        let s = (dice.between(2.5, 6.5)).exp();
        let vol = dice.between(0.12, 0.9);
        let name = Name {
            vol,
            long_vol: dice.between(0.8, 1.2) * vol,
            rho: dice.between(-0.75, 0.2),
            eta: dice.between(0.7, 1.1),
            wide: dice.between(0.2, 3.0),
            bump: dice.between(-0.03, 0.03),
            b: b.unwrap_or(dice.between(-0.005, 0.06)),
            style,
            divs: divs.iter().map(|d| Dividend { amount: d.amount * s, ..*d }).collect(),
        };
        let times = [2.0, 9.0, 30.0, 58.0, 121.0, 240.0, 500.0].map(|d: f64| d / 365.0);
        Self { s, style, slices: times.iter().map(|&t| draw_slice(&mut dice, &name, s, t)).collect() }
    }

    pub(crate) fn nonsense(s: f64, t: f64, rows: &[(u32, bool, f64, f64)]) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|r| (r.0, r.1));
        rows.dedup_by_key(|r| (r.0, r.1));
        let slice = |t: f64| TrueSlice {
            t,
            r: 0.04,
            fwd: s,
            divs: vec![Dividend { t: 0.5 * t, amount: 0.2 }],
            strike_milli: rows.iter().map(|r| r.0).collect(),
            right: rows.iter().map(|r| if r.1 { Right::Put } else { Right::Call }).collect(),
            bid: rows.iter().map(|r| r.2).collect(),
            ask: rows.iter().map(|r| r.2 + r.3).collect(),
            age_s: vec![0.0; rows.len()],
            sigma: vec![0.2; rows.len()],
            shared: SharedBoundaries::default(),
        };
        Self { s, style: Style::European, slices: vec![slice(t), slice(1.5 * t)] }
    }
}

fn draw_slice(dice: &mut Random, name: &Name, s: f64, t: f64) -> TrueSlice {
    let r = 0.045;
    let divs: Vec<Dividend> = name.divs.iter().filter(|d| d.t <= t).copied().collect();
    let terms = Terms { t, r, b: name.b, divs };
    let fwd = terms.fwd(s);
    let decay = (1.0 - (-3.0 * t).exp()) / (3.0 * t);
    let theta = t * (name.long_vol.powi(2) + (name.vol.powi(2) - name.long_vol.powi(2)) * decay);
    let sd = theta.sqrt();
    let step = [0.5, 1.0, 2.5, 5.0, 10.0, 25.0].into_iter().find(|h| *h > 0.2 * sd * s).unwrap_or(50.0);
    let reach = (2.5 * sd).max(0.15);
    let (low, high) = ((s * (-reach).exp() / step).ceil() as u32, (s * reach.exp() / step).floor() as u32);
    let mut out = TrueSlice {
        t,
        r,
        fwd,
        strike_milli: (low.max(1)..=high).flat_map(|i| [i * (step * 1000.0) as u32; 2]).collect(),
        right: (low.max(1)..=high).flat_map(|_| [Right::Call, Right::Put]).collect(),
        bid: Vec::new(),
        ask: Vec::new(),
        age_s: Vec::new(),
        sigma: Vec::new(),
        divs: terms.divs.clone(),
        shared: SharedBoundaries::default(),
    };
    let strike = |i: usize| f64::from(out.strike_milli[i]) * 1e-3;
    let smile = |k: f64| {
        let x = (k / fwd).ln() / sd;
        let bump = 1.0 + name.bump * (1.5 * x).sin() * (-x * x / 8.0).exp();
        (ssvi(theta, name.rho, name.eta, (k / fwd).ln()) / t).sqrt() * bump
    };
    out.sigma = (0..out.right.len()).map(|i| smile(strike(i))).collect();
    let ends = |x: f64, y: f64| (x.min(y), x.max(y));
    let vols = out.sigma.iter().fold((f64::INFINITY, 0.0), |(a, b), &v| (ends(a, v).0, ends(b, v).1));
    let band = Band { k: (strike(0), strike(out.right.len() - 1)), sigma: vols };
    let pricers = [Right::Call, Right::Put].map(|r| Pricer::new(name.style, r, &terms, &band, Quality::Full));
    for i in 0..out.right.len() {
        let v = pricers[out.right[i] as usize].at(&terms, s).vol_derivatives(strike(i), out.sigma[i]).value;
        let (bid, ask) = quote(dice, name, s, t, v, out.sigma[i] * t.sqrt(), (fwd / strike(i)).ln());
        out.bid.push(bid);
        out.ask.push(ask);
        out.age_s.push(0.0);
    }
    out
}

/// Bid and ask around a value: spread by vega, hedge and value, mid displaced, ticks, and now and then a fault.
fn quote(dice: &mut Random, name: &Name, s: f64, t: f64, v: f64, sd: f64, x: f64) -> (f64, f64) {
    let d1 = x / sd + 0.5 * sd;
    let vega = 0.4 * s * (-0.5 * d1 * d1).exp() * t.sqrt();
    let spread = (vega * 0.01 * name.wide + 0.0004 * name.wide * s * norm_cdf(-d1.abs() + 1.0) + 0.01 * v).max(0.01);
    let mid = v + dice.between(-0.2, 0.2) * spread;
    let tick = |p: f64, up: bool| if up { (p * 100.0).ceil() } else { (p * 100.0).floor() } / 100.0;
    let (bid, ask) = (tick(mid - 0.5 * spread, false).max(0.0), tick(mid + 0.5 * spread, true));
    let fault = dice.unit();
    if v < 0.005 || (v < spread && fault < 0.3) {
        (f64::NAN, ask)
    } else if fault < 0.01 {
        (bid, ask * 12.0 + 2.0)
    } else if fault < 0.015 {
        (ask + 0.05, bid)
    } else {
        (bid, ask)
    }
}

impl TrueSlice {
    pub(crate) fn input(&self, s: f64, style: Style) -> SliceInput<'_> {
        SliceInput {
            style,
            quality: Quality::Full,
            basis: ForwardBasis::Spot,
            t: self.t,
            s,
            r: self.r,
            step: 1.0 / 365.0,
            divs: &self.divs,
            strike_milli: &self.strike_milli,
            right: &self.right,
            bid: &self.bid,
            ask: &self.ask,
            age_s: &self.age_s,
            excluded: &[],
            forced: ForcedCarry::default(),
            shares: None,
            vol_shift: 0.0,
            shared: &self.shared,
            clock: || 0,
        }
    }

    pub(crate) fn is_otm(&self, row: usize) -> bool {
        self.right[row].phi() * (f64::from(self.strike_milli[row]) * 1e-3 - self.fwd) > 0.0
    }

    /// The true volatility at the strike nearest to the forward.
    pub(crate) fn at_the_money(&self) -> f64 {
        let away = |i: &usize| (f64::from(self.strike_milli[*i]) * 1e-3 - self.fwd).abs();
        let nearest = (0..self.sigma.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
        nearest.map_or(f64::NAN, |i| self.sigma[i])
    }

    /// The least sum of half spreads of a call and a put of one strike.
    pub(crate) fn parity_half_spread(&self) -> f64 {
        let half = |i: usize| 0.5 * (self.ask[i] - self.bid[i]);
        (1..self.bid.len())
            .filter(|&i| self.strike_milli[i] == self.strike_milli[i - 1])
            .map(|i| half(i) + half(i - 1))
            .filter(|h| *h > 0.0)
            .fold(f64::INFINITY, f64::min)
    }

    /// Least and greatest strike with a used quote.
    pub(crate) fn quoted(&self, c: &SliceWork) -> Option<(f64, f64)> {
        let used: Vec<f64> = (0..c.used.len())
            .filter(|&i| c.used[i] && self.is_otm(i))
            .map(|i| f64::from(self.strike_milli[i]) * 1e-3)
            .collect();
        Some((*used.first()?, *used.last()?))
    }
}

pub(crate) fn calibrate(market: &Market) -> Vec<SliceWork> {
    let inputs: Vec<SliceInput> = market.slices.iter().map(|s| s.input(market.s, market.style)).collect();
    let mut slices: Vec<SliceWork> = inputs.iter().map(|_| SliceWork::default()).collect();
    let _ = ChainCalibration::default().run(&inputs, &mut slices, &OneByOne);
    slices
}

pub(crate) fn surface_inputs<'a>(market: &'a Market, done: &'a [SliceWork]) -> Vec<SurfaceInput<'a>> {
    market
        .slices
        .iter()
        .zip(done)
        .map(|(i, c)| SurfaceInput {
            t: i.t,
            fwd: c.fwd,
            strike_milli: &i.strike_milli,
            right: &i.right,
            vol_bid: &c.vol_bid,
            vol_mid: &c.vol_mid,
            vol_ask: &c.vol_ask,
            used: &c.used,
        })
        .collect()
}

pub(crate) fn curves(market: &Market, done: &[SliceWork]) -> Vec<Curve> {
    fit(&surface_inputs(market, done))
}
