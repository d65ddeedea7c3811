//! One underlying from quotes to finished columns: the stages in their order.
//!
//! Pure: the same book, instant and calendar give the same chain. What [`ChainState`] carries from one pass to the next
//! saves work; the numbers do not depend on it beyond the tolerances of the solvers. Never: a formula.

use super::uncomputed::{identity_only, why_uncomputed};
use super::{Depth, Market};
use crate::calendar::{Calendar, days_between, years_between};
use crate::calibrate::carry::{Carries, ImpliedSpot};
use crate::calibrate::consistent::ExpiryOrder;
use crate::calibrate::forward::Parity;
use crate::calibrate::implied::{carried_over, imply_vols};
use crate::calibrate::spot::Reference;
use crate::calibrate::{self, Calibrated, Draft, Drop, SliceInput, SliceState};
use crate::contract::{Right, Symbol};
use crate::early::{Here, Source};
use crate::kernel::american::Counts;
use crate::kernel::dividends::Dividend;
use crate::kernel::lanes::{BLOCK, Block, Lanes};
use crate::price::{SlicePrice, Valued, value_slice};
use crate::store::book::{Book, BookSlice};
use crate::store::chain::{Chain, Slice};
use crate::store::columns::{Col, Columns};
use crate::store::session::SessionVols;
use crate::surface::{DefaultSmoother, Fitted, Smoother, SurfaceInput};
use jiff::{Timestamp, civil::Date};
use rayon::prelude::*;
use std::sync::Arc;

/// A chain with more contracts than this is worth more than one thread.
const ALONE: usize = 3000;

/// What a chain keeps from one pass to the next.
#[derive(Debug)]
pub struct ChainState {
    slices: Vec<Kept>,
    /// The session that `last` shows, and its chain.
    session: Option<(Date, Arc<Chain>)>,
    /// Volatilities at the end of the session before.
    prior: Arc<SessionVols>,
}

/// The state of one (root, expiry).
#[derive(Debug)]
struct Kept {
    root: Symbol,
    expiry: Date,
    state: SliceState,
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
    /// The calibration found no forward because calls and puts contradict each other. It says so of a whole name; nothing
    /// follows from it where some contract is priced all the same.
    pub contradictory_pairs: bool,
    /// Dropped quotes by [`Drop`].
    pub dropped: [u32; Drop::ALL.len()],
    /// Implied volatilities that needed a search in a bracket.
    pub searched: u32,
    /// Blocks of contracts whose early exercise was taken from the tables anew.
    pub refreshed: u32,
    /// The tables of early exercise that the chain holds.
    pub tables: Counts,
}

/// Room to compute a chain in, used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Room {
    desks: Vec<Desk>,
    parity: Vec<Parity>,
    prior: Vec<f64>,
    reference: Reference,
    order: ExpiryOrder,
    carries: Carries,
    fitter: DefaultSmoother,
}

/// One slice on its way through the stages.
#[derive(Debug, Default)]
struct Desk {
    /// Its place in the book.
    place: usize,
    t: f64,
    r: f64,
    divs: Vec<Dividend>,
    age_s: Vec<f64>,
    /// In place of the quotes of an adjusted root: its deliverable is not the spot, so it says nothing.
    unquoted: Vec<f64>,
    state: SliceState,
    draft: Draft,
    columns: Columns,
    valued: Valued,
}

impl ChainState {
    /// Nothing kept but the volatilities of the session before.
    pub(super) fn new(prior: Arc<SessionVols>) -> Self {
        Self { slices: Vec::new(), session: None, prior }
    }

    /// When a new session has begun, what the last one ended with becomes the prior one.
    fn roll(&mut self, session: Date) {
        if self.session.as_ref().is_some_and(|(of, _)| *of < session)
            && let Some((_, chain)) = self.session.take()
        {
            self.prior = Arc::new(SessionVols::of(&chain));
        }
    }

    /// The last chain of this session, and the volatilities of the session before.
    fn session_vols(&self) -> (Option<&Chain>, &SessionVols) {
        (self.session.as_ref().map(|(_, chain)| &**chain), &self.prior)
    }

    /// Hands out the state of a slice, the `i`-th of its chain.
    fn take(&mut self, i: usize, slice: &BookSlice) -> SliceState {
        let is = |kept: &Kept| kept.root == slice.root && kept.expiry == slice.expiry;
        let at = if self.slices.get(i).is_some_and(is) { Some(i) } else { self.slices.iter().position(is) };
        at.map(|at| core::mem::take(&mut self.slices[at].state)).unwrap_or_default()
    }
}

