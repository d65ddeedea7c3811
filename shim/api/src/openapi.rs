//! `GET /openapi.json`: every endpoint with its parameters and the fields of its answers, in OpenAPI 3.1.
//!
//! No list is repeated here: parameters come from the layer's table, fields from its other table (`answers.rs`,
//! `schema.rs`). Only the words of paths are written here (`words.rs`). Never: an endpoint's name, a parser.

mod answers;
mod schema;
mod tables;
mod words;

use crate::query::parameter::{Parameter, ParameterForm, Parameters};
use crate::rows::heading::ColumnHead;
use crate::vendors::ignored::{IgnoredParameter, ignored};
use crate::vendors::layer::{Layer, RequestContext, Serve};
use crate::vendors::routes::LAYERS;
use crate::vendors::{native_explain, native_positions, native_scenario, native_snapshots, native_stream};
use serde_json::{Map, Value, json};

/// The path of explanations.
pub const EXPLAIN: &str = "/l1/explain";
/// The path of the snapshots around a moment.
pub const SNAPSHOTS: &str = "/l1/snapshots";
/// The path of scenarios.
pub const SCENARIO: &str = "/l1/scenario";
/// The path of streams.
pub const STREAM: &str = "/l1/stream";
/// The path of positions.
pub const POSITIONS: &str = "/l1/positions";
/// End of a pattern that matches any number of segments; such a pattern is no endpoint of the document.
const REST: &str = "*}";

/// The document, for a daemon that answers in this context. `health` is the body of `/health` as it is now.
#[must_use]
pub fn document(context: &RequestContext<'_>, health: &str) -> Vec<u8> {
    let mut paths = Map::new();
    for layer in LAYERS.iter().filter(|layer| !layer.path.contains(REST)) {
        if let Some(operation) = operation(layer, context) {
            paths.insert(layer.path.to_owned(), json!({ "get": operation }));
        }
    }
    let health = serde_json::from_str(health).unwrap_or(Value::Null);
    for (path, summary, content) in pages(&health) {
        let get = json!({ "operationId": identifier(path), "summary": summary, "tags": ["service"],
                          "responses": { "200": { "description": "The current state", "content": content } } });
        paths.insert(path.to_owned(), json!({ "get": get }));
    }
    let ready = &mut paths["/health"]["get"];
    ready["parameters"] = json!([{ "name": "ready", "in": "query", "required": false, "schema": { "type": "string" },
                                   "description": "The status is 503 until the market is whole" }]);
    ready["responses"]["503"] = ready["responses"]["200"].clone();
    paths.insert(EXPLAIN.to_owned(), json!({ "get": explanation() }));
    paths.insert(SNAPSHOTS.to_owned(), json!({ "get": snapshots() }));
    paths.insert(SCENARIO.to_owned(), json!({ "get": scenario() }));
    paths.insert(STREAM.to_owned(), json!({ "get": stream() }));
    paths.insert(POSITIONS.to_owned(), json!({ "get": positions(), "put": new_positions() }));
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "greeksd",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Option Greeks of the US listed market, computed on this machine",
            "description": words::ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The daemon that serves this document" }],
        "tags": tags(),
        "paths": paths,
        "components": { "responses": components() },
    });
    serde_json::to_vec(&document).unwrap_or_default()
}

