//! One premium table: American − European value of every strike and volatility of a span, as a function of the spot.
//!
//! The premium is smooth except at the exercise boundary, and the boundary moves with strike and volatility. So the
//! table's coordinate is the distance from the boundary, in units of σ: along it the premium is a short Chebyshev
//! series whose coefficients are low polynomials in ln σ and 1/K. Where no exercise is possible before an ex-date,
//! the table describes that date and the evaluation integrates back from it, which keeps the sharp features exact.
//! Never: a spot, a solve, an evaluation.

use super::between_grid::Fineness;
use super::chebyshev::{Axis, local_slope};
use super::classify::Span;
use super::problem::Problem;
use crate::american::no_dividends::NoDividends;
use crate::american::settings::{BETWEEN, RATES};
use crate::dividends::Terms;

/// Least −ln(B/K) of a put whose logarithm is tabulated: the boundary is at the strike.
const PLACED_LEAST: f64 = 1e-9;

/// Meaning of a table's coefficients.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// No premium.
    European,
    /// Worth exercising right before expiry only, to collect this amount: a European call with a lower strike.
    LowerStrike(f64),
    /// Premium now, from the exercise boundary outwards.
    Now,
    /// Premium now, from an anchor outwards that all contracts share: some have no boundary.
    Anchored,
    /// A call worth exercising right before one date, and European from there on: in closed form.
    Once,
    /// A put not worth exercising before the last ex-date: an integral over the boundary from there on.
    LastInterval(NoDividends),
    /// Premium at the first date that matters, from the boundary there outwards; beyond it exercise.
    AtExDate,
    /// Premium of puts at the first date that matters, from an anchor outwards: some contracts have no boundary there.
    AnchoredAtExDate,
}

/// A built table; see the module.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) phi: f64,
    pub(super) span: Span,
    pub(super) layout: Layout,
    /// Years from the time of building to the date described.
    pub(super) stop: f64,
    /// Exercise of a call until that date, where it pays.
    pub(super) until: Option<UntilDate>,
    /// ln σ and 1/K.
    pub(super) sigma: Axis,
    pub(super) strike: Axis,
    /// ln(B/K) of a call, ln(−ln(B/K)) of a put, a tensor polynomial.
    pub(super) boundary: Box<[f64]>,
    /// Length of the series' interval, in units of σ.
    pub(super) reach: f64,
    /// Number of terms of the series before those at its end were dropped.
    pub(super) sampled: usize,
    /// Premium/K: one tensor polynomial for each Chebyshev term. Single precision: a coefficient is below 1 and its
    /// error below 1e-7 of it.
    pub(super) premium: Box<[f32]>,
    /// True if the table was built with more strikes and terms, because the usual ones did not resolve it.
    pub(super) refined: bool,
    /// Derivatives in the rates. Most tables never need them.
    pub(super) rates: Option<Box<Rates>>,
}

/// Number of tensors of a boundary: its end, and the terms of its series.
pub(super) const TENSORS: usize = BETWEEN.points + 1;

/// The boundary from the time of building until the date.
#[derive(Clone, Debug)]
pub(super) struct UntilDate {
    /// ln(B/K) as tensor polynomials: at the date, then its Chebyshev coefficients (`between_dates.rs`). Single
    /// precision: 1e-7 of a boundary.
    pub(super) boundary: Box<[f32]>,
    /// The least ln(B/K).
    pub(super) lowest: f64,
}

/// Derivatives of a boundary in r and b, by tensor.
pub(super) type Moves = Box<[[[f32; RATE_NODES]; 2]]>;

/// Derivatives in r and b of boundary and premium, the latter at a fixed distance from the moving boundary.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// Tensors of the derivatives of `Table::boundary`, on [`Rates::NODES`].
    pub(super) boundary: [[f64; RATE_NODES]; 2],
    /// Tensors of the derivatives of premium/K, by Chebyshev term.
    pub(super) premium: Box<[[[f32; RATE_NODES]; 2]]>,
    /// Tensors of the derivatives of the boundary until the table's date.
    pub(super) until: Moves,
}

/// Coefficients of one tensor of the derivatives in rates.
pub(super) const RATE_NODES: usize = Rates::NODES.0 * Rates::NODES.1;

impl Rates {
    /// Volatility and strike nodes.
    pub(super) const NODES: (usize, usize) = (RATES.sigma_nodes, RATES.strike_nodes);
}

impl Table {
    /// True if the series begins at an anchor that all contracts share.
    pub(super) fn is_anchored(&self) -> bool {
        matches!(self.layout, Layout::Anchored | Layout::AnchoredAtExDate)
    }

    /// Inputs of the solve of this table at `terms`.
    pub(super) fn problem(&self, terms: &Terms) -> Problem {
        let continuous = self.span.continuous(self.phi, terms);
        Problem { phi: self.phi, terms: terms.clone(), stop: self.stop, continuous, fineness: Fineness::First }
    }

    /// Number of terms of the series.
    pub(super) fn n_terms(&self) -> usize {
        self.premium.len() / (self.sigma.len() * self.strike.len())
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let rates = self
            .rates
            .as_ref()
            .map_or(0, |rates| size_of::<Rates>() + size_of_val(&*rates.premium) + size_of_val(&*rates.until));
        let until = self.until.as_ref().map_or(0, |until| size_of_val(&*until.boundary));
        let last = if let Layout::LastInterval(last) = &self.layout { last.bytes() } else { 0 };
        size_of::<Self>() + size_of_val(&*self.boundary) + size_of_val(&*self.premium) + rates + until + last
    }

    /// Distance from the boundary, in units of σ, at the series' coordinate `u` in [−1, 1].
    pub(super) fn place(&self, u: f64) -> f64 {
        0.5 * self.reach * (1.0 + u)
    }

    /// ln B of one strike and volatility.
    pub(super) fn boundary_at(&self, k: f64, sigma: f64) -> f64 {
        let (s, x) = (self.sigma.unit(sigma.ln()), self.strike.unit(1.0 / k));
        let placed = local_slope(&self.boundary, self.sigma.at(s), self.strike.at(x))[0];
        k.ln() + if self.phi > 0.0 { placed } else { -placed.exp() }
    }

    /// The tabulated function of ln(B/K): itself for calls, ln(−ln(B/K)) for puts, which is almost linear in ln σ.
    pub(super) fn placed(&self, relative: f64) -> f64 {
        if self.phi > 0.0 { relative } else { (-relative).max(PLACED_LEAST).ln() }
    }
}
