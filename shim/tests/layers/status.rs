//! `/health`, `/metrics` and the front page.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use crate::support::market::{get, get_from, market, service};
use engine::snapshot::Snapshot;
use host::clock::MarketClock;
use kernel::calendar::Calendar;
use serde_json::{Value, json};
use shim::status::{MarketFacts, Status};
use sources::facts::{RecordFacts, SourceFacts, StateFacts, Used};
use std::time::Duration;

fn health(snapshot: Snapshot) -> Value {
    let got = get_from(&service(snapshot), "/health");
    assert_eq!((got.status, got.content_type), (200, "application/json"));
    serde_json::from_str(&got.body).unwrap()
}

#[test]
fn health_says_all_that_the_design_lists() {
    let mut health = health(market());
    let rss = health.as_object_mut().unwrap().remove("rss_bytes").unwrap();
    assert!(rss.as_u64().is_some_and(|bytes| bytes > 100_000), "{rss}");
    assert_eq!(
        health,
        json!({
            "status": "starting", "version": env!("CARGO_PKG_VERSION"), "uptime_s": 86400, "feed": "sim",
            "clock": "fixed at 2026-11-20T15:42:08-05:00", "simulated": true,
            "feeds": [{"feed": "tcp:127.0.0.1:2113", "state": "ok", "delay_s": 0, "last_success_s": 1.25, "requests": 8,
                "failures": {"broken": 2}, "connections": 3, "superseded": 4,
                "used": {"quotes": 5, "spots": 6, "dividends": 7, "rates": true, "days": false}}],
            "market": "open", "snapshot_time": "2026-11-20T15:42:07.318-05:00", "snapshot_number": 7,
            "snapshot_age_s": 1.5, "underlyings": 3, "pending": 1, "preliminary": 1, "rough": 1,
            "uncomputed_count": 0, "uncomputed": [], "spot_off": {"count": 0, "underlyings": []},
            "doubted_count": 0, "doubted": [], "quotes_missed": {"count": 0, "underlyings": []},
            "spot_implied": {"count": 0, "underlyings": []},
            "rates": null, "dividends_unknown": {"count": 0, "underlyings": []},
            "adjusted_roots": {"valued": 0, "without_terms": 1, "roots": ["ACME1"]},
            "expiries": 7, "contracts": 52, "contracts_priced": 50, "failing": 1, "files_unusable": 2, "restored": 3,
            "record": {"folder": "r", "written": 11, "dropped": 2, "bytes": 300, "failing": false},
            "state": {"folder": "s", "saved_at": "2026-11-20T20:42:07.318Z", "failing": false}, "thread_faults": {},
            "mostly_stale": {"count": 0, "underlyings": []},
            "overrides": {"file": "o.csv", "applied": {"borrow": 2}, "refused": 1, "unusable": false,
                "errors": ["o.csv:3: what: not_a_word"]},
            "loop_age_s": 0.0,
            "pass": {"last_ms": 12.5, "p50_ms": 11.25, "max_ms": 40.0, "expiries": 7, "contracts": 50},
            "quotes": {"received": 1000, "dropped": {"crossed": 2, "stale": 3}}, "threads": 5,
        })
    );
}

#[test]
fn metrics_say_where_the_memory_is() {
    let (snapshot, service) = (market(), service(market()));
    let body = get_from(&service, "/metrics").body;
    let bytes_in = |body: &str, of: &str| -> u64 {
        let start = format!("greeksd_memory_bytes{{of=\"{of}\"}} ");
        body.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("no {of}")).parse().unwrap()
    };
    let bytes = |of: &str| bytes_in(&body, of);
    let contracts: u32 = snapshot.chains().iter().map(|chain| chain.rows()).sum();
    assert!(bytes("chains") > u64::from(contracts) * 200, "{}", bytes("chains"));
    assert_eq!(["states", "books", "sessions", "waiting_records"].map(bytes), [70_000, 6_000, 900, 512]);
    assert_eq!(["old_chains", "bodies", "connections", "recorded_days", "columns", "metrics"].map(bytes), [0; 6]);
    // rows of metrics stay for the next who asks, one a name
    let held = [0, 1].map(|_| {
        assert_eq!(get_from(&service, "/l1/metrics?underlying=*").status, 200);
        bytes_in(&get_from(&service, "/metrics").body, "metrics")
    });
    assert!(held[0] > 1000 * snapshot.chains().len() as u64 && held[0] == held[1], "{held:?}");
}

