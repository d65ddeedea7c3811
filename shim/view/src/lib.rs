//! `greeksd view`: chains in the terminal. `fetch` queries the daemon on a thread of its own, `state` holds the data,
//! `keys` and `news` change it, `widgets` draw it, and `terminal` shows it. This module connects them. Never: a number
//! that the daemon did not compute.
//!
//! # Rooms
//!
//! - `state`: what is known, changed by keys (`keys`) and by responses (`news`), all pure.
//! - `wants`: the requests that the screen needs, sent on a thread of its own (`fetch`), read (`parse`) into `model`
//!   and `metrics`.
//! - `widgets`: the drawing, in the places of `layout` and the looks of `palette`, on `terminal`, the only file that
//!   names a terminal, which leaves it as it was.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(clippy::print_stderr)]

mod column;
mod fetch;
mod keys;
mod layout;
mod lines;
mod metrics;
mod model;
mod news;
mod number;
mod pages;
mod palette;
mod parse;
mod state;
mod surroundings;
mod terminal;
#[cfg(test)]
mod tests;
mod wants;
mod widgets;

pub use palette::ColourDepth;
pub use state::WATCH_MOST;

use fetch::{Fetcher, News};
use news::Effect;
use sources::poll::client::ServerBase;
use state::State;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use surroundings::Surroundings;
use terminal::{Input, Screen};

/// Parses bytes as each kind of answer that the viewer requests: expiries, a chain, names, health, values, snapshots,
/// metrics by name and by expiry, exposures. Returns true for each kind that they have. For tests of the parsers.
#[must_use]
pub fn forms_of(bytes: &[u8]) -> [bool; 9] {
    let key = model::SliceKey { root: "ACME".to_owned(), expiry: "2026-12-18".to_owned() };
    [
        parse::expiries(bytes).is_ok(),
        parse::chain(bytes, "ACME", &key).is_ok(),
        parse::names(bytes).is_ok(),
        parse::daemon(bytes).is_ok(),
        parse::values(bytes).is_ok(),
        parse::moments(bytes).is_ok(),
        metrics::names(bytes).is_ok(),
        metrics::term(bytes).is_ok(),
        metrics::exposures(bytes).is_ok(),
    ]
}

/// Maximum wait for an event.
const IDLE: Duration = Duration::from_secs(60);
/// Maximum number of copies that are printed at the end: the last ones.
const COPIED_MOST: usize = 100;

/// Options of the viewer.
pub struct ViewOptions<'a> {
    /// Address of the daemon.
    pub base: ServerBase,
    /// True if the daemon runs within this process.
    pub is_own: bool,
    /// Underlying to show first, spelled as in the API; `None`: the one with the most contracts.
    pub symbol: Option<String>,
    /// Past moment to show first, spelled as `as_of` in the API; `None`: the present.
    pub as_of: Option<String>,
    /// Names of the watch list, spelled as in the API; at most [`WATCH_MOST`].
    pub watch: Vec<String>,
    /// Minimum time between two requests for the same data.
    pub refresh: Duration,
    /// Colour depth; `None`: that of the terminal.
    pub depth: Option<ColourDepth>,
    /// True for ASCII characters only.
    pub ascii: bool,
    /// Environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// An event of the main loop of the viewer.
enum ViewEvent {
    Input(Input),
    News(Box<News>),
    /// A signal requests the end, or the terminal has gone.
    Stop,
}

/// Shows chains until the user quits. Returns the copied texts.
///
/// # Errors
/// Why a thread, the signals or the terminal fail, as a sentence.
pub fn show(options: ViewOptions<'_>) -> Result<Vec<String>, String> {
    let (sender, events) = channel();
    let tell = Sender::clone(&sender);
    let on_news = move |news| tell.send(ViewEvent::News(Box::new(news))).is_ok();
    let fetcher = Fetcher::start(options.base.clone(), options.refresh, on_news)?;
    watch_signals(&sender)?;
    let place = if options.is_own { "the viewer's own service".to_owned() } else { options.base.to_string() };
    let state = State { as_of: options.as_of, ..State::new(place, options.is_own, options.symbol, options.watch) };
    let palette = Surroundings { depth: options.depth, ascii: options.ascii, variable: options.variable }.palette();
    terminal::leave_on_panic();
    let failed = |error: io::Error| format!("the terminal: {error}");
    let screen = Screen::enter(palette).map_err(failed)?;
    watch_input(sender)?;
    Viewer { state, screen, fetcher, began: Instant::now(), copied: Vec::new() }.show(&events).map_err(failed)
}

fn watch_signals(sender: &Sender<ViewEvent>) -> Result<(), String> {
    let tell = Sender::clone(sender);
    ctrlc::set_handler(move || _ = tell.send(ViewEvent::Stop)).map_err(|e| format!("cannot wait for signals: {e}"))
}

/// Reads keys on a thread of its own; it ends with the program.
fn watch_input(sender: Sender<ViewEvent>) -> Result<(), String> {
    let read = move || {
        loop {
            let event = terminal::read().map_or(ViewEvent::Stop, ViewEvent::Input);
            let is_over = matches!(event, ViewEvent::Stop);
            if sender.send(event).is_err() || is_over {
                return;
            }
        }
    };
    std::thread::Builder::new().name("view-keys".to_owned()).spawn(read).map_err(|e| format!("no thread: {e}"))?;
    Ok(())
}

/// State of the main loop.
struct Viewer {
    state: State,
    screen: Screen,
    fetcher: Fetcher,
    began: Instant,
    /// Copied texts, to print at the end.
    copied: Vec<String>,
}

impl Viewer {
    /// Runs until the end, and returns the copied texts. The terminal is restored in any case.
    fn show(mut self, events: &Receiver<ViewEvent>) -> io::Result<Vec<String>> {
        self.state.size = self.screen.size()?;
        loop {
            self.fetcher.want(self.state.wants());
            self.screen.draw(&self.state)?;
            let rest = self.state.next_wake().map_or(IDLE, Duration::from_millis);
            let first = match events.recv_timeout(rest) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(self.copied),
            };
            self.state.advance(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX));
            // all waiting events are handled before the next drawing
            for event in first.into_iter().chain(events.try_iter().take(64)) {
                let effect = match event {
                    ViewEvent::Stop => Effect::Quit,
                    ViewEvent::News(news) => self.state.on_news(*news),
                    ViewEvent::Input(Input::Key(key)) => self.state.on_key(key),
                    ViewEvent::Input(Input::Resized) => {
                        self.state.resize(self.screen.size()?);
                        Effect::None
                    }
                };
                if self.act(effect)? {
                    return Ok(self.copied);
                }
            }
        }
    }

    /// Carries out an effect; returns true at the end.
    fn act(&mut self, effect: Effect) -> io::Result<bool> {
        match effect {
            Effect::None => {}
            Effect::Quit => return Ok(true),
            Effect::Redraw => self.screen.forget(),
            Effect::Suspend => self.screen.suspend()?,
            Effect::Copy(csv) => {
                self.screen.copy(&csv)?;
                if self.copied.len() == COPIED_MOST {
                    self.copied.remove(0);
                }
                self.copied.push(csv);
                self.state.say("copied as CSV; also printed at the end, for terminals without a clipboard");
            }
        }
        Ok(false)
    }
}
