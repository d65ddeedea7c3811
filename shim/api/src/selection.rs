//! From a selection to rows: names, bounds and a centre become ranges of row ids, chain by chain, in native order.
//!
//! A slice's strikes ascend, so bounds of names, dates and strikes cut a range out of it without looking at rows; only
//! right, delta and centre look at rows. Order of work: names, expirations, days, strikes; then the centre, chosen
//! among what is left of each (root, expiry); then right and delta. A missing number passes no filter on it: contracts
//! without Greeks (adjusted roots) are part of the answer unless it filters by days, delta or centre. Never: bytes, a
//! parameter's name.

pub mod filters;
pub mod order;
pub mod scan;
pub mod symbols;
pub mod unserved;

use crate::limits::{NAMES_AT_ONCE, ROWS_AT_ONCE};
use crate::picked::{Picked, Ranges};
use crate::query::{Bounds, Rights};
use crate::refusal::{Refusal, cut};
use crate::rows::clock::days_between;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use jiff::civil::Date;
use kernel::calendar::expirations::canonical_expiry;
use kernel::contract::{ContractKey, Right, Symbol, strike_of};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Contracts that a request selects: those that meet every given condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// One name, as vendor layers take it: an underlying, else a root.
    pub name: Option<Symbol>,
    /// True: every underlying, in the order of the snapshot. Further names select among them.
    pub everything: bool,
    /// Underlyings, in the order of the answer; empty: any.
    pub underlyings: Vec<Symbol>,
    /// Option roots; empty: any. Without underlyings, their order is that of the answer.
    pub roots: Vec<Symbol>,
    /// Contracts; empty: any. Without underlyings and roots, their order is that of the answer.
    pub contracts: Vec<ContractKey>,
    /// Exact expirations; `None`: any.
    pub expiries: Option<Vec<Date>>,
    /// The first expiration admitted.
    pub expiry_min: Option<Date>,
    /// The last expiration admitted.
    pub expiry_max: Option<Date>,
    /// Strikes, currency per share.
    pub strike: Bounds,
    /// Only strikes above this.
    pub strike_above: Option<f64>,
    /// Only strikes below this.
    pub strike_below: Option<f64>,
    /// Fractional calendar days to settlement.
    pub days: Bounds,
    /// Whole calendar days from `today` to expiry.
    pub dte: Bounds,
    /// The current date in Eastern time, which `dte` is counted from.
    pub today: Date,
    /// Magnitude of delta.
    pub abs_delta: Bounds,
    /// Delta of the call of the strike, for both sides of it.
    pub call_delta: Bounds,
    /// Call, put or both.
    pub rights: Rights,
    /// Only strikes around an anchor.
    pub center: Option<Center>,
    /// Number of strikes around the anchor; at least one.
    pub strike_count: usize,
    /// Only the strike whose call has the delta nearest to one half, and this many strikes on each side.
    pub strike_range: Option<usize>,
    /// True: without roots that have an adjusted deliverable.
    pub standard_only: bool,
}

impl Selection {
    /// The requested names, underlyings or roots.
    #[must_use]
    pub fn names(&self) -> Vec<Symbol> {
        let named = self.name.iter().chain(&self.underlyings).chain(&self.roots).copied();
        named.chain(self.contracts.iter().map(|contract| contract.root)).collect()
    }

    /// Selects everything of an underlying, or of a root.
    #[must_use]
    pub fn named(name: Symbol) -> Self {
        Self { name: Some(name), ..Self::default() }
    }

    /// True if conditions are checked row by row.
    #[must_use]
    pub fn looks_at_rows(&self) -> bool {
        let any = Bounds::default();
        self.rights != Rights::Both
            || self.abs_delta != any
            || self.call_delta != any
            || self.center.is_some()
            || self.strike_range.is_some()
    }

    /// True if it selects every contract of its underlyings.
    fn is_of_whole_names(&self) -> bool {
        let &Self { everything, today, ref underlyings, .. } = self;
        *self == Self { everything, today, underlyings: underlyings.clone(), ..Self::default() }
    }

    /// Turns the selection into one that selects nothing.
    #[must_use]
    pub fn for_nothing(self) -> Self {
        Self { expiries: Some(Vec::new()), ..self }
    }
}

/// Anchor around which strikes of an expiry are selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Center {
    /// The underlying's price.
    AtMoney,
    /// The forward of the expiry.
    AtForward,
    /// This delta of the call.
    CallDelta(f64),
    /// This delta of the put, which is negative.
    PutDelta(f64),
}

