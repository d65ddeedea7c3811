//! Solves all strikes and volatilities of a table back to the date that it describes. `dates` and `windows` solve eight
//! contracts at a time. Blocks that they cannot solve, and regions with two boundaries, are solved one contract at a
//! time (`now`). Never: a table.

use super::between_dates::Nearby;
use super::dates::{call_periods, dates_of};
use super::now::{Now, that_count};
use super::periods::{DateSolution, FAR_LEAST, HeldPremium, PremiumFunction, Problem, far_deviations};
use super::series::{Axis, Lobatto};
use super::windows::put_windows;
use crate::american::pays::two_sided;
use crate::american::settings::{SAME, TIP};
use crate::black76::European;
use crate::dividends::{Dividend, Terms};
use crate::elementary::{exp, ln};
use crate::lanes::{Block, Lanes, Mask};
use crate::work::count;

/// Greatest distance from the strike at which a table begins where some contracts have no boundary, in deviations of ln
/// X over the whole life.
const ANCHOR_DEVIATIONS: f64 = 3.8;

/// The solution at one date, by pair of strike and volatility.
pub(super) struct Solved {
    phi: f64,
    /// Years from now.
    date: f64,
    /// Terms as of the date.
    terms: Terms,
    /// Dividends that exercise at the date collects, as of the date.
    collected: f64,
    blocks: Vec<DateSolution<Block>>,
    /// Pairs per block (all but the last).
    per_block: usize,
    /// Pairs in total.
    lanes: usize,
}

impl Solved {
    /// Solves `pairs` of strike and volatility back to `problem.stop`; calls to the first date from there on at which
    /// all are exercised, or to now if only some are.
    ///
    /// # Cost  0.1 ms a date for 30 calls that are exercised at dates only, 0.4 ms where they are between dates too;
    /// 0.1 ms a date and strike for puts
    pub(super) fn new(problem: &Problem, pairs: &[(f64, f64)]) -> Self {
        if problem.phi < 0.0 || problem.stop <= 0.0 {
            return Self::at(problem, pairs, problem.stop, None);
        }
        for date in dates_of(&problem.terms, problem.stop) {
            let solved = Self::at(problem, pairs, date, None);
            if solved.is_bounded() && !solved.has_end() {
                return solved;
            }
            if problem.continuous || solved.blocks.iter().any(|block| block.is_exercised) {
                break;
            }
        }
        Self::at(problem, pairs, 0.0, None)
    }

    /// Solves `pairs` back to `date`: to right before it for calls, right after it for puts; `near`: the solution of
    /// the same pairs at rates close by.
    ///
    /// # Shapes  pairs by strike, volatilities running fastest
    pub(super) fn at(problem: &Problem, pairs: &[(f64, f64)], date: f64, near: Option<&Self>) -> Self {
        let phi = problem.phi;
        let (is_put, is_left_out) = (phi < 0.0, two_sided(phi, &problem.terms));
        let problem = &Problem { terms: that_count(phi, &problem.terms), ..problem.clone() };
        let terms = &problem.terms;
        let now = date <= 0.0;
        let periods = if is_put || is_left_out { Vec::new() } else { call_periods(problem, date) };
        let at_date = after(terms, date);
        let stopped = Problem { stop: date, ..problem.clone() };
        let contracts = |pairs| [lanes_of(pairs, |pair| pair.0), lanes_of(pairs, |pair| pair.1)];
        // puts of one strike share the times at which exercise stops to pay; the time of a tip is each lane's own
        let of_strike = pairs.iter().take_while(|pair| (pair.0 - pairs[0].0).abs() < SAME.root).count().min(Block::N);
        let is_fuller = 2 * of_strike <= Block::N || terms.b < -TIP.borrow_least;
        let may_share = is_put && !is_left_out && of_strike < pairs.len() && is_fuller;
        let per_block = if may_share { Block::N } else { of_strike };
        let at_rates_near = |i: usize, per_block: usize| {
            let near = near.filter(|near| near.per_block == per_block)?;
            Some(Nearby::Rates(&near.blocks[i]))
        };
        let together = |(i, pairs)| {
            let [k, sigma] = contracts(pairs);
            put_windows(&stopped, k, sigma, at_rates_near(i, per_block))
        };
        let shared: Option<Vec<DateSolution<Block>>> =
            may_share.then(|| pairs.chunks(per_block).enumerate().map(together).collect()).flatten();
        let per_block = match (is_put, shared.is_some()) {
            (true, true) => per_block,
            (true, false) => of_strike,
            (false, _) => Block::N,
        };
        let mut blocks = shared.unwrap_or_default();
        for (i, pairs) in pairs.chunks(per_block).enumerate().skip(blocks.len()) {
            let ([k, sigma], strike) = (contracts(pairs), pairs[0].0);
            let in_lanes = if is_left_out {
                None
            } else if is_put {
                // the strike before at the same volatilities
                let is_alike = |near: &&DateSolution<Block>| near.sigma.le(sigma).all() && sigma.le(near.sigma).all();
                let before = || blocks.last().filter(is_alike).map(Nearby::Alike);
                put_windows(&stopped, strike, sigma, at_rates_near(i, per_block).or_else(before))
            } else {
                DateSolution::of_calls(terms, &periods, now, [k, sigma])
            };
            blocks.push(in_lanes.unwrap_or_else(|| DateSolution::one_by_one(phi, &at_date, pairs, is_put || now)));
        }
        let collected = terms.a(if is_put || now { date } else { date - SAME.instant });
        Self { phi, date, terms: at_date, collected, blocks, per_block, lanes: pairs.len() }
    }

