//! The command line and the environment variables beside it.

use super::origin::Origin;
use super::value::{self, Folder, Log, RatesMode};
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use tracing::level_filters::LevelFilter;

/// Compute Greeks of US listed options on this machine and serve them over HTTP.
#[derive(Debug, Parser)]
#[command(name = "greeksd", version, args_conflicts_with_subcommands = true)]
#[command(after_help = "Without a command, greeksd runs serve. Each option of serve is also an environment variable \
    (named in its help) and a key of greeksd.toml. The command line overrides the environment, which overrides the file.")]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
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
    /// Compare a vendor's Greeks with ours: differences by Greek, and the likely reason for each expiry
    Compare(Box<CompareArgs>),
}

/// Options of `greeksd serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Addresses to listen on; repeatable, or separated by commas [default: 127.0.0.1:2112,[::1]:2112]
    #[arg(long, env = "GREEKSD_LISTEN", hide_env_values = true, value_name = "ADDRESS:PORT", value_parser = value::address)]
    #[arg(value_delimiter = ',')]
    pub(super) listen: Option<Vec<SocketAddr>>,
    /// Allow --listen and --feed tcp: to name addresses that other machines can reach
    #[arg(long, env = "GREEKSD_ALLOW_REMOTE", hide_env_values = true, value_name = "BOOL", value_parser = value::flag)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) allow_remote: Option<bool>,
    /// Source of quotes [default: sim]; repeatable: where several feeds have an item, the first one is used. Simulated:
    /// sim, sim:full (6,000 names), sim:full,scale=1.3, sim:seed=7. Recorded: dir:PATH (one day), history:DIR (many
    /// days). Pushed to greeksd: tcp:PORT, tcp:ADDRESS:PORT, stdin:. Polled over HTTP: cboe:NAMES (15 minutes delayed,
    /// for personal use), theta:NAMES, tradier:NAMES, massive:NAMES, alpaca:NAMES, where NAMES is a list such as
    /// SPY,QQQ; rates only: treasury:; dividends only: nasdaq:NAMES. In builds with the feature databento-live:
    /// databento:NAMES. docs/feeds.md describes each feed
    #[arg(long, env = "GREEKSD_FEED", hide_env_values = true, value_name = "SPEC", value_delimiter = ';',
          value_parser = value::text)]
    pub(super) feed: Option<Vec<String>>,
    /// File with vendors' API keys, one NAME=value per line, such as GREEKSD_TRADIER_TOKEN=...; environment variables
    /// of the same names override it
    #[arg(long, env = "GREEKSD_KEY_FILE", hide_env_values = true, value_name = "FILE", value_parser = value::folder)]
    pub(super) key_file: Option<Folder>,
    /// CA certificates (PEM) to verify vendors' servers with, instead of those of the system
    #[arg(long, env = "GREEKSD_FEED_CA", hide_env_values = true, value_name = "FILE", value_parser = value::folder)]
    pub(super) feed_ca: Option<Folder>,
    /// Fix the market clock at this instant (RFC 3339)
    #[arg(long, env = "GREEKSD_NOW", hide_env_values = true, value_name = "TIME", value_parser = value::instant)]
    pub(super) now: Option<Timestamp>,
    /// Start the market clock at this instant (Eastern time unless an offset is given: 2026-11-20T09:25)
    #[arg(long, env = "GREEKSD_CLOCK", hide_env_values = true, value_name = "TIME", value_parser = value::start)]
    pub(super) clock: Option<value::Start>,
    /// Speed of the clock that --clock starts, as a multiple of real time, up to 10000 [default: 1]
    #[arg(long, env = "GREEKSD_SPEED", hide_env_values = true, value_name = "TIMES", value_parser = value::speed)]
    pub(super) speed: Option<f64>,
    /// Minimum time between two snapshots, 0.1 to 5 [default: 1]
    #[arg(long, env = "GREEKSD_REFRESH", hide_env_values = true, value_name = "SECONDS", value_parser = value::refresh)]
    pub(super) refresh: Option<f64>,
    /// Number of compute threads [default: one per core]
    #[arg(long, env = "GREEKSD_THREADS", hide_env_values = true, value_name = "N", value_parser = value::threads)]
    pub(super) threads: Option<usize>,
    /// Folder for the state that survives a restart: last values, market, rates [default: none for sim, else the
    /// platform's state folder]
    #[arg(long, env = "GREEKSD_STATE_DIR", hide_env_values = true, value_name = "DIR", value_parser = value::folder)]
    pub(super) state_dir: Option<Folder>,
    /// Record incoming quotes, prices, dividends and rates, one compressed file per day; --feed dir:DIR reads them
    #[arg(long, env = "GREEKSD_RECORD", hide_env_values = true, value_name = "DIR", value_parser = value::folder)]
    pub(super) record: Option<Folder>,
    /// CSV file of overrides of feeds and quotes: dividends, borrow, rates, excluded contracts; reloaded when it
    /// changes
    #[arg(long, env = "GREEKSD_OVERRIDES", hide_env_values = true, value_name = "FILE", value_parser = value::folder)]
    pub(super) overrides: Option<Folder>,
    /// Discount curves: auto (from the feeds, else implied by European chains, else built in) or zero [default: auto]
    #[arg(long, env = "GREEKSD_RATES", hide_env_values = true, value_name = "MODE", value_parser = value::rates)]
    pub(super) rates: Option<RatesMode>,
    /// Log format: text or json [default: text]
    #[arg(long, env = "GREEKSD_LOG", hide_env_values = true, value_name = "FORM", value_parser = value::log)]
    pub(super) log: Option<Log>,
    /// Log level: off, error, warn, info, debug or trace [default: info]
    #[arg(long, env = "GREEKSD_LOG_LEVEL", hide_env_values = true, value_name = "LEVEL", value_parser = value::log_level)]
    pub(super) log_level: Option<LevelFilter>,
    /// Host name to accept in requests, besides IP addresses, localhost and *.localhost; repeatable
    #[arg(long, env = "GREEKSD_ALLOW_HOST", hide_env_values = true, value_name = "NAME", value_delimiter = ',',
          value_parser = value::host)]
    pub(super) allow_host: Option<Vec<String>>,
    /// Memory limit for old snapshots that slow readers still hold, in MB, 16 to 1000000; above it, requests for
    /// several names get status 503 [default: 1000]
    #[arg(long, env = "GREEKSD_OLD_SNAPSHOTS_MB", hide_env_values = true, value_name = "MB",
          value_parser = value::megabytes)]
    pub(super) old_snapshots_mb: Option<usize>,
    /// Memory limit of the response cache, in MB, 0 to 100000 [default: 64]
    #[arg(long, env = "GREEKSD_RESPONSE_CACHE_MB", hide_env_values = true, value_name = "MB",
          value_parser = value::cache_megabytes)]
    pub(super) response_cache_mb: Option<usize>,
    /// Also compress responses to clients on this machine that accept gzip; remote clients always get it [default:
    /// false]
    #[arg(long, env = "GREEKSD_GZIP_LOOPBACK", hide_env_values = true, value_name = "BOOL", value_parser = value::flag)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) gzip_loopback: Option<bool>,
    /// Serve the feed's quotes: layers fill bid, ask, sizes, mid and quote time, and /l1/greeks accepts greeks=quote
    #[arg(long, env = "GREEKSD_SHOW_QUOTES", hide_env_values = true, value_name = "BOOL", value_parser = value::flag)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) show_quotes: Option<bool>,
    /// Memory limit for computed past days (--feed history:DIR), in MB, 16 to 1000000; the least recently used days are
    /// dropped, and computed again on request [default: 1000]
    #[arg(long, env = "GREEKSD_HISTORY_MB", hide_env_values = true, value_name = "MB", value_parser = value::megabytes)]
    pub(super) history_mb: Option<usize>,
    /// Configuration file [default: greeksd.toml in the current folder, else in the platform's configuration folder]
    #[arg(long, env = "GREEKSD_CONFIG", hide_env_values = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print every option with its value and its source, then exit
    #[arg(long)]
    pub(super) print_config: bool,
}

