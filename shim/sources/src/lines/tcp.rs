//! Lines and tables over connections that other programs open. Each connection has a thread, and their number is
//! bounded. A silent connection does not block others: the oldest one without a line is closed to make room, else the
//! one that was silent longest.

use super::reading::{Ended, PushedBytes, read_pushed};
use super::{LineSource, LinesShared};
use host::clock::MarketClock;
use host::{faults, threads};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of connections.
const CONNECTIONS_MOST: usize = 64;
/// Interval at which a silent connection checks whether the source ends.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Pause after a failure to accept a connection, mostly because too many files are open.
const REST: Duration = Duration::from_millis(250);
/// Time limit for the first whole line of a connection.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// A connection that has sent a byte within this time is not closed to make room.
const IDLE_LEAST: Duration = Duration::from_secs(1);
/// Interval of TCP keepalive probes.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// Maximum number of log lines about connections per minute; further ones are counted.
const LINES_A_MINUTE: u32 = 20;

/// Starts to listen; lines later than the clock are refused.
///
/// # Errors
/// The address cannot be listened on, or the system has no thread for it.
pub fn start(address: SocketAddr, clock: MarketClock) -> io::Result<LineSource> {
    let listener = TcpListener::bind(address)?;
    let name = format!("tcp:{}", listener.local_addr()?);
    let shared = LinesShared::new(clock);
    let table =
        Arc::new(ConnectionTable { shared: Arc::clone(&shared), open: Mutex::default(), log: Mutex::default() });
    threads::spawn_lasting("lines", move || accept(&listener, &table))?;
    Ok(LineSource::new(name, shared))
}

/// The open connections, and their log lines.
struct ConnectionTable {
    shared: Arc<LinesShared>,
    open: Mutex<Vec<Arc<OpenConnection>>>,
    log: Mutex<RateLimitedLog>,
}

/// An open connection.
struct OpenConnection {
    socket: TcpStream,
    from: SocketAddr,
    /// Time of the last byte, at first that of the connection.
    last_byte: Mutex<Instant>,
    /// True once a whole line has come, or the begin of a stream that is read.
    has_line: AtomicBool,
}

impl OpenConnection {
    fn silent_for(&self) -> Duration {
        self.last_byte.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

/// The entry of a connection, removed when dropped, even by a panic.
struct ConnectionEntry {
    table: Arc<ConnectionTable>,
    open: Arc<OpenConnection>,
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        self.table.remove(&self.open);
    }
}

impl ConnectionTable {
    /// Admits a connection. At the maximum another one is closed for it: the oldest without a line, however young, so
    /// that a client that only opens connections cannot block others; else the one that was silent longest. `None`: all
    /// have sent a line, and a byte recently.
    fn admit(self: &Arc<Self>, socket: TcpStream, from: SocketAddr) -> Option<ConnectionEntry> {
        let (last_byte, has_line) = (Mutex::new(Instant::now()), AtomicBool::new(false));
        let open = Arc::new(OpenConnection { socket, from, last_byte, has_line });
        let mut all = self.all();
        if all.len() >= CONNECTIONS_MOST {
            // the list is in the order of arrival
            let without = all.iter().find(|open| !open.has_line.load(Ordering::Relaxed)).map(Arc::clone);
            let silent = || all.iter().max_by_key(|open| open.silent_for()).map(Arc::clone);
            let silent = without.or_else(|| silent().filter(|open| open.silent_for() >= IDLE_LEAST))?;
            let longest = silent.silent_for();
            all.retain(|other| !Arc::ptr_eq(other, &silent));
            // its thread reads the end
            let _ = silent.socket.shutdown(Shutdown::Both);
            self.shared.turned_away.fetch_add(1, Ordering::Relaxed);
            self.log(&format!(
                "{} closed: idle for {} s, and another client needs the connection",
                silent.from,
                longest.as_secs()
            ));
        }
        all.push(Arc::clone(&open));
        self.shared.connections.store(all.len(), Ordering::Relaxed);
        drop(all);
        Some(ConnectionEntry { table: Arc::clone(self), open })
    }

    fn remove(&self, open: &Arc<OpenConnection>) {
        let mut all = self.all();
        all.retain(|other| !Arc::ptr_eq(other, open));
        self.shared.connections.store(all.len(), Ordering::Relaxed);
    }

    fn reject(&self, from: SocketAddr, why: &str) {
        self.shared.turned_away.fetch_add(1, Ordering::Relaxed);
        self.log(&format!("{from} rejected: {why}"));
    }

    fn log(&self, what: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.say(Instant::now(), what, &|line| tracing::info!("tcp: {line}"));
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<OpenConnection>>> {
        // a panic cannot leave the list half changed
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, table: &Arc<ConnectionTable>) {
    while !table.shared.inbox.is_ending() {
        let Ok((connection, from)) = listener.accept() else {
            std::thread::sleep(REST);
            continue;
        };
        // without keepalive a dead connection is closed later
        let _ = SockRef::from(&connection).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE));
        faults::here("lines");
        let Some(entry) = table.admit(connection, from) else {
            table.reject(from, "too many connections");
            continue;
        };
        if let Err(error) = threads::spawn_once("line", move || read(&entry)) {
            table.reject(from, &error.to_string());
        }
    }
}

fn read(entry: &ConnectionEntry) {
    let ConnectionEntry { table, open } = entry;
    let from = open.from;
    table.log(&format!("{from} connected"));
    let mut reader = TimedReader { open, began: Instant::now(), is_late: false };
    let ended = match open.socket.set_read_timeout(Some(LOOK_EVERY)) {
        Ok(()) => read_pushed(&mut reader, &format!("tcp:{from}"), "line", &table.shared),
        Err(error) => Ended::Broken(error.kind()),
    };
    match ended {
        _ if reader.is_late => {
            table.reject(from, "nothing whole within ten seconds: a line, or the columns of a table")
        }
        Ended::Done => table.log(&format!("{from} closed the connection")),
        Ended::Unknown => table.reject(from, Ended::UNKNOWN),
        Ended::Refused(why) => table.reject(from, &why),
        Ended::Broken(kind) => {
            table.shared.broken.fetch_add(1, Ordering::Relaxed);
            table.log(&format!("{from} disconnected: {kind}"));
        }
    }
}

/// Reads from a connection, notes the time of the last byte, and ends if the first line is late.
struct TimedReader<'o> {
    open: &'o OpenConnection,
    began: Instant,
    is_late: bool,
}