#[test]
fn the_status_word_follows_market_and_age() {
    assert_eq!(health(market())["status"], "starting", "one name has no chain yet");
    let cold = health(Snapshot::empty(vec![market::symbol("ACME")]));
    assert_eq!(
        (&cold["status"], &cold["snapshot_time"], &cold["pending"]),
        (&json!("starting"), &Value::Null, &json!(1))
    );
    let old = |seconds: i64| {
        let mut snapshot = Snapshot::new(7, market().chains().to_vec(), Vec::new());
        snapshot.time = market::NOW - jiff::SignedDuration::from_secs(seconds);
        snapshot
    };
    assert_eq!(health(old(0))["status"], "ok");
    assert_eq!(health(old(13))["status"], "ok");
    assert_eq!(health(old(14))["status"], "stale");
    assert_eq!(health(old(-60))["snapshot_age_s"], 0.0, "quotes ahead of the clock have no negative age");
}

#[test]
fn a_market_is_ready_when_it_is_whole() {
    let ready = |snapshot: Snapshot| {
        let got = get_from(&market::service(snapshot), "/health?ready");
        let body: Value = serde_json::from_str(&got.body).unwrap();
        (got.status, body["status"].as_str().unwrap().to_owned())
    };
    assert_eq!(ready(market()), (503, "starting".to_owned()), "one name has no chain yet");
    assert_eq!(ready(Snapshot::new(7, market().chains().to_vec(), Vec::new())).0, 200);
    assert_eq!(market::get("/health").status, 200);
}

/// The status word of a snapshot of so many seconds ago, at a speed, of a feed that is late and asked now and then.
fn word(age_s: i64, speed: f64, late: Option<(u64, u64)>) -> &'static str {
    let clock = MarketClock::starting(market::NOW, speed);
    let uptime = Box::new(|| Duration::from_secs(1));
    let status = Status::new("x".to_owned(), false, 1, clock, uptime, Calendar::embedded().zone().clone());
    let source = |(delay, every): (u64, u64)| SourceFacts {
        delay: Duration::from_secs(delay),
        every: Duration::from_secs(every),
        used: Used { quotes: 1, ..Used::default() },
        ..SourceFacts::default()
    };
    let rates_only = SourceFacts { delay: Duration::from_secs(99_999), ..SourceFacts::default() };
    let sources = late.into_iter().map(source).chain([rates_only]).collect();
    status.publish(MarketFacts { market_open: true, sources, ..MarketFacts::default() });
    let mut snapshot = Snapshot::new(7, market().chains().to_vec(), Vec::new());
    snapshot.time = market::NOW - jiff::SignedDuration::from_secs(age_s);
    status.turned();
    status.word(&snapshot)
}

#[test]
fn what_cannot_be_written_is_in_the_status_word() {
    let said = |market_open, is_recorded: bool, is_kept: bool| {
        let record = Some(RecordFacts { failing: !is_recorded, ..RecordFacts::default() });
        let state = Some(StateFacts { failing: !is_kept, ..StateFacts::default() });
        let status = market::status_at(Duration::from_secs(1));
        status.publish(MarketFacts { market_open, record, state, ..MarketFacts::default() });
        status.turned();
        let mut snapshot = Snapshot::new(7, market().chains().to_vec(), Vec::new());
        snapshot.time = market::NOW;
        status.word(&snapshot)
    };
    assert_eq!((said(true, true, true), said(false, true, true)), ("ok", "held"));
    for (is_open, is_recorded, is_kept) in [(true, false, true), (true, true, false), (false, false, true)] {
        assert_eq!(said(is_open, is_recorded, is_kept), "unsaved");
    }
}

#[test]
fn an_age_is_held_against_the_speed_of_the_clock_and_the_delay_of_the_feed() {
    for (age_s, speed, late, want) in [
        (10, 1.0, None, "ok"),
        (20, 1.0, None, "stale"),
        (20, 60.0, None, "ok"),
        (890, 60.0, None, "ok"),
        (2_000, 60.0, None, "stale"),
        (950, 1.0, Some((900, 60)), "ok"),
        (1_000, 1.0, Some((900, 60)), "stale"),
        (2_000, 60.0, Some((900, 60)), "ok"),
    ] {
        assert_eq!(word(age_s, speed, late), want, "{age_s} s at {speed}, {late:?}");
    }
}

