//! Every value of a contract with an estimate of its error.
//!
//! Spot derivatives come out of the solver, time derivatives from the pricing equation. Derivatives in volatility,
//! rates and strike are central differences of high order, at steps that are small beside what the value varies over,
//! but large beside rounding; one-sided where the other side of a zero rate is another kind of problem. Without
//! dividends strike derivatives follow from those in the spot, since the value is homogeneous in spot and strike.
//!
//! An error is the sum of what two discretisations differ by, what two difference formulas differ by, and the noise of
//! the solver, seen in the highest difference of its values, as far as the formula magnifies it.

use crate::math::difference;
use crate::solver::{Contract, Scheme, Solved, Unsupported, solve};

/// The names, in the order of the files.
pub const NAMES: [&str; 19] = [
    "price",
    "delta",
    "gamma",
    "speed",
    "vega",
    "volga",
    "ultima",
    "vanna",
    "zomma",
    "theta",
    "charm",
    "color",
    "veta",
    "rho",
    "vera",
    "epsilon",
    "lambda",
    "dual_delta",
    "dual_gamma",
];

/// Names of the values that are computed without finite differences, in the order of the files.
pub const SPOT_NAMES: [&str; 8] = ["price", "delta", "gamma", "speed", "theta", "charm", "color", "lambda"];

/// A value and its absolute error, in published units; NaN where there is none.
pub type Estimate = (f64, f64);

/// Every value of a contract.
#[derive(Clone, Debug)]
pub struct Greeks {
    pub exercise_now: bool,
    pub boundary: f64,
    values: Vec<(&'static str, Estimate)>,
}

impl Greeks {
    /// The value of a name, NaN where there is none.
    pub fn get(&self, name: &str) -> Estimate {
        self.values.iter().find(|x| x.0 == name).map_or((f64::NAN, f64::NAN), |x| x.1)
    }
}

/// Values at steps from the contract, for differences.
struct Line {
    steps: Vec<f64>,
    solved: Vec<Solved>,
}

impl Line {
    /// Solves at `change(contract, step)` for each step; `centre` serves step 0.
    fn new(
        c: &Contract,
        scheme: &Scheme,
        centre: &Solved,
        steps: Vec<f64>,
        change: impl Fn(&mut Contract, f64),
    ) -> Option<Self> {
        let mut solved = Vec::new();
        for &step in &steps {
            solved.push(if step == 0.0 {
                centre.clone()
            } else {
                let mut moved = c.clone();
                change(&mut moved, step);
                solve(&moved, scheme).ok().filter(|x| !x.exercise_now)?
            });
        }
        Some(Self { steps, solved })
    }

    /// The derivative of order `order` of the spot derivative `which`: by all points, and by all but the outermost.
    /// The error is their difference and `noise` through the formula.
    fn derivative(&self, which: usize, order: usize, noise: f64) -> Estimate {
        let values: Vec<f64> = self.solved.iter().map(|x| x.value[which]).collect();
        let all = difference(&self.steps, order);
        let n = values.len();
        let inner = if self.steps[0] < 0.0 { 1..n - 1 } else { 0..n - 1 };
        let fewer = difference(&self.steps[inner.clone()], order);
        let sum = |w: &[f64], v: &[f64]| w.iter().zip(v).map(|(w, v)| w * v).sum::<f64>();
        let value = sum(&all, &values);
        let magnified = all.iter().map(|w| w * w).sum::<f64>().sqrt() * noise;
        (value, (value - sum(&fewer, &values[inner])).abs() + 2.0 * magnified)
    }

