//! Escrowed cash dividends: A(t), the forward, and their derivatives. Scalar: an expiry has one set for all strikes.

/// One cash dividend of the term of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dividend {
    /// Years from now to 09:30 Eastern on the ex-date.
    pub t: f64,
    /// Currency per share.
    pub amount: f64,
}

/// Terms of one expiry that all strikes share: time, rates, dividends.
#[derive(Clone, Debug, Default, PartialEq)]
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

/// The value at `u` years from now of the dividends that go ex after `u` and up to `t`, at the rate `carry` = r − b.
#[must_use]
pub fn escrowed(divs: &[Dividend], carry: f64, u: f64, t: f64) -> f64 {
    // at its ex-instant a dividend has left the stock, and one at expiry still lowers it
    let live = divs.iter().filter(|d| d.t > u && d.t <= t);
    live.map(|d| d.amount * (-carry * (d.t - u)).exp()).sum()
}

/// The derivative of [`escrowed`] at u = 0 in its rate: −Σ D·t·e^(−carry·t).
#[must_use]
pub fn escrowed_by_rate(divs: &[Dividend], carry: f64, t: f64) -> f64 {
    let live = divs.iter().filter(|d| d.t > 0.0 && d.t <= t);
    live.map(|d| -d.amount * d.t * (-carry * d.t).exp()).sum()
}

impl Terms {
    /// A(u): the value at `u` years from now of the dividends that go ex after `u` and up to expiry (docs/model.md,
    /// "Dynamics").
    #[must_use]
    pub fn a(&self, u: f64) -> f64 {
        escrowed(&self.divs, self.r - self.b, u, self.t)
    }

    /// dA(0)/dr = −dA(0)/db.
    #[must_use]
    pub fn a0_r(&self) -> f64 {
        escrowed_by_rate(&self.divs, self.r - self.b, self.t)
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
