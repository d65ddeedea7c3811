//! Calls that are exercised between two ex-dates, or between the last one and expiry: the boundary until the later
//! date, and what exercise along it earns (Kim 1990).
//!
//! The boundary is that of `recursion/`: in η, t = to − (to − from)·e^(−η²), its logarithm is a polynomial through
//! collocation points, and at each point value matching less λ times smooth pasting holds. One strike and volatility a
//! lane, so that all lanes share their times. Never: exercise right before a date, a table.

use super::at_date::{AtDate, ValueSlopes, Wait};
use crate::american::settings::{BETWEEN, COLLOCATION, SAME, SPOT_NODES};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{Block, Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, norm_cdf, norm_cdf_given, norm_cdf_short_given};
use crate::solve::{crowded, eliminate, lobatto, lobatto_row, lobatto_to_chebyshev};
use std::sync::LazyLock;

/// The collocation of every boundary, for one year from begin to end.
struct BetweenGrid {
    points: Vec<GridPoint>,
    /// From ln B at the points to its Chebyshev coefficients in 1 − 2η/`BETWEEN.reach`.
    to_chebyshev: Vec<Vec<f64>>,
    /// The flow from the begin on, for a spot at any distance from the boundary.
    spot: Vec<GridNode>,
}

/// A collocation point, the begin of the interval first.
struct GridPoint {
    eta: f64,
    nodes: Vec<GridNode>,
}

/// A moment of exercise as seen from a point, for one year left there.
struct GridNode {
    wait: f64,
    weight: f64,
    /// ln B there is `row`·(ln B at the points) + `end`·(ln B at the end).
    row: Vec<f64>,
    end: f64,
}

impl BetweenGrid {
    fn get() -> &'static Self {
        static GRID: LazyLock<BetweenGrid> = LazyLock::new(|| {
            let last = BETWEEN.points - 1;
            let eta: Vec<f64> = lobatto(last).iter().map(|z| 0.5 * BETWEEN.reach * (1.0 - z)).collect();
            let point = |&eta: &f64| {
                let until = SPOT_NODES.last.min((COLLOCATION.last_eta2 - eta * eta).sqrt());
                GridPoint { eta, nodes: GridNode::rule(BETWEEN.inner, COLLOCATION.nearest, until, eta) }
            };
            BetweenGrid {
                points: eta.iter().map(point).collect(),
                to_chebyshev: lobatto_to_chebyshev(last),
                spot: GridNode::rule(BETWEEN.spot_nodes, BETWEEN.spot_nearest, SPOT_NODES.last, 0.0),
            }
        });
        &GRID
    }
}

impl GridNode {
    /// `n` nodes from `eta` on in ξ = √(−ln(1 − wait)) up to `until`, crowded towards the point from `nearest` on.
    fn rule(n: usize, nearest: f64, until: f64, eta: f64) -> Vec<Self> {
        let node = |(xi, wait, weight): (f64, f64, f64)| {
            let (row, end) = row((eta * eta + xi * xi).sqrt());
            Self { wait, weight, row, end }
        };
        crowded(n, nearest, until).into_iter().map(node).collect()
    }
}

/// The least ln B of a boundary, from its end and its Chebyshev coefficients.
pub(super) fn lowest(boundary: &[f64]) -> f64 {
    let at = |j: usize| {
        let eta = BETWEEN.reach * j as f64 / BETWEEN.points as f64;
        weights(eta).iter().zip(boundary).map(|(weight, term)| weight * term).sum::<f64>()
    };
    (0..=BETWEEN.points).map(at).fold(boundary[0], f64::min)
}

/// Weights of ln B at the end and of its Chebyshev coefficients in ln B at `eta`.
pub(super) fn weights(eta: f64) -> [f64; BETWEEN.points + 1] {
    let left = if eta < BETWEEN.reach { 1.0 } else { (-0.5 * (eta * eta - BETWEEN.reach * BETWEEN.reach)).exp() };
    let z = (1.0 - 2.0 * eta / BETWEEN.reach).max(-1.0);
    let mut weights = [0.0; BETWEEN.points + 1];
    weights[0] = 1.0 - left;
    let (mut before, mut now) = (z, 1.0);
    for weight in &mut weights[1..] {
        *weight = left * now;
        (before, now) = (now, 2.0 * z * now - before);
    }
    weights
}

/// Weights of ln B at the points, and at the end, in ln B at `eta`.
fn row(eta: f64) -> (Vec<f64>, f64) {
    let last = BETWEEN.points - 1;
    if eta < BETWEEN.reach {
        return (lobatto_row(last, 1.0 - 2.0 * eta / BETWEEN.reach), 0.0);
    }
    let left = (-0.5 * (eta * eta - BETWEEN.reach * BETWEEN.reach)).exp();
    let mut row = vec![0.0; last + 1];
    row[last] = left;
    (row, 1.0 - left)
}

