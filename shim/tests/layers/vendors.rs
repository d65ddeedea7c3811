//! Every layer in every format, by its own table: names, kinds and values of each field against a list of meanings that
//! is written down here a second time, in the vendor's units, from the interface. A field that the list does not have
//! fails, and so does a layer without a sample.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use crate::support::market::{Got, get, get_from, market, service};
use api::query::Query;
use api::rows::field::{Cell, Field, Hidden, Missing, QuoteCell, flat_names};
use api::rows::layout::Per;
use api::rows::number::Print;
use api::vendors::layer::{Layer, Serve};
use api::vendors::routes::LAYERS;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use kernel::contract::Right;
use serde_json::{Map, Value};

/// Where the rows are in a layer's JSON.
#[derive(Clone, Copy)]
enum Shape {
    /// An array at a JSON pointer.
    At(&'static str),
    /// An object of columns.
    Columns,
    /// Contracts and ticks, named by the header.
    Ticks,
}

/// A request for everything of one underlying, at each path that answers rows: layer, path, query up to the symbol,
/// what the format parameter is called, shape.
const SAMPLES: &[(&str, &str, &str, &str, Shape)] = &[
    ("alphavantage", "/query", "function=REALTIME_OPTIONS&require_greeks=1&symbol=", "datatype", Shape::At("/data")),
    ("orats", "/datav2/strikes", "ticker=", "format", Shape::At("/data")),
    ("orats", "/datav2/strikes.json", "ticker=", "format", Shape::At("/data")),
    ("orats", "/datav2/strikes.csv", "ticker=", "format", Shape::At("/data")),
    ("livevol", "/allaccess/market/option-and-underlying-quotes", "symbol=", "format", Shape::At("")),
    ("livevol", "/v1/live/allaccess/market/option-and-underlying-quotes", "symbol=", "format", Shape::At("")),
    ("livevol", "/v1/delayed/allaccess/market/option-and-underlying-quotes", "symbol=", "format", Shape::At("")),
    ("thetadata", "/v3/option/snapshot/greeks/all", "expiration=*&symbol=", "format", Shape::Columns),
    ("thetadata", "/v3/option/snapshot/greeks/first_order", "expiration=*&symbol=", "format", Shape::Columns),
    ("thetadata", "/v3/option/snapshot/greeks/second_order", "expiration=*&symbol=", "format", Shape::Columns),
    ("thetadata", "/v3/option/snapshot/greeks/third_order", "expiration=*&symbol=", "format", Shape::Columns),
    ("thetadata", "/v3/option/snapshot/greeks/implied_volatility", "expiration=*&symbol=", "format", Shape::Columns),
    ("thetadata", "/v2/bulk_snapshot/option/greeks", "exp=0&root=", "format", Shape::Ticks),
    ("thetadata", "/v2/bulk_snapshot/option/greeks_second_order", "exp=0&root=", "format", Shape::Ticks),
    ("thetadata", "/v2/bulk_snapshot/option/all_greeks", "exp=0&root=", "format", Shape::Ticks),
    ("tradier", "/v1/markets/options/chains", "greeks=true&symbol=", "format", Shape::At("/options/option")),
    ("tradier", "/v1/markets/options/chains", "symbol=", "format", Shape::At("/options/option")),
];

/// Layers that tests of their own walk: `native.rs`, `vendors_four.rs`.
const ELSEWHERE: [&str; 5] = ["native", "alpaca", "intrinio", "marketdata", "polygon"];

/// Meaning of a number of a layer.
#[derive(Clone, Copy)]
enum Meaning {
    /// A native field times a factor.
    Own(&'static str, f64),
    /// A native field of the strike's call.
    Call(&'static str),
    /// A native field of the strike's put.
    Put(&'static str),
    /// The price of the underlying.
    Spot,
    /// Always zero.
    Zero,
}

use Meaning::{Call, Own, Put, Spot, Zero};

/// Meanings of the numbers of a layer, by name.
type Meanings = &'static [(&'static str, Meaning)];

/// The numbers of the layers, in the units of the interface: layer, decimals, names.
const MEANINGS: &[(&str, i32, Meanings)] = &[
    (
        "alphavantage",
        5,
        &[
            ("implied_volatility", Own("svc_vol", 1.0)),
            ("delta", Own("delta", 1.0)),
            ("gamma", Own("gamma", 1.0)),
            ("theta", Own("theta", 1.0)),
            ("vega", Own("vega", 1.0)),
            ("rho", Own("rho", 1.0)),
            ("last", Zero),
            ("volume", Zero),
            ("open_interest", Zero),
        ],
    ),
    (
        "orats",
        4,
        &[
            ("stockPrice", Spot),
            ("spotPrice", Spot),
            ("callValue", Call("svc_theo")),
            ("extCallValue", Call("svc_theo")),
            ("putValue", Put("svc_theo")),
            ("extPutValue", Put("svc_theo")),
            ("callBidIv", Call("bid_vol")),
            ("callMidIv", Call("mid_vol")),
            ("callAskIv", Call("ask_vol")),
            ("putBidIv", Put("bid_vol")),
            ("putMidIv", Put("mid_vol")),
            ("putAskIv", Put("ask_vol")),
            ("smvVol", Own("svc_vol", 1.0)),
            ("extSmvVol", Own("svc_vol", 1.0)),
            ("delta", Call("delta")),
            ("gamma", Own("gamma", 1.0)),
            ("theta", Own("theta", 1.0)),
            ("driftlessTheta", Own("theta", 1.0)),
            ("vega", Own("vega", 1.0)),
            ("rho", Own("rho", 1.0)),
        ],
    ),
    (
        "livevol",
        4,
        &[
            ("delta", Own("delta", 1.0)),
            ("gamma", Own("gamma", 1.0)),
            ("theta", Own("theta", 1.0)),
            ("vega", Own("vega", 1.0)),
            ("rho", Own("rho", 1.0)),
            ("iv", Own("svc_vol", 1.0)),
            ("mid_iv", Own("mid_vol", 1.0)),
            ("vendor_theo", Own("svc_theo", 1.0)),
            ("underlying_bid", Spot),
            ("underlying_ask", Spot),
            ("underlying_mid", Spot),
        ],
    ),
    (
        "thetadata",
        4,
        &[
            ("delta", Own("delta", 1.0)),
            ("theta", Own("theta", 1.0)),
            ("vega", Own("vega", 100.0)),
            ("rho", Own("rho", 100.0)),
            ("epsilon", Own("epsilon", 100.0)),
            ("lambda", Own("lambda", 1.0)),
            ("gamma", Own("gamma", 1.0)),
            ("vanna", Own("vanna", 1.0)),
            ("charm", Own("charm", 1.0)),
            ("vomma", Own("volga", 1.0)),
            ("veta", Own("veta", 1.0 / 365.0)),
            ("vera", Own("vera", 1.0)),
            ("speed", Own("speed", 1.0)),
            ("zomma", Own("zomma", 1.0)),
            ("color", Own("color", 1.0)),
            ("ultima", Own("ultima", 1.0)),
            ("d1", Own("d1", 1.0)),
            ("d2", Own("d2", 1.0)),
            ("dual_delta", Own("dual_delta", 1.0)),
            ("dual_gamma", Own("dual_gamma", 1.0)),
            ("implied_vol", Own("svc_vol", 1.0)),
            ("iv_error", Own("iv_error", 1.0)),
            ("underlying_price", Spot),
        ],
    ),
    (
        "tradier",
        4,
        &[
            ("greeks.delta", Own("delta", 1.0)),
            ("greeks.gamma", Own("gamma", 1.0)),
            ("greeks.theta", Own("theta", 1.0)),
            ("greeks.vega", Own("vega", 1.0)),
            ("greeks.rho", Own("rho", 1.0)),
            ("greeks.bid_iv", Own("bid_vol", 1.0)),
            ("greeks.mid_iv", Own("mid_vol", 1.0)),
            ("greeks.ask_iv", Own("ask_vol", 1.0)),
            ("greeks.smv_vol", Own("svc_vol", 1.0)),
        ],
    ),
];

const UNDERLYINGS: [&str; 3] = ["ACME", "SPX", "BRK.B"];
const FORMATS: [&str; 4] = ["json", "csv", "ndjson", "html"];

/// The layer at a path whose last segment may be a word.
fn layer(path: &str) -> &'static Layer {
    layer_at(path).unwrap_or_else(|| panic!("no layer at {path}"))
}

fn layer_at(path: &str) -> Option<&'static Layer> {
    let stem = path.rsplit_once('/').map_or("", |(stem, _)| stem);
    let at = |layer: &&&Layer| layer.path == path || layer.path == format!("{stem}/{{order}}");
    LAYERS.iter().find(at).copied()
}

