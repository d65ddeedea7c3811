//! The interface between the server and the program that it serves, answers, and the heads that are written before
//! them. Never: a socket.

use super::body::ReceivedBody;
use super::framing::{Framing, Stream};
use super::request::{Fault, Request};
use super::socket::Talk;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tungstenite::handshake::derive_accept_key;

/// The served program. It is called on reactor threads, so it must not block, and should hold no lock.
///
/// A panic costs one connection (500, or a truncated stream), not the server.
pub trait App: Send + Sync + 'static {
    /// Answers a request, or parses it and leaves the rest to a bulk thread. Everything that can fail does so before
    /// the head of the answer is written.
    fn answer(self: &Arc<Self>, request: &Request<'_>) -> Answered;

    /// The refusal of a PUT by its head; its body is then not read.
    fn refuses(&self, request: &Request<'_>) -> Option<Answer>;

    /// Answers a PUT; its body counts against the bound until it is dropped.
    fn take(self: &Arc<Self>, request: &Request<'_>, body: ReceivedBody) -> Answered;

    /// Edition of the data: answers of one edition to the same target are identical. It must be cheap, since it is
    /// called before each answer.
    fn edition(&self) -> Option<u64> {
        None
    }
}

/// The answer of an app.
pub enum Answered {
    /// A finished answer.
    Now(Answer),
    /// Work that would delay small requests, called once on a bulk thread. It owns the parsed request.
    Heavy(HeavyAnswer),
}

/// Makes the answer to a parsed request.
pub type HeavyAnswer = Box<dyn FnOnce() -> Answer + Send>;

impl fmt::Debug for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(answer) => answer.fmt(f),
            Self::Heavy(_) => f.write_str("Heavy"),
        }
    }
}

impl Answered {
    /// The answer, made on this thread if it is heavy.
    #[must_use]
    pub fn here(self) -> Answer {
        match self {
            Self::Now(answer) => answer,
            Self::Heavy(make) => make(),
        }
    }
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// Further headers. Control characters are removed, so that a value cannot begin another header.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body.
    pub body: Body,
    /// Route under which the request is counted: one of those of [`super::Metrics`].
    pub route: &'static str,
    /// Edition of the data ([`super::App::edition`]): answers to one target with the same edition are identical.
    /// `None`: unknown.
    pub edition: Option<u64>,
}

/// Status, type and headers of an answer.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(&'static str, Cow<'static, str>)>,
    pub(super) route: &'static str,
}

/// The body of an answer.
pub enum Body {
    /// The whole body, a few kilobytes.
    Full(Vec<u8>),
    /// A body that is written as the client reads it; sent with a length if it ends within the first piece.
    Stream(Box<dyn Stream>),
    /// An answer that is not there yet, not even its status: it is polled.
    Awaited(Box<dyn Awaited>),
    /// The app's side of a WebSocket, for a request that asks for one.
    Socket(Box<dyn Talk>),
}

/// An answer that another thread makes, so that no serving thread waits for it.
pub trait Awaited: Send {
    /// The answer if it is there, without waiting; its body must not be [`Body::Awaited`].
    fn look(&mut self) -> Option<Answer>;
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
            Self::Awaited(_) => f.write_str("Awaited"),
            Self::Socket(_) => f.write_str("Socket"),
        }
    }
}

impl Answer {
    /// An answer with a complete body.
    #[must_use]
    pub fn full(route: &'static str, status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, content_type, headers: Vec::new(), body: Body::Full(body.into()), route, edition: None }
    }

    /// An answer with status 200 whose body is written piece by piece.
    #[must_use]
    pub fn stream(route: &'static str, content_type: &'static str, stream: impl Stream + 'static) -> Self {
        let body = Body::Stream(Box::new(stream));
        Self { status: 200, content_type, headers: Vec::new(), body, route, edition: None }
    }

    /// An answer that another thread makes, with status, type and headers.
    #[must_use]
    pub fn awaited(route: &'static str, awaited: impl Awaited + 'static) -> Self {
        let body = Body::Awaited(Box::new(awaited));
        Self { status: 200, content_type: "", headers: Vec::new(), body, route, edition: None }
    }

