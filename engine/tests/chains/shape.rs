//! The shape of the values of a chain, whatever its quotes were: never falling or rising the wrong way from
//! strike to strike, nor bent the wrong way.

use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use kernel::contract::Right;

/// The rows of a slice.
pub(crate) fn rows(slice: &Slice) -> core::ops::Range<usize> {
    slice.rows.start as usize..slice.rows.end as usize
}

/// Strike of a row, currency per share.
pub(crate) fn strike(chain: &Chain, row: usize) -> f64 {
    f64::from(chain.strike_milli[row]) / 1000.0
}

/// The (strike, value) of every priced contract of one right, ascending.
fn values(chain: &Chain, slice: &Slice, right: Right) -> Vec<(f64, f64)> {
    let theo = chain.columns.get(Col::SvcTheo);
    let priced = rows(slice).filter(|&row| chain.right[row] == right && !theo[row].is_nan());
    priced.map(|row| (strike(chain, row), theo[row])).collect()
}

/// Of every right of every slice what `faults` finds in its values, in one list.
fn of_each(chain: &Chain, faults: impl Fn(&[(f64, f64)], Right) -> Vec<String>) -> Vec<String> {
    let mut all = Vec::new();
    for slice in &chain.slices {
        for right in [Right::Call, Right::Put] {
            let found = faults(&values(chain, slice, right), right);
            all.extend(found.into_iter().map(|what| format!("{} {} {right:?} {what}", slice.root, slice.expiry)));
        }
    }
    all
}

/// Calls worth more than at the strike below, and puts worth more than at the strike above, by over `slack`.
pub(crate) fn not_monotone(chain: &Chain, slack: f64) -> Vec<String> {
    of_each(chain, |values, right| {
        let wrong = |w: &&[(f64, f64)]| right.phi() * (w[1].1 - w[0].1) > slack;
        values.windows(2).filter(wrong).map(|w| format!("{:?} then {:?}", w[0], w[1])).collect()
    })
}

/// Values above the straight line between those of the strikes beside them, by over `slack`.
pub(crate) fn not_convex(chain: &Chain, slack: f64) -> Vec<String> {
    of_each(chain, |values, _| {
        let line = |w: &[(f64, f64)]| w[0].1 + (w[2].1 - w[0].1) * (w[1].0 - w[0].0) / (w[2].0 - w[0].0);
        let wrong = |w: &&[(f64, f64)]| w[1].1 - line(w) > slack;
        values.windows(3).filter(wrong).map(|w| format!("{w:?}")).collect()
    })
}
