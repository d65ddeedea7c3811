//! `GET /openapi.json`: every endpoint with its parameters and the fields of its answers, in OpenAPI 3.1.
//!
//! Nothing here is a second list. Parameters are what the endpoint's own parser reads when it is run (`probe.rs`), fields
//! are those of the layer's own table (`schema.rs`), and only the words that explain a parameter are written down
//! (`words.rs`). Never: an endpoint's name, a parser.

mod probe;
mod schema;
mod words;

use crate::query::ParameterForm;
use crate::vendors::ignored::{IgnoredParameter, ignored};
use crate::vendors::layer::{Layer, RequestContext, Serve};
use crate::vendors::routes::LAYERS;
use probe::{Parameter, Probed};
use serde_json::{Map, Value, json};

/// The path of explanations.
pub const EXPLAIN: &str = "/l1/explain";
/// What a pattern's last word has that stands for any number of segments: there is no endpoint behind it.
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
    paths.insert(EXPLAIN.to_owned(), json!({ "get": explanation() }));
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

/// The description of /l1/explain.
fn explanation() -> Value {
    let parameter = |name: &str, required: bool, description: &str, schema: Value, example: &str| {
        json!({ "name": name, "in": "query", "required": required, "description": description, "schema": schema,
                "example": example })
    };
    let osym = parameter(
        "osym",
        true,
        "The contract, as a padded or compact OSI symbol",
        json!({ "type": "string", "minLength": 1 }),
        "SPY   261218C00700000",
    );
    let forms = json!({ "type": "string", "enum": ["json", "text"] });
    let format = parameter("format", false, "JSON for programs, text to read", forms, "json");
    let mut responses: Map<String, Value> = ["400", "404", "502", "503"]
        .map(|status| (status.to_owned(), json!({ "$ref": format!("#/components/responses/Refused{status}") })))
        .into_iter()
        .collect();
    let content = json!({ "application/json": { "schema": { "type": "object" } },
                          "text/plain": { "schema": { "type": "string" } } });
    responses.insert("200".to_owned(), json!({ "description": "Explanation of one contract: inputs, calibration, values, warnings", "content": content }));
    json!({ "operationId": identifier(EXPLAIN), "summary": "Explanation of one contract: inputs, calibration, values, warnings", "tags": ["native"],
            "parameters": [osym, format], "responses": responses })
}

/// The pages that are no layer's: path, summary, content.
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

/// The answers that are alike everywhere, by status.
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

/// What an endpoint takes and answers; none of one that only says that it answers nothing.
fn operation(layer: &Layer, context: &RequestContext<'_>) -> Option<Value> {
    let Probed { parameters, answer } = probe::run(layer, context);
    let content = answer?;
    let mut responses: Map<String, Value> = REFUSALS
        .iter()
        .map(|(status, _)| ((*status).to_owned(), json!({ "$ref": format!("#/components/responses/Refused{status}") })))
        .collect();
    responses.insert("200".to_owned(), json!({ "description": "The response, from one snapshot", "content": content }));
    let segments = words::segments(layer.path).map(|name| {
        let samples = words::samples_of_segment(name);
        let schema = match samples {
            [_] => json!({ "type": "string", "minLength": 1 }),
            all => json!({ "type": "string", "enum": all }),
        };
        json!({ "name": name, "in": "path", "required": true, "description": words::of_segment(name),
                "schema": schema, "example": samples.first() })
    });
    let queries = parameters.iter().map(|parameter| query_parameter(layer, parameter));
    let is_read = |of: &&IgnoredParameter| parameters.iter().any(|parameter| parameter.name == of.name);
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
        Serve::Catalog(_) => "Available items, of recorded days or of the current market",
        Serve::Names(_) => "Prices of underlyings",
        Serve::Text(_) => "An endpoint that clients of this API also call",
    }
}

