//! Databento's live gateway, with the feature `databento-live`: a gateway of this test speaks its protocol, ends
//! sessions, rejects keys and sends errors. The last data are served throughout, and no key is shown anywhere.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/mod.rs"]
mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::daemon::{Daemon, chain, command, free_address};

/// As long as the vendor's keys are.
const KEY: &str = "db-Kq7vT2m9xW4zKq7vT2m9xW4zHuntr";
const VARIABLE: &str = "GREEKSD_DATABENTO_KEY";
/// The market is open then.
const OPEN: &str = "2026-11-20T15:42:30-05:00";
/// 15:42:00 of that day in nanoseconds since 1970.
const AT: u64 = 1_795_207_320_000_000_000;

/// Behaviour of the gateway in a session.
#[derive(Clone, Debug)]
enum Act {
    /// Accepts the session, sends these bytes after the metadata, and waits for the signal to end it.
    Send(Vec<u8>),
    /// Accepts the session, sends these bytes after the metadata, and ends it at once in good order.
    SendAndEnd(Vec<u8>),
    /// Rejects the key.
    Refuse,
    /// Closes the connection without a message.
    Close,
}

/// A gateway, the lines that it received, and the signal to end a waiting session.
struct Gateway {
    address: SocketAddr,
    acts: Arc<Mutex<Vec<Act>>>,
    told: Receiver<String>,
    end: Sender<()>,
}

impl Gateway {
    /// Starts a gateway with a behaviour for each session; the last one repeats.
    fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, told) = channel();
        let (end, ended) = channel();
        let acts = Arc::new(Mutex::new(acts));
        let script = Arc::clone(&acts);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let act = {
                    let mut acts = script.lock().unwrap();
                    if acts.len() > 1 { acts.remove(0) } else { acts[0].clone() }
                };
                let _ = serve(&connection, &act, &tell, &ended);
            }
        });
        Self { address, acts, told, end }
    }
}

/// One session as the vendor documents it: greeting, challenge, digest of challenge and key, subscriptions, start.
fn serve(connection: &TcpStream, act: &Act, tell: &Sender<String>, ended: &Receiver<()>) -> std::io::Result<()> {
    let mut to = connection;
    let mut from = BufReader::new(connection);
    if matches!(act, Act::Close) {
        return Ok(());
    }
    to.write_all(b"lsg_version=0.6.0\ncram=abcdefghijklmnopqrstuvwxyz\n")?;
    let mut line = String::new();
    from.read_line(&mut line)?;
    let _ = tell.send(line.clone());
    if matches!(act, Act::Refuse) {
        return to.write_all(b"success=0|error=Authentication failed.\n");
    }
    to.write_all(b"success=1|session_id=7\n")?;
    while line != "start_session\n" && line != "start_session=0\n" {
        line.clear();
        if from.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let _ = tell.send(line.clone());
    }
    to.write_all(&metadata())?;
    match act {
        Act::Send(bytes) => {
            to.write_all(bytes)?;
            let _ = ended.recv_timeout(Duration::from_secs(120));
        }
        Act::SendAndEnd(bytes) => to.write_all(bytes)?,
        Act::Refuse | Act::Close => {}
    }
    Ok(())
}

/// The beginning of a live stream of version 3: no schema, no symbols.
fn metadata() -> Vec<u8> {
    let mut body = b"OPRA.PILLAR\0\0\0\0\0".to_vec();
    body.extend(u16::MAX.to_le_bytes());
    body.extend([AT, u64::MAX, 0].map(u64::to_le_bytes).as_flattened());
    body.extend([u8::MAX, 1, 0]);
    body.extend(71u16.to_le_bytes());
    body.extend([0; 53]);
    // no definition of the schema; four lists without an entry
    body.extend([0; 5 * 4]);
    let mut out = b"DBN\x03".to_vec();
    out.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    out.extend(body);
    out
}

fn header(length: usize, rtype: u8, id: u32, ts: u64) -> Vec<u8> {
    let mut out = vec![u8::try_from(length / 4).unwrap(), rtype, 30, 0];
    out.extend(id.to_le_bytes());
    out.extend(ts.to_le_bytes());
    out
}

/// The record that maps a number to a contract.
fn mapping(id: u32, symbol: &str) -> Vec<u8> {
    let mut out = header(176, 0x16, id, AT);
    for symbol in ["ACME.OPT", symbol] {
        out.push(1);
        let end = out.len() + 71;
        out.extend(symbol.as_bytes());
        out.resize(end, 0);
    }
    out.resize(176, 0);
    out
}

fn quote(id: u32, ts: u64, bid: f64, ask: f64) -> Vec<u8> {
    let price = |x: f64| ((x * 1e9).round() as i64).to_le_bytes();
    let mut out = header(80, 0xC0, id, ts);
    out.extend(i64::MAX.to_le_bytes());
    out.extend([0; 4]);
    out.extend([0, b'N', 0x80 | 0x40, 0]);
    out.extend(ts.to_le_bytes());
    out.extend([0; 8]);
    out.extend(price(bid));
    out.extend(price(ask));
    out.extend([9u32, 13].map(u32::to_le_bytes).as_flattened());
    out.extend([0; 8]);
    out
}

/// An error of the gateway in a session.
fn error(code: u8) -> Vec<u8> {
    let mut out = header(320, 0x15, 0, AT);
    out.extend(b"no such thing as <b>");
    out.resize(318, 0);
    out.extend([code, 1]);
    out
}