/// The chain of `book` at the instant `at`.
pub(super) fn compute(
    (market, depth): (Market<'_>, Depth),
    book: &Book,
    at: Timestamp,
    state: &mut ChainState,
    room: &mut Room,
) -> (Arc<Chain>, ChainReport) {
    let session = market.calendar.session_on_or_before(market.calendar.eastern(at).date());
    state.roll(session);
    if !book.has_spot() {
        // what the state remembers waits for the next spot
        return identity_only(book, at, |slice, out| prev_vols(slice, state.session_vols(), out));
    }
    let Room { desks, parity, prior, reference, order, carries, fitter } = room;
    let n = prepare(market, book, at, state, desks);
    let desks = &mut desks[..n];
    for desk in &mut *desks {
        desk.state.early.source = match depth {
            Depth::Rough => Source::Lattice,
            Depth::Full => Source::Tables,
        };
    }
    let wide = desks.iter().map(|desk| book.slices[desk.place].rows()).sum::<usize>() > ALONE;
    let step = years_between(at, market.calendar.next_trading_day(at));

    prior.clear();
    prior.extend(desks.iter().map(|desk| desk.state.last.map_or(f64::NAN, |(_, b)| b)));
    side_by_side(desks, wide, |_, desk| desk.with(book, step, calibrate::look));
    let s = calibrate::reference_spot(reference, desks.iter().map(|desk| (desk.input(book, step), &desk.draft)));
    side_by_side(desks, wide, |_, desk| {
        desk.with(book, step, |input, state, draft| calibrate::look_closer(input, s, state, draft));
    });
    calibrate::order_expiries(order, s, desks.iter_mut().map(|desk| desk.parts(book, step)).collect());
    carry(book, step, s, desks, (parity, prior), carries);
    side_by_side(desks, wide, |i, desk| {
        desk.with(book, step, |input, state, draft| calibrate::refine(input, &carries.carry[i], state, draft));
    });
    carry(book, step, s, desks, (parity, prior), carries);
    side_by_side(desks, wide, |i, desk| {
        desk.with(book, step, |input, state, draft| imply_vols(input, &carries.carry[i], state, draft));
    });
    let curves = fit_curves(book, step, desks, fitter);
    let known = state.session_vols();
    side_by_side(desks, wide, |i, desk| desk.publish(book, step, &curves[i], known));

    let (chain, report) = assemble(book, (at, depth), desks, carries.spot);
    let slices = &book.slices;
    let kept = |desk: &mut Desk| Kept {
        root: slices[desk.place].root,
        expiry: slices[desk.place].expiry,
        state: core::mem::take(&mut desk.state),
    };
    state.slices.clear();
    state.slices.extend(desks.iter_mut().map(kept));
    let chain = Arc::new(chain);
    state.session = Some((session, Arc::clone(&chain)));
    (chain, report)
}

/// Each slice alone; on several threads where that is worth it.
fn side_by_side(desks: &mut [Desk], wide: bool, f: impl Fn(usize, &mut Desk) + Send + Sync) {
    if wide {
        desks.par_iter_mut().enumerate().with_max_len(1).for_each(|(i, desk)| f(i, desk));
    } else {
        desks.iter_mut().enumerate().for_each(|(i, desk)| f(i, desk));
    }
}

/// Sets up a desk for every slice that has not settled, with its time, rate and dividends; says how many there are.
fn prepare(market: Market<'_>, book: &Book, at: Timestamp, state: &mut ChainState, desks: &mut Vec<Desk>) -> usize {
    let curve = market.curves.on(market.calendar.eastern(at).date());
    let dividends = dividend_times(market.calendar, book, at);
    let newest = book.slices.iter().flat_map(|s| &s.ts).max().copied().unwrap_or(at);
    let live = book.slices.iter().enumerate().filter(|(_, s)| s.settles_at > at);
    let mut n = 0;
    for (place, slice) in live {
        if n == desks.len() {
            desks.push(Desk::default());
        }
        let desk = &mut desks[n];
        desk.state = state.take(n, slice);
        n += 1;
        desk.place = place;
        desk.t = years_between(at, slice.settles_at);
        desk.r = curve.map_or(0.0, |c| c.rate(desk.t));
        desk.divs.clear();
        desk.divs.extend(dividends.iter().filter(|d| d.t <= desk.t));
        desk.age_s.clear();
        desk.age_s.extend(slice.ts.iter().map(|ts| (newest.as_millisecond() - ts.as_millisecond()) as f64 * 1e-3));
        desk.unquoted.clear();
        desk.unquoted.resize(if slice.adjusted { slice.rows() } else { 0 }, f64::NAN);
    }
    n
}

/// Dividends still to come, in years from `at`.
fn dividend_times(calendar: &Calendar, book: &Book, at: Timestamp) -> Vec<Dividend> {
    let timed = book.dividends.iter().map(|&(date, amount)| (calendar.ex_instant(date), amount));
    timed.filter(|&(ex, _)| ex > at).map(|(ex, amount)| Dividend { t: years_between(at, ex), amount }).collect()
}

impl Desk {
    /// Its slice of the book.
    fn input<'a>(&'a self, book: &'a Book, step: f64) -> SliceInput<'a> {
        let Self { place, t, r, divs, age_s, unquoted, .. } = self;
        input_of(&book.slices[*place], (book.spot, *t, *r, step), (divs, age_s, unquoted))
    }

    /// Its slice of the book, what it keeps, and what it is working on.
    fn parts<'a>(&'a mut self, book: &'a Book, step: f64) -> (SliceInput<'a>, &'a mut SliceState, &'a mut Draft) {
        let Self { place, t, r, divs, age_s, unquoted, state, draft, .. } = self;
        let input = input_of(&book.slices[*place], (book.spot, *t, *r, step), (divs, age_s, unquoted));
        (input, state, draft)
    }

    /// One stage of the calibration.
    fn with(&mut self, book: &Book, step: f64, stage: impl Fn(&SliceInput<'_>, &mut SliceState, &mut Draft)) {
        let (input, state, draft) = self.parts(book, step);
        stage(&input, state, draft);
    }

    /// The finished columns.
    fn publish(&mut self, book: &Book, step: f64, curve: &impl Fitted, session: (Option<&Chain>, &SessionVols)) {
        let slice = &book.slices[self.place];
        let Self { state, draft, columns, .. } = self;
        columns.reset(slice.rows());
        prev_vols(slice, session, columns.get_mut(Col::PrevVol));
        self.valued = Valued::default();
        if slice.adjusted {
            return;
        }
        let out = &draft.out;
        columns.get_mut(Col::BidVol).copy_from_slice(&out.vol_bid);
        columns.get_mut(Col::MidVol).copy_from_slice(&out.vol_mid);
        columns.get_mut(Col::AskVol).copy_from_slice(&out.vol_ask);
        let SliceState { ladder, early, sigma, .. } = state;
        sigma.resize(ladder.strikes().len(), f64::NAN);
        let known = curve.is_known();
        if !known && out.fwd > 0.0 {
            carried_over(ladder, columns.get(Col::PrevVol), sigma);
        }
        for block in 0..ladder.blocks() {
            let (vol, confidence) = curve.at_strikes(ladder.block(block));
            if known || out.fwd.is_nan() {
                vol.store(&mut sigma[block * BLOCK..]);
            }
            let mut numbers = [0.0; BLOCK];
            (if known { confidence } else { Block::splat(0.0) }).store(&mut numbers);
            for right in [Right::Call, Right::Put] {
                ladder.scatter(right, block, &numbers, columns.get_mut(Col::ConfVol));
            }
        }
        if sigma.iter().any(|vol| vol.is_finite()) {
            let here = Here { style: slice.style, s: out.s, terms: draft.terms(), step };
            self.valued = value_slice(SlicePrice { here, ladder, sigma, early }, columns);
            iv_errors(slice, columns);
            draft.out.find_outliers(columns.get(Col::SvcVol));
        }
    }
}

/// The input of a slice, from the book and from what its desk holds.
fn input_of<'a>(
    slice: &'a BookSlice,
    (s, t, r, step): (f64, f64, f64, f64),
    (divs, age_s, unquoted): (&'a [Dividend], &'a [f64], &'a [f64]),
) -> SliceInput<'a> {
    SliceInput {
        style: slice.style,
        basis: slice.basis,
        t,
        s,
        r,
        step,
        divs,
        strike_milli: &slice.strike_milli,
        right: &slice.right,
        bid: if slice.adjusted { unquoted } else { &slice.bid },
        ask: if slice.adjusted { unquoted } else { &slice.ask },
        age_s,
    }
}

