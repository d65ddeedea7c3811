//! One underlying from quotes to finished columns: the stages in their order.
//!
//! Pure: the same book, instant and calendar give the same chain. What [`ChainState`] carries from one pass to the next
//! saves work; the numbers do not depend on it beyond the tolerances of the solvers. Never: a formula.

use super::Market;
use crate::calendar::{Calendar, days_between, years_between};
use crate::calibrate::borrow::steady_borrow;
use crate::calibrate::forward::Parity;
use crate::calibrate::implied::{band_of, imply_vols};
use crate::calibrate::{self, Calibrated, Drop, Look, SliceInput, SliceState};
use crate::contract::Symbol;
use crate::kernel::dividends::{Dividend, Terms};
use crate::price::{NextSession, SlicePrice, value_slice};
use crate::store::book::{Book, BookSlice};
use crate::store::chain::{Chain, Slice};
use crate::store::columns::{Col, Columns};
use crate::store::session::SessionVols;
use crate::surface::{self, Curve, SurfaceInput};
use jiff::{Timestamp, civil::Date};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a chain keeps from one pass to the next.
#[derive(Debug)]
pub struct ChainState {
    slices: BTreeMap<(Symbol, Date), SliceState>,
    /// The session that `last` shows, and its chain.
    session: Option<(Date, Arc<Chain>)>,
    /// Volatilities at the end of the session before.
    prior: Arc<SessionVols>,
}

/// What happened while a chain was computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    /// Slices computed.
    pub slices: u32,
    /// Contracts listed, settled ones left out.
    pub contracts: u32,
    /// Contracts with Greeks.
    pub priced: u32,
    /// Dropped quotes by [`Drop`].
    pub dropped: [u32; Drop::ALL.len()],
}

/// A slice of the book with what its stages need of the market.
struct Work<'a> {
    slice: &'a BookSlice,
    t: f64,
    r: f64,
    divs: Vec<Dividend>,
    age_s: Vec<f64>,
    /// In place of the quotes of an adjusted root: its deliverable is not the spot, so it says nothing.
    unquoted: Vec<f64>,
}

impl ChainState {
    /// Nothing kept but the volatilities of the session before.
    pub(super) fn new(prior: Arc<SessionVols>) -> Self {
        Self { slices: BTreeMap::new(), session: None, prior }
    }

    /// When a new session has begun, what the last one ended with becomes the prior one.
    fn roll(&mut self, session: Date) {
        if self.session.as_ref().is_some_and(|(of, _)| *of < session)
            && let Some((_, chain)) = self.session.take()
        {
            self.prior = Arc::new(SessionVols::of(&chain));
        }
    }
}

/// The chain of `book` at the instant `at`.
pub(super) fn compute(
    market: Market<'_>,
    book: &Book,
    at: Timestamp,
    state: &mut ChainState,
) -> (Arc<Chain>, ChainReport) {
    let session = market.calendar.session_on_or_before(market.calendar.eastern(at).date());
    state.roll(session);
    let work = prepare(market, book, at);
    let inputs: Vec<SliceInput<'_>> = work.iter().map(|w| w.input(book.spot)).collect();
    let mut kept = core::mem::take(&mut state.slices);
    let mut states: Vec<SliceState> =
        work.iter().map(|w| kept.remove(&(w.slice.root, w.slice.expiry)).unwrap_or_default()).collect();

    let calibrated = calibrate(&inputs, &mut states);
    let curves = fit_curves(&inputs, &calibrated);
    let step = years_between(at, market.calendar.next_trading_day(at));
    let prior = &*state.prior;
    let parts: Vec<Columns> = (&work, &inputs, &calibrated, &curves, &mut states)
        .into_par_iter()
        .map(|(work, input, calibrated, curve, state)| {
            let mut columns = quoted(work.slice, prior, calibrated);
            if !work.slice.adjusted {
                let mut sigma = vec![f64::NAN; work.slice.rows()];
                curve.rows(&work.slice.strike_milli, &mut sigma, columns.get_mut(Col::ConfVol));
                price(input, calibrated, (step, &sigma), state, &mut columns);
            }
            iv_errors(work.slice, &mut columns);
            columns
        })
        .collect();
    let (chain, report) = assemble(book, at, &work, &calibrated, &curves, &parts);
    state.slices = work.iter().map(|w| (w.slice.root, w.slice.expiry)).zip(states).collect();
    let chain = Arc::new(chain);
    state.session = Some((session, Arc::clone(&chain)));
    (chain, report)
}