/// The description of an endpoint whose rows are a table of these columns.
fn table(
    path: &str,
    title: &str,
    parameters: Parameters,
    refusals: &[&str],
    columns: &[&[ColumnHead<'static>]],
) -> Value {
    let parameters: Vec<Value> = parameters.iter().map(|of| query_parameter(*of)).collect();
    let row = |columns: &&[ColumnHead<'static>]| {
        let kind = |column: &ColumnHead<'static>| if column.is_number { "number" } else { "string" };
        let fields: Map<String, Value> =
            columns.iter().map(|column| (column.name.to_owned(), json!({ "type": [kind(column), "null"] }))).collect();
        json!({ "type": "object", "properties": fields })
    };
    let rows: Vec<Value> = columns.iter().map(row).collect();
    let items = if let [one] = rows.as_slice() { one.clone() } else { json!({ "anyOf": rows }) };
    let text = json!({ "schema": { "type": "string" } });
    let content = json!({ "application/json": { "schema": { "type": "array", "items": items } },
                          "application/x-ndjson": text, "text/csv": text, "text/html": text });
    let mut responses = refused(refusals);
    responses.insert("200".to_owned(), json!({ "description": title, "content": content }));
    json!({ "operationId": identifier(path), "summary": title, "tags": ["native"],
            "parameters": parameters, "responses": responses })
}

fn refused(statuses: &[&str]) -> Map<String, Value> {
    let reference = |status: &str| json!({ "$ref": format!("#/components/responses/Refused{status}") });
    statuses.iter().map(|status| ((*status).to_owned(), reference(status))).collect()
}

/// The description of /l1/scenario.
fn scenario() -> Value {
    use native_scenario::{GROUP, HELD, IDENTITY, MISSING, OF_POSITIONS, PER_SHARE, SCENARIO as WHERE};
    let of_contracts = [IDENTITY, WHERE, PER_SHARE].concat();
    let of_positions = [HELD, IDENTITY, WHERE, &PER_SHARE[..2], OF_POSITIONS].concat();
    let of_sums = [GROUP, WHERE, &[MISSING], OF_POSITIONS].concat();
    table(
        SCENARIO,
        "Contracts or positions at other spots, volatilities, times, rates, borrow rates and dividends",
        native_scenario::PARAMETERS,
        &["400", "404", "502", "503"],
        &[&of_contracts, &of_positions, &of_sums],
    )
}

/// The description of GET /l1/positions.
fn positions() -> Value {
    let title = "Positions: value, profit and Greeks, by contract, expiry, underlying, account and in total";
    let of = native_positions::PARAMETERS;
    table(POSITIONS, title, of, &["400", "503"], &[native_positions::COLUMNS])
}

/// The description of /l1/stream.
fn stream() -> Value {
    let parameters: Vec<Value> = native_stream::PARAMETERS.iter().map(|of| query_parameter(*of)).collect();
    let title = "Rows as they change, as server-sent events: an image first, then what has changed";
    let mut responses = refused(&["400", "502", "503"]);
    let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    responses.insert("200".to_owned(), json!({ "description": title, "content": content }));
    json!({ "operationId": identifier(STREAM), "summary": title, "tags": ["native"],
            "parameters": parameters, "responses": responses })
}

/// The description of PUT /l1/positions.
fn new_positions() -> Value {
    let mut responses = refused(&["400", "403", "421", "503"]);
    let fields = json!({ "source": { "type": "string" }, "lines": { "type": "integer" },
                         "refused": { "type": "integer" },
                         "errors": { "type": "array", "items": { "type": "string" } } });
    let content = json!({ "application/json": { "schema": { "type": "object", "properties": fields } } });
    responses.insert("200".to_owned(), json!({ "description": "What was taken", "content": content }));
    responses.insert("405".to_owned(), json!({ "description": "The daemon runs without --allow-positions" }));
    responses.insert("413".to_owned(), json!({ "description": "More than 8 MB" }));
    json!({ "operationId": "put_l1_positions", "tags": ["native"],
            "summary": "Replace all positions; from this machine, with --allow-positions",
            "requestBody": { "required": true, "content": { "text/csv": { "schema": { "type": "string" } } } },
            "responses": responses })
}

/// The description of /l1/explain.
fn explanation() -> Value {
    let parameters: Vec<Value> = native_explain::PARAMETERS.iter().map(|of| query_parameter(*of)).collect();
    let mut responses: Map<String, Value> = ["400", "404", "502", "503"]
        .map(|status| (status.to_owned(), json!({ "$ref": format!("#/components/responses/Refused{status}") })))
        .into_iter()
        .collect();
    let content = json!({ "application/json": { "schema": { "type": "object" } },
                          "text/plain": { "schema": { "type": "string" } } });
    let title = "Explanation of one contract: inputs, calibration, values, warnings";
    responses.insert("200".to_owned(), json!({ "description": title, "content": content }));
    json!({ "operationId": identifier(EXPLAIN), "summary": title, "tags": ["native"],
            "parameters": parameters, "responses": responses })
}

/// The description of /l1/snapshots.
fn snapshots() -> Value {
    let parameters: Vec<Value> = native_snapshots::PARAMETERS.iter().map(|of| query_parameter(*of)).collect();
    let title = "Snapshots of a name around a past moment";
    let mut responses = refused(&["400", "404", "502", "503"]);
    let time = json!({ "type": ["string", "null"] });
    let fields = json!({ "underlying": { "type": "string" }, "snapshot_time": time, "previous": time, "next": time,
                         "times": { "type": "array", "items": { "type": "string" } },
                         "first_day": { "type": "string" }, "last_day": { "type": "string" } });
    let content = json!({ "application/json": { "schema": { "type": "object", "properties": fields } } });
    responses.insert("200".to_owned(), json!({ "description": title, "content": content }));
    json!({ "operationId": identifier(SNAPSHOTS), "summary": title, "tags": ["native"],
            "parameters": parameters, "responses": responses })
}

/// The pages outside of the layers: path, summary, content.
fn pages(health: &Value) -> [(&'static str, &'static str, Value); 3] {
    let text = json!({ "schema": { "type": "string" } });
    [
        ("/health", "Status of the daemon", json!({ "application/json": { "schema": schema::loose(health) } })),
        ("/metrics", "Counters for Prometheus", json!({ "text/plain": text })),
        ("/openapi.json", "This document", json!({ "application/json": { "schema": { "type": "object" } } })),
    ]
}

/// One tag for each layer, in the order of their endpoints.
fn tags() -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for layer in LAYERS {
        if !names.contains(&layer.name) {
            names.push(layer.name);
        }
    }
    let description = |name: &str| match name {
        "native" => "The native API".to_owned(),
        vendor => format!("Compatible with the API of a vendor; docs/compat.md, `{vendor}`"),
    };
    let layers = names.iter().map(|name| json!({ "name": name, "description": description(name) }));
    layers.chain([json!({ "name": "service", "description": "The daemon itself" })]).collect()
}

/// Refusals common to all endpoints: status and description.
const REFUSALS: [(&str, &str); 9] = [
    (
        "400",
        "A parameter is missing, unknown or invalid, or the request needs an option that this daemon does not have; the body gives the reason",
    ),
    ("403", "Request from a page of another site"),
    ("404", "Unknown path, contract or time"),
    ("421", "The Host is not one of this machine's names"),
    ("431", "Request head too large"),
    ("472", "ThetaData's status for no data"),
    ("501", "Recognised but not implemented"),
    ("502", "Not computed yet; retry after Retry-After"),
    ("503", "Overloaded; retry after Retry-After"),
];

fn components() -> Map<String, Value> {
    let answer = |text: &str| json!({ "description": text, "content": { "application/json": { "schema": {} }, "text/plain": { "schema": {} } } });
    REFUSALS.iter().map(|&(status, text)| (format!("Refused{status}"), answer(text))).collect()
}

/// The operation of an endpoint: parameters and responses; `None`: the endpoint refuses every example of its tables.
fn operation(layer: &Layer, context: &RequestContext<'_>) -> Option<Value> {
    let content = answers::content(layer, context)?;
    let mut responses: Map<String, Value> = REFUSALS
        .iter()
        .map(|(status, _)| ((*status).to_owned(), json!({ "$ref": format!("#/components/responses/Refused{status}") })))
        .collect();
    responses.insert("200".to_owned(), json!({ "description": "The response, from one snapshot", "content": content }));
    responses.insert("304".to_owned(), json!({ "description": "The same as the version that If-None-Match names" }));
    let segments = words::segments(layer.path).map(|name| {
        let samples = words::samples_of_segment(name);
        let schema = match samples {
            [_] => json!({ "type": "string", "minLength": 1 }),
            all => json!({ "type": "string", "enum": all }),
        };
        json!({ "name": name, "in": "path", "required": true, "description": words::of_segment(name),
                "schema": schema, "example": samples.first() })
    });
    let queries = layer.parameters.iter().map(|of| query_parameter(*of));
    let is_read = |of: &&IgnoredParameter| layer.parameters.iter().any(|parameter| parameter.name() == of.name);
    let unused = ignored(layer.name, layer.path).filter(|of| !is_read(of)).map(|of| {
        json!({ "name": of.name, "in": "query", "required": false,
                "description": format!("Accepted and ignored: {}", of.reason), "schema": { "type": "string" } })
    });
    Some(json!({
        "operationId": identifier(layer.path),
        "summary": summary(layer),
        "tags": [layer.name],
        "parameters": segments.chain(queries).chain(unused).collect::<Vec<_>>(),
        "responses": responses,
    }))
}

fn summary(layer: &Layer) -> &'static str {
    match layer.serve {
        Serve::Rows(_) => "Greeks of contracts",
        Serve::Listing(_) => "Expirations",
        Serve::Symbols(_) => "Underlyings served, one row each",
        Serve::Facts(_) => "Numbers of names and expiries: volatilities at constant maturities, skew, events, moves",
        Serve::Catalog(_) => "Available items, of recorded days or of the current market",
        Serve::Names(_) => "Prices of underlyings",
        Serve::Text(_) => "An endpoint that clients of this API also call",
    }
}

