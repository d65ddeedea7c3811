//! `greeksd batch` as a program: killed and begun again, its exit codes, its text.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::files::{CLOSES, Folder, csv, greeks, market, reference, rows, rows_of, time, tree, write_market};
use engine::store::columns::Col;
use history::manifest::{MANIFEST, job_folder};
use history::recipe::{Recipe, compute};
use history::row::HistoryRow;
use jiff::Timestamp;
use kernel::contract::osi::OSI_LEN;
use kernel::quality::Quality;
use sim::SimMarket;
use sim::symbols::well_known;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

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
    let (code, said) = run(&["--threads", "2", "--accuracy", "preliminary"], &quotes, &whole);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("12 computed, 0 up to date, 0 failed; files: 5 written"), "{said}");
    let want = greeks(&whole);
    assert_eq!(want.len(), 5);
    let (mut killed, mut resumed) = (0, 0);
    for moment in 0..12 {
        let out = folder.path(&format!("out-{moment}"));
        let mut child =
            batch(&["--threads", "1", "--accuracy", "preliminary", "--quiet"], &quotes, &out).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 * moment));
        // SIGKILL, if it has not ended
        let _ = child.kill();
        killed += usize::from(!child.wait().unwrap().success());
        if out.exists() {
            let left = greeks(&out);
            assert!(left.iter().all(|(name, bytes)| want.get(name) == Some(bytes)), "{moment}: a part of a file");
            resumed += usize::from(!left.is_empty() && left.len() < 5);
        }
        let (code, said) = run(&["--threads", "2", "--accuracy", "preliminary"], &quotes, &out);
        assert_eq!(code, 0, "{said}");
        let all = tree(&out);
        let others: Vec<&String> = all.keys().filter(|name| !want.contains_key(*name)).collect();
        assert_eq!(others, Vec::<&String>::new(), "{moment}");
        assert!(greeks(&out) == want, "{moment}");
        let manifest = |out: &Path| fs::read(job_folder(out).join(MANIFEST)).unwrap();
        assert!(manifest(&out) == manifest(&whole), "{moment}");
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
        assert!(!job_folder(&out).join("_report.json").exists() && !said.is_empty());
    }
    let (code, said) = run(&["--accuracy", "preliminary"], day, &out);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("rates: built_in on 1 days") && said.contains("no dividends"), "{said}");
    // a file that is nothing costs itself, and is told
    fs::write(day.join("nothing.csv"), "this,is\nno,chain\n").unwrap();
    let (code, said) = run(&["--accuracy", "preliminary", "--quiet"], day, &out);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("damaged: ") && said.contains("nothing.csv"), "{said}");
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(job_folder(&out).join("_report.json")).unwrap()).unwrap();
    assert_eq!((&report["inputs"]["damaged"], &report["units"]["there_already"]), (&1.into(), &3.into()));
    let read = report["files_read"].as_array().unwrap();
    assert_eq!(read.iter().filter(|file| file["damage"].is_string()).count(), 1);
    assert_eq!(read.iter().filter(|file| file["layout"] == "greeksd").count(), 3);
}

#[test]
fn nothing_read_is_no_success() {
    const HEADER: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask";
    let folder = Folder::new("nothing");
    let row = |cells: [&str; 5]| {
        let [time, expiry, right, strike, bid] = cells;
        format!("{HEADER}\n{time},KO,68,KO,{expiry},{right},{strike},{bid},9\n")
    };
    let (time, expiry) = ("2026-11-20T15:42:00", "2026-12-18");
    for (what, text, expected) in [
        ("date", row([time, "someday", "call", "63", "5"]), "expiry: not_a_date: `someday` (a date is 2026-12-18"),
        ("time", row(["noon", expiry, "call", "63", "5"]), "quote_time: not_a_time: `noon` (a time is"),
        ("right", row([time, expiry, "sideways", "63", "5"]), "right: not_a_right: `sideways` (a right is call, put"),
        ("price", row([time, expiry, "call", "63", "five"]), "bid: not_a_number: `five` (a number is 1000.25"),
        ("bound", row([time, expiry, "call", "-63", "5"]), "strike: out_of_range: `-63` (no market has"),
        ("settled", row([time, "2026-11-19", "call", "63", "5"]), "1 expired"),
        ("header", format!("{HEADER}\n"), "no row could be used"),
        ("json", "{\n\"data\": [\n{\"strike\": 1}\n]\n}\n".to_owned(), "a JSON document, not lines of quotes"),
    ] {
        let file = folder.path(&format!("{what}.csv"));
        fs::write(&file, text).unwrap();
        let (code, printed) = run(&["--quiet"], &file, &folder.path(&format!("out-{what}")));
        assert_eq!(code, 1, "{what}: {printed}");
        assert!(printed.contains(expected) && printed.contains("no row could be used"), "{what}: {printed}");
    }
    // a count since 1970 is a time
    let good = row(["1795207320", expiry, "call", "63", "5"]);
    fs::create_dir_all(folder.path("all")).unwrap();
    fs::write(folder.path("all/good.csv"), good).unwrap();
    let (code, printed) = run(&["--quiet"], &folder.path("all"), &folder.path("out-good"));
    assert_eq!((code, printed.as_str()), (0, ""));
    // beside a good file, one of which no row could be used is named
    fs::copy(folder.path("right.csv"), folder.path("all/right.csv")).unwrap();
    let (code, printed) = run(&["--quiet"], &folder.path("all"), &folder.path("out-both"));
    assert!(code == 1 && printed.contains("no usable row: ") && printed.contains("`sideways`"), "{printed}");
}

