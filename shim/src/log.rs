//! Standard error, or a file, without waiting: lines go through a bounded queue to a thread that writes them. Whoever
//! logs neither waits for a reader that is slow nor fails with one that has left; what does not fit is dropped and
//! counted.
//! Never: what a line says.

use crate::config::Log;
use host::printable::printable;
use host::{faults, private, threads};
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

/// Lines that wait at most: a burst of refused rows, or a reader that looks away for a moment.
const WAITING: usize = 1024;
/// Bytes at which a file of lines is put aside and a new one begun.
const FILE_BYTES: u64 = 10_000_000;
/// How long the end of the program waits for its last lines.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Whose lines are never those of a request: their warnings and errors are logged, nothing below.
const QUIET: [&str; 3] = ["ureq", "ureq_proto", "rustls"];
/// What it says repeats a gateway word for word, and the end of a key; its source says the same in our words.
const SILENT: &str = "databento";

/// The one queue to standard error, and what became of its lines. A program has one standard error.
static QUEUE: OnceLock<Queue> = OnceLock::new();
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// What goes to the writing thread.
enum LogMessage {
    LogLine(Vec<u8>),
    /// Everything before it is written: answer.
    Written(SyncSender<()>),
}

/// A way to the writing thread.
#[derive(Clone)]
struct Queue {
    to: SyncSender<LogMessage>,
    dropped: &'static AtomicU64,
}

/// Starts the log: a file, or standard error, since standard output is for answers.
///
/// # Errors
/// The file cannot be written: why, for the user.
pub fn start(form: Log, level: LevelFilter, file: Option<&Path>) -> Result<(), String> {
    let lines =
        file.map(|path| LogFile::open(path, FILE_BYTES).map_err(|why| format!("log file {}: {why}", path.display())));
    let is_coloured = lines.is_none() && io::stderr().is_terminal();
    // without a thread lines are written directly
    let queue = match lines.transpose()? {
        Some(file) => Queue::to(file, WAITING, &DROPPED),
        None => Queue::to(io::stderr(), WAITING, &DROPPED),
    };
    if let Ok(queue) = queue {
        let _ = QUEUE.set(queue);
    }
    // what lies under requests to vendors writes down every byte of them, keys too
    let quiet = level.min(LevelFilter::WARN);
    let levels = Targets::new().with_default(level).with_target(SILENT, LevelFilter::OFF);
    let levels = QUIET.into_iter().fold(levels, |levels, of| levels.with_target(of, quiet));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| LogLine)
        // its own complaints would go to standard error by `eprintln!`, which panics where that is closed
        .log_internal_errors(false)
        .with_target(false)
        .with_ansi(is_coloured);
    // a second start in one process (tests) keeps the first log
    let _ = match form {
        Log::Text => registry().with(lines.with_filter(levels)).try_init(),
        Log::Json => registry().with(lines.json().with_filter(levels)).try_init(),
    };
    // the standard hook would wait for the reader
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(())
}

/// Says something that is no log line: a banner, last words. Control characters in it are left out.
pub fn say(text: &str) {
    let _ = LogLine.write(format!("{}\n", printable(text)).as_bytes());
}

/// Waits, for a short time, until all lines so far are written.
pub fn finish() {
    if let Some(queue) = QUEUE.get() {
        queue.finish(LAST_LINES);
    }
}

/// Lines that nobody will read: the queue was full, or standard error refused them.
#[must_use]
pub fn lines_dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// A file of lines. One that has grown is put aside as `FILE.old`, in place of the one that was put aside before.
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    most: u64,
}

impl LogFile {
    /// Opens a file for more lines; its folder is made.
    fn open(path: &Path, most: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            private::create_folder(folder)?;
        }
        let file = private::options().append(true).create(true).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes, most })
    }

    /// Begins a new file. Where that fails, as on Windows while another program holds the file, it goes on.
    fn turn(&mut self) {
        let mut old = self.path.clone().into_os_string();
        old.push(".old");
        let turned = fs::rename(&self.path, old).and_then(|()| Self::open(&self.path, self.most));
        match turned {
            Ok(new) => *self = new,
            Err(_) => self.bytes = 0,
        }
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes >= self.most {
            self.turn();
        }
        let written = self.file.write(bytes)?;
        self.bytes = self.bytes.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// One line on its way.
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
    /// A queue for `waiting` lines, and its thread.
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

    /// Waits until the lines so far are written, at most so long.
    fn finish(&self, patience: Duration) {
        let (done, written) = sync_channel(1);
        match self.to.try_send(LogMessage::Written(done)) {
            Ok(()) => _ = written.recv_timeout(patience),
            // a queue that is full has no reader worth waiting for
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }
}

/// Writes until the last sender has gone. A line that cannot be written is dropped; the next one may find a reader.
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