#[test]
fn a_loop_that_does_not_come_round_is_told() {
    let at = |seconds: u64| market::status_at(Duration::from_secs(seconds));
    let said = |seconds| {
        let health: Value = serde_json::from_str(&at(seconds).health_json(&market())).unwrap();
        (health["status"].as_str().unwrap().to_owned(), health["loop_age_s"].as_f64().unwrap())
    };
    assert_eq!(said(59), ("starting".to_owned(), 59.0));
    assert_eq!(said(61), ("failed".to_owned(), 61.0));
    let cold = Snapshot::empty(vec![market::symbol("ACME")]);
    assert!(at(61).health_json(&cold).contains("\"starting\""), "nothing was read yet");
    let status = at(61);
    status.turned();
    assert!(status.health_json(&market()).contains("\"loop_age_s\":0.000"));
}

#[test]
fn metrics_are_lines_that_prometheus_reads() {
    let got = get("/metrics");
    assert_eq!((got.status, got.content_type), (200, "text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "greeksd_contracts 52",
        "greeksd_underlyings_preliminary 1",
        "greeksd_underlyings_rough 1",
        "greeksd_snapshot_age_seconds 1.5",
        "greeksd_quotes_received_total 1000",
        "greeksd_quotes_dropped{reason=\"crossed\"} 2",
        "greeksd_pass_last_seconds 0.0125",
        "greeksd_vol_searches_total 17",
        "greeksd_underlyings_failing 1",
        "greeksd_feed_files_unusable 2",
        "greeksd_chains_failed_total 6",
        "greeksd_early_blocks_refreshed_total 40",
        "greeksd_early_blocks_kept_total 200",
        "greeksd_early_blocks_left_total{reason=\"volatility\"} 30",
        "greeksd_early_work_total{of=\"tables\"} 0",
        "greeksd_pass_stage_seconds_total{stage=\"calibrate\"} 1.5",
        "greeksd_exercise_tables{kind=\"anchored\"} 3",
        "greeksd_exercise_tables_refined 2",
        "greeksd_http_connections_open 0",
    ] {
        assert!(got.body.lines().any(|l| l == line), "no line {line} in\n{}", got.body);
    }
    let mut known = std::collections::HashSet::new();
    for line in got.body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.split(' ').next().unwrap();
            assert!(known.insert(name.to_owned()), "{name} is declared twice");
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let name = name.split('{').next().unwrap();
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(known.contains(base) || known.contains(name), "{line}");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        }
    }
}

fn links(page: &str) -> Vec<String> {
    let targets = page.split("href=\"").skip(1).map(|rest| rest[..rest.find('"').unwrap()].replace("&amp;", "&"));
    targets.filter(|target| target.starts_with('/')).collect()
}

#[test]
fn the_page_of_examples_links_to_requests_that_work() {
    let page = get("/examples");
    assert_eq!((page.status, page.content_type), (200, "text/html; charset=utf-8"));
    assert!(page.body.contains("simulated data") && !page.body.contains("<script"));
    let links = links(&page.body);
    assert!(links.len() >= 5);
    for link in links {
        let got = get(&link);
        assert_eq!(got.status, 200, "{link}");
        assert!(got.body.len() > 50, "{link} shows something");
    }
    assert_eq!(get_from(&service(Snapshot::empty(vec![])), "/examples").status, 200);
}

