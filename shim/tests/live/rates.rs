//! Sources of discount rates: every answer names the same one.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, HEADER, chain, command, folder, free_address, norm_cdf, remove};
use jiff::{SignedDuration, Timestamp, civil::Date};
use kernel::calendar::Calendar;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

const NOW: &str = "2026-11-20T15:42:00-05:00";
const DAY: &str = "2026-11-20";

/// The American name of the tests as pushed lines.
fn acme(time: &str) -> String {
    let mut out = format!("{{\"symbol\":\"ACME\",\"price\":100,\"time\":\"{time}\"}}\n");
    for row in chain(100.0).lines() {
        let cells: Vec<&str> = row.split(',').collect();
        let (expiry, right, strike, bid, ask) = (cells[4], cells[5], cells[6], cells[7], cells[8]);
        let bid = if bid == "0.00" { "null" } else { bid };
        let _ = writeln!(
            out,
            "{{\"root\":\"ACME\",\"expiry\":\"{expiry}\",\"strike\":{strike},\"right\":\"{right}\",\"bid\":{bid},\"ask\":{ask},\"time\":\"{time}\"}}"
        );
    }
    out
}

/// One European quote.
struct Quote {
    expiry: Date,
    strike: u32,
    right: &'static str,
    bid: f64,
    ask: f64,
}