/// Options of `greeksd price`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PriceArgs {
    /// CSV file with the columns id,style,right,s,k,t_years,r,b,sigma,divs; a column price instead of sigma computes
    /// the implied volatility
    #[arg(value_name = "IN.csv")]
    pub input: PathBuf,
    /// CSV file to write: the input rows with their values [default: standard output]
    #[arg(short, long, value_name = "OUT.csv")]
    pub output: Option<PathBuf>,
    /// Use the reference scheme: slower, more accurate
    #[arg(long)]
    pub accurate: bool,
}

/// Options of `greeksd explain`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ExplainArgs {
    /// OSI symbol of the contract, padded or compact (AAPL270115C00200000)
    #[arg(value_name = "OSYM")]
    pub osym: String,
    /// URL of the daemon to query
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2112", conflicts_with = "feed")]
    pub url: String,
    /// Compute the name from this feed (as for serve) instead of querying a daemon; repeatable
    #[arg(long, value_name = "SPEC", value_delimiter = ';')]
    pub feed: Vec<String>,
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
    /// Write JSON with all digits instead of text
    #[arg(long)]
    pub json: bool,
}

/// Options of `greeksd compare`.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct CompareArgs {
    /// File with a vendor's quotes and Greeks (cboe, tradier, yahoo, orats-strikes, orats-files, thetadata-v2,
    /// thetadata-v3, greeksd), compressed or not, or its URL
    #[arg(value_name = "FILE|URL")]
    pub input: String,
    /// Layout of the file [default: recognised by its columns]
    #[arg(long, value_name = "NAME")]
    pub layout: Option<String>,
    /// Price of the underlying, if the file has none (Tradier) or to override the file's
    #[arg(long, value_name = "PRICE", value_parser = value::divisor)]
    pub spot: Option<f64>,
    /// Time of the quotes (RFC 3339), if the file has none or to override the file's
    #[arg(long, value_name = "TIME", value_parser = value::instant)]
    pub time: Option<Timestamp>,
    /// Reference data
    #[command(flatten)]
    pub known: KnownFiles,
    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Also write a CSV file with one line per expiry and reason
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write an SVG plot of the differences in delta
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Reference data of recorded quotes: dividends, rates and the like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct KnownFiles {
    /// Dividends (CSV: underlying,ex_date,amount) [default: dividends.csv in or beside the folder of quotes]
    #[arg(long, value_name = "FILE")]
    pub dividends: Vec<PathBuf>,
    /// Deliverables of adjusted roots (CSV: root,shares,cash) [default: deliverables.csv in or beside the folder of
    /// quotes]
    #[arg(long, value_name = "FILE")]
    pub deliverables: Vec<PathBuf>,
    /// Discount curves (CSV: date,tenor_days,rate), or zero [default: rates.csv in or beside the folder of quotes;
    /// without one, implied by the day's European chains among the quotes, else built in]
    #[arg(long, value_name = "FILE")]
    pub rates: Vec<PathBuf>,
    /// Corrections of the trading calendar (CSV: date,status) [default: overrides.csv in or beside the folder of
    /// quotes]
    #[arg(long, value_name = "FILE")]
    pub calendar: Vec<PathBuf>,
    /// Use only the reference files named by options; look for none beside the quotes
    #[arg(long)]
    pub reference_as_named: bool,
    /// CSV file of overrides: dividends, borrow, rates, excluded contracts
    #[arg(long, value_name = "FILE")]
    pub overrides: Option<PathBuf>,
}

