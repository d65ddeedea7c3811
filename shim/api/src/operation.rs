//! Operations of OpenAPI: parameters and answers of an endpoint. Never: a path, a parser.

use crate::query::parameter::{Parameter, ParameterForm, Parameters};
use crate::rows::frame::ColumnHead;
use serde_json::{Map, Value, json};

/// A method at a path.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The path.
    pub path: &'static str,
    /// The method, in lower case.
    pub method: &'static str,
    /// Parameters and answers, as an operation object of OpenAPI.
    pub described: Value,
}

impl Operation {
    /// A request of the native API. `refusals` are the statuses of its refusals, `content` what it answers by type.
    #[must_use]
    pub fn native(path: &'static str, title: &str, parameters: Parameters, refusals: &[&str], content: &Value) -> Self {
        let mut responses = refused(refusals);
        responses.insert("200".to_owned(), json!({ "description": title, "content": content }));
        let parameters: Vec<Value> = parameters.iter().map(|of| query_parameter(*of)).collect();
        let described = json!({ "operationId": identifier(path), "summary": title, "tags": ["native"],
                                "parameters": parameters, "responses": responses });
        Self { path, method: "get", described }
    }

    /// A request of the native API whose rows are a table of some of these columns.
    #[must_use]
    pub fn rows(
        path: &'static str,
        title: &str,
        parameters: Parameters,
        refusals: &[&str],
        columns: &[&[ColumnHead<'static>]],
    ) -> Self {
        let rows: Vec<Value> = columns.iter().map(|columns| row_schema(columns)).collect();
        let items = if let [one] = rows.as_slice() { one.clone() } else { json!({ "anyOf": rows }) };
        let text = json!({ "schema": { "type": "string" } });
        let content = json!({ "application/json": { "schema": { "type": "array", "items": items } },
                              "application/x-ndjson": text, "text/csv": text, "text/html": text });
        Self::native(path, title, parameters, refusals, &content)
    }

    /// A page about the daemon itself.
    pub(crate) fn service(path: &'static str, summary: &str, content: &Value) -> Self {
        let described = json!({ "operationId": identifier(path), "summary": summary, "tags": ["service"],
                                "responses": { "200": { "description": "The current state", "content": content } } });
        Self { path, method: "get", described }
    }
}

/// The schema of a row of a table with some columns.
pub(crate) fn row_schema(columns: &[ColumnHead<'static>]) -> Value {
    let kind = |column: &ColumnHead<'static>| if column.is_number { "number" } else { "string" };
    let fields = columns.iter().map(|column| (column.name.to_owned(), json!({ "type": [kind(column), "null"] })));
    json!({ "type": "object", "properties": fields.collect::<Map<String, Value>>() })
}

/// References to the refusals that are alike everywhere, by status.
pub(crate) fn refused(statuses: &[&str]) -> Map<String, Value> {
    let reference = |status: &str| json!({ "$ref": format!("#/components/responses/Refused{status}") });
    statuses.iter().map(|status| ((*status).to_owned(), reference(status))).collect()
}

/// A name of an operation that programs can be made with.
pub(crate) fn identifier(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// The description of a parameter of a query.
pub(crate) fn query_parameter(of: &dyn Parameter) -> Value {
    let form = of.form();
    let mut described = json!({
        "name": of.name(), "in": "query", "required": of.is_required(), "description": of.help(),
        "schema": schema_of(&form),
    });
    let is_list = matches!(form, ParameterForm::List | ParameterForm::Dates | ParameterForm::Words(_));
    if !of.example().is_empty() {
        described["example"] = if is_list { json!([of.example()]) } else { example_of(&form, of.example()) };
    }
    if is_list {
        described["style"] = json!("form");
        described["explode"] = json!(false);
    }
    described
}

/// An example as a value of its schema: a number is no text.
fn example_of(form: &ParameterForm, text: &str) -> Value {
    match form {
        ParameterForm::Number | ParameterForm::Integer(_) | ParameterForm::Flag => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
        _ => json!(text),
    }
}

fn schema_of(form: &ParameterForm) -> Value {
    match form {
        ParameterForm::Text => json!({ "type": "string" }),
        ParameterForm::List => json!({ "type": "array", "items": { "type": "string" } }),
        ParameterForm::Date => json!({ "type": "string", "format": "date" }),
        ParameterForm::Date8 => json!({ "type": "string", "pattern": "^[0-9]{8}$" }),
        ParameterForm::Dates => json!({ "type": "array", "items": { "type": "string", "format": "date" } }),
        ParameterForm::Number => json!({ "type": "number" }),
        ParameterForm::Integer(bounds) => {
            let mut schema = json!({ "type": "integer", "format": "int64" });
            if *bounds.start() != i64::MIN {
                schema["minimum"] = json!(bounds.start());
            }
            if *bounds.end() != i64::MAX {
                schema["maximum"] = json!(bounds.end());
            }
            schema
        }
        ParameterForm::Range => json!({ "type": "string", "pattern": "^-?[0-9.]*(,-?[0-9.]*)?$" }),
        ParameterForm::Flag => json!({ "type": "boolean" }),
        ParameterForm::Word(words) => json!({ "type": "string", "enum": words }),
        ParameterForm::Words(words) => json!({ "type": "array", "items": { "type": "string", "enum": words } }),
    }
}
