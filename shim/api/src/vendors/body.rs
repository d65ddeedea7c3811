//! Vendors' texts around ours: bodies of refusals, and headers that name the fields. Never: a status.

use crate::refusal::Refusal;
use crate::rows::field::{Cell, Field};
use crate::rows::frame::escape_json;

/// The content type of JSON that is no rows.
pub const JSON: &str = "application/json";
/// The content type of errors that are sentences.
pub const PLAIN: &str = "text/plain; charset=utf-8";

/// The refusal's text as a JSON string between `before` and `after`.
#[must_use]
pub fn with_text(before: &str, refusal: &Refusal, after: &str) -> String {
    let mut out = before.as_bytes().to_vec();
    escape_json(&mut out, &refusal.to_string());
    out.extend_from_slice(after.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// `{"message":"…"}`.
#[must_use]
pub fn message(refusal: &Refusal) -> (&'static str, String) {
    (JSON, with_text(r#"{"message":""#, refusal, r#""}"#))
}

/// The refusal as one plain sentence.
#[must_use]
pub fn plain(refusal: &Refusal) -> (&'static str, String) {
    (PLAIN, format!("{refusal}\n"))
}

/// The names of the cells from the beginning of an object or array on, as JSON strings with commas between them.
#[must_use]
pub fn names_within(fields: &[Field], begin: &str) -> String {
    let begins = |field: &&Field| matches!(field.cell, Cell::Open(_)) && field.name == begin;
    let first = fields.iter().position(|field| begins(&field)).unwrap_or(fields.len());
    names(&fields[first..])
}

/// The names of the cells, as JSON strings with commas between them.
#[must_use]
pub fn names(fields: &[Field]) -> String {
    let cells = fields.iter().filter(|field| field.is_cell());
    cells.map(|field| format!("\"{}\"", field.name)).collect::<Vec<_>>().join(",")
}
