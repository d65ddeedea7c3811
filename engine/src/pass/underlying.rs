//! One underlying from quotes to finished columns: the stages in their order.
//!
//! Pure: the same book, instant and calendar give the same chain. [`ChainState`] saves work from one pass to the next;
//! numbers depend on it only within the tolerances of the solvers. Never: a formula.

use super::name_clock::{NameClock, event_of};
use super::task::{ChainReport, SideTimes, Stage, Task};
use super::uncomputed::{identity_only, why_uncomputed};
use crate::calibrate::chain::{Calibration, ChainCalibration, SideBySide};
use crate::calibrate::forward::Pair;
use crate::calibrate::{ForcedCarry, SliceInput, SliceState, SliceWork};
use crate::price::price_slice;
use crate::store::book::{Book, BookSlice};
use crate::store::chain::{Chain, Slice, Slices};
use crate::store::columns::{Col, ColumnRows, Columns};
use crate::store::drop_reason::DropReason;
use crate::store::evidence::{
    ChainEvidence, CountedDividend, DividendSource, KnownTerms, ParityEvidence, SliceEvidence,
};
use crate::store::firm_quotes::FirmQuotes;
use crate::store::overrides::OverridePlace;
use crate::store::session::{SessionBefore, SessionVols};
use crate::surface::{Curve, DefaultSmoother, Fitted, SurfaceInput};
use crate::term::{EventPoint, NameEvent, half_spread};
use core::ops::Range;
use jiff::{SignedDuration, Timestamp, civil::Date};
use kernel::calendar::{days_between, years_between};
use kernel::contract::{Deliverable, Right, Settle, Style, Symbol, roots::is_adjusted, strike_of};
use kernel::dividends::Dividend;
use kernel::limits;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// Number of contracts above which a chain uses several threads. By judgement: a steady pass of such a chain takes 3
/// ms, and handing out a slice a few µs. At half or double of it, results are the same bits, and only single wide names
/// wait longer.
const ALONE: usize = 3000;

/// Time in a step after which the remaining slices of a chain are shared, nanoseconds. A table that has to be solved
/// takes as much, and the other threads would wait at the end of a run. A step of a chain whose tables hold takes a
/// tenth of it.
const LONG: u64 = 1_000_000;

/// Time without a new quote after which quotes are at rest. A live name is computed again a minute after its last
/// quote.
const AT_REST: SignedDuration = SignedDuration::from_secs(30);

/// State of a chain between passes.
#[derive(Debug)]
pub struct ChainState {
    /// The state of each slice, by root and expiry.
    slices: Vec<((Symbol, Date), SliceState)>,
    /// The current session and its chain.
    session: Option<(Date, Arc<Chain>)>,
    /// For a name that is not listed any more: its last session, and the volatilities of its last chain.
    left: Option<(Date, SessionVols)>,
    /// Volatilities at the end of the previous session.
    prior: Arc<SessionVols>,
    /// Of the last computed book: time of the newest quote, bits of the spot, and the time when these were seen first;
    /// `None`: no book was computed.
    quoted: Option<(Timestamp, u64, Timestamp)>,
    /// True if the carry does not depend on earlier books.
    is_settled: bool,
}

/// Working memory of one chain, reused for the next one. The lists run in parallel, with an entry for each slice that
/// has not settled.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    facts: Vec<SliceFacts>,
    slices: Vec<SliceWork>,
    calibration: ChainCalibration,
    smoother: DefaultSmoother,
}

/// Inputs of the calibration of a slice, besides its book.
#[derive(Debug, Default)]
struct SliceFacts {
    /// Index of the slice in the book.
    place: usize,
    days_vt: f64,
    t: f64,
    r: f64,
    divs: Vec<Dividend>,
    /// Number of dividends if they are too many for an American expiry, which then counts none; else 0.
    divs_refused: u32,
    age_s: Vec<f64>,
    /// True if an override excludes the quote, by row; empty: no exclusions.
    excluded: Vec<bool>,
    /// True if an override gives the rate.
    rate_is_known: bool,
    /// Forward and borrow from overrides.
    forced: ForcedCarry,
    /// Added to the volatilities of the curve, per √year.
    vol_shift: f64,
    /// Empty quotes for an adjusted root with unknown deliverable, as its quotes carry no information.
    unquoted: Vec<f64>,
    /// Deliverable of an adjusted root, if known.
    deliverable: Option<Deliverable>,
    /// Strikes of an adjusted root less the cash, thousandths; empty for other roots.
    strike_milli: Vec<u32>,
    /// Number of first rows without a value, as the cash alone pays for exercise.
    paid_by_cash: usize,
}

