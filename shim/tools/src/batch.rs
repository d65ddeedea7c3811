//! `greeksd batch`: computes files of recorded quotes to files of Greeks, a day at a time. It makes a job of the crate
//! `history` from the arguments, and shows its progress and outcome. Never: a formula, a layout of quotes.

mod beside;
pub mod inputs;
pub mod reference_files;
mod report;
mod text;
mod watch;

use self::beside::{BesideForm, MetricsFolder};
use crate::arguments::{BatchArgs, BatchFormat, BatchLayout};
use api::rows::frame::Format;
use api::vendors::facts::FactForm;
use history::gather::FileRead;
use history::job::{HistoryJob, JobError, JobOutcome};
use history::layouts::ReadOptions;
use history::manifest::job_folder;
use history::output::FileForm;
use history::plan::OutputLayout;
use history::recipe::Recipe;
use history::row::HistoryRow;
use history::tables::{ParquetForm, TableFormat};
use history::tasks::{HistoryTask, TaskForm, tasks};
use history::watch::JobWatch;
use host::log::say;
use inputs::Inputs;
pub use inputs::read_options;
use kernel::calendar::Calendar;
use kernel::error::Refused;
use kernel::quality::Quality;
use reference_files::ReferenceFiles;
use restart::closes::ClosesFolder;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use text::TextForm;
use watch::BatchWatch;

/// Exit code: the job broke off, or could not compute everything.
const INCOMPLETE: u8 = 1;
/// Exit code: the arguments make no sense, or the job cannot begin.
const UNUSABLE: u8 = 2;
/// Exit code: a signal ended the job.
const INTERRUPTED: u8 = 130;

/// Why a job did not begin, or did not end.
#[derive(Debug)]
pub enum BatchError {
    /// An argument, or a file named by one, is unusable.
    Arguments(String),
    /// The job broke off.
    Job(JobError),
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(text) => f.write_str(text),
            Self::Job(error) => error.fmt(f),
        }
    }
}

/// Runs the command; messages go to standard error.
#[must_use]
pub fn run(args: &BatchArgs) -> ExitCode {
    let began = Instant::now();
    let watch = Arc::new(BatchWatch::new(args.quiet));
    if args.plan {
        return match print_tasks(args, &watch) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(INTERRUPTED),
            Err(error) => refused(&error),
        };
    }
    let begin = |notes: &[String]| {
        if !args.quiet {
            notes.iter().for_each(|note| say(note));
        }
        listen_for_signals(Arc::clone(&watch)).map_err(|error| error.to_string())
    };
    let BatchDone { outcome, known } = match execute(args, &*watch, begin) {
        Ok(done) => done,
        Err(error) => return refused(&error),
    };
    watch.end();
    let summary = report::summary(&outcome, &known, began.elapsed(), threads(args));
    let is_whole = report::is_whole(&outcome);
    if outcome.is_stopped {
        say(&format!("{summary}stopped: complete files are kept, and the same command continues from there"));
        return ExitCode::from(INTERRUPTED);
    }
    if !args.quiet || !is_whole {
        say(summary.trim_end());
    }
    if is_whole { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) }
}

/// Writes an error, and returns its exit code.
fn refused(error: &BatchError) -> ExitCode {
    say(&format!("greeksd batch: {error}"));
    ExitCode::from(if matches!(error, BatchError::Arguments(_)) { UNUSABLE } else { INCOMPLETE })
}

/// Inputs, reference data and output form of the arguments.
struct Opened {
    inputs: Inputs,
    known: ReferenceFiles,
    options: ReadOptions,
    recipe: Recipe,
    form: Box<dyn FileForm>,
}

impl Opened {
    fn new(args: &BatchArgs) -> Result<Self, BatchError> {
        let inputs = Inputs::find(&args.inputs, &args.output).map_err(BatchError::Arguments)?;
        let known = ReferenceFiles::read(&args.known, &inputs).map_err(BatchError::Arguments)?;
        let options = inputs::read_options(args, known.reference.calendar()).map_err(BatchError::Arguments)?;
        let recipe = recipe(args);
        let form = form(args, recipe).map_err(|error| BatchError::Arguments(error.to_string()))?;
        let form = if args.plan { form } else { with_rest(form, args, known.reference.calendar())? };
        Ok(Self { inputs, known, options, recipe, form })
    }
}

/// The form with all that the arguments ask for beside files of Greeks.
fn with_rest(form: Box<dyn FileForm>, args: &BatchArgs, calendar: &Calendar) -> Result<Box<dyn FileForm>, BatchError> {
    let refused = |option: &str, path: &Path, why: &dyn fmt::Display| {
        BatchError::Arguments(format!("--{option} {}: {why}", path.display()))
    };
    let closes = args.closes.as_deref();
    let closes = closes.map(|path| ClosesFolder::claimed(path).map_err(|error| refused("closes", path, &error)));
    let closes = closes.transpose()?;
    let metrics = args.metrics.as_deref().map(|path| {
        let [folder, out] = [path, args.output.as_path()].map(std::path::absolute);
        match (folder, out) {
            (Ok(folder), Ok(out)) if !folder.starts_with(&out) => {
                Ok(MetricsFolder { path: path.to_owned(), form: table(args.format) })
            }
            (Ok(_), Ok(_)) => Err(refused("metrics", path, &"readers take every file below OUT for Greeks")),
            (Err(error), _) | (_, Err(error)) => Err(refused("metrics", path, &error)),
        }
    });
    let metrics = metrics.transpose()?;
    if closes.is_none() && metrics.is_none() {
        return Ok(form);
    }
    Ok(Box::new(BesideForm::new(form, closes, metrics, calendar.clone())))
}

