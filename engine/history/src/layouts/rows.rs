//! Converts the values of a row to quotes, by the meaning of the file's columns. All layouts share this reader. Never:
//! a name of a vendor, a byte of a file.

use super::cells::{Cell, Cells, Fault, When};
use super::columns::{Clock, Meaning};
use super::facts::Facts;
use super::header::{Found, Plan, SideColumns, get};
use super::shown::ShownNumbers;
use crate::row::HistoryRow;
use feeds::intake::price_of;
use feeds::spelling::{parse_contract, parse_root, parse_strike};
use feeds::text::Dialect;
use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::expirations::canonical_expiry;
use kernel::contract::{ContractKey, Symbol};
use kernel::error::Reason;
use kernel::limits::{self, Bound};
use kernel::records::{Activity, QuoteRecord};
use std::collections::HashMap;

/// Milliseconds of a day.
const DAY_MILLIS: Bound = Bound { name: "time of day", unit: "ms", least: 0.0, most: 86_400_000.0 };

/// Converts rows to quotes.
#[derive(Debug)]
pub(super) struct Assembler<'a> {
    plan: Plan,
    facts: &'a Facts<'a>,
    /// Underlying of a file that has no column for it.
    named: Option<Symbol>,
    time: Last<Timestamp>,
    underlying: Last<Symbol>,
    root: Last<Symbol>,
    expiry: Last<Date>,
    last_root: Option<((Symbol, Date), Symbol)>,
    nearest: Nearest,
    /// Converter of rows without bid and ask, for layouts with a second kind of rows.
    otherwise: Option<Box<Assembler<'a>>>,
}

/// Values that the contracts of a row share.
struct Shared {
    ts: Timestamp,
    underlying: Option<Symbol>,
    expiry: Option<Date>,
    strike_milli: Option<u32>,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(mut plan: Plan, facts: &'a Facts<'a>, named: Option<Symbol>) -> Self {
        let otherwise = plan.otherwise.take().map(|plan| Box::new(Self::new(*plan, facts, named)));
        Self {
            plan,
            facts,
            named,
            time: Last::default(),
            underlying: Last::default(),
            root: Last::default(),
            expiry: Last::default(),
            last_root: None,
            nearest: Nearest::default(),
            otherwise,
        }
    }

    /// Index of a column, by its name in the layout.
    pub(super) fn place_of(&self, name: &str) -> Option<usize> {
        self.plan.place_of(name)
    }

