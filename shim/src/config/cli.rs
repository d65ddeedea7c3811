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

/// Option Greeks of the US listed market over HTTP, computed on this machine.
#[derive(Debug, Parser)]
#[command(name = "greeksd", version, args_conflicts_with_subcommands = true)]
#[command(after_help = "Without a command, greeksd serves. Every option of serve can also be set by the environment \
    variable that its help names, or as a key in greeksd.toml; the command line wins, then the environment.")]
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
    /// Compute days of recorded quotes: files or folders of quotes in, files of Greeks out
    Batch(Box<BatchArgs>),
    /// Look at chains in the terminal: of a running daemon, or with --feed by itself
    View(Box<ViewArgs>),
    /// Print a manual page, in roff: greeksd man > greeksd.1
    Man {
        /// Of this command [default: of greeksd itself]
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
    },
    /// Print what a shell needs to complete commands and options
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Say everything behind one contract: quote, spot, rate, dividends, forward, curve, early exercise, values, warnings
    Explain(Box<ExplainArgs>),
    /// Hold our values against a vendor's own columns: differences by Greek, and the likely reason of each expiry
    Compare(Box<CompareArgs>),
}

/// Options of `greeksd serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Where to listen; repeat it or separate with commas [default: 127.0.0.1:2112,[::1]:2112]
    #[arg(long, env = "GREEKSD_LISTEN", hide_env_values = true, value_name = "ADDRESS:PORT", value_parser = value::address)]
    #[arg(value_delimiter = ',')]
    pub(super) listen: Option<Vec<SocketAddr>>,
    /// Let --listen name an address that other machines can reach
    #[arg(long, env = "GREEKSD_ALLOW_REMOTE", hide_env_values = true, value_name = "BOOL", value_parser = value::flag)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) allow_remote: Option<bool>,
    /// Where quotes come from [default: sim]; repeat it for several, of which the first that has an item counts. Made up:
    /// sim, sim:full (6,000 names), sim:full,scale=1.3, sim:seed=7. Recorded: dir:PATH, and many days history:DIR. Pushed to here: tcp:PORT,
    /// tcp:ADDRESS:PORT, stdin:. Asked over HTTP: cboe:NAMES (15 minutes late, for personal use), theta:NAMES,
    /// tradier:NAMES, massive:NAMES, alpaca:NAMES, where NAMES is SPY,QQQ; rates alone: treasury:; dividends alone:
    /// nasdaq:NAMES. In builds with it: databento:NAMES. docs/feeds.md says more of each
    #[arg(long, env = "GREEKSD_FEED", hide_env_values = true, value_name = "SPEC", value_delimiter = ';',
          value_parser = value::text)]
    pub(super) feed: Option<Vec<String>>,
    /// A file of keys of vendors, a line NAME=value for each, such as GREEKSD_TRADIER_TOKEN=...; the variables of these
    /// names go before it
    #[arg(long, env = "GREEKSD_KEY_FILE", hide_env_values = true, value_name = "FILE", value_parser = value::folder)]
    pub(super) key_file: Option<Folder>,
    /// Certificates (PEM) of the authorities that vendors' servers are trusted by, in place of the system's
    #[arg(long, env = "GREEKSD_FEED_CA", hide_env_values = true, value_name = "FILE", value_parser = value::folder)]
    pub(super) feed_ca: Option<Folder>,
    /// Let the clock stand still at this instant (RFC 3339)
    #[arg(long, env = "GREEKSD_NOW", hide_env_values = true, value_name = "TIME", value_parser = value::instant)]
    pub(super) now: Option<Timestamp>,
    /// Start the market's clock at this instant (Eastern time, unless it has an offset: 2026-11-20T09:25)
    #[arg(long, env = "GREEKSD_CLOCK", hide_env_values = true, value_name = "TIME", value_parser = value::start)]
    pub(super) clock: Option<value::Start>,
    /// How many times as fast as real time the clock of --clock runs, up to 10000 [default: 1]
    #[arg(long, env = "GREEKSD_SPEED", hide_env_values = true, value_name = "TIMES", value_parser = value::speed)]
    pub(super) speed: Option<f64>,
    /// Least time between two snapshots, 0.1 to 5 [default: 1]
    #[arg(long, env = "GREEKSD_REFRESH", hide_env_values = true, value_name = "SECONDS", value_parser = value::refresh)]
    pub(super) refresh: Option<f64>,
    /// Threads that compute [default: one for each core]
    #[arg(long, env = "GREEKSD_THREADS", hide_env_values = true, value_name = "N", value_parser = value::threads)]
    pub(super) threads: Option<usize>,
    /// Where the session's last values are kept [default: none for sim, else the platform's state folder]
    #[arg(long, env = "GREEKSD_STATE_DIR", hide_env_values = true, value_name = "DIR", value_parser = value::folder)]
    pub(super) state_dir: Option<Folder>,
    /// Keep what comes in (quotes, prices, dividends, rates), a compressed file a day; dir:DIR reads it again
    #[arg(long, env = "GREEKSD_RECORD", hide_env_values = true, value_name = "DIR", value_parser = value::folder)]
    pub(super) record: Option<Folder>,
    /// A file of what goes before feeds and quotes (csv): dividends, borrow, rates, contracts to leave out; read again where
    /// it changes
    #[arg(long, env = "GREEKSD_OVERRIDES", hide_env_values = true, value_name = "FILE", value_parser = value::folder)]
    pub(super) overrides: Option<Folder>,
    /// Discount curves: auto (of the feeds, else implied by European chains, else built in) or zero [default: auto]
    #[arg(long, env = "GREEKSD_RATES", hide_env_values = true, value_name = "MODE", value_parser = value::rates)]
    pub(super) rates: Option<RatesMode>,
    /// How the log is written: text or json [default: text]
    #[arg(long, env = "GREEKSD_LOG", hide_env_values = true, value_name = "FORM", value_parser = value::log)]
    pub(super) log: Option<Log>,
    /// What is logged: off, error, warn, info, debug or trace [default: info]
    #[arg(long, env = "GREEKSD_LOG_LEVEL", hide_env_values = true, value_name = "LEVEL", value_parser = value::log_level)]
    pub(super) log_level: Option<LevelFilter>,
    /// A further name that clients may call this machine by; repeatable. Addresses in digits, localhost and *.localhost
    /// need none
    #[arg(long, env = "GREEKSD_ALLOW_HOST", hide_env_values = true, value_name = "NAME", value_delimiter = ',',
          value_parser = value::host)]
    pub(super) allow_host: Option<Vec<String>>,
    /// Memory that old snapshots may hold for slow readers, in MB, 16 to 1000000; beyond it answers of several names wait
    /// [default: 1000]
    #[arg(long, env = "GREEKSD_OLD_SNAPSHOTS_MB", hide_env_values = true, value_name = "MB",
          value_parser = value::megabytes)]
    pub(super) old_snapshots_mb: Option<usize>,
    /// Memory for answers that are sent again or read in parts, in MB, 0 to 100000 [default: 64]
    #[arg(long, env = "GREEKSD_RESPONSE_CACHE_MB", hide_env_values = true, value_name = "MB",
          value_parser = value::cache_megabytes)]
    pub(super) response_cache_mb: Option<usize>,
    /// Compress for clients of this machine, too, where they take gzip; others always get it [default: false]
    #[arg(long, env = "GREEKSD_GZIP_LOOPBACK", hide_env_values = true, value_name = "BOOL", value_parser = value::flag)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) gzip_loopback: Option<bool>,
    /// Show the quotes of the feed: layers fill bid, ask, sizes, mid and quote time, and /l1/greeks has greeks=quote
    #[arg(long, env = "GREEKSD_SHOW_QUOTES", hide_env_values = true, value_name = "BOOL", value_parser = value::flag)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) show_quotes: Option<bool>,
    /// Memory for past days that were computed (--feed history:DIR), in MB, 16 to 1000000; what was used longest ago is
    /// computed again when it is asked for [default: 1000]
    #[arg(long, env = "GREEKSD_HISTORY_MB", hide_env_values = true, value_name = "MB", value_parser = value::megabytes)]
    pub(super) history_mb: Option<usize>,
    /// The configuration file [default: greeksd.toml here, else in the platform's configuration folder]
    #[arg(long, env = "GREEKSD_CONFIG", hide_env_values = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print every value and where it came from, and end
    #[arg(long)]
    pub(super) print_config: bool,
}

