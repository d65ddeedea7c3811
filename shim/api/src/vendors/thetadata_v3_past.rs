//! ThetaData, version 3, of past days: `GET /v3/option/history/…` and `GET /v3/option/at_time/quote`. Rows come in time
//! order; fields of trades are zero, since only quotes are recorded.

use super::columns::{POINT, pointed, quoted_as};
use super::layer::{Layer, Reply, Serve, Wrap};
use super::parameter::{A_CLOCK_TIME, FORMAT, SYMBOL, days, title};
use super::thetadata_v3::{
    EXPIRATION, FIRST, MAX_DTE, ONLY_IN_ALL, RIGHT_OF_THE_PAST, SECOND, STRIKE, STRIKE_RANGE, TAIL, THIRD, at,
    selection,
};
use crate::past::moment::AsOf;
use crate::past::span::{Pace, PastSpan};
use crate::past::{Lacking, PastMoments, PastQuestion, SHOWS_THE_PRESENT};
use crate::query::Query;
use crate::query::parameter::{IsoDate, OneWord, Param, ReadAs, parameters};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{Field, QuoteNumber, SliceNumber, Text, own, slice, strike_as, text, time, zero, zero_as};
use crate::rows::frame::Format;
use crate::rows::layout::Walk;
use crate::rows::number::Print;
use engine::store::columns::{Col, Unit};
use jiff::SignedDuration;
use jiff::civil::Time;

/// Greeks at each step of some days, or at their close.
pub const GREEKS: Layer = at("/v3/option/history/greeks/{order}", OF_STEPS, Serve::Rows(parse_greeks));
/// Quotes at each step of some days.
pub const QUOTE: Layer = at(
    "/v3/option/history/quote",
    OF_STEPS,
    Serve::Rows(|query| parse(query, [NAMES, QUOTED].concat(), steps(query)?)),
);
/// The last quotes of some days.
pub const EOD: Layer = at(
    "/v3/option/history/eod",
    OF_DAYS,
    Serve::Rows(|query| parse(query, [CONTRACT, MADE, BARS, QUOTED].concat(), DAILY)),
);
/// Quotes at one time of some days.
pub const QUOTE_AT: Layer = at(
    "/v3/option/at_time/quote",
    AT_A_TIME,
    Serve::Rows(|query| parse(query, [NAMES, QUOTED].concat(), at_time(query)?)),
);

parameters! {
    OF_STEPS:
    const START_TIME: Param<ReadAs<Time>> =
        Param::new("start_time", A_CLOCK_TIME, "Start time of day [default: the open]");
    const END_TIME: Param<ReadAs<Time>> = Param::new("end_time", A_CLOCK_TIME, "End time of day [default: the close]");
    const INTERVAL: Param<OneWord<i64>> =
        Param::new("interval", OneWord(INTERVALS), "Interval between rows [default: 1s]");
    use SYMBOL, EXPIRATION, STRIKE, RIGHT_OF_THE_PAST, MAX_DTE, STRIKE_RANGE;
    const START_DATE: Param<IsoDate> = Param::new("start_date", IsoDate, "Start date");
    const END_DATE: Param<IsoDate> = Param::new("end_date", IsoDate, "End date");
    const DATE: Param<IsoDate> = Param::new("date", IsoDate, "Date").such_as("2026-12-18");
    use FORMAT;
}
parameters! {
    OF_DAYS:
    use SYMBOL, EXPIRATION, STRIKE, RIGHT_OF_THE_PAST, MAX_DTE, STRIKE_RANGE, START_DATE, END_DATE, DATE, FORMAT;
}
parameters! {
    AT_A_TIME:
    const TIME_OF_DAY: Param<ReadAs<Time>> =
        Param::new("time_of_day", A_CLOCK_TIME, "Time of day").required("09:30:00");
    use SYMBOL, EXPIRATION, STRIKE, RIGHT_OF_THE_PAST, MAX_DTE, STRIKE_RANGE, START_DATE, END_DATE, DATE, FORMAT;
}

const CONTRACT: &[Field] = &[
    text("symbol", Text::Underlying),
    text("expiration", Text::Expiry),
    strike_as("strike", POINT, Print::Fixed(4)),
    text("right", Text::Right(["CALL", "PUT"])),
];

const NAMES: &[Field] = &[CONTRACT[0], CONTRACT[1], CONTRACT[2], CONTRACT[3], STAMP];

const STAMP: Field = time("timestamp", When::Asked, Stamp::EasternIso);

const BID: Field = quoted_as("bid", QuoteNumber::Bid, POINT);
const ASK: Field = quoted_as("ask", QuoteNumber::Ask, POINT);

/// Fields of a quote.
pub(super) const QUOTED: &[Field] = &[
    quoted_as("bid_size", QuoteNumber::BidSize, Print::UpTo(0)),
    zero("bid_exchange"),
    BID,
    zero("bid_condition"),
    quoted_as("ask_size", QuoteNumber::AskSize, Print::UpTo(0)),
    zero("ask_exchange"),
    ASK,
    zero("ask_condition"),
];

/// Time of a daily row.
const MADE: &[Field] =
    &[time("created", When::Snapshot, Stamp::EasternIso), time("last_trade", When::Snapshot, Stamp::EasternIso)];

/// Fields of trades.
pub(super) const BARS: &[Field] = &[
    zero_as("open", POINT),
    zero_as("high", POINT),
    zero_as("low", POINT),
    zero_as("close", POINT),
    zero("volume"),
    zero("count"),
];