impl PushedBytes for &mut TimedReader<'_> {
    fn received(&mut self) {
        self.open.has_line.store(true, Ordering::Relaxed);
    }
}

impl Read for TimedReader<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if !self.open.has_line.load(Ordering::Relaxed) && self.began.elapsed() > FIRST_LINE {
            self.is_late = true;
            return Ok(0);
        }
        let read = match (&self.open.socket).read(to) {
            // closed by this program, to make room
            Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(0),
            read => read?,
        };
        if read > 0 {
            *self.open.last_byte.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        Ok(read)
    }
}

/// Log of events that clients can cause often: a limited number of lines per minute, and the number of suppressed ones.
#[derive(Debug, Default)]
struct RateLimitedLog {
    /// Start of the current minute, and the number of log lines in it.
    minute: Option<(Instant, u32)>,
    left_out: u64,
}

impl RateLimitedLog {
    fn say(&mut self, now: Instant, what: &str, out: &dyn Fn(&str)) {
        let is_past = |(began, _): &(Instant, u32)| now.saturating_duration_since(*began) >= Duration::from_secs(60);
        if self.minute.as_ref().is_none_or(is_past) {
            self.minute = Some((now, 0));
            match std::mem::take(&mut self.left_out) {
                0 => {}
                n => out(&format!("{n} more lines about connections suppressed")),
            }
        }
        let Some((_, said)) = &mut self.minute else { return };
        if *said < LINES_A_MINUTE {
            *said += 1;
            out(what);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::io::Write;

    fn table() -> Arc<ConnectionTable> {
        Arc::new(ConnectionTable {
            shared: LinesShared::new(MarketClock::Running),
            open: Mutex::default(),
            log: Mutex::default(),
        })
    }

    /// Both ends of a connection.
    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream, SocketAddr) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, from) = listener.accept().unwrap();
        (client, server, from)
    }

    #[test]
    fn the_longest_silent_connection_makes_room() {
        let (table, listener) = (table(), TcpListener::bind("127.0.0.1:0").unwrap());
        let mut kept = Vec::new();
        for _ in 0..CONNECTIONS_MOST {
            let (client, server, from) = pair(&listener);
            kept.push((client, table.admit(server, from).unwrap()));
        }
        let has_line = |entry: &ConnectionEntry| entry.open.has_line.store(true, Ordering::Relaxed);
        kept.iter().enumerate().filter(|(i, _)| *i != 9).for_each(|(_, (_, entry))| has_line(entry));
        let (_client, server, from) = pair(&listener);
        let young = table.admit(server, from).unwrap();
        has_line(&young);
        assert_eq!(kept[9].0.read(&mut [0; 8]).unwrap(), 0, "it had no line, and made room at any age");
        let (_, server, from) = pair(&listener);
        assert!(table.admit(server, from).is_none(), "all have lines and were heard a moment ago");
        let long_ago = Instant::now().checked_sub(Duration::from_secs(30)).unwrap();
        *kept[7].1.open.last_byte.lock().unwrap() = long_ago;
        let (_client, server, from) = pair(&listener);
        let new = table.admit(server, from).unwrap();
        assert_eq!(table.shared.connections.load(Ordering::Relaxed), CONNECTIONS_MOST);
        assert_eq!(kept[7].0.read(&mut [0; 8]).unwrap(), 0, "it was closed");
        drop(kept);
        assert_eq!(table.shared.connections.load(Ordering::Relaxed), 2);
        drop((new, young));
        assert_eq!(table.shared.connections.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_first_line_that_does_not_come_ends_the_connection() {
        let (table, listener) = (table(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (mut client, server, from) = pair(&listener);
        let entry = table.admit(server, from).unwrap();
        let long_ago = Instant::now().checked_sub(FIRST_LINE * 2).unwrap();
        let mut reader = TimedReader { open: &entry.open, began: long_ago, is_late: false };
        client.write_all(b"{").unwrap();
        assert_eq!((reader.read(&mut [0; 8]).unwrap(), reader.is_late), (0, true));
        let mut reader = TimedReader { open: &entry.open, began: Instant::now(), is_late: false };
        (&mut reader).received();
        reader.began = long_ago;
        assert_eq!((reader.read(&mut [0; 8]).unwrap(), reader.is_late), (1, false), "it has had its line");
    }

    #[test]
    fn a_minute_has_so_many_lines() {
        let (mut log, lines) = (RateLimitedLog::default(), RefCell::new(Vec::new()));
        let say = |line: &str| lines.borrow_mut().push(line.to_owned());
        let begin = Instant::now();
        for i in 0..1000 {
            log.say(begin + Duration::from_millis(i), "x", &say);
        }
        assert_eq!(lines.borrow().len(), LINES_A_MINUTE as usize);
        log.say(begin + Duration::from_secs(61), "x", &say);
        let said = lines.borrow().iter().rev().take(2).cloned().collect::<Vec<_>>();
        assert_eq!(said, ["x", "980 more lines about connections suppressed"]);
    }
}
