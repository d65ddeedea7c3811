//! Filters of some vendors beyond names and bounds: kinds of expirations, moneyness, lists of strikes and deltas,
//! nearest strikes.
//!
//! They apply to the rows of [`crate::selection`] in this order: age, settlement, expirations, moneyness, strikes,
//! deltas, strikes near the money. A missing number passes no filter. Never: bytes, a parameter's name.

use crate::picked::{Picked, ranges_of};
use crate::query::{Bounds, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::days_between;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use engine::store::quotes::QuoteNumber;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{Right, Settle, Style, strike_of};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Filters that apply after a selection. The default admits everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VendorFilters {
    /// Only chains that were valued at or after this instant.
    pub valued_since: Option<Timestamp>,
    /// True: only AM-settled contracts; false: none of them. An underlying without index options is refused.
    pub am: Option<bool>,
    /// True: only PM-settled contracts; false: none of them. An underlying without index options is refused.
    pub pm: Option<bool>,
    /// Filter of expirations.
    pub expirations: Expirations,
    /// Filter of moneyness.
    pub money: Money,
    /// Ranges of strikes; empty: all.
    pub strikes: Vec<Bounds>,
    /// Filter of deltas.
    pub deltas: Deltas,
    /// Bounds of the volume since the open; no effect if quotes are not shown.
    pub volume: Bounds,
    /// Bounds of the open interest; no effect if quotes are not shown.
    pub open_interest: Bounds,
    /// Number of strikes nearest to the spot, per (root, expiry).
    pub near_strikes: Option<usize>,
    /// True: `near_strikes` counts calls and puts separately.
    pub near_each_right: bool,
}

/// Kinds of expirations: those that meet every given condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expirations {
    /// Only the next monthly one.
    pub next_monthly: bool,
    /// In this month of any year.
    pub month: Option<i8>,
    /// In this year.
    pub year: Option<i16>,
    /// True: weekly expirations; false: no weekly expirations. Several kinds that are true are a union.
    pub weekly: Option<bool>,
    /// Monthly expirations, as [`Self::weekly`].
    pub monthly: Option<bool>,
    /// Quarterly expirations, as [`Self::weekly`].
    pub quarterly: Option<bool>,
    /// Of the remaining expirations, the nearest to each of these numbers of calendar days; empty: all.
    pub days_near: Vec<f64>,
}

/// Position of a strike relative to the spot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Money {
    /// Anywhere.
    #[default]
    Any,
    /// In the money: a call below the spot, a put above.
    In,
    /// Not in the money.
    Out,
    /// Out of the money by at most this much.
    Near(f64),
    /// The strike of each (root, expiry) that is nearest to the spot.
    At,
}

/// Filter of deltas.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Deltas {
    /// Any.
    #[default]
    Any,
    /// The strikes whose call or put has the magnitude nearest to one of these numbers, per (root, expiry).
    Nearest(Vec<f64>),
    /// Ranges of magnitudes.
    Within(Vec<Bounds>),
}

/// Data of a request that filters need.
#[derive(Clone, Copy, Debug)]
pub struct FilterContext<'c> {
    /// Rights that the request selects.
    pub rights: Rights,
    /// The current date in Eastern time.
    pub today: Date,
    /// Calendar, for monthly expirations.
    pub calendar: &'c Calendar,
}

/// Returns the rows that pass the filters.
///
/// # Errors
/// [`Refusal::Conflict`] if a settlement is given for an underlying without index options.
pub fn filter_picked(
    picked: Vec<Picked>,
    filters: &VendorFilters,
    context: &FilterContext<'_>,
) -> Result<Vec<Picked>, Refusal> {
    if *filters == VendorFilters::default() {
        return Ok(picked);
    }
    let is_index = |picked: &Picked| picked.chain.slices.iter().any(|slice| slice.style == Style::European);
    if (filters.am.is_some() || filters.pm.is_some()) && !picked.is_empty() && !picked.iter().any(is_index) {
        return Err(Refusal::Conflict { reason: "am and pm are for index options" });
    }
    let left = picked.into_iter().filter_map(|picked| filter_chain(&picked, filters, context));
    Ok(left.collect())
}