impl ChainState {
    /// Keeps only the volatilities of the previous session.
    pub(super) fn new(prior: Arc<SessionVols>) -> Self {
        Self { slices: Vec::new(), session: None, left: None, prior, quoted: None, is_settled: true }
    }

    /// Begins a session if it is new: the volatilities of the last chain become those of the previous session.
    fn roll(&mut self, session: Date) {
        if self.session.as_ref().is_some_and(|(of, _)| *of < session)
            && let Some((_, chain)) = self.session.take()
        {
            self.prior = Arc::new(SessionVols::of(&chain));
        }
        // a name that comes back in the session in which it left has no newer volatilities
        if let Some((of, vols)) = self.left.take()
            && of < session
        {
            self.prior = Arc::new(vols);
        }
    }

    /// Keeps only the volatilities of a name that is not listed any more, in case it comes back.
    pub(super) fn leave(&mut self) {
        (self.slices, self.quoted, self.is_settled) = (Vec::new(), None, true);
        if let Some((session, chain)) = self.session.take() {
            self.left = Some((session, SessionVols::of(&chain)));
        }
    }

    /// True if the last pass was a preliminary one.
    pub(super) fn is_preliminary(&self) -> bool {
        self.session.as_ref().is_some_and(|(_, chain)| chain.preliminary)
    }

    /// Keeps what a preliminary pass has left, and of other passes only the volatilities.
    pub(super) fn begin_anew(&mut self) {
        if !self.is_preliminary() {
            self.leave();
        }
    }

    /// Forgets the carry of earlier books if the quotes of `book` have been at rest until `at`; a name is computed
    /// again without new quotes when its values have aged.
    fn settle(&mut self, book: &Book, at: Timestamp) {
        let Some(&newest) = book.slices.iter().flat_map(|slice| &slice.ts).max() else { return };
        let spot = book.spot.to_bits();
        match self.quoted {
            Some((before, of, since)) if (before, of) == (newest, spot) => {
                if !self.is_settled && at.duration_since(since) >= AT_REST {
                    self.slices.iter_mut().for_each(|(_, state)| state.settle());
                    self.is_settled = true;
                }
            }
            before => {
                self.is_settled = before.is_none();
                self.quoted = Some((newest, spot, at));
            }
        }
    }

    fn session_before(&self) -> SessionBefore<'_> {
        SessionBefore { shown: self.session.as_ref().map(|(_, chain)| &**chain), vols: &self.prior }
    }

    /// Stores the states of slices.
    fn keep(&mut self, book: &Book, facts: &[SliceFacts], slices: &mut [SliceWork]) {
        self.slices.clear();
        self.slices.extend(slices.iter_mut().zip(facts).map(|(slice, facts)| {
            let BookSlice { root, expiry, .. } = book.slices[facts.place];
            ((root, expiry), core::mem::take(&mut slice.state))
        }));
    }

    /// Takes the state of a slice, the `i`-th of its chain.
    fn take(&mut self, i: usize, slice: &BookSlice) -> SliceState {
        let is = |(key, _): &((Symbol, Date), SliceState)| *key == (slice.root, slice.expiry);
        let at = if self.slices.get(i).is_some_and(is) { Some(i) } else { self.slices.iter().position(is) };
        at.map(|at| core::mem::take(&mut self.slices[at].1)).unwrap_or_default()
    }
}

