//! Builds a premium table: its sizes, one solve of all its strikes and volatilities, the fit of the solution. Never: an
//! evaluation.

use super::between_grid::lowest;
use super::chebyshev::{Axis, bend, fit_tensor, without_tail};
use super::classify::{ExerciseStart, Span, european_after, start, two_sided};
use super::problem::Problem;
use super::solved::{Solved, pairs};
use super::table::{Layout, Table, UntilDate};
use crate::american::no_dividends::NoDividends;
use crate::american::settings::{EVALUATE, SAME, SIZES};
use crate::american::shared::SharedBoundaries;
use crate::dividends::Terms;
use crate::work::count;

/// Bend of a boundary from which `SIZES.refined_strikes` nodes do not follow it either (units of σ).
const BEND_HOPELESS: f64 = 0.1;
/// Bend of a put's boundary from which `SIZES.refined_strikes` nodes do not follow it either (units of σ).
/// Eight strikes leave a tenth of what five leave, or less (golden/interest.csv).
const BEND_HOPELESS_PUT: f64 = 0.06;
/// Deviations that a series of `SIZES.terms` covers; a longer one takes more in proportion.
const USUAL: f64 = 7.6;
/// Greatest length of a put's series from its boundaries on: further away no spot reaches the boundary, and the series
/// does not resolve the effect of later dates next to the strike (standard deviations). The terms of a call's series
/// grow with its length.
const COVERED_PUT: f64 = 14.0;
/// A table of puts without a common boundary begins at its highest boundary if that lies at least this far below the
/// strike (standard deviations).
const ANCHOR_LEAST: f64 = 2.0;
/// Factor of the terms of a series that has a boundary within it.
const MORE_ANCHORED: f64 = 1.3;
/// Square of the factor of the terms of a table of now, per life over the time to the next ex-date.
const MORE_SOON: f64 = 0.3;

/// Least time to the next ex-date in `MORE_SOON`, years: the number of terms is capped anyway.
const SOON_LEAST: f64 = 1e-6;

impl Table {
    /// Builds the table of `span` at `terms`; a second time with more strikes and terms where it is not resolved.
    ///
    /// # Cost  1 ms with quarterly dividends, several times that where it is refined
    pub(super) fn build(shared: &SharedBoundaries, phi: f64, terms: &Terms, span: &Span) -> Self {
        count(|work| work.tables += 1);
        let table = Self::with(shared, phi, terms, span, false);
        if table.is_resolved(terms) {
            return table;
        }
        count(|work| work.tables_refined += 1);
        Self::with(shared, phi, terms, span, true)
    }

    /// Builds the table once; `refined`: with more strikes and terms.
    ///
    /// # Domain  live dividends only, in order of their dates
    fn with(shared: &SharedBoundaries, phi: f64, terms: &Terms, span: &Span, refined: bool) -> Self {
        let (lo, hi) = span.sigma;
        let mut table = Table {
            phi,
            span: *span,
            layout: Layout::European,
            stop: 0.0,
            until: None,
            sigma: Axis::new(lo.ln(), hi.ln(), SIZES.sigma_nodes),
            strike: Axis::new(1.0 / span.k.1, 1.0 / span.k.0, SIZES.refined_strikes),
            boundary: Box::default(),
            reach: 1.0,
            sampled: 0,
            premium: Box::default(),
            refined,
            rates: None,
        };
        let start = start(phi, terms, span);
        match start {
            ExerciseStart::Never => return table,
            ExerciseStart::AtExpiry => {
                let last = terms.divs.iter().filter(|d| d.t > terms.t - SAME.date);
                table.layout = Layout::LowerStrike(last.map(|d| d.amount).sum());
                return table;
            }
            ExerciseStart::Now | ExerciseStart::At(_) => {}
        }
        table.stop = if let ExerciseStart::At(date) = start { date } else { 0.0 };
        if phi > 0.0 && table.stop > 0.0 && european_after(terms, span, table.stop) {
            table.layout = Layout::Once;
            return table;
        }
        if phi < 0.0 && table.stop > 0.0 && terms.divs.iter().all(|d| d.t <= table.stop + SAME.date) {
            table.layout = Layout::LastInterval(NoDividends::last_interval(shared, terms, table.stop, span.sigma));
            return table;
        }
        table.fill(terms);
        table
    }

