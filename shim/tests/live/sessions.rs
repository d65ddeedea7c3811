//! `prev_vol`, and the saved volatilities of sessions, over starts, changes of session and stops; and how the program
//! ends.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, HEADER, norm_cdf};
use crate::support::{Client, get};
use kernel::calendar::Calendar;
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

/// Quotes of a name at the close of a day, of one expiry before thirty days and one after.
fn two_expiries(name: &str, day: u32, spot: f64, vol: f64) -> String {
    let mut rows = HEADER.to_owned();
    for (expiry, days) in [("2024-12-06", 36.0), ("2025-01-17", 78.0)] {
        let t = (days - f64::from(day)) / 365.0;
        for strike in (80..=120).step_by(4) {
            let (k, sd) = (f64::from(strike), vol * t.sqrt());
            let d1 = (spot / k).ln() / sd + 0.5 * sd;
            for (right, phi) in [("call", 1.0), ("put", -1.0)] {
                let value = phi * (spot * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
                let (bid, ask) = ((value - 0.01).max(0.0), value + 0.01);
                rows += &format!(
                    "2024-11-{day}T16:00:00-05:00,{name},{spot},{name},{expiry},{right},{strike},{bid:.4},{ask:.4},9,9\n"
                );
            }
        }
    }
    rows
}

/// Prices and volatilities of the sessions before 20 November 2024, the last one last.
fn write_closes(folders: &Folders, sessions: usize) -> Vec<(f64, f64)> {
    let calendar = Calendar::embedded();
    let mut day = jiff::civil::date(2024, 11, 20);
    let mut closes: Vec<(f64, f64)> = Vec::new();
    for n in 0..sessions {
        day = calendar.previous_session(day);
        let x = ((n * 37) % 101) as f64;
        let (price, vol) = (95.0 + 0.1 * x, 0.15 + 0.002 * x);
        let text = format!("{CLOSES}ACME,{day}T21:00:00Z,{price:?},{vol:?},,,,none,,,,,\n");
        fs::write(folders.state(&format!("closes-{day}.csv")), text).unwrap();
        closes.push((price, vol));
    }
    closes.reverse();
    closes
}

const CLOSES: &str = "underlying,valued_at,close,iv30d,ex_event_iv30d,rr25_30d,skew25_30d,event_state,event_from,\
                      event_to,event_move,ex_date,dividend\n";

fn metrics(daemon: &Daemon) -> Value {
    daemon.rows("/l1/metrics?underlying=ACME").remove(0)
}

fn near(row: &Value, name: &str, wanted: f64) {
    let found = Daemon::number(row, name);
    assert!((found - wanted).abs() < 1e-5, "{name} of {row}: {wanted}");
}

#[test]
fn a_name_is_ranked_among_its_closes_and_leaves_its_own() {
    let folders = Folders::new("closes");
    let before = write_closes(&folders, 252);
    let put = |day: u32, spot: f64, vol: f64| {
        fs::write(folders.0.join("beside.csv"), two_expiries("ACME", day, spot, vol)).unwrap();
        fs::rename(folders.0.join("beside.csv"), folders.chain("ACME")).unwrap();
    };
    put(20, 100.0, 0.25);
    let mut daemon = folders.start();
    daemon.wait("full accuracy", |health| health["preliminary"] == 0);
    let check = |row: &Value, closes: &[(f64, f64)]| {
        let vol = Daemon::number(row, "iv30d");
        let year: Vec<f64> = closes[closes.len() - 252..].iter().map(|of| of.1).collect();
        for (end, vols) in [("1y", &year[..]), ("1m", &year[231..])] {
            let (least, most) = vols.iter().fold((1.0_f64, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
            near(row, &format!("iv_rank_{end}"), (vol - least) / (most - least));
            let below = vols.iter().filter(|x| **x < vol - 1e-6).count() as f64;
            near(row, &format!("iv_pctl_{end}"), below / vols.len() as f64);
        }
        let squares: Vec<f64> = closes.windows(2).map(|pair| (pair[1].0 / pair[0].0).ln().powi(2)).collect();
        for n in [10, 20, 60, 252] {
            let realised = (252.0 / n as f64 * squares[squares.len() - n..].iter().sum::<f64>()).sqrt();
            near(row, &format!("rv{n}"), realised);
            near(row, &format!("rv{n}_ex"), realised);
            if n == 20 {
                near(row, "vrp30", vol * vol - realised * realised);
            }
        }
    };
    let row = metrics(&daemon);
    let vol = Daemon::number(&row, "iv30d");
    assert!((vol - 0.25).abs() < 0.02 && row["term_slope"].is_null(), "{row}");
    // it is valued at the close: its own is among them
    let mut closes = before.clone();
    closes.push((100.0, vol));
    check(&row, &closes);
    // 23 October, an hour after the close, to 20 November: 20 sessions and eight dates without one; a decision, prices
    // and payrolls count for three tenths
    let rv20 = Daemon::number(&row, "rv20");
    let days = 20.0 + 8.0 * 0.075 + 0.3 * (1.3 + 0.5 + 0.6) - 0.4 / 17.5;
    near(&row, "rv_vt", (260.475 / days * rv20 * rv20 * 20.0 / 252.0).sqrt());
    let hit = daemon.get("/l1/metrics?underlying=ACME&sort=-iv_rank_1y&format=prometheus").1;
    assert!(hit.contains("greeksd_iv_rank_1y{underlying=\"ACME\"} ") && hit.contains("greeksd_rv252{"), "{hit}");
    stop(daemon);
    let file = text(&folders.state("closes-2024-11-20.csv"));
    let line = file.lines().find(|line| line.starts_with("ACME,2024-11-20T21:00:00Z,100,0.2")).expect(&file);
    assert_eq!(line.split(',').nth(7), Some("unknown"), "two expiries show no event");
    // a restart shows the same, and the next session counts the one before
    let daemon = folders.start();
    wait_for(|| metrics(&daemon)["rv252"] == row["rv252"], "the same closes");
    near(&metrics(&daemon), "iv_rank_1y", Daemon::number(&row, "iv_rank_1y"));
    put(21, 103.0, 0.3);
    wait_for(|| metrics(&daemon)["und_price"] == 103.0, "the next session");
    let next = metrics(&daemon);
    let closes = [&closes[..], &[(103.0, Daemon::number(&next, "iv30d"))]].concat();
    let squares: Vec<f64> = closes.windows(2).map(|pair| (pair[1].0 / pair[0].0).ln().powi(2)).collect();
    near(&next, "rv10", (25.2 * squares[squares.len() - 10..].iter().sum::<f64>()).sqrt());
    // whether the session of the 21st had an event is not known
    assert!(next["rv10_ex"].is_null() && next["missing"].to_string().contains("rv10_ex:event_unknown"), "{next}");
    stop(daemon);
    assert!(text(&folders.state("closes-2024-11-21.csv")).contains("ACME,2024-11-21T21:00:00Z,103,0."));
}

#[test]
fn splits_gaps_and_damage_are_null_with_a_reason() {
    let folders = Folders::new("splits");
    let before = write_closes(&folders, 30);
    let calendar = Calendar::embedded();
    let back = |n: usize| {
        let day = (0..n).fold(jiff::civil::date(2024, 11, 20), |day, _| calendar.previous_session(day));
        folders.state(&format!("closes-{day}.csv"))
    };
    // fifteen sessions ago there is none, and five sessions ago the price is half of what it was
    fs::remove_file(back(15)).unwrap();
    let price = before[before.len() - 5].0;
    let halved = text(&back(5)).replace(&format!(",{price:?},"), &format!(",{:?},", price / 2.0));
    fs::write(back(5), halved).unwrap();
    fs::write(folders.0.join("market/chains/acme.csv"), two_expiries("ACME", 20, 100.0, 0.25)).unwrap();
    let shown = || {
        let daemon = folders.start();
        let row = metrics(&daemon);
        (row["missing"].to_string(), row, stop(daemon))
    };
    let (missing, row, _) = shown();
    assert!(row["rv10"].is_null() && missing.contains("rv10:price_jump"), "{row}");
    assert!(missing.contains("vrp30:price_jump") && missing.contains("iv_rank_1y:too_few_closes"), "{row}");
    assert!(row["iv_rank_1m"].is_number() && row["iv_pctl_1m"].is_number(), "{row}");
    // without the split the gap is reached
    fs::write(back(5), text(&back(5)).replace(&format!(",{:?},", price / 2.0), &format!(",{price:?},"))).unwrap();
    fs::write(back(3), "\0\0\0").unwrap();
    let (missing, row, said) = shown();
    assert!(row["rv10"].is_null() && missing.contains("rv10:too_few_closes"), "{row}");
    let damaged = back(3).file_name().unwrap().to_string_lossy().into_owned();
    assert!(said.contains(&format!("{damaged} is damaged")), "{said}");
    assert!(folders.state(&format!("{damaged}.bad")).exists() && !back(3).exists());
}
