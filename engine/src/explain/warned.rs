//! Finds the warnings that apply to a contract. Never: a number of a method.

use super::basis::rows;
use super::explanation::Explanation;
use super::warning::Warning;
use crate::rates::source::RateSource;
use crate::store::chain::Chain;
use crate::store::columns::Col;
use crate::store::doubt::Doubt;
use crate::store::evidence::DividendSource;
use kernel::contract::{IdentityOnly, RootTable, Style};

/// Confidence below which a warning is given: about half of the quotes around, or more, miss the curve.
const CONFIDENCE_LOW: f64 = 0.3;
/// Relative standard error above which a forward is uncertain: five basis points move an at-the-money delta by as much
/// as a spread does.
const FORWARD_ERROR_MOST: f64 = 5e-4;
/// Number of pairs below which they are few: one wrong pair is then not outvoted.
const PAIRS_FEW: u32 = 3;
/// Distance in standard errors between the forward and the one that the expiry's own pairs imply, above which they are
/// outvoted.
const OUTVOTED_ERRORS: f64 = 3.0;
/// Relative distance above which the spot of an expiry differs from the published one: a hundredth of a percent.
const SPOT_APART: f64 = 1e-4;
/// Days to settlement below which a contract settles soon.
const DAYS_NEAR: f64 = 1.0;
/// Difference between the values of two schemes above which a warning is given: currency per share, and part of the
/// strike.
const SCHEMES_APART: (f64, f64) = (0.005, 5e-5);

/// Returns the warnings that apply to a contract, the most serious first.
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
    let has_terms = slice.und_price.is_finite();
    let facts = RootTable::embedded().facts(slice.root, chain.underlying);
    let is_for = |why: IdentityOnly| slice.adjusted && !has_terms && facts.identity_only == Some(why);
    warn(is_for(IdentityOnly::Adjusted), Warning::AdjustedRoot);
    warn(is_for(IdentityOnly::Binary), Warning::BinaryRoot);
    warn(is_for(IdentityOnly::Unknown), Warning::UnknownRoot);
    warn(slice.adjusted && has_terms, Warning::Deliverable);
    warn(value.is_nan() && (has_terms || !slice.adjusted), Warning::NoValue);
    if let Some(why) = chain.dropped[row] {
        warn(true, Warning::Quote(why));
    }
    let valued = value.is_finite();
    let confidence = number(Col::ConfVol);
    let is_previous = confidence <= 0.0 && (sigma - number(Col::PrevVol)).abs() < 1e-12;
    warn(valued && is_previous, Warning::PreviousSession);
    warn(chain.preliminary, Warning::Preliminary);
    warn(chain.firm.are_contradicted(), Warning::QuotesMissed);
    warn(chain.spot_off, Warning::SpotOff);
    warn(chain.doubt == Some(Doubt::Borrow), Warning::BorrowDoubted);
    warn(chain.doubt == Some(Doubt::Dividends), Warning::DividendsDoubted);
    warn(valued && chain.spot_is_implied(), Warning::SpotImplied);
    warn(valued && chain.evidence.is_none(), Warning::NoEvidence);
    if let Some(basis) = &found.basis {
        let fwd = slice.fwd_price;
        let shift = (basis.s / chain.spot - 1.0).abs();
        warn(valued && !slice.adjusted && !chain.spot_off && shift > SPOT_APART, Warning::SpotShifted);
        let is_forced = basis.known.fwd || basis.known.borrow;
        let apart = (found.parity.fwd - fwd).abs() / found.parity.error.max(basis.fwd_error);
        warn(!is_forced && apart > OUTVOTED_ERRORS, Warning::ForwardOutvoted);
        warn(!is_forced && found.parity.pairs == 0, Warning::NoPair);
        warn(!is_forced && (1..PAIRS_FEW).contains(&found.parity.pairs), Warning::FewPairs);
        warn(basis.fwd_error > FORWARD_ERROR_MOST * fwd, Warning::ForwardUncertain);
        let is_projected = |source: DividendSource| source == DividendSource::Projected;
        warn(basis.dividends.iter().any(|d| is_projected(d.source)), Warning::ProjectedDividends);
        warn(basis.dividends_refused > 0, Warning::DividendsRefused);
        let is_european = slice.style == Style::European;
        warn(!basis.dividends_known && !is_european, Warning::DividendsUnknown);
        if let Some(origin) = basis.rates {
            warn(origin.source == RateSource::Zero, Warning::ZeroRates);
            warn(origin.is_old(chain.valued_at), Warning::OldRates);
        }
        let is_override = |source: DividendSource| source == DividendSource::Override;
        let known = basis.known;
        let overridden = known.fwd || known.borrow || known.rate || basis.vol_shift.abs() > 0.0;
        warn(overridden || basis.dividends.iter().any(|d| is_override(d.source)), Warning::Overridden);
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

/// True if no strike at or beyond this one has a quote that supports the curve.
fn is_extrapolated(chain: &Chain, found: &Explanation) -> bool {
    let supports = |row: &usize| chain.dropped[*row].is_none() && chain.columns.get(Col::MidVol)[*row].is_finite();
    let strikes = rows(&chain.slices[found.slice]).filter(supports).map(|row| chain.strike_milli[row]);
    let own = chain.strike_milli[found.row];
    match (strikes.clone().min(), strikes.max()) {
        (Some(low), Some(high)) => own < low || own > high,
        _ => true,
    }
}
