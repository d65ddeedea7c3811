//! Changes of value between two chains of a name, by cause: each input is moved in turn to what the later chain has,
//! and the contract is valued again by the pricers of scenarios. Contracts are held: nothing is exercised on the way,
//! and what settles on it is paid. Never: a quantity.

use super::curve::StrikeCurve;
use super::path::ExpiryPath;
use super::revalue::{LEAST_VOL, Unvalued};
use super::shock::{ExerciseOutcome, ScenarioGrid, ScenarioMoment};
use super::tables::{LaneInputs, ScenarioTables, TableKey, TableTime};
use crate::explain::{ValueBasis, value_basis};
use crate::store::chain::{Chain, Slice};
use crate::store::columns::Col;
use core::ops::AddAssign;
use kernel::american::Band;
use kernel::calendar::years_between;
use kernel::contract::{Deliverable, Right, strike_of_share};
use kernel::dividends::{Dividend, Terms};

/// Number of causes.
const CAUSES: usize = 7;

/// Change of value between two moments, by cause; NaN: missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueChange {
    /// Value at the earlier moment.
    pub before: f64,
    /// Value at the later moment, of shares with the dividends that they have paid since.
    pub after: f64,
    /// The change by each input, in the order in which they are moved: time, spot, level of volatility, rest of the
    /// curve, rates and borrow, dividends; then the rest, by which the later value differs from the moved one.
    pub causes: [f64; CAUSES],
}

impl ValueChange {
    /// Nothing.
    pub const NONE: Self = Self { before: 0.0, after: 0.0, causes: [0.0; CAUSES] };
    /// Nothing is known.
    pub const MISSING: Self = Self { before: f64::NAN, after: f64::NAN, causes: [f64::NAN; CAUSES] };

    /// The change along values after each move.
    fn along(values: &[f64; CAUSES + 1]) -> Self {
        let mut causes = [0.0; CAUSES];
        for (cause, pair) in causes.iter_mut().zip(values.windows(2)) {
            *cause = pair[1] - pair[0];
        }
        let change = Self { before: values[0], after: values[CAUSES], causes };
        if values.iter().all(|value| value.is_finite()) { change } else { Self::MISSING }
    }

    /// Time and spot alone have moved.
    fn ended(before: f64, still: f64, after: f64) -> Self {
        let mut values = [after; CAUSES + 1];
        (values[0], values[1]) = (before, still);
        Self::along(&values)
    }

    /// The whole change.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.after - self.before
    }

    /// True if it is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.after.is_finite()
    }

    /// The change of `n` units.
    #[must_use]
    pub fn times(self, n: f64) -> Self {
        Self { before: n * self.before, after: n * self.after, causes: self.causes.map(|cause| n * cause) }
    }
}

impl AddAssign for ValueChange {
    fn add_assign(&mut self, o: Self) {
        self.before += o.before;
        self.after += o.after;
        self.causes.iter_mut().zip(o.causes).for_each(|(sum, cause)| *sum += cause);
    }
}

/// An expiry in a chain.
#[derive(Clone, Copy, Debug)]
pub struct SliceAt<'a> {
    /// The chain.
    pub chain: &'a Chain,
    /// Index of the slice.
    pub slice: usize,
}

/// Inputs of the values of an expiry.
struct SliceInputs<'a> {
    chain: &'a Chain,
    slice: &'a Slice,
    basis: ValueBasis,
    deliverable: Option<Deliverable>,
    curve: StrikeCurve,
}

impl<'a> SliceInputs<'a> {
    fn of(at: SliceAt<'a>) -> Result<Self, Unvalued> {
        let SliceAt { chain, slice } = at;
        let of = chain.slices.get(slice).ok_or(Unvalued::NotListed)?;
        let deliverable = deliverable(chain, slice)?;
        let basis = value_basis(chain, slice).filter(|_| of.und_price > 0.0).ok_or(Unvalued::NoValues)?;
        Ok(Self { chain, slice: of, basis, deliverable, curve: StrikeCurve::of(chain, of) })
    }

    fn get(&self, col: Col, row: usize) -> f64 {
        self.chain.columns.get(col)[row]
    }

    /// The volatility of the curve where a strike per share is `k`; `listed_milli` is any listed strike.
    fn vol_at(&self, k: f64, listed_milli: u32) -> f64 {
        let of = |milli: u32| strike_of_share(self.deliverable, milli);
        let listed = f64::from(listed_milli);
        // strikes of what is delivered are linear in those that are listed
        let rise = (of(listed_milli.saturating_mul(2)) - of(listed_milli)) / listed;
        self.curve.at(listed + (k - of(listed_milli)) / rise)
    }
}

