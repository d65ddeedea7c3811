//! Errors and times of several programs, including greeksd, for the same contracts by one measure.
//!
//! ```text
//! cargo run --release -p greeksd-testkit --example early_peers -- ROWS VALUES...
//! ```
//!
//! ROWS: a file of golden/ by name, or a path to one with its columns. VALUES: what one program says of some of its
//! rows, as CSV with the columns id, ns and any of price, delta, gamma; its name is the file's. `just peers` makes
//! them.
//!
//! Four lines are greeksd's own: one contract of a chain whose tables are there (all values, eight contracts at a
//! time); the same with its part of the tables; a contract alone, tables and all; and the accurate scheme alone.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, reason = "a report")]

use kernel::american::{Band, Numbers, Pricer};
use kernel::greeks::{Greek, Greeks};
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::quality::Quality;
use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use testkit::chain::{accurate, served, skewed, strikes};
use testkit::golden::{GoldenRow, folder, rows};
use testkit::processor::took;
use testkit::ruler::golden_error;

/// The Greeks compared.
const COMPARED: [Greek; 3] = [Greek::Value, Greek::Delta, Greek::Gamma];
/// Standard deviations to the boundary, and days to the ex-date, that count as near.
const NEAR: (f64, f64) = (0.5, 2.0);
/// Number of answers that are greeksd's.
const OWN: usize = 4;
/// Reads of tables that are timed together.
const READS: u32 = 32;

/// Nanoseconds of processor time, and errors of [`COMPARED`]; `None`: the program or the reference does not give it.
type Judged = (f64, [Option<f64>; 3]);

/// The numbers of one program for some rows.
struct Answer {
    who: String,
    /// By row.
    rows: HashMap<usize, Judged>,
}

fn errors(row: &GoldenRow, greeks: &Greeks<f64>) -> [Option<f64>; 3] {
    COMPARED.map(|greek| golden_error(row, greek, greeks))
}

/// greeksd's own four answers.
fn ours(rows: &[GoldenRow]) -> [Answer; OWN] {
    let mut found: [HashMap<usize, Judged>; OWN] = Default::default();
    for (i, row) in rows.iter().enumerate() {
        let (k, sigma, terms) = (row.k, row.vol(), &row.terms);
        let chain = strikes(k);
        let mut pricer = None;
        let tables = took(|| {
            let mut built = served(row.style, row.right, terms, k, sigma);
            for &strike in &chain {
                built.prepare(terms, row.s, strike, skewed(sigma, k, strike), Numbers::Greeks);
            }
            pricer = Some(built);
        });
        let at = pricer.as_ref().unwrap().at(terms, row.s);
        let read = took(|| {
            for _ in 0..READS {
                let all: Greeks<Block> = at.greeks(black_box(Block::splat(k)), Block::splat(sigma));
                black_box(&all);
            }
        });
        let [tables, read] = [tables, read].map(|time| time.as_secs_f64() * 1e9);
        let (read, of_tables) = (read / f64::from(READS) / BLOCK as f64, tables / chain.len() as f64);
        let from_tables = errors(row, &at.greeks(k, sigma));
        found[0].insert(i, (read, from_tables));
        found[1].insert(i, (read + of_tables, from_tables));
        let fast =
            || Pricer::new(row.style, row.right, terms, &Band { k: (k, k), sigma: (sigma, sigma) }, Quality::Full);
        let alone: [&dyn Fn() -> Pricer; 2] = [&fast, &|| accurate(row.style, row.right, terms, k, sigma)];
        for (found, new) in found[2..].iter_mut().zip(alone) {
            let mut greeks = None;
            let time = took(|| greeks = Some(new().at(terms, row.s).greeks(k, sigma)));
            found.insert(i, (time.as_secs_f64() * 1e9, errors(row, &greeks.unwrap())));
        }
    }
    let names = ["greeksd, tables kept", "greeksd, chain of 13", "greeksd, alone", "greeksd, accurate, alone"];
    let mut names = names.into_iter();
    found.map(|rows| Answer { who: names.next().unwrap().to_owned(), rows })
}

/// A program's answer from its file.
fn theirs(rows: &[GoldenRow], path: &Path) -> Result<Answer, csv::Error> {
    let by_id: HashMap<&str, usize> = rows.iter().enumerate().map(|(i, row)| (row.id.as_str(), i)).collect();
    let mut found = HashMap::new();
    for record in csv::Reader::from_path(path)?.deserialize() {
        let record: HashMap<String, String> = record?;
        let number = |name: &str| record.get(name).and_then(|text| text.parse::<f64>().ok());
        let Some(&i) = by_id.get(record["id"].as_str()) else { continue };
        let greeks = Greeks::from_fn(|greek| number(greek.name()).unwrap_or(f64::NAN) * greek.unit().divisor());
        // a column that a program does not have is no error; a value that it lacks is
        let known = COMPARED.map(|greek| record.contains_key(greek.name()));
        let mut errors = errors(&rows[i], &greeks);
        errors.iter_mut().zip(known).filter(|(_, known)| !known).for_each(|(error, _)| *error = None);
        found.insert(i, (number("ns").unwrap_or(f64::NAN), errors));
    }
    let who = path.file_stem().unwrap_or_default().to_string_lossy().replace('_', " ");
    Ok(Answer { who, rows: found })
}

