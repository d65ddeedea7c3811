//! Rows in another order than the native one, pages of them, and the lists of expirations.
//!
//! A position is a contract, not a number: a page begins after the last contract of the page before. So a client that
//! follows pages gets every contract once, even if a snapshot is published in between. Never: a filter, bytes.

use crate::picked::{Expiration, Picked, ranges_of};
use crate::rows::identity::push_osi_head;
use engine::store::chain::{Chain, Slice};
use jiff::civil::Date;
use kernel::contract::{ContractKey, Right, Symbol};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Order of the rows of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Expiry, AM before PM, root, strike, call before put.
    #[default]
    Native,
    /// As [`Sort::Native`], but in each (root, expiry) all calls before all puts.
    CallsFirst,
    /// The compact symbol as text: root, expiry, calls before puts, strike.
    Ticker,
    /// Expiry, then as [`Sort::Ticker`].
    Expiry,
    /// Strike, then as [`Sort::Ticker`].
    Strike,
}

/// The part of the ordered rows that an answer shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Order of the rows.
    pub sort: Sort,
    /// True: from the last row to the first.
    pub descending: bool,
    /// Only rows after this contract, which need not be listed any more. Has an effect in orders by ticker, expiry and
    /// strike.
    pub after: Option<ContractKey>,
    /// Number of first rows to skip.
    pub offset: usize,
    /// Maximum number of rows; `None`: all.
    pub limit: Option<usize>,
}

/// Picked rows of one slice, and the slice's sort key.
struct Run<'p> {
    picked: &'p Picked,
    slice: &'p Slice,
    key: SortKey,
}

/// Sort key of a slice. Keys are equal only in native order, which sorting keeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey {
    expiry: Option<Date>,
    /// Root and date as text, without padding.
    head: [u8; 16],
}

/// The rows in the page's order, cut to the page, and the last contract of the page if more rows follow it.
#[must_use]
pub fn page(picked: Vec<Picked>, page: &Page) -> (Vec<Picked>, Option<ContractKey>) {
    if *page == Page::default() {
        return (picked, None);
    }
    let mut paging = Paging { skip: page.offset, limit: page.limit, rows: Vec::new(), is_full: false };
    if page.sort == Sort::Strike {
        by_strike(&picked, page, &mut paging);
    } else {
        by_slice(&picked, page, &mut paging);
    }
    let last = paging.rows.last().filter(|_| paging.is_full).map(|&(picked, row)| key_of(&picked.chain, row));
    (regroup(&paging.rows), last)
}

/// Rows taken so far.
struct Paging<'p> {
    skip: usize,
    limit: Option<usize>,
    rows: Vec<(&'p Picked, u32)>,
    /// True if more rows follow than the page holds.
    is_full: bool,
}

impl<'p> Paging<'p> {
    fn take(&mut self, picked: &'p Picked, row: u32) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.limit.is_some_and(|limit| self.rows.len() >= limit) {
            self.is_full = true;
        } else {
            self.rows.push((picked, row));
        }
    }
}

/// Orders in which a slice stays together: slices before the key of `after` are skipped unread.
fn by_slice<'p>(picked: &'p [Picked], wanted: &Page, paging: &mut Paging<'p>) {
    let mut runs = runs(picked, wanted.sort);
    runs.sort_by_key(|run| run.key);
    if wanted.descending {
        runs.reverse();
    }
    let after = wanted.after.filter(|_| matches!(wanted.sort, Sort::Ticker | Sort::Expiry));
    let after = after
        .map(ContractKey::served)
        .map(|key| (SortKey::of(wanted.sort, key.root, key.expiry), (key.right, key.strike_milli)));
    for run in &runs {
        let slice_side = after.map(|(key, _)| directed(run.key.cmp(&key), wanted.descending));
        if slice_side == Some(Ordering::Less) {
            continue;
        }
        for row in run.rows(wanted) {
            let key = key_of(&run.picked.chain, row);
            let is_behind = slice_side != Some(Ordering::Equal)
                || after.is_none_or(|(_, last)| {
                    directed((key.right, key.strike_milli).cmp(&last), wanted.descending) == Ordering::Greater
                });
            if is_behind {
                paging.take(run.picked, row);
            }
            if paging.is_full {
                return;
            }
        }
    }
}