/// The terms of an adjusted root; `None`: 100 shares.
fn deliverable(chain: &Chain, slice: usize) -> Result<Option<Deliverable>, Unvalued> {
    let evidence = chain.evidence.as_ref().ok_or(Unvalued::Restored)?;
    let terms = evidence.slices.get(slice).and_then(|own| own.deliverable);
    let of = chain.slices.get(slice).ok_or(Unvalued::NotListed)?;
    if of.adjusted && terms.is_none() { Err(Unvalued::of_root(of.root)) } else { Ok(terms) }
}

/// One state of the market on the way.
struct Stop<'a> {
    key: TableKey,
    terms: &'a Terms,
    s: f64,
    vols: &'a [f64],
}

/// Explains the changes of contracts of one expiry; each pair has a row of the earlier and one of the later chain.
///
/// The level is how far the curve has moved at the later forward; every strike is shifted by it. The rest of the curve
/// is what is left of the move of the contract's own volatility.
///
/// # Units    native, per share of the quoted price
/// # Domain   an expiry that both chains list, and that has settled in neither
/// # Accuracy causes sum to the change but for rounding; each is within the tolerances of the tables
/// # Cost     six values a contract; at most three tables for each right are built first, 1 ms each
///
/// # Errors
/// One of the chains has no inputs to value the expiry with.
pub fn explain_contracts(
    before: SliceAt<'_>,
    after: SliceAt<'_>,
    rows: &[(usize, usize)],
    tables: &ScenarioTables,
) -> Result<Vec<ValueChange>, Unvalued> {
    let (from, to) = (SliceInputs::of(before)?, SliceInputs::of(after)?);
    if from.deliverable != to.deliverable {
        return Err(Unvalued::of_root(from.slice.root));
    }
    let tau = years_between(from.chain.valued_at, to.chain.valued_at).max(0.0);
    let path = ExpiryPath::new(
        &from.basis,
        from.slice.und_price,
        from.slice.fwd_price,
        counted(from.chain),
        &ScenarioGrid::default(),
    );
    if path.is_settled(tau) {
        return Err(Unvalued::Expired);
    }
    let later = path.terms(tau);
    let Terms { r, b, .. } = to.basis.terms;
    let carried = Terms { t: later.t, r, b, divs: later.divs.clone() };
    let (still, s) = (from.basis.s - path.paid_in_life(tau), to.basis.s);
    let fwd = to.basis.terms.fwd(s);
    let units = from.deliverable.map_or(1.0, |terms| terms.shares_per_unit());
    let mut changes = vec![ValueChange::MISSING; rows.len()];
    for right in [Right::Call, Right::Put] {
        let mut lanes = Lanes::default();
        for (place, &(row, at)) in rows.iter().enumerate().filter(|(_, rows)| from.chain.right[rows.0] == right) {
            let listed = from.chain.strike_milli[row];
            let (own, new) = (from.get(Col::SvcVol, row), to.get(Col::SvcVol, at));
            let level = (own + to.vol_at(fwd, listed) - from.vol_at(fwd, listed)).max(LEAST_VOL.min(own));
            let ends = [from.get(Col::SvcTheo, row), to.get(Col::SvcTheo, at)];
            let k = strike_of_share(from.deliverable, listed);
            if k > 0.0 && [own, level, new, ends[0], ends[1]].iter().all(|number| number.is_finite()) {
                lanes.push(place, k, [own, level, new], ends);
            }
        }
        if lanes.places.is_empty() {
            continue;
        }
        let key = |place: TableTime, moves: [f64; 2]| {
            let Slice { root, expiry, .. } = *from.slice;
            let moves = [moves[0].to_bits(), moves[1].to_bits(), 1.0_f64.to_bits()];
            TableKey { underlying: from.chain.underlying, root, expiry, right, place, moves }
        };
        let at = TableTime::At(ScenarioMoment::At(to.chain.valued_at));
        let moved = key(at, [0.0, 0.0]);
        let with_rates = key(at, [r - later.r, b - later.b]);
        let at_end = key(TableTime::At(ScenarioMoment::Now), [0.0, 0.0]);
        let [own, level, new] = &lanes.vols;
        let stops = [
            Stop { key: moved, terms: &later, s: still, vols: own },
            Stop { key: moved, terms: &later, s, vols: own },
            Stop { key: moved, terms: &later, s, vols: level },
            Stop { key: moved, terms: &later, s, vols: new },
            Stop { key: with_rates, terms: &carried, s, vols: new },
            Stop { key: at_end, terms: &to.basis.terms, s, vols: new },
        ];
        let bands = lanes.bands();
        let values: Vec<Vec<f64>> = stops.iter().map(|stop| lanes.values(stop, &from, &bands, tables)).collect();
        for (lane, &place) in lanes.places.iter().enumerate() {
            let mut along = [lanes.ends[lane][0]; CAUSES + 1];
            along[1..CAUSES].iter_mut().zip(&values).for_each(|(value, of)| *value = units * of[lane]);
            along[CAUSES] = lanes.ends[lane][1];
            changes[place] = ValueChange::along(&along);
        }
    }
    Ok(changes)
}

