//! Slices by hand, for tests.

use super::chain::{ChainCalibration, OneByOne};
use super::input::{ForcedCarry, SliceInput};
use super::slice_work::SliceWork;
use kernel::american::SharedBoundaries;
use kernel::black76::{Horizon, european_vol};
use kernel::contract::{ForwardBasis, Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::lanes::Mask;
use kernel::lattice::Lattice;
use kernel::quality::Quality;

/// A slice that owns its rows.
pub(crate) struct OwnedSlice {
    pub(crate) style: Style,
    pub(crate) t: f64,
    pub(crate) s: f64,
    pub(crate) r: f64,
    pub(crate) divs: Vec<Dividend>,
    pub(crate) strike_milli: Vec<u32>,
    pub(crate) right: Vec<Right>,
    pub(crate) bid: Vec<f64>,
    pub(crate) ask: Vec<f64>,
    pub(crate) age_s: Vec<f64>,
    pub(crate) shared: SharedBoundaries,
}

/// European, r = 4 %, no dividends; rows are (strike, right, bid, ask).
pub(crate) fn slice(s: f64, t: f64, rows: &[(u32, Right, f64, f64)]) -> OwnedSlice {
    OwnedSlice {
        style: Style::European,
        t,
        s,
        r: 0.04,
        divs: Vec::new(),
        strike_milli: rows.iter().map(|r| r.0 * 1000).collect(),
        right: rows.iter().map(|r| r.1).collect(),
        bid: rows.iter().map(|r| r.2).collect(),
        ask: rows.iter().map(|r| r.3).collect(),
        age_s: vec![0.0; rows.len()],
        shared: SharedBoundaries::default(),
    }
}

/// Value of a contract: European, or with early exercise from a lattice of 200 layers.
pub(crate) fn worth(style: Style, terms: &Terms, s: f64, right: Right, k: f64, sigma: f64) -> f64 {
    let european = european_vol(right.phi(), &Horizon::from(terms), s - terms.a(0.0), k, sigma).value;
    if style == Style::European {
        return european;
    }
    let premium = Lattice::new(terms, s, right, 200).premium(k, sigma);
    if premium.exercised.any() { (s - k) * right.phi() } else { european + premium.value }
}

/// Calls and puts at these strikes, quoted `half` to either side of their values at r = 4 % and one volatility.
pub(crate) fn fair(style: Style, s: f64, t: f64, sigma: f64, strikes: &[u32], half: f64) -> OwnedSlice {
    let terms = Terms { t, r: 0.04, b: 0.0, divs: Vec::new() };
    let quote = |k: u32, right: Right| {
        let value = worth(style, &terms, s, right, f64::from(k), sigma);
        (k, right, value - half, value + half)
    };
    let rows: Vec<_> = strikes.iter().flat_map(|&k| [quote(k, Right::Call), quote(k, Right::Put)]).collect();
    OwnedSlice { style, ..slice(s, t, &rows) }
}

/// Calibrates a slice alone, through all steps.
pub(crate) fn calibrated(slice: &OwnedSlice) -> SliceWork {
    let mut work = [SliceWork::default()];
    let _ = ChainCalibration::default().run(&[slice.input()], &mut work, &OneByOne);
    let [work] = work;
    work
}

impl OwnedSlice {
    pub(crate) fn input(&self) -> SliceInput<'_> {
        SliceInput {
            style: self.style,
            quality: Quality::Full,
            basis: ForwardBasis::Spot,
            t: self.t,
            s: self.s,
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
            shared: &self.shared,
            clock: || 0,
            vol_shift: 0.0,
        }
    }
}
