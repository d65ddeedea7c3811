//! Parses the head of a request: method, target and headers, or the fault to answer. Never: an answer.
//!
//! It refuses everything that a proxy could read differently: repeated `Content-Length`, any `Transfer-Encoding`, and a
//! second `Host`. A GET that asks for a WebSocket has what RFC 6455 wants, or is refused.

use super::limits::{HEADERS, Limits};
use super::percent::decode_strict;
use std::borrow::Cow;
use std::net::SocketAddr;

/// Method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Requests the answer.
    Get,
    /// Requests the head of the answer; the server omits the body.
    Head,
    /// Stores the body under the path; accepted only from this machine, and only where the app takes it.
    Put,
}

/// A parsed request, borrowing from the buffer of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    method: Method,
    path: &'a str,
    query: &'a str,
    authority: Option<&'a str>,
    headers: &'a [httparse::Header<'a>],
    peer: SocketAddr,
    /// The key of a request for a WebSocket.
    socket_key: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// GET, HEAD or PUT. The app answers GET and HEAD alike.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// The path as sent, from its first `/` to before the `?`.
    #[must_use]
    pub fn raw_path(&self) -> &'a str {
        self.path
    }

    /// The decoded path. Where a segment may contain `%2F`, split [`Self::raw_path`] and decode the segments instead.
    #[must_use]
    pub fn path(&self) -> Cow<'a, str> {
        decode_strict(self.path).unwrap_or(Cow::Borrowed(self.path))
    }

    /// The query as sent, after the `?`; empty if there is none.
    #[must_use]
    pub fn query(&self) -> &'a str {
        self.query
    }

    /// The value of the first header of this name (any case), if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let found = self.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok().map(str::trim)
    }

    /// True if there is a header of this name (any case).
    pub(super) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name))
    }

    /// The requested host with its port: that of an absolute target, else `Host`.
    #[must_use]
    pub fn host(&self) -> Option<&'a str> {
        self.authority.or_else(|| self.header("host")).filter(|host| !host.is_empty())
    }

    /// All hosts of the request: that of an absolute target, and `Host`.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &'a [u8]> {
        let header = self.headers.iter().find(|h| h.name.eq_ignore_ascii_case("host"));
        self.authority.map(str::as_bytes).into_iter().chain(header.map(|h| h.value.trim_ascii()))
    }

    /// True if the client asks for a WebSocket.
    #[must_use]
    pub fn wants_socket(&self) -> bool {
        self.socket_key.is_some()
    }

    /// The key of a request for a WebSocket.
    pub(super) fn socket_key(&self) -> Option<&'a str> {
        self.socket_key
    }

    /// The client's address.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// True if `Accept-Encoding` permits gzip.
    pub(super) fn takes_gzip(&self) -> bool {
        self.header("accept-encoding").is_some_and(admits_gzip)
    }
}

/// Facts of a head that concern the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeadFacts {
    /// Length of the head, bytes.
    pub(super) length: usize,
    /// Length of the body, bytes.
    pub(super) body: u64,
    /// True if the client waits for status 100 before it sends the body.
    pub(super) expects_continue: bool,
    /// True for HTTP/1.0: no chunks, and closed unless requested otherwise.
    pub(super) http10: bool,
    /// True if the connection stays open after the answer.
    pub(super) keep_alive: bool,
}

/// Why the server itself refuses a request; the connection is closed after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Malformed,
    BadPath,
    BadLength,
    BadHost,
    BadKey,
    CrossSite,
    Method,
    Timeout,
    ContentTooLarge,
    OtherHost,
    SocketVersion,
    HeadTooLarge,
    Panicked,
    TooManyBodies,
    TooManyUnread,
    TransferEncoding,
    Version,
}

impl Fault {
    /// Status and text.
    pub(super) fn text(self) -> (u16, &'static str) {
        match self {
            Self::Malformed => (400, "malformed request"),
            Self::BadPath => (400, "malformed path"),
            Self::BadLength => (400, "malformed or repeated Content-Length"),
            Self::BadHost => (400, "missing or repeated Host"),
            Self::BadKey => (400, "missing or malformed Sec-WebSocket-Key"),
            Self::CrossSite => (403, "cross-site request: pages of other sites may only link here"),
            Self::Method => (405, "method not allowed"),
            Self::Timeout => (408, "the request did not arrive in time"),
            Self::ContentTooLarge => (413, "request body too large"),
            Self::OtherHost => (421, "unknown Host; greeksd serve --allow-host NAME allows another name"),
            Self::SocketVersion => (426, "WebSocket of version 13 only"),
            Self::HeadTooLarge => (431, "request head too large"),
            Self::Panicked => (500, "internal error"),
            Self::TransferEncoding => (501, "request bodies with Transfer-Encoding are not supported"),
            Self::TooManyBodies => (503, "too many request bodies at once"),
            Self::TooManyUnread => (503, "too many long answers wait for their readers"),
            Self::Version => (505, "HTTP/1.0 and HTTP/1.1 only"),
        }
    }
}