#[test]
fn the_interface_describes_itself() {
    let got = get("/openapi.json");
    assert_eq!((got.status, got.content_type), (200, "application/json"));
    let document: Value = serde_json::from_str(&got.body).unwrap();
    assert_eq!(
        (&document["openapi"], &document["info"]["version"]),
        (&json!("3.1.0"), &json!(env!("CARGO_PKG_VERSION")))
    );
    let native = &document["paths"]["/l1/greeks"]["get"];
    let parameter = |name: &str| {
        let all = native["parameters"].as_array().unwrap();
        all.iter().find(|parameter| parameter["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!(parameter("right")["schema"]["enum"], json!(["call", "put", "both", "c", "p"]));
    assert_eq!(parameter("strike_count")["schema"]["minimum"], 1);
    assert_eq!(
        (&parameter("exp")["explode"], &parameter("min_exp")["schema"]["format"]),
        (&json!(false), &json!("date"))
    );
    let row = &native["responses"]["200"]["content"]["application/json"]["schema"]["items"];
    for (field, meaning) in
        [("vega", "per 1 %"), ("theta", "per calendar day"), ("charm", "per year"), ("borr_rate", "borrow")]
    {
        let said = row["properties"][field]["description"].as_str().unwrap_or_default();
        assert!(said.contains(meaning), "{field}: {said}");
    }
    assert_eq!(row["properties"]["bid"]["type"], json!(["number", "null"]), "the group of quotes is there too");
    let required = row["required"].as_array().unwrap();
    assert!(required.contains(&json!("osym")) && !required.contains(&json!("delta")), "{required:?}");
    let theta = &document["paths"]["/v3/option/snapshot/greeks/{order}"]["get"];
    let columns = &theta["responses"]["200"]["content"]["application/json"]["schema"];
    let vega = &columns["properties"]["vega"];
    assert_eq!((&vega["type"], &vega["items"]["type"]), (&json!("array"), &json!("number")));
    assert!(vega["items"]["description"].as_str().unwrap().ends_with("per 1.00"), "{vega}");
    for path in ["/l1/symbols", "/query", "/datav2/strikes", "/v1/markets/quotes", "/health", "/metrics"] {
        assert!(document["paths"][path]["get"]["responses"]["200"].is_object(), "{path}");
    }
    let snapshots = &document["paths"]["/v1beta1/options/snapshots/{symbol}"]["get"];
    let by_contract =
        &snapshots["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["snapshots"];
    assert!(by_contract["additionalProperties"]["properties"]["greeks"].is_object(), "{by_contract}");
}

#[test]
fn the_viewer_is_one_page_and_its_files() {
    let page = get("/");
    assert_eq!((page.status, page.content_type), (200, "text/html; charset=utf-8"));
    let files = page.body.split(['"', '\'']).filter(|quoted| quoted.starts_with("/app/"));
    let mut kinds: Vec<&str> = files
        .map(|file| (get(file).status, get(file).content_type))
        .map(|(status, kind)| {
            assert_eq!(status, 200);
            kind
        })
        .collect();
    kinds.sort_unstable();
    let (script, style) = ("text/javascript; charset=utf-8", "text/css; charset=utf-8");
    assert_eq!(kinds, [style, script, script]);
    for link in links(&page.body) {
        assert_eq!(get(&link).status, 200, "{link}");
    }
    assert!(page.body.contains("<noscript>"), "without scripts it leads to the examples");
    // it needs no market, and is the same whatever the market is
    assert_eq!(get_from(&service(Snapshot::empty(vec![])), "/").body, page.body);
    for missing in ["/app", "/app/", "/app/none.js", "/app/../app/app.js", "/app/app.js/x", "/app/viewer.rs"] {
        assert_eq!(get(missing).status, 404, "{missing}");
    }
}

/// The names of metrics in a text.
fn metric_names(text: &str) -> std::collections::BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("greeksd_")).collect()
}

#[test]
fn the_dashboard_shows_metrics_that_there_are_and_leaves_none_out() {
    let dashboard: Value = serde_json::from_str(include_str!("../../../docs/grafana/greeksd.json")).unwrap();
    let targets = dashboard["panels"].as_array().unwrap().iter().filter_map(|panel| panel["targets"].as_array());
    let shown: Vec<&str> = targets.flatten().map(|target| target["expr"].as_str().unwrap()).collect();
    let shown = shown.join(" ");
    let metrics = get("/metrics").body;
    let declared = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let declared: std::collections::BTreeSet<&str> = declared.collect();
    let base = |name: &'_ str| name.strip_suffix("_bucket").unwrap_or(name).to_owned();
    for name in metric_names(&shown) {
        assert!(declared.contains(base(name).as_str()), "no metric {name}");
    }
    let labels: Vec<&str> = shown.split("by (").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    // what nobody asked for has no class yet, and no thread has failed
    let has_lines = |label: &&str| !["class", "thread"].contains(label);
    for label in labels.iter().flat_map(|labels| labels.split(", ")).filter(has_lines) {
        assert!(metrics.contains(&format!("{label}=\"")), "no label {label}");
    }
    // those of feeds are there only where a feed is asked
    let is_shown = |name: &&str| metric_names(&shown).iter().any(|shown| base(shown) == **name);
    let (feed, record) = ("greeksd_feed_", "greeksd_record_");
    // a deprecated name repeats a metric that has a panel
    let deprecated = "greeksd_underlyings_rough";
    let others = declared.iter().filter(|name| !name.starts_with(feed) && !name.starts_with(record));
    let others = others.filter(|name| **name != deprecated);
    let missing: Vec<&&str> = others.filter(|name| !is_shown(name)).collect();
    assert!(missing.is_empty(), "on no panel: {missing:?}");
}