    /// An answer that opens a WebSocket; the request asks for one ([`super::Request::wants_socket`]).
    #[must_use]
    pub fn socket(route: &'static str, talk: impl Talk + 'static) -> Self {
        let body = Body::Socket(Box::new(talk));
        Self { status: 101, content_type: "", headers: Vec::new(), body, route, edition: None }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sets the edition.
    #[must_use]
    pub fn of_edition(self, edition: Option<u64>) -> Self {
        Self { edition, ..self }
    }

    /// Head and body of the answer.
    pub(super) fn into_parts(self) -> (Head, Body) {
        let Self { status, content_type, headers, body, route, .. } = self;
        (Head { status, content_type, headers, route }, body)
    }

    /// The server's own answer to a refused request.
    pub(super) fn of_fault(fault: Fault) -> Self {
        let (status, text) = fault.text();
        let answer = Self::full("refused", status, "application/json", format!("{{\"error\":\"{text}\"}}"));
        match fault {
            Fault::Method => answer.with_header("Allow", "GET, HEAD"),
            Fault::SocketVersion => {
                answer.with_header("Sec-WebSocket-Version", "13").with_header("Upgrade", "websocket")
            }
            Fault::TooManyBodies | Fault::TooManyUnread => answer.with_header("Retry-After", "1"),
            _ => answer,
        }
    }
}

/// Text of the header `Date`, formatted once a second.
#[derive(Debug)]
pub(super) struct DateText {
    clock: fn() -> Timestamp,
    second: i64,
    text: String,
}

impl DateText {
    /// Begins with the time of `clock`.
    pub(super) fn new(clock: fn() -> Timestamp) -> Self {
        let mut date = Self { clock, second: i64::MIN, text: String::new() };
        date.refresh();
        date
    }

    /// Reads the clock; called once per turn of a reactor.
    pub(super) fn refresh(&mut self) {
        let now = (self.clock)();
        // formatting for each answer would be slow
        if now.as_second() != self.second {
            self.second = now.as_second();
            self.text = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
        }
    }

