//! The request of `GET /l1/scenario`: its parameters, and the columns of its rows. The engine computes values. Never: a
//! chain.

use super::asked::{AskedInstrument, AskedLeg, PRICE};
use super::native::{
    APIKEY, CENTER, EXP, MAX_DAYS, MAX_DELTA, MAX_EXP, MAX_STRIKE, MIN_DAYS, MIN_DELTA, MIN_EXP, MIN_STRIKE, RIGHT,
    ROOT, STRICT, STRIKE_COUNT, TOKEN, UNDERLYING, parse_filters, parse_unserved,
};
use super::native_facts::{number, word};
use super::parameter::{A_SYMBOL, ANY, NATIVE_FORMAT};
use crate::operation::Operation;
use crate::query::parameter::{FiniteNumber, ItemList, OneWord, Param, ReadAs, ReadEach, parameters};
use crate::query::{Query, items, parse_date};
use crate::refusal::Refusal;
use crate::rows::frame::{ColumnHead, Format};
use crate::selection::Selection;
use crate::selection::unserved::Unserved;
use engine::scenario::{
    ExerciseOutcome, ScenarioClock, ScenarioGrid, ScenarioMoment, SpotUnit, VolRule, VolUnit, VolWeights,
};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use kernel::calendar::{EventDate, EventTime};
use kernel::contract::Symbol;
use kernel::limits;

/// Maximum points of one axis.
pub const AXIS_MOST: usize = 401;
/// Maximum scenarios of a grid.
pub const GRID_MOST: usize = 20_000;
/// Maximum values, contracts times scenarios, of an answer with a row per contract.
pub const ROWS_MOST: usize = 5_000_000;
/// Maximum values of an answer with sums.
pub const SUMMED_MOST: usize = 20_000_000;
/// Maximum expiries times moments: each needs tables of early exercise, about 1 ms.
pub const TABLES_MOST: usize = 50_000;
/// Maximum groups times scenarios of an answer with sums.
pub const SUMS_MOST: usize = 1_000_000;
/// Maximum distance of a moment, days.
const DAYS_MOST: i32 = 20_000;

/// Path of the endpoint.
pub const PATH: &str = "/l1/scenario";

