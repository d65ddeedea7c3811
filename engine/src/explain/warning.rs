//! Warnings about a value. Never: their conditions.

use crate::store::drop_reason::DropReason;

/// A warning of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The contract has no value.
    NoValue,
    /// The root does not deliver 100 shares, and its deliverable is unknown.
    AdjustedRoot,
    /// The root is of binary options.
    BinaryRoot,
    /// The root is of an index, and its terms are unknown.
    UnknownRoot,
    /// The root does not deliver 100 shares; the value follows from its given deliverable.
    Deliverable,
    /// The quote was dropped.
    Quote(DropReason),
    /// The volatility is that of the previous session: the expiry has no curve now.
    PreviousSession,
    /// A preliminary pass has valued early exercise, by lattices; the full pass follows.
    Preliminary,
    /// Option prices imply a different spot than the published one, and values use the implied spot.
    SpotOff,
    /// Quotes contradict a usual borrow rate, and values use the implied one.
    BorrowDoubted,
    /// Quotes contradict a dividend, and values use the implied amount.
    DividendsDoubted,
    /// Most quotes of the name do not hold the value of their contract.
    QuotesMissed,
    /// No price of the underlying is published: values use the implied spot.
    SpotImplied,
    /// The forward of the expiry implies a different spot than the published one, and values use the forward.
    SpotShifted,
    /// The call/put pairs of the expiry contradict the forward that the other expiries make likely.
    ForwardOutvoted,
    /// No call/put pair of the expiry is usable.
    NoPair,
    /// Few call/put pairs of the expiry are usable.
    FewPairs,
    /// The forward is uncertain.
    ForwardUncertain,
    /// The strike lies beyond those whose quotes support the curve.
    Extrapolated,
    /// Few quotes near the strike support the curve.
    LowConfidence,
    /// The volatility of the curve is outside the bid and ask volatilities.
    OutsideSpread,
    /// A dividend before expiry is projected, not declared.
    ProjectedDividends,
    /// There are more dividends before expiry than are counted.
    DividendsRefused,
    /// No source of dividends covers the name.
    DividendsUnknown,
    /// The discount curve is old.
    OldRates,
    /// Rates are zero because an option asks for it.
    ZeroRates,
    /// An override applies.
    Overridden,
    /// The contract settles within a day.
    NearExpiry,
    /// The reference scheme gives a different value.
    SchemesDiffer,
    /// The inputs of the computation are not available: the chain was restored after a restart.
    NoEvidence,
}

impl Warning {
    /// Name of the warning in answers.
    ///
    /// # Source   docs/explain.md
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoValue => "no_value",
            Self::AdjustedRoot => "adjusted_root",
            Self::BinaryRoot => "binary_root",
            Self::UnknownRoot => "unknown_root",
            Self::Deliverable => "deliverable",
            Self::Quote(why) => why.name(),
            Self::PreviousSession => "previous_session",
            Self::Preliminary => "preliminary",
            Self::SpotOff => "spot_off",
            Self::BorrowDoubted => "borrow_doubted",
            Self::DividendsDoubted => "dividends_doubted",
            Self::QuotesMissed => "quotes_missed",
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
            Self::DividendsRefused => "dividends_refused",
            Self::DividendsUnknown => "dividends_unknown",
            Self::OldRates => "old_rates",
            Self::ZeroRates => "zero_rates",
            Self::Overridden => "overridden",
            Self::NearExpiry => "near_expiry",
            Self::SchemesDiffer => "schemes_differ",
            Self::NoEvidence => "no_evidence",
        }
    }

    /// Meaning of the warning, in one line.
    ///
    /// # Source   docs/explain.md
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NoValue => "no value: the expiry has no forward or no volatility curve",
            Self::AdjustedRoot => {
                "the root does not deliver 100 shares: no value until deliverables.csv or an override gives its \
                 deliverable"
            }
            Self::BinaryRoot => "the root pays a fixed amount or nothing: no value, because it is no plain option",
            Self::UnknownRoot => {
                "the root is not among the known ones of its index: no value, because style and settlement are unknown"
            }
            Self::Deliverable => "the root does not deliver 100 shares: the value follows from its given deliverable",
            Self::Quote(why) => match why {
                DropReason::Crossed => "the bid is above the ask",
                DropReason::NoBid => "no bid: the ask only bounds the volatility",
                DropReason::NoAsk => "no ask",
                DropReason::Stale => "the quote is stale compared with the rest of the chain",
                DropReason::TooWide => "the spread is too wide to support the forward or the curve",
                DropReason::OutOfBounds => "the quote is outside the arbitrage bounds for this spot and strike",
                DropReason::StrikeOrder => "the quote contradicts other strikes of the expiry",
                DropReason::ExpiryOrder => "the quote is higher than that of the same strike in later expiries",
                DropReason::NoArbitrage => "no volatility gives the quoted price",
                DropReason::Outlier => "the quote is an outlier within its expiry",
                DropReason::Excluded => "an override excludes the quote",
            },
            Self::PreviousSession => "the volatility is that of the previous session: the expiry has no usable quote",
            Self::Preliminary => {
                "preliminary pass: lattices value early exercise, to about 1e-4 of the price, until the full pass has run"
            }
            Self::SpotOff => "option prices imply a different spot than the published one; values use the implied spot",
            Self::BorrowDoubted => {
                "most calls and puts of an expiry contradict a usual borrow rate; values use the rate that they imply"
            }
            Self::DividendsDoubted => {
                "most calls and puts of an expiry contradict the dividends given; values count what they pay for"
            }
            Self::QuotesMissed => "most quotes of the name do not hold the value of their contract",
            Self::SpotImplied => {
                "no price of the underlying is published; values use the spot implied by option prices"
            }
            Self::SpotShifted => {
                "the forward of the expiry implies a different spot than the published one; values use the forward"
            }
            Self::ForwardOutvoted => {
                "call/put pairs of this expiry imply a different forward than the other expiries make likely"
            }
            Self::NoPair => "no usable call/put pair in this expiry; the forward comes from other expiries",
            Self::FewPairs => "fewer than three usable call/put pairs in this expiry",
            Self::ForwardUncertain => "the standard error of the forward exceeds five basis points",
            Self::Extrapolated => "the strike lies beyond the last one whose quote supports the curve",
            Self::LowConfidence => "few quotes near the strike support the curve",
            Self::OutsideSpread => "the volatility of the curve is outside the bid and ask volatilities",
            Self::ProjectedDividends => "a dividend before expiry is projected, not declared",
            Self::DividendsRefused => "too many dividends before expiry: none of them is counted",
            Self::DividendsUnknown => {
                "no source of dividends covers the name: add rows of it to dividends.csv (amount 0: it pays none), or \
                 --feed nasdaq:NAME"
            }
            Self::OldRates => {
                "the discount curve is more than a week old: add --feed treasury:, rates.csv, or usable quotes of an \
                 index such as SPX to the feed"
            }
            Self::ZeroRates => "rates are zero because of --rates zero",
            Self::Overridden => "an override applies",
            Self::NearExpiry => "settlement is less than a day away: values are very sensitive to spot and time",
            Self::SchemesDiffer => "the reference scheme gives a different value than the served one",
            Self::NoEvidence => "the chain was restored from a file: the inputs of its computation are not available",
        }
    }
}