/// The table that answers a sample.
fn table(path: &str, query: &str) -> (Vec<Field>, Per) {
    let last = path.rsplit_once('/').unwrap().1.to_owned();
    let query = Query::parse(query).with_segments(vec![("order", last)]);
    let Serve::Rows(parse) = layer(path).serve else { panic!("{path} answers no rows") };
    let reply = parse(&query).unwrap();
    (reply.fields, reply.per)
}

#[test]
fn every_sample_is_answered_and_counted_under_its_layer() {
    let service = service(market());
    for (name, path, query, ..) in SAMPLES {
        let answer = service.answer_to(path, &format!("{query}ACME"));
        assert_eq!((answer.status, answer.route), (200, layer(path).name), "{path}");
        assert!(answer.route.starts_with(name), "{path}: {}", answer.route);
    }
}

#[test]
fn every_endpoint_that_answers_rows_has_a_sample() {
    let tried: Vec<&str> = SAMPLES.iter().map(|(_, path, ..)| layer(path).path).collect();
    // past days have tests of their own: `asof.rs`, `history.rs`, `vendor_calls.rs`
    let is_past = |path: &str| {
        ["/hist/", "/history/", "/at_time/", "/bulk_hist/", "/bulk_at_time/"].iter().any(|word| path.contains(word))
    };
    let has_rows = |layer: &&&Layer| matches!(layer.serve, Serve::Rows(_)) && !is_past(layer.path);
    for layer in LAYERS.iter().filter(has_rows).filter(|layer| !ELSEWHERE.contains(&layer.name)) {
        assert!(tried.contains(&layer.path), "{} has no sample", layer.path);
    }
}