/// Returns the selected rows. Unknown names have none.
///
/// # Errors
/// [`Refusal::NoSnapshot`] if no requested name is computed yet and one soon will be.
pub fn select(snapshot: &Snapshot, selection: &Selection) -> Result<Vec<Picked>, Refusal> {
    let resolved = selection.name.map(|name| resolve(snapshot, selection, name));
    let selection = resolved.as_ref().unwrap_or(selection);
    let chains = named_chains(snapshot, selection);
    if chains.is_empty() && is_pending(snapshot, selection) {
        let Selection { underlyings, roots, contracts, .. } = selection;
        let mut names: Vec<&str> = underlyings.iter().chain(roots).map(Symbol::as_str).collect();
        names.extend(contracts.iter().map(|contract| contract.root.as_str()));
        names.dedup();
        return Err(not_yet(snapshot, &names.join(", ")));
    }
    let (names, is_whole) = (Names::of(selection), selection.is_of_whole_names());
    let rows = |chain: &Arc<Chain>| match is_whole {
        true => std::iter::once(0..chain.rows()).filter(|rows| !rows.is_empty()).collect(),
        false => pick_rows(chain, selection, &names),
    };
    let pick = |chain: &Arc<Chain>| Picked { chain: Arc::clone(chain), rows: rows(chain) };
    Ok(chains.into_iter().map(pick).filter(|picked| !picked.rows.is_empty()).collect())
}

/// The refusal of a request for `names` that are not computed yet.
#[must_use]
pub fn not_yet(snapshot: &Snapshot, names: &str) -> Refusal {
    let waiting_for = match snapshot.number {
        0 => "the first quotes of any feed (see `feeds` in /health)".to_owned(),
        _ => format!("the first values of {}", cut(names)),
    };
    Refusal::NoSnapshot { waiting_for }
}

/// True if the selection takes long: many names, or a chain with many rows that are checked one by one.
#[must_use]
pub fn is_heavy(snapshot: &Snapshot, selection: &Selection, looks_at_rows: bool) -> bool {
    let Selection { name, everything, underlyings, roots, contracts, .. } = selection;
    if *everything || underlyings.len() + roots.len() + contracts.len() > NAMES_AT_ONCE {
        return true;
    }
    if !looks_at_rows {
        return false;
    }
    let of_names = name.iter().chain(underlyings).filter_map(|&name| chain_of(snapshot, name));
    let listed = name.iter().map(|name| name.bare()).chain(roots.iter().copied());
    let of_roots = listed.chain(contracts.iter().map(|key| key.root)).flat_map(|root| snapshot.chains_of_root(root));
    of_names.chain(of_roots).any(|chain| chain.rows() > ROWS_AT_ONCE)
}

/// Resolves the name of a selection: an underlying, pending ones included, else a root.
fn resolve(snapshot: &Snapshot, selection: &Selection, name: Symbol) -> Selection {
    let mut selection = selection.clone();
    if snapshot.is_pending(name) || chain_of(snapshot, name).is_some() {
        selection.underlyings = vec![name];
    } else if selection.roots.is_empty() || selection.roots.contains(&name.bare()) {
        selection.roots = vec![name.bare()];
    } else {
        // the root of this name is not among the requested roots
        selection = selection.for_nothing();
    }
    selection
}

/// Chains that may have the named contracts, each once, in the order of the answer.
fn named_chains<'s>(snapshot: &'s Snapshot, selection: &Selection) -> Vec<&'s Arc<Chain>> {
    if selection.everything {
        return snapshot.chains().iter().collect();
    }
    let mut seen = HashSet::new();
    let mut chains = Vec::new();
    let mut add = |chain: &'s Arc<Chain>| {
        if seen.insert(chain.underlying) {
            chains.push(chain);
        }
    };
    if !selection.underlyings.is_empty() {
        selection.underlyings.iter().filter_map(|&name| chain_of(snapshot, name)).for_each(add);
    } else if !selection.roots.is_empty() {
        selection.roots.iter().flat_map(|&root| snapshot.chains_of_root(root)).for_each(add);
    } else {
        selection.contracts.iter().flat_map(|key| snapshot.chains_of_root(key.root)).for_each(&mut add);
    }
    chains
}