/// Options of `greeksd price`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PriceArgs {
    /// Rows with the columns id,style,right,s,k,t_years,r,b,sigma,divs; price in place of sigma asks for iv
    #[arg(value_name = "IN.csv")]
    pub input: PathBuf,
    /// Where the rows go, with every value beside them [default: standard output]
    #[arg(short, long, value_name = "OUT.csv")]
    pub output: Option<PathBuf>,
    /// Price with the reference scheme: slower, finer
    #[arg(long)]
    pub accurate: bool,
}

/// Options of `greeksd explain`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ExplainArgs {
    /// The contract: an OSI symbol, padded or compact (AAPL270115C00200000)
    #[arg(value_name = "OSYM")]
    pub osym: String,
    /// The daemon that is asked
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2112", conflicts_with = "feed")]
    pub url: String,
    /// Ask no daemon: compute the name from this feed (as of serve); repeat it for several
    #[arg(long, value_name = "SPEC", value_delimiter = ';')]
    pub feed: Vec<String>,
    /// With --feed: let the clock stand still at this instant (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = value::instant, requires = "feed")]
    pub now: Option<Timestamp>,
    /// With --feed: a file of what goes before it (csv)
    #[arg(long, value_name = "FILE", requires = "feed")]
    pub overrides: Option<PathBuf>,
    /// With --feed: discount curves, auto or zero
    #[arg(long, value_name = "MODE", value_parser = value::rates, requires = "feed", default_value = "auto")]
    pub rates: RatesMode,
    /// With --feed: a file of keys of vendors
    #[arg(long, value_name = "FILE", requires = "feed")]
    pub key_file: Option<PathBuf>,
    /// Write JSON, with every digit, in place of text
    #[arg(long)]
    pub json: bool,
}