#[test]
fn the_page_of_examples_links_one_of_every_layer_in_every_format() {
    let page = get("/examples").body;
    let links: Vec<String> =
        page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")).collect();
    for target in &links {
        let got = get(target);
        assert_eq!(got.status, 200, "{target}");
        assert!(!got.body.is_empty(), "{target}");
    }
    for (_, path, ..) in SAMPLES.iter().filter(|(_, path, ..)| !path.contains('.') && !path.starts_with("/v1/live")) {
        let is_of = |link: &&String| {
            layer_at(link.split('?').next().unwrap()).is_some_and(|linked| linked.name == layer(path).name)
        };
        let layers = links.iter().filter(|link| link.contains("format") || link.contains("datatype"));
        assert!(layers.filter(is_of).count() >= FORMATS.len(), "{path}");
    }
}

// Reading.

fn flatten(prefix: &str, value: &Value, out: &mut Map<String, Value>) {
    match value {
        Value::Object(members) => {
            let named = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
            members.iter().for_each(|(key, value)| flatten(&named(key), value, out));
        }
        _ => drop(out.insert(prefix.to_owned(), value.clone())),
    }
}

/// The rows of a JSON answer, their names joined with dots.
fn json_rows(body: &str, shape: Shape) -> Vec<Map<String, Value>> {
    let json: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
    let flat = |value: &Value| {
        let mut row = Map::new();
        flatten("", value, &mut row);
        row
    };
    match shape {
        Shape::At(pointer) => json.pointer(pointer).unwrap().as_array().unwrap().iter().map(flat).collect(),
        Shape::Columns => {
            let columns = json.as_object().unwrap();
            let n = columns.values().next().unwrap().as_array().unwrap().len();
            assert!(columns.values().all(|column| column.as_array().unwrap().len() == n), "columns are equally long");
            (0..n).map(|i| columns.iter().map(|(name, column)| (name.clone(), column[i].clone())).collect()).collect()
        }
        Shape::Ticks => {
            let names = json["header"]["format"].as_array().unwrap();
            let row = |element: &Value| {
                let mut row = flat(&element["contract"]);
                let ticks = element["ticks"].as_array().unwrap();
                assert_eq!((ticks.len(), ticks[0].as_array().unwrap().len()), (1, names.len()));
                let named = names.iter().zip(ticks[0].as_array().unwrap());
                row.extend(named.map(|(name, value)| (name.as_str().unwrap().to_owned(), value.clone())));
                row
            };
            json["response"].as_array().unwrap().iter().map(row).collect()
        }
    }
}