parameters! {
    /// Parameters of the endpoint.
    pub PARAMETERS:
    use UNDERLYING, ROOT;
    const OSYM: Param<ReadEach<AskedLeg>> = Param::new(
        "osym",
        ReadEach(ReadAs {
            read: AskedLeg::parse_named,
            wants: "a contract such as SPY 12/18 712 C or SPY261218C00712000, or 100 SPY for shares",
        }),
        "Contracts, comma-separated: OSI symbols, or SPY 12/18 712 C, the next such date; perhaps with a number, as legs \
         of /l1/strategy, and then also shares, 100 SPY",
    );
    const POSITIONS: Param<ItemList> =
        Param::new("positions", ItemList, "Accounts whose positions are revalued, comma-separated; * selects all");
    const QUANTITY: Param<ReadAs<Vec<f64>>> = Param::new(
        "quantity",
        ReadAs { read: read_numbers, wants: "numbers, one for each of osym" },
        "Contracts or shares held of each osym, comma-separated, negative if sold: values are then of all of them",
    );
    use PRICE;
    const SPOT: Param<ReadAs<Vec<f64>>> = Param::new(
        "spot",
        ReadAs { read: read_axis, wants: AXIS },
        "Moves of the spot, such as -20..20:1, or a list [default: 0]",
    )
    .such_as("-10..10:5");
    const SPOT_UNIT: Param<OneWord<SpotUnit>> = Param::new(
        "spot_unit",
        OneWord(&[("percent", SpotUnit::Percent), ("points", SpotUnit::Points), ("level", SpotUnit::Level)]),
        "Unit of spot: percent of it, currency added to it, or the price itself [default: percent]",
    );
    const SPOT_BETA: Param<ReadAs<Symbol>> = Param::new(
        "spot_beta",
        A_SYMBOL,
        "An index: spot is its move in percent, and each name of the positions moves by beta times that",
    );
    const VOL: Param<ReadAs<Vec<f64>>> = Param::new(
        "vol",
        ReadAs { read: read_axis, wants: AXIS },
        "Shifts of volatility, such as -10,0,10 [default: 0]",
    )
    .such_as("-5,0,5");
    const VOL_UNIT: Param<OneWord<VolUnit>> = Param::new(
        "vol_unit",
        OneWord(&[("points", VolUnit::Points), ("relative", VolUnit::Relative)]),
        "Unit of vol: points (1 is 0.01 of volatility), or percent of the volatility [default: points]",
    );
    const VOL_RULE: Param<OneWord<VolRule>> = Param::new(
        "vol_rule",
        OneWord(&[("strike", VolRule::StickyStrike), ("moneyness", VolRule::StickyMoneyness)]),
        "Volatility when the spot moves: that of the strike, or that of its ratio to the forward [default: strike]",
    );
    const VOL_WEIGHT: Param<ReadAs<VolWeights>> = Param::new(
        "vol_weight",
        ReadAs { read: read_weights, wants: "equal, sqrt, or DATE:WEIGHT, comma-separated" },
        "Factor of vol by expiry: sqrt is the root of 30 / days; or DATE:WEIGHT for some [default: equal]",
    );
    const AT: Param<ReadAs<Vec<ScenarioMoment>>> = Param::new(
        "at",
        ReadAs {
            read: read_moments,
            wants: "now, next, +5d, +36h, a date or an Eastern date and time, comma-separated, at most 401",
        },
        "Moments: now, next (same time on the next trading day), +5d, +36h, a date (its close), or an Eastern date and \
         time [default: now]",
    )
    .such_as("now");
    const CLOCK: Param<OneWord<ScenarioClock>> = Param::new(
        "clock",
        OneWord(&[("calendar", ScenarioClock::Calendar), ("variance", ScenarioClock::Variance)]),
        "On the way to a moment volatility stays (calendar), or variance runs out by sessions, news of the market and \
         the event of the name (variance) [default: calendar, or variance with event]",
    );
    const EVENT: Param<ReadEach<(Symbol, EventDate)>> = Param::new(
        "event",
        ReadEach(ReadAs { read: read_event, wants: "NAME:DATE:MOVE%, or NAME:DATE:TIME:MOVE% with bmo, amc or HH:MM" }),
        "Events in the place of those that are known or found, comma-separated, such as NVDA:2026-12-02:amc:7%: the \
         name, the date, the time (bmo, amc or HH:MM) and one standard deviation of the move; time and move may be \
         left out, the move where expiries show an event at that date",
    );
    const RATE: Param<FiniteNumber> = Param::new("rate", FiniteNumber, "Added to discount rates, in points of percent");
    const BORROW: Param<FiniteNumber> =
        Param::new("borrow", FiniteNumber, "Added to borrow rates, in points of percent");
    const DIVIDENDS: Param<FiniteNumber> =
        Param::new("dividends", FiniteNumber, "Change of every dividend, in percent: -100 drops them");
    const DELIVERY: Param<OneWord<ExerciseOutcome>> = Param::new(
        "delivery",
        OneWord(&[("shares", ExerciseOutcome::Shares), ("cash", ExerciseOutcome::Cash)]),
        "Outcome of exercise, at settlement or before: shares, but of an index always cash; or cash [default: shares]",
    );
    const SINCE: Param<OneWord<Since>> = Param::new(
        "since",
        OneWord(&[("now", Since::Now), ("entry", Since::Entry)]),
        "Profit since now, or since the price paid, of positions or price [default: now]",
    );
    const SUM: Param<OneWord<ScenarioSum>> = Param::new(
        "sum",
        OneWord(SUMS),
        "Sum of values, by expiry, underlying, account, or of all: of one contract each unless quantities are given",
    );
    const GREEKS: Param<OneWord<bool>> =
        Param::new("greeks", OneWord(&[("core", true), ("none", false)]), "Greeks beside values [default: core]");
    use NATIVE_FORMAT, EXP, RIGHT, MIN_STRIKE, MAX_STRIKE, MIN_EXP, MAX_EXP, MIN_DAYS, MAX_DAYS, MIN_DELTA, MAX_DELTA,
        CENTER, STRIKE_COUNT, STRICT, APIKEY, TOKEN;
}

const AXIS: &str = "numbers or ranges FROM..TO:STEP, comma-separated, at most 401 values";

const SUMS: &[(&str, ScenarioSum)] = &[
    ("expiry", ScenarioSum::Expiry),
    ("underlying", ScenarioSum::Underlying),
    ("account", ScenarioSum::Account),
    ("total", ScenarioSum::Total),
];

