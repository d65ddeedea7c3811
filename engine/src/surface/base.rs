//! The three-parameter shape under every curve: one slice of SSVI, free of butterfly arbitrage by its parameters.
//!
//! With x = k/√θ: w(x) = θ·q(x), q = ½(1 + ρψx + √(ψ²x² + 2ρψx + 1)). θ is the variance at the money, ψ = φ√θ and ρ
//! give the smile in standard deviations, so they travel from expiry to expiry.
//! Source: Gatheral and Jacquier (2014), Arbitrage-free SVI volatility surfaces.

use super::settings::BASE;
use kernel::elementary::{exp, ln};
use kernel::lanes::{Block, Lanes, Pack};

/// A slice of SSVI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Base {
    /// Years.
    t: f64,
    /// Volatility at the money.
    atm: f64,
    /// σ√t at the money.
    sd: f64,
    /// Skew, −1 to 1.
    rho: f64,
    /// Smile in standard deviations.
    psi: f64,
}

/// Data of the base fit, point by point; the columns are padded to whole blocks with points without weight.
#[derive(Clone, Debug, Default)]
pub struct Points {
    len: usize,
    k: Vec<f64>,
    ln_vol: Vec<f64>,
    precision: Vec<f64>,
}

/// Prior of a base, with its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Expected base.
    pub base: Base,
    /// Standard deviation of ln σ at the money, of atanh ρ, of ln ψ.
    pub sd: [f64; 3],
}

impl Points {
    /// Replaces the points by (ln(K/F), ln σ, 1/variance of ln σ).
    pub fn fill(&mut self, points: impl Iterator<Item = (f64, f64, f64)>) {
        self.k.clear();
        self.ln_vol.clear();
        self.precision.clear();
        for (k, ln_vol, precision) in points {
            self.k.push(k);
            self.ln_vol.push(ln_vol);
            self.precision.push(precision);
        }
        self.len = self.k.len();
        // a point of precision zero at the money changes no sum
        let padded = self.len.next_multiple_of(Block::N);
        for column in [&mut self.k, &mut self.ln_vol, &mut self.precision] {
            column.resize(padded, 0.0);
        }
    }

    /// Number of points with a weight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Base {
    fn of(t: f64, atm: f64, rho: f64, psi: f64) -> Self {
        Self { t, atm, sd: atm * t.sqrt(), rho, psi }
    }

    /// No smile.
    #[must_use]
    pub fn flat(vol: f64, t: f64) -> Self {
        Self::of(t, vol, 0.0, BASE.psi_least)
    }

    /// A usual equity smile at this volatility.
    #[must_use]
    pub fn usual(vol: f64, t: f64) -> Self {
        Self::of(t, vol, BASE.usual_rho, BASE.usual_psi).bounded()
    }

    /// Moves the base to another level and time, with the same smile in standard deviations.
    #[must_use]
    pub fn moved(self, vol: f64, t: f64) -> Self {
        Self::of(t, vol.clamp(BASE.vol_least, BASE.vol_most), self.rho, self.psi).bounded()
    }

    /// Volatility at the money.
    #[must_use]
    pub fn atm(&self) -> f64 {
        self.atm
    }

    /// σ√t at the money: the unit of x.
    #[must_use]
    pub fn sd(&self) -> f64 {
        self.sd
    }

    /// q(x) = w/θ at x standard deviations.
    #[inline(always)]
    #[must_use]
    pub fn ratio<L: Lanes>(&self, x: L) -> L {
        self.ratio_and_root(x).0
    }

    #[inline(always)]
    fn ratio_and_root<L: Lanes>(&self, x: L) -> (L, L) {
        let (px, rho, one) = (x * self.psi, L::splat(self.rho), L::splat(1.0));
        let root = px.mul_add(px + rho + rho, one).sqrt();
        (L::splat(0.5) * (rho.mul_add(px, one) + root), root)
    }

    /// q and the first two derivatives of ln q in x.
    #[inline(always)]
    #[must_use]
    pub fn ratio_jet<L: Lanes>(&self, x: L) -> [L; 3] {
        let (q, root) = self.ratio_and_root(x);
        let (psi, rho) = (L::splat(self.psi), L::splat(self.rho));
        let (by_root, half) = (L::splat(1.0) / root, L::splat(0.5) / q);
        let q1 = half * psi * (psi.mul_add(x, rho).mul_add(by_root, rho));
        let bend = L::splat(self.psi * self.psi * (1.0 - self.rho * self.rho));
        let q2 = half * bend * (by_root * by_root * by_root);
        [q, q1, q1.neg_mul_add(q1, q2)]
    }

