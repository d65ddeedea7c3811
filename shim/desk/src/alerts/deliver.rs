//! Delivers hits to a program or to an address of this machine, one after the other, on a thread of its own. Hits that
//! do not fit into the queue are dropped and logged. Nothing else waits for a program that hangs, and processes that it
//! has started end with it.

use super::log::AlertHit;
use host::secret::KEY_NAMES;
use host::{faults, threads};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of queued hits.
const WAITING: usize = 64;
/// Time limit of a program, and of a request from its connection to its response.
const PATIENCE: Duration = Duration::from_secs(10);
/// Polling interval of a running program.
const LOOK: Duration = Duration::from_millis(20);

/// Targets of hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertTargets {
    /// A program, which gets the hit as JSON as its only argument.
    pub command: Option<PathBuf>,
    /// An address of this machine that the hit is posted to.
    pub webhook: Option<Webhook>,
}

/// `http://127.0.0.1:PORT/PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    address: SocketAddr,
    path: String,
}

impl Webhook {
    /// Reads an address, which must be of the loopback, in digits.
    ///
    /// # Errors
    /// The text is no such address: an example of one that is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "expected http://127.0.0.1:PORT/PATH, an address of this machine in digits".to_owned();
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let address: SocketAddr = host.parse().map_err(|_| wrong())?;
        let is_plain = path.bytes().all(|b| b.is_ascii_graphic());
        if !address.ip().is_loopback() || !is_plain {
            return Err(wrong());
        }
        Ok(Self { address, path: path.to_owned() })
    }
}

impl std::fmt::Display for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.address, self.path)
    }
}

/// The queue of hits to deliver.
#[derive(Clone, Debug, Default)]
pub struct AlertSender {
    hits: Option<SyncSender<AlertHit>>,
    running: Arc<RunningProgram>,
}

impl AlertSender {
    /// Starts the thread if there is a target.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(targets: AlertTargets) -> io::Result<Self> {
        if targets == AlertTargets::default() {
            return Ok(Self::default());
        }
        let (send, hits) = sync_channel(WAITING);
        let sender = Self { hits: Some(send), running: Arc::default() };
        let running = Arc::clone(&sender.running);
        threads::spawn_lasting("alerts", move || deliver(&targets, &hits, &running))?;
        Ok(sender)
    }

    /// Queues a hit; logs it as dropped if the queue is full.
    pub fn send(&self, hit: &AlertHit) {
        if let Some(hits) = &self.hits
            && hits.try_send(hit.clone()).is_err()
        {
            tracing::warn!("alert {}: not delivered: {WAITING} others wait", hit.number);
        }
    }

    /// Kills the running program and starts no other.
    pub fn stop(&self) {
        self.running.stop();
    }
}

fn deliver(targets: &AlertTargets, hits: &Receiver<AlertHit>, running: &RunningProgram) {
    while let Ok(hit) = hits.recv() {
        faults::here("alerts");
        let text = hit.json();
        if let Some(program) = &targets.command
            && let Err(why) = running.run(program, &text, PATIENCE)
        {
            tracing::warn!("alert command {}: {why}", program.display());
        }
        if let Some(webhook) = &targets.webhook
            && let Err(why) = post(webhook, &text, PATIENCE)
        {
            tracing::warn!("alert webhook {}: {why}", webhook.address);
        }
    }
}

/// The running program, if there is one.
#[derive(Debug, Default)]
struct RunningProgram(Mutex<ProgramState>);

#[derive(Debug, Default)]
struct ProgramState {
    running: Option<Child>,
    /// True once the daemon stops: no further program is started.
    is_stopped: bool,
}