/// Contracts of one right that are valued together.
#[derive(Default)]
struct Lanes {
    places: Vec<usize>,
    k: Vec<f64>,
    /// Volatilities before, shifted by the level, and after.
    vols: [Vec<f64>; 3],
    /// Served values before and after.
    ends: Vec<[f64; 2]>,
}

impl Lanes {
    fn push(&mut self, place: usize, k: f64, vols: [f64; 3], ends: [f64; 2]) {
        self.places.push(place);
        self.k.push(k);
        self.vols.iter_mut().zip(vols).for_each(|(lane, vol)| lane.push(vol));
        self.ends.push(ends);
    }

    /// Bands that tables must serve: each strike, with its least and greatest volatility.
    fn bands(&self) -> Vec<Band> {
        let [own, level, new] = &self.vols;
        let band = |lane: usize| {
            let vols = [own[lane], level[lane], new[lane]];
            let (low, high) = vols.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &v| (low.min(v), high.max(v)));
            Band { k: (self.k[lane], self.k[lane]), sigma: (low, high) }
        };
        let mut bands: Vec<Band> = (0..self.k.len()).map(band).collect();
        bands.sort_by(|a, b| a.k.0.total_cmp(&b.k.0));
        bands
    }

    /// Values at a stop; NaN where the spot is not above the dividends to come.
    fn values(&self, stop: &Stop<'_>, of: &SliceInputs<'_>, bands: &[Band], tables: &ScenarioTables) -> Vec<f64> {
        if !(stop.s > 0.0 && stop.terms.fwd(stop.s) > 0.0) {
            return vec![f64::NAN; self.k.len()];
        }
        let lanes = LaneInputs::new(self.k.iter().copied().zip(stop.vols.iter().copied()));
        let mut values = Vec::with_capacity(self.k.len());
        tables.with(stop.key, of.slice.style, stop.terms, bands, |at| at.read(stop.s, &lanes, false, &mut values));
        values.iter().map(|value| value.value).collect()
    }
}

/// Explains the change of a contract that has settled between two moments, at the price `settled_at` of its underlying.
/// Shares that it left are worth their price at the later moment and the dividends since.
///
/// # Errors
/// The earlier chain has no terms of the contract, or its value; or there are shares, and no later price of them.
pub fn explain_settled(
    before: SliceAt<'_>,
    row: usize,
    settled_at: f64,
    after: Option<&Chain>,
    delivery: ExerciseOutcome,
) -> Result<ValueChange, Unvalued> {
    let SliceAt { chain, slice } = before;
    let terms = deliverable(chain, slice)?;
    let of = chain.slices.get(slice).ok_or(Unvalued::NotListed)?;
    let (k, phi) = (strike_of_share(terms, chain.strike_milli[row]), chain.right[row].phi());
    let pays = |s: f64| (phi * (s - k)).max(0.0);
    let life = years_between(chain.valued_at, of.settles_at);
    let still = pays(of.und_price - paid_between(chain, 0.0, life));
    let after = if pays(settled_at) > 0.0 && delivery == ExerciseOutcome::Shares {
        let later = after.ok_or(Unvalued::NotListed)?;
        let tau = years_between(chain.valued_at, later.valued_at);
        phi * (later.underlying_price() + paid_between(chain, life, tau) - k)
    } else {
        pays(settled_at)
    };
    let units = terms.map_or(1.0, |terms| terms.shares_per_unit());
    let change = ValueChange::ended(chain.columns.get(Col::SvcTheo)[row], units * still, units * after);
    if change.is_known() { Ok(change) } else { Err(Unvalued::NoValues) }
}

/// Explains the change of one share: its price and the dividends that it has paid.
#[must_use]
pub fn explain_share(before: &Chain, after: &Chain) -> ValueChange {
    let tau = years_between(before.valued_at, after.valued_at);
    let price = before.underlying_price();
    ValueChange::ended(price, price, after.underlying_price() + paid_between(before, 0.0, tau))
}

/// The dividends that a chain counts.
fn counted(chain: &Chain) -> impl Iterator<Item = Dividend> {
    let all = chain.evidence.iter().flat_map(|evidence| &evidence.dividends);
    all.map(|d| Dividend { t: d.t, amount: d.amount })
}

/// Dividends that a chain counts with ex-dates after `from` and up to `to`, years from it.
fn paid_between(chain: &Chain, from: f64, to: f64) -> f64 {
    counted(chain).filter(|d| d.t > from && d.t <= to).map(|d| d.amount).sum()
}
