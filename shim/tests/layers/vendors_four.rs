//! The four layers that share no shape with the native one, against the native answers of the same market: every
//! contract once, each number in the vendor's unit, filters against filters by hand, pages until the last.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use crate::support::market::{Got, get, get_from, market, read, service};
use api::rows::field::{Field, flat_names};
use api::vendors::{alpaca, intrinio, polygon};
use engine::snapshot::Snapshot;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

type Row = Map<String, Value>;

/// The words of a row: contract symbol, then the native fields.
fn native(query: &str) -> Vec<Row> {
    serde_json::from_str(&get(&format!("/l1/greeks?greeks=all&{query}")).body).unwrap()
}

fn json(target: &str) -> Value {
    let got = get(target);
    assert_eq!((got.status, got.content_type), (200, "application/json"), "{target}: {}", got.body);
    serde_json::from_str(&got.body).unwrap_or_else(|error| panic!("{target}: {error}"))
}

fn symbol_of(row: &Row) -> String {
    row["osym"].as_str().unwrap().replace(' ', "")
}

/// A native number, rounded to four decimals from its six.
fn four(row: &Row, name: &str) -> Option<f64> {
    row[name].as_f64()
}

/// A number is the native one to half a unit of the fourth decimal; null stands for null.
fn same(what: &str, shown: &Value, native: Option<f64>) {
    match (shown.as_f64(), native) {
        (Some(shown), Some(native)) => {
            assert!((shown - native).abs() <= 0.500_001e-4 + 0.5e-6, "{what}: {shown} is not {native}");
        }
        (None, None) => assert!(shown.is_null(), "{what}: {shown}"),
        _ => panic!("{what}: {shown} is not {native:?}"),
    }
}

const NAMES: [&str; 3] = ["ACME", "BRK.B", "SPX"];

#[test]
fn alpaca_shows_the_native_numbers() {
    for name in NAMES {
        let chain = json(&format!("/v1beta1/options/snapshots/{name}?limit=1000"));
        let snapshots = chain["snapshots"].as_object().unwrap();
        let rows = native(&format!("underlying={name}"));
        assert_eq!(snapshots.len(), rows.len(), "{name}");
        assert_eq!(chain["next_page_token"], Value::Null);
        for row in &rows {
            let symbol = symbol_of(row);
            let shown = &snapshots[&symbol];
            same(&symbol, &shown["impliedVolatility"], four(row, "svc_vol"));
            let greeks = &shown["greeks"];
            assert_eq!(greeks.is_null(), row["delta"].is_null(), "{symbol}");
            if let Some(greeks) = greeks.as_object() {
                assert_eq!(
                    greeks.keys().map(String::as_str).collect::<Vec<_>>(),
                    ["delta", "gamma", "rho", "theta", "vega"]
                );
                for (greek, value) in greeks {
                    same(&format!("{symbol} {greek}"), value, four(row, greek));
                }
            }
            assert_eq!(shown["latestTrade"]["t"], "2026-11-20T20:42:07.318Z");
            assert!(shown["latestQuote"]["bs"].is_u64(), "sizes are integers");
        }
    }
}

#[test]
fn intrinio_shows_the_native_numbers() {
    for name in NAMES {
        let chain = json(&format!("/options/chain/{name}/%2A/realtime?include_related_symbols=True"));
        let shown = chain["chain"].as_array().unwrap();
        let rows = native(&format!("underlying={name}"));
        assert_eq!(shown.len(), rows.len(), "{name}");
        for (shown, row) in shown.iter().zip(&rows) {
            let symbol = symbol_of(row);
            let option = &shown["option"];
            assert_eq!(option["code"], symbol.as_str());
            assert_eq!((&option["ticker"], &option["type"]), (&row["underlying"], &row["right"]), "{symbol}");
            assert_eq!((&option["expiration"], option["strike"].as_f64()), (&row["expiry"], row["strike"].as_f64()));
            let style = if row["ex_style"] == "american" { "A" } else { "E" };
            assert_eq!(shown["price"]["exercise_style"], style, "{symbol}");
            let clock = if row["settle"] == "am" { "T09:30:00-05:00" } else { "T16:00:00-05:00" };
            assert!(option["expiration_time"].as_str().unwrap().ends_with(clock), "{symbol}");
            let stats = shown["stats"].as_object().unwrap();
            assert!(!stats.contains_key("rho") && stats.len() == 6);
            same(&symbol, &stats["implied_volatility"], four(row, "svc_vol"));
            same(&symbol, &stats["underlying_price"], four(row, "und_price"));
            for greek in ["delta", "gamma", "theta", "vega"] {
                same(&format!("{symbol} {greek}"), &stats[greek], four(row, greek));
            }
        }
    }
}

