//! What is served after a start before anything was computed: the market as it was, until each name has a new chain.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use support::daemon::{Daemon, command, free_address, norm_cdf, remove};

/// Lines of a name around a spot, for a contract that has two months to live today.
fn lines(name: &str, spot: f64) -> String {
    let now = Timestamp::now();
    let day = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let expiry = day.saturating_add(jiff::Span::new().days(60));
    let (t, mut out) = (60.0 / 365.0f64, String::new());
    for strike in (80..=120).step_by(5) {
        let (k, sd) = (f64::from(strike), 0.25 * t.sqrt());
        let d1 = (spot / k).ln() / sd + 0.5 * sd;
        for (right, phi) in [("call", 1.0), ("put", -1.0)] {
            let value = phi * (spot * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
            let (bid, ask) = ((value - 0.03).max(0.01), value + 0.03);
            let _ = writeln!(
                out,
                "{{\"root\":\"{name}\",\"expiry\":\"{expiry}\",\"strike\":{strike},\"right\":\"{right}\",\"bid\":{bid:.2},\"ask\":{ask:.2},\"time\":\"{now}\"}}"
            );
        }
    }
    let _ = writeln!(out, "{{\"symbol\":\"{name}\",\"price\":{spot},\"time\":\"{now}\"}}");
    let _ = writeln!(out, "{{\"date\":\"{day}\",\"tenor_days\":365,\"rate\":0.0}}");
    out
}

/// A state folder of its own.
fn state(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("greeksd-restart-{name}-{}", std::process::id()));
    remove(&folder);
    folder
}

fn start(lines: SocketAddr, state: &Path) -> Daemon {
    let address = free_address();
    let (feed, state) = (format!("tcp:{lines}"), state.display().to_string());
    Daemon::launch(command(&feed, address, &["--refresh", "0.1", "--threads", "1", "--state-dir", &state]), address)
}

fn push(to: SocketAddr, text: &str) {
    TcpStream::connect(to).unwrap().write_all(text.as_bytes()).unwrap();
}

fn rows(daemon: &Daemon, name: &str) -> Option<Vec<Value>> {
    let (status, body) = daemon.get(&format!("/l1/greeks?underlying={name}&greeks=all"));
    (status == 200).then(|| serde_json::from_str(&body).unwrap())
}

fn saved(state: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(state).ok()?.map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|end| end == "saved"))
}

/// A daemon that knows two names fully, and has saved them.
fn filled(to: SocketAddr, state: &Path) -> Daemon {
    let mut daemon = start(to, state);
    push(to, &(lines("ACME", 100.0) + &lines("BETA", 101.0)));
    daemon.wait("two names", |health| health["underlyings"] == 2 && health["rough"] == 0);
    let began = std::time::Instant::now();
    while saved(state).is_none() {
        assert!(began.elapsed().as_secs() < 60, "nothing saved: {:?}", daemon.health());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    daemon
}

#[test]
fn a_killed_daemon_begins_with_the_market_that_it_had() {
    let (to, state) = (free_address(), state("killed"));
    let daemon = filled(to, &state);
    let before = (rows(&daemon, "ACME").unwrap(), rows(&daemon, "BETA").unwrap());
    // SIGKILL: nothing is written at the end
    drop(daemon);
    let mut daemon = start(to, &state);
    let health = daemon.health().unwrap();
    assert_eq!((&health["restored"], &health["underlyings"]), (&2.into(), &2.into()), "{health}");
    let after = (rows(&daemon, "ACME").unwrap(), rows(&daemon, "BETA").unwrap());
    let same = |a: &[Value], b: &[Value]| {
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| {
                ["osym", "svc_theo", "svc_vol", "ultima", "fwd_price", "days"].iter().all(|name| a[name] == b[name])
            })
    };
    assert!(same(&before.0, &after.0) && same(&before.1, &after.1), "the same rows as before");
    // one name comes back, the other stays as it was
    push(to, &lines("ACME", 103.0));
    daemon.wait("one of them", |health| health["restored"] == 1);
    let spot = |daemon: &Daemon, name: &str| Daemon::number(&rows(daemon, name).unwrap()[0], "und_price");
    assert!((spot(&daemon, "ACME") - 103.0).abs() < 1e-9 && (spot(&daemon, "BETA") - 101.0).abs() < 1e-9);
    let (code, said) = daemon.stop();
    assert!(code == Some(0) && said.contains("serving 2 names as of"), "{said}");
    remove(&state);
}

#[test]
fn what_cannot_be_read_back_is_said_and_costs_nothing_else() {
    let (to, state) = (free_address(), state("damaged"));
    drop(filled(to, &state));
    let file = saved(&state).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 9]).unwrap();
    let mut daemon = start(to, &state);
    assert_eq!(daemon.health().unwrap()["restored"], 1, "the first of the two");
    push(to, &lines("BETA", 99.0));
    daemon.wait("computed", |health| health["underlyings"] == 2);
    assert!(daemon.stop().1.contains("is damaged: 1 names of it are used"));
    for other in [&b"what is this"[..], &[]] {
        std::fs::write(&file, other).unwrap();
        let mut daemon = start(to, &state);
        assert_eq!(daemon.health().unwrap()["restored"], 0);
        push(to, &lines("ACME", 100.0));
        daemon.wait("computed", |health| health["underlyings"] == 1);
    }
    // another feed has a market of its own
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(start(free_address(), &state).health().unwrap()["restored"], 0);
    remove(&state);
}

#[test]
fn contracts_that_have_settled_since_are_not_served() {
    let (to, state) = (free_address(), state("settled"));
    let mut daemon = start(to, &state);
    // quoted while it lived, as recorded quotes are that somebody pushes
    let old = lines("ACME", 100.0);
    let now = Timestamp::now();
    let then = now - SignedDuration::from_hours(24 * 90);
    let day = |at: Timestamp, days: i64| {
        at.to_zoned(jiff::tz::TimeZone::UTC).date().saturating_add(jiff::Span::new().days(days)).to_string()
    };
    let old = old.replace(&day(now, 60), &day(then, 60)).replace(&day(now, 0), &day(then, 0));
    push(to, &old);
    daemon.wait("the name", |health| health["underlyings"] == 1 && health["rough"] == 0);
    assert_eq!(daemon.stop().0, Some(0));
    assert!(saved(&state).is_some());
    assert_eq!(start(to, &state).health().unwrap()["restored"], 0);
    remove(&state);
}
