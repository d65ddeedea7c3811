//! Exercise between two ex-dates, or between the last one and expiry: the boundary, and what exercise along it earns
//! (Kim 1990).
//!
//! The boundary is that of `recursion/`: in η, t = to − (to − from)·e^(−η²), its logarithm is a polynomial through
//! collocation points, and at each point value matching less λ times smooth pasting holds. One strike and volatility a
//! lane, so that all lanes share their times. Never: exercise right before a date, a table.

use super::at_date::{AtDate, ValueSlopes, Wait};
use super::between_grid::{BetweenGrid, GridNode};
use super::falling::{Falling, Fineness};
use super::flow::{Contracts, EdgeSeen, Flow};
use super::time_between::{FromPoint, SeenMoment, StretchEnd, TimeBetween, WindowEnd};
use crate::american::settings::{BETWEEN, COLLOCATION, FALLING, SAME};
use crate::elementary::{exp, ln};
use crate::lanes::{Block, Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, norm_cdf, norm_cdf_given};
use crate::solve::eliminate;

/// Exercise over a stretch of time, one contract per lane.
#[derive(Clone)]
pub(super) struct Between {
    /// ln B at the end, and at the begin.
    end: Block,
    begin: Block,
    /// Chebyshev coefficients of ln B in 1 − 2η/`BETWEEN.reach`; of what it exceeds its shape by, if it runs away.
    terms: Vec<Block>,
    /// The moments of the flow from the begin on, and ln B there.
    spot: &'static [GridNode],
    ln_b: Vec<Block>,
    contracts: Contracts,
    /// How it runs away, if it does.
    falling: Option<Falling>,
}

/// Holding to the end of a stretch from a time within it, less exercise.
struct HoldingLessPayoff<'a> {
    phi: f64,
    date: Option<(&'a AtDate, &'a Wait)>,
    /// ln K less the drift to expiry, σ√τ and 1 over it.
    centre: Block,
    width: Block,
    inv_width: Block,
    /// e^(−bτ), K·e^(−rτ).
    share: f64,
    cash: Block,
    /// What exercise keeps: a sum, and a part of X.
    kept: Block,
    borrow: f64,
}

impl<'a> HoldingLessPayoff<'a> {
    /// That from a collocation point of `stretch` on.
    fn new(stretch: &TimeBetween, seen: &'a FromPoint, at: Option<&'a AtDate>, k: Block, sigma: Block) -> Self {
        let [r, b] = stretch.rates;
        let tau = stretch.tau + seen.left;
        let width = sigma * tau.sqrt();
        Self {
            phi: stretch.phi,
            date: at.zip(seen.wait.as_ref()),
            centre: ln(k) - (r - b) * tau,
            width,
            inv_width: Block::splat(1.0) / width,
            share: (-b * tau).exp(),
            cash: k * (-r * tau).exp(),
            kept: k * (-r * tau).exp_m1() + seen.escrow,
            borrow: -(-b * tau).exp_m1(),
        }
    }

    /// By how much waiting exceeds exercise: the option of the other right that waiting is worth beside the payoff, the
    /// premium of later exercise, less what exercise keeps.
    #[inline(never)]
    fn at(&self, x: Block) -> ValueSlopes {
        let spot = exp(x);
        let d1 = (x - self.centre).mul_add(self.inv_width, self.width * 0.5);
        let d2 = d1 - self.width;
        let e = exp(d1 * d1 * -0.5);
        let phi = self.phi;
        let stock = spot * norm_cdf_given(d1 * -phi, e) * self.share;
        let kept = spot * self.borrow;
        let cash = self.cash * norm_cdf_given(d2 * -phi, exp(d2 * d2 * -0.5));
        let slope = (stock + kept) * -phi;
        let bend = spot * e * self.inv_width * (self.share * INV_SQRT_2PI);
        let second = bend + slope;
        let own = [(cash - self.kept) * phi + slope, slope, second, second + bend - bend * d1 * self.inv_width];
        let Some((at, wait)) = self.date else { return own };
        let later = at.expected::<true>(wait, x);
        core::array::from_fn(|i| own[i] + later[i])
    }
}

