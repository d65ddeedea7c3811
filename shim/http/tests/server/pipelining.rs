//! Legal clients: they keep a connection, pipeline, send every legal form of a request, and stop reading.

use crate::support::{eventually, get, get_with, rows, serve, serve_with};
use flate2::read::GzDecoder;
use http::Limits;
use std::io::{Read, Write};
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn a_thousand_pipelined_requests_are_answered_in_order() {
    let fixture = serve();
    let mut client = fixture.connect();
    let requests: String = (0..1000).map(|i| get(&format!("/echo?{i}"))).collect();
    let mut socket = client.socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || socket.write_all(requests.as_bytes()).unwrap());
    for i in 0..1000 {
        assert_eq!(client.response().text(), format!("/echo|{i}|localhost:2112|None"));
    }
    sender.join().unwrap();
    assert_eq!(fixture.metrics.requests(), 1000);
}

#[test]
fn streams_and_small_answers_mix_on_one_connection() {
    let fixture = serve();
    let mut client = fixture.connect();
    client.send(get("/small") + &get("/rows?300000") + &get("/echo?x") + &get("/rows?640") + &get("/rows?200000"));
    assert_eq!(client.response().text(), "{\"small\":true}");
    let long = client.response();
    assert!(long.body == rows(300_000) && long.header("content-length").is_none(), "{}", long.head);
    assert_eq!(client.response().text(), "/echo|x|localhost:2112|None");
    let short = client.response();
    assert_eq!((short.header("content-length"), short.body == rows(640)), (Some("640"), true), "{}", short.head);
    assert!(client.response().body == rows(200_000));
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let fixture = serve_with(Limits { gzip_loopback: true, ..Limits::default() });
    let mut client = fixture.connect();
    for target in ["/small", "/rows?640", "/rows?300000", "/nowhere"] {
        client.send(get(target).replacen("GET", "HEAD", 1));
        let (_, head) = client.head();
        assert_eq!(client.get(target).head, head, "{target}");
    }
    client.send(get_with("/rows?300000", "Accept-Encoding: gzip\r\n").replacen("GET", "HEAD", 1));
    let (status, head) = client.head();
    assert!(status == 200 && head.contains("Content-Encoding: gzip\r\n"), "{head}");
    assert_eq!(client.get("/small").status, 200);
}

