//! A WebSocket to a server, read with a time limit. The only file that names `tungstenite` and `rustls`. Never: a
//! vendor, a message.

use super::poll::failure::Failure;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_platform_verifier::BuilderVerifierExt;
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tungstenite::http::Uri;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, HandshakeError, Message, WebSocket};

/// Maximum size of a message: a few seconds of every contract of an index have a megabyte.
const MESSAGE_MOST: usize = 16 << 20;

/// An open WebSocket.
pub struct Socket(WebSocket<Wire>);

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").finish_non_exhaustive()
    }
}

/// A connection, encrypted or not.
enum Wire {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Wire {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(to),
            Self::Encrypted(stream) => stream.read(to),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(from),
            Self::Encrypted(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

impl Wire {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Encrypted(stream) => &stream.sock,
        }
    }
}

impl Socket {
    /// Connects to `wss://HOST[:PORT]/PATH`, or to `ws://` of this machine. `authorities` is a file of CA certificates
    /// to use instead of those of the system; `within` limits each step.
    ///
    /// # Errors
    /// There is no such server, or it does not speak the protocol.
    pub fn connect(url: &str, authorities: Option<&Path>, within: Duration) -> Result<Self, Failure> {
        let uri: Uri = url.parse().map_err(|_| Failure::Malformed)?;
        let (host, is_encrypted) = match (uri.host(), uri.scheme_str()) {
            (Some(host), Some("wss")) => (host.trim_matches(['[', ']']), true),
            (Some(host), Some("ws")) => (host.trim_matches(['[', ']']), false),
            _ => return Err(Failure::Malformed),
        };
        let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
        let addresses = (host, port).to_socket_addrs().map_err(|_| Failure::Connect)?;
        // a token goes over it
        let may_go = |address: &std::net::SocketAddr| is_encrypted || address.ip().is_loopback();
        let open = |address| TcpStream::connect_timeout(&address, within).ok();
        let tcp = addresses.filter(may_go).find_map(open).ok_or(Failure::Connect)?;
        let limits = |tcp: &TcpStream| {
            tcp.set_nodelay(true)?;
            tcp.set_read_timeout(Some(within))?;
            tcp.set_write_timeout(Some(within))
        };
        limits(&tcp).map_err(|_| Failure::Connect)?;
        let wire = if is_encrypted { encrypted(host, tcp, authorities)? } else { Wire::Plain(tcp) };
        let config = WebSocketConfig::default().max_message_size(Some(MESSAGE_MOST)).max_frame_size(Some(MESSAGE_MOST));
        match tungstenite::client::client_with_config(uri, wire, Some(config)) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(HandshakeError::Interrupted(_)) => Err(Failure::Timeout),
            Err(HandshakeError::Failure(Error::Http(response))) => {
                // another status than that of the protocol, and be it 200
                Err(Failure::of_status(response.status().as_u16()).unwrap_or(Failure::Malformed))
            }
            Err(HandshakeError::Failure(error)) => Err(failure_of(&error)),
        }
    }

    /// Sends a text.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send(&mut self, text: &str) -> Result<(), Failure> {
        self.0.send(Message::text(text)).map_err(|error| failure_of(&error))
    }

    /// The next text; `None`: none came in this time.
    ///
    /// # Errors
    /// The connection has ended, or the server does not keep to the protocol.
    pub fn next(&mut self, within: Duration) -> Result<Option<String>, Failure> {
        self.0.get_ref().tcp().set_read_timeout(Some(within)).map_err(|_| Failure::Cut)?;
        match self.0.read() {
            Ok(Message::Text(text)) => Ok(Some(text.as_str().to_owned())),
            // the library answers a ping
            Ok(Message::Ping(_) | Message::Pong(_)) => Ok(None),
            Ok(Message::Close(_)) => Err(Failure::Cut),
            Ok(_) => Err(Failure::Malformed),
            Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(failure_of(&error)),
        }
    }
}

fn encrypted(host: &str, mut tcp: TcpStream, authorities: Option<&Path>) -> Result<Wire, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|_| Failure::Tls)?;
    let config = match authorities {
        None => builder.with_platform_verifier().map_err(|_| Failure::Tls)?,
        Some(file) => {
            let mut roots = RootCertStore::empty();
            let certificates = CertificateDer::pem_file_iter(file).map_err(|_| Failure::Tls)?;
            roots.add_parsable_certificates(certificates.flatten());
            builder.with_root_certificates(roots)
        }
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|_| Failure::Tls)?;
    let mut session = ClientConnection::new(Arc::new(config.with_no_client_auth()), name).map_err(|_| Failure::Tls)?;
    while session.is_handshaking() {
        session.complete_io(&mut tcp).map_err(|error| failure_of(&Error::Io(error)))?;
    }
    Ok(Wire::Encrypted(Box::new(StreamOwned::new(session, tcp))))
}

/// The kind of an error. Its text is never shown, since the server may have written it.
fn failure_of(error: &Error) -> Failure {
    match error {
        Error::Io(error) => match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Failure::Timeout,
            ErrorKind::ConnectionRefused => Failure::Connect,
            ErrorKind::InvalidData => Failure::Tls,
            _ => Failure::Cut,
        },
        Error::ConnectionClosed | Error::AlreadyClosed => Failure::Cut,
        // a server that goes away without a word
        Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => Failure::Cut,
        Error::Tls(_) => Failure::Tls,
        Error::Capacity(_) => Failure::TooLarge,
        _ => Failure::Malformed,
    }
}