impl Between {
    /// Solves the boundary of a stretch before a date at which the premium is `at`, or before expiry; `near`: how that
    /// of a strike close by runs away. `None`: a lane has none that can be found.
    ///
    /// # Shapes    one contract per lane
    /// # Domain    exercise that earns: of a call b > 0, or b = 0 and r < 0; of a put r > 0
    /// # Accuracy  `premiums_between_dates_are_those_of_the_recursion`; of puts
    /// `premiums_of_puts_are_those_of_the_recursion`
    pub(super) fn new(
        stretch: &TimeBetween,
        at: Option<&AtDate>,
        near: Option<&Falling>,
        k: Block,
        sigma: Block,
    ) -> Option<Self> {
        let (c, [r, b], phi) = (Block::splat, stretch.rates, stretch.phi);
        // the further towards exercise of two ln X
        let beyond = |a: Block, b: Block| if phi > 0.0 { a.max(b) } else { a.min(b) };
        // what is left of the strike, and the X from which on exercise earns
        let pays = |escrow: f64| (k - escrow).max(k * SAME.strike_left);
        let earns = |escrow: f64| if b > 0.0 { (k * (r / b) - escrow).max(k * SAME.strike_left) } else { pays(escrow) };
        let limit = |seen: &FromPoint| beyond(ln(pays(seen.escrow)), ln(earns(seen.escrow)));
        let kink = at.map_or(ln(k), |at| at.boundary);
        let end = if b > 0.0 { beyond(kink, ln(earns(stretch.escrow))) } else { kink };
        let limits: Vec<Block> = stretch.from_points.iter().map(limit).collect();
        let holdings: Vec<HoldingLessPayoff> =
            stretch.from_points.iter().map(|seen| HoldingLessPayoff::new(stretch, seen, at, k, sigma)).collect();
        let contracts = Contracts { phi, sigma, inv_sigma: c(1.0) / sigma, interest: k * r, b };
        let mut falling = if let StretchEnd::RunsAway(WindowEnd { fineness, .. }) = stretch.end {
            Some(contracts.falling(stretch, fineness, &holdings, &limits, near, [end, ln(k)]))
        } else {
            None
        };
        let grid = match &falling {
            None => BetweenGrid::at_date(),
            Some(falling) => {
                let lines = stretch.from_points.iter().filter_map(|seen| seen.line);
                let fineness = falling.fineness;
                let eta = BetweenGrid::running_away(FALLING.cells, fineness).points.iter().map(|point| point.eta);
                BetweenGrid::running_away(falling.corner(eta.zip(lines), ln(k)), fineness)
            }
        };
        // moments of the last `life` years, and ln B there but for what the points give
        let seen_at = |nodes: &[GridNode], life: f64, moments: &mut Vec<SeenMoment>, fixed: &mut Vec<Block>| {
            let Some((falling, lines)) = falling.as_ref().zip(stretch.lines(life)) else {
                return fixed.extend(nodes.iter().map(|node| end * node.end));
            };
            for (moment, node) in stretch.moments(nodes, life).zip(nodes) {
                fixed.push(falling.fixed(&node.row, &lines.at(&moment), ln(k), sigma));
                moments.push(moment);
            }
        };
        let (per_point, all) = (grid.points[0].nodes.len(), grid.points.len() * grid.points[0].nodes.len());
        let (mut moments, mut fixed) = (Vec::with_capacity(all), Vec::with_capacity(all));
        for (seen, point) in stretch.from_points.iter().zip(&grid.points) {
            seen_at(&point.nodes, seen.left, &mut moments, &mut fixed);
        }
        let (mut spot_moments, mut at_spot) = (Vec::new(), Vec::with_capacity(grid.spot.len()));
        seen_at(&grid.spot, stretch.length, &mut spot_moments, &mut at_spot);
        let mut y: Vec<Block> = match &falling {
            Some(falling) => falling.excess.clone(),
            None => {
                let start = BoundaryStart::new(stretch, at, k, sigma);
                let starts = stretch.from_points.iter().zip(&limits);
                starts.map(|(seen, limit)| beyond(start.at(seen.left, end), *limit)).collect()
            }
        };
        // what y is measured from
        let from: Vec<Block> = match &falling {
            Some(falling) => falling.at_points(stretch.from_points.iter().filter_map(|seen| seen.line), ln(k), sigma),
            None => vec![c(0.0); y.len()],
        };
        // the last point of a boundary that runs away stays where it starts
        let n = grid.points.len() - usize::from(falling.is_some());
        let mut jacobian = vec![[c(0.0); BETWEEN.points]; n];
        let mut residual = vec![c(0.0); n];
        let (mut solved, mut before) = (k.lt(k), c(f64::INFINITY));
        // the value of holding where it was last computed
        let mut held = vec![(c(f64::NAN), [c(0.0); 4]); n];
        for _ in 0..BETWEEN.most_steps {
            for (i, (seen, point)) in stretch.from_points.iter().zip(&grid.points).take(n).enumerate() {
                let lambda = sigma * seen.left.sqrt();
                let x = y[i] + from[i];
                let (spot, inv_spot) = (exp(x), exp(-x));
                if !(x - held[i].0).abs().lt(sigma * seen.until_date() * BETWEEN.carried).all() {
                    held[i] = (x, holdings[i].at(x));
                }
                let mut sums = carried(&held[i].1, x - held[i].0);
                let mut row = [c(0.0); BETWEEN.points];
                let pasted = falling.as_ref().map_or(lambda, |falling| lambda * falling.pace[i]) * phi;
                let of_point = i * per_point..(i + 1) * per_point;
                let moments = if falling.is_some() { &moments[of_point.clone()] } else { &seen.moments };
                for ((moment, node), fixed) in moments.iter().zip(&point.nodes).zip(&fixed[of_point]) {
                    let ln_b = node.ln_b(&y, *fixed);
                    let [by_value, by_slope] = contracts.add(moment, x, spot, inv_spot, ln_b, &mut sums);
                    let by = by_value - pasted * by_slope;
                    for (entry, weight) in row.iter_mut().zip(&node.row) {
                        *entry = by.mul_add(c(*weight), *entry);
                    }
                }
                row[i] += sums[1] - pasted * sums[2];
                (jacobian[i], residual[i]) = (row, sums[0] - pasted * sums[1]);
            }
            let missed = residual.iter().fold(c(0.0), |most, residual| most.max(residual.abs()));
            eliminate(&mut jacobian, &mut residual);
            let mut worst = c(0.0);
            for i in 0..n {
                let seen = &stretch.from_points[i];
                let most = sigma * seen.line.map_or(seen.left.sqrt(), |line| line.root);
                let step = residual[i].max(-most).min(most);
                worst = worst.max((residual[i] / most).abs());
                let limit = limits[i] - from[i];
                y[i] = beyond(y[i] - step, limit + (y[i] - limit) * COLLOCATION.limit_left);
            }
            // where nothing is gained or lost near the boundary, rounding moves it
            let rounding = worst.lt(c(BETWEEN.solved)) | missed.lt(k * BETWEEN.missed);
            let found = missed.lt(k * if falling.is_some() { FALLING.missed } else { 0.0 });
            solved = found | worst.lt(c(BETWEEN.converged)) | (rounding & (before * COLLOCATION.shrinks).lt(worst));
            if solved.all() {
                break;
            }
            before = worst;
        }
        if !solved.all() {
            return None;
        }
        let product = |row: &Vec<f64>| row.iter().zip(&y).fold(c(0.0), |sum, (w, y)| y.mul_add(c(*w), sum));
        let terms = grid.to_chebyshev.iter().map(product).collect();
        let ln_b = grid.spot.iter().zip(at_spot).map(|(node, fixed)| node.ln_b(&y, fixed)).collect();
        let begin = y[0] + from[0];
        if let Some(falling) = &mut falling {
            falling.excess = y;
        }
        Some(Self { end, begin, terms, ln_b, spot: &grid.spot, contracts, falling })
    }