#[test]
fn http_1_0_is_closed_unless_it_asks_to_stay() {
    let fixture = serve();
    let text = fixture.exchange(b"GET /small HTTP/1.0\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("Connection: close\r\n"), "{text}");
    let mut client = fixture.connect();
    for _ in 0..2 {
        client.send("GET /small HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        let answer = client.response();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("keep-alive")));
    }
    client.send("GET /rows?300000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let streamed = client.response();
    assert_eq!((streamed.header("transfer-encoding"), streamed.header("connection")), (None, Some("close")));
    assert!(streamed.body == rows(300_000));
}

#[test]
fn connection_close_is_obeyed_after_the_answer() {
    let fixture = serve();
    for target in ["/small", "/rows?300000"] {
        let mut client = fixture.connect();
        client.send(get_with(target, "Connection: close\r\n") + &get("/small"));
        let answer = client.response();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")), "{target}");
        assert!(client.is_closed(), "{target}");
    }
}

#[test]
fn a_long_query_arrives_whole_and_the_target_may_be_absolute() {
    let fixture = serve();
    let mut client = fixture.connect();
    let query = "a=".to_owned() + &"x".repeat(20_000);
    assert_eq!(client.get(&format!("/echo?{query}")).text(), format!("/echo|{query}|localhost:2112|None"));
    assert_eq!(client.get("http://box:9000/echo?a%20b").text(), "/echo|a%20b|box:9000|None");
    assert_eq!(client.get("/%65cho").text(), "/echo||localhost:2112|None");
    assert_eq!(client.get_with("/echo", "X-Probe:  spaced \r\n").text(), "/echo||localhost:2112|Some(\"spaced\")");
}

#[test]
fn a_body_is_dropped_and_never_read_as_a_request() {
    let fixture = serve();
    let smuggled = get("/nowhere");
    let length = format!("Content-Length: {}\r\n", smuggled.len());
    let mut client = fixture.connect();
    client.send(get_with("/small", &length) + &smuggled + &get("/echo?after"));
    assert_eq!(client.response().status, 200);
    assert_eq!(client.response().text(), "/echo|after|localhost:2112|None");
    // the same body in parts, 1 MB of it
    client.send(get_with("/small", &length));
    for part in smuggled.as_bytes().chunks(7) {
        std::thread::sleep(Duration::from_millis(2));
        client.send(part);
    }
    assert_eq!(client.response().status, 200);
    client.send(get_with("/small", "Content-Length: 1048576\r\n"));
    client.send(vec![b'x'; 1 << 20]);
    client.send(get("/echo?end"));
    assert_eq!(client.response().status, 200);
    assert_eq!(client.response().text(), "/echo|end|localhost:2112|None");
    client.send(get_with("/small", "Content-Length: 4\r\nExpect: 100-continue\r\n"));
    assert_eq!(client.response().status, 100);
    client.send("body");
    assert_eq!(client.response().status, 200);
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    let fixture = serve();
    let mut client = fixture.connect();
    for byte in get_with("/echo", "X-Probe: slow\r\n").bytes() {
        client.send([byte]);
    }
    assert_eq!(client.response().text(), "/echo||localhost:2112|Some(\"slow\")");
    client.send("\r\n\r\nGET /echo HTTP/1.1\nHost: box\n\n");
    assert_eq!(client.response().text(), "/echo||box|None");
}

#[test]
fn gzip_is_sent_to_those_who_take_it_and_only_for_longer_bodies() {
    let plain = serve().connect().get_with("/rows?64000", "Accept-Encoding: gzip\r\n");
    assert_eq!(plain.header("content-encoding"), None, "a loopback is faster than any compression");
    let fixture = serve_with(Limits { gzip_loopback: true, ..Limits::default() });
    let mut client = fixture.connect();
    let gzip = "Accept-Encoding: br, gzip\r\n";
    for size in [640, 6_400, 64_000, 1_000_000] {
        let answer = client.get_with(&format!("/rows?{size}"), gzip);
        let zipped = answer.header("content-encoding") == Some("gzip");
        assert_eq!(zipped, size > 1024, "{}", answer.head);
        assert_eq!(answer.header("vary"), zipped.then_some("Accept-Encoding"), "{}", answer.head);
        let mut body = Vec::new();
        match zipped {
            true => GzDecoder::new(&answer.body[..]).read_to_end(&mut body).map(|_| ()).unwrap(),
            false => body.clone_from(&answer.body),
        }
        assert!(body == rows(size), "{size}");
        assert_eq!(client.get_with(&format!("/rows?{size}"), "Accept-Encoding: gzip;q=0\r\n").body.len(), size);
    }
    client.send(get_with("/rows?1000000", gzip).replacen("1.1", "1.0", 1));
    let mut body = Vec::new();
    GzDecoder::new(&client.response().body[..]).read_to_end(&mut body).unwrap();
    assert!(body == rows(1_000_000));
}

#[test]
fn gzip_streams_beyond_the_limit_go_out_as_they_are() {
    let fixture = serve_with(Limits { gzip_streams: 0, gzip_loopback: true, ..Limits::default() });
    let answer = fixture.connect().get_with("/rows?300000", "Accept-Encoding: gzip\r\n");
    assert!(answer.header("content-encoding").is_none() && answer.body == rows(300_000), "{}", answer.head);
}

#[test]
fn sixty_four_clients_pull_streams_at_once_and_get_every_byte() {
    const SIZE: usize = 3_000_000;
    let fixture = serve();
    let expected = rows(SIZE);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let mut client = fixture.connect();
                assert!(client.get(&format!("/rows?{SIZE}")).body == expected);
                assert_eq!(client.get("/small").status, 200);
            });
        }
    });
    assert_eq!(fixture.seen.alive.load(Ordering::SeqCst), 0);
}

/// Most that the kernel holds for one connection, both sides, with a margin.
const KERNEL_BYTES: usize = 24 << 20;