/// Groups of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioSum {
    /// Underlying and expiration date.
    Expiry,
    /// Underlying.
    Underlying,
    /// Account.
    Account,
    /// One group of everything.
    Total,
}

/// The moment that profit counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// The served value.
    #[default]
    Now,
    /// The price paid.
    Entry,
}

/// Positions to be revalued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldSubject {
    /// Accounts; empty: all.
    pub accounts: Vec<String>,
    /// Underlyings; empty: all.
    pub underlyings: Vec<Symbol>,
    /// Expiries, which leave shares out; `None`: all, and shares.
    pub expiries: Option<Vec<Date>>,
}

/// Contracts or positions to revalue.
#[derive(Clone, Debug)]
pub enum ScenarioSubject {
    /// Contracts and shares.
    Contracts {
        /// The contracts, without those that are named.
        selection: Box<Selection>,
        /// Contracts and shares that are named; empty: all of the selection.
        named: Vec<NamedHolding>,
    },
    /// Positions of a book.
    Positions(HeldSubject),
}

impl ScenarioSubject {
    /// The names that a request is about, underlyings or roots; positions of all names have none.
    #[must_use]
    pub fn names(&self) -> Vec<Symbol> {
        match self {
            Self::Contracts { selection, named } => {
                let roots = named.iter().map(|holding| holding.instrument.root());
                selection.names().into_iter().chain(roots).collect()
            }
            Self::Positions(held) => held.underlyings.clone(),
        }
    }
}

/// A contract or shares that a request names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedHolding {
    /// The instrument.
    pub instrument: AskedInstrument,
    /// Contracts or shares held, negative if sold; NaN: values are per share.
    pub quantity: f64,
    /// Price paid per share; NaN: unknown.
    pub price: f64,
}

/// A request for scenarios.
#[derive(Clone, Debug)]
pub struct ScenarioRequest {
    /// Contracts or positions to revalue.
    pub subject: ScenarioSubject,
    /// Treatment of requested contracts that are not served.
    pub unserved: Unserved,
    /// The scenarios.
    pub grid: ScenarioGrid,
    /// The index whose moves those of the spot are; `None`: each name moves alike.
    pub index: Option<Symbol>,
    /// The outcome of exercise of what is no index.
    pub delivery: ExerciseOutcome,
    /// The moment that profit counts from.
    pub since: Since,
    /// True if values come with Greeks.
    pub with_greeks: bool,
    /// Groups of sums; `None`: a row per contract.
    pub sum: Option<ScenarioSum>,
    /// Format of the answer.
    pub format: Format,
}