    /// Passes on the quotes of a row. A fault of one of two contracts, or of the price of the underlying, does not
    /// affect the rest.
    ///
    /// # Errors
    /// The first fault of the row.
    pub(super) fn take<C: Cells>(
        &mut self,
        row: &C,
        give: &mut dyn FnMut(HistoryRow, &ShownNumbers),
    ) -> Result<(), Fault> {
        if let Some(other) = &mut self.otherwise
            && is_silent(row, &self.plan.sides)
        {
            return other.take(row, give);
        }
        let shared = self.shared(row)?;
        let mut fault = None;
        let mut quotes = [None; 2];
        for (i, quote) in quotes.iter_mut().enumerate() {
            let Some(&side) = self.plan.sides.get(i) else { break };
            match self.quote(row, &side, &shared) {
                Ok(found) => *quote = Some(found),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        let Some((first, _)) = quotes.iter().flatten().next() else { return fault.map_or(Ok(()), Err) };
        let spot = self.price(row, first).unwrap_or_else(|found| {
            fault = fault.or(Some(found));
            f64::NAN
        });
        quotes.into_iter().flatten().for_each(|(quote, shown)| give(HistoryRow { quote, spot }, &shown));
        fault.map_or(Ok(()), Err)
    }

    fn shared<C: Cells>(&mut self, row: &C) -> Result<Shared, Fault> {
        let Self { plan, facts, named, .. } = self;
        let of_day = plan.get(Meaning::QuoteTime).zip(plan.get(Meaning::DayMillis));
        let ts = match (facts.options.time, plan.get(Meaning::UnixTime), of_day, plan.get(Meaning::QuoteTime)) {
            (Some(at), ..) => at,
            (_, Some(column), ..) => self.time.get(row, column, |cell| cell.unix_time())?,
            (.., Some((day, clock)), _) => day_clock(row, day, clock, facts)?,
            (.., Some(column)) => {
                self.time.get(row, column, |cell| instant(cell, facts, plan.layout.clock, row.dialect()))?
            }
            (.., None) => return Err((Meaning::QuoteTime.name(), Reason::Missing)),
        };
        let read_ticker = |cell: Cell<'_>| {
            Symbol::parse_underlying(cell.text()?).map(|ticker| facts.roots.canonical(ticker)).ok_or(Reason::NotASymbol)
        };
        let underlying = match plan.get(Meaning::Underlying) {
            Some(column) => Some(self.underlying.get(row, column, read_ticker)?),
            None => *named,
        };
        let read_expiry = |column| self.expiry.get(row, column, |cell| cell.date(row.dialect()));
        let expiry = plan.get(Meaning::Expiry).map(read_expiry).transpose()?;
        let divisor = facts.options.strike_divisor * plan.layout.strike_divisor;
        let read_strike = |column: Found| {
            let most = Bound { most: limits::PRICE.most * divisor.max(1.0), ..limits::PRICE };
            let strike = number(row, column, most)? / divisor;
            parse_strike(strike).map_err(|reason| (column.name, reason))
        };
        let strike_milli = plan.get(Meaning::Strike).map(read_strike).transpose()?;
        Ok(Shared { ts, underlying, expiry, strike_milli })
    }

    fn quote<C: Cells>(
        &mut self,
        row: &C,
        side: &SideColumns,
        shared: &Shared,
    ) -> Result<(QuoteRecord, ShownNumbers), Fault> {
        let (underlying, contract) = self.contract(row, side, shared)?;
        let bid = side_or_nan(row, Some(side.bid), limits::PRICE)?;
        let ask = side_or_nan(row, Some(side.ask), limits::PRICE)?;
        let size = |column: Option<Found>| side_or_nan(row, column, limits::SIZE);
        let (bid_size, ask_size) = match side.sizes {
            Some(column) => sizes(get(row, column)?, row.dialect()).map_err(|reason| (column.name, reason))?,
            None => (size(side.bid_size)?, size(side.ask_size)?),
        };
        let activity = Activity { volume: size(side.volume)?, open_interest: size(side.open_interest)? };
        let quote = QuoteRecord { ts: shared.ts, underlying, contract, bid, ask, bid_size, ask_size, activity };
        Ok((quote, ShownNumbers::read(row, &side.shown)?))
    }

    /// The contract of one side, from its parts if the row has them, else from its symbol.
    fn contract<C: Cells>(
        &mut self,
        row: &C,
        side: &SideColumns,
        shared: &Shared,
    ) -> Result<(Symbol, ContractKey), Fault> {
        let facts = self.facts;
        let symbol = match side.contract {
            None => None,
            Some(column) => match get(row, column)? {
                Cell::Empty => None,
                cell => Some((column, cell.text().and_then(parse_contract))),
            },
        };
        let right = match (side.right, self.plan.get(Meaning::Right)) {
            (Some(right), _) => Some(right),
            (None, Some(column)) => Some(get(row, column)?.right().map_err(|reason| (column.name, reason))?),
            (None, None) => None,
        };
        let (Some(expiry), Some(strike_milli), Some(right)) = (shared.expiry, shared.strike_milli, right) else {
            let Some((column, contract)) = symbol else {
                return Err((side.contract.map_or(Meaning::Contract.name(), |column| column.name), Reason::Missing));
            };
            let contract = contract.map_err(|reason| (column.name, reason))?;
            let underlying = shared.underlying.unwrap_or_else(|| facts.roots.underlying_of(contract.root));
            return Ok((underlying, contract));
        };
        // if the column has the Saturday after expiry or the session before it, the symbol has the listed date
        let is_same = |named: &ContractKey| canonical_expiry(named.expiry) == canonical_expiry(expiry);
        let named = symbol.and_then(|(_, contract)| contract.ok()).filter(is_same);
        let expiry = named.map_or(expiry, |named| named.expiry);
        let written = match (self.plan.get(Meaning::Root), symbol) {
            (Some(column), _) => Some(self.root.get(row, column, |cell| parse_root(cell.text()?))?),
            (None, Some((column, Err(Reason::Flex)))) => return Err((column.name, Reason::Flex)),
            (None, Some((_, contract))) => contract.ok().map(|contract| contract.root),
            (None, None) => None,
        };
        let underlying = match (shared.underlying, written) {
            (Some(underlying), _) => underlying,
            (None, Some(root)) => facts.roots.underlying_of(root),
            (None, None) => return Err((Meaning::Underlying.name(), Reason::Missing)),
        };
        let root = match written {
            Some(root) => facts.root_of(root, underlying, expiry, shared.ts),
            None => self.default_root(underlying, expiry),
        };
        Ok((underlying, ContractKey { root, expiry, strike_milli, right }))
    }

    fn default_root(&mut self, underlying: Symbol, expiry: Date) -> Symbol {
        let key = (underlying, expiry);
        match self.last_root {
            Some((last, root)) if last == key => root,
            _ => {
                let root = self.facts.default_root(underlying, expiry);
                self.last_root = Some((key, root));
                root
            }
        }
    }

    /// The price of the underlying beside a quote; NaN: none.
    fn price<C: Cells>(&mut self, row: &C, quote: &QuoteRecord) -> Result<f64, Fault> {
        let plan = &self.plan;
        let side = |meaning| side_or_nan(row, plan.get(meaning), limits::PRICE);
        let (bid, ask) = (side(Meaning::UndBid)?, side(Meaning::UndAsk)?);
        let given = price(row, plan.get(Meaning::UndPrice))?;
        if let Some(found) = price_of(bid, ask, given) {
            return Ok(found.price());
        }
        let underlying = quote.underlying;
        let share = match plan.get(Meaning::ShareOrExpiryPrice) {
            Some(column) if !self.facts.roots.is_index(underlying) => price(row, Some(column))?,
            _ => f64::NAN,
        };
        if share > 0.0 {
            return Ok(share);
        }
        let of_expiry = plan.get(Meaning::ShareOrExpiryPrice).or(plan.get(Meaning::ExpiryPrice));
        if let Some(column) = of_expiry
            && self.nearest.is(underlying, quote.ts, quote.contract.expiry)
        {
            return price(row, Some(column));
        }
        let daily = plan.layout.clock != Clock::Told;
        Ok(if daily { self.facts.close(underlying, quote.ts) } else { f64::NAN })
    }
}

/// True if no side has a bid or an ask.
fn is_silent<C: Cells>(row: &C, sides: &[SideColumns]) -> bool {
    let mut columns = sides.iter().flat_map(|side| [side.bid, side.ask]);
    columns.all(|column| side_or_nan(row, Some(column), limits::PRICE).is_ok_and(f64::is_nan))
}

fn instant(cell: Cell<'_>, facts: &Facts<'_>, clock: Clock, dialect: Dialect) -> Result<Timestamp, Reason> {
    let zone = facts.options.zone.as_ref();
    match cell.when(facts.calendar(), zone, clock != Clock::Told, dialect)? {
        When::At(ts) => Ok(ts),
        When::On(date) => facts.instant_of(date, clock).ok_or(Reason::NotATime),
    }
}

/// The instant of a date and the milliseconds since its midnight, Eastern.
fn day_clock<C: Cells>(row: &C, day: Found, clock: Found, facts: &Facts<'_>) -> Result<Timestamp, Fault> {
    let date = get(row, day)?.date(row.dialect()).map_err(|reason| (day.name, reason))?;
    let millis = number(row, clock, DAY_MILLIS)?;
    let midnight = facts.calendar().instant(date.to_datetime(Time::midnight()));
    midnight.checked_add(SignedDuration::from_millis(millis as i64)).map_err(|_| (clock.name, Reason::NotATime))
}

fn number<C: Cells>(row: &C, column: Found, bound: Bound) -> Result<f64, Fault> {
    get(row, column)?.number(bound, row.dialect()).map_err(|reason| (column.name, reason))
}

/// A number of a quote; NaN: none.
fn side_or_nan<C: Cells>(row: &C, column: Option<Found>, bound: Bound) -> Result<f64, Fault> {
    let Some(column) = column else { return Ok(f64::NAN) };
    get(row, column)?.side(bound, row.dialect()).map_err(|reason| (column.name, reason))
}

/// A price of an underlying; NaN where it is empty or 0.
pub(super) fn price<C: Cells>(row: &C, column: Option<Found>) -> Result<f64, Fault> {
    let Some(column) = column else { return Ok(f64::NAN) };
    let x = side_or_nan(row, Some(column), limits::PRICE)?;
    if x > 0.0 { limits::SPOT.admit(x).map_err(|reason| (column.name, reason)) } else { Ok(f64::NAN) }
}

/// Both sizes of a quote, as `12 x 14`.
fn sizes(cell: Cell<'_>, dialect: Dialect) -> Result<(f64, f64), Reason> {
    let Cell::Text(text) = cell else { return Ok((f64::NAN, f64::NAN)) };
    let (bid, ask) = text.split_once(['x', 'X']).ok_or(Reason::NotANumber)?;
    let size = |text: &str| Cell::Text(text.trim()).number(limits::SIZE, dialect);
    Ok((size(bid)?, size(ask)?))
}

/// A value that is parsed again only if its cell changes: files repeat times, dates and symbols row after row.
#[derive(Debug)]
struct Last<T> {
    text: Vec<u8>,
    typed: Cell<'static>,
    value: Option<T>,
}

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self { text: Vec::new(), typed: Cell::Empty, value: None }
    }
}

