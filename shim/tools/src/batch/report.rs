//! Reports the outcome of a job: a file for programs, a few lines for people. Never: a time of day, so that the same
//! job writes the same file.

use super::reference_files::ReferenceFiles;
use engine::rates::source::RateOrigin;
use engine::store::chain::Uncomputed;
use engine::store::drop_reason::DropReason;
use history::gather::InputFacts;
use history::job::JobOutcome;
use history::manifest::write_whole;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::error::Reason;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Name of the report file in the folder of outputs.
const REPORT: &str = "_report.json";
/// Maximum number of units, and of files, in the text; the report file has all.
const ITEMS_SHOWN: usize = 20;
/// Maximum number of refused rows in the text.
const PLACES_SHOWN: usize = 3;
/// A snapshot of fewer contracts is no chain.
const CHAIN_LEAST: u64 = 4;
/// Maximum number of refused rows of a file that are reported with their places; all are counted.
const PLACES: usize = 20;

/// True if the job is complete: every file was read, and some rows were usable.
pub(super) fn is_whole(outcome: &JobOutcome) -> bool {
    let is_read = |input: &InputFacts| input.damage().is_none() && !input.is_refused();
    outcome.failed.is_empty() && outcome.inputs.iter().all(is_read) && !is_nothing(outcome)
}

/// True if no row could be used, by the readers or by the computation.
fn is_nothing(outcome: &JobOutcome) -> bool {
    let is_refused = outcome.counts.contracts == 0 && outcome.counts.refused.iter().sum::<u64>() > 0;
    outcome.rows == 0 || is_refused
}

/// Writes the first refused rows with their remedies, and the files without a usable row.
fn write_refused(outcome: &JobOutcome, text: &mut String) {
    let mut helped = BTreeSet::new();
    for place in outcome.inputs.iter().flat_map(|input| &input.read.report.places).take(PLACES_SHOWN) {
        let cure = place.reason.cure().filter(|_| helped.insert(place.reason)).map(|cure| format!(" ({cure})"));
        let _ = writeln!(text, "refused: {place}{}", cure.unwrap_or_default());
    }
    for input in outcome.inputs.iter().filter(|input| input.is_refused()).take(ITEMS_SHOWN) {
        let _ = writeln!(text, "no usable row: {}", input.file.display());
    }
    if is_nothing(outcome) {
        let _ = writeln!(text, "nothing computed: no row could be used");
    }
}

/// Writes the report.
pub(super) fn write(out: &Path, outcome: &JobOutcome, known: &ReferenceFiles) -> io::Result<()> {
    write_whole(&out.join(REPORT), text(outcome, known).as_bytes())
}

/// The report as JSON.
pub(super) fn text(outcome: &JobOutcome, known: &ReferenceFiles) -> String {
    let counts = &outcome.counts;
    let failed: Vec<Value> = outcome
        .failed
        .iter()
        .map(|unit| {
            json!({
                "day": unit.day.to_string(), "underlying": unit.underlying.as_str(), "why": unit.fault.name(),
                "text": unit.fault.to_string(),
            })
        })
        .collect();
    let read_refused = all_refused(outcome);
    let report = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "stopped": outcome.is_stopped,
        "inputs": {
            "files": outcome.inputs.len(),
            "rows": outcome.rows,
            "duplicates": outcome.duplicates,
            "refused": by_name(Reason::ALL.map(Reason::name), &read_refused),
            "damaged": outcome.inputs.iter().filter(|input| input.damage().is_some()).count(),
        },
        "reference": {
            "files": known.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
            "refused": known.refused,
            "rates": outcome.rates.iter().map(|(day, origin)| json!({
                "day": day.to_string(), "source": origin.source.name(), "as_of": origin.as_of.map(|date| date.to_string()),
            })).collect::<Vec<_>>(),
        },
        "units": { "computed": outcome.done, "there_already": outcome.skipped, "failed": failed.len() },
        "files": { "written": outcome.files, "there_already": outcome.files_skipped },
        "computed": {
            "snapshots": counts.snapshots,
            "contracts": counts.contracts,
            "priced": counts.priced,
            "refused": by_name(Reason::ALL.map(Reason::name), &counts.refused),
            "dropped": by_name(DropReason::ALL.map(DropReason::name), &counts.dropped),
            "uncomputed": by_name(Uncomputed::ALL.map(Uncomputed::name), &counts.uncomputed),
        },
        "failed": failed,
        "doubted": outcome.doubted.iter().map(|unit| json!({
            "day": unit.day.to_string(), "underlying": unit.underlying.as_str(), "text": unit.text,
        })).collect::<Vec<_>>(),
        "files_read": outcome.inputs.iter().map(input).collect::<Vec<_>>(),
    });
    format!("{report:#}\n")
}

