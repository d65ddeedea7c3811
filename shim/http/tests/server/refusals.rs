//! Refused requests: the client gets a status before the connection is closed.

use crate::support;
use crate::support::{app, config, get, get_with, serve, serve_with, statuses};
use http::{Limits, Metrics, Server};
use std::sync::Arc;
use std::time::Duration;

/// Headers whose lines together are `bytes` long.
fn headers_of(bytes: usize) -> String {
    let line = format!("X-Filler: {}\r\n", "a".repeat(1000 - 12));
    let mut text = line.repeat(bytes / 1000);
    text.push_str(&format!("X-Last: {}\r\n", "b".repeat(bytes % 1000)));
    text
}

#[test]
fn one_hundred_headers_pass_and_one_more_is_431() {
    let fixture = serve();
    let lines = |n: usize| (0..n).map(|i| format!("X-Header-{i}: value\r\n")).collect::<String>();
    for n in [40, 99] {
        assert_eq!(fixture.connect().get_with("/small", &lines(n)).status, 200, "{n} headers and Host");
    }
    let text = fixture.exchange(get_with("/small", &lines(100)).as_bytes());
    assert_eq!(statuses(&text), [431]);
    assert!(text.contains("Connection: close"), "{text}");
}

#[test]
fn a_head_over_32_kb_is_431_whether_or_not_it_ends() {
    let fixture = serve();
    assert_eq!(fixture.connect().get_with("/small", &headers_of(31_000)).status, 200);
    assert_eq!(statuses(&fixture.exchange(get_with("/small", &headers_of(33_000)).as_bytes())), [431]);
    let endless = format!("GET /small HTTP/1.1\r\nHost: h\r\nX-Endless: {}", "c".repeat(33_000));
    assert_eq!(statuses(&fixture.exchange(endless.as_bytes())), [431]);
}

#[test]
fn a_refusal_arrives_although_the_client_goes_on_sending() {
    let fixture = serve();
    let mut bytes = get_with("/small", &headers_of(33_000)).into_bytes();
    bytes.extend(vec![b'z'; 300_000]);
    assert_eq!(statuses(&fixture.exchange(&bytes)), [431]);
}

#[test]
fn a_slow_head_is_408_and_an_idle_connection_is_closed() {
    let fixture =
        serve_with(Limits { head: Duration::from_millis(150), idle: Duration::from_millis(400), ..Limits::default() });
    let mut slow = fixture.connect();
    let mut text = String::new();
    for byte in get("/small").bytes().take(20) {
        slow.send([byte]);
        std::thread::sleep(Duration::from_millis(10));
    }
    text.push_str(&slow.rest());
    assert_eq!(statuses(&text), [408], "{text}");
    let mut idle = fixture.connect();
    assert_eq!(idle.get("/small").status, 200);
    assert!(idle.is_closed());
}

#[test]
fn a_slow_body_is_408() {
    let fixture = serve_with(Limits { body: Duration::from_millis(100), ..Limits::default() });
    assert_eq!(statuses(&fixture.exchange(get_with("/small", "Content-Length: 5\r\n").as_bytes())), [408]);
}

#[test]
fn other_methods_are_405_and_their_body_is_no_request() {
    let fixture = serve();
    let inner = get("/small");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        let head = format!("{method} /small HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", inner.len());
        let text = fixture.exchange(format!("{head}{inner}").as_bytes());
        assert_eq!(statuses(&text), [405], "{method}: {text}");
        assert!(text.contains("\r\nAllow: GET, HEAD\r\n"), "{text}");
        assert!(text.ends_with("{\"error\":\"method not allowed\"}"), "{text}");
    }
}

#[test]
fn malformed_requests_are_answered_and_closed() {
    let fixture = serve();
    let head = |lines: &str| format!("GET /small HTTP/1.1\r\n{lines}\r\n");
    let cases: [(String, u16); 14] = [
        ("\x16\x03\x01\x02\x00\x01\x00\x01\u{fffd}".to_owned(), 400),
        ("nonsense\r\n\r\n".to_owned(), 400),
        ("GET /small HTTP/2.0\r\nHost: h\r\n\r\n".to_owned(), 505),
        ("GET /sm all HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 400),
        (head(""), 400),
        (head("Host: a\r\nHost: b\r\n"), 400),
        (head("Host: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n"), 400),
        (head("Host: h\r\nContent-Length: 0\r\nContent-Length: 0\r\n"), 400),
        (head("Host: h\r\nContent-Length: x\r\n"), 400),
        (head("Host: h\r\nContent-Length: 1048577\r\n"), 413),
        (head("Host: h\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 501),
        (head("Host: h\r\nBad Name: x\r\n"), 400),
        (get("/%zz"), 400),
        (get("/%ff%fe"), 400),
    ];
    for (bytes, status) in cases {
        let text = fixture.exchange(bytes.as_bytes());
        assert_eq!(statuses(&text), [status], "{bytes:?} -> {text}");
        assert!(text.contains("Connection: close\r\n"), "{text}");
    }
    assert_eq!(fixture.connect().get("/small").status, 200);
}

#[test]
fn a_panic_costs_one_request_and_not_the_server() {
    let fixture = serve();
    let mut bystander = fixture.connect();
    assert_eq!(bystander.get("/small").status, 200);
    let text = fixture.exchange(get("/panic").as_bytes());
    assert_eq!(statuses(&text), [500], "{text}");
    let late = fixture.exchange(get("/panic-late").as_bytes());
    assert!(statuses(&late) == [200] && !late.contains("\r\n0\r\n\r\n"), "a broken stream must not look whole");
    assert_eq!(bystander.get("/small").status, 200);
}

#[test]
fn a_second_server_on_the_same_port_fails_and_says_where() {
    let fixture = serve();
    let again = config(fixture.address, Limits::default(), &Arc::new(Metrics::new(&[])));
    let error = Server::start(again, app()).expect_err("the port is taken").to_string();
    assert!(error.contains(&fixture.address.to_string()) && error.contains("in use"), "{error}");
    assert_eq!(fixture.connect().get("/small").status, 200);
}

#[test]
fn an_address_that_the_machine_lacks_is_skipped_while_another_is_left() {
    let metrics = Arc::new(Metrics::new(&[]));
    let mut here = config(([127, 0, 0, 1], 0).into(), Limits::default(), &metrics);
    here.listen.push(([192, 0, 2, 1], 0).into());
    let server = Server::start(here, app()).expect("one address is enough");
    assert_eq!(server.addresses().len(), 1);
    let nowhere = config(([192, 0, 2, 1], 0).into(), Limits::default(), &metrics);
    let error = Server::start(nowhere, app()).expect_err("no address is left").to_string();
    assert!(error.contains("192.0.2.1"), "{error}");
}

#[test]
fn a_client_that_takes_nothing_is_dropped() {
    let fixture = serve_with(Limits { write: Duration::from_millis(200), ..Limits::default() });
    let mut deaf = fixture.connect();
    deaf.send(get("/rows?67108864"));
    support::eventually(|| fixture.seen.streams.load(std::sync::atomic::Ordering::SeqCst) == 1, "the stream begins");
    support::eventually(|| fixture.metrics.open_connections() == 0, "the connection is dropped");
    assert_eq!(fixture.seen.alive.load(std::sync::atomic::Ordering::SeqCst), 0);
}
