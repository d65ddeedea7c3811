//! The program on a folder of recorded quotes: the last day, past moments, vendors' history calls with their quotes, a
//! day that is damaged, one that comes later, and one that is replayed.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, HEADER, command, folder, free_address, norm_cdf};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const DAYS: [&str; 3] = ["2026-11-18", "2026-11-19", "2026-11-20"];
const TIMES: [&str; 3] = ["09:30:00", "12:00:00", "16:00:00"];
const NAMES: [(&str, f64); 2] = [("ACME", 100.0), ("DULL", 40.0)];

/// The price of a name at a time; each is another one.
fn spot(name: usize, day: usize, time: usize) -> f64 {
    NAMES[name].1 * (1.0 + 0.01 * day as f64 + 0.002 * time as f64)
}

/// The chain of a name at one time: quotes at a volatility of 25 %, without carry, five strikes around.
fn quotes(name: usize, day: usize, time: usize) -> String {
    let (symbol, base) = NAMES[name];
    let (spot, days) = (spot(name, day, time), 30.0 - day as f64);
    let mut rows = String::new();
    for step in -3..=3 {
        let strike = base * (1.0 + 0.05 * f64::from(step));
        let sd = 0.25 * (days / 365.0f64).sqrt();
        let d1 = (spot / strike).ln() / sd + 0.5 * sd;
        for (right, phi) in [("call", 1.0), ("put", -1.0)] {
            let value = phi * (spot * norm_cdf(phi * d1) - strike * norm_cdf(phi * (d1 - sd)));
            let (bid, ask) = ((value - 0.02).max(0.01), value + 0.02);
            let at = format!("{}T{}-05:00", DAYS[day], TIMES[time]);
            writeln!(rows, "{at},{symbol},{spot:.4},{symbol},2026-12-18,{right},{strike},{bid:.4},{ask:.4},7,8")
                .unwrap();
        }
    }
    rows
}

/// A folder of the first days, one file a day.
fn recorded(name: &str, days: usize) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("greeksd-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    (0..days).for_each(|day| write_day(&folder, day));
    std::fs::write(folder.join("rates.csv"), "date,tenor_days,rate\n2026-11-18,365,0.0\n").unwrap();
    folder
}

fn write_day(folder: &Path, day: usize) {
    let mut text = HEADER.to_owned();
    for time in 0..TIMES.len() {
        (0..NAMES.len()).for_each(|name| text.push_str(&quotes(name, day, time)));
    }
    std::fs::write(folder.join(format!("{}.csv", DAYS[day])), text).unwrap();
}

fn spec(folder: &Path) -> String {
    format!("history:{}", folder.display())
}