/// Space for headers, for [`parse`].
pub(super) type HeaderSlots<'a> = [httparse::Header<'a>; HEADERS];

/// Length of the request head at the start of `bytes`; `None` while it is incomplete. Hosts are not checked.
///
/// # Errors
/// The status of a refusal.
pub fn length_of_head(bytes: &[u8], limits: &Limits) -> Result<Option<usize>, u16> {
    let mut slots = [httparse::EMPTY_HEADER; HEADERS];
    let peer = SocketAddr::from(([127, 0, 0, 1], 0));
    let parsed = parse(bytes, &mut slots, peer, limits).map_err(|fault| fault.text().0)?;
    Ok(parsed.map(|(_, facts)| facts.length))
}

/// Parses a head at the start of `bytes`; `None` while it is incomplete.
pub(super) fn parse<'a>(
    bytes: &'a [u8],
    slots: &'a mut HeaderSlots<'a>,
    peer: SocketAddr,
    limits: &Limits,
) -> Result<Option<(Request<'a>, HeadFacts)>, Fault> {
    let mut head = httparse::Request::new(slots);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= limits.head_bytes => length,
        // a long head is refused before it is complete, so that the buffer cannot grow
        Ok(httparse::Status::Partial) if bytes.len() <= limits.head_bytes => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(Fault::HeadTooLarge),
        // TLS or another protocol at this port is malformed, HTTP/2 in plain text is an unsupported version
        Err(httparse::Error::Version) if names_http(bytes) => return Err(Fault::Version),
        Err(_) => return Err(Fault::Malformed),
    };
    let headers: &'a [httparse::Header<'a>] = head.headers;
    // framing is checked before the method: a request of ambiguous length must not be skipped
    let facts = read_facts(headers, length, head.version == Some(0))?;
    let method = match head.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        // only clients on this machine may change its state
        Some("PUT") if limits.put_bytes > 0 && peer.ip().to_canonical().is_loopback() => Method::Put,
        _ => return Err(Fault::Method),
    };
    let most = if method == Method::Put { limits.put_bytes } else { limits.body_bytes };
    if facts.body > most {
        return Err(Fault::ContentTooLarge);
    }
    let (authority, path, query) = split_target(head.path.unwrap_or_default()).ok_or(Fault::BadPath)?;
    // HTTP/1.0 has no other protocols
    let socket_key = if method == Method::Get && !facts.http10 { read_socket_key(headers)? } else { None };
    Ok(Some((Request { method, path, query, authority, headers, peer, socket_key }, facts)))
}

/// The key of a request for a WebSocket; `None`: it is another request.
fn read_socket_key<'a>(headers: &'a [httparse::Header<'a>]) -> Result<Option<&'a str>, Fault> {
    let values = |name: &'static str| {
        let named = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value.trim_ascii())
    };
    let has = |name, word: &[u8]| {
        let mut words = values(name).flat_map(|value| value.split(|&b| b == b',')).map(<[u8]>::trim_ascii);
        words.any(|item| item.eq_ignore_ascii_case(word))
    };
    if !has("upgrade", b"websocket") || !has("connection", b"upgrade") {
        return Ok(None);
    }
    if !values("sec-websocket-version").eq([b"13"]) {
        return Err(Fault::SocketVersion);
    }
    let mut keys = values("sec-websocket-key");
    let key = keys.next().filter(|_| keys.next().is_none()).and_then(|key| std::str::from_utf8(key).ok());
    // sixteen bytes in Base64
    let is_key = |key: &&str| {
        let digits = key.strip_suffix("==").unwrap_or_default();
        digits.len() == 22 && digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
    };
    key.filter(is_key).map(Some).ok_or(Fault::BadKey)
}

