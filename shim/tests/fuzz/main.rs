//! Fuzzing of every parser of foreign bytes: a saved corpus as ordinary tests, and mutations of it for a given time
//! (`just fuzz`).
//!
//! There is no coverage from the compiler: an input with a new kind of outcome joins the corpus of the run. Findings
//! are saved in the target folder, and belong in `corpus/` once they are mended.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bodies;
#[path = "../../../engine/history/tests/support/mod.rs"]
mod history_support;
#[path = "../support/market.rs"]
mod market;
mod past;
mod stored;

use bodies::{BODIES, Body};
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::random::Random;

/// An input that takes longer is a finding.
const SLOW: Duration = Duration::from_secs(5);
/// Inputs are no longer than this.
const LONGEST: usize = 1 << 16;
/// Bytes and words that readers treat in their own way.
const WORDS: [&[u8]; 40] = [
    b"\"",
    b"\"\"",
    b",",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"%00",
    b"%2F",
    b"%",
    b"&",
    b"=",
    b"+",
    b"-1",
    b"0",
    b"1e308",
    b"1e-320",
    b"NaN",
    b"inf",
    b"-0.0",
    b"99999999999999999999",
    b"2147483648",
    b"2036-11-20",
    b"2026-02-30",
    b"2026-11-20T16:00:00-05:00",
    b"2099-12-31T23:59:59+14:00",
    b"call",
    b"put",
    b"SPXW",
    b"BRK/B",
    b"all",
    b"O:",
    b" ",
    b"\t",
    b"..",
    b"atm",
    b"1-90",
    b"\xc3\xa4",
];

/// The saved inputs of a body: the files of its folder, and each line of its `.lines` file. Targets are those of the
/// golden answers too: every layer and format.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join("tests/fuzz/corpus");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder.join(name)).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut inputs: Vec<Vec<u8>> = stored::seeds(name);
    inputs.extend(files.into_iter().map(|file| fs::read(file).unwrap()));
    let lines = fs::read_to_string(folder.join(format!("{name}.lines"))).unwrap_or_default();
    inputs.extend(lines.lines().map(|line| line.as_bytes().to_vec()));
    if name == "targets" {
        let golden = fs::read_dir(package.join("../golden/http")).unwrap();
        let target = |path: PathBuf| fs::read_to_string(path).ok()?.lines().next()?.strip_prefix("GET ").map(Vec::from);
        let mut targets: Vec<Vec<u8>> = golden.filter_map(|entry| target(entry.unwrap().path())).collect();
        targets.sort();
        inputs.extend(targets);
    }
    inputs
}

#[test]
fn nothing_of_the_corpus_fails() {
    for (name, body) in BODIES {
        let inputs = corpus(name);
        assert!(inputs.len() >= 3, "{name}: {} inputs", inputs.len());
        let kinds: BTreeSet<u64> = inputs.iter().map(|input| body(input)).collect();
        assert!(kinds.len() >= 2, "{name}: the inputs are all of one kind");
    }
}

#[test]
fn no_mutation_of_the_corpus_fails() {
    let mut run = Run::new(1);
    // the same few thousand inputs at every run; `just fuzz` tries others
    (0..200).for_each(|_| run.round());
    assert_eq!(run.found, Vec::<String>::new());
}

#[test]
#[ignore = "runs as long as is asked: just fuzz SECONDS"]
fn mutations_for_as_long_as_is_asked() {
    let asked = |name: &str, otherwise: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
    let began = Instant::now();
    let lasts = Duration::from_secs(asked("GREEKSD_FUZZ_SECONDS", 60));
    let mut run = Run::new(asked("GREEKSD_FUZZ_SEED", u64::from(std::process::id())));
    if let Ok(wanted) = std::env::var("GREEKSD_FUZZ_BODIES") {
        run.trials.retain(|trial| wanted.split(',').any(|name| name == trial.body.0));
        assert!(!run.trials.is_empty(), "no body of {wanted}");
    }
    std::panic::set_hook(Box::new(|_| ()));
    while began.elapsed() < lasts {
        run.turn();
    }
    let _ = std::panic::take_hook();
    for trial in &run.trials {
        let (name, seconds) = (trial.body.0, trial.spent.as_secs());
        println!(
            "{name:10} {:10} executions in {seconds:5} s, {:5} kinds of outcome",
            trial.executions,
            trial.kinds.len()
        );
    }
    assert_eq!(run.found, Vec::<String>::new(), "saved in {}", env!("CARGO_TARGET_TMPDIR"));
}

/// All bodies by turns.
struct Run {
    random: Random,
    trials: Vec<Trial>,
    found: Vec<String>,
}

/// One body: its inputs, and the kinds of its outcomes.
struct Trial {
    body: Body,
    inputs: Vec<Vec<u8>>,
    kinds: BTreeSet<u64>,
    executions: u64,
    spent: Duration,
}

impl Run {
    fn new(seed: u64) -> Self {
        let trial = |&body: &Body| Trial {
            body,
            inputs: corpus(body.0),
            kinds: BTreeSet::new(),
            executions: 0,
            spent: Duration::ZERO,
        };
        Self { random: Random::new(seed), trials: BODIES.iter().map(trial).collect(), found: Vec::new() }
    }

    /// Some mutations for each body.
    fn round(&mut self) {
        for trial in &mut self.trials {
            self.found.extend(trial.some(&mut self.random));
        }
    }

    /// Some mutations for the body that has had least time: each has the same, however long an execution takes.
    fn turn(&mut self) {
        if let Some(trial) = self.trials.iter_mut().min_by_key(|trial| trial.spent) {
            self.found.extend(trial.some(&mut self.random));
        }
    }
}

impl Trial {
    /// Tries some mutations; returns their findings.
    fn some(&mut self, random: &mut Random) -> Vec<String> {
        (0..4).filter_map(|_| self.execute(mutated(&self.inputs, random))).collect()
    }

    /// Tries an input; returns the finding.
    fn execute(&mut self, input: Vec<u8>) -> Option<String> {
        let (name, body) = self.body;
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&input)));
        self.executions += 1;
        self.spent += began.elapsed();
        let what = match outcome {
            Ok(_) if began.elapsed() > SLOW => "slow",
            Err(_) => "failed",
            Ok(kind) => {
                if self.kinds.insert(kind) && self.inputs.len() < 5_000 {
                    self.inputs.push(input);
                }
                return None;
            }
        };
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{what}-{}", self.executions));
        fs::write(&file, &input).unwrap();
        Some(format!("{} {}", file.display(), String::from_utf8_lossy(&input[..input.len().min(300)])))
    }
}

/// One of the inputs, changed in one to six places.
fn mutated(inputs: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = (at + 1 + random.below(24)).min(input.len());
        match random.below(8) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.below(256) as u8,
            2 => drop(input.drain(at..end)),
            3 => {
                let piece = input[at..end].to_vec();
                let times = 1 + random.below(8);
                input.splice(at..at, piece.repeat(times));
            }
            4 => {
                let other = &inputs[random.below(inputs.len())];
                let from = random.below(other.len() + 1);
                let piece = other[from..(from + random.below(200)).min(other.len())].to_vec();
                input.splice(at..end, piece);
            }
            5 => input.truncate(at),
            6 => {
                let digit = |b: &u8| b.is_ascii_digit();
                if let Some(place) = input.iter().skip(at).position(digit) {
                    input[at + place] = b'0' + random.below(10) as u8;
                }
            }
            _ => drop(input.splice(at..at, random.pick(&WORDS).iter().copied())),
        }
    }
    input.truncate(LONGEST);
    input
}
