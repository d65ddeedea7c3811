//! `GET /openapi.json`: every endpoint with its parameters and the fields of its answers, in OpenAPI 3.1.
//!
//! No list is repeated here: parameters come from the layer's table, fields from its other table (`answers.rs`,
//! `schema.rs`). Only the words of paths are written here (`words.rs`). Never: an endpoint's name, a parser.

mod answers;
mod schema;
mod tables;
mod words;

use crate::operation::{Operation, identifier, query_parameter, refused};
use crate::vendors::ignored::{IgnoredParameter, ignored};
use crate::vendors::layer::{Layer, RequestContext, Serve};
use crate::vendors::routes::LAYERS;
use serde_json::{Map, Value, json};

/// End of a pattern that matches any number of segments; such a pattern is no endpoint of the document.
const REST: &str = "*}";

/// The document of some operations.
#[must_use]
pub fn document(operations: Vec<Operation>) -> Vec<u8> {
    let mut paths = Map::new();
    for Operation { path, method, described } in operations {
        paths.entry(path).or_insert_with(|| json!({}))[method] = described;
    }
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

/// The description of `/health`, whose body is now `health`.
#[must_use]
pub fn health(health: &str) -> Operation {
    let health = serde_json::from_str(health).unwrap_or(Value::Null);
    let content = json!({ "application/json": { "schema": schema::loose(&health) } });
    let mut operation = Operation::service("/health", "Status of the daemon", &content);
    let described = &mut operation.described;
    described["parameters"] = json!([{ "name": "ready", "in": "query", "required": false,
                                       "schema": { "type": "string" },
                                       "description": "The status is 503 until the market is whole" }]);
    described["responses"]["503"] = described["responses"]["200"].clone();
    operation
}

/// The description of `/metrics`.
#[must_use]
pub fn counters() -> Operation {
    let content = json!({ "text/plain": { "schema": { "type": "string" } } });
    Operation::service("/metrics", "Counters for Prometheus", &content)
}

/// The description of `/openapi.json`.
#[must_use]
pub fn description() -> Operation {
    let content = json!({ "application/json": { "schema": { "type": "object" } } });
    Operation::service("/openapi.json", "This document", &content)
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
#[must_use]
pub fn operation(layer: &Layer, context: &RequestContext<'_>) -> Option<Operation> {
    if layer.path.contains(REST) {
        return None;
    }
    let content = answers::content(layer, context)?;
    let mut responses = refused(&REFUSALS.map(|(status, _)| status));
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
    let described = json!({
        "operationId": identifier(layer.path),
        "summary": summary(layer),
        "tags": [layer.name],
        "parameters": segments.chain(queries).chain(unused).collect::<Vec<_>>(),
        "responses": responses,
    });
    Some(Operation { path: layer.path, method: "get", described })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::parameter::{Parameter, ParameterForm};
    use crate::vendors::layer::LayerRequest;
    use crate::vendors::layer::testing::in_context;
    use answers::Allowed;
    use engine::snapshot::Snapshot;

    /// Parses a request together with one more pair.
    fn parsed(layer: &Layer, request: &Allowed, more: &str) -> LayerRequest {
        let text = [request.text().as_str(), more].join("&");
        layer.parse(&request.query(&text), &Snapshot::empty(Vec::new()))
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
