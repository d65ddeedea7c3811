//! HTTP client of one server: GET only, but for the renewal of a sign-in; all bounds fixed, keys in headers only. The
//! only file that names `ureq`. Never: a vendor, a retry, but with a renewed token.

use super::failure::{Failed, Failure};
use super::sign_in::{SignIn, TokenRequest};
use host::private;
use host::secret::Secret;
use std::io::{ErrorKind, Read};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;
use ureq::http::{HeaderMap, Response};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Error, Proxy};

/// Limits of a response: times and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerBounds {
    /// Time to resolve and connect to the server.
    pub connect: Duration,
    /// Time from the request to the first byte of the response.
    pub first: Duration,
    /// Time of a whole request, without redirects.
    pub whole: Duration,
    /// Decompressed bytes.
    pub bytes: u64,
}

impl Default for AnswerBounds {
    /// The largest chain has about ten million bytes.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first: seconds(30), whole: seconds(60), bytes: 128 << 20 }
    }
}

/// Maximum number of redirects.
const REDIRECTS_MOST: usize = 3;
/// User agent: the form that servers expect, with our own name.
const USER_AGENT: &str = concat!("Mozilla/5.0 (compatible; greeksd/", env!("CARGO_PKG_VERSION"), ")");

/// Base address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBase {
    /// Scheme, host, port, and the beginning of a path, if any; without a trailing `/`.
    text: String,
    /// Length of scheme, host and port.
    origin: usize,
    host: String,
}

impl ServerBase {
    /// Parses `http://HOST[:PORT][/PATH]` or `https://HOST[:PORT][/PATH]`.
    ///
    /// # Errors
    /// The text is no such address, or has a user, a query or a fragment.
    pub fn parse(text: &str) -> Result<Self, String> {
        let hint = || format!("{text}: expected http://HOST:PORT or https://HOST");
        let text = text.strip_suffix('/').unwrap_or(text);
        let scheme = ["http://", "https://"].into_iter().find(|scheme| text.starts_with(scheme)).ok_or_else(hint)?;
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/[]".contains(&b);
        let rest = &text[scheme.len()..];
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.is_empty() || !rest.bytes().all(is_plain) {
            return Err(hint());
        }
        let host = match authority.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        };
        let origin = scheme.len() + authority.len();
        Ok(Self { text: text.to_owned(), origin, host: host.to_ascii_lowercase() })
    }

    /// True if the server is on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let address: Option<IpAddr> = self.host.parse().ok();
        self.host == "localhost" || self.host.ends_with(".localhost") || address.is_some_and(|a| a.is_loopback())
    }

    /// True if requests cannot be read on the way: they are encrypted, or stay on this machine.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.text.starts_with("https://") || self.is_loopback()
    }

    /// The address of a target.
    fn url(&self, target: &str) -> String {
        format!("{}{target}", self.text)
    }

    /// The target of a redirect, if it is on this server.
    fn follow(&self, location: &str) -> Option<String> {
        let origin = &self.text[..self.origin];
        if location.starts_with('/') && !location.starts_with("//") {
            return Some(format!("{origin}{location}"));
        }
        let rest = location.strip_prefix(origin)?;
        (rest.is_empty() || rest.starts_with(['/', '?'])).then(|| location.to_owned())
    }
}

impl std::fmt::Display for ServerBase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Headers of a response by which the server recognizes an unchanged one (`ETag`, `Last-Modified`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    etag: Option<String>,
    modified: Option<String>,
}

/// A response.
#[derive(Debug)]
pub enum Received {
    /// The data have not changed since the last response.
    Unchanged,
    /// A status and a body.
    Body {
        /// The status; 3xx only if the redirect was not followed.
        status: u16,
        /// The body; for an error, its first bytes.
        bytes: Vec<u8>,
        /// Validators for the next request.
        validators: Validators,
        /// Pause that the server requests.
        retry_after: Option<Duration>,
    },
}

/// Client of one server.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    base: ServerBase,
    headers: Vec<(&'static str, Secret)>,
    /// Brings the token of every request, where the vendor has such.
    sign_in: Option<SignIn>,
    bytes_most: u64,
}

