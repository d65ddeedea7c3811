//! Rows in another order than the native one, pages of them, and the lists of expirations. Never: a filter.

use super::{Picked, Ranges};
use crate::rows::listing::Expiration;
use engine::contract::{ContractKey, Right};
use engine::store::chain::{Chain, Slice};
use jiff::civil::Date;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// In which order rows are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Expiry, AM before PM, root, strike, call before put.
    #[default]
    Native,
    /// As the native one, but in each (root, expiry) all calls before all puts.
    CallsFirst,
    /// The compact symbol as text: root, expiry, calls before puts, strike.
    Ticker,
    /// Expiry, then as [`Sort::Ticker`].
    Expiry,
    /// Strike, then as [`Sort::Ticker`].
    Strike,
}

/// Which part of the ordered rows an answer shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// In which order.
    pub sort: Sort,
    /// From the last to the first.
    pub descending: bool,
    /// Only what comes after this contract, whether or not it is still listed.
    pub after: Option<ContractKey>,
    /// So many of the first rows are left out.
    pub offset: usize,
    /// At most so many rows; `None`: all.
    pub limit: Option<usize>,
}

/// A row of one of several chains.
#[derive(Clone, Copy)]
struct Found {
    chain: usize,
    row: u32,
    key: ContractKey,
}

/// The rows in the page's order, cut to the page, and the last contract of the page if more rows follow it.
#[must_use]
pub fn page(picked: Vec<Picked>, page: &Page) -> (Vec<Picked>, Option<ContractKey>) {
    if *page == Page::default() {
        return (picked, None);
    }
    let mut found = found(&picked);
    if page.sort != Sort::Native || page.descending {
        found.sort_by(|a, b| page.compare(&a.key, &b.key));
    }
    if let Some(after) = &page.after {
        found.retain(|f| page.compare(&f.key, after) == Ordering::Greater);
    }
    found.drain(..page.offset.min(found.len()));
    let n = page.limit.unwrap_or(usize::MAX);
    let next = if n > 0 && found.len() > n { found.get(n - 1).map(|f| f.key) } else { None };
    found.truncate(n);
    (gather(&picked, &found), next)
}

impl Page {
    fn compare(&self, a: &ContractKey, b: &ContractKey) -> Ordering {
        let ordering = match self.sort {
            Sort::Native => {
                (a.expiry, a.root, a.strike_milli, a.right).cmp(&(b.expiry, b.root, b.strike_milli, b.right))
            }
            Sort::CallsFirst => by_side(a).cmp(&by_side(b)),
            Sort::Ticker => by_ticker(a, b),
            Sort::Expiry => a.expiry.cmp(&b.expiry).then_with(|| by_ticker(a, b)),
            Sort::Strike => a.strike_milli.cmp(&b.strike_milli).then_with(|| by_ticker(a, b)),
        };
        if self.descending { ordering.reverse() } else { ordering }
    }
}

fn by_side(key: &ContractKey) -> (Date, engine::contract::Symbol, Right, u32) {
    (key.expiry, key.root, key.right, key.strike_milli)
}

/// The order of the compact symbols as text. The date follows the root at once, so of two roots of which one begins the
/// other, the longer may come first: `ACME1` is before `ACME2`6….
fn by_ticker(a: &ContractKey, b: &ContractKey) -> Ordering {
    if a.root == b.root {
        return (a.expiry, a.right, a.strike_milli).cmp(&(b.expiry, b.right, b.strike_milli));
    }
    crate::cursor::ticker(a).cmp(&crate::cursor::ticker(b))
}

/// Every row, with the contract that it is.
fn found(picked: &[Picked]) -> Vec<Found> {
    let mut found = Vec::with_capacity(picked.iter().map(Picked::count).sum());
    for (i, Picked { chain, rows }) in picked.iter().enumerate() {
        let mut slices = chain.slices.iter();
        let mut slice: Option<&Slice> = slices.next();
        for row in rows.iter().cloned().flatten() {
            while slice.is_some_and(|s| s.rows.end <= row) {
                slice = slices.next();
            }
            let Some(slice) = slice else { break };
            found.push(Found { chain: i, row, key: key_of(chain, slice, row) });
        }
    }
    found
}

/// The contract of a row.
#[must_use]
pub fn key_of(chain: &Chain, slice: &Slice, row: u32) -> ContractKey {
    let i = row as usize;
    ContractKey { root: slice.root, expiry: slice.expiry, strike_milli: chain.strike_milli[i], right: chain.right[i] }
}

/// Rows in the order of `found`, as ranges of their chains.
fn gather(picked: &[Picked], found: &[Found]) -> Vec<Picked> {
    let of_chain = |run: &[Found]| {
        let mut rows = Ranges::default();
        run.iter().for_each(|f| rows.push(f.row..f.row + 1));
        Picked { chain: picked[run[0].chain].chain.clone(), rows: rows.0 }
    };
    found.chunk_by(|a, b| a.chain == b.chain).map(of_chain).collect()
}

/// The expirations among the rows, all roots together.
#[must_use]
pub fn expirations(picked: &[Picked]) -> Vec<Expiration> {
    let mut dates: BTreeMap<Date, Vec<u32>> = BTreeMap::new();
    for f in found(picked) {
        dates.entry(f.key.expiry).or_default().push(f.key.strike_milli);
    }
    let expiration = |(date, mut strikes_milli): (Date, Vec<u32>)| {
        strikes_milli.sort_unstable();
        strikes_milli.dedup();
        Expiration { date, strikes_milli }
    };
    dates.into_iter().map(expiration).collect()
}
