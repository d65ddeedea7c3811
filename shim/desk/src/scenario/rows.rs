//! Scenarios as rows of a table, piece by piece: values of each contract, or sums of them.

use super::legs::{HeldRow, Leg, Legs};
use crate::listed::{facts_of, identity_of, identity_of_share, multiplier};
use api::rows::clock::Stamp;
use api::rows::frame::{ColumnHead, Heading};
use api::rows::table::{Fact, TableLines};
use api::vendors::native_scenario::{
    BEFORE_GREEKS, OF_POSITIONS, PER_SHARE, SCENARIO, SUMS_MOST, ScenarioRequest, ScenarioSum, Since,
};
use engine::scenario::{
    ExerciseOutcome, Revalued, ScenarioRows, ScenarioTables, ScenarioValue, Unvalued, revalue, revalue_share,
};
use engine::store::chain::Chain;
use engine::store::columns::Col;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kernel::contract::Symbol;
use kernel::position::Instrument;
use std::collections::HashMap;
use std::sync::Arc;

/// About how many bytes a piece has.
pub(super) const PIECE: usize = 64 * 1024;

/// Writes the answer to a request, in pieces.
pub struct ScenarioWriter<'a> {
    request: &'a ScenarioRequest,
    legs: &'a Legs,
    tables: &'a ScenarioTables,
    zone: &'a TimeZone,
    columns: Vec<ColumnHead<'static>>,
}

/// Receiver of an answer.
pub trait ScenarioClient {
    /// Checks after each leg whether to continue, with `bytes` of sums in memory.
    ///
    /// # Errors
    /// Nobody takes the answer any more, or there is no room for it.
    fn goes_on(&mut self, bytes: usize) -> Result<(), Cut>;

    /// Takes a piece.
    ///
    /// # Errors
    /// Nobody takes the answer any more.
    fn takes(&mut self, piece: Vec<u8>) -> Result<(), Cut>;
}

/// Why an answer ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nobody takes it any more.
    Gone,
    /// Answers in the making hold too much.
    Crowded,
    /// A sum has too many groups.
    TooManyGroups,
}

/// Values of a position in currency.
#[derive(Clone, Copy, Debug, Default)]
struct PositionSum {
    value: f64,
    profit: f64,
    dollar_delta: f64,
    gamma_1pct: f64,
    vega: f64,
    theta: f64,
    rho: f64,
    missing: u32,
}

/// One group of a sum.
struct SummedGroup {
    key: GroupKey,
    positions: u64,
    /// By scenario.
    cells: Vec<PositionSum>,
    /// Its first underlying, and whether it is the only one.
    underlying: Option<Symbol>,
    is_of_one: bool,
    /// By moment and spot, of the first underlying.
    spots: Vec<f64>,
    /// By moment.
    moments: Vec<Timestamp>,
}

/// Account, underlying and expiry of a group; `None`: groups are of all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupKey {
    account: Option<Arc<str>>,
    underlying: Option<Symbol>,
    expiry: Option<String>,
}

impl<'a> ScenarioWriter<'a> {
    /// A writer of an answer.
    #[must_use]
    pub fn new(request: &'a ScenarioRequest, legs: &'a Legs, tables: &'a ScenarioTables, zone: &'a TimeZone) -> Self {
        Self { request, legs, tables, zone, columns: request.columns() }
    }

    /// Writes everything.
    ///
    /// # Errors
    /// Nobody wants more, or a sum is too large: nothing was sent of it then.
    pub fn write(&self, heading: &Heading, client: &mut dyn ScenarioClient) -> Result<(), Cut> {
        let groups = self.request.sum.map(|sum| self.sum(sum, client)).transpose()?;
        let mut out = Vec::new();
        let mut lines = TableLines::begin(self.request.format, heading, &self.columns, &mut out);
        match &groups {
            Some(groups) => {
                for group in groups {
                    self.push_group(group, &mut lines, &mut out, client)?;
                }
            }
            None => {
                for leg in &self.legs.legs {
                    client.goes_on(0)?;
                    self.push_leg(leg, &mut lines, &mut out, client)?;
                }
            }
        }
        lines.end(&mut out);
        client.takes(out)
    }

