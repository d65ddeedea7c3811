//! Vendors' calls for the past that answer with whole expirations, days of one contract, tables of many days, and every
//! name of a day.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::asof::{TIMES, native, near, serve};
use arrow_ipc::reader::StreamReader;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn thetadata_version_2_has_whole_expirations() {
    let served = serve();
    let days = "root=ACME&exp=20261218&start_date=20261118&end_date=20261119";
    let answer = served.json(&format!("/v2/bulk_hist/option/greeks?{days}&ivl=1800000"));
    let contracts = answer["response"].as_array().unwrap();
    assert_eq!(contracts.len(), 6, "three strikes, call and put, each once");
    let symbols: BTreeSet<String> = contracts.iter().map(|row| row["contract"].to_string()).collect();
    assert_eq!(symbols.len(), 6);
    for row in contracts {
        assert_eq!(row["ticks"].as_array().unwrap().len(), 2 * TIMES.len(), "every moment of both days");
        assert_eq!(row["contract"]["expiration"], 20_261_218);
    }
    // each is what the call of one contract answers
    let one = served.json(&format!("/v2/hist/option/greeks?{days}&strike=100000&right=C&ivl=1800000"));
    let same = contracts.iter().find(|row| row["contract"]["strike"] == 100_000 && row["contract"]["right"] == "C");
    assert_eq!((&same.unwrap()["ticks"], &answer["header"]["format"]), (&one["response"], &one["header"]["format"]));

    let reports = served.json(&format!("/v2/bulk_hist/option/eod_greeks?{}", days.replace("exp=20261218", "exp=0")));
    assert_eq!(reports["response"].as_array().unwrap().len(), 12, "every expiration");
    let names: Vec<&str> = reports["header"]["format"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let place = |name: &str| names.iter().position(|own| *own == name).unwrap();
    let ticks = reports["response"][2]["ticks"].as_array().unwrap();
    let ours = &native(&served, "2026-11-19")[2];
    assert_eq!(ticks.len(), 2, "one a day");
    near(&ticks[1][place("gamma")], &ours["gamma"], 1.0);
    near(&ticks[1][place("vega")], &ours["vega"], 100.0);
    assert_eq!(ticks[1][place("date")], 20_261_119);

    let table = served.get(&format!("/v2/bulk_hist/option/eod_greeks?{days}&use_csv=true"));
    assert_eq!((table.0, table.1.lines().count()), (200, 1 + 2 * 6));
    assert!(table.1.contains("root,expiration,strike,right,ms_of_day,"), "{}", &table.1[..200]);
    let none = served.get(&format!("/v2/bulk_hist/option/greeks?{}", days.replace("2026111", "2026122")));
    assert!(none.0 == 472, "{none:?}");
    for quotes in ["/v2/bulk_hist/option/quote?", "/v2/bulk_at_time/option/quote?ivl=36000000&"] {
        assert_eq!(served.get(&format!("{quotes}{days}")).0, 400, "quotes are not shown");
    }
    assert_eq!(served.get("/v2/bulk_hist/option/trade?root=ACME&exp=0").0, 404);
}

#[test]
fn intrinio_has_chains_and_contracts_at_the_end_of_days() {
    let served = serve();
    let chain = served.json("/options/chain/ACME/2026-12-18/eod?date=2026-11-18&strike=100")["chain"].clone();
    let [call, put] = chain.as_array().unwrap().as_slice() else { panic!("{chain}") };
    let ours = &native(&served, "2026-11-18")[2];
    assert_eq!((&call["option"]["code"], &call["option"]["type"]), (&"ACME261218C00100000".into(), &"call".into()));
    assert_eq!((&call["prices"]["date"], &put["option"]["type"]), (&"2026-11-18".into(), &"put".into()));
    near(&call["prices"]["delta"], &ours["delta"], 1.0);
    near(&call["prices"]["implied_volatility"], &ours["svc_vol"], 1.0);
    assert!(call["prices"]["close"].is_null(), "trades are not recorded");

    let days = served.json("/options/prices/ACME261218C00100000/eod?start_date=2026-11-18&end_date=2026-11-19");
    let prices = days["prices"].as_array().unwrap();
    let dates: Vec<&str> = prices.iter().filter_map(|row| row["date"].as_str()).collect();
    assert_eq!(dates, ["2026-11-18", "2026-11-19"]);
    assert_eq!((&days["option"]["strike"], &days["next_page"]), (&100.into(), &Value::Null));
    near(&prices[0]["delta"], &ours["delta"], 1.0);

    let one = served.json("/options/greeks/ACME261218C00100000/realtime");
    assert_eq!((&one["option"]["code"], &one["messages"]), (&"ACME261218C00100000".into(), &serde_json::json!([])));
    let all = served.json("/options/greeks/by_ticker/ACME/realtime?strike=100&expiration_end_date=2026-12-31");
    let contracts = all["contracts"].as_array().unwrap();
    assert_eq!((&all["security"]["ticker"], contracts.contains(&one)), (&"ACME".into(), true));
    assert!(contracts.len() < 10 && contracts.iter().all(|row| row["option"]["strike"] == 100), "{all}");
    let expirations =
        |query: &str| served.json(&format!("/options/expirations/ACME/eod{query}"))["expirations"].clone();
    assert_eq!(expirations(""), serde_json::json!(["2026-12-18", "2027-01-15"]));
    assert_eq!(expirations("?after=2026-12-19"), serde_json::json!(["2027-01-15"]));
    assert_eq!(expirations("?before=2026-01-01"), serde_json::json!([]));
    assert_eq!(served.get("/options/greeks/ACME301218C00100000/realtime").0, 404);
    assert_eq!(served.get("/options/prices/nothing/eod").0, 404);
    assert_eq!(served.get("/options/chain/ACME/2026-12-18/eod?date=2026-11-22").0, 404);
}

#[test]
fn massive_has_greeks_of_past_days() {
    let served = serve();
    let one = served.json("/options/v1/analytics?ticker=O:ACME261218C00100000&date.gte=2026-11-18&date.lt=2026-11-20");
    assert_eq!(one["status"], "OK");
    let rows = one["results"].as_array().unwrap();
    let dates: Vec<&str> = rows.iter().filter_map(|row| row["date"].as_str()).collect();
    assert_eq!(dates, ["2026-11-18", "2026-11-19"]);
    let ours = &native(&served, "2026-11-18")[2];
    for (field, own) in
        [("delta", "delta"), ("rho", "rho"), ("implied_volatility", "svc_vol"), ("underlying_price", "und_price")]
    {
        near(&rows[0][field], &ours[own], 1.0);
    }
    let day = served.json("/options/v1/analytics?underlying_ticker.any_of=ACME,BRK.B&date=2026-11-18");
    assert_eq!(day["results"].as_array().unwrap().len(), 24);
    assert_eq!(served.get("/options/v1/analytics?date=2026-11-18").0, 400);
    assert_eq!(
        served.get("/options/v1/analytics?ticker=O:ACME261218C00100000&date=2026-11-18&date.gt=2026-11-17").0,
        400
    );
}

#[test]
fn ranges_are_tables_with_a_length() {
    let served = serve();
    let range = "/l1/greeks?underlying=ACME,BRK.B&start=2026-11-18&end=2026-11-20&interval=1d&greeks=core";
    let rows = served.json(range).as_array().unwrap().clone();
    let mut client = served.client();
    let got = client.get(&format!("{range}&format=arrow"));
    assert_eq!(got.status, 200);
    let reader = StreamReader::try_new(got.body.as_slice(), None).unwrap();
    let batches: Vec<_> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), rows.len());
    assert!(batches[0].schema().field_with_name("snapshot_time").is_ok());
    let parquet = client.get(&format!("{range}&format=parquet"));
    assert!(parquet.status == 200 && parquet.body.starts_with(b"PAR1") && parquet.body.ends_with(b"PAR1"));
    // readers that begin with a HEAD, or read parts, find a length
    for format in ["csv", "parquet"] {
        let target = format!("{range}&format={format}");
        client.send(format!("HEAD {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let (status, head) = client.head();
        let length =
            head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let length: usize = length.unwrap_or_else(|| panic!("{status} {head}"));
        let part = client.get_with(&target, &format!("Range: bytes=0-{}\r\n", length - 1));
        assert_eq!((part.status, part.body.len()), (206, length), "{format}");
    }
}

#[test]
fn every_name_of_a_day_is_one_answer() {
    let served = serve();
    let day = served.json("/l1/greeks?underlying=*&as_of=2026-11-18");
    let names: BTreeSet<&str> = day.as_array().unwrap().iter().filter_map(|row| row["underlying"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(["ACME", "BRK.B"]));
    let two = served.json("/l1/greeks?underlying=ACME,BRK.B&as_of=2026-11-18");
    assert_eq!(day, two);
    assert_eq!(served.get("/l1/greeks?underlying=*&start=2026-11-18&end=2026-11-19").0, 400);
}

#[test]
fn orats_has_term_structures_of_past_days() {
    let served = serve();
    let monies = served.json("/datav2/hist/monies/implied?ticker=ACME,BRK.B&tradeDate=2026-11-18")["data"].clone();
    let rows = monies.as_array().unwrap();
    assert_eq!(rows.len(), 4, "two expirations of two tickers");
    let calls =
        native(&served, "2026-11-18").into_iter().filter(|row| row["right"] == "call" && row["expiry"] == "2026-12-18");
    let vols: Vec<f64> = calls.filter_map(|row| row["svc_vol"].as_f64()).collect();
    let (least, most) = (vols.iter().copied().fold(f64::MAX, f64::min), vols.iter().copied().fold(0.0, f64::max));
    for name in ["vol100", "vol50", "vol0", "atmiv"] {
        let vol = rows[0][name].as_f64().unwrap();
        assert!((least - 1e-6..=most + 1e-6).contains(&vol), "{name}: {vol} of {vols:?}");
    }
    assert_eq!((&rows[0]["ticker"], &rows[0]["expirDate"]), (&"ACME".into(), &"2026-12-18".into()));
    let summary = served.json("/datav2/hist/summaries?ticker=ACME&tradeDate=2026-11-18")["data"][0].clone();
    // ten days are before the first expiry: 0 where the native endpoint has null
    let metrics = served.json("/l1/metrics?underlying=ACME&as_of=2026-11-18")[0].clone();
    assert!(metrics["iv10d"].is_null() && summary["iv10d"] == 0.0, "{metrics} {summary}");
    let by_expiry = served.json("/l1/metrics?underlying=ACME&by=expiry&as_of=2026-11-18")[0].clone();
    near(&by_expiry["atm_vol"], &rows[0]["atmiv"], 1.0);
    assert_eq!(summary["updatedAt"], "2026-11-18T21:00:00Z");
    let core = served.json("/datav2/hist/cores?ticker=ACME&tradeDate=2026-11-18")["data"][0].clone();
    near(&core["atmIvM1"], &rows[0]["atmiv"], 1.0);
    // nothing implies dividends: no copy of those that are known
    assert!(core["annIdiv"] == 0.0 && summary["annIdiv"] == 0.0 && core["cOi"] == 0.0, "{core}");
    let tickers = served.json("/datav2/tickers")["data"].clone();
    let first = serde_json::json!({"ticker": "ACME", "min": "2026-11-18", "max": "2026-11-19"});
    assert_eq!((tickers.as_array().unwrap().len(), &tickers[0]), (2, &first));
    assert_eq!(served.json("/datav2/tickers.json?ticker=BRK.B")["data"].as_array().unwrap().len(), 1);
    assert_eq!(served.get("/datav2/tickers?ticker=NONE").0, 404);
    for path in ["summaries", "cores", "monies/implied"] {
        assert!(!served.json(&format!("/datav2/{path}?ticker=ACME"))["data"].as_array().unwrap().is_empty(), "{path}");
        assert_eq!(served.get(&format!("/datav2/hist/{path}?ticker=ACME")).0, 400, "{path}: a day is required");
        assert_eq!(served.get(&format!("/datav2/hist/{path}?ticker=ACME&tradeDate=2026-11-22")).0, 404, "{path}");
    }
}

#[test]
fn a_past_moment_is_explained() {
    let served = serve();
    let day = "2026-11-18";
    let explained = served.json(&format!("/l1/explain?osym=ACME261218C00100000&as_of={day}"));
    let ours = &native(&served, day)[2];
    near(&explained["values"]["served"]["gamma"], &ours["gamma"], 1.0);
    near(&explained["volatility"]["svc_vol"], &ours["svc_vol"], 1.0);
    assert!(explained["contract"]["osym"].as_str().unwrap().contains("261218C00100000"), "{explained}");
    let text = served.get(&format!("/l1/explain?osym=ACME261218C00100000&as_of={day}&format=text"));
    assert!(text.0 == 200 && text.1.contains(&format!("as of {day}T")), "{text:?}");

    let unlisted = served.get(&format!("/l1/explain?osym=ACME261218C00999000&as_of={day}"));
    assert!(unlisted.0 == 404 && unlisted.1.contains("no such contract"), "{unlisted:?}");
    let none = served.get("/l1/explain?osym=ACME261218C00100000&as_of=2020-01-02");
    assert!(none.0 == 404 && none.1.contains("available days"), "{none:?}");
}

#[test]
fn snapshots_around_a_moment_can_be_stepped_through() {
    let served = serve();
    let around = |query: &str| served.json(&format!("/l1/snapshots?underlying=ACME{query}"));
    let latest = around("");
    assert_eq!((&latest["snapshot_time"], &latest["next"]), (&"2026-11-20T16:00:00-05:00".into(), &Value::Null));
    assert_eq!(latest["times"].as_array().unwrap().len(), TIMES.len());
    assert_eq!((&latest["first_day"], &latest["last_day"]), (&"2026-03-06".into(), &"2026-11-20".into()));
    // back to the beginning, a day that cannot be used passed over, and forth again
    let step = |from: &Value, to: &str| from[to].as_str().map(|time| around(&format!("&as_of={time}")));
    let mut back = vec![latest];
    while let Some(before) = step(back.last().unwrap(), "previous") {
        assert_eq!(before["next"], back.last().unwrap()["snapshot_time"]);
        back.push(before);
    }
    let times: BTreeSet<&str> = back.iter().filter_map(|of| of["snapshot_time"].as_str()).collect();
    assert_eq!((back.len(), times.len()), (5 * TIMES.len(), 5 * TIMES.len()), "{times:?}");
    assert_eq!(back.last().unwrap()["snapshot_time"], "2026-03-06T09:30:00-05:00");
    // what a step leads to can be asked for
    let rows = served.json(&format!("/l1/greeks?underlying=ACME&as_of={}", back[1]["snapshot_time"].as_str().unwrap()));
    assert!(!rows.as_array().unwrap().is_empty());

    let early = around("&as_of=2026-11-19T09:00");
    assert_eq!((&early["snapshot_time"], &early["previous"]), (&Value::Null, &"2026-11-18T16:00:00-05:00".into()));
    assert_eq!(early["next"], "2026-11-19T09:30:00-05:00");
    let weekend = around("&as_of=2026-11-22");
    assert_eq!((&weekend["previous"], &weekend["next"]), (&"2026-11-20T16:00:00-05:00".into(), &Value::Null));
    for (query, status) in [("", 400), ("underlying=ACME&as_of=soon", 400), ("underlying=NONE", 404)] {
        assert_eq!(served.get(&format!("/l1/snapshots?{query}")).0, status, "{query}");
    }
}
