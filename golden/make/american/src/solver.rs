//! The value of an American option with escrowed cash dividends, and its first four derivatives in the spot.
//!
//! Between two ex-dates the value is the European value of what the option is worth at the end of the period plus the
//! early exercise premium (Kim 1990; Jacka 1991; Carr, Jarrow and Myneni 1992):
//!
//! ```text
//! V(X, τ) = e^(−rτ) E[h(X_τ)] + φ ∫₀^τ E[e^(−rs) (b X_s + b A − r K) ; X_s beyond the boundary B(τ − s)] ds
//! ```
//!
//! X = S − A is the spot without the dividends still to come, τ the time to the end of the period. The boundary makes V
//! = φ (X + A − K) on it. Periods are solved backwards from expiry; the value right after an ex-date, or what exercise
//! right before it pays where that is more, is the payoff `h` of the period before.
//!
//! The boundary: ln B is a polynomial in w = √(τ − τ*) on each of several panels, which get smaller by a constant ratio
//! towards τ*, the time at which there begins to be a boundary (0, but for puts before an ex-date); so its logarithmic
//! singularity there does no harm. The values at the Chebyshev points of a panel solve value matching there at once, by
//! Newton's method with the exact Jacobian. Integrals over time go over an angle, √s = w sin θ, as in Andersen, Lake
//! and Offengenden (2016): the integrand is smooth in it, both at s = 0 and at τ*.

use crate::math::{Gauss, cdf, chebyshev, density, linear_solve, mass};
use std::f64::consts::PI;

/// Coefficients of a piece of a payoff.
const PIECE: usize = 18;
/// Standard deviations beyond which a normal density is nothing: n(8.6) = 3e-17.
const REACH: f64 = 8.6;
/// Differences between waiting and exercise that are rounding, as a part of the strike.
const NOISE: f64 = 5e-16;

/// One contract. Dividends are (ex-date, amount), sorted, at most one a date, 0 < ex-date ≤ t.
#[derive(Clone, Debug)]
pub struct Contract {
    /// +1 call, −1 put.
    pub phi: f64,
    pub s: f64,
    pub k: f64,
    pub t: f64,
    pub r: f64,
    pub b: f64,
    pub sigma: f64,
    pub dividends: Vec<(f64, f64)>,
}

/// How finely to solve.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// Ratio of the right end of a panel to that of the panel left of it.
    pub ratio: f64,
    /// Right end of the first panel as a part of the whole, where the boundary can be told so early.
    pub first: f64,
    /// Degree of ln B on a panel.
    pub degree: usize,
    /// Greatest last coefficients of ln B, as a part of a standard deviation since τ*, by the part of the time they
    /// last.
    pub bend: f64,
    /// Quadrature over time, on pieces where the integrand varies much and little.
    pub over_time: Gauss,
    pub over_time_far: Gauss,
    /// Quadrature of a payoff piece against the density.
    pub over_space: Gauss,
    /// Greatest last coefficients of a payoff piece, as a part of the strike.
    pub tail: f64,
}

impl Scheme {
    /// Two schemes for a contract: one for differences in volatility, rates and strike, which take some fifty
    /// solutions, and a finer one for the values themselves. Where they differ is the error. Without dividends both can
    /// be finer.
    pub fn pair(dividends: bool) -> (Self, Self) {
        let coarse = Self {
            ratio: 2.6,
            first: 1e-4,
            degree: 8,
            bend: 2e-4,
            over_time: Gauss::new(11),
            over_time_far: Gauss::new(6),
            over_space: Gauss::new(14),
            tail: 1e-13,
        };
        let middle = Self {
            ratio: 2.2,
            first: 2e-5,
            degree: 10,
            bend: 2e-5,
            over_time: Gauss::new(14),
            over_time_far: Gauss::new(8),
            over_space: Gauss::new(16),
            tail: 2e-14,
        };
        if dividends {
            return (coarse, middle);
        }
        let fine = Self {
            ratio: 2.0,
            first: 1e-5,
            degree: 13,
            bend: 1e-5,
            over_time: Gauss::new(18),
            over_time_far: Gauss::new(10),
            ..middle.clone()
        };
        (middle, fine)
    }
}

/// Solution for a contract.
#[derive(Clone, Debug)]
pub struct Solved {
    /// Value and its first four derivatives in X (and so in S).
    pub value: [f64; 5],
    /// Exercising now is optimal; `value` is then the payoff.
    pub exercise_now: bool,
    /// The spot at which exercise begins now; NaN where there is none.
    pub boundary: f64,
}

/// Why there is no value: the exercise region of the contract is not bounded by one boundary, or X ≤ 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported(pub &'static str);

/// A stretch of y = ln X on which a payoff is c0 + c1 X or a polynomial in y.
#[derive(Clone, Debug)]
enum Shape {
    Line { c0: f64, c1: f64 },
    Polynomial { from: f64, to: f64, c: [f64; PIECE] },
}

#[derive(Clone, Debug)]
struct Piece {
    lo: f64,
    hi: f64,
    shape: Shape,
}

impl Piece {
    fn line(lo: f64, hi: f64, c0: f64, c1: f64) -> Self {
        Self { lo, hi, shape: Shape::Line { c0, c1 } }
    }

    fn at(&self, y: f64) -> f64 {
        match &self.shape {
            Shape::Line { c0, c1 } => c0 + c1 * y.exp(),
            Shape::Polynomial { from, to, c } => chebyshev(c, (2.0 * y - from - to) / (to - from)),
        }
    }
}

/// ln B over one panel of w.
#[derive(Clone, Debug)]
struct Panel {
    lo: f64,
    hi: f64,
    /// Chebyshev-Lobatto points from `lo` to `hi`, and ln B there.
    w: Vec<f64>,
    log_b: Vec<f64>,
    /// The boundary as a Chebyshev series.
    c: Vec<f64>,
}