impl RunningProgram {
    /// Runs a program for at most `patience`. Processes that it has started end with it.
    fn run(&self, program: &Path, text: &str, patience: Duration) -> Result<(), String> {
        self.start(&mut command(program, text))?;
        let until = Instant::now() + patience;
        loop {
            let is_late = Instant::now() >= until;
            match self.ended(is_late).map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(_) if is_late => return Err(format!("ended after {patience:?}")),
                Some(status) => return Err(status.to_string()),
                None => std::thread::sleep(LOOK),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, ProgramState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, command: &mut Command) -> Result<(), String> {
        let mut state = self.state();
        if state.is_stopped {
            return Err("not started: the daemon ends".to_owned());
        }
        state.running = Some(command.spawn().map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Returns the status of a program that has ended; `is_late` kills it first.
    fn ended(&self, is_late: bool) -> io::Result<Option<ExitStatus>> {
        let mut state = self.state();
        let is_over = is_late || state.running.as_mut().map_or(Ok(true), has_ended)?;
        let Some(mut child) = state.running.take_if(|_| is_over) else { return Ok(None) };
        kill(&mut child);
        // `wait` may block: `stop` must not wait for it
        drop(state);
        child.wait().map(Some)
    }

    fn stop(&self) {
        let mut state = self.state();
        state.is_stopped = true;
        state.running.iter_mut().for_each(kill);
    }
}

/// The command line of a program with a hit. It has no shell, and no keys of vendors in its environment.
fn command(program: &Path, text: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(text).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    KEY_NAMES.iter().for_each(|key| _ = command.env_remove(key));
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// True if a program has ended. Its exit status is not collected yet: until then its process id stays in use, so that
/// no other process group can get it.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(id) = group(child) else { return Ok(true) };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(id), options)?.is_some())
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    child.try_wait().map(|status| status.is_some())
}

/// The process group of a program: its id is that of the program.
#[cfg(unix)]
fn group(child: &Child) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(child.id() as i32)
}

/// Kills a program and the processes that it has started; they may have ended before.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = group(child) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

/// Posts a hit; connection, request and response share one deadline.
fn post(webhook: &Webhook, text: &str, patience: Duration) -> Result<(), String> {
    let until = Instant::now() + patience;
    let left = || match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::Error::from(ErrorKind::TimedOut)),
        left => Ok(left),
    };
    let ask = || -> io::Result<[u8; 12]> {
        let mut socket = TcpStream::connect_timeout(&webhook.address, left()?)?;
        let (path, address, length) = (&webhook.path, webhook.address, text.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{text}"
        );
        let mut rest = request.as_bytes();
        while !rest.is_empty() {
            socket.set_write_timeout(Some(left()?))?;
            let n = socket.write(rest)?;
            rest = rest.get(n..).unwrap_or_default();
        }
        let (mut head, mut had) = ([0; 12], 0);
        while had < head.len() {
            socket.set_read_timeout(Some(left()?))?;
            match socket.read(&mut head[had..])? {
                0 => return Err(io::Error::from(ErrorKind::UnexpectedEof)),
                n => had += n,
            }
        }
        Ok(head)
    };
    let head = ask().map_err(|error| error.to_string())?;
    let is_fine = head.starts_with(b"HTTP/1.") && head[9] == b'2';
    if is_fine { Ok(()) } else { Err(format!("answered {}", String::from_utf8_lossy(&head))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_webhook_is_on_this_machine() {
        assert!(Webhook::parse("http://127.0.0.1:8080/hook").is_ok() && Webhook::parse("http://[::1]:1/").is_ok());
        for bad in ["https://127.0.0.1:1/", "http://10.0.0.1:1/", "http://localhost:1/", "http://127.0.0.1:1/a b", "x"]
        {
            assert!(Webhook::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_hit_is_posted_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut heard = [0; 1024];
            let n = socket.read(&mut heard).unwrap();
            socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
            String::from_utf8_lossy(&heard[..n]).into_owned()
        });
        post(&Webhook::parse(&url).unwrap(), "{\"number\":1}", PATIENCE).unwrap();
        let heard = server.join().unwrap();
        assert!(heard.starts_with("POST /hook HTTP/1.1\r\n") && heard.ends_with("\r\n\r\n{\"number\":1}"), "{heard}");
    }

    #[test]
    fn an_answer_in_drops_has_one_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            for byte in b"HTTP/1.1 204" {
                std::thread::sleep(Duration::from_millis(100));
                let _ = socket.write_all(&[*byte]);
            }
        });
        assert!(post(&Webhook::parse(&url).unwrap(), "{}", Duration::from_millis(400)).is_err());
    }

    #[test]
    fn a_program_gets_no_key_of_a_vendor() {
        let command = command(Path::new("x"), "{}");
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        let mut keys = KEY_NAMES.to_vec();
        keys.sort_unstable();
        assert_eq!(removed, keys);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_gets_the_hit_and_its_failure_is_named() {
        let run = |program: &str| RunningProgram::default().run(Path::new(program), "{}", PATIENCE);
        assert_eq!(run("/bin/true"), Ok(()));
        assert!(run("/bin/false").is_err());
        assert!(run("/nowhere/at/all").is_err());
    }

    /// A program that writes its variables, and the number of one that it leaves running, into a file, and goes on.
    #[cfg(target_os = "linux")]
    fn leaving_one(name: &str, then: &str) -> (PathBuf, PathBuf) {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("greeksd-alerts-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let (program, told) = (folder.join("program"), folder.join("told"));
        let text = format!("#!/bin/sh\nsleep 600 &\necho $! > {0}.part\nmv {0}.part {0}\n{then}\n", told.display());
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        (program, told)
    }

    /// Waits until the process of a number is gone, or nothing but its number is left.
    #[cfg(target_os = "linux")]
    fn wait_for_end(number: &str) {
        let stat = format!("/proc/{}/stat", number.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z ")) {
            std::thread::sleep(LOOK);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_program_starts_ends_with_it() {
        for (name, then, patience) in [("late", "wait", Duration::from_secs(1)), ("left", "exit 0", PATIENCE)] {
            let (program, told) = leaving_one(name, then);
            let outcome = RunningProgram::default().run(&program, "{}", patience);
            assert_eq!(outcome.is_ok(), name == "left", "{name}: {outcome:?}");
            wait_for_end(&std::fs::read_to_string(&told).unwrap());
            std::fs::remove_dir_all(program.parent().unwrap()).unwrap();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_ends_with_the_daemon() {
        let (program, told) = leaving_one("daemon", "wait");
        let running = Arc::new(RunningProgram::default());
        let (own, path) = (Arc::clone(&running), program.clone());
        let thread = std::thread::spawn(move || own.run(&path, "{}", PATIENCE));
        while !told.exists() {
            std::thread::sleep(LOOK);
        }
        running.stop();
        assert!(thread.join().unwrap().is_err());
        wait_for_end(&std::fs::read_to_string(&told).unwrap());
        assert!(running.run(&program, "{}", PATIENCE).unwrap_err().contains("not started"));
        std::fs::remove_dir_all(program.parent().unwrap()).unwrap();
    }
}
