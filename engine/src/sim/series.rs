//! One (root, expiry) of the synthetic market: its contracts, its truth at any instant of the session, its quotes.

use super::path::{Path, drift_most};
use super::quotes::{Beat, Fault, Trading, hour_factor};
use super::rng::Stream;
use super::surface::Term;
use super::value::{Fair, SliceTruth, Tables};
use crate::contract::{ForwardBasis, Right, RootFacts, Style};
use crate::kernel::dividends::{Dividend, Terms};
use crate::store::book::BookSlice;
use crate::store::rates::Curves;
use jiff::Timestamp;
use jiff::civil::Date;
use std::sync::{Arc, Mutex, PoisonError};

const SECONDS_PER_DAY: f64 = 86_400.0;
/// How much of its spread a value may drift before the contract is quoted anew.
const DRIFT_ALLOWED: f64 = 0.25;
/// What error a value may have: a part of its spread, and currency per share.
const VALUE_ERROR: f64 = 0.02;
const VALUE_ERROR_LEAST: f64 = 0.000_5;
/// Level and pull of the term structure of volatility futures.
const VOLATILITY_FAR: f64 = 21.0;
const VOLATILITY_PULL: f64 = 3.0;

/// The session that a market shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    /// Opening, seconds.
    pub(super) open: i64,
    /// Close, seconds.
    pub(super) close: i64,
    /// Whether it is running: then the contracts that settle at its close are still listed.
    pub(super) running: bool,
}

impl Session {
    /// The last second that the market shows: what settles at the close is never shown settled.
    pub(super) fn last(self) -> i64 {
        if self.running { self.close - 1 } else { self.close }
    }

    /// Whether contracts of a settlement instant are listed.
    pub(super) fn lists(self, settles: i64) -> bool {
        settles > if self.running { self.open } else { self.close }
    }
}

/// What all series of a name share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) path: Path,
    pub(super) term: Term,
    pub(super) trading: Trading,
    /// The one curve of the session.
    pub(super) curves: Arc<Curves>,
    pub(super) date: Date,
    pub(super) session: Session,
    /// Dividends to come: (seconds of the ex-instant, currency per share).
    pub(super) dividends: Vec<(i64, f64)>,
    /// Earnings to come: (seconds, total variance).
    pub(super) earnings: Vec<(i64, f64)>,
}

/// What makes a series.
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
    pub(super) strike_milli: Vec<u32>,
    pub(super) right: Vec<Right>,
    beats: Vec<Beat>,
    /// Every strike once, currency.
    strikes: Vec<f64>,
    /// The tables last used, newest last, each with the second that it was made for: a cache, no state.
    tables: Mutex<Vec<(i64, Arc<Tables>)>>,
}

impl Series {
    /// Lists the contracts of `strikes`, both rights but for a few that lost one.
    pub(super) fn new(listing: Listing, strikes: &[u32], shared: &Shared) -> Self {
        let mut series = Self {
            listing,
            strike_milli: Vec::with_capacity(2 * strikes.len()),
            right: Vec::with_capacity(2 * strikes.len()),
            beats: Vec::with_capacity(2 * strikes.len()),
            strikes: strikes.iter().map(|&k| f64::from(k) / 1000.0).collect(),
            tables: Mutex::default(),
        };
        let opening = series.truth(shared, shared.session.open);
        for &strike in strikes {
            for right in [Right::Call, Right::Put] {
                let chance = series.chance(strike, right);
                if chance.unit(5) >= 0.0005 {
                    series.strike_milli.push(strike);
                    series.right.push(right);
                    series.beats.push(beat(shared, &opening, f64::from(strike) / 1000.0, right, chance));
                }
            }
        }
        series
    }

    fn chance(&self, strike_milli: u32, right: Right) -> Stream {
        self.listing.chance.sub(2 * u64::from(strike_milli) + right as u64)
    }

    fn settles(&self) -> i64 {
        self.listing.settles_at.as_second()
    }