impl Panel {
    fn new(lo: f64, hi: f64, degree: usize, log_b: Vec<f64>) -> Self {
        let w = (0..=degree)
            .map(|j| {
                let u = if degree == 0 { 1.0 } else { -(PI * j as f64 / degree as f64).cos() };
                0.5 * (lo + hi) + 0.5 * (hi - lo) * u
            })
            .collect();
        let mut panel = Self { lo, hi, w, log_b, c: Vec::new() };
        panel.refresh();
        panel
    }

    /// The series from the values at the points.
    fn refresh(&mut self) {
        let n = self.log_b.len() - 1;
        self.c = (0..=n)
            .map(|k| {
                let term = |j: usize| {
                    let end = if j == 0 || j == n { 0.5 } else { 1.0 };
                    end * self.log_b[n - j] * (PI * (k * j) as f64 / n.max(1) as f64).cos()
                };
                let sum: f64 = (0..=n).map(term).sum();
                if n == 0 { self.log_b[0] } else { sum * if k == 0 || k == n { 1.0 } else { 2.0 } / n as f64 }
            })
            .collect();
    }

    fn last(&self) -> f64 {
        self.log_b[self.log_b.len() - 1]
    }

    /// d ln B/dw over the last two points.
    fn slope(&self) -> f64 {
        let n = self.w.len() - 1;
        if n == 0 {
            return 0.0;
        }
        (self.log_b[n] - self.log_b[n - 1]) / (self.w[n] - self.w[n - 1])
    }

    fn at(&self, w: f64) -> f64 {
        if self.c.len() == 1 {
            return self.c[0];
        }
        chebyshev(&self.c, (2.0 * w - self.lo - self.hi) / (self.hi - self.lo))
    }

    /// The Lagrange polynomials of the points at `w`, by the barycentric formula.
    fn cardinals(&self, w: f64, out: &mut [f64]) {
        let n = self.w.len() - 1;
        let mut sum = 0.0;
        for j in 0..=n {
            let gap = w - self.w[j];
            if gap == 0.0 {
                out.fill(0.0);
                out[j] = 1.0;
                return;
            }
            let end = if j == 0 || j == n { 0.5 } else { 1.0 };
            out[j] = if j % 2 == 0 { end } else { -end } / gap;
            sum += out[j];
        }
        out.iter_mut().for_each(|x| *x /= sum);
    }
}

/// The exercise boundary of a period: from τ* on, in w = √(τ − τ*).
#[derive(Clone, Debug)]
struct Boundary {
    begins: f64,
    panels: Vec<Panel>,
}

impl Boundary {
    fn last(&self) -> f64 {
        self.panels.last().map_or(f64::NAN, Panel::last)
    }
}

/// The time between two events: dividends from index `ahead` on go ex at its end or later.
#[derive(Clone, Copy, Debug)]
struct Period {
    start: f64,
    end: f64,
    ahead: usize,
}

struct Solver<'a> {
    c: &'a Contract,
    scheme: &'a Scheme,
    g: f64,
    /// y where X matters.
    lo: f64,
    hi: f64,
}

/// The value of a contract.
pub fn solve(c: &Contract, scheme: &Scheme) -> Result<Solved, Unsupported> {
    let g = c.r - c.b;
    let escrow: f64 = c.dividends.iter().map(|&(t, d)| d * (-g * t).exp()).sum();
    if c.s <= escrow {
        return Err(Unsupported("dividends worth more than the spot"));
    }
    match (c.phi > 0.0, c.r, c.b) {
        (true, r, b) if b < 0.0 && r < b => return Err(Unsupported("call with two boundaries")),
        (false, r, b) if r < 0.0 && b < r => return Err(Unsupported("put with two boundaries")),
        (false, r, b) if b < 0.0 && r >= 0.0 && !c.dividends.is_empty() => {
            return Err(Unsupported("put whose exercise region at an ex-date may be an interval"));
        }
        _ => {}
    }
    let (y, dev) = ((c.s - escrow).ln(), c.sigma * c.t.sqrt());
    let half = 0.5 * c.sigma * c.sigma;
    let lo = y + ((g - half) * c.t).min(0.0) - REACH * dev;
    let hi = y + ((g + half) * c.t).max(0.0) + REACH * dev;
    Solver { c, scheme, g, lo, hi }.run(y, escrow)
}