    /// Years from now to the date.
    pub(super) fn date(&self) -> f64 {
        self.date
    }

    /// True if some pair is exercised up to a second boundary only.
    pub(super) fn has_end(&self) -> bool {
        self.blocks.iter().any(|block| block.has_end)
    }

    /// True if every pair has a boundary.
    pub(super) fn is_bounded(&self) -> bool {
        self.blocks.iter().all(|block| block.boundary.le(Block::splat(f64::MAX)).all())
    }

    /// ln(B/K) of pair `i` until the date: its value at the date, then its Chebyshev coefficients (`between_dates.rs`);
    /// `None`: there is no exercise until the date.
    pub(super) fn until(&self, i: usize) -> Option<Vec<f64>> {
        let (block, lane) = self.lane(i);
        let ln_k = ln(block.k);
        // the series' first term is what the strike moves
        let before = block.before.as_ref()?;
        let relative = |(i, term): (usize, Block)| (if i < 2 { term - ln_k } else { term }).lane(lane);
        Some(before.boundary().enumerate().map(relative).collect())
    }

    /// The block of pair `i`, and the pair's lane in it.
    pub(super) fn lane(&self, i: usize) -> (&DateSolution<Block>, usize) {
        (&self.blocks[i / self.per_block], i % self.per_block)
    }

    /// ln B of pair `i`; NaN: it has no boundary.
    pub(super) fn boundary(&self, i: usize) -> f64 {
        let (block, lane) = self.lane(i);
        block.boundary.lane(lane)
    }

    /// Least and greatest distance of the boundaries from the strike, towards exercise, in units of σ. A pair without a
    /// boundary counts as the upper bound of both, `ANCHOR_DEVIATIONS` over the whole `term`.
    pub(super) fn anchors(&self, term: f64) -> (f64, f64) {
        let most = ANCHOR_DEVIATIONS * term.sqrt();
        let of = |i: usize| {
            let (block, lane) = self.lane(i);
            let away = ((block.boundary - ln(block.k)) * self.phi / block.sigma).lane(lane);
            if away.is_nan() { most } else { away.min(most) }
        };
        (0..self.lanes).map(of).fold((f64::INFINITY, 0.0), |(least, greatest), of| (least.min(of), greatest.max(of)))
    }

    /// Greatest distance, in units of σ, from the ln X in `from` to where the premium becomes negligible.
    pub(super) fn reach(&self, from: &[f64]) -> f64 {
        let of = |(i, from): (usize, &f64)| {
            let (block, lane) = self.lane(i);
            (from - block.far.lane(lane)) * self.phi / block.sigma.lane(lane)
        };
        from.iter().enumerate().map(of).fold(0.0, f64::max)
    }

    /// Chebyshev series of the premium over K, by pair, from the ln X in `from` up to the distance `reach`. Where the
    /// option is exercised the premium is the payoff less the European value.
    pub(super) fn series(&self, from: &[f64], reach: f64, terms: usize) -> Vec<Vec<f64>> {
        let lobatto = Lobatto::of(terms);
        let mut out = Vec::with_capacity(self.lanes);
        for (block, from) in self.blocks.iter().zip(from.chunks(self.per_block)) {
            match &block.held {
                HeldPremium::Lanes { .. } => {
                    let start = Block::from_fn(|i| from[i.min(from.len() - 1)]);
                    let coefficients = lobatto.lanes(|u| self.premium(block, start, 0.5 * reach * (1.0 + u)) / block.k);
                    out.extend((0..from.len()).map(|lane| coefficients.iter().map(|c| c.lane(lane)).collect()));
                }
                HeldPremium::Each(solutions) => {
                    for (lane, (from, solution)) in from.iter().zip(solutions).enumerate() {
                        let (k, sigma) = (block.k.lane(lane), block.sigma.lane(lane));
                        let place = |u: &f64| from - self.phi * sigma * 0.5 * reach * (1.0 + u);
                        let premium = |u: &f64| self.of_each(place(u), solution(place(u)), k, sigma) / k;
                        let premiums: Vec<f64> = lobatto.points().iter().map(premium).collect();
                        out.push(lobatto.coefficients(&premiums));
                    }
                }
            }
        }
        out
    }

