//! Contracts of one expiry over a grid of scenarios.

use super::curve::StrikeCurve;
use super::name_lapse::NameLapse;
use super::path::ExpiryPath;
use super::shock::{ExerciseOutcome, ScenarioGrid, ScenarioState, ScenarioValue, SpotUnit, VolRule, VolUnit};
use super::tables::{LaneInputs, ScenarioTables, TableKey, TableTime, TablesAt};
use crate::explain::value_basis;
use crate::price::Lapse;
use crate::store::chain::{Chain, Slice};
use crate::store::columns::Col;
use jiff::{SignedDuration, Timestamp, Unit};
use kernel::american::Band;
use kernel::calendar::years_between;
use kernel::contract::{Deliverable, Right, Style, Symbol, roots::is_adjusted, strike_of_share};
use kernel::dividends::{Dividend, Terms};

const SECONDS_PER_YEAR: f64 = 365.0 * 86_400.0;
/// Lower bound of a shifted volatility, per √year, unless it was lower before.
pub(super) const LEAST_VOL: f64 = 0.01;
/// Upper bound of a shifted volatility, per √year.
const MOST_VOL: f64 = 10.0;

/// Contracts of an expiry in every scenario.
#[derive(Clone, Debug)]
pub struct Revalued {
    /// Rows of the chain, in the order of the request.
    pub rows: Vec<usize>,
    /// A value for each scenario of each row, in the order of [`ScenarioGrid::place`]; as many as rows times scenarios.
    pub values: Vec<ScenarioValue>,
    /// The published spot moved in the same way, currency per share: for each moment, each spot.
    pub spots: Vec<f64>,
}

/// Contracts of an expiry, to be revalued.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioRows<'a> {
    /// The chain that lists them.
    pub chain: &'a Chain,
    /// Index of their slice.
    pub slice: usize,
    /// Rows of the chain, all of the slice.
    pub rows: &'a [usize],
    /// The outcome of exercise.
    pub delivery: ExerciseOutcome,
    /// How volatility runs out; `None`: it stays.
    pub lapse: Option<&'a NameLapse>,
}

/// Reason why contracts cannot be revalued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unvalued {
    /// An adjusted root without terms of what it delivers.
    Adjusted,
    /// A root that is no plain option's, or whose terms are unknown.
    NoTerms,
    /// The expiry has no forward, or no curve.
    NoValues,
    /// The chain is of before a restart: its inputs are not saved.
    Restored,
    /// The chain does not list it.
    NotListed,
    /// The expiry has settled.
    Expired,
    /// It has settled, and no price of its underlying is known of then.
    NoSettlement,
}

impl Unvalued {
    /// The reason for contracts of a root without terms.
    #[must_use]
    pub fn of_root(root: Symbol) -> Self {
        if is_adjusted(root) { Self::Adjusted } else { Self::NoTerms }
    }

    /// Name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adjusted => "adjusted",
            Self::NoTerms => "no_terms",
            Self::NoValues => "no_values",
            Self::Restored => "restored",
            Self::NotListed => "not_listed",
            Self::Expired => "expired",
            Self::NoSettlement => "no_settlement",
        }
    }

    /// Meaning of the reason, in words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Adjusted => "adjusted root; its terms in deliverables.csv or an override give it values",
            Self::NoTerms => "binary options, or a root of an index whose terms are unknown",
            Self::NoValues => "its expiry has no forward or no curve",
            Self::Restored => "values of before a restart; not computed again yet",
            Self::NotListed => "not listed",
            Self::Expired => "expired",
            Self::NoSettlement => "it has settled on a date without a price of its underlying",
        }
    }
}