impl Solver<'_> {
    fn run(&self, y: f64, escrow: f64) -> Result<Solved, Unsupported> {
        let c = self.c;
        let log_k = c.k.ln();
        let mut h = if c.phi > 0.0 {
            vec![Piece::line(f64::NEG_INFINITY, log_k, 0.0, 0.0), Piece::line(log_k, f64::INFINITY, -c.k, 1.0)]
        } else {
            vec![Piece::line(f64::NEG_INFINITY, log_k, c.k, -1.0), Piece::line(log_k, f64::INFINITY, 0.0, 0.0)]
        };
        // Where a call is exercised at the end of the period; what a put is worth there at X = 0.
        let (mut kink, mut at_zero) = (log_k, c.k);
        let mut p = Period { start: 0.0, end: c.t, ahead: c.dividends.len() };
        if p.ahead > 0 && c.dividends[p.ahead - 1].0 >= c.t {
            p.ahead -= 1;
            self.cross(&mut h, &mut kink, p.ahead, c.t);
        }
        loop {
            p.start = if p.ahead == 0 { 0.0 } else { c.dividends[p.ahead - 1].0 };
            let boundary = self.boundary(&h, &p, kink, at_zero)?;
            if p.ahead == 0 {
                return Ok(self.now(&h, &p, boundary.as_ref(), y, escrow));
            }
            h = self.after(&h, &p, boundary.as_ref());
            at_zero = self.value_at_zero(&p, boundary.is_some(), at_zero);
            p.end = p.start;
            p.ahead -= 1;
            self.cross(&mut h, &mut kink, p.ahead, p.end);
        }
    }

    /// A(u): what dividends from index `from` on are worth at u.
    fn escrow(&self, from: usize, u: f64) -> f64 {
        self.c.dividends[from..].iter().map(|&(t, d)| d * (-self.g * (t - u)).exp()).sum()
    }

    /// The value at the spot, or that exercise is optimal.
    fn now(&self, h: &[Piece], p: &Period, boundary: Option<&Boundary>, y: f64, escrow: f64) -> Solved {
        let c = self.c;
        let log_b = boundary.map_or(f64::NAN, Boundary::last);
        let spot_boundary = log_b.exp() + escrow;
        if c.phi * (y - log_b) >= 0.0 {
            let value = [c.phi * (c.s - c.k), c.phi, 0.0, 0.0, 0.0];
            return Solved { value, exercise_now: true, boundary: spot_boundary };
        }
        let d: [f64; 5] = self.value(h, p, boundary, y);
        let x = c.s - escrow;
        // Derivatives in ln X to derivatives in X.
        let value = [
            d[0],
            d[1] / x,
            (d[2] - d[1]) / (x * x),
            (d[3] - 3.0 * d[2] + 2.0 * d[1]) / (x * x * x),
            (d[4] - 6.0 * d[3] + 11.0 * d[2] - 6.0 * d[1]) / (x * x * x * x),
        ];
        Solved { value, exercise_now: false, boundary: spot_boundary }
    }

    /// The value at the start of a period where it is not exercised, and its derivatives in y.
    fn value<const N: usize>(&self, h: &[Piece], p: &Period, boundary: Option<&Boundary>, y: f64) -> [f64; N] {
        let length = p.end - p.start;
        let mut sum: [f64; N] = self.expected(h, y, length);
        let df = (-self.c.r * length).exp();
        sum.iter_mut().for_each(|x| *x *= df);
        if let Some(boundary) = boundary {
            let width = (length - boundary.begins).sqrt();
            let distance = (y - boundary.last()).abs() / self.c.sigma;
            let a = self.escrow(p.ahead, p.start);
            let premium: [f64; N] = self.premium(boundary, width, y, a, distance);
            sum.iter_mut().zip(premium).for_each(|(x, add)| *x += add);
        }
        sum
    }

    /// E[h(X)] a time `tau` later, undiscounted, and its derivatives in y.
    fn expected<const N: usize>(&self, h: &[Piece], y: f64, tau: f64) -> [f64; N] {
        let mut sum = [0.0; N];
        let dev = self.c.sigma * tau.sqrt();
        let mean = y + (self.g - 0.5 * self.c.sigma * self.c.sigma) * tau;
        let (lo, hi) = (mean - REACH * dev, mean + (REACH + dev) * dev);
        for piece in h {
            if piece.hi <= lo || piece.lo >= hi {
                continue;
            }
            match &piece.shape {
                Shape::Line { c0, c1 } => {
                    let (a, b) = ((piece.lo - mean) / dev, (piece.hi - mean) / dev);
                    let shifts: [f64; N] = shifts(a, b, dev);
                    (0..N).for_each(|k| sum[k] += c0 * shifts[k]);
                    if *c1 != 0.0 {
                        let tilted = tilt(&self::shifts::<N>(a - dev, b - dev, dev));
                        let scale = c1 * (mean + 0.5 * dev * dev).exp();
                        (0..N).for_each(|k| sum[k] += scale * tilted[k]);
                    }
                }
                Shape::Polynomial { .. } => {
                    let (a, b) = (piece.lo.max(lo), piece.hi.min(hi));
                    let parts = ((b - a) / (1.7 * dev)).ceil().max(1.0);
                    for i in 0..parts as usize {
                        let step = (b - a) / parts;
                        let from = a + i as f64 * step;
                        for (x, weight) in self.scheme.over_space.on(from, from + step) {
                            let z = (x - mean) / dev;
                            let mut v = weight / dev * density(z) * piece.at(x);
                            // d^k/dy^k of the density is He_k(z)/dev^k times it.
                            let (mut hermite, mut before) = (1.0, 0.0);
                            for (k, sum) in sum.iter_mut().enumerate() {
                                *sum += v * hermite;
                                (hermite, before) = (z * hermite - k as f64 * before, hermite);
                                v /= dev;
                            }
                        }
                    }
                }
            }
        }
        sum
    }

    /// Gain from exercise between now and the end of the period, from where τ = τ* + w²; and derivatives in y.
    /// `distance` is that of y to the boundary, |y − ln B|/σ: 0 on it.
    fn premium<const N: usize>(&self, curve: &Boundary, w: f64, y: f64, a: f64, distance: f64) -> [f64; N] {
        // The density of reaching the boundary at once turns on at √s = distance; quadrature has breaks about there.
        const BREAKS: [f64; 10] = [0.11, 0.17, 0.26, 0.4, 0.62, 1.0, 1.6, 2.6, 4.2, 7.0];
        let mut sum = [0.0; N];
        for panel in &curve.panels {
            if panel.lo >= w {
                break;
            }
            let (near, far) = ((panel.hi / w).min(1.0).acos(), (panel.lo / w).acos());
            let mut from = near;
            let angle = |f: f64| (f * distance / w).min(1.0).asin();
            let inner = BREAKS.iter().map(|&f| angle(f)).filter(|&x| x > near && x < far);
            for to in inner.chain([far]) {
                if distance == 0.0 || to.sin() * w > 0.1101 * distance {
                    self.stretch(panel, w, from, to, |s, log_b, weight| {
                        let flow: [f64; N] = self.flow(y, s, log_b, a);
                        (0..N).for_each(|k| sum[k] += weight * flow[k]);
                    });
                }
                from = to;
            }
        }
        sum
    }

    /// Visits s, ln B and the weight of ds at the quadrature points of √s = w sin θ, θ from `from` to `to`.
    fn stretch(&self, panel: &Panel, w: f64, from: f64, to: f64, mut visit: impl FnMut(f64, f64, f64)) {
        let rule = if from.sin() > 0.75 * to.sin() { &self.scheme.over_time_far } else { &self.scheme.over_time };
        for (theta, weight) in rule.on(from, to) {
            let (sin, cos) = theta.sin_cos();
            visit(w * w * sin * sin, panel.at(w * cos), weight * 2.0 * w * w * sin * cos);
        }
    }

    /// Gain from exercise per time, a time s from now: φ E[e^(−rs)(b X_s + b A − r K); X_s beyond B], and
    /// derivatives.
    fn flow<const N: usize>(&self, y: f64, s: f64, log_b: f64, a: f64) -> [f64; N] {
        let c = self.c;
        let dev = c.sigma * s.sqrt();
        let middle = (y - log_b + self.g * s) / dev;
        let (plus, minus) = (middle + 0.5 * dev, middle - 0.5 * dev);
        let mut sum = [0.0; N];
        if c.phi * plus < -9.5 && c.phi * minus < -9.5 {
            return sum; // nothing of the density is beyond the boundary
        }
        let (yield_df, df) = ((-c.b * s).exp(), (-c.r * s).exp());
        let cash = c.phi * (c.b * a * yield_df - c.r * c.k * df);
        let below: [f64; N] = edge(c.phi, minus, dev);
        (0..N).for_each(|k| sum[k] = cash * below[k]);
        if c.b != 0.0 {
            let share = c.phi * c.b * y.exp() * yield_df;
            let above = tilt(&edge::<N>(c.phi, plus, dev));
            (0..N).for_each(|k| sum[k] += share * above[k]);
        }
        sum
    }

    /// √s · σ · d flow/d ln B, which is finite at s = 0.
    fn flow_slope(&self, y: f64, s: f64, log_b: f64, a: f64) -> f64 {
        let c = self.c;
        let dev = c.sigma * s.sqrt();
        let middle = (y - log_b + self.g * s) / dev;
        let (yield_df, df) = ((-c.b * s).exp(), (-c.r * s).exp());
        let cash = (c.b * a * yield_df - c.r * c.k * df) * density(middle - 0.5 * dev);
        let share = if c.b == 0.0 { 0.0 } else { c.b * y.exp() * yield_df * density(middle + 0.5 * dev) };
        -(cash + share)
    }

    /// The exercise boundary of a period; none where exercise inside it never pays.
    fn boundary(&self, h: &[Piece], p: &Period, kink: f64, at_zero: f64) -> Result<Option<Boundary>, Unsupported> {
        let c = self.c;
        let length = p.end - p.start;
        let at_expiry = p.ahead == c.dividends.len();
        let (mut begins, start);
        if c.phi > 0.0 {
            if c.b < 0.0 || (c.b == 0.0 && c.r >= 0.0) {
                return Ok(None);
            }
            (begins, start) = (0.0, kink.max(self.no_flow(p, 0.0)));
            if start > self.hi + 0.5 {
                return Ok(None);
            }
        } else {
            if c.r < 0.0 || (c.r == 0.0 && c.b >= 0.0) {
                return Ok(None);
            }
            begins = 0.0;
            if at_expiry {
                start = c.k.ln().min(self.no_flow(p, 0.0));
                if start < self.lo - 0.5 {
                    return Ok(None);
                }
            } else {
                // A dividend ahead: at X = 0 all is known, and exercise begins where it pays more than waiting there.
                let flow = |u: f64| c.r * c.k - c.b * self.escrow(p.ahead, u);
                match (flow(p.start) <= 0.0, flow(p.end) <= 0.0) {
                    (true, true) => return Ok(None),
                    (false, false) => {}
                    _ => return Err(Unsupported("put whose window of exercise closes between ex-dates")),
                }
                let gain = |tau: f64| c.k - self.escrow(p.ahead, p.end - tau) - (-c.r * tau).exp() * at_zero;
                if gain(length) <= 0.0 {
                    return Ok(None);
                }
                let mut never = 0.0;
                begins = length;
                while begins - never > 1e-16 * length {
                    let middle = 0.5 * (never + begins);
                    if middle <= never || middle >= begins {
                        break;
                    }
                    *if gain(middle) > 0.0 { &mut begins } else { &mut never } = middle;
                }
                if length - begins < 1e-9 * length {
                    return Ok(None);
                }
                start = f64::NEG_INFINITY;
            }
        }
        Ok(Some(self.solve_boundary(h, p, Boundary { begins, panels: Vec::new() }, start)))
    }

    /// ln X where exercise brings nothing per time, `tau` before the end of the period: b (X + A) = r K.
    fn no_flow(&self, p: &Period, tau: f64) -> f64 {
        let c = self.c;
        let none = if c.phi > 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
        if c.b <= 0.0 {
            return none;
        }
        let x = c.r * c.k / c.b - self.escrow(p.ahead, p.end - tau);
        if x > 0.0 { x.ln() } else { f64::NEG_INFINITY }
    }

    /// Where the boundary may lie: from the edge (exercise brings something per time, and pays) to far out.
    fn range(&self, p: &Period, tau: f64) -> (f64, f64) {
        let c = self.c;
        let pays = c.k - self.escrow(p.ahead, p.end - tau);
        let pays = if pays > 0.0 { pays.ln() } else { f64::NEG_INFINITY };
        if c.phi > 0.0 {
            let far = self.hi + 3.0;
            (self.no_flow(p, tau).max(pays).max(self.lo - 3.0).min(far), far)
        } else {
            // With a dividend ahead the boundary comes up from X = 0, about as ln(τ − τ*).
            let far = self.lo - if p.ahead == c.dividends.len() { 3.0 } else { 40.0 };
            (self.no_flow(p, tau).min(pays).min(self.hi + 3.0).max(far), far)
        }
    }

    /// Panel after panel; `start` is ln B at τ*, minus infinity where the boundary comes up from X = 0.
    fn solve_boundary(&self, h: &[Piece], p: &Period, mut curve: Boundary, start: f64) -> Boundary {
        let width = (p.end - p.start - curve.begins).sqrt();
        // What exercise brings until w, about: nothing below rounding tells where the boundary is.
        let x = if start.is_finite() { start.exp() } else { 0.0 };
        let flow = (self.c.b * (x + self.escrow(p.ahead, p.end - curve.begins)) - self.c.r * self.c.k).abs();
        let signal = |w: f64| (flow + self.c.b.abs() * x * self.c.sigma * w) * w * w;
        let mut first = self.scheme.first * width;
        while signal(first) < 600.0 * NOISE * self.c.k && first < 0.02 * width {
            first *= 1.2;
        }
        let count = ((width / first).ln() / self.scheme.ratio.ln()).ceil() as i32;
        let end = |i: i32| if i == count { width } else { width * self.scheme.ratio.powi(i - count) };
        // The first panel is so short that a straight line does; where B comes up from 0, a constant.
        let guess = if start.is_finite() { start } else { self.range(p, curve.begins + end(0) * end(0)).1 };
        let degree = usize::from(start.is_finite());
        curve.panels.push(Panel::new(0.0, end(0), degree, vec![guess; degree + 1]));
        self.solve_point(h, p, &mut curve, guess, 1e-9);
        for i in 1..=count {
            self.extend(h, p, &mut curve, end(i - 1), end(i), 0);
        }
        curve
    }

    /// One more panel; two smaller ones where Newton's method does not settle on it or a polynomial does not follow.
    fn extend(&self, h: &[Piece], p: &Period, curve: &mut Boundary, lo: f64, hi: f64, depth: u32) {
        let known = curve.panels.len();
        let before = &curve.panels[known - 1];
        let (log_b, slope) = (before.last(), before.slope());
        let mut panel = Panel::new(lo, hi, self.scheme.degree, vec![log_b; self.scheme.degree + 1]);
        for j in 1..panel.w.len() {
            let (edge, far) = self.range(p, curve.begins + panel.w[j] * panel.w[j]);
            // Continued logarithmically: right where B moves with ln w, and never wild.
            let guess = log_b + slope * lo * (panel.w[j] / lo).ln();
            panel.log_b[j] = guess.clamp(edge.min(far), edge.max(far));
        }
        panel.refresh();
        curve.panels.push(panel);
        // A boundary that comes up from X = 0 bends too fast for that guess.
        let rises = self.c.phi < 0.0 && p.ahead < self.c.dividends.len();
        if !rises && self.newton(h, p, curve) {
            return;
        }
        self.march(h, p, curve);
        let marched = curve.panels[known].clone();
        let settled = self.newton(h, p, curve);
        let panel = &curve.panels[known];
        // What lies below the reach of the diffusion does not matter, and what lasts briefly matters little.
        let matters = panel.log_b.iter().any(|&y| y > self.lo && y < self.hi);
        let whole = (p.end - p.start - curve.begins).sqrt();
        let tail: f64 = panel.c[panel.c.len() - 2..].iter().map(|c| c.abs()).sum();
        let tail = if matters { tail * hi * hi / (whole * whole) } else { 0.0 };
        if settled && tail <= self.scheme.bend * self.c.sigma * whole {
            return;
        }
        if depth < 4 {
            curve.panels.truncate(known);
            let middle = (lo * hi).sqrt();
            self.extend(h, p, curve, lo, middle, depth + 1);
            self.extend(h, p, curve, middle, hi, depth + 1);
        } else if !settled {
            curve.panels[known] = marched;
        }
    }

    /// V − φ(X + A − K) at `y`, from where τ = τ* + w²; and its derivative in y with the boundary held.
    fn gap(&self, h: &[Piece], p: &Period, curve: &Boundary, w: f64, y: f64) -> [f64; 2] {
        let c = self.c;
        let tau = curve.begins + w * w;
        let a = self.escrow(p.ahead, p.end - tau);
        let european: [f64; 2] = self.expected(h, y, tau);
        let premium: [f64; 2] = self.premium(curve, w, y, a, 0.0);
        let df = (-c.r * tau).exp();
        let x = y.exp();
        [df * european[0] + premium[0] - c.phi * (x + a - c.k), df * european[1] + premium[1] - c.phi * x]
    }

    /// The right end of the last panel alone, by bracketing: V − payoff is positive where waiting is better. To
    /// `precision`, as a part of a standard deviation since τ*.
    fn solve_point(&self, h: &[Piece], p: &Period, curve: &mut Boundary, guess: f64, precision: f64) {
        let last = curve.panels.len() - 1;
        let w = curve.panels[last].hi;
        let tau = curve.begins + w * w;
        let (edge, far) = self.range(p, tau);
        let set = |curve: &mut Boundary, y: f64| {
            let panel = &mut curve.panels[last];
            let end = panel.log_b.len() - 1;
            panel.log_b[end] = y;
            panel.refresh();
        };
        let mut f = |y: f64| {
            set(curve, y);
            self.gap(h, p, curve, w, y)[0] - NOISE * self.c.k
        };
        let inside = |y: f64| y.clamp(edge.min(far), edge.max(far));
        let mut wait = (inside(guess), 0.0);
        wait.1 = f(wait.0);
        let mut take = wait;
        let mut step = 0.1 * self.c.sigma * w.max(1e-9);
        if wait.1 > 0.0 {
            loop {
                take.0 = inside(wait.0 + self.c.phi * step);
                take.1 = f(take.0);
                if take.1 <= 0.0 {
                    break;
                }
                if take.0 == far {
                    return;
                }
                (wait, step) = (take, 1.7 * step);
            }
        } else {
            loop {
                wait.0 = inside(take.0 - self.c.phi * step);
                wait.1 = f(wait.0);
                if wait.1 > 0.0 {
                    break;
                }
                if wait.0 == edge {
                    return;
                }
                (take, step) = (wait, 1.7 * step);
            }
        }
        // The Illinois method, with a halving now and then where it stalls.
        let mut side = 0;
        for round in 1..80 {
            if (wait.0 - take.0).abs() < precision * self.c.sigma * w {
                break;
            }
            let secant = (wait.0 * take.1 - take.0 * wait.1) / (take.1 - wait.1);
            let y = if round % 4 == 0 || !secant.is_finite() { 0.5 * (wait.0 + take.0) } else { secant };
            if y == wait.0 || y == take.0 {
                break;
            }
            let gap = f(y);
            if gap > 0.0 {
                wait = (y, gap);
                take.1 *= if side == 1 { 0.5 } else { 1.0 };
                side = 1;
            } else {
                take = (y, gap);
                wait.1 *= if side == -1 { 0.5 } else { 1.0 };
                side = -1;
            }
        }
        f(0.5 * (wait.0 + take.0));
    }

    /// All points of the last panel by Newton's method; false where it does not settle.
    fn newton(&self, h: &[Piece], p: &Period, curve: &mut Boundary) -> bool {
        let c = self.c;
        let last = curve.panels.len() - 1;
        let n = self.scheme.degree;
        let mut cardinal = vec![0.0; n + 1];
        let mut least = f64::INFINITY;
        for round in 0..14 {
            let mut jacobian = vec![vec![0.0; n]; n];
            let mut rest = vec![0.0; n];
            let mut worst: f64 = 0.0;
            for i in 0..n {
                let panel = &curve.panels[last];
                let (w, y) = (panel.w[i + 1], panel.log_b[i + 1]);
                let tau = curve.begins + w * w;
                let (edge, far) = self.range(p, tau);
                let [gap, slope] = self.gap(h, p, curve, w, y);
                // Held at its limit: waiting is better even far out, or exercise as soon as it brings anything.
                if (y == far && gap > 0.0) || (y == edge && gap <= NOISE * c.k) {
                    jacobian[i][i] = 1.0;
                    continue;
                }
                worst = worst.max(gap.abs());
                rest[i] = if gap.abs() < NOISE * c.k { 0.0 } else { -gap };
                jacobian[i][i] = slope;
                let a = self.escrow(p.ahead, p.end - tau);
                self.stretch(panel, w, 0.0, (panel.lo / w).acos(), |s, log_b, weight| {
                    let root = s.sqrt();
                    panel.cardinals((w * w - s).max(0.0).sqrt(), &mut cardinal);
                    let slope = weight * self.flow_slope(y, s, log_b, a) / (c.sigma * root);
                    (0..n).for_each(|j| jacobian[i][j] += slope * cardinal[j + 1]);
                });
            }
            if worst < NOISE * c.k || (worst < 1e-13 * c.k && worst > 0.3 * least) {
                return true;
            }
            if round > 6 && worst > 10.0 * least {
                return false;
            }
            least = least.min(worst);
            let moves = linear_solve(jacobian, rest);
            let mut largest: f64 = 0.0;
            let begins = curve.begins;
            let panel = &mut curve.panels[last];
            for ((step, w), log_b) in moves.into_iter().zip(&panel.w[1..]).zip(&mut panel.log_b[1..]) {
                let tau = begins + w * w;
                let limit = 1.5 * c.sigma * tau.sqrt();
                let (edge, far) = self.range(p, tau);
                let to = *log_b + if step.is_finite() { step.clamp(-limit, limit) } else { 0.0 };
                let to = to.clamp(edge.min(far), edge.max(far));
                largest = largest.max((to - *log_b).abs() / limit);
                *log_b = to;
            }
            panel.refresh();
            if largest < 1e-12 {
                return worst < 1e-12 * c.k;
            }
        }
        false
    }

    /// A guess for the last panel where Newton's method found none: point after point, straight between them.
    fn march(&self, h: &[Piece], p: &Period, curve: &mut Boundary) {
        let Some(mut panel) = curve.panels.pop() else { return };
        let known = curve.panels.len();
        for j in 1..panel.w.len() {
            let before = panel.log_b[j - 1];
            let last = &curve.panels[curve.panels.len() - 1];
            let guess = before + last.slope() * (panel.w[j] - panel.w[j - 1]);
            curve.panels.push(Panel::new(panel.w[j - 1], panel.w[j], 1, vec![before, guess]));
            self.solve_point(h, p, curve, guess, 1e-5);
            panel.log_b[j] = curve.last();
        }
        curve.panels.truncate(known);
        panel.refresh();
        curve.panels.push(panel);
    }

    /// Value of a put at X = 0 when a period starts: nothing is random there.
    fn value_at_zero(&self, p: &Period, exercised: bool, at_zero: f64) -> f64 {
        let c = self.c;
        let wait = (-c.r * (p.end - p.start)).exp() * at_zero;
        if exercised || (c.r > 0.0 && p.ahead == c.dividends.len()) {
            wait.max(c.k - self.escrow(p.ahead, p.start))
        } else {
            wait
        }
    }

    /// The value at the start of a period as a payoff for the one before.
    fn after(&self, h: &[Piece], p: &Period, boundary: Option<&Boundary>) -> Vec<Piece> {
        let c = self.c;
        let (mut lo, mut hi) = (self.lo, self.hi);
        let exercise = c.phi * (self.escrow(p.ahead, p.start) - c.k);
        let value = |y: f64| self.value::<1>(h, p, boundary, y)[0];
        // Beyond the reach of the diffusion a straight line through value and slope does.
        let tail = |y: f64, from: f64, to: f64| {
            let [v, slope] = self.value::<2>(h, p, boundary, y);
            let c1 = slope / y.exp();
            Piece::line(from, to, v - slope, c1)
        };
        let log_b = boundary.map_or(c.phi * f64::INFINITY, Boundary::last);
        let mut pieces = Vec::new();
        if c.phi > 0.0 {
            hi = hi.min(log_b).max(lo);
        } else {
            lo = lo.max(log_b).min(hi);
        }
        pieces.push(if c.phi < 0.0 && log_b > self.lo {
            Piece::line(f64::NEG_INFINITY, lo, exercise, -1.0)
        } else if hi > lo {
            tail(lo, f64::NEG_INFINITY, lo)
        } else {
            Piece::line(f64::NEG_INFINITY, lo, exercise, 1.0)
        });
        if hi > lo {
            self.interpolate(&value, lo, hi, &mut pieces, c.sigma * (p.end - p.start).sqrt());
        }
        pieces.push(if c.phi > 0.0 && log_b < self.hi {
            Piece::line(hi, f64::INFINITY, exercise, 1.0)
        } else if hi > lo {
            tail(hi, hi, f64::INFINITY)
        } else {
            Piece::line(hi, f64::INFINITY, exercise, -1.0)
        });
        pieces
    }

    /// `f` on [lo, hi] as Chebyshev series on pieces, halved until their last coefficients are small.
    fn interpolate(&self, f: &impl Fn(f64) -> f64, lo: f64, hi: f64, pieces: &mut Vec<Piece>, dev: f64) {
        let whole = self.c.sigma * self.c.t.sqrt();
        let count = ((hi - lo) / (2.5 * dev + 0.1 * whole)).ceil().clamp(1.0, 60.0) as usize;
        let step = (hi - lo) / count as f64;
        let ends = |i: usize| if i == count { hi } else { lo + i as f64 * step };
        let mut open: Vec<(f64, f64, u32)> = (0..count).rev().map(|i| (ends(i), ends(i + 1), 0)).collect();
        while let Some((a, b, depth)) = open.pop() {
            let point = |i: usize| (PI * (i as f64 + 0.5) / PIECE as f64).cos();
            let mut v = [0.0; PIECE];
            for (i, v) in v.iter_mut().enumerate() {
                *v = f(0.5 * (a + b) + 0.5 * (b - a) * point(i));
            }
            let mut c = [0.0; PIECE];
            for (k, c) in c.iter_mut().enumerate() {
                let term = |i: usize| v[i] * (PI * (k as f64) * (i as f64 + 0.5) / PIECE as f64).cos();
                *c = (0..PIECE).map(term).sum::<f64>() * if k == 0 { 1.0 } else { 2.0 } / PIECE as f64;
            }
            let tail = c[PIECE - 3..].iter().fold(0.0, |most: f64, c| most.max(c.abs()));
            if tail > self.scheme.tail * (self.c.k + c[0].abs()) && depth < 14 {
                let middle = 0.5 * (a + b);
                open.push((middle, b, depth + 1));
                open.push((a, middle, depth + 1));
            } else {
                pieces.push(Piece { lo: a, hi: b, shape: Shape::Polynomial { from: a, to: b, c } });
            }
        }
    }

    /// Right before the ex-date of dividend `which`: a call can be exercised for X + A − K with the dividend in A.
    /// A put cannot gain by that, for it would pay less than right after.
    fn cross(&self, h: &mut Vec<Piece>, kink: &mut f64, which: usize, u: f64) {
        if self.c.phi < 0.0 {
            return;
        }
        let cash = self.escrow(which, u) - self.c.k;
        *kink = f64::INFINITY;
        let mut out: Vec<Piece> = Vec::new();
        for piece in h.drain(..) {
            let gain = |y: f64| cash + y.exp() - piece.at(y);
            let (a, b) = (piece.lo.max(self.lo - 3.0).min(piece.hi), piece.hi.min(self.hi + 3.0).max(piece.lo));
            // The ends of the stretches on which exercise is better, or is not.
            let mut ends = vec![piece.lo];
            match piece.shape {
                Shape::Line { c0, c1 } => {
                    let zero = (c0 - cash) / (1.0 - c1); // gain = cash − c0 + (1 − c1) X
                    if c1 != 1.0 && zero > 0.0 && zero.ln() > piece.lo && zero.ln() < piece.hi {
                        ends.push(zero.ln());
                    }
                }
                Shape::Polynomial { .. } => {
                    const PARTS: usize = 40;
                    let at = |i: usize| a + (b - a) * i as f64 / PARTS as f64;
                    for i in 0..PARTS {
                        let (mut l, mut r) = (at(i), at(i + 1));
                        let positive = gain(l) > 0.0;
                        if positive == (gain(r) > 0.0) {
                            continue;
                        }
                        loop {
                            let middle = 0.5 * (l + r);
                            if middle <= l || middle >= r || r - l < 1e-15 {
                                break;
                            }
                            *if (gain(middle) > 0.0) == positive { &mut l } else { &mut r } = middle;
                        }
                        ends.push(0.5 * (l + r));
                    }
                }
            }
            ends.push(piece.hi);
            for end in ends.windows(2).filter(|end| end[1] > end[0]) {
                let middle = match (end[0].is_finite(), end[1].is_finite()) {
                    (true, true) => 0.5 * (end[0] + end[1]),
                    (true, false) => end[0] + 1.0,
                    _ => end[1] - 1.0,
                };
                if gain(middle) > 0.0 {
                    *kink = kink.min(end[0]);
                    out.push(Piece::line(end[0], end[1], cash, 1.0));
                } else {
                    out.push(Piece { lo: end[0], hi: end[1], shape: piece.shape.clone() });
                }
            }
        }
        *h = out;
    }
}