/// Volatilities of bid, middle and ask, each behind its price.
pub(super) const VOLATILITIES: &[Field] = &[
    BID,
    pointed("bid_implied_vol", own(Col::BidVol), Unit::Plain),
    quoted_as("midpoint", QuoteNumber::Mid, POINT),
    pointed("implied_vol", own(Col::SvcVol), Unit::Plain),
    ASK,
    pointed("ask_implied_vol", own(Col::AskVol), Unit::Plain),
    pointed("iv_error", own(Col::IvError), Unit::Plain),
];

/// Fields of the underlying, after the volatilities.
const UNDERLYING: &[Field] = &[
    time("underlying_timestamp", When::Snapshot, Stamp::EasternIso),
    pointed("underlying_price", slice(SliceNumber::UndPrice), Unit::Plain),
];

/// First-order Greeks with gamma, in the order of the vendor's daily rows.
const FIRST_OF_DAYS: &[Field] = &[
    pointed("delta", own(Col::Delta), Unit::Plain),
    pointed("gamma", own(Col::Gamma), Unit::Plain),
    pointed("vega", own(Col::Vega), Unit::PerOne),
    pointed("theta", own(Col::Theta), Unit::PerDay),
    pointed("rho", own(Col::Rho), Unit::PerOne),
    pointed("epsilon", own(Col::Epsilon), Unit::PerOne),
    pointed("lambda", own(Col::Lambda), Unit::Plain),
    pointed("vanna", own(Col::Vanna), Unit::Plain),
    pointed("charm", own(Col::Charm), Unit::PerYear),
    pointed("vomma", own(Col::Volga), Unit::Plain),
    pointed("veta", own(Col::Veta), Unit::PerDay),
    pointed("vera", own(Col::Vera), Unit::Plain),
];

/// Reason why a call for quotes alone is refused.
pub(super) const NO_QUOTES: &str = "quotes are not served: start the daemon with --show-quotes";
const DAILY: Steps = Steps { opens: Time::MIN, closes: Time::MAX, every: Pace::Day };

/// Default begin and end of the times of a day; a request may set others.
const OPENS: Time = Time::constant(9, 30, 0, 0);
const CLOSES: Time = Time::constant(16, 0, 0, 0);

/// Intervals between two rows, milliseconds; 0: every snapshot.
const INTERVALS: &[(&str, i64)] = &[
    ("tick", 0),
    ("10ms", 10),
    ("100ms", 100),
    ("500ms", 500),
    ("1s", 1_000),
    ("5s", 5_000),
    ("10s", 10_000),
    ("15s", 15_000),
    ("30s", 30_000),
    ("1m", 60_000),
    ("5m", 300_000),
    ("10m", 600_000),
    ("15m", 900_000),
    ("30m", 1_800_000),
    ("1h", 3_600_000),
];

/// Times of each day.
struct Steps {
    opens: Time,
    closes: Time,
    every: Pace,
}

fn parse_greeks(query: &Query<'_>) -> Result<Reply, Refusal> {
    let priced = |of: &[&[Field]]| [NAMES, &[BID, ASK], &of.concat(), TAIL].concat();
    let fields = match query.segment("order") {
        "eod" => {
            let fields = [NAMES, BARS, QUOTED, FIRST_OF_DAYS, THIRD, ONLY_IN_ALL, TAIL].concat();
            return Ok(Reply { needs_quotes: None, ..parse(query, fields, DAILY)? });
        }
        "first_order" => priced(&[FIRST]),
        "second_order" => priced(&[SECOND]),
        "third_order" => priced(&[THIRD]),
        "all" => priced(&[FIRST, SECOND, THIRD, ONLY_IN_ALL]),
        "implied_volatility" => [NAMES, VOLATILITIES, UNDERLYING].concat(),
        _ => return Err(Refusal::UnknownPath),
    };
    Ok(Reply { needs_quotes: None, ..parse(query, fields, steps(query)?)? })
}

fn parse(query: &Query<'_>, fields: Vec<Field>, steps: Steps) -> Result<Reply, Refusal> {
    let symbol = query.required(&SYMBOL)?;
    let selection = selection(query, symbol, &RIGHT_OF_THE_PAST)?;
    let (first, last) = days(query, &START_DATE, &END_DATE, Some(&DATE))?;
    let Steps { opens, closes, every } = steps;
    let moments = PastMoments::Many(PastSpan { start: AsOf::Day(first), end: AsOf::Day(last), opens, closes, every });
    let past = Some(PastQuestion { moments, if_live: Some(SHOWS_THE_PRESENT), if_none });
    let format = query.get(&FORMAT)?.unwrap_or(Format::Csv);
    let (walk, around, title) = (Walk::Columns, Wrap::text("{", "}"), title(symbol));
    let when_empty = Some(Refusal::NoTicks { text: NO_DATA.to_owned() });
    let needs_quotes = Some(NO_QUOTES);
    Ok(Reply { selection, past, format, fields, walk, around, title, when_empty, needs_quotes, ..Reply::default() })
}

fn steps(query: &Query<'_>) -> Result<Steps, Refusal> {
    let opens = query.get(&START_TIME)?.unwrap_or(OPENS);
    let closes = query.get(&END_TIME)?.unwrap_or(CLOSES);
    let every = match query.get(&INTERVAL)?.unwrap_or(1_000) {
        0 => Pace::Snapshot,
        millis => Pace::Step { from: Some(opens), step: SignedDuration::from_millis(millis) },
    };
    Ok(Steps { opens, closes, every })
}

fn at_time(query: &Query<'_>) -> Result<Steps, Refusal> {
    let every = Pace::At(query.required(&TIME_OF_DAY)?);
    Ok(Steps { every, ..DAILY })
}

const NO_DATA: &str = "No data found for your request";

fn if_none(lacking: &Lacking) -> Refusal {
    Refusal::NoTicks { text: format!("{NO_DATA}: {}", lacking.text()) }
}
