//! One premium table: American − European value of every strike and volatility of a span, as a function of the spot.
//!
//! The premium is smooth except at the exercise boundary, and the boundary moves with strike and volatility. So the
//! table's coordinate is the distance from the boundary, in units of σ: along it the premium is a short Chebyshev
//! series whose coefficients are low polynomials in ln σ and 1/K. Where no exercise is possible before an ex-date,
//! the table describes that date and the evaluation integrates back from it, which keeps the sharp features exact.
//! Never: a spot, an evaluation.

use super::chebyshev::{Axis, Lobatto, fit_tensor, local_slope};
use super::classify::{Span, Start, continuous, european_after, in_last_days, more_strikes, start, two_sided};
use super::evaluate::MOST_TERMS;
use super::profile::Profile;
use super::rates::Rates;
use super::resolution::resolved;
use super::schedule::{Problem, SAME_DATE};
use super::solved::{Course, Down, WIDE};
use crate::kernel::american::Scheme;
use crate::kernel::dividends::Terms;
use std::sync::OnceLock;

/// A boundary whose highest term in 1/K is greater than this is not fitted by the table's few strikes.
const BEND_MAX: f64 = 0.01;

/// Terms at the end of a series are dropped where all are below this, in units of the strike: where the series is only
/// integrated, and where it is differentiated.
const WORTH_INTEGRATING: f64 = 3e-8;
const WORTH_DIFFERENTIATING: f64 = 1e-9;

/// Sizes of a table.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Space intervals on a nominal width of 2·WIDE, and time steps.
    intervals: usize,
    steps: usize,
    /// Volatility and strike nodes.
    nodes: (usize, usize),
    /// Terms of the Chebyshev series.
    terms: usize,
}

/// Sizes by scheme; a strike range wider than `WIDE_RANGE` takes one more node.
fn sizes(scheme: Scheme, span: &Span) -> Sizes {
    let more = usize::from(span.k.1 / span.k.0 > WIDE_RANGE);
    match scheme {
        Scheme::Fast => Sizes { intervals: 200, steps: 50, nodes: (6, 3 + more), terms: 32 },
        Scheme::Accurate => Sizes { intervals: 640, steps: 200, nodes: (6, 4), terms: 48 },
    }
}

/// Terms that a series takes, in units of the scheme's, where a boundary lies within it.
const MORE_ANCHORED: f64 = 1.3;
/// Strike nodes of a table that fewer did not resolve, terms of its series where it has no boundary to start from, and
/// space intervals.
const REFINED_STRIKES: usize = 8;
const REFINED_TERMS: usize = MOST_TERMS;
const REFINED_INTERVALS: usize = 320;
/// Strike ratio up to which three nodes do.
const WIDE_RANGE: f64 = 1.21;

/// How the table is to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// No premium.
    European,
    /// Worth exercising right before expiry only, to collect this amount: a European call with a lower strike.
    LowerStrike(f64),
    /// Premium now, from the exercise boundary outwards.
    Now,
    /// Premium now, from a common anchor outwards: some strikes or volatilities have no boundary.
    Anchored,
    /// A call worth exercising right before one date, and European from there on: in closed form.
    Once,
    /// Premium at the first date that matters, from the boundary there outwards; beyond it exercise.
    AtExDate,
    /// The same of puts from a common anchor outwards: some strikes or volatilities have no boundary there.
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
    /// Whether exercise of a call is watched for until then.
    pub(super) watched: bool,
    /// ln σ and 1/K.
    pub(super) sigma: Axis,
    pub(super) strike: Axis,
    /// ln(B/K) of a call, ln(−ln(B/K)) of a put, a tensor polynomial.
    pub(super) boundary: Box<[f64]>,
    /// Length of the series' interval, in units of σ.
    pub(super) reach: f64,
    /// How many terms were sampled.
    pub(super) sampled: usize,
    /// Premium/K: one tensor polynomial for each Chebyshev term. Single precision: a coefficient is below 1 and its
    /// error below 1e-7 of it.
    pub(super) premium: Box<[f32]>,
    pub(super) scheme: Scheme,
    /// Whether it was built with more strikes and terms, because the usual ones did not resolve it.
    pub(super) refined: bool,
    /// How far its grids reach where exercise ends them.
    pub(super) down: Down,
    rates: OnceLock<Rates>,
}

impl Table {
    /// Builds the table of `span` at `terms`; a second time with more strikes and terms, and if need be with
    /// `Scheme::Accurate`, where it is not resolved.
    ///
    /// # Cost  0.5 ms (`Scheme::Fast`, quarterly dividends), 15 to 90 ms (`Scheme::Accurate`)
    pub(super) fn build(phi: f64, terms: &Terms, span: &Span, scheme: Scheme) -> Self {
        let with = |scheme: Scheme, refined: bool| Self::with(phi, terms, span, scheme, refined);
        let table = with(scheme, false);
        if scheme == Scheme::Fast { resolved(table, terms, with) } else { table }
    }

