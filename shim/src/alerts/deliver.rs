//! Hits to a program or an address of this machine: one after the other, on a thread of its own. What does not fit into
//! the queue is dropped and counted; nothing waits for a program that hangs.

use super::log::AlertHit;
use host::threads;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Hits that wait.
const WAITING: usize = 64;
/// How long a program may take, and an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two looks at a program.
const LOOK: Duration = Duration::from_millis(20);

/// Where hits go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertTargets {
    /// A program, which gets the hit as JSON as its only argument.
    pub command: Option<PathBuf>,
    /// An address of this machine that the hit is posted to.
    pub webhook: Option<Webhook>,
}

/// `http://127.0.0.1:PORT/PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    address: SocketAddr,
    path: String,
}

impl Webhook {
    /// Reads an address, which must be of the loopback, in digits.
    ///
    /// # Errors
    /// It is another one: what would be accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "expected http://127.0.0.1:PORT/PATH, an address of this machine in digits".to_owned();
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let address: SocketAddr = host.parse().map_err(|_| wrong())?;
        let is_plain = path.bytes().all(|b| b.is_ascii_graphic());
        if !address.ip().is_loopback() || !is_plain {
            return Err(wrong());
        }
        Ok(Self { address, path: path.to_owned() })
    }
}

impl std::fmt::Display for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.address, self.path)
    }
}

/// Hands hits over.
#[derive(Debug)]
pub struct AlertSender(Option<SyncSender<AlertHit>>);

impl AlertSender {
    /// Starts the thread, where there is a target.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(targets: AlertTargets) -> std::io::Result<Self> {
        if targets == AlertTargets::default() {
            return Ok(Self(None));
        }
        let (send, hits) = sync_channel(WAITING);
        threads::spawn_lasting("alerts", move || deliver(&targets, &hits))?;
        Ok(Self(Some(send)))
    }

    /// Hands a hit over; says in the log if it is dropped.
    pub fn send(&self, hit: &AlertHit) {
        if let Some(sender) = &self.0
            && sender.try_send(hit.clone()).is_err()
        {
            tracing::warn!("alert {}: not delivered: {WAITING} others wait", hit.number);
        }
    }
}

fn deliver(targets: &AlertTargets, hits: &Receiver<AlertHit>) {
    while let Ok(hit) = hits.recv() {
        let text = hit.json();
        if let Some(program) = &targets.command
            && let Err(why) = run(program, &text)
        {
            tracing::warn!("alert command {}: {why}", program.display());
        }
        if let Some(webhook) = &targets.webhook
            && let Err(why) = post(webhook, &text)
        {
            tracing::warn!("alert webhook {}: {why}", webhook.address);
        }
    }
}

/// Runs a program, without a shell; one that takes too long is ended.
fn run(program: &PathBuf, text: &str) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg(text).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(status.to_string()),
            None if Instant::now() >= until => {
                // it may have ended meanwhile
                let _ = child.kill();
                let _ = child.wait();
                return Err("ended after 10 s".to_owned());
            }
            None => std::thread::sleep(LOOK),
        }
    }
}

fn post(webhook: &Webhook, text: &str) -> Result<(), String> {
    let ask = || -> std::io::Result<[u8; 12]> {
        let mut socket = TcpStream::connect_timeout(&webhook.address, PATIENCE)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let (path, address, length) = (&webhook.path, webhook.address, text.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{text}"
        );
        socket.write_all(request.as_bytes())?;
        let mut head = [0; 12];
        socket.read_exact(&mut head)?;
        Ok(head)
    };
    let head = ask().map_err(|error| error.to_string())?;
    let is_fine = head.starts_with(b"HTTP/1.") && head[9] == b'2';
    if is_fine { Ok(()) } else { Err(format!("answered {}", String::from_utf8_lossy(&head))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_webhook_is_on_this_machine() {
        assert!(Webhook::parse("http://127.0.0.1:8080/hook").is_ok() && Webhook::parse("http://[::1]:1/").is_ok());
        for bad in ["https://127.0.0.1:1/", "http://10.0.0.1:1/", "http://localhost:1/", "http://127.0.0.1:1/a b", "x"]
        {
            assert!(Webhook::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_hit_is_posted_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut heard = [0; 1024];
            let n = socket.read(&mut heard).unwrap();
            socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
            String::from_utf8_lossy(&heard[..n]).into_owned()
        });
        post(&Webhook::parse(&url).unwrap(), "{\"number\":1}").unwrap();
        let heard = server.join().unwrap();
        assert!(heard.starts_with("POST /hook HTTP/1.1\r\n") && heard.ends_with("\r\n\r\n{\"number\":1}"), "{heard}");
    }

    #[cfg(unix)]
    #[test]
    fn a_program_gets_the_hit_and_its_failure_is_named() {
        assert_eq!(run(&PathBuf::from("/bin/true"), "{}"), Ok(()));
        assert!(run(&PathBuf::from("/bin/false"), "{}").is_err());
        assert!(run(&PathBuf::from("/nowhere/at/all"), "{}").is_err());
    }
}