/// A stretch of time without ex-dates, as all lanes see it.
pub(super) struct TimeBetween {
    rates: [f64; 2],
    /// Dividends to come right before its end.
    escrow: f64,
    /// Years from its end to expiry; 0: it ends with the option.
    tau: f64,
    from_points: Vec<FromPoint>,
    /// What follows the begin, for spots.
    moments: Vec<SeenMoment>,
}

/// What follows a collocation point.
struct FromPoint {
    /// Years to the end, and the dividends to come.
    left: f64,
    escrow: f64,
    /// The date at the end; `None`: the stretch ends with the option.
    wait: Option<Wait>,
    moments: Vec<SeenMoment>,
}

/// A moment of exercise as seen from one time.
struct SeenMoment {
    /// √wait and 1 over it.
    root: f64,
    inv_root: f64,
    /// (r − b)·wait, e^(−(r − b)·wait).
    drift: f64,
    carry: f64,
    /// weight·e^(−r·wait), weight·b·e^(−b·wait).
    cash: f64,
    stock: f64,
    /// b·A: what dividends make exercise lose less, a year.
    spared: f64,
}

impl TimeBetween {
    /// That between two times, years from now.
    ///
    /// # Domain  no ex-date between them; the later one is an ex-date or expiry
    pub(super) fn new(terms: &Terms, from: f64, to: f64) -> Self {
        let Terms { t, r, b, .. } = *terms;
        let (grid, length, tau) = (BetweenGrid::get(), to - from, t - to);
        let last = terms.a(to - SAME.instant);
        let escrow = |left: f64| last * (-(r - b) * left).exp();
        let moments = |nodes: &[GridNode], life: f64| {
            let moment = |node: &GridNode| {
                let (wait, weight) = (life * node.wait, life * node.weight);
                SeenMoment {
                    root: wait.sqrt(),
                    inv_root: 1.0 / wait.sqrt(),
                    drift: (r - b) * wait,
                    carry: (-(r - b) * wait).exp(),
                    cash: weight * (-r * wait).exp(),
                    stock: weight * b * (-b * wait).exp(),
                    spared: b * escrow(life - wait),
                }
            };
            nodes.iter().map(moment).collect()
        };
        let seen = |point: &GridPoint| {
            let left = length * (-point.eta * point.eta).exp();
            let wait = (tau > 0.0).then(|| Wait::new(left, tau));
            FromPoint { left, escrow: escrow(left), wait, moments: moments(&point.nodes, left) }
        };
        Self {
            rates: [r, b],
            escrow: last,
            tau,
            from_points: grid.points.iter().map(seen).collect(),
            moments: moments(&grid.spot, length),
        }
    }
}

/// Exercise over a stretch of time, one contract per lane.
pub(super) struct Between {
    /// ln B at the end, and at the begin.
    end: Block,
    begin: Block,
    /// Chebyshev coefficients of ln B in 1 − 2η/`BETWEEN.reach`.
    terms: Vec<Block>,
    /// The boundary at the moments that follow the begin.
    edges: Vec<EdgeSeen>,
    contracts: Contracts,
    /// ln of the X at which there is nothing to gain at the begin.
    idle: Block,
}

/// The boundary at a moment: ln B less the drift until then, and what turns n(d) into n(d+)·X.
struct EdgeSeen {
    level: Block,
    turn: Block,
}

/// The contracts of the lanes, and a year's interest on their strikes.
#[derive(Clone, Copy)]
struct Contracts {
    sigma: Block,
    inv_sigma: Block,
    interest: Block,
    b: f64,
}

impl Contracts {
    /// Adds the share of a moment at ln X = `x`. Returns by how much value and slope change with ln B there.
    ///
    /// # Source  Kim (1990); derivatives in closed form
    #[inline(always)]
    fn add(
        &self,
        at: &SeenMoment,
        x: Block,
        spot: Block,
        inv_spot: Block,
        ln_b: Block,
        to: &mut ValueSlopes,
    ) -> [Block; 2] {
        let c = Block::splat;
        let (g, width, cost) = (self.inv_sigma * at.inv_root, self.sigma * at.root, self.interest - at.spared);
        let d = (x - ln_b + at.drift) * g - width * 0.5;
        let e = exp(d * d * -0.5);
        let mg = e * g * (at.cash * INV_SQRT_2PI);
        let cash = cost * norm_cdf_short_given(d, e) * at.cash;
        let (edge, stock) = if self.b == 0.0 {
            (c(0.0), c(0.0))
        } else {
            let edge = exp(ln_b);
            // n(d+) = n(d)·(B/X)·e^(−(r−b)·wait)
            let high = norm_cdf_short_given(d + width, e * edge * inv_spot * at.carry);
            (edge * self.b, high * spot * at.stock)
        };
        let jump = (cost - edge) * mg;
        let tilt = jump * d * g;
        to[0] += stock - cash;
        to[1] += stock - jump;
        to[2] += tilt + edge * mg + stock;
        [jump, -tilt]
    }
}