/// The chain of a book.
///
/// # Shapes   the rows of the chain are those of the book's slices that have not settled, in the book's order
/// # Domain   any book; without a published or implied spot every row has its identity only
/// # Cost     PERF.md
pub(super) fn compute(task: &Task<'_>, state: &mut ChainState, scratch: &mut Scratch) -> (Arc<Chain>, ChainReport) {
    let Task { market, book, at, .. } = *task;
    let session = market.calendar.session_on_or_before(market.calendar.eastern(at).date());
    state.roll(session);
    state.settle(book, at);
    let Scratch { facts, slices, calibration, smoother } = scratch;
    let name_clock = NameClock::new(task);
    let n = prepare(task, &name_clock, facts);
    let facts = &facts[..n];
    let step = years_between(at, market.calendar.next_trading_day(at));
    let inputs: Vec<SliceInput<'_>> = facts.iter().map(|facts| facts.input(task, step)).collect();
    slices.resize_with(n.max(slices.len()), SliceWork::default);
    let slices = &mut slices[..n];
    for (i, (slice, facts)) in slices.iter_mut().zip(facts).enumerate() {
        slice.state = state.take(i, &book.slices[facts.place]);
    }
    let clock = task.clock;
    let many = inputs.iter().map(|input| input.right.len()).sum::<usize>() > ALONE;
    let (began, threads) = (clock(), Threads { many, clock, times: SideTimes::default() });
    let implied = match calibration.run(&inputs, slices, &threads) {
        Ok(implied) => implied,
        Err(why) => {
            // the state is kept until there is a spot
            state.keep(book, facts, slices);
            return identity_only(task, why, |slice, out| state.session_before().prev_vols(slice, out));
        }
    };
    let calibrated = clock();
    let in_calibration = threads.times.spent(calibrated - began);
    let curves = curves(smoother, surface_inputs(&inputs, slices), facts, book);
    let today = market.calendar.eastern(at).date();
    let points = event_points(book, facts, &inputs, slices, &curves);
    let event = event_of(points, today, &name_clock.known);
    let event = name_clock.until_next(event);
    let before = state.session_before();
    let fitted = clock();
    let threads = Threads { many, clock, times: SideTimes::default() };
    let n_rows = || facts.iter().map(|facts| book.slices[facts.place].rows());
    let mut columns = Columns::missing_in(n_rows().sum(), task.spare);
    let parts = slices.iter_mut().zip(columns.split(n_rows()));
    threads.share(parts.enumerate(), |(i, (slice, mut columns))| {
        let book_slice = &book.slices[facts[i].place];
        slice.clear_rows(book_slice.rows());
        before.prev_vols(book_slice, columns.get_mut(Col::PrevVol));
        let terms = facts[i].deliverable;
        // an adjusted root whose deliverable is unknown has identity only
        if !book_slice.adjusted || terms.is_some() {
            let lapse = name_clock.lapse(facts[i].days_vt, book_slice.expiry, book_slice.settles_at, &event);
            price_slice(&inputs[i], slice, &mut columns, &curves[i], &lapse);
            if let Some(terms) = terms {
                per_share(&terms, facts[i].paid_by_cash, slice, &mut columns);
            }
        }
    });

    let (mut chain, mut report) = assemble(task, facts, &inputs, slices, &implied, columns);
    if let Some(evidence) = &mut chain.evidence {
        evidence.events = name_clock.known;
    }
    report.dividends_refused = facts.iter().map(|facts| facts.divs_refused).max().unwrap_or_default();
    let late = slices.iter().map(|slice| slice.late.nanos).sum::<u64>();
    report.stages[Stage::Calibrate as usize] = in_calibration.saturating_sub(report.early.nanos - late);
    report.stages[Stage::Early as usize] = report.early.nanos;
    report.stages[Stage::Surface as usize] = fitted - calibrated;
    report.stages[Stage::Price as usize] = threads.times.spent(clock() - fitted).saturating_sub(late);
    state.keep(book, facts, slices);
    let chain = Arc::new(chain);
    state.session = Some((session, Arc::clone(&chain)));
    (chain, report)
}

/// Runs the slices of one chain: on several threads if it has many contracts, or once they have taken long.
#[derive(Debug)]
struct Threads {
    many: bool,
    clock: fn() -> u64,
    times: SideTimes,
}

impl SideBySide for Threads {
    fn each(&self, slices: &mut [SliceWork], step: impl Fn(usize, &mut SliceWork) + Send + Sync) {
        self.share(slices.iter_mut().enumerate(), |(i, slice)| step(i, slice));
    }
}

impl Threads {
    /// Takes each item through a step, and times the steps that run in parallel.
    fn share<T: Send>(&self, mut items: impl Iterator<Item = T>, step: impl Fn(T) + Send + Sync) {
        let began = (self.clock)();
        while !self.many && (self.clock)() - began < LONG {
            let Some(item) = items.next() else { return };
            step(item);
        }
        let rest: Vec<T> = items.collect();
        let began = (self.clock)();
        rest.into_par_iter().with_max_len(1).for_each(|item| {
            let began = (self.clock)();
            step(item);
            self.times.step((self.clock)() - began);
        });
        self.times.wall((self.clock)() - began);
    }
}