fn quantile(sorted: &[f64], percent: f64) -> f64 {
    let at = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns >= 1e6 => format!("{:.3} ms", ns / 1e6),
        ns if ns >= 1e3 => format!("{:.1} µs", ns / 1e3),
        ns => format!("{ns:.0} ns"),
    }
}

/// Errors of one compared value that are finite, least first.
fn sorted(own: &[&Judged], greek: usize) -> Vec<f64> {
    let mut found: Vec<f64> = own.iter().filter_map(|(_, errors)| errors[greek]).filter(|e| e.is_finite()).collect();
    found.sort_by(f64::total_cmp);
    found
}

fn table(title: &str, answers: &[Answer], chosen: &[usize]) {
    println!("\n### {title}: {} rows\n", chosen.len());
    println!("| program | rows | time | price p50 / p90 / p99 / worst | delta | gamma | no value |");
    println!("|---|---|---|---|---|---|---|");
    // who, mean time, price error of 90 %
    let mut seen: Vec<(&str, f64, f64)> = Vec::new();
    for answer in answers {
        let own: Vec<_> = chosen.iter().filter_map(|i| answer.rows.get(i)).collect();
        if own.is_empty() {
            continue;
        }
        let mean = own.iter().map(|(ns, _)| ns).sum::<f64>() / own.len() as f64;
        let missing = own.iter().filter(|(_, errors)| errors[0] == Some(f64::INFINITY)).count();
        let cells = [0, 1, 2].map(|greek| {
            let sorted = sorted(&own, greek);
            let parts = [50.0, 90.0, 99.0, 100.0].map(|percent| format!("{:.0e}", quantile(&sorted, percent)));
            if sorted.is_empty() { String::new() } else { parts.join(" / ") }
        });
        println!("| {} | {} | {} | {} | {missing} |", answer.who, own.len(), time(mean), cells.join(" | "));
        seen.push((&answer.who, mean, quantile(&sorted(&own, 0), 90.0)));
    }
    let (ours, theirs) = seen.split_at(OWN.min(seen.len()));
    println!();
    for (who, time_of_ours, error) in ours.iter().filter(|_| !theirs.is_empty()) {
        let as_good = theirs.iter().filter(|(_, _, of)| of <= error);
        match as_good.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((peer, ns, _)) => {
                println!(
                    "- As good as {who} (90 % within {error:.0e}): {peer}, {:.2} times its time.",
                    ns / time_of_ours
                );
            }
            None => println!("- As good as {who} (90 % within {error:.0e}): none."),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((file, values)) = arguments.split_first() else {
        eprintln!("early_peers ROWS VALUES...");
        return ExitCode::from(2);
    };
    let there = Path::new(file);
    let path =
        if folder().join(there).exists() { there.to_owned() } else { there.canonicalize().unwrap_or(there.to_owned()) };
    let mut rows = rows(&path.to_string_lossy());
    rows.retain(|row| row.get("exercise_now") != Some(1.0));
    let mut answers: Vec<Answer> = ours(&rows).into();
    for values in values {
        match theirs(&rows, Path::new(values)) {
            Ok(answer) => answers.push(answer),
            Err(error) => {
                eprintln!("{values}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("## {}", path.file_name().unwrap_or_default().to_string_lossy());
    let of = |chosen: &dyn Fn(&GoldenRow) -> bool| -> Vec<usize> {
        rows.iter().enumerate().filter(|(_, row)| chosen(row)).map(|(i, _)| i).collect()
    };
    let near = |column: &'static str, least: f64| move |row: &GoldenRow| row.get(column).is_some_and(|v| v < least);
    let whole = |row: &GoldenRow| row.text_in("group").is_none_or(|group| group == "market");
    let (bare, pays) = (|row: &GoldenRow| row.terms.divs.is_empty(), |row: &GoldenRow| !row.terms.divs.is_empty());
    let (boundary, ex_date) = (near("distance", NEAR.0), near("days", NEAR.1));
    for (title, chosen) in [
        ("no dividends", of(&|row| bare(row) && whole(row))),
        ("dividends", of(&|row| pays(row) && whole(row))),
        ("no dividends, within half a deviation of the boundary", of(&|row| bare(row) && boundary(row))),
        ("dividends, within half a deviation of the boundary", of(&|row| pays(row) && boundary(row))),
        ("within two days of an ex-date", of(&|row| ex_date(row))),
    ] {
        if !chosen.is_empty() {
            table(title, &answers, &chosen);
        }
    }
    ExitCode::SUCCESS
}
