//! The exercise premium of one block of strikes as it was at an expansion point, carried from there: by Taylor's series
//! from one expansion point, or between two in spot by Hermite's polynomials. Never: a table, a strike's quote.

use super::settings::EXPANSION;
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks};
use kernel::lanes::{BLOCK, Block, Lanes};

/// Spot, time and rates at which expansions were taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExpansionPoint {
    /// Spot, currency per share.
    pub(super) s: f64,
    /// Years to settlement.
    pub(super) t: f64,
    /// Rate and borrow rate.
    pub(super) r: f64,
    pub(super) b: f64,
    /// Volatility by lane.
    pub(super) sigma: [f32; BLOCK],
}

impl ExpansionPoint {
    pub(super) fn new(s: f64, terms: &Terms, sigma: [f32; BLOCK]) -> Self {
        let Terms { t, r, b, .. } = *terms;
        Self { s, t, r, b, sigma }
    }

    /// Distance of `terms` from the point.
    pub(super) fn elapsed(&self, terms: &Terms) -> Elapsed {
        if !terms.divs.is_empty() || self.t > EXPANSION.scaled {
            return self.unscaled(terms);
        }
        let part = terms.t / self.t;
        Elapsed { part, root: part.sqrt(), dt: 0.0, along_rates: self.t - terms.t, ..self.unscaled(terms) }
    }

    /// Distance of `terms` from the point, without counting time as a move of volatility.
    pub(super) fn unscaled(&self, terms: &Terms) -> Elapsed {
        let (dt, dr, db) = (self.t - terms.t, terms.r - self.r, terms.b - self.b);
        Elapsed { part: 1.0, root: 1.0, dt, along_rates: 0.0, dr, db }
    }
}

/// The time and the rates since an expansion point. Without dividends a value depends on σ√t, rt and bt alone: in the
/// last days time is a move of volatility, which expansions follow further and to a higher order, and of the rates to
/// first order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elapsed {
    /// The part of the time to expiry that is left, where time is a move of volatility, otherwise 1; and its root.
    pub(super) part: f64,
    pub(super) root: f64,
    /// Years, 0 where time is a move of volatility.
    dt: f64,
    /// Years where time is a move of volatility, otherwise 0: rt and bt fall with it.
    along_rates: f64,
    /// Moves of rate and borrow rate.
    pub(super) dr: f64,
    pub(super) db: f64,
}

impl Elapsed {
    /// True if time is a move of volatility.
    pub(super) fn is_scaled(&self) -> bool {
        self.part < 1.0
    }
}

/// Single precision, and what is left of it.
pub(super) fn rounded(x: Block) -> [f32; BLOCK] {
    let mut wide = [0.0; BLOCK];
    x.store(&mut wide);
    wide.map(|v| v as f32)
}

/// Back from single precision.
#[inline(always)]
pub(super) fn load(from: &[f32; BLOCK]) -> Block {
    Block::load(&from.map(f64::from))
}

/// The premium and its derivatives at an expansion point, one lane a strike, in single precision: a premium is a small
/// part of a value, and 6e-8 of it is far below the error of the tables.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    pub(super) at: ExpansionPoint,
    numbers: [[f32; BLOCK]; Greek::DERIVATIVES.len()],
}

impl Expansion {
    /// American less European Greeks at an expansion point.
    pub(super) fn new(at: ExpansionPoint, a: &Greeks<Block>, e: &Greeks<Block>) -> Self {
        let difference = |greek: Greek| a.get(greek) - e.get(greek);
        let numbers = core::array::from_fn(|i| rounded(difference(Greek::DERIVATIVES[i])));
        Self { at, numbers }
    }

