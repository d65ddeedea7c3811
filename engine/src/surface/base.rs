//! The three-parameter shape under every curve: one slice of SSVI, free of butterfly arbitrage by its parameters.
//!
//! With x = k/√θ: w(x) = θ·q(x), q = ½(1 + ρψx + √(ψ²x² + 2ρψx + 1)). θ is the variance at the money, ψ = φ√θ and ρ
//! give the smile in standard deviations, so they travel from expiry to expiry.
//! Source: Gatheral and Jacquier (2014), Arbitrage-free SVI volatility surfaces.

/// Least and greatest volatility at the money, per √year.
const VOL: (f64, f64) = (0.005, 20.0);
/// Greatest |ρ|.
const RHO_MAX: f64 = 0.98;
/// Least ψ.
const PSI_MIN: f64 = 0.01;
/// Part of the way to the bounds ψ²(1+|ρ|) ≤ 4 and ψ√θ(1+|ρ|) ≤ 4 that is allowed.
const BOUND: f64 = 3.9;
/// Gauss–Newton rounds at most.
const ROUNDS: usize = 12;

/// A slice of SSVI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Base {
    /// Years.
    t: f64,
    /// Volatility at the money.
    atm: f64,
    /// Skew, −1 to 1.
    rho: f64,
    /// Smile in standard deviations.
    psi: f64,
}

/// One point to fit: log-moneyness, volatility, and the half width of what is known of it in ln σ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// ln(K/F).
    pub k: f64,
    /// ln of the volatility.
    pub ln_vol: f64,
    /// Half width in ln σ.
    pub half: f64,
}

/// What is expected of a base before its quotes are seen, and how firmly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// The shape expected.
    pub base: Base,
    /// Standard deviation of ln σ at the money, of atanh ρ, of ln ψ.
    pub sd: [f64; 3],
}

impl Base {
    /// No smile.
    #[must_use]
    pub fn flat(vol: f64, t: f64) -> Self {
        Self { t, atm: vol, rho: 0.0, psi: PSI_MIN }
    }

    /// A usual equity smile at this volatility.
    #[must_use]
    pub fn usual(vol: f64, t: f64) -> Self {
        Self { t, atm: vol, rho: -0.3, psi: 0.5 }.bounded()
    }

    /// The same smile in standard deviations at another level and time.
    #[must_use]
    pub fn moved(self, vol: f64, t: f64) -> Self {
        Self { t, atm: vol.clamp(VOL.0, VOL.1), ..self }.bounded()
    }

    /// Volatility at the money.
    #[must_use]
    pub fn atm(&self) -> f64 {
        self.atm
    }

    /// σ√t at the money: the unit of x.
    #[must_use]
    pub fn sd(&self) -> f64 {
        self.atm * self.t.sqrt()
    }

    /// Volatility at x standard deviations.
    #[must_use]
    pub fn vol(&self, x: f64) -> f64 {
        self.atm * self.ratio(x).sqrt()
    }

    fn root(&self, x: f64) -> f64 {
        let px = self.psi * x;
        (px * (px + 2.0 * self.rho) + 1.0).sqrt()
    }

    /// q(x) = w/θ.
    fn ratio(&self, x: f64) -> f64 {
        0.5 * (1.0 + self.rho * self.psi * x + self.root(x))
    }

    /// ln w and its first two derivatives in x.
    #[must_use]
    pub fn ln_variance(&self, x: f64) -> [f64; 3] {
        let (q, root) = (self.ratio(x), self.root(x));
        let q1 = 0.5 * self.psi * (self.rho + (self.psi * x + self.rho) / root) / q;
        let q2 = 0.5 * self.psi * self.psi * (1.0 - self.rho * self.rho) / (root * root * root * q);
        [(self.atm * self.atm * self.t * q).ln(), q1, q2 - q1 * q1]
    }

    /// The parameters as the fit moves them: ln σ, atanh ρ, ln ψ.
    fn free(&self) -> [f64; 3] {
        [self.atm.ln(), self.rho.atanh(), self.psi.ln()]
    }

    fn from_free(p: [f64; 3], t: f64) -> Self {
        let atm = p[0].clamp(VOL.0.ln(), VOL.1.ln()).exp();
        Self { t, atm, rho: p[1].tanh(), psi: p[2].clamp(-10.0, 5.0).exp() }.bounded()
    }

    /// Inside the bounds that keep butterflies positive.
    fn bounded(mut self) -> Self {
        self.rho = self.rho.clamp(-RHO_MAX, RHO_MAX);
        let spread = 1.0 + self.rho.abs();
        let most = (BOUND / spread).sqrt().min(BOUND / (spread * self.sd()));
        self.psi = self.psi.clamp(PSI_MIN.min(most), most);
        self
    }

