//! `prev_vol`, and the saved volatilities of sessions, over starts, changes of session and stops; and how the program
//! ends.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, HEADER, norm_cdf};
use crate::support::{Client, get};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A market folder and a state folder, removed at the end.
struct Folders(PathBuf);

impl Folders {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("greeksd-sessions-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("market/chains")).unwrap();
        fs::create_dir_all(path.join("state")).unwrap();
        Self(path)
    }

    /// Replaces the chain of a name, quoted on a day of November 2024 at a volatility.
    fn quote(&self, name: &str, day: u32, vol: f64) {
        let (file, beside) = (self.chain(name), self.0.join("beside.csv"));
        fs::write(&beside, format!("{HEADER}{}", quotes(name, day, vol))).unwrap();
        fs::rename(beside, file).unwrap();
    }

    fn chain(&self, name: &str) -> PathBuf {
        self.0.join(format!("market/chains/{}.csv", name.to_lowercase()))
    }

    fn state(&self, name: &str) -> PathBuf {
        self.0.join("state").join(name)
    }

    fn start(&self) -> Daemon {
        let feed = format!("dir:{}", self.0.join("market").display());
        Daemon::start(&feed, &["--refresh", "0.1", "--state-dir", self.0.join("state").to_str().unwrap()])
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn quotes(name: &str, day: u32, vol: f64) -> String {
    let (spot, t) = (100.0, (f64::from(30 - day) + 20.0) / 365.0);
    let mut rows = String::new();
    for strike in (85..=115).step_by(5) {
        let (k, sd) = (f64::from(strike), vol * t.sqrt());
        let d1 = (spot / k).ln() / sd + 0.5 * sd;
        for (right, phi) in [("call", 1.0), ("put", -1.0)] {
            let value = phi * (spot * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
            let (bid, ask) = ((value - 0.02).max(0.0), value + 0.02);
            rows += &format!(
                "2024-11-{day}T15:59:00-05:00,{name},{spot},{name},2024-12-20,{right},{strike},{bid:.3},{ask:.3},9,9\n"
            );
        }
    }
    rows
}

/// A field of every row of a name.
fn shown(daemon: &Daemon, name: &str, field: &str) -> Vec<Value> {
    let rows = daemon.rows(&format!("/l1/greeks?underlying={name}&greeks=core,extra"));
    rows.iter().map(|row| row[field].clone()).collect()
}

fn wait_for(mut holds: impl FnMut() -> bool, what: &str) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn stop(daemon: Daemon) -> String {
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    said
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_recorded_folder_never_shows_its_own_volatilities_as_those_before() {
    let folders = Folders::new("own");
    folders.quote("ACME", 20, 0.25);
    for _ in 0..2 {
        let daemon = folders.start();
        assert!(shown(&daemon, "ACME", "svc_vol").iter().all(Value::is_number));
        assert!(shown(&daemon, "ACME", "prev_vol").iter().all(Value::is_null));
        stop(daemon);
        assert!(text(&folders.state("vols-2024-11-20.csv")).contains("ACME,2024-12-20,100000,call,0.2"));
    }
    let kept = fs::read_dir(folders.state("")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("vols-")
    });
    assert_eq!(kept.count(), 1, "the session is that of the quotes");
}

#[test]
fn a_session_that_ends_while_the_daemon_runs_is_kept_and_a_restart_shows_it_again() {
    let folders = Folders::new("ends");
    folders.quote("ACME", 20, 0.25);
    let daemon = folders.start();
    let before = shown(&daemon, "ACME", "svc_vol");
    folders.quote("ACME", 21, 0.35);
    wait_for(|| shown(&daemon, "ACME", "prev_vol") == before, "the next session shows the one before");
    wait_for(|| folders.state("vols-2024-11-20.csv").exists(), "the session is kept while the daemon runs");
    stop(daemon);
    assert!(folders.state("vols-2024-11-21.csv").exists());
    for _ in 0..2 {
        let daemon = folders.start();
        assert_eq!(shown(&daemon, "ACME", "prev_vol"), before);
        stop(daemon);
    }
}

#[test]
fn a_name_that_is_gone_for_a_while_comes_back_with_what_it_had() {
    let folders = Folders::new("gone");
    folders.quote("ACME", 20, 0.25);
    folders.quote("GME", 20, 0.5);
    let daemon = folders.start();
    let before = shown(&daemon, "ACME", "svc_vol");
    folders.quote("ACME", 21, 0.35);
    wait_for(|| shown(&daemon, "ACME", "prev_vol") == before, "the next session");
    let away = folders.0.join("away.csv");
    fs::rename(folders.chain("ACME"), &away).unwrap();
    wait_for(|| shown(&daemon, "ACME", "prev_vol").is_empty(), "the name is gone");
    fs::rename(&away, folders.chain("ACME")).unwrap();
    wait_for(|| !shown(&daemon, "ACME", "prev_vol").is_empty(), "the name is back");
    assert_eq!(shown(&daemon, "ACME", "prev_vol"), before);
    stop(daemon);
}

#[test]
fn a_later_smaller_market_of_the_session_takes_no_name_from_what_was_kept() {
    let folders = Folders::new("smaller");
    folders.quote("ACME", 20, 0.25);
    folders.quote("GME", 20, 0.5);
    stop(folders.start());
    let file = folders.state("vols-2024-11-20.csv");
    assert!(text(&file).contains("\nGME,"), "{}", text(&file));
    fs::remove_file(folders.chain("GME")).unwrap();
    folders.quote("ACME", 20, 0.35);
    stop(folders.start());
    assert!(
        text(&file).contains("\nGME,2024-12-20,100000,call,0.5")
            || text(&file).contains("\nGME,2024-12-20,100000,call,0.4")
    );
    assert!(text(&file).contains("ACME,2024-12-20,100000,call,0.3"), "{}", text(&file));
}

#[test]
fn a_damaged_file_is_moved_aside_and_said() {
    let folders = Folders::new("damaged");
    folders.quote("ACME", 20, 0.25);
    fs::write(
        folders.state("vols-2024-11-18.csv"),
        "root,expiry,strike,right,svc_vol\nACME,2024-12-20,100000,call,0.125\n",
    )
    .unwrap();
    fs::write(folders.state("vols-2024-11-19.csv"), b"\0\0\0").unwrap();
    let daemon = folders.start();
    let known = shown(&daemon, "ACME", "prev_vol").into_iter().filter(|vol| !vol.is_null()).collect::<Vec<_>>();
    assert_eq!(known, [0.125], "the session before that one is used");
    let said = stop(daemon);
    assert!(said.contains("vols-2024-11-19.csv is damaged"), "{said}");
    assert!(folders.state("vols-2024-11-19.csv.bad").exists() && !folders.state("vols-2024-11-19.csv").exists());
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let daemon = Daemon::start("sim", &["--now", "2024-11-20T15:42:00-05:00", "--threads", "2"]);
    // streams that nobody reads, which a first signal waits for
    let names = "SPX,XSP,NDX,RUT,VIX,SPY,QQQ,IWM,AAPL,MSFT,NVDA,AMZN,TSLA,META,GOOGL,AMD,NFLX";
    let mut unread: Vec<Client> = (0..4).map(|_| Client::new(daemon.address)).collect();
    for client in &mut unread {
        client.send(get(&format!("/l1/greeks?underlying={names}&greeks=all")));
        assert_eq!(client.head().0, 200);
    }
    let mut daemon = daemon;
    let signal =
        |pid: u32| Command::new("kill").args(["-TERM", &pid.to_string()]).stdout(Stdio::null()).status().unwrap();
    signal(daemon.child.id());
    wait_for(|| std::net::TcpStream::connect(daemon.address).is_err(), "the port is closed");
    signal(daemon.child.id());
    assert_eq!(daemon.child.wait().unwrap().code(), Some(130));
    drop(unread);
}
