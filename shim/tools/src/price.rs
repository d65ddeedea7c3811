//! `greeksd price`: prices rows with explicit parameters, and writes them with all values.
//!
//! The columns are those of the golden files: `id,style,right,s,k,t_years,r,b,sigma,divs` in any order, `id` and `divs`
//! optional. With `price` instead of `sigma`, the first value is the implied volatility `iv`. A row that cannot be
//! priced keeps its line, with the reason under `error`. Numbers have the fewest digits that read back as the same
//! double. Never: a formula.

mod output;
mod row;

use crate::arguments::PriceArgs;
use feeds::fields::{HEAD, head};
use feeds::text::Dialect;
use feeds::text::encoding::{FromUtf16, Utf16};
use host::progress::ProgressLog;
use kernel::quality::Quality;
use output::OutputFile;
use rayon::prelude::*;
use row::Layout;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

/// Number of rows that are read, priced by all threads and written before the next ones are read.
const BATCH: usize = 1024;

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of rows.
    pub rows: usize,
    /// Number of rows that could not be priced.
    pub errors: usize,
}

/// Numbers of the input that are probably in another unit.
#[derive(Debug, Default)]
struct Doubts {
    /// Number of rows with such a number.
    rows: usize,
    /// The first such row, from 1, and the doubt.
    first: Option<(usize, String)>,
}

/// Error that ends a run.
#[derive(Debug)]
pub enum PriceError {
    /// A file could not be read or written: the attempt, and the cause.
    File(String, io::Error),
    /// The output file is the input file.
    SameFile(String),
    /// The input is no CSV file with the needed columns.
    Format(String),
}

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(what, cause) => write!(f, "{what}: {cause}"),
            Self::SameFile(path) => write!(f, "{path} is also the input: give another file for the output"),
            Self::Format(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for PriceError {}

/// Runs the command; messages go to standard error.
#[must_use]
pub fn run(args: &PriceArgs) -> ExitCode {
    let mut doubts = Doubts::default();
    match price_files(args, &mut doubts) {
        Ok(Summary { rows, errors }) => {
            if let Some((row, doubt)) = doubts.first {
                let more = if doubts.rows > 1 { format!(" (and {} more)", doubts.rows - 1) } else { String::new() };
                eprintln!("warning: row {row}: {doubt}{more}");
            }
            let failed = if errors > 0 { format!(", {errors} failed: see the column `error`") } else { String::new() };
            eprintln!("{} rows priced{failed}", rows - errors);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("greeksd price: {error}");
            ExitCode::FAILURE
        }
    }
}

fn price_files(args: &PriceArgs, doubts: &mut Doubts) -> Result<Summary, PriceError> {
    let scheme = if args.accurate { Quality::Reference } else { Quality::Full };
    if let Some(path) = args.output.as_deref().filter(|path| output::are_same(&args.input, path)) {
        return Err(PriceError::SameFile(path.display().to_string()));
    }
    let input: Box<dyn Read> = if args.input == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(&args.input).map_err(|e| cannot("read", &args.input, e))?)
    };
    match &args.output {
        Some(path) => {
            let output = OutputFile::create(path).map_err(|e| cannot("write", path, e))?;
            let summary = price_with_doubts(input, output.file(), scheme, doubts)?;
            output.finish().map_err(|e| cannot("write", path, e))?;
            Ok(summary)
        }
        None => price_with_doubts(input, io::stdout().lock(), scheme, doubts),
    }
}

fn cannot(what: &str, path: &Path, cause: io::Error) -> PriceError {
    PriceError::File(format!("cannot {what} {}", path.display()), cause)
}

/// Prices every row of `input` and writes the rows to `output` in the same order.
///
/// # Errors
/// Reading or writing fails, or the input lacks a needed column. A row that cannot be priced is no error.
pub fn price(input: impl Read, output: impl Write, scheme: Quality) -> Result<Summary, PriceError> {
    price_with_doubts(input, output, scheme, &mut Doubts::default())
}

/// Prices like [`price`], and collects doubtful numbers.
fn price_with_doubts(
    input: impl Read,
    output: impl Write,
    scheme: Quality,
    doubts: &mut Doubts,
) -> Result<Summary, PriceError> {
    let mut input = BufReader::with_capacity(HEAD, input);
    let cannot_read = |error| PriceError::File("cannot read".to_owned(), error);
    let order = Utf16::of(input.fill_buf().map_err(cannot_read)?);
    let input: Box<dyn Read + '_> = match order {
        None => Box::new(input),
        Some(order) => Box::new(FromUtf16::new(input, order)),
    };
    let mut input = BufReader::with_capacity(HEAD, input);
    let dialect = Dialect::of(head(input.fill_buf().map_err(cannot_read)?), None, None);
    let mut reader = csv::ReaderBuilder::new().flexible(true).delimiter(dialect.separator).from_reader(input);
    let layout = Layout::new(reader.byte_headers().map_err(broken)?, dialect).map_err(PriceError::Format)?;
    let mut output = BufWriter::new(output);
    let mut write = |bytes: &[u8]| output.write_all(bytes).map_err(|e| PriceError::File("cannot write".to_owned(), e));
    write(layout.header().as_bytes())?;
    let mut summary = Summary::default();
    // progress is for people who wait at a terminal
    let say: fn(&str) = if io::stderr().is_terminal() { |line| eprintln!("{line}") } else { |_| () };
    let mut progress = ProgressLog::new("priced", "rows", None, say);
    let mut records = reader.byte_records();
    loop {
        let batch: Vec<csv::ByteRecord> = records.by_ref().take(BATCH).collect::<Result<_, _>>().map_err(broken)?;
        if batch.is_empty() {
            break;
        }
        let lines: Vec<row::OutputLine> = batch.par_iter().map(|record| layout.line(record, scheme)).collect();
        for (row, line) in (summary.rows + 1..).zip(&lines) {
            write(&line.text)?;
            if let Some(doubt) = line.doubts.first() {
                doubts.rows += 1;
                doubts.first.get_or_insert_with(|| (row, doubt.clone()));
            }
        }
        summary.rows += lines.len();
        summary.errors += lines.iter().filter(|line| line.failed).count();
        progress.add(lines.len(), 0);
    }
    output.flush().map_err(|e| PriceError::File("cannot write".to_owned(), e))?;
    progress.end();
    Ok(summary)
}

fn broken(error: csv::Error) -> PriceError {
    PriceError::Format(format!("the input is not CSV: {error}"))
}