/// True if the third word of the request line is a version of HTTP.
fn names_http(bytes: &[u8]) -> bool {
    let line = bytes.split(|&b| b == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    line.split(|&b| b == b' ').nth(2).is_some_and(|word| word.starts_with(b"HTTP/"))
}

/// Reads the headers that concern the connection.
fn read_facts(headers: &[httparse::Header<'_>], length: usize, http10: bool) -> Result<HeadFacts, Fault> {
    let mut facts = HeadFacts { length, body: 0, expects_continue: false, http10, keep_alive: !http10 };
    let (mut lengths, mut hosts) = (0, 0);
    for header in headers {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("connection") {
            facts.keep_alive = keeps_alive(header.value, facts.keep_alive);
        } else if is("content-length") {
            lengths += 1;
            // repeated lengths, even equal ones, serve to smuggle requests past a proxy (RFC 9112, 6.3)
            facts.body = parse_length(header.value).filter(|_| lengths == 1).ok_or(Fault::BadLength)?;
        } else if is("transfer-encoding") {
            // a chunked body would need a parser only to drop its output
            return Err(Fault::TransferEncoding);
        } else if is("expect") {
            facts.expects_continue = !http10 && header.value.eq_ignore_ascii_case(b"100-continue");
        } else if is("host") {
            hosts += 1;
        }
    }
    // RFC 9112, 3.2: a server must refuse this, and the check of hosts relies on it
    if hosts > 1 || (hosts == 0 && !http10) {
        return Err(Fault::BadHost);
    }
    Ok(facts)
}

/// True if the connection stays open after one `Connection` header; `close` overrides `keep-alive`.
fn keeps_alive(value: &[u8], before: bool) -> bool {
    let has = |word: &[u8]| value.split(|&b| b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word));
    !has(b"close") && (before || has(b"keep-alive"))
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    // `parse` alone would accept a plus sign
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// Splits `/path?query` or `http://authority/path?query` into authority, path and query; `None` if the path cannot be
/// decoded.
fn split_target(target: &str) -> Option<(Option<&str>, &str, &str)> {
    let (authority, origin) = match split_scheme(target) {
        Some(rest) => {
            let (authority, origin) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            (Some(authority), origin)
        }
        None => (None, target),
    };
    let (path, query) = origin.split_once('?').unwrap_or((origin, ""));
    // http://host without a slash is the root
    let path = if path.is_empty() && authority.is_some() { "/" } else { path };
    (path.starts_with('/') && decode_strict(path).is_some()).then_some((authority, path, query))
}

/// The text after `http://` or `https://`.
fn split_scheme(target: &str) -> Option<&str> {
    ["http://", "https://"].into_iter().find_map(|scheme| {
        let start = target.get(..scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then(|| &target[scheme.len()..])
    })
}

/// True if an `Accept-Encoding` value admits gzip: named, or covered by `*`, with a weight above 0.
fn admits_gzip(value: &str) -> bool {
    let weight_of = |coding: &str| {
        value.split(',').find_map(|item| {
            let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
            // q=0 refuses a coding; a weight that is no number counts as 0
            let weight = parameters.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.trim().parse().ok());
            name.trim().eq_ignore_ascii_case(coding).then_some(weight.unwrap_or(0.0))
        })
    };
    weight_of("gzip").or_else(|| weight_of("*")).is_some_and(|weight: f64| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_parsed<T>(text: &[u8], look: impl FnOnce(Result<Option<(Request<'_>, HeadFacts)>, Fault>) -> T) -> T {
        let mut slots = [httparse::EMPTY_HEADER; HEADERS];
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        look(parse(text, &mut slots, peer, &Limits::default()))
    }

    fn target(target: &str) -> Result<(String, String, Option<String>), Fault> {
        let head = format!("GET {target} HTTP/1.1\r\nHost: h:1\r\n\r\n");
        with_parsed(head.as_bytes(), |parsed| {
            let (request, _) = parsed?.ok_or(Fault::Timeout)?;
            Ok((request.path().into_owned(), request.query().to_owned(), request.host().map(str::to_owned)))
        })
    }

    fn facts(lines: &str) -> Result<HeadFacts, Fault> {
        with_parsed(lines.as_bytes(), |parsed| parsed?.map(|(_, facts)| facts).ok_or(Fault::Timeout))
    }

    #[test]
    fn targets_are_origin_or_absolute() {
        let row = |path: &str, query: &str, host: &str| Ok((path.to_owned(), query.to_owned(), Some(host.to_owned())));
        assert_eq!(target("/a/b?c=d?e"), row("/a/b", "c=d?e", "h:1"));
        assert_eq!(target("HTTP://x:2/a?b"), row("/a", "b", "x:2"));
        assert_eq!(target("http://x"), row("/", "", "x"));
        assert_eq!(target("https://x?q"), row("/", "q", "x"));
        assert_eq!(target("/BRK%2FB%20"), row("/BRK/B ", "", "h:1"));
        for bad in ["*", "a", "/%", "/%zz", "/%ff", "ftp://x/", "?a"] {
            assert_eq!(target(bad), Err(Fault::BadPath), "{bad}");
        }
    }

    #[test]
    fn lengths_codings_and_hosts_are_read_strictly() {
        let get = |rest: &str| facts(&format!("GET / HTTP/1.1\r\nHost: h\r\n{rest}\r\n"));
        assert_eq!(get("Content-Length: 12\r\n").map(|f| f.body), Ok(12));
        for bad in ["+1", "-1", "1,1", "0x1", "", "1 1", "99999999999999999999999"] {
            assert_eq!(get(&format!("Content-Length: {bad}\r\n")), Err(Fault::BadLength), "{bad}");
        }
        assert_eq!(get("Content-Length: 1\r\ncontent-length: 1\r\n"), Err(Fault::BadLength));
        assert_eq!(get("Content-Length: 1048577\r\n"), Err(Fault::ContentTooLarge));
        assert_eq!(get("Transfer-Encoding: chunked\r\n"), Err(Fault::TransferEncoding));
        assert_eq!(get("Host: other\r\n"), Err(Fault::BadHost));
        assert_eq!(facts("GET / HTTP/1.1\r\n\r\n"), Err(Fault::BadHost));
        assert_eq!(facts("POST / HTTP/1.1\r\nHost: h\r\n\r\n"), Err(Fault::Method));
        assert_eq!(facts("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), Err(Fault::Version));
    }

    #[test]
    fn connections_stay_open_by_version_and_header() {
        let keep = |version: &str, header: &str| {
            facts(&format!("GET / HTTP/{version}\r\nHost: h\r\n{header}\r\n")).map(|f| f.keep_alive)
        };
        assert_eq!(keep("1.1", ""), Ok(true));
        assert_eq!(keep("1.1", "Connection: TE, Close\r\n"), Ok(false));
        assert_eq!(keep("1.1", "Connection: close, keep-alive\r\n"), Ok(false));
        assert_eq!(keep("1.0", ""), Ok(false));
        assert_eq!(keep("1.0", "Connection: Keep-Alive\r\n"), Ok(true));
    }

    #[test]
    fn a_websocket_is_asked_for_as_the_standard_says() {
        let key = |line: &str, rest: &str| {
            let head = format!("{line}\r\nHost: h\r\nUpgrade: WebSocket\r\n{rest}\r\n");
            with_parsed(head.as_bytes(), |parsed| {
                Ok(parsed?.and_then(|(request, _)| request.socket_key().is_some().then_some(())))
            })
        };
        let whole = "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        assert_eq!(key("GET / HTTP/1.1", whole), Ok(Some(())));
        for other in ["HEAD / HTTP/1.1", "GET / HTTP/1.0"] {
            assert_eq!(key(other, whole), Ok(None), "{other}");
        }
        assert_eq!(key("GET / HTTP/1.1", ""), Ok(None), "a proxy has taken the header Connection");
        for version in ["8", "13, 8", ""] {
            let other = whole.replace("Version: 13", &format!("Version: {version}"));
            assert_eq!(key("GET / HTTP/1.1", &other), Err(Fault::SocketVersion), "{version}");
        }
        for bad in ["", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25j!Q=="] {
            let other = whole.replace("dGhlIHNhbXBsZSBub25jZQ==", bad);
            assert_eq!(key("GET / HTTP/1.1", &other), Err(Fault::BadKey), "{bad}");
        }
    }

    #[test]
    fn gzip_is_negotiated_by_weight() {
        for yes in ["gzip", "deflate, GZIP", "gzip;q=0.5, br", "*", "br;q=1, *;q=0.1", "gzip; q=1"] {
            assert!(admits_gzip(yes), "{yes}");
        }
        for no in ["", "br", "gzip;q=0", "gzip;q=0, *", "*;q=0", "gzip;q=x", "xgzip"] {
            assert!(!admits_gzip(no), "{no}");
        }
    }

    proptest! {
        #[test]
        fn no_head_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = with_parsed(&bytes, |parsed| parsed.map(|found| found.map(|(_, facts)| facts)));
        }

        #[test]
        fn no_target_panics(text in "[/?%:a-fhtp0-9.#é]{0,30}") {
            let _ = target(&text);
        }
    }
}