/// The columns that name a contract.
pub const IDENTITY: &[ColumnHead<'static>] =
    &[word("underlying"), word("root"), word("expiry"), number("strike"), word("right"), word("osym")];
/// The columns that name a position, beside [`IDENTITY`].
pub const HELD: &[ColumnHead<'static>] = &[word("account"), number("quantity")];
/// The columns that name a group of a sum, and its number of positions.
pub const GROUP: &[ColumnHead<'static>] = &[word("account"), word("underlying"), word("expiry"), number("positions")];
/// The column of a sum for positions without a value in the scenario.
pub const MISSING: ColumnHead<'static> = number("missing");
/// The columns that name a scenario.
pub const SCENARIO: &[ColumnHead<'static>] = &[word("at"), number("spot_move"), number("vol_move"), number("spot")];
/// The columns of values, per share.
pub const PER_SHARE: &[ColumnHead<'static>] = &[
    word("state"),
    number("vol"),
    number("value"),
    number("profit"),
    number("delta"),
    number("gamma"),
    number("vega"),
    number("theta"),
    number("rho"),
];
/// The columns of values of positions: in currency.
pub const OF_POSITIONS: &[ColumnHead<'static>] = &[
    number("value"),
    number("profit"),
    number("dollar_delta"),
    number("gamma_1pct"),
    number("vega"),
    number("theta"),
    number("rho"),
];
/// Number of value columns before the Greeks: per share, and of positions.
pub const BEFORE_GREEKS: [usize; 2] = [4, 2];

impl ScenarioRequest {
    /// True if values are of positions, in currency, and not per share.
    #[must_use]
    pub fn is_of_positions(&self) -> bool {
        match &self.subject {
            ScenarioSubject::Positions(_) => true,
            ScenarioSubject::Contracts { named, .. } => {
                self.sum.is_some() || named.iter().any(|holding| !holding.quantity.is_nan())
            }
        }
    }

    /// The columns of the answer.
    #[must_use]
    pub fn columns(&self) -> Vec<ColumnHead<'static>> {
        let is_of_positions = self.is_of_positions();
        let values = if is_of_positions { OF_POSITIONS } else { PER_SHARE };
        let shown = if self.with_greeks { values.len() } else { BEFORE_GREEKS[usize::from(is_of_positions)] };
        let names: Vec<ColumnHead<'static>> = match (self.sum, is_of_positions) {
            (Some(_), _) => GROUP.to_vec(),
            (None, true) => [HELD, IDENTITY].concat(),
            (None, false) => IDENTITY.to_vec(),
        };
        let state: &[ColumnHead<'static>] = match (self.sum, is_of_positions) {
            (Some(_), _) => &[MISSING],
            (None, true) => &[word("state"), number("vol")],
            (None, false) => &[],
        };
        [names.as_slice(), SCENARIO, state, &values[..shown]].concat()
    }
}

/// The description of the endpoint.
#[must_use]
pub fn operation() -> Operation {
    let of_contracts = [IDENTITY, SCENARIO, PER_SHARE].concat();
    let of_positions = [HELD, IDENTITY, SCENARIO, &PER_SHARE[..2], OF_POSITIONS].concat();
    let of_sums = [GROUP, SCENARIO, &[MISSING], OF_POSITIONS].concat();
    Operation::rows(
        PATH,
        "Contracts or positions at other spots, volatilities, times, rates, borrow rates and dividends",
        PARAMETERS,
        &["400", "404", "502", "503"],
        &[&of_contracts, &of_positions, &of_sums],
    )
}

/// Parses a query.
///
/// # Errors
/// The query names nothing to revalue, a parameter is not in the table, or the grid is too large.
pub fn parse(query: &Query<'_>) -> Result<ScenarioRequest, Refusal> {
    query.only(PARAMETERS)?;
    let grid = parse_grid(query)?;
    if grid.len() > GRID_MOST {
        return Err(Refusal::Conflict { reason: "more than 20000 scenarios: ask for fewer spots, vols or moments" });
    }
    if query.text(&SPOT_BETA).is_some() && grid.spot_unit != SpotUnit::Percent {
        return Err(Refusal::Conflict { reason: "spot_beta moves by percent: leave spot_unit out" });
    }
    let subject = if query.text(&POSITIONS).is_some() {
        if [query.text(&QUANTITY), query.text(&PRICE), query.text(&ROOT), query.text(&OSYM)] != [None; 4] {
            return Err(Refusal::Conflict { reason: "positions excludes root, osym, quantity and price" });
        }
        let accounts = query.items(&POSITIONS).filter(|account| *account != ANY);
        let is_any = |text: Option<&str>| text == Some(ANY);
        ScenarioSubject::Positions(HeldSubject {
            accounts: accounts.map(str::to_owned).collect(),
            underlyings: if is_any(query.text(&UNDERLYING)) {
                Vec::new()
            } else {
                query.get(&UNDERLYING)?.unwrap_or_default()
            },
            expiries: if is_any(query.text(&EXP)) { None } else { query.get(&EXP)? },
        })
    } else {
        if query.text(&SPOT_BETA).is_some() {
            return Err(Refusal::Conflict { reason: "spot_beta needs positions" });
        }
        if query.get(&SINCE)? == Some(Since::Entry) && query.text(&PRICE).is_none() {
            return Err(Refusal::Conflict { reason: "since=entry needs positions or price" });
        }
        if [query.text(&UNDERLYING), query.text(&ROOT), query.text(&OSYM)] == [None; 3] {
            return Err(Refusal::missing("underlying, root, osym or positions"));
        }
        ScenarioSubject::Contracts { selection: Box::new(parse_filters(query)?), named: parse_named(query)? }
    };
    Ok(ScenarioRequest {
        subject,
        unserved: parse_unserved(query)?,
        grid,
        index: query.get(&SPOT_BETA)?,
        delivery: query.get(&DELIVERY)?.unwrap_or_default(),
        since: query.get(&SINCE)?.unwrap_or_default(),
        with_greeks: query.get(&GREEKS)?.unwrap_or(true),
        sum: query.get(&SUM)?,
        format: query.get(&NATIVE_FORMAT)?.unwrap_or_default(),
    })
}

/// Contracts and shares that are named, with what is held of them.
fn parse_named(query: &Query<'_>) -> Result<Vec<NamedHolding>, Refusal> {
    let conflict = |reason| Err(Refusal::Conflict { reason });
    let legs = query.get(&OSYM)?.unwrap_or_default();
    let (quantities, prices) = (query.get(&QUANTITY)?, query.get(&PRICE)?);
    let is_written = legs.iter().any(|leg| leg.quantity.is_some());
    if is_written && quantities.is_some() {
        return conflict("quantity: osym has numbers of its own");
    }
    if quantities.as_ref().is_some_and(|quantities| quantities.len() != legs.len()) {
        return conflict("quantity has one number for each of osym");
    }
    if prices.as_ref().is_some_and(|prices| prices.len() != legs.len()) {
        return conflict("price has one number for each of osym");
    }
    let is_held = is_written || quantities.is_some();
    if prices.is_some() && !is_held {
        return conflict("price needs quantity");
    }
    if !is_held && legs.iter().any(|leg| matches!(leg.instrument, AskedInstrument::Share(_))) {
        return conflict("osym: shares have a number, 100 SPY; all contracts of a name are underlying=SPY");
    }
    let holding = |(n, leg): (usize, &AskedLeg)| {
        let quantity = quantities.as_ref().map_or(leg.quantity, |quantities| Some(quantities[n]));
        NamedHolding {
            instrument: leg.instrument,
            quantity: if is_held { quantity.unwrap_or(1.0) } else { f64::NAN },
            price: prices.as_ref().map_or(f64::NAN, |prices| prices[n]),
        }
    };
    Ok(legs.iter().enumerate().map(holding).collect())
}

fn parse_grid(query: &Query<'_>) -> Result<ScenarioGrid, Refusal> {
    let plain = ScenarioGrid::default();
    let (clock, events) = (query.get(&CLOCK)?, query.get(&EVENT)?.unwrap_or_default());
    if clock == Some(ScenarioClock::Calendar) && !events.is_empty() {
        return Err(Refusal::Conflict { reason: "event needs clock=variance" });
    }
    let by_events = if events.is_empty() { ScenarioClock::Calendar } else { ScenarioClock::Variance };
    // points of percent to decimals, within what a market can have
    let points = |param: &Param<FiniteNumber>, most: f64| match query.get(param)? {
        Some(points) if points.abs() <= most => Ok(points),
        Some(_) => Err(Refusal::invalid(
            param.name(),
            query.text(param).unwrap_or_default(),
            format!("a number from -{most} to {most}"),
        )),
        None => Ok(0.0),
    };
    Ok(ScenarioGrid {
        spot: query.get(&SPOT)?.unwrap_or(plain.spot),
        spot_unit: query.get(&SPOT_UNIT)?.unwrap_or_default(),
        vol: query.get(&VOL)?.unwrap_or(plain.vol),
        vol_unit: query.get(&VOL_UNIT)?.unwrap_or_default(),
        vol_rule: query.get(&VOL_RULE)?.unwrap_or_default(),
        vol_weights: query.get(&VOL_WEIGHT)?.unwrap_or_default(),
        at: query.get(&AT)?.unwrap_or(plain.at),
        clock: clock.unwrap_or(by_events),
        events,
        rate: points(&RATE, 20.0)? / 100.0,
        borrow: points(&BORROW, 200.0)? / 100.0,
        dividends: (1.0 + points(&DIVIDENDS, 1000.0)? / 100.0).max(0.0),
    })
}

fn read_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|x: &f64| x.is_finite() && x.abs() <= 1e9)
}