/// A name of an operation that programs can be made with.
fn identifier(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

fn query_parameter(layer: &Layer, parameter: &Parameter) -> Value {
    let Parameter { name, form, required, example } = parameter;
    let mut said = json!({
        "name": name, "in": "query", "required": required,
        "description": words::of_parameter(layer.name, name).unwrap_or_default(),
        "schema": schema_of(form),
    });
    let is_list = matches!(form, ParameterForm::List | ParameterForm::Dates | ParameterForm::Words(_));
    if let Some(example) = example {
        said["example"] = if is_list { json!([example]) } else { json!(example) };
    }
    if is_list {
        said["style"] = json!("form");
        said["explode"] = json!(false);
    }
    said
}

fn schema_of(form: &ParameterForm) -> Value {
    match form {
        ParameterForm::Ignored | ParameterForm::Text => json!({ "type": "string" }),
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
    use crate::vendors::layer::testing::in_context;

    #[test]
    fn every_parameter_that_a_parser_reads_has_its_words_and_no_others_are_there() {
        in_context(|context| {
            let mut read = Vec::new();
            let mut wordless = Vec::new();
            for layer in LAYERS {
                let Probed { parameters, .. } = probe::run(layer, context);
                for Parameter { name, .. } in parameters {
                    if words::of_parameter(layer.name, &name).is_none() {
                        wordless.push(format!("{} {name}", layer.path));
                    }
                    read.push((layer.name.to_owned(), name));
                }
            }
            assert!(wordless.is_empty(), "no words for\n{}", wordless.join("\n"));
            let unused = words::tests::unused(&read);
            assert!(unused.is_empty(), "read by no parser: {unused:?}");
        });
    }

    /// A valid request of an endpoint: the segments of its path and its query.
    fn valid_request(layer: &Layer, parameters: &[Parameter]) -> (Vec<(&'static str, String)>, String) {
        let word = |name| words::samples_of_segment(name).first().copied().unwrap_or("SPY").to_owned();
        // a switch that must be true is no parameter that must be there
        let switch = (layer.name == "alphavantage").then(|| "require_greeks=true".to_owned());
        let given = parameters.iter().filter_map(|of| Some(format!("{}={}", of.name, of.example.as_ref()?)));
        let given = given.chain(switch);
        (words::segments(layer.path).map(|name| (name, word(name))).collect(), given.collect::<Vec<_>>().join("&"))
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
        in_context(|context| {
            for layer in LAYERS.iter().filter(|layer| !matches!(layer.serve, Serve::Text(_))) {
                let parameters = probe::run(layer, context).parameters;
                let (path, query) = valid_request(layer, &parameters);
                let read = |more: &str| {
                    let query = if query.is_empty() { more.to_owned() } else { format!("{query}&{more}") };
                    let query = crate::query::Query::parse(&query).with_segments(path.clone());
                    format!("{:?}", layer.parse(&query))
                };
                let plain = read("");
                assert!(!plain.contains("content: Err"), "{}: {plain}", layer.path);
                for IgnoredParameter { name, .. } in ignored(layer.name, layer.path) {
                    if parameters.iter().any(|of| of.name == *name) {
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
                    let is_read = |of: &Parameter| match layer.name {
                        "alphavantage" => of.name.eq_ignore_ascii_case(name),
                        _ => of.name == name,
                    };
                    if !parameters.iter().any(is_read) {
                        let answer = read(&format!("{name}=2020-01-02"));
                        let refusal = if of_native { "UnknownParameter" } else { "WithoutEffect" };
                        assert!(answer.contains(refusal), "{}: {name} has no effect: {answer}", layer.path);
                    }
                    assert_eq!(
                        read(&format!("{name}=")) == plain,
                        !of_native || parameters.iter().any(is_read),
                        "{name}"
                    );
                }
            }
        });
    }

    #[test]
    fn every_endpoint_of_rows_has_the_schema_of_its_rows() {
        in_context(|context| {
            let says_no = |layer: &&&Layer| matches!(layer.serve, Serve::Text(_));
            for layer in LAYERS.iter().filter(|layer| !says_no(layer)) {
                let answer = probe::run(layer, context).answer;
                let schema = answer.unwrap_or_default()["application/json"]["schema"].clone();
                let is_known = schema["type"].is_string() || schema["anyOf"].is_array();
                assert!(is_known, "{}: no query was found that it takes, or its answer could not be read", layer.path);
            }
        });
    }
}