/// Options of `greeksd compare`.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct CompareArgs {
    /// A file with quotes and Greeks of a vendor (cboe, tradier, yahoo, orats-strikes, orats-files, thetadata-v2, thetadata-v3,
    /// greeksd), packed or not, or the address of one
    #[arg(value_name = "FILE|URL")]
    pub input: String,
    /// Its layout, where it is not told by its columns
    #[arg(long, value_name = "NAME")]
    pub layout: Option<String>,
    /// The price of the underlying, where the file has none (Tradier) or another one is meant
    #[arg(long, value_name = "PRICE", value_parser = value::divisor)]
    pub spot: Option<f64>,
    /// The time of its quotes (RFC 3339), where the file has none or another one is meant
    #[arg(long, value_name = "TIME", value_parser = value::instant)]
    pub time: Option<Timestamp>,
    /// What is known beside its quotes
    #[command(flatten)]
    pub known: KnownFiles,
    /// Write JSON in place of text
    #[arg(long)]
    pub json: bool,
    /// Write a line for each expiry and reason there, too
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Draw the differences of delta there, too
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// The files of what is known beside recorded quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct KnownFiles {
    /// Dividends (csv: underlying,ex_date,amount) [default: dividends.csv in or beside the folder of quotes]
    #[arg(long, value_name = "FILE")]
    pub dividends: Vec<PathBuf>,
    /// What contracts of adjusted roots deliver (csv: root,shares,cash) [default: deliverables.csv in or beside the folder of
    /// quotes]
    #[arg(long, value_name = "FILE")]
    pub deliverables: Vec<PathBuf>,
    /// Discount curves (csv: date,tenor_days,rate), or zero [default: rates.csv in or beside the folder of quotes; without
    /// one, implied by European chains of the day among the quotes, else built in]
    #[arg(long, value_name = "FILE")]
    pub rates: Vec<PathBuf>,
    /// Dates that the trading calendar has wrong (csv: date,status) [default: overrides.csv in or beside the folder of quotes]
    #[arg(long, value_name = "FILE")]
    pub calendar: Vec<PathBuf>,
    /// Look for no file beside the quotes: what is not named is not there
    #[arg(long)]
    pub reference_as_named: bool,
    /// What goes before quotes (csv): dividends, borrow, rates, contracts to leave out
    #[arg(long, value_name = "FILE")]
    pub overrides: Option<PathBuf>,
}

