//! Parameters that several layers read alike. Never: a parameter's name.

use crate::query::Query;
use crate::refusal::Refusal;
use jiff::civil::{Date, Time};
use kernel::contract::Symbol;

/// The one ticker that a parameter must hold, in any case and any spelling of class shares.
///
/// # Errors
/// [`Refusal::Missing`] if it is absent, [`Refusal::Invalid`] if it cannot be a ticker.
pub fn ticker(query: &Query<'_>, parameter: &str) -> Result<Symbol, Refusal> {
    let text = query.required(parameter)?;
    Symbol::parse_underlying(text).ok_or_else(|| Refusal::invalid(parameter, text, "a symbol"))
}

/// The expirations that a parameter names: one date; all if it is absent or `*`.
///
/// # Errors
/// [`Refusal::Invalid`] for anything else.
pub fn date_or_any(query: &Query<'_>, parameter: &str) -> Result<Option<Vec<Date>>, Refusal> {
    if query.get(parameter) == Some("*") {
        return Ok(None);
    }
    Ok(query.date(parameter)?.map(|date| vec![date]))
}

/// The first and the last of some days: `start_date` and `end_date`, or the one that `one` names, if it names a parameter.
///
/// # Errors
/// [`Refusal::Missing`] if neither is there, [`Refusal::Conflict`] if both are and differ, [`Refusal::Invalid`] for what is
/// no date.
pub fn days(query: &Query<'_>, one: &'static str) -> Result<(Date, Date), Refusal> {
    let (first, last) = (query.date("start_date")?, query.date("end_date")?);
    let day = if one.is_empty() { None } else { query.date(one)? };
    let missing = if one.is_empty() { "start_date and end_date" } else { "date, or start_date and end_date" };
    let differs = |date: Option<Date>| date.is_some_and(|date| Some(date) != day);
    match (day, first, last) {
        (Some(_), ..) if differs(first) || differs(last) => Err(Refusal::Conflict {
            reason: "date selects one day, start_date and end_date several: give one or the other",
        }),
        (Some(day), _, _) => Ok((day, day)),
        (None, Some(first), Some(last)) => Ok((first, last)),
        _ => Err(Refusal::missing(missing)),
    }
}

/// A time of day, `09:30`, with seconds and decimals if wanted.
///
/// # Errors
/// [`Refusal::Invalid`] for anything else.
pub fn clock_time(query: &Query<'_>, parameter: &str) -> Result<Option<Time>, Refusal> {
    let read = |text: &str| {
        let time = text.contains(':').then(|| text.parse().ok()).flatten();
        time.ok_or_else(|| Refusal::invalid(parameter, text, "a time of day such as 09:30:00"))
    };
    query.get(parameter).map(read).transpose()
}

/// What was asked for, for a reader.
#[must_use]
pub fn title(symbol: Symbol) -> String {
    format!("{symbol} · Greeks")
}
