//! `GET /l1/metrics` and `/l1/exposure`: tables of numbers of names, in each format, sorted and cut off.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::quotes::showing;
use crate::support::market::{chain, get, get_from, listing, market, service, symbol};
use api::metrics::{NameRows, RowInputs, place_of};
use engine::closes::Closes;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use jiff::civil::date;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use serde_json::Value;
use std::sync::Arc;

fn rows(target: &str) -> Vec<Value> {
    let got = get_from(&showing(), target);
    assert_eq!((got.status, got.content_type), (200, "application/json"), "{target}: {}", got.body);
    serde_json::from_str(&got.body).unwrap()
}

/// A cell is missing if and only if the last column says why, but for what a row is not about.
#[test]
fn every_missing_number_has_a_reason() {
    for (target, not_about) in [
        ("/l1/metrics?underlying=*", &[][..]),
        ("/l1/metrics?underlying=*&by=expiry", &[]),
        ("/l1/exposure?underlying=*", &["root", "expiry", "strike", "max_pain", "max_pain_paid"]),
        ("/l1/exposure?underlying=*&by=expiry", &["strike", "gamma_flip"]),
        ("/l1/exposure?underlying=*&by=strike", &["root", "expiry", "max_pain", "max_pain_paid", "gamma_flip"]),
    ] {
        let rows = rows(target);
        assert!(rows.len() > 2, "{target}");
        for row in &rows {
            let reasons: Vec<&str> = row["missing"].as_array().unwrap().iter().map(|of| of.as_str().unwrap()).collect();
            for (name, cell) in row.as_object().unwrap().iter().filter(|(name, _)| *name != "missing") {
                let has_reason = reasons.iter().any(|reason| reason.starts_with(&format!("{name}:")));
                let is_expected = cell.is_null() && !not_about.contains(&name.as_str());
                assert_eq!(has_reason, is_expected, "{target} {name}: {row}");
            }
        }
    }
    // without quotes there is no open interest, and no sum of it
    let got: Vec<Value> = serde_json::from_str(&get("/l1/exposure?underlying=SPX").body).unwrap();
    assert!(got[0]["gex"].is_null() && got[0]["missing"][0] == "gex:no_open_interest", "{}", got[0]);
}

#[test]
fn a_row_of_a_name_is_computed_once_for_all_who_ask() {
    let (rows, calendar, mut closes) = (NameRows::default(), Calendar::embedded(), Closes::default());
    let market = market();
    let chain = market.chains().iter().find(|chain| chain.underlying.as_str() == "SPX").unwrap();
    let roots = RootTable::embedded();
    let brief = |chain: &Arc<Chain>, closes: &Closes| {
        rows.brief(chain, RowInputs { closes, calendar: &calendar, roots: &roots })
    };
    let first = brief(chain, &closes);
    assert!(Arc::ptr_eq(&first, &brief(chain, &closes)));
    // not for other closes, nor for another chain
    closes.add(&[]);
    let second = brief(chain, &closes);
    assert!(!Arc::ptr_eq(&first, &second) && first == second);
    let other = Arc::new(Chain::clone(chain));
    assert!(!Arc::ptr_eq(&second, &brief(&other, &closes)));
    // nor is what takes long to find, for those who ask for it
    let flip = place_of("gamma_flip").unwrap();
    let full =
        |places: &[usize]| rows.with(places, chain, RowInputs { closes: &closes, calendar: &calendar, roots: &roots });
    assert!(Arc::ptr_eq(&full(&[0, flip]), &full(&[flip])) && full(&[flip]).cells[flip] != full(&[0]).cells[flip]);
    let answer: Vec<Value> = serde_json::from_str(&get("/l1/metrics?underlying=SPX").body).unwrap();
    assert_eq!(answer[0]["und_price"].as_f64(), Some(first.number(place_of("und_price").unwrap())));
}

