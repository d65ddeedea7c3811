//! Lines over connections that other programs open to here. Each has a thread; how many there may be is bounded, and a
//! connection that says nothing keeps nobody out: the oldest without a line makes room, then the longest silent one.

use super::{Ended, LineSource, LinesShared, read_lines};
use host::clock::MarketClock;
use host::{faults, threads};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections at once.
const CONNECTIONS_MOST: usize = 64;
/// How often a quiet connection looks whether the source is to end.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long accepting rests after a failure, which is most often that too many files are open.
const REST: Duration = Duration::from_millis(250);
/// How long a connection may take to its first whole line.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// A connection that has sent a byte within this time is not closed to make room for another one.
const IDLE_LEAST: Duration = Duration::from_secs(1);
/// The system asks a silent peer this often whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// Log lines about connections in a minute; more are counted.
const LINES_A_MINUTE: u32 = 20;

/// Starts to listen; lines are held against a clock.
///
/// # Errors
/// The address cannot be listened on, or the system has no thread for it.
pub fn start(address: SocketAddr, clock: MarketClock) -> io::Result<LineSource> {
    let listener = TcpListener::bind(address)?;
    let name = format!("tcp:{}", listener.local_addr()?);
    let shared = LinesShared::new(clock);
    let door = Arc::new(Door { shared: Arc::clone(&shared), open: Mutex::default(), log: Mutex::default() });
    threads::spawn_lasting("lines", move || accept(&listener, &door))?;
    Ok(LineSource::new(name, shared))
}

/// The open connections, and their log lines.
struct Door {
    shared: Arc<LinesShared>,
    open: Mutex<Vec<Arc<Open>>>,
    log: Mutex<RateLimitedLog>,
}

/// A connection.
struct Open {
    socket: TcpStream,
    from: SocketAddr,
    /// When a byte last came; at first when it was opened.
    last_byte: Mutex<Instant>,
    /// A whole line has come.
    has_line: AtomicBool,
}

impl Open {
    fn silent_for(&self) -> Duration {
        self.last_byte.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

/// The place of a connection, given up when this is dropped, be that by a panic.
struct Place {
    door: Arc<Door>,
    open: Arc<Open>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.door.leave(&self.open);
    }
}

impl Door {
    /// Lets a connection in. Where there are as many as may be, one is closed for it: the oldest without a line,
    /// however young it is, so that whoever only opens connections locks nobody out; else the one that was silent
    /// longest. `None` where all have sent a line, and a byte lately.
    fn enter(self: &Arc<Self>, socket: TcpStream, from: SocketAddr) -> Option<Place> {
        let (last_byte, has_line) = (Mutex::new(Instant::now()), AtomicBool::new(false));
        let open = Arc::new(Open { socket, from, last_byte, has_line });
        let mut all = self.all();
        if all.len() >= CONNECTIONS_MOST {
            // in the order in which they came
            let without = all.iter().find(|open| !open.has_line.load(Ordering::Relaxed)).map(Arc::clone);
            let silent = || all.iter().max_by_key(|open| open.silent_for()).map(Arc::clone);
            let silent = without.or_else(|| silent().filter(|open| open.silent_for() >= IDLE_LEAST))?;
            let longest = silent.silent_for();
            all.retain(|other| !Arc::ptr_eq(other, &silent));
            // its thread finds that it has ended
            let _ = silent.socket.shutdown(Shutdown::Both);
            self.shared.turned_away.fetch_add(1, Ordering::Relaxed);
            self.say(&format!(
                "{} closed: idle for {} s, and another client needs the connection",
                silent.from,
                longest.as_secs()
            ));
        }
        all.push(Arc::clone(&open));
        self.shared.connections.store(all.len(), Ordering::Relaxed);
        drop(all);
        Some(Place { door: Arc::clone(self), open })
    }

    fn leave(&self, open: &Arc<Open>) {
        let mut all = self.all();
        all.retain(|other| !Arc::ptr_eq(other, open));
        self.shared.connections.store(all.len(), Ordering::Relaxed);
    }

    fn turn_away(&self, from: SocketAddr, why: &str) {
        self.shared.turned_away.fetch_add(1, Ordering::Relaxed);
        self.say(&format!("{from} rejected: {why}"));
    }