    /// Parameters of the fit: ln σ, atanh ρ, ln ψ.
    fn free(&self) -> [f64; 3] {
        [self.atm.ln(), self.rho.atanh(), self.psi.ln()]
    }

    fn from_free(p: [f64; 3], t: f64) -> Self {
        // wider than the bounds of the result: they keep the exponentials finite, and ln 0.005 is −5.3
        let to = [p[0].clamp(-5.3, 3.0), 2.0 * p[1].clamp(-20.0, 20.0), p[2].clamp(-10.0, 5.0), 0.0];
        let e = exp(Pack::<1>::load(&to));
        Self::of(t, e.lane(0).clamp(BASE.vol_least, BASE.vol_most), 1.0 - 2.0 / (e.lane(1) + 1.0), e.lane(2))
    }

    /// Moves the parameters into the bounds that exclude butterfly arbitrage.
    fn bounded(mut self) -> Self {
        // at ±1 one wing is flat at zero variance, and atanh has no value
        self.rho = self.rho.clamp(-BASE.rho_most, BASE.rho_most);
        let spread = 1.0 + self.rho.abs();
        // both conditions of Gatheral and Jacquier's theorem 4.2, as bounds on ψ: sufficient for every strike
        let most = (BASE.butterfly_bound / spread).sqrt().min(BASE.butterfly_bound / (spread * self.sd));
        self.psi = self.psi.clamp(BASE.psi_least.min(most), most);
        self
    }

    /// ln σ at log-moneyness k less that at the money, and the derivatives of ln σ in the free parameters.
    #[inline(always)]
    fn ln_vol_jet<L: Lanes>(&self, k: L) -> (L, [L; 3]) {
        let one = L::splat(1.0);
        let x = k * (1.0 / self.sd);
        let (q, root) = self.ratio_and_root(x);
        let (px, rho) = (x * self.psi, L::splat(self.rho));
        let (by_root, quarter) = (one / root, L::splat(0.25) / q);
        let by_px = (px + rho).mul_add(by_root, rho) * quarter * px;
        let by_rho = px.mul_add(by_root, px) * quarter;
        (L::splat(0.5) * ln(q), [one - by_px, by_rho * (1.0 - self.rho * self.rho), by_px])
    }
}

/// The normal equations of three parameters: the upper triangle, and the right-hand side.
struct Normal {
    a: [[f64; 3]; 3],
    g: [f64; 3],
}

/// Normal equations of one round: points are weighted by precision, outliers less.
fn normal_equations(base: &Base, points: &Points) -> Normal {
    let zero = Block::splat(0.0);
    let (mut a, mut g) = ([zero; 6], [zero; 3]);
    let level = Block::splat(base.atm.ln());
    for at in (0..points.k.len()).step_by(Block::N) {
        let load = |column: &[f64]| Block::load(&column[at..]);
        let (k, ln_vol, precision) = (load(&points.k), load(&points.ln_vol), load(&points.precision));
        let (shape, d) = base.ln_vol_jet(k);
        let miss = ln_vol - (level + shape);
        // Cauchy weights: a stale strike must not tilt the shape of all others
        let w = precision
            / (precision * (1.0 / (BASE.robust_halves * BASE.robust_halves))).mul_add(miss * miss, Block::splat(1.0));
        let wd = [w * d[0], w * d[1], w * d[2]];
        for (i, j, sum) in [(0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 1, 3), (1, 2, 4), (2, 2, 5)] {
            a[sum] = wd[i].mul_add(d[j], a[sum]);
        }
        for i in 0..3 {
            g[i] = wd[i].mul_add(miss, g[i]);
        }
    }
    let a = a.map(total);
    Normal { a: [[a[0], a[1], a[2]], [a[1], a[3], a[4]], [a[2], a[4], a[5]]], g: g.map(total) }
}

