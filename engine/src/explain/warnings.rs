//! What a reader of a value should know before he relies on it. Never: a number of a method.

use super::{Explanation, rows};
use crate::store::chain::Chain;
use crate::store::columns::Col;
use crate::store::dropped::Drop;
use crate::store::evidence::DividendSource;

/// A confidence below this is low: half of the quotes around it or fewer are fitted inside their spreads.
const CONFIDENCE_LOW: f64 = 0.3;
/// A forward is uncertain whose standard error is more than this part of it: five basis points move an at-the-money delta by
/// as much as a spread does.
const FORWARD_ERROR_MOST: f64 = 5e-4;
/// Fewer pairs than these are few: one that is wrong is not outvoted.
const PAIRS_FEW: u32 = 3;
/// The forward of an expiry is outvoted where it lies so many standard errors from what its own pairs say.
const OUTVOTED_ERRORS: f64 = 3.0;
/// Less than a day to settlement.
const DAYS_NEAR: f64 = 1.0;
/// A value of another scheme is another value beyond this, currency per share and part of the strike.
const SCHEMES_APART: (f64, f64) = (0.005, 5e-5);

/// What a reader should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// It has no value.
    NoValue,
    /// Its root delivers something else than the underlying: it has none by its nature.
    AdjustedRoot,
    /// Its quote was dropped.
    Quote(Drop),
    /// The volatility is that of the session before: no curve is known of its expiry.
    PreviousSession,
    /// Early exercise is known from lattices only, until the tables are built.
    Rough,
    /// Its options tell another spot than the published one, and values follow it.
    SpotOff,
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
            Self::Quote(why) => why.name(),
            Self::PreviousSession => "previous_session",
            Self::Rough => "rough",
            Self::SpotOff => "spot_off",
            Self::ForwardOutvoted => "forward_outvoted",
            Self::NoPair => "no_pair",
            Self::FewPairs => "few_pairs",
            Self::ForwardUncertain => "forward_uncertain",
            Self::Extrapolated => "extrapolated",
            Self::LowConfidence => "low_confidence",
            Self::OutsideSpread => "outside_spread",
            Self::ProjectedDividends => "projected_dividends",
            Self::Overridden => "overridden",
            Self::NearExpiry => "near_expiry",
            Self::SchemesDiffer => "schemes_differ",
            Self::NoEvidence => "no_evidence",
        }
    }

    /// What it means, in one line.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NoValue => "no value: its expiry has no forward or no curve",
            Self::AdjustedRoot => "its root delivers something else than the underlying, so it has no value here",
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
            Self::Rough => "early exercise comes from lattices until its tables are built: about 1e-4 of the price",
            Self::SpotOff => "its options tell another spot than the published one, and values follow it",
            Self::ForwardOutvoted => "its pairs tell another forward than the other expiries make likely",
            Self::NoPair => "no pair of call and put of its expiry tells the forward: the other expiries do",
            Self::FewPairs => "fewer than three pairs of call and put tell the forward",
            Self::ForwardUncertain => "the forward is known to five basis points or worse",
            Self::Extrapolated => "its strike lies beyond the last one whose quote supports the curve",
            Self::LowConfidence => "few quotes near its strike support the curve",
            Self::OutsideSpread => "the curve lies outside of the volatilities at its bid and ask",
            Self::ProjectedDividends => "a dividend of its life is expected and not declared",
            Self::Overridden => "a user has said some of its inputs",
            Self::NearExpiry => "it settles within a day: spot and clock move its values most",
            Self::SchemesDiffer => "the reference scheme gives another value than the one that is served",
            Self::NoEvidence => "its chain was read back or loaded: what it was computed from is not known here",
        }
    }
}

/// What holds of a contract, the gravest first.
///
/// # Domain   an explanation of this chain, its warnings still missing
pub(super) fn of(chain: &Chain, found: &Explanation) -> Vec<Warning> {
    let (row, slice) = (found.row, &chain.slices[found.slice]);
    let number = |col: Col| chain.columns.get(col)[row];
    let (value, sigma, strike) = (number(Col::SvcTheo), number(Col::SvcVol), f64::from(chain.strike_milli[row]) / 1e3);
    let mut all = Vec::new();
    let mut warn = |holds: bool, warning: Warning| {
        if holds {
            all.push(warning);
        }
    };
    warn(slice.adjusted, Warning::AdjustedRoot);
    warn(value.is_nan() && !slice.adjusted, Warning::NoValue);
    if let Some(why) = chain.dropped[row] {
        warn(true, Warning::Quote(why));
    }
    let valued = value.is_finite();
    let confidence = number(Col::ConfVol);
    let is_previous = confidence <= 0.0 && (sigma - number(Col::PrevVol)).abs() < 1e-12;
    warn(valued && is_previous, Warning::PreviousSession);
    warn(chain.rough, Warning::Rough);
    warn(chain.spot_off, Warning::SpotOff);
    warn(valued && chain.evidence.is_none(), Warning::NoEvidence);
    if let Some(basis) = &found.basis {
        let fwd = slice.fwd_price;
        let said = basis.known.fwd || basis.known.borrow;
        let apart = (found.told.fwd - fwd).abs() / found.told.error.max(basis.fwd_error);
        warn(!said && apart > OUTVOTED_ERRORS, Warning::ForwardOutvoted);
        warn(!said && found.told.pairs == 0, Warning::NoPair);
        warn(!said && (1..PAIRS_FEW).contains(&found.told.pairs), Warning::FewPairs);
        warn(basis.fwd_error > FORWARD_ERROR_MOST * fwd, Warning::ForwardUncertain);
        let is_projected = |source: DividendSource| source == DividendSource::Projected;
        warn(basis.dividends.iter().any(|d| is_projected(d.source)), Warning::ProjectedDividends);
        let is_said = |source: DividendSource| source == DividendSource::Override;
        let known = basis.known;
        let overridden = known.fwd || known.borrow || known.rate || basis.vol_shift.abs() > 0.0;
        warn(overridden || basis.dividends.iter().any(|d| is_said(d.source)), Warning::Overridden);
    }
    warn(valued && !is_previous && is_extrapolated(chain, found), Warning::Extrapolated);
    warn(valued && !is_previous && confidence < CONFIDENCE_LOW, Warning::LowConfidence);
    warn(sigma < number(Col::BidVol) || sigma > number(Col::AskVol), Warning::OutsideSpread);
    warn(slice.days < DAYS_NEAR, Warning::NearExpiry);
    if let Some(values) = &found.values {
        let far = SCHEMES_APART.0.max(SCHEMES_APART.1 * strike);
        warn((values.reference.value - value).abs() > far, Warning::SchemesDiffer);
    }
    all
}

/// Whether no strike at or beyond this one has a quote that supports the curve.
fn is_extrapolated(chain: &Chain, found: &Explanation) -> bool {
    let supports = |row: &usize| chain.dropped[*row].is_none() && chain.columns.get(Col::MidVol)[*row].is_finite();
    let strikes = rows(&chain.slices[found.slice]).filter(supports).map(|row| chain.strike_milli[row]);
    let own = chain.strike_milli[found.row];
    match (strikes.clone().min(), strikes.max()) {
        (Some(low), Some(high)) => own < low || own > high,
        _ => true,
    }
}
