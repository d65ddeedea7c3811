//! Positions valued on one snapshot, in the native order of their contracts, and sums of them.

use crate::listed::{ListedPlace, find, multiplier};
use engine::positions::{Holding, PositionNumbers};
use engine::scenario::Unvalued;
use engine::snapshot::Snapshot;
use engine::store::columns::Col;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::position::{Instrument, PositionLine};
use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;
use std::sync::Arc;

/// All positions, valued.
#[derive(Clone, Debug, Default)]
pub struct ValuedBook {
    /// Snapshot that they are valued on.
    pub snapshot: u64,
    /// Latest time of its values.
    pub time: Option<Timestamp>,
    /// By underlying and contract in the native order, shares first; what is not listed comes last.
    pub positions: Vec<ValuedPosition>,
    /// Price of each underlying.
    pub spots: HashMap<Symbol, f64>,
}

/// One line of a book, valued.
#[derive(Clone, Debug)]
pub struct ValuedPosition {
    /// The line.
    pub line: PositionLine,
    /// The underlying; the root of what is not listed.
    pub underlying: Symbol,
    /// Price of the underlying; NaN: none.
    pub spot: f64,
    /// Value of a unit; NaN: none.
    pub unit_value: f64,
    /// Volatility of a contract; NaN: none.
    pub vol: f64,
    /// Why there is no value.
    pub unvalued: Option<Unvalued>,
    /// In currency.
    pub numbers: PositionNumbers,
}

/// What is summed up: from one contract to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PositionLevel {
    /// Each line.
    Contract,
    /// Underlying and expiration date; shares have none.
    Expiry,
    /// Underlying.
    Underlying,
    /// Account.
    Account,
    /// All.
    Total,
}

/// A sum of positions.
#[derive(Clone, Debug)]
pub struct PositionTotal {
    /// Account, of a sum by account.
    pub account: Option<Arc<str>>,
    /// Underlying, of a sum by underlying or expiry.
    pub underlying: Option<Symbol>,
    /// Expiration date, of a sum by expiry.
    pub expiry: Option<Date>,
    /// How many positions.
    pub positions: usize,
    /// How many have no value; the sum is of the others.
    pub missing: usize,
    /// The sum.
    pub numbers: PositionNumbers,
}

/// What positions have in common that are summed: account, underlying, expiration date.
type TotalKey = (Option<Arc<str>>, Option<Symbol>, Option<Date>);

/// Values of units in the session before, by instrument.
#[derive(Clone, Debug, Default)]
pub struct SessionValues {
    known: HashMap<Instrument, SessionValue>,
}

#[derive(Clone, Copy, Debug)]
struct SessionValue {
    session: Date,
    latest: f64,
    before: f64,
}

impl SessionValues {
    /// Notes the value of a unit, and returns that of the last look of the session before; NaN where there was none.
    fn note(&mut self, instrument: Instrument, session: Date, value: f64) -> f64 {
        let new = SessionValue { session, latest: value, before: f64::NAN };
        let known = self.known.entry(instrument).or_insert(new);
        if known.session < session {
            (known.session, known.before) = (session, known.latest);
        }
        if value.is_finite() {
            known.latest = value;
        }
        known.before
    }

    /// Forgets what is no longer held.
    fn keep(&mut self, book: &[PositionLine]) {
        if self.known.len() > 2 * book.len() {
            let held: std::collections::HashSet<Instrument> = book.iter().map(|line| line.instrument).collect();
            self.known.retain(|instrument, _| held.contains(instrument));
        }
    }
}