    /// What is true at `u` seconds.
    pub(super) fn truth(&self, shared: &Shared, u: i64) -> SliceTruth {
        self.truth_at_spot(shared, u, shared.path.spot(u))
    }

    fn truth_at_spot(&self, shared: &Shared, u: i64, spot: f64) -> SliceTruth {
        let years = |at: i64| (at - u) as f64 / SECONDS_PER_DAY / 365.0;
        let t = years(self.settles());
        let due = |at: i64| at > u && at <= self.settles();
        let jumps = shared.earnings.iter().filter(|e| due(e.0) && e.0 < self.settles()).map(|e| e.1).sum();
        let smile = shared.term.smile(t, jumps, shared.path.variance_scale(u));
        let r = shared.curves.on(shared.date).map_or(0.0, |curve| curve.rate(t));
        if self.listing.facts.basis == ForwardBasis::Parity {
            let pull = crate::kernel::elementary::exp(-VOLATILITY_PULL * t);
            return SliceTruth::on_forward(VOLATILITY_FAR + (spot - VOLATILITY_FAR) * pull, t, r, smile);
        }
        let scale = 1.0 + self.listing.extra;
        let live = shared.dividends.iter().filter(|d| due(d.0));
        let divs = live.map(|d| Dividend { t: years(d.0), amount: d.1 * scale }).collect();
        SliceTruth::carried(spot * scale, Terms { t, r, b: self.listing.borrow, divs }, smile)
    }

    /// Values of one right at one instant.
    fn fair(&self, shared: &Shared, truth: &SliceTruth, u: i64, right: Right, strikes: &[f64]) -> Vec<Fair> {
        let mut fair: Vec<Fair> = strikes.iter().map(|&k| truth.european(k, right)).collect();
        if self.listing.facts.style == Style::American && !strikes.is_empty() {
            self.tables(shared, u).value(truth, right, strikes, &mut fair);
        }
        fair
    }

    /// The tables for an instant, made for the opening or for a time to expiry that is at most half longer. Which ones
    /// depends on the instant alone.
    fn tables(&self, shared: &Shared, u: i64) -> Arc<Tables> {
        let remaining = self.settles() - u;
        let mut made_for = 8;
        while made_for < remaining {
            made_for += made_for / 2;
        }
        self.cached(shared, (self.settles() - made_for).max(shared.session.open))
    }

