//! The true volatilities: one arbitrage-free surface per name, by its class.
//!
//! Total variance is SSVI (Gatheral and Jacquier, 2014): w(k, T) = θ/2·(1 + ρφk + √((φk+ρ)² + 1 − ρ²)) with
//! φ = η·θ^(−γ)·(1+θ)^(γ−1), free of butterfly arbitrage for η(1+|ρ|) ≤ 2, and of calendar arbitrage as θ rises with T.
//! θ = mean-reverting variance over T plus one jump per earnings date: a kinked term structure on purpose.

use kernel::elementary::{exp, ln};

/// The year of a 30-day option.
const MONTH: f64 = 30.0 / 365.0;
/// The greatest |ρ|: η(1 + |ρ|) ≤ 2 for every class.
const MOST_SKEW: f64 = 0.8;

/// Families of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// S&P 500 and alike.
    LargeIndex,
    /// Nasdaq-100.
    TechIndex,
    /// Russell 2000.
    SmallIndex,
    /// The largest stocks.
    MegaCap,
    /// Members of the S&P 500.
    MidCap,
    /// Smaller stocks.
    SmallCap,
    /// Biotechnology, and stocks that crowds play with.
    Meme,
    /// Bond funds.
    Bond,
    /// Gold, silver, oil.
    Commodity,
    /// Multiples of an index.
    Leveraged,
    /// Multiples of the opposite of an index.
    Inverse,
    /// VIX, on the future of each expiry.
    Volatility,
}

/// The constants of a class. `long`: volatility at two years; 0: that of 30 days.
struct Shape {
    long: f64,
    kappa: f64,
    rho: f64,
    eta: f64,
    gamma: f64,
}

impl Class {
    #[rustfmt::skip]
    const fn shape(self) -> Shape {
        match self {
            Self::LargeIndex => Shape { long: 0.19, kappa: 3.0, rho: -0.75, eta: 1.1,  gamma: 0.45 },
            Self::TechIndex  => Shape { long: 0.23, kappa: 3.0, rho: -0.65, eta: 1.1,  gamma: 0.45 },
            Self::SmallIndex => Shape { long: 0.24, kappa: 3.0, rho: -0.65, eta: 1.0,  gamma: 0.45 },
            Self::MegaCap    => Shape { long: 0.36, kappa: 2.5, rho: -0.35, eta: 0.95, gamma: 0.45 },
            Self::MidCap     => Shape { long: 0.30, kappa: 2.0, rho: -0.40, eta: 0.9,  gamma: 0.45 },
            Self::SmallCap   => Shape { long: 0.55, kappa: 1.5, rho: -0.20, eta: 0.75, gamma: 0.5 },
            Self::Meme       => Shape { long: 0.9,  kappa: 1.5, rho: 0.1,   eta: 0.7,  gamma: 0.5 },
            Self::Bond       => Shape { long: 0.0,  kappa: 2.0, rho: -0.3,  eta: 0.9,  gamma: 0.45 },
            Self::Commodity  => Shape { long: 0.0,  kappa: 2.0, rho: 0.1,   eta: 0.8,  gamma: 0.45 },
            Self::Leveraged  => Shape { long: 0.62, kappa: 3.0, rho: -0.65, eta: 0.9,  gamma: 0.45 },
            Self::Inverse    => Shape { long: 0.62, kappa: 3.0, rho: 0.65,  eta: 0.9,  gamma: 0.45 },
            Self::Volatility => Shape { long: 0.45, kappa: 6.0, rho: 0.65,  eta: 0.9,  gamma: 0.45 },
        }
    }
}

/// The variance of a name over time: mean reversion from the short to the long end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    class: Class,
    rho: f64,
    short: f64,
    long: f64,
}

impl Term {
    /// The term structure whose 30-day volatility is `vol`, with `tilt` added to the skew of the class.
    pub(super) fn new(class: Class, vol: f64, tilt: f64) -> Self {
        let shape = class.shape();
        let rho = (shape.rho + tilt).clamp(-MOST_SKEW, MOST_SKEW);
        let long = if shape.long > 0.0 { shape.long * shape.long } else { vol * vol };
        let short = long + (vol * vol - long) / decay_mean(shape.kappa * MONTH);
        Self { class, rho, short: short.max(0.1 * vol * vol), long }
    }