/// Identifier of an operation, for code generators.
fn identifier(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

fn query_parameter(of: &dyn Parameter) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendors::layer::LayerRequest;
    use crate::vendors::layer::testing::in_context;
    use answers::Allowed;

    /// Parses a request together with one more pair.
    fn parsed(layer: &Layer, request: &Allowed, more: &str) -> LayerRequest {
        let text = [request.text().as_str(), more].join("&");
        layer.parse(&request.query(&text))
    }

    fn refusal(layer: &Layer, request: &Allowed, more: &str) -> String {
        let text = format!("{:?}", parsed(layer, request, more));
        if text.contains("content: Err(") { text } else { String::new() }
    }

    fn with_data() -> impl Iterator<Item = &'static &'static Layer> {
        LAYERS.iter().filter(|layer| !matches!(layer.serve, Serve::Text(_)))
    }

    #[test]
    fn a_table_has_each_parameter_once_with_its_words() {
        for layer in LAYERS {
            for (place, of) in layer.parameters.iter().enumerate() {
                assert!(!of.help().is_empty(), "{} {}", layer.path, of.name());
                let others = layer.parameters[..place].iter().any(|other| other.name() == of.name());
                assert!(!others, "{} {}", layer.path, of.name());
                assert!(!of.is_required() || !of.example().is_empty(), "{} {} has no example", layer.path, of.name());
            }
        }
    }

    #[test]
    fn examples_are_taken_and_required_parameters_are_missed() {
        for layer in with_data() {
            let request = Allowed::examples(layer);
            assert_eq!(refusal(layer, &request, ""), "", "{}", layer.path);
            for of in layer.parameters {
                let refused = refusal(layer, &request.without(of.name()), "");
                let is_missed = refused.contains(&format!("Missing {{ parameter: {:?} }}", of.name()));
                assert_eq!(is_missed, of.is_required(), "{} {}: {refused}", layer.path, of.name());
            }
        }
    }

    /// Values that no form but text takes.
    const NO_VALUE: &str = "no-such-value";

    #[test]
    fn what_is_no_value_is_refused_in_the_words_of_the_table() {
        // these take any text, as their interfaces have it, or have words of their own
        const LENIENT: [(&str, &str); 3] =
            [("livevol", "date"), ("alphavantage", "require_greeks"), ("alpaca", "symbols")];
        let mut n = 0;
        for layer in with_data() {
            let request = Allowed::examples(layer);
            for of in layer.parameters.iter().filter(|of| !LENIENT.contains(&(layer.name, of.name()))) {
                let wanted = match of.form() {
                    ParameterForm::Text | ParameterForm::List => continue,
                    ParameterForm::Date | ParameterForm::Dates => "a date".to_owned(),
                    ParameterForm::Date8 => "a date YYYYMMDD".to_owned(),
                    ParameterForm::Number => "a number".to_owned(),
                    ParameterForm::Integer(_) => "an integer".to_owned(),
                    ParameterForm::Range => "a range min,max".to_owned(),
                    ParameterForm::Flag => "true or false".to_owned(),
                    ParameterForm::Word(words) | ParameterForm::Words(words) => format!("one of {}", words.join(", ")),
                };
                // some are read in one form of the request only
                let forms = [("", ""), ("ivl", "1000"), ("function", "historical_options")];
                let refused = |&(name, value): &(&'static str, &str)| {
                    let request = request.without(of.name());
                    let request = if name.is_empty() { request } else { request.with(name, value) };
                    refusal(layer, &request.with(of.name(), NO_VALUE), "")
                };
                let found = forms.iter().map(refused).any(|text| {
                    text.contains(&format!("parameter: {:?}", of.name()))
                        && text.contains(&format!("wants: \"{wanted}"))
                });
                assert!(found, "{} {}: {}", layer.path, of.name(), refused(&forms[0]));
                n += 1;
            }
        }
        assert!(n > 200, "{n}");
    }

    #[test]
    fn an_ignored_parameter_has_no_effect_and_selects_no_data() {
        const SELECTING: [&str; 14] = [
            "date",
            "tradeDate",
            "as_of",
            "time",
            "start_time",
            "Expiration",
            "expiry",
            "exp",
            "dte",
            "Symbol",
            "ticker",
            "underlying",
            "from",
            "expiration_date_gte",
        ];
        for layer in with_data() {
            let request = Allowed::examples(layer);
            let read = |more: &str| format!("{:?}", parsed(layer, &request, more));
            let plain = read("");
            let is_read = |name: &str| {
                let is = |of: &&dyn Parameter| match layer.name {
                    "alphavantage" => of.name().eq_ignore_ascii_case(name),
                    _ => of.name() == name,
                };
                layer.parameters.iter().any(is)
            };
            for IgnoredParameter { name, .. } in ignored(layer.name, layer.path) {
                if is_read(name) {
                    assert!(["start_date", "end_date"].contains(name), "{} reads {name}", layer.path);
                    continue;
                }
                for value in ["1", "2026-12-18", "%00", ""] {
                    assert_eq!(read(&format!("{name}={value}")), plain, "{} {name}={value}", layer.path);
                }
            }
            let of_native = layer.name == "native";
            assert_eq!(read("nothing=1") == plain, !of_native, "{}", layer.path);
            for name in SELECTING {
                if !is_read(name) {
                    let answer = read(&format!("{name}=2020-01-02"));
                    let refusal = if of_native { "UnknownParameter" } else { "WithoutEffect" };
                    assert!(answer.contains(refusal), "{}: {name} has no effect: {answer}", layer.path);
                }
                assert_eq!(read(&format!("{name}=")) == plain, !of_native || is_read(name), "{name}");
            }
        }
    }

    #[test]
    fn every_endpoint_of_rows_has_the_schema_of_its_rows() {
        in_context(|context| {
            let says_no = |layer: &&&Layer| matches!(layer.serve, Serve::Text(_));
            for layer in LAYERS.iter().filter(|layer| !says_no(layer)) {
                let answer = answers::content(layer, context);
                let schema = answer.unwrap_or_default()["application/json"]["schema"].clone();
                let is_known = schema["type"].is_string() || schema["anyOf"].is_array();
                assert!(is_known, "{}: no query was found that it takes, or its answer could not be read", layer.path);
            }
        });
    }
}
