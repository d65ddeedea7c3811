//! A market that is pushed to a daemon: the chains of the simulated market over TCP, then a steady stream of changed
//! quotes, twice: at once when every name is served, beside the first pass at full accuracy, and again after it. Some
//! names are changed together with their price, and asked for until the new price is served: that is the lag. At the
//! end all of them must be served at their last price, and no record may be refused.
//!
//! `just push [forms=lines,arrow,dbn] [share=1] [lines=200000] [arrow=1000000] [dbn=1000000] [cold=60] [seconds=60]
//! [patience=600]`: the share of the market, quotes a second of each form, seconds of both streams, and for how long
//! the daemon may take to serve every name, and then to have it at full accuracy. For each form a daemon is started
//! with a port of its own, and ended. The table has processor time in seconds a second: of the daemon's reading
//! threads, of all its threads, and of this program, which shares the machine.
#![allow(clippy::print_stdout, reason = "a report")]

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampNanosecondArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use engine::store::book::{Book, BookSlice};
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
use std::sync::Arc;
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
    let seconds = |name: &str, default: f64| Duration::from_secs_f64(number(name, default));
    let plan =
        Plan { cold: seconds("cold", 60.0), full: seconds("seconds", 60.0), patience: seconds("patience", 600.0) };
    let share = number("share", 1.0);
    let books = Sim::full(share).books(&passes());
    let mut books: Vec<Book> = books;
    // quotes are sent as of now, when the simulated day may be over
    let now = Timestamp::now();
    books.iter_mut().for_each(|book| _ = book.expire(now));
    books.retain(|book| book.has_spot() && !book.slices.is_empty());
    let contracts: usize = books.iter().map(Book::rows).sum();
    println!("{} names, {contracts} contracts", books.len());
    let forms = options.iter().find_map(|option| option.strip_prefix("forms=")).unwrap_or("lines,arrow,dbn");
    let mut table = Vec::new();
    for name in forms.split(',') {
        println!("\n{name}");
        let form = Form::named(name, &books).ok_or_else(|| io::Error::other("forms are lines, arrow, dbn"))?;
        let rate = number(name, if name == "lines" { 200_000.0 } else { 1_000_000.0 });
        let reports = trial(daemon, &books, form, rate, &plan)?;
        table.extend(reports.iter().map(|(when, report)| format!("| {name} | {when} {}", report.cells(rate))));
    }
    println!(
        "\n| form | while | quotes a second, asked | lag p50 | p99 | longest | of | ns to read one | reading | daemon | sender |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    table.iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// Durations of a trial.
struct Plan {
    /// Stream that begins when every name is served.
    cold: Duration,
    /// Stream that begins when every name is at full accuracy.
    full: Duration,
    /// Longest wait for either.
    patience: Duration,
}

/// Both streams of a form, with what the daemon does beside them.
fn trial(
    daemon: &str,
    books: &[Book],
    form: Form,
    rate: f64,
    plan: &Plan,
) -> io::Result<[(&'static str, StreamReport); 2]> {
    let (running, patience) = (Running::start(daemon)?, plan.patience);
    let began = Instant::now();
    let mut pusher = Pusher::connect(running.lines, form)?;
    for (place, book) in books.iter().enumerate() {
        pusher.chain(place, book)?;
    }
    pusher.flush()?;
    println!("first chains sent after {:.1} s: {:.0} MB", began.elapsed().as_secs_f64(), pusher.bytes as f64 / 1e6);
    let wanted = books.len() as f64;
    let is_whole =
        |health: &str| number_of(health, "\"underlyings\":") >= wanted && number_of(health, "\"pending\":") < 1.0;
    running.wait(patience, is_whole)?;
    println!("all names served after {:.1} s; {}", began.elapsed().as_secs_f64(), running.memory()?);
    let is_rough = |health: &str| number_of(health, "\"preliminary\":") >= 1.0;
    let cold = stream(&mut pusher, books, &running, rate, plan.cold)?;
    let beside = if is_rough(&running.health()?) { "first full pass" } else { "first full pass, and after it" };
    let warm = running.wait(patience, |health| !is_rough(health)).is_ok();
    let how = if warm { "at full accuracy" } else { "not yet at full accuracy, which goes on beside the stream" };
    println!("{how} after {:.1} s; {}", began.elapsed().as_secs_f64(), running.memory()?);
    let full = stream(&mut pusher, books, &running, rate, plan.full)?;
    let last = cold.last.iter().chain(&full.last).map(|(&name, &price)| (name, price)).collect();
    running.check(&last, &pusher)?;
    println!("{}", running.memory()?);
    Ok([(beside, cold), (if warm { "steady passes" } else { "first full pass" }, full)])
}

/// Measurements of a run.
struct StreamReport {
    sent: u64,
    took: Duration,
    lags: Vec<Duration>,
    /// The last price of each probed name.
    last: BTreeMap<Symbol, f64>,
    /// Seconds of processor of the reading threads, of the daemon, and of this program.
    processor: [f64; 3],
}

impl StreamReport {
    /// The cells of the table behind the first two.
    fn cells(&self, asked: f64) -> String {
        let mut lags: Vec<f64> = self.lags.iter().map(Duration::as_secs_f64).collect();
        lags.sort_by(f64::total_cmp);
        let at = |share: f64| lags.get(((lags.len() as f64 * share) as usize).min(lags.len().saturating_sub(1)));
        let [p50, p99, longest] = [at(0.5), at(0.99), lags.last()].map(|lag| lag.copied().unwrap_or(f64::NAN));
        let (seconds, [reading, daemon, sender]) = (self.took.as_secs_f64(), self.processor);
        format!(
            "| {:.0}, {asked:.0} | {p50:.3} s | {p99:.3} s | {longest:.3} s | {} | {:.0} | {:.2} | {:.2} | {:.2} |",
            self.sent as f64 / seconds,
            lags.len(),
            reading * 1e9 / self.sent as f64,
            reading / seconds,
            daemon / seconds,
            sender / seconds,
        )
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
    let (address, before) = (running.http, running.processor()?);
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
    let mut report =
        StreamReport { sent: 0, took: Duration::ZERO, lags: Vec::new(), last: BTreeMap::new(), processor: [0.0; 3] };
    let began = Instant::now();
    let mut draw = 88_172_645_463_325_252_u64;
    let mut next = move |below: usize| {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        (draw % below.max(1) as u64) as usize
    };
    let (mut waits, mut probe) = (false, 0);
    while began.elapsed() < time {
        pusher.now();
        let due = (began.elapsed().as_secs_f64() * rate) as u64;
        while report.sent < due {
            let place = next(books.len());
            let slice = next(books[place].slices.len());
            let row = next(books[place].slices[slice].rows());
            pusher.quote((place, slice, row), &books[place], 0.01 * next(3) as f64)?;
            report.sent += 1;
        }
        if !waits {
            probe = (probe + 1) % PROBES.min(books.len());
            let place = probe * (books.len() / PROBES.min(books.len()));
            let book = &books[place];
            let price = loop {
                let price = (book.spot * (1.0 + 1e-4 * (1 + next(9)) as f64) * 1e4).round() / 1e4;
                if report.last.get(&book.underlying) != Some(&price) {
                    break price;
                }
            };
            pusher.spot(place, book.underlying, price)?;
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
    let after = running.processor()?;
    report.processor = std::array::from_fn(|i| after[i] - before[i]);
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

/// How quotes are written.
enum Form {
    Lines,
    /// A stream of tables, and the rows of the next one.
    Arrow(Option<Box<StreamWriter<Vec<u8>>>>, Box<Rows>),
    /// The number of the first contract of each slice of each name; those of names come first.
    Dbn(Vec<Vec<u32>>),
}

/// Rows of a table of quotes and prices.
#[derive(Default)]
struct Rows {
    osym: StringBuilder,
    underlying: StringBuilder,
    symbol: StringBuilder,
    numbers: [Vec<Option<f64>>; 3],
    time: Vec<i64>,
}

impl Rows {
    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let [bid, ask, price] = std::mem::take(&mut self.numbers).map(|numbers| Arc::new(Float64Array::from(numbers)));
        let time = TimestampNanosecondArray::from(std::mem::take(&mut self.time)).with_timezone("UTC");
        let columns: [(&str, ArrayRef); 7] = [
            ("osym", Arc::new(self.osym.finish())),
            ("underlying", Arc::new(self.underlying.finish())),
            ("bid", bid),
            ("ask", ask),
            ("time", Arc::new(time)),
            ("symbol", Arc::new(self.symbol.finish())),
            ("price", price),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
    }
}

impl Form {
    fn named(name: &str, books: &[Book]) -> Option<Self> {
        Some(match name {
            "lines" => Self::Lines,
            "arrow" => Self::Arrow(None, Box::default()),
            "dbn" => {
                let mut next = books.len() as u32;
                let mut first = |rows: usize| {
                    next += rows as u32;
                    next - rows as u32
                };
                let of_book = |book: &Book| book.slices.iter().map(|slice| first(slice.rows())).collect();
                Self::Dbn(books.iter().map(of_book).collect())
            }
            _ => return None,
        })
    }
}

/// A connection that quotes are pushed over.
struct Pusher {
    to: TcpStream,
    /// Dividends, which not every form has.
    lines: TcpStream,
    form: Form,
    buffer: Vec<u8>,
    records: u64,
    bytes: u64,
    /// Time of the next records, nanoseconds since 1970.
    time: i64,
}

impl Pusher {
    fn connect(to: SocketAddr, form: Form) -> io::Result<Self> {
        let (lines, to) = (TcpStream::connect(to)?, TcpStream::connect(to)?);
        let buffer = if matches!(form, Form::Dbn(_)) { dbn_start() } else { Vec::new() };
        let mut pusher = Self { to, lines, form, buffer, records: 0, bytes: 0, time: 0 };
        pusher.now();
        Ok(pusher)
    }

    fn now(&mut self) {
        self.time = Timestamp::now().as_nanosecond() as i64;
    }

    fn chain(&mut self, place: usize, book: &Book) -> io::Result<()> {
        let name = book.underlying;
        for (date, amount) in &book.dividends {
            let line = format!("{{\"symbol\":\"{name}\",\"ex_date\":\"{date}\",\"amount\":{amount}}}\n");
            self.lines.write_all(line.as_bytes())?;
            self.records += 1;
        }
        if let Form::Dbn(numbers) = &self.form {
            self.buffer.extend(dbn_mapping(place as u32, name.as_str()));
            for (slice, &first) in book.slices.iter().zip(&numbers[place]) {
                for row in 0..slice.rows() {
                    let osym = osym(slice, row);
                    self.buffer.extend(dbn_mapping(first + row as u32, &osym));
                }
            }
        }
        self.spot(place, name, book.spot)?;
        for (at, slice) in book.slices.iter().enumerate() {
            for row in 0..slice.rows() {
                self.quote((place, at, row), book, 0.0)?;
            }
        }
        Ok(())
    }

    fn quote(&mut self, (place, at, row): (usize, usize, usize), book: &Book, by: f64) -> io::Result<()> {
        let slice = &book.slices[at];
        let side = |price: f64| (!price.is_nan()).then(|| ((price + by) * 100.0).round() / 100.0);
        let (bid, ask) = (side(slice.bid[row]), side(slice.ask[row]));
        let (name, time) = (book.underlying, self.time);
        match &mut self.form {
            Form::Lines => {
                let text = |price: Option<f64>| price.map_or("null".to_owned(), |price| format!("{price:.2}"));
                writeln!(
                    self.buffer,
                    "{{\"osym\":\"{}\",\"underlying\":\"{name}\",\"bid\":{},\"ask\":{},\"time\":{time}}}",
                    osym(slice, row),
                    text(bid),
                    text(ask)
                )?;
            }
            Form::Arrow(_, rows) => {
                rows.osym.append_value(osym(slice, row));
                rows.underlying.append_value(name.as_str());
                rows.symbol.append_null();
                rows.numbers.iter_mut().zip([bid, ask, None]).for_each(|(column, number)| column.push(number));
                rows.time.push(time);
            }
            Form::Dbn(numbers) => dbn_quote(&mut self.buffer, numbers[place][at] + row as u32, time, [bid, ask]),
        }
        self.count()
    }

    fn spot(&mut self, place: usize, name: Symbol, price: f64) -> io::Result<()> {
        let time = self.time;
        match &mut self.form {
            Form::Lines => {
                writeln!(self.buffer, "{{\"symbol\":\"{name}\",\"price\":{price},\"time\":{time}}}")?;
            }
            Form::Arrow(_, rows) => {
                rows.osym.append_null();
                rows.underlying.append_null();
                rows.symbol.append_value(name.as_str());
                rows.numbers.iter_mut().zip([None, None, Some(price)]).for_each(|(column, x)| column.push(x));
                rows.time.push(time);
            }
            Form::Dbn(_) => dbn_quote(&mut self.buffer, place as u32, time, [Some(price); 2]),
        }
        self.count()
    }

    fn count(&mut self) -> io::Result<()> {
        self.records += 1;
        let waiting = if let Form::Arrow(_, rows) = &self.form { rows.time.len() * 60 } else { self.buffer.len() };
        if waiting > 256 * 1024 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Form::Arrow(writer, rows) = &mut self.form {
            if rows.time.is_empty() {
                return Ok(());
            }
            let batch = rows.batch().map_err(io::Error::other)?;
            let to = match writer.take() {
                Some(to) => to,
                None => Box::new(StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(io::Error::other)?),
            };
            let to = writer.insert(to);
            to.write(&batch).map_err(io::Error::other)?;
            self.buffer.append(to.get_mut());
        }
        self.to.write_all(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

fn osym(slice: &BookSlice, row: usize) -> String {
    let (root, expiry, strike_milli) = (slice.root, slice.expiry, slice.strike_milli[row]);
    let mut osym = [0; OSI_LEN];
    ContractKey { root, expiry, strike_milli, right: slice.right[row] }.write_padded(&mut osym);
    String::from_utf8_lossy(&osym).into_owned()
}

/// Metadata of version 3 without a symbol: mappings come as records.
fn dbn_start() -> Vec<u8> {
    let mut body = b"OPRA.PILLAR\0\0\0\0\0".to_vec();
    body.resize(45, 0);
    body.extend(71u16.to_le_bytes());
    body.resize(120, 0);
    [&b"DBN\x03"[..], &(body.len() as u32).to_le_bytes(), &body].concat()
}

fn dbn_mapping(number: u32, symbol: &str) -> [u8; 176] {
    let mut out = [0; 176];
    (out[0], out[1]) = (176 / 4, 0x16);
    out[4..8].copy_from_slice(&number.to_le_bytes());
    out[89..89 + symbol.len()].copy_from_slice(symbol.as_bytes());
    out
}

/// A best quote of a second.
fn dbn_quote(out: &mut Vec<u8>, number: u32, time: i64, sides: [Option<f64>; 2]) {
    let mut record = [0; 80];
    (record[0], record[1]) = (80 / 4, 0xC0);
    record[4..8].copy_from_slice(&number.to_le_bytes());
    let [bid, ask] = sides.map(|price| price.map_or(i64::MAX, |price| (price * 1e9).round() as i64));
    for (at, number) in [(8, time), (16, i64::MAX), (32, time), (48, bid), (56, ask)] {
        record[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    out.extend(record);
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

    /// Seconds of processor of the threads that read connections, of the whole daemon, and of this program.
    fn processor(&self) -> io::Result<[f64; 3]> {
        let used = |stat: &std::path::Path| -> io::Result<f64> {
            let text = std::fs::read_to_string(stat)?;
            let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
            Ok((ticks(11) + ticks(12)) / 100.0)
        };
        let home = std::path::PathBuf::from(format!("/proc/{}", self.child.id()));
        let mut reading = 0.0;
        for task in std::fs::read_dir(home.join("task"))? {
            let task = task?.path();
            if std::fs::read_to_string(task.join("comm"))?.trim() == "line" {
                reading += used(&task.join("stat"))?;
            }
        }
        Ok([reading, used(&home.join("stat"))?, used(std::path::Path::new("/proc/self/stat"))?])
    }

    fn memory(&self) -> io::Result<String> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = |name: &str| text.lines().find(|l| l.starts_with(name)).unwrap_or_default().replace('\t', " ");
        Ok(format!("{}, {}", line("VmRSS"), line("VmHWM")))
    }

    /// Nothing may be lost: every record came, none was refused, and each probed name has its last price.
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
        self.wait(Duration::from_secs(60), |health| number_of(health, "\"received\":") >= pusher.records as f64)?;
        let health = self.health()?;
        println!(
            "nothing lost: {} records sent, {} received, {} superseded while they waited, {} names at their last price",
            pusher.records,
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