/// Turns derivatives with respect to the deliverable into those with respect to the underlying and the listed strike.
/// Rows whose exercise the cash alone pays for lose their numbers.
fn per_share(terms: &Deliverable, paid_by_cash: usize, slice: &mut SliceWork, columns: &mut ColumnRows<'_>) {
    let SliceWork { methods, priced, .. } = slice;
    let (shares, strike) = (terms.shares_per_unit(), terms.strike_per_unit());
    let factors = [
        (Col::Delta, shares),
        (Col::Gamma, shares * shares),
        (Col::Speed, shares * shares * shares),
        (Col::Vanna, shares),
        (Col::Charm, shares),
        (Col::Zomma, shares * shares),
        (Col::Color, shares * shares),
        (Col::DualDelta, strike),
        (Col::DualGamma, strike * strike),
        (Col::Density, strike),
    ];
    for (col, factor) in factors {
        columns.get_mut(col).iter_mut().for_each(|x| *x *= factor);
    }
    let lost = columns.get(Col::SvcTheo)[..paid_by_cash].iter().filter(|x| x.is_finite()).count();
    for &col in Col::OF_PASS.iter().filter(|&&col| col != Col::PrevVol) {
        columns.get_mut(col)[..paid_by_cash].fill(f64::NAN);
    }
    methods[..paid_by_cash].fill(None);
    *priced = priced.saturating_sub(lost as u32);
}

/// Collects time, rate, dividends and ages of every slice that has not settled; returns their number.
///
/// # Domain   any book; `facts` grows to what is needed and is used again
fn prepare(task: &Task<'_>, clock: &NameClock<'_>, facts: &mut Vec<SliceFacts>) -> usize {
    let Task { market, book, at, overrides, .. } = *task;
    let today = market.calendar.eastern(at).date();
    let curve = market.rates.on(at, today).curve;
    let dividends = dividend_times(task);
    let newest = book.quoted_at().unwrap_or(at);
    let live = book.slices.iter().enumerate().filter(|(_, s)| s.settles_at > at);
    let mut n = 0;
    for (place, slice) in live {
        if n == facts.len() {
            facts.push(SliceFacts::default());
        }
        let facts = &mut facts[n];
        n += 1;
        facts.place = place;
        facts.t = years_between(at, slice.settles_at);
        facts.days_vt = clock.days(slice.settles_at);
        let place = OverridePlace { underlying: book.underlying, root: slice.root, expiry: slice.expiry };
        let known = overrides.rate(place);
        facts.rate_is_known = known.is_some();
        facts.r = known.unwrap_or_else(|| curve.rate(facts.t));
        facts.forced = ForcedCarry { fwd: overrides.forward(place), borrow: overrides.borrow(place) };
        facts.vol_shift = overrides.vol_shift(place);
        overrides.fill_excluded(place, &slice.strike_milli, &slice.right, &mut facts.excluded);
        facts.divs.clear();
        facts.divs.extend(dividends.iter().filter(|d| d.t <= facts.t));
        facts.divs_refused = 0;
        if slice.style == Style::American && !limits::DIVIDEND_DATES.holds(facts.divs.len() as f64) {
            // a lattice adds up all dividends at each layer, which is too slow; European values take any number
            facts.divs_refused = facts.divs.len() as u32;
            facts.divs.clear();
        }
        facts.age_s.clear();
        facts.age_s.extend(slice.ts.iter().map(|ts| (newest.as_millisecond() - ts.as_millisecond()) as f64 * 1e-3));
        facts.unquoted.clear();
        // contracts of an index and binaries do not deliver shares
        let has_terms = slice.adjusted && is_adjusted(slice.root);
        let terms = has_terms.then(|| overrides.deliverable(book.underlying, slice.root, today)).flatten();
        facts.deliverable = terms.or_else(|| slice.deliverable_on(today).filter(|_| has_terms));
        facts.unquoted.resize(if slice.adjusted && facts.deliverable.is_none() { slice.rows() } else { 0 }, f64::NAN);
        facts.set_strikes(slice);
    }
    n
}