#[test]
fn a_slow_reader_holds_no_more_than_a_piece() {
    const SIZE: usize = 64 << 20;
    let fixture = serve();
    let mut client = fixture.connect();
    client.send(get(&format!("/rows?{SIZE}")));
    assert_eq!(client.head().0, 200);
    let produced = || fixture.seen.produced.load(Ordering::SeqCst);
    settle(&produced);
    assert!(produced() < KERNEL_BYTES, "{} bytes were produced for a client that reads nothing", produced());
    let mut others = fixture.connect();
    assert_eq!(others.get("/small").status, 200);
    let taken = client.take(1 << 20).len();
    settle(&produced);
    assert!(produced() < KERNEL_BYTES + taken);
}

/// Waits until a number stops to grow.
fn settle(number: &dyn Fn() -> usize) {
    let mut before = usize::MAX;
    eventually(
        || {
            let now = number();
            std::thread::sleep(Duration::from_millis(50));
            std::mem::replace(&mut before, now) == now
        },
        "the count settles",
    );
}

#[test]
fn forty_pipelined_streams_that_nobody_reads_are_not_begun() {
    let fixture = serve();
    let mut client = fixture.connect();
    client.send(get("/rows?67108864").repeat(40));
    let streams = || fixture.seen.streams.load(Ordering::SeqCst);
    eventually(|| streams() > 0, "the first stream begins");
    settle(&|| fixture.seen.produced.load(Ordering::SeqCst));
    assert_eq!(streams(), 1);
}

#[test]
fn small_answers_that_nobody_reads_are_not_piled_up() {
    let fixture = serve();
    let client = fixture.connect();
    let requests = get("/small").repeat(10_000);
    let mut socket = client.socket.try_clone().unwrap();
    socket.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    // Each round asks for 2 MB of answers; the server stops reading, so the client cannot go on sending.
    let blocked = (0..100).any(|_| socket.write_all(requests.as_bytes()).is_err());
    assert!(blocked, "the server read {} requests without sending an answer", fixture.metrics.requests());
}

#[test]
fn a_stop_lets_a_running_stream_finish() {
    const SIZE: usize = 32 << 20;
    let fixture = serve();
    let mut idle = fixture.connect();
    assert_eq!(idle.get("/small").status, 200);
    let mut client = fixture.connect();
    client.send(get(&format!("/rows?{SIZE}")) + &get("/small"));
    let first = client.head();
    assert_eq!(first.0, 200);
    let (address, server, seen) = (fixture.address, fixture.server, fixture.seen);
    let stopping = std::thread::spawn(move || server.stop());
    assert!(idle.is_closed());
    eventually(|| std::net::TcpStream::connect(address).is_err(), "the port is closed");
    assert_eq!(seen.alive.load(Ordering::SeqCst), 1, "the stream goes on");
    let body = client.rest_bytes();
    assert!(body.ends_with(b"\r\n0\r\n\r\n"), "the stream ended early");
    assert!(body.len() > SIZE, "{} bytes", body.len());
    drop(client);
    stopping.join().unwrap();
}

#[test]
fn a_stop_waits_for_a_stuck_stream_only_so_long() {
    let fixture = serve_with(Limits { drain: Duration::from_millis(200), ..Limits::default() });
    let mut client = fixture.connect();
    client.send(get("/rows?67108864"));
    assert_eq!(client.head().0, 200);
    fixture.server.stop();
    assert_eq!(fixture.seen.alive.load(Ordering::SeqCst), 0);
    assert_eq!(fixture.metrics.open_connections(), 0);
}

#[test]
fn requests_are_counted_by_route() {
    let fixture = serve();
    let mut client = fixture.connect();
    for target in ["/small", "/small", "/rows?300000", "/nowhere"] {
        client.get(target);
    }
    eventually(|| fixture.metrics.requests() == 4, "four requests are counted");
    let mut text = String::new();
    fixture.metrics.write_prometheus(&mut text);
    for line in [
        "greeksd_http_connections_open 1",
        "greeksd_http_requests_total{route=\"small\",class=\"2xx\"} 2",
        "greeksd_http_requests_total{route=\"rows\",class=\"2xx\"} 1",
        "greeksd_http_requests_total{route=\"none\",class=\"4xx\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "no line {line} in\n{text}");
    }
}