fn filter_chain(picked: &Picked, filters: &VendorFilters, context: &FilterContext<'_>) -> Option<Picked> {
    let chain = &picked.chain;
    if filters.valued_since.is_some_and(|since| chain.valued_at < since) {
        return None;
    }
    let slices = chain
        .slices
        .iter()
        .map(|slice| (slice, picked.rows_of(slice).collect()))
        .filter(|(_, rows): &(_, Vec<u32>)| !rows.is_empty());
    let slices: Vec<(&Slice, Vec<u32>)> = slices.collect();
    let kinds = slices.iter().map(|(slice, _)| *slice).filter(|slice| admit_kind(slice, filters));
    let dates = expirations(kinds, &filters.expirations, context);
    let mut kept = Vec::new();
    for (slice, mut rows) in slices {
        if admit_kind(slice, filters) && dates.contains(&slice.expiry) {
            filter_rows(chain, slice, filters, context.rights, &mut rows);
            kept.append(&mut rows);
        }
    }
    (!kept.is_empty()).then(|| Picked { chain: Arc::clone(chain), rows: ranges_of(kept) })
}

fn admit_kind(slice: &Slice, filters: &VendorFilters) -> bool {
    let is_am = slice.settle == Settle::Am;
    filters.am.is_none_or(|wanted| wanted == is_am) && filters.pm.is_none_or(|wanted| wanted != is_am)
}

/// Listed dates that pass the filter of expirations.
fn expirations<'s>(
    slices: impl Iterator<Item = &'s Slice>,
    wanted: &Expirations,
    context: &FilterContext<'_>,
) -> BTreeSet<Date> {
    let FilterContext { today, calendar, .. } = *context;
    let days = |date: Date| days_between(today, date) as f64;
    let admitted = slices.filter(|slice| {
        wanted.month.is_none_or(|month| slice.expiry.month() == month)
            && wanted.year.is_none_or(|year| slice.expiry.year() == year)
            && admit_series(slice, wanted, calendar)
    });
    if wanted.next_monthly {
        let next = admitted.filter(|slice| Series::of(slice, calendar).monthly).map(|slice| slice.expiry).min();
        return next.into_iter().collect();
    }
    let dates: BTreeSet<Date> = admitted.map(|slice| slice.expiry).collect();
    if wanted.days_near.is_empty() {
        return dates;
    }
    let nearest = |n: &f64| {
        // The first of equals, which is the earlier date.
        dates.iter().copied().min_by(|&a, &b| (days(a) - n).abs().total_cmp(&(days(b) - n).abs()))
    };
    wanted.days_near.iter().filter_map(nearest).collect()
}

/// Kinds of an expiration.
struct Series {
    monthly: bool,
    quarterly: bool,
}

impl Series {
    fn of(slice: &Slice, calendar: &Calendar) -> Self {
        let date = slice.expiry;
        // The volatility indices, which alone settle in the morning on that Wednesday.
        let is_vix_day = slice.style == Style::European && slice.settle == Settle::Am;
        let monthly = date == calendar.monthly_expiry(date) || (is_vix_day && date == calendar.vix_expiry(date));
        Self { monthly, quarterly: date.month() % 3 == 0 && date == calendar.month_end_expiry(date) }
    }
}

fn admit_series(slice: &Slice, wanted: &Expirations, calendar: &Calendar) -> bool {
    let kinds = [wanted.monthly, wanted.quarterly, wanted.weekly];
    if kinds == [None; 3] {
        return true;
    }
    let series = Series::of(slice, calendar);
    let is = [series.monthly, series.quarterly, !series.monthly && !series.quarterly];
    let named = |value: bool| is.iter().zip(kinds).any(|(&is, kind)| is && kind == Some(value));
    if kinds.contains(&Some(true)) { named(true) } else { !named(false) }
}