impl SliceFacts {
    /// Turns strikes, dividends and a given forward into those of the deliverable of an adjusted contract.
    fn set_strikes(&mut self, slice: &BookSlice) {
        self.strike_milli.clear();
        self.paid_by_cash = 0;
        let Some(terms) = self.deliverable else { return };
        let shares = terms.shares_per_unit();
        self.divs.iter_mut().for_each(|dividend| dividend.amount *= shares);
        self.forced.fwd = self.forced.fwd.map(|fwd| fwd * shares);
        // strikes below the cash keep distinct values, so that rows stay in order
        let mut last = (0, 0);
        for &listed in &slice.strike_milli {
            let strike = terms.strike_milli(listed);
            self.paid_by_cash += usize::from(strike.is_none());
            if listed != last.0 {
                last = (listed, strike.unwrap_or(0).max(last.1 + 1));
            }
            self.strike_milli.push(last.1);
        }
        if self.paid_by_cash > 0 {
            self.excluded.resize(slice.rows(), false);
            self.excluded[..self.paid_by_cash].fill(true);
        }
    }

    fn is_unknown(&self, slice: &BookSlice) -> bool {
        slice.adjusted && self.deliverable.is_none()
    }

    fn input<'a>(&'a self, task: &Task<'a>, step: f64) -> SliceInput<'a> {
        let slice = &task.book.slices[self.place];
        SliceInput {
            style: slice.style,
            quality: task.quality,
            basis: slice.basis,
            t: self.t,
            s: task.book.spot * self.deliverable.map_or(1.0, |terms| terms.shares_per_unit()),
            r: self.r,
            step,
            divs: &self.divs,
            strike_milli: if self.deliverable.is_some() { &self.strike_milli } else { &slice.strike_milli },
            right: &slice.right,
            bid: if self.is_unknown(slice) { &self.unquoted } else { &slice.bid },
            ask: if self.is_unknown(slice) { &self.unquoted } else { &slice.ask },
            shares: self.deliverable.map(|terms| terms.shares_per_unit()),
            age_s: &self.age_s,
            excluded: &self.excluded,
            forced: self.forced,
            vol_shift: self.vol_shift,
            shared: task.shared,
            clock: task.clock,
        }
    }
}

/// Dividends to come, in years from `at`.
fn dividend_times(task: &Task<'_>) -> Vec<Dividend> {
    let Task { market, book, at, overrides, .. } = *task;
    let dividends = overrides.dividends(book.underlying, &book.dividends);
    let timed = dividends.iter().map(|&(date, amount)| (market.calendar.ex_instant(date), amount));
    timed.filter(|&(ex, _)| ex > at).map(|(ex, amount)| Dividend { t: years_between(at, ex), amount }).collect()
}

/// Expiries that have a curve, as the search for an event sees them, each with its settlement; adjusted roots do not
/// count.
fn event_points<'a>(
    book: &'a Book,
    facts: &'a [SliceFacts],
    inputs: &'a [SliceInput<'a>],
    slices: &'a [SliceWork],
    curves: &'a [Curve],
) -> impl Iterator<Item = (Settle, EventPoint)> {
    let all = facts.iter().zip(inputs).zip(slices).zip(curves);
    all.filter_map(|(((facts, input), slice), curve)| {
        let of = &book.slices[facts.place];
        let (t, days, fwd) = (facts.t, 365.0 * facts.t, slice.fwd);
        if of.adjusted || !curve.is_known() || !NameEvent::looks_at(days) {
            return None;
        }
        let above = input.strike_milli.partition_point(|&strike| f64::from(strike) <= 1000.0 * fwd);
        let strike = |row: usize| Some(strike_of(*input.strike_milli.get(row)?));
        // a forward beyond all strikes has no volatility
        let (low, high) = (strike(above.checked_sub(1)?)?, strike(above)?);
        // without the shift of a user: one of one expiry moves no other
        let vol = |strike: f64| curve.vol(strike);
        let vol = vol(low) + (vol(high) - vol(low)) * (fwd - low) / (high - low);
        let quoted = [&*slice.vol_bid, &*slice.vol_ask];
        let half = half_spread(input.strike_milli, input.right, quoted, fwd, vol * (days / 365.0).sqrt());
        // volatilities are of the spot without the dividends before settlement
        let part = (fwd * ((slice.borr - input.r) * t).exp() / slice.s).min(1.0);
        let point = EventPoint::new(of.expiry, of.settles_at, [days, facts.days_vt], part * vol, part * half);
        Some((of.settle, point))
    })
}

