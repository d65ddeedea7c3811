//! One (root, expiry) of the synthetic market: its contracts, its true values at any instant of the session, its
//! quotes.

use super::beat::{Beat, Clock};
use super::dirt::{Dirt, Place, SpotFault};
use super::path::{Path, drift_most};
use super::quotes::{Fault, Trading, hour_factor};
use super::rng::Stream;
use super::surface::Term;
use super::value::{Anchor, Fair, SliceTruth};
use engine::rates::curve::DiscountCurves;
use engine::store::book::BookSlice;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::VarianceClock;
use kernel::contract::{ForwardBasis, Right, RootFacts, Style, strike_of};
use kernel::dividends::{Dividend, Terms};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

const SECONDS_PER_DAY: f64 = 86_400.0;
/// Drift of a value, as a part of its spread, after which the contract is quoted again.
const DRIFT_ALLOWED: f64 = 0.25;
/// Greatest error of a value: a part of its spread, and currency per share.
const VALUE_ERROR: f64 = 0.02;
const VALUE_ERROR_LEAST: f64 = 0.000_5;
/// Premiums of early exercise are computed again when this fraction of the time to expiry is over, but at least so
/// often, seconds.
const ANCHOR_PART: i64 = 256;
const ANCHOR_MOST: i64 = 1024;
/// Level and pull of the term structure of volatility futures.
const VOLATILITY_FAR: f64 = 21.0;
const VOLATILITY_PULL: f64 = 3.0;
/// The chance that a contract is not listed although its other right is.
const ONE_RIGHT_ONLY: f64 = 0.000_5;
/// A contract of a stale wing is quoted as if it were worth this fraction of the spot at least.
const WING_LEAST: f64 = 0.002;
/// A spot that comes late is so old, seconds.
const BEHIND_SECONDS: i64 = 900;

/// The session that a market shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    /// Opening, seconds.
    pub(super) open: i64,
    /// Close, seconds.
    pub(super) close: i64,
    /// True if it is running: then the contracts that settle at its close are still listed.
    pub(super) running: bool,
}

impl Session {
    /// The last second that the market shows: what settles at the close is never shown settled.
    pub(super) fn last(self) -> i64 {
        if self.running { self.close - 1 } else { self.close }
    }

    /// True if contracts of a settlement instant are listed.
    pub(super) fn lists(self, settles: i64) -> bool {
        settles > if self.running { self.open } else { self.close }
    }
}

/// Data that all series of a name share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) path: Path,
    pub(super) term: Term,
    pub(super) trading: Trading,
    /// Times at which contracts are quoted again.
    pub(super) clock: Clock,
    /// The one curve of the session.
    pub(super) curves: Arc<DiscountCurves>,
    pub(super) date: Date,
    pub(super) session: Session,
    /// Dividends to come: (seconds of the ex-instant, currency per share).
    pub(super) dividends: Vec<(i64, f64)>,
    /// Earnings to come: (seconds, total variance).
    pub(super) earnings: Vec<(i64, f64)>,
    /// The variance clock that variance runs by, and what market events count; `None`: calendar time.
    pub(super) variance: Option<(VarianceClock, f64)>,
    /// Permanent faults of the name.
    pub(super) dirt: Option<Dirt>,
}

/// The spot and the factor of all variances at one second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) u: i64,
    spot: f64,
    variance_scale: f64,
}

impl Shared {
    pub(super) fn moment(&self, u: i64) -> Moment {
        Moment { u, spot: self.path.spot(u), variance_scale: self.path.variance_scale(u) }
    }

    /// Years of variance from one second to another, which are `t` years apart.
    fn variance_years(&self, from: i64, to: i64, t: f64) -> f64 {
        let instant = |second: i64| Timestamp::from_second(second).unwrap_or_default();
        self.variance
            .as_ref()
            .map_or(t, |(clock, share)| clock.days(instant(from), instant(to), *share) / clock.weights().year())
    }

    /// The spot as the feed has it at `u` seconds; NaN where none comes.
    pub(super) fn spot_published(&self, u: i64) -> f64 {
        let Some((dirt, fault)) = self.dirt.as_ref().and_then(|dirt| Some((dirt, dirt.spot()?))) else {
            return self.path.spot(u);
        };
        match fault {
            SpotFault::Missing => f64::NAN,
            SpotFault::Behind => (self.path.spot(u - BEHIND_SECONDS) * dirt.behind() * 100.0).round().max(1.0) / 100.0,
        }
    }
}

/// The moments of a name that were asked for: a cache.
pub(super) struct Moments<'a> {
    shared: &'a Shared,
    known: BTreeMap<i64, Moment>,
}

impl<'a> Moments<'a> {
    pub(super) fn of(shared: &'a Shared) -> Self {
        Self { shared, known: BTreeMap::new() }
    }