/// The form of a table of numbers in a format of the results.
fn table(format: BatchFormat) -> FactForm {
    match format {
        BatchFormat::Parquet => FactForm::Table(TableFormat::Parquet),
        BatchFormat::Csv => FactForm::Text(Format::PointCsv),
        BatchFormat::Ndjson => FactForm::Text(Format::Ndjson),
    }
}

/// A job that has ended.
pub struct BatchDone {
    outcome: JobOutcome,
    known: ReferenceFiles,
}

impl BatchDone {
    /// Outcome of the job.
    #[must_use]
    pub fn outcome(&self) -> &JobOutcome {
        &self.outcome
    }

    /// The report of the job as JSON: the contents of the report file.
    #[must_use]
    pub fn report(&self) -> String {
        report::text(&self.outcome, &self.known)
    }

    /// The first refused rows of each file, with their places.
    pub fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.known.places.iter().chain(self.outcome.inputs.iter().flat_map(|input| &input.read.report.places))
    }
}

/// Runs the job of the arguments, but for `--plan`. `begin` is called with notes for the user when the arguments have
/// been read; its error ends the job.
///
/// # Errors
/// An argument makes no sense, or the folder cannot be written to. Faults of input files are in the outcome.
pub fn execute(
    args: &BatchArgs,
    watch: &dyn JobWatch,
    begin: impl FnOnce(&[String]) -> Result<(), String>,
) -> Result<BatchDone, BatchError> {
    let Opened { inputs, known, options, recipe, form } = Opened::new(args)?;
    begin(&known.notes).map_err(BatchError::Arguments)?;
    let read = |path: &Path, take: &mut dyn FnMut(HistoryRow)| -> FileRead { inputs::read(path, &options, take) };
    let job = HistoryJob {
        inputs: &inputs.files,
        rates_from: &args.rates_from,
        out: &args.output,
        reference: &known.reference,
        recipe,
        layout: layout(args),
        form: &*form,
        threads: threads(args),
        allows_partial: args.allow_partial,
        read: &read,
        watch,
    };
    let outcome = history::job::run(&job).map_err(BatchError::Job)?;
    report::write(&job_folder(&args.output), &outcome, &known)
        .map_err(|error| BatchError::Job(JobError::Io { what: "writing the report", cause: error }))?;
    Ok(BatchDone { outcome, known })
}

/// Prints the tasks of the input files; false if a signal stopped it.
fn print_tasks(args: &BatchArgs, watch: &Arc<BatchWatch>) -> Result<bool, BatchError> {
    let Opened { inputs, known, options, form, .. } = Opened::new(args)?;
    listen_for_signals(Arc::clone(watch)).map_err(|error| BatchError::Arguments(error.to_string()))?;
    let read = |path: &Path, take: &mut dyn FnMut(HistoryRow)| -> FileRead { inputs::read(path, &options, take) };
    let form = TaskForm { layout: layout(args), extension: form.extension() };
    let tasks = tasks(&inputs.files, threads(args), &known.reference, &read, form, &**watch);
    watch.end();
    let Some(tasks) = tasks else { return Ok(false) };
    let mut out = std::io::stdout().lock();
    // given curves serve every day; implied ones need the European chains of the task's days
    let implies = known.reference.rates().implies();
    let reference = known.named.options(known.records.zero_rates);
    for HistoryTask { inputs, rates_from, outputs, rows } in tasks {
        let text = |path: &PathBuf| path.display().to_string();
        let inputs: Vec<String> = inputs.iter().map(text).collect();
        let from = rates_from.iter().filter(|_| implies).flat_map(|path| ["--rates-from".to_owned(), text(path)]);
        let options: Vec<String> = reference.iter().cloned().chain(from).collect();
        let line = serde_json::json!({ "inputs": inputs, "outputs": outputs, "rows": rows, "options": options });
        writeln!(out, "{line}").map_err(|error| BatchError::Arguments(format!("standard output: {error}")))?;
    }
    Ok(true)
}

fn layout(args: &BatchArgs) -> OutputLayout {
    match args.layout {
        BatchLayout::Day => OutputLayout::Day,
        BatchLayout::Name => OutputLayout::Name,
        BatchLayout::Flat => OutputLayout::Flat,
    }
}

/// The accuracy of the computation, and whether outputs have quotes.
#[must_use]
pub fn recipe(args: &BatchArgs) -> Recipe {
    let quality = if args.is_preliminary() { Quality::Preliminary } else { Quality::Full };
    Recipe { quality, quotes: args.quotes }
}

fn form(args: &BatchArgs, recipe: Recipe) -> std::io::Result<Box<dyn FileForm>> {
    Ok(match args.format {
        BatchFormat::Parquet => Box::new(ParquetForm::new(recipe)?),
        BatchFormat::Csv => Box::new(TextForm::new(Format::PointCsv, recipe)),
        BatchFormat::Ndjson => Box::new(TextForm::new(Format::Ndjson, recipe)),
    })
}

/// Number of threads.
#[must_use]
pub fn threads(args: &BatchArgs) -> usize {
    args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The first signal stops the job gracefully; the second exits at once.
fn listen_for_signals(watch: Arc<BatchWatch>) -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(move || {
        if watch.stop() {
            std::process::exit(i32::from(INTERRUPTED));
        }
    })
}
