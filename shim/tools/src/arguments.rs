//! The arguments of the commands that need no daemon of their own: clap makes their help of these comments. Never: a
//! configuration file, an environment variable.

use crate::values;
use clap::{Args, ValueEnum};
use feeds::text::{DateOrder, Decimal};
use jiff::Timestamp;
use jiff::civil::Date;
use std::path::PathBuf;

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
    #[arg(long, value_name = "PRICE", value_parser = values::divisor)]
    pub spot: Option<f64>,
    /// Time of the quotes (RFC 3339), if the file has none or to override the file's
    #[arg(long, value_name = "TIME", value_parser = values::instant)]
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
    #[arg(long, value_name = "N", value_parser = values::threads)]
    pub threads: Option<usize>,
    /// Also write the quotes: bid, ask, sizes and mid
    #[arg(long)]
    pub quotes: bool,
    /// Also add a closing row of each name and day to the closes in this folder, such as the --state-dir of a stopped
    /// daemon, which ranks volatility by them (docs/metrics.md)
    #[arg(long, value_name = "DIR")]
    pub closes: Option<PathBuf>,
    /// Also write the rows of /l1/metrics, one for each name and snapshot, to files of the same format and layout in
    /// this folder; ranks and realised volatility count the sessions of --closes (docs/metrics.md)
    #[arg(long, value_name = "DIR")]
    pub metrics: Option<PathBuf>,
    /// Reference data
    #[command(flatten)]
    pub known: ReferencePaths,
    /// Column names of files with an unknown header: NAME=COLUMN,NAME=COLUMN; an unknown NAME lists all names
    #[arg(long, value_name = "MAP")]
    pub columns: Option<String>,
    /// Time of all quotes (Eastern without an offset), if the files have none or to override theirs
    #[arg(long, value_name = "TIME", value_parser = values::start)]
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
    #[arg(long, value_name = "N", value_parser = values::divisor)]
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
    #[arg(long, value_name = "N", value_parser = values::trading_days, default_value = "100")]
    pub days: usize,
    /// First day [default: 2025-01-02]
    #[arg(long, value_name = "DATE", value_parser = values::day)]
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
    #[arg(long, value_name = "N", value_parser = values::threads)]
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

impl BatchArgs {
    /// True if lattices value early exercise.
    #[must_use]
    pub fn is_preliminary(&self) -> bool {
        self.accuracy == BatchAccuracy::Preliminary
    }
}