    /// The smile at `t` years, with `jumps` of total variance from earnings and all variance times `scale`.
    pub(super) fn smile(self, t: f64, jumps: f64, scale: f64) -> Smile {
        self.smile_by(t, t, jumps, scale)
    }

    /// The smile at `t` years, as [`Self::smile`] gives it, where variance grows for `years` of them.
    pub(super) fn smile_by(self, years: f64, t: f64, jumps: f64, scale: f64) -> Smile {
        let shape = self.class.shape();
        let variance = self.long + (self.short - self.long) * decay_mean(shape.kappa * years);
        Smile::new(&Shape { rho: self.rho, ..shape }, (variance * years + jumps) * scale, t)
    }
}

/// (1 − e^(−x))/x: the mean of an exponential decay over a time.
pub(super) fn decay_mean(x: f64) -> f64 {
    if x < 1e-6 { 1.0 - x / 2.0 } else { (1.0 - exp(-x)) / x }
}

/// The true volatilities of one expiry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smile {
    theta: f64,
    rho: f64,
    phi: f64,
    t: f64,
}

#[cfg(test)]
impl Smile {
    /// The surface with volatility `sigma` at every strike.
    pub(super) fn flat(sigma: f64, t: f64) -> Self {
        Self { theta: sigma * sigma * t, rho: 0.0, phi: 0.0, t }
    }
}

impl Smile {
    fn new(shape: &Shape, theta: f64, t: f64) -> Self {
        let phi = shape.eta * exp(-shape.gamma * ln(theta) + (shape.gamma - 1.0) * ln(1.0 + theta));
        Self { theta, rho: shape.rho, phi, t }
    }

    /// Total variance at k = ln(strike / forward).
    #[must_use]
    pub fn total_variance(&self, k: f64) -> f64 {
        let x = self.phi * k + self.rho;
        let root = (x * x + 1.0 - self.rho * self.rho).sqrt();
        0.5 * self.theta * (1.0 + self.rho * self.phi * k + root)
    }

    /// Volatility per √year at k = ln(strike / forward).
    #[must_use]
    pub fn sigma(&self, k: f64) -> f64 {
        (self.total_variance(k) / self.t).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [Class; 12] = [
        Class::LargeIndex,
        Class::TechIndex,
        Class::SmallIndex,
        Class::MegaCap,
        Class::MidCap,
        Class::SmallCap,
        Class::Meme,
        Class::Bond,
        Class::Commodity,
        Class::Leveraged,
        Class::Inverse,
        Class::Volatility,
    ];

    /// Durrleman's function g(k), whose sign is that of the risk-neutral density, by differences.
    fn density(smile: &Smile, k: f64) -> f64 {
        let h = 1e-4;
        let w = smile.total_variance(k);
        let (up, down) = (smile.total_variance(k + h), smile.total_variance(k - h));
        let (w1, w2) = ((up - down) / (2.0 * h), (up - 2.0 * w + down) / (h * h));
        let a = 1.0 - k * w1 / (2.0 * w);
        a * a - w1 * w1 / 4.0 * (1.0 / w + 0.25) + w2 / 2.0
    }

    #[test]
    fn no_class_has_butterfly_or_calendar_arbitrage() {
        for class in CLASSES {
            let term = Term::new(class, 0.3, 0.0);
            let mut shorter: Option<Smile> = None;
            for t in [0.02, 0.1, 0.5, 1.0, 2.5, 5.0] {
                let smile = term.smile(t, 0.0, 1.0);
                for i in -60..=60 {
                    let k = f64::from(i) * 0.05 * t.sqrt();
                    assert!(density(&smile, k) > 0.0, "{class:?} t {t} k {k}: {}", density(&smile, k));
                    let rises = shorter.is_none_or(|s| s.total_variance(k) < smile.total_variance(k));
                    assert!(rises, "{class:?} t {t} k {k}: total variance falls with time");
                }
                shorter = Some(smile);
            }
        }
    }

    #[test]
    fn the_thirty_day_volatility_is_the_one_asked_for() {
        for class in CLASSES {
            let sigma = Term::new(class, 0.3, 0.0).smile(MONTH, 0.0, 1.0).sigma(0.0);
            assert!((sigma - 0.3).abs() < 1e-12, "{class:?}: {sigma}");
        }
    }
}