/// Values rows of one slice in every scenario; `moments` are the instants of the grid's, for this chain. `full`: with
/// Greeks, else values alone.
///
/// # Units    native, per share of the quoted price
/// # Domain   rows of the slice; any grid
/// # Accuracy tolerances of the tables; exactly the row of the chain where nothing is moved
/// # Cost     about the cost of a steady pass for each value; tables that are missing are built first, 1 ms each
///
/// # Errors
/// The slice has no inputs to revalue it with.
pub fn revalue(
    of: &ScenarioRows<'_>,
    grid: &ScenarioGrid,
    moments: &[Timestamp],
    tables: &ScenarioTables,
    full: bool,
) -> Result<Revalued, Unvalued> {
    let &ScenarioRows { chain, rows, .. } = of;
    let work = SliceScenarios::new(of, grid, tables, full)?;
    let missing = ScenarioValue::NO_VALUE;
    let mut found = Revalued {
        rows: rows.to_vec(),
        values: vec![missing; rows.len() * grid.len()],
        spots: Vec::with_capacity(moments.len() * grid.spot.len()),
    };
    let taus: Vec<f64> = moments.iter().map(|&at| years_between(chain.valued_at, at).max(0.0)).collect();
    for (at, &tau) in taus.iter().enumerate() {
        let spots = grid.spot.iter().map(|&by| {
            (work.path.moved(by, grid.spot_unit, tau) - work.path.paid_until(tau)) * work.slice.und_price / work.s
        });
        found.spots.extend(spots);
        for right in [Right::Call, Right::Put] {
            let of_right = |&place: &usize| chain.right[rows[place]] == right && work.has_values(rows[place]);
            let places: Vec<usize> = (0..rows.len()).filter(of_right).collect();
            if !places.is_empty() {
                work.fill(right, &places, &mut found, at, tau);
            }
        }
    }
    Ok(found)
}

/// Values of one share in every scenario of moment and spot, with the dividends that it has paid by then; NaN where the
/// chain has no spot.
#[must_use]
pub fn revalue_share(chain: &Chain, grid: &ScenarioGrid, moments: &[Timestamp]) -> ShareValues {
    let spot = chain.underlying_price();
    let counted = chain.evidence.iter().flat_map(|evidence| &evidence.dividends);
    let dividends: Vec<Dividend> = counted.map(|d| Dividend { t: d.t, amount: d.amount * grid.dividends }).collect();
    let mut values = ShareValues { now: spot, values: Vec::new(), spots: Vec::new() };
    for &at in moments {
        let tau = years_between(chain.valued_at, at).max(0.0);
        let paid_until: f64 = dividends.iter().filter(|d| d.t <= tau).map(|d| d.amount).sum();
        for &by in &grid.spot {
            let value = match grid.spot_unit {
                SpotUnit::Percent => spot * (1.0 + by / 100.0),
                SpotUnit::Points => spot + by,
                SpotUnit::Level => by + paid_until,
            };
            values.values.push(value);
            values.spots.push(value - paid_until);
        }
    }
    values
}

/// Values of one share; for each moment, each spot.
#[derive(Clone, Debug)]
pub struct ShareValues {
    /// Now, currency.
    pub now: f64,
    /// With dividends paid until then, currency.
    pub values: Vec<f64>,
    /// Price of the underlying by scenario, currency.
    pub spots: Vec<f64>,
}

/// Data that all rows of a slice share.
struct SliceScenarios<'a> {
    chain: &'a Chain,
    slice: &'a Slice,
    grid: &'a ScenarioGrid,
    tables: &'a ScenarioTables,
    full: bool,
    delivery: ExerciseOutcome,
    lapse: Option<&'a NameLapse>,
    path: ExpiryPath,
    /// Years to settlement now.
    years: f64,
    s: f64,
    fwd: f64,
    deliverable: Option<Deliverable>,
    curve: StrikeCurve,
    weight: f64,
}

/// One row at one moment, in each scenario of volatility; strike and spot per share of the underlying.
struct RowInputs {
    row: usize,
    /// Index in the answer.
    place: usize,
    k: f64,
    listed_milli: f64,
}

/// A right of a slice at one moment.
struct RightAt<'a> {
    right: Right,
    at: usize,
    tau: f64,
    rows: &'a [RowInputs],
    /// Spot after the move and without the dividends that have left it, by spot of the grid.
    spots: Vec<f64>,
}

impl<'a> SliceScenarios<'a> {
    /// Gathers what a slice is revalued from.
    ///
    /// # Domain   any slice of a finished chain
    /// # Errors   it has no inputs to revalue it with
    fn new(
        rows: &ScenarioRows<'a>,
        grid: &'a ScenarioGrid,
        tables: &'a ScenarioTables,
        full: bool,
    ) -> Result<Self, Unvalued> {
        let &ScenarioRows { chain, slice, delivery, lapse, .. } = rows;
        let of = chain.slices.get(slice).ok_or(Unvalued::NotListed)?;
        let Some(evidence) = chain.evidence.as_ref() else { return Err(Unvalued::Restored) };
        let deliverable = evidence.slices.get(slice).and_then(|own| own.deliverable);
        if of.adjusted && deliverable.is_none() {
            return Err(Unvalued::of_root(of.root));
        }
        if years_between(chain.valued_at, of.settles_at) <= 0.0 {
            return Err(Unvalued::Expired);
        }
        let basis = value_basis(chain, slice).filter(|_| of.und_price > 0.0).ok_or(Unvalued::NoValues)?;
        let dividends = evidence.dividends.iter().map(|d| Dividend { t: d.t, amount: d.amount });
        Ok(Self {
            chain,
            slice: of,
            grid,
            tables,
            full,
            delivery,
            lapse,
            years: basis.terms.t,
            s: basis.s,
            fwd: basis.terms.fwd(basis.s),
            path: ExpiryPath::new(&basis, of.und_price, of.fwd_price, dividends, grid),
            deliverable,
            curve: StrikeCurve::of(chain, of),
            weight: grid.weight(of.expiry, of.days),
        })
    }