impl<T: Copy> Last<T> {
    fn get<C: Cells>(
        &mut self,
        row: &C,
        column: Found,
        parse: impl FnOnce(Cell<'_>) -> Result<T, Reason>,
    ) -> Result<T, Fault> {
        let cell = get(row, column)?;
        let (text, typed) = match cell {
            Cell::Text(text) => (text.as_bytes(), Cell::Empty),
            Cell::Empty => return Err((column.name, Reason::Missing)),
            Cell::Number(x) => (&[][..], Cell::Number(x)),
            Cell::Whole(n) => (&[][..], Cell::Whole(n)),
            Cell::Date(date) => (&[][..], Cell::Date(date)),
            Cell::Civil(at) => (&[][..], Cell::Civil(at)),
            Cell::Time(at) => (&[][..], Cell::Time(at)),
        };
        if let Some(value) = self.value.filter(|_| self.text == text && self.typed == typed) {
            return Ok(value);
        }
        let value = parse(cell).map_err(|reason| (column.name, reason))?;
        self.text.clear();
        self.text.extend_from_slice(text);
        (self.typed, self.value) = (typed, Some(value));
        Ok(value)
    }
}

/// The nearest expiry of each underlying at one time, whose options imply the spot best.
#[derive(Debug, Default)]
struct Nearest {
    ts: Option<Timestamp>,
    expiries: HashMap<Symbol, Date>,
}

impl Nearest {
    /// True if an expiry is the nearest of its underlying so far. The number of underlyings is bounded, so that a file
    /// cannot fill memory.
    fn is(&mut self, underlying: Symbol, ts: Timestamp, expiry: Date) -> bool {
        if self.ts != Some(ts) || !limits::RECORDS.holds(self.expiries.len() as f64) {
            self.expiries.clear();
            self.ts = Some(ts);
        }
        let nearest = self.expiries.entry(underlying).or_insert(expiry);
        *nearest = expiry.min(*nearest);
        *nearest == expiry
    }
}
