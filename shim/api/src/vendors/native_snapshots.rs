//! The request of `GET /l1/snapshots`: its parameters. Which snapshots there are is the program's to find. Never: a
//! chain.

use super::native::{APIKEY, TOKEN};
use super::native_past::{self, AS_OF};
use super::parameter::A_SYMBOL;
use crate::past::PastQuestion;
use crate::past::moment::AsOf;
use crate::query::Query;
use crate::query::parameter::{Param, Parameters, ReadAs};
use crate::refusal::Refusal;
use kernel::contract::Symbol;

/// The parameters.
pub const PARAMETERS: Parameters = &[&UNDERLYING, &AS_OF, &APIKEY, &TOKEN];

const UNDERLYING: Param<ReadAs<Symbol>> = Param::new("underlying", A_SYMBOL, "The underlying").required("SPY");

/// The snapshots that are asked for.
#[derive(Clone, Debug)]
pub struct SnapshotsQuestion {
    /// The underlying, or a root of it.
    pub name: Symbol,
    /// The moment around which snapshots are looked for.
    pub past: PastQuestion,
}

/// Parses a query; without `as_of` the last snapshot is asked for.
///
/// # Errors
/// No symbol, a value that is no moment, or a parameter that is not in the table.
pub fn parse(query: &Query<'_>) -> Result<SnapshotsQuestion, Refusal> {
    query.only(PARAMETERS)?;
    let name = query.required(&UNDERLYING)?;
    let past = native_past::parse_moment(query)?.unwrap_or_else(|| native_past::of_moment(AsOf::Latest));
    Ok(SnapshotsQuestion { name, past })
}