    fn has_values(&self, row: usize) -> bool {
        self.chain.columns.get(Col::SvcTheo)[row].is_finite() && self.strike(row) > 0.0
    }

    /// The strike per share of the underlying.
    fn strike(&self, row: usize) -> f64 {
        strike_of_share(self.deliverable, self.chain.strike_milli[row])
    }

    /// Values the rows at `places` of the answer, all of one right, at one moment.
    fn fill(&self, right: Right, places: &[usize], found: &mut Revalued, at: usize, tau: f64) {
        let inputs = |&place: &usize| {
            let row = found.rows[place];
            let listed_milli = f64::from(self.chain.strike_milli[row]);
            RowInputs { row, place, k: self.strike(row), listed_milli }
        };
        let rows: Vec<RowInputs> = places.iter().map(inputs).collect();
        let paid_until = self.path.paid_in_life(tau);
        // a level is the spot at the moment, after every dividend; at settlement those between are still in it
        let spots = self.grid.spot.iter().map(|&by| self.path.moved(by, self.grid.spot_unit, tau) - paid_until);
        let of = RightAt { right, at, tau, rows: &rows, spots: spots.collect() };
        if self.path.is_settled(tau) {
            self.settle(&of, found);
        } else {
            self.value(&of, found);
        }
        if right == Right::Call && self.slice.style == Style::American {
            self.exercise(&of, found);
        }
        if let Some(terms) = self.deliverable {
            self.scale(&of, found, terms.shares_per_unit());
        }
        if tau == 0.0 && self.grid.keeps_terms() {
            self.serve(&of, found);
        }
    }

    /// The place of a scenario of a row in the answer.
    fn place(&self, row: &RowInputs, at: usize, vol: usize, spot: usize) -> usize {
        row.place * self.grid.len() + self.grid.place(at, vol, spot)
    }

    /// The shares that exercise leaves, for each share of a contract.
    fn delivered(&self, right: Right) -> f64 {
        match self.delivery {
            ExerciseOutcome::Shares => right.phi(),
            ExerciseOutcome::Cash => 0.0,
        }
    }

    /// Expired contracts are worth their payoff. Where that is shares, it is what these and their dividends since are
    /// worth beyond the strike.
    fn settle(&self, of: &RightAt<'_>, found: &mut Revalued) {
        for row in of.rows {
            for (spot, &s) in of.spots.iter().enumerate() {
                let paid = (of.right.phi() * (s - row.k)).max(0.0);
                let shares = if paid > 0.0 { self.delivered(of.right) } else { 0.0 };
                let value = if s > 0.0 {
                    ScenarioValue::ended(ScenarioState::Settled, paid, shares)
                } else {
                    ScenarioValue::NO_VALUE
                };
                (0..self.grid.vol.len()).for_each(|vol| found.values[self.place(row, of.at, vol, spot)] = value);
            }
        }
    }

    /// Contracts that live are valued by the model.
    fn value(&self, of: &RightAt<'_>, found: &mut Revalued) {
        let terms = self.path.terms(of.tau);
        let key = self.key(of.right, TableTime::At(self.grid.at[of.at]));
        let values = self.read(key, &terms, of, &of.spots, self.full);
        self.scatter(of, &values, |place, value| found.values[place] = value);
    }

