//! A market that is pushed to a daemon: the chains of the simulated market as lines over TCP, then a steady stream of
//! changed quotes. Some names are changed together with their price, and asked for until the new price is served: that
//! is the lag. At the end every one of these prices must be served, and no line refused.
//!
//! `cargo run --release -p greeksd-benches --example push -- DAEMON [share=1] [rate=200000] [seconds=60]
//! [patience=600]`, where DAEMON is the program. It is started with a port of its own, and ended.
#![allow(clippy::print_stdout, reason = "a report")]

use engine::store::book::Book;
use greeksd_benches::client::Client;
use greeksd_benches::market::{Sim, passes};
use jiff::Timestamp;
use kernel::contract::ContractKey;
use kernel::contract::Symbol;
use kernel::contract::osi::OSI_LEN;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Names whose lag is measured: one is asked for at a time.
const PROBES: usize = 200;
/// How often quotes are written.
const TICK: Duration = Duration::from_millis(5);

fn main() -> io::Result<()> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: f64| {
        let given = options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
        given.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let daemon = options.first().ok_or_else(|| io::Error::other("want the path of the daemon"))?;
    let (share, rate, seconds) = (number("share", 1.0), number("rate", 200_000.0), number("seconds", 60.0));
    let patience = Duration::from_secs_f64(number("patience", 600.0));
    let books = Sim::full(share).books(&passes());
    let mut books: Vec<Book> = books;
    // quotes are sent as of now, when the simulated day may be over
    let now = Timestamp::now();
    books.iter_mut().for_each(|book| _ = book.expire(now));
    books.retain(|book| book.has_spot() && !book.slices.is_empty());
    let contracts: usize = books.iter().map(Book::rows).sum();
    let running = Running::start(daemon)?;
    println!("{} names, {contracts} contracts, {rate} quotes a second for {seconds} s", books.len());
    let began = Instant::now();
    let mut pusher = Pusher::connect(running.lines)?;
    for book in &books {
        pusher.chain(book)?;
    }
    pusher.flush()?;
    println!("first chains sent after {:.1} s: {:.0} MB", began.elapsed().as_secs_f64(), pusher.bytes as f64 / 1e6);
    let wanted = books.len() as f64;
    let is_whole =
        |health: &str| number_of(health, "\"underlyings\":") >= wanted && number_of(health, "\"pending\":") < 1.0;
    running.wait(patience, is_whole)?;
    println!("all names served after {:.1} s; {}", began.elapsed().as_secs_f64(), running.memory()?);
    let warm = running.wait(patience, |health| number_of(health, "\"preliminary\":") < 1.0).is_ok();
    let how = if warm { "at full accuracy" } else { "not yet at full accuracy, which goes on beside the stream" };
    println!("{how} after {:.1} s; {}", began.elapsed().as_secs_f64(), running.memory()?);
    let report = stream(&mut pusher, &books, &running, rate, Duration::from_secs_f64(seconds))?;
    report.print();
    running.check(&report.last, &pusher)?;
    println!("{}", running.memory()?);
    Ok(())
}

/// What a run has measured.
struct StreamReport {
    sent: u64,
    took: Duration,
    lags: Vec<Duration>,
    /// The last price of each probed name.
    last: BTreeMap<Symbol, f64>,
}

impl StreamReport {
    fn print(&self) {
        let mut lags: Vec<f64> = self.lags.iter().map(Duration::as_secs_f64).collect();
        lags.sort_by(f64::total_cmp);
        let at = |share: f64| lags.get(((lags.len() as f64 * share) as usize).min(lags.len().saturating_sub(1)));
        println!(
            "{} quotes in {:.1} s: {:.0} a second; lag of {} changed names p50 {:.3?} s, p99 {:.3?} s, longest {:.3?} s",
            self.sent,
            self.took.as_secs_f64(),
            self.sent as f64 / self.took.as_secs_f64(),
            lags.len(),
            at(0.5).copied().unwrap_or(f64::NAN),
            at(0.99).copied().unwrap_or(f64::NAN),
            lags.last().copied().unwrap_or(f64::NAN),
        );
    }
}

