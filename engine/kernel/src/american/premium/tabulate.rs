//! How a premium table is built: its sizes, one solve of all its strikes and volatilities, the fit of what was solved.
//! Never: an evaluation.

use super::between_grid::lowest;
use super::chebyshev::{Axis, Lobatto, fit_tensor, without_tail};
use super::classify::{Span, Start, european_after, more_strikes, start, two_sided};
use super::dates::AtFirstDate;
use super::last_interval::LastInterval;
use super::profile::SolvedColumn;
use super::resolution::resolved;
use super::schedule::Problem;
use super::solved::{Down, GridSizes, SolverRun, pairs};
use super::table::{Layout, Table, UntilDate};
use crate::american::settings::{DATES, EVALUATE, GRID, SAME, SIZES};
use crate::dividends::Terms;
use crate::quality::Quality;
use std::sync::OnceLock;

/// Sizes of a table.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Space intervals on a nominal width of 2·GRID.wide, and time steps.
    intervals: usize,
    steps: usize,
    /// Volatility and strike nodes.
    nodes: (usize, usize),
    /// Terms of the Chebyshev series.
    terms: usize,
}

/// Sizes by scheme; a strike range wider than `SIZES.wide_range` takes one more node.
fn sizes(scheme: Quality, span: &Span) -> Sizes {
    let more = usize::from(span.k.1 / span.k.0 > SIZES.wide_range);
    match scheme {
        Quality::Coarse | Quality::Preliminary | Quality::Full => Sizes {
            intervals: SIZES.intervals,
            steps: SIZES.steps,
            nodes: (SIZES.sigma_nodes, SIZES.strike_nodes + more),
            terms: SIZES.terms,
        },
        Quality::Reference => Sizes {
            intervals: SIZES.intervals_accurate,
            steps: SIZES.steps_accurate,
            nodes: (SIZES.sigma_nodes, SIZES.strike_nodes_accurate),
            terms: SIZES.terms_accurate,
        },
    }
}

/// What came of solving and fitting from date to date.
enum DateFit {
    Fitted,
    /// The boundary bends more with the strike, or with the volatility, than these nodes can follow.
    Bends {
        bend: f64,
        strike: Axis,
        solved: AtFirstDate,
    },
    /// Some strike or volatility has no boundary at the date.
    Unsolved,
}

impl Table {
    /// Builds the table of `span` at `terms`; a second time with more strikes and terms, and if need be with
    /// `Quality::Reference`, where it is not resolved.
    ///
    /// # Cost  0.5 ms (`Quality::Full`, quarterly dividends), 15 to 90 ms (`Quality::Reference`)
    pub(super) fn build(phi: f64, terms: &Terms, span: &Span, scheme: Quality) -> Self {
        let with = |scheme: Quality, refined: bool| Self::with(phi, terms, span, scheme, refined);
        let table = with(scheme, false);
        if scheme < Quality::Reference { resolved(table, terms, with) } else { table }
    }