    fn say(&self, what: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.say(Instant::now(), what, &|line| tracing::info!("tcp: {line}"));
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Open>>> {
        // a list is whole at any moment
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, door: &Arc<Door>) {
    while !door.shared.inbox.is_ending() {
        let Ok((connection, from)) = listener.accept() else {
            std::thread::sleep(REST);
            continue;
        };
        // a system that has no such thing closes it later
        let _ = SockRef::from(&connection).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE));
        faults::here("lines");
        let Some(place) = door.enter(connection, from) else {
            door.turn_away(from, "too many connections");
            continue;
        };
        if let Err(error) = threads::spawn_once("line", move || read(&place)) {
            door.turn_away(from, &error.to_string());
        }
    }
}

fn read(place: &Place) {
    let Place { door, open } = place;
    let from = open.from;
    door.say(&format!("{from} connected"));
    let mut reader = TimedReader { open, began: Instant::now(), is_late: false };
    let ended = match open.socket.set_read_timeout(Some(LOOK_EVERY)) {
        Ok(()) => read_lines(&mut reader, &format!("tcp:{from}"), "line", &door.shared),
        Err(error) => Ended::Broken(error.kind()),
    };
    match ended {
        _ if reader.is_late => door.turn_away(from, "no complete line within ten seconds"),
        Ended::Done => door.say(&format!("{from} closed the connection")),
        Ended::NotLines => door.turn_away(from, "the first line is not a JSON object"),
        Ended::Broken(kind) => {
            door.shared.broken.fetch_add(1, Ordering::Relaxed);
            door.say(&format!("{from} disconnected: {kind}"));
        }
    }
}

/// Reads a connection, notes the time of the last byte, and ends if the first line is late.
struct TimedReader<'o> {
    open: &'o Open,
    began: Instant,
    is_late: bool,
}

impl Read for TimedReader<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if !self.open.has_line.load(Ordering::Relaxed) && self.began.elapsed() > FIRST_LINE {
            self.is_late = true;
            return Ok(0);
        }
        let read = match (&self.open.socket).read(to) {
            // closed from here, to make room
            Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(0),
            read => read?,
        };
        if read > 0 {
            if to.get(..read).is_some_and(|bytes| bytes.contains(&b'\n')) {
                self.open.has_line.store(true, Ordering::Relaxed);
            }
            *self.open.last_byte.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        Ok(read)
    }
}

/// A log of what clients can make happen often: so many lines a minute, and then how many were left out.
#[derive(Debug, Default)]
struct RateLimitedLog {
    /// Start of this minute, and the log lines in it.
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

    fn door() -> Arc<Door> {
        Arc::new(Door { shared: LinesShared::new(MarketClock::Running), open: Mutex::default(), log: Mutex::default() })
    }

    /// Both ends of a connection.
    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream, SocketAddr) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, from) = listener.accept().unwrap();
        (client, server, from)
    }

    #[test]
    fn the_longest_silent_connection_makes_room() {
        let (door, listener) = (door(), TcpListener::bind("127.0.0.1:0").unwrap());
        let mut kept = Vec::new();
        for _ in 0..CONNECTIONS_MOST {
            let (client, server, from) = pair(&listener);
            kept.push((client, door.enter(server, from).unwrap()));
        }
        let has_line = |place: &Place| place.open.has_line.store(true, Ordering::Relaxed);
        kept.iter().enumerate().filter(|(i, _)| *i != 9).for_each(|(_, (_, place))| has_line(place));
        let (_client, server, from) = pair(&listener);
        let young = door.enter(server, from).unwrap();
        has_line(&young);
        assert_eq!(kept[9].0.read(&mut [0; 8]).unwrap(), 0, "it had no line, and made room at any age");
        let (_, server, from) = pair(&listener);
        assert!(door.enter(server, from).is_none(), "all have lines and were heard a moment ago");
        let long_ago = Instant::now().checked_sub(Duration::from_secs(30)).unwrap();
        *kept[7].1.open.last_byte.lock().unwrap() = long_ago;
        let (_client, server, from) = pair(&listener);
        let new = door.enter(server, from).unwrap();
        assert_eq!(door.shared.connections.load(Ordering::Relaxed), CONNECTIONS_MOST);
        assert_eq!(kept[7].0.read(&mut [0; 8]).unwrap(), 0, "it was closed");
        drop(kept);
        assert_eq!(door.shared.connections.load(Ordering::Relaxed), 2);
        drop((new, young));
        assert_eq!(door.shared.connections.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_first_line_that_does_not_come_ends_the_connection() {
        let (door, listener) = (door(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (mut client, server, from) = pair(&listener);
        let place = door.enter(server, from).unwrap();
        let long_ago = Instant::now().checked_sub(FIRST_LINE * 2).unwrap();
        let mut reader = TimedReader { open: &place.open, began: long_ago, is_late: false };
        client.write_all(b"{").unwrap();
        assert_eq!((reader.read(&mut [0; 8]).unwrap(), reader.is_late), (0, true));
        let mut reader = TimedReader { open: &place.open, began: Instant::now(), is_late: false };
        client.write_all(b"}\n").unwrap();
        while !place.open.has_line.load(Ordering::Relaxed) {
            assert!(reader.read(&mut [0; 8]).unwrap() > 0);
        }
        reader.began = long_ago;
        client.write_all(b"{").unwrap();
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
