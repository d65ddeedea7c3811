//! The log, on standard error or in a file. Lines go through a bounded queue to a writing thread, so that a thread that
//! logs neither waits for a slow reader nor fails with a reader that has gone. Lines that do not fit into the queue are
//! dropped and counted. Never: the contents of a line.

use crate::printable::printable;
use crate::{faults, private, threads};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt;

/// Maximum number of queued lines: room for a burst of refused rows, or for a reader that pauses.
const WAITING: usize = 1024;
/// Size at which a log file is rotated, bytes.
const FILE_BYTES: u64 = 10_000_000;
/// Maximum wait for the last lines at the end of the program.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Libraries of which only warnings and errors are logged: their other lines have the bytes of requests, with keys.
const QUIET: [&str; 3] = ["ureq", "ureq_proto", "rustls"];
/// Library whose lines are not logged: they contain texts of a gateway and the end of a key. The source of the feed
/// logs its failures.
const SILENT: &str = "databento";

/// The queue of the log. It is global because a program has one standard error.
static QUEUE: OnceLock<Queue> = OnceLock::new();
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Message to the writing thread.
enum LogMessage {
    LogLine(Vec<u8>),
    /// Request to confirm that all lines before it are written.
    Written(SyncSender<()>),
}

/// Queue to the writing thread.
#[derive(Clone)]
struct Queue {
    to: SyncSender<LogMessage>,
    dropped: &'static AtomicU64,
}

/// Starts the log, in a file or on standard error; standard output is for results.
///
/// # Errors
/// Why the file cannot be written, for the user.
pub fn start(form: Log, level: LevelFilter, file: Option<&Path>) -> Result<(), String> {
    let lines =
        file.map(|path| LogFile::open(path, FILE_BYTES).map_err(|why| format!("log file {}: {why}", path.display())));
    let is_coloured = lines.is_none() && io::stderr().is_terminal();
    // without a thread, lines are written directly
    let queue = match lines.transpose()? {
        Some(file) => Queue::to(file, WAITING, &DROPPED),
        None => Queue::to(io::stderr(), WAITING, &DROPPED),
    };
    if let Ok(queue) = queue {
        let _ = QUEUE.set(queue);
    }
    // the libraries under requests to vendors log every byte of them, including keys
    let quiet = level.min(LevelFilter::WARN);
    let levels = Targets::new().with_default(level).with_target(SILENT, LevelFilter::OFF);
    let levels = QUIET.into_iter().fold(levels, |levels, of| levels.with_target(of, quiet));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| LogLine)
        // internal errors are written by `eprintln!`, which panics if standard error is closed
        .log_internal_errors(false)
        .with_target(false)
        .with_ansi(is_coloured);
    // a second start in one process (tests) keeps the first log
    let _ = match form {
        Log::Text => registry().with(lines.with_filter(levels)).try_init(),
        Log::Json => registry().with(lines.json().with_filter(levels)).try_init(),
    };
    // the standard hook writes directly, and would wait for a slow reader
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(())
}

/// Writes text that is no log line, such as a banner. Control characters are left out.
pub fn say(text: &str) {
    let _ = LogLine.write(format!("{}\n", printable(text)).as_bytes());
}

/// Waits a short time until all lines so far are written.
pub fn finish() {
    if let Some(queue) = QUEUE.get() {
        queue.finish(LAST_LINES);
    }
}

/// Number of lost lines: the queue was full, or writing failed.
#[must_use]
pub fn lines_dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// A log file. At its maximum size it is renamed to `FILE.old`, which replaces the previous one.
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    most: u64,
}