/// Applies the filters that check rows.
fn filter_rows(chain: &Chain, slice: &Slice, filters: &VendorFilters, rights: Rights, rows: &mut Vec<u32>) {
    let strike = |row: u32| chain.strike_milli[row as usize];
    let right = |row: u32| chain.right[row as usize];
    if filters.money == Money::At {
        keep_near(chain, slice, 1, rows);
    } else {
        rows.retain(|&row| admit_money(filters.money, spot_minus_strike(chain, slice, row), right(row)));
    }
    if !filters.strikes.is_empty() {
        rows.retain(|&row| filters.strikes.iter().any(|bounds| bounds.admit(strike_of(strike(row)))));
    }
    if let Some(quotes) = &chain.quotes {
        let count = |row: u32, number| quotes.get(row as usize, number);
        rows.retain(|&row| {
            filters.volume.admit(count(row, QuoteNumber::Volume))
                && filters.open_interest.admit(count(row, QuoteNumber::OpenInterest))
        });
    }
    let magnitude = |row: u32| chain.columns.get(Col::Delta)[row as usize].abs();
    match &filters.deltas {
        Deltas::Any => {}
        Deltas::Within(within) => rows.retain(|&row| within.iter().any(|bounds| bounds.admit(magnitude(row)))),
        Deltas::Nearest(to) => {
            let mut found = BTreeSet::new();
            for side in [Right::Call, Right::Put].into_iter().filter(|&side| rights.admit(side)) {
                let of_side = rows.iter().copied().filter(|&row| right(row) == side && magnitude(row).is_finite());
                let ladder = Ladder::of(of_side.map(|row| (magnitude(row), row)));
                found.extend(to.iter().filter_map(|&wanted| ladder.nearest(wanted)).map(strike));
            }
            rows.retain(|&row| found.contains(&strike(row)));
        }
    }
    match filters.near_strikes {
        Some(n) if filters.near_each_right => {
            let (mut calls, mut puts): (Vec<u32>, Vec<u32>) =
                rows.drain(..).partition(|&row| right(row) == Right::Call);
            keep_near(chain, slice, n, &mut calls);
            keep_near(chain, slice, n, &mut puts);
            rows.extend(calls.into_iter().chain(puts));
            rows.sort_unstable();
        }
        Some(n) => keep_near(chain, slice, n, rows),
        None => {}
    }
}

/// Rows by a magnitude, ascending; rows of equal magnitude keep their order.
struct Ladder(Vec<(f64, u32)>);

impl Ladder {
    fn of(rows: impl Iterator<Item = (f64, u32)>) -> Self {
        let mut ladder: Vec<(f64, u32)> = rows.collect();
        ladder.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self(ladder)
    }

    /// The row whose magnitude is nearest; the first row of equally near ones.
    fn nearest(&self, wanted: f64) -> Option<u32> {
        let first_from = |x: f64| self.0.partition_point(|&(magnitude, _)| magnitude < x);
        let at = first_from(wanted);
        let above = self.0.get(at).copied();
        let below = at.checked_sub(1).map(|last| self.0[first_from(self.0[last].0)]);
        let distance = |(magnitude, _): (f64, u32)| (magnitude - wanted).abs();
        let near = below.into_iter().chain(above);
        near.min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.1.cmp(&b.1))).map(|(_, row)| row)
    }
}

fn admit_money(money: Money, below_spot: f64, right: Right) -> bool {
    let into = below_spot * right.phi();
    match money {
        Money::Any | Money::At => true,
        Money::In => into > 0.0,
        Money::Out => into <= 0.0,
        Money::Near(distance) => into <= 0.0 && into >= -distance,
    }
}

fn spot_minus_strike(chain: &Chain, slice: &Slice, row: u32) -> f64 {
    slice.und_price - strike_of(chain.strike_milli[row as usize])
}

/// Keeps the rows of the `n` strikes nearest to the spot; of two equally near strikes, the lower counts as nearer.
fn keep_near(chain: &Chain, slice: &Slice, n: usize, rows: &mut Vec<u32>) {
    let strike = |row: u32| chain.strike_milli[row as usize];
    let mut strikes: Vec<(f64, u32)> =
        rows.iter().map(|&row| (spot_minus_strike(chain, slice, row).abs(), strike(row))).collect();
    strikes.retain(|(distance, _)| distance.is_finite());
    strikes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    strikes.dedup();
    strikes.truncate(n);
    let mut kept: Vec<u32> = strikes.into_iter().map(|(_, strike)| strike).collect();
    kept.sort_unstable();
    rows.retain(|&row| kept.binary_search(&strike(row)).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_ladder_finds_what_looking_at_every_row_finds(
            steps in proptest::collection::vec(0u8..9, 0..40),
            wanted in 0u8..40,
        ) {
            // quarters, so that distances are exact and ties occur
            let magnitudes: Vec<f64> = steps.iter().map(|&step| f64::from(step) / 4.0).collect();
            let wanted = f64::from(wanted) / 8.0;
            let distance = |&(_, magnitude): &(u32, f64)| (magnitude - wanted).abs();
            let rows = || (0u32..).zip(magnitudes.iter().copied());
            let naive = rows().min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|(row, _)| row);
            prop_assert_eq!(Ladder::of(rows().map(|(row, magnitude)| (magnitude, row))).nearest(wanted), naive);
        }
    }
}
