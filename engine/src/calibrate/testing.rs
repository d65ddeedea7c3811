//! Slices by hand, for tests.

use super::input::SliceInput;
use crate::contract::{ForwardBasis, Right, Style};
use crate::early::Depth;
use crate::kernel::dividends::Dividend;

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
    }
}

impl OwnedSlice {
    pub(crate) fn input(&self) -> SliceInput<'_> {
        SliceInput {
            style: self.style,
            depth: Depth::Full,
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
            forced_borrow: None,
        }
    }
}
