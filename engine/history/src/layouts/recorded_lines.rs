//! Dividends and rates of a recording. Never: a quote.

use crate::reference::RecordedReference;
use jiff::civil::Date;
use kernel::contract::Symbol;
use kernel::records::{DividendRecord, RateRecord};
use std::collections::BTreeMap;

/// Dividends and rates as lines say them: of one thing the last line counts, and an amount of 0 or no rate takes it
/// away.
#[derive(Debug, Default)]
pub(super) struct RecordedLines {
    dividends: BTreeMap<(Symbol, Date), DividendRecord>,
    rates: BTreeMap<(Date, u64), RateRecord>,
}

impl RecordedLines {
    /// Adds the dividend of a line.
    pub(super) fn dividend(&mut self, dividend: DividendRecord) {
        self.dividends.insert((dividend.underlying, dividend.ex_date), dividend);
    }

    /// Adds the point of a discount curve of a line.
    pub(super) fn rate(&mut self, rate: RateRecord) {
        self.rates.insert((rate.date, rate.tenor_days.to_bits()), rate);
    }

    /// The dividends and rates of the whole recording.
    pub(super) fn finish(self) -> RecordedReference {
        RecordedReference {
            dividends: self.dividends.into_values().filter(|dividend| dividend.amount > 0.0).collect(),
            rates: self.rates.into_values().filter(|rate| rate.rate.is_finite()).collect(),
        }
    }
}