impl Client {
    /// A client whose requests all have `headers`. It uses the proxies of the environment, but none for servers on this
    /// machine. `authorities` is a file of CA certificates to use instead of those of the system.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn new(
        base: ServerBase,
        headers: Vec<(&'static str, Secret)>,
        authorities: Option<&Path>,
        bounds: AnswerBounds,
    ) -> Result<Self, String> {
        let AnswerBounds { connect, first, whole, bytes } = bounds;
        let roots = match authorities {
            Some(file) => read_certificates(file).map_err(|e| format!("certificates {}: {e}", file.display()))?,
            None => RootCerts::PlatformVerifier,
        };
        let proxy = if base.is_loopback() { None } else { Proxy::try_from_env() };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent(USER_AGENT)
            .timeout_global(Some(whole))
            .timeout_per_call(Some(whole))
            .timeout_resolve(Some(connect))
            .timeout_connect(Some(connect))
            .timeout_send_request(Some(connect))
            .timeout_recv_response(Some(first))
            .timeout_recv_body(Some(whole))
            .build();
        Ok(Self { agent: Agent::new_with_config(config), base, headers, sign_in: None, bytes_most: bytes })
    }

    /// Sends the token of a sign-in with every request.
    #[must_use]
    pub fn signed_in(self, sign_in: Option<SignIn>) -> Self {
        Self { sign_in, ..self }
    }

    /// Requests a target; `known` are the validators of the last response.
    ///
    /// # Errors
    /// There is no response, or it cannot be read.
    pub fn get(&self, target: &str, known: Option<&Validators>) -> Result<Received, Failed> {
        let mut url = self.base.url(target);
        for _ in 0..=REDIRECTS_MOST {
            let response = self.call(&url, known)?;
            let status = response.status().as_u16();
            let location = response.headers().get("location").and_then(|value| value.to_str().ok());
            match (status, location) {
                (304, _) if known.is_some() => return Ok(Received::Unchanged),
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    url = self.base.follow(location).ok_or(Failure::Redirect)?;
                }
                _ => return read(response, self.bytes_most),
            }
        }
        Err(Failure::Redirect.into())
    }

    /// Sends a request; with a renewed token again, if the server takes the first one no more.
    fn call(&self, url: &str, known: Option<&Validators>) -> Result<Response<Body>, Failed> {
        let Some(sign_in) = &self.sign_in else { return self.send(url, known, None) };
        let token = sign_in.token(|request| self.post(request))?;
        let response = self.send(url, known, Some(&token))?;
        if response.status().as_u16() != 401 {
            return Ok(response);
        }
        sign_in.drop_token(&token);
        self.send(url, known, Some(&sign_in.token(|request| self.post(request))?))
    }

    /// Sends a request to the server of tokens; returns the status and the body.
    fn post(&self, request: &TokenRequest) -> Result<(u16, Vec<u8>), Failed> {
        let mut post = self.agent.post(self.base.url(request.path)).header("content-type", request.content_type);
        for (name, value) in self.headers.iter().chain(&request.headers) {
            post = post.header(*name, value.expose());
        }
        match read(post.send(request.body.expose()).map_err(|error| failure_of(&error))?, self.bytes_most)? {
            Received::Body { status, bytes, .. } => Ok((status, bytes)),
            Received::Unchanged => Err(Failure::Status.into()),
        }
    }

    fn send(&self, url: &str, known: Option<&Validators>, token: Option<&Secret>) -> Result<Response<Body>, Failed> {
        let mut request = self.agent.get(url);
        if let Some(token) = token {
            request = request.header("authorization", token.as_bearer().expose());
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value.expose());
        }
        if let Some(Validators { etag, modified }) = known {
            for (name, value) in [("if-none-match", etag), ("if-modified-since", modified)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
        }
        request.call().map_err(|error| failure_of(&error).into())
    }
}

/// Bytes read of an error response: enough for its message.
const REFUSAL_MOST: u64 = 4096;

