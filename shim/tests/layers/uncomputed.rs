//! A recorded folder with a name that cannot be computed: its rows, `/health`, `/metrics` and the log say so.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use crate::support::market::{Got, get_from, symbol};
use arc_swap::ArcSwap;
use engine::pass::Passes;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Uncomputed};
use engine::store::doubt::Doubt;
use engine::store::firm_quotes::FirmQuotes;
use host::clock::MarketClock;
use http::Metrics;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use serde_json::{Value, json};
use shim::app::{Service, route_names};
use shim::front::EXAMPLES;
use shim::market::MarketLoop;
use shim::market::store_feed::StoreFeed;
use shim::status::Status;
use sources::dir::DirectorySource;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HEADER: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask\n";
const EXPIRY: &str = "2026-12-18";

fn at() -> Timestamp {
    "2026-11-20T16:00:00-05:00".parse().unwrap()
}

/// A market folder of its own, removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("greeksd-uncomputed-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("chains")).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, und_price: &str, quote: fn(f64) -> (f64, f64)) {
        let mut text = HEADER.to_owned();
        for strike in (80..=120).step_by(5) {
            for (right, phi) in [("call", 1.0), ("put", -1.0)] {
                let (bid, ask) = quote(value(f64::from(strike), phi));
                let start = format!("2026-11-20T16:00:00-05:00,{name},{und_price},{name},{EXPIRY},{right},{strike}");
                writeln!(text, "{start},{bid:.2},{ask:.2}").unwrap();
            }
        }
        std::fs::write(self.file(name), text).unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("chains/{name}.csv"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Value at a spot of 100, 30 % and no carry.
fn value(strike: f64, phi: f64) -> f64 {
    let norm = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    let sd = 0.3 * (28.0f64 / 365.0).sqrt();
    let d1 = (100.0 / strike).ln() / sd + 0.5 * sd;
    phi * (100.0 * norm(phi * d1) - strike * norm(phi * (d1 - sd)))
}

fn tight(value: f64) -> (f64, f64) {
    ((value - 0.02).max(0.0), value + 0.02)
}

/// The parts of a daemon on a folder, without its threads: the test calls the turns of the loop.
struct Running {
    market_loop: MarketLoop,
    market: Arc<ArcSwap<Snapshot>>,
    service: Service,
}

impl Running {
    fn new(folder: &Path) -> Self {
        let source = DirectorySource::open(folder, false).unwrap();
        let feed = Box::new(StoreFeed::new(vec![Box::new(source)], None));
        let market = Arc::new(ArcSwap::from_pointee(Snapshot::empty(Vec::new())));
        let zone = Calendar::embedded().zone().clone();
        let (clock, uptime) = (MarketClock::Fixed(at()), Box::new(|| Duration::from_secs(1)));
        let status = Arc::new(Status::new("dir".to_owned(), false, 1, clock, uptime, zone));
        let passes = Passes::new(1, |_| ()).unwrap();
        let market_loop = MarketLoop::new(feed, passes, clock, Arc::clone(&market), Arc::clone(&status));
        let metrics = Arc::new(Metrics::new(&route_names()));
        Self { market_loop, service: Service::new(Arc::clone(&market), status, metrics), market }
    }

    /// Turns of the loop until nothing waits; whether the last was complete, and what they logged.
    fn turn(&mut self) -> (bool, String) {
        let log = Arc::new(Mutex::new(Vec::new()));
        let writer = Log(Arc::clone(&log));
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(move || writer.clone()).finish();
        let refresh = Duration::from_secs(3600);
        let turns = || loop {
            let complete = self.market_loop.turn(&|| false);
            match self.market_loop.rest(refresh) {
                rest if rest == refresh => return complete,
                rest => std::thread::sleep(rest),
            }
        };
        let complete = tracing::subscriber::with_default(subscriber, turns);
        let said = String::from_utf8(log.lock().unwrap().clone()).unwrap();
        (complete, said)
    }

    fn get(&self, target: &str) -> Got {
        get_from(&self.service, target)
    }

    fn json(&self, target: &str) -> Value {
        let got = self.get(target);
        assert_eq!(got.status, 200, "{target}: {}", got.body);
        serde_json::from_str(&got.body).unwrap_or_else(|e| panic!("{target}: {e}: {}", got.body))
    }
}

/// Keeps what is logged.
#[derive(Clone)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn asks_only(value: f64) -> (f64, f64) {
    (0.0, value + 0.02)
}

/// EEE has no price and no bids that could tell one, ZZZ no quote, ACME is well.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("ACME", "100", tight);
    folder.write("EEE", "", asks_only);
    folder.write("ZZZ", "100", |_| (0.0, 0.0));
    folder
}