    /// The premium at the expansion point's spot, after moves of time, rates and volatility. Third-order Greeks stay,
    /// the others are carried by the next ones.
    ///
    /// # Units    raw
    /// # Source   Taylor's series, to third order in the volatility, second with time, first in the rates
    #[inline(always)]
    fn carried(&self, by: &Elapsed, [dr, db]: [f64; 2], dv: Block) -> Greeks<Block> {
        let c = |v: f64| Block::splat(v);
        let at = |greek: Greek| load(&self.numbers[greek as usize]);
        let (dt, dr, db) = (c(by.dt), c(dr), c(db));
        let (half, sixth, zero) = (c(0.5), c(1.0 / 6.0), c(0.0));
        // the derivative along rt and bt: that in time, less the part of σ√t
        let (along, fall) = (c(by.along_rates), load(&self.at.sigma) * (0.5 / self.at.t));
        let (vega, volga, ultima) = (at(Greek::Vega), at(Greek::Volga), at(Greek::Ultima));
        let (vanna, zomma, veta, vera) = (at(Greek::Vanna), at(Greek::Zomma), at(Greek::Veta), at(Greek::Vera));
        let (theta, charm, color, rho, epsilon) =
            (at(Greek::Theta), at(Greek::Charm), at(Greek::Color), at(Greek::Rho), at(Greek::Epsilon));
        let vega_along = along * (fall.mul_add(volga, veta) + vega * (0.5 / self.at.t));
        Greeks {
            value: at(Greek::Value)
                + dv * (vega + dv * (half * volga + dv * sixth * ultima))
                + dt * (theta + dv * veta)
                + along * fall.mul_add(vega, theta)
                + dv * vega_along
                + dr * rho
                + db * epsilon,
            delta: at(Greek::Delta) + dv * vanna + dt * charm + along * fall.mul_add(vanna, charm),
            gamma: at(Greek::Gamma) + dv * zomma + dt * color + along * fall.mul_add(zomma, color),
            speed: at(Greek::Speed),
            vega: vega + dv * (volga + half * dv * ultima) + dt * veta + vega_along + dr * vera,
            volga: volga + dv * ultima,
            ultima,
            vanna,
            zomma,
            theta: theta + dv * veta,
            charm,
            color,
            veta,
            rho: rho + dv * vera,
            vera,
            epsilon,
            lambda: zero,
            dual_delta: at(Greek::DualDelta),
            dual_gamma: at(Greek::DualGamma),
            d1: zero,
            d2: zero,
        }
    }

    /// The premium at spot `s`, by Taylor's series.
    #[inline(always)]
    pub(super) fn read(&self, s: f64, terms: &Terms, sigma: Block) -> Greeks<Block> {
        let by = self.at.elapsed(terms);
        let at = self.carried(&by, [by.dr, by.db], self.moved(&by, sigma));
        let c = |v: f64| Block::splat(v);
        let (ds, half, sixth) = (c(s - self.at.s), c(0.5), c(1.0 / 6.0));
        Greeks {
            value: at.value + ds * (at.delta + ds * (half * at.gamma + ds * sixth * at.speed)),
            delta: at.delta + ds * (at.gamma + half * ds * at.speed),
            gamma: at.gamma + ds * at.speed,
            vega: at.vega + ds * (at.vanna + half * ds * at.zomma),
            vanna: at.vanna + ds * at.zomma,
            theta: at.theta + ds * (at.charm + half * ds * at.color),
            charm: at.charm + ds * at.color,
            ..at
        }
        .after_elapsed(&by)
    }

    /// Distance of `sigma` from the volatility of the point, over the remaining time.
    #[inline(always)]
    fn moved(&self, by: &Elapsed, sigma: Block) -> Block {
        sigma * by.root - load(&self.at.sigma)
    }
}

/// Greeks in terms of σ√t, rt and bt at another time.
trait AfterElapsed {
    /// The derivatives in terms of volatility, rates and time, after `by` has elapsed.
    fn after_elapsed(self, by: &Elapsed) -> Self;
}

impl AfterElapsed for Greeks<Block> {
    #[inline(always)]
    fn after_elapsed(self, by: &Elapsed) -> Self {
        let Elapsed { part, root, .. } = *by;
        let (per_time, cube) = (1.0 / part, part * root);
        Greeks {
            vega: self.vega * root,
            volga: self.volga * part,
            ultima: self.ultima * cube,
            vanna: self.vanna * root,
            zomma: self.zomma * root,
            theta: self.theta * per_time,
            charm: self.charm * per_time,
            color: self.color * per_time,
            veta: self.veta * (root * per_time),
            rho: self.rho * part,
            vera: self.vera * cube,
            epsilon: self.epsilon * part,
            ..self
        }
    }
}