    /// Calls that were worth more before an ex-date, exercised, than after it, kept, have ended then.
    ///
    /// # Domain   American calls of the slice, at a moment whose values are there
    fn exercise(&self, of: &RightAt<'_>, found: &mut Revalued) {
        for (n, ex) in self.path.ex_dates(of.tau).enumerate() {
            let before = self.path.paid_until(ex.t) - ex.amount;
            let spot_before = |spot: usize| self.path.moved(self.grid.spot[spot], self.grid.spot_unit, of.tau) - before;
            let after: Vec<f64> = (0..of.spots.len()).map(|spot| spot_before(spot) - ex.amount).collect();
            let terms = self.path.terms(ex.t);
            let is_settled = self.path.is_settled(ex.t);
            // kept, it is worth at least its forward less the strike
            let least = |s: f64, k: f64| {
                let at_forward = if is_settled { s - k } else { (terms.fwd(s) - k) * terms.df() };
                at_forward.max(0.0)
            };
            let may_pay = |row: &RowInputs, spot: usize| {
                let pays = spot_before(spot) - row.k;
                after[spot] > 0.0 && pays > least(after[spot], row.k)
            };
            if !of.rows.iter().any(|row| (0..after.len()).any(|spot| may_pay(row, spot))) {
                continue;
            }
            let kept = if is_settled {
                Vec::new()
            } else {
                let key = self.key(of.right, TableTime::AfterExDate(n));
                self.read(key, &terms, of, &after, false)
            };
            let mut lane = kept.iter();
            for (spot, &s_after) in after.iter().enumerate() {
                for row in of.rows {
                    for vol in 0..self.grid.vol.len() {
                        let kept = match lane.next() {
                            Some(kept) => kept.value,
                            None => (s_after - row.k).max(0.0),
                        };
                        let pays = spot_before(spot) - row.k;
                        let value = &mut found.values[self.place(row, of.at, vol, spot)];
                        if value.state != ScenarioState::Exercised && pays > 0.0 && pays >= kept && s_after > 0.0 {
                            *value = ScenarioValue::ended(ScenarioState::Exercised, pays, self.delivered(of.right));
                        }
                    }
                }
            }
        }
    }

    /// Copies the row of the chain to scenarios in which nothing moves.
    fn serve(&self, of: &RightAt<'_>, found: &mut Revalued) {
        let columns = &self.chain.columns;
        for (spot, _) in self.grid.spot.iter().enumerate().filter(|(_, by)| self.is_still(**by)) {
            for (vol, _) in self.grid.vol.iter().enumerate().filter(|(_, by)| **by * self.weight == 0.0) {
                for row in of.rows {
                    let get = |col: Col| columns.get(col)[row.row];
                    found.values[self.place(row, of.at, vol, spot)] = ScenarioValue {
                        state: ScenarioState::Open,
                        vol: get(Col::SvcVol),
                        value: get(Col::SvcTheo),
                        delta: get(Col::Delta),
                        gamma: get(Col::Gamma),
                        vega: get(Col::Vega),
                        theta: get(Col::Theta),
                        rho: get(Col::Rho),
                    };
                }
            }
        }
    }

    fn is_still(&self, by: f64) -> bool {
        self.path.is_still(by, self.grid.spot_unit)
    }

    /// From one share of the underlying to what a contract delivers.
    fn scale(&self, of: &RightAt<'_>, found: &mut Revalued, shares: f64) {
        for row in of.rows {
            for vol in 0..self.grid.vol.len() {
                for spot in 0..self.grid.spot.len() {
                    let value = &mut found.values[self.place(row, of.at, vol, spot)];
                    *value = value.times(shares);
                }
            }
        }
    }

    fn key(&self, right: Right, place: TableTime) -> TableKey {
        let Slice { root, expiry, .. } = *self.slice;
        let ScenarioGrid { rate, borrow, dividends, .. } = *self.grid;
        let moves = [rate, borrow, dividends].map(f64::to_bits);
        TableKey { underlying: self.chain.underlying, root, expiry, right, place, moves }
    }

