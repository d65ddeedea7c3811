//! Signals that request the end of the program, and the one that makes it read files again. Never: the end itself.

use crate::threads;
#[cfg(unix)]
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Exit code: a second signal (128 plus the number of SIGINT).
const INTERRUPTED: i32 = 130;

/// Handler of signals that request the end.
struct StopRequest {
    stop: Sender<()>,
    is_requested: AtomicBool,
}

impl StopRequest {
    /// Takes a signal: the first stops gracefully, the second exits at once.
    fn signal(&self) {
        if self.is_requested.swap(true, Ordering::AcqRel) {
            std::process::exit(INTERRUPTED);
        }
        let _ = self.stop.send(());
    }
}

/// Starts the thread of signals, which sends to `stop`. At SIGHUP a daemon in a terminal ends; another one calls
/// `hung_up`.
///
/// # Errors
/// Why there is no handler of signals, for the user.
#[cfg(unix)]
pub fn listen(stop: Sender<()>, hung_up: impl Fn() + Send + 'static) -> Result<(), String> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| error.to_string())?;
    let is_in_terminal = std::io::stderr().is_terminal();
    let stop_request = StopRequest { stop, is_requested: AtomicBool::new(false) };
    let thread = threads::spawn_lasting("signals", move || {
        for signal in signals.forever() {
            if signal == SIGHUP && !is_in_terminal {
                hung_up();
            } else {
                stop_request.signal();
            }
        }
    });
    thread.map(drop).map_err(|error| error.to_string())
}

/// Handles Ctrl-C and a closed console, which send to `stop`.
///
/// # Errors
/// Why there is no handler of signals, for the user.
#[cfg(windows)]
pub fn listen(stop: Sender<()>, _: impl Fn() + Send + 'static) -> Result<(), String> {
    let closed = Sender::clone(&stop);
    let stop_request = StopRequest { stop, is_requested: AtomicBool::new(false) };
    ctrlc::set_handler(move || stop_request.signal()).map_err(|error| error.to_string())?;
    crate::windows::before_console_closes(move || _ = closed.send(())).map_err(|error| error.to_string())
}