/// The premium at spot `s` from expansions at a lower and at a higher one, without a jump at either.
///
/// # Units    raw
/// # Domain   `s` between the two, or half their distance beyond
/// # Accuracy price 1e-4, vega and theta 3e-3 at 90 %: engine/tests/kernel/remembered.rs
/// # Source   Hermite interpolation in the spot, Taylor's series in time, volatility and rates
#[inline(always)]
pub(super) fn between(low: &Expansion, high: &Expansion, s: f64, terms: &Terms, sigma: Block) -> Greeks<Block> {
    let h = high.at.s - low.at.s;
    let elapsed = [low.at.elapsed(terms), high.at.elapsed(terms)];
    let apart = [elapsed[1].dr - elapsed[0].dr, elapsed[1].db - elapsed[0].db];
    let moved = [low.moved(&elapsed[0], sigma), high.moved(&elapsed[1], sigma)];
    let (mut a, mut b) = (low.carried(&elapsed[0], [0.0; 2], moved[0]), high.carried(&elapsed[1], apart, moved[1]));
    let w = Weights::new(h, (s - low.at.s) / h);
    // derivatives that no jet has, so that what is carried at either end is one function of the spot
    let by_s = |a: Block, b: Block| (b - a) * (1.0 / h);
    let (vanna_sigma, vanna_t) = (by_s(a.volga, b.volga), by_s(a.veta, b.veta));
    for ((end, by), dv) in [&mut a, &mut b].into_iter().zip(&elapsed).zip(moved) {
        let dt = Block::splat(by.dt);
        end.delta += dv * (Block::splat(0.5) * dv * vanna_sigma + dt * vanna_t);
        end.vanna += dv * vanna_sigma + dt * vanna_t;
        end.charm += dv * vanna_t;
        *end = end.after_elapsed(by);
    }
    let (dr, db) = (Block::splat(elapsed[0].dr), Block::splat(elapsed[0].db));
    // a premium follows the borrow rate mostly through the forward, which makes P_bb about −t·S·P_Sb
    let epsilon_s = by_s(a.epsilon, b.epsilon);
    let bend_b = epsilon_s * (-0.5 * terms.t * s) * db;
    let (rho, epsilon, vera) = (w.line(a.rho, b.rho), w.line(a.epsilon, b.epsilon), w.line(a.vera, b.vera));
    Greeks {
        value: w.quintic([a.value, a.delta, a.gamma], [b.value, b.delta, b.gamma]) + dr * rho + db * (epsilon + bend_b),
        delta: w.quintic([a.delta, a.gamma, a.speed], [b.delta, b.gamma, b.speed])
            + dr * by_s(a.rho, b.rho)
            + db * epsilon_s,
        gamma: w.cubic([a.gamma, a.speed], [b.gamma, b.speed]),
        speed: w.slope([a.gamma, a.speed], [b.gamma, b.speed]),
        vega: w.quintic([a.vega, a.vanna, a.zomma], [b.vega, b.vanna, b.zomma]) + dr * vera,
        volga: w.line(a.volga, b.volga),
        ultima: w.line(a.ultima, b.ultima),
        vanna: w.cubic([a.vanna, a.zomma], [b.vanna, b.zomma]),
        zomma: w.slope([a.vanna, a.zomma], [b.vanna, b.zomma]),
        theta: w.quintic([a.theta, a.charm, a.color], [b.theta, b.charm, b.color]),
        charm: w.cubic([a.charm, a.color], [b.charm, b.color]),
        color: w.slope([a.charm, a.color], [b.charm, b.color]),
        veta: w.line(a.veta, b.veta),
        rho,
        vera,
        epsilon,
        lambda: a.lambda,
        dual_delta: w.line(a.dual_delta, b.dual_delta),
        dual_gamma: w.line(a.dual_gamma, b.dual_gamma),
        d1: a.d1,
        d2: a.d2,
    }
}