    /// ln σ at log-moneyness k and its derivatives in the free parameters.
    fn ln_vol_jet(&self, k: f64) -> (f64, [f64; 3]) {
        let x = k / self.sd();
        let px = self.psi * x;
        let (q, root) = (self.ratio(x), self.root(x));
        let by_px = (self.rho + (px + self.rho) / root) * 0.25 / q;
        let by_rho = (px + px / root) * 0.25 / q;
        let d = [1.0 - by_px * px, by_rho * (1.0 - self.rho * self.rho), by_px * px];
        (self.atm.ln() + 0.5 * q.ln(), d)
    }
}

/// The base nearest to the points, each weighted by its width and losing weight as an outlier, held by the prior.
///
/// # Domain   any points, none included: then the prior's base
/// # Cost     about 15 ns a point and round
#[must_use]
pub fn fit_base(points: &[Point], prior: &Prior, t: f64) -> Base {
    let centre = prior.base.free();
    let mut p = centre;
    let mut base = Base::from_free(p, t);
    for _ in 0..ROUNDS {
        let (mut a, mut g) = ([[0.0; 3]; 3], [0.0; 3]);
        for point in points {
            let (ln_vol, d) = base.ln_vol_jet(point.k);
            let miss = point.ln_vol - ln_vol;
            let ratio = miss / (3.0 * point.half);
            let w = 1.0 / (point.half * point.half * (1.0 + ratio * ratio));
            for i in 0..3 {
                g[i] += w * d[i] * miss;
                for j in 0..3 {
                    a[i][j] += w * d[i] * d[j];
                }
            }
        }
        for i in 0..3 {
            let precision = 1.0 / (prior.sd[i] * prior.sd[i]);
            a[i][i] = a[i][i] * (1.0 + 1e-6) + precision;
            g[i] += precision * (centre[i] - p[i]);
        }
        let Some(step) = solve3(a, g) else { break };
        let largest = step.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        let damp = (0.7 / largest.max(0.7)).min(1.0);
        for i in 0..3 {
            p[i] += damp * step[i];
        }
        base = Base::from_free(p, t);
        p = base.free();
        if largest < 1e-3 {
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
    let det = dot(a[0], rows[0]);
    let out = [0, 1, 2].map(|i| (g[0] * rows[0][i] + g[1] * rows[1][i] + g[2] * rows[2][i]) / det);
    out.iter().all(|x| x.is_finite()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_found_again_from_its_own_points() {
        let truth = Base { t: 0.3, atm: 0.22, rho: -0.6, psi: 0.8 };
        let points: Vec<_> = (-20..12)
            .map(|i| 0.03 * f64::from(i))
            .map(|k| Point { k, ln_vol: truth.vol(k / truth.sd()).ln(), half: 0.01 })
            .collect();
        let prior = Prior { base: Base::usual(0.3, 0.3), sd: [1.0, 2.0, 2.0] };
        let fit = fit_base(&points, &prior, 0.3);
        for k in [-0.5, -0.1, 0.0, 0.2] {
            let (a, b) = (fit.vol(k / fit.sd()), truth.vol(k / truth.sd()));
            assert!((a / b - 1.0).abs() < 2e-4, "at {k}: {a} for {b}, {fit:?}");
        }
        assert_eq!(fit_base(&[], &prior, 0.3), prior.base);
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        let base = Base { t: 0.7, atm: 0.4, rho: 0.4, psi: 1.1 };
        let h = 1e-4;
        for x in [-3.0, -0.2, 0.0, 2.5] {
            let [_, d1, d2] = base.ln_variance(x);
            let (up, dn) = (base.ln_variance(x + h), base.ln_variance(x - h));
            assert!(((up[0] - dn[0]) / (2.0 * h) - d1).abs() < 1e-6, "slope at {x}");
            assert!(((up[1] - dn[1]) / (2.0 * h) - d2).abs() < 1e-6, "bend at {x}");
            let k = x * base.sd();
            let (_, d) = base.ln_vol_jet(k);
            for i in 0..3 {
                let bump = |e: f64| {
                    let mut p = base.free();
                    p[i] += e;
                    Base::from_free(p, base.t).ln_vol_jet(k).0
                };
                let numeric = (bump(h) - bump(-h)) / (2.0 * h);
                assert!((numeric - d[i]).abs() < 1e-6, "parameter {i} at {x}: {numeric} for {}", d[i]);
            }
        }
    }
}
