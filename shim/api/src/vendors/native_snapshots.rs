//! The request of `GET /l1/snapshots`: its parameters. The search for snapshots is in the crate of the program. Never:
//! a chain.

use super::native::{APIKEY, TOKEN};
use super::native_past::{self, AS_OF};
use super::parameter::A_SYMBOL;
use crate::operation::Operation;
use crate::past::PastQuestion;
use crate::past::moment::AsOf;
use crate::query::Query;
use crate::query::parameter::{Param, ReadAs, parameters};
use crate::refusal::Refusal;
use kernel::contract::Symbol;
use serde_json::json;

/// Path of the endpoint.
pub const PATH: &str = "/l1/snapshots";

parameters! {
    /// Parameters of the endpoint.
    pub PARAMETERS:
    const UNDERLYING: Param<ReadAs<Symbol>> = Param::new("underlying", A_SYMBOL, "The underlying").required("SPY");
    use AS_OF, APIKEY, TOKEN;
}

/// Parsed request for snapshots around a moment.
#[derive(Clone, Debug)]
pub struct SnapshotsQuestion {
    /// The underlying, or a root of it.
    pub name: Symbol,
    /// The moment around which snapshots are looked for.
    pub past: PastQuestion,
}

/// The description of the endpoint.
#[must_use]
pub fn operation() -> Operation {
    let time = json!({ "type": ["string", "null"] });
    let fields = json!({ "underlying": { "type": "string" }, "snapshot_time": time, "previous": time, "next": time,
                         "times": { "type": "array", "items": { "type": "string" } },
                         "first_day": { "type": "string" }, "last_day": { "type": "string" } });
    let content = json!({ "application/json": { "schema": { "type": "object", "properties": fields } } });
    let title = "Snapshots of a name around a past moment";
    Operation::native(PATH, title, PARAMETERS, &["400", "404", "502", "503"], &content)
}

/// Parses a query; without `as_of`, the moment is that of the last snapshot.
///
/// # Errors
/// The symbol is missing, a value is no moment, or a parameter is not in the table.
pub fn parse(query: &Query<'_>) -> Result<SnapshotsQuestion, Refusal> {
    query.only(PARAMETERS)?;
    let name = query.required(&UNDERLYING)?;
    let past = native_past::parse_moment(query)?.unwrap_or_else(|| native_past::of_moment(AsOf::Latest));
    Ok(SnapshotsQuestion { name, past })
}
