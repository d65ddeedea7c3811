//! Values positions on one snapshot, in the native order of their contracts, and sums them. Never: a text.

use super::by_level::ByLevel;
use super::texts::BookTexts;
use crate::listed::{ListedPlace, betas_of, find, multiplier, name_of};
use api::vendors::native_positions::PositionRows;
use engine::positions::{Holding, PositionNumbers};
use engine::scenario::Unvalued;
use engine::snapshot::Snapshot;
use engine::store::columns::Col;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, RootTable, Symbol};
use kernel::position::{Instrument, PositionLine};
use std::collections::HashMap;
use std::ops::AddAssign;
use std::sync::Arc;

/// All positions, valued.
#[derive(Debug, Default)]
pub struct ValuedBook {
    /// Number of the snapshot.
    pub snapshot: u64,
    /// The lines, in the order of the book.
    pub lines: Arc<Vec<PositionLine>>,
    /// Valued positions by underlying and contract in the native order, shares first; instruments that are not listed
    /// come last.
    pub positions: Vec<ValuedPosition>,
    /// Price of each underlying.
    pub spots: HashMap<Symbol, f64>,
    /// Sums at each level.
    pub(super) sums: ByLevel<Vec<PositionTotal>>,
    /// Texts of the rows.
    pub texts: BookTexts,
}

/// One line of a book, valued.
#[derive(Clone, Debug)]
pub struct ValuedPosition {
    /// Index of the line in the book.
    pub line: u32,
    /// The underlying; for a contract that is not listed, its root.
    pub underlying: Symbol,
    /// Price of the underlying; NaN if missing.
    pub spot: f64,
    /// Value of a share, or of a contract per share; NaN if missing.
    pub unit_value: f64,
    /// Volatility of a contract; NaN if missing.
    pub vol: f64,
    /// Why there is no value.
    pub unvalued: Option<Unvalued>,
    /// Value, profit and Greeks of the position, in currency.
    pub numbers: PositionNumbers,
}

/// Sum of positions.
#[derive(Clone, Debug)]
pub struct PositionTotal {
    /// Account, if the sum is by account.
    pub account: Option<Arc<str>>,
    /// Underlying, if the sum is by underlying or expiry.
    pub underlying: Option<Symbol>,
    /// Expiration date, if the sum is by expiry.
    pub expiry: Option<Date>,
    /// Number of positions.
    pub positions: usize,
    /// Number of positions without a value; the sum is over the others.
    pub missing: usize,
    /// Sums of the numbers.
    pub numbers: PositionNumbers,
}

/// Key of a sum: account, underlying, expiration date.
pub(crate) type TotalKey = (Option<Arc<str>>, Option<Symbol>, Option<Date>);

/// Values of units in the current and the previous session, by instrument.
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
    /// Notes the value of a unit, and returns its last value in the previous session; NaN if there was none.
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

    /// Bytes of the values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.known.capacity() * size_of::<(Instrument, SessionValue)>()
    }

    /// Drops instruments that are not in the book.
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
        lines: Arc<Vec<PositionLine>>,
        snapshot: &Snapshot,
        roots: &RootTable,
        calendar: &Calendar,
        sessions: &mut SessionValues,
    ) -> Self {
        sessions.keep(&lines);
        let betas = betas_of(&lines, roots);
        let mut placed: Vec<(Option<RowPlace>, ValuedPosition)> = (0..)
            .zip(lines.iter())
            .map(|(n, line)| {
                let place = find(line.instrument, snapshot, roots);
                let row = place.as_ref().ok().map(|place| (place.slice, place.row));
                let beta = betas.get(&name_of(line.instrument, roots)).copied().unwrap_or(f64::NAN);
                (row, ValuedPosition::unvalued(n, line).valued(line, beta, place, calendar, sessions))
            })
            .collect();
        let line = |of: &ValuedPosition| &lines[of.line as usize];
        let order =
            |(row, of): &(Option<RowPlace>, ValuedPosition)| (row.is_none(), of.underlying, *row, line(of).instrument);
        placed.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| line(&a.1).account.cmp(&line(&b.1).account)));
        let positions = placed.into_iter().map(|(_, position)| position).collect();
        let spots = snapshot.chains().iter().map(|chain| (chain.underlying, chain.spot)).collect();
        Self { snapshot: snapshot.number, lines, positions, spots, ..Self::default() }
    }

    /// The line of a position.
    #[must_use]
    pub fn line(&self, of: &ValuedPosition) -> &PositionLine {
        &self.lines[of.line as usize]
    }

    /// Bytes without the lines.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let spots = self.spots.capacity() * size_of::<(Symbol, f64)>();
        self.positions.capacity() * size_of::<ValuedPosition>() + spots + bytes_of(&self.sums) + self.texts.bytes()
    }

    /// Sums of all positions at a level above contracts, ascending by key.
    pub fn totals(&self, level: PositionRows) -> &[PositionTotal] {
        self.sums.at(level, || self.sum(level, self.positions.iter()))
    }

    /// The sum of an account, of an underlying, or of all positions.
    #[must_use]
    pub fn total(&self, account: Option<&str>, underlying: Option<Symbol>) -> Option<&PositionTotal> {
        let level = match (account, underlying) {
            (Some(_), _) => PositionRows::Account,
            (None, Some(_)) => PositionRows::Underlying,
            (None, None) => PositionRows::Total,
        };
        let totals = self.totals(level);
        let found = totals.binary_search_by(|of| (of.account.as_deref(), of.underlying).cmp(&(account, underlying)));
        found.ok().map(|at| &totals[at])
    }

    /// Sums of some positions at a level above contracts, ascending by key.
    pub fn sum<'a>(
        &self,
        level: PositionRows,
        positions: impl Iterator<Item = &'a ValuedPosition>,
    ) -> Vec<PositionTotal> {
        let (mut sums, mut places) = (Vec::<PositionTotal>::new(), HashMap::<TotalKey, usize>::new());
        let mut last: Option<(TotalKey, usize)> = None;
        for position in positions {
            let key = total_key(level, self.line(position), position.underlying);
            // positions of a name are adjacent
            let place = match last {
                Some((ref before, place)) if *before == key => place,
                _ => *places.entry(key.clone()).or_insert_with(|| {
                    sums.push(PositionTotal::new(&key));
                    sums.len() - 1
                }),
            };
            last = Some((key, place));
            let sum = &mut sums[place];
            sum.positions += 1;
            if position.numbers.is_known() {
                sum.numbers.add_assign(position.numbers);
            } else {
                sum.missing += 1;
            }
        }
        for sum in sums.iter_mut().filter(|sum| sum.missing == sum.positions) {
            sum.numbers = PositionNumbers::MISSING;
        }
        sums.sort_by(|a, b| a.key().cmp(&b.key()));
        sums
    }
}