/// The chain of an underlying, class shares also by the spelling of their root (`BRKB` for `BRK.B`).
fn chain_of(snapshot: &Snapshot, name: Symbol) -> Option<&Arc<Chain>> {
    let spelt_as_root = |chain: &&Arc<Chain>| chain.underlying.bare() == name;
    snapshot.chain(name).or_else(|| snapshot.chains_of_root(name).find(spelt_as_root))
}

/// True if a requested name will be computed soon. Before the first pass, any name may.
fn is_pending(snapshot: &Snapshot, selection: &Selection) -> bool {
    if snapshot.number == 0 {
        return true;
    }
    if !selection.underlyings.is_empty() {
        return selection.underlyings.iter().any(|&name| snapshot.is_pending(name));
    }
    if snapshot.pending().is_empty() {
        return false;
    }
    let mut bare: Vec<Symbol> = snapshot.pending().iter().map(|name| name.bare()).collect();
    bare.sort_unstable();
    let is_of_pending = |root: Symbol| {
        let is = |name: Symbol| bare.binary_search(&name).is_ok();
        is(root) || without_series(root).is_some_and(is)
    };
    selection.roots.iter().copied().any(is_of_pending) || selection.contracts.iter().any(|key| is_of_pending(key.root))
}

/// A root without its last character, if that marks a weekly or PM series or an adjusted root.
fn without_series(root: Symbol) -> Option<Symbol> {
    let stem = root.as_str().strip_suffix(|last: char| matches!(last, 'W' | 'P' | '1'..='9'))?;
    Symbol::parse(stem)
}

/// Requested names, sorted for look-up.
struct Names {
    roots: Vec<Symbol>,
    contracts: Vec<ContractKey>,
    expiries: Option<Vec<Date>>,
}

impl Names {
    fn of(selection: &Selection) -> Self {
        // contracts and dates may be named as they are listed
        let served = |dates: &Vec<Date>| dates.iter().map(|&date| canonical_expiry(date)).collect();
        let mut names = Self {
            roots: selection.roots.clone(),
            contracts: selection.contracts.iter().map(|key| key.served()).collect(),
            expiries: selection.expiries.as_ref().map(served),
        };
        names.roots.sort_unstable();
        names.roots.dedup();
        names.contracts.sort_unstable();
        names.contracts.dedup();
        if let Some(dates) = &mut names.expiries {
            dates.sort_unstable();
            dates.dedup();
        }
        names
    }

    fn admit_root(&self, root: Symbol) -> bool {
        self.roots.is_empty() || self.roots.binary_search(&root).is_ok()
    }

    fn admit_expiry(&self, expiry: Date) -> bool {
        self.expiries.as_ref().is_none_or(|dates| dates.binary_search(&expiry).is_ok())
    }

    /// Requested contracts of one (root, expiry), by strike, call before put.
    fn contracts_of(&self, slice: &Slice) -> &[ContractKey] {
        let of = |key: &ContractKey| (key.root, key.expiry);
        let start = self.contracts.partition_point(|key| of(key) < (slice.root, slice.expiry));
        let rest = &self.contracts[start..];
        &rest[..rest.partition_point(|key| of(key) == (slice.root, slice.expiry))]
    }
}

/// Selected rows of one chain.
fn pick_rows(chain: &Chain, selection: &Selection, names: &Names) -> Vec<Range<u32>> {
    let mut rows = Ranges::default();
    for slice in &chain.slices {
        if admit_slice(slice, selection, names) {
            let bounded = within_strikes(chain, slice, selection);
            if names.contracts.is_empty() {
                pick_slice(chain, slice, &[bounded], selection, &mut rows);
            } else {
                let listed = named_rows(chain, &bounded, names.contracts_of(slice));
                pick_slice(chain, slice, &listed, selection, &mut rows);
            }
        }
    }
    rows.into_vec()
}

fn admit_slice(slice: &Slice, selection: &Selection, names: &Names) -> bool {
    names.admit_root(slice.root)
        && names.admit_expiry(slice.expiry)
        && is_within(slice.expiry, selection.expiry_min, selection.expiry_max)
        && selection.days.admit(slice.days)
        && (selection.dte == Bounds::default()
            || selection.dte.admit(days_between(selection.today, slice.expiry) as f64))
        && !(selection.standard_only && slice.adjusted)
}

