//! `--record`: a recording of incoming data gives the same market when it is read as a feed.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, chain, command, free_address, remove};
use std::fmt::Write as _;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

const NOW: &str = "2026-11-20T15:42:00-05:00";

/// A chain as lines, with its spot, a dividend and a rate.
fn lines(name: &str, spot: f64) -> String {
    let mut out = String::new();
    for row in chain(spot).lines() {
        let cells: Vec<&str> = row.split(',').collect();
        let (expiry, right, strike, bid, ask) = (cells[4], cells[5], cells[6], cells[7], cells[8]);
        let bid = if bid == "0.00" { "null" } else { bid };
        let _ = writeln!(
            out,
            "{{\"root\":\"{name}\",\"expiry\":\"{expiry}\",\"strike\":{strike},\"right\":\"{right}\",\"bid\":{bid},\"ask\":{ask},\"time\":\"{NOW}\"}}"
        );
    }
    let _ = writeln!(out, "{{\"symbol\":\"{name}\",\"price\":{spot},\"time\":\"{NOW}\"}}");
    let _ = writeln!(out, "{{\"symbol\":\"{name}\",\"ex_date\":\"2026-12-04\",\"amount\":0.35}}");
    out + "{\"date\":\"2026-11-20\",\"tenor_days\":365,\"rate\":0.0398765432109}\n"
}

fn options(more: &[&str]) -> Vec<String> {
    let own = ["--refresh", "0.1", "--threads", "1", "--now", NOW];
    own.iter().chain(more).map(|text| (*text).to_owned()).collect()
}

fn start(feed: &str, more: &[&str]) -> Daemon {
    let (address, options) = (free_address(), options(more));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Daemon::launch(command(feed, address, &options), address)
}

fn rows(daemon: &mut Daemon) -> String {
    daemon.wait("two names at full accuracy", |health| {
        health["contracts"] == 36 && health["contracts_priced"] == 36 && health["preliminary"] == 0
    });
    let (status, body) = daemon.get("/l1/greeks?underlying=ACME,BETA&greeks=all");
    assert_eq!(status, 200, "{body}");
    body
}

fn push(to: std::net::SocketAddr, text: &str) {
    TcpStream::connect(to).unwrap().write_all(text.as_bytes()).unwrap();
}

fn gz_files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".gz")).collect()
}

#[test]
fn a_recorded_market_is_served_again_row_for_row() {
    let folder = std::env::temp_dir().join(format!("greeksd-record-serve-{}", std::process::id()));
    let at = folder.display().to_string();
    let to = free_address();
    let mut live = start(&format!("tcp:{to}"), &["--record", &at]);
    push(to, &lines("ACME", 100.0));
    push(to, &lines("BETA", 101.0));
    let pushed = rows(&mut live);
    let health = live.wait("the disk", |health| health["record"]["written"].as_u64().is_some_and(|n| n > 20));
    assert_eq!((&health["record"]["dropped"], &health["record"]["failing"]), (&0.into(), &false.into()), "{health}");
    assert!(live.get("/metrics").1.contains("\ngreeksd_record_dropped_total 0\n"));
    let said = live.stop().1;
    assert!(said.contains("the vendor's licence applies to recordings"), "{said}");
    assert_eq!(gz_files(&folder), ["quotes-2026-11-20.ndjson.gz"]);

    let mut again = start(&format!("dir:{at}"), &[]);
    assert_eq!(rows(&mut again), pushed);
    assert_eq!(again.health().unwrap()["record"], serde_json::Value::Null);
    again.stop();
    let file = folder.join("quotes-2026-11-20.ndjson.gz");
    let mut one = start(&format!("dir:{}", file.display()), &[]);
    assert_eq!(rows(&mut one), pushed, "a day by its file");
    one.stop();
    remove(&folder);
}

#[test]
fn what_cannot_be_recorded_is_said_at_once() {
    let folder = std::env::temp_dir().join(format!("greeksd-record-sim-{}", std::process::id()));
    let at = folder.display().to_string();
    for (feed, path, wanted) in
        [("sim", at.as_str(), "the simulated market is not recorded"), ("tcp:0", "/dev/null/x", "record /dev/null/x:")]
    {
        let out = command(feed, free_address(), &["--record", path]).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && said.contains(wanted), "{said}");
    }
    remove(&folder);
}
