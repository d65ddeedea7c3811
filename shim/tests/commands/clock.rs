//! A clock that is started at an instant and runs faster than real time: over a close, and at the next session.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, command, free_address, norm_cdf, remove};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Quotes of two expiries at a spot and a time, the second one in so many days, and the spot.
fn lines(spot: f64, time: &str, first: &str, days: f64) -> String {
    let mut out = String::new();
    for (expiry, days) in [(first, 0.002), ("2024-12-20", days)] {
        for strike in (88..=112).step_by(4) {
            let (k, sd) = (f64::from(strike), 0.25 * (days / 365.0f64).sqrt());
            let d1 = (spot / k).ln() / sd + 0.5 * sd;
            for (right, phi) in [("call", 1.0), ("put", -1.0)] {
                let value = phi * (spot * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
                let (bid, ask) = ((value - 0.02).max(0.0), value + 0.02);
                let contract =
                    format!("\"root\":\"ACME\",\"expiry\":\"{expiry}\",\"strike\":{strike},\"right\":\"{right}\"");
                let _ = writeln!(out, "{{{contract},\"bid\":{bid:.3},\"ask\":{ask:.3},\"time\":\"{time}\"}}");
            }
        }
    }
    let _ = writeln!(out, "{{\"symbol\":\"ACME\",\"price\":{spot},\"time\":\"{time}\"}}");
    out + "{\"date\":\"2024-11-20\",\"tenor_days\":365,\"rate\":0.0}\n"
}

/// A daemon whose clock starts at an instant and runs ten times as fast as real time, and where it is pushed to.
fn start(clock: &str, state: &Path) -> (Daemon, SocketAddr) {
    let (address, to) = (free_address(), free_address());
    let feed = format!("tcp:{to}");
    let more = ["--refresh", "0.1", "--threads", "1", "--speed", "10", "--clock", clock, "--state-dir"];
    let more = [&more[..], &[state.to_str().unwrap()]].concat();
    (Daemon::launch(command(&feed, address, &more), address), to)
}

fn push(to: SocketAddr, lines: &str) {
    TcpStream::connect(to).unwrap().write_all(lines.as_bytes()).unwrap();
}

fn rows(daemon: &Daemon) -> Vec<Value> {
    let (status, body) = daemon.get("/l1/greeks?underlying=ACME&greeks=core,extra,chain");
    if status == 200 { serde_json::from_str(&body).unwrap() } else { Vec::new() }
}

/// Waits until the rows are as wanted.
fn wait(daemon: &Daemon, what: &str, is_wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let rows = rows(daemon);
        if is_wanted(&rows) {
            return rows;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{what}: {:?}", daemon.health());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn of<'r>(rows: &'r [Value], expiry: &str, field: &str) -> Vec<&'r Value> {
    rows.iter().filter(|row| row["expiry"] == expiry).map(|row| &row[field]).collect()
}

#[test]
fn a_close_passes_and_the_next_session_shows_what_it_ended_with() {
    let state: PathBuf = std::env::temp_dir().join(format!("greeksd-clock-{}", std::process::id()));
    remove(&state);
    // eighteen seconds before the close
    let (mut daemon, to) = start("2024-11-20T15:57", &state);
    push(to, &lines(100.0, "2024-11-20T15:56:50-05:00", "2024-11-20", 30.0));
    wait(&daemon, "both expiries", |rows| of(rows, "2024-11-20", "delta").len() == 14 && rows.len() == 28);
    let health = daemon.health().unwrap();
    assert_eq!(health["clock"], "from 2024-11-20T15:57:00-05:00 at speed 10", "{health}");
    daemon.wait("closed", |health| health["market"] == "closed");
    let held = wait(&daemon, "the expiry has settled", |rows| rows.len() == 14);
    assert!(of(&held, "2024-11-20", "delta").is_empty());
    assert!(
        of(&held, "2024-12-20", "svc_vol").iter().all(|vol| (vol.as_f64().unwrap() - 0.25).abs() < 0.02),
        "{held:?}"
    );
    assert!(of(&held, "2024-12-20", "prev_vol").iter().all(|vol| vol.is_null()), "{held:?}");
    // what is made after the close is not the session's, and is counted
    push(to, &lines(123.0, "2024-11-20T16:01:00-05:00", "2024-11-21", 30.0));
    let health = daemon.wait("held back", |health| health["quotes"]["dropped"]["outside_session"] == 29);
    assert_eq!(health["status"], "held", "{health}");
    let late = rows(&daemon);
    assert_eq!(of(&late, "2024-12-20", "svc_theo"), of(&held, "2024-12-20", "svc_theo"));
    assert!(late.len() == 14 && late.iter().all(|row| row["und_price"] == 100.0), "{late:?}");
    // ages are of the market's time
    let age = |daemon: &Daemon| daemon.health().unwrap()["snapshot_age_s"].as_f64().unwrap();
    let before = age(&daemon);
    std::thread::sleep(Duration::from_secs(1));
    assert!(age(&daemon) - before >= 10.0);
    let (code, said) = daemon.stop();
    assert!(code == Some(0) && said.contains("clock     from 2024-11-20T15:57:00-05:00 at speed 10"), "{said}");
    let files = || -> Vec<String> {
        let entries = std::fs::read_dir(&state).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        // but for the lock
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    };
    let kept = ["closes-2024-11-20.csv", "vols-2024-11-20.csv"];
    assert_eq!(files(), kept, "no market is saved of a clock that is not the system's");

    let (daemon, to) = start("2024-11-21T09:31", &state);
    assert_eq!(daemon.health().unwrap()["restored"], 0);
    push(to, &lines(101.0, "2024-11-21T09:31:00-05:00", "2024-11-21", 29.27));
    let next = wait(&daemon, "the next session", |rows| rows.len() == 28);
    assert_eq!(of(&next, "2024-12-20", "prev_vol"), of(&held, "2024-12-20", "svc_vol"));
    assert!(of(&next, "2024-11-21", "prev_vol").iter().all(|vol| vol.is_null()));
    drop(daemon);
    remove(&state);
}