/// Sends quotes at a rate from this thread, and asks for changed names on another.
fn stream(
    pusher: &mut Pusher,
    books: &[Book],
    running: &Running,
    rate: f64,
    time: Duration,
) -> io::Result<StreamReport> {
    let (ask, asked) = std::sync::mpsc::channel::<(Symbol, f64, Instant)>();
    let (answer, answered) = std::sync::mpsc::channel::<Duration>();
    let address = running.http;
    let asking = std::thread::spawn(move || -> io::Result<()> {
        let mut client = Client::connect(address)?;
        for (name, price, since) in asked {
            while served(&mut client, name)?.is_none_or(|shown| (shown - price).abs() > 1e-6) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if answer.send(since.elapsed()).is_err() {
                return Ok(());
            }
        }
        Ok(())
    });
    let (mut report, began) =
        (StreamReport { sent: 0, took: Duration::ZERO, lags: Vec::new(), last: BTreeMap::new() }, Instant::now());
    let mut draw = 88_172_645_463_325_252_u64;
    let mut next = move |below: usize| {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        (draw % below.max(1) as u64) as usize
    };
    let (mut waits, mut probe) = (false, 0);
    while began.elapsed() < time {
        let due = (began.elapsed().as_secs_f64() * rate) as u64;
        while report.sent < due {
            let book = &books[next(books.len())];
            let slice = &book.slices[next(book.slices.len())];
            let row = next(slice.rows());
            pusher.quote(book, slice, row, 0.01 * next(3) as f64)?;
            report.sent += 1;
        }
        if !waits {
            probe = (probe + 1) % PROBES.min(books.len());
            let book = &books[probe * (books.len() / PROBES.min(books.len()))];
            let price = (book.spot * (1.0 + 1e-4 * (1 + next(9)) as f64) * 1e4).round() / 1e4;
            pusher.spot(book.underlying, price)?;
            pusher.flush()?;
            report.last.insert(book.underlying, price);
            waits = ask.send((book.underlying, price, Instant::now())).is_ok();
        }
        pusher.flush()?;
        while let Ok(lag) = answered.try_recv() {
            report.lags.push(lag);
            waits = false;
        }
        std::thread::sleep(TICK);
    }
    report.took = began.elapsed();
    drop(ask);
    while let Ok(lag) = answered.recv() {
        report.lags.push(lag);
    }
    asking.join().map_err(|_| io::Error::other("the asking thread"))??;
    Ok(report)
}

/// The price that a name is served with.
fn served(client: &mut Client, name: Symbol) -> io::Result<Option<f64>> {
    let mut body = Vec::new();
    client.fetch(
        &format!("/l1/greeks?underlying={name}&center=atm&right=call&strike_count=1&greeks=core"),
        |piece| {
            body.extend_from_slice(piece);
        },
    )?;
    let text = String::from_utf8_lossy(&body);
    Ok(text.contains("\"und_price\":").then(|| number_of(&text, "\"und_price\":")))
}

/// The number behind a name.
fn number_of(text: &str, name: &str) -> f64 {
    let after = text.split(name).nth(1).unwrap_or_default();
    let digits: String = after.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.parse().unwrap_or(f64::NAN)
}

/// A connection that lines are pushed over.
struct Pusher {
    to: TcpStream,
    buffer: Vec<u8>,
    lines: u64,
    bytes: u64,
}

impl Pusher {
    fn connect(to: SocketAddr) -> io::Result<Self> {
        Ok(Self { to: TcpStream::connect(to)?, buffer: Vec::new(), lines: 0, bytes: 0 })
    }

    fn chain(&mut self, book: &Book) -> io::Result<()> {
        self.spot(book.underlying, book.spot)?;
        for (date, amount) in &book.dividends {
            let name = book.underlying;
            self.line(&format!("{{\"symbol\":\"{name}\",\"ex_date\":\"{date}\",\"amount\":{amount}}}"))?;
        }
        for slice in &book.slices {
            for row in 0..slice.rows() {
                self.quote(book, slice, row, 0.0)?;
            }
        }
        Ok(())
    }