#[test]
fn its_rows_have_identity_and_nulls_in_every_format() {
    let folder = folder("rows");
    let mut running = Running::new(&folder.0);
    assert!(running.turn().0, "a name that cannot be computed keeps nobody waiting");
    let rows = running.json("/l1/greeks?underlying=EEE&greeks=all");
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 18);
    let known = ["underlying", "root", "expiry", "strike", "right", "osym", "greeks", "ex_style", "settle", "days"];
    for row in rows {
        for (name, value) in row.as_object().unwrap() {
            assert_eq!(value.is_null(), !known.contains(&name.as_str()), "{name}: {value}");
        }
    }
    assert_eq!(rows[0]["osym"], "EEE   261218C00080000");

    let csv = running.get("/l1/greeks?underlying=EEE&format=csv").body;
    assert_eq!(csv.lines().count(), 19);
    let cells: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(cells.iter().filter(|cell| cell.is_empty()).count(), 9, "{cells:?}");
    let lines = running.get("/l1/greeks?underlying=EEE&format=ndjson").body;
    let nulls = |line: &str| serde_json::from_str::<Value>(line).unwrap()["delta"].is_null();
    assert!(lines.lines().count() == 18 && lines.lines().all(nulls));
    let html = running.get("/l1/greeks?underlying=EEE&format=html");
    assert!(html.status == 200 && html.body.contains("EEE   261218C00080000"), "{}", html.body);
}

#[test]
fn filters_on_numbers_that_it_has_not_find_nothing() {
    let folder = folder("filters");
    let mut running = Running::new(&folder.0);
    running.turn();
    for filter in ["center=atm", "center=atf", "center=25", "min_delta=0", "max_delta=1"] {
        let got = running.get(&format!("/l1/greeks?underlying=EEE&{filter}"));
        assert_eq!((got.status, got.body.as_str()), (200, "[]"), "{filter}");
    }
    for (filter, n) in [("min_days=1", 18), ("max_days=1", 0), ("right=put", 9), ("min_strike=100&right=call", 5)] {
        let rows = running.json(&format!("/l1/greeks?underlying=EEE&{filter}"));
        assert_eq!(rows.as_array().unwrap().len(), n, "{filter}");
    }
    let both = running.json("/l1/greeks?underlying=EEE,ACME&center=atm&right=call");
    assert_eq!(both.as_array().unwrap().len(), 1, "the other name is found all the same");
    assert_eq!(running.json("/l1/greeks?osym=EEE261218C00100000")[0]["strike"], 100);
}

#[test]
fn every_layer_answers_what_its_table_says_for_missing_values() {
    let folder = folder("layers");
    let mut running = Running::new(&folder.0);
    running.turn();
    let json = |pattern: &str| {
        let fill = |format| pattern.replace("{symbol}", "EEE").replace("{date}", EXPIRY).replace("{format}", format);
        for format in ["json", "csv", "ndjson", "html"] {
            let got = running.get(&fill(format));
            assert_eq!(got.status, 200, "{}: {}", fill(format), got.body);
            let lower = got.body.to_lowercase();
            assert!(!lower.contains("nan") && !lower.contains("inf"), "{}: {}", fill(format), got.body);
        }
        running.json(&fill("json"))
    };
    let example = |name: &str| EXAMPLES.iter().find(|(of, _)| *of == name).unwrap().1;
    let greek = |name: &str, path: &str| json(example(name)).pointer(path).cloned();
    assert_eq!(greek("native", "/0/delta"), Some(Value::Null));
    assert_eq!(greek("alphavantage", "/data/0/delta"), Some(json!("-")));
    assert_eq!(json("/datav2/strikes?ticker=EEE&format={format}")["data"][0]["delta"], json!(0));
    assert_eq!(greek("orats", "/data/0"), None, "a filter by delta");
    let thetadata = json(example("thetadata_v3"));
    assert_eq!((&thetadata["delta"][0], &thetadata["underlying_price"][0]), (&json!(0.0), &json!(0.0)));
    assert_eq!(greek("tradier", "/options/option/0/greeks/delta"), Some(json!(0)));
    assert_eq!(greek("alpaca", "/snapshots/EEE261218C00080000/greeks"), Some(Value::Null));
    assert_eq!(greek("intrinio", "/chain/0/stats/delta"), Some(Value::Null));
    assert_eq!(greek("marketdata", "/delta/0"), Some(Value::Null));
    let paged = json(example("polygon"));
    assert_eq!(paged["results"].as_array().map(Vec::len), Some(10), "{paged}");
    assert_eq!(paged.pointer("/results/0/greeks/delta"), None);
    for (_, pattern) in EXAMPLES {
        json(pattern);
    }
}