    /// Rows of one leg.
    fn push_leg(
        &self,
        leg: &Leg,
        lines: &mut TableLines,
        out: &mut Vec<u8>,
        client: &mut dyn ScenarioClient,
    ) -> Result<(), Cut> {
        match leg {
            Leg::Contracts { chain, slice, held, delivery } => {
                let moments = self.legs.moments(chain);
                match self.revalue(chain, *slice, held, *delivery) {
                    Err(why) => {
                        for held in held {
                            let names = self.names(&held.account, held.quantity, &identity(chain, *slice, held.row));
                            self.push_unvalued(&names, why.name(), lines, out);
                        }
                    }
                    Ok(found) => {
                        for (n, held) in held.iter().enumerate() {
                            let values = &found.values[n * self.request.grid.len()..][..self.request.grid.len()];
                            let names = self.names(&held.account, held.quantity, &identity(chain, *slice, held.row));
                            let before = self.before(chain.columns.get(Col::SvcTheo)[held.row], held.price);
                            let scale = held.quantity * multiplier(chain, *slice);
                            let cells = |place: usize, spot| self.cells(&values[place], before, spot, scale);
                            self.push_values(
                                NamedRows { names: &names, moments, spots: &found.spots },
                                cells,
                                lines,
                                out,
                                client,
                            )?;
                        }
                    }
                }
            }
            Leg::Shares { chain, account, quantity, price } => {
                let moments = self.legs.moments(chain);
                let found = revalue_share(chain, self.legs.grid(chain, &self.request.grid), moments);
                let before = self.before(found.now, *price);
                let names = self.names(account, *quantity, &identity_of_share(chain.underlying));
                let spots = self.request.grid.spot.len();
                let per_moment = self.request.grid.vol.len() * spots;
                let cells = |place: usize, spot| {
                    let value = share(found.values[place / per_moment * spots + place % spots]);
                    self.cells(&value, before, spot, *quantity)
                };
                self.push_values(NamedRows { names: &names, moments, spots: &found.spots }, cells, lines, out, client)?;
            }
            Leg::Unvalued { account, instrument, quantity, why } => {
                let names = self.names(account, *quantity, &identity_of(*instrument));
                self.push_unvalued(&names, why.name(), lines, out);
            }
        }
        pass_on(out, client)
    }

    /// Values contracts of an expiry in the scenarios of their name.
    fn revalue(
        &self,
        chain: &Chain,
        slice: usize,
        held: &[HeldRow],
        delivery: ExerciseOutcome,
    ) -> Result<Revalued, Unvalued> {
        let rows: Vec<usize> = held.iter().map(|held| held.row).collect();
        let of = ScenarioRows { chain, slice, rows: &rows, delivery, lapse: self.legs.lapse(chain) };
        let grid = self.legs.grid(chain, &self.request.grid);
        revalue(&of, grid, self.legs.moments(chain), self.tables, self.request.with_greeks)
    }

    /// The value per share that profit counts from; NaN where it counts from an unknown price.
    fn before(&self, now: f64, price: f64) -> f64 {
        match self.request.since {
            Since::Now => now,
            Since::Entry => price,
        }
    }

    /// The first cells of a row, written.
    fn names(&self, account: &Arc<str>, quantity: f64, identity: &[Fact]) -> Vec<Fact> {
        if self.request.is_of_positions() {
            let held = [Fact::Word(account.to_string()), Fact::Number(quantity)];
            [&held[..], identity].concat()
        } else {
            identity.to_vec()
        }
    }

    /// A row for each scenario; `cells` finds those of values by place and spot. Pieces are passed on between rows.
    fn push_values(
        &self,
        named: NamedRows<'_>,
        cells: impl Fn(usize, f64) -> Vec<Fact>,
        lines: &mut TableLines,
        out: &mut Vec<u8>,
        client: &mut dyn ScenarioClient,
    ) -> Result<(), Cut> {
        let (NamedRows { names, moments, spots }, grid) = (named, &self.request.grid);
        // what all rows of a contract have in common is written once
        let mut prefix = Vec::new();
        lines.push_cells(&self.columns, names, true, &mut prefix);
        let columns = &self.columns[names.len()..];
        for (at, &moment) in moments.iter().enumerate() {
            let mut instant = Vec::new();
            lines.push_cells(columns, &[self.time(moment)], false, &mut instant);
            for (vol, &vol_move) in grid.vol.iter().enumerate() {
                for (spot, &spot_move) in grid.spot.iter().enumerate() {
                    let price = spots.get(at * grid.spot.len() + spot).copied().unwrap_or(f64::NAN);
                    let moves = [Fact::Number(spot_move), Fact::Number(vol_move), Fact::Number(price)];
                    lines.open_row(out);
                    out.extend_from_slice(&prefix);
                    out.extend_from_slice(&instant);
                    lines.push_cells(&columns[1..], &moves, false, out);
                    lines.push_cells(&columns[SCENARIO.len()..], &cells(grid.place(at, vol, spot), price), false, out);
                    lines.close_row(out);
                    pass_on(out, client)?;
                }
            }
        }
        Ok(())
    }

    /// One row without values.
    fn push_unvalued(&self, names: &[Fact], why: &str, lines: &mut TableLines, out: &mut Vec<u8>) {
        let mut row = names.to_vec();
        row.resize(names.len() + SCENARIO.len(), Fact::Missing);
        row.push(Fact::Word(why.to_owned()));
        row.resize(self.columns.len(), Fact::Missing);
        lines.push(&self.columns, &row, out);
    }

