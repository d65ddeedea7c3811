//! Selected rows in a vendor's order, and the page of them that was asked for.
//!
//! A place in an order is a contract, not a number: a page begins strictly behind the last contract of the page before,
//! so that following pages shows every contract once although another snapshot was published in between. Never: bytes,
//! a parameter's name.

use crate::rows::identity::push_osi_head;
use crate::select::Picked;
use engine::contract::{ContractKey, Right, Symbol};
use engine::store::chain::{Chain, Slice};
use jiff::civil::Date;
use std::cmp::Ordering;
use std::sync::Arc;

/// By what rows are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum By {
    /// As the native layer does.
    #[default]
    Native,
    /// Of each (root, expiry) in native order all calls, then all puts, by strike.
    Sides,
    /// By OSI symbol as text: root, date, calls, puts, strike.
    Symbol,
    /// By expiration, then by OSI symbol.
    Expiry,
    /// By strike, then by OSI symbol.
    Strike,
}

/// An order of rows and a window into it.
#[derive(Clone, Debug, Default)]
pub struct Arrangement {
    /// By what.
    pub by: By,
    /// The other way round.
    pub descending: bool,
    /// Only what comes behind this contract. Counts in orders by symbol, expiry and strike.
    pub after: Option<ContractKey>,
    /// How many rows to leave out first.
    pub offset: usize,
    /// How many rows at most.
    pub limit: Option<usize>,
}

/// The rows of one page.
#[derive(Clone, Debug)]
pub struct Page {
    /// The rows, in order. A chain occurs as often as the order needs it.
    pub picked: Vec<Picked>,
    /// The last contract on the page, if there are more behind it.
    pub last: Option<ContractKey>,
}

/// The rows of one slice that were picked, and its place among slices.
struct Run<'p> {
    picked: &'p Picked,
    slice: &'p Slice,
    place: Place,
}

/// Where a slice stands; ties of equal places do not occur but in native order, which is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    expiry: Option<Date>,
    /// Root and date as text, without padding.
    head: [u8; 16],
}

/// Orders rows and takes the page.
#[must_use]
pub fn arrange(picked: Vec<Picked>, wanted: &Arrangement) -> Page {
    let is_plain = wanted.by == By::Native && !wanted.descending;
    if is_plain && wanted.offset == 0 && wanted.limit.is_none() {
        return Page { picked, last: None };
    }
    let mut page = Paging { skip: wanted.offset, room: wanted.limit, rows: Vec::new(), is_full: false };
    if wanted.by == By::Strike {
        by_strike(&picked, wanted, &mut page);
    } else {
        by_slice(&picked, wanted, &mut page);
    }
    let last = if page.is_full { page.rows.last().map(|&(picked, row)| key_of(&picked.chain, row)) } else { None };
    Page { picked: regroup(&page.rows), last }
}

/// Rows taken so far.
struct Paging<'p> {
    skip: usize,
    room: Option<usize>,
    rows: Vec<(&'p Picked, u32)>,
    /// There was a row more than room for it.
    is_full: bool,
}

impl<'p> Paging<'p> {
    fn take(&mut self, picked: &'p Picked, row: u32) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.room.is_some_and(|room| self.rows.len() >= room) {
            self.is_full = true;
        } else {
            self.rows.push((picked, row));
        }
    }
}

/// Orders in which a slice stays together: whole slices before the place of `after` are passed over unread.
fn by_slice<'p>(picked: &'p [Picked], wanted: &Arrangement, page: &mut Paging<'p>) {
    let mut runs = runs(picked, wanted.by);
    runs.sort_by_key(|run| run.place);
    if wanted.descending {
        runs.reverse();
    }
    let after = wanted.after.filter(|_| matches!(wanted.by, By::Symbol | By::Expiry));
    let after = after.map(|key| (Place::of(wanted.by, key.root, key.expiry), (key.right, key.strike_milli)));
    for run in &runs {
        let slice_side = after.map(|(place, _)| directed(run.place.cmp(&place), wanted.descending));
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
                page.take(run.picked, row);
            }
            if page.is_full {
                return;
            }
        }
    }
}

fn by_strike<'p>(picked: &'p [Picked], wanted: &Arrangement, page: &mut Paging<'p>) {
    let mut runs = runs(picked, By::Symbol);
    runs.sort_by_key(|run| run.place);
    let ascending = Arrangement { by: By::Symbol, ..Arrangement::default() };
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
    let place = |key: ContractKey| (key.strike_milli, Place::of(By::Symbol, key.root, key.expiry), key.right);
    let after = wanted.after.map(place);
    for (strike, run, row) in rows {
        let here = (strike, run.place, run.picked.chain.right[row as usize]);
        if after.is_none_or(|last| directed(here.cmp(&last), wanted.descending) == Ordering::Greater) {
            page.take(run.picked, row);
        }
        if page.is_full {
            return;
        }
    }
}

fn directed(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
}

/// The picked rows slice by slice, in native order.
fn runs(picked: &[Picked], by: By) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    for picked in picked {
        for slice in &picked.chain.slices {
            let place = Place::of(by, slice.root, slice.expiry);
            runs.push(Run { picked, slice, place });
        }
    }
    runs
}

impl Run<'_> {
    fn rows(&self, wanted: &Arrangement) -> Vec<u32> {
        let mut rows: Vec<u32> = self.picked.rows_of(self.slice).collect();
        if wanted.by != By::Native {
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

impl Place {
    fn of(by: By, root: Symbol, expiry: Date) -> Self {
        let mut head = [0; 16];
        if !matches!(by, By::Native | By::Sides) {
            let mut text = Vec::with_capacity(head.len());
            push_osi_head(&mut text, root, expiry, false);
            let n = text.len().min(head.len());
            head[..n].copy_from_slice(&text[..n]);
        }
        Self { expiry: (by == By::Expiry).then_some(expiry), head }
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
    let mut out: Vec<Picked> = Vec::new();
    for &(picked, row) in rows {
        match out.last_mut() {
            Some(last) if Arc::ptr_eq(&last.chain, &picked.chain) => match last.rows.last_mut() {
                Some(range) if range.end == row => range.end += 1,
                _ => last.rows.push(row..row + 1),
            },
            _ => out.push(Picked { chain: Arc::clone(&picked.chain), rows: vec![row..row + 1] }),
        }
    }
    out
}