#[test]
fn health_and_metrics_count_and_name_it() {
    let folder = folder("health");
    let mut running = Running::new(&folder.0);
    running.turn();
    let health = running.json("/health");
    assert_eq!((&health["underlyings"], &health["pending"]), (&json!(3), &json!(0)));
    assert_eq!((&health["contracts"], &health["contracts_priced"]), (&json!(54), &json!(18)));
    assert_eq!(health["uncomputed_count"], 2);
    let (eee, zzz) = (("EEE", "no_spot"), ("ZZZ", "no_usable_quote"));
    let named = [eee, zzz].map(|(name, reason)| json!({"underlying": name, "reason": reason}));
    assert_eq!(health["uncomputed"], json!(named));
    assert_eq!(health["spot_off"], json!({"count": 0, "underlyings": []}));
    let metrics = running.get("/metrics").body;
    for (reason, n) in
        [("no_spot", 1), ("no_usable_quote", 1), ("contradictory_pairs", 0), ("strike_scale", 0), ("failed", 0)]
    {
        let line = format!("greeksd_underlyings_uncomputed{{reason=\"{reason}\"}} {n}");
        assert!(metrics.lines().any(|l| l == line), "no {line} in\n{metrics}");
    }
    assert!(metrics.lines().any(|l| l == "greeksd_underlyings_spot_off 0"));
}

#[test]
fn the_log_says_it_once_and_again_when_it_changes() {
    let folder = folder("log");
    let mut running = Running::new(&folder.0);
    let (_, said) = running.turn();
    assert_eq!(said.matches("EEE: 18 contracts without Greeks: no_spot").count(), 1, "{said}");
    assert_eq!(said.matches("ZZZ: 18 contracts without Greeks: no_usable_quote").count(), 1, "{said}");
    assert!(!said.contains("ACME: "), "{said}");
    folder.write("EEE", "", |value| asks_only(value + 0.01));
    let (_, said) = running.turn();
    assert!(!said.contains("EEE"), "{said}");
    folder.write("EEE", "100.0", tight);
    let (_, said) = running.turn();
    assert_eq!(said.matches("EEE: has Greeks again").count(), 1, "{said}");
    assert!(running.json("/l1/greeks?underlying=EEE&center=atm")[0]["delta"].is_number());
    assert_eq!(running.json("/health")["uncomputed_count"], 1);
    folder.write("EEE", "-3.00", asks_only);
    let (_, said) = running.turn();
    assert_eq!(said.matches("EEE: 18 contracts without Greeks: no_spot").count(), 1, "{said}");
    assert!(said.contains("und_price: out_of_range"), "{said}");
}

#[test]
fn what_quotes_contradict_is_said_everywhere() {
    let folder = folder("doubted");
    folder.write("EEE", "104.0", tight);
    let mut running = Running::new(&folder.0);
    let (_, said) = running.turn();
    let line = "EEE: calls and puts contradict the published spot 104.00: values use ";
    assert_eq!(said.matches(line).count(), 1, "{said}");
    let health = running.json("/health");
    assert_eq!(health["doubted"], json!([{"underlying": "EEE", "doubt": "spot"}]));
    assert_eq!((&health["doubted_count"], &health["quotes_missed"]["count"]), (&json!(1), &json!(0)));
    let metrics = running.get("/metrics").body;
    assert!(metrics.lines().any(|l| l == "greeksd_underlyings_doubted 1"), "{metrics}");
    let explained = running.json("/l1/explain?osym=EEE261218C00100000");
    let names: Vec<&Value> = explained["warnings"].as_array().unwrap().iter().map(|w| &w["name"]).collect();
    assert!(names.contains(&&json!("spot_off")), "{names:?}");
    folder.write("EEE", "100.0", tight);
    let (_, said) = running.turn();
    assert!(said.contains("EEE: quotes contradict nothing that is assumed any more"), "{said}");
    assert_eq!(running.json("/health")["doubted_count"], 0);
}

