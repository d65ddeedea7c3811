//! The program as its user runs it: the embedded market over HTTP, a folder of chains with bad rows, a second instance,
//! a signal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use serde_json::Value;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::Client;

/// A running daemon; ended with the test, by its own process id.
struct Daemon {
    child: Child,
    address: SocketAddr,
}

fn command(feed: &str, address: SocketAddr, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    command.args(["serve", "--feed", feed, "--listen", &address.to_string()]).args(more);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.current_dir(std::env::temp_dir());
    command
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl Daemon {
    fn start(feed: &str, more: &[&str]) -> Self {
        let address = free_address();
        let child = command(feed, address, more).spawn().unwrap();
        let mut daemon = Self { child, address };
        let began = Instant::now();
        while daemon.health().is_none_or(|h| h["status"] == "starting") {
            assert!(began.elapsed() < Duration::from_secs(300), "no whole market after five minutes");
            assert_eq!(daemon.child.try_wait().unwrap(), None, "the daemon ended");
            std::thread::sleep(Duration::from_millis(100));
        }
        daemon
    }

    fn get(&self, target: &str) -> (u16, String) {
        let response = Client::new(self.address).get(target);
        (response.status, response.text().to_owned())
    }

    fn health(&self) -> Option<Value> {
        std::net::TcpStream::connect(self.address).ok()?;
        serde_json::from_str(&self.get("/health").1).ok()
    }

    fn rows(&self, target: &str) -> Vec<Value> {
        let (status, body) = self.get(target);
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Asks it to stop, and says how it ended and what it had printed.
    fn stop(mut self) -> (Option<i32>, String) {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        let ended = self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (ended.code(), said)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    fn number(row: &Value, name: &str) -> f64 {
        row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"))
    }
}

fn norm_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Black-76 from nothing but the row's own fields: (name, value, size that its rounding to six decimals is held against).
fn black76(row: &Value) -> Vec<(&'static str, f64)> {
    let of = |name| Daemon::number(row, name);
    let (f, k, t, sigma) = (of("fwd_price"), of("strike"), of("days") / 365.0, of("svc_vol"));
    let (r, b, phi) = (of("disc_rate"), of("borr_rate"), if row["right"] == "call" { 1.0 } else { -1.0 });
    let sd = sigma * t.sqrt();
    let d1 = (f / k).ln() / sd + 0.5 * sd;
    let (df, carry) = ((-r * t).exp(), (-b * t).exp());
    let (n1, n2) = (norm_cdf(phi * d1), norm_cdf(phi * (d1 - sd)));
    let density = (-0.5 * d1 * d1).exp() / (2.0 * std::f64::consts::PI).sqrt();
    // the spot that forward, rate and borrow imply
    let s = f * (-(r - b) * t).exp();
    let value = df * phi * (f * n1 - k * n2);
    let delta = phi * carry * n1;
    let gamma = carry * density / (s * sd);
    let vega = s * carry * density * t.sqrt();
    let theta = r * value - (r - b) * s * delta - 0.5 * sigma * sigma * s * s * gamma;
    vec![
        ("svc_theo", value),
        ("delta", delta),
        ("gamma", gamma),
        ("vega", vega / 100.0),
        ("theta", theta / 365.0),
        ("rho", phi * k * t * df * n2 / 100.0),
    ]
}

#[test]
fn european_rows_reproduce_black_76_from_their_own_fields() {
    let daemon = Daemon::start("sim", &["--now", "2026-11-20T15:42:00-05:00", "--threads", "2"]);
    let health = daemon.health().unwrap();
    assert_eq!((&health["simulated"], &health["pending"]), (&Value::Bool(true), &Value::from(0)));
    assert_eq!(health["rough"], 0, "a small market is at full accuracy at once");
    assert!((20_000..60_000).contains(&health["contracts"].as_u64().unwrap()), "{health}");
    let rows = daemon.rows("/l1/greeks?underlying=SPX,XSP&greeks=all&min_days=1");
    assert!(rows.len() > 5_000, "{} rows", rows.len());
    for row in &rows {
        assert_eq!(row["ex_style"], "european");
        for (name, wanted) in black76(row) {
            let got = Daemon::number(row, name);
            // the row's inputs are rounded to six decimals too: volatility moves a price, r and b move theta by S·Δ
            let rounding = match name {
                "svc_theo" => 2e-6 + 5e-5 * Daemon::number(row, "vega"),
                "theta" => 2e-6 + 1e-6 * Daemon::number(row, "und_price") / 365.0,
                _ => 1e-6,
            };
            let bound = 1e-4 * wanted.abs() + rounding;
            assert!((got - wanted).abs() <= bound, "{name}: {got} but Black-76 gives {wanted}\n{row}");
        }
    }
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("simulated") && said.contains("contracts"), "{said}");
    assert_eq!(said.matches("serving http://").count(), 1, "one banner: {said}");
}

const HEADER: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size\n";

fn folder(name: &str, rows: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("greeksd-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("chains")).unwrap();
    std::fs::write(folder.join("chains/acme.csv"), format!("{HEADER}{rows}")).unwrap();
    std::fs::write(folder.join("rates.csv"), "date,tenor_days,rate\n2026-11-20,365,0.04\n").unwrap();
    folder
}

/// A chain of 100 ± 20 priced at 25 % volatility and no carry.
fn chain(spot: f64) -> String {
    let mut rows = String::new();
    for strike in (80..=120).step_by(5) {
        let (k, sd) = (f64::from(strike), 0.25 * (28.0f64 / 365.0).sqrt());
        let fwd = spot * (0.04 * 28.0 / 365.0f64).exp();
        let d1 = (fwd / k).ln() / sd + 0.5 * sd;
        let df = (-0.04 * 28.0 / 365.0f64).exp();
        for (right, phi) in [("call", 1.0), ("put", -1.0)] {
            let value = df * phi * (fwd * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
            let (bid, ask) = ((value - 0.03).max(0.0), value + 0.03);
            let start = format!("2026-11-20T16:00:00-05:00,ACME,{spot},ACME,2026-12-18,{right},{strike}");
            rows += &format!("{start},{bid:.2},{ask:.2},10,10\n");
        }
    }
    rows
}

fn remove(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
}

/// Writes the chain at another spot, and waits until it is served.
fn follow(daemon: &Daemon, folder: &Path, spot: f64, more: &str) {
    std::fs::write(folder.join("chains/acme.csv"), format!("{HEADER}{}{more}", chain(spot))).unwrap();
    let began = Instant::now();
    let shown = || daemon.rows("/l1/greeks?underlying=ACME").first().map(|row| Daemon::number(row, "und_price"));
    while shown().is_none_or(|shown| (shown - spot).abs() > 1e-9) {
        assert!(began.elapsed() < Duration::from_secs(60), "the changed file was not read");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_reader_of_the_log_that_has_left_ends_nothing() {
    let folder = folder("left", &chain(100.0));
    let mut daemon = Daemon::start(&format!("dir:{}", folder.display()), &["--refresh", "0.1"]);
    drop(daemon.child.stderr.take());
    let bad = "2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-12-18,call,banana,1,2,,\n";
    follow(&daemon, &folder, 101.0, bad);
    follow(&daemon, &folder, 102.0, "");
    Command::new("kill").args(["-TERM", &daemon.child.id().to_string()]).status().unwrap();
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
    remove(&folder);
}

#[test]
fn a_reader_of_the_log_that_does_not_read_holds_up_nothing() {
    let folder = folder("unread", &chain(100.0));
    // 400 bytes of path a line: what twenty rounds say is more than any pipe holds
    let long = folder.join("x".repeat(200)).join("y".repeat(200));
    std::fs::create_dir_all(long.join("chains")).unwrap();
    std::fs::write(long.join("chains/acme.csv"), format!("{HEADER}{}", chain(100.0))).unwrap();
    let daemon = Daemon::start(&format!("dir:{}", long.display()), &["--refresh", "0.1"]);
    let bad = "2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-12-18,call,banana,1,2,,\n".repeat(100);
    for round in 1..=20 {
        follow(&daemon, &long, 100.0 + f64::from(round) / 4.0, &bad);
    }
    let (status, metrics) = daemon.get("/metrics");
    assert!(status == 200 && metrics.contains("greeksd_log_lines_dropped_total"), "{metrics}");
    Command::new("kill").args(["-TERM", &daemon.child.id().to_string()]).status().unwrap();
    let mut daemon = daemon;
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0), "nobody waits for the log");
    remove(&folder);
}

#[test]
fn a_folder_with_bad_rows_is_served_and_followed() {
    let bad = "2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-12-18,call,banana,1,2,,\n\
               2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-02-30,call,100,1,2,,\n\
               2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-12-18,neither,100,1,2,,\n";
    let folder = folder("bad", &(chain(100.0) + bad));
    let daemon = Daemon::start(&format!("dir:{}", folder.display()), &["--refresh", "0.1"]);
    let rows = daemon.rows("/l1/greeks?underlying=ACME&greeks=core,chain");
    assert_eq!(rows.len(), 18);
    for row in rows.iter().filter(|row| (90.0..=110.0).contains(&Daemon::number(row, "strike"))) {
        assert!((Daemon::number(row, "svc_vol") - 0.25).abs() < 0.01, "{row}");
    }
    let dropped = &daemon.health().unwrap()["quotes"]["dropped"];
    for reason in ["not_a_number", "not_a_date", "not_a_right"] {
        assert_eq!(dropped[reason], 1, "{dropped}");
    }

    follow(&daemon, &folder, 103.0, "");

    std::fs::write(folder.join("chains/acme.csv"), b"\xff\xfe not a chain").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(daemon.get("/health").0, 200);
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("acme.csv:20: strike: not_a_number"), "{said}");
    remove(&folder);
}

#[test]
fn a_second_instance_on_the_port_fails_clearly() {
    let folder = folder("second", &chain(100.0));
    let feed = format!("dir:{}", folder.display());
    let first = Daemon::start(&feed, &[]);
    let second = command(&feed, first.address, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success());
    assert!(said.contains(&first.address.to_string()) && said.contains("in use"), "{said}");
    assert_eq!(first.stop().0, Some(0));
    remove(&folder);
}

#[test]
fn a_feed_that_is_not_there_is_an_error_with_its_name() {
    for (feed, wanted) in [("dir:/no/such/folder", "/no/such/folder"), ("nonsense", "want sim"), ("sim:seed=x", "seed")]
    {
        let out = command(feed, free_address(), &[]).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && said.contains(wanted), "{feed}: {said}");
    }
}
