//! Parameters and parsers that several layers share. Never: a layer's table.

use crate::query::parameter::{IsoDate, OneWord, Param, ReadAs, ReadEach};
use crate::query::{Bounds, Query};
use crate::refusal::Refusal;
use crate::rows::frame::Format;
use jiff::civil::{Date, Time};
use kernel::contract::{ContractKey, Symbol};

/// A ticker, in any case and any spelling of class shares.
pub const A_SYMBOL: ReadAs<Symbol> = ReadAs { read: Symbol::parse_underlying, wants: "a symbol" };
/// A comma list of tickers.
pub const SYMBOLS: ReadEach<Symbol> = ReadEach(A_SYMBOL);
/// The root of an option's symbol.
pub const A_ROOT: ReadAs<Symbol> =
    ReadAs { read: |text| Symbol::parse_underlying(text).map(Symbol::bare), wants: "a symbol" };
/// An OSI symbol, padded or compact.
pub const A_CONTRACT: ReadAs<ContractKey> = ReadAs { read: ContractKey::parse_osi, wants: "a contract" };
/// A time of day, `09:30`, with seconds and decimals if wanted.
pub const A_CLOCK_TIME: ReadAs<Time> = ReadAs {
    read: |text| if text.contains(':') { text.parse().ok() } else { None },
    wants: "a time of day such as 09:30:00",
};

/// The requested underlying.
pub const SYMBOL: Param<ReadAs<Symbol>> = Param::new("symbol", A_SYMBOL, "Symbol of the underlying").required("SPY");
/// The form of an answer.
pub const FORMAT: Param<OneWord<Format>> = Param::new("format", OneWord(Format::WORDS), "Format of the response");

/// `format` of the native interface.
pub const NATIVE_FORMAT: Param<OneWord<Format>> =
    Param::new("format", OneWord(Format::NATIVE_WORDS), "Format of the response");

/// Value that selects everything.
pub const ANY: &str = "*";

/// Returns the dates that a parameter names: one; all if it is absent or `*`.
///
/// # Errors
/// [`Refusal::Invalid`] for anything else.
pub fn date_or_any(query: &Query<'_>, param: &Param<IsoDate>) -> Result<Option<Vec<Date>>, Refusal> {
    if query.text(param) == Some(ANY) {
        return Ok(None);
    }
    Ok(query.get(param)?.map(|date| vec![date]))
}

/// Returns bounds that admit only this number; `None`: no bounds.
#[must_use]
pub fn exactly(number: Option<f64>) -> Bounds {
    number.map(Bounds::exactly).unwrap_or_default()
}

/// Returns the first and the last of some days: those of `start` and `end`, or the one of `one`.
///
/// # Errors
/// [`Refusal::Missing`] if neither is given, [`Refusal::Conflict`] if both are and differ, [`Refusal::Invalid`] if a
/// value is no date.
pub fn days(
    query: &Query<'_>,
    start: &Param<IsoDate>,
    end: &Param<IsoDate>,
    one: Option<&Param<IsoDate>>,
) -> Result<(Date, Date), Refusal> {
    let (first, last) = (query.get(start)?, query.get(end)?);
    let day = one.map_or(Ok(None), |one| query.get(one))?;
    let missing = if one.is_none() { "start_date and end_date" } else { "date, or start_date and end_date" };
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

/// Title of a page: the request in words.
#[must_use]
pub fn title(symbol: Symbol) -> String {
    format!("{symbol} · Greeks")
}