fn json(daemon: &Daemon, target: &str) -> Value {
    let (status, body) = daemon.get(target);
    assert_eq!(status, 200, "{target}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn und_prices(daemon: &Daemon, target: &str) -> Vec<f64> {
    let mut prices: Vec<f64> = daemon.rows(target).iter().map(|row| Daemon::number(row, "und_price")).collect();
    prices.dedup();
    prices
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3 * b
}

#[test]
fn a_folder_of_days_is_served() {
    let folder = recorded("days", 3);
    let daemon = Daemon::start(&spec(&folder), &["--show-quotes", "--threads", "1"]);
    // without a moment the end of the last day
    let now = und_prices(&daemon, "/l1/greeks?underlying=ACME");
    assert!(now.len() == 1 && is_near(now[0], spot(0, 2, 2)), "{now:?}");
    for (as_of, name, day, time) in [
        ("2026-11-18T09:30", 0, 0, 0),
        ("2026-11-18T15:59", 0, 0, 1),
        ("2026-11-18", 1, 0, 2),
        ("2026-11-20T17:00:00Z", 1, 2, 1),
    ] {
        let rows = daemon.rows(&format!("/l1/greeks?underlying={}&greeks=core,quote&as_of={as_of}", NAMES[name].0));
        assert_eq!(rows.len(), 14);
        for row in &rows {
            assert!(is_near(Daemon::number(row, "und_price"), spot(name, day, time)), "{as_of}: {row}");
            // far out the tick is more than the value
            let (vol, delta) = (Daemon::number(row, "svc_vol"), Daemon::number(row, "delta").abs());
            assert!((vol - 0.25).abs() < if (0.1..0.9).contains(&delta) { 0.01 } else { 0.1 }, "{as_of}: {row}");
            assert_eq!(row["quote_time"], format!("{}T{}.000-05:00", DAYS[day], TIMES[time]));
            assert_eq!((&row["bid_size"], &row["ask_size"]), (&7.into(), &8.into()));
        }
    }
    // every snapshot of all days, in time order
    let all = und_prices(&daemon, "/l1/greeks?underlying=DULL&start=2026-11-18&end=2026-11-20");
    let wanted: Vec<f64> = (0..3).flat_map(|day| (0..3).map(move |time| spot(1, day, time))).collect();
    assert!(all.len() == 9 && all.iter().zip(&wanted).all(|(a, b)| is_near(*a, *b)), "{all:?}");
    // vendors' calls that show quotes
    let contract = "symbol=ACME&expiration=20261218&strike=100&right=call";
    let native = &daemon.rows("/l1/greeks?osym=ACME261218C00100000&greeks=quote&as_of=2026-11-19T12:30")[0];
    let at = json(
        &daemon,
        &format!(
            "/v3/option/at_time/quote?{contract}&start_date=20261119&end_date=20261119&time_of_day=12:30:00&format=json"
        ),
    );
    assert_eq!(at["timestamp"], serde_json::json!(["2026-11-19T12:30:00.000"]), "the time that was asked for");
    assert!((at["bid"][0].as_f64().unwrap() - Daemon::number(native, "bid")).abs() < 1e-4);
    assert_eq!((&at["bid_size"][0], &at["ask_condition"][0]), (&7.into(), &0.into()));
    let quotes = json(
        &daemon,
        &format!("/v3/option/history/quote?{contract}&start_date=20261118&end_date=20261120&interval=1m&format=json"),
    );
    assert_eq!(quotes["ask"].as_array().unwrap().len(), 9);
    let eod = daemon.get(&format!("/v3/option/history/eod?{contract}&start_date=20261118&end_date=20261120")).1;
    assert!(
        eod.starts_with("symbol,expiration,strike,right,created,last_trade,open,high,low,close,volume,count,bid_size,")
    );
    assert_eq!(eod.lines().count(), 4);
    let old = "root=ACME&exp=20261218&strike=100000&right=C&start_date=20261119&end_date=20261119";
    let old = json(&daemon, &format!("/v2/at_time/option/quote?{old}&ivl=45000000"));
    assert_eq!(old["response"][0].as_array().unwrap().len(), 10);
    assert_eq!((&old["response"][0][0], &old["response"][0][9]), (&45_000_000.into(), &20_261_119.into()));
    let strikes = json(&daemon, "/datav2/hist/strikes?ticker=ACME&tradeDate=2026-11-19");
    assert_eq!((strikes["data"].as_array().unwrap().len(), &strikes["data"][0]["callBidSize"]), (7, &7.into()));
    let lacking = daemon.get("/l1/greeks?underlying=ACME&as_of=2026-11-17");
    assert!(lacking.0 == 404 && lacking.1.contains("nearest: 2026-11-18; available days:"), "{lacking:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_comes_later_and_what_is_damaged_is_noticed() {
    let folder = recorded("later", 2);
    let mut daemon = Daemon::start(&spec(&folder), &["--threads", "1"]);
    assert_eq!(daemon.get("/l1/greeks?underlying=ACME&as_of=2026-11-20").0, 404);
    write_day(&folder, 2);
    // a file that ends in the middle
    let text = std::fs::read_to_string(folder.join("2026-11-18.csv")).unwrap().replace("2026-11-18", "2026-11-17");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    std::fs::write(folder.join("2026-11-17.csv.gz"), &packed[..packed.len() * 2 / 3]).unwrap();
    // one of which no row can be used, and one that is no table
    let unread = std::fs::read_to_string(folder.join("2026-11-18.csv")).unwrap().replace(",call,", ",sideways,");
    std::fs::write(folder.join("unread.csv"), unread.replace(",put,", ",sideways,")).unwrap();
    std::fs::write(folder.join("readme.txt"), "Quotes of a week.\n").unwrap();
    let began = Instant::now();
    let last = "/l1/greeks?underlying=ACME&as_of=2026-11-20";
    while daemon.get(last).0 != 200 {
        assert!(began.elapsed() < Duration::from_secs(120), "the new day is not noticed");
        std::thread::sleep(Duration::from_millis(200));
    }
    let damaged = daemon.get("/l1/greeks?underlying=ACME&as_of=2026-11-17");
    assert!(damaged.0 == 502 && damaged.1.contains("2026-11-17.csv.gz"), "{damaged:?}");
    daemon.wait("the damaged file to be counted", |health| health["files_unusable"] == 2);
    assert_eq!(daemon.get("/l1/greeks?underlying=DULL&as_of=2026-11-19").0, 200);
    // and the last day is that of now
    let began = Instant::now();
    while !is_near(und_prices(&daemon, "/l1/greeks?underlying=ACME")[0], spot(0, 2, 2)) {
        assert!(began.elapsed() < Duration::from_secs(120), "the new day is not shown");
        std::thread::sleep(Duration::from_millis(200));
    }
    let (_, said) = daemon.stop();
    assert!(
        said.contains("unread.csv: none of 84 rows can be used, such as ") && said.contains("`sideways`"),
        "{said}"
    );
    assert!(!said.contains("readme.txt"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn greeks_that_lie_beside_the_quotes_are_served_as_they_are() {
    let folder = recorded("results", 2);
    let greeks = "/l1/greeks?underlying=ACME&greeks=all&format=csv&start=2026-11-18&end=2026-11-19";
    // a column that the files of Greeks do not have tells which of the two was served
    let has_middle_of = |daemon: &Daemon, name: &str| {
        let layers = format!("/datav2/hist/strikes?ticker={name}&tradeDate=2026-11-18&delta=.4,.6");
        json(daemon, &layers)["data"][0]["callMidIv"].as_f64().unwrap() > 0.0
    };
    let has_middle = |daemon: &Daemon| has_middle_of(daemon, "ACME");
    let computed = {
        let daemon = Daemon::start(&spec(&folder), &["--threads", "1"]);
        assert!(has_middle(&daemon));
        daemon.get(greeks)
    };
    assert_eq!((computed.0, computed.1.lines().count()), (200, 1 + 2 * 3 * 14));
    let mut batch = std::process::Command::new(env!("CARGO_BIN_EXE_greeksd"));
    batch.arg("batch").arg(&folder).arg("-o").arg(folder.join("greeks")).arg("--quiet");
    let done = batch.env_clear().output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let daemon = Daemon::start(&spec(&folder), &["--threads", "1"]);
    assert!(!has_middle(&daemon), "what lies there was not taken");
    assert_eq!(daemon.get(greeks), computed, "byte for byte");
    drop(daemon);
    // a dividend that was not known then: what the name's values depend on is no longer what it was, that of others is
    std::fs::write(folder.join("dividends.csv"), "underlying,ex_date,amount\nACME,2026-12-01,0.02\n").unwrap();
    let daemon = Daemon::start(&spec(&folder), &["--threads", "1"]);
    assert!(has_middle(&daemon), "what was computed without the dividend is served");
    let first = |daemon: &Daemon| json(daemon, "/l1/greeks?underlying=ACME&greeks=chain&as_of=2026-11-18")[0].clone();
    assert_eq!(first(&daemon)["divs"], 0.02);
    assert!(!has_middle_of(&daemon, "DULL"), "what concerns another name is computed");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_expiry_that_is_listed_for_a_closed_day_is_found_by_every_date_of_it() {
    for (listed, symbol) in [("2026-12-19", "261219"), ("2026-12-20", "261220")] {
        let folder = recorded(&format!("listed-{symbol}"), 1);
        let file = folder.join(format!("{}.csv", DAYS[0]));
        let text = std::fs::read_to_string(&file).unwrap().replace("2026-12-18", listed);
        std::fs::write(&file, text).unwrap();
        let mut served = Vec::new();
        for is_computed_before in [false, true] {
            if is_computed_before {
                let mut batch = std::process::Command::new(env!("CARGO_BIN_EXE_greeksd"));
                batch.arg("batch").arg(&folder).arg("-o").arg(folder.join("greeks")).arg("--quiet");
                assert!(batch.env_clear().status().unwrap().success());
            }
            let daemon = Daemon::start(&spec(&folder), &["--threads", "1"]);
            let rows = |query: &str| daemon.rows(&format!("/l1/greeks?greeks=all&as_of=2026-11-18&{query}"));
            let all = rows("underlying=ACME");
            assert_eq!((all.len(), &all[0]["expiry"]), (14, &"2026-12-18".into()));
            assert!((Daemon::number(&all[0], "days") - 30.0).abs() < 1e-6, "{}", all[0]);
            for query in ["exp=2026-12-18", &format!("exp={listed}"), &format!("min_exp={listed}&max_exp={listed}")] {
                assert_eq!(rows(&format!("underlying=ACME&{query}")), all, "{query}");
            }
            assert_eq!(rows("underlying=ACME&exp=2026-12-11"), Vec::<Value>::new());
            for date in ["261218", symbol] {
                let one = rows(&format!("osym=ACME{date}C00100000"));
                assert_eq!((one.len(), &one[0]["osym"]), (1, &format!("ACME  {symbol}C00100000").into()), "{date}");
                let (status, explained) = daemon.get(&format!("/l1/explain?osym=ACME{date}C00100000&as_of=2026-11-18"));
                assert!(status == 200 && explained.contains(&format!("ACME  {symbol}C00100000")), "{explained}");
            }
            served.push(all);
        }
        assert_eq!(served[0], served[1]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_day_is_replayed_as_the_clock_passes() {
    let folder = recorded("replay", 3);
    let address = free_address();
    let options = ["--clock", "2026-11-19T11:59:30", "--speed", "30", "--threads", "1"];
    let mut daemon = Daemon::launch(command(&spec(&folder), address, &options), address);
    daemon.wait("no quotes of the morning", |health| health["status"] != "starting");
    let first = und_prices(&daemon, "/l1/greeks?underlying=ACME");
    assert!(is_near(first[0], spot(0, 1, 0)) || is_near(first[0], spot(0, 1, 1)), "{first:?}");
    let began = Instant::now();
    while !is_near(und_prices(&daemon, "/l1/greeks?underlying=ACME")[0], spot(0, 1, 1)) {
        assert!(began.elapsed() < Duration::from_secs(120), "the quotes of noon do not come");
        std::thread::sleep(Duration::from_millis(100));
    }
    // other days are asked for as before
    let past = und_prices(&daemon, "/l1/greeks?underlying=ACME&as_of=2026-11-18");
    assert!(is_near(past[0], spot(0, 0, 2)), "{past:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_served_is_refused_at_the_start() {
    let empty = folder("none", "");
    std::fs::remove_dir_all(empty.join("chains")).unwrap();
    for (feeds, wanted) in [
        (vec!["history:/nowhere/at/all"], "feed history:/nowhere/at/all: "),
        (vec!["history:.", "history:.."], "give only one folder"),
    ] {
        let address = free_address();
        let more: Vec<&str> = feeds[1..].iter().flat_map(|feed| ["--feed", *feed]).collect();
        let ended = command(feeds[0], address, &more).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success() && said.contains(wanted), "{said}");
    }
    std::fs::remove_dir_all(empty).unwrap();
}
