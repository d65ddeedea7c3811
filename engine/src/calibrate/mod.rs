//! Quotes to a forward, a borrow rate and three volatilities per contract, one (root, expiry) at a time.
//! Never: smoothing, a symbol, a clock.

pub mod borrow;
pub mod clean;
pub mod forward;
pub mod implied;
pub mod invert;
pub mod premium;

use crate::contract::{ForwardBasis, Right, Style};
use crate::kernel::american::{Band, Pricer, Scheme};
use crate::kernel::dividends::{Dividend, Terms};
use borrow::{Carry, steady_borrow};
use clean::{Quotes, clean_quotes};
use forward::{Pair, Parity, fit_forward, pair_quotes};
use implied::{imply_vols, with_room};
use premium::{Learned, refine_forward};

/// Everything that one (root, expiry) is calibrated from.
#[derive(Clone, Copy, Debug)]
pub struct SliceInput<'a> {
    /// Exercise style.
    pub style: Style,
    /// Where the forward comes from.
    pub basis: ForwardBasis,
    /// Years to settlement, positive.
    pub t: f64,
    /// Spot, currency per share.
    pub s: f64,
    /// Continuously compounded rate to settlement.
    pub r: f64,
    /// Dividends with ex-dates in (0, t], ascending.
    pub divs: &'a [Dividend],
    /// Strikes by row, thousandths; ascending, call before put.
    pub strike_milli: &'a [u32],
    /// Call or put, by row.
    pub right: &'a [Right],
    /// Bid by row, currency per share; NaN: none.
    pub bid: &'a [f64],
    /// Ask by row; NaN: none.
    pub ask: &'a [f64],
    /// Age of each quote against the newest of the chain, seconds.
    pub age_s: &'a [f64],
}

impl SliceInput<'_> {
    /// Strike of a row, currency per share.
    #[must_use]
    pub fn strike(&self, row: usize) -> f64 {
        f64::from(self.strike_milli[row]) / 1000.0
    }
}

/// Why a quote was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Drop {
    /// Bid above ask.
    Crossed,
    /// No bid: the ask still bounds the volatility.
    NoBid,
    /// No ask.
    NoAsk,
    /// Older than the limit against the rest of its chain.
    Stale,
    /// Wider than the limit.
    TooWide,
    /// Below the least or above the greatest value that any volatility gives.
    NoArbitrage,
    /// Far from what the rest of the expiry agrees on.
    Outlier,
}

impl Drop {
    /// Every reason, in the order of its counts.
    pub const ALL: [Self; 7] =
        [Self::Crossed, Self::NoBid, Self::NoAsk, Self::Stale, Self::TooWide, Self::NoArbitrage, Self::Outlier];

    /// The name in `/health`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crossed => "crossed",
            Self::NoBid => "no_bid",
            Self::NoAsk => "no_ask",
            Self::Stale => "stale",
            Self::TooWide => "too_wide",
            Self::NoArbitrage => "no_arbitrage",
            Self::Outlier => "outlier",
        }
    }
}

/// What a slice keeps from one pass to the next: it only saves work, the result does not depend on it beyond the
/// tolerances of the solvers.
#[derive(Debug, Default)]
pub struct SliceState {
    /// Boundary and premium tables at the terms now.
    pub pricers: Pricers,
    /// The same for the next trading day, where those do not serve.
    pub later_pricers: Pricers,
    /// The same for the strikes near the money only, which the forward is found from.
    pub near_pricers: Pricers,
    /// Forward and borrow of the last pass.
    pub last: Option<(f64, f64)>,
    /// What the last pass learned of early exercise in parity.
    pub premium: Learned,
}

/// Pricers of calls and puts, kept for as long as they serve.
#[derive(Debug, Default)]
pub struct Pricers(Option<[Pricer; 2]>);

impl Pricers {
    /// The pricers of both rights, built anew, with room for a while, only where those at hand do not serve.
    pub fn serving(&mut self, style: Style, terms: &Terms, band: &Band) -> &[Pricer; 2] {
        if !self.0.as_ref().is_some_and(|pair| pair.iter().all(|p| p.serves(terms, band))) {
            self.0 = None;
        }
        let build = || {
            let band = with_room(band);
            [Right::Call, Right::Put].map(|right| Pricer::new(style, right, terms, &band, Scheme::Fast))
        };
        self.0.get_or_insert_with(build)
    }
}

/// A slice before its neighbours are heard: cleaned quotes, the strikes with both rights, and their forward as if no
/// right could be exercised early.
#[derive(Clone, Debug)]
pub struct Look {
    /// Cleaned quotes.
    pub quotes: Quotes,
    /// Strikes where call and put both have two sides.
    pub pairs: Vec<Pair>,
    /// What they say of the forward.
    pub parity: Parity,
}

/// Step 1, each slice alone: clean, and a first forward.
#[must_use]
pub fn look(input: &SliceInput) -> Look {
    let quotes = clean_quotes(input);
    let pairs = pair_quotes(input.strike_milli, input.right, &quotes);
    let parity = fit_forward(&pairs, (-input.r * input.t).exp(), input.t);
    Look { quotes, pairs, parity }
}

/// Step 3, each slice alone: the forward without early-exercise premium, on the carry that step 2 found.
#[must_use]
pub fn refine(input: &SliceInput, look: &Look, carry: &Carry, state: &mut SliceState) -> Parity {
    match input.style {
        Style::European => look.parity,
        Style::American => refine_forward(input, look, carry, state),
    }
}

/// All steps for the slices of one chain, one after the other: look, steady, refine, steady, imply.
#[must_use]
pub fn chain(inputs: &[SliceInput], states: &mut [SliceState]) -> Vec<Calibrated> {
    let prior: Vec<f64> = states.iter().map(|s| s.last.map_or(f64::NAN, |l| l.1)).collect();
    let looks: Vec<Look> = inputs.iter().map(look).collect();
    let mut parity: Vec<Parity> = looks.iter().map(|l| l.parity).collect();
    let rough = steady_borrow(inputs, &parity, &prior);
    for i in 0..inputs.len() {
        parity[i] = refine(&inputs[i], &looks[i], &rough[i], &mut states[i]);
    }
    let carry = steady_borrow(inputs, &parity, &prior);
    (0..inputs.len())
        .map(|i| {
            states[i].last = Some((carry[i].fwd, carry[i].b));
            imply_vols(&inputs[i], &looks[i], &carry[i], &mut states[i])
        })
        .collect()
}

/// The calibrated slice.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// Forward, currency per share.
    pub fwd: f64,
    /// Its standard error, currency per share; NaN where there was no parity pair.
    pub fwd_error: f64,
    /// Implied borrow rate, decimal, as published.
    pub borr: f64,
    /// The underlying price to publish: S, or F where parity is the basis.
    pub und: f64,
    /// The spot that `fwd` and `borr` imply together; values are computed from it, so that F is kept exactly.
    pub s: f64,
    /// Volatility at the bid, by row; NaN: none.
    pub vol_bid: Vec<f64>,
    /// Volatility at the mid, by row; NaN: none.
    pub vol_mid: Vec<f64>,
    /// Volatility at the ask, by row; NaN: none.
    pub vol_ask: Vec<f64>,
    /// Whether the row's quote may support the curve.
    pub used: Vec<bool>,
    /// Count of dropped quotes by [`Drop`].
    pub dropped: [u32; Drop::ALL.len()],
}

#[cfg(test)]
pub(crate) mod testing;