#[test]
fn text_is_that_of_the_native_record() {
    let folder = Folder::new("text");
    let at = time(CLOSES[0]);
    let rows = rows(&market(at), 1, at);
    fs::create_dir_all(folder.path("quotes")).unwrap();
    fs::write(folder.path("quotes/ko.csv"), csv(&rows)).unwrap();
    let recipe = Recipe { quality: Quality::Preliminary, quotes: true };
    let nothing = history::reference::ReferenceSet::default();
    assert!(!reference().dividends(rows[0].quote.underlying).is_empty(), "the job knows none of them");
    let chain = compute(&rows, Timestamp::MAX, &nothing, recipe).unwrap().pop().unwrap().1;
    for format in ["csv", "ndjson"] {
        let out = folder.path(format);
        let arguments = ["--accuracy", "preliminary", "--quotes", "--format", format];
        let (code, said) = run(&arguments, &folder.path("quotes"), &out);
        assert_eq!(code, 0, "{said}");
        let text = fs::read_to_string(out.join(format!("day=2026-11-17/greeks.{format}"))).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let header = "underlying,root,expiry,strike,right,osym,greeks,und_price,delta,";
        let skipped = usize::from(format == "csv");
        assert_eq!(lines.len(), skipped + rows.len());
        if format == "csv" {
            assert!(
                lines[0].starts_with(header) && lines[0].ends_with(",mid,quote_time,volume,open_interest"),
                "{}",
                lines[0]
            );
            assert!(
                lines[1].contains("\"core,extra,exotic,chain,vt,prob,quote\"")
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

/// Expiries of each name: an index implies rates by those of some months.
const EXPIRIES: usize = 30;

/// Three names at a close: an index with European options, a share that pays dividends and one that does not.
fn close_of_three_names() -> (SimMarket, Vec<Vec<HistoryRow>>) {
    let at = time(CLOSES[0]);
    let few: Vec<_> =
        well_known().into_iter().filter(|name| ["KO", "SPX", "UBER"].contains(&name.symbol.as_str())).collect();
    let market = SimMarket::with_universe(7, at, &few);
    let all = (0..market.len()).map(|name| rows_of(&market, name, at, EXPIRIES)).collect();
    (market, all)
}

/// Writes the dividends of a market into a folder; no rates, so that they are implied.
fn write_dividends(market: &SimMarket, folder: &Path) {
    let mut dividends = "underlying,ex_date,amount\n".to_owned();
    market.dividends().iter().for_each(|d| dividends += &format!("{},{},{}\n", d.underlying, d.ex_date, d.amount));
    fs::write(folder.join("dividends.csv"), dividends).unwrap();
}

/// Runs the tasks of a plan as Ray, Dask and Spark do, each as a process of its own, and gathers their files in `out`.
fn run_planned(input: &Path, out: &Path) -> usize {
    let Output { status, stdout, stderr } = batch(&["--plan", "--quiet"], input, out).output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let plan = String::from_utf8(stdout).unwrap();
    for (number, line) in plan.lines().enumerate() {
        let task: serde_json::Value = serde_json::from_str(line).unwrap();
        let words = |field: &str| -> Vec<String> {
            task[field].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        let part = out.join(format!("_part-{number}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
        command.arg("batch").args(words("inputs")).arg("-o").arg(&part).arg("--quiet");
        let done = command.args(words("options")).stdin(Stdio::null()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        for file in words("outputs") {
            fs::create_dir_all(out.join(&file).parent().unwrap()).unwrap();
            fs::rename(part.join(&file), out.join(&file)).unwrap();
        }
    }
    plan.lines().count()
}

#[test]
fn tasks_of_a_plan_give_the_bytes_of_one_process() {
    let folder = Folder::new("planned");
    let (quotes, at) = (folder.path("quotes"), time(CLOSES[0]));
    let (market, names) = close_of_three_names();
    // each name twice a day, so that it has a file, and a task, of its own
    let later = time("2026-11-17T20:00:00Z");
    fs::create_dir_all(quotes.join("2026/11")).unwrap();
    for (name, of_name) in names.iter().enumerate() {
        let mut both = rows_of(&market, name, later, EXPIRIES);
        both.iter_mut().for_each(|row| row.quote.ts = later);
        both.extend(of_name);
        assert!(of_name.iter().all(|row| row.quote.ts == at));
        fs::write(quotes.join(format!("2026/11/{name}.csv")), csv(&both)).unwrap();
    }
    write_dividends(&market, &quotes);
    // one process does not look here, so no task may
    fs::write(quotes.join("2026/11/rates.csv"), "date,tenor_days,rate\n2020-01-02,365,0.9\n").unwrap();
    let (whole, planned, zero) = (folder.path("whole"), folder.path("planned"), folder.path("zero"));
    let (code, said) = run(&[], &quotes, &whole);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("rates: implied on 1 days"), "{said}");
    assert_eq!(run_planned(&quotes, &planned), 3);
    assert!(greeks(&planned) == greeks(&whole));
    // the curve counts: at rates of zero every file is another
    let (code, said) = run(&["--rates", "zero"], &quotes, &zero);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("rates: zero on 1 days"), "{said}");
    assert!(greeks(&zero).iter().all(|(name, bytes)| greeks(&whole)[name] != *bytes));
}

#[test]
fn a_recording_gives_the_bytes_of_files() {
    let folder = Folder::new("recorded");
    let (quotes, recorded) = (folder.path("quotes"), folder.path("recorded"));
    fs::create_dir_all(&quotes).unwrap();
    fs::create_dir_all(&recorded).unwrap();
    let (market, names) = close_of_three_names();
    write_dividends(&market, &quotes);
    let mut lines = String::new();
    for d in market.dividends() {
        lines +=
            &format!("{{\"symbol\":\"{}\",\"ex_date\":\"{}\",\"amount\":{}}}\n", d.underlying, d.ex_date, d.amount);
    }
    for (name, of_name) in names.iter().enumerate() {
        fs::write(quotes.join(format!("{name}.csv")), csv(of_name)).unwrap();
        let (spot, time) = (of_name[0].spot, of_name[0].quote.ts.as_second());
        lines += &format!("{{\"symbol\":\"{}\",\"price\":{spot},\"time\":{time}}}\n", of_name[0].quote.underlying);
        for HistoryRow { quote, .. } in of_name {
            let mut osym = [b' '; OSI_LEN];
            let n = quote.contract.write_compact(&mut osym);
            let osym = String::from_utf8_lossy(&osym[..n]).into_owned();
            lines += &format!("{{\"osym\":\"{osym}\",\"underlying\":\"{}\",\"time\":{time}", quote.underlying);
            for (field, value) in [("bid", quote.bid), ("ask", quote.ask), ("bid_size", quote.bid_size)] {
                let value = if value.is_finite() { value.to_string() } else { "null".to_owned() };
                lines += &format!(",\"{field}\":{value}");
            }
            lines += "}\n";
        }
    }
    fs::write(recorded.join("quotes.ndjson"), lines).unwrap();
    let (of_files, of_recording) = (folder.path("a"), folder.path("b"));
    for (input, out) in [(&quotes, &of_files), (&recorded, &of_recording)] {
        let (code, said) = run(&[], input, out);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("rates: implied on 1 days"), "{said}");
    }
    assert!(greeks(&of_recording) == greeks(&of_files));
}

/// Calls and puts of one expiry at 100, European values at 20 % a year, rates 0; the published price is `spot`.
fn doubtful(name: &str, spot: f64, scale: f64) -> String {
    let mut rows = String::new();
    for strike in [80, 85, 90, 95, 100, 105, 110, 115, 120] {
        let (k, sd) = (f64::from(strike), 0.2 * (28.0f64 / 365.0).sqrt());
        let d1 = (100.0 / k).ln() / sd + 0.5 * sd;
        let call = 100.0 * kernel::normal::norm_cdf(d1) - k * kernel::normal::norm_cdf(d1 - sd);
        for (right, value) in [("call", call), ("put", call - 100.0 + k)] {
            let (bid, ask) = ((value - 0.02).max(0.0), value + 0.03);
            let key = format!("2026-11-20T15:42:00,{name},{spot},{name},2026-12-18,{right},{}", k * scale);
            writeln!(rows, "{key},{bid:.2},{ask:.2}").unwrap();
        }
    }
    rows
}

#[test]
fn what_quotes_contradict_is_named() {
    let (folder, header) =
        (Folder::new("doubted"), "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask\n");
    let (quotes, out) = (folder.path("q.csv"), folder.path("out"));
    fs::create_dir_all(quotes.parent().unwrap()).unwrap();
    let text = [doubtful("GOOD", 100.0, 1.0), doubtful("LATE", 104.0, 1.0), doubtful("UNIT", 100.0, 1000.0)].concat();
    fs::write(&quotes, format!("{header}{text}")).unwrap();
    let (code, said) = run(&["--rates", "zero"], &quotes, &out);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("doubted: LATE 2026-11-20: calls and puts contradict the published spot 104.00"), "{said}");
    assert!(said.contains("without Greeks: 1 snapshots of a name, strike_scale"), "{said}");
    assert!(!said.contains("doubted: GOOD"), "{said}");
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(job_folder(&out).join("_report.json")).unwrap()).unwrap();
    assert_eq!((&report["doubted"][0]["underlying"], report["doubted"].as_array().unwrap().len()), (&"LATE".into(), 1));
    assert_eq!(report["computed"]["uncomputed"]["strike_scale"], 1);
}
