//! The command line and the environment variables beside it.

use super::options::GivenOptions;
use super::value::{self, RatesMode};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;
use std::ffi::OsString;
use std::path::PathBuf;
use tools::arguments::{BatchArgs, CompareArgs, GenerateArgs, PriceArgs, ReadyArgs};

/// Compute Greeks of US listed options on this machine and serve them over HTTP.
#[derive(Debug, Parser)]
#[command(name = "greeksd", args_conflicts_with_subcommands = true)]
#[command(after_help = "Without a command, greeksd runs serve. Each option of serve is also an environment variable \
    (named in its help) and a key of greeksd.toml. The command line overrides the environment, which overrides the file.")]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// Print the version
    #[arg(short = 'V', long)]
    pub(super) version: bool,
    /// With --version: also print commit, build, target, processor level and features
    #[arg(long, requires = "version")]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) serve: ServeArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the daemon (the default)
    Serve(Box<ServeArgs>),
    /// Price the rows of a CSV file with explicit parameters
    Price(PriceArgs),
    /// Compute Greeks for days of recorded quotes: reads files or folders of quotes, writes files of Greeks
    Batch(Box<BatchArgs>),
    /// Write days of the simulated market as files of quotes, to try batch and past moments on
    Generate(GenerateArgs),
    /// Show option chains in the terminal, from a running daemon or, with --feed, without one
    View(Box<ViewArgs>),
    /// Print a manual page in roff: greeksd man > greeksd.1
    Man {
        /// Command to describe [default: greeksd itself]
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
    },
    /// Print a completion script for a shell
    Completions {
        /// Shell to complete for
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Explain the Greeks of one contract: quote, spot, rate, dividends, forward, curve, early exercise, values,
    /// warnings
    Explain(Box<ExplainArgs>),
    /// Revalue contracts or positions at other spots, volatilities and times, from a feed, without a daemon
    Scenario(Box<ScenarioArgs>),
    /// Explain how the values of positions have changed between two moments
    Positions {
        /// The command of positions.
        #[command(subcommand)]
        what: PositionsCommand,
    },
    /// Ask a running daemon whether its market is whole: exit code 0 if it is
    Ready(ReadyArgs),
    /// Compare a vendor's Greeks with ours: differences by Greek, and the likely reason for each expiry
    Compare(Box<CompareArgs>),
}

/// Options of `greeksd serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Options that are also variables and keys of the file.
    #[command(flatten)]
    pub(super) given: GivenOptions,
    /// Configuration file [default: greeksd.toml in the current folder, else in the platform's configuration folder]
    #[arg(long, env = "GREEKSD_CONFIG", hide_env_values = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print every option with its value and its source, then exit
    #[arg(long)]
    pub(super) print_config: bool,
    /// Run as a Windows service: for the service manager, which starts and stops it
    #[cfg(windows)]
    #[arg(long)]
    pub(super) service: bool,
}

/// Options of `greeksd explain`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ExplainArgs {
    /// The contract: an OSI symbol, padded or compact (AAPL270115C00200000), or 'AAPL 1/15 200 C'
    #[arg(value_name = "OSYM")]
    pub osym: String,
    /// URL of the daemon to query
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2112", conflicts_with = "feed")]
    pub url: String,
    /// Compute the name from this feed (as for serve) instead of querying a daemon; repeatable
    #[arg(long, value_name = "SPEC", value_delimiter = ';')]
    pub feed: Vec<String>,
    /// Explain this past moment: a date, or a time such as 2024-01-03T10:30 (Eastern); needs a daemon with --feed
    /// history:DIR (with --feed, --now does the same)
    #[arg(long, value_name = "TIME", conflicts_with = "feed", value_parser = value::past_moment)]
    pub as_of: Option<String>,
    /// Clock, overrides, rates and keys of the feed.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Write JSON with all digits instead of text
    #[arg(long)]
    pub json: bool,
}