/// Holding to the end of a stretch from a time within it, less exercise.
struct HoldingLessPayoff<'a> {
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

    /// By how much waiting exceeds exercise: the put that waiting is worth beside the stock less the strike, the
    /// premium of later exercise, less what exercise keeps.
    #[inline(never)]
    fn at(&self, x: Block) -> ValueSlopes {
        let spot = exp(x);
        let d1 = (x - self.centre).mul_add(self.inv_width, self.width * 0.5);
        let d2 = d1 - self.width;
        let e = exp(d1 * d1 * -0.5);
        let stock = spot * norm_cdf_given(-d1, e) * self.share;
        let put = self.cash * norm_cdf_given(-d2, exp(d2 * d2 * -0.5)) - stock;
        let kept = spot * self.borrow;
        let bend = spot * e * self.inv_width * (self.share * INV_SQRT_2PI);
        let own = [put - kept - self.kept, -(stock + kept), bend - stock - kept];
        let Some((at, wait)) = self.date else { return own };
        let later = at.expected::<true>(wait, x);
        core::array::from_fn(|i| own[i] + later[i])
    }
}

impl Between {
    /// Solves the boundary of a stretch at whose end the call is exercised as `at` says, or expires; `None`: a lane
    /// has none that can be found.
    ///
    /// # Shapes    one contract per lane
    /// # Domain    exercise that earns: b > 0, or b = 0 and r < 0
    /// # Accuracy  `premiums_between_dates_are_those_of_the_recursion`
    pub(super) fn new(stretch: &TimeBetween, at: Option<&AtDate>, k: Block, sigma: Block) -> Option<Self> {
        let (grid, c, [r, b]) = (BetweenGrid::get(), Block::splat, stretch.rates);
        // ln of the X below which exercise loses
        let limit = |escrow: f64| {
            let pays = (k - escrow).max(k * SAME.strike_left);
            ln(if b > 0.0 { pays.max(k * (r / b) - escrow) } else { pays })
        };
        let kink = at.map_or(ln(k), |at| at.boundary);
        let earns = if b > 0.0 { k * (r / b) - stretch.escrow } else { c(0.0) };
        let end = kink.max(ln(earns.max(k * SAME.strike_left)));
        let limits: Vec<Block> = stretch.from_points.iter().map(|seen| limit(seen.escrow)).collect();
        let holdings: Vec<HoldingLessPayoff> =
            stretch.from_points.iter().map(|seen| HoldingLessPayoff::new(stretch, seen, at, k, sigma)).collect();
        let contracts = Contracts { sigma, inv_sigma: c(1.0) / sigma, interest: k * r, b };
        let n = grid.points.len();
        let start = BoundaryStart::new(stretch, at, k, sigma);
        let starts = stretch.from_points.iter().zip(&limits);
        let mut y: Vec<Block> = starts.map(|(seen, limit)| start.at(seen.left, end).max(*limit)).collect();
        let mut jacobian = vec![[c(0.0); BETWEEN.points]; n];
        let mut residual = vec![c(0.0); n];
        let (mut solved, mut before) = (k.lt(k), c(f64::INFINITY));
        // the value of holding where it was last computed
        let mut held = vec![(c(f64::NAN), [c(0.0); 3]); n];
        for _ in 0..BETWEEN.most_steps {
            for (i, (seen, point)) in stretch.from_points.iter().zip(&grid.points).enumerate() {
                let lambda = sigma * seen.left.sqrt();
                let x = y[i];
                let (spot, inv_spot) = (exp(x), exp(-x));
                if !(x - held[i].0).abs().lt(lambda * BETWEEN.carried).all() {
                    held[i] = (x, holdings[i].at(x));
                }
                let h = x - held[i].0;
                let [value, slope, bend] = held[i].1;
                let mut sums = [value + h * (slope + h * bend * 0.5), slope + h * bend, bend];
                let mut row = [c(0.0); BETWEEN.points];
                for (moment, node) in seen.moments.iter().zip(&point.nodes) {
                    let ln_b = node.ln_b(&y, end);
                    let [by_value, by_slope] = contracts.add(moment, x, spot, inv_spot, ln_b, &mut sums);
                    let by = by_value - lambda * by_slope;
                    for (entry, weight) in row.iter_mut().zip(&node.row) {
                        *entry = by.mul_add(c(*weight), *entry);
                    }
                }
                row[i] += sums[1] - lambda * sums[2];
                (jacobian[i], residual[i]) = (row, sums[0] - lambda * sums[1]);
            }
            let missed = residual.iter().fold(c(0.0), |most, residual| most.max(residual.abs()));
            eliminate(&mut jacobian, &mut residual);
            let mut worst = c(0.0);
            for i in 0..n {
                let most = sigma * stretch.from_points[i].left.sqrt();
                let step = residual[i].max(-most).min(most);
                worst = worst.max((residual[i] / most).abs());
                let next = y[i] - step;
                y[i] = next.max(limits[i] + (y[i] - limits[i]) * COLLOCATION.limit_left);
            }
            // where nothing is gained or lost near the boundary, rounding moves it
            let rounding = worst.lt(c(BETWEEN.solved)) | missed.lt(k * BETWEEN.missed);
            solved = worst.lt(c(BETWEEN.converged)) | (rounding & (before * COLLOCATION.shrinks).lt(worst));
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
        let mut idle = c(f64::INFINITY);
        let mut edges = Vec::with_capacity(grid.spot.len());
        for (moment, node) in stretch.moments.iter().zip(&grid.spot) {
            let ln_b = node.ln_b(&y, end);
            idle = idle.min(ln_b - moment.drift - sigma * (moment.root * BETWEEN.out_of_reach));
            edges.push(EdgeSeen { level: ln_b - moment.drift, turn: exp(ln_b) * moment.carry });
        }
        Some(Self { end, begin: y[0], terms, edges, idle, contracts })
    }

    /// ln of the X from which on the call is exercised at the begin.
    pub(super) fn begin(&self) -> Block {
        self.begin
    }

    /// ln B at the end, then its Chebyshev coefficients in 1 − 2η/`BETWEEN.reach`.
    pub(super) fn boundary(&self) -> impl Iterator<Item = Block> {
        core::iter::once(self.end).chain(self.terms.iter().copied())
    }

    /// What exercise in the `stretch` is worth at its begin, at ln X = `x` below the boundary.
    #[inline(never)]
    pub(super) fn value(&self, stretch: &TimeBetween, x: Block) -> Block {
        let mut sum = Block::splat(0.0);
        if x.lt(self.idle).all() {
            return sum;
        }
        let Contracts { sigma, inv_sigma, interest, .. } = self.contracts;
        let (spot, inv_spot) = (exp(x), exp(-x));
        for (at, edge) in stretch.moments.iter().zip(&self.edges) {
            let width = sigma * at.root;
            let d = (x - edge.level) * inv_sigma * at.inv_root - width * 0.5;
            let e = exp(d * d * -0.5);
            let high = norm_cdf_short_given(d + width, e * edge.turn * inv_spot);
            let cash = (interest - at.spared) * norm_cdf_short_given(d, e);
            sum += high * spot * at.stock - cash * at.cash;
        }
        sum
    }
}

/// Where a boundary lies shortly before the end of its stretch.
struct BoundaryStart {
    sigma: Block,
    /// What a year of waiting costs at the kink, and its slope in ln X.
    cost: [Block; 2],
    /// σ times the angle of value and payoff there.
    angle: Block,
    none: Block,
}

/// Standard deviations by which a boundary lies above the kink at its end, a polynomial in (ln s + 8)/8, s being the
/// time left over (σ·angle/cost)²: the obstacle problem W_s = W_yy/2 − 1, W ≥ 0, W(0, y) = max(−y, 0) solved by its
/// integral equation; 0.05 off at most.
const ABOVE: [f64; 5] = [2.270, -1.608, -0.430, -0.447, -0.287];

impl BoundaryStart {
    fn new(stretch: &TimeBetween, at: Option<&AtDate>, k: Block, sigma: Block) -> Self {
        let ([r, b], tau) = (stretch.rates, stretch.tau);
        let kink = at.map_or(ln(k), |at| at.boundary);
        let spot = exp(kink);
        let angle = at.map_or(k, |at| {
            let width = sigma * tau.sqrt();
            let d1 = (kink - ln(k) + (r - b) * tau) / width + width * 0.5;
            spot - norm_cdf(d1) * spot * (-b * tau).exp() - at.slope_below()
        });
        let none = k * BETWEEN.cost_least;
        let cost = (spot + stretch.escrow) * b - k * r;
        Self { sigma, cost: [cost, spot * b], angle: sigma * angle.max(none), none }
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
        end + deviation * Block::select(self.cost[0].gt(self.none), above, c(BETWEEN.above_level))
    }
}

impl GridNode {
    #[inline(always)]
    fn ln_b(&self, y: &[Block], end: Block) -> Block {
        let c = Block::splat;
        self.row.iter().zip(y).fold(end * self.end, |sum, (w, y)| y.mul_add(c(*w), sum))
    }
}
