//! A server with scripted answers, also wrong ones, that records its requests.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Answer to a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// This status, these headers and this body.
    Say(u16, String, String),
    /// The connection is closed without an answer.
    Refuse,
    /// There is no answer for a while.
    Hang,
    /// The answer comes byte by byte, slowly.
    Drip,
    /// The body is shorter than its head says.
    Cut(String),
    /// The body is shorter than its head says, and the connection stays open.
    HangAfter(String),
    /// A binary body, with these headers.
    Bytes(String, Vec<u8>),
}

/// A server with scripted answers that records its requests.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    /// Answers to the next requests; then `always` answers.
    once: VecDeque<Act>,
    always: Option<Answering>,
    asked: Vec<(Instant, String, String)>,
}

type Answering = Arc<dyn Fn(&str) -> Act + Send + Sync>;

impl Server {
    pub(crate) fn start(always: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(Script { always: Some(Arc::new(always)), ..Script::default() }));
        let told = Arc::clone(&script);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let told = Arc::clone(&told);
                std::thread::spawn(move || serve(&connection, &told));
            }
        });
        Self { address, script }
    }

    pub(crate) fn once(&self, acts: impl IntoIterator<Item = Act>) {
        self.script.lock().unwrap().once.extend(acts);
    }

    pub(crate) fn always(&self, always: impl Fn(&str) -> Act + Send + Sync + 'static) {
        self.script.lock().unwrap().always = Some(Arc::new(always));
    }

    pub(crate) fn asked(&self) -> Vec<(Instant, String, String)> {
        self.script.lock().unwrap().asked.clone()
    }
}

/// Answers the requests of a connection.
fn serve(connection: &TcpStream, script: &Mutex<Script>) {
    let mut reader = BufReader::new(connection);
    loop {
        let (mut first, mut head) = (String::new(), String::new());
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        while reader.read_line(&mut head).is_ok_and(|n| n > 2) {}
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let act = {
            let mut script = script.lock().unwrap();
            script.asked.push((Instant::now(), target.clone(), head));
            let next = script.once.pop_front();
            next.unwrap_or_else(|| (script.always.as_ref().unwrap().clone())(&target))
        };
        if !perform(connection, &act) {
            return;
        }
    }
}

/// Sends nothing until the other side disconnects, or for two minutes.
fn hang(mut to: &TcpStream) {
    let _ = to.set_read_timeout(Some(Duration::from_secs(120)));
    let _ = to.read(&mut [0]);
}

/// Sends an answer; returns true if the connection stays open.
fn perform(mut to: &TcpStream, act: &Act) -> bool {
    let head = |status: u16, headers: &str, length: usize| {
        format!("HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\n{headers}\r\n")
    };
    match act {
        Act::Say(status, headers, body) => to.write_all((head(*status, headers, body.len()) + body).as_bytes()).is_ok(),
        Act::Refuse => false,
        Act::Hang => {
            hang(to);
            false
        }
        Act::Drip => {
            let _ = to.write_all(head(200, "", 1_000_000).as_bytes());
            while to.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
            false
        }
        Act::HangAfter(body) => {
            let _ = to.write_all((head(200, "", 2 * body.len()) + body).as_bytes());
            hang(to);
            false
        }
        Act::Bytes(headers, body) => {
            let head = head(200, headers, body.len());
            to.write_all(head.as_bytes()).is_ok() && to.write_all(body).is_ok()
        }
        Act::Cut(body) => {
            let _ = to.write_all((head(200, "", 2 * body.len()) + body).as_bytes());
            let _ = to.shutdown(std::net::Shutdown::Both);
            let _ = to.take(1).read(&mut [0]);
            false
        }
    }
}

pub(crate) fn say(body: impl Into<String>) -> Act {
    Act::Say(200, String::new(), body.into())
}

pub(crate) fn status(status: u16) -> Act {
    Act::Say(status, String::new(), "hunter2 is not the key".to_owned())
}