/// True if an expiry lies between two dates; two equal dates name one expiry, by its served or its listed date.
#[must_use]
pub fn is_within(expiry: Date, first: Option<Date>, last: Option<Date>) -> bool {
    let first = if first == last { first.map(canonical_expiry) } else { first };
    first.is_none_or(|first| expiry >= first) && last.is_none_or(|last| expiry <= last)
}

/// Applies centre, right and delta to candidate rows of one slice.
fn pick_slice(chain: &Chain, slice: &Slice, candidates: &[Range<u32>], selection: &Selection, rows: &mut Ranges) {
    let whole = selection.rights == Rights::Both && selection.abs_delta == Bounds::default();
    let delta = chain.columns.get(Col::Delta);
    let admit_row = |row: &u32| {
        let i = *row as usize;
        selection.rights.admit(chain.right[i]) && selection.abs_delta.admit(delta[i].abs())
    };
    let mut push = |range: Range<u32>| {
        if whole {
            rows.push(range);
        } else {
            range.filter(admit_row).for_each(|row| rows.push(row..row + 1));
        }
    };
    let near: Vec<Range<u32>>;
    let mut candidates = candidates;
    if let Some(side) = selection.strike_range {
        near = around_half(chain, slice, candidates, side);
        candidates = &near;
    }
    match selection.center {
        None if selection.call_delta != Bounds::default() => {
            let admitted = |strike: &Range<u32>| selection.call_delta.admit(call_delta(chain, slice, strike));
            by_strike(chain, candidates).filter(admitted).for_each(push);
        }
        None => candidates.iter().cloned().for_each(push),
        Some(center) => {
            nearest(chain, slice, candidates, center, selection.strike_count).into_iter().for_each(&mut push)
        }
    }
}

/// Rows of a slice whose strikes are within bounds; strikes ascend.
fn within_strikes(chain: &Chain, slice: &Slice, selection: &Selection) -> Range<u32> {
    let bounds = &selection.strike;
    let strikes = &chain.strike_milli[slice.rows.start as usize..slice.rows.end as usize];
    let below = |limit: f64| strikes.partition_point(|&milli| strike_of(milli) < limit) as u32;
    let up_to = |limit: f64| strikes.partition_point(|&milli| strike_of(milli) <= limit) as u32;
    let n = strikes.len() as u32;
    let start = bounds.least.map_or(0, below).max(selection.strike_above.map_or(0, up_to));
    let end = bounds.most.map_or(n, up_to).min(selection.strike_below.map_or(n, below));
    slice.rows.start + start..slice.rows.start + end.max(start)
}

/// The rows of the contracts that are listed within a range.
fn named_rows(chain: &Chain, within: &Range<u32>, contracts: &[ContractKey]) -> Vec<Range<u32>> {
    let mut rows = Ranges::default();
    for key in contracts {
        let row = lower_bound(chain, within, (key.strike_milli, key.right));
        let i = row as usize;
        if row < within.end && chain.strike_milli[i] == key.strike_milli && chain.right[i] == key.right {
            rows.push(row..row + 1);
        }
    }
    rows.into_vec()
}

/// The first row in a range of one slice that is not before (strike, right).
fn lower_bound(chain: &Chain, within: &Range<u32>, key: (u32, Right)) -> u32 {
    let (mut low, mut high) = (within.start, within.end);
    while low < high {
        let middle = low + (high - low) / 2;
        let i = middle as usize;
        if (chain.strike_milli[i], chain.right[i]) < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Candidate rows of the `count` strikes nearest to the centre, ascending. Of two equally near strikes, the lower
/// counts as nearer. A strike without the number to compare (no priced call, no forward) is left out.
fn nearest(chain: &Chain, slice: &Slice, candidates: &[Range<u32>], center: Center, count: usize) -> Vec<Range<u32>> {
    let anchor = match center {
        Center::AtMoney => slice.und_price,
        Center::AtForward => slice.fwd_price,
        Center::CallDelta(delta) | Center::PutDelta(delta) => delta,
    };
    if let (Center::AtMoney | Center::AtForward, [within]) = (center, candidates) {
        return around(chain, within, anchor, count);
    }
    let place = |strike: &Range<u32>| match center {
        Center::AtMoney | Center::AtForward => strike_of(chain.strike_milli[strike.start as usize]),
        Center::CallDelta(_) => call_delta(chain, slice, strike),
        Center::PutDelta(_) => put_delta(chain, slice, strike),
    };
    let measure = |strike: Range<u32>| ((place(&strike) - anchor).abs(), strike);
    let mut strikes: Vec<(f64, Range<u32>)> =
        by_strike(chain, candidates).map(measure).filter(|(distance, _)| distance.is_finite()).collect();
    if count < strikes.len() {
        strikes.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0).then(a.1.start.cmp(&b.1.start)));
        strikes.truncate(count);
    }
    strikes.sort_unstable_by_key(|(_, strike)| strike.start);
    strikes.into_iter().map(|(_, strike)| strike).collect()
}

