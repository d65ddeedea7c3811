//! The image of a client: the numbers of each row, as they were last sent. Never: a text.

use api::vendors::native_stream::StreamField;
use engine::store::chain::{Chain, Slice};
use jiff::civil::Date;
use kernel::contract::{ContractKey, Right, Symbol};
use std::collections::HashMap;

/// Reciprocal of the last shown decimal: smaller differences are no change.
const SHOWN: f64 = 1e6;

/// The rows of a client, by slice.
#[derive(Debug, Default)]
pub(super) struct ClientImage {
    slices: HashMap<SliceName, SliceImage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SliceName {
    underlying: Symbol,
    root: Symbol,
    expiry: Date,
}

#[derive(Debug, Default)]
struct SliceImage {
    /// Strike and right of each row, ascending.
    keys: Vec<(u32, Right)>,
    /// Numbers of the rows: for each key, each field.
    values: Vec<f64>,
    /// Last update that contained the slice.
    update: u64,
}

/// Changes of a slice in an update.
#[derive(Debug, Default)]
pub(super) struct SliceChange {
    /// New and changed rows of the chain.
    pub(super) changed: Vec<usize>,
    /// Contracts of the client that are gone.
    pub(super) gone: Vec<ContractKey>,
}

impl ClientImage {
    /// Number of numbers in the image; the name of a row counts as one.
    pub(super) fn len(&self) -> usize {
        self.slices.values().map(|slice| slice.values.len() + slice.keys.len()).sum()
    }

    /// Replaces the rows of a slice, and returns the changes: rows whose first field moved by `min_move`, or, if that
    /// is 0, rows in which any shown decimal differs.
    pub(super) fn take(
        &mut self,
        chain: &Chain,
        slice: &Slice,
        rows: impl Iterator<Item = u32>,
        fields: &[StreamField],
        min_move: f64,
        update: u64,
    ) -> SliceChange {
        let name = SliceName { underlying: chain.underlying, root: slice.root, expiry: slice.listed };
        let image = self.slices.entry(name).or_default();
        let old = core::mem::take(image);
        let mut new = SliceImage { keys: Vec::new(), values: Vec::new(), update };
        let mut change = SliceChange::default();
        let mut at = 0;
        let mut numbers = Vec::with_capacity(fields.len());
        for row in rows.map(|row| row as usize) {
            let key = (chain.strike_milli[row], chain.right[row]);
            while at < old.keys.len() && order(old.keys[at]) < order(key) {
                change.gone.push(slice.contract(old.keys[at].0, old.keys[at].1));
                at += 1;
            }
            numbers.clear();
            numbers.extend(fields.iter().map(|field| number(*field, chain, slice, row)));
            let before = (old.keys.get(at) == Some(&key)).then(|| &old.values[at * fields.len()..][..fields.len()]);
            at += usize::from(before.is_some());
            new.keys.push(key);
            match before {
                // an unsent row stays as the client has it
                Some(before) if !differs(before, &numbers, min_move) => new.values.extend_from_slice(before),
                _ => {
                    change.changed.push(row);
                    new.values.extend_from_slice(&numbers);
                }
            }
        }
        change.gone.extend(old.keys.iter().skip(at).map(|&(strike, right)| slice.contract(strike, right)));
        // the permit counts lengths: spare capacity would not be counted
        new.keys.shrink_to_fit();
        new.values.shrink_to_fit();
        *image = new;
        change
    }

    /// Removes slices that were no part of an update, and returns their contracts.
    pub(super) fn end(&mut self, update: u64) -> Vec<ContractKey> {
        let mut gone: Vec<ContractKey> = Vec::new();
        self.slices.retain(|name, slice| {
            if slice.update != update {
                let key = |&(strike_milli, right): &(u32, Right)| ContractKey {
                    root: name.root,
                    expiry: name.expiry,
                    strike_milli,
                    right,
                };
                gone.extend(slice.keys.iter().map(key));
            }
            slice.update == update
        });
        gone.sort_unstable();
        gone
    }
}

fn order(key: (u32, Right)) -> (u32, u8) {
    (key.0, key.1 as u8)
}

/// A number of a row; NaN if missing.
pub(super) fn number(field: StreamField, chain: &Chain, slice: &Slice, row: usize) -> f64 {
    match field {
        StreamField::Column(col) => engine::exercise::column(chain, col)[row],
        StreamField::Slice(_, find) => find(slice),
    }
}

fn differs(before: &[f64], now: &[f64], min_move: f64) -> bool {
    let has_come_or_gone = |(before, now): (&f64, &f64)| before.is_nan() != now.is_nan();
    let is_other = |(before, now): (&f64, &f64)| {
        has_come_or_gone((before, now)) || ((before * SHOWN).round() - (now * SHOWN).round()).abs() > 0.5
    };
    if min_move > 0.0 {
        let moved = before.first().zip(now.first()).is_some_and(|(before, now)| (now - before).abs() >= min_move);
        return moved || before.iter().zip(now).any(has_come_or_gone);
    }
    before.iter().zip(now).any(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_one_that_is_shown() {
        let nan = f64::NAN;
        assert!(!differs(&[1.0, nan], &[1.000_000_4, nan], 0.0));
        assert!(differs(&[1.0, nan], &[1.000_000_6, nan], 0.0));
        assert!(differs(&[1.0, nan], &[1.0, 2.0], 0.0) && differs(&[1.0, 2.0], &[1.0, nan], 0.0));
        assert!(!differs(&[1.0, 5.0], &[1.05, 9.0], 0.1), "the first field has not moved enough");
        assert!(differs(&[1.0, 5.0], &[1.1, 5.0], 0.1) && differs(&[1.0, nan], &[1.0, 5.0], 0.1));
    }
}
