//! Lines over connections that other programs open to here. Each has a thread; how many there may be is bounded.

use super::{Ended, LineSource, Shared, read_lines};
use crate::clock::MarketClock;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Connections at once.
const CONNECTIONS_MOST: usize = 64;
/// How often a quiet connection looks whether the source is to end.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long accepting rests after a failure, which is most often that too many files are open.
const REST: Duration = Duration::from_millis(250);

/// Starts to listen; lines are held against a clock.
///
/// # Errors
/// The address cannot be listened on, or the system has no thread for it.
pub fn start(address: SocketAddr, clock: MarketClock) -> io::Result<LineSource> {
    let listener = TcpListener::bind(address)?;
    let name = format!("tcp:{}", listener.local_addr()?);
    let shared = Shared::new(clock);
    let accepting = Arc::clone(&shared);
    std::thread::Builder::new().name("lines".to_owned()).spawn(move || accept(&listener, &accepting))?;
    Ok(LineSource::new(name, shared))
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.inbox.is_ending() {
        let Ok((connection, from)) = listener.accept() else {
            std::thread::sleep(REST);
            continue;
        };
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MOST {
            turn_away(shared, from, "too many connections");
            continue;
        }
        let reading = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("line".to_owned());
        if let Err(error) = thread.spawn(move || read(&connection, from, &reading)) {
            turn_away(shared, from, &error.to_string());
        }
    }
}

fn turn_away(shared: &Shared, from: SocketAddr, why: &str) {
    shared.connections.fetch_sub(1, Ordering::Relaxed);
    shared.turned_away.fetch_add(1, Ordering::Relaxed);
    tracing::warn!("tcp: {from} turned away: {why}");
}

fn read(connection: &TcpStream, from: SocketAddr, shared: &Shared) {
    tracing::info!("tcp: {from} connected");
    let name = format!("tcp:{from}");
    let ended = match connection.set_read_timeout(Some(LOOK_EVERY)) {
        Ok(()) => read_lines(connection, &name, shared),
        Err(error) => Ended::Broken(error.kind()),
    };
    match ended {
        Ended::Done => tracing::info!("tcp: {from} has ended"),
        Ended::NotLines => return turn_away(shared, from, "its first line is no JSON object"),
        Ended::Broken(kind) => {
            shared.broken.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("tcp: {from} broke off: {kind}");
        }
    }
    shared.connections.fetch_sub(1, Ordering::Relaxed);
}