/// Inputs of the surface fit.
fn surface_inputs<'a>(inputs: &[SliceInput<'a>], slices: &'a [SliceWork]) -> Vec<SurfaceInput<'a>> {
    let of = |(input, slice): (&SliceInput<'a>, &'a SliceWork)| SurfaceInput {
        t: input.t,
        fwd: slice.fwd,
        strike_milli: input.strike_milli,
        right: input.right,
        vol_bid: &slice.vol_bid,
        vol_mid: &slice.vol_mid,
        vol_ask: &slice.vol_ask,
        used: &slice.used,
    };
    inputs.iter().zip(slices).map(of).collect()
}

/// The curve of each slice. The few quotes of adjusted roots do not affect the curves of standard roots; curves of
/// adjusted roots with known terms use the quotes of all.
fn curves<'s>(
    smoother: &'s mut DefaultSmoother,
    mut inputs: Vec<SurfaceInput<'_>>,
    facts: &[SliceFacts],
    book: &Book,
) -> Cow<'s, [Curve]> {
    let adjusted = || facts.iter().enumerate().filter(|(_, facts)| book.slices[facts.place].adjusted);
    if !adjusted().any(|(_, facts)| facts.deliverable.is_some()) {
        // adjusted roots with unknown terms have no quotes here
        return Cow::Borrowed(smoother.fit(&inputs));
    }
    let of_all = smoother.fit(&inputs).to_vec();
    adjusted().for_each(|(i, _)| inputs[i].fwd = f64::NAN);
    let mut curves = smoother.fit(&inputs).to_vec();
    adjusted().for_each(|(i, _)| curves[i].clone_from(&of_all[i]));
    Cow::Owned(curves)
}

/// Joins the slices to a chain, in the book's order.
///
/// # Shapes   the rows of a slice follow those of the one before it
fn assemble(
    task: &Task<'_>,
    facts: &[SliceFacts],
    inputs: &[SliceInput<'_>],
    slices: &[SliceWork],
    implied: &Calibration,
    columns: Columns,
) -> (Chain, ChainReport) {
    let Task { book, at, quality, .. } = *task;
    let n_rows = slices.iter().map(|slice| slice.methods.len()).sum();
    let mut evidence = evidence(task, inputs, slices, implied);
    let mut chain = Chain {
        underlying: book.underlying,
        spot: book.spot,
        implied_spot: implied.spot.s,
        implied_spot_error: implied.spot.error,
        spot_off: implied.spot.off,
        doubt: implied.doubt(),
        firm: FirmQuotes::default(),
        uncomputed: None,
        valued_at: at,
        preliminary: !quality.is_final(),
        slices: Slices::default(),
        strike_milli: Vec::with_capacity(n_rows),
        right: Vec::with_capacity(n_rows),
        dropped: Vec::with_capacity(n_rows),
        columns,
        quotes: task.chain_quotes(),
        evidence: None,
    };
    let mut report = ChainReport { slices: u32::try_from(slices.len()).unwrap_or(u32::MAX), ..Default::default() };
    for ((facts, input), slice) in facts.iter().zip(inputs).zip(slices) {
        let (of, start) = (&book.slices[facts.place], chain.rows());
        chain.strike_milli.extend_from_slice(&of.strike_milli);
        chain.right.extend_from_slice(&of.right);
        chain.dropped.extend_from_slice(&slice.fault);
        chain.slices.push(facts.constants(of, input, slice, start..chain.rows(), at));
        evidence.slices.push(facts.evidence(of, input, slice));
        report.priced += slice.priced;
        chain.firm += slice.firm;
        report.early += slice.early_work();
        report.early += slice.late;
        report.searched += slice.searched;
        report.contradictory_pairs |= slice.refused;
        report.tables += slice.state.early.tables();
        report.state_bytes += slice.state.bytes() as u64;
        for drop in slice.fault.iter().flatten() {
            report.dropped[*drop as usize] += 1;
        }
    }
    chain.evidence = Some(Box::new(evidence));
    report.contracts = chain.rows();
    chain.uncomputed = why_uncomputed(&chain, &report);
    (chain, report)
}

/// Evidence of the chain: its inputs besides the columns, without those of each slice.
///
/// # Domain   any book; `slices` are those of its chain, in order
fn evidence(task: &Task<'_>, inputs: &[SliceInput<'_>], slices: &[SliceWork], implied: &Calibration) -> ChainEvidence {
    let Task { market, book, at, overrides, .. } = *task;
    let source = |date: Date, amount: f64| match () {
        () if !book.dividends.contains(&(date, amount)) => DividendSource::Override,
        () if book.projected_from.is_some_and(|from| date >= from) => DividendSource::Projected,
        () => DividendSource::Declared,
    };
    let counted = dividend_times(task);
    let dates = overrides.dividends(book.underlying, &book.dividends);
    let mut age_s = Vec::with_capacity(inputs.iter().map(|input| input.age_s.len()).sum());
    inputs.iter().for_each(|input| age_s.extend(input.age_s.iter().map(|&age| age as f32)));
    let live = dates.iter().filter(|&&(date, _)| market.calendar.ex_instant(date) > at);
    let dividends = live.zip(&counted).enumerate().map(|(i, (&(ex_date, given), counted))| CountedDividend {
        ex_date,
        t: counted.t,
        amount: given * implied.paid(i),
        given,
        source: source(ex_date, given),
    });
    ChainEvidence {
        quoted_at: book.quoted_at(),
        stale_quotes: slices
            .iter()
            .flat_map(|slice| &slice.fault)
            .filter(|&&fault| fault == Some(DropReason::Stale))
            .count() as u32,
        age_s,
        dividends: dividends.collect(),
        slices: Vec::with_capacity(slices.len()),
        rates: Some(market.rates.on(at, market.calendar.eastern(at).date()).origin),
        dividends_known: book.dividends_known || overrides.has_dividends(book.underlying),
        events: Vec::new(),
        clock: Some(market.calendar.variance().clone()),
        boundaries: task.shared.clone(),
    }
}

