//! WebSockets, byte by byte: handshake, frames, close codes, silence and stop.

use crate::support::{Client, Fixture, eventually, get_with, serve, serve_with, statuses};
use http::Limits;
use std::time::Duration;

/// Headers of the example of RFC 6455.
const ASKS: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const MASK: [u8; 4] = [7, 1, 200, 13];
const TEXT: u8 = 1;
const BYTES: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// The bit of a message's last frame.
const LAST: u8 = 0x80;

fn open(fixture: &Fixture) -> Client {
    let mut client = fixture.connect();
    client.send(get_with("/talk", ASKS));
    let (status, head) = client.head();
    assert_eq!(status, 101, "{head}");
    assert!(head.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{head}");
    assert!(head.contains("\r\nX-Talk: echo\r\n") && !head.contains("Content-"), "{head}");
    client
}

/// A frame as a client sends it; `first` is its first byte.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match u16::try_from(payload.len()) {
        Ok(n @ 0..126) => bytes.push(0x80 | n as u8),
        Ok(n) => {
            bytes.push(0x80 | 126);
            bytes.extend(n.to_be_bytes());
        }
        Err(_) => {
            bytes.push(0x80 | 127);
            bytes.extend((payload.len() as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload.iter().enumerate().map(|(i, byte)| byte ^ MASK[i % 4]));
    bytes
}

/// First byte and payload of the next frame of the server.
fn next(client: &mut Client) -> (u8, Vec<u8>) {
    let head = client.take(2);
    let length = match head[1] {
        126 => usize::from(u16::from_be_bytes(client.take(2).try_into().unwrap())),
        127 => u64::from_be_bytes(client.take(8).try_into().unwrap()) as usize,
        n => usize::from(n),
    };
    (head[0], client.take(length))
}

/// Opcode and bytes of the next message, of all its frames.
fn message(client: &mut Client) -> (u8, Vec<u8>) {
    let (first, mut payload) = next(client);
    let mut last = first;
    while last & LAST == 0 {
        let (more, piece) = next(client);
        assert_eq!(more & 15, 0, "a piece continues");
        payload.extend(piece);
        last = more;
    }
    (first & 15, payload)
}

/// The code of the close that comes next; then the server sends no more.
fn closed(client: &mut Client) -> u16 {
    let (first, payload) = next(client);
    assert_eq!(first, LAST | CLOSE, "{payload:?}");
    client.send(frame(LAST | CLOSE, &payload[..2]));
    assert!(client.is_closed());
    u16::from_be_bytes([payload[0], payload[1]])
}

#[test]
fn messages_go_both_ways_whole() {
    let fixture = serve();
    let mut client = open(&fixture);
    client.send(frame(LAST | TEXT, b"hello, all"));
    assert_eq!(message(&mut client), (TEXT, b"hello, all".to_vec()));
    client.send(frame(LAST | TEXT, b"bytes of it"));
    assert_eq!(message(&mut client), (BYTES, b"bytes of it".to_vec()));
    // in fragments with a ping between them, byte by byte
    let text = "é".repeat(100);
    let (one, two) = text.as_bytes().split_at(51);
    let bytes = [frame(TEXT, one), frame(LAST | PING, b"there?"), frame(LAST, two)].concat();
    for byte in bytes.chunks(40) {
        client.send(byte);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(next(&mut client), (LAST | PONG, b"there?".to_vec()));
    assert_eq!(message(&mut client), (TEXT, text.clone().into_bytes()));
    // many at once are answered in their order
    let many: Vec<u8> = (0..200).flat_map(|i| frame(LAST | TEXT, format!("number {i}").as_bytes())).collect();
    client.send(many);
    for i in 0..200 {
        assert_eq!(message(&mut client).1, format!("number {i}").into_bytes());
    }
    client.send(frame(LAST | TEXT, b"large 3000000"));
    assert_eq!(message(&mut client).1.len(), 3_000_000);
    client.send(frame(LAST | CLOSE, &[3, 232]));
    assert_eq!(closed(&mut client), 1000);
    eventually(|| fixture.metrics.open_connections() == 0, "the connection is gone");
}

#[test]
fn a_message_may_come_behind_the_head() {
    let fixture = serve();
    let mut client = fixture.connect();
    let asks = get_with("/talk", ASKS).into_bytes();
    client.send([asks, frame(LAST | TEXT, b"early"), frame(LAST | TEXT, b"end")].concat());
    assert_eq!(client.head().0, 101);
    assert_eq!(message(&mut client).1, b"early");
    assert_eq!(closed(&mut client), 1013);
}

#[test]
fn what_no_client_may_send_closes_with_its_code() {
    let limits = Limits { head_bytes: 1000, ..Limits::default() };
    let fixture = serve_with(limits);
    let whole = || frame(LAST | TEXT, b"hello");
    let unmasked = [LAST | TEXT, 2, b'h', b'i'];
    for (code, bytes, what) in [
        (1002, unmasked.to_vec(), "without a mask"),
        (1002, frame(LAST | 0x40 | TEXT, b"hello"), "a reserved bit"),
        (1002, frame(LAST | 3, b"hello"), "an unknown kind"),
        (1002, frame(LAST, b"hello"), "a continuation of nothing"),
        (1002, [frame(TEXT, b"hel"), whole()].concat(), "a message within another"),
        (1002, frame(PING, b"a"), "a ping in fragments"),
        (1002, frame(LAST | PING, &[0; 126]), "a long ping"),
        (1003, frame(LAST | BYTES, b"hello"), "bytes"),
        (1007, frame(LAST | TEXT, b"\xff\xfe"), "no text"),
        (1009, frame(LAST | TEXT, &[b'x'; 1001]), "a long message"),
        (1009, [frame(TEXT, &[b'x'; 600]), frame(LAST, &[b'x'; 600])].concat(), "a long message in fragments"),
        (1011, frame(LAST | TEXT, b"panic"), "a fault of the app"),
    ] {
        let mut client = open(&fixture);
        client.send(bytes);
        assert_eq!(closed(&mut client), code, "{what}");
    }
    // a length alone is refused before its bytes are there
    let mut client = open(&fixture);
    client.send([&[LAST | TEXT, 0xff][..], &u64::MAX.to_be_bytes(), &MASK].concat());
    assert_eq!(closed(&mut client), 1009);
    eventually(|| fixture.metrics.connection_bytes() == 0, "nothing is held");
}

#[test]
fn a_handshake_is_checked_before_the_app_is_asked() {
    let fixture = serve();
    let status = |path: &str, headers: &str| {
        let request = get_with(path, &format!("{headers}Connection: close\r\n"));
        statuses(&fixture.exchange(request.as_bytes()))
    };
    let mut old = fixture.connect();
    old.send(get_with("/talk", &ASKS.replace("Version: 13", "Version: 8")));
    let refusal = old.rest();
    assert!(refusal.starts_with("HTTP/1.1 426") && refusal.contains("\r\nSec-WebSocket-Version: 13\r\n"), "{refusal}");
    assert_eq!(status("/talk", &ASKS.replace("ZQ==", "")), [400]);
    assert_eq!(status("/small", ASKS), [200], "a page that is no socket");
    for foreign in ["https://evil.example", "null", "http://localhost:3000", "http://localhost", "localhost:2112", ""] {
        assert_eq!(status("/talk", &format!("{ASKS}Origin: {foreign}\r\n")), [403], "{foreign}");
    }
    assert_eq!(status("/talk", &format!("{ASKS}Sec-Fetch-Site: cross-site\r\n")), [403]);
    for own in ["http://localhost:2112", "https://LOCALHOST:2112"] {
        let mut client = fixture.connect();
        client.send(get_with("/talk", &format!("{ASKS}Origin: {own}\r\n")));
        assert_eq!(client.head().0, 101, "{own}");
    }
    let other = "GET /talk HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n";
    assert_eq!(statuses(&fixture.exchange(format!("{other}{ASKS}\r\n").as_bytes())), [421]);
}

#[test]
fn a_silent_client_is_pinged_and_then_left() {
    let limits = Limits { idle: Duration::from_secs(4), ..Limits::default() };
    let fixture = serve_with(limits);
    let (mut live, mut dead) = (open(&fixture), open(&fixture));
    for _ in 0..3 {
        assert_eq!(next(&mut live), (LAST | PING, Vec::new()));
        live.send(frame(LAST | PONG, b""));
    }
    assert_eq!(next(&mut dead), (LAST | PING, Vec::new()));
    assert!(dead.is_closed());
}

#[test]
fn a_client_that_does_not_read_holds_one_message_and_is_left() {
    let limits = Limits { write: Duration::from_millis(300), ..Limits::default() };
    let fixture = serve_with(limits);
    let mut client = open(&fixture);
    for _ in 0..20 {
        client.send(frame(LAST | TEXT, b"large 8000000"));
    }
    eventually(|| fixture.metrics.connection_bytes() > 1_000_000, "the socket is full");
    assert!(fixture.metrics.connection_bytes() < 30_000_000, "no queue");
    eventually(|| fixture.metrics.open_connections() == 0, "the client is left");
}

#[test]
fn a_stop_closes_sockets_with_a_code() {
    let fixture = serve();
    let mut client = open(&fixture);
    client.send(frame(LAST | TEXT, b"hello"));
    message(&mut client);
    let stopping = std::thread::spawn(move || fixture.server.stop());
    assert_eq!(closed(&mut client), 1001);
    stopping.join().unwrap();
}