/// Header and cells of a CSV or HTML answer.
fn cells(format: &str, got: &Got) -> (Vec<String>, Vec<Vec<String>>) {
    if format == "csv" {
        let mut reader = csv::Reader::from_reader(got.body.as_bytes());
        let header = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows = reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect();
        return (header, rows);
    }
    let texts = |line: &str| -> Vec<String> {
        line.split("<t")
            .skip(2)
            .map(|cell| {
                let inner = cell.split_once('>').unwrap().1;
                inner.split("</t").next().unwrap().to_owned()
            })
            .collect()
    };
    let head = got.body.split("<thead>").nth(1).unwrap().split("</thead>").next().unwrap();
    let body = got.body.split("<tbody>").nth(1).unwrap();
    let lines = body.lines().filter(|line| line.starts_with("<tr>"));
    (texts(head), lines.map(texts).collect())
}

// What must be there.

/// A row of an answer, as the columns know it.
struct Known<'a> {
    chain: &'a Chain,
    slice: &'a Slice,
    own: usize,
    call: Option<usize>,
    put: Option<usize>,
}

fn known_rows<'a>(snapshot: &'a Snapshot, underlying: &str, per: Per) -> Vec<Known<'a>> {
    let chain = snapshot.chain(market::symbol(underlying)).unwrap();
    let mut rows = Vec::new();
    for slice in &chain.slices {
        for row in slice.rows.clone().map(|row| row as usize) {
            match per {
                Per::Contract => rows.push(Known { chain, slice, own: row, call: None, put: None }),
                Per::Strike if chain.right[row] == Right::Call => {
                    rows.push(Known { chain, slice, own: row, call: Some(row), put: Some(row + 1) });
                }
                Per::Strike => {}
            }
        }
    }
    rows
}

impl Known<'_> {
    fn column(&self, name: &str, row: Option<usize>) -> f64 {
        let col = Col::ALL.iter().find(|col| col.name() == name).unwrap();
        row.map_or(f64::NAN, |row| self.chain.columns.get(*col)[row])
    }

    fn value(&self, meaning: Meaning) -> f64 {
        match meaning {
            Own(name, factor) => self.column(name, Some(self.own)) * factor,
            Call(name) => self.column(name, self.call),
            Put(name) => self.column(name, self.put),
            Spot => self.slice.und_price,
            Zero => 0.0,
        }
    }
}