impl LogFile {
    /// Opens a file to append to, and creates its folder.
    fn open(path: &Path, most: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            private::create_folder(folder)?;
        }
        let file = private::options().append(true).create(true).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes, most })
    }

    /// Rotates the file. If that fails, as on Windows while another program has the file open, it continues the old
    /// one.
    fn rotate(&mut self) {
        let mut old = self.path.clone().into_os_string();
        old.push(".old");
        let rotated = fs::rename(&self.path, old).and_then(|()| Self::open(&self.path, self.most));
        match rotated {
            Ok(new) => *self = new,
            Err(_) => self.bytes = 0,
        }
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes >= self.most {
            self.rotate();
        }
        let written = self.file.write(bytes)?;
        self.bytes = self.bytes.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writer of one line.
struct LogLine;

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match QUEUE.get() {
            Some(queue) => queue.send(bytes),
            None => {
                let _ = io::stderr().write_all(bytes);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Queue {
    /// A queue of at most `waiting` lines, and its thread.
    fn to(mut out: impl Write + Send + 'static, waiting: usize, dropped: &'static AtomicU64) -> io::Result<Self> {
        let (to, lines) = sync_channel(waiting);
        threads::spawn_lasting("log", move || write_all(&lines, &mut out, dropped))?;
        Ok(Self { to, dropped })
    }

    fn send(&self, bytes: &[u8]) {
        if self.to.try_send(LogMessage::LogLine(bytes.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the lines so far are written, at most `patience`.
    fn finish(&self, patience: Duration) {
        let (done, written) = sync_channel(1);
        match self.to.try_send(LogMessage::Written(done)) {
            Ok(()) => _ = written.recv_timeout(patience),
            // the reader of a full queue does not read
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }
}

/// Writes lines until the last sender is dropped. A line that cannot be written is dropped; the next one may succeed.
fn write_all(lines: &Receiver<LogMessage>, out: &mut impl Write, dropped: &AtomicU64) {
    for message in lines {
        match message {
            LogMessage::LogLine(line) => {
                faults::here("log");
                if out.write_all(&line).is_err() {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            LogMessage::Written(done) => _ = done.try_send(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Takes what it is given; until the gate opens, the first line waits.
    struct Reader {
        gate: Receiver<()>,
        read: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.gate.recv();
            self.read.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Left;

    impl Write for Left {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn counter() -> &'static AtomicU64 {
        Box::leak(Box::default())
    }

    #[test]
    fn a_reader_that_does_not_read_costs_lines_and_no_time() {
        let (open, gate) = sync_channel(0);
        let (read, dropped) = (Arc::default(), counter());
        let queue = Queue::to(Reader { gate, read: Arc::clone(&read) }, 4, dropped).unwrap();
        for i in 0..100 {
            queue.send(format!("{i}\n").as_bytes());
        }
        queue.finish(Duration::from_millis(1));
        // four wait, and a fifth may be in the hands of the thread
        assert!((95..=96).contains(&dropped.load(Ordering::Relaxed)), "{dropped:?}");
        drop(open);
        while read.lock().unwrap().len() < 8 {
            std::thread::yield_now();
        }
        queue.send(b"later\n");
        queue.finish(Duration::from_secs(20));
        let read = String::from_utf8(read.lock().unwrap().clone()).unwrap();
        assert!(read.starts_with("0\n1\n2\n3\n") && read.ends_with("later\n"), "{read}");
    }

    #[test]
    fn a_file_that_has_grown_is_put_aside() {
        let folder = std::env::temp_dir().join(format!("greeksd-log-{}", std::process::id()));
        let path = folder.join("inner").join("greeksd.log");
        for line in [b"one\n", b"two\n"] {
            // a program that starts again goes on in the file that is there
            LogFile::open(&path, 8).unwrap().write_all(line).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let mut file = LogFile::open(&path, 8).unwrap();
        for line in [b"tri\n", b"for\n", b"fiv\n"] {
            file.write_all(line).unwrap();
        }
        let old = path.with_extension("log.old");
        assert_eq!(
            (fs::read_to_string(old).unwrap(), fs::read_to_string(&path).unwrap()),
            ("tri\nfor\n".into(), "fiv\n".into())
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_reader_that_has_left_ends_nothing() {
        let dropped = counter();
        let queue = Queue::to(Left, 100, dropped).unwrap();
        for _ in 0..10 {
            queue.send(b"a line\n");
        }
        queue.finish(Duration::from_secs(20));
        assert_eq!(dropped.load(Ordering::Relaxed), 10);
    }
}