    /// That of strikes this many times as high, where no dividends are to come.
    pub(super) fn scaled(&self, ratio: f64) -> Self {
        let by = ratio.ln();
        let mut scaled = self.clone();
        (scaled.end, scaled.begin) = (self.end + by, self.begin + by);
        scaled.terms[0] += Block::splat(by);
        scaled.ln_b.iter_mut().for_each(|ln_b| *ln_b += Block::splat(by));
        scaled.contracts.interest = self.contracts.interest * ratio;
        scaled
    }

    /// What exercise over the stretch is worth at its begin.
    pub(super) fn flow(&self, stretch: &TimeBetween) -> Flow {
        let Contracts { phi, sigma, .. } = self.contracts;
        let moments: Vec<SeenMoment> = stretch.moments(self.spot, stretch.length).collect();
        let mut idle = Block::splat(f64::INFINITY);
        let mut edges = Vec::with_capacity(moments.len());
        for (moment, ln_b) in moments.iter().zip(&self.ln_b) {
            idle = idle.min((*ln_b - moment.drift) * phi - sigma * (moment.root * BETWEEN.out_of_reach));
            edges.push(EdgeSeen { level: *ln_b - moment.drift, turn: exp(*ln_b) * moment.carry });
        }
        Flow { moments, edges, contracts: self.contracts, idle }
    }

    /// ln of the X from which on the option is exercised at the begin.
    pub(super) fn begin(&self) -> Block {
        self.begin
    }

    /// ln B at the end, then its Chebyshev coefficients in 1 − 2η/`BETWEEN.reach`.
    pub(super) fn boundary(&self) -> impl Iterator<Item = Block> {
        core::iter::once(self.end).chain(self.terms.iter().copied())
    }

    /// How it runs away, if it does.
    pub(super) fn falling(&self) -> Option<&Falling> {
        self.falling.as_ref()
    }
}

