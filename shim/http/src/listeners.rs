//! Sockets to listen on, exclusive to this program. Never: a connection.
//!
//! `SO_REUSEPORT` is never set: with it a second program could take the port, and each would get a part of the
//! connections. On Unix `SO_REUSEADDR` is set, so that a restarted server need not wait for the closing connections of
//! the old one. On Windows it would mean the same as `SO_REUSEPORT`; there `SO_EXCLUSIVEADDRUSE` is set instead, which
//! also keeps other programs of the same user from taking the port.

use mio::net::TcpListener;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// Maximum number of connections that the kernel queues until they are accepted.
const BACKLOG: i32 = 1024;

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct ListenError {
    address: Option<SocketAddr>,
    cause: io::Error,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(address) = self.address else { return write!(f, "cannot start the server: {}", self.cause) };
        match self.cause.kind() {
            ErrorKind::AddrInUse => {
                write!(f, "{address} is in use by another greeksd or another program")
            }
            _ => write!(f, "cannot listen on {address}: {}", self.cause),
        }
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl From<io::Error> for ListenError {
    fn from(cause: io::Error) -> Self {
        Self { address: None, cause }
    }
}

/// Listens on every address. An address that this machine does not have (`[::1]` without IPv6) is logged as a warning
/// if another one is left.
pub(super) fn listen(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, ListenError> {
    let mut listeners = Vec::new();
    let mut absent = None;
    for &address in addresses {
        match open(address) {
            Ok(listener) => listeners.push(listener),
            Err(cause) if is_absent(&cause) => {
                tracing::warn!(%address, error = %cause, "this machine does not have the address; not listening on it");
                absent = Some(ListenError { address: Some(address), cause });
            }
            Err(cause) => return Err(ListenError { address: Some(address), cause }),
        }
    }
    match absent {
        Some(error) if listeners.is_empty() => Err(error),
        _ => Ok(listeners),
    }
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    #[cfg(windows)]
    host::windows::bind_exclusively(&socket)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&SockAddr::from(address))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(TcpListener::from_std(socket.into()))
}

/// True if the machine does not have the address or its family.
fn is_absent(cause: &io::Error) -> bool {
    /// `EAFNOSUPPORT` on Linux and on macOS, and `WSAEAFNOSUPPORT`.
    const NO_FAMILY: [i32; 3] = [97, 47, 10047];
    cause.kind() == ErrorKind::AddrNotAvailable || cause.raw_os_error().is_some_and(|code| NO_FAMILY.contains(&code))
}