#[test]
fn a_name_without_a_price_is_valued_on_the_spot_that_its_options_imply_and_says_so() {
    let folder = folder("implied");
    folder.write("EEE", "", tight);
    let mut running = Running::new(&folder.0);
    running.turn();
    let health = running.json("/health");
    assert_eq!((&health["uncomputed_count"], &health["contracts_priced"]), (&json!(1), &json!(36)));
    assert_eq!(health["spot_implied"], json!({"count": 1, "underlyings": ["EEE"]}));
    assert!(running.get("/metrics").body.lines().any(|l| l == "greeksd_underlyings_spot_implied 1"));
    let row = &running.json("/l1/greeks?underlying=EEE&center=atm&greeks=all")[0];
    let spot = row["und_price"].as_f64().unwrap();
    assert!((spot - 100.0).abs() < 0.5 && row["delta"].is_number(), "{row}");
    let explained = running.json("/l1/explain?osym=EEE261218C00100000");
    assert_eq!((&explained["spot"]["source"], &explained["spot"]["published"]), (&json!("implied"), &Value::Null));
    let names: Vec<&Value> = explained["warnings"].as_array().unwrap().iter().map(|w| &w["name"]).collect();
    assert!(names.contains(&&json!("spot_implied")), "{names:?}");
    folder.write("EEE", "100.0", tight);
    running.turn();
    assert_eq!(running.json("/health")["spot_implied"]["count"], 0);
}

#[test]
fn one_row_with_a_price_is_enough() {
    let folder = Folder::new("one");
    folder.write("EEE", "", tight);
    let text = std::fs::read_to_string(folder.file("EEE")).unwrap();
    std::fs::write(folder.file("EEE"), text.replacen("EEE,,", "EEE,100.0,", 1)).unwrap();
    let mut running = Running::new(&folder.0);
    running.turn();
    let health = running.json("/health");
    assert_eq!((&health["uncomputed_count"], &health["contracts_priced"]), (&json!(0), &json!(18)));
}

#[test]
fn a_price_without_a_live_contract_is_no_name_and_keeps_nobody_waiting() {
    let folder = folder("settled");
    let settled = "2026-11-20T16:00:00-05:00,DEAD,5,DEAD,2026-11-20,call,5,.1,.2\n";
    std::fs::write(folder.file("DEAD"), format!("{HEADER}{settled}")).unwrap();
    let mut running = Running::new(&folder.0);
    assert!(running.turn().0);
    let health = running.json("/health");
    assert_eq!((&health["underlyings"], &health["pending"]), (&json!(3), &json!(0)));
    assert_ne!(health["status"], "starting");
    assert_eq!(health["quotes"]["dropped"]["expired"], 1);
    assert_eq!(running.get("/l1/greeks?underlying=DEAD").body, "[]");
    // what still lives when the file changes is gone when that has settled too
    folder.write("DEAD", "5", tight);
    running.turn();
    assert_eq!(running.json("/health")["underlyings"], 4);
    std::fs::write(folder.file("DEAD"), format!("{HEADER}{settled}")).unwrap();
    running.turn();
    assert_eq!(running.json("/health")["underlyings"], 3);
    assert_eq!(running.market.load().pending(), []);
}

#[test]
fn lists_of_names_are_bounded_and_counts_are_not() {
    let of = |i: usize, change: fn(&mut Chain)| {
        let listing = market::listing("ACME", jiff::civil::date(2026, 12, 18), 100.0, &[100_000]);
        let mut chain = (*market::chain("ACME", 100.0, &[listing])).clone();
        chain.underlying = symbol(&format!("N{i}"));
        change(&mut chain);
        Arc::new(chain)
    };
    let mut chains: Vec<_> = (0..150).map(|i| of(i, |c| c.uncomputed = Some(Uncomputed::ContradictoryPairs))).collect();
    chains.extend((150..270).map(|i| of(i, |c| c.spot_off = true)));
    chains.extend((270..390).map(|i| of(i, |c| c.doubt = Some(Doubt::Borrow))));
    chains.extend((390..500).map(|i| of(i, |c| c.firm = FirmQuotes { firm: 9, outside: 8 })));
    let got = get_from(&market::service(Snapshot::new(1, chains, Vec::new())), "/health");
    let health: Value = serde_json::from_str(&got.body).unwrap();
    assert_eq!((&health["uncomputed_count"], &health["spot_off"]["count"]), (&json!(150), &json!(120)));
    assert_eq!(health["uncomputed"].as_array().unwrap().len(), 100);
    assert_eq!(health["uncomputed"][0], json!({"underlying": "N0", "reason": "contradictory_pairs"}));
    assert_eq!(health["spot_off"]["underlyings"].as_array().unwrap().len(), 100);
    assert_eq!(health["spot_off"]["underlyings"][0], "N150");
    assert_eq!((&health["doubted_count"], &health["quotes_missed"]["count"]), (&json!(120), &json!(110)));
    assert_eq!(health["doubted"].as_array().unwrap().len(), 100);
    assert_eq!(health["doubted"][0], json!({"underlying": "N270", "doubt": "borrow"}));
    assert_eq!(health["quotes_missed"]["underlyings"].as_array().unwrap().len(), 100);
}