    fn at(&mut self, u: i64) -> Moment {
        *self.known.entry(u).or_insert_with(|| self.shared.moment(u))
    }
}

/// Inputs of a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listing {
    pub(super) facts: RootFacts,
    pub(super) expiry: Date,
    pub(super) settles_at: Timestamp,
    /// Value of the deliverable over one share.
    pub(super) extra: f64,
    /// Borrow rate of this expiry, for the session.
    pub(super) borrow: f64,
    pub(super) chance: Stream,
}

/// One listed (root, expiry).
#[derive(Debug)]
pub(super) struct Series {
    pub(super) listing: Listing,
    pub(super) strike_milli: Box<[u32]>,
    pub(super) right: Box<[Right]>,
    beats: Box<[Beat]>,
    /// The premiums last computed for every row: a cache, no state.
    anchor: Mutex<Option<Arc<Anchor>>>,
}

/// Trading activity of a contract, which sets its beat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interest {
    /// Seconds after which its value has drifted too far.
    drift: f32,
    pub(super) vega: f32,
}

impl Series {
    /// Lists the contracts of `strikes`, both rights but for a few that lost one. Beats are still missing.
    pub(super) fn new(listing: Listing, strikes: &[u32]) -> Self {
        let both = strikes.iter().flat_map(|&strike| [(strike, Right::Call), (strike, Right::Put)]);
        let listed = |&(strike, right): &(u32, Right)| chance(&listing, strike, right).unit(5) >= ONE_RIGHT_ONLY;
        let (strike_milli, right): (Vec<u32>, Vec<Right>) = both.filter(listed).unzip();
        Self {
            listing,
            strike_milli: strike_milli.into(),
            right: right.into(),
            beats: Box::default(),
            anchor: Mutex::default(),
        }
    }

    /// Trading activity of each contract at the opening.
    pub(super) fn interest(&self, shared: &Shared, opening: Moment) -> Vec<Interest> {
        let truth = self.truth(shared, opening);
        let frame = truth.frame();
        let drift = opening.spot * drift_most(truth.sigma(truth.fwd));
        let contract = |row: usize| {
            let (strike, right) = self.contract(row);
            let fair = frame.fair(strike, right);
            let spread = shared.trading.spread(&fair, truth.s, truth.terms.t, 1.0);
            let near = truth.terms.t < 0.02 && (strike / truth.fwd - 1.0).abs() < 0.02;
            let delta = if near { 1.0 } else { (fair.delta.abs() + 0.02).min(1.0) };
            Interest { drift: (DRIFT_ALLOWED * spread / (delta * drift)) as f32, vega: fair.vega as f32 }
        };
        (0..self.right.len()).map(contract).collect()
    }

    /// Gives each contract its beat: as its value drifts, or sooner where it is quoted `per_vega` times a second and
    /// vega.
    pub(super) fn set_beats(&mut self, interest: &[Interest], per_vega: f64) {
        let beat = |(row, interest): (usize, &Interest)| {
            let traded = 1.0 / (per_vega * f64::from(interest.vega)).max(1e-9);
            Beat::new(traded.min(f64::from(interest.drift)), self.chance(row))
        };
        self.beats = interest.iter().enumerate().map(beat).collect();
    }

    fn contract(&self, row: usize) -> (f64, Right) {
        (strike_of(self.strike_milli[row]), self.right[row])
    }

    fn chance(&self, row: usize) -> Stream {
        chance(&self.listing, self.strike_milli[row], self.right[row])
    }

    fn settles(&self) -> i64 {
        self.listing.settles_at.as_second()
    }

    /// The true market at a moment.
    pub(super) fn truth(&self, shared: &Shared, moment: Moment) -> SliceTruth {
        let Moment { u, spot, variance_scale } = moment;
        let years = |at: i64| (at - u) as f64 / SECONDS_PER_DAY / 365.0;
        let t = years(self.settles());
        let due = |at: i64| at > u && at <= self.settles();
        let of_variance = shared.variance_years(u, self.settles(), t);
        let jumps = shared.earnings.iter().filter(|e| due(e.0) && e.0 < self.settles()).map(|e| e.1).sum();
        let r = shared.curves.on(shared.date).map_or(0.0, |curve| curve.rate(t));
        if self.listing.facts.basis == ForwardBasis::Parity {
            let pull = kernel::elementary::exp(-VOLATILITY_PULL * t);
            let smile = shared.term.smile_by(of_variance, t, jumps, variance_scale);
            return SliceTruth::on_forward(VOLATILITY_FAR + (spot - VOLATILITY_FAR) * pull, t, r, smile);
        }
        let scale = 1.0 + self.listing.extra;
        let live = shared.dividends.iter().filter(|d| due(d.0));
        let divs = live.map(|d| Dividend { t: years(d.0), amount: d.1 * scale }).collect();
        let (s, terms) = (spot * scale, Terms { t, r, b: self.listing.borrow, divs });
        // The surface is that of the spot; what the model lets diffuse is the spot less the dividends up to the expiry,
        // and a later expiry would have the spot move less today if that moved no more in proportion.
        let net = s / (s - terms.a(0.0));
        SliceTruth::carried(s, terms, shared.term.smile_by(of_variance, t, jumps, variance_scale * net * net))
    }