/// The `count` strikes of a range nearest to an anchor, ascending; of two equally near strikes, the lower counts as
/// nearer.
fn around(chain: &Chain, within: &Range<u32>, anchor: f64, count: usize) -> Vec<Range<u32>> {
    if !anchor.is_finite() {
        return Vec::new();
    }
    let (start, end) = (within.start as usize, within.end as usize);
    let strikes = &chain.strike_milli[..end];
    let is_pair = |row: usize| start <= row && row + 1 < end && strikes[row] == strikes[row + 1];
    let mut low = start + strikes[start..].partition_point(|&milli| strike_of(milli) < anchor);
    let mut high = low;
    for _ in 0..count {
        let below = (start < low).then(|| anchor - strike_of(strikes[low - 1]));
        let above = (high < end).then(|| strike_of(strikes[high]) - anchor);
        match (below, above) {
            (None, None) => break,
            (Some(below), above) if above.is_none_or(|above| below <= above) => {
                low -= if low >= 2 && is_pair(low - 2) { 2 } else { 1 };
            }
            (_, _) => high += if is_pair(high) { 2 } else { 1 },
        }
    }
    let near = low as u32..high as u32;
    by_strike(chain, std::slice::from_ref(&near)).collect()
}

/// The strike whose call has a delta nearest to one half and `side` strikes on each side of it, as one range; empty if
/// no call has a delta.
fn around_half(chain: &Chain, slice: &Slice, candidates: &[Range<u32>], side: usize) -> Vec<Range<u32>> {
    let strikes: Vec<Range<u32>> = by_strike(chain, candidates).collect();
    let Some(middle) = nearest(chain, slice, candidates, Center::CallDelta(0.5), 1).into_iter().next() else {
        return Vec::new();
    };
    let Some(at) = strikes.iter().position(|strike| strike.start == middle.start) else { return Vec::new() };
    strikes[at.saturating_sub(side)..strikes.len().min(at.saturating_add(side).saturating_add(1))].to_vec()
}

/// Delta of the call at the strike of these rows, which need not contain the call; NaN: none.
fn call_delta(chain: &Chain, slice: &Slice, rows: &Range<u32>) -> f64 {
    let strike_milli = chain.strike_milli[rows.start as usize];
    // the call stands before the put
    let is_call =
        |row: &u32| chain.right[*row as usize] == Right::Call && chain.strike_milli[*row as usize] == strike_milli;
    let before = rows.start.checked_sub(1).filter(|row| slice.rows.contains(row));
    let row = [Some(rows.start), before].into_iter().flatten().find(is_call);
    row.map_or(f64::NAN, |row| chain.columns.get(Col::Delta)[row as usize])
}

/// The delta of the put of a strike; NaN if it has none.
fn put_delta(chain: &Chain, slice: &Slice, rows: &Range<u32>) -> f64 {
    let strike_milli = chain.strike_milli[rows.start as usize];
    // the put stands behind the call
    let is_put =
        |row: &u32| chain.right[*row as usize] == Right::Put && chain.strike_milli[*row as usize] == strike_milli;
    let row = (rows.start..slice.rows.end).take(2).find(is_put);
    row.map_or(f64::NAN, |row| chain.columns.get(Col::Delta)[row as usize])
}

/// Candidate rows of one slice, strike by strike.
fn by_strike<'c>(chain: &'c Chain, candidates: &'c [Range<u32>]) -> impl Iterator<Item = Range<u32>> + 'c {
    let rows = candidates.iter().cloned().flatten();
    let mut rows = rows.peekable();
    std::iter::from_fn(move || {
        let start = rows.next()?;
        let strike = chain.strike_milli[start as usize];
        let mut end = start + 1;
        // A put that is a candidate follows its call at once, so a strike's candidates always touch.
        while rows.next_if(|&row| row == end && chain.strike_milli[row as usize] == strike).is_some() {
            end += 1;
        }
        Some(start..end)
    })
}
