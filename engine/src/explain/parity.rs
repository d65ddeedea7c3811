//! Strikes that imply the forward of an expiry, and reasons why others do not count. Never: a served forward.

use super::basis::{ValueBasis, rows};
use crate::calibrate::forward::{Pair, PairVote, Parity, pair_votes};
use crate::store::chain::{Chain, Slice};
use crate::store::drop_reason::DropReason;
use crate::store::evidence::{ParityEvidence, SliceEvidence};
use kernel::contract::{Right, Style, strike_of_share};
use std::collections::BTreeMap;

/// The forward that call and put of a strike imply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrikeParity {
    /// Strike, thousandths of a currency unit.
    pub strike_milli: u32,
    /// Weight of the strike in the forward, or the reason why it has none.
    pub outcome: StrikeOutcome,
}

/// Weight of a strike in the forward, or the reason why it has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StrikeOutcome {
    /// The pair counts.
    Voted(PairVote),
    /// The pair does not count.
    Unused(Unused),
}

/// Why a strike does not count for the forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// Only one right is listed.
    OneRight,
    /// The quote of one right was dropped.
    Dropped(Right, DropReason),
    /// No plausible carry explains the forward that it implies.
    Implausible,
    /// Too far from the money, or as good as exercised, so that the early-exercise premium cannot be removed.
    Insensitive,
}

impl Unused {
    /// Name of the reason in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneRight => "one_right_listed",
            Self::Dropped(_, why) => why.name(),
            Self::Implausible => "implausible",
            Self::Insensitive => "far_or_exercised",
        }
    }
}

/// Returns the forward that all pairs imply together, and that of each strike.
///
/// # Domain   evidence of the chain's own pass; the fit repeats that of the pass, from the same pairs
pub(super) fn strike_parities(
    chain: &Chain,
    slice: &Slice,
    basis: &ValueBasis,
    evidence: &SliceEvidence,
) -> (Parity, Vec<StrikeParity>) {
    let pair = |(strike, pair): (usize, &ParityEvidence)| Pair {
        strike,
        k: strike_of_share(evidence.deliverable, pair.strike_milli),
        gap: pair.gap,
        half: pair.half,
        straddle: pair.straddle,
    };
    let pairs: Vec<Pair> = evidence.pairs.iter().enumerate().map(pair).collect();
    let (together, votes) = pair_votes(&pairs, basis.terms.df(), basis.terms.t);
    let voted: BTreeMap<u32, PairVote> =
        evidence.pairs.iter().map(|pair| pair.strike_milli).zip(votes.iter().copied()).collect();
    let mut quoted: BTreeMap<u32, [Option<usize>; 2]> = BTreeMap::new();
    for row in rows(slice) {
        quoted.entry(chain.strike_milli[row]).or_default()[chain.right[row] as usize] = Some(row);
    }
    let strikes = quoted.into_iter().map(|(strike_milli, rows)| {
        let outcome = match voted.get(&strike_milli) {
            Some(&vote) => StrikeOutcome::Voted(vote),
            None => StrikeOutcome::Unused(why_unused(chain, slice, rows)),
        };
        StrikeParity { strike_milli, outcome }
    });
    (together, strikes.collect())
}

fn why_unused(chain: &Chain, slice: &Slice, rows: [Option<usize>; 2]) -> Unused {
    let [Some(call), Some(put)] = rows else { return Unused::OneRight };
    // outliers of the curve are found after the forward, and so still counted for it
    let dropped = |row: usize| chain.dropped[row].filter(|&why| why != DropReason::Outlier);
    let found = dropped(call).map(|why| (Right::Call, why)).or(dropped(put).map(|why| (Right::Put, why)));
    match found {
        Some((right, why)) => Unused::Dropped(right, why),
        None if slice.style == Style::American => Unused::Insensitive,
        None => Unused::Implausible,
    }
}