/// Derivatives in y of N((b·dev − y)/dev) − N((a·dev − y)/dev) at 0: the mass between, and what moves over its ends.
fn shifts<const N: usize>(a: f64, b: f64, dev: f64) -> [f64; N] {
    let mut out = [0.0; N];
    out[0] = mass(a, b);
    for (z, sign) in [(a, 1.0), (b, -1.0)] {
        if !z.is_finite() {
            continue;
        }
        let mut v = sign * density(z);
        let (mut hermite, mut before) = (1.0, 0.0);
        for (k, out) in out.iter_mut().enumerate().skip(1) {
            v /= dev;
            *out += v * hermite;
            (hermite, before) = (z * hermite - (k as f64 - 1.0) * before, hermite);
        }
    }
    out
}

/// Derivatives in y of N(φ d), where d moves by 1/dev a unit of y.
fn edge<const N: usize>(phi: f64, d: f64, dev: f64) -> [f64; N] {
    let mut out = [0.0; N];
    out[0] = cdf(phi * d);
    if N > 1 {
        let mut v = phi * density(d);
        let (mut hermite, mut before) = (1.0, 0.0);
        for (k, out) in out.iter_mut().enumerate().skip(1) {
            v /= dev;
            *out = v * hermite;
            // Each derivative of the density brings −He.
            (hermite, before) = (-d * hermite - (k as f64 - 1.0) * before, hermite);
        }
    }
    out
}

