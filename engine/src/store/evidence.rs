//! Inputs of a chain that its columns do not hold: ages of its quotes, dividends with their dates, and of each
//! expiry the spot of its values and the call/put pairs that imply its forward. Never: a formula.

use crate::rates::source::RateOrigin;
use jiff::{Timestamp, civil::Date};
use kernel::american::SharedBoundaries;
use kernel::calendar::{EventSpan, VarianceClock};
use kernel::contract::Deliverable;

/// Inputs of a chain.
#[derive(Clone, Debug, Default)]
pub struct ChainEvidence {
    /// The time of the quotes, which ages count from: the latest that several of them reach.
    pub quoted_at: Option<Timestamp>,
    /// Age of each quote against that, seconds, by row; negative where a quote is later.
    pub age_s: Vec<f32>,
    /// Quotes that are too old against that time to count.
    pub stale_quotes: u32,
    /// Every dividend to come, ascending; those beyond the last expiry too.
    pub dividends: Vec<CountedDividend>,
    /// Evidence by slice.
    pub slices: Vec<SliceEvidence>,
    /// The discount curve of the chain; a slice whose rate a user overrides does not use it.
    pub rates: Option<RateOrigin>,
    /// True if a source of dividends covers the name; false: its dividends are unknown, rather than none.
    pub dividends_known: bool,
    /// Events of the name that are known by date and to come, ascending.
    pub events: Vec<EventSpan>,
    /// The clock that its variance days are of.
    pub clock: Option<VarianceClock>,
    /// Boundaries without dividends that the pass has solved, for whoever computes more from the chain.
    pub boundaries: SharedBoundaries,
}

/// A dividend that values count with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedDividend {
    /// Ex-date.
    pub ex_date: Date,
    /// Years from the chain's instant to it.
    pub t: f64,
    /// Amount that counts, currency per share.
    pub amount: f64,
    /// Amount that the source gives: it differs from `amount` where quotes contradict it.
    pub given: f64,
    /// Source of the dividend.
    pub source: DividendSource,
}

/// Source of a dividend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DividendSource {
    /// The feed has it as declared.
    Declared,
    /// Projected by the feed, not declared.
    Projected,
    /// An override.
    Override,
}

impl DividendSource {
    /// Name in answers and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Projected => "projected",
            Self::Override => "override",
        }
    }
}

/// Inputs of an expiry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SliceEvidence {
    /// The spot that its values are computed from: forward and borrow imply it together, currency per share.
    pub s: f64,
    /// Standard error of its forward, currency per share; NaN: the expiry has no usable call/put pair.
    pub fwd_error: f64,
    /// Years to the same clock time on the next trading day.
    pub step: f64,
    /// Deliverable of an adjusted root. Prices here are still per share of the underlying.
    pub deliverable: Option<Deliverable>,
    /// Number of dividends before the expiry, if they are more than an American expiry admits: none is then counted.
    pub dividends_refused: u32,
    /// Overrides of the expiry.
    pub known: KnownTerms,
    /// Added to the volatilities of its curve, per √year.
    pub vol_shift: f64,
    /// Calls and puts as the last fit of its forward saw them, strikes ascending: of an American expiry without what
    /// early exercise adds.
    pub pairs: Vec<ParityEvidence>,
    /// Method of each value, by row of the slice; `None`: no value.
    pub methods: Vec<Option<ValueMethod>>,
}

/// Method of the value of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueMethod {
    /// Early exercise is not allowed.
    EuropeanStyle,
    /// Early exercise is allowed and worth nothing.
    NeverPays,
    /// Exercise pays now: the value is what it pays.
    ExercisedNow,
    /// Early exercise without dividends: by the exercise boundary.
    NoDividends,
    /// Early exercise with cash dividends: by the premium at the ex-dates.
    Dividends,
    /// Early exercise from a trinomial lattice: a preliminary value.
    Lattice,
}

impl ValueMethod {
    /// Every method.
    pub const ALL: [Self; 6] =
        [Self::EuropeanStyle, Self::NeverPays, Self::ExercisedNow, Self::NoDividends, Self::Dividends, Self::Lattice];

    /// Name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EuropeanStyle => "european_style",
            Self::NeverPays => "never_pays",
            Self::ExercisedNow => "exercised_now",
            Self::NoDividends => "no_dividends",
            Self::Dividends => "dividends",
            Self::Lattice => "lattice",
        }
    }
}

/// Terms of an expiry that are overridden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownTerms {
    /// The rate.
    pub rate: bool,
    /// The forward.
    pub fwd: bool,
    /// The borrow rate.
    pub borrow: bool,
}

/// Forward implied by call and put of one strike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParityEvidence {
    /// Strike, thousandths of a currency unit.
    pub strike_milli: u32,
    /// European C − P, currency per share.
    pub gap: f64,
    /// Error of `gap`: the half spreads of both, currency per share.
    pub half: f64,
    /// Call mid plus put mid, currency per share.
    pub straddle: f64,
}

impl ChainEvidence {
    /// The time of a row's quote.
    #[must_use]
    pub fn quote_time(&self, row: usize) -> Option<Timestamp> {
        let (age, quoted_at) = (f64::from(*self.age_s.get(row)?), self.quoted_at?);
        // ages are stored to a few parts in ten million: rounded to the millisecond that they were made of where they
        // can be
        quoted_at.checked_sub(jiff::SignedDuration::from_millis((age * 1e3).round() as i64)).ok()
    }

    /// True if most quotes are too old against the time that several of them reach: either most of the chain is late,
    /// or a few quotes have wrong times.
    #[must_use]
    pub fn is_mostly_stale(&self) -> bool {
        2 * self.stale_quotes as usize > self.age_s.len()
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let pairs: usize =
            self.slices.iter().map(|slice| size_of_val(&*slice.pairs) + size_of_val(&*slice.methods)).sum();
        size_of_val(&*self.age_s) + size_of_val(&*self.dividends) + size_of_val(&*self.slices) + pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_as_old_as_it_is_against_the_newest() {
        let newest: Timestamp = "2026-11-20T16:00:00Z".parse().unwrap();
        let evidence = ChainEvidence { quoted_at: Some(newest), age_s: vec![0.0, 61.5], ..Default::default() };
        assert_eq!(evidence.quote_time(0), Some(newest));
        assert_eq!(evidence.quote_time(1), Some("2026-11-20T15:58:58.5Z".parse().unwrap()));
        assert_eq!(evidence.quote_time(2), None, "no such row");
        assert_eq!(ChainEvidence::default().quote_time(0), None, "nothing is quoted");
        assert_eq!(evidence.bytes(), 8);
    }
}