fn by_strike<'p>(picked: &'p [Picked], wanted: &Page, paging: &mut Paging<'p>) {
    let mut runs = runs(picked, Sort::Ticker);
    runs.sort_by_key(|run| run.key);
    let ascending = Page { sort: Sort::Ticker, ..Page::default() };
    let mut rows: Vec<(u32, &Run<'p>, u32)> = Vec::new();
    for run in &runs {
        let strikes = &run.picked.chain.strike_milli;
        rows.extend(run.rows(&ascending).into_iter().map(|row| (strikes[row as usize], run, row)));
    }
    // Stable: rows of one strike stay in the order of their symbols.
    rows.sort_by_key(|&(strike, ..)| strike);
    if wanted.descending {
        rows.reverse();
    }
    let key = |key: ContractKey| (key.strike_milli, SortKey::of(Sort::Ticker, key.root, key.expiry), key.right);
    let after = wanted.after.map(ContractKey::served).map(key);
    for (strike, run, row) in rows {
        let here = (strike, run.key, run.picked.chain.right[row as usize]);
        if after.is_none_or(|last| directed(here.cmp(&last), wanted.descending) == Ordering::Greater) {
            paging.take(run.picked, row);
        }
        if paging.is_full {
            return;
        }
    }
}

fn directed(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
}

/// The picked rows slice by slice, in native order.
fn runs(picked: &[Picked], sort: Sort) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    for picked in picked {
        for slice in &picked.chain.slices {
            let key = SortKey::of(sort, slice.root, slice.expiry);
            runs.push(Run { picked, slice, key });
        }
    }
    runs
}

impl Run<'_> {
    fn rows(&self, wanted: &Page) -> Vec<u32> {
        let mut rows: Vec<u32> = self.picked.rows_of(self.slice).collect();
        if wanted.sort != Sort::Native {
            let right = &self.picked.chain.right;
            // Stable: strikes ascend in a slice.
            rows.sort_by_key(|&row| right[row as usize] == Right::Put);
        }
        if wanted.descending {
            rows.reverse();
        }
        rows
    }
}

impl SortKey {
    fn of(sort: Sort, root: Symbol, expiry: Date) -> Self {
        let mut head = [0; 16];
        if !matches!(sort, Sort::Native | Sort::CallsFirst) {
            let mut text = Vec::with_capacity(head.len());
            push_osi_head(&mut text, root, expiry, false);
            let n = text.len().min(head.len());
            head[..n].copy_from_slice(&text[..n]);
        }
        Self { expiry: (sort == Sort::Expiry).then_some(expiry), head }
    }
}

/// The contract of a row.
fn key_of(chain: &Chain, row: u32) -> ContractKey {
    let slice = &chain.slices[chain.slices.partition_point(|slice| slice.rows.end <= row)];
    let i = row as usize;
    ContractKey { root: slice.root, expiry: slice.expiry, strike_milli: chain.strike_milli[i], right: chain.right[i] }
}

/// Rows one by one to ranges, chain by chain as they follow one another.
fn regroup(rows: &[(&Picked, u32)]) -> Vec<Picked> {
    let of_chain = |run: &[(&Picked, u32)]| Picked {
        chain: Arc::clone(&run[0].0.chain),
        rows: ranges_of(run.iter().map(|&(_, row)| row)),
    };
    rows.chunk_by(|a, b| Arc::ptr_eq(&a.0.chain, &b.0.chain)).map(of_chain).collect()
}

/// The expirations among the rows, all roots together.
#[must_use]
pub fn expirations(picked: &[Picked]) -> Vec<Expiration> {
    let mut dates: BTreeMap<Date, Vec<u32>> = BTreeMap::new();
    for picked in picked {
        for slice in &picked.chain.slices {
            let strikes = picked.rows_of(slice).map(|row| picked.chain.strike_milli[row as usize]);
            let mut strikes = strikes.peekable();
            if strikes.peek().is_some() {
                dates.entry(slice.expiry).or_default().extend(strikes);
            }
        }
    }
    let expiration = |(date, mut strikes_milli): (Date, Vec<u32>)| {
        strikes_milli.sort_unstable();
        strikes_milli.dedup();
        Expiration { date, strikes_milli }
    };
    dates.into_iter().map(expiration).collect()
}
