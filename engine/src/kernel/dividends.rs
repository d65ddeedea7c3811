//! Escrowed cash dividends: A(t), the forward, and their derivatives. Scalar: an expiry has one set for all strikes.

/// One cash dividend of the term of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dividend {
    /// Years from now to 09:30 Eastern on the ex-date.
    pub t: f64,
    /// Currency per share.
    pub amount: f64,
}

/// What all strikes of one expiry share.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Years to settlement.
    pub t: f64,
    /// Continuously compounded risk-free rate, per year.
    pub r: f64,
    /// Implied borrow rate, per year; acts as a continuous yield.
    pub b: f64,
    /// Dividends with ex-dates in (0, t], ascending.
    pub divs: Vec<Dividend>,
}

impl Terms {
    /// A(u): the value at `u` years from now of the dividends that go ex after `u` and up to expiry (MODEL, dynamics).
    #[must_use]
    pub fn a(&self, u: f64) -> f64 {
        let carry = self.r - self.b;
        let live = self.divs.iter().filter(|d| d.t > u && d.t <= self.t);
        live.map(|d| d.amount * (-carry * (d.t - u)).exp()).sum()
    }

    /// dA(0)/dr = −dA(0)/db: −Σ D·t·e^(−(r−b)t).
    #[must_use]
    pub fn a0_r(&self) -> f64 {
        let carry = self.r - self.b;
        let live = self.divs.iter().filter(|d| d.t > 0.0 && d.t <= self.t);
        live.map(|d| -d.amount * d.t * (-carry * d.t).exp()).sum()
    }

    /// The forward F = (s − A(0))·e^((r−b)t), currency per share.
    #[must_use]
    pub fn fwd(&self, s: f64) -> f64 {
        (s - self.a(0.0)) * ((self.r - self.b) * self.t).exp()
    }

    /// The discount factor e^(−rt).
    #[must_use]
    pub fn df(&self) -> f64 {
        (-self.r * self.t).exp()
    }
}