/// Options of `greeksd batch`.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(
    after_help = "Names with one snapshot on a day are written to OUT/day=DATE/greeks.parquet, names with several to \
    OUT/root_symbol=NAME/day=DATE/greeks.parquet. Existing files that would not change are kept, so a job that was \
    stopped or killed continues with the same command. OUT/_report.json reports on each input. Exit codes: 0 success, \
    1 an input could not be read or computed, 2 wrong arguments, 130 stopped. docs/history.md has the details."
)]
pub struct BatchArgs {
    /// Files or folders of quotes
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Folder for the results
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Format of the results
    #[arg(long, value_enum, default_value_t = BatchFormat::Parquet)]
    pub format: BatchFormat,
    /// Accuracy of early exercise: full uses tables, preliminary only lattices, within 2e-4 of the price for nine in
    /// ten contracts and faster where dividends are frequent
    #[arg(long, value_enum, default_value_t = BatchAccuracy::Full)]
    pub accuracy: BatchAccuracy,
    /// Number of threads that read and compute [default: one per core]
    #[arg(long, value_name = "N", value_parser = value::threads)]
    pub threads: Option<usize>,
    /// Also write the quotes: bid, ask, sizes and mid
    #[arg(long)]
    pub quotes: bool,
    /// Reference data
    #[command(flatten)]
    pub known: KnownFiles,
    /// Column names of files with an unknown header: NAME=COLUMN,NAME=COLUMN; an unknown NAME lists all names
    #[arg(long, value_name = "MAP")]
    pub columns: Option<String>,
    /// Time zone of times without an offset [default: America/New_York]
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Eastern time of day for dates without a time [default: that of the layout, mostly the close]
    #[arg(long, value_name = "HH:MM")]
    pub day_time: Option<String>,
    /// Divisor of strikes: 1000 where they are thousandths [default: 1]
    #[arg(long, value_name = "N", value_parser = value::divisor)]
    pub strike_divisor: Option<f64>,
    /// Underlying of files that do not name it [default: the file name up to its first _, - or .]
    #[arg(long, value_name = "NAME")]
    pub underlying: Option<String>,
    /// Closing prices of underlyings, for quotes without one [default: underlying.csv or the like beside the quotes]
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Interval between snapshots of a recording [default: 1m]
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// Compute nothing; print the tasks that several machines can share, one JSON object per line (inputs, outputs,
    /// rows, options)
    #[arg(long)]
    pub plan: bool,
    /// For tasks of a plan: files whose European chains imply the discount curves, instead of IN
    #[arg(long, value_name = "FILE")]
    pub rates_from: Vec<PathBuf>,
    /// Also compute chains that are known to be incomplete
    #[arg(long)]
    pub allow_partial: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `greeksd batch` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BatchFormat {
    /// Typed columns, every number in full
    Parquet,
    /// The rows of /l1/greeks?format=csv
    Csv,
    /// The rows of /l1/greeks?format=ndjson
    Ndjson,
}

/// How accurately `greeksd batch` values early exercise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BatchAccuracy {
    /// By lattices (formerly rough)
    #[value(alias = "rough")]
    Preliminary,
    /// By tables
    Full,
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
    #[arg(long, value_name = "SPEC", value_delimiter = ';', value_parser = value::text)]
    pub feed: Vec<String>,
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

/// How many colours `greeksd view` uses.
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

impl BatchArgs {
    /// True if lattices value early exercise.
    #[must_use]
    pub fn is_preliminary(&self) -> bool {
        self.accuracy == BatchAccuracy::Preliminary
    }
}

/// What a shell needs to complete commands and options.
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

/// Who gave each option of `serve`.
#[derive(Debug)]
pub(super) struct Origins(clap::ArgMatches);

impl Cli {
    /// Parses arguments; the environment stands in for what they leave out.
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<(Self, Origins), clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(arguments)?;
        let cli = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        let serve = matches.subcommand_matches("serve").unwrap_or(&matches).clone();
        Ok((cli, Origins(serve)))
    }
}

