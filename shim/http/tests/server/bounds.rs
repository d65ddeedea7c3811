//! Global bounds: slow readers, many connections, hanging threads.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support;
use crate::support::{Client, config, eventually, get, get_with, serve, serve_with};
use http::{Limits, Server};
use std::io::Read;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn a_reader_that_takes_a_little_now_and_then_is_dropped() {
    let fixture = serve_with(Limits { write: Duration::from_millis(400), ..Limits::default() });
    let mut slow = fixture.connect();
    slow.send(get("/rows?1073741824"));
    let mut piece = [0; 2048];
    eventually(
        || {
            // what is read makes room, so that the server can always send a little more
            let n = slow.socket.read(&mut piece).unwrap_or(0);
            n == 0 || fixture.metrics.open_connections() == 0
        },
        "the reader is dropped",
    );
    eventually(|| fixture.seen.alive.load(Ordering::SeqCst) == 0, "its stream is dropped");
}

#[test]
fn what_connections_hold_is_counted_until_they_close() {
    let fixture = serve_with(Limits { gzip_loopback: true, ..Limits::default() });
    let held = || fixture.metrics.connection_bytes();
    assert_eq!(held(), 0);
    let mut idle = fixture.connect();
    assert_eq!(idle.get("/small").status, 200);
    eventually(|| (1..4096).contains(&held()), "an idle connection holds no buffer");
    let alone = held();

    // One connection at a time beside the idle one: what a stream holds changes from piece to piece.
    let mut head = fixture.connect();
    head.send(format!("GET /small HTTP/1.1\r\nHost: localhost\r\nX-Long: {}", "x".repeat(6000)));
    eventually(|| held() > alone + 6000, "the beginning of a head");
    drop(head);
    eventually(|| held() == alone, "a head is given back");

    let mut slow = fixture.connect();
    slow.send(get("/rows?1073741824"));
    // the socket is full, and the rest of a piece, whatever its length, waits for it
    eventually(|| held() > 2 * alone, "what waits to be sent");
    drop(slow);
    eventually(|| held() == alone, "what waits is given back");

    let mut compressed = fixture.connect();
    compressed.send(get_with("/rows?1073741824", "Accept-Encoding: gzip\r\n"));
    eventually(|| held() > alone + 200 * 1024, "an encoder");
    drop((idle, compressed));
    eventually(|| held() == 0, "connections that are closed hold nothing");
}

#[test]
fn long_answers_that_nobody_reads_have_one_bound() {
    const WHOLE: usize = 16 << 20;
    let fixture = serve_with(Limits { unread_bytes: 2 * WHOLE as u64, ..Limits::default() });
    let held = || fixture.metrics.connection_bytes();
    let slow: Vec<Client> = (0..12)
        .map(|_| {
            let mut client = fixture.connect();
            client.send(get(&format!("/whole?{WHOLE}")));
            assert!(matches!(client.head().0, 200 | 503));
            client
        })
        .collect();
    assert!(held() < 4 * WHOLE as u64, "{}", held());
    let mut other = fixture.connect();
    let refused = other.get(&format!("/whole?{WHOLE}"));
    assert_eq!((refused.status, refused.header("Retry-After")), (503, Some("1")), "{}", refused.text());
    let mut other = fixture.connect();
    assert_eq!([other.get("/small").status, other.get("/rows?16777216").status], [200; 2], "others go on");
    drop(slow);
    eventually(|| held() < WHOLE as u64, "what was unread is given back");
    assert_eq!(other.get(&format!("/whole?{WHOLE}")).status, 200);
}

#[test]
fn an_answer_ends_in_time_however_fast_it_is_taken() {
    let fixture = serve_with(Limits { answer: Duration::from_millis(300), ..Limits::default() });
    let mut client = fixture.connect();
    client.send(get("/rows?1099511627776"));
    let mut piece = vec![0; 1 << 20];
    let mut last = Vec::new();
    loop {
        match client.socket.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(n) => last = piece[n.saturating_sub(7)..n].to_vec(),
        }
    }
    assert_ne!(last, b"\r\n0\r\n\r\n", "what was cut does not look whole");
    assert_eq!(fixture.connect().get("/small").status, 200);
}

#[test]
fn for_a_further_connection_the_longest_idle_one_is_closed() {
    let fixture = serve_with(Limits { connections: 4, ..Limits::default() });
    let mut idle: Vec<Client> = (0..4).map(|_| fixture.connect()).collect();
    for client in &mut idle {
        assert_eq!(client.get("/small").status, 200);
    }
    // the first has news again, so that the second is the one that was idle longest
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(idle[0].get("/small").status, 200);
    let mut further = fixture.connect();
    assert_eq!(further.get("/small").status, 200);
    assert!(idle[1].is_closed());
    for at in [0, 2, 3] {
        assert_eq!(idle[at].get("/small").status, 200, "{at}");
    }
    assert_eq!(fixture.metrics.open_connections(), 4);
}

#[test]
fn connections_that_stream_count_and_are_not_closed_for_others() {
    let fixture = serve_with(Limits { connections: 2, ..Limits::default() });
    let mut streams: Vec<Client> = (0..2).map(|_| fixture.connect()).collect();
    for client in &mut streams {
        client.send(get("/rows?67108864"));
        assert_eq!(client.head().0, 200);
    }
    let mut waiting = fixture.connect();
    waiting.send(get("/small"));
    for _ in 0..20 {
        assert!(fixture.metrics.open_connections() <= 2);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(fixture.seen.alive.load(Ordering::SeqCst), 2);
    drop(streams.pop());
    assert_eq!(waiting.response().status, 200);
}

#[test]
fn a_flood_at_one_address_leaves_the_other_its_share() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return; // a machine without IPv6 has one address only
    }
    let metrics = Arc::new(http::Metrics::new(&[]));
    let mut both = config(([127, 0, 0, 1], 0).into(), Limits::default(), &metrics);
    both.listen.push(SocketAddr::from((Ipv6Addr::LOCALHOST, 0)));
    let server = Server::start(both, support::app()).unwrap();
    let [four, six] = [server.addresses()[0], server.addresses()[1]];
    let flood: Vec<Client> = (0..200).map(|_| Client::new(four)).collect();
    assert_eq!(Client::new(six).get("/small").status, 200);
    drop(flood);
}

#[test]
fn two_long_streams_have_a_thread_each() {
    let fixture = serve();
    let begin = || {
        let mut client = fixture.connect();
        client.send(get("/where?100000"));
        assert_eq!(client.head().0, 200);
        let text = String::from_utf8(client.take(200_000)).unwrap();
        let place = text.lines().rev().find_map(|line| line.strip_prefix("http-bulk-")?.parse::<usize>().ok()).unwrap();
        (client, place)
    };
    let first = begin();
    for _ in 0..3 {
        // a stream that has ended is nobody's load
        let mut short = fixture.connect();
        assert_eq!(short.get("/where?4").status, 200);
        assert_eq!(short.get("/small").status, 200);
    }
    let second = begin();
    assert_ne!(first.1, second.1);
}

#[test]
fn a_stop_leaves_a_thread_behind_that_hangs() {
    let fixture = serve_with(Limits { drain: Duration::from_millis(50), ..Limits::default() });
    fixture.seen.held_up.store(true, Ordering::SeqCst);
    let mut client = fixture.connect();
    client.send(get("/heavy"));
    eventually(|| fixture.seen.waiting.load(Ordering::SeqCst) == 1, "a thread hangs");
    fixture.server.stop();
    assert!(fixture.seen.held_up.swap(false, Ordering::SeqCst), "the stop has not waited for it");
}
