//! Cached answers: repeated requests, parts of one body, versions, bounds.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support;
use crate::support::{Fixture, Response, eventually, get_with, serve, serve_with, version};
use http::Limits;
use std::sync::atomic::Ordering;
use std::time::Duration;

const SIZE: usize = 1_000_000;
const TARGET: &str = "/version?1000000";

fn publish(fixture: &Fixture, edition: u64) {
    fixture.seen.edition.store(edition, Ordering::SeqCst);
}

fn rendered(fixture: &Fixture) -> usize {
    fixture.seen.streams.load(Ordering::SeqCst)
}

fn ask(fixture: &Fixture, target: &str, headers: &str) -> Response {
    fixture.connect().get_with(target, headers)
}

fn head(fixture: &Fixture, target: &str) -> Response {
    let mut client = fixture.connect();
    client.send(get_with(target, "Connection: close\r\n").replacen("GET", "HEAD", 1));
    let (status, head) = client.head();
    Response { status, head, body: client.rest().into_bytes() }
}

/// Bytes of bodies that are cached or held by readers.
fn kept(fixture: &Fixture) -> usize {
    let mut text = String::new();
    fixture.metrics.write_prometheus(&mut text);
    let line = text.lines().find(|line| line.starts_with("greeksd_http_cache_bytes ")).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// The edition of a body, which all of it repeats.
fn edition_of(body: &[u8]) -> u64 {
    let first: u64 = std::str::from_utf8(&body[..7]).unwrap().parse().unwrap();
    assert!(body == version(first, body.len()), "a body of two editions");
    first
}

#[test]
fn what_is_asked_for_again_is_rendered_once_for_each_edition() {
    let fixture = serve();
    for edition in 1..4 {
        publish(&fixture, edition);
        let before = rendered(&fixture);
        for _ in 0..5 {
            let answer = ask(&fixture, TARGET, "");
            assert_eq!((answer.status, answer.body.len(), edition_of(&answer.body)), (200, SIZE, edition));
        }
        // an answer is cached from the second request on
        assert_eq!(rendered(&fixture) - before, if edition == 1 { 2 } else { 1 });
    }
    assert_eq!(ask(&fixture, "/version?1000000&other", "").body.len(), SIZE);
    let long = "/version?999999999";
    publish(&fixture, 4);
    let before = rendered(&fixture);
    for _ in 0..3 {
        fixture.connect().send(support::get(long));
    }
    eventually(|| rendered(&fixture) - before == 3, "what is too long to be kept is rendered for each");
}

#[test]
fn sixteen_clients_at_once_share_one_rendering() {
    let fixture = serve();
    publish(&fixture, 1);
    ask(&fixture, TARGET, "");
    for edition in 2..6 {
        publish(&fixture, edition);
        let before = rendered(&fixture);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| assert_eq!(edition_of(&ask(&fixture, TARGET, "").body), edition));
            }
        });
        // two threads may begin at the same moment
        assert!((1..=3).contains(&(rendered(&fixture) - before)), "{}", rendered(&fixture) - before);
    }
}

#[test]
fn parts_are_parts_of_one_body_while_newer_ones_are_published() {
    let fixture = serve();
    publish(&fixture, 7);
    let whole = head(&fixture, TARGET);
    assert_eq!((whole.status, whole.header("content-length"), whole.body.len()), (200, Some("1000000"), 0));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let etag = whole.header("etag").unwrap().to_owned();
    publish(&fixture, 8);
    let mut body = Vec::new();
    for first in (0..SIZE).step_by(300_000) {
        let last = (first + 299_999).min(SIZE - 1);
        let part = ask(&fixture, TARGET, &format!("Range: bytes={first}-{}\r\n", first + 299_999));
        assert_eq!(part.status, 206);
        assert_eq!(part.header("content-range"), Some(format!("bytes {first}-{last}/{SIZE}").as_str()));
        assert_eq!(part.header("etag"), Some(etag.as_str()));
        body.extend(part.body);
        publish(&fixture, 9 + first as u64);
        // a request for the whole gets the newest body, even while another client reads parts of an older one
        assert_eq!(edition_of(&ask(&fixture, TARGET, "").body), 9 + first as u64);
    }
    assert!(body == version(7, SIZE));
    let end = ask(&fixture, TARGET, "Range: bytes=-8\r\n");
    assert_eq!((end.status, edition_of(&end.body)), (206, 7));
    let beyond = ask(&fixture, TARGET, "Range: bytes=1000000-\r\n");
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("bytes */1000000")));
    // a version that is not this one: all of it, not a part
    let other = ask(&fixture, TARGET, "Range: bytes=0-7\r\nIf-Range: \"other\"\r\n");
    assert_eq!((other.status, other.body.len()), (200, SIZE));
    let several = ask(&fixture, TARGET, "Range: bytes=0-7,10-20\r\n");
    assert_eq!((several.status, several.body.len()), (200, SIZE));
    // after a pause the next reader begins with a newer body
    std::thread::sleep(Duration::from_millis(700));
    publish(&fixture, 99);
    let fresh = ask(&fixture, TARGET, "Range: bytes=-800\r\n");
    assert_eq!((fresh.status, edition_of(&fresh.body)), (206, 99));
}