impl Origins {
    /// Where the option `name` (as in its key) came from.
    pub(super) fn of(&self, name: &'static str) -> Origin {
        match self.0.value_source(&name.replace('-', "_")) {
            Some(ValueSource::EnvVariable) => Origin::Environment(variable(name)),
            Some(ValueSource::CommandLine) => Origin::CommandLine,
            _ => Origin::Default,
        }
    }
}

/// The environment variable of an option.
fn variable(name: &str) -> &'static str {
    match name {
        "listen" => "GREEKSD_LISTEN",
        "allow-remote" => "GREEKSD_ALLOW_REMOTE",
        "feed" => "GREEKSD_FEED",
        "key-file" => "GREEKSD_KEY_FILE",
        "feed-ca" => "GREEKSD_FEED_CA",
        "now" => "GREEKSD_NOW",
        "clock" => "GREEKSD_CLOCK",
        "speed" => "GREEKSD_SPEED",
        "refresh" => "GREEKSD_REFRESH",
        "threads" => "GREEKSD_THREADS",
        "state-dir" => "GREEKSD_STATE_DIR",
        "record" => "GREEKSD_RECORD",
        "overrides" => "GREEKSD_OVERRIDES",
        "rates" => "GREEKSD_RATES",
        "log" => "GREEKSD_LOG",
        "log-level" => "GREEKSD_LOG_LEVEL",
        "allow-host" => "GREEKSD_ALLOW_HOST",
        "old-snapshots-mb" => "GREEKSD_OLD_SNAPSHOTS_MB",
        "response-cache-mb" => "GREEKSD_RESPONSE_CACHE_MB",
        "gzip-loopback" => "GREEKSD_GZIP_LOOPBACK",
        "show-quotes" => "GREEKSD_SHOW_QUOTES",
        "history-mb" => "GREEKSD_HISTORY_MB",
        _ => "environment",
    }
}

#[cfg(test)]
mod tests {
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
    fn the_command_line_is_well_formed_and_every_option_has_its_variable() {
        let command = Cli::command();
        command.clone().debug_assert();
        for name in super::super::file::KEYS {
            let id = name.replace('-', "_");
            let option =
                command.get_arguments().find(|a| a.get_id() == id.as_str()).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(option.get_env().and_then(|v| v.to_str()), Some(variable(name)), "{name}");
        }
    }
}