/// The report of an input file; without refused rows it has no list of them.
fn input(input: &InputFacts) -> Value {
    let report = &input.read.report;
    let mut facts = json!({
        "file": input.file.display().to_string(),
        "layout": input.read.layout,
        "rows": input.rows,
    });
    if let Some(damage) = input.damage() {
        facts["damage"] = damage.into();
    }
    if report.refused_total() > 0 {
        facts["refused"] = by_name(Reason::ALL.map(Reason::name), &report.refused);
        let places = report.places.iter().take(PLACES).map(ToString::to_string);
        facts["places"] = places.collect::<Vec<_>>().into();
    }
    facts
}

/// Nonzero counts, by name.
fn by_name<const N: usize>(names: [&str; N], counts: &[u64]) -> Value {
    let some = names.iter().zip(counts).filter(|(_, n)| **n > 0);
    Value::Object(some.map(|(name, n)| ((*name).to_owned(), (*n).into())).collect::<Map<_, _>>())
}

/// Rows that readers refused, by reason.
fn all_refused(outcome: &JobOutcome) -> [u64; Reason::ALL.len()] {
    let mut all = [0; Reason::ALL.len()];
    for input in &outcome.inputs {
        for (n, more) in all.iter_mut().zip(input.read.report.refused) {
            *n += more;
        }
    }
    all
}

/// The report as text for people.
pub(super) fn summary(outcome: &JobOutcome, known: &ReferenceFiles, took: Duration, threads: usize) -> String {
    let (counts, mut text) = (&outcome.counts, String::new());
    let mut refused = all_refused(outcome);
    refused.iter_mut().zip(counts.refused).for_each(|(n, more)| *n += more);
    let reasons: Vec<String> = Reason::ALL
        .iter()
        .zip(refused)
        .filter(|(_, n)| *n > 0)
        .map(|(reason, n)| format!("{n} {}", reason.name()))
        .collect();
    let refused: u64 = refused.iter().sum::<u64>() + known.refused;
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    // writing to memory does not fail
    let _ = writeln!(
        text,
        "{} files, {} rows, {refused} refused{reasons}, {} duplicates",
        outcome.inputs.len(),
        outcome.rows,
        outcome.duplicates
    );
    let _ = writeln!(
        text,
        "names and days: {} computed, {} up to date, {} failed; files: {} written, {} up to date",
        outcome.done,
        outcome.skipped,
        outcome.failed.len(),
        outcome.files,
        outcome.files_skipped
    );
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    outcome.rates.iter().for_each(|(_, origin)| *sources.entry(origin.source.name()).or_default() += 1);
    let sources: Vec<String> = sources.iter().map(|(source, days)| format!("{source} on {days} days")).collect();
    let _ = writeln!(text, "rates: {}", sources.join(", "));
    let is_old = |&&(day, origin): &&(Date, RateOrigin)| {
        day.to_zoned_datetime(TimeZone::UTC).is_ok_and(|midnight| origin.is_old(midnight.timestamp()))
    };
    if let Some((day, origin)) = outcome.rates.iter().rev().find(is_old) {
        let _ = writeln!(
            text,
            "the newest rates for {day} are {origin}: give --rates FILE, or add quotes of an index such as SPX to the input"
        );
    }
    let seconds = took.as_secs_f64();
    let _ = writeln!(
        text,
        "{} contracts ({} with Greeks) in {seconds:.1} s on {threads} threads: {:.0} contracts per second and thread",
        counts.contracts,
        counts.priced,
        counts.contracts as f64 / (seconds * threads as f64).max(1e-3)
    );
    let reasons = Uncomputed::ALL.iter().zip(counts.uncomputed).filter(|(_, n)| *n > 0);
    for (why, n) in reasons {
        let _ = writeln!(text, "without Greeks: {n} snapshots of a name, {}", why.name());
    }
    for unit in outcome.doubted.iter().take(ITEMS_SHOWN) {
        let _ = writeln!(text, "doubted: {} {}: {}", unit.underlying, unit.day, unit.text);
    }
    if outcome.doubted.len() > ITEMS_SHOWN {
        let _ = writeln!(text, "and {} more doubted: {REPORT}", outcome.doubted.len() - ITEMS_SHOWN);
    }
    write_refused(outcome, &mut text);
    if counts.snapshots > 1 && counts.contracts < CHAIN_LEAST * counts.snapshots {
        let _ = writeln!(
            text,
            "{} snapshots of {} contracts: if each row has a time of its own, --time gives one to all",
            counts.snapshots, counts.contracts
        );
    }
    for input in outcome.inputs.iter().filter(|input| input.damage().is_some()).take(ITEMS_SHOWN) {
        let _ = writeln!(text, "damaged: {}", input.damage().unwrap_or_default());
    }
    for unit in outcome.failed.iter().take(ITEMS_SHOWN) {
        let _ = writeln!(text, "failed: {} {}: {}", unit.underlying, unit.day, unit.fault);
    }
    if outcome.failed.len() > ITEMS_SHOWN {
        let _ = writeln!(text, "and {} more: {REPORT}", outcome.failed.len() - ITEMS_SHOWN);
    }
    text
}