/// Reads a response: the whole body, or the first bytes of an error's.
fn read(response: Response<Body>, bytes_most: u64) -> Result<Received, Failed> {
    let (head, body) = response.into_parts();
    let status = head.status.as_u16();
    let text = |name: &str| text_of(&head.headers, name);
    let mut bytes = Vec::new();
    if head.status.is_success() {
        let mut reader = body.into_reader().take(bytes_most + 1);
        reader.read_to_end(&mut bytes).map_err(|error| failure_of_reading(&error))?;
        if bytes.len() as u64 > bytes_most {
            return Err(Failure::TooLarge.into());
        }
    } else if body.into_reader().take(REFUSAL_MOST).read_to_end(&mut bytes).is_err() {
        bytes.clear();
    }
    Ok(Received::Body {
        status,
        bytes,
        validators: Validators { etag: text("etag"), modified: text("last-modified") },
        retry_after: text("retry-after").and_then(|text| retry_after(&text, text_of(&head.headers, "date").as_deref())),
    })
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// Parses `Retry-After`: seconds, or a date relative to the server's own date.
fn retry_after(text: &str, now: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let parse = |text: &str| jiff::fmt::rfc2822::parse(text.trim()).ok().map(|at| at.timestamp());
    parse(text)?.duration_since(parse(now?)?).try_into().ok()
}

fn read_certificates(file: &Path) -> Result<RootCerts, String> {
    let text = private::read_short(file).map_err(|e| e.to_string())?;
    let items = parse_pem(&text).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    let certificates = items.into_iter().filter_map(|item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    if certificates.is_empty() {
        Err("no certificate (PEM)".to_owned())
    } else {
        Ok(RootCerts::new_with_certs(&certificates))
    }
}

/// The kind of an error. Its text names addresses, and is not shown.
fn failure_of(error: &Error) -> Failure {
    match error {
        Error::Timeout(_) => Failure::Timeout,
        Error::HostNotFound | Error::ConnectionFailed | Error::InvalidProxyUrl | Error::ConnectProxyFailed(_) => {
            Failure::Connect
        }
        Error::Tls(_) | Error::Rustls(_) | Error::Pem(_) => Failure::Tls,
        Error::Io(error) => failure_of_connection(error),
        Error::TooManyRedirects | Error::RedirectFailed => Failure::Redirect,
        Error::BodyExceedsLimit(_) | Error::LargeResponseHeader(..) => Failure::TooLarge,
        _ => Failure::Malformed,
    }
}

fn failure_of_connection(error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Failure::Timeout,
        ErrorKind::ConnectionRefused
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::AddrNotAvailable => Failure::Connect,
        // errors of the encryption have this kind
        ErrorKind::InvalidData => Failure::Tls,
        _ => Failure::Cut,
    }
}

fn failure_of_reading(error: &std::io::Error) -> Failure {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match (inner, error.kind()) {
        (Some(Error::Decompress(_, error)), _) if error.kind() != ErrorKind::UnexpectedEof => Failure::Malformed,
        (Some(Error::Timeout(_)), _) | (None, ErrorKind::TimedOut | ErrorKind::WouldBlock) => Failure::Timeout,
        (None, ErrorKind::InvalidData | ErrorKind::InvalidInput) => Failure::Malformed,
        _ => Failure::Cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_loopback_is_known() {
        for (text, loopback, private) in [
            ("http://127.0.0.1:25503", true, true),
            ("http://localhost:1/x/", true, true),
            ("http://[::1]:80", true, true),
            ("http://127.1.2.3", true, true),
            ("https://api.example", false, true),
            ("http://api.example:8080", false, false),
            ("http://127.0.0.1.example", false, false),
        ] {
            let base = ServerBase::parse(text).unwrap();
            assert_eq!((base.is_loopback(), base.is_private()), (loopback, private), "{text}");
        }
        for text in
            ["", "ftp://x", "http://", "https:///x", "http://a b", "https://me:word@x", "http://x?y", "http://x#y"]
        {
            assert!(ServerBase::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn redirects_stay_where_they_are() {
        let base = ServerBase::parse("https://api.example:444/v1").unwrap();
        assert_eq!(base.url("/x?y=1"), "https://api.example:444/v1/x?y=1");
        for (location, wanted) in [
            ("/v2/x", Some("https://api.example:444/v2/x")),
            ("https://api.example:444/z", Some("https://api.example:444/z")),
            ("http://api.example:444/z", None),
            ("https://api.example/z", None),
            ("https://api.example:4443/z", None),
            ("https://api.example:444.evil/z", None),
            ("https://api.example:444@evil/z", None),
            ("//evil/z", None),
            ("z", None),
        ] {
            assert_eq!(base.follow(location).as_deref(), wanted, "{location}");
        }
    }

    #[test]
    fn servers_say_when_in_seconds_or_by_a_date() {
        let date = "Sun, 22 Nov 2026 10:00:00 GMT";
        let later = "Sun, 22 Nov 2026 10:01:30 GMT";
        assert_eq!(retry_after("120", None), Some(Duration::from_secs(120)));
        assert_eq!(retry_after(later, Some(date)), Some(Duration::from_secs(90)));
        for (text, now) in [(date, Some(later)), (later, None), ("soon", Some(date)), ("-1", None)] {
            assert_eq!(retry_after(text, now), None, "{text}");
        }
    }
}
