//! Bodies of PUT: accepted where the app takes them, from this machine, whole and bounded.

use crate::support::{Fixture, eventually, get, serve, serve_with, statuses};
use http::Limits;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn put(path: &str, body: &str, more: &str) -> String {
    format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn taking() -> Limits {
    Limits { put_bytes: 100_000, ..Limits::default() }
}

#[test]
fn a_body_arrives_whole_however_it_is_sent() {
    let fixture = serve_with(taking());
    let body = "a,b\r\n\r\n1,2\n\n".repeat(3000);
    let mut text = put("/body", &body, "Connection: close\r\n");
    assert_eq!(fixture.exchange(text.as_bytes()).rsplit("\r\n\r\n").next(), Some("36000 bytes"));
    // in pieces, with pauses, and another request behind it
    text = format!("{}GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", put("/body", &body, ""));
    let mut slow = fixture.connect();
    for piece in text.as_bytes().chunks(7000) {
        slow.send(piece);
        std::thread::sleep(Duration::from_millis(5));
    }
    let answers = slow.rest();
    assert_eq!(statuses(&answers), [200, 200], "{answers}");
    assert!(answers.contains("36000 bytes") && answers.contains("\"small\""));
}

#[test]
fn a_client_that_waits_for_permission_gets_it_once() {
    let fixture = serve_with(taking());
    let mut client = fixture.connect();
    client.send(
        b"PUT /body HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 4\r\n\r\n",
    );
    assert_eq!(client.response().status, 100);
    client.send(b"ab");
    std::thread::sleep(Duration::from_millis(50));
    client.send(b"cd");
    let text = client.rest();
    assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("4 bytes"), "{text}");
}

#[test]
fn what_is_not_taken_is_refused() {
    let refusing = serve();
    assert_eq!(statuses(&refusing.exchange(put("/body", "abc", "").as_bytes())), [405]);
    let fixture = serve_with(taking());
    let large = "x".repeat(100_001);
    assert_eq!(statuses(&fixture.exchange(put("/body", &large, "").as_bytes())), [413]);
    assert_eq!(statuses(&fixture.exchange(b"POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")), [405]);
    let cross = put("/body", "abc", "Sec-Fetch-Site: cross-site\r\nConnection: close\r\n");
    assert_eq!(statuses(&fixture.exchange(cross.as_bytes())), [403]);
    let limits = Limits { body: Duration::from_millis(150), ..taking() };
    let fixture = serve_with(limits);
    let mut never = fixture.connect();
    never.send(b"PUT /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
    assert_eq!(statuses(&never.rest()), [408], "a body that does not come");
}

/// The status of a PUT of which only the head is sent.
fn by_head(fixture: &Fixture, path: &str, host: &str, length: usize) -> Vec<u16> {
    let head = format!("PUT {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
    statuses(&fixture.exchange(head.as_bytes()))
}

#[test]
fn a_body_is_refused_by_its_head_alone() {
    let fixture = serve_with(taking());
    assert_eq!(by_head(&fixture, "/body", "evil.example", 100_000), [421]);
    assert_eq!(by_head(&fixture, "/small", "localhost", 100_000), [405]);
    assert_eq!(by_head(&fixture, "/body", "localhost", 100_001), [413]);
    assert_eq!(by_head(&fixture, "/body", "localhost\r\nSec-Fetch-Site: cross-site", 100_000), [403]);
    assert_eq!(fixture.seen.requests.load(Ordering::SeqCst), 0);
}

#[test]
fn all_bodies_in_the_making_have_one_bound() {
    let fixture = serve_with(Limits { bodies_bytes: 150_000, ..taking() });
    let mut first = fixture.connect();
    let body = "x".repeat(100_000);
    let text = put("/body", &body, "");
    first.send(&text[..text.len() - 1]);
    eventually(|| fixture.metrics.connection_bytes() > 100_000, "the body is held, and counted");
    assert_eq!(by_head(&fixture, "/body", "localhost", 60_000), [503]);
    let mut other = fixture.connect();
    other.send(put("/body", &body[..50_000], ""));
    assert_eq!(other.response().text(), "50000 bytes");
    first.send("x");
    assert_eq!(first.response().text(), "100000 bytes");
    other.send(put("/body", &body, ""));
    assert_eq!(other.response().text(), "100000 bytes", "what was answered does not count");
}

#[test]
fn what_is_made_for_a_client_that_has_gone_is_given_up() {
    let fixture = serve_with(taking());
    let mut client = fixture.connect();
    client.send(get("/awaited"));
    eventually(|| fixture.seen.alive.load(Ordering::SeqCst) == 1, "the answer is awaited");
    drop(client);
    eventually(|| fixture.seen.alive.load(Ordering::SeqCst) == 0, "it is given up");
}
