//! The command line and the environment variables beside it.

use super::options::GivenOptions;
use super::value::{self, RatesMode};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use feeds::text::{DateOrder, Decimal};
use jiff::Timestamp;
use jiff::civil::Date;
use std::ffi::OsString;
use std::path::PathBuf;

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

/// Options of `greeksd ready`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ReadyArgs {
    /// URL of the daemon to query
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2112")]
    pub url: String,
    /// Ask again for so many seconds, until it is
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub wait: u64,
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
    /// Explain this past moment: a date, or a time such as 2024-01-03T10:30 (Eastern); needs a daemon with --feed
    /// history:DIR (with --feed, --now does the same)
    #[arg(long, value_name = "TIME", conflicts_with = "feed", value_parser = value::past_moment)]
    pub as_of: Option<String>,
    /// What goes with a feed.
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
    /// What goes with a feed.
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Options of `greeksd compare`.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct CompareArgs {
    /// File with a vendor's quotes and Greeks (cboe, tradier, yahoo, orats-strikes, thetadata-v2,
    /// thetadata-v3, greeksd, ...), compressed or not, or its URL
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
    /// How the file is written
    #[command(flatten)]
    pub text: WrittenForm,
    /// Reference data
    #[command(flatten)]
    pub known: ReferencePaths,
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

/// How texts are written, where they do not show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct WrittenForm {
    /// Decimal mark of numbers such as 1,250 [default: the one that the file shows]
    #[arg(long, value_enum, value_name = "MARK")]
    pub decimal: Option<DecimalMark>,
    /// Order of day and month in dates such as 4/1/2026 [default: the one that the file shows]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub dates: Option<DayOrder>,
}

/// The decimal mark of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DecimalMark {
    /// 1,250 is a thousand and more
    Point,
    /// 1,250 is one and a quarter
    Comma,
}

/// The order of day and month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DayOrder {
    /// 4/1/2026 is in April
    MonthFirst,
    /// 4/1/2026 is in January
    DayFirst,
}

impl WrittenForm {
    /// The decimal mark as readers take it.
    #[must_use]
    pub fn decimal(self) -> Option<Decimal> {
        self.decimal.map(|mark| match mark {
            DecimalMark::Point => Decimal::Point,
            DecimalMark::Comma => Decimal::Comma,
        })
    }

    /// The order of day and month as readers take it.
    #[must_use]
    pub fn dates(self) -> Option<DateOrder> {
        self.dates.map(|order| match order {
            DayOrder::MonthFirst => DateOrder::MonthFirst,
            DayOrder::DayFirst => DateOrder::DayFirst,
        })
    }
}

/// Reference data of recorded quotes: dividends, rates and the like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct ReferencePaths {
    /// Dividends (CSV: underlying,ex_date,amount) [default: dividends.csv in or beside the folder of quotes]
    #[arg(long, value_name = "FILE")]
    pub dividends: Vec<PathBuf>,
    /// Deliverables of adjusted roots (CSV: root,shares,cash) [default: deliverables.csv in or beside the folder of
    /// quotes]
    #[arg(long, value_name = "FILE")]
    pub deliverables: Vec<PathBuf>,
    /// Events known by date (CSV: date,symbol,kind,time,move) [default: events.csv in or beside the folder of quotes]
    #[arg(long, value_name = "FILE")]
    pub events: Vec<PathBuf>,
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
    OUT/day=DATE/greeks-NAME.parquet: pl.read_parquet, pd.read_parquet and DuckDB open OUT as one table. Existing files \
    that would not change are kept, so a job that was stopped or killed continues with the same command. \
    OUT.job/_report.json, beside OUT, reports on each input. Exit codes: 0 success, 1 an input could not be read or computed, 2 wrong arguments, 130 stopped. docs/history.md has the details."
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
    /// Layout of the results: a folder for each day, for each name (OUT/root_symbol=NAME/day=DATE/), or no folders
    #[arg(long, value_enum, default_value_t = BatchLayout::Day)]
    pub layout: BatchLayout,
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
    pub known: ReferencePaths,
    /// Column names of files with an unknown header: NAME=COLUMN,NAME=COLUMN; an unknown NAME lists all names
    #[arg(long, value_name = "MAP")]
    pub columns: Option<String>,
    /// Time of all quotes (Eastern without an offset), if the files have none or to override theirs
    #[arg(long, value_name = "TIME", value_parser = value::start)]
    pub time: Option<Timestamp>,
    /// How the files are written
    #[command(flatten)]
    pub text: WrittenForm,
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

/// Options of `greeksd generate`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(
    after_help = "OUT gets the quotes in OUT/quotes, and dividends.csv and rates.csv beside them, where batch and \
    history: look for them. Every price is simulated; the same options write the same bytes."
)]
pub struct GenerateArgs {
    /// Folder to write; must be new or empty
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Layout of the files: greeksd, greeksd-symbols, greeksd-strikes, cboe-datashop-eod, cboe-datashop-intervals,
    /// orats-strikes, optionsdx, historicaloptiondata, options-dataset, dolthub-option-chain, thetadata-v2,
    /// thetadata-v3 or greeksd-recording
    #[arg(long, value_name = "NAME", default_value = "greeksd")]
    pub layout: String,
    /// Number of underlyings, or a list such as SPX,AAPL
    #[arg(long, value_name = "N|NAMES", default_value = "20")]
    pub names: String,
    /// Number of trading days
    #[arg(long, value_name = "N", value_parser = value::trading_days, default_value = "100")]
    pub days: usize,
    /// First day [default: 2025-01-02]
    #[arg(long, value_name = "DATE", value_parser = value::day)]
    pub from: Option<Date>,
    /// Interval between the snapshots of a day, such as 1m or 30m [default: one snapshot, at the close or when the
    /// layout has it]
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// Seed of the simulated market
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Compress the files with gzip
    #[arg(long)]
    pub gzip: bool,
    /// Also write the true values and Greeks to OUT/_truth.csv; slower
    #[arg(long)]
    pub truth: bool,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = value::threads)]
    pub threads: Option<usize>,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// File format of `greeksd batch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BatchFormat {
    /// Typed columns, every number in full
    Parquet,
    /// The rows of /l1/greeks?format=csv
    Csv,
    /// The rows of /l1/greeks?format=ndjson
    Ndjson,
}

/// Folders and file names of `greeksd batch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BatchLayout {
    /// day=DATE/greeks.parquet; names with several snapshots on a day in day=DATE/greeks-NAME.parquet
    Day,
    /// root_symbol=NAME/day=DATE/greeks.parquet
    Name,
    /// greeks-DATE.parquet and greeks-DATE-NAME.parquet
    Flat,
}

/// Accuracy of early exercise in `greeksd batch`.
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

impl BatchArgs {
    /// True if lattices value early exercise.
    #[must_use]
    pub fn is_preliminary(&self) -> bool {
        self.accuracy == BatchAccuracy::Preliminary
    }
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
