//! What a reader of a value may have to know. Never: when.

use crate::store::dropped::Drop;

/// What a reader should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// It has no value.
    NoValue,
    /// Its root delivers something else than 100 shares, and nobody says what.
    AdjustedRoot,
    /// Its root delivers something else than 100 shares, and it is valued from what is said of it.
    Deliverable,
    /// Its quote was dropped.
    Quote(Drop),
    /// The volatility is that of the session before: no curve is known of its expiry.
    PreviousSession,
    /// A preliminary pass has valued early exercise, by lattices; the full pass follows.
    Preliminary,
    /// Its options tell another spot than the published one, and values follow it.
    SpotOff,
    /// No price of the underlying is published: values use the spot that the options imply.
    SpotImplied,
    /// The forward of its expiry implies another spot than the published one, and values follow the forward.
    SpotShifted,
    /// The pairs of its expiry contradict each other, or the other expiries.
    ForwardOutvoted,
    /// No pair of its own expiry tells the forward.
    NoPair,
    /// Few pairs do.
    FewPairs,
    /// The forward is not known well.
    ForwardUncertain,
    /// Its strike lies beyond those whose quotes support the curve.
    Extrapolated,
    /// Few quotes support the curve there.
    LowConfidence,
    /// The volatility of the curve is outside of those at bid and ask.
    OutsideSpread,
    /// A dividend of its life is not declared.
    ProjectedDividends,
    /// No source of dividends covers the name.
    DividendsUnknown,
    /// Its rate comes from a curve of an earlier date.
    OldRates,
    /// A user asked for rates of zero.
    ZeroRates,
    /// A user has said some of its inputs.
    Overridden,
    /// It settles within a day.
    NearExpiry,
    /// The reference scheme gives another value.
    SchemesDiffer,
    /// What it was computed from is not known any more: the chain was read back after a restart.
    NoEvidence,
}

impl Warning {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoValue => "no_value",
            Self::AdjustedRoot => "adjusted_root",
            Self::Deliverable => "deliverable",
            Self::Quote(why) => why.name(),
            Self::PreviousSession => "previous_session",
            Self::Preliminary => "preliminary",
            Self::SpotOff => "spot_off",
            Self::SpotImplied => "spot_implied",
            Self::SpotShifted => "spot_shifted",
            Self::ForwardOutvoted => "forward_outvoted",
            Self::NoPair => "no_pair",
            Self::FewPairs => "few_pairs",
            Self::ForwardUncertain => "forward_uncertain",
            Self::Extrapolated => "extrapolated",
            Self::LowConfidence => "low_confidence",
            Self::OutsideSpread => "outside_spread",
            Self::ProjectedDividends => "projected_dividends",
            Self::DividendsUnknown => "dividends_unknown",
            Self::OldRates => "old_rates",
            Self::ZeroRates => "zero_rates",
            Self::Overridden => "overridden",
            Self::NearExpiry => "near_expiry",
            Self::SchemesDiffer => "schemes_differ",
            Self::NoEvidence => "no_evidence",
        }
    }

    /// What it means, in one line.
    ///
    /// # Source   docs/explain.md
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NoValue => "no value: its expiry has no forward or no curve",
            Self::AdjustedRoot => {
                "its root delivers something else than 100 shares: it has no value until deliverables.csv or an override \
                 says what"
            }
            Self::Deliverable => {
                "its root delivers something else than 100 shares: it is valued from the terms that are given"
            }
            Self::Quote(why) => match why {
                Drop::Crossed => "its bid is above its ask",
                Drop::NoBid => "it has no bid: the ask bounds its volatility only",
                Drop::NoAsk => "it has no ask",
                Drop::Stale => "its quote is stale against the rest of the chain",
                Drop::TooWide => "its quote is too wide to support forward or curve",
                Drop::OutOfBounds => "its quote is beyond what spot and strike allow at any volatility",
                Drop::StrikeOrder => "its quote contradicts other strikes of its expiry",
                Drop::ExpiryOrder => "its quote is dearer than the same contract of later expiries",
                Drop::NoArbitrage => "no volatility gives the price of its quote",
                Drop::Outlier => "its quote is far from what the rest of the expiry agrees on",
                Drop::Excluded => "a user wants its quote left out",
            },
            Self::PreviousSession => "its volatility is that of the session before: no quote of its expiry can be used",
            Self::Preliminary => "early exercise comes from lattices until its tables are built: about 1e-4 of the price",
            Self::SpotOff => "its options tell another spot than the published one, and values follow it",
            Self::SpotImplied => "no price of the underlying is published: values use the spot that its options imply",
            Self::SpotShifted => {
                "the forward of its expiry implies another spot than the published one, and values follow the forward"
            }
            Self::ForwardOutvoted => "its pairs tell another forward than the other expiries make likely",
            Self::NoPair => "no pair of call and put of its expiry tells the forward: the other expiries do",
            Self::FewPairs => "fewer than three pairs of call and put tell the forward",
            Self::ForwardUncertain => "the forward is known to five basis points or worse",
            Self::Extrapolated => "its strike lies beyond the last one whose quote supports the curve",
            Self::LowConfidence => "few quotes near its strike support the curve",
            Self::OutsideSpread => "the curve lies outside of the volatilities at its bid and ask",
            Self::ProjectedDividends => "a dividend of its life is expected and not declared",
            Self::DividendsUnknown => {
                "no source of dividends covers the name: add dividends.csv to the folder, or --feed nasdaq:NAME"
            }
            Self::OldRates => {
                "its rate is more than a week old: add --feed treasury:, rates.csv, or an index such as SPX to the feed"
            }
            Self::ZeroRates => "rates are zero because --rates zero asks for it",
            Self::Overridden => "a user has said some of its inputs",
            Self::NearExpiry => "it settles within a day: spot and clock move its values most",
            Self::SchemesDiffer => "the reference scheme gives another value than the one that is served",
            Self::NoEvidence => "its chain was read back or loaded: what it was computed from is not known here",
        }
    }
}
