//! ThetaData, version 2, of past days: `GET /v2/hist/option/…` and `GET /v2/at_time/option/quote`, of one contract.
//! Rows are bare arrays behind a header that names their numbers; fields of trades are zero, since only quotes are
//! recorded.

use super::body;
use super::columns::{POINT, pointed, quoted_as};
use super::layer::{Ending, Layer, Reply, Serve, Wrap};
use super::parameter::{FORMAT, days, title};
use super::thetadata_v2::{EXP, ONLY_IN_ALL, RIGHT, ROOT, SECOND, USE_CSV, at, format_and_headers, with_header};
use super::thetadata_v3::FIRST;
use super::thetadata_v3_past::{BARS, NO_QUOTES, QUOTED, VOLATILITIES};
use crate::past::moment::AsOf;
use crate::past::span::{Pace, PastSpan};
use crate::past::{Lacking, PastMoments, PastQuestion, SHOWS_THE_PRESENT};
use crate::query::parameter::{IsoDate, Param, Thousandths, TrueFalse, WholeNumber};
use crate::query::{Bounds, Query, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{Field, QuoteNumber, SliceNumber, own, slice, time};
use crate::rows::layout::{Around, Walk};
use crate::rows::number::Print;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use jiff::SignedDuration;
use jiff::civil::Time;

/// Greeks or quotes of one contract.
pub const HISTORY: Layer = at(
    "/v2/hist/option/{what}",
    &[&IVL, &START_TIME, &END_TIME, &ROOT, &STRIKE, &EXP, &RIGHT, &START_DATE, &END_DATE, &FORMAT, &USE_CSV, &RTH],
    Serve::Rows(parse_history),
);
/// Quotes of one contract at one time of some days.
pub const QUOTE_AT: Layer = at(
    "/v2/at_time/option/quote",
    &[&TIME_OF_DAY, &ROOT, &STRIKE, &EXP, &RIGHT, &START_DATE, &END_DATE, &FORMAT, &USE_CSV],
    Serve::Rows(parse_at),
);

pub(super) const IVL: Param<WholeNumber> = Param::new(
    "ivl",
    WholeNumber { least: 0, most: STEP_MOST_MS },
    "Interval between rows in milliseconds; for at_time, milliseconds since midnight",
);
pub(super) const TIME_OF_DAY: Param<WholeNumber> =
    Param::new("ivl", A_TIME, "Interval between rows in milliseconds; for at_time, milliseconds since midnight");
pub(super) const START_TIME: Param<WholeNumber> =
    Param::new("start_time", A_TIME, "Start time of day, milliseconds since midnight");
pub(super) const END_TIME: Param<WholeNumber> =
    Param::new("end_time", A_TIME, "End time of day, milliseconds since midnight");
pub(super) const RTH: Param<TrueFalse> =
    Param::new("rth", TrueFalse, "true starts rows at the open of the session [default: true]");
const STRIKE: Param<Thousandths> = Param::new("strike", Thousandths, "Strike in thousandths").required("720000");
pub(super) const START_DATE: Param<IsoDate> =
    Param::new("start_date", IsoDate, "Start date, YYYYMMDD").such_as("2026-12-18");
pub(super) const END_DATE: Param<IsoDate> = Param::new("end_date", IsoDate, "End date, YYYYMMDD").such_as("2026-12-18");
/// Milliseconds since midnight.
const A_TIME: WholeNumber = WholeNumber { least: 0, most: LAST_MS };

const MS_OF_DAY: Field = time("ms_of_day", When::Asked, Stamp::MillisOfDay);
const DATE: Field = time("date", When::Asked, Stamp::Date8);
const MADE: Field = time("ms_of_day2", When::Snapshot, Stamp::MillisOfDay);
const BID: Field = quoted_as("bid", QuoteNumber::Bid, POINT);
const ASK: Field = quoted_as("ask", QuoteNumber::Ask, POINT);

const OPEN_INTEREST: Field = quoted_as("open_interest", QuoteNumber::OpenInterest, Print::UpTo(0));

const HEAD: &[Field] = &[MS_OF_DAY, BID, ASK];

const FITTED: &[Field] =
    &[pointed("implied_vol", own(Col::SvcVol), Unit::Plain), pointed("iv_error", own(Col::IvError), Unit::Plain)];

const THIRD: &[Field] = &[
    pointed("speed", own(Col::Speed), Unit::Plain),
    pointed("zomma", own(Col::Zomma), Unit::Plain),
    pointed("color", own(Col::Color), Unit::PerYear),
    pointed("ultima", own(Col::Ultima), Unit::Plain),
];

/// The underlying and the day, behind volatilities.
const UNDERLYING: &[Field] = &[MADE, pointed("underlying_price", slice(SliceNumber::UndPrice), Unit::Plain), DATE];

/// Fields of a quote, its time included.
pub(super) fn quoted() -> Vec<Field> {
    [&[MS_OF_DAY], QUOTED, &[DATE]].concat()
}

/// Fields of each kind of history, and whether they are quotes alone; `None`: no such kind.
pub(super) fn history_fields(what: &str) -> Option<(Vec<Field>, bool)> {
    let priced = |of: &[&[Field]]| Some(([HEAD, &of.concat(), FITTED, UNDERLYING].concat(), false));
    match what {
        "greeks" => priced(&[FIRST]),
        "greeks_second_order" => priced(&[SECOND]),
        "greeks_third_order" => priced(&[THIRD]),
        "all_greeks" => priced(&[FIRST, SECOND, ONLY_IN_ALL]),
        "implied_volatility" => Some(([&[MS_OF_DAY], VOLATILITIES, UNDERLYING].concat(), false)),
        "quote" => Some((quoted(), true)),
        "eod" => Some(([&[MS_OF_DAY, MADE], BARS, QUOTED, &[DATE]].concat(), true)),
        "eod_greeks" => {
            let greeks = [FIRST, SECOND, ONLY_IN_ALL, FITTED].concat();
            let behind = [pointed("underlying_price", slice(SliceNumber::UndPrice), Unit::Plain), DATE];
            Some(([&[MS_OF_DAY, MADE], BARS, QUOTED, &greeks, &behind].concat(), false))
        }
        "open_interest" => Some((vec![MS_OF_DAY, OPEN_INTEREST, DATE], true)),
        _ => None,
    }
}

/// Kinds of history with one row per day.
const DAILY: [&str; 3] = ["eod", "eod_greeks", "open_interest"];
const NO_DATA: &str = "No data for the specified timeframe & contract.";
const STEP_MOST_MS: i64 = 86_400_000;
/// The last millisecond of a day.
const LAST_MS: i64 = 86_399_999;
/// Regular trading hours.
const OPENS_MS: i64 = 34_200_000;
const CLOSES_MS: i64 = 57_600_000;

/// Times of each day.
pub(super) struct PastSteps {
    opens: Time,
    closes: Time,
    every: Pace,
}

fn parse_history(query: &Query<'_>) -> Result<Reply, Refusal> {
    let what = query.segment("what");
    let (fields, is_quotes) = history_fields(what).ok_or(Refusal::UnknownPath)?;
    parse(query, fields, is_quotes, steps(query, what)?)
}

/// Times of each day: the end of the day for daily kinds, else those of an interval.
pub(super) fn steps(query: &Query<'_>, what: &str) -> Result<PastSteps, Refusal> {
    if DAILY.contains(&what) {
        return Ok(PastSteps { opens: Time::MIN, closes: Time::MAX, every: Pace::Day });
    }
    let step = query.get(&IVL)?.unwrap_or(0);
    // without steps the whole day counts, as at the vendor
    let is_regular = step > 0 && query.get(&RTH)?.unwrap_or(true);
    let (least, most) = if is_regular { (OPENS_MS, CLOSES_MS) } else { (0, LAST_MS) };
    let (opens, closes) = (query.get(&START_TIME)?.unwrap_or(least), query.get(&END_TIME)?.unwrap_or(most));
    let (opens, closes) = (time_of(opens), time_of(closes));
    let every = match step {
        0 => Pace::Snapshot,
        millis => Pace::Step { from: Some(opens), step: SignedDuration::from_millis(millis) },
    };
    Ok(PastSteps { opens, closes, every })
}

fn parse_at(query: &Query<'_>) -> Result<Reply, Refusal> {
    parse(query, quoted(), true, at_time(query)?)
}

/// The requested time of each day.
pub(super) fn at_time(query: &Query<'_>) -> Result<PastSteps, Refusal> {
    let at = query.get(&TIME_OF_DAY)?.unwrap_or(0);
    Ok(PastSteps { opens: Time::MIN, closes: Time::MAX, every: Pace::At(time_of(at)) })
}

/// Milliseconds since midnight as a time of day.
fn time_of(millis: i64) -> Time {
    Time::MIN.saturating_add(SignedDuration::from_millis(millis))
}

fn parse(query: &Query<'_>, fields: Vec<Field>, is_quotes: bool, steps: PastSteps) -> Result<Reply, Refusal> {
    let root = query.required(&ROOT)?;
    let strike = query.required(&STRIKE)?;
    let selection = Selection {
        expiries: Some(vec![query.required(&EXP)?]),
        strike: Bounds::exactly(strike),
        rights: query.get(&RIGHT)?.unwrap_or(Rights::Call),
        ..Selection::named(root)
    };
    let reply = of_days(query, is_quotes, steps)?;
    let (walk, around, title) = (Walk::Arrays, Wrap::Of(around), title(root));
    Ok(Reply { selection, fields, walk, around, title, ..reply })
}

/// Parts that all answers about past days share.
pub(super) fn of_days(query: &Query<'_>, is_quotes: bool, steps: PastSteps) -> Result<Reply, Refusal> {
    let (first, last) = days(query, &START_DATE, &END_DATE, None)?;
    let PastSteps { opens, closes, every } = steps;
    let moments = PastMoments::Many(PastSpan { start: AsOf::Day(first), end: AsOf::Day(last), opens, closes, every });
    let past = Some(PastQuestion { moments, if_live: Some(SHOWS_THE_PRESENT), if_none });
    let (format, headers) = format_and_headers(query)?;
    let when_empty = Some(Refusal::NoTicks { text: NO_DATA.to_owned() });
    let needs_quotes = is_quotes.then_some(NO_QUOTES);
    Ok(Reply { past, format, headers, when_empty, needs_quotes, ..Reply::default() })
}

/// The header names the numbers of a row.
fn around(ending: &Ending<'_>) -> Around {
    with_header(&body::names(&ending.reply.fields))
}

fn if_none(lacking: &Lacking) -> Refusal {
    Refusal::NoTicks { text: format!("{NO_DATA} ({})", lacking.text()) }
}