#[test]
fn a_version_that_the_client_has_is_not_sent_again() {
    let fixture = serve();
    publish(&fixture, 1);
    for target in ["/version?100", TARGET] {
        let first = ask(&fixture, target, "");
        let etag = first.header("etag").unwrap().to_owned();
        assert_eq!(first.header("cache-control"), Some("no-cache"));
        let unless = format!("If-None-Match: {etag}\r\n");
        for _ in 0..3 {
            let mut client = fixture.connect();
            client.send(get_with(target, &unless));
            let (status, head) = client.head();
            assert!(status == 304 && head.contains(&etag), "{head}");
            assert_eq!(client.get("/small").status, 200, "nothing follows a 304");
        }
    }
    publish(&fixture, 2);
    let first = ask(&fixture, "/version?100", "");
    publish(&fixture, 3);
    let unless = format!("If-None-Match: {}\r\n", first.header("etag").unwrap());
    let newer = ask(&fixture, "/version?100", &unless);
    assert_eq!((newer.status, edition_of(&newer.body)), (200, 3));
    // what has no edition has no version
    let small = ask(&fixture, "/small", "If-None-Match: *\r\n");
    assert_eq!((small.status, small.header("etag"), small.header("cache-control")), (200, None, Some("no-store")));
}

#[test]
fn what_is_kept_has_a_bound_and_is_let_go() {
    let fixture = serve_with(Limits { cache_bytes: 3_000_000, ..Limits::default() });
    publish(&fixture, 1);
    for n in 0..12 {
        assert_eq!(head(&fixture, &format!("{TARGET}&{n}")).status, 200);
    }
    eventually(|| (1..=3_000_000).contains(&kept(&fixture)), "no more is kept than the bound");
    let before = rendered(&fixture);
    assert_eq!(edition_of(&ask(&fixture, &format!("{TARGET}&11"), "Range: bytes=0-79\r\n").body), 1);
    assert_eq!(rendered(&fixture), before, "the newest is kept");
    let none = serve_with(Limits { cache_bytes: 0, ..Limits::default() });
    publish(&none, 1);
    for _ in 0..3 {
        assert_eq!(ask(&none, TARGET, "").body.len(), SIZE);
    }
    let (answer, part) = (head(&none, TARGET), ask(&none, TARGET, "Range: bytes=0-7\r\n"));
    assert_eq!((answer.status, answer.header("content-length")), (200, None));
    assert_eq!((part.status, part.body.len(), rendered(&none)), (200, SIZE, 5));
}

#[test]
fn bodies_that_slow_readers_hold_count_and_are_not_added_to() {
    const LONG: usize = 8_000_000;
    let fixture = serve_with(Limits { cache_bytes: 20_000_000, ..Limits::default() });
    publish(&fixture, 1);
    let target = |n: usize| format!("/version?{LONG}&{n}");
    let slow: Vec<_> = (0..16)
        .map(|n| {
            let mut client = fixture.connect();
            client.send(get_with(&target(n), "Range: bytes=0-\r\n"));
            let (status, _) = client.head();
            (client, status)
        })
        .collect();
    let parts = slow.iter().filter(|(_, status)| *status == 206).count();
    // as many as fit into twice the bound, and the one that went beyond it
    assert_eq!(parts, 6, "{:?}", slow.iter().map(|(_, status)| *status).collect::<Vec<_>>());
    assert!(slow.iter().all(|(_, status)| [200, 206].contains(status)));
    let held = || kept(&fixture);
    eventually(|| held() == 6 * LONG, "what readers hold is shown");
    drop(slow);
    eventually(|| held() <= 20_000_000, "and let go with them");
    assert_eq!(ask(&fixture, &target(20), "Range: bytes=0-79\r\n").status, 206);
}

#[test]
fn a_kept_body_is_compressed_for_those_who_take_it() {
    let fixture = serve_with(Limits { gzip_loopback: true, ..Limits::default() });
    publish(&fixture, 1);
    let gzip = "Accept-Encoding: gzip\r\n";
    let mut tags = Vec::new();
    for _ in 0..4 {
        let answer = ask(&fixture, TARGET, gzip);
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        let mut body = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&answer.body[..]), &mut body).unwrap();
        assert!(body == version(1, SIZE));
        tags.push(answer.header("etag").unwrap().to_owned());
        assert_ne!(ask(&fixture, TARGET, "").header("etag").map(str::to_owned), tags.last().cloned());
    }
    tags.dedup();
    assert_eq!(tags.len(), 1);
    let has = ask(&fixture, TARGET, &format!("{gzip}If-None-Match: {}\r\n", tags[0]));
    assert_eq!(has.status, 304);
}