impl Contracts {
    /// How the boundary of a window falls, from its first point to the last, the boundary of the date and the strike
    /// being `ends` in ln X. `near`: that of a strike close by.
    ///
    /// # Shapes  one contract per lane
    fn falling(
        &self,
        stretch: &TimeBetween,
        fineness: Fineness,
        holdings: &[HoldingLessPayoff],
        limits: &[Block],
        near: Option<&Falling>,
        ends: [Block; 2],
    ) -> Falling {
        let c = Block::splat;
        let points = &stretch.from_points;
        let [mut x, ln_k] = ends;
        let (mut level, mut scale) = (Vec::with_capacity(points.len()), Vec::with_capacity(points.len()));
        for (i, ((seen, holding), limit)) in points.iter().zip(holdings).zip(limits).enumerate() {
            let Some(line) = seen.line else { continue };
            let deviation = self.sigma * line.root;
            let mut slope = c(0.0);
            x = near.map_or(x, |near| near.level[i] + ln_k).min(*limit);
            for _ in 0..FALLING.steps {
                let ([value, by_x, ..], lost) = (holding.at(x), exp(x) * line.borrow);
                slope = (by_x - lost).max(c(SAME.divisor));
                let step = ((value - lost) / slope).max(-deviation).min(c(FALLING.step));
                x = (x - step).min(*limit);
                if step.abs().lt(deviation * FALLING.found).all() {
                    break;
                }
            }
            level.push(x - ln_k);
            scale.push((c(line.gain) / slope).min(deviation));
        }
        let excess = near.map_or_else(|| vec![c(0.0); points.len()], |near| near.excess.clone());
        let mut falling = Falling { fineness, level, scale, pace: Vec::new(), excess };
        let shape = falling.at_points(points.iter().filter_map(|seen| seen.line), ln_k, self.sigma);
        let pace = |i: usize| {
            let (from, to) = if i + 1 < points.len() { (i, i + 1) } else { (i - 1, i) };
            let speed = (shape[to] - shape[from]).abs() / (points[from].left - points[to].left);
            let moved = speed * points[i].left.sqrt() * self.inv_sigma;
            (c(1.0) / moved.max(c(SAME.divisor))).max(c(COLLOCATION.lambda_least)).min(c(1.0))
        };
        falling.pace = (0..points.len()).map(pace).collect();
        falling
    }
}

/// Value and first two derivatives a step of `h` in ln X further, by the Taylor series.
#[inline(always)]
fn carried(at: &ValueSlopes, h: Block) -> [Block; 3] {
    let [value, slope, bend, third] = *at;
    let second = bend + h * third;
    [value + h * (slope + h * (bend * 0.5 + h * third * (1.0 / 6.0))), slope + h * (bend + h * third * 0.5), second]
}

/// Where a boundary lies shortly before the end of its stretch.
struct BoundaryStart {
    phi: f64,
    sigma: Block,
    /// What a year of waiting costs at the kink, and its slope in ln X.
    cost: [Block; 2],
    /// σ times the angle of value and payoff there.
    angle: Block,
    none: Block,
}

/// Standard deviations by which a boundary lies beyond the kink at its end, a polynomial in (ln s + 8)/8, s being the
/// time left over (σ·angle/cost)²: the obstacle problem W_s = W_yy/2 − 1, W ≥ 0, W(0, y) = max(−y, 0) solved by its
/// integral equation; 0.05 off at most.
const ABOVE: [f64; 5] = [2.270, -1.608, -0.430, -0.447, -0.287];

impl BoundaryStart {
    fn new(stretch: &TimeBetween, at: Option<&AtDate>, k: Block, sigma: Block) -> Self {
        let (phi, [r, b], tau) = (stretch.phi, stretch.rates, stretch.tau);
        let kink = at.map_or(ln(k), |at| at.boundary);
        let spot = exp(kink);
        let angle = at.map_or(k, |at| {
            let width = sigma * tau.sqrt();
            let d1 = (kink - ln(k) + (r - b) * tau) / width + width * 0.5;
            spot - norm_cdf(d1 * phi) * spot * (-b * tau).exp() - at.slope_held()
        });
        let none = k * BETWEEN.cost_least;
        let cost = ((spot + stretch.escrow) * b - k * r) * phi;
        Self { phi, sigma, cost: [cost, spot * b], angle: sigma * angle.max(none), none }
    }

    /// ln B `left` years before the end, where it is `end`.
    fn at(&self, left: f64, end: Block) -> Block {
        let c = Block::splat;
        let deviation = self.sigma * left.sqrt();
        // it grows until the boundary
        let cost = self.cost[0] + self.cost[1] * deviation * BETWEEN.above_level;
        let ln_ratio = ln(cost.max(self.none) / self.angle);
        let q = (ln_ratio + ln_ratio + left.ln()).max(c(BETWEEN.fitted_from)).min(c(BETWEEN.fitted_to));
        let above = ABOVE.iter().rev().fold(c(0.0), |sum, a| sum.mul_add((q + 8.0) * 0.125, c(*a)));
        let away = Block::select(self.cost[0].gt(self.none), above, c(BETWEEN.above_level));
        end + deviation * away * self.phi
    }
}
