//! The configuration: one [`Config`] from the command line, then the environment, then `greeksd.toml`, then defaults.
//! `--print-config` shows the origin of every value.
//!
//! A value has one spelling and one parser in all three places. Whatever is unknown or malformed ends the program with
//! a hint. Never: a clock, an environment variable, an argument (`main` hands them in; clap asks the environment for
//! the names declared in `cli`).

mod cli;
mod error;
mod file;
mod options;
mod origin;
mod resolved;
mod value;

use crate::version;
use cli::{Cli, Command, PositionsCommand, ServeArgs};
pub use cli::{ExplainArgs, ExplainPositionsArgs, ScenarioArgs, SourceArgs, ViewArgs, ViewColor};
pub use error::ConfigError;
use file::File;
use host::secret::Keys;
use options::OPTIONS;
pub use origin::Origin;
pub use resolved::Config;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use tools::arguments::{BatchArgs, CompareArgs, GenerateArgs, PriceArgs, ReadyArgs};
pub use value::{Milliseconds, RatesMode};

/// Variable with a name for the daemon, by which the program that starts it can recognize it.
const INSTANCE: &str = "GREEKSD_INSTANCE";

/// Why a feed of a file in the current folder is ignored.
const IGNORED_FEED: &str = "greeksd.toml in the current folder may not set a feed with an address, since somebody \
    else may have put it there: give --feed, or --config greeksd.toml";

/// A command of the program, with its arguments.
#[derive(Debug)]
pub enum Invocation {
    /// Run the daemon.
    Serve(Box<Config>),
    /// Run the daemon as a service.
    #[cfg(windows)]
    Service(Box<Config>),
    /// Print this text: the configuration, the version, a manual page, or completions.
    Print(String),
    /// Price the rows of a file.
    Price(PriceArgs),
    /// Compute days of recorded quotes.
    Batch(Box<BatchArgs>),
    /// Write days of the simulated market.
    Generate(GenerateArgs),
    /// Show chains in the terminal.
    View(Box<ViewPlan>),
    /// Compare our values with a vendor's.
    Compare(Box<CompareArgs>),
    /// Explain a contract; the keys of vendors are for its feed.
    Explain(Box<ExplainArgs>, Keys),
    /// Check whether the market of a daemon is whole.
    Ready(ReadyArgs),
    /// Revalue contracts or positions of a feed; the keys of vendors are for that feed.
    Scenario(Box<ScenarioArgs>, Keys),
    /// Explain changes of positions; the keys of vendors are for the feed.
    ExplainPositions(Box<ExplainPositionsArgs>, Keys),
}

/// Configuration of `greeksd view`.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewPlan {
    /// Options of the viewer.
    pub args: ViewArgs,
    /// Configuration of the daemon within the viewer; `None`: it queries another daemon.
    pub service: Option<Config>,
}

