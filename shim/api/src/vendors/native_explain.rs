//! The request of `GET /l1/explain`: its parameters. The explanation itself is in the crate of the program. Never: a
//! chain.

use super::asked::AskedInstrument;
use super::native::{APIKEY, TOKEN};
use super::native_past::{self, AS_OF};
use crate::operation::Operation;
use crate::past::PastQuestion;
use crate::query::Query;
use crate::query::parameter::{OneWord, Param, ReadAs, parameters};
use crate::refusal::Refusal;
use serde_json::json;

/// Path of the endpoint.
pub const PATH: &str = "/l1/explain";

parameters! {
    /// Parameters of the endpoint.
    pub PARAMETERS:
    const OSYM: Param<ReadAs<AskedInstrument>> = Param::new(
        "osym",
        ReadAs { read: AskedInstrument::parse_contract, wants: "a contract such as SPY 12/18 712 C or SPY261218C00712000" },
        "The contract: an OSI symbol, or SPY 12/18 712 C, the next such date",
    )
    .required("SPY   261218C00700000");
    const FORMAT: Param<OneWord<ExplanationForm>> =
        Param::new("format", OneWord(FORMS), "JSON for programs, text to read");
    use AS_OF, APIKEY, TOKEN;
}

const FORMS: &[(&str, ExplanationForm)] = &[("json", ExplanationForm::Json), ("text", ExplanationForm::Text)];

/// Form of an explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExplanationForm {
    /// JSON, for programs.
    #[default]
    Json,
    /// Text, for people.
    Text,
}

/// Parsed request for an explanation.
#[derive(Clone, Debug)]
pub struct ExplainQuestion {
    /// The contract.
    pub contract: AskedInstrument,
    /// Form of the explanation.
    pub form: ExplanationForm,
    /// Past moment; `None`: the present.
    pub past: Option<PastQuestion>,
}

/// The description of the endpoint.
#[must_use]
pub fn operation() -> Operation {
    let content = json!({ "application/json": { "schema": { "type": "object" } },
                          "text/plain": { "schema": { "type": "string" } } });
    let title = "Explanation of one contract: inputs, calibration, values, warnings";
    Operation::native(PATH, title, PARAMETERS, &["400", "404", "502", "503"], &content)
}

/// Parses a query.
///
/// # Errors
/// The symbol is no contract's, a value is no moment, or a parameter is not in the table.
pub fn parse(query: &Query<'_>) -> Result<ExplainQuestion, Refusal> {
    query.only(PARAMETERS)?;
    let contract = query.required(&OSYM)?;
    Ok(ExplainQuestion {
        contract,
        form: query.get(&FORMAT)?.unwrap_or_default(),
        past: native_past::parse_moment(query)?,
    })
}
