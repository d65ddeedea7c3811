//! `GET /l1/symbols`: one row for each underlying, in each format, in pages.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market::{NOW, get, get_from, market, service, symbol};
use engine::snapshot::Snapshot;
use engine::store::chain::Uncomputed;
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::sync::Arc;

fn rows(target: &str) -> Vec<Value> {
    let got = get(target);
    assert_eq!((got.status, got.content_type), (200, "application/json"), "{}", got.body);
    serde_json::from_str(&got.body).unwrap()
}

fn names(target: &str) -> Vec<String> {
    rows(target).iter().map(|row| row["symbol"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_underlying_has_a_row_that_says_what_is_listed_of_it() {
    let at = "2026-11-20T15:42:07.318-05:00";
    let row = |symbol: &str, roots: &[&str], expiries: [&str; 2], counts: [u32; 2], preliminary: bool| {
        json!({
            "symbol": symbol, "roots": roots, "expiries": counts[0], "first_expiry": expiries[0],
            "last_expiry": expiries[1], "contracts": counts[1], "state": "ok", "reason": null, "preliminary": preliminary,
            "rough": preliminary,
            "valued_at": at, "feed": "sim",
        })
    };
    let pending = json!({
        "symbol": "LATE", "roots": [], "expiries": 0, "first_expiry": null, "last_expiry": null, "contracts": 0,
        "state": "pending", "reason": null, "preliminary": false, "rough": false, "valued_at": null, "feed": "sim",
    });
    let wanted = [
        row("ACME", &["ACME", "ACME1"], ["2026-12-18", "2027-01-15"], [2, 22], true),
        row("BRK.B", &["BRKB"], ["2026-12-18", "2026-12-18"], [1, 6], false),
        pending,
        // two roots expire on one day
        row("SPX", &["SPX", "SPXW"], ["2026-11-20", "2026-12-18"], [2, 24], false),
    ];
    assert_eq!(rows("/l1/symbols"), wanted);
}

#[test]
fn every_format_has_the_same_rows() {
    let json = rows("/l1/symbols");
    let ndjson = get("/l1/symbols?format=ndjson");
    let lines: Vec<Value> = ndjson.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, json);
    let csv = get("/l1/symbols?format=csv");
    assert_eq!(csv.content_type, "text/csv; charset=utf-8");
    let mut reader = csv::Reader::from_reader(csv.body.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    for (record, row) in reader.records().map(Result::unwrap).zip(&json) {
        for (name, cell) in header.iter().zip(&record) {
            let wanted = match &row[name.as_str()] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                Value::Array(words) => words.iter().map(|w| w.as_str().unwrap()).collect::<Vec<_>>().join(" "),
                other => other.to_string(),
            };
            assert_eq!(cell, wanted, "{name}");
        }
    }
    assert_eq!(csv.body.lines().count(), json.len() + 1);
    let html = get("/l1/symbols?format=html");
    assert_eq!(html.body.matches("<tr>").count(), json.len() + 1);
    assert!(html.body.contains("<p>4 symbols</p>") && html.body.contains("<td class=w>SPX SPXW</td>"));
}

#[test]
fn a_prefix_in_any_spelling_picks_symbols() {
    assert_eq!(names("/l1/symbols?symbol=s"), ["SPX"]);
    assert_eq!(names("/l1/symbols?symbol=brk/b"), ["BRK.B"]);
    assert_eq!(names("/l1/symbols?symbol=BRK"), ["BRK.B"]);
    assert_eq!(names("/l1/symbols?symbol=SP,AC,L"), ["ACME", "LATE", "SPX"]);
    assert_eq!(get("/l1/symbols?symbol=SPXW").body, "[]");
}

#[test]
fn pages_follow_one_another_and_the_last_one_says_so() {
    let (mut seen, mut target) = (Vec::new(), "/l1/symbols?limit=3".to_owned());
    let first = get(&target);
    assert_eq!(first.headers, ["Next-Cursor: LATE"]);
    loop {
        let got = get(&target);
        seen.extend(names(&target));
        let Some(next) = got.headers.iter().find_map(|header| header.strip_prefix("Next-Cursor: ")) else { break };
        target = format!("/l1/symbols?limit=3&cursor={next}");
    }
    assert_eq!(seen, ["ACME", "BRK.B", "LATE", "SPX"]);
    assert_eq!(get("/l1/symbols?limit=4").headers, [""; 0]);
    // a cursor is a place, whether somebody is there or not
    assert_eq!(names("/l1/symbols?cursor=B&limit=1"), ["BRK.B"]);
    assert_eq!(names("/l1/symbols?cursor=ZZZ"), [""; 0]);
    assert_eq!(get("/l1/symbols?cursor=AC&limit=1&format=csv").headers, ["Next-Cursor: ACME"]);
}

#[test]
fn what_it_does_not_know_is_refused_by_name() {
    for (query, wanted) in [
        ("underlying=SPX", "unknown parameter: underlying"),
        ("symbol=%3Cb", "symbol: not the beginning of a symbol: <b"),
        ("limit=0", "limit: not an integer from 1: 0"),
        ("limit=x", "limit: not an integer from 1: x"),
        ("cursor=%21", "cursor: not a symbol: !"),
        ("format=xml", "format: not one of json, csv, ndjson, html: xml"),
    ] {
        let got = get(&format!("/l1/symbols?{query}"));
        assert_eq!((got.status, got.body), (400, format!("{{\"error\":\"{wanted}\"}}")), "{query}");
    }
    assert_eq!(get("/l1/symbols?apikey=x&token=y").status, 200);
}

#[test]
fn a_row_says_how_fresh_its_values_are() {
    let snapshot = market();
    let mut chains: Vec<_> = snapshot.chains().to_vec();
    Arc::make_mut(&mut chains[0]).uncomputed = Some(Uncomputed::NoSpot);
    Arc::make_mut(&mut chains[1]).valued_at = NOW - SignedDuration::from_mins(5);
    let service = service(Snapshot::new(8, chains, vec![symbol("LATE")]));
    let rows: Vec<Value> = serde_json::from_str(&get_from(&service, "/l1/symbols").body).unwrap();
    let said: Vec<_> = rows.iter().map(|row| (row["state"].as_str().unwrap(), row["reason"].as_str())).collect();
    assert_eq!(said, [("uncomputed", Some("no_spot")), ("stale", None), ("pending", None), ("ok", None)]);
}

#[test]
fn a_closed_market_holds_its_values() {
    use api::selection::symbols::{FreshnessTerms, SymbolFacts, SymbolState};
    use engine::store::chain::Chain;
    let chain: &Chain = &market().chains()[2].clone();
    let state = |hours, is_open| {
        let now = NOW + SignedDuration::from_hours(hours);
        SymbolFacts::of(chain, FreshnessTerms { now, is_open }).state
    };
    assert_eq!([state(0, true), state(0, false)], [SymbolState::Fresh, SymbolState::Held]);
    assert_eq!([state(60, true), state(60, false)], [SymbolState::Stale, SymbolState::Held]);
    // a clock that was set back
    assert_eq!(state(-60, true), SymbolState::Fresh);
}
