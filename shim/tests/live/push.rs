//! Lines that are pushed to the program: over connections and over standard input, well-formed and not.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, chain, command, folder, free_address, norm_cdf, remove};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A chain as pushed lines, with its spot, at a time.
fn lines(name: &str, spot: f64, time: &str) -> String {
    let mut out = String::new();
    for row in chain(spot).lines() {
        let cells: Vec<&str> = row.split(',').collect();
        let (expiry, right, strike, bid, ask) = (cells[4], cells[5], cells[6], cells[7], cells[8]);
        let bid = if bid == "0.00" { "null" } else { bid };
        let _ = writeln!(
            out,
            "{{\"root\":\"{name}\",\"expiry\":\"{expiry}\",\"strike\":{strike},\"right\":\"{right}\",\"bid\":{bid},\"ask\":{ask},\"time\":\"{time}\"}}"
        );
    }
    let _ = writeln!(out, "{{\"symbol\":\"{name}\",\"price\":{spot},\"time\":\"{time}\"}}");
    out + "{\"date\":\"2026-11-20\",\"tenor_days\":365,\"rate\":0.04}\n"
}

const OPEN: &str = "2026-11-20T15:42:00-05:00";
const LATER: &str = "2026-11-20T15:42:01-05:00";

fn spot_of(daemon: &Daemon, name: &str) -> Option<f64> {
    let (status, body) = daemon.get(&format!("/l1/greeks?underlying={name}"));
    let rows: Value = (status == 200).then(|| serde_json::from_str(&body).unwrap())?;
    Some(Daemon::number(rows.as_array()?.first()?, "und_price"))
}

