//! How many firm quotes of a name hold the value of their contract, and the confidence that is left. Never: a quote.

/// Firm quotes of a name, and those of them that do not hold the value of their contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirmQuotes {
    /// Bid and ask that belong together.
    pub firm: u32,
    /// Firm quotes whose value is below the bid or above the ask.
    pub outside: u32,
}

impl FirmQuotes {
    /// Fewer firm quotes than this say nothing of a name.
    const LEAST: u32 = 4;
    /// Confidence is whole while this part of the firm quotes holds its value.
    const HOLD: f64 = 0.75;

    /// True if half of the firm quotes or more do not hold their value, as all calls or all puts.
    #[must_use]
    pub const fn are_contradicted(self) -> bool {
        self.firm >= Self::LEAST && 2 * self.outside >= self.firm
    }

    /// Factor of confidence: 1 while three quarters of the firm quotes hold their value, 0 if none does.
    #[must_use]
    pub fn confidence(self) -> f64 {
        if self.firm < Self::LEAST {
            return 1.0;
        }
        let inside = 1.0 - f64::from(self.outside) / f64::from(self.firm);
        (inside / Self::HOLD).min(1.0).powi(2)
    }
}

impl core::ops::AddAssign for FirmQuotes {
    fn add_assign(&mut self, other: Self) {
        self.firm = self.firm.saturating_add(other.firm);
        self.outside = self.outside.saturating_add(other.outside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_goes_with_the_quotes_that_hold_their_value() {
        let left = |firm, outside| FirmQuotes { firm, outside }.confidence();
        assert!((left(8, 2) - 1.0).abs() < 1e-12 && (left(8, 5) - 0.25).abs() < 1e-12 && left(10, 10).abs() < 1e-12);
        assert!((left(3, 3) - 1.0).abs() < 1e-12, "three quotes say nothing");
    }
}