    /// Rounding in the spot derivative `which`: the greatest of the highest differences, undone of their weights.
    fn noise(&self, which: usize) -> f64 {
        let mut v: Vec<f64> = self.solved.iter().map(|x| x.value[which]).collect();
        let highest = v.len() - 1;
        let (mut worst, mut squares): (f64, f64) = (0.0, 1.0);
        for order in 1..=highest {
            v = v.windows(2).map(|pair| pair[1] - pair[0]).collect();
            // The squares of the binomial coefficients of an order sum to the middle one of twice it.
            let order = order as f64;
            squares *= 2.0 * (2.0 * order - 1.0) / order;
            if order as usize + 1 >= highest {
                worst = v.iter().fold(worst, |worst, d| worst.max(d.abs() / squares.sqrt()));
            }
        }
        worst
    }
}

fn central(reach: i32, step: f64) -> Vec<f64> {
    (-reach..=reach).map(|i| f64::from(i) * step).collect()
}

/// Price, delta and gamma alone, with their errors.
pub fn core(c: &Contract) -> Result<(Solved, [f64; 5]), Unsupported> {
    let (working, fine) = Scheme::pair(!c.dividends.is_empty());
    let (rough, solved) = (solve(c, &working)?, solve(c, &fine)?);
    if solved.exercise_now {
        return Ok((solved, [0.0; 5]));
    }
    Ok((solved.clone(), errors(c, &rough, &solved)))
}

/// How the value varies in the spot: one standard deviation until the first event.
fn spot_scale(c: &Contract) -> (f64, f64, f64) {
    let g = c.r - c.b;
    let escrow: f64 = c.dividends.iter().map(|&(t, d)| d * (-g * t).exp()).sum();
    let first = c.dividends.first().map_or(c.t, |d| d.0);
    (c.s - escrow, c.sigma * first.sqrt(), c.sigma * c.t.sqrt())
}

/// Errors of value and spot derivatives.
fn errors(c: &Contract, rough: &Solved, solved: &Solved) -> [f64; 5] {
    let (x, near, _) = spot_scale(c);
    let mut out = [0.0; 5];
    for (k, out) in out.iter_mut().enumerate() {
        // Sums of some hundred rounded terms of the size of the strike, differentiated over the scale of the kernel.
        let rounding = 1e-14 * c.k / (x * near).powi(k as i32);
        *out = (solved.value[k] - rough.value[k]).abs() + rounding;
    }
    out
}

/// The values of the solver that need no differences, and their solution.
struct Core {
    rough: Solved,
    solved: Solved,
    /// Errors of value and spot derivatives.
    e: [f64; 5],
    found: Greeks,
}

/// Value and derivatives in spot and time; of a contract exercised now every value.
pub fn spot(c: &Contract) -> Result<Greeks, Unsupported> {
    Ok(by_equation(c)?.found)
}

/// A combination of value and spot derivatives, with the error of each.
fn combine(d: &[f64; 5], e: &[f64; 5], weights: [f64; 5]) -> Estimate {
    let value = (0..5).map(|k| weights[k] * d[k]).sum();
    (value, (0..5).map(|k| weights[k].abs() * e[k]).sum())
}

/// Spot derivatives from the solver, those in time from the pricing equation.
fn by_equation(c: &Contract) -> Result<Core, Unsupported> {
    let (working, fine) = Scheme::pair(!c.dividends.is_empty());
    let (rough, solved) = (solve(c, &working)?, solve(c, &fine)?);
    let mut values: Vec<(&'static str, Estimate)> = Vec::new();
    let d = solved.value;
    if solved.exercise_now {
        for name in NAMES {
            let value = match name {
                "price" => d[0],
                "delta" => c.phi,
                "dual_delta" => -c.phi,
                "lambda" => c.phi * c.s / d[0],
                _ => 0.0,
            };
            values.push((name, (value, 0.0)));
        }
        let found = Greeks { exercise_now: true, boundary: solved.boundary, values };
        return Ok(Core { rough, solved, e: [0.0; 5], found });
    }
    let e = errors(c, &rough, &solved);
    let (x, _, _) = spot_scale(c);
    let (s, r, b, sigma) = (c.s, c.r, c.b, c.sigma);
    let (gs, s2) = ((r - b) * s, sigma * sigma);
    for (k, name) in ["price", "delta", "gamma", "speed"].into_iter().enumerate() {
        values.push((name, (d[k], e[k])));
    }
    let half = 0.5 * s2 * x * x;
    let (v, error) = combine(&d, &e, [r, -gs, -half, 0.0, 0.0]);
    values.push(("theta", (v / 365.0, error / 365.0)));
    values.push(("charm", combine(&d, &e, [0.0, b, -gs - s2 * x, -half, 0.0])));
    values.push(("color", combine(&d, &e, [0.0, 0.0, 2.0 * b - r - s2, -gs - 2.0 * s2 * x, -half])));
    let relative = e[0] / d[0].abs() + e[1] / d[1].abs().max(f64::MIN_POSITIVE);
    let lambda = d[1] * s / d[0];
    values.push(("lambda", (lambda, lambda.abs() * relative)));
    let found = Greeks { exercise_now: false, boundary: solved.boundary, values };
    Ok(Core { rough, solved, e, found })
}

/// Every value of a contract.
pub fn greeks(c: &Contract) -> Result<Greeks, Unsupported> {
    let (working, fine) = Scheme::pair(!c.dividends.is_empty());
    let Core { rough, solved, e, found } = by_equation(c)?;
    if solved.exercise_now {
        return Ok(found);
    }
    let (d, mut values) = (solved.value, found.values);
    let (x, near, dev) = spot_scale(c);
    let (s, r, b, sigma) = (c.s, c.r, c.b, c.sigma);
    let (gs, half) = ((r - b) * s, 0.5 * sigma * sigma * x * x);
    let per_cent = |(v, e): Estimate| (v / 100.0, e / 100.0);

    // Volatility. Next to the boundary the contract may be exercised at a few per cent less of it, and right before an
    // ex-date the value varies faster: smaller steps then, and for each Greek the one that leaves the least error.
    let change = |c: &mut Contract, step: f64| c.sigma += step;
    let rounding = 2e-16 * d[0].abs().max(0.01 * c.k);
    let mut sigma_step = None;
    let mut best: [Estimate; 5] = [(f64::NAN, f64::INFINITY); 5];
    for step in [0.02, 0.01, 0.004].map(|part| part * sigma) {
        let Some(line) = Line::new(c, &working, &rough, central(5, step), change) else { continue };
        let Some(check) = Line::new(c, &fine, &solved, central(1, 2.0 * step), change) else { continue };
        sigma_step = sigma_step.or(Some(step));
        // The same coarse difference by both schemes.
        let ends = |which: usize, order: usize| {
            let coarse = [line.solved[3].value[which], line.solved[5].value[which], line.solved[7].value[which]];
            let fine = [check.solved[0].value[which], check.solved[1].value[which], check.solved[2].value[which]];
            let w = difference(&check.steps, order);
            (0..3).map(|i| w[i] * (fine[i] - coarse[i])).sum::<f64>().abs()
        };
        for (best, (which, order)) in best.iter_mut().zip([(0, 1), (0, 2), (0, 3), (1, 1), (2, 1)]) {
            let noise = line.noise(which).max(rounding / (x * near).powi(which as i32));
            let (value, error) = line.derivative(which, order, noise);
            let error = error + ends(which, order.min(2)) / if order == 3 { 3.0 * sigma } else { 1.0 };
            if error < best.1 {
                *best = (value, error);
            }
        }
        if best.iter().all(|(value, error)| *error < 1e-6 * value.abs()) {
            break;
        }
    }
    if sigma_step.is_some() {
        let [vega, volga, ultima, vanna, zomma] = best;
        values.push(("vega", per_cent(vega)));
        values.push(("volga", volga));
        values.push(("ultima", ultima));
        values.push(("vanna", vanna));
        values.push(("zomma", zomma));
        let veta = r * vega.0 - gs * vanna.0 - sigma * x * x * d[2] - half * zomma.0;
        let error = r.abs() * vega.1 + gs.abs() * vanna.1 + sigma * x * x * e[2] + half * zomma.1;
        values.push(("veta", (veta, error)));
    }

    // Rates. The value varies with them over a standard deviation of the spot, but also over their own size, which
    // says where exercise begins to pay. Where b or r is 0 and its sign decides whether exercise between ex-dates pays,
    // one side is taken: the one where the problem is of the same kind, or has no such exercise at all.
    let sizes = [r, b].into_iter().filter(|&x| x != 0.0).fold(f64::INFINITY, |least, x| least.min(x.abs()));
    let rate_step = (2e-4 * (sigma / c.t.sqrt()).min(1.0)).min(0.05 * near / c.t).min(sizes / 120.0);
    let rate = |value: f64, one_side: Option<f64>| -> Vec<f64> {
        match one_side.filter(|_| value == 0.0) {
            Some(side) => (0..=6).map(|i| f64::from(i) * side * rate_step).collect(),
            None => central(4, rate_step),
        }
    };
    let put = c.phi < 0.0;
    let r_side = (put || b == 0.0).then_some(if put { -1.0 } else { 1.0 });
    let b_side = match (put, c.dividends.is_empty()) {
        (true, true) => None,
        (true, false) => Some(1.0),
        (false, _) => Some(if r >= 0.0 { -1.0 } else { 1.0 }),
    };
    let r_steps = rate(r, r_side);
    let b_steps = rate(b, b_side);
    // Their steps are so short that the highest difference is all rounding: the noise of every other value as well.
    let mut noise = rounding;
    let sigma_step = sigma_step.unwrap_or(0.02 * sigma);
    // A discretisation error moves with a rate over a standard deviation of the spot.
    let drift = e[0] * c.t / dev;
    if let Some(line) = Line::new(c, &fine, &solved, r_steps.clone(), |c, step| c.r += step) {
        let (v, e) = line.derivative(0, 1, line.noise(0).max(rounding));
        noise = noise.max(line.noise(0));
        values.push(("rho", per_cent((v, e + drift))));
    }
    if let Some(line) = Line::new(c, &fine, &solved, b_steps, |c, step| c.b += step) {
        let (v, e) = line.derivative(0, 1, line.noise(0).max(rounding));
        noise = noise.max(line.noise(0));
        values.push(("epsilon", per_cent((v, e + drift))));
    }
    if let Some((v, e)) =
        [1.0, 0.5, 0.25].into_iter().find_map(|part| vera(c, &fine, &r_steps, part * sigma_step, noise))
    {
        values.push(("vera", (v, e + drift / sigma)));
    }

    // Strike.
    if c.dividends.is_empty() {
        let (v, error) = combine(&d, &e, [1.0 / c.k, -s / c.k, 0.0, 0.0, 0.0]);
        values.push(("dual_delta", (v, error)));
        values.push(("dual_gamma", combine(&d, &e, [0.0, 0.0, s * s / (c.k * c.k), 0.0, 0.0])));
    } else {
        let step = c.k * (0.08 * near).min(0.02);
        if let Some(line) = Line::new(c, &working, &rough, central(4, step), |c, step| c.k += step) {
            let ratio = x / c.k;
            let (first, second) = (line.derivative(0, 1, noise), line.derivative(0, 2, noise));
            values.push(("dual_delta", (first.0, first.1 + e[1] * ratio)));
            values.push(("dual_gamma", (second.0, second.1 + e[2] * ratio * ratio)));
        }
    }
    Ok(Greeks { values, ..found })
}

/// ∂²V/∂σ∂r: the mixed difference at growing steps, extrapolated (it is even in their size); one-sided in r, a
/// difference in r of differences in σ.
fn vera(c: &Contract, scheme: &Scheme, r_steps: &[f64], sigma_step: f64, noise: f64) -> Option<Estimate> {
    let price = |sigma: f64, r: f64| {
        let moved = Contract { sigma: c.sigma + sigma, r: c.r + r, ..c.clone() };
        solve(&moved, scheme).ok().filter(|x| !x.exercise_now).map(|x| x.value[0])
    };
    if r_steps[0] == 0.0 {
        let steps = [-2.0, -1.0, 1.0, 2.0].map(|i| i * sigma_step);
        let (w, narrow) = (difference(&steps, 1), difference(&steps[1..3], 1));
        let (mut vegas, mut rough) = (Vec::new(), Vec::new());
        for &r in r_steps {
            let v: Option<Vec<f64>> = steps.iter().map(|&x| price(x, r)).collect();
            let v = v?;
            vegas.push((0..4).map(|i| w[i] * v[i]).sum::<f64>());
            rough.push((0..2).map(|i| narrow[i] * v[i + 1]).sum::<f64>());
        }
        let n = r_steps.len();
        let sum = |w: Vec<f64>, v: &[f64]| w.iter().zip(v).map(|(w, v)| w * v).sum::<f64>();
        let value = sum(difference(r_steps, 1), &vegas);
        let fewer = sum(difference(&r_steps[..n - 1], 1), &vegas[..n - 1]);
        // The second-order formula misses by the square of the step more than the fourth-order one.
        let order = 1e-2 * (value - sum(difference(r_steps, 1), &rough)).abs();
        let magnified = noise / sigma_step * difference(r_steps, 1).iter().map(|w| w * w).sum::<f64>().sqrt();
        return Some((value, (value - fewer).abs() + order + 2.0 * magnified));
    }
    let r_step = r_steps[r_steps.len() - 1] / 4.0;
    let mut mixed = [0.0; 4];
    for (m, mixed) in mixed.iter_mut().enumerate() {
        let (u, v) = ((m + 1) as f64 * sigma_step, (m + 1) as f64 * r_step);
        *mixed = (price(u, v)? - price(u, -v)? - price(-u, v)? + price(-u, -v)?) / (4.0 * u * v);
    }
    let sixth = 1.5 * mixed[0] - 0.6 * mixed[1] + 0.1 * mixed[2];
    let eighth = 1.6 * mixed[0] - 0.8 * mixed[1] + 8.0 / 35.0 * mixed[2] - 1.0 / 35.0 * mixed[3];
    // Rounding differs more along the rates than along volatility, where it was measured.
    Some((eighth, (eighth - sixth).abs() + 10.0 * noise / (sigma_step * r_step)))
}