    /// Solves and fits the premium: from the boundaries on, or from a common anchor on if the nodes do not resolve the
    /// boundaries.
    ///
    /// # Domain  exercise begins now or at an ex-date, and may pay more than once
    /// # Cost    nearly all of the build
    fn fill(&mut self, terms: &Terms) {
        let problem = self.problem(terms);
        let is_put = self.phi < 0.0;
        let mut strike = self.strike.with(self.strikes(&problem));
        let mut solved = Solved::new(&problem, &pairs(&self.sigma, &strike));
        let mut bend = self.bend(&problem, &strike, &solved);
        let (mut most, hopeless) =
            if is_put { (SIZES.bend_most_put, BEND_HOPELESS_PUT) } else { (SIZES.bend_most, BEND_HOPELESS) };
        // more strikes may follow a boundary that bends
        if !self.refined && (is_put || problem.continuous) && (most..hopeless).contains(&bend) {
            strike = strike.with(SIZES.refined_strikes);
            solved = Solved::new(&problem, &pairs(&self.sigma, &strike));
            bend = self.bend(&problem, &strike, &solved);
            most = if is_put { SIZES.bend_most_put_refined } else { most };
        }
        (self.strike, self.stop) = (strike, solved.date());
        let pairs = pairs(&self.sigma, &strike);
        let (least, greatest) = solved.anchors(terms.t);
        // a series from the highest boundary may leave out boundaries of puts that fall away at once
        let from_highest = is_put && self.stop <= 0.0 && bend.is_finite() && !self.refined;
        let anchor = if from_highest && least >= ANCHOR_LEAST * terms.t.sqrt() { least } else { greatest };
        let boundaries: Vec<f64> = (0..pairs.len()).map(|i| solved.boundary(i)).collect();
        let aligned = bend <= most && self.is_covered(terms, solved.reach(&boundaries));
        let from = if aligned {
            boundaries
        } else {
            pairs.iter().map(|(k, sigma)| k.ln() + self.phi * anchor * sigma).collect()
        };
        let relative = from.iter().zip(&pairs).map(|(from, (k, _))| vec![self.placed(from - k.ln())]);
        self.boundary = fit_tensor(&self.sigma, &self.strike, &relative.collect::<Vec<_>>()).into();
        self.layout = match (aligned, self.stop > 0.0) {
            (true, true) => Layout::AtExDate,
            (true, false) => Layout::Now,
            (false, true) => Layout::AnchoredAtExDate,
            (false, false) => Layout::Anchored,
        };
        let until: Option<Vec<Vec<f64>>> = (0..pairs.len()).map(|i| solved.until(i)).collect();
        self.until = until.map(|lanes| UntilDate {
            boundary: fit_tensor(&self.sigma, &self.strike, &lanes).iter().map(|c| *c as f32).collect(),
            lowest: lanes.iter().map(|lane| lowest(lane)).fold(f64::INFINITY, f64::min),
        });
        self.reach = solved.reach(&from);
        self.sampled = self.terms_kept(terms);
        let worth = if self.stop > 0.0 { SIZES.worth_integrating } else { SIZES.worth_differentiating };
        let sampled = without_tail(solved.series(&from, self.reach, self.sampled), worth);
        self.premium = fit_tensor(&self.sigma, &self.strike, &sampled).iter().map(|c| *c as f32).collect();
    }

    /// True if the terms of a series from the boundaries on resolve its length `reach`, in units of σ. A boundary may
    /// lie so far from the strike that only the best date fixed in advance matters there.
    fn is_covered(&self, terms: &Terms, reach: f64) -> bool {
        let most = if self.phi > 0.0 { USUAL * SIZES.wider_most } else { COVERED_PUT };
        reach <= most * (terms.t - self.stop).sqrt()
    }

    /// Number of strike nodes of the first solve.
    fn strikes(&self, problem: &Problem) -> usize {
        if problem.terms.divs.is_empty() {
            // all strikes have the same boundary and premium, in units of the strike
            return 1;
        }
        if self.refined {
            return SIZES.refined_strikes;
        }
        let wide = usize::from(self.span.k.1 / self.span.k.0 > SIZES.wide_range);
        wide + if self.phi < 0.0 {
            SIZES.strikes_put
        } else if problem.continuous {
            SIZES.strikes_between
        } else {
            SIZES.strikes_at_dates
        }
    }

    /// Greatest of the highest Chebyshev terms, in 1/K and ln σ, of the boundary's distance from the strike in units of
    /// σ: where a put's dividend is worth about the interest on the strike, the boundary falls away to 0 within a few
    /// strikes. Infinite if some contract has no boundary, or the region of exercise may have two.
    fn bend(&self, problem: &Problem, strike: &Axis, solved: &Solved) -> f64 {
        if !solved.is_bounded() || solved.has_end() || two_sided(self.phi, &problem.terms) {
            return f64::INFINITY;
        }
        let pairs = pairs(&self.sigma, strike);
        let away = |i: usize| (solved.boundary(i) - pairs[i].0.ln()) / pairs[i].1;
        bend(&self.sigma, strike, away).into_iter().fold(0.0, f64::max)
    }

    /// Number of terms of the series: more if it covers more standard deviations, or if it begins at an anchor and must
    /// resolve the kinks that the next ex-date leaves.
    fn terms_kept(&self, terms: &Terms) -> usize {
        if self.refined && self.is_anchored() {
            return EVALUATE.most_terms;
        }
        let deviations = self.reach / (terms.t - self.stop).sqrt();
        let mut more = (deviations / USUAL).max(1.0);
        if matches!(self.layout, Layout::Anchored) {
            let next = terms.divs.first().map_or(terms.t, |d| d.t);
            more = more.max((MORE_SOON * terms.t / next.max(SOON_LEAST)).sqrt());
        }
        if matches!(self.layout, Layout::AnchoredAtExDate) {
            more = more.max(MORE_ANCHORED);
        }
        ((SIZES.terms as f64 * more.min(SIZES.wider_most)) as usize).min(EVALUATE.most_terms)
    }
}
