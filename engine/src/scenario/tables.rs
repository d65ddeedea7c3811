//! Tables of early exercise for scenarios: the only file of scenarios that names the pricers. They are kept from one
//! request to the next, so that a grid is asked for again at the cost of reading it; what was not read for the longest
//! time goes first when they take too much. Never: a chain.

use super::shock::{ScenarioMoment, ScenarioState, ScenarioValue};
use jiff::civil::Date;
use kernel::american::{Band, Numbers, Pricer, SharedBoundaries};
use kernel::contract::{Right, Style, Symbol};
use kernel::dividends::Terms;
use kernel::greeks::Greek;
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::quality::Quality;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Tables reach this factor beyond the volatilities that are asked for, so that they serve while quotes move.
const ROOM: f64 = 1.1;
/// The numbers of a [`ScenarioValue`], in its order.
const SHOWN: [Greek; 6] = [Greek::Value, Greek::Delta, Greek::Gamma, Greek::Vega, Greek::Theta, Greek::Rho];

/// Key of tables: the contracts and market that they serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TableKey {
    pub(super) underlying: Symbol,
    pub(super) root: Symbol,
    pub(super) expiry: Date,
    pub(super) right: Right,
    pub(super) place: TableTime,
    /// Bits of the moves of rate, borrow and dividends.
    pub(super) moves: [u64; 3],
}

/// Time at which tables are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TableTime {
    At(ScenarioMoment),
    /// Right after a dividend, by its place among those before expiry.
    AfterExDate(usize),
}

/// Pricers of scenarios, bounded in bytes, for any number of threads.
#[derive(Debug)]
pub struct ScenarioTables {
    held: Mutex<HeldTables>,
    most_bytes: usize,
    /// Exercise boundaries that names share.
    shared: SharedBoundaries,
}

#[derive(Debug, Default)]
struct HeldTables {
    tables: HashMap<TableKey, HeldTable>,
    bytes: usize,
    reads: u64,
}

#[derive(Debug)]
struct HeldTable {
    pricer: Arc<Mutex<Option<Pricer>>>,
    bytes: usize,
    read: u64,
}

/// Strikes and volatilities to be valued at once, padded to whole blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneInputs {
    k: Vec<f64>,
    sigma: Vec<f64>,
    n: usize,
}

impl LaneInputs {
    /// Pairs of strike and volatility.
    pub(super) fn new(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mut k, mut sigma): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let n = k.len();
        let padded = n.next_multiple_of(BLOCK);
        k.resize(padded, k.last().copied().unwrap_or(1.0));
        sigma.resize(padded, sigma.last().copied().unwrap_or(1.0));
        Self { k, sigma, n }
    }
}

/// Tables at the terms that they serve.
pub(super) struct TablesAt<'a> {
    pricer: &'a mut Pricer,
    terms: &'a Terms,
}

impl TablesAt<'_> {
    /// Appends values and Greeks at a spot, in native units, per share; every number but the value is missing unless
    /// `full`.
    pub(super) fn read(&mut self, s: f64, lanes: &LaneInputs, full: bool, out: &mut Vec<ScenarioValue>) {
        let numbers = if full { Numbers::Greeks } else { Numbers::ByVolatility };
        let end = out.len() + lanes.n;
        for (k, sigma) in lanes.k.chunks_exact(BLOCK).zip(lanes.sigma.chunks_exact(BLOCK)) {
            let (k, vols) = (Block::load(k), Block::load(sigma));
            let at = self.pricer.prepare(self.terms, s, k, vols, numbers);
            let value = |lane: usize, numbers: [f64; 6]| {
                let [value, delta, gamma, vega, theta, rho] = numbers;
                let vol = sigma[lane];
                let value = ScenarioValue { vol, value, delta, gamma, vega, theta, rho, ..ScenarioValue::NO_VALUE };
                value.checked(full)
            };
            if full {
                let greeks = at.greeks(k, vols);
                let numbers = SHOWN.map(|greek| greeks.get(greek) * (1.0 / greek.unit().divisor()));
                let lane = |lane: usize| value(lane, numbers.map(|number| number.lane(lane)));
                out.extend((0..BLOCK).map(lane));
            } else {
                let values = at.vol_derivatives(k, vols).value;
                let nan = f64::NAN;
                out.extend((0..BLOCK).map(|lane| value(lane, [values.lane(lane), nan, nan, nan, nan, nan])));
            }
        }
        out.truncate(end);
    }
}

impl ScenarioValue {
    /// The value, if its numbers are finite; else missing.
    fn checked(self, full: bool) -> Self {
        let numbers = [self.delta, self.gamma, self.vega, self.theta, self.rho];
        let is_known = self.value.is_finite() && (!full || numbers.iter().all(|number| number.is_finite()));
        let state = ScenarioState::Open;
        if is_known { Self { state, ..self } } else { Self::NO_VALUE }
    }
}

impl ScenarioTables {
    /// Tables of at most about so many bytes.
    #[must_use]
    pub fn new(most_bytes: usize) -> Self {
        Self { held: Mutex::default(), most_bytes, shared: SharedBoundaries::default() }
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Lets `read` read tables of `key` that serve `terms`, and each strike at volatilities from least to greatest.
    /// They are laid out, or widened, where they do not serve yet.
    pub(super) fn with<T>(
        &self,
        key: TableKey,
        style: Style,
        terms: &Terms,
        bands: &[Band],
        read: impl FnOnce(&mut TablesAt<'_>) -> T,
    ) -> T {
        let pricer = self.get(key);
        let mut pricer = pricer.lock().unwrap_or_else(PoisonError::into_inner);
        // taken out while it is read: a reader that panics leaves none
        let mut served = match pricer.take() {
            Some(known) if known.serves(terms, bands) => known,
            Some(mut known) => {
                known.refit(terms, &wider(bands, ROOM));
                known
            }
            None => {
                let bands = wider(bands, ROOM);
                Pricer::laid_out(&self.shared, style, key.right, terms, &bands, Quality::Full)
            }
        };
        let found = read(&mut TablesAt { pricer: &mut served, terms });
        let bytes = served.bytes();
        *pricer = Some(served);
        drop(pricer);
        self.record_size(key, bytes);
        found
    }

    fn get(&self, key: TableKey) -> Arc<Mutex<Option<Pricer>>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.reads = held.reads.wrapping_add(1);
        let read = held.reads;
        let table = held.tables.entry(key).or_insert_with(|| HeldTable { pricer: Arc::default(), bytes: 0, read });
        table.read = read;
        Arc::clone(&table.pricer)
    }

    /// Records the size of tables, and drops others if all together take too much.
    fn record_size(&self, key: TableKey, bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = held.tables.get_mut(&key) else { return };
        let before = core::mem::replace(&mut table.bytes, bytes);
        held.bytes = held.bytes.saturating_sub(before).saturating_add(bytes);
        while held.bytes > self.most_bytes && held.tables.len() > 1 {
            let oldest = held.tables.iter().min_by_key(|(_, table)| table.read).map(|(key, _)| *key);
            let Some(gone) = oldest.and_then(|oldest| held.tables.remove(&oldest)) else { return };
            held.bytes = held.bytes.saturating_sub(gone.bytes);
        }
    }
}

fn wider(bands: &[Band], room: f64) -> Vec<Band> {
    let wide = |band: &Band| Band { k: band.k, sigma: (band.sigma.0 / room, band.sigma.1 * room) };
    bands.iter().map(wide).collect()
}