fn read_numbers(text: &str) -> Option<Vec<f64>> {
    items(text).map(read_number).collect()
}

/// Numbers, and ranges `FROM..TO:STEP`, which may descend.
fn read_axis(text: &str) -> Option<Vec<f64>> {
    let mut values = Vec::new();
    for item in items(text) {
        let Some((from, rest)) = item.split_once("..") else {
            values.push(read_number(item)?);
            continue;
        };
        let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
        let (from, to, step) = (read_number(from)?, read_number(to)?, read_number(step)?);
        // a last step that rounding leaves a hair short counts
        let steps = ((to - from).abs() / step + 1e-9).floor();
        if step <= 0.0 || steps >= AXIS_MOST as f64 {
            return None;
        }
        let by = step.copysign(to - from);
        values.extend((0..=steps as u32).map(|n| rounded(from + by * f64::from(n))));
    }
    (!values.is_empty() && values.len() <= AXIS_MOST).then_some(values)
}

/// Rounds a sum of steps to nine decimals, so that a step onto zero is exactly zero.
fn rounded(x: f64) -> f64 {
    let x = (x * 1e9).round() / 1e9;
    if x == 0.0 { 0.0 } else { x }
}

fn read_moments(text: &str) -> Option<Vec<ScenarioMoment>> {
    let moments: Vec<ScenarioMoment> = items(text).map(read_moment).collect::<Option<_>>()?;
    (!moments.is_empty() && moments.len() <= AXIS_MOST).then_some(moments)
}