/// Options of `greeksd batch`.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(
    after_help = "A name that was quoted once on a day stands in OUT/day=DATE/greeks.parquet, one that was quoted \
    several times in OUT/root_symbol=NAME/day=DATE/greeks.parquet. Files that are there and would be the same are left as \
    they are, so a job that was stopped or killed goes on with the same command. OUT/_report.json says what became of each \
    input. Exit codes: 0 all is done, 1 something could not be computed or read, 2 wrong arguments, 130 stopped. \
    docs/history.md says more."
)]
pub struct BatchArgs {
    /// Files of quotes, or folders of them
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// The folder for the results
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// What is written
    #[arg(long, value_enum, default_value_t = BatchFormat::Parquet)]
    pub format: BatchFormat,
    /// How well early exercise is valued: by tables, or roughly, by lattices alone, within 2e-4 of the price for nine in ten:
    /// faster where dividends are frequent
    #[arg(long, value_enum, default_value_t = BatchAccuracy::Full)]
    pub accuracy: BatchAccuracy,
    /// Threads that read and compute [default: one for each core]
    #[arg(long, value_name = "N", value_parser = value::threads)]
    pub threads: Option<usize>,
    /// Write the quotes too: bid, ask, their sizes and the middle
    #[arg(long)]
    pub quotes: bool,
    /// What is known beside the quotes
    #[command(flatten)]
    pub known: KnownFiles,
    /// What files call their columns, where their header is not known: NAME=COLUMN,NAME=COLUMN; a wrong name lists all
    #[arg(long, value_name = "MAP")]
    pub columns: Option<String>,
    /// The zone of times without an offset [default: America/New_York]
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// The time of day, Eastern, that a date without a time stands for [default: what the layout says, mostly the close]
    #[arg(long, value_name = "HH:MM")]
    pub day_time: Option<String>,
    /// What strikes are divided by: 1000 where they are thousandths [default: 1]
    #[arg(long, value_name = "N", value_parser = value::divisor)]
    pub strike_divisor: Option<f64>,
    /// The underlying of files that do not name it [default: the name of the file up to its first _, - or .]
    #[arg(long, value_name = "NAME")]
    pub underlying: Option<String>,
    /// Closing prices of underlyings, for quotes that have none beside them [default: underlying.csv or the like beside them]
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Recordings: the time from one snapshot to the next [default: 1m]
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// Compute nothing; print which files belong together, a JSON object a line (inputs, outputs, rows, options): tasks for several
    /// machines
    #[arg(long)]
    pub plan: bool,
    /// Files whose European chains imply the discount curves, in place of the quotes: for tasks of a plan
    #[arg(long, value_name = "FILE")]
    pub rates_from: Vec<PathBuf>,
    /// Compute chains too that are known to be incomplete
    #[arg(long)]
    pub allow_partial: bool,
    /// Say nothing but what went wrong
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

/// How well `greeksd batch` values early exercise.
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
    after_help = "Keys: arrows go through expiries and strikes, Tab through chain, smile, term structure and watch \
    list, / searches a symbol, ? shows all keys, q ends. What is copied (y) goes to the clipboard of the terminal (OSC 52) \
    and is printed at the end. docs/view.md says more."
)]
pub struct ViewArgs {
    /// The underlying to begin with [default: the one with most contracts]
    #[arg(value_name = "SYMBOL")]
    pub symbol: Option<String>,
    /// The daemon to ask
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2112", conflicts_with = "feed")]
    pub url: String,
    /// Ask no daemon: compute quotes of this feed within the viewer (sim, dir:PATH, ... as for serve); repeatable
    #[arg(long, value_name = "SPEC", value_delimiter = ';', value_parser = value::text)]
    pub feed: Vec<String>,
    /// Names on the watch list, separated by commas; 20 at most
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub watch: Vec<String>,
    /// Least time between two looks at the daemon, 0.1 to 60
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = value::view_refresh)]
    pub refresh: value::Milliseconds,
    /// Colours: auto goes by the terminal and NO_COLOR
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ViewColor::Auto)]
    pub color: ViewColor,
    /// Plain characters only [default: where the locale has no UTF-8]
    #[arg(long)]
    pub ascii: bool,
    /// After --feed: options of serve for what computes, such as -- --threads 2 --overrides FILE
    #[arg(last = true, value_name = "OPTIONS", requires = "feed")]
    pub serve_options: Vec<OsString>,
}

/// How many colours `greeksd view` uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ViewColor {
    /// As many as the terminal has; none with NO_COLOR
    Auto,
    /// None
    Never,
    /// The sixteen that every terminal has
    #[value(name = "16")]
    Sixteen,
    /// Shades of grey and colours that are the same everywhere
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
                let said = format!("there is no command {name}; there are {}\n", names.join(", "));
                return Err(program.error(clap::error::ErrorKind::InvalidValue, said));
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
    fn every_shell_is_told_every_command() {
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