    /// Values of all rows in all scenarios of volatility at some spots: spot by spot, row by row.
    ///
    /// # Domain   `terms` are of the expiry at the moment that `key` is of; no value where S ≤ A(0)
    fn read(&self, key: TableKey, terms: &Terms, of: &RightAt<'_>, spots: &[f64], full: bool) -> Vec<ScenarioValue> {
        let sticks = self.grid.vol_rule == VolRule::StickyStrike;
        let lapse = self.lapse_until(terms);
        let of_spot = |s: f64| {
            let ratio = if sticks { 1.0 } else { self.fwd / terms.fwd(s) };
            let pairs = of.rows.iter().flat_map(move |row| {
                let vol = self.vol_left(self.base_vol(row, ratio), lapse.as_ref(), terms);
                self.grid.vol.iter().map(move |&by| (row.k, self.shifted(vol, by)))
            });
            LaneInputs::new(pairs)
        };
        let mut values = Vec::with_capacity(spots.len() * of.rows.len() * self.grid.vol.len() + 8);
        let bands = self.bands(of, terms, spots, sticks);
        let lanes = sticks.then(|| of_spot(self.s));
        let read = |tables: &mut TablesAt<'_>| {
            for &s in spots {
                // beyond the dividends to come there is no model
                if terms.fwd(s) > 0.0 {
                    match &lanes {
                        Some(lanes) => tables.read(s, lanes, full, &mut values),
                        None => tables.read(s, &of_spot(s), full, &mut values),
                    }
                } else {
                    let n = values.len() + of.rows.len() * self.grid.vol.len();
                    values.resize(n, ScenarioValue::NO_VALUE);
                }
            }
        };
        self.tables.with(key, self.slice.style, terms, &bands, read);
        values
    }

    /// Passes values of [`SliceScenarios::read`] to `put`, with their indices in the answer.
    fn scatter(&self, of: &RightAt<'_>, values: &[ScenarioValue], mut put: impl FnMut(usize, ScenarioValue)) {
        let mut next = values.iter();
        for spot in 0..self.grid.spot.len() {
            for row in of.rows {
                for vol in 0..self.grid.vol.len() {
                    if let Some(&value) = next.next() {
                        put(self.place(row, of.at, vol, spot), value);
                    }
                }
            }
        }
    }

    /// The volatility of a row before a shift; `ratio`: the forward now over that of the scenario.
    fn base_vol(&self, row: &RowInputs, ratio: f64) -> f64 {
        if (ratio - 1.0).abs() < f64::EPSILON {
            return self.chain.columns.get(Col::SvcVol)[row.row];
        }
        self.curve.at(row.listed_milli * ratio)
    }

    /// How variance runs out until a moment of these terms; `None`: it is now, or volatility stays.
    fn lapse_until(&self, terms: &Terms) -> Option<Lapse> {
        let name = self.lapse.filter(|_| terms.t < self.years)?;
        let left = SignedDuration::try_from_secs_f64(terms.t * SECONDS_PER_YEAR).ok()?;
        // to the second: what is at a moment is at it, whatever a sum of floats rounds
        let at = self.slice.settles_at.checked_sub(left).ok()?.round(Unit::Second).ok()?;
        Some(name.until(self.slice, at))
    }

    /// The volatility that is left of one of now.
    fn vol_left(&self, vol: f64, lapse: Option<&Lapse>, terms: &Terms) -> f64 {
        let left = |lapse: &Lapse| (lapse.left(vol * vol * self.years) / terms.t).sqrt().max(LEAST_VOL.min(vol));
        lapse.map_or(vol, left)
    }

    fn shifted(&self, vol: f64, by: f64) -> f64 {
        let by = by / 100.0 * self.weight;
        let moved = match self.grid.vol_unit {
            VolUnit::Points => vol + by,
            VolUnit::Relative => vol * (1.0 + by),
        };
        if by == 0.0 { vol } else { moved.clamp(LEAST_VOL.min(vol), MOST_VOL.max(vol)) }
    }

    /// Bands that tables must serve: each strike, with its least and greatest volatility.
    fn bands(&self, of: &RightAt<'_>, terms: &Terms, spots: &[f64], sticks: bool) -> Vec<Band> {
        let shifts = || self.grid.vol.iter();
        let ratios: Vec<f64> = if sticks {
            vec![1.0]
        } else {
            spots.iter().map(|&s| self.fwd / terms.fwd(s)).filter(|ratio| *ratio > 0.0).collect()
        };
        let lapse = self.lapse_until(terms);
        let band = |row: &RowInputs| {
            let vols = ratios.iter().flat_map(|&ratio| {
                let vol = self.vol_left(self.base_vol(row, ratio), lapse.as_ref(), terms);
                shifts().map(move |&by| self.shifted(vol, by))
            });
            let (low, high) = vols.fold((f64::INFINITY, 0.0_f64), |(low, high), vol| (low.min(vol), high.max(vol)));
            Band { k: (row.k, row.k), sigma: (low, high) }
        };
        let mut bands: Vec<Band> = of.rows.iter().map(band).filter(|band| band.sigma.0 <= band.sigma.1).collect();
        bands.sort_by(|a, b| a.k.0.total_cmp(&b.k.0));
        bands
    }
}