    /// Builds it with the sizes of `scheme`.
    fn with(phi: f64, terms: &Terms, span: &Span, scheme: Scheme, refined: bool) -> Self {
        let mut sizes = sizes(scheme, span);
        sizes.nodes.1 += more_strikes(phi, terms, span).min(if scheme == Scheme::Fast { 2 } else { 1 });
        if refined {
            sizes.nodes.1 = REFINED_STRIKES;
            sizes.intervals = sizes.intervals.max(REFINED_INTERVALS);
        }
        let (lo, hi) = span.sigma;
        let mut table = Table {
            phi,
            span: *span,
            layout: Layout::European,
            stop: 0.0,
            watched: false,
            sigma: Axis::new(lo.ln(), hi.ln(), sizes.nodes.0),
            strike: Axis::new(1.0 / span.k.1, 1.0 / span.k.0, sizes.nodes.1),
            boundary: Box::default(),
            reach: 1.0,
            sampled: 0,
            premium: Box::default(),
            scheme,
            refined,
            down: Down::ToExercise,
            rates: OnceLock::new(),
        };
        let start = start(phi, terms, span);
        match start {
            Start::Never => return table,
            Start::AtExpiry => {
                let last = terms.divs.iter().filter(|d| d.t > terms.t - SAME_DATE);
                table.layout = Layout::LowerStrike(last.map(|d| d.amount).sum());
                return table;
            }
            Start::Now | Start::At(_) => {}
        }
        table.stop = if let Start::At(date) = start { date } else { 0.0 };
        table.watched = phi > 0.0 && continuous(phi, terms) && in_last_days(terms, span, table.stop);
        if phi > 0.0 && table.stop > 0.0 && european_after(terms, span, table.stop) {
            table.layout = Layout::Once;
            return table;
        }
        if !table.fill(terms, &sizes) {
            table.stop = 0.0;
            table.fill(terms, &sizes);
        }
        table
    }

    /// Solves and fits; false if the layout at an ex-date does not suit, because some lanes have no boundary there.
    fn fill(&mut self, terms: &Terms, sizes: &Sizes) -> bool {
        let problem = self.problem(terms);
        let (axes, grid) = ((&self.sigma, &self.strike), (sizes.intervals, sizes.steps));
        let solved = |down| Course::new(&problem, axes, grid, down).profiles(core::slice::from_ref(&problem)).remove(0);
        let mut profiles = solved(self.down);
        if self.refined && self.phi < 0.0 && profiles.iter().all(|p| p.boundary.is_none()) {
            // there is no exercise to end the grid in
            self.down = Down::Far;
            profiles = solved(self.down);
        }
        let bounded = profiles.iter().all(|p| p.boundary.is_some())
            && !two_sided(self.phi, terms)
            && self.strike_bend(&profiles) <= BEND_MAX;
        self.layout = match (bounded, self.stop > 0.0) {
            (true, true) => Layout::AtExDate,
            (true, false) => Layout::Now,
            (false, true) if self.phi < 0.0 && !two_sided(self.phi, terms) => Layout::AnchoredAtExDate,
            (false, true) => return false,
            (false, false) => Layout::Anchored,
        };
        let outward = -self.phi;
        let anchor = common_anchor(&profiles);
        let from: Vec<f64> = profiles
            .iter()
            .map(|p| if bounded { p.boundary.unwrap_or(p.edge) } else { p.k.ln() - outward * anchor * p.sigma })
            .collect();
        let relative =
            profiles.iter().zip(&from).map(|(p, from)| vec![self.placed(from - p.k.ln())]).collect::<Vec<_>>();
        self.boundary = fit_tensor(&self.sigma, &self.strike, &relative).into();
        let reaches = profiles.iter().zip(&from).map(|(p, from)| (p.far() - from) * outward / p.sigma);
        self.reach = reaches.fold(0.0, f64::max);
        let terms_kept = self.terms_kept(sizes, terms);
        self.sampled = terms_kept;
        let series = Lobatto::of(terms_kept);
        let sampled: Vec<Vec<f64>> = profiles
            .iter()
            .zip(&from)
            .map(|(p, from)| series.coefficients(|u| p.premium(from + outward * p.sigma * self.place(u)) / p.k))
            .collect();
        let worth = if self.stop > 0.0 { WORTH_INTEGRATING } else { WORTH_DIFFERENTIATING };
        let sampled = without_tail(sampled, worth * self.tail());
        self.premium = fit_tensor(&self.sigma, &self.strike, &sampled).iter().map(|c| *c as f32).collect();
        true
    }