/// Options of commands that compute names from a feed.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct SourceArgs {
    /// With --feed: fix the market clock at this instant (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = value::instant, requires = "feed")]
    pub now: Option<Timestamp>,
    /// With --feed: CSV file of overrides
    #[arg(long, value_name = "FILE", requires = "feed")]
    pub overrides: Option<PathBuf>,
    /// With --feed: discount curves, auto or zero
    #[arg(long, value_name = "MODE", value_parser = value::rates, requires = "feed", default_value = "auto")]
    pub rates: RatesMode,
    /// With --feed: file with vendors' API keys
    #[arg(long, value_name = "FILE", requires = "feed")]
    pub key_file: Option<PathBuf>,
}

/// Options of `greeksd scenario`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(
    after_help = "Parameters are those of GET /l1/scenario, written NAME=VALUE: underlying, osym, spot=-20..20:1, \
    vol=-10,0,10, at=now,2026-12-18,+5d, rate, borrow, dividends, sum, format and so on. Values are computed from the \
    feed, without a daemon. docs/scenarios.md has the parameters and the rules."
)]
pub struct ScenarioArgs {
    /// Parameters of the request
    #[arg(value_name = "NAME=VALUE", required_unless_present = "positions")]
    pub query: Vec<String>,
    /// Feed to compute the names from (as for serve); repeatable
    #[arg(long, value_name = "SPEC", value_delimiter = ';', required = true)]
    pub feed: Vec<String>,
    /// CSV file of positions (account,osym or symbol,quantity,price); all of them unless positions=ACCOUNT is given
    #[arg(long, value_name = "FILE")]
    pub positions: Option<PathBuf>,
    /// Clock, overrides, rates and keys of the feed.
    #[command(flatten)]
    pub source: SourceArgs,
}

/// The commands of positions.
#[derive(Debug, Subcommand)]
pub(super) enum PositionsCommand {
    /// Explain the change of each position and of the book by time, spot, volatility, skew, carry and dividends
    Explain(Box<ExplainPositionsArgs>),
}

/// Options of `greeksd positions explain`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(
    after_help = "Parameters are those of GET /l1/positions, written NAME=VALUE: by=total, account, underlying, \
    format=json and so on; the format is csv by default. docs/positions.md has the causes and their order."
)]
pub struct ExplainPositionsArgs {
    /// The earlier moment: session (the last session before the later moment), a date, or a time such as
    /// 2024-01-03T10:30 (Eastern)
    #[arg(long, value_name = "TIME", value_parser = value::since)]
    pub since: String,
    /// The later moment [default: now]
    #[arg(long, value_name = "TIME", value_parser = value::past_moment)]
    pub as_of: Option<String>,
    /// Parameters of the request
    #[arg(value_name = "NAME=VALUE")]
    pub query: Vec<String>,
    /// URL of the daemon to query; it needs positions, and --feed history:DIR
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2112", conflicts_with = "feed")]
    pub url: String,
    /// Compute from this feed (as for serve) instead of querying a daemon; repeatable
    #[arg(long, value_name = "SPEC", value_delimiter = ';', requires = "positions")]
    pub feed: Vec<String>,
    /// With --feed: CSV file of positions (account,osym or symbol,quantity)
    #[arg(long, value_name = "FILE", requires = "feed")]
    pub positions: Option<PathBuf>,
    /// Clock, overrides, rates and keys of the feed.
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Options of `greeksd view`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(
    after_help = "Keys: arrows move through expiries and strikes, Tab through chain, smile, term structure and watch \
    list, / searches for a symbol, ? shows all keys, q quits. y copies to the clipboard of the terminal (OSC 52), \
    and the copies are printed on exit. docs/view.md has the details."
)]
pub struct ViewArgs {
    /// Underlying to show first [default: the one with the most contracts]
    #[arg(value_name = "SYMBOL")]
    pub symbol: Option<String>,
    /// URL of the daemon to query
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2112", conflicts_with = "feed")]
    pub url: String,
    /// Compute the quotes of this feed (sim, dir:PATH, ... as for serve) in the viewer instead of querying a daemon;
    /// repeatable
    #[arg(long, value_name = "SPEC", value_delimiter = ';', value_parser = value::feed)]
    pub feed: Vec<String>,
    /// Begin at this past moment: a date, or a time such as 2024-01-03T10:30 (Eastern); for --feed history:DIR
    #[arg(long, value_name = "TIME", value_parser = value::past_moment)]
    pub as_of: Option<String>,
    /// Names on the watch list, separated by commas; 20 at most
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub watch: Vec<String>,
    /// Minimum time between two queries of the daemon, 0.1 to 60
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = value::view_refresh)]
    pub refresh: value::Milliseconds,
    /// Colours; auto follows the terminal and NO_COLOR
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ViewColor::Auto)]
    pub color: ViewColor,
    /// Plain characters only [default: where the locale has no UTF-8]
    #[arg(long)]
    pub ascii: bool,
    /// With --feed: options of serve for the computation, such as -- --threads 2 --overrides FILE
    #[arg(last = true, value_name = "OPTIONS", requires = "feed")]
    pub serve_options: Vec<OsString>,
}