    fn cached(&self, shared: &Shared, made_for: i64) -> Arc<Tables> {
        let mut cache = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tables)) = cache.iter().find(|(at, _)| *at == made_for) {
            return Arc::clone(tables);
        }
        let truth = self.truth(shared, made_for);
        let ignored = |strike: f64| {
            let fair = truth.european(strike, if strike < truth.fwd { Right::Put } else { Right::Call });
            (VALUE_ERROR * shared.trading.spread(&fair, truth.s, truth.terms.t, 1.0)).max(VALUE_ERROR_LEAST)
        };
        let built = Arc::new(Tables::build(&truth, &self.strikes, ignored));
        if cache.len() > 1 {
            cache.remove(0);
        }
        cache.push((made_for, Arc::clone(&built)));
        built
    }

    /// Writes the quotes of `now` into a slice of these contracts, as far as they are newer than those of `before`.
    /// Returns how many contracts were quoted.
    pub(super) fn quote(&self, shared: &Shared, slice: &mut BookSlice, before: Option<i64>, now: i64) -> usize {
        let open = shared.session.open;
        let mut written = 0;
        for beat in (0..Beat::COUNT).map(Beat::nth) {
            let u = beat.last(now, open);
            if before.is_some_and(|before| beat.last(before, open) == u) {
                continue;
            }
            for right in [Right::Call, Right::Put] {
                let due = |row: &usize| self.beats[*row] == beat && self.right[*row] == right;
                let rows: Vec<usize> = (0..self.right.len()).filter(due).collect();
                self.quote_rows(shared, slice, &rows, u);
                written += rows.len();
            }
        }
        slice.stale |= written > 0;
        written
    }

    /// Quotes rows of one right as of `u`.
    fn quote_rows(&self, shared: &Shared, slice: &mut BookSlice, rows: &[usize], u: i64) {
        let Some(&first) = rows.first() else { return };
        let truth = self.truth(shared, u);
        let strikes: Vec<f64> = rows.iter().map(|&row| f64::from(self.strike_milli[row]) / 1000.0).collect();
        let fair = self.fair(shared, &truth, u, self.right[first], &strikes);
        let hour = hour_factor(u - shared.session.open, shared.session.close - u);
        for (&row, fair) in rows.iter().zip(&fair) {
            let chance = self.chance(self.strike_milli[row], self.right[row]);
            let (mut fair, mut at) = (*fair, u);
            let fault = Fault::of(chance, u);
            if fault == Some(Fault::Stale) {
                at = u - 3600 - (chance.unit(6) * 10_800.0) as i64;
                fair.value = (fair.value + fair.delta * (shared.path.spot(at) - shared.path.spot(u))).max(0.0);
            }
            let spread = shared.trading.spread(&fair, truth.s, truth.terms.t, hour);
            let quote = shared.trading.quote(&fair, spread, chance, at);
            let (bid, ask) = fault.map_or(quote, |fault| fault.spoil(quote));
            (slice.bid[row], slice.ask[row]) = (bid, ask);
            slice.ts[row] = Timestamp::from_second(at).unwrap_or_default();
        }
    }

    /// What is wrong on purpose with the quote of a row at `now`.
    pub(super) fn fault(&self, shared: &Shared, row: usize, now: i64) -> Option<Fault> {
        let chance = self.chance(*self.strike_milli.get(row)?, self.right[row]);
        Fault::of(chance, self.beats[row].last(now, shared.session.open))
    }

    /// The true value of every contract at `u` seconds, in row order.
    pub(super) fn values(&self, shared: &Shared, u: i64) -> Vec<f64> {
        let truth = self.truth(shared, u);
        let mut out = vec![f64::NAN; self.right.len()];
        for right in [Right::Call, Right::Put] {
            let rows: Vec<usize> = (0..out.len()).filter(|&row| self.right[row] == right).collect();
            let strikes: Vec<f64> = rows.iter().map(|&row| f64::from(self.strike_milli[row]) / 1000.0).collect();
            let fair = self.fair(shared, &truth, u, right, &strikes);
            for (&row, fair) in rows.iter().zip(&fair) {
                out[row] = fair.value;
            }
        }
        out
    }

    /// The slice of a book, its quotes still missing.
    pub(super) fn empty_slice(&self) -> BookSlice {
        let Listing { facts, expiry, settles_at, .. } = self.listing;
        let rows = self.right.len();
        BookSlice {
            root: facts.root,
            expiry,
            style: facts.style,
            settle: facts.settle,
            settles_at,
            basis: facts.basis,
            multiplier: facts.multiplier,
            adjusted: facts.adjusted,
            strike_milli: self.strike_milli.clone(),
            right: self.right.clone(),
            bid: vec![f64::NAN; rows],
            ask: vec![f64::NAN; rows],
            ts: vec![Timestamp::UNIX_EPOCH; rows],
            stale: true,
        }
    }
}

/// How often a contract must be quoted anew, so that its value stays within its spread.
fn beat(shared: &Shared, opening: &SliceTruth, strike: f64, right: Right, chance: Stream) -> Beat {
    let fair = opening.european(strike, right);
    let spread = shared.trading.spread(&fair, opening.s, opening.terms.t, 1.0);
    let near = opening.terms.t < 0.02 && (strike / opening.fwd - 1.0).abs() < 0.02;
    let delta = if near { 1.0 } else { (fair.delta.abs() + 0.02).min(1.0) };
    let per_second = delta * opening.s * drift_most(opening.sigma(opening.fwd));
    Beat::new(DRIFT_ALLOWED * spread / per_second, chance)
}
