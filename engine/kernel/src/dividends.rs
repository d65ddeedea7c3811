//! Escrowed cash dividends: A(t), the forward, and their derivatives. Scalar: an expiry has one set for all strikes.

/// One cash dividend of the term of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dividend {
    /// Years from now to 09:30 Eastern on the ex-date.
    pub t: f64,
    /// Currency per share.
    pub amount: f64,
}

/// Dates nearer to each other than this are one date, years: 30 ms. Dates come in days; the instants of one date differ
/// by the rounding of their years. Dividends are valued so long after a date too: longer would show.
pub const SAME_DATE: f64 = 1e-9;

/// A clock may go back by this between two looks at a market, years: three seconds.
pub const SET_BACK: f64 = 1e-7;

/// True if the times `a` and `b`, years, are those of one date.
#[must_use]
pub fn is_same_date(a: f64, b: f64) -> bool {
    (a - b).abs() < SAME_DATE
}

/// True if `new` are the dividends `old` as they are `age` years later.
#[must_use]
pub fn are_same(old: &[Dividend], new: &[Dividend], age: f64) -> bool {
    // amounts are copied, or scaled and scaled back
    const ROUNDING: f64 = 1e-9;
    let is_same = |(old, new): (&Dividend, &Dividend)| {
        is_same_date(old.t - age, new.t) && (old.amount - new.amount).abs() <= ROUNDING * old.amount.abs()
    };
    old.len() == new.len() && old.iter().zip(new).all(is_same)
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

/// The value at `at` years from now of the dividends that go ex later than `after` and up to `t`, at the rate `carry`
/// = r − b, and its derivative in that rate.
#[must_use]
pub fn collected(divs: &[Dividend], carry: f64, at: f64, after: f64, t: f64) -> [f64; 2] {
    // at its ex-instant a dividend has left the stock, and one at expiry still lowers it
    let live = divs.iter().filter(|d| d.t > after && d.t <= t);
    live.fold([0.0; 2], |[value, by_rate], d| {
        let worth = d.amount * (-carry * (d.t - at)).exp();
        [value + worth, by_rate - (d.t - at) * worth]
    })
}

/// The value at `u` years from now of the dividends that go ex after `u` and up to `t`, at the rate `carry` = r − b.
#[must_use]
pub fn escrowed(divs: &[Dividend], carry: f64, u: f64, t: f64) -> f64 {
    collected(divs, carry, u, u, t)[0]
}

/// The derivative of [`escrowed`] at u = 0 in its rate.
#[must_use]
pub fn escrowed_by_rate(divs: &[Dividend], carry: f64, t: f64) -> f64 {
    collected(divs, carry, 0.0, 0.0, t)[1]
}

impl Terms {
    /// A(u): the value at `u` years from now of the dividends that go ex after `u` and up to expiry (docs/model.md,
    /// "Dynamics").
    #[must_use]
    pub fn a(&self, u: f64) -> f64 {
        escrowed(&self.divs, self.r - self.b, u, self.t)
    }

    /// The value at `at` years from now of the dividends later than `after`, and its derivative in r.
    #[must_use]
    pub fn collected(&self, at: f64, after: f64) -> [f64; 2] {
        collected(&self.divs, self.r - self.b, at, after, self.t)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dividends_are_valued_where_they_are_still_to_come() {
        let divs: Vec<Dividend> = [(0.1, 1.0), (0.4, 2.0), (0.9, 4.0)].map(|(t, amount)| Dividend { t, amount }).into();
        let carry = 0.05;
        let worth = |t: f64, amount: f64, at: f64| amount * (carry * (at - t)).exp();
        assert!(escrowed(&divs, carry, 0.5, 0.8).abs() < f64::MIN_POSITIVE, "one is paid, one comes after expiry");
        assert!((escrowed(&divs, carry, 0.1, 0.9) - worth(0.4, 2.0, 0.1) - worth(0.9, 4.0, 0.1)).abs() < 1e-14);
        let [with_date, _] = collected(&divs, carry, 0.1, 0.1 - SAME_DATE, 0.5);
        assert!((with_date - 1.0 - worth(0.4, 2.0, 0.1)).abs() < 1e-14);
        let h = 1e-5;
        let value = |carry: f64| collected(&divs, carry, 0.2, 0.2, 1.0)[0];
        let slope = (value(carry + h) - value(carry - h)) / (2.0 * h);
        assert!((collected(&divs, carry, 0.2, 0.2, 1.0)[1] - slope).abs() < 1e-9);
    }

    #[test]
    fn dividends_stay_the_same_while_time_passes() {
        let of =
            |shift: f64, amount: f64| -> Vec<Dividend> { [0.1, 0.4].map(|t| Dividend { t: t - shift, amount }).into() };
        assert!(are_same(&of(0.0, 1.0), &of(0.03, 1.0), 0.03));
        assert!(!are_same(&of(0.0, 1.0), &of(0.03, 1.0), 0.031) && !are_same(&of(0.0, 1.0), &of(0.0, 1.001), 0.0));
        assert!(!are_same(&of(0.0, 1.0), &of(0.0, 1.0)[..1], 0.0));
    }
}
