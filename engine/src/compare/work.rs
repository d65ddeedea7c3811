//! One expiry in a comparison: its market, its time to settlement by other conventions, its contracts. Never: a reason.

use super::residual::SliceResidual;
use super::world::{Contract, VendorRow, World, WorldPremium, WorldTables};
use crate::explain::value_basis;
use crate::store::chain::Chain;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::{Calendar, years_between};
use kernel::contract::{Settle, Style};
use kernel::dividends::{Dividend, Terms};
use std::iter::successors;
use std::sync::Arc;

/// Maximum contracts of an expiry in a comparison: those nearest the money.
const CONTRACTS_MOST: usize = 48;
/// Minimum number of contracts of a comparison.
const CONTRACTS_LEAST: usize = 4;
/// Days of a quarter, in which a name that pays quarterly goes ex once.
const QUARTER_DAYS: i32 = 92;
/// Maximum intervals in which the next dividend is searched.
const EX_DATES_MOST: usize = 6;
/// Step of a rate for the change of early exercise with it, per year.
pub(super) const RATE_STEP: f64 = 0.004;
/// Days of a year, calendar and trading.
const DAYS_OF_YEAR: (f64, f64) = (365.0, 252.0);

/// One expiry in a comparison.
pub(super) struct Work {
    pub(super) slice: usize,
    pub(super) base: World,
    /// Years to settlement by other conventions.
    pub(super) clocks: Clocks,
    pub(super) contracts: Vec<Contract>,
    /// Early exercise tables at our rates and at rates shifted by [`RATE_STEP`]; `None`: European.
    pub(super) tables: Option<WorkTables>,
    /// The worlds of reasons without a number, in the order in which they are tried; `None`: no effect here.
    pub(super) worlds: Vec<Option<World>>,
    pub(super) residual: SliceResidual,
    /// Squared difference at the vendor's volatilities.
    pub(super) at_vendor: f64,
    pub(super) dates: Vec<(Date, Dividend)>,
    /// Possible ex-dates of dividends that are not given, and years to them; empty if dividends are known.
    pub(super) ex_times: Vec<(Date, f64)>,
    /// The published price of the underlying; NaN: none.
    pub(super) published: f64,
}

/// Early exercise tables of one expiry. Premiums are nearly linear in a rate.
#[derive(Debug)]
pub(super) struct WorkTables {
    pub(super) own: Arc<WorldTables>,
    /// Shift of the discount rate with its tables, and shift of the borrow rate with its tables.
    pub(super) by_rate: (f64, Arc<WorldTables>),
    pub(super) by_borrow: (f64, Arc<WorldTables>),
}

impl WorkTables {
    fn new(terms: &Terms, contracts: &[Contract]) -> Self {
        let of = |terms: &Terms| Arc::new(WorldTables::new(terms, contracts));
        Self {
            own: of(terms),
            by_rate: (RATE_STEP, of(&Terms { r: terms.r + RATE_STEP, ..terms.clone() })),
            by_borrow: (RATE_STEP, of(&Terms { b: terms.b + RATE_STEP, ..terms.clone() })),
        }
    }
}

/// Years to settlement of one expiry, by other conventions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// To the other settlement of the date: the open instead of the close, or the reverse.
    pub(super) other_settlement: f64,
    /// Whole calendar days, of 365 to the year.
    pub(super) whole_days: f64,
    /// Sessions to expiry with the rest of today's, of 252 to the year.
    pub(super) trading_days: f64,
}

impl Clocks {
    /// The years to settlement of an expiry that is valued at `at`.
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

/// Inputs of our own values of an expiry, and its dividends by date; `None`: it has no values.
pub(super) fn base(chain: &Chain, calendar: &Calendar, slice: usize) -> Option<(World, Vec<(Date, Dividend)>)> {
    let of = &chain.slices[slice];
    let basis = value_basis(chain, slice)?;
    let settled = settled(calendar, chain.valued_at, of.expiry) / basis.terms.t;
    let dates = basis.dividends.iter().map(|d| (d.ex_date, Dividend { t: d.t, amount: d.amount })).collect();
    Some((World { early: WorldPremium::None, s: basis.s, terms: basis.terms, settled }, dates))
}

/// Data to compare of an expiry; `None`: it has no values, or too few contracts.
///
/// # Domain   any rows of the chain
pub(super) fn work(chain: &Chain, calendar: &Calendar, rows: &[VendorRow], slice: usize) -> Option<Work> {
    let of = &chain.slices[slice];
    let (mut base, dates) = base(chain, calendar, slice)?;
    let mut contracts: Vec<Contract> =
        rows.iter().filter(|row| of.rows.contains(&row.row)).filter_map(|row| Contract::new(chain, row)).collect();
    let far = |contract: &Contract| (contract.k / of.fwd_price).ln().abs() / contract.sigma;
    contracts.sort_by(|a, b| far(a).total_cmp(&far(b)).then(a.row.cmp(&b.row)));
    contracts.truncate(CONTRACTS_MOST);
    if contracts.len() < CONTRACTS_LEAST {
        return None;
    }
    let clocks = Clocks::new(calendar, chain.valued_at, of.expiry, of.settle);
    let (residual, published) = (SliceResidual::default(), chain.spot);
    let ex_times = ex_times(chain, calendar);
    let tables = (of.style == Style::American).then(|| WorkTables::new(&base.terms, &contracts));
    if let Some(tables) = &tables {
        base.early = WorldPremium::Of(Arc::clone(&tables.own), base.s);
    }
    Some(Work {
        slice,
        base,
        clocks,
        contracts,
        tables,
        worlds: Vec::new(),
        residual,
        at_vendor: 0.0,
        dates,
        ex_times,
        published,
    })
}

/// Years between the settlements of a trade today and of a trade at expiry: each a session later.
fn settled(calendar: &Calendar, at: Timestamp, expiry: Date) -> f64 {
    let after = |day: Date| {
        successors(day.tomorrow().ok(), |day| day.tomorrow().ok()).find(|&day| calendar.is_session(day)).unwrap_or(day)
    };
    let today = calendar.eastern(at).date();
    f64::from(after(today).until(after(expiry)).map_or(0, |span| span.get_days())) / DAYS_OF_YEAR.0
}

/// Candidate ex-dates of the next dividend, if no source covers the name: the middle of each interval between expiries
/// of the next quarter, as Greeks do not separate the days within an interval.
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