impl ValuedBook {
    /// Values a book on a snapshot.
    #[must_use]
    pub fn of(
        book: &[PositionLine],
        snapshot: &Snapshot,
        roots: &RootTable,
        calendar: &Calendar,
        sessions: &mut SessionValues,
    ) -> Self {
        sessions.keep(book);
        // betas are of names: one line of a name may give that of all
        let mut betas: HashMap<Symbol, f64> = HashMap::new();
        for line in book.iter().filter(|line| line.beta.is_finite()) {
            betas.entry(name_of(line.instrument, roots)).or_insert(line.beta);
        }
        let mut placed: Vec<(Option<ListedPlace>, ValuedPosition)> = book
            .iter()
            .map(|line| {
                let place = find(line.instrument, snapshot, roots);
                let beta = betas.get(&name_of(line.instrument, roots)).copied().unwrap_or(f64::NAN);
                value(line, beta, place, calendar, sessions)
            })
            .collect();
        let order = |of: &(Option<ListedPlace>, ValuedPosition)| {
            let place = of.0.as_ref().map(|place| (place.slice, place.row));
            (of.0.is_none(), of.1.underlying, place, of.1.line.instrument)
        };
        placed.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.1.line.account.cmp(&b.1.line.account)));
        let positions: Vec<ValuedPosition> = placed.into_iter().map(|(_, position)| position).collect();
        let spots = snapshot.chains().iter().map(|chain| (chain.underlying, chain.spot)).collect();
        let time = (snapshot.number > 0).then_some(snapshot.time);
        Self { snapshot: snapshot.number, time, positions, spots }
    }

    /// Sums of positions at one level above contracts, ascending.
    #[must_use]
    pub fn totals(&self, level: PositionLevel) -> Vec<PositionTotal> {
        let mut sums: BTreeMap<TotalKey, PositionTotal> = BTreeMap::new();
        for position in &self.positions {
            let expiry = match position.line.instrument {
                Instrument::Share(_) => None,
                Instrument::Contract(key) => Some(key.served().expiry),
            };
            let (account, underlying, expiry) = match level {
                PositionLevel::Contract | PositionLevel::Expiry => (None, Some(position.underlying), expiry),
                PositionLevel::Underlying => (None, Some(position.underlying), None),
                PositionLevel::Account => (Some(Arc::clone(&position.line.account)), None, None),
                PositionLevel::Total => (None, None, None),
            };
            let sum = sums.entry((account.clone(), underlying, expiry)).or_insert_with(|| PositionTotal {
                account,
                underlying,
                expiry,
                positions: 0,
                missing: 0,
                numbers: PositionNumbers::default(),
            });
            sum.positions += 1;
            if position.numbers.is_known() {
                sum.numbers.add_assign(position.numbers);
            } else {
                sum.missing += 1;
            }
        }
        let mut sums: Vec<PositionTotal> = sums.into_values().collect();
        for sum in sums.iter_mut().filter(|sum| sum.missing == sum.positions) {
            sum.numbers = PositionNumbers::MISSING;
        }
        sums
    }
}

/// The name that an instrument belongs to.
fn name_of(instrument: Instrument, roots: &RootTable) -> Symbol {
    match instrument {
        Instrument::Share(symbol) => roots.canonical(symbol),
        Instrument::Contract(key) => roots.underlying_of(key.root),
    }
}

fn value(
    line: &PositionLine,
    beta: f64,
    place: Result<ListedPlace, Unvalued>,
    calendar: &Calendar,
    sessions: &mut SessionValues,
) -> (Option<ListedPlace>, ValuedPosition) {
    let nothing = |underlying: Symbol, why: Unvalued, spot: f64| ValuedPosition {
        line: line.clone(),
        underlying,
        spot,
        unit_value: f64::NAN,
        vol: f64::NAN,
        unvalued: Some(why),
        numbers: PositionNumbers::MISSING,
    };
    let place = match place {
        Ok(place) => place,
        Err(why) => {
            let name = match line.instrument {
                Instrument::Share(symbol) => symbol,
                Instrument::Contract(key) => key.root,
            };
            return (None, nothing(name, why, f64::NAN));
        }
    };
    let chain = Arc::clone(&place.chain);
    let own = if chain.spot.is_nan() { chain.implied_spot } else { chain.spot };
    let slice = place.slice.map(|slice| &chain.slices[slice]);
    let spot = slice.map_or(own, |slice| if slice.und_price.is_nan() { own } else { slice.und_price });
    let (unit_value, vol, why) = match slice {
        None => (spot, f64::NAN, Unvalued::NoValues),
        Some(slice) => {
            let get = |col: Col| chain.columns.get(col)[place.row];
            let why = if slice.settles_at <= chain.valued_at {
                Unvalued::Expired
            } else if slice.adjusted {
                Unvalued::of_root(slice.root)
            } else {
                Unvalued::NoValues
            };
            (get(Col::SvcTheo), get(Col::SvcVol), why)
        }
    };
    if !unit_value.is_finite() {
        return (Some(place), nothing(chain.underlying, why, spot));
    }
    let session = calendar.eastern(calendar.last_session_instant(chain.valued_at)).date();
    let session_price = sessions.note(line.instrument, session, unit_value);
    let units = line.quantity * place.slice.map_or(1.0, |slice| multiplier(&chain, slice));
    let held = Holding { units, price: line.price, session_price, beta };
    let numbers = match place.slice {
        Some(_) => PositionNumbers::of_row(&chain, place.row, spot, &held),
        None => PositionNumbers::of_shares(spot, &held),
    };
    let position = ValuedPosition {
        line: line.clone(),
        underlying: chain.underlying,
        spot,
        unit_value,
        vol,
        unvalued: None,
        numbers,
    };
    (Some(place), position)
}
