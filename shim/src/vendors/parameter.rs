//! Parameters that several layers read alike. Never: a parameter's name.

use crate::query::Query;
use crate::refusal::Refusal;
use engine::contract::Symbol;
use jiff::civil::Date;

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

/// What was asked for, for a reader.
#[must_use]
pub fn title(symbol: Symbol) -> String {
    format!("{symbol} · Greeks")
}
