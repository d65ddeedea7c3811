//! Answers: what an app returns, and the head that is written before it.

use super::framing::Framing;
use super::request::Fault;
use crate::stream::Stream;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// What goes out for one request.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// Further headers. Control characters in a value are left out, so that a value cannot begin a header of its own.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body.
    pub body: Body,
    /// Under which name the request is counted: one of those that [`super::Metrics`] was made with.
    pub route: &'static str,
    /// Answers to one target with the same edition ([`super::App::edition`]) are the same, byte for byte. `None`:
    /// nobody knows.
    pub edition: Option<u64>,
}

/// What an answer says before its body.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(&'static str, Cow<'static, str>)>,
    pub(super) route: &'static str,
}

/// The body of an answer.
pub enum Body {
    /// All of it, a few kilobytes.
    Full(Vec<u8>),
    /// Written as the client takes it; sent with a length if it ends within the first piece.
    Stream(Box<dyn Stream>),
    /// Nothing of the answer is known yet, not even its status: it is asked for until it is there.
    Awaited(Box<dyn Awaited>),
}

/// An answer that is being made elsewhere, so that no thread that serves waits for it.
pub trait Awaited: Send {
    /// The answer, if it is there: one whose own body is no such again. Never waits.
    fn look(&mut self) -> Option<Answer>;
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
            Self::Awaited(_) => f.write_str("Awaited"),
        }
    }
}

impl Answer {
    /// An answer with a body that is already there.
    #[must_use]
    pub fn full(route: &'static str, status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, content_type, headers: Vec::new(), body: Body::Full(body.into()), route, edition: None }
    }

    /// A 200 whose body is written piece by piece.
    #[must_use]
    pub fn stream(route: &'static str, content_type: &'static str, stream: impl Stream + 'static) -> Self {
        let body = Body::Stream(Box::new(stream));
        Self { status: 200, content_type, headers: Vec::new(), body, route, edition: None }
    }

    /// An answer that is being made elsewhere. Status, type and headers are those of what comes.
    #[must_use]
    pub fn awaited(route: &'static str, awaited: impl Awaited + 'static) -> Self {
        let body = Body::Awaited(Box::new(awaited));
        Self { status: 200, content_type: "", headers: Vec::new(), body, route, edition: None }
    }

    /// The answer with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same, of an edition.
    #[must_use]
    pub fn of_edition(self, edition: Option<u64>) -> Self {
        Self { edition, ..self }
    }

    /// Its head and its body.
    pub(super) fn into_parts(self) -> (Head, Body) {
        let Self { status, content_type, headers, body, route, .. } = self;
        (Head { status, content_type, headers, route }, body)
    }

    /// What the server itself answers to a request that is none.
    pub(super) fn of_fault(fault: Fault) -> Self {
        let (status, text) = fault.text();
        let answer = Self::full("refused", status, "application/json", format!("{{\"error\":\"{text}\"}}"));
        match fault {
            Fault::Method => answer.with_header("Allow", "GET, HEAD"),
            Fault::TooManyBodies => answer.with_header("Retry-After", "1"),
            _ => answer,
        }
    }
}

/// The `Date` of answers, formatted once a second.
#[derive(Debug)]
pub(super) struct DateText {
    clock: fn() -> Timestamp,
    second: i64,
    text: String,
}

impl DateText {
    /// Reads `clock`.
    pub(super) fn new(clock: fn() -> Timestamp) -> Self {
        let mut date = Self { clock, second: i64::MIN, text: String::new() };
        date.refresh();
        date
    }

    /// Reads the clock again. Called once per turn of a reactor, not per answer.
    pub(super) fn refresh(&mut self) {
        let now = (self.clock)();
        // formatted once a second and not once a response
        if now.as_second() != self.second {
            self.second = now.as_second();
            self.text = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
        }
    }

    /// The text.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// What a head says besides the answer's own words.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    /// How the body's end is found.
    pub(super) framing: Framing,
    /// The body is gzip.
    pub(super) gzip: bool,
    /// The body would be another one for a client with another `Accept-Encoding`.
    pub(super) varies: bool,
    /// The connection stays open.
    pub(super) keep_alive: bool,
    /// An HTTP/1.0 client: the response must state that the connection stays open.
    pub(super) http10: bool,
    /// The version of the body, as it is spelt.
    pub(super) etag: Option<String>,
    /// Parts of the body can be had.
    pub(super) has_parts: bool,
    /// Which part this is: its first byte, the one behind its last, and the length of the whole; no part at all of a
    /// body that has no such bytes.
    pub(super) part: Option<(Option<Range<usize>>, usize)>,
}

impl Delivery {
    /// How bodies go out that are there whole.
    pub(super) fn whole(length: usize, keep_alive: bool, http10: bool) -> Self {
        let framing = Framing::Length(length);
        Self { framing, gzip: false, varies: false, keep_alive, http10, etag: None, has_parts: false, part: None }
    }
}

/// What a browser must know of every answer: its type is the one that is said, and pages of other origins may not
/// have it, not even as a picture or a script.
const BROWSER_HEADERS: &str = "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n";
const POLICY: &str = "Content-Security-Policy";
/// What it must know of a page that says nothing of the kind itself: nothing in it runs, loads or is shown within
/// another page.
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
    // what has a version may be kept and asked for again; what has none may not
    put(if delivery.etag.is_some() { "\r\nCache-Control: no-cache\r\n" } else { "\r\nCache-Control: no-store\r\n" });
    put(BROWSER_HEADERS);
    // a page with its own policy must not have two: browsers apply both, and the stricter one wins
    let has_policy = answer.headers.iter().any(|(name, _)| *name == POLICY);
    if answer.content_type.starts_with("text/html") && !has_policy {
        put(PAGE_HEADER);
    }
    if delivery.varies {
        // a shared cache must not hand gzip to a client that cannot read it
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

fn write_header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    // values may hold what a client sent: a line feed would begin a header of its own
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