/// The sum over the lanes.
fn total(of: Block) -> f64 {
    let mut lanes = [0.0; Block::N];
    of.store(&mut lanes);
    let [a, b, c, d, e, f, g, h] = lanes;
    // a fixed order of addition: the same bits from every register width
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

/// Fits a base to the points, weighted by precision, outliers less, with a prior.
///
/// # Domain   any points, none included: then the prior's base
/// # Cost     0.25 µs for 7 points, 0.5 µs for 30
#[must_use]
pub fn fit_base(points: &Points, prior: &Prior, t: f64) -> Base {
    if points.is_empty() {
        return prior.base;
    }
    let centre = prior.base.free();
    let precision = prior.sd.map(|sd| 1.0 / (sd * sd));
    let mut p = centre;
    let mut base = prior.base.moved(prior.base.atm, t);
    // Gauss-Newton in ln σ, atanh ρ and ln ψ, where every value is allowed and the problem nearly linear; after each
    // round the parameters are moved back into the bounds against butterflies
    for _ in 0..BASE.rounds {
        let Normal { mut a, mut g } = normal_equations(&base, points);
        for i in 0..3 {
            a[i][i] = a[i][i] * (1.0 + BASE.ridge) + precision[i];
            g[i] += precision[i] * (centre[i] - p[i]);
        }
        // a singular system ends the rounds with the base so far, which is within its bounds
        let Some(step) = solve3(a, g) else { break };
        let largest = step.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        // the whole step is shortened, not its parts: its direction stays that of the least squares
        let damp = (BASE.step_most / largest.max(BASE.step_most)).min(1.0);
        for i in 0..3 {
            p[i] += damp * step[i];
        }
        let free = Base::from_free(p, t);
        base = free.bounded();
        // the next round starts from the bounded parameters, or it would push against the bound again and again
        if base != free {
            p = base.free();
        }
        if largest < BASE.settled {
            break;
        }
    }
    base
}

/// Solves a symmetric positive system of three.
fn solve3(a: [[f64; 3]; 3], g: [f64; 3]) -> Option<[f64; 3]> {
    let cross =
        |u: [f64; 3], v: [f64; 3]| [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let rows = [cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])];
    let by_det = 1.0 / dot(a[0], rows[0]);
    let out = [0, 1, 2].map(|i| (g[0] * rows[0][i] + g[1] * rows[1][i] + g[2] * rows[2][i]) * by_det);
    out.iter().all(|x| x.is_finite()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_found_again_from_its_own_points() {
        let truth = Base::of(0.3, 0.22, -0.6, 0.8);
        let vol = |base: &Base, k: f64| base.atm * base.ratio(k / base.sd()).sqrt();
        let mut points = Points::default();
        points.fill((-20..12).map(|i| 0.03 * f64::from(i)).map(|k| (k, vol(&truth, k).ln(), 1e4)));
        let prior = Prior { base: Base::usual(0.3, 0.3), sd: [1.0, 2.0, 2.0] };
        let fit = fit_base(&points, &prior, 0.3);
        for k in [-0.5, -0.1, 0.0, 0.2] {
            let (a, b) = (vol(&fit, k), vol(&truth, k));
            assert!((a / b - 1.0).abs() < 2e-4, "at {k}: {a} for {b}, {fit:?}");
        }
        points.fill([].into_iter());
        assert_eq!(fit_base(&points, &prior, 0.3), prior.base);
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        let base = Base::of(0.7, 0.4, 0.4, 1.1);
        let h = 1e-4;
        for x in [-3.0, -0.2, 0.0, 2.5] {
            let [q, d1, d2] = base.ratio_jet(x);
            let (up, dn) = (base.ratio_jet(x + h), base.ratio_jet(x - h));
            assert!((q / base.ratio(x) - 1.0).abs() < 1e-15, "value at {x}");
            assert!(((up[0] / dn[0]).ln() / (2.0 * h) - d1).abs() < 1e-6, "slope at {x}");
            assert!(((up[1] - dn[1]) / (2.0 * h) - d2).abs() < 1e-6, "bend at {x}");
            let k = x * base.sd();
            let (_, d) = base.ln_vol_jet(k);
            for i in 0..3 {
                let bump = |e: f64| {
                    let mut p = base.free();
                    p[i] += e;
                    let bumped = Base::from_free(p, base.t);
                    bumped.atm.ln() + bumped.ln_vol_jet(k).0
                };
                let numeric = (bump(h) - bump(-h)) / (2.0 * h);
                assert!((numeric - d[i]).abs() < 1e-6, "parameter {i} at {x}: {numeric} for {}", d[i]);
            }
        }
    }
}