    fn quote(&mut self, book: &Book, slice: &engine::store::book::BookSlice, row: usize, by: f64) -> io::Result<()> {
        let contract = ContractKey {
            root: slice.root,
            expiry: slice.expiry,
            strike_milli: slice.strike_milli[row],
            right: slice.right[row],
        };
        let mut osym = [0; OSI_LEN];
        let n = contract.write_compact(&mut osym);
        let osym = String::from_utf8_lossy(&osym[..n]);
        let side = |price: f64| if price.is_nan() { "null".to_owned() } else { format!("{:.2}", price + by) };
        let (bid, ask) = (side(slice.bid[row]), side(slice.ask[row]));
        let (name, time) = (book.underlying, Timestamp::now().as_nanosecond());
        self.line(&format!(
            "{{\"osym\":\"{osym}\",\"underlying\":\"{name}\",\"bid\":{bid},\"ask\":{ask},\"time\":{time}}}"
        ))
    }

    fn spot(&mut self, name: Symbol, price: f64) -> io::Result<()> {
        let time = Timestamp::now().as_nanosecond();
        self.line(&format!("{{\"symbol\":\"{name}\",\"price\":{price},\"time\":{time}}}"))
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.buffer.extend_from_slice(line.as_bytes());
        self.buffer.push(b'\n');
        self.lines += 1;
        if self.buffer.len() > 256 * 1024 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// A daemon, ended when dropped.
struct Running {
    child: Child,
    http: SocketAddr,
    lines: SocketAddr,
}

impl Running {
    fn start(program: &str) -> io::Result<Self> {
        let free = || TcpListener::bind("127.0.0.1:0")?.local_addr();
        let (http, lines) = (free()?, free()?);
        let mut command = Command::new(program);
        command.args(["serve", "--refresh", "0.1", "--feed", &format!("tcp:{lines}"), "--listen", &http.to_string()]);
        let running = Self { child: command.args(["--state-dir", "/dev/null/state"]).spawn()?, http, lines };
        running.wait(Duration::from_secs(30), |_| true)?;
        Ok(running)
    }

    fn health(&self) -> io::Result<String> {
        let mut body = Vec::new();
        Client::connect(self.http)?.fetch("/health", |piece| body.extend_from_slice(piece))?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    fn wait(&self, patience: Duration, is_wanted: impl Fn(&str) -> bool) -> io::Result<()> {
        let began = Instant::now();
        while !self.health().is_ok_and(|health| is_wanted(&health)) {
            if began.elapsed() > patience {
                return Err(io::Error::other(format!("not in time: {:?}", self.health())));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    fn memory(&self) -> io::Result<String> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = |name: &str| text.lines().find(|l| l.starts_with(name)).unwrap_or_default().replace('\t', " ");
        Ok(format!("{}, {}", line("VmRSS"), line("VmHWM")))
    }

    /// Nothing may be lost: every line came, none was refused, and each probed name has its last price.
    fn check(&self, last: &BTreeMap<Symbol, f64>, pusher: &Pusher) -> io::Result<()> {
        let mut client = Client::connect(self.http)?;
        let began = Instant::now();
        for (&name, &price) in last {
            while served(&mut client, name)?.is_none_or(|shown| (shown - price).abs() > 1e-6) {
                if began.elapsed() > Duration::from_secs(300) {
                    return Err(io::Error::other(format!("{name} is not at {price}")));
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        self.wait(Duration::from_secs(60), |health| number_of(health, "\"received\":") >= pusher.lines as f64)?;
        let health = self.health()?;
        println!(
            "nothing lost: {} lines sent, {} received, {} superseded while they waited, {} names at their last price",
            pusher.lines,
            number_of(&health, "\"received\":"),
            number_of(&health, "\"superseded\":"),
            last.len()
        );
        println!("{health}");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