fn wait_for_spot(daemon: &Daemon, name: &str, spot: f64) {
    let began = Instant::now();
    while spot_of(daemon, name).is_none_or(|shown| (shown - spot).abs() > 1e-9) {
        assert!(began.elapsed() < Duration::from_secs(60), "{name} is not at {spot}: {:?}", daemon.health());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A daemon that is pushed to, and where.
fn listening(more: &[&str]) -> (Daemon, SocketAddr) {
    let (address, lines) = (free_address(), free_address());
    let feed = format!("tcp:{lines}");
    let more = [&["--refresh", "0.1", "--threads", "1"][..], more].concat();
    (Daemon::launch(command(&feed, address, &more), address), lines)
}

#[test]
fn pushed_quotes_are_served_and_followed_and_bad_lines_cost_themselves() {
    let (mut daemon, to) = listening(&[]);
    let mut first = TcpStream::connect(to).unwrap();
    let bad = "{\"osym\":\"ACME261218C00100000\",\"bid\":-1,\"ask\":2,\"time\":1}\nnot a line\n";
    first.write_all(format!("{}{bad}", lines("ACME", 100.0, OPEN)).as_bytes()).unwrap();
    wait_for_spot(&daemon, "ACME", 100.0);
    let rows = daemon.rows("/l1/greeks?underlying=ACME&right=call&center=atf&greeks=core");
    let vol = Daemon::number(&rows[0], "svc_vol");
    assert!((vol - 0.25).abs() < 0.01, "{vol}");
    // a second connection, an older line and one in two pieces
    let mut second = TcpStream::connect(to).unwrap();
    second.write_all(lines("BETA", 101.0, OPEN).as_bytes()).unwrap();
    let later = lines("ACME", 102.0, LATER);
    let (begin, end) = later.split_at(later.len() / 2 + 7);
    first.write_all(begin.as_bytes()).unwrap();
    wait_for_spot(&daemon, "BETA", 101.0);
    first.write_all(end.as_bytes()).unwrap();
    wait_for_spot(&daemon, "ACME", 102.0);
    second.write_all(lines("ACME", 90.0, OPEN).as_bytes()).unwrap();
    drop((first, second));
    let health = daemon.wait("connections", |health| health["feeds"][0]["connections"] == 0);
    let feed = &health["feeds"][0];
    assert_eq!((&feed["state"], &feed["used"]["quotes"]), (&Value::from("ok"), &Value::from(2)), "{health}");
    assert_eq!(health["quotes"]["dropped"]["not_a_time"], 1, "{health}");
    assert_eq!(health["quotes"]["dropped"]["malformed"], 1, "{health}");
    wait_for_spot(&daemon, "ACME", 102.0);
    let said = daemon.stop().1;
    assert!(
        said.contains(":21: time: not_a_time") && said.contains(":22: line: malformed"),
        "the number of a refused line: {said}"
    );
}

/// The quotes of pushed lines as a stream of Arrow.
fn arrow(lines: &str) -> Vec<u8> {
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows = || rows.iter().filter(|row| row.get("root").is_some());
    let texts = |name: &str| -> ArrayRef { Arc::new(StringArray::from_iter(rows().map(|row| row[name].as_str()))) };
    let numbers = |name: &str| -> ArrayRef { Arc::new(Float64Array::from_iter(rows().map(|row| row[name].as_f64()))) };
    let words = ["root", "expiry", "right", "time"].map(|name| (name, texts(name), true));
    let prices = ["strike", "bid", "ask"].map(|name| (name, numbers(name), true));
    let batch = RecordBatch::try_from_iter_with_nullable(words.into_iter().chain(prices)).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_table_of_arrow_is_the_lines_that_it_stands_for() {
    let (mut daemon, to) = listening(&[]);
    let mut socket = TcpStream::connect(to).unwrap();
    let (text, prices) = (lines("ACME", 100.0, OPEN), |line: &&str| !line.contains("\"root\""));
    let after: Vec<&str> = text.lines().filter(prices).collect();
    // lines stand behind the end of a table, as tables behind the end of a line
    socket.write_all(lines("BETA", 101.0, OPEN).as_bytes()).unwrap();
    socket.write_all(&[arrow(&text), after.join("\n").into_bytes(), b"\n".to_vec()].concat()).unwrap();
    wait_for_spot(&daemon, "ACME", 100.0);
    wait_for_spot(&daemon, "BETA", 101.0);
    let rows = daemon.rows("/l1/greeks?underlying=ACME&right=call&center=atf&greeks=core");
    let vol = Daemon::number(&rows[0], "svc_vol");
    assert!((vol - 0.25).abs() < 0.01, "{vol}");
    let mut other = TcpStream::connect(to).unwrap();
    other.write_all(&[0xFF; 12]).unwrap();
    daemon.wait("turned away", |health| health["feeds"][0]["failures"]["turned_away"] == 1);
    let said = daemon.stop().1;
    assert!(said.contains("a message of Arrow of more than 16 MB"), "{said}");
}

#[test]
fn what_is_pushed_hours_ahead_of_the_clock_hides_nothing() {
    let hours = |n: u32| format!("2026-11-20T{}:42:00-05:00", 15 + n);
    // the clock of the machine is later than that of the market, or it is that
    let (mut daemon, to) = listening(&["--now", "2026-11-20T15:43:00-05:00"]);
    let mut socket = TcpStream::connect(to).unwrap();
    socket.write_all(lines("ACME", 100.0, OPEN).as_bytes()).unwrap();
    wait_for_spot(&daemon, "ACME", 100.0);
    for n in [1, 3, 7] {
        socket.write_all(lines("ACME", 120.0 + f64::from(n), &hours(n)).as_bytes()).unwrap();
    }
    let pushed = lines("ACME", 100.0, OPEN).lines().count() as u64 - 1;
    let ahead = |health: &Value| health["quotes"]["dropped"]["from_the_future"].as_u64();
    daemon.wait("lines from the future to be counted", |health| ahead(health) == Some(3 * pushed));
    assert!(spot_of(&daemon, "ACME").is_some_and(|spot| (spot - 100.0).abs() < 1e-9));
    socket.write_all(lines("ACME", 110.0, LATER).as_bytes()).unwrap();
    wait_for_spot(&daemon, "ACME", 110.0);
    let (_, said) = daemon.stop();
    assert!(said.contains(" from_the_future"), "{said}");
}

#[test]
fn a_page_of_a_browser_and_a_line_without_end_change_nothing() {
    let (mut daemon, to) = listening(&[]);
    let mut page = TcpStream::connect(to).unwrap();
    let request = format!("POST / HTTP/1.1\r\nHost: {to}\r\nContent-Length: 100\r\n\r\n{}", lines("EVIL", 100.0, OPEN));
    // what it sends may meet a closed connection
    let _ = page.write_all(request.as_bytes());
    daemon.wait("turned away", |health| health["feeds"][0]["failures"]["turned_away"] == 1);
    let _ = page.read(&mut [0; 16]);
    let mut endless = TcpStream::connect(to).unwrap();
    endless.write_all(b"{\"x\":\"").unwrap();
    for _ in 0..20 {
        endless.write_all(&[b'y'; 64 * 1024]).unwrap();
    }
    endless.write_all(format!("\"}}\n{}", lines("ACME", 100.0, OPEN)).as_bytes()).unwrap();
    wait_for_spot(&daemon, "ACME", 100.0);
    daemon.wait("the long line is counted", |health| health["quotes"]["dropped"]["too_long"] == 1);
    assert_eq!(spot_of(&daemon, "EVIL"), None);
}

#[test]
fn standard_input_may_end_and_its_market_stays() {
    let address = free_address();
    let mut program = command("stdin:", address, &["--refresh", "0.1"]);
    let mut daemon = Daemon::launch(
        {
            program.stdin(Stdio::piped());
            program
        },
        address,
    );
    let mut input = daemon.child.stdin.take().unwrap();
    input.write_all(lines("ACME", 100.0, OPEN).as_bytes()).unwrap();
    wait_for_spot(&daemon, "ACME", 100.0);
    drop(input);
    daemon.wait("the end", |health| health["feeds"][0]["state"] == "ended");
    wait_for_spot(&daemon, "ACME", 100.0);
    let (code, said) = daemon.stop();
    assert!(code == Some(0) && said.contains("stdin: closed"), "{said}");
}

#[test]
fn one_feed_gives_quotes_and_another_dividends() {
    let market = folder("push-dividends", "");
    std::fs::remove_dir_all(market.join("chains")).unwrap();
    // too small for quotes to contradict it
    std::fs::write(market.join("dividends.csv"), "underlying,ex_date,amount\nACME,2026-12-04,0.02\n").unwrap();
    let (mut daemon, to) = listening(&["--feed", &format!("dir:{}", market.display())]);
    let pushed = lines("ACME", 100.0, OPEN) + "{\"symbol\":\"ACME\",\"ex_date\":\"2026-12-05\",\"amount\":9}\n";
    TcpStream::connect(to)
        .unwrap()
        .write_all(pushed.replace("2026-12-05\",\"amount\":9", "2026-12-05\",\"amount\":0").as_bytes())
        .unwrap();
    wait_for_spot(&daemon, "ACME", 100.0);
    let rows = daemon.rows("/l1/greeks?underlying=ACME&greeks=chain");
    assert!((Daemon::number(&rows[0], "divs") - 0.02).abs() < 1e-9, "{}", rows[0]);
    let health = daemon.wait("dividends", |health| health["feeds"][1]["used"]["dividends"] == 1);
    assert_eq!(health["feeds"][0]["used"]["rates"], true, "{health}");
    assert_eq!(health["feeds"][1]["used"]["rates"], false, "the first that has rates counts: {health}");
    assert!(norm_cdf(0.0) > 0.49);
    remove(&market);
}