/// Adds a premium to European Greeks. Lambda is left to the caller.
#[inline(always)]
pub(super) fn add(premium: &Greeks<Block>, to: &mut Greeks<Block>) {
    *to = to.zip(premium, |to, premium| to + premium);
}

/// Hermite's polynomials at one place between two ends, for functions known there with their derivatives.
struct Weights {
    /// Weights of value, first and second derivative at either end.
    quintic: [[f64; 3]; 2],
    /// Weights of value and first derivative at either end, and of the slope of that polynomial.
    cubic: [[f64; 2]; 2],
    slope: [[f64; 2]; 2],
    line: [f64; 2],
}

impl Weights {
    /// At the part `u` of an interval of length `h`.
    fn new(h: f64, u: f64) -> Self {
        let (u2, u3) = (u * u, u * u * u);
        let rise = u3 * (10.0 + u * (6.0 * u - 15.0));
        let left = u + u3 * (-6.0 + u * (8.0 - 3.0 * u));
        let right = u3 * (-4.0 + u * (7.0 - 3.0 * u));
        let bends = [0.5 * u2 - u3 * (1.5 + u * (0.5 * u - 1.5)), u3 * (0.5 + u * (0.5 * u - 1.0))];
        let smooth = u2 * (3.0 - 2.0 * u);
        let fall = 6.0 * u * (u - 1.0) / h;
        Self {
            quintic: [[1.0 - rise, left * h, bends[0] * h * h], [rise, right * h, bends[1] * h * h]],
            cubic: [[1.0 - smooth, (u - 2.0 * u2 + u3) * h], [smooth, (u3 - u2) * h]],
            slope: [[fall, 1.0 - 4.0 * u + 3.0 * u2], [-fall, 3.0 * u2 - 2.0 * u]],
            line: [1.0 - u, u],
        }
    }

    #[inline(always)]
    fn quintic(&self, a: [Block; 3], b: [Block; 3]) -> Block {
        let [wa, wb] = self.quintic;
        sum(a, wa) + sum(b, wb)
    }

    #[inline(always)]
    fn cubic(&self, a: [Block; 2], b: [Block; 2]) -> Block {
        let [wa, wb] = self.cubic;
        sum(a, wa) + sum(b, wb)
    }

    #[inline(always)]
    fn slope(&self, a: [Block; 2], b: [Block; 2]) -> Block {
        let [wa, wb] = self.slope;
        sum(a, wa) + sum(b, wb)
    }

    #[inline(always)]
    fn line(&self, a: Block, b: Block) -> Block {
        a * self.line[0] + b * self.line[1]
    }
}

#[inline(always)]
fn sum<const M: usize>(values: [Block; M], weights: [f64; M]) -> Block {
    let mut sum = values[0] * weights[0];
    for i in 1..M {
        sum = values[i].mul_add(Block::splat(weights[i]), sum);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_read_exactly() {
        let f = |x: f64| [x.powi(5) - 2.0 * x.powi(3), 5.0 * x.powi(4) - 6.0 * x * x, 20.0 * x.powi(3) - 12.0 * x];
        let g = |x: f64| [x.powi(3) - x, 3.0 * x * x - 1.0];
        let (low, h) = (0.7, 0.4);
        for u in [-0.4, 0.0, 0.3, 1.0, 1.4] {
            let (w, x) = (Weights::new(h, u), low + u * h);
            let ends = [f(low), f(low + h)].map(|d| d.map(Block::splat));
            assert!((w.quintic(ends[0], ends[1]).lane(0) - f(x)[0]).abs() < 1e-13, "{u}");
            let ends = [g(low), g(low + h)].map(|d| d.map(Block::splat));
            assert!((w.cubic(ends[0], ends[1]).lane(0) - g(x)[0]).abs() < 1e-13, "{u}");
            assert!((w.slope(ends[0], ends[1]).lane(0) - g(x)[1]).abs() < 1e-12, "{u}");
            assert!((w.line(Block::splat(1.0), Block::splat(3.0)).lane(0) - (1.0 + 2.0 * u)).abs() < 1e-14, "{u}");
        }
    }
}
