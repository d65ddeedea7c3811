//! One premium table: American − European value of every strike and volatility of a span, as a function of the spot.
//!
//! The premium is smooth except at the exercise boundary, and the boundary moves with strike and volatility. So the
//! table's coordinate is the distance from the boundary, in units of σ: along it the premium is a short Chebyshev
//! series whose coefficients are low polynomials in ln σ and 1/K. Where no exercise is possible before an ex-date,
//! the table describes that date and the evaluation integrates back from it, which keeps the sharp features exact.
//! Never: a spot, an evaluation.

use super::chebyshev::{Axis, Lobatto, fit_tensor, local_slope};
use super::classify::{Span, Start, continuous, european_after, gap_before, start, two_sided};
use super::evaluate::MOST_TERMS;
use super::profile::Profile;
use super::solver::{Grid, MOST_LANES, Problem, SAME_DATE, Schedule, solve};
use crate::kernel::american::Scheme;
use crate::kernel::dividends::Terms;
use crate::kernel::lanes::{Lanes, Pack};
use std::sync::OnceLock;

/// Central standard deviations of ln X that a grid covers on the side where nothing happens.
const WIDE: f64 = 3.8;
/// A boundary whose highest term in 1/K is greater than this is not fitted by the table's few strikes.
const BEND_MAX: f64 = 0.01;
/// Step of r and b to either side for the derivatives in them.
const STEP: f64 = 5e-4;
/// A boundary that 0.001 of a rate move by more than this part of σ√τ is no place to measure from: call, put.
const BOUNDARY_MOVES: [f64; 2] = [0.01, 0.02];

/// Terms at the end of a series are dropped where all are below this, in units of the strike: where the series is only
/// integrated, where it is differentiated, and in derivatives in rates.
const WORTH_INTEGRATING: f64 = 3e-8;
const WORTH_DIFFERENTIATING: f64 = 1e-9;
const WORTH_MOVING: f64 = 3e-6;

/// The part of its terms that the derivatives in rates need, and where they are measured from a moving boundary.
const RATE_TERMS: f64 = 0.75;
const RATE_TERMS_MOVING: f64 = 0.5;

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

/// What the solves of a table share, so that they can be compared.
#[derive(Clone, Debug)]
struct Course {
    intervals: usize,
    schedule: Schedule,
}

impl Course {
    /// About `intervals` and `steps`, more intervals where a grid is wide.
    fn new(problem: &Problem, pairs: &[(f64, f64)], ends: &[(f64, f64)], (intervals, steps): (usize, usize)) -> Self {
        let nominal = |sigma: f64| 2.0 * WIDE * sigma * (problem.terms.t - problem.stop).sqrt();
        let widest = pairs.iter().zip(ends).map(|(p, e)| (e.1 - e.0).abs() / nominal(p.1)).fold(1.0, f64::max);
        let intervals = (intervals as f64 * widest.min(2.5)) as usize;
        let strikes = pairs.iter().fold((f64::INFINITY, 0.0f64), |(low, high), p| (low.min(p.0), high.max(p.0)));
        Course { intervals, schedule: problem.schedule(strikes, steps) }
    }
}

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
}

/// A built table; see the module.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) phi: f64,
    pub(super) span: Span,
    pub(super) layout: Layout,
    /// Years from the time of building to the date described.
    pub(super) stop: f64,
    /// ln σ and 1/K.
    pub(super) sigma: Axis,
    pub(super) strike: Axis,
    /// ln(B/K) of a call, ln(−ln(B/K)) of a put, a tensor polynomial.
    pub(super) boundary: Box<[f64]>,
    /// Length of the series' interval, in units of σ.
    pub(super) reach: f64,
    /// How many terms were sampled.
    sampled: usize,
    /// Premium/K: one tensor polynomial for each Chebyshev term. Single precision: a coefficient is below 1 and its
    /// error below 1e-7 of it.
    pub(super) premium: Box<[f32]>,
    pub(super) scheme: Scheme,
    rates: OnceLock<Rates>,
}

