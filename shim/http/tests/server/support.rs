//! A small app to serve and a client that sees every byte.
#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, reason = "a client that fails fails its test")]

use http::{
    Answer, Answered, App, Awaited, Limits, Metrics, Progress, ReceivedBody, Request, Said, Server, ServerConfig,
    Stream, Talk,
};
use jiff::Timestamp;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Counts of the app, and its switches.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Number of requests.
    pub(crate) requests: AtomicUsize,
    /// Bytes that streams have produced.
    pub(crate) produced: AtomicUsize,
    /// Number of streams begun.
    pub(crate) streams: AtomicUsize,
    /// Number of streams that exist.
    pub(crate) alive: AtomicUsize,
    /// Number of answers to `/heavy` begun.
    pub(crate) waiting: AtomicUsize,
    /// True while answers to `/heavy` wait.
    pub(crate) held_up: AtomicBool,
    /// The edition of `/version`.
    pub(crate) edition: AtomicU64,
}

pub(crate) struct TestApp(Arc<Seen>);

impl App for TestApp {
    fn answer(self: &Arc<Self>, request: &Request<'_>) -> Answered {
        let path = request.path();
        self.0.requests.fetch_add(1, Ordering::SeqCst);
        Answered::Now(match &*path {
            "/small" => Answer::full("small", 200, "application/json", r#"{"small":true}"#),
            "/rows" => {
                let wanted = request.query().parse().unwrap_or(0);
                self.0.streams.fetch_add(1, Ordering::SeqCst);
                self.0.alive.fetch_add(1, Ordering::SeqCst);
                Answer::stream("rows", "application/x-ndjson", Rows { next: 0, wanted, seen: Arc::clone(&self.0) })
                    .with_header("X-Rows", wanted.to_string())
            }
            // so many bytes of the edition's number, in rows of eight
            "/version" => {
                self.0.streams.fetch_add(1, Ordering::SeqCst);
                let edition = self.0.edition.load(Ordering::SeqCst);
                let left = request.query().split('&').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                let stream = Version { edition, left, most: left };
                Answer::stream("rows", "text/csv", stream).of_edition(Some(edition))
            }
            "/echo" => {
                let host = request.host().unwrap_or("-");
                let text = format!("{path}|{}|{host}|{:?}", request.query(), request.header("x-probe"));
                Answer::full("echo", 200, "text/plain; charset=utf-8", text)
            }
            // names the thread that answers, once it need not wait any more
            "/heavy" => {
                let seen = Arc::clone(&self.0);
                return Answered::Heavy(Box::new(move || {
                    seen.waiting.fetch_add(1, Ordering::SeqCst);
                    while seen.held_up.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    let thread = std::thread::current().name().unwrap_or("-").to_owned();
                    Answer::full("small", 200, "text/plain; charset=utf-8", thread)
                }));
            }
            // so many bytes at once
            "/whole" => Answer::full("rows", 200, "text/plain", rows(request.query().parse().unwrap_or(0))),
            // is never there
            "/awaited" => {
                self.0.alive.fetch_add(1, Ordering::SeqCst);
                Answer::awaited("small", Never(Arc::clone(&self.0)))
            }
            // repeats what it hears
            "/talk" => Answer::socket("talk", Echo::default()).with_header("X-Talk", "echo"),
            "/where" => Answer::stream("rows", "text/plain", Where(request.query().parse().unwrap_or(0))),
            "/panic" => panic!("an app that fails"),
            "/panic-late" => Answer::stream("rows", "text/plain", FailsLater(0)),
            _ => Answer::full("none", 404, "application/json", format!(r#"{{"error":"{path}"}}"#)),
        })
    }

    fn refuses(&self, request: &Request<'_>) -> Option<Answer> {
        let refused = || Answer::full("none", 405, "application/json", "{}");
        (request.path() != "/body").then(refused)
    }

    fn take(self: &Arc<Self>, _: &Request<'_>, body: ReceivedBody) -> Answered {
        Answered::Now(Answer::full("small", 200, "text/plain", format!("{} bytes", body.len())))
    }

    fn edition(&self) -> Option<u64> {
        Some(self.0.edition.load(Ordering::SeqCst))
    }
}

/// Repeats each message, in pieces of three bytes; some words are orders.
#[derive(Default)]
struct Echo {
    heard: VecDeque<String>,
    at: usize,
}

impl Talk for Echo {
    fn hear(&mut self, text: &str) {
        assert_ne!(text, "panic", "an app that fails");
        self.heard.push_back(text.to_owned());
    }

    fn say(&mut self, out: &mut Vec<u8>) -> Said {
        let Some(text) = self.heard.front() else { return Said::Nothing };
        if text == "end" {
            return Said::Ended("come again");
        }
        if let Some(n) = text.strip_prefix("large ").and_then(|n| n.parse().ok()) {
            self.heard.pop_front();
            out.resize(n, b'x');
            return Said::Piece { is_binary: true, is_last: true };
        }
        let is_binary = text.starts_with("bytes");
        let end = text.len().min(self.at + 3);
        out.extend_from_slice(&text.as_bytes()[self.at..end]);
        self.at = end;
        let is_last = end == text.len();
        if is_last {
            self.heard.pop_front();
            self.at = 0;
        }
        Said::Piece { is_binary, is_last }
    }
}

struct Never(Arc<Seen>);

impl Awaited for Never {
    fn look(&mut self) -> Option<Answer> {
        None
    }
}

impl Drop for Never {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// `wanted` bytes of numbered rows of 64 bytes.
pub(crate) struct Rows {
    next: usize,
    wanted: usize,
    seen: Arc<Seen>,
}

impl Stream for Rows {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        let before = out.len();
        while self.next < self.wanted && out.len() - before < 64 * 1024 {
            write_row(self.next / 64, out);
            self.next += 64;
        }
        self.seen.produced.fetch_add(out.len() - before, Ordering::SeqCst);
        if self.next >= self.wanted { Progress::Done } else { Progress::More }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.seen.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Version {
    edition: u64,
    left: usize,
    most: usize,
}

impl Stream for Version {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        let n = self.left.min(40_000);
        out.extend_from_slice(&version(self.edition, n));
        self.left -= n;
        if self.left == 0 { Progress::Done } else { Progress::More }
    }

    fn most_bytes(&self) -> Option<usize> {
        Some(self.most)
    }
}

/// The body of `/version?n`.
pub(crate) fn version(edition: u64, n: usize) -> Vec<u8> {
    format!("{edition:07}\n").bytes().cycle().take(n).collect()
}

/// A stream of pieces with the name of the thread that writes them.
struct Where(usize);

impl Stream for Where {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        let thread = format!("{}\n", std::thread::current().name().unwrap_or("-"));
        out.extend(thread.bytes().cycle().take(thread.len() * 6000));
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { Progress::Done } else { Progress::More }
    }
}

fn write_row(i: usize, out: &mut Vec<u8>) {
    let _ = writeln!(out, "{{\"row\":{i:012},\"square\":{:020},\"text\":\"abc\"}}", i * i);
}

/// The body of `/rows?wanted`.
pub(crate) fn rows(wanted: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for i in 0..wanted.div_ceil(64) {
        write_row(i, &mut out);
    }
    out
}

struct FailsLater(usize);

impl Stream for FailsLater {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        self.0 += 1;
        assert!(self.0 < 3, "a stream that fails");
        out.extend_from_slice(&[b'x'; 1000]);
        Progress::More
    }
}

pub(crate) struct Fixture {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
    pub(crate) metrics: Arc<Metrics>,
}

/// A server on a free port of the loopback.
pub(crate) fn serve() -> Fixture {
    serve_with(Limits::default())
}

pub(crate) fn serve_with(limits: Limits) -> Fixture {
    let seen = Arc::new(Seen::default());
    let metrics = Arc::new(Metrics::new(&["small", "rows", "echo", "none"]));
    let config = config(SocketAddr::from(([127, 0, 0, 1], 0)), limits, &metrics);
    let server = Server::start(config, TestApp(Arc::clone(&seen))).unwrap();
    let address = server.addresses()[0];
    Fixture { server, address, seen, metrics }
}

pub(crate) fn config(address: SocketAddr, limits: Limits, metrics: &Arc<Metrics>) -> ServerConfig {
    let clock = || Timestamp::constant(1_795_207_327, 0);
    let (listen, metrics) = (vec![address], Arc::clone(metrics));
    ServerConfig { listen, allow_hosts: vec!["box".to_owned()], limits, bulk_threads: 2, metrics, clock }
}

pub(crate) fn app() -> TestApp {
    TestApp(Arc::default())
}

impl Fixture {
    pub(crate) fn connect(&self) -> Client {
        Client::new(self.address)
    }

    /// Sends bytes on a connection of their own and returns everything that comes until the server closes.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> String {
        let mut client = self.connect();
        client.send(bytes);
        client.rest()
    }
}

/// One response as read from the wire, its body unchunked.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub(crate) struct Client {
    pub(crate) socket: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { socket, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).unwrap();
    }

    /// GET on this connection.
    pub(crate) fn get(&mut self, target: &str) -> Response {
        self.get_with(target, "")
    }

    pub(crate) fn get_with(&mut self, target: &str, headers: &str) -> Response {
        self.send(get_with(target, headers));
        self.response()
    }

    /// The next response, with its body.
    pub(crate) fn response(&mut self) -> Response {
        let (status, head) = self.head();
        let mut response = Response { status, head, body: Vec::new() };
        if status == 100 || status == 304 {
            return response;
        }
        response.body = if response.header("transfer-encoding") == Some("chunked") {
            self.chunks()
        } else if let Some(length) = response.header("content-length").map(|n| n.parse().unwrap()) {
            self.take(length)
        } else {
            self.rest_bytes()
        };
        response
    }

    /// The next response's status and head; what follows stays to be read.
    pub(crate) fn head(&mut self) -> (u16, String) {
        let end = self.until(b"\r\n\r\n");
        let head = String::from_utf8(self.take(end)).unwrap();
        let status = head.get(9..12).and_then(|s| s.parse().ok()).unwrap_or_else(|| panic!("no head: {head:?}"));
        (status, head)
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let end = self.until(b"\r\n");
            let line = self.take(end);
            let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
            body.extend(self.take(size));
            assert_eq!(self.take(2), b"\r\n");
            if size == 0 {
                return body;
            }
        }
    }

    fn until(&mut self, mark: &[u8]) -> usize {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|w| w == mark) {
                return at + mark.len();
            }
            assert!(self.more() > 0, "closed after {:?}", String::from_utf8_lossy(&self.buffer));
        }
    }

    pub(crate) fn take(&mut self, n: usize) -> Vec<u8> {
        while self.buffer.len() < n {
            assert!(self.more() > 0, "closed {} bytes early", n - self.buffer.len());
        }
        let rest = self.buffer.split_off(n);
        std::mem::replace(&mut self.buffer, rest)
    }

    fn more(&mut self) -> usize {
        let mut part = [0; 64 * 1024];
        let n = self.socket.read(&mut part).unwrap();
        self.buffer.extend_from_slice(&part[..n]);
        n
    }

    /// Everything until the server closes.
    pub(crate) fn rest_bytes(&mut self) -> Vec<u8> {
        while self.more() > 0 {}
        std::mem::take(&mut self.buffer)
    }

    pub(crate) fn rest(&mut self) -> String {
        String::from_utf8_lossy(&self.rest_bytes()).into_owned()
    }

    /// True if the server closes without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && self.more() == 0
    }
}

/// A GET with a Host.
pub(crate) fn get(target: &str) -> String {
    get_with(target, "")
}

pub(crate) fn get_with(target: &str, headers: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: localhost:2112\r\n{headers}\r\n")
}

/// The status lines in what a server sent.
pub(crate) fn statuses(text: &str) -> Vec<u16> {
    text.match_indices("HTTP/1.1 ").filter_map(|(at, _)| text.get(at + 9..at + 12)?.parse().ok()).collect()
}

/// Waits until `true`, for at most ten seconds.
pub(crate) fn eventually(mut holds: impl FnMut() -> bool, what: &str) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} does not come true");
}