    /// The premium of a block at `away` units of σ from the ln X in `from`.
    fn premium(&self, block: &DateSolution<Block>, from: Block, away: f64) -> Block {
        let HeldPremium::Lanes { later, at } = &block.held else { return Block::splat(f64::NAN) };
        let x = from - block.sigma * (away * self.phi);
        let held = match at {
            Some(at) if away > 0.0 && from.le(block.boundary).all() && block.boundary.le(from).all() => at.held(away),
            _ => later.premium(x),
        };
        let exercised = Block::splat(0.0).lt((x - block.boundary) * self.phi);
        if exercised.any() { Block::select(exercised, self.exercise(x, block.k, block.sigma), held) } else { held }
    }

    /// Payoff of exercise less the European value.
    fn exercise<L: Lanes>(&self, x: L, k: L, sigma: L) -> L {
        let (Terms { t, r, b, .. }, spot) = (&self.terms, exp(x));
        (spot + self.collected - k) * self.phi - European::new(self.phi, k, sigma, *t, *r, *b).at(x, spot)
    }

    /// The premium of one contract at the date, from the premium `held` right after it: right before the date a call
    /// may be exercised.
    fn of_each(&self, x: f64, held: f64, k: f64, sigma: f64) -> f64 {
        if self.phi > 0.0 && self.date > 0.0 { held.max(self.exercise(x, k, sigma)) } else { held }
    }
}

impl DateSolution<Block> {
    /// Solves `pairs` of strike and volatility one by one, as of a date; `is_after`: right after its dividend.
    fn one_by_one(phi: f64, terms: &Terms, pairs: &[(f64, f64)], is_after: bool) -> Self {
        count(|work| work.one_by_one += pairs.len() as u64);
        let solution = |&(k, sigma): &(f64, f64)| Now::of_table(phi, terms, k, sigma);
        let solutions: Vec<Now<f64>> = pairs.iter().map(solution).collect();
        let of_x = |solution: Now<f64>| -> PremiumFunction { Box::new(move |x| solution.premium(x)) };
        let boundary =
            |solution: &Now<f64>| if is_after && !solution.has_end() { solution.boundary() } else { f64::NAN };
        let [k, sigma] = [lanes_of(pairs, |pair| pair.0), lanes_of(pairs, |pair| pair.1)];
        let paid = if phi > 0.0 { (k - terms.a(0.0)).max(k * FAR_LEAST) } else { k };
        Self {
            k,
            sigma,
            boundary: Block::from_fn(|lane| boundary(&solutions[lane.min(pairs.len() - 1)])),
            is_exercised: true,
            // a put's spot is not below the lower end of its region
            has_end: phi > 0.0 && solutions.iter().any(Now::has_end),
            far: ln(paid) - sigma * (terms.t.sqrt() * far_deviations(false) * phi),
            held: HeldPremium::Each(solutions.into_iter().map(of_x).collect()),
            before: None,
            windows: Vec::new(),
            after_last: None,
        }
    }
}

/// Terms as of right after a date.
fn after(terms: &Terms, date: f64) -> Terms {
    let later = terms.divs.iter().filter(|d| d.t > date + SAME.date);
    let divs = later.map(|d| Dividend { t: d.t - date, amount: d.amount }).collect();
    Terms { t: terms.t - date, divs, ..*terms }
}

/// A number of each pair as a block; missing lanes repeat the last pair.
fn lanes_of(pairs: &[(f64, f64)], of: impl Fn(&(f64, f64)) -> f64) -> Block {
    Block::from_fn(|i| of(&pairs[i.min(pairs.len() - 1)]))
}

/// The (strike, volatility) of the nodes of two axes, volatilities running fastest.
pub(super) fn pairs(sigma: &Axis, strike: &Axis) -> Vec<(f64, f64)> {
    let volatilities: Vec<f64> = sigma.nodes().iter().map(|s| s.exp()).collect();
    let of = |k: f64| volatilities.iter().map(move |sigma| (k, *sigma));
    strike.nodes().iter().flat_map(|inverse| of(1.0 / inverse)).collect()
}