/// How boundary and premium move with the rates, measured along the moving boundary: ∂/∂r and ∂/∂b.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// Tensors of the boundary, as the table has it, of [`Rates::NODES`].
    pub(super) boundary: [[f64; RATE_NODES]; 2],
    /// Tensors of premium/K by Chebyshev term.
    pub(super) premium: Box<[[[f32; RATE_NODES]; 2]]>,
}

/// Coefficients of one tensor of the derivatives in rates.
pub(super) const RATE_NODES: usize = Rates::NODES.0 * Rates::NODES.1;

impl Rates {
    /// Volatility and strike nodes.
    pub(super) const NODES: (usize, usize) = (4, 3);
}

impl Table {
    /// Builds the table of `span` at `terms`.
    ///
    /// # Cost  0.5 ms (`Scheme::Fast`, quarterly dividends), 15 to 90 ms (`Scheme::Accurate`)
    pub(super) fn build(phi: f64, terms: &Terms, span: &Span, scheme: Scheme) -> Self {
        let sizes = sizes(scheme, span);
        let (lo, hi) = span.sigma;
        let mut table = Table {
            phi,
            span: *span,
            layout: Layout::European,
            stop: 0.0,
            sigma: Axis::new(lo.ln(), hi.ln(), sizes.nodes.0),
            strike: Axis::new(1.0 / span.k.1, 1.0 / span.k.0, sizes.nodes.1),
            boundary: Box::default(),
            reach: 1.0,
            sampled: 0,
            premium: Box::default(),
            scheme,
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
        let pairs = lanes(&self.sigma, &self.strike);
        let ends = ends(&problem, &pairs);
        let course = Course::new(&problem, &pairs, &ends, (sizes.intervals, sizes.steps));
        let profiles = profiles(&problem, &pairs, &ends, &course);
        let bounded = profiles.iter().all(|p| p.boundary.is_some())
            && !two_sided(self.phi, terms)
            && self.strike_bend(&profiles) <= BEND_MAX;
        self.layout = match (bounded, self.stop > 0.0) {
            (true, true) => Layout::AtExDate,
            (true, false) => Layout::Now,
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
        let worth = if self.layout == Layout::AtExDate { WORTH_INTEGRATING } else { WORTH_DIFFERENTIATING };
        let sampled = without_tail(sampled, worth * self.tail());
        self.premium = fit_tensor(&self.sigma, &self.strike, &sampled).iter().map(|c| *c as f32).collect();
        true
    }

    /// The part of a tail worth dropping that the scheme drops.
    fn tail(&self) -> f64 {
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
        let deviations = self.reach / (terms.t - self.stop).sqrt();
        let mut more = (deviations / (2.0 * WIDE)).max(1.0);
        if self.layout == Layout::Anchored {
            let next = terms.divs.first().map_or(terms.t, |d| d.t);
            more = more.max((0.3 * terms.t / next.max(1e-6)).sqrt());
        }
        ((sizes.terms as f64 * more.min(2.5)) as usize).min(MOST_TERMS)
    }

    /// Distance from the boundary, in units of σ, of the series' coordinate `u`.
    fn place(&self, u: f64) -> f64 {
        0.5 * self.reach * (1.0 + u)
    }

    /// ln B of one strike and volatility.
    fn boundary_at(&self, k: f64, sigma: f64) -> f64 {
        let (s, x) = (self.sigma.unit(sigma.ln()), self.strike.unit(1.0 / k));
        let placed = local_slope(&self.boundary, (&self.sigma, s), (&self.strike, x))[0];
        k.ln() + if self.phi > 0.0 { placed } else { -placed.exp() }
    }

    /// What is tabulated of ln(B/K): of a put's the logarithm of how far it lies below 0, which is almost linear in ln σ.
    fn placed(&self, relative: f64) -> f64 {
        if self.phi > 0.0 { relative } else { (-relative).max(1e-9).ln() }
    }

    /// How the table moves with the rates; `terms` are those it was built at. They cost as much as the table itself, and
    /// tables of the next trading day are read for values only: so they are solved when they are first read.
    pub(super) fn rates(&self, terms: &Terms) -> &Rates {
        self.rates.get_or_init(|| self.fit_rates(&self.problem(terms)))
    }

    /// How the table moves with the rates: solves at rates a step to either side, on a coarser grid, and compares boundary
    /// with boundary and premium at equal distances from it.
    fn fit_rates(&self, problem: &Problem) -> Rates {
        let (sigma, strike) = (self.sigma.with(Rates::NODES.0), self.strike.with(Rates::NODES.1));
        let pairs = lanes(&sigma, &strike);
        // the same grid and time steps for all, so that what remains of their errors cancels
        let ends = ends(problem, &pairs);
        let grid = match self.scheme {
            Scheme::Fast => (150, 40),
            Scheme::Accurate => (500, 150),
        };
        let course = Course::new(problem, &pairs, &ends, grid);
        let steps = steps(problem);
        let solved = [0, 1].map(|part| {
            steps[part].map(|step| {
                let (by_r, by_b) = if part == 0 { (step, 0.0) } else { (0.0, step) };
                let terms = Terms { r: problem.terms.r + by_r, b: problem.terms.b + by_b, ..problem.terms.clone() };
                profiles(&Problem { terms, ..problem.clone() }, &pairs, &ends, &course)
            })
        });
        let steady = |part: usize, lane: usize| {
            let most =
                BOUNDARY_MOVES[usize::from(self.phi < 0.0)] * pairs[lane].1 * (problem.terms.t - problem.stop).sqrt();
            let [low, high] = [0, 1].map(|end| solved[part][end][lane].boundary.unwrap_or(f64::INFINITY));
            ((high - low) / width(steps[part])).abs() * 1e-3 <= most
        };
        let bounded =
            self.layout != Layout::Anchored && (0..pairs.len()).all(|lane| steady(0, lane) && steady(1, lane));
        let from = |p: &Profile| match p.boundary {
            Some(boundary) if bounded => boundary,
            _ => self.boundary_at(p.k, p.sigma),
        };
        let boundary = [0, 1].map(|part| {
            let placed = |end: usize, lane: usize| {
                let p = &solved[part][end][lane];
                self.placed(from(p) - p.k.ln())
            };
            let by = |lane: usize| vec![(placed(1, lane) - placed(0, lane)) / width(steps[part])];
            let fitted = fit_tensor(&sigma, &strike, &(0..pairs.len()).map(by).collect::<Vec<_>>());
            core::array::from_fn(|i| fitted[i])
        });
        // measured from a boundary that moves along, they have no kink
        let part = if bounded { RATE_TERMS_MOVING } else { RATE_TERMS };
        let series = Lobatto::of(((part * self.sampled as f64) as usize).max(2));
        let sample = |p: &Profile| {
            let from = from(p);
            series.coefficients(|u| p.premium(from - self.phi * p.sigma * self.place(u)) / p.k)
        };
        let fitted = [0, 1].map(|part| {
            let by = |lane: usize| {
                let [low, high] = [0, 1].map(|end| sample(&solved[part][end][lane]));
                high.iter().zip(&low).map(|(high, low)| (high - low) / width(steps[part])).collect()
            };
            let sampled = without_tail((0..pairs.len()).map(by).collect(), WORTH_MOVING * self.tail());
            fit_tensor(&sigma, &strike, &sampled)
        });
        let n_terms = fitted.iter().map(|f| f.len() / RATE_NODES).max().unwrap_or(0);
        let at = |part: usize, i: usize| fitted[part].get(i).map_or(0.0, |c| *c as f32);
        let term = |term: usize| core::array::from_fn(|part| core::array::from_fn(|i| at(part, term * RATE_NODES + i)));
        Rates { boundary, premium: (0..n_terms).map(term).collect() }
    }
}

/// Steps down and up of r and of b for the derivatives in them; never across the kink at r = 0.
fn steps(problem: &Problem) -> [[f64; 2]; 2] {
    let step = STEP.min(0.5 * problem.terms.r);
    let r = if step > 1e-5 { [-step, step] } else { [0.0, 2.0 * STEP] };
    [r, [-STEP, STEP]]
}

fn width([down, up]: [f64; 2]) -> f64 {
    up - down
}

/// Series without the terms at their ends that are below `worth` in all.
fn without_tail(mut series: Vec<Vec<f64>>, worth: f64) -> Vec<Vec<f64>> {
    let last = |series: &Vec<f64>| series.iter().rposition(|c| c.abs() > worth).unwrap_or(0);
    let keep = series.iter().map(last).max().unwrap_or(0) + 1;
    series.iter_mut().for_each(|series| series.truncate(keep));
    series
}

/// Every (strike, volatility) of two axes, volatilities running fastest.
fn lanes(sigma: &Axis, strike: &Axis) -> Vec<(f64, f64)> {
    let volatilities: Vec<f64> = sigma.nodes().iter().map(|s| s.exp()).collect();
    let of = |k: f64| volatilities.iter().map(move |sigma| (k, *sigma)).collect::<Vec<_>>();
    strike.nodes().iter().flat_map(|inverse| of(1.0 / inverse)).collect()
}

/// Distance from the strike towards exercise, in units of σ, that every lane's grid covers.
fn common_anchor(profiles: &[Profile]) -> f64 {
    profiles.iter().map(|p| (p.edge - p.k.ln()).abs() / p.sigma).fold(f64::INFINITY, f64::min)
}

/// The grid's ends for every (strike, volatility).
fn ends(problem: &Problem, pairs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    pairs.iter().map(|&(k, sigma)| grid_ends(problem, k, sigma)).collect()
}

/// Solves `problem` for every (strike, volatility), in packs that leave few lanes idle.
fn profiles(problem: &Problem, pairs: &[(f64, f64)], ends: &[(f64, f64)], course: &Course) -> Vec<Profile> {
    match pairs.len() {
        13..=16 => packed::<Pack<4>>(problem, pairs, ends, course),
        17..=20 => packed::<Pack<5>>(problem, pairs, ends, course),
        _ => packed::<Pack<3>>(problem, pairs, ends, course),
    }
}

/// The same in packs of `L`.
fn packed<L: Lanes>(problem: &Problem, pairs: &[(f64, f64)], ends: &[(f64, f64)], course: &Course) -> Vec<Profile> {
    let intervals = course.intervals;
    let mut out = Vec::with_capacity(pairs.len());
    for (pairs, ends) in pairs.chunks(L::N).zip(ends.chunks(L::N)) {
        let last = pairs.len() - 1;
        let lane = |f: &dyn Fn(usize) -> f64| {
            let values: [f64; MOST_LANES] = core::array::from_fn(|i| f(i.min(last)));
            L::load(&values)
        };
        let grid = Grid {
            k: lane(&|i| pairs[i].0),
            sigma: lane(&|i| pairs[i].1),
            edge: lane(&|i| ends[i].0),
            far: lane(&|i| ends[i].1),
            intervals,
        };
        let slice = solve(problem, &grid, &course.schedule);
        let extracted = (0..pairs.len()).map(|i| {
            let american: Vec<f64> = slice.american.iter().map(|v| v.lane(i)).collect();
            let premium = slice.european.iter().zip(&american).map(|(v, a)| a - v.lane(i)).collect();
            let profile = Profile {
                phi: problem.phi,
                k: pairs[i].0,
                sigma: pairs[i].1,
                edge: ends[i].0,
                step: (ends[i].1 - ends[i].0) / intervals as f64,
                tau: problem.terms.t - problem.stop,
                r: problem.terms.r,
                b: problem.terms.b,
                a: problem.terms.a(problem.stop),
                american,
                premium,
                first_free: slice.contact.node.lane(i) as usize,
                boundary: None,
                jump: 0.0,
            };
            place_boundary(problem, profile, slice.contact.theta.lane(i))
        });
        out.extend(extracted);
    }
    out
}

/// Finds the profile's exercise boundary: the free boundary, or before an ex-date where a call meets its payoff.
fn place_boundary(problem: &Problem, mut profile: Profile, theta: f64) -> Profile {
    if problem.phi > 0.0 && problem.stop > 0.0 {
        profile.first_free = 0;
        profile.a = problem.terms.a(problem.stop - 1e-12);
        // a region that ends only far above is read as one that does not end: what is above exceeds it by little, and
        // by a plan fixed in advance
        let enough = 3.0 * profile.sigma * problem.stop.sqrt() + 0.1;
        profile.boundary = profile.find_crossing().filter(|found| found.1 > enough).map(|found| found.0);
    } else {
        profile.set_contact(problem, theta);
    }
    profile
}

/// ln X at the exercise-side edge and at the far edge of a lane's grid.
fn grid_ends(problem: &Problem, k: f64, sigma: f64) -> (f64, f64) {
    let width = sigma * (problem.terms.t - problem.stop).sqrt();
    let a = problem.terms.a(problem.stop - if problem.phi > 0.0 { 1e-12 } else { 0.0 });
    if problem.phi < 0.0 {
        return (put_edge(problem, k, sigma, width), k.ln() + WIDE * width);
    }
    let far = (k - a).max(0.3 * k).ln() - WIDE * width;
    let full = WIDE * width;
    if problem.stop > 0.0 {
        return (k.ln() + full, far);
    }
    (k.ln() + highest_call_boundary(&problem.terms, sigma, full) + margin(width), far)
}

/// ln(B/K) that a watched call's boundary does not exceed: at least ln(r/b), wherever that is, or `full` if nothing
/// bounds it.
fn highest_call_boundary(terms: &Terms, sigma: f64, full: f64) -> f64 {
    let Terms { r, b, .. } = *terms;
    let level = if b > 0.0 && r > b { (r / b).ln() + 0.3 * full } else { 0.0 };
    perpetual_call(terms, sigma).min(full.max(level.min(2.0 * full)))
}

/// What a grid reaches beyond the last place where the boundary can be.
fn margin(width: f64) -> f64 {
    0.3 * width.min(1.0) + 0.03
}

/// ln(B/K) of the perpetual call: where exercise is certain.
fn perpetual_call(terms: &Terms, sigma: f64) -> f64 {
    let Terms { r, b, .. } = *terms;
    if b <= 0.0 || r < 0.0 {
        return f64::INFINITY;
    }
    let variance = sigma * sigma;
    let half = (r - b) / variance - 0.5;
    let power = -half + (half * half + 2.0 * r / variance).sqrt();
    (power / (power - 1.0)).max(1.0).ln()
}

/// The low edge of a put's grid: below the perpetual boundary, the no-exercise level rK/b, and what the longest wait
/// for a dividend spreads.
fn put_edge(problem: &Problem, k: f64, sigma: f64, width: f64) -> f64 {
    let Terms { r, b, .. } = problem.terms;
    let ratio = 2.0 * r / (sigma * sigma);
    let level = if b > r && r > 0.0 { (r / b).ln() - 0.1 } else { 0.0 };
    let perpetual = if r > 0.0 { (ratio / (1.0 + ratio)).ln().min(level) } else { -9.0 };
    let strike = (k - problem.terms.a(problem.stop)).max(0.25 * k).ln();
    let capped = level.max(-6.0 * width - 0.2);
    let wait = longest_wait(problem, k);
    strike + perpetual.max(-3.6 * width).min(capped) - margin(width).max(4.0 * sigma * wait.sqrt())
}

/// The longest time before an ex-date during which a put is not exercised, years.
fn longest_wait(problem: &Problem, k: f64) -> f64 {
    let mut from = problem.stop;
    let mut longest: f64 = 0.0;
    for d in problem.terms.divs.iter().filter(|d| d.t > problem.stop + SAME_DATE) {
        longest = longest.max(gap_before(d.amount, k, problem.terms.r).min(d.t - from));
        from = d.t;
    }
    longest
}
