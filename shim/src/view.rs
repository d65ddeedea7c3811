//! `greeksd view`: chains in the terminal. What is fetched, what keys do and what is drawn are rooms of their own: `fetch`
//! asks the daemon on a thread of its own, `state` is what is known, `keys` and `news` change it, `widgets` draw it,
//! `terminal` is where it is drawn. Here they are put together. Never: a number that the daemon did not compute.

mod column;
mod fetch;
mod keys;
mod layout;
mod lines;
mod model;
mod news;
mod number;
mod palette;
mod parse;
mod state;
mod surroundings;
mod terminal;
#[cfg(test)]
mod tests;
mod wants;
mod widgets;

use crate::config::{Config, Milliseconds, ViewArgs, ViewPlan};
use crate::log;
use crate::serve::{OpenedDaemon, RunningDaemon};
use crate::source::poll::client::ServerBase;
use engine::contract::Symbol;
use fetch::{Fetcher, News};
use news::Effect;
use state::{State, WATCH_MOST};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use surroundings::Surroundings;
use terminal::{Input, Screen};

/// Reads an answer in each form that the viewer asks daemons for: expiries, a chain, names, health, values. True where the
/// bytes have the form.
#[must_use]
pub fn forms_of(bytes: &[u8]) -> [bool; 5] {
    let key = model::SliceKey { root: "ACME".to_owned(), expiry: "2026-12-18".to_owned() };
    [
        parse::expiries(bytes).is_ok(),
        parse::chain(bytes, "ACME", &key).is_ok(),
        parse::names(bytes).is_ok(),
        parse::daemon(bytes).is_ok(),
        parse::values(bytes).is_ok(),
    ]
}

/// The exit code of wrong arguments.
const USAGE: u8 = 2;
/// How long nothing may happen before the loop looks around.
const IDLE: Duration = Duration::from_secs(60);
/// Rows that are printed at the end at most, the last that were copied.
const COPIED_MOST: usize = 100;

/// What happens.
enum Happening {
    Input(Input),
    News(News),
    /// A signal asks for the end, or the terminal has gone.
    Stop,
}

/// Shows chains until somebody ends it. `variable` answers for environment variables.
#[must_use]
pub fn run(plan: &ViewPlan, variable: &dyn Fn(&str) -> Option<String>) -> ExitCode {
    match view(plan, variable) {
        Ok(copied) => {
            let text: String = copied.concat();
            // a reader that has gone is no reason to fail
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err((code, why)) => {
            log::say(&format!("greeksd: {why}"));
            ExitCode::from(code)
        }
    }
}

/// Why it does not run: exit code and sentence.
type Why = (u8, String);

fn view(plan: &ViewPlan, variable: &dyn Fn(&str) -> Option<String>) -> Result<Vec<String>, Why> {
    let args = &plan.args;
    let (symbol, watch) = names(args).map_err(|why| (USAGE, why))?;
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err((USAGE, "view needs a terminal; /l1/greeks answers programs".to_owned()));
    }
    let failed = |why: String| (1, why);
    let daemon = plan.service.as_ref().map(start).transpose().map_err(failed)?;
    let base = match &daemon {
        Some(daemon) => address(daemon).map_err(failed)?,
        None => ServerBase::parse(&args.url).map_err(|why| (USAGE, format!("--url {why}")))?,
    };
    let (happens, happenings) = channel();
    let fetcher = start_fetching(base.clone(), args.refresh, &happens).map_err(failed)?;
    watch_signals(&happens).map_err(failed)?;
    let place = if daemon.is_some() { "the viewer's own service".to_owned() } else { base.to_string() };
    let state = State::new(place, daemon.is_some(), symbol, watch);
    let palette = Surroundings { color: args.color, ascii: args.ascii, variable }.palette();
    terminal::leave_on_panic();
    let screen = Screen::enter(palette).map_err(|error| failed(format!("the terminal: {error}")))?;
    watch_input(happens).map_err(failed)?;
    let ended = Viewer { state, screen, fetcher, began: Instant::now(), copied: Vec::new() }.show(&happenings);
    if let Some(daemon) = daemon {
        daemon.stop();
    }
    ended.map_err(|error| failed(format!("the terminal: {error}")))
}

