//! The service behind our server, may_minihttp and hyper, each in a process of its own, under the same clients in one
//! run: requests a second, processor time of the server per request and per gigabyte, growth of its memory.
//!
//! `cargo run --release -p greeksd-benches --example load`
#![allow(clippy::print_stdout, reason = "a report")]

#[path = "../benches/peers/mod.rs"]
mod peers;

use greeksd_benches::client::Client;
use greeksd_benches::market::{CHAIN, ROW, Sim, service};
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SERVERS: [&str; 3] = ["greeksd", "may_minihttp", "hyper"];
const RUN: Duration = Duration::from_secs(2);

fn main() -> io::Result<()> {
    if let Some(name) = std::env::args().nth(1) {
        return serve(&name);
    }
    println!("server         clients  what      req/s  us cpu/req   GB/s  s cpu/GB  memory before, most (MB)");
    for (clients, what, target) in [(1, "small", ROW), (16, "small", ROW), (1, "chain", CHAIN), (64, "chain", CHAIN)] {
        for name in SERVERS {
            let mut server = Running::start(name)?;
            Client::connect(server.address)?.get(target)?;
            let (cpu, memory, began) = (server.cpu()?, server.memory("VmRSS")?, Instant::now());
            let bytes = drive(server.address, clients, target)?;
            let (took, cpu) = (began.elapsed().as_secs_f64(), server.cpu()? - cpu);
            let (requests, gigabytes) = (bytes.len() as f64, bytes.iter().sum::<u64>() as f64 / 1e9);
            println!(
                "{name:14} {clients:7}  {what:6} {:8.0} {:11.1} {:6.2} {:9.2}  {memory:6.1} {:6.1}",
                requests / took,
                1e6 * cpu / requests,
                gigabytes / took,
                cpu / gigabytes,
                server.memory("VmHWM")?,
            );
        }
    }
    Ok(())
}

/// The sizes of the answers that some clients got side by side.
fn drive(address: SocketAddr, clients: usize, target: &str) -> io::Result<Vec<u64>> {
    let until = Instant::now() + RUN;
    let one = || {
        let (mut client, mut sizes) = (Client::connect(address)?, Vec::new());
        while Instant::now() < until {
            sizes.push(client.get(target)?);
        }
        Ok(sizes)
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..clients).map(|_| scope.spawn(one)).collect();
        let all = running.into_iter().map(|thread| thread.join().expect("a client"));
        all.collect::<io::Result<Vec<Vec<u64>>>>().map(|sizes| sizes.concat())
    })
}

/// Serves until standard input ends.
fn serve(name: &str) -> io::Result<()> {
    let (app, metrics) = service(Sim::of(&["SPX"]).snapshot());
    let mut own = None;
    let address = match name {
        "may_minihttp" => peers::minihttp::start(Arc::new(app)),
        "hyper" => peers::hyper_tokio::start(Arc::new(app)),
        _ => own.insert(peers::own(app, metrics)).addresses()[0],
    };
    println!("{address}");
    io::stdin().lines().for_each(drop);
    std::process::exit(0)
}

/// A server in a process of its own, ended when dropped.
struct Running {
    child: Child,
    address: SocketAddr,
}

impl Running {
    fn start(name: &str) -> io::Result<Self> {
        let (own, piped) = (std::env::current_exe()?, Stdio::piped);
        let mut child = Command::new(own).arg(name).stdin(piped()).stdout(piped()).spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.as_mut() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address = line.trim().parse().map_err(|_| io::Error::other(format!("{name} did not start")))?;
        Ok(Self { child, address })
    }

    fn read(&self, file: &str) -> io::Result<String> {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))
    }

    /// Seconds of processor time, user and system, in steps of a hundredth.
    fn cpu(&self) -> io::Result<f64> {
        let text = self.read("stat")?;
        let after_name = text.rsplit(')').next().unwrap_or_default();
        let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok());
        Ok(ticks.sum::<f64>() / 100.0)
    }

    /// Megabytes of a line of `status`.
    fn memory(&mut self, line: &str) -> io::Result<f64> {
        let text = self.read("status")?;
        let value = text.lines().find_map(|l| l.strip_prefix(line)?.split_whitespace().nth(1));
        Ok(value.and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
