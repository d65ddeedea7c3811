//! Where a discount curve comes from.

use jiff::civil::Date;

/// The sources of discount curves, in their order of precedence. An override of a single expiry stands before all of them
/// ([`Overrides::rate`](crate::store::overrides::Overrides::rate)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RateSource {
    /// A user asked for rates of zero.
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

impl RateOrigin {
    /// No curve: every rate is zero because a user asked for it.
    pub const ZERO: Self = Self { source: RateSource::Zero, as_of: None };
}