impl SliceFacts {
    /// Evidence of the slice: its inputs besides the columns.
    fn evidence(&self, of: &BookSlice, input: &SliceInput<'_>, work: &SliceWork) -> SliceEvidence {
        let (ladder, shares) = (&work.state.ladder, input.scale());
        let pair = |pair: &Pair| ParityEvidence {
            strike_milli: ladder.row(Right::Call, pair.strike).map_or(0, |row| of.strike_milli[row]),
            gap: pair.gap / shares,
            half: pair.half / shares,
            straddle: pair.straddle / shares,
        };
        SliceEvidence {
            s: work.s / shares,
            fwd_error: work.fwd_error / shares,
            deliverable: self.deliverable,
            dividends_refused: self.divs_refused,
            step: input.step,
            known: KnownTerms {
                rate: self.rate_is_known,
                fwd: input.forced.fwd.is_some(),
                borrow: input.forced.borrow.is_some(),
            },
            vol_shift: input.vol_shift,
            pairs: work.used_pairs().map(pair).collect(),
            methods: work.methods.clone(),
        }
    }

    /// Values common to all rows of the slice.
    fn constants(
        &self,
        of: &BookSlice,
        input: &SliceInput<'_>,
        work: &SliceWork,
        rows: Range<u32>,
        at: Timestamp,
    ) -> Slice {
        let BookSlice { root, expiry, listed, style, settle, settles_at, adjusted, .. } = *of;
        let known = |x: f64| if self.is_unknown(of) { f64::NAN } else { x };
        let shares = input.scale();
        Slice {
            root,
            expiry,
            listed,
            rows,
            style,
            settle,
            settles_at,
            adjusted,
            days: days_between(at, settles_at),
            days_vt: self.days_vt,
            und_price: known(work.und / shares),
            fwd_price: known(work.fwd / shares),
            disc_rate: known(input.r),
            borr_rate: known(work.borr),
            divs: known(work.terms.divs.iter().fold(0.0, |all, d| all + d.amount) / shares),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::MarketData;
    use crate::rates::table::RateTable;
    use crate::store::columns::SpareBlocks;
    use crate::store::overrides::Overrides;
    use kernel::american::SharedBoundaries;
    use kernel::calendar::Calendar;
    use kernel::contract::{ForwardBasis, Style};
    use kernel::quality::Quality;

    fn at() -> Timestamp {
        "2026-11-20T16:00:00-05:00".parse().unwrap()
    }

    /// One strike an expiry, quoted a minute before the last one.
    fn slice(root: &str, days: i64, adjusted: bool) -> BookSlice {
        BookSlice {
            root: Symbol::parse(root).unwrap(),
            expiry: jiff::civil::date(2026, 11, 20) + jiff::Span::new().days(days),
            listed: jiff::civil::date(2026, 11, 20) + jiff::Span::new().days(days),
            style: Style::American,
            settle: Settle::Pm,
            settles_at: at() + jiff::SignedDuration::from_hours(24 * days),
            basis: ForwardBasis::Spot,
            multiplier: 100,
            adjusted,
            deliverables: Vec::new(),
            strike_milli: vec![100_000, 100_000],
            right: vec![Right::Call, Right::Put],
            bid: vec![1.0; 2],
            ask: vec![2.0; 2],
            counts: Vec::new(),
            ts: vec![at() - jiff::SignedDuration::from_secs(60), at()],
            stale: true,
        }
    }

    fn book(slices: Vec<BookSlice>) -> Book {
        let dividends = [(2026, 11, 20), (2026, 12, 1), (2027, 2, 1)];
        Book {
            underlying: Symbol::parse("ABC").unwrap(),
            spot: 100.0,
            ts: at(),
            dividends: dividends.map(|(y, m, d)| (jiff::civil::date(y, m, d), 0.5)).to_vec(),
            projected_from: Some(jiff::civil::date(2027, 1, 1)),
            dividends_known: true,
            slices,
        }
    }

    /// Objects that a task borrows besides the market and the book.
    type Others = (Overrides, SpareBlocks, SharedBoundaries);

    fn task<'a>(market: MarketData<'a>, book: &'a Book, (overrides, spare, shared): &'a Others) -> Task<'a> {
        let (quality, quotes) = (Quality::Full, false);
        Task { market, book, at: at(), quality, quotes, overrides, spare, shared, clock: || 0 }
    }