/// Colour depth of `greeksd view`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ViewColor {
    /// As many as the terminal has; none with NO_COLOR
    Auto,
    /// No colours
    Never,
    /// The sixteen colours that every terminal has
    #[value(name = "16")]
    Sixteen,
    /// Greys and colours that look alike on every terminal
    #[value(name = "256")]
    Shades,
}

/// The completion script of a shell.
pub(super) fn completions(shell: clap_complete::Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "greeksd", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The manual page of the program, or of one of its commands, in roff.
///
/// # Errors
/// There is no such command.
pub(super) fn manual(of: Option<&str>) -> Result<String, clap::Error> {
    let mut program = Cli::command();
    program.build();
    let (command, title) = match of {
        None => (program, "greeksd".to_owned()),
        Some(name) => match program.find_subcommand(name) {
            Some(command) => (command.clone(), format!("greeksd-{name}")),
            None => {
                let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
                let message = format!("no command {name}; the commands are {}\n", names.join(", "));
                return Err(program.error(clap::error::ErrorKind::InvalidValue, message));
            }
        },
    };
    let mut text = Vec::new();
    let source = concat!("greeksd ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command).title(title).source(source).manual("greeksd").render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

impl Cli {
    /// Parses arguments; the environment stands in for what they leave out.
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(arguments)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::OPTIONS;
    use super::*;

    #[test]
    fn every_command_has_a_manual_page_with_its_options() {
        let program = Cli::command();
        for command in program.get_subcommands() {
            let page = manual(Some(command.get_name())).unwrap();
            assert!(page.contains(".TH greeksd-"), "{}", command.get_name());
            for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                let escaped = option.replace('-', "\\-");
                assert!(page.contains(&format!("\\-\\-{escaped}")), "{}: {option}", command.get_name());
            }
        }
        assert!(manual(None).unwrap().contains("GREEKSD_LISTEN"));
        assert!(manual(Some("nothing")).unwrap_err().to_string().contains("serve, price, batch"));
    }

    #[test]
    fn completions_of_every_shell_cover_every_command() {
        for shell in clap_complete::Shell::value_variants() {
            let text = completions(*shell);
            for command in Cli::command().get_subcommands() {
                assert!(text.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(text.contains("show-quotes"), "{shell}");
        }
    }

    #[test]
    fn the_version_is_printed_whatever_else_is_set() {
        let printed = |arguments: &[&str]| {
            let arguments = ["greeksd"].iter().chain(arguments).map(OsString::from);
            match super::super::read(arguments, &|_| None) {
                Ok(super::super::Invocation::Print(text)) => text,
                other => panic!("{other:?}"),
            }
        };
        let line = format!("greeksd {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!([printed(&["--version"]), printed(&["-V", "--feed", "sim"])], [line.clone(), line.clone()]);
        let lines = printed(&["--verbose", "--version"]);
        assert!(lines.starts_with(&format!("{line}commit: ")) && lines.contains("\nfeatures: "), "{lines}");
        let error = Cli::read(["greeksd", "--verbose"].map(OsString::from)).unwrap_err().to_string();
        assert!(error.contains("--version"), "{error}");
    }

    #[test]
    fn the_command_line_is_well_formed_and_every_option_has_its_variable() {
        let command = Cli::command();
        command.clone().debug_assert();
        for option in OPTIONS {
            let argument = command.get_arguments().find(|argument| argument.get_long() == Some(option.key)).unwrap();
            assert_eq!(argument.get_env().and_then(|variable| variable.to_str()), Some(option.variable));
            assert_eq!(option.variable, format!("GREEKSD_{}", option.key.replace('-', "_").to_uppercase()));
        }
    }
}
