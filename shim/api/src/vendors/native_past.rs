//! How the native API asks for the past: `as_of` for one moment, `start`, `end` and `interval` for many.

use crate::past::moment::AsOf;
use crate::past::span::{Pace, PastSpan};
use crate::past::{Lacking, PastMoments, PastQuestion};
use crate::query::Query;
use crate::refusal::Refusal;
use jiff::SignedDuration;
use jiff::civil::Time;

const MOMENT: &str = "a date or a time such as 2024-01-03T10:30";
const INTERVAL: &str = "30s, 15m, 1h, …, 12h or 1d";
const STEP_MOST: SignedDuration = SignedDuration::from_hours(12);
const IF_LIVE: &str = "as_of, start and end select the past, and this feed has no past data; for past days, start the \
                       daemon with --feed history:DIR";

/// What a query asks of the past, if it does.
///
/// # Errors
/// A value that is no moment, or parameters that exclude each other.
pub(super) fn parse(query: &Query<'_>) -> Result<Option<PastQuestion>, Refusal> {
    let moment = |name: &str| {
        let read = |text: &str| AsOf::parse(text).ok_or_else(|| Refusal::invalid(name, text, MOMENT));
        query.get(name).map(read).transpose()
    };
    let (as_of, start, end) = (moment("as_of")?, moment("start")?, moment("end")?);
    let interval = query.get("interval").map(|text| parse_interval(text, start)).transpose()?;
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
    let if_live = Some(Refusal::SwitchedOff { reason: IF_LIVE });
    Ok(Some(PastQuestion { moments, if_live, if_none: Lacking::refusal }))
}

/// Seconds, minutes or hours, counted from the time of day of the start; or `1d`, which is the last snapshot of each day.
fn parse_interval(text: &str, start: Option<AsOf>) -> Result<Pace, Refusal> {
    let refused = || Refusal::invalid("interval", text, INTERVAL);
    if text == "1d" {
        return Ok(Pace::Day);
    }
    let unit = text.chars().last().map_or(0, char::len_utf8);
    let (number, unit) = text.split_at(text.len() - unit);
    let number: u16 = number.parse().map_err(|_| refused())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(refused()),
    };
    let step = SignedDuration::from_secs(i64::from(number) * seconds);
    if step.is_zero() || step > STEP_MOST {
        return Err(refused());
    }
    let from = if start.is_some() { None } else { Some(Time::MIN) };
    Ok(Pace::Step { from, step })
}
