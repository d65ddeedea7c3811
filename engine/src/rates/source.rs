//! Sources of discount curves.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use std::fmt;

/// The sources of discount curves, in their order of precedence. An override of a single expiry stands before all of
/// them ([`Overrides::rate`](crate::store::overrides::Overrides::rate)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RateSource {
    /// Rates of zero by option.
    Zero,
    /// The simulated market's own curve.
    Simulated,
    /// A user's file, or lines that a program pushed.
    User,
    /// The US Treasury's published curve, as a feed delivered it.
    Treasury,
    /// Put-call parity of European options on the same date.
    Implied,
    /// The last curve of an earlier date that was implied or published while the program ran, or before it started.
    Saved,
    /// The US Treasury's par yields that are part of the program.
    BuiltIn,
}

impl RateSource {
    /// Every source, in order of precedence.
    pub const ALL: [Self; 7] =
        [Self::Zero, Self::Simulated, Self::User, Self::Treasury, Self::Implied, Self::Saved, Self::BuiltIn];

    /// Returns the name that answers, files and messages show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Simulated => "simulated",
            Self::User => "user",
            Self::Treasury => "treasury",
            Self::Implied => "implied",
            Self::Saved => "saved",
            Self::BuiltIn => "built_in",
        }
    }
}

/// The source of a curve and the date that the curve is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateOrigin {
    /// The source.
    pub source: RateSource,
    /// The date of the curve; `None` for [`RateSource::Zero`].
    pub as_of: Option<Date>,
}

/// A curve that is older than this many days at a valuation deserves a warning: a week and a long weekend.
pub const OLD_DAYS: i64 = 10;

impl RateOrigin {
    /// No curve: every rate is zero by option.
    pub const ZERO: Self = Self { source: RateSource::Zero, as_of: None };

    /// Returns the days from the curve's date to an instant, never negative; `None` without a date.
    #[must_use]
    pub fn age_days(&self, at: Timestamp) -> Option<i64> {
        let begin = self.as_of?.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp();
        Some(at.duration_since(begin).as_hours().max(0) / 24)
    }

    /// True if the curve is too old to be used without a warning.
    #[must_use]
    pub fn is_old(&self, at: Timestamp) -> bool {
        self.age_days(at).is_some_and(|days| days > OLD_DAYS)
    }
}

impl fmt::Display for RateOrigin {
    /// The source and the date of the curve: `implied 2026-11-20`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source.name())?;
        self.as_of.iter().try_for_each(|as_of| write!(f, " {as_of}"))
    }
}