/// The 26 keys that a client makes an object of.
const MARKETDATA_KEYS: &str = "s optionSymbol underlying expiration side strike firstTraded dte updated bid bidSize mid \
                               ask askSize last openInterest volume inTheMoney intrinsicValue extrinsicValue \
                               underlyingPrice iv delta gamma theta vega";

#[test]
fn marketdata_shows_the_native_numbers_in_columns() {
    for name in NAMES {
        let target = format!("/v1/options/chain/{name}/?expiration=all&nonstandard=true");
        let chain = json(&target);
        let columns = chain.as_object().unwrap();
        let keys: BTreeSet<&str> = columns.keys().map(String::as_str).collect();
        assert_eq!(keys, MARKETDATA_KEYS.split_whitespace().collect());
        let mut at = 0;
        let body = get(&target).body;
        for key in MARKETDATA_KEYS.split_whitespace() {
            at += body[at..].find(&format!("\"{key}\":")).expect("keys are in order");
        }
        let rows = native(&format!("underlying={name}"));
        let symbols: Vec<&str> =
            columns["optionSymbol"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
        assert_eq!(symbols.len(), rows.len());
        for (key, column) in columns.iter().filter(|(key, _)| *key != "s") {
            assert_eq!(column.as_array().unwrap().len(), rows.len(), "{key}");
        }
        for row in &rows {
            let symbol = symbol_of(row);
            let i = symbols.iter().position(|s| *s == symbol).unwrap();
            let cell = |key: &str| &columns[key][i];
            assert_eq!((cell("underlying"), cell("side")), (&row["underlying"], &row["right"]));
            assert_eq!(cell("strike").as_f64(), row["strike"].as_f64());
            same(&symbol, cell("iv"), four(row, "svc_vol"));
            same(&symbol, cell("underlyingPrice"), four(row, "und_price"));
            for greek in ["delta", "gamma", "theta", "vega"] {
                same(&format!("{symbol} {greek}"), cell(greek), four(row, greek));
            }
            let phi = if row["right"] == "call" { 1.0 } else { -1.0 };
            let into = four(row, "und_price").map(|spot| phi * (spot - row["strike"].as_f64().unwrap()));
            assert_eq!(cell("inTheMoney"), into.is_some_and(|into| into > 0.0));
            same(&symbol, cell("intrinsicValue"), into.map(|into| into.max(0.0)));
            let above = four(row, "svc_theo").map(|theo| (theo - into.unwrap().max(0.0)).max(0.0));
            same(&symbol, cell("extrinsicValue"), above);
            for integer in
                ["expiration", "updated", "dte", "bidSize", "askSize", "volume", "openInterest", "firstTraded"]
            {
                assert!(cell(integer).is_i64(), "{integer}");
            }
        }
    }
}

#[test]
fn polygon_shows_the_native_numbers() {
    for name in NAMES {
        let chain = json(&format!("/v3/snapshot/options/{name}?limit=250"));
        let shown = chain["results"].as_array().unwrap();
        let rows = native(&format!("underlying={name}"));
        assert_eq!((shown.len(), chain["status"].as_str()), (rows.len(), Some("OK")), "{name}");
        assert!(chain.get("next_url").is_none());
        for row in &rows {
            let ticker = format!("O:{}", symbol_of(row));
            let shown = shown.iter().find(|shown| shown["details"]["ticker"] == ticker.as_str()).unwrap();
            assert_no_null(shown);
            let details = &shown["details"];
            assert_eq!((&details["contract_type"], &details["exercise_style"]), (&row["right"], &row["ex_style"]));
            assert_eq!(
                (&details["expiration_date"], details["strike_price"].as_f64()),
                (&row["expiry"], row["strike"].as_f64())
            );
            let missing = Value::Null;
            let cell = |key: &str| shown.get(key).unwrap_or(&missing);
            same(&ticker, cell("implied_volatility"), four(row, "svc_vol"));
            same(&ticker, cell("fmv"), four(row, "svc_theo"));
            let phi = if row["right"] == "call" { 1.0 } else { -1.0 };
            let even = four(row, "svc_theo").map(|theo| row["strike"].as_f64().unwrap() + phi * theo);
            same(&ticker, cell("break_even_price"), even);
            let asset = shown["underlying_asset"].as_object().unwrap();
            let away = even.map(|even| even - four(row, "und_price").unwrap());
            same(&ticker, asset.get("change_to_break_even").unwrap_or(&missing), away);
            same(&ticker, asset.get("price").unwrap_or(&missing), four(row, "und_price"));
            assert_eq!(asset["ticker"], if name == "SPX" { "I:SPX" } else { name });
            assert_eq!(asset["last_updated"].as_i64(), Some(1_795_207_327_318_000_000));
            let greeks = shown["greeks"].as_object().unwrap();
            assert!(greeks.is_empty() == row["delta"].is_null() && !greeks.contains_key("rho"));
            for (greek, value) in greeks {
                same(&format!("{ticker} {greek}"), value, four(row, greek));
            }
        }
    }
}

fn assert_no_null(value: &Value) {
    match value {
        Value::Null => panic!("a null breaks the published clients"),
        Value::Array(items) => items.iter().for_each(assert_no_null),
        Value::Object(members) => members.values().for_each(assert_no_null),
        _ => {}
    }
}

/// Each layer's chain of a name in each format, and the fields of its rows.
fn tables() -> Vec<(&'static str, Vec<Field>)> {
    let chain = [intrinio::FIELDS, intrinio::STATS].concat();
    vec![
        ("/v1beta1/options/snapshots/ACME?", alpaca::FIELDS.to_vec()),
        ("/options/chain/ACME/*/realtime?include_related_symbols=true&", chain),
        ("/v3/snapshot/options/ACME?", polygon::FIELDS.to_vec()),
    ]
}

#[test]
fn every_table_has_the_same_cells_in_every_format() {
    let n_rows = native("underlying=ACME").len();
    for (target, fields) in tables() {
        let names = flat_names(&fields);
        let names: Vec<&str> = fields.iter().zip(&names).filter(|(f, _)| f.is_cell()).map(|(_, n)| &**n).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "no name occurs twice");
        let csv = get(&format!("{target}format=csv"));
        assert_eq!((csv.status, csv.content_type), (200, "text/csv; charset=utf-8"));
        let lines: Vec<Vec<&str>> = csv.body.trim_end().split("\r\n").map(|line| line.split(',').collect()).collect();
        assert_eq!(lines[0], names, "{target}");
        assert_eq!(lines.len(), n_rows + 1, "{target}: csv has no pages");
        let ndjson = get(&format!("{target}format=ndjson"));
        assert_eq!(ndjson.content_type, "application/x-ndjson; charset=utf-8");
        for (cells, line) in lines[1..].iter().zip(ndjson.body.lines()) {
            let row: Row = serde_json::from_str(line).unwrap();
            assert_eq!((row.len(), cells.len()), (names.len(), names.len()));
            for (name, cell) in names.iter().zip(cells) {
                let text = match &row[*name] {
                    Value::String(text) => text.clone(),
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                assert_eq!(text, **cell, "{name}");
            }
        }
        let html = get(&format!("{target}format=html"));
        assert_eq!(html.content_type, "text/html; charset=utf-8");
        assert_eq!(html.body.matches("<table>").count(), 1);
        assert_eq!(html.body.matches("<th").count(), names.len() + 1, "thead begins the same");
        assert_eq!(html.body.matches("<tr>").count(), n_rows + 1);
        assert!(!html.body.contains("<script"));
        assert_eq!(get(&format!("{target}format=csv&limit=3&")).body.lines().count(), lines.len().min(n_limit(target)));
    }
}

/// Lines of a csv of three rows; the layer without pages ignores the limit.
fn n_limit(target: &str) -> usize {
    if target.starts_with("/options") { usize::MAX } else { 4 }
}

fn symbols_of(value: &Value) -> Vec<String> {
    if let Some(snapshots) = value["snapshots"].as_object() {
        return snapshots.keys().cloned().collect();
    }
    let ticker = |row: &Value| row["details"]["ticker"].as_str().unwrap().trim_start_matches("O:").to_owned();
    value["results"].as_array().unwrap().iter().map(ticker).collect()
}

#[test]
fn alpaca_pages_show_every_contract_once() {
    for limit in [1, 2, 3, 7, 21, 22, 23, 1000] {
        let filters = format!("feed=opra&strike_price_gte=97.5&limit={limit}");
        let mut walked = Vec::new();
        let mut token = String::new();
        for _ in 0..100 {
            let page = json(&format!("/v1beta1/options/snapshots/ACME?{filters}{token}"));
            let symbols = symbols_of(&page);
            assert!(symbols.len() == limit || page["next_page_token"].is_null());
            walked.extend(symbols);
            match page["next_page_token"].as_str() {
                Some(text) => token = format!("&page_token={}", text.replace('=', "%3D")),
                None => break,
            }
        }
        let mut wanted: Vec<String> = native("underlying=ACME&min_strike=97.5").iter().map(symbol_of).collect();
        wanted.sort();
        assert_eq!(walked, wanted, "{limit}");
    }
    assert_eq!(symbols_of(&json("/v1beta1/options/snapshots/ACME?limit=22")).len(), 22);
}

#[test]
fn polygon_pages_carry_their_filters() {
    for (sort, order, limit) in [
        ("", "", ""),
        ("ticker", "desc", "7"),
        ("expiration_date", "asc", "5"),
        ("expiration_date", "desc", "1"),
        ("strike_price", "asc", "4"),
        ("strike_price", "desc", "3"),
        ("strike_price", "desc", "250"),
    ] {
        let mut target = format!(
            "/v3/snapshot/options/ACME?sort={sort}&order={order}&limit={limit}&strike_price.gte=97.5&expiration_date.lt=2027-01-16"
        );
        let mut walked = Vec::new();
        for _ in 0..100 {
            let page = json(&target);
            walked.extend(symbols_of(&page));
            let Some(url) = page.get("next_url") else { break };
            let rest = url.as_str().unwrap().strip_prefix("http://127.0.0.1:2112").unwrap();
            assert_eq!(rest.matches('?').count(), 1);
            // A client adds its key to the text as it is.
            target = format!("{rest}&apiKey=K");
        }
        let key = |row: &Row| match sort {
            "expiration_date" => format!("{}{}", row["expiry"].as_str().unwrap(), symbol_of(row)),
            "strike_price" => format!("{:09.3}{}", row["strike"].as_f64().unwrap(), symbol_of(row)),
            _ => symbol_of(row),
        };
        let mut rows = native("underlying=ACME&min_strike=97.5");
        rows.sort_by_key(key);
        if order == "desc" {
            rows.reverse();
        }
        assert_eq!(walked, rows.iter().map(symbol_of).collect::<Vec<_>>(), "{sort} {order} {limit}");
    }
    assert_eq!(symbols_of(&json("/v3/snapshot/options/ACME")).len(), 10);
}

#[test]
fn the_next_page_is_on_the_host_that_was_asked() {
    let url = |host| {
        let got = read(service(market()).answer_for("/v3/snapshot/options/I%3ASPX", "limit=1", host));
        let page: Value = serde_json::from_str(&got.body).unwrap();
        page["next_url"].as_str().unwrap().to_owned()
    };
    assert!(url(Some("daemon:9000")).starts_with("http://daemon:9000/v3/snapshot/options/I%3ASPX?cursor="));
    assert!(url(Some("a\"b")).starts_with("http://a\"b/v3/"), "it is quoted");
    assert!(url(None).starts_with("http://127.0.0.1:2112/v3/"));
}

#[test]
fn bounds_are_strict_where_the_vendor_says_so() {
    let polygon = |filter: &str| symbols_of(&json(&format!("/v3/snapshot/options/BRK-B?{filter}"))).len();
    for (filter, wanted) in [
        ("strike_price.gt=480", 2),
        ("strike_price.gte=480", 4),
        ("strike_price.lt=480", 2),
        ("strike_price.lte=480.0", 4),
        ("strike_price.gt=470&strike_price.lt=482.5", 2),
        ("strike_price=482.5", 2),
        ("strike_price=482.5&strike_price.gte=483", 0),
        ("strike_price_gte=483", 6),
        ("expiration_date.gt=2026-12-17", 6),
        ("expiration_date.gt=2026-12-18", 0),
        ("expiration_date.lt=2026-12-18&expiration_date.lte=2027-01-01", 0),
        ("expiration_date.gte=2026-12-18&contract_type=PUT", 3),
        ("cursor=&open_interest.gt=5", 6),
    ] {
        assert_eq!(polygon(filter), wanted, "{filter}");
    }
    let intrinio = |query: &str| {
        json(&format!("/options/chain/BRK%2FB/2026-12-18/realtime?{query}"))["chain"].as_array().unwrap().len()
    };
    for (query, wanted) in [
        ("strike_greater_than=480", 2),
        ("strike_less_than=480.0&type=Call", 1),
        ("strike_greater_than=470&strike_less_than=482.5", 2),
        ("moneyness=in_the_money", 2),
        ("moneyness=out_of_they_money", 4),
        ("moneyness=near_the_money", 2),
        ("moneyness=all&volume_greater_than=10&open_interest_less_than=0&source=x&model=bjerk&delay=eod", 6),
    ] {
        assert_eq!(intrinio(query), wanted, "{query}");
    }
    let alpaca = |query: &str| symbols_of(&json(&format!("/v1beta1/options/snapshots/SPX?limit=1000&{query}"))).len();
    for (query, wanted) in [
        ("root_symbol=spxw", 16),
        ("root_symbol=ACME", 0),
        ("expiration_date_gte=2026-12-18&type=put", 8),
        ("expiration_date_gte=2027-01-01&expiration_date_lte=2026-01-01", 0),
        ("strike_price_gte=6010.0&strike_price_lte=6025.5", 12),
        ("updated_since=2026-11-20", 24),
        ("updated_since=2026-11-20T20:42:07.318000%2B00:00", 24),
        ("updated_since=2026-11-20T15:42:07.319-05:00", 0),
        ("updated_since=2026-11-20T20:00:00+00:00", 24),
    ] {
        assert_eq!(alpaca(query), wanted, "{query}");
    }
    assert_eq!(symbols_of(&json("/v1beta1/options/snapshots/SPXW")).len(), 16, "a root by its name");
}

#[test]
fn marketdata_filters_are_the_vendors() {
    let symbols = |query: &str| {
        let got = get(&format!("/v1/options/chain/{query}"));
        let body: Value = serde_json::from_str(&got.body).unwrap();
        match body["optionSymbol"].as_array() {
            Some(symbols) => symbols.iter().map(|s| s.as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" "),
            None => format!("{} {}", got.status, body["s"].as_str().unwrap()),
        }
    };
    let n = |query: &str| symbols(query).split(' ').count();
    for (query, wanted) in [
        ("ACME/", 10),
        ("ACME/?expiration=ALL", 20),
        ("ACME/?expiration=all&nonstandard=true", 22),
        ("ACME?expiration=12/18/2026", 10),
        ("ACME/?expiration=1797627600&side=c", 5),
        ("ACME/?from=2026-12-19", 10),
        ("ACME/?to=2026-12-18&side=both", 10),
        ("ACME/?month=1&year=2027", 10),
        ("ACME/?dte=0-40", 10),
        ("ACME/?dte=28,56", 20),
        ("ACME/?dte=%3E=28&side=put", 10),
        ("ACME/?dte=>28", 10),
        ("ACME/?monthly=true", 20),
        ("ACME/?strike=%3E%3D102.5", 4),
        ("ACME/?strike=97.5-102.5,105", 8),
        ("ACME/?range=itm", 5),
        ("ACME/?range=atm", 2),
        ("ACME/?range=otm&strikeLimit=1", 2),
        ("ACME/?strikeLimit=3", 6),
        ("ACME/?strikeLimit=3&side=call", 3),
        ("ACME/?limit=3&offset=8", 2),
        ("ACME/?delta=.40-.60", 4),
        ("ACME/?delta=%3E.5", 5),
        ("ACME/?delta=.9&side=call", 1),
        ("ACME/?minBid=10&maxAsk=1&minOpenInterest=5&minVolume=1&maxBidAskSpreadPct=1&mode=cached&maxage=5", 10),
        ("SPX/?am=true&expiration=all", 8),
        ("SPX/?pm=false&expiration=all", 8),
        ("SPXW/?expiration=all", 16),
        ("BRK%2FB/", 6),
        ("BRK-B/", 6),
        ("%5ESPX/?am=true&expiration=all", 8),
    ] {
        assert_eq!(n(query), wanted, "{query}: {}", symbols(query));
    }
    assert_eq!(symbols("ACME/?strike=101"), "404 no_data");
    assert_eq!(symbols("ACME/?weekly=true"), "404 no_data");
    assert_eq!(symbols("ACME/?offset=10"), "404 no_data");
    assert_eq!(symbols("ACME/?date=2020-01-01"), "404 no_data");
    assert_eq!(symbols("ACME/?dte=soon"), "400 error");
    assert_eq!(symbols("ACME/?strikeLimit=0"), "400 error");
    assert_eq!(symbols("ACME/?side=x"), "400 error");
    assert_eq!(symbols("ACME/?month=13"), "400 error");
    assert_eq!(symbols("ACME/?limit=50001"), "400 error");
    assert_eq!(symbols("A!B/"), "400 error");
}

const PATHS: [&str; 13] = [
    "/v1beta1/options/snapshots/ACME",
    "/v1beta1/options/snapshots?symbols=ACME261218C00100000",
    "/options/chain/ACME/2026-12-18/realtime",
    "/options/chain/ACME/*/realtime",
    "/options/expirations/ACME",
    "/options/expirations/ACME/eod",
    "/options/expirations/ACME/realtime",
    "/v1/options/chain/ACME",
    "/v1/options/quotes/ACME261218C00100000",
    "/v1/options/expirations/ACME",
    "/v1/options/strikes/ACME",
    "/v3/snapshot/options/ACME",
    "/v3/snapshot/options/ACME/O:ACME261218C00100000",
];

#[test]
fn nothing_but_the_question_changes_the_answer() {
    for path in PATHS {
        let (bare, query) = path.split_once('?').unwrap_or((path, ""));
        let plain = get(path).body;
        for (variant, extra) in [
            (bare.to_owned(), "apikey=a&apiKey=b&api_key=c&token=d&unknown=e&start_date=x".to_owned()),
            (format!("{bare}/"), String::new()),
            (bare.replace("ACME", "acme"), query.to_lowercase()),
            (bare.to_owned(), "format=&limit=&side=&type=".to_owned()),
        ] {
            let target = format!("{variant}?{query}&{extra}");
            let got = get(&target);
            assert_eq!(got.status, 200, "{target}: {}", got.body);
            // The address of the next page repeats the spelling of the name.
            let body = got.body.split(",\"next_url\"").next().unwrap_or_default().to_owned();
            assert_eq!(body, plain.split(",\"next_url\"").next().unwrap_or_default(), "{target}");
        }
    }
}

#[test]
fn before_the_first_pass_every_path_says_so() {
    let service = service(Snapshot::empty(vec![market::symbol("ACME")]));
    for path in PATHS {
        let Got { status, content_type, headers, body } = get_from(&service, path);
        assert_eq!((status, content_type), (502, "application/json"), "{path}: {body}");
        assert!(headers.iter().any(|header| header == "Retry-After: 1"), "{path}");
        let error: Value = serde_json::from_str(&body).unwrap();
        let text = ["message", "error", "errmsg"].iter().filter_map(|key| error[key].as_str());
        assert!(text.clone().any(|text| text.starts_with("upstream data unavailable: waiting for ")), "{path}: {body}");
    }
    for path in ["/user/", "/status/", "/v1/options/lookup/ACME 1/1/2027 1 c/"] {
        assert_eq!(get_from(&service, path).status, 200, "{path}");
    }
}

#[test]
fn bad_requests_are_refused_in_the_vendors_shape() {
    let bad = |value: &str, names: &[&str]| names.iter().map(|name| format!("{name}={value}")).collect::<Vec<_>>();
    let numbers = |names: &[&str]| bad("x", names);
    let mut alpaca = numbers(&[
        "strike_price_gte",
        "strike_price_lte",
        "limit",
        "page_token",
        "type",
        "updated_since",
        "expiration_date",
        "expiration_date_gte",
        "expiration_date_lte",
        "format",
    ]);
    alpaca.extend(
        ["limit=0", "limit=1.5", "limit=1001", "root_symbol=A!B", "page_token=QUFQTA%3D%3D"].map(str::to_owned),
    );
    let mut intrinio = numbers(&[
        "strike",
        "strike_greater_than",
        "strike_less_than",
        "type",
        "moneyness",
        "show_stats",
        "include_related_symbols",
        "show_extended_price",
        "format",
    ]);
    intrinio.push("type=both".to_owned());
    let marketdata = numbers(&[
        "expiration",
        "dte",
        "from",
        "to",
        "month",
        "year",
        "weekly",
        "monthly",
        "quarterly",
        "date",
        "strike",
        "delta",
        "side",
        "range",
        "strikeLimit",
        "nonstandard",
        "am",
        "pm",
        "format",
        "dateformat",
        "columns",
        "human",
        "headers",
        "limit",
        "offset",
    ]);
    let mut polygon = numbers(&[
        "strike_price",
        "strike_price.gte",
        "strike_price.gt",
        "strike_price.lte",
        "strike_price.lt",
        "expiration_date",
        "expiration_date.gte",
        "expiration_date.gt",
        "expiration_date.lte",
        "expiration_date.lt",
        "contract_type",
        "sort",
        "order",
        "limit",
        "cursor",
        "format",
    ]);
    polygon.extend(["limit=0", "limit=251", "cursor=YXA9eA"].map(str::to_owned));
    for (path, queries, key) in [
        ("/v1beta1/options/snapshots/ACME", alpaca, "message"),
        ("/options/chain/ACME/*/realtime", intrinio, "message"),
        ("/v1/options/chain/ACME/", marketdata, "errmsg"),
        ("/v3/snapshot/options/ACME", polygon, "error"),
    ] {
        for query in queries {
            let got = get(&format!("{path}?{query}"));
            assert_eq!((got.status, got.content_type), (400, "application/json"), "{path}?{query}: {}", got.body);
            let error: Value = serde_json::from_str(&got.body).unwrap();
            let name = query.split('=').next().unwrap();
            assert!(error[key].as_str().unwrap().contains(name), "{path}?{query}: {}", got.body);
        }
    }
}

#[test]
fn every_answer_of_marketdata_has_its_rate_headers() {
    for target in ["chain/ACME", "chain/ZZZZ", "chain/LATE", "chain/A!B", "quotes/x", "lookup/x", "nothing"] {
        let headers = get(&format!("/v1/options/{target}")).headers.join("\n");
        for name in ["Limit: 100000", "Remaining: 100000", "Reset: 1795237200", "Consumed: 0"] {
            assert!(headers.contains(&format!("X-Api-Ratelimit-{name}")), "{target}: {headers}");
        }
    }
}
