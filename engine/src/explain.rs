//! Explains the values of one contract of a finished chain.
//!
//! Served values are read from the chain and never computed again. Everything else is computed from the inputs of the
//! chain ([`ChainEvidence`](crate::store::evidence::ChainEvidence)): the call/put pairs that imply the forward, the
//! values by other schemes, and warnings. So an explanation is of the served values, even if quotes have changed since.
//! Never: a book, a sentence.
#![warn(clippy::arithmetic_side_effects)]

mod basis;
mod doubted;
mod explanation;
mod parity;
mod schemes;
mod warned;
mod warning;

pub use crate::store::evidence::ValueMethod;
pub use basis::{ValueBasis, value_basis};
pub use doubted::doubts_of;
pub use explanation::Explanation;
pub use parity::{StrikeOutcome, StrikeParity, Unused};
pub use schemes::SchemeValues;
pub use warning::Warning;

use crate::calibrate::forward::Parity;
use crate::store::chain::{Chain, Slice};
use crate::store::columns::Col;
use basis::{basis, rows};
use kernel::contract::{ContractKey, Right, strike_of_share};

/// Number of neighbouring strikes shown on either side.
const STRIKES_BESIDE: usize = 3;

/// Explains a contract; `None`: the chain does not list it.
///
/// # Domain   any chain, one that was read back or written by hand included: unknown inputs are left out
/// # Cost     a value by the reference scheme: up to some tenths of a second where dividends are ahead
#[must_use]
pub fn explain(chain: &Chain, contract: &ContractKey) -> Option<Explanation> {
    let (slice, row) = place(chain, contract)?;
    let of = &chain.slices[slice];
    let evidence = chain.evidence.as_ref().and_then(|evidence| evidence.slices.get(slice));
    let basis = evidence.and_then(|own| basis(chain, of, own));
    let (parity, strikes) = match (&basis, evidence) {
        (Some(basis), Some(evidence)) => parity::strike_parities(chain, of, basis, evidence),
        _ => (Parity::NONE, Vec::new()),
    };
    let sigma = chain.columns.get(Col::SvcVol)[row];
    let deliverable = evidence.and_then(|own| own.deliverable);
    let strike = strike_of_share(deliverable, chain.strike_milli[row]);
    let values = basis
        .as_ref()
        .filter(|_| sigma > 0.0)
        .map(|basis| schemes::values(of.style, chain.right[row], &basis.terms, basis.s, strike, sigma));
    let values = match deliverable {
        Some(terms) => values.map(|values| values.of_deliverable(&terms)),
        None => values,
    };
    let mut found = Explanation {
        slice,
        row,
        basis,
        parity,
        strikes,
        beside: beside(chain, of, row),
        expiries: neighbours(chain, slice, row),
        method: evidence.and_then(|own| own.methods.get(row.checked_sub(rows(of).start)?).copied().flatten()),
        values,
        warnings: Vec::new(),
    };
    found.warnings = warned::of(chain, &found);
    Some(found)
}

/// Slice and row of a contract.
fn place(chain: &Chain, contract: &ContractKey) -> Option<(usize, usize)> {
    let contract = contract.served();
    let is_of = |slice: &Slice| slice.root == contract.root && slice.expiry == contract.expiry;
    chain.slices.iter().enumerate().filter(|(_, slice)| is_of(slice)).find_map(|(i, slice)| {
        let row = rows(slice)
            .find(|&row| chain.strike_milli[row] == contract.strike_milli && chain.right[row] == contract.right)?;
        Some((i, row))
    })
}

/// Rows of the same right around a row.
fn beside(chain: &Chain, slice: &Slice, row: usize) -> Vec<usize> {
    let same: Vec<usize> = rows(slice).filter(|&other| chain.right[other] == chain.right[row]).collect();
    let Some(at) = same.iter().position(|&other| other == row) else { return Vec::new() };
    same[at.saturating_sub(STRIKES_BESIDE)..(at + STRIKES_BESIDE + 1).min(same.len())].to_vec()
}

/// The nearest expiries before and after with a curve, each with the row whose strike has the nearest ratio to its
/// forward.
fn neighbours(chain: &Chain, slice: usize, row: usize) -> Vec<(usize, usize)> {
    let of = &chain.slices[slice];
    let ratio = f64::from(chain.strike_milli[row]) / of.fwd_price;
    let has_curve = |i: &usize| *i != slice && chain.slices[*i].fwd_price > 0.0 && !chain.slices[*i].adjusted;
    let before = (0..slice).rev().find(has_curve);
    let after = (slice + 1..chain.slices.len()).find(has_curve);
    before.into_iter().chain(after).filter_map(|i| Some((i, nearest(chain, i, ratio, chain.right[row])?))).collect()
}

/// The row of a right whose strike is nearest to a multiple of the forward, in logarithms.
fn nearest(chain: &Chain, slice: usize, ratio: f64, right: Right) -> Option<usize> {
    let of = &chain.slices[slice];
    let far = |row: usize| (f64::from(chain.strike_milli[row]) / (ratio * of.fwd_price)).ln().abs();
    let same = rows(of).filter(|&row| chain.right[row] == right && far(row).is_finite());
    same.min_by(|&a, &b| far(a).total_cmp(&far(b)))
}