    /// The instant whose premiums serve at `u`: some part of the time to expiry ago. Depends on `u` alone.
    fn anchored(&self, shared: &Shared, u: i64) -> i64 {
        let most = ((self.settles() - u) / ANCHOR_PART).clamp(4, ANCHOR_MOST);
        let span = 1_i64 << most.ilog2();
        let phase = self.listing.chance.bits(8) as i64 & (span - 1);
        (u - ((u - phase) & (span - 1))).max(shared.session.open)
    }

    /// The premiums of `rows` at an instant.
    fn anchor_of(&self, moments: &mut Moments<'_>, at: i64, rows: impl Iterator<Item = usize>) -> Anchor {
        let shared = moments.shared;
        let truth = self.truth(shared, moments.at(at));
        let contracts: Vec<_> = rows.map(|row| self.contract(row)).collect();
        Anchor::new(at, &truth, &contracts, shared.trading.steps, |fair| {
            (VALUE_ERROR * shared.trading.spread(fair, truth.s, truth.terms.t, 1.0)).max(VALUE_ERROR_LEAST)
        })
    }

    /// The premiums of every row at an instant, kept while they serve.
    fn anchor(&self, moments: &mut Moments<'_>, at: i64) -> Arc<Anchor> {
        let mut kept = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.as_ref().filter(|anchor| anchor.at == at) {
            Some(anchor) => Arc::clone(anchor),
            None => Arc::clone(kept.insert(Arc::new(self.anchor_of(moments, at, 0..self.right.len())))),
        }
    }

    /// Writes the quotes of `now` into a slice of these contracts, as far as they are newer than those of `before`.
    /// Returns how many contracts were quoted.
    pub(super) fn quote(
        &self,
        moments: &mut Moments<'_>,
        slice: &mut BookSlice,
        before: Option<i64>,
        now: i64,
    ) -> usize {
        let (shared, before) = (moments.shared, before.unwrap_or(i64::MIN));
        let clock = shared.clock;
        let last = self.beats.iter().enumerate().map(|(row, beat)| (beat.last(now, clock), row));
        let mut due: Vec<(i64, usize)> = last.filter(|(u, _)| *u > before).collect();
        due.sort_unstable();
        let american = self.listing.facts.style == Style::American;
        let current = self.anchored(shared, now);
        for rows in due.chunk_by(|a, b| !american || self.anchored(shared, a.0) == self.anchored(shared, b.0)) {
            let at = self.anchored(shared, rows[0].0);
            let (kept, old);
            let anchor = match american {
                false => None,
                true if at == current => {
                    kept = self.anchor(moments, at);
                    Some((&*kept, true))
                }
                true => {
                    old = self.anchor_of(moments, at, rows.iter().map(|r| r.1));
                    Some((&old, false))
                }
            };
            let mut place = 0;
            for same in rows.chunk_by(|a, b| a.0 == b.0) {
                let truth = self.truth(shared, moments.at(same[0].0));
                let desk = MarketMaker { series: self, shared, truth: &truth, u: same[0].0 };
                for &(_, row) in same {
                    let raise = anchor.map(|(anchor, whole)| (anchor, if whole { row } else { place }));
                    desk.quote(slice, row, raise);
                    place += 1;
                }
            }
        }
        due.len()
    }

    /// The intended fault of the quote of a row at `now`.
    pub(super) fn fault(&self, shared: &Shared, row: usize, now: i64) -> Option<Fault> {
        self.strike_milli.get(row)?;
        self.fault_at(shared, row, self.beats[row].last(now, shared.clock))
    }

    /// The intended fault of a row that is quoted at `u`.
    fn fault_at(&self, shared: &Shared, row: usize, u: i64) -> Option<Fault> {
        let lasting = shared.dirt.as_ref().and_then(|dirt| dirt.fault(&self.place(row)));
        lasting.or_else(|| Fault::of(self.chance(row), u))
    }

    /// A row as dirt sees it.
    fn place(&self, row: usize) -> Place {
        Place {
            expiry: self.listing.chance.named("dirt"),
            strike: chance(&self.listing, self.strike_milli[row], Right::Call).named("dirt"),
            contract: self.chance(row).named("dirt of one right"),
            right: self.right[row],
            height: (row as f64 + 0.5) / self.right.len() as f64,
        }
    }