    #[test]
    fn a_slice_is_prepared_with_its_own_time_dividends_and_ages() {
        let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
        let market = MarketData { calendar: &calendar, rates: &curves };
        let book = book(vec![slice("ABC", 0, false), slice("ABC", 30, false), slice("ABC1", 90, true)]);
        let others = Others::default();
        let task = task(market, &book, &others);
        let mut facts = Vec::new();
        assert_eq!(prepare(&task, &NameClock::new(&task), &mut facts), 2, "one has settled");
        assert_eq!(facts.iter().map(|f| f.place).collect::<Vec<_>>(), [1, 2]);
        assert!((facts[0].t - 30.0 / 365.0).abs() < 1e-12);
        // the one of the 20th went ex that morning
        assert_eq!(facts.iter().map(|f| f.divs.len()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(facts[0].age_s, [60.0, 0.0]);
        let adjusted = facts[1].input(&task, 0.003);
        assert!(adjusted.bid.iter().chain(adjusted.ask).all(|price| price.is_nan()), "its deliverable is not the spot");
        assert!((facts[0].input(&task, 0.003).bid[0] - 1.0).abs() < 1e-12);
        // memory of a longer chain is used again
        assert_eq!((prepare(&task, &NameClock::new(&task), &mut facts), facts.len(), facts[0].divs.len()), (2, 2, 1));
    }

    #[test]
    fn dividends_say_how_they_are_known() {
        let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
        let market = MarketData { calendar: &calendar, rates: &curves };
        let book = book(vec![slice("ABC", 30, false)]);
        let others = Others::default();
        let task = task(market, &book, &others);
        let found = evidence(&task, &[], &[], &Calibration::default());
        let known: Vec<_> = found.dividends.iter().map(|d| (d.ex_date.to_string(), d.source)).collect();
        let expected = [("2026-12-01", DividendSource::Declared), ("2027-02-01", DividendSource::Projected)];
        assert_eq!(known, expected.map(|(date, source)| (date.to_owned(), source)), "what went ex today is gone");
        assert_eq!(found.quoted_at, Some(at()));
        assert!(found.dividends[0].t > 0.02 && found.dividends[0].t < found.dividends[1].t);
    }

    #[test]
    fn a_slice_takes_its_own_state_wherever_it_stands() {
        let (a, b) = (slice("ABC", 30, false), slice("ABC", 60, false));
        let kept = |of: &BookSlice| ((of.root, of.expiry), SliceState::default());
        let mut state = ChainState::new(Arc::default());
        state.slices = vec![kept(&a), kept(&b)];
        state.slices[0].1.last = Some((1.0, 0.0));
        state.slices[1].1.last = Some((2.0, 0.0));
        // the first expiry has settled: the second is the first now
        assert_eq!(state.take(0, &b).last, Some((2.0, 0.0)));
        assert_eq!(state.take(1, &slice("XYZ", 30, false)).last, None);
        assert_eq!(state.take(0, &a).last, Some((1.0, 0.0)));
    }
}