#[test]
fn rows_are_sorted_cut_off_and_alike_in_every_format() {
    let strikes = |more: &str| -> Vec<f64> {
        let rows = rows(&format!("/l1/exposure?underlying=SPX&by=strike{more}"));
        rows.iter().map(|row| row["call_oi"].as_f64().unwrap()).collect()
    };
    let all = strikes("&sort=-call_oi");
    assert!(all.len() > 3 && all.is_sorted_by(|a, b| a >= b), "{all:?}");
    assert_eq!(strikes("&sort=-call_oi&limit=2"), all[..2]);
    let above: Vec<f64> = all.iter().copied().filter(|&open| open > all[1]).collect();
    assert_eq!(strikes(&format!("&sort=-call_oi&where=call_oi%3E{},put_oi%3E=0", all[1])), above);
    // a number that is missing is neither above nor below a bound
    for sign in ["%3C", "%3E="] {
        assert!(rows(&format!("/l1/metrics?underlying=*&where=rv20{sign}0")).is_empty());
    }
    let priced = rows("/l1/metrics?underlying=*&where=und_price%3E5000&limit=1");
    assert!(priced.len() == 1 && priced[0]["und_price"].as_f64() > Some(5000.0), "{priced:?}");
    let target = "/l1/metrics?underlying=SPX,ACME&by=expiry";
    let csv = get_from(&showing(), &format!("{target}&format=csv"));
    let mut reader = csv::Reader::from_reader(csv.body.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let json = rows(target);
    assert_eq!(records.len(), json.len());
    for (record, row) in records.iter().zip(&json) {
        for (name, cell) in header.iter().zip(record).filter(|(name, _)| *name != "missing") {
            match &row[name.as_str()] {
                Value::Null => assert_eq!(cell, "", "{name}"),
                Value::String(text) => assert_eq!(cell, text, "{name}"),
                number => {
                    let [found, wanted] =
                        [cell.parse().ok(), number.as_f64()].map(|x: Option<f64>| x.unwrap().to_bits());
                    assert_eq!(found, wanted, "{name}");
                }
            }
        }
    }
    assert_eq!(get_from(&showing(), &format!("{target}&format=ndjson")).body.lines().count(), json.len());
    assert!(get_from(&showing(), &format!("{target}&format=html")).body.contains("<table"));
    let text = get_from(&showing(), &format!("{target}&format=prometheus")).body;
    for row in json.iter().filter(|row| row["atm_vol"].is_number()) {
        let (name, expiry) = (row["underlying"].as_str().unwrap(), row["expiry"].as_str().unwrap());
        let head = format!("greeksd_atm_vol{{underlying=\"{name}\",expiry=\"{expiry}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&head)).unwrap_or_else(|| panic!("{head}: {text}"));
        assert!((line.parse::<f64>().unwrap() - row["atm_vol"].as_f64().unwrap()).abs() < 1e-6, "{line}");
    }
}

#[test]
fn exposures_of_strikes_and_expiries_add_up_to_those_of_the_name() {
    let sum = |by: &str, column: &str| -> f64 {
        let rows = rows(&format!("/l1/exposure?underlying=SPX&by={by}"));
        rows.iter().map(|row| row[column].as_f64().unwrap_or(0.0)).sum()
    };
    for column in ["gex", "call_gamma", "put_vanna", "charm_exp", "delta_exp", "put_oi", "oi_missing"] {
        let name = sum("name", column);
        for by in ["expiry", "strike", "expiry_strike"] {
            let other = sum(by, column);
            assert!((other - name).abs() <= 1e-4 * name.abs().max(1.0), "{by} {column}: {other} {name}");
        }
    }
    for row in rows("/l1/exposure?underlying=SPX") {
        assert_eq!(row["assumes"], "dealers_long_calls_short_puts");
    }
}

/// Exposures of a name are those of `/l1/exposure`, and the flip is found for few rows or where it is asked for.
#[test]
fn exposures_of_a_name_stand_among_its_metrics() {
    let (metrics, exposures) = (rows("/l1/metrics?underlying=*"), rows("/l1/exposure?underlying=*"));
    assert_eq!(metrics.len(), exposures.len());
    for (of_metrics, of_exposure) in metrics.iter().zip(&exposures) {
        for column in ["gex", "call_gamma", "put_gamma", "vanna_exp", "charm_exp", "delta_exp", "gamma_flip"] {
            assert_eq!(of_metrics[column], of_exposure[column], "{column}: {of_metrics} {of_exposure}");
        }
        assert!(of_metrics["gex"].is_number() && of_metrics["underlying"] == of_exposure["underlying"]);
    }
    let largest = rows("/l1/metrics?underlying=*&sort=-put_gamma&limit=1")[0]["put_gamma"].as_f64();
    assert!(metrics.iter().all(|row| row["put_gamma"].as_f64() <= largest));
    let names: Vec<String> = (0..101).map(|n| format!("N{}{}", ["A", "B"][n / 100], n % 100)).collect();
    let names = names.iter().map(|name| {
        let mut chain = Chain::clone(&chain("KO", 60.0, &[listing("KO", date(2026, 12, 18), 60.5, &[60_000])]));
        chain.underlying = symbol(name);
        Arc::new(chain)
    });
    let many = service(Snapshot::new(7, names.collect(), Vec::new()));
    let why = |more: &str| -> (usize, bool) {
        let got = get_from(&many, &format!("/l1/metrics?underlying=*{more}"));
        let rows: Vec<Value> = serde_json::from_str(&got.body).unwrap();
        let missing = rows[0]["missing"].as_array().unwrap();
        let is = |why: &str| missing.iter().any(|of| of.as_str() == Some(&format!("gamma_flip:{why}")));
        assert!(is("only_where_asked") != is("no_open_interest"), "{}", rows[0]);
        (rows.len(), is("only_where_asked"))
    };
    assert_eq!(why(""), (101, true));
    assert_eq!(why("&limit=100&sort=iv30d"), (100, false));
    assert_eq!(why("&sort=-gamma_flip"), (101, false));
}

#[test]
fn contracts_are_chosen_as_elsewhere_and_bad_requests_refused() {
    let expiries = |more: &str| rows(&format!("/l1/exposure?underlying=SPX&by=expiry{more}")).len();
    assert!(expiries("&exp=2026-11-20") < expiries(""));
    for (target, why) in [
        ("/l1/exposure", "underlying"),
        ("/l1/exposure?underlying=SPX&by=right", "by: not one of name, expiry, strike, expiry_strike"),
        ("/l1/exposure?underlying=SPX&sort=root", "sort: not a column of numbers"),
        ("/l1/metrics?underlying=SPX&exp=2026-11-20", "unknown parameter: exp"),
    ] {
        let got = get(target);
        assert!(got.status == 400 && got.body.contains(why), "{target}: {}", got.body);
    }
}

/// A table that is made whole has a bound, but for the few rows that are looked for in it.
#[test]
fn a_table_of_the_whole_market_has_a_bound() {
    let strikes: Vec<u32> = (1..=15_000).map(|n| n * 1000).collect();
    let listed = |name: &'static str| chain(name, 7500.0, &[listing(name, date(2026, 12, 18), 7510.0, &strikes)]);
    let names = ["AAA", "BBB", "CCC", "DDD", "EEE", "FFF", "GGG", "HHH"].map(listed);
    let service = service(Snapshot::new(7, names.to_vec(), Vec::new()));
    let got = |target: &str| get_from(&service, target);
    let all = "/l1/exposure?underlying=*&by=expiry_strike";
    assert!(got(all).status == 400 && got(all).body.contains("three million"), "{}", got(all).body);
    assert_eq!(got("/l1/exposure?underlying=AAA,BBB&by=expiry_strike").status, 200);
    let few = |more: &str| -> Vec<(String, f64)> {
        let rows: Vec<Value> = serde_json::from_str(&got(&format!("{all}{more}")).body).unwrap();
        rows.iter().map(|row| (row["underlying"].to_string(), row["strike"].as_f64().unwrap())).collect()
    };
    assert_eq!(few("&limit=1"), [("\"AAA\"".to_owned(), 1.0)]);
    assert_eq!(few("&limit=9&sort=-strike").last(), Some(&("\"AAA\"".to_owned(), 14_999.0)));
}