/// Weighs each slice's forward and borrow against the others'.
fn carry(
    book: &Book,
    step: f64,
    s: f64,
    desks: &[Desk],
    (parity, prior): (&mut Vec<Parity>, &[f64]),
    carries: &mut Carries,
) {
    let inputs: Vec<SliceInput<'_>> = desks.iter().map(|desk| desk.input(book, step)).collect();
    parity.clear();
    parity.extend(desks.iter().map(|desk| desk.draft.parity));
    carries.set(&inputs, parity, s, prior);
}

/// One curve per slice.
fn fit_curves<'a, S: Smoother>(book: &Book, step: f64, desks: &[Desk], fitter: &'a mut S) -> &'a [S::Curve] {
    let surface: Vec<SurfaceInput<'_>> = desks
        .iter()
        .map(|desk| {
            let (input, out) = (desk.input(book, step), &desk.draft.out);
            SurfaceInput {
                t: input.t,
                fwd: out.fwd,
                strike_milli: input.strike_milli,
                right: input.right,
                vol_bid: &out.vol_bid,
                vol_mid: &out.vol_mid,
                vol_ask: &out.vol_ask,
                used: &out.used,
            }
        })
        .collect();
    fitter.fit(&surface)
}

/// Volatilities of the session before: those of the last pass of this session, where it listed the same contracts.
fn prev_vols(slice: &BookSlice, (last, before): (Option<&Chain>, &SessionVols), column: &mut [f64]) {
    let same = |chain: &Chain| {
        let of = chain.slices.iter().find(|s| s.root == slice.root && s.expiry == slice.expiry)?;
        let rows = of.rows.start as usize..of.rows.end as usize;
        let listed = chain.strike_milli[rows.clone()] == slice.strike_milli && chain.right[rows.clone()] == slice.right;
        listed.then_some(rows)
    };
    if let Some((chain, rows)) = last.and_then(|chain| Some((chain, same(chain)?))) {
        column.copy_from_slice(&chain.columns.get(Col::PrevVol)[rows]);
        return;
    }
    for (row, (&strike, &right)) in slice.strike_milli.iter().zip(&slice.right).enumerate() {
        column[row] = before.get(slice.root, slice.expiry, strike, right).unwrap_or(f64::NAN);
    }
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
fn assemble(book: &Book, (at, depth): (Timestamp, Depth), desks: &[Desk], spot: ImpliedSpot) -> (Chain, ChainReport) {
    let parts: Vec<&Columns> = desks.iter().map(|desk| &desk.columns).collect();
    let rows = |desk: &Desk| book.slices[desk.place].rows();
    let n_rows = desks.iter().map(rows).sum();
    let mut chain = Chain {
        underlying: book.underlying,
        spot: book.spot,
        implied_spot: spot.s,
        implied_spot_error: spot.error,
        spot_off: spot.off,
        uncomputed: None,
        valued_at: at,
        rough: depth == Depth::Rough,
        slices: Vec::with_capacity(desks.len()),
        strike_milli: Vec::with_capacity(n_rows),
        right: Vec::with_capacity(n_rows),
        dropped: Vec::with_capacity(n_rows),
        columns: Columns::joined(&parts),
    };
    let mut report = ChainReport { slices: u32::try_from(desks.len()).unwrap_or(u32::MAX), ..Default::default() };
    for desk in desks {
        let (start, slice) = (chain.rows(), &book.slices[desk.place]);
        chain.strike_milli.extend_from_slice(&slice.strike_milli);
        chain.right.extend_from_slice(&slice.right);
        chain.dropped.extend_from_slice(&desk.draft.out.fault);
        chain.slices.push(slice_of(slice, desk, start..chain.rows(), at));
        report.priced += desk.valued.priced;
        let refreshed = desk.draft.refreshed + desk.valued.refreshed;
        report.refreshed += u32::try_from(refreshed).unwrap_or(u32::MAX);
        report.searched += desk.draft.out.searched;
        report.contradictory_pairs |= desk.draft.out.refused;
        report.tables += desk.state.early.tables();
        for drop in desk.draft.out.fault.iter().flatten() {
            report.dropped[*drop as usize] += 1;
        }
    }
    report.contracts = chain.rows();
    chain.uncomputed = why_uncomputed(&chain, &report);
    (chain, report)
}

/// What is constant over the rows of a slice.
fn slice_of(slice: &BookSlice, desk: &Desk, rows: core::ops::Range<u32>, at: Timestamp) -> Slice {
    let BookSlice { root, expiry, style, settle, settles_at, adjusted, .. } = *slice;
    let known = |x: f64| if adjusted { f64::NAN } else { x };
    let out: &Calibrated = &desk.draft.out;
    Slice {
        root,
        expiry,
        rows,
        style,
        settle,
        settles_at,
        adjusted,
        days: days_between(at, settles_at),
        und_price: known(out.und),
        fwd_price: known(out.fwd),
        disc_rate: known(desk.r),
        borr_rate: known(out.borr),
        divs: known(desk.divs.iter().map(|d| d.amount).sum()),
    }
}