/// SPXW at a spot of 5,000 and a flat rate, expiries of one to eighteen months after a date.
fn index(of: Date, rate: f64) -> Vec<Quote> {
    let mut quotes = Vec::new();
    for months in [1, 2, 3, 6, 9, 12, 18] {
        // the third Friday
        let first = of.saturating_add(jiff::Span::new().months(months)).first_of_month();
        let expiry = first.nth_weekday_of_month(3, jiff::civil::Weekday::Friday).unwrap();
        let t = (f64::from(of.until(expiry).unwrap().get_days()) + 1.0 / 72.0) / 365.0;
        let (df, fwd, sd) = ((-rate * t).exp(), 5000.0 * ((rate - 0.013) * t).exp(), 0.16 * t.sqrt());
        for strike in (4000..=6000).step_by(50) {
            let k = f64::from(strike);
            let d1 = (fwd / k).ln() / sd + 0.5 * sd;
            for (right, phi) in [("call", 1.0), ("put", -1.0)] {
                let value = df * phi * (fwd * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
                let half = 0.1 + 0.002 * value;
                quotes.push(Quote { expiry, strike, right, bid: (value - half).max(0.0), ask: value + half });
            }
        }
    }
    quotes
}

/// The European quotes as pushed lines.
fn index_lines(of: Date, rate: f64, time: &str) -> String {
    let mut out = format!("{{\"symbol\":\"SPX\",\"price\":5000,\"time\":\"{time}\"}}\n");
    for Quote { expiry, strike, right, bid, ask } in index(of, rate) {
        let bid = if bid < 0.005 { "null".to_owned() } else { format!("{bid:.2}") };
        let _ = writeln!(
            out,
            "{{\"root\":\"SPXW\",\"expiry\":\"{expiry}\",\"strike\":{strike},\"right\":\"{right}\",\"bid\":{bid},\"ask\":{ask:.2},\"time\":\"{time}\"}}"
        );
    }
    out
}

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

fn push(to: SocketAddr, text: &str) {
    TcpStream::connect(to).unwrap().write_all(text.as_bytes()).unwrap();
}

/// A daemon that lines are pushed to, and where.
fn pushed_to(more: &[&str]) -> (Daemon, SocketAddr) {
    let (address, to) = (free_address(), free_address());
    let own = ["--refresh", "0.1", "--threads", "1", "--now", NOW];
    let options: Vec<&str> = own.iter().chain(more).copied().collect();
    (Daemon::launch(command(&format!("tcp:{to}"), address, &options), address), to)
}

/// Waits until the daemon has values with rates of a source, and returns its `rates` of `/health`.
fn rates_from(daemon: &mut Daemon, source: &str) -> Value {
    let health = daemon.wait(&format!("no {source} rates"), |health| {
        health["rates"]["source"] == source && health["pending"] == 0 && health["preliminary"] == 0
    });
    health["rates"].clone()
}

/// The rate of the curve that `/health` shows, to some days.
fn shown_rate(rates: &Value, days: f64) -> f64 {
    let nodes: Vec<(f64, f64)> = serde_json::from_value(rates["nodes"].clone()).unwrap();
    let after = nodes.iter().position(|&(t, _)| t >= days).unwrap();
    let ((t0, r0), (t1, r1)) = (nodes[after.max(1) - 1], nodes[after.max(1)]);
    r0 + (r1 - r0) * (days - t0) / (t1 - t0)
}

/// Checks that the rate of ACME is that of the curve in `/health`, and that an explanation names the same source.
fn check_acme(daemon: &mut Daemon, source: &str, as_of: Option<&str>) -> (f64, Value) {
    let rates = rates_from(daemon, source);
    assert_eq!(rates["as_of"].as_str(), as_of, "{rates}");
    let mut rate = f64::NAN;
    let wanted = shown_rate(&rates, 28.0);
    // a change of the curve is a pass away from every row
    for _ in 0..1000 {
        let rows = daemon.rows("/l1/greeks?underlying=ACME&greeks=all");
        rate = Daemon::number(&rows[0], "disc_rate");
        if rows.iter().all(|row| (Daemon::number(row, "disc_rate") - wanted).abs() < 2e-3) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!((rate - wanted).abs() < 2e-3, "{rate}, {rates}");
    let (status, text) = daemon.get("/l1/explain?osym=ACME261218C00100000");
    assert_eq!(status, 200, "{text}");
    let explained: Value = serde_json::from_str(&text).unwrap();
    let carry = &explained["carry"];
    assert_eq!((carry["rate_source"].as_str(), carry["rate_as_of"].as_str()), (Some(source), as_of), "{carry}");
    assert!((Daemon::number(carry, "rate") - rate).abs() < 1e-6, "{carry}: {rate}");
    let (_, text) = daemon.get("/l1/explain?osym=ACME261218C00100000&format=text");
    let named = as_of.map_or_else(|| source.to_owned(), |as_of| format!("{source}, {as_of}"));
    assert!(text.contains(&format!("({named})")), "{text}");
    let metric = format!("greeksd_rates_age_days{{source=\"{source}\"}}");
    assert!(daemon.get("/metrics").1.contains(&metric), "no {metric}");
    (rate, explained)
}

#[test]
fn each_better_source_takes_the_place_of_the_one_before_and_all_names_follow() {
    let (mut daemon, to) = pushed_to(&[]);
    push(to, &acme(NOW));
    let built_in = rates_from(&mut daemon, "built_in");
    let as_of = built_in["as_of"].as_str().unwrap().to_owned();
    let warning = built_in["warning"].as_str().unwrap();
    for word in ["--feed treasury:", "rates.csv", "SPX", as_of.as_str()] {
        assert!(warning.contains(word), "no {word} in {warning}");
    }
    assert!(built_in["age_days"].as_i64().unwrap() > 10, "{built_in}");
    let (_, explained) = check_acme(&mut daemon, "built_in", Some(&as_of));
    assert!(explained["warnings"].as_array().unwrap().iter().any(|w| w["name"] == "old_rates"), "{explained}");

    push(to, &index_lines(date(DAY), 0.071, NOW));
    let (rate, explained) = check_acme(&mut daemon, "implied", Some(DAY));
    assert!((rate - 0.071).abs() < 1e-3, "{rate}");
    assert!(!explained["warnings"].as_array().unwrap().iter().any(|w| w["name"] == "old_rates"), "{explained}");
    let implied = rates_from(&mut daemon, "implied");
    assert_eq!(implied["warning"], Value::Null, "{implied}");
    assert!((shown_rate(&implied, 365.0) - 0.071).abs() < 2e-4, "{implied}");

    push(to, &format!("{{\"date\":\"{DAY}\",\"tenor_days\":30,\"rate\":0.012}}\n"));
    let (rate, _) = check_acme(&mut daemon, "user", Some(DAY));
    assert!((rate - 0.012).abs() < 1e-9, "{rate}");
    let user = rates_from(&mut daemon, "user");
    let warning = user["warning"].as_str().unwrap();
    assert!(warning.contains("1.2") && warning.contains("7.1"), "what chains contradict: {warning}");
    let said = daemon.stop().1;
    assert!(said.contains("implied by") && said.contains("the given curve is used"), "{said}");
}

#[test]
fn zero_is_used_where_a_user_asks_for_it_alone() {
    let (mut daemon, to) = pushed_to(&["--rates", "zero"]);
    push(to, &(acme(NOW) + &index_lines(date(DAY), 0.071, NOW)));
    let rates = rates_from(&mut daemon, "zero");
    assert!(rates["warning"].as_str().unwrap().contains("--rates zero"), "{rates}");
    let (rate, explained) = check_acme(&mut daemon, "zero", None);
    assert!(rate.abs() < 1e-12, "{rate}");
    assert!(explained["warnings"].as_array().unwrap().iter().any(|w| w["name"] == "zero_rates"), "{explained}");
    daemon.stop();
}

#[test]
fn a_folder_implies_its_curve_before_its_first_values() {
    let mut rows = String::new();
    for Quote { expiry, strike, right, bid, ask } in index(date(DAY), 0.071) {
        let _ =
            writeln!(rows, "2026-11-20T16:00:00-05:00,SPX,5000,SPXW,{expiry},{right},{strike},{bid:.2},{ask:.2},1,1");
    }
    let market = folder("rates-folder", &chain(100.0));
    std::fs::write(market.join("chains/spx.csv"), format!("{HEADER}{rows}")).unwrap();
    std::fs::remove_file(market.join("rates.csv")).unwrap();
    let mut daemon = Daemon::start(&format!("dir:{}", market.display()), &["--threads", "1", "--refresh", "0.1"]);
    let (rate, _) = check_acme(&mut daemon, "implied", Some(DAY));
    assert!((rate - 0.071).abs() < 1e-3, "{rate}");
    let number = daemon.health().unwrap()["snapshot_number"].as_u64().unwrap();
    assert!(number < 6, "values by another curve came first: {number} snapshots");
    daemon.stop();
    remove(&market);
}

#[test]
fn the_last_curve_is_there_after_a_restart() {
    // quotes of the last minute of the last session, whenever this runs
    let calendar = Calendar::embedded();
    let at = calendar.last_session_instant(Timestamp::now()) - SignedDuration::from_mins(1);
    let (time, day) = (at.to_string(), calendar.eastern(at).date());
    let state = std::env::temp_dir().join(format!("greeksd-rates-state-{}", std::process::id()));
    remove(&state);
    let start = || {
        let (address, to) = (free_address(), free_address());
        let folder = state.display().to_string();
        let options = ["--refresh", "0.1", "--threads", "1", "--state-dir", &folder];
        (Daemon::launch(command(&format!("tcp:{to}"), address, &options), address), to)
    };
    let (mut daemon, to) = start();
    push(to, &index_lines(day, 0.071, &time));
    rates_from(&mut daemon, "implied");
    daemon.stop();
    let kept = std::fs::read_to_string(state.join("last-rates.csv")).unwrap();
    assert!(kept.starts_with(&format!("date,tenor_days,rate\n{day},")), "{kept}");

    // another feed, without an index
    let (address, to) = (free_address(), free_address());
    let folder = state.display().to_string();
    let options = ["--refresh", "0.1", "--threads", "1", "--state-dir", &folder];
    let mut daemon = Daemon::launch(command(&format!("tcp:{to}"), address, &options), address);
    let expiry = index(day, 0.071)[0].expiry;
    push(to, &acme(&time).replace("2026-12-18", &expiry.to_string()));
    let rates = rates_from(&mut daemon, "saved");
    assert_eq!(rates["as_of"].as_str(), Some(day.to_string().as_str()), "{rates}");
    assert!((shown_rate(&rates, 365.0) - 0.071).abs() < 2e-4, "{rates}");
    daemon.stop();
    remove(&state);
}

/// The recorded chains, where they are beside the repository.
fn recorded() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/realdata/chains");
    path.join("spx_2023-09-14.csv.gz").exists().then_some(path)
}

#[test]
fn a_recorded_index_is_valued_by_its_own_rates() {
    let Some(chains) = recorded() else {
        eprintln!("skipped: there are no recorded chains");
        return;
    };
    let market = std::env::temp_dir().join(format!("greeksd-rates-recorded-{}", std::process::id()));
    remove(&market);
    std::fs::create_dir_all(market.join("chains")).unwrap();
    std::fs::copy(chains.join("spx_2023-09-14.csv.gz"), market.join("chains/spx.csv.gz")).unwrap();
    let mut daemon = Daemon::start(&format!("dir:{}", market.display()), &["--refresh", "0.1"]);
    let rates = rates_from(&mut daemon, "implied");
    assert_eq!(rates["as_of"], "2023-09-14");
    let target = "/l1/greeks?underlying=SPX&exp=2024-12-20&right=call&min_strike=3000&max_strike=3000&greeks=all";
    let row = daemon.rows(target).remove(0);
    // quoted at 1671.0 to 1677.3; with the Treasury's rates of the day 1681.2 and 0.9369
    let (value, delta) = (Daemon::number(&row, "svc_theo"), Daemon::number(&row, "delta"));
    assert!((1660.0..1690.0).contains(&value) && delta < 1.001, "{value}, {delta}, {rates}");
    daemon.stop();
    remove(&market);
}
