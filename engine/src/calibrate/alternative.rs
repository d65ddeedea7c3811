//! Alternatives to the assumptions of a name, and how long one stands. Never: a quote.

use super::input::SliceInput;
use super::settings::DOUBT;
use crate::store::doubt::Doubt;
use kernel::dividends::Dividend;

/// The alternative to an assumption.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternative {
    /// The assumption that it replaces.
    pub(super) doubt: Doubt,
    /// Counted part of each dividend, ascending in time; empty: all count as given.
    paid: Vec<f64>,
}

impl Alternative {
    pub(super) fn of(doubt: Doubt) -> Self {
        Self { doubt, paid: Vec::new() }
    }

    pub(super) fn paying(paid: Vec<f64>) -> Self {
        Self { doubt: Doubt::Dividends, paid }
    }

    /// Counted part of each dividend; empty: all count as given.
    pub(super) fn paid(&self) -> &[f64] {
        &self.paid
    }

    /// Counted part of a dividend, by its index among all dividends to come.
    pub(super) fn part(&self, dividend: usize) -> f64 {
        self.paid.get(dividend).copied().unwrap_or(1.0)
    }

    /// Counted dividends of each slice; empty: those given.
    pub(super) fn dividends(&self, inputs: &[SliceInput<'_>]) -> Vec<Vec<Dividend>> {
        if self.paid.is_empty() {
            return Vec::new();
        }
        let of = |input: &SliceInput<'_>| {
            let counted =
                input.divs.iter().enumerate().map(|(i, d)| Dividend { amount: d.amount * self.part(i), ..*d });
            counted.filter(|d| d.amount > 0.0).collect()
        };
        inputs.iter().map(of).collect()
    }
}

/// An alternative that values are computed with.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) instead: Alternative,
    /// Pairs that contradict the assumption that it replaces.
    pub(super) first: u32,
    /// Years to the last expiry when it was found.
    t: f64,
    /// Number of dividends that its parts belong to.
    dividends: usize,
}

impl Standing {
    /// An alternative found at the time of `inputs`.
    pub(super) fn new(instead: Alternative, first: u32, inputs: &[SliceInput<'_>]) -> Self {
        let (t, dividends) = Self::moment(inputs);
        Self { instead, first, t, dividends }
    }

    /// True if it was found at an earlier instant, less than `DOUBT.stands` ago, for the same dividends. Passes of one
    /// instant look at the assumption again, since each is more accurate than the one before.
    pub(super) fn is_recent(&self, inputs: &[SliceInput<'_>]) -> bool {
        let (t, dividends) = Self::moment(inputs);
        let age = self.t - t;
        age > 0.0 && age < DOUBT.stands && self.dividends == dividends
    }

    fn moment(inputs: &[SliceInput<'_>]) -> (f64, usize) {
        inputs.iter().fold((0.0, 0), |(t, n), input| (input.t.max(t), input.divs.len().max(n)))
    }
}
