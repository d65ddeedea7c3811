//! How well the quotes support a curve: how tight they are near a strike, and how many the curve passes within.
//! Never: a change of the curve.

/// The half width in ln σ at which a curve is half supported.
const HALF_SUPPORT: f64 = 0.04;

/// Precision of the quotes along the spline's coordinate, and how well the curve met them.
#[derive(Clone, Debug, Default)]
pub struct Support {
    start: f64,
    step: f64,
    /// Sum of 1/half² of the quotes around each place.
    precision: Vec<f64>,
    /// Part of the quotes that the curve passes within, 0 to 1.
    inside: f64,
}

impl Support {
    /// Spreads the quotes, each a place and a half width in ln σ, over `n` places from `start` every `step`.
    #[must_use]
    pub fn new(quotes: impl Iterator<Item = (f64, f64)>, start: f64, step: f64, n: usize, inside: f64) -> Self {
        let mut binned = vec![0.0; n.max(2)];
        let last = binned.len() - 2;
        for (u, half) in quotes {
            let place = ((u - start) / step).clamp(0.0, (last + 1) as f64);
            let i = (place as usize).min(last);
            let part = place - i as f64;
            let weight = 1.0 / (half * half);
            binned[i] += weight * (1.0 - part);
            binned[i + 1] += weight * part;
        }
        let around = |i: usize, d: usize| {
            let left = if i >= d { binned[i - d] } else { 0.0 };
            left + binned.get(i + d).copied().unwrap_or(0.0)
        };
        let precision = (0..n.max(2)).map(|i| binned[i] + 0.5 * around(i, 1) + 0.1 * around(i, 2)).collect();
        Self { start, step, precision, inside }
    }

    /// 1/variance of ln σ that the quotes give at a place; small outside of them.
    #[must_use]
    pub fn precision(&self, u: f64) -> f64 {
        if self.precision.is_empty() {
            return 0.0;
        }
        let place = (u - self.start) / self.step;
        if place < 0.0 || place > (self.precision.len() - 1) as f64 {
            return 0.0;
        }
        let i = (place as usize).min(self.precision.len() - 2);
        let part = place - i as f64;
        self.precision[i] * (1.0 - part) + self.precision[i + 1] * part
    }

    /// Confidence at a place, 0 to 1.
    #[must_use]
    pub fn at(&self, u: f64) -> f64 {
        let p = self.precision(u) * (HALF_SUPPORT * HALF_SUPPORT);
        self.inside * p / (1.0 + p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tight_quotes_give_confidence_and_it_fades_away_from_them() {
        let tight = Support::new((0..20).map(|i| (0.1 * f64::from(i), 0.005)), -1.0, 0.1, 40, 1.0);
        let wide = Support::new((0..20).map(|i| (0.1 * f64::from(i), 0.3)), -1.0, 0.1, 40, 1.0);
        assert!(tight.at(1.0) > 0.95 && wide.at(1.0) < 0.1, "{} {}", tight.at(1.0), wide.at(1.0));
        assert!(tight.at(-0.9) < 1e-9 && tight.at(99.0) < 1e-9 && Support::default().at(0.0) < 1e-9);
    }
}