fn read_moment(text: &str) -> Option<ScenarioMoment> {
    if text.eq_ignore_ascii_case("now") {
        return Some(ScenarioMoment::Now);
    }
    if text.eq_ignore_ascii_case("next") {
        return Some(ScenarioMoment::NextSession);
    }
    if let Some(date) = parse_date(text) {
        return Some(ScenarioMoment::Close(date));
    }
    // the plus sign of a query is a space where it was not escaped
    let later = text.strip_prefix('+').unwrap_or(text);
    let unit = later.chars().last().filter(char::is_ascii_alphabetic);
    if let Some(unit) = unit
        && let Ok(n) = later[..later.len() - 1].parse::<i32>()
        && (0..=DAYS_MOST).contains(&n)
    {
        return match unit {
            'd' => Some(ScenarioMoment::Later { days: n, hours: 0 }),
            'w' => Some(ScenarioMoment::Later { days: n.checked_mul(7).filter(|&n| n <= DAYS_MOST)?, hours: 0 }),
            'h' => Some(ScenarioMoment::Later { days: 0, hours: n }),
            _ => None,
        };
    }
    if !text.contains(':') {
        return None;
    }
    let in_range = |year: i16| (1990..2100).contains(&year);
    let instant = text.parse::<Timestamp>().ok().map(ScenarioMoment::At);
    instant.or_else(|| text.parse::<DateTime>().ok().filter(|at| in_range(at.year())).map(ScenarioMoment::Clock))
}

/// `NAME:DATE:MOVE%` or `NAME:DATE:TIME:MOVE%`, both without `:MOVE%` too.
fn read_event(text: &str) -> Option<(Symbol, EventDate)> {
    let (name, rest) = text.split_once(':')?;
    let (date, rest) = rest.split_once(':').map_or((rest, None), |(date, rest)| (date, Some(rest)));
    // hours alone are no time, but a move
    let is_time = |text: &str| text.len() == "09:30".len() || text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let of_time = rest.and_then(|rest| Some(EventTime::parse(rest)?).filter(|_| !rest.is_empty() && is_time(rest)));
    let (time, size) = match (rest, of_time) {
        (None, _) => (EventTime::Unknown, None),
        (Some(_), Some(time)) => (time, None),
        (Some(rest), None) => {
            let (time, percent) = rest.rsplit_once(':').unwrap_or(("", rest));
            let percent = read_number(percent.strip_suffix('%').unwrap_or(percent))?;
            (EventTime::parse(time)?, Some(limits::EVENT_MOVE.holds(percent).then_some(percent / 100.0)?))
        }
    };
    let event = EventDate { date: parse_date(date)?, time, size, is_earnings: false };
    Some((Symbol::parse_underlying(name)?, event))
}