/// Every contract of ACME at a spot, so many seconds after the first.
fn session(spot: f64, second: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for (id, row) in (1..).zip(chain(spot).lines()) {
        let cells: Vec<&str> = row.split(',').collect();
        let letter = if cells[5] == "call" { 'C' } else { 'P' };
        let symbol = format!("ACME  261218{letter}{:08}", cells[6].parse::<u32>().unwrap() * 1000);
        out.extend(mapping(id, &symbol));
        out.extend(quote(id, AT + second * 1_000_000_000, cells[7].parse().unwrap(), cells[8].parse().unwrap()));
    }
    out
}

/// A daemon on the gateway; the price of the underlying, which is not among options' quotes, is pushed to it.
fn start(gateway: &Gateway) -> (Daemon, TcpStream) {
    let (address, lines) = (free_address(), free_address());
    let feed = format!("databento:ACME@{}", gateway.address);
    let pushed = format!("tcp:{lines}");
    let more = ["--refresh", "0.1", "--threads", "1", "--now", OPEN, "--log-level", "trace", "--feed", &pushed];
    let mut program = command(&feed, address, &more);
    program.env(VARIABLE, KEY);
    let daemon = Daemon::launch(program, address);
    let mut push = TcpStream::connect(lines).unwrap();
    push.write_all(b"{\"symbol\":\"ACME\",\"price\":100,\"time\":\"2026-11-20T15:42:00-05:00\"}\n").unwrap();
    (daemon, push)
}

fn failures(health: &Value, kind: &str) -> u64 {
    health["feeds"][0]["failures"][kind].as_u64().unwrap_or(0)
}

fn delta(daemon: &Daemon) -> f64 {
    let rows = daemon.rows("/l1/greeks?osym=ACME261218C00100000");
    Daemon::number(&rows[0], "svc_vol")
}

#[test]
fn a_session_delivers_and_is_opened_again_whatever_ends_it() {
    let gateway = Gateway::start(vec![Act::Send(session(100.0, 0))]);
    let (mut daemon, _push) = start(&gateway);
    let health = daemon.wait("quotes", |health| health["feeds"][0]["used"]["quotes"] == 1 && health["pending"] == 0);
    assert_eq!(
        (&health["feeds"][0]["state"], &health["feeds"][0]["connections"]),
        (&"ok".into(), &1.into()),
        "{health}"
    );
    let before = delta(&daemon);
    assert!(before > 0.05 && before < 2.0, "{before}");
    let told: Vec<String> = gateway.told.try_iter().collect();
    let (auth, asked) = told.split_first().unwrap();
    let digest = auth.strip_prefix("auth=").unwrap().split('-').next().unwrap();
    assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{auth}");
    assert!(auth.contains("|dataset=OPRA.PILLAR|encoding=dbn|") && !auth.contains(KEY), "{auth}");
    for schema in ["definition", "cbbo-1s"] {
        let wanted = |line: &&String| line.contains(&format!("schema={schema}|")) && line.contains("symbols=ACME.OPT");
        assert!(asked.iter().any(|line| wanted(&line) && line.contains("stype_in=parent")), "{schema}: {asked:?}");
    }
    // an end in good order, a gateway that says no word, an error in a session: what came stays
    *gateway.acts.lock().unwrap() = vec![
        Act::Close,
        Act::SendAndEnd(error(6)),
        Act::SendAndEnd(error(4)),
        Act::SendAndEnd(vec![0; 64]),
        Act::Send(session(101.0, 10)),
    ];
    gateway.end.send(()).unwrap();
    daemon.wait("cut", |health| failures(health, "cut") > 0);
    daemon.wait("server", |health| failures(health, "server") > 0);
    assert!((delta(&daemon) - before).abs() < 1e-12, "what was known is served");
    let (_, said) = daemon.stop();
    assert!(said.contains("delivers") && said.contains("backing_off: cut"), "{said}");
    assert!(!said.contains(KEY) && !said.contains(&KEY[KEY.len() - 5..]), "not even its end is shown");
    assert!(!said.contains("<b>"), "nor what a gateway says: {said}");
}

#[test]
fn a_session_after_an_end_brings_what_is_new() {
    let gateway = Gateway::start(vec![Act::SendAndEnd(session(100.0, 0)), Act::Send(session(101.0, 10))]);
    let (mut daemon, mut push) = start(&gateway);
    daemon.wait("the second session", |health| health["feeds"][0]["requests"] == 2);
    push.write_all(b"{\"symbol\":\"ACME\",\"price\":101,\"time\":\"2026-11-20T15:42:10-05:00\"}\n").unwrap();
    let health = daemon.wait("well", |health| health["feeds"][0]["state"] == "ok" && health["pending"] == 0);
    assert_eq!(failures(&health, "cut"), 1, "an end in good order is trouble: {health}");
    let rows = daemon.rows("/l1/greeks?osym=ACME261218C00100000&greeks=core,chain");
    assert!((Daemon::number(&rows[0], "und_price") - 101.0).abs() < 1e-9, "{rows:?}");
}

#[test]
fn a_key_that_is_not_taken_is_said_and_not_tried_again_and_again() {
    let gateway = Gateway::start(vec![Act::Refuse]);
    let (mut daemon, _push) = start(&gateway);
    let health = daemon.wait("refused", |health| health["feeds"][0]["state"] == "refused");
    assert_eq!((failures(&health, "refused"), &health["feeds"][0]["requests"]), (1, &1.into()));
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(gateway.told.try_iter().count(), 1, "once");
    let (_, said) = daemon.stop();
    assert!(said.contains("rejects the key") && !said.contains(KEY), "{said}");
}