/// Reads arguments (first the program's name), environment and file.
///
/// `home` looks up the environment variables with folders (`HOME`, `XDG_CONFIG_HOME`, `APPDATA`, …), keys, and the name
/// of the daemon.
///
/// # Errors
/// An option, variable or key that is unknown or malformed, with a hint; `--help`.
pub fn read(
    arguments: impl IntoIterator<Item = OsString>,
    home: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Invocation, ConfigError> {
    let cli = Cli::read(arguments)?;
    if cli.version {
        return Ok(Invocation::Print(if cli.verbose { version::lines() } else { version::line() }));
    }
    let args = match cli.command {
        Some(Command::Price(args)) => return Ok(Invocation::Price(args)),
        Some(Command::Batch(args)) => return Ok(Invocation::Batch(args)),
        Some(Command::Generate(args)) => return Ok(Invocation::Generate(args)),
        Some(Command::View(args)) => return view(*args, home).map(|plan| Invocation::View(Box::new(plan))),
        Some(Command::Man { of }) => {
            return cli::manual(of.as_deref()).map(Invocation::Print).map_err(ConfigError::Usage);
        }
        Some(Command::Completions { shell }) => return Ok(Invocation::Print(cli::completions(shell))),
        Some(Command::Compare(args)) => return Ok(Invocation::Compare(args)),
        Some(Command::Ready(args)) => return Ok(Invocation::Ready(args)),
        Some(Command::Explain(args)) => {
            let keys = keys_of(&args.feed, &args.source, home)?;
            return Ok(Invocation::Explain(args, keys));
        }
        Some(Command::Positions { what: PositionsCommand::Explain(args) }) => {
            let keys = keys_of(&args.feed, &args.source, home)?;
            return Ok(Invocation::ExplainPositions(args, keys));
        }
        Some(Command::Scenario(args)) => {
            let keys = keys_of(&args.feed, &args.source, home)?;
            return Ok(Invocation::Scenario(args, keys));
        }
        Some(Command::Serve(args)) => *args,
        None => cli.serve,
    };
    let file = match &args.config {
        Some(path) => File::read(path)?,
        None => File::find(home)?,
    };
    let print = args.print_config;
    let (config, report) = resolve(&args, &file, home)?;
    #[cfg(windows)]
    if args.service && !print {
        return Ok(Invocation::Service(Box::new(config)));
    }
    Ok(if print { Invocation::Print(report) } else { Invocation::Serve(Box::new(config)) })
}

/// The keys of vendors for the feeds of a command; without a feed it queries a daemon and needs none.
fn keys_of(
    feeds: &[String],
    source: &SourceArgs,
    home: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Keys, ConfigError> {
    if feeds.is_empty() {
        return Ok(Keys::default());
    }
    Keys::read(source.key_file.as_deref(), home).map_err(ConfigError::Value)
}

/// The plan of a viewer: with a feed, its own daemon is configured as by `serve`, but serves this process only.
fn view(args: ViewArgs, home: &dyn Fn(&str) -> Option<OsString>) -> Result<ViewPlan, ConfigError> {
    if args.feed.is_empty() {
        return Ok(ViewPlan { args, service: None });
    }
    let feeds = args.feed.iter().flat_map(|feed| [OsString::from("--feed"), OsString::from(feed)]);
    let serve = [OsString::from("greeksd"), OsString::from("serve")].into_iter();
    match read(serve.chain(feeds).chain(args.serve_options.iter().cloned()), home)? {
        Invocation::Serve(config) => {
            let listen = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
            let service = Config { listen, show_quotes: true, ..*config };
            Ok(ViewPlan { args, service: Some(service) })
        }
        _ => Err(ConfigError::Value("after --, only options of serve for the computation are accepted".to_owned())),
    }
}

/// Sets each option from the arguments or the environment, else from the file. Returns the configuration and the text
/// of `--print-config`.
fn resolve(
    args: &ServeArgs,
    file: &File,
    home: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(Config, String), ConfigError> {
    let instance = home(INSTANCE).and_then(|text| text.into_string().ok());
    let mut config = Config { file_note: file.note(), instance, ..Config::default() };
    let mut origins = Vec::with_capacity(OPTIONS.len());
    for option in OPTIONS {
        origins.push(match (args.given.get(option.key), file.get(option.key)) {
            (Some((text, origin)), _) => {
                (option.set)(&mut config, text).map_err(ConfigError::Value)?;
                origin.clone()
            }
            (None, Some(text)) => {
                (option.set)(&mut config, text).map_err(|hint| file.refuse(option.key, text, &hint))?;
                file.origin()
            }
            // the file requests another feed than the default
            (None, None) if option.key == "feed" && file.ignores(option.key) => {
                return Err(ConfigError::Value(IGNORED_FEED.to_owned()));
            }
            (None, None) => Origin::Default,
        });
    }
    if config.state_dir.is_none() && !config.feeds.iter().all(|feed| feed.starts_with("sim")) {
        (config.state_dir, config.is_state_dir_default) = (value::state_folder(home), true);
    }
    if let Some(address) = config.listen.iter().find(|address| !config.allow_remote && !address.ip().is_loopback()) {
        return Err(ConfigError::Value(format!(
            "{address} can be reached from other machines, and greeksd has no authentication; \
             give --allow-remote if that is intended, or listen on 127.0.0.1{}",
            file.note().map_or_else(String::new, |note| format!(" (read: {note})"))
        )));
    }
    check_clock(config.now.is_some(), config.clock.is_some(), config.speed.is_some())?;
    config.keys = Keys::read(config.key_file.as_deref(), home).map_err(ConfigError::Value)?;
    let report = OPTIONS.iter().zip(&origins).map(|(option, origin)| line(option.key, (option.shown)(&config), origin));
    let report = report.collect();
    Ok((config, report))
}

/// One line of `--print-config`, which is also a line of a configuration file.
fn line(key: &str, shown: Option<String>, origin: &Origin) -> String {
    let line = shown.map_or_else(|| format!("# {key} is not set"), |shown| format!("{key} = {shown}"));
    format!("{line:<48} # {origin}\n")
}

/// Checks that the clock is fixed, or started, or the system's.
fn check_clock(stands_still: bool, is_started: bool, has_speed: bool) -> Result<(), ConfigError> {
    let wrong = match (stands_still, is_started, has_speed) {
        (true, true, _) => "now fixes the clock and clock starts it: give only one of them",
        (_, false, true) => "speed needs clock: it applies to a started clock only",
        _ => return Ok(()),
    };
    Err(ConfigError::Value(wrong.to_owned()))
}