/// Derivatives of e^y f(y), less the factor e^y, from those of f.
fn tilt<const N: usize>(f: &[f64; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for (k, out) in out.iter_mut().enumerate() {
        let mut binomial = 1.0;
        for (j, f) in f.iter().enumerate().take(k + 1) {
            *out += binomial * f;
            binomial = binomial * (k - j) as f64 / (j + 1) as f64;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(phi: f64, dividends: &[(f64, f64)]) -> Contract {
        Contract { phi, s: 101.0, k: 97.0, t: 0.8, r: 0.05, b: 0.02, sigma: 0.3, dividends: dividends.to_vec() }
    }

    fn value(c: &Contract) -> [f64; 5] {
        solve(c, &Scheme::pair(!c.dividends.is_empty()).1).unwrap().value
    }

    #[test]
    fn a_call_without_yield_is_european() {
        let c = Contract { b: 0.0, ..contract(1.0, &[]) };
        let dev = c.sigma * c.t.sqrt();
        let d1 = ((c.s / c.k).ln() + c.r * c.t) / dev + 0.5 * dev;
        let black = c.s * cdf(d1) - c.k * (-c.r * c.t).exp() * cdf(d1 - dev);
        assert!((value(&c)[0] - black).abs() < 1e-13 * c.k);
    }

    #[test]
    fn calls_are_puts_with_spot_and_strike_and_rate_and_yield_exchanged() {
        for (r, b) in [(0.05, 0.02), (0.02, 0.05), (0.0, 0.03), (-0.01, 0.02), (0.04, 0.04)] {
            let call = Contract { r, b, ..contract(1.0, &[]) };
            let put = Contract { phi: -1.0, s: call.k, k: call.s, r: b, b: r, ..call.clone() };
            let (call, put) = (value(&call)[0], value(&put)[0]);
            assert!((call - put).abs() < 1e-9 * call, "{r} {b}: {call} {put}");
        }
    }

    #[test]
    fn spot_derivatives_are_those_of_the_value() {
        for dividends in [&[][..], &[(0.3, 1.5), (0.7, 1.5)][..]] {
            for phi in [1.0, -1.0] {
                let c = contract(phi, dividends);
                let steps: Vec<f64> = (-4..=4).map(|i| f64::from(i) * 0.4).collect();
                let at: Vec<[f64; 5]> = steps.iter().map(|h| value(&Contract { s: c.s + h, ..c.clone() })).collect();
                let weights = crate::math::difference(&steps, 1);
                for k in 0..4 {
                    let slope: f64 = weights.iter().zip(&at).map(|(w, v)| w * v[k]).sum();
                    let exact = at[4][k + 1];
                    assert!((slope - exact).abs() < 1e-7 * exact.abs(), "{phi} {dividends:?} {k}: {slope} {exact}");
                }
            }
        }
    }

    #[test]
    fn a_split_dividend_is_the_dividend() {
        for phi in [1.0, -1.0] {
            let whole = value(&contract(phi, &[(0.3, 2.0)]))[0];
            let parts = value(&contract(phi, &[(0.3, 1.0), (0.3 + 1e-9, 1.0)]))[0];
            assert!((whole - parts).abs() < 1e-7, "{phi}: {whole} {parts}");
        }
    }

    #[test]
    fn an_american_option_is_worth_its_payoff_where_exercise_is_optimal() {
        let put = Contract { s: 30.0, ..contract(-1.0, &[]) };
        let found = solve(&put, &Scheme::pair(false).1).unwrap();
        assert!(found.exercise_now && found.value[0] == 67.0 && found.boundary > 30.0);
    }
}