    /// The cells of one value.
    fn cells(&self, value: &ScenarioValue, before: f64, spot: f64, scale: f64) -> Vec<Fact> {
        let state = Fact::Word(value.state.name().to_owned());
        if self.request.is_of_positions() {
            let sum = PositionSum::of(value, before, spot, scale);
            let mut cells = vec![state, Fact::Number(value.vol)];
            cells.extend(self.sum_cells(&sum));
            return cells;
        }
        let numbers = [
            value.vol,
            value.value,
            value.value - before,
            value.delta,
            value.gamma,
            value.vega,
            value.theta,
            value.rho,
        ];
        let shown = if self.request.with_greeks { PER_SHARE.len() } else { BEFORE_GREEKS[0] };
        core::iter::once(state).chain(numbers.map(Fact::Number)).take(shown).collect()
    }

    fn sum_cells(&self, sum: &PositionSum) -> impl Iterator<Item = Fact> + use<> {
        let PositionSum { value, profit, dollar_delta, gamma_1pct, vega, theta, rho, .. } = *sum;
        let shown = if self.request.with_greeks { OF_POSITIONS.len() } else { BEFORE_GREEKS[1] };
        [value, profit, dollar_delta, gamma_1pct, vega, theta, rho].map(Fact::Number).into_iter().take(shown)
    }

    fn time(&self, at: Timestamp) -> Fact {
        Fact::Word(Stamp::EasternOffset.text(&at.to_zoned_datetime(self.zone.clone())))
    }

    /// Sums of all legs, in the order in which groups occur.
    fn sum(&self, by: ScenarioSum, client: &mut dyn ScenarioClient) -> Result<Vec<SummedGroup>, Cut> {
        let mut groups =
            SummedGroups { by, scenarios: self.request.grid.len(), groups: Vec::new(), places: HashMap::new() };
        for leg in &self.legs.legs {
            client.goes_on(groups.groups.len() * groups.scenarios * size_of::<PositionSum>())?;
            match leg {
                Leg::Contracts { chain, slice, held, delivery } => {
                    self.sum_contracts(chain, *slice, held, *delivery, &mut groups)?;
                }
                Leg::Shares { chain, account, quantity, price } => {
                    let moments = self.legs.moments(chain);
                    let found = revalue_share(chain, self.legs.grid(chain, &self.request.grid), moments);
                    let before = self.before(found.now, *price);
                    let group = groups.find(account, Some(chain.underlying), None)?;
                    group.positions += 1;
                    group.note(chain.underlying, moments, &found.spots);
                    let (spots, vols) = (self.request.grid.spot.len(), self.request.grid.vol.len());
                    for (place, cell) in group.cells.iter_mut().enumerate() {
                        let at = place / (spots * vols);
                        let n = at * spots + place % spots;
                        cell.add(&share(found.values[n]), before, found.spots[n], *quantity);
                    }
                }
                Leg::Unvalued { account, instrument, .. } => {
                    let (underlying, expiry) = match instrument {
                        Instrument::Share(symbol) => (*symbol, None),
                        Instrument::Contract(key) => (key.root, Some(key.served().expiry.to_string())),
                    };
                    let group = groups.find(account, Some(underlying), expiry)?;
                    group.positions += 1;
                    group.cells.iter_mut().for_each(|cell| cell.missing += 1);
                }
            }
        }
        Ok(groups.groups)
    }

    fn sum_contracts(
        &self,
        chain: &Arc<Chain>,
        slice: usize,
        held: &[HeldRow],
        delivery: ExerciseOutcome,
        groups: &mut SummedGroups,
    ) -> Result<(), Cut> {
        let grid = &self.request.grid;
        let moments = self.legs.moments(chain);
        let found = self.revalue(chain, slice, held, delivery).ok();
        let expiry = chain.slices[slice].expiry.to_string();
        for (n, held) in held.iter().enumerate() {
            let group = groups.find(&held.account, Some(chain.underlying), Some(expiry.clone()))?;
            group.positions += 1;
            let Some(found) = &found else {
                group.cells.iter_mut().for_each(|cell| cell.missing += 1);
                continue;
            };
            group.note(chain.underlying, moments, &found.spots);
            let (spots, vols) = (grid.spot.len(), grid.vol.len());
            let before = self.before(chain.columns.get(Col::SvcTheo)[held.row], held.price);
            let scale = held.quantity * multiplier(chain, slice);
            let values = &found.values[n * grid.len()..];
            for (place, (cell, value)) in group.cells.iter_mut().zip(values).enumerate() {
                let at = place / (spots * vols);
                cell.add(value, before, found.spots[at * spots + place % spots], scale);
            }
        }
        Ok(())
    }

