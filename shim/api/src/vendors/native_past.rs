//! Past moments in requests of the native API: `as_of` for one moment, `start`, `end` and `interval` for many.

use crate::past::moment::AsOf;
use crate::past::span::{Pace, PastSpan};
use crate::past::{Lacking, PastMoments, PastQuestion};
use crate::query::Query;
use crate::query::parameter::{Param, ReadAs};
use crate::refusal::Refusal;
use jiff::SignedDuration;
use jiff::civil::Time;

const STEP_MOST: SignedDuration = SignedDuration::from_hours(12);
const IF_LIVE: &str = "as_of, start and end select the past, and this feed has no past data; for past days, start the \
                       daemon with --feed history:DIR";

/// Interval between the moments of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interval {
    /// One moment per day: its last snapshot.
    Daily,
    /// A fixed interval, counted from the time of day of the start.
    Each(SignedDuration),
}

const A_MOMENT: ReadAs<AsOf> = ReadAs { read: AsOf::parse, wants: "a date or a time such as 2024-01-03T10:30" };
const AN_INTERVAL: ReadAs<Interval> = ReadAs { read: read_interval, wants: "30s, 15m, 1h, …, 12h or 1d" };

pub(super) const AS_OF: Param<ReadAs<AsOf>> =
    Param::new("as_of", A_MOMENT, "Date or time; selects the last snapshot at or before it; for feeds with past data");
pub(super) const START: Param<ReadAs<AsOf>> = Param::new("start", A_MOMENT, "Start of a series of snapshots");
pub(super) const END: Param<ReadAs<AsOf>> = Param::new("end", A_MOMENT, "End of a series of snapshots");
pub(super) const INTERVAL: Param<ReadAs<Interval>> =
    Param::new("interval", AN_INTERVAL, "Interval between snapshots of a series: 30s, 15m, 1h, 1d");

/// Past moments of a query, if any.
///
/// # Errors
/// A value is no moment, or parameters exclude each other.
pub(super) fn parse(query: &Query<'_>) -> Result<Option<PastQuestion>, Refusal> {
    let (as_of, start, end) = (query.get(&AS_OF)?, query.get(&START)?, query.get(&END)?);
    let interval = query.get(&INTERVAL)?.map(|interval| match interval {
        Interval::Daily => Pace::Day,
        // without a start, intervals are counted from midnight
        Interval::Each(step) => Pace::Step { from: if start.is_some() { None } else { Some(Time::MIN) }, step },
    });
    let moments = match (as_of, start.or(end), interval) {
        (None, None, None) => return Ok(None),
        (Some(moment), None, None) => PastMoments::One(moment),
        (None, Some(_), every) => {
            let span = PastSpan::between(start.unwrap_or(AsOf::Latest), end.unwrap_or(AsOf::Latest));
            PastMoments::Many(PastSpan { every: every.unwrap_or(Pace::Snapshot), ..span })
        }
        (Some(_), Some(_), _) => {
            let reason = "as_of selects one snapshot, start and end a series: give one or the other";
            return Err(Refusal::Conflict { reason });
        }
        (_, None, Some(_)) => return Err(Refusal::Conflict { reason: "interval needs start and end" }),
    };
    Ok(Some(question(moments)))
}

/// The one past moment of a query, if any.
///
/// # Errors
/// The value is no moment.
pub(super) fn parse_moment(query: &Query<'_>) -> Result<Option<PastQuestion>, Refusal> {
    Ok(query.get(&AS_OF)?.map(of_moment))
}

/// The question for one moment.
pub(super) fn of_moment(moment: AsOf) -> PastQuestion {
    question(PastMoments::One(moment))
}

fn question(moments: PastMoments) -> PastQuestion {
    let if_live = Some(Refusal::SwitchedOff { reason: IF_LIVE });
    PastQuestion { moments, if_live, if_none: Lacking::refusal }
}

/// Seconds, minutes or hours; or `1d`, which is the last snapshot of each day.
fn read_interval(text: &str) -> Option<Interval> {
    if text == "1d" {
        return Some(Interval::Daily);
    }
    let unit = text.chars().last().map_or(0, char::len_utf8);
    let (number, unit) = text.split_at(text.len() - unit);
    let number: u16 = number.parse().ok()?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    let step = SignedDuration::from_secs(i64::from(number) * seconds);
    (!step.is_zero() && step <= STEP_MOST).then_some(Interval::Each(step))
}