/// The sum of a level that a line is in.
pub(crate) fn total_key(level: PositionRows, line: &PositionLine, underlying: Symbol) -> TotalKey {
    let expiry = match line.instrument {
        Instrument::Share(_) => None,
        Instrument::Contract(key) => Some(key.served().expiry),
    };
    match level {
        PositionRows::Contract | PositionRows::Expiry => (None, Some(underlying), expiry),
        PositionRows::Underlying => (None, Some(underlying), None),
        PositionRows::Account => (Some(Arc::clone(&line.account)), None, None),
        PositionRows::Total => (None, None, None),
    }
}

impl PositionTotal {
    fn new(key: &TotalKey) -> Self {
        let (account, underlying, expiry) = key;
        Self {
            account: account.clone(),
            underlying: *underlying,
            expiry: *expiry,
            positions: 0,
            missing: 0,
            numbers: PositionNumbers::default(),
        }
    }

    fn key(&self) -> (&Option<Arc<str>>, Option<Symbol>, Option<Date>) {
        (&self.account, self.underlying, self.expiry)
    }
}

/// Bytes of sums.
#[must_use]
pub fn bytes_of(sums: &ByLevel<Vec<PositionTotal>>) -> usize {
    sums.made().map(|sums| sums.capacity() * size_of::<PositionTotal>()).sum()
}

/// Slice and row of a contract within its chain; shares have no slice.
type RowPlace = (Option<usize>, usize);

impl ValuedPosition {
    /// The position of a line before it is valued.
    fn unvalued(place: u32, line: &PositionLine) -> Self {
        let (Instrument::Share(underlying) | Instrument::Contract(ContractKey { root: underlying, .. })) =
            line.instrument;
        let (unvalued, numbers) = (None, PositionNumbers::MISSING);
        Self { line: place, underlying, spot: f64::NAN, unit_value: f64::NAN, vol: f64::NAN, unvalued, numbers }
    }

    /// Values the position at its place in the snapshot.
    fn valued(
        mut self,
        line: &PositionLine,
        beta: f64,
        place: Result<ListedPlace, Unvalued>,
        calendar: &Calendar,
        sessions: &mut SessionValues,
    ) -> Self {
        let ListedPlace { chain, slice, row } = match place {
            Ok(place) => place,
            Err(why) => return Self { unvalued: Some(why), ..self },
        };
        let own = chain.underlying_price();
        let of = slice.map(|slice| &chain.slices[slice]);
        self.underlying = chain.underlying;
        self.spot = of.map_or(own, |of| if of.und_price.is_nan() { own } else { of.und_price });
        let (unit_value, vol, why) = match of {
            None => (self.spot, f64::NAN, Unvalued::NoValues),
            Some(of) => {
                let get = |col: Col| chain.columns.get(col)[row];
                let why = if of.settles_at <= chain.valued_at {
                    Unvalued::Expired
                } else if of.adjusted {
                    Unvalued::of_root(of.root)
                } else {
                    Unvalued::NoValues
                };
                (get(Col::SvcTheo), get(Col::SvcVol), why)
            }
        };
        if !unit_value.is_finite() {
            return Self { unvalued: Some(why), ..self };
        }
        let session = calendar.eastern(calendar.last_session_instant(chain.valued_at)).date();
        let session_price = sessions.note(line.instrument, session, unit_value);
        let units = line.quantity * slice.map_or(1.0, |slice| multiplier(&chain, slice));
        let held = Holding { units, price: line.price, session_price, beta };
        let numbers = match slice {
            Some(_) => PositionNumbers::of_row(&chain, row, self.spot, &held),
            None => PositionNumbers::of_shares(self.spot, &held),
        };
        Self { unit_value, vol, numbers, ..self }
    }
}