/// The names of the arguments, as the API spells them.
fn names(args: &ViewArgs) -> Result<(Option<String>, Vec<String>), String> {
    let symbol = |text: &String| {
        let symbol = Symbol::parse_underlying(text).ok_or_else(|| format!("{text}: want a symbol, such as SPY"));
        symbol.map(|symbol| symbol.to_string())
    };
    let mut watch: Vec<String> = Vec::new();
    for name in args.watch.iter().filter(|name| !name.is_empty()) {
        let name = symbol(name)?;
        if !watch.contains(&name) {
            watch.push(name);
        }
    }
    if watch.len() > WATCH_MOST {
        return Err(format!("--watch: {} names; {WATCH_MOST} at most", watch.len()));
    }
    Ok((args.symbol.as_ref().map(symbol).transpose()?, watch))
}

/// A service within this process, for it alone.
fn start(config: &Config) -> Result<RunningDaemon, String> {
    OpenedDaemon::open(config)?.start(config, false)
}

fn address(daemon: &RunningDaemon) -> Result<ServerBase, String> {
    let address = daemon.addresses().first().ok_or_else(|| "no address".to_owned())?;
    ServerBase::parse(&format!("http://{address}"))
}

fn start_fetching(base: ServerBase, every: Milliseconds, happens: &Sender<Happening>) -> Result<Fetcher, String> {
    let tell = Sender::clone(happens);
    Fetcher::start(base, Duration::from_millis(every.0), move |news| tell.send(Happening::News(news)).is_ok())
}

fn watch_signals(happens: &Sender<Happening>) -> Result<(), String> {
    let tell = Sender::clone(happens);
    ctrlc::set_handler(move || _ = tell.send(Happening::Stop)).map_err(|e| format!("cannot wait for signals: {e}"))
}

/// Reads keys on a thread of its own; it ends with the program.
fn watch_input(happens: Sender<Happening>) -> Result<(), String> {
    let read = move || {
        loop {
            let happening = terminal::read().map_or(Happening::Stop, Happening::Input);
            let is_over = matches!(happening, Happening::Stop);
            if happens.send(happening).is_err() || is_over {
                return;
            }
        }
    };
    std::thread::Builder::new().name("view-keys".to_owned()).spawn(read).map_err(|e| format!("no thread: {e}"))?;
    Ok(())
}

/// The loop and what it needs.
struct Viewer {
    state: State,
    screen: Screen,
    fetcher: Fetcher,
    began: Instant,
    /// What was copied, to print at the end.
    copied: Vec<String>,
}

impl Viewer {
    /// Until the end; what was copied. The terminal is left in any case.
    fn show(mut self, happenings: &Receiver<Happening>) -> io::Result<Vec<String>> {
        self.state.size = self.screen.size()?;
        loop {
            self.fetcher.want(self.state.wants());
            self.screen.draw(&self.state)?;
            let rest = self.state.next_wake().map_or(IDLE, Duration::from_millis);
            let first = match happenings.recv_timeout(rest) {
                Ok(happening) => Some(happening),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(self.copied),
            };
            self.state.advance(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX));
            // whatever is there already is drawn once
            for happening in first.into_iter().chain(happenings.try_iter().take(64)) {
                let effect = match happening {
                    Happening::Stop => Effect::Quit,
                    Happening::News(news) => self.state.on_news(news),
                    Happening::Input(Input::Key(key)) => self.state.on_key(key),
                    Happening::Input(Input::Resized) => {
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

    /// Does what is to be done outside; says whether it is over.
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