/// True if a cell shows what it must: the value rounded to the layer's decimals, or what stands for a missing one.
fn check_number(shown: &Value, wanted: f64, decimals: i32, missing: Missing, what: &str) {
    if wanted.is_nan() {
        match missing {
            Missing::Null | Missing::Omit => assert!(shown.is_null(), "{what}: {shown}"),
            Missing::Zero => assert_eq!(shown.as_f64(), Some(0.0), "{what}"),
            Missing::Dash => assert_eq!(shown, "-", "{what}"),
        }
        return;
    }
    let number = shown.as_f64().or_else(|| shown.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{what}: {shown}"));
    let half = 0.5 * 10f64.powi(-decimals);
    assert!((number - wanted).abs() <= half * (1.0 + 1e-9), "{what}: {number} is not {wanted}");
}

fn check_field(name: &str, field: &Field, shown: &Value, known: &Known<'_>, layer: &str, what: &str) {
    let (_, decimals, meanings) = MEANINGS.iter().find(|(name, ..)| *name == layer).unwrap();
    match field.cell {
        Cell::Number { missing, print, .. } => {
            let meaning =
                meanings.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{what}: not in the list"));
            check_number(shown, known.value(meaning.1), *decimals, missing, what);
            assert_eq!(shown.is_string(), matches!(print, Print::Words(_)), "{what}");
        }
        // this market shows no quotes
        Cell::Quoted(QuoteCell { hidden: Hidden::Verbatim(text), .. }) => assert_eq!(shown.to_string(), text, "{what}"),
        Cell::Quoted(QuoteCell { hidden: Hidden::Zero, print, missing, .. }) => {
            check_number(shown, 0.0, *decimals, missing, what);
            assert_eq!(shown.is_string(), matches!(print, Print::Words(_)), "{what}");
        }
        Cell::Text(_) | Cell::RowKey(_) => assert!(shown.is_string(), "{what}: {shown}"),
        Cell::Strike | Cell::StrikeAs { .. } => {
            let strike = f64::from(known.chain.strike_milli[known.own]) / 1000.0;
            check_number(shown, strike, 3, Missing::Null, what);
        }
        // this market shows no quotes
        Cell::Dropped => assert!(shown.is_null(), "{what}: {shown}"),
        Cell::StrikeMilli => assert_eq!(shown.as_u64(), Some(known.chain.strike_milli[known.own].into()), "{what}"),
        Cell::DaysToExpiry => {
            let days = known.slice.expiry.duration_since(jiff::civil::date(2026, 11, 20)).as_hours() / 24;
            assert_eq!(shown.as_i64(), Some(days), "{what}");
        }
        Cell::Time(_, stamp) => {
            assert_eq!(shown.is_string(), !stamp.is_number(), "{what}");
            assert!(shown.is_string() || shown.as_i64().is_some_and(|n| n >= 0), "{what}: {shown}");
        }
        Cell::InTheMoney => assert!(shown.is_boolean(), "{what}: {shown}"),
        Cell::Verbatim(text) => assert_eq!(shown.to_string(), text, "{what}"),
        Cell::Open(_) | Cell::Close => {}
    }
}

#[test]
fn every_field_of_every_layer_shows_its_column_in_the_layers_unit() {
    let snapshot = market();
    for &(layer, path, query, format, shape) in SAMPLES {
        for underlying in UNDERLYINGS {
            let target = format!("{path}?{query}{underlying}&{format}=json");
            let got = get(&target);
            assert_eq!((got.status, got.content_type), (200, "application/json"), "{target}");
            let (fields, per) = table(path, &format!("{query}{underlying}"));
            let names = flat_names(&fields);
            let known = known_rows(&snapshot, underlying, per);
            let rows = json_rows(&got.body, shape);
            assert_eq!(rows.len(), known.len(), "{target}");
            for (i, (row, known)) in rows.iter().zip(&known).enumerate() {
                let cells = fields.iter().zip(&names).filter(|(field, _)| field.is_cell());
                assert_eq!(row.len(), cells.clone().count(), "{target}: row {i}");
                for (field, name) in cells {
                    let what = format!("{target}: row {i}: {name}");
                    let shown = row.get(&**name).unwrap_or_else(|| panic!("{what} is absent"));
                    check_field(name, field, shown, known, layer, &what);
                }
            }
        }
    }
}

#[test]
fn the_other_formats_hold_the_same_values_under_the_same_names() {
    for &(_, path, query, parameter, shape) in SAMPLES {
        for underlying in UNDERLYINGS {
            let target = |format: &str| format!("{path}?{query}{underlying}&{parameter}={format}");
            let rows = json_rows(&get(&target("json")).body, shape);
            let (fields, _) = table(path, &format!("{query}{underlying}"));
            let names = flat_names(&fields);
            let cells_of = fields.iter().zip(&names).filter(|(field, _)| field.is_cell());
            let names: Vec<&str> = cells_of.map(|(_, name)| &**name).collect();
            let ndjson: Vec<Map<String, Value>> =
                get(&target("ndjson")).body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(ndjson, rows, "{}", target("ndjson"));
            for format in ["csv", "html"] {
                let (header, table) = cells(format, &get(&target(format)));
                assert_eq!(header, names, "{}", target(format));
                assert_eq!(table.len(), rows.len(), "{}", target(format));
                for (texts, row) in table.iter().zip(&rows) {
                    for (name, text) in names.iter().zip(texts) {
                        let what = format!("{}: {name}", target(format));
                        match &row[*name] {
                            Value::Null => assert_eq!(text, "", "{what}"),
                            Value::String(word) => assert_eq!(text, word, "{what}"),
                            Value::Bool(flag) => assert_eq!(text, &flag.to_string(), "{what}"),
                            number => assert_eq!(text.parse::<f64>().ok(), number.as_f64(), "{what}"),
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn content_types_are_those_of_the_formats() {
    for &(_, path, query, parameter, _) in SAMPLES {
        for (format, wanted) in FORMATS.iter().zip([
            "application/json",
            "text/csv; charset=utf-8",
            "application/x-ndjson; charset=utf-8",
            "text/html; charset=utf-8",
        ]) {
            let got = get(&format!("{path}?{query}ACME&{parameter}={format}"));
            assert_eq!((got.status, got.content_type), (200, wanted), "{path} {format}");
        }
        assert_eq!(get(&format!("{path}?{query}ACME&format=html")).content_type, "text/html; charset=utf-8", "{path}");
    }
}

#[test]
fn credentials_and_unknown_parameters_change_nothing() {
    for &(_, path, query, ..) in SAMPLES {
        let plain = get(&format!("{path}?{query}ACME"));
        for more in
            ["&apikey=x&token=y", "&api_key=x", "&entitlement=delayed&fields=a,b&start_date=1", "&apikey=&token"]
        {
            assert_eq!(get(&format!("{path}?{query}ACME{more}")).body, plain.body, "{path} {more}");
        }
        assert_eq!(get(&format!("{path}/?{query}ACME")).body, plain.body, "{path}/");
    }
}

#[test]
fn a_market_without_a_snapshot_is_a_502_with_a_time_to_come_back() {
    let cold = service(Snapshot::empty(vec![]));
    for &(_, path, query, parameter, _) in SAMPLES {
        for format in FORMATS {
            let target = format!("{path}?{query}ACME&{parameter}={format}");
            let got = get_from(&cold, &target);
            assert_eq!(got.status, 502, "{target}");
            assert!(got.headers.contains(&"Retry-After: 1".to_owned()), "{target}");
            assert!(got.body.contains("upstream data unavailable"), "{target}: {}", got.body);
            assert_eq!(get(&format!("{path}?{query}LATE")).status, 502, "{path}");
        }
    }
}

#[test]
fn a_name_is_an_underlying_or_else_a_root() {
    let n = |target: &str| get(target).body.lines().count() - 1;
    for &(_, path, query, parameter, _) in SAMPLES {
        let rows = |symbol: &str| n(&format!("{path}?{query}{symbol}&{parameter}=csv"));
        let both = rows("SPX");
        assert_eq!(rows("spxw") * 3, both * 2, "{path}: two of the three expiries are of SPXW");
        for index in ["%5ESPX", "$SPX", "$spx.x", "_SPX"] {
            assert_eq!(rows(index), both, "{path} {index}");
        }
        for class in ["BRK%2FB", "brkb", "brk-b", "BRK_B"] {
            assert_eq!(rows(class), rows("BRK.B"), "{path} {class}");
        }
        assert_eq!(rows("NOSUCH"), 0, "{path}");
        assert!(rows("ACME1") > 0 && rows("ACME1") < rows("ACME"), "{path}");
    }
}

#[test]
fn long_answers_are_whole_in_both_directions() {
    let long: Vec<u32> = (1..1500).map(|n| n * 500).collect();
    let listings = [
        market::listing("ACME", jiff::civil::date(2026, 12, 18), 101.5, &long),
        market::listing("ACME", jiff::civil::date(2027, 1, 15), 101.5, &long),
    ];
    let service = service(Snapshot::new(1, vec![market::chain("ACME", 101.25, &listings)], vec![]));
    for &(_, path, query, parameter, shape) in SAMPLES {
        let per = table(path, &format!("{query}ACME")).1;
        let wanted = 2 * long.len() * if per == Per::Strike { 1 } else { 2 };
        let target = |format: &str| format!("{path}?{query}ACME&{parameter}={format}");
        let rows = json_rows(&get_from(&service, &target("json")).body, shape);
        assert_eq!(rows.len(), wanted, "{path}");
        let ndjson = get_from(&service, &target("ndjson")).body;
        let lines: Vec<Map<String, Value>> = ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines == rows, "{path}");
    }
}

#[test]
fn tradier_quotes_have_the_prices_of_underlyings() {
    let json = |target: &str| -> Value {
        let got = get(target);
        assert_eq!((got.status, got.content_type), (200, "application/json"), "{target}: {}", got.body);
        serde_json::from_str(&got.body).unwrap()
    };
    let answer = json("/v1/markets/quotes?symbols=acme,SPX,brk/b,NOPE,ACME261218C00100000,%22&greeks=true");
    let quotes = answer["quotes"]["quote"].as_array().unwrap();
    let said: Vec<_> = quotes.iter().map(|q| (&q["symbol"], &q["last"], &q["type"])).collect();
    let row = |symbol: &str, last: f64, kind: &str| (Value::from(symbol), Value::from(last), Value::from(kind));
    let wanted = [row("ACME", 101.25, "stock"), row("SPX", 6001.25, "index"), row("BRK.B", 480.0, "stock")];
    for (said, wanted) in said.iter().zip(&wanted) {
        assert_eq!((said.0, said.1.as_f64(), said.2), (&wanted.0, wanted.1.as_f64(), &wanted.2));
    }
    assert_eq!(said.len(), 3);
    assert_eq!(quotes[0]["trade_date"], 1_795_207_327_318i64);
    for name in ["bid", "ask", "volume", "bidsize"] {
        assert_eq!(quotes[0][name], 0, "{name}");
    }
    let unmatched = &answer["quotes"]["unmatched_symbols"]["symbol"];
    assert_eq!(unmatched, &serde_json::json!(["NOPE", "ACME261218C00100000", "\""]));
    assert!(json("/v1/markets/quotes?symbols=NOPE")["quotes"].get("quote").is_none());
    assert_eq!(get("/v1/markets/quotes?symbols=ACME,LATE").status, 502);
    for bad in ["", "symbols=,", &format!("symbols={}", "A,".repeat(101))] {
        assert_eq!(get(&format!("/v1/markets/quotes?{bad}")).status, 400, "{bad}");
    }
}
