//! The program as its user runs it, and a folder of chains for it.

use super::Client;
use serde_json::Value;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A running daemon; ended with the test, by its own process id.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

pub(crate) fn command(feed: &str, address: SocketAddr, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    command.args(["serve", "--feed", feed, "--listen", &address.to_string()]).args(more);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.current_dir(std::env::temp_dir());
    command
}

/// An address that nobody listens on. Not one of those that the system hands to clients: until the daemon listens there
/// a client that tries could be given the port itself, and reach itself; or another test's could be given it.
pub(crate) fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let n = std::process::id().wrapping_mul(131).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let address = SocketAddr::from(([127, 0, 0, 1], 10_000 + (n % 20_000) as u16));
        // a listener to try it with would live on in a process that another thread starts meanwhile, and reset the
        // first connection to the daemon
        if TcpStream::connect(address).is_err() {
            return address;
        }
    }
}

impl Daemon {
    pub(crate) fn start(feed: &str, more: &[&str]) -> Self {
        let address = free_address();
        Self::spawn(command(feed, address, more), address)
    }

    /// As [`Daemon::start`], where it may have only so many files and sockets open.
    pub(crate) fn start_within(descriptors: usize, feed: &str, more: &[&str]) -> Self {
        let address = free_address();
        let daemon = command(feed, address, more);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"")]);
        shell.arg(daemon.get_program()).args(daemon.get_args());
        shell.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        shell.current_dir(std::env::temp_dir());
        Self::spawn(shell, address)
    }

    fn spawn(command: Command, address: SocketAddr) -> Self {
        let mut daemon = Self::launch(command, address);
        daemon.wait("no whole market", |health| health["status"] != "starting");
        daemon
    }

    /// Starts the program; there may be no market yet.
    pub(crate) fn launch(mut command: Command, address: SocketAddr) -> Self {
        let child = command.spawn().unwrap();
        let mut daemon = Self { child, address };
        daemon.wait("no answer", |_| true);
        daemon
    }

    /// Waits until `/health` is as wanted; if the daemon has ended, fails with its output.
    pub(crate) fn wait(&mut self, otherwise: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let health = match catch_unwind(AssertUnwindSafe(|| self.health())) {
                Ok(health) => health,
                Err(broken) => {
                    // a process that ends resets its connections a moment before it can be waited for
                    std::thread::sleep(Duration::from_secs(1));
                    self.assert_runs();
                    resume_unwind(broken);
                }
            };
            if let Some(health) = health.as_ref().filter(|health| is_wanted(health)) {
                return health.clone();
            }
            let late = began.elapsed() > Duration::from_secs(300);
            assert!(!late, "{otherwise} after five minutes: {}", health.unwrap_or_default());
            self.assert_runs();
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn assert_runs(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            let mut printed = String::new();
            self.child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut printed));
            panic!("the daemon ended with {status}: {printed}");
        }
    }

    pub(crate) fn get(&self, target: &str) -> (u16, String) {
        let response = Client::new(self.address).get(target);
        (response.status, response.text().to_owned())
    }

    pub(crate) fn health(&self) -> Option<Value> {
        TcpStream::connect(self.address).ok()?;
        serde_json::from_str(&self.get("/health").1).ok()
    }

    pub(crate) fn rows(&self, target: &str) -> Vec<Value> {
        let (status, body) = self.get(target);
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Requests the stop; returns the exit code and the output.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
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
    pub(crate) fn number(row: &Value, name: &str) -> f64 {
        row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"))
    }
}

pub(crate) fn norm_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

pub(crate) const HEADER: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size\n";

pub(crate) fn folder(name: &str, rows: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("greeksd-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("chains")).unwrap();
    std::fs::write(folder.join("chains/acme.csv"), format!("{HEADER}{rows}")).unwrap();
    std::fs::write(folder.join("rates.csv"), "date,tenor_days,rate\n2026-11-20,365,0.04\n").unwrap();
    folder
}

/// A chain of 100 ± 20 priced at 25 % volatility and no carry.
pub(crate) fn chain(spot: f64) -> String {
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

pub(crate) fn remove(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
}