    /// Rows of one group.
    fn push_group(
        &self,
        group: &SummedGroup,
        lines: &mut TableLines,
        out: &mut Vec<u8>,
        client: &mut dyn ScenarioClient,
    ) -> Result<(), Cut> {
        let word = |text: Option<String>| text.map_or(Fact::Missing, Fact::Word);
        let names = [
            word(group.key.account.as_ref().map(ToString::to_string)),
            word(group.key.underlying.map(|name| name.to_string())),
            word(group.key.expiry.clone()),
            Fact::Count(group.positions),
        ];
        let spots: &[f64] = if group.is_of_one { &group.spots } else { &[] };
        let cells = |place: usize, _: f64| -> Vec<Fact> {
            let sum = &group.cells[place];
            core::iter::once(Fact::Count(sum.missing.into())).chain(self.sum_cells(sum)).collect()
        };
        self.push_values(NamedRows { names: &names, moments: &group.moments, spots }, cells, lines, out, client)
    }
}

/// The groups of a sum.
struct SummedGroups {
    by: ScenarioSum,
    scenarios: usize,
    groups: Vec<SummedGroup>,
    places: HashMap<GroupKey, usize>,
}

impl SummedGroups {
    /// The group of a position.
    fn find(
        &mut self,
        account: &Arc<str>,
        underlying: Option<Symbol>,
        expiry: Option<String>,
    ) -> Result<&mut SummedGroup, Cut> {
        let key = match self.by {
            ScenarioSum::Total => GroupKey { account: None, underlying: None, expiry: None },
            ScenarioSum::Account => GroupKey { account: Some(Arc::clone(account)), underlying: None, expiry: None },
            ScenarioSum::Underlying => GroupKey { account: None, underlying, expiry: None },
            ScenarioSum::Expiry => GroupKey { account: None, underlying, expiry },
        };
        let next = self.groups.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            if (next + 1).saturating_mul(self.scenarios) > SUMS_MOST {
                return Err(Cut::TooManyGroups);
            }
            self.groups.push(SummedGroup::new(key, self.scenarios));
        }
        Ok(&mut self.groups[place])
    }
}

impl SummedGroup {
    fn new(key: GroupKey, scenarios: usize) -> Self {
        let cells = vec![PositionSum::default(); scenarios];
        Self { key, positions: 0, cells, underlying: None, is_of_one: true, spots: Vec::new(), moments: Vec::new() }
    }

    /// Notes moments and spots of an underlying, those of the first one.
    fn note(&mut self, underlying: Symbol, moments: &[Timestamp], spots: &[f64]) {
        if self.underlying.is_none() {
            (self.underlying, self.moments, self.spots) = (Some(underlying), moments.to_vec(), spots.to_vec());
        }
        self.is_of_one &= self.underlying == Some(underlying);
    }
}

impl PositionSum {
    fn of(value: &ScenarioValue, before: f64, spot: f64, scale: f64) -> Self {
        Self {
            value: scale * value.value,
            profit: scale * (value.value - before),
            dollar_delta: scale * value.delta * spot,
            gamma_1pct: scale * value.gamma * spot * spot / 100.0,
            vega: scale * value.vega,
            theta: scale * value.theta,
            rho: scale * value.rho,
            missing: 0,
        }
    }

    fn add(&mut self, value: &ScenarioValue, before: f64, spot: f64, scale: f64) {
        let of = Self::of(value, before, spot, scale);
        if !of.profit.is_finite() {
            self.missing += 1;
            return;
        }
        self.value += of.value;
        self.profit += of.profit;
        // values alone have no Greeks, and are shown without
        self.dollar_delta += of.dollar_delta;
        self.gamma_1pct += of.gamma_1pct;
        self.vega += of.vega;
        self.theta += of.theta;
        self.rho += of.rho;
    }
}

/// Rows of one contract or group: the cells that name it, and its moments and spots.
struct NamedRows<'a> {
    names: &'a [Fact],
    moments: &'a [Timestamp],
    spots: &'a [f64],
}

/// Passes a piece on once it is long enough.
fn pass_on(out: &mut Vec<u8>, client: &mut dyn ScenarioClient) -> Result<(), Cut> {
    if out.len() >= PIECE { client.takes(core::mem::take(out)) } else { Ok(()) }
}

/// A share as a value.
fn share(value: f64) -> ScenarioValue {
    let nothing = ScenarioValue::NO_VALUE;
    let state = if value.is_finite() { engine::scenario::ScenarioState::Open } else { nothing.state };
    ScenarioValue { state, value, delta: 1.0, gamma: 0.0, vega: 0.0, theta: 0.0, rho: 0.0, ..nothing }
}

fn identity(chain: &Chain, slice: usize, row: usize) -> Vec<Fact> {
    let of = &chain.slices[slice];
    facts_of(chain.underlying, &of.contract(chain.strike_milli[row], chain.right[row]))
}