fn read_weights(text: &str) -> Option<VolWeights> {
    if text.eq_ignore_ascii_case("equal") {
        return Some(VolWeights::Equal);
    }
    if text.eq_ignore_ascii_case("sqrt") {
        return Some(VolWeights::SquareRoot);
    }
    let weight = |item: &str| {
        let (date, weight) = item.split_once(':')?;
        let weight = read_number(weight).filter(|weight| weight.abs() <= 1000.0)?;
        Some((parse_date(date)?, weight))
    };
    let weights: Vec<(Date, f64)> = items(text).map(weight).collect::<Option<_>>()?;
    (!weights.is_empty() && weights.len() <= AXIS_MOST).then_some(VolWeights::ByExpiry(weights))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(query: &str) -> Result<ScenarioRequest, String> {
        let query = Query::parse(query);
        query.expect_only(PARAMETERS);
        parse(&query).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn axes_are_ranges_and_lists() {
        assert_eq!(read_axis("-2..2:1"), Some(vec![-2.0, -1.0, 0.0, 1.0, 2.0]));
        assert_eq!(read_axis("0.3..0:0.1,7"), Some(vec![0.3, 0.2, 0.1, 0.0, 7.0]));
        assert_eq!(read_axis("-20..20:1").map(|axis| axis.len()), Some(41));
        assert_eq!(read_axis("5..5"), Some(vec![5.0]));
        for bad in ["", "a", "1..", "1..2:0", "1..2:-1", "0..1e8:1", "nan", "1..inf", "0..401:1"] {
            assert_eq!(read_axis(bad), None, "{bad}");
        }
    }

    #[test]
    fn moments_have_words_distances_and_dates() {
        use ScenarioMoment::{Clock, Close, Later, NextSession, Now};
        let date = "2026-12-18".parse().unwrap();
        let clock = "2026-12-18T10:30".parse().unwrap();
        let wanted = vec![Now, NextSession, Later { days: 5, hours: 0 }, Later { days: 14, hours: 0 }, Close(date)];
        assert_eq!(read_moments("now,next,+5d,2w,2026-12-18"), Some(wanted));
        assert_eq!(read_moment("2026-12-18T10:30"), Some(Clock(clock)));
        assert_eq!(read_moment("+36h"), Some(Later { days: 0, hours: 36 }));
        assert!(matches!(read_moment("2026-12-18T10:30:00-05:00"), Some(ScenarioMoment::At(_))));
        for bad in ["", "5", "-5d", "+5x", "yesterday", "2026-13-01", "999999999d", "9999-01-01T10:00", "é"] {
            assert_eq!(read_moment(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_event_has_a_name_a_date_and_a_size_and_runs_out_by_the_variance_clock() {
        let grid = |query: &str| parsed(&format!("underlying=NVDA&{query}")).map(|request| request.grid);
        let at = EventTime::At(jiff::civil::time(9, 45, 0, 0));
        let nvda = Symbol::parse("NVDA").unwrap();
        for (text, time, size) in [
            ("NVDA:2026-12-02:7%", EventTime::Unknown, Some(0.07)),
            ("nvda:2026-12-02:amc:7", EventTime::AfterClose, Some(0.07)),
            ("NVDA:20261202:09:45:7%", at, Some(0.07)),
            ("NVDA:2026-12-02:10", EventTime::Unknown, Some(0.1)),
            ("NVDA:2026-12-02", EventTime::Unknown, None),
            ("NVDA:2026-12-02:AMC", EventTime::AfterClose, None),
            ("NVDA:2026-12-02:09:45", at, None),
        ] {
            let found = grid(&format!("event={text}")).unwrap();
            let event = EventDate { date: jiff::civil::date(2026, 12, 2), time, size, is_earnings: false };
            assert_eq!((found.clock, found.events), (ScenarioClock::Variance, vec![(nvda, event)]), "{text}");
        }
        assert_eq!(grid("").unwrap().clock, ScenarioClock::Calendar);
        assert_eq!(grid("clock=variance").unwrap().clock, ScenarioClock::Variance);
        assert_eq!(grid("clock=calendar&event=NVDA:2026-12-02:7%").unwrap_err(), "event needs clock=variance");
        for bad in ["NVDA", "NVDA:2026-12-02:", "NVDA:soon:7%", "NVDA:2026-12-02:-7%", "NVDA:2026-12-02:noon:7%"] {
            assert!(grid(&format!("event={bad}")).unwrap_err().starts_with("event: not NAME:DATE"), "{bad}");
        }
    }

    #[test]
    fn a_request_names_what_it_revalues() {
        let missing = "underlying, root, osym or positions is required";
        assert_eq!(parsed("spot=1").map(|_| ()), Err(missing.to_owned()));
        let of = |query: &str| parsed(query).unwrap();
        let request = of("underlying=SPY&spot=-1..1:1&vol=-1,1&at=now,+1d&rate=0.5&borrow=-1&dividends=-50");
        assert_eq!((request.grid.len(), request.is_of_positions()), (12, false));
        let ScenarioGrid { rate, borrow, dividends, .. } = request.grid;
        assert!((rate - 0.005).abs() < 1e-15 && (borrow + 0.01).abs() < 1e-15 && (dividends - 0.5).abs() < 1e-15);
        assert!(of("underlying=SPY&sum=total").is_of_positions());
        assert!(of("positions=*").is_of_positions());
        assert!(parsed("positions=a&root=SPY").unwrap_err().starts_with("positions excludes"));
        let held = HeldSubject {
            accounts: vec!["a".to_owned()],
            underlyings: vec![Symbol::parse("SPY").unwrap()],
            expiries: Some(vec!["2026-12-18".parse().unwrap()]),
        };
        match of("positions=a&underlying=SPY&exp=2026-12-18").subject {
            ScenarioSubject::Positions(named) => assert_eq!(named, held),
            ScenarioSubject::Contracts { .. } => panic!("positions are asked for"),
        }
        assert!(parsed("underlying=SPY&since=entry").unwrap_err().ends_with("needs positions or price"));
        assert!(parsed("underlying=SPY&spot_beta=SPX").unwrap_err().ends_with("needs positions"));
        assert!(parsed("positions=*&spot_beta=SPX&spot_unit=level").unwrap_err().starts_with("spot_beta moves"));
        assert_eq!(of("positions=*&spot_beta=SPX&delivery=cash&since=entry").since, Since::Entry);
        assert!(parsed("underlying=SPY&spot=-200..200:1&vol=-200..200:1").unwrap_err().starts_with("more than"));
        assert!(parsed("underlying=SPY&spots=1").unwrap_err().starts_with("unknown parameter"));
        assert!(parsed("underlying=SPY&rate=1000").unwrap_err().contains("a number from -20 to 20"));
    }

    #[test]
    fn what_is_named_has_numbers_and_prices_or_none() {
        let named = |query: &str| match parsed(query).unwrap().subject {
            ScenarioSubject::Contracts { named, .. } => {
                named.iter().map(|held| (held.instrument.root().to_string(), held.quantity, held.price)).collect()
            }
            ScenarioSubject::Positions(_) => Vec::new(),
        };
        let wanted = vec![("SPY".to_owned(), 100.0, 700.5), ("SPY".to_owned(), -1.0, 9.0)];
        for query in [
            "osym=SPY,SPY+12/18+712+C&quantity=100,-1&price=700.5,9",
            "osym=100+SPY,-SPY261218C00712000&price=700.5,9&since=entry",
        ] {
            assert_eq!(named(query), wanted, "{query}");
        }
        assert!(
            named("osym=SPY+12/18+712+C")[0].1.is_nan() && !parsed("osym=SPY+12/18+712+C").unwrap().is_of_positions()
        );
        for (query, wanted) in [
            ("osym=SPY261218C00700000&quantity=1,2", "quantity has one number"),
            ("osym=100+SPY&quantity=1", "quantity: osym has numbers"),
            ("osym=SPY", "osym: shares have a number"),
            ("osym=SPY+13/18+712+C", "osym: not a contract such as SPY 12/18 712 C"),
            ("osym=100+SPY&price=1,2", "price has one number"),
            ("osym=SPY261218C00700000&price=1", "price needs quantity"),
            ("osym=100+SPY&price=-1", "price: not prices per share"),
            ("underlying=SPY&price=1", "price has one number"),
            ("positions=*&price=1", "positions excludes root, osym, quantity and price"),
        ] {
            let refused = parsed(query).map(|_| ()).unwrap_err();
            assert!(refused.starts_with(wanted), "{query}: {refused}");
        }
    }

    #[test]
    fn columns_follow_what_is_asked_for() {
        let names = |query: &str| parsed(query).unwrap().columns().iter().map(|c| c.name).collect::<Vec<_>>().join(",");
        assert_eq!(
            names("underlying=SPY"),
            "underlying,root,expiry,strike,right,osym,at,spot_move,vol_move,spot,state,vol,value,profit,delta,gamma,\
             vega,theta,rho"
        );
        assert_eq!(
            names("underlying=SPY&sum=total&greeks=none"),
            "account,underlying,expiry,positions,at,spot_move,vol_move,spot,missing,value,profit"
        );
        assert!(names("positions=*").starts_with("account,quantity,underlying"));
    }

    proptest! {
        #[test]
        fn no_query_panics(text in "[-+.:,0-9a-zT&=é]{0,40}") {
            let _ = (read_axis(&text), read_moments(&text), read_weights(&text), read_numbers(&text));
        }
    }
}