/// The slices that have not settled, with their times, rates and dividends.
fn prepare<'a>(market: Market<'_>, book: &'a Book, at: Timestamp) -> Vec<Work<'a>> {
    let curve = market.curves.on(market.calendar.eastern(at).date());
    let dividends = dividend_times(market.calendar, book, at);
    let newest = book.slices.iter().flat_map(|s| &s.ts).max().copied().unwrap_or(at);
    let live = book.slices.iter().filter(|s| s.settles_at > at);
    live.map(|slice| {
        let t = years_between(at, slice.settles_at);
        Work {
            slice,
            t,
            r: curve.map_or(0.0, |c| c.rate(t)),
            divs: dividends.iter().filter(|d| d.t <= t).copied().collect(),
            age_s: slice.ts.iter().map(|&ts| newest.duration_since(ts).as_secs_f64()).collect(),
            unquoted: if slice.adjusted { vec![f64::NAN; slice.rows()] } else { Vec::new() },
        }
    })
    .collect()
}

/// Dividends still to come, in years from `at`.
fn dividend_times(calendar: &Calendar, book: &Book, at: Timestamp) -> Vec<Dividend> {
    let timed = book.dividends.iter().map(|&(date, amount)| (calendar.ex_instant(date), amount));
    timed.filter(|&(ex, _)| ex > at).map(|(ex, amount)| Dividend { t: years_between(at, ex), amount }).collect()
}

impl Work<'_> {
    fn input(&self, s: f64) -> SliceInput<'_> {
        let adjusted = self.slice.adjusted;
        SliceInput {
            style: self.slice.style,
            basis: self.slice.basis,
            t: self.t,
            s,
            r: self.r,
            divs: &self.divs,
            strike_milli: &self.slice.strike_milli,
            right: &self.slice.right,
            bid: if adjusted { &self.unquoted } else { &self.slice.bid },
            ask: if adjusted { &self.unquoted } else { &self.slice.ask },
            age_s: &self.age_s,
        }
    }
}