    /// Builds it with the sizes of `scheme`.
    ///
    /// # Domain  live dividends only, in order of their dates
    fn with(phi: f64, terms: &Terms, span: &Span, scheme: Quality, refined: bool) -> Self {
        let mut sizes = sizes(scheme, span);
        sizes.nodes.1 += more_strikes(phi, terms, span).min(if scheme < Quality::Reference {
            SIZES.opening_most
        } else {
            SIZES.opening_most_accurate
        });
        if refined {
            sizes.nodes.1 = SIZES.refined_strikes;
            sizes.intervals = sizes.intervals.max(SIZES.refined_intervals);
        }
        let (lo, hi) = span.sigma;
        let mut table = Table {
            phi,
            span: *span,
            layout: Layout::European,
            stop: 0.0,
            until: None,
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
                let last = terms.divs.iter().filter(|d| d.t > terms.t - SAME.date);
                table.layout = Layout::LowerStrike(last.map(|d| d.amount).sum());
                return table;
            }
            Start::Now | Start::At(_) => {}
        }
        table.stop = if let Start::At(date) = start { date } else { 0.0 };
        if phi > 0.0 && table.stop > 0.0 && european_after(terms, span, table.stop) {
            table.layout = Layout::Once;
            return table;
        }
        if phi < 0.0 && table.stop > 0.0 && terms.divs.iter().all(|d| d.t <= table.stop + SAME.date) {
            table.layout = Layout::LastInterval(LastInterval::new(terms, table.stop, span, scheme));
            return table;
        }
        if !table.fill(terms, &sizes) {
            table.stop = 0.0;
            table.fill(terms, &sizes);
        }
        table
    }

    /// Solves and fits; false if the layout at an ex-date does not suit, because some lanes have no boundary there.
    ///
    /// # Domain  exercise begins now or at an ex-date, and may pay more than once
    /// # Cost    nearly all of the table's
    fn fill(&mut self, terms: &Terms, sizes: &Sizes) -> bool {
        let problem = self.problem(terms);
        if self.phi < 0.0 && !self.refined && self.fit_dates(&problem, sizes) {
            return true;
        }
        if self.phi > 0.0 && self.stop > 0.0 {
            if self.fit_dates(&problem, sizes) {
                return true;
            }
            if problem.continuous {
                // exercise until the date is not part of what a grid solves back to it
                return false;
            }
        }
        let grid = GridSizes { intervals: sizes.intervals, steps: sizes.steps };
        let solved = |down| {
            SolverRun::new(&problem, &self.sigma, &self.strike, grid, down)
                .profiles(core::slice::from_ref(&problem))
                .remove(0)
        };
        let mut profiles = solved(self.down);
        if self.refined && self.phi < 0.0 && profiles.iter().all(|p| p.boundary.is_none()) {
            // there is no exercise to end the grid in
            self.down = Down::Far;
            profiles = solved(self.down);
        }
        let bounded = profiles.iter().all(|p| p.boundary.is_some())
            && !two_sided(self.phi, terms)
            && self.strike_bend(&profiles) <= SIZES.bend_most;
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
        let worth = if self.stop > 0.0 { SIZES.worth_integrating } else { SIZES.worth_differentiating };
        self.fit_series(sampled, worth);
        true
    }

    /// Solves and fits from ex-date to ex-date, without a grid: calls that are exercised at dates, or between them too,
    /// and puts. False if a date has not one boundary for all of them, or if the strikes are too few for it.
    fn fit_dates(&mut self, problem: &Problem, sizes: &Sizes) -> bool {
        let is_put = self.phi < 0.0;
        let strikes = if is_put {
            SIZES.strikes_put + usize::from(self.span.k.1 / self.span.k.0 > SIZES.wide_range)
        } else {
            let more = if problem.continuous { SIZES.strikes_between } else { SIZES.strikes_at_dates };
            (self.strike.len() + more).min(SIZES.refined_strikes)
        };
        let bend_most = if is_put { SIZES.bend_most_put } else { SIZES.bend_most };
        let bend = match self.fit_dates_with(problem, sizes, strikes, bend_most) {
            DateFit::Fitted => return true,
            DateFit::Unsolved => return false,
            DateFit::Bends { bend, .. } => bend,
        };
        // a put's boundary that falls away at once is not followed by more strikes, but may be left out
        let may_start_above = is_put && self.stop <= 0.0;
        if !may_start_above && (!problem.continuous || bend > SIZES.bend_hopeless) {
            return false;
        }
        let bend_most = if is_put { SIZES.bend_most_put } else { SIZES.bend_most_refined };
        match self.fit_dates_with(problem, sizes, SIZES.refined_strikes, bend_most) {
            DateFit::Fitted => true,
            DateFit::Bends { strike, solved, .. } if may_start_above => {
                self.fit_anchored(problem, sizes, &strike, &solved)
            }
            DateFit::Bends { .. } | DateFit::Unsolved => false,
        }
    }

    /// The same with as many strikes, where the boundary's highest term in 1/K is `bend_most` at most.
    ///
    /// # Domain  as of [`Self::fit_dates`]
    fn fit_dates_with(&mut self, problem: &Problem, sizes: &Sizes, strikes: usize, bend_most: f64) -> DateFit {
        let strike = self.strike.with(strikes);
        let pairs = pairs(&self.sigma, &strike);
        let Some(solved) = AtFirstDate::new(problem, &pairs) else { return DateFit::Unsolved };
        let relative = |placed: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
            pairs.iter().enumerate().map(|(i, pair)| vec![placed(solved.boundary(i) - pair.0.ln())]).collect()
        };
        let bends = fit_tensor(&self.sigma, &strike, &relative(&|relative| relative));
        let bend = bends[(strike.len() - 1) * self.sigma.len()].abs();
        let away = |i: usize| (solved.boundary(i) - pairs[i].0.ln()) / pairs[i].1;
        let bends_by_sigma = self.phi < 0.0 && self.bend_by_sigma(&strike, away) > SIZES.bend_by_sigma_most;
        if bend > bend_most || bends_by_sigma {
            return DateFit::Bends { bend, strike, solved };
        }
        let boundary = fit_tensor(&self.sigma, &strike, &relative(&|relative| self.placed(relative)));
        let until: Option<Vec<Vec<f64>>> = (0..pairs.len()).map(|i| solved.until(i)).collect();
        self.until = until.map(|lanes| UntilDate {
            boundary: fit_tensor(&self.sigma, &strike, &lanes).iter().map(|c| *c as f32).collect(),
            lowest: lanes.iter().map(|lane| lowest(lane)).fold(f64::INFINITY, f64::min),
        });
        self.strike = strike;
        self.boundary = boundary.into();
        self.layout = if solved.date() > 0.0 { Layout::AtExDate } else { Layout::Now };
        self.stop = solved.date();
        self.reach = solved.reach();
        self.sampled = self.terms_kept(sizes, &problem.terms);
        let worth = if self.stop > 0.0 { SIZES.worth_integrating } else { SIZES.worth_differentiating };
        self.fit_series(solved.series(self.reach, self.sampled), worth);
        DateFit::Fitted
    }

    /// The greatest of the strikes' highest Chebyshev terms in ln σ.
    ///
    /// # Units  `away`: how far the boundary of a pair lies from its strike, in units of σ; so is the result
    fn bend_by_sigma(&self, strike: &Axis, away: impl Fn(usize) -> f64) -> f64 {
        let ns = self.sigma.len();
        (0..strike.len()).map(|k| self.sigma.highest(|s| away(k * ns + s)).abs()).fold(0.0, f64::max)
    }

    /// Fits puts whose boundary falls away within the strikes, from the highest boundary on; false if that lies too
    /// near to the strike to leave the others out.
    fn fit_anchored(&mut self, problem: &Problem, sizes: &Sizes, strike: &Axis, solved: &AtFirstDate) -> bool {
        let pairs = pairs(&self.sigma, strike);
        let away = |(i, pair): (usize, &(f64, f64))| (pair.0.ln() - solved.boundary(i)) / pair.1;
        let anchor = pairs.iter().enumerate().map(away).fold(f64::INFINITY, f64::min);
        if anchor < SIZES.anchor_least * problem.terms.t.sqrt() {
            return false;
        }
        let relative: Vec<Vec<f64>> = pairs.iter().map(|pair| vec![self.placed(-anchor * pair.1)]).collect();
        self.strike = *strike;
        self.boundary = fit_tensor(&self.sigma, &self.strike, &relative).into();
        self.layout = Layout::Anchored;
        self.reach = anchor + DATES.far * problem.terms.t.sqrt();
        self.sampled = self.terms_kept(sizes, &problem.terms);
        let series = solved.series_from(anchor, self.reach, self.sampled);
        self.fit_series(series, SIZES.worth_differentiating);
        true
    }

    /// Fits the series of all strikes and volatilities, less the terms below `worth` at their ends.
    fn fit_series(&mut self, sampled: Vec<Vec<f64>>, worth: f64) {
        let sampled = without_tail(sampled, worth * self.tail());
        self.premium = fit_tensor(&self.sigma, &self.strike, &sampled).iter().map(|c| *c as f32).collect();
    }

    /// The highest term in 1/K of ln(B/K). It is small, but where a put's dividend is worth about the interest on the
    /// strike: there the boundary falls away to 0 within a few strikes.
    fn strike_bend(&self, profiles: &[SolvedColumn]) -> f64 {
        let relative: Vec<Vec<f64>> =
            profiles.iter().map(|p| vec![p.boundary.map_or(f64::INFINITY, |b| b - p.k.ln())]).collect();
        let top = (self.strike.len() - 1) * self.sigma.len();
        fit_tensor(&self.sigma, &self.strike, &relative)[top].abs()
    }

    /// Terms of the series: more where it covers more standard deviations, or where, without a boundary to start
    /// from, it must resolve what the next ex-date leaves.
    fn terms_kept(&self, sizes: &Sizes, terms: &Terms) -> usize {
        if self.refined && self.is_anchored() {
            return EVALUATE.most_terms;
        }
        let deviations = self.reach / (terms.t - self.stop).sqrt();
        let mut more = (deviations / (2.0 * GRID.wide)).max(1.0);
        if matches!(self.layout, Layout::Anchored) {
            let next = terms.divs.first().map_or(terms.t, |d| d.t);
            more = more.max((SIZES.more_soon * terms.t / next.max(SIZES.soon_least)).sqrt());
        }
        if matches!(self.layout, Layout::AnchoredAtExDate) {
            more = more.max(SIZES.more_anchored);
        }
        ((sizes.terms as f64 * more.min(SIZES.wider_most)) as usize).min(EVALUATE.most_terms)
    }
}

/// Distance from the strike towards exercise, in units of σ, that every lane's grid covers.
fn common_anchor(profiles: &[SolvedColumn]) -> f64 {
    profiles.iter().map(|p| (p.edge - p.k.ln()).abs() / p.sigma).fold(f64::INFINITY, f64::min)
}