    /// Whether it begins at a common anchor.
    pub(super) fn is_anchored(&self) -> bool {
        matches!(self.layout, Layout::Anchored | Layout::AnchoredAtExDate)
    }

    /// The part of a tail worth dropping that the scheme drops.
    pub(super) fn tail(&self) -> f64 {
        match self.scheme {
            Scheme::Fast => 1.0,
            Scheme::Accurate => 1e-3,
        }
    }

    fn problem(&self, terms: &Terms) -> Problem {
        Problem { phi: self.phi, terms: terms.clone(), stop: self.stop, continuous: continuous(self.phi, terms) }
    }

    /// How many terms the series has.
    pub(super) fn n_terms(&self) -> usize {
        self.premium.len() / (self.sigma.len() * self.strike.len())
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let rates = self.rates.get().map_or(0, |rates| size_of_val(&*rates.premium));
        size_of::<Self>() + size_of_val(&*self.boundary) + size_of_val(&*self.premium) + rates
    }

    /// The highest term in 1/K of ln(B/K). It is small, but where a put's dividend is worth about the interest on the
    /// strike: there the boundary falls away to 0 within a few strikes.
    fn strike_bend(&self, profiles: &[Profile]) -> f64 {
        let relative: Vec<Vec<f64>> =
            profiles.iter().map(|p| vec![p.boundary.map_or(f64::INFINITY, |b| b - p.k.ln())]).collect();
        let top = (self.strike.len() - 1) * self.sigma.len();
        fit_tensor(&self.sigma, &self.strike, &relative)[top].abs()
    }

    /// Terms of the series: more where it covers more standard deviations, or where, without a boundary to start
    /// from, it must resolve what the next ex-date leaves.
    fn terms_kept(&self, sizes: &Sizes, terms: &Terms) -> usize {
        if self.refined && self.is_anchored() {
            return REFINED_TERMS;
        }
        let deviations = self.reach / (terms.t - self.stop).sqrt();
        let mut more = (deviations / (2.0 * WIDE)).max(1.0);
        if self.layout == Layout::Anchored {
            let next = terms.divs.first().map_or(terms.t, |d| d.t);
            more = more.max((0.3 * terms.t / next.max(1e-6)).sqrt());
        }
        if self.layout == Layout::AnchoredAtExDate {
            more = more.max(MORE_ANCHORED);
        }
        ((sizes.terms as f64 * more.min(2.5)) as usize).min(MOST_TERMS)
    }

    /// Distance from the boundary, in units of σ, of the series' coordinate `u`.
    pub(super) fn place(&self, u: f64) -> f64 {
        0.5 * self.reach * (1.0 + u)
    }

    /// ln B of one strike and volatility.
    pub(super) fn boundary_at(&self, k: f64, sigma: f64) -> f64 {
        let (s, x) = (self.sigma.unit(sigma.ln()), self.strike.unit(1.0 / k));
        let placed = local_slope(&self.boundary, (&self.sigma, s), (&self.strike, x))[0];
        k.ln() + if self.phi > 0.0 { placed } else { -placed.exp() }
    }

    /// What is tabulated of ln(B/K): of a put's the logarithm of how far it lies below 0, which is almost linear in ln σ.
    pub(super) fn placed(&self, relative: f64) -> f64 {
        if self.phi > 0.0 { relative } else { (-relative).max(1e-9).ln() }
    }

    /// How the table moves with the rates; `terms` are those it was built at. They cost as much as the table itself, and
    /// tables of the next trading day are read for values only: so they are solved when they are first read.
    pub(super) fn rates(&self, terms: &Terms) -> &Rates {
        self.rates.get_or_init(|| Rates::of(self, &self.problem(terms)))
    }
}

/// Series without the terms at their ends that are below `worth` in all.
pub(super) fn without_tail(mut series: Vec<Vec<f64>>, worth: f64) -> Vec<Vec<f64>> {
    let last = |series: &Vec<f64>| series.iter().rposition(|c| c.abs() > worth).unwrap_or(0);
    let keep = series.iter().map(last).max().unwrap_or(0) + 1;
    series.iter_mut().for_each(|series| series.truncate(keep));
    series
}

/// Distance from the strike towards exercise, in units of σ, that every lane's grid covers.
fn common_anchor(profiles: &[Profile]) -> f64 {
    profiles.iter().map(|p| (p.edge - p.k.ln()).abs() / p.sigma).fold(f64::INFINITY, f64::min)
}