/// Quotes to forwards, borrow and three volatilities: slices apart, but for the two steps that hear the neighbours.
fn calibrate(inputs: &[SliceInput<'_>], states: &mut [SliceState]) -> Vec<Calibrated> {
    let prior: Vec<f64> = states.iter().map(|s| s.last.map_or(f64::NAN, |(_, b)| b)).collect();
    let looks: Vec<Look> = inputs.par_iter().map(calibrate::look).collect();
    let parity: Vec<Parity> = looks.iter().map(|l| l.parity).collect();
    let rough = steady_borrow(inputs, &parity, &prior);
    let parity: Vec<Parity> = (inputs, &looks, &rough, &mut *states)
        .into_par_iter()
        .map(|(input, look, carry, state)| calibrate::refine(input, look, carry, state))
        .collect();
    let carry = steady_borrow(inputs, &parity, &prior);
    (inputs, &looks, &carry, states)
        .into_par_iter()
        .map(|(input, look, carry, state)| {
            state.last = Some((carry.fwd, carry.b));
            imply_vols(input, look, carry, state)
        })
        .collect()
}

/// One curve per slice.
fn fit_curves(inputs: &[SliceInput<'_>], calibrated: &[Calibrated]) -> Vec<Curve> {
    let surface: Vec<SurfaceInput<'_>> = inputs
        .iter()
        .zip(calibrated)
        .map(|(input, c)| SurfaceInput {
            t: input.t,
            fwd: c.fwd,
            strike_milli: input.strike_milli,
            right: input.right,
            vol_bid: &c.vol_bid,
            vol_mid: &c.vol_mid,
            vol_ask: &c.vol_ask,
            used: &c.used,
        })
        .collect();
    surface::fit(&surface)
}

/// The columns of a slice that come from its quotes and the session before.
fn quoted(slice: &BookSlice, prior: &SessionVols, calibrated: &Calibrated) -> Columns {
    let mut columns = Columns::missing(slice.rows());
    for (row, (&strike, &right)) in slice.strike_milli.iter().zip(&slice.right).enumerate() {
        let before = prior.get(slice.root, slice.expiry, strike, right);
        columns.get_mut(Col::PrevVol)[row] = before.unwrap_or(f64::NAN);
    }
    if slice.adjusted {
        return columns;
    }
    columns.get_mut(Col::BidVol).copy_from_slice(&calibrated.vol_bid);
    columns.get_mut(Col::MidVol).copy_from_slice(&calibrated.vol_mid);
    columns.get_mut(Col::AskVol).copy_from_slice(&calibrated.vol_ask);
    columns
}

/// Greeks of a slice at the volatilities `sigma` of its curve; `step`: years to the next trading day.
fn price(
    input: &SliceInput<'_>,
    calibrated: &Calibrated,
    (step, sigma): (f64, &[f64]),
    state: &mut SliceState,
    columns: &mut Columns,
) {
    let known: Vec<f64> = sigma.iter().copied().filter(|v| v.is_finite()).collect();
    if known.is_empty() {
        return;
    }
    let band = band_of(input, &known);
    let terms = Terms { t: input.t, r: input.r, b: calibrated.borr, divs: input.divs.to_vec() };
    let (next_s, later) = NextSession::shift(calibrated.s, &terms, step);
    let SliceState { pricers, later_pricers, .. } = state;
    let now = pricers.serving(input.style, &terms, &band);
    let next_pricers = match &later {
        Some(later) if now.iter().any(|p| !p.serves(later, &band)) => later_pricers.serving(input.style, later, &band),
        _ => now,
    };
    let next = NextSession { s: next_s, terms: later, pricers: next_pricers };
    let slice = SlicePrice {
        s: calibrated.s,
        terms: &terms,
        pricers: now,
        strike_milli: input.strike_milli,
        right: input.right,
        sigma,
        next: &next,
    };
    let rows = u32::try_from(input.strike_milli.len()).unwrap_or(u32::MAX);
    value_slice(&slice, 0..rows, columns);
}

/// Model value over mid, where there is a mid.
fn iv_errors(slice: &BookSlice, columns: &mut Columns) {
    for row in 0..slice.rows() {
        let mid = 0.5 * (slice.bid[row] + slice.ask[row]);
        let error = columns.get(Col::SvcTheo)[row] / mid - 1.0;
        if error.is_finite() {
            columns.get_mut(Col::IvError)[row] = error;
        }
    }
}

/// Slices side by side, in the book's order.
fn assemble(
    book: &Book,
    at: Timestamp,
    work: &[Work<'_>],
    calibrated: &[Calibrated],
    curves: &[Curve],
    parts: &[Columns],
) -> (Chain, ChainReport) {
    let n_rows = work.iter().map(|w| w.slice.rows()).sum();
    let mut chain = Chain {
        underlying: book.underlying,
        spot: book.spot,
        valued_at: at,
        slices: Vec::with_capacity(work.len()),
        strike_milli: Vec::with_capacity(n_rows),
        right: Vec::with_capacity(n_rows),
        columns: Columns::missing(n_rows),
    };
    let mut report = ChainReport { slices: u32::try_from(work.len()).unwrap_or(u32::MAX), ..Default::default() };
    for ((work, (calibrated, curve)), part) in work.iter().zip(calibrated.iter().zip(curves)).zip(parts) {
        let start = chain.rows();
        chain.strike_milli.extend_from_slice(&work.slice.strike_milli);
        chain.right.extend_from_slice(&work.slice.right);
        chain.slices.push(slice_of(work, calibrated, start..chain.rows(), at));
        let rows = start as usize..chain.rows() as usize;
        for &col in Col::ALL {
            chain.columns.get_mut(col)[rows.clone()].copy_from_slice(part.get(col));
        }
        let with_greeks = part.get(Col::Delta).iter().filter(|v| v.is_finite()).count();
        report.priced += u32::try_from(with_greeks).unwrap_or(u32::MAX);
        for (sum, n) in report.dropped.iter_mut().zip(calibrated.dropped) {
            *sum += n;
        }
        report.dropped[Drop::Outlier as usize] += curve.outliers;
    }
    report.contracts = chain.rows();
    (chain, report)
}

/// What is constant over the rows of a slice.
fn slice_of(work: &Work<'_>, calibrated: &Calibrated, rows: core::ops::Range<u32>, at: Timestamp) -> Slice {
    let BookSlice { root, expiry, style, settle, settles_at, adjusted, .. } = *work.slice;
    let known = |x: f64| if adjusted { f64::NAN } else { x };
    Slice {
        root,
        expiry,
        rows,
        style,
        settle,
        settles_at,
        adjusted,
        days: days_between(at, settles_at),
        und_price: known(calibrated.und),
        fwd_price: known(calibrated.fwd),
        disc_rate: known(work.r),
        borr_rate: known(calibrated.borr),
        divs: known(work.divs.iter().map(|d| d.amount).sum()),
    }
}
