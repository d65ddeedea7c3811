//! Restarts: the saved market is served until each name has a new chain.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, HEADER, command, free_address, norm_cdf, remove};
use engine::store::book::Book;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::Right;
use serde_json::Value;
use sim::SimMarket;
use sim::symbols::well_known;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lines of a name around a spot, for a contract that has two months to live today.
fn lines(name: &str, spot: f64) -> String {
    let now = Timestamp::now();
    let day = now.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
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
    daemon.wait("two names", |health| health["underlyings"] == 2 && health["preliminary"] == 0);
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

/// A disk that hangs: the file that the market is written to is a pipe that nobody reads.
#[test]
fn a_state_folder_that_hangs_costs_its_own_saves_and_holds_up_no_end() {
    let (to, state) = (free_address(), state("hangs"));
    let mut daemon = start(to, &state);
    std::fs::create_dir_all(&state).unwrap();
    let pipe = state.join(format!("market-live.{}.unfinished", daemon.child.id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    push(to, &lines("ACME", 100.0));
    let health = daemon.wait("the disk hangs", |health| health["state"]["failing"] == true);
    assert!(health["state"]["saved_at"].is_null(), "{health}");
    // values follow meanwhile
    push(to, &lines("ACME", 103.0));
    let spot = |daemon: &Daemon| Daemon::number(&rows(daemon, "ACME").unwrap()[0], "und_price");
    daemon.wait("the next quotes", |_| true);
    let began = std::time::Instant::now();
    while (spot(&daemon) - 103.0).abs() > 1e-9 {
        assert!(began.elapsed().as_secs() < 60, "{:?}", daemon.health());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let (code, said) = daemon.stop();
    assert!(code == Some(0) && said.contains("the market has not been saved: the disk does not respond"), "{said}");
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
    assert!(daemon.stop().1.contains("is damaged: 1 names could be restored"));
    for other in [&b"what is this"[..], &[]] {
        std::fs::write(&file, other).unwrap();
        let mut daemon = start(to, &state);
        assert_eq!(daemon.health().unwrap()["restored"], 0);
        push(to, &lines("ACME", 100.0));
        daemon.wait("computed", |health| health["underlyings"] == 1);
    }
    // live names are kept by name, whatever the feed is called
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(start(free_address(), &state).health().unwrap()["restored"], 2);
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
        at.to_zoned_datetime(jiff::tz::TimeZone::UTC).date().saturating_add(jiff::Span::new().days(days)).to_string()
    };
    let old = old.replace(&day(now, 60), &day(then, 60)).replace(&day(now, 0), &day(then, 0));
    push(to, &old);
    daemon.wait("the name", |health| health["underlyings"] == 1 && health["preliminary"] == 0);
    assert_eq!(daemon.stop().0, Some(0));
    assert!(saved(&state).is_some());
    assert_eq!(start(to, &state).health().unwrap()["restored"], 0);
    remove(&state);
}

/// Starts the program without waiting for anything.
fn begin(feed: &str, state: &Path, more: &[&str]) -> Daemon {
    let address = free_address();
    let state = state.display().to_string();
    let more = [&["--refresh", "0.1", "--threads", "1", "--state-dir", &state], more].concat();
    Daemon { child: command(feed, address, &more).spawn().unwrap(), address }
}

/// The contracts of each name in an answer for all names, `None` where the daemon has no answer.
fn contracts_by_name(daemon: &Daemon) -> Option<BTreeMap<String, u64>> {
    let (status, body) = daemon.get("/l1/greeks?underlying=*");
    assert!(status == 200 || status == 502, "{status}: {body}");
    let mut counts = BTreeMap::new();
    for row in (status == 200).then(|| serde_json::from_str::<Vec<Value>>(&body).unwrap())? {
        *counts.entry(row["underlying"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    Some(counts)
}

/// Asks as fast as possible, from the first connection that is accepted, until `/health` says that the whole market is
/// there. No answer may show a part of it as the whole, and no name may ever have a part of its contracts. Returns what
/// was seen first.
fn watch(daemon: &Daemon, full: &BTreeMap<String, u64>) -> Value {
    let (began, total) = (Instant::now(), full.values().sum::<u64>());
    let mut first = None;
    loop {
        assert!(began.elapsed() < Duration::from_secs(120), "not whole: {:?}", daemon.health());
        // an answer after the health is never older than it
        let Some(health) = daemon.health() else { continue };
        let is_whole = health["status"] != "starting" || health["pending"] == 0;
        let counts = contracts_by_name(daemon);
        for (name, n) in counts.iter().flatten() {
            assert_eq!(Some(n), full.get(name), "a part of {name}: {health}");
        }
        if is_whole {
            assert!(health["status"] != "starting" && health["pending"] == 0, "{health}");
            assert_eq!((health["contracts"].as_u64(), counts.as_ref()), (Some(total), Some(full)), "{health}");
        }
        first.get_or_insert_with(|| health.clone());
        if is_whole {
            return first.unwrap();
        }
    }
}

/// The rows of a chain file.
fn rows_of(book: &Book) -> String {
    let mut rows = HEADER.to_owned();
    for slice in &book.slices {
        for i in 0..slice.strike_milli.len() {
            let right = if slice.right[i] == Right::Call { "call" } else { "put" };
            let price = |x: f64| if x.is_nan() { 0.0 } else { x };
            let _ = writeln!(
                rows,
                "{},{},{},{},{},{right},{},{},{},9,9",
                slice.ts[i],
                book.underlying,
                book.spot,
                slice.root,
                slice.expiry,
                f64::from(slice.strike_milli[i]) / 1000.0,
                price(slice.bid[i]),
                price(slice.ask[i]),
            );
        }
    }
    rows
}

#[test]
fn a_recorded_market_is_never_shown_in_part_after_a_restart() {
    // long before today: by the system's clock every contract of it has settled
    let at: Timestamp = "2024-11-20T15:42:00-05:00".parse().unwrap();
    let wanted = ["CLX", "F", "GME", "KO"];
    let names: Vec<_> = well_known().into_iter().filter(|name| wanted.contains(&name.symbol.as_str())).collect();
    let sim = SimMarket::with_universe(1, at, &names);
    let books: Vec<Book> = (0..sim.len()).filter_map(|i| sim.book(i, at)).collect();
    assert_eq!(books.len(), wanted.len());
    let (state, market) = (state("recorded"), state("recorded-market"));
    std::fs::create_dir_all(market.join("chains")).unwrap();
    let mut full = BTreeMap::new();
    let mut write = |book: &Book| {
        let name = book.underlying.as_str();
        std::fs::write(market.join(format!("chains/{}.csv", name.to_lowercase())), rows_of(book)).unwrap();
        full.insert(name.to_owned(), book.rows() as u64);
        full.clone()
    };
    books[1..].iter().for_each(|book| _ = write(book));
    let before = write(&books[1]);
    let feed = format!("dir:{}", market.display());
    let mut daemon = begin(&feed, &state, &[]);
    let first = watch(&daemon, &before);
    assert_eq!((&first["status"], &first["restored"]), (&"starting".into(), &0.into()), "{first}");
    daemon.wait("full accuracy", |health| health["preliminary"] == 0);
    assert_eq!(daemon.stop().0, Some(0));
    // one name more, and another way to the same folder
    let full = write(&books[0]);
    let feed = format!("dir:{}/./chains/../", market.display());
    for _ in 0..2 {
        let daemon = begin(&feed, &state, &[]);
        watch(&daemon, &full);
        let (code, said) = daemon.stop();
        assert!(code == Some(0) && said.contains("names as of 2024-11-20"), "{said}");
    }
    remove(&state);
    remove(&market);
}

#[test]
fn a_pushed_market_is_never_shown_in_part_after_a_restart() {
    let (to, state) = (free_address(), state("pushed"));
    let daemon = filled(to, &state);
    let before = contracts_by_name(&daemon).unwrap();
    assert_eq!(before.len(), 2);
    assert_eq!(daemon.stop().0, Some(0));
    // a client that waits for the whole market gets all of the old one, before anything is pushed
    let elsewhere = free_address();
    let mut daemon = begin(&format!("tcp:{elsewhere}"), &state, &[]);
    watch(&daemon, &before);
    // another order, and one name more
    push(elsewhere, &(lines("MORE", 102.0) + &lines("BETA", 101.5) + &lines("ACME", 100.5)));
    let health = daemon.wait("new values", |health| health["restored"] == 0 && health["underlyings"] == 3);
    assert_eq!(health["pending"], 0, "{health}");
    let full = contracts_by_name(&daemon).unwrap();
    assert!(full.len() == 3 && before.iter().all(|(name, n)| full[name] == *n), "{full:?}");
    daemon.wait("full accuracy", |health| health["preliminary"] == 0);
    assert_eq!(daemon.stop().0, Some(0));
    // a run that is sent one name only takes none away from what is kept
    let mut daemon = begin(&format!("tcp:{to}"), &state, &[]);
    watch(&daemon, &full);
    push(to, &lines("BETA", 99.0));
    daemon.wait("one of them", |health| health["restored"] == 2);
    assert_eq!(daemon.stop().0, Some(0));
    watch(&begin(&format!("tcp:{to}"), &state, &[]), &full);
    remove(&state);
}
