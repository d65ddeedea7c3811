//! `greeksd view`: starts the viewer with the options of the arguments, and its own daemon where a feed is given.
//! Never: a screen.

use crate::config::{Config, ViewArgs, ViewColor, ViewPlan};
use crate::serve::{OpenedDaemon, RunningDaemon};
use host::log;
use kernel::contract::Symbol;
use sources::poll::client::ServerBase;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use view::{ColourDepth, ViewOptions, WATCH_MOST};

/// Exit code: wrong arguments.
const USAGE: u8 = 2;

/// Shows chains until the user quits; `variable` looks up environment variables.
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

/// Why the viewer does not run: exit code and sentence.
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
    let depth = match args.color {
        ViewColor::Auto => None,
        ViewColor::Never => Some(ColourDepth::None),
        ViewColor::Sixteen => Some(ColourDepth::Sixteen),
        ViewColor::Shades => Some(ColourDepth::Shades),
    };
    let refresh = Duration::from_millis(args.refresh.0);
    let is_own = daemon.is_some();
    let (as_of, ascii) = (args.as_of.clone(), args.ascii);
    let copied = view::show(ViewOptions { base, is_own, symbol, as_of, watch, refresh, depth, ascii, variable });
    if let Some(daemon) = daemon {
        daemon.stop();
    }
    copied.map_err(failed)
}

/// Returns the first underlying and the watch list of the arguments, spelled as in the API.
///
/// # Errors
/// Why a text is no symbol, or the list is too long, as a sentence.
pub fn names(args: &ViewArgs) -> Result<(Option<String>, Vec<String>), String> {
    let symbol = |text: &String| {
        let symbol = Symbol::parse_underlying(text).ok_or_else(|| format!("{text}: expected a symbol, such as SPY"));
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

/// Starts a daemon within this process.
///
/// # Errors
/// Why the daemon does not start, as a sentence.
pub fn start(config: &Config) -> Result<RunningDaemon, String> {
    OpenedDaemon::open(config)?.start(config, false)
}

/// Returns the address of a daemon.
///
/// # Errors
/// The daemon has no address.
pub fn address(daemon: &RunningDaemon) -> Result<ServerBase, String> {
    let address = daemon.addresses().first().ok_or_else(|| "no address".to_owned())?;
    ServerBase::parse(&format!("http://{address}"))
}