    /// The text of the header.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// The headers of a head that depend on the delivery.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    /// How the client finds the end of the body.
    pub(super) framing: Framing,
    /// True if the body is compressed.
    pub(super) gzip: bool,
    /// True if the body depends on `Accept-Encoding`.
    pub(super) varies: bool,
    /// True if the connection stays open.
    pub(super) keep_alive: bool,
    /// True for an HTTP/1.0 client, which must be sent `Connection: keep-alive`.
    pub(super) http10: bool,
    /// Value of the header `ETag`.
    pub(super) etag: Option<String>,
    /// True if the client may request parts of the body.
    pub(super) has_parts: bool,
    /// The sent part and the length of the whole body; no range if the body has no such bytes.
    pub(super) part: Option<(Option<Range<usize>>, usize)>,
}

impl Delivery {
    /// The delivery of a complete body.
    pub(super) fn whole(length: usize, keep_alive: bool, http10: bool) -> Self {
        let framing = Framing::Length(length);
        Self { framing, gzip: false, varies: false, keep_alive, http10, etag: None, has_parts: false, part: None }
    }
}

/// Headers of every answer for browsers: they must not guess the type, and pages of other origins must not load it, not
/// even as a picture or a script.
const BROWSER_HEADERS: &str = "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n";
const POLICY: &str = "Content-Security-Policy";
/// Policy of a page without its own: nothing in it runs or loads, and no other page may show it in a frame.
const PAGE_HEADER: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; \
                           frame-ancestors 'none'\r\n";

/// Writes status line and headers.
pub(super) fn write_head(out: &mut Vec<u8>, answer: &Head, delivery: &Delivery, date: &str) {
    let mut number = itoa::Buffer::new();
    let mut put = |text: &str| out.extend_from_slice(text.as_bytes());
    put("HTTP/1.1 ");
    put(number.format(answer.status));
    put(" ");
    put(reason(answer.status));
    put(concat!("\r\nServer: greeksd/", env!("CARGO_PKG_VERSION"), "\r\nDate: "));
    put(date);
    put("\r\nContent-Type: ");
    put(answer.content_type);
    // a client may store an answer with a tag if it revalidates it, and must not store one without
    put(if delivery.etag.is_some() { "\r\nCache-Control: no-cache\r\n" } else { "\r\nCache-Control: no-store\r\n" });
    put(BROWSER_HEADERS);
    // with two policies browsers would apply the stricter one
    let has_policy = answer.headers.iter().any(|(name, _)| *name == POLICY);
    if answer.content_type.starts_with("text/html") && !has_policy {
        put(PAGE_HEADER);
    }
    if delivery.varies {
        // a shared cache must not send gzip to a client that cannot read it
        put("Vary: Accept-Encoding\r\n");
    }
    if delivery.gzip {
        put("Content-Encoding: gzip\r\n");
    }
    if let Some(etag) = &delivery.etag {
        put("ETag: ");
        put(etag);
        put("\r\n");
    }
    if delivery.has_parts {
        put("Accept-Ranges: bytes\r\n");
    }
    match &delivery.part {
        Some((Some(part), length)) => {
            put(&format!("Content-Range: bytes {}-{}/{length}\r\n", part.start, part.end.saturating_sub(1)));
        }
        Some((None, length)) => put(&format!("Content-Range: bytes */{length}\r\n")),
        None => {}
    }
    match delivery.framing {
        Framing::None => {}
        Framing::Length(length) => {
            put("Content-Length: ");
            put(number.format(length));
            put("\r\n");
        }
        Framing::Chunked => put("Transfer-Encoding: chunked\r\n"),
        Framing::UntilClose => {}
    }
    if !delivery.keep_alive {
        put("Connection: close\r\n");
    // HTTP/1.0 closes by default, 1.1 keeps open
    } else if delivery.http10 {
        put("Connection: keep-alive\r\n");
    }
    for (name, value) in &answer.headers {
        write_header(out, name, value);
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes the head that opens a WebSocket.
pub(super) fn write_socket_head(out: &mut Vec<u8>, answer: &Head, key: &str, date: &str) {
    out.extend_from_slice(b"HTTP/1.1 101 Switching Protocols\r\n");
    write_header(out, "Server", concat!("greeksd/", env!("CARGO_PKG_VERSION")));
    write_header(out, "Date", date);
    write_header(out, "Upgrade", "websocket");
    write_header(out, "Connection", "Upgrade");
    write_header(out, "Sec-WebSocket-Accept", &derive_accept_key(key.as_bytes()));
    for (name, value) in &answer.headers {
        write_header(out, name, value);
    }
    out.extend_from_slice(b"\r\n");
}

fn write_header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    // values may contain text of a client, and a line feed would begin another header
    out.extend(value.bytes().filter(|&b| b >= b' ' && b != 0x7f));
    out.extend_from_slice(b"\r\n");
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        416 => "Range Not Satisfiable",
        421 => "Misdirected Request",
        426 => "Upgrade Required",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(answer: Answer, framing: Framing, keep_alive: bool) -> String {
        let delivery = Delivery { framing, ..Delivery::whole(0, keep_alive, false) };
        let mut out = Vec::new();
        write_head(&mut out, &answer.into_parts().0, &delivery, "Fri, 20 Nov 2026 20:42:07 GMT");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_head_says_what_it_must() {
        let answer = Answer::full("x", 404, "application/json", "{}");
        let server = concat!("Server: greeksd/", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            head(answer, Framing::Length(2), false),
            format!(
                "HTTP/1.1 404 Not Found\r\n{server}\r\nDate: Fri, 20 Nov 2026 20:42:07 GMT\r\n\
                 Content-Type: application/json\r\nCache-Control: no-store\r\n\
                 X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nContent-Length: 2\r\n\
                 Connection: close\r\n\r\n"
            )
        );
        let policy = "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; \
                      frame-ancestors 'none'\r\n";
        let page = || Answer::full("x", 200, "text/html; charset=utf-8", "");
        assert!(head(page(), Framing::Length(0), true).contains(policy));
        let strict = head(page().with_header(POLICY, "default-src 'self'"), Framing::Length(0), true);
        assert!(strict.contains("\r\nContent-Security-Policy: default-src 'self'\r\n") && !strict.contains("'none'"));
    }

    #[test]
    fn a_header_value_cannot_begin_another_header() {
        let answer =
            Answer::full("x", 200, "text/csv", "").with_header("X-Name", "a\r\nSet-Cookie: b\u{7f}".to_owned());
        assert!(head(answer, Framing::Chunked, true).contains("\r\nX-Name: aSet-Cookie: b\r\n"));
    }

    #[test]
    fn the_date_follows_the_clock() {
        let date = DateText::new(|| Timestamp::constant(1_795_207_327, 5));
        assert_eq!(date.as_str(), "Fri, 20 Nov 2026 20:42:07 GMT");
    }
}