    /// The true market at the opening, with the spot multiplied by `times`.
    fn opening(&self, shared: &Shared, times: f64) -> SliceTruth {
        let opening = shared.moment(shared.session.open);
        self.truth(shared, Moment { spot: opening.spot * times, ..opening })
    }

    /// The true value of every contract at `u` seconds, in row order.
    pub(super) fn values(&self, shared: &Shared, u: i64) -> Vec<f64> {
        let moments = &mut Moments::of(shared);
        let truth = self.truth(shared, moments.at(u));
        let american = self.listing.facts.style == Style::American;
        let anchor = american.then(|| self.anchor(moments, self.anchored(shared, u)));
        let desk = MarketMaker { series: self, shared, truth: &truth, u };
        (0..self.right.len()).map(|row| desk.fair(row, anchor.as_ref().map(|a| (&**a, row))).value).collect()
    }

    /// The slice of a book, its quotes still missing.
    pub(super) fn empty_slice(&self) -> BookSlice {
        let Listing { facts, expiry, settles_at, .. } = self.listing;
        let rows = self.right.len();
        BookSlice {
            expiry,
            strike_milli: self.strike_milli.to_vec(),
            right: self.right.to_vec(),
            bid: vec![f64::NAN; rows],
            ask: vec![f64::NAN; rows],
            ts: vec![Timestamp::UNIX_EPOCH; rows],
            ..BookSlice::new(facts, expiry, settles_at)
        }
    }
}

fn chance(listing: &Listing, strike_milli: u32, right: Right) -> Stream {
    listing.chance.sub(2 * u64::from(strike_milli) + right as u64)
}

/// Quotes the contracts of a series at one second.
struct MarketMaker<'a> {
    series: &'a Series,
    shared: &'a Shared,
    truth: &'a SliceTruth,
    u: i64,
}

impl MarketMaker<'_> {
    /// The value of a row; `anchor`: its premiums, and the place of the row in them.
    fn fair(&self, row: usize, anchor: Option<(&Anchor, usize)>) -> Fair {
        let contract = self.series.contract(row);
        let mut fair = self.truth.frame().fair(contract.0, contract.1);
        if let Some((anchor, place)) = anchor {
            anchor.raise(place, contract, self.truth, &mut fair);
        }
        fair
    }

    fn quote(&self, slice: &mut BookSlice, row: usize, anchor: Option<(&Anchor, usize)>) {
        let Self { series, shared, truth, u } = *self;
        let (chance, mut fair, mut at) = (series.chance(row), self.fair(row, anchor), u);
        let fault = series.fault_at(shared, row, u);
        match fault {
            Some(Fault::Stale) => {
                at = u - 3600 - (chance.unit(6) * 10_800.0) as i64;
                fair.value = (fair.value + fair.delta * (shared.path.spot(at) - shared.path.spot(u))).max(0.0);
            }
            Some(Fault::Repeated) => {
                let next = series.right.iter().skip(row + 1).position(|&r| r == series.right[row]);
                fair = next.map_or(fair, |ahead| self.fair(row + 1 + ahead, None));
            }
            Some(Fault::OtherRight) => {
                let (strike, right) = series.contract(row);
                fair.value += (-right.phi() * (truth.s - strike)).max(0.0);
            }
            Some(Fault::Contradicting) => {
                fair.value = (fair.value + Dirt::off(&series.place(row)) * truth.s).max(0.0);
            }
            _ => {}
        }
        let hour = hour_factor(u - shared.session.open, shared.session.close - u);
        let spread = shared.trading.spread(&fair, truth.s, truth.terms.t, hour);
        let quote = match self.frozen(row, fault) {
            Some((fair, spread)) => shared.trading.quote(&fair, spread, chance, shared.session.open),
            None => shared.trading.quote(&fair, spread, chance, at),
        };
        let (bid, ask) = fault.map_or(quote, |fault| fault.spoil(quote.0, quote.1));
        (slice.bid[row], slice.ask[row]) = (bid, ask);
        slice.ts[row] = Timestamp::from_second(at).unwrap_or_default();
    }

    /// Value and spread of a row whose quote is frozen, although it gets new times.
    fn frozen(&self, row: usize, fault: Option<Fault>) -> Option<(Fair, f64)> {
        let Self { series, shared, .. } = *self;
        let (strike, right) = series.contract(row);
        match fault? {
            Fault::BeforeSplit => {
                let before = series.opening(shared, shared.dirt?.split());
                let fair = before.european(strike, right);
                Some((fair, shared.trading.spread(&fair, before.s, before.terms.t, 1.0)))
            }
            Fault::StaleWing => {
                let opening = series.opening(shared, 1.0);
                let fair = opening.european(strike, right);
                let (times, width) = Dirt::wing(&series.place(row));
                let value = times * fair.value.max(WING_LEAST * opening.s);
                Some((Fair { value, ..fair }, width * value))
            }
            _ => None,
        }
    }
}
