//! One premium table: American − European value of every strike and volatility of a span, as a function of the spot;
//! and its build, one solve of all its strikes and volatilities and the fit of the solution.
//!
//! The premium is smooth except at the exercise boundary, and the boundary moves with strike and volatility. So the
//! table's coordinate is the distance from the boundary, in units of σ: along it the premium is a short Chebyshev
//! series whose coefficients are low polynomials in ln σ and 1/K. Where no exercise is possible before an ex-date,
//! the table describes that date and the evaluation integrates back from it, which keeps the sharp features exact.
//! Never: a spot, an evaluation.

use super::exercise::{Inputs, best_plan};
use super::periods::Problem;
use super::series::{Axis, bend, fit_tensor, local_slope, without_tail};
use super::solved::{Solved, pairs};
use super::time_between::{Fineness, lowest};
use crate::american::no_dividends::NoDividends;
use crate::american::pays::{ExerciseStart, Span, european_after, start, two_sided};
use crate::american::settings::{BETWEEN, CHECKED_SIGMAS, CHECKED_STRIKES, EVALUATE, RATES, SAME, SIZES};
use crate::american::shared::SharedBoundaries;
use crate::black76::European;
use crate::dividends::{Dividend, Terms};
use crate::solve::chebyshev;
use crate::work::count;

/// Greatest error that the check may estimate (part of the price's unit). Smaller builds more tables again, larger
/// leaves prices off by half of it. About half of what it finds is the worst price error of a table.
const RESOLVED: f64 = 6e-4;
/// Factor c of the estimated error c·n·m·√(1 − u²) of a series at u, with n terms and m the greatest of the last ones.
const TAIL: f64 = 0.15;
/// Factor of the highest term in the volatility in the estimated error of a tensor.
const SIGMA_TOP: f64 = 0.3;
/// Deviations below the strike from which a put is worth the best plan fixed in advance.
const RESOLUTION_FAR: f64 = 3.0;
/// Number of terms that count as the last ones. A term may be small by chance, four are not.
const RESOLUTION_LAST: usize = 4;
/// Intervals along the series at whose ends the check looks. More than the terms of a series.
const PLACES: usize = 40;
/// Lower bound of the price's unit, as in golden/tolerances.csv (part of the spot). The unit of every price error
/// (golden/README.md).
const UNIT_LEAST: f64 = 0.05;
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

// Whether a table that begins at an anchor, and not at a boundary, is resolved: its series crosses the exercise
// boundaries of the strikes and volatilities that have one, where the premium bends. The size of its last terms and of
// its highest powers in strike and volatility estimates the terms that are missing. Of 2,358 tables of a start of a
// fiftieth of the simulated market 31 are built again for it.

/// One term of the series at a volatility and strike: its value, and the part of it from the highest power in 1/K and
/// ln σ.
struct Term {
    value: f64,
    strike_top: f64,
    sigma_top: f64,
}

impl Table {
    /// True if the table begins at a boundary, or if its greatest estimated error, along its series and between its
    /// strikes and volatilities, is at most `RESOLVED`.
    ///
    /// # Accuracy  finds four in five of the tables whose price is off by more than 1e-4 within a few days' move of
    /// the spot; of the tables found, half are off there, and nearly all others further away
    /// # Cost      50 µs
    pub(super) fn is_resolved(&self, terms: &Terms) -> bool {
        if !self.is_anchored() {
            return true;
        }
        let mut most: f64 = 0.0;
        let terms = &self.at_stop(terms);
        let collected = terms.a(0.0);
        for (at_sigma, at_strike) in
            CHECKED_SIGMAS.iter().flat_map(|sigma| CHECKED_STRIKES.map(|strike| (*sigma, strike)))
        {
            let sigma = (self.sigma.centre + self.sigma.half * at_sigma).exp();
            let k = 1.0 / (self.strike.centre + self.strike.half * at_strike);
            let series: Vec<Term> = (0..self.n_terms()).map(|term| self.term_at(term, at_sigma, at_strike)).collect();
            let last = series.iter().rev().take(RESOLUTION_LAST).map(|term| term.value.abs()).fold(0.0, f64::max);
            let from = self.boundary_at(k, sigma);
            most = most.max(self.beyond(terms, from, k, sigma, &series));
            for j in 0..=PLACES {
                let u = 2.0 * j as f64 / PLACES as f64 - 1.0;
                let spot = (from - self.phi * sigma * self.place(u)).exp() + collected;
                let scale = k / (self.phi * (spot - k)).max(UNIT_LEAST * spot);
                let (strike_top, sigma_top) = tops(&series, u);
                let tensor = strike_top.abs().max(SIGMA_TOP * sigma_top.abs());
                let tail = TAIL * series.len() as f64 * last * (1.0 - u * u).sqrt();
                most = most.max(tensor.max(tail) * scale);
            }
        }
        most <= RESOLVED
    }

    /// Time, rates and dividends as of the date that the table describes.
    fn at_stop(&self, terms: &Terms) -> Terms {
        let later = terms.divs.iter().filter(|d| d.t > self.stop);
        let divs = later.map(|d| Dividend { t: d.t - self.stop, amount: d.amount }).collect();
        Terms { t: terms.t - self.stop, divs, ..*terms }
    }

    /// Jump of a put's value at ln X = `from`, where its series begins and the value of the best date fixed in advance
    /// ends; 0 if `from` is far below the strike. In units of the price.
    fn beyond(&self, terms: &Terms, from: f64, k: f64, sigma: f64, series: &[Term]) -> f64 {
        let spot = from.exp() + terms.a(0.0);
        if self.phi > 0.0 || (spot / k).ln() < -RESOLUTION_FAR * sigma * terms.t.sqrt() {
            return 0.0;
        }
        let alternating = series.iter().rev().fold(0.0, |sum, term| term.value - sum);
        let european = European::new(self.phi, k, sigma, terms.t, terms.r, terms.b).at(from, from.exp());
        let best_plan = best_plan(self.phi, terms, &Inputs::new(from.exp(), k, sigma)).value();
        (european + alternating * k - best_plan).abs() / (k - spot).max(UNIT_LEAST * spot)
    }

    /// One term at a volatility and strike in units of their axes.
    fn term_at(&self, term: usize, at_sigma: f64, at_strike: f64) -> Term {
        let (ns, nk) = (self.sigma.len(), self.strike.len());
        let c = &self.premium[term * ns * nk..(term + 1) * ns * nk];
        let along = |q: usize| c[q * ns..(q + 1) * ns].iter().rev().fold(0.0, |y, c| y * at_sigma + f64::from(*c));
        let top = |q: usize| f64::from(c[(q + 1) * ns - 1]);
        let over_strikes = |f: &dyn Fn(usize) -> f64| (0..nk).rev().fold(0.0, |y, q| y * at_strike + f(q));
        Term {
            value: over_strikes(&along),
            strike_top: along(nk - 1) * self.strike.of_leading(),
            sigma_top: over_strikes(&top) * self.sigma.of_leading(),
        }
    }
}

/// The sums of the series of the highest powers at `u`.
fn tops(series: &[Term], u: f64) -> (f64, f64) {
    series
        .iter()
        .zip(chebyshev(u))
        .fold((0.0, 0.0), |(strike, sigma), (term, t)| (strike + term.strike_top * t, sigma + term.sigma_top * t))
}
