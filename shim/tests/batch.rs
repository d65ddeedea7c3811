//! `greeksd batch` as a program: killed and begun again, its exit codes, its text.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../../engine/history/tests/support/mod.rs"]
mod support;

use engine::store::columns::Col;
use history::recipe::{Accuracy, Recipe, compute};
use jiff::Timestamp;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use support::{CLOSES, Folder, csv, greeks, market, reference, rows, time, tree, write_market};

fn batch(arguments: &[&str], input: &Path, out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    command.arg("batch").arg(input).arg("-o").arg(out).args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str], input: &Path, out: &Path) -> (i32, String) {
    let Output { status, stderr, .. } = batch(arguments, input, out).output().unwrap();
    (status.code().unwrap_or(-1), String::from_utf8(stderr).unwrap())
}

#[test]
fn killed_at_any_moment_it_ends_with_the_same_bytes() {
    let folder = Folder::new("killed");
    let quotes = folder.path("quotes");
    write_market(&quotes);
    let whole = folder.path("whole");
    let (code, said) = run(&["--threads", "2", "--accuracy", "rough"], &quotes, &whole);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("12 computed, 0 there already, 0 failed; files: 5 written"), "{said}");
    let want = greeks(&whole);
    assert_eq!(want.len(), 5);
    let (mut killed, mut resumed) = (0, 0);
    for moment in 0..12 {
        let out = folder.path(&format!("out-{moment}"));
        let mut child = batch(&["--threads", "1", "--accuracy", "rough", "--quiet"], &quotes, &out).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 * moment));
        // SIGKILL, if it has not ended
        let _ = child.kill();
        killed += usize::from(!child.wait().unwrap().success());
        if out.exists() {
            let left = greeks(&out);
            assert!(left.iter().all(|(name, bytes)| want.get(name) == Some(bytes)), "{moment}: a part of a file");
            resumed += usize::from(!left.is_empty() && left.len() < 5);
        }
        let (code, said) = run(&["--threads", "2", "--accuracy", "rough"], &quotes, &out);
        assert_eq!(code, 0, "{said}");
        let all = tree(&out);
        let others: Vec<&String> = all.keys().filter(|name| !want.contains_key(*name)).collect();
        assert_eq!(others, ["_manifest.csv", "_report.json"], "{moment}");
        assert!(greeks(&out) == want, "{moment}");
        assert!(all["_manifest.csv"] == tree(&whole)["_manifest.csv"], "{moment}");
    }
    println!("killed {killed} times, {resumed} times with some files whole");
    assert!(killed > 0);
}

#[test]
fn exit_codes_say_how_it_ended() {
    let folder = Folder::new("codes");
    let days = write_market(&folder.path("quotes"));
    let (out, day) = (folder.path("out"), days[0][0].parent().unwrap());
    for (arguments, input) in [
        (&["--dividends", "nowhere.csv"][..], day),
        (&[], Path::new("nowhere")),
        (&["--zone", "Mars"], day),
        (&["--threads", "0"], day),
        (&["--accuracy", "best"], day),
        (&["--columns", "strike"], day),
    ] {
        let (code, said) = run(arguments, input, &out);
        assert_eq!(code, 2, "{arguments:?} {said}");
        assert!(!out.join("_report.json").exists() && !said.is_empty());
    }
    let (code, said) = run(&["--accuracy", "rough"], day, &out);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("no rates") && said.contains("no dividends"), "{said}");
    // a file that is nothing costs itself, and is told
    fs::write(day.join("nothing.csv"), "this,is\nno,chain\n").unwrap();
    let (code, said) = run(&["--accuracy", "rough", "--quiet"], day, &out);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("damaged: ") && said.contains("nothing.csv"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&fs::read(out.join("_report.json")).unwrap()).unwrap();
    assert_eq!((&report["inputs"]["damaged"], &report["units"]["there_already"]), (&1.into(), &3.into()));
    let read = report["files_read"].as_array().unwrap();
    assert_eq!(read.iter().filter(|file| file["damage"].is_string()).count(), 1);
    assert_eq!(read.iter().filter(|file| file["layout"] == "greeksd").count(), 3);
}

#[test]
fn text_is_that_of_the_native_record() {
    let folder = Folder::new("text");
    let at = time(CLOSES[0]);
    let rows = rows(&market(at), 1, at);
    fs::create_dir_all(folder.path("quotes")).unwrap();
    fs::write(folder.path("quotes/ko.csv"), csv(&rows)).unwrap();
    let recipe = Recipe { accuracy: Accuracy::Rough, quotes: true };
    let nothing = history::reference::ReferenceSet::default();
    assert!(!reference().dividends(rows[0].quote.underlying).is_empty(), "the job knows none of them");
    let chain = compute(&rows, Timestamp::MAX, &nothing, recipe).unwrap().pop().unwrap().1;
    for format in ["csv", "ndjson"] {
        let out = folder.path(format);
        let arguments = ["--accuracy", "rough", "--quotes", "--format", format];
        let (code, said) = run(&arguments, &folder.path("quotes"), &out);
        assert_eq!(code, 0, "{said}");
        let text = fs::read_to_string(out.join(format!("day=2026-11-17/greeks.{format}"))).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let header = "underlying,root,expiry,strike,right,osym,greeks,und_price,delta,";
        let skipped = usize::from(format == "csv");
        assert_eq!(lines.len(), skipped + rows.len());
        if format == "csv" {
            assert!(lines[0].starts_with(header) && lines[0].ends_with(",mid,quote_time"), "{}", lines[0]);
            assert!(
                lines[1].contains("\"core,extra,exotic,chain,quote\"")
                    && lines[1].contains("2026-11-17T16:00:00.000-05:00")
            );
            continue;
        }
        for (row, line) in lines.iter().enumerate() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            for col in [Col::Delta, Col::SvcTheo, Col::Charm, Col::Ultima, Col::SvcVol] {
                let want = chain.columns.get(col)[row];
                let got = record[col.name()].as_f64().unwrap_or(f64::NAN);
                assert!((got - want).abs() <= 5.001e-7 || got.is_nan() && want.is_nan(), "{row} {got} {want}");
            }
            assert_eq!(record["quote_time"], "2026-11-17T16:00:00.000-05:00");
        }
    }
}
