//! One expiry on its way through a comparison: what it is valued on, how others count its time, its contracts.
//! Never: a reason.

use super::residual::SliceResidual;
use super::world::{Contract, VendorRow, World};
use crate::explain::value_basis;
use crate::store::chain::Chain;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::{Calendar, years_between};
use kernel::contract::Settle;
use kernel::dividends::Dividend;
use std::iter::successors;

/// Contracts of an expiry that reasons are looked for with: those nearest the money.
const CONTRACTS_MOST: usize = 48;
/// Minimum number of contracts of a comparison.
const CONTRACTS_LEAST: usize = 4;
/// Days of a quarter, in which a name that pays quarterly goes ex once.
const QUARTER_DAYS: i32 = 92;
/// Intervals in which the next dividend is looked for.
const EX_DATES_MOST: usize = 6;
/// Days of a year, calendar and trading.
const DAYS_OF_YEAR: (f64, f64) = (365.0, 252.0);

/// One expiry in work.
pub(super) struct Work {
    pub(super) slice: usize,
    pub(super) base: World,
    /// Years to settlement as others count them.
    pub(super) clocks: Clocks,
    pub(super) contracts: Vec<Contract>,
    pub(super) residual: SliceResidual,
    /// Squared difference at the vendor's volatilities.
    pub(super) at_vendor: f64,
    pub(super) dates: Vec<(Date, Dividend)>,
    /// Possible ex-dates of dividends that are not given, and years to them; empty if dividends are known.
    pub(super) ex_times: Vec<(Date, f64)>,
    /// The published price of the underlying; NaN: none.
    pub(super) published: f64,
}

/// Years to settlement of one expiry, as others count them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// To the other settlement of its date: at the open for at the close, or the reverse.
    pub(super) other_settlement: f64,
    /// Whole calendar days, of 365 to the year.
    pub(super) whole_days: f64,
    /// Sessions, and what is left of the one of today, of 252 to the year.
    pub(super) trading_days: f64,
}

impl Clocks {
    /// Of an expiry that is valued at an instant.
    fn new(calendar: &Calendar, at: Timestamp, expiry: Date, settle: Settle) -> Self {
        let today = calendar.eastern(at).date();
        let other = if settle == Settle::Am { Settle::Pm } else { Settle::Am };
        let whole = today.until(expiry).map_or(0, |span| span.get_days());
        let left = calendar.session(today).map_or(0.0, |(open, close)| {
            let length = close.duration_since(open).as_secs_f64();
            (close.duration_since(at).as_secs_f64() / length).clamp(0.0, 1.0)
        });
        let sessions = successors(Some(today), |day| day.tomorrow().ok())
            .skip(1)
            .take_while(|&day| day <= expiry)
            .filter(|&day| calendar.is_session(day));
        Self {
            other_settlement: years_between(at, calendar.settlement(expiry, other)),
            whole_days: f64::from(whole) / DAYS_OF_YEAR.0,
            trading_days: (sessions.count() as f64 + left) / DAYS_OF_YEAR.1,
        }
    }
}

/// Data to compare of an expiry; `None`: it has no values, or too few contracts.
pub(super) fn work(chain: &Chain, calendar: &Calendar, rows: &[VendorRow], slice: usize) -> Option<Work> {
    let of = &chain.slices[slice];
    let basis = value_basis(chain, slice)?;
    let base = World { style: of.style, s: basis.s, terms: basis.terms };
    let mut contracts: Vec<Contract> =
        rows.iter().filter(|row| of.rows.contains(&row.row)).filter_map(|row| Contract::new(chain, row)).collect();
    let far = |contract: &Contract| (contract.k / of.fwd_price).ln().abs() / contract.sigma;
    contracts.sort_by(|a, b| far(a).total_cmp(&far(b)).then(a.row.cmp(&b.row)));
    contracts.truncate(CONTRACTS_MOST);
    if contracts.len() < CONTRACTS_LEAST {
        return None;
    }
    let clocks = Clocks::new(calendar, chain.valued_at, of.expiry, of.settle);
    let dates = basis.dividends.iter().map(|d| (d.ex_date, Dividend { t: d.t, amount: d.amount })).collect();
    let (residual, published) = (SliceResidual::default(), chain.spot);
    let ex_times = ex_times(chain, calendar);
    Some(Work { slice, base, clocks, contracts, residual, at_vendor: 0.0, dates, ex_times, published })
}

/// Days on which the next dividend may go ex, where no source covers the name: the middle of each interval between
/// expiries of the next quarter, as no Greek separates the days within one.
fn ex_times(chain: &Chain, calendar: &Calendar) -> Vec<(Date, f64)> {
    if chain.evidence.as_ref().is_none_or(|evidence| evidence.dividends_known) {
        return Vec::new();
    }
    let today = calendar.eastern(chain.valued_at).date();
    let mut days: Vec<i32> =
        chain.slices.iter().filter_map(|slice| Some(today.until(slice.expiry).ok()?.get_days())).collect();
    days.sort_unstable();
    days.dedup();
    let before = core::iter::once(0).chain(days.iter().copied());
    let middles = before
        .zip(&days)
        .map(|(before, after)| before.midpoint(*after))
        .filter(|days| (1..=QUARTER_DAYS).contains(days));
    let date = |days: i32| {
        Some((today.checked_add(jiff::Span::new().try_days(days).ok()?).ok()?, f64::from(days) / DAYS_OF_YEAR.0))
    };
    middles.filter_map(date).take(EX_DATES_MOST).collect()
}
