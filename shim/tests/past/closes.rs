//! Closing rows and metrics of `greeksd batch`, and what a daemon over the same days makes of them.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::files::Folder;
use crate::support::daemon::Daemon;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NAME: &str = "SLV";
const DAYS: usize = 18;

fn greeksd(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_greeksd")).args(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

/// The dates of the closing rows in a folder, ascending.
fn dates(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut dates: Vec<String> =
        names.filter_map(|name| Some(name.strip_prefix("closes-")?.strip_suffix(".csv")?.to_owned())).collect();
    dates.sort();
    dates
}

#[test]
fn days_of_batch_rank_those_of_history() {
    let folder = Folder::new("closes");
    let [market, state, out, metrics] =
        ["market", "state", "out", "metrics"].map(|name| folder.path(name).display().to_string());
    let days = DAYS.to_string();
    let (code, said) = greeksd(&["generate", &market, "--names", NAME, "--days", &days, "--quiet"]);
    assert_eq!(code, 0, "{said}");
    let quotes = format!("{market}/quotes");
    let batch = ["batch", &quotes, "-o", &out, "--closes", &state, "--metrics", &metrics, "--format", "csv", "--quiet"];
    let (code, said) = greeksd(&batch);
    assert_eq!(code, 0, "{said}");
    let dates = dates(Path::new(&state));
    assert_eq!(dates.len(), DAYS);
    let text = fs::read_to_string(format!("{state}/closes-{}.csv", dates[0])).unwrap();
    assert!(text.lines().count() == 2 && text.lines().nth(1).unwrap().starts_with("SLV,"), "{text}");
    // files of metrics that are gone are made again, whatever closes have come since
    let files: Vec<PathBuf> =
        dates.iter().map(|date| Path::new(&metrics).join(format!("day={date}/metrics.csv"))).collect();
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    [3, 14].iter().for_each(|place: &usize| fs::remove_file(&files[*place]).unwrap());
    let (code, said) = greeksd(&batch);
    assert_eq!(code, 0, "{said}");
    files.iter().zip(&texts).for_each(|(file, text)| assert_eq!(&fs::read_to_string(file).unwrap(), text));
    let within = format!("{out}/metrics");
    let (code, said) = greeksd(&["batch", &quotes, "-o", &out, "--metrics", &within]);
    assert!(code == 2 && said.contains("readers take every file below OUT for Greeks"), "{said}");

    let daemon = Daemon::start(&format!("history:{quotes}"), &["--state-dir", &state]);
    let row = |date: &String| daemon.rows(&format!("/l1/metrics?underlying={NAME}&as_of={date}")).remove(0);
    let rows: Vec<Value> = dates.iter().map(row).collect();
    for (date, text) in dates.iter().zip(&texts) {
        let (status, answer) = daemon.get(&format!("/l1/metrics?underlying={NAME}&as_of={date}&format=csv"));
        assert_eq!((status, &answer), (200, text));
    }
    // a range has the row of each day, and its time
    let range = format!("/l1/metrics?underlying={NAME}&start={}&end={}&interval=1d", dates[0], dates[DAYS - 1]);
    let mut series = daemon.rows(&range);
    assert_eq!(series.len(), DAYS);
    for ((of_day, date), row) in series.iter_mut().zip(&dates).zip(&rows) {
        let time = of_day.as_object_mut().unwrap().remove("snapshot_time").unwrap();
        assert!(time.as_str().unwrap().starts_with(date), "{time} {date}");
        assert_eq!(&*of_day, row);
    }
    let most = rows.iter().map(|row| Daemon::number(row, "iv30d")).fold(0.0, f64::max);
    let dearest = daemon.rows(&format!("{range}&sort=-iv30d&limit=1&where=iv30d%3E0"));
    assert!(dearest.len() == 1 && Daemon::number(&dearest[0], "iv30d").total_cmp(&most).is_eq(), "{dearest:?} {most}");
    assert!(daemon.rows(&format!("{range}&where=iv30d%3E9")).is_empty());
    assert!(daemon.rows(&format!("{range}&by=expiry")).len() > 4 * DAYS);
    assert_eq!(daemon.get(&format!("/l1/metrics?underlying={NAME}&end=2001-01-01")).0, 404);
    let (prices, vols): (Vec<f64>, Vec<f64>) =
        rows.iter().map(|row| (Daemon::number(row, "und_price"), Daemon::number(row, "iv30d"))).unzip();
    let returns: Vec<f64> = prices.windows(2).map(|pair| (pair[1] / pair[0]).ln()).collect();
    let realised = |returns: &[f64]| (252.0 / 10.0 * returns.iter().map(|r| r * r).sum::<f64>()).sqrt();
    let near = |row: &Value, name: &str, wanted: f64| {
        let found = Daemon::number(row, name);
        assert!((found - wanted).abs() < 1e-4, "{name} of {row}: {wanted}");
    };
    for (n, row) in rows.iter().enumerate() {
        let reasons = row["missing"].to_string();
        match n.checked_sub(1) {
            None => assert!(row["prev_close"].is_null() && reasons.contains("day_change:too_few_closes"), "{row}"),
            Some(before) => {
                near(row, "prev_close", prices[before]);
                near(row, "day_change", prices[n] / prices[before] - 1.0);
            }
        }
        match n.checked_sub(10) {
            None => assert!(row["rv10"].is_null() && reasons.contains("rv10:too_few_closes"), "{row}"),
            Some(first) => near(row, "rv10", realised(&returns[first..n])),
        }
        assert!(row["rv20"].is_null() && reasons.contains("vrp30:too_few_closes"), "{row}");
        assert!(row["iv_rank_1y"].is_null() && reasons.contains("iv_rank_1y:too_few_closes"), "{row}");
        if n + 1 < 15 {
            assert!(row["iv_rank_1m"].is_null() && row["iv_pctl_1m"].is_null(), "{row}");
            continue;
        }
        let (least, most) = vols[..=n].iter().fold((1.0_f64, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
        let rank = Daemon::number(row, "iv_rank_1m");
        assert!((rank - (vols[n] - least) / (most - least)).abs() < 1e-3, "{rank} of {row} among {vols:?}");
        assert!((0.0..=1.0).contains(&Daemon::number(row, "iv_pctl_1m")), "{row}");
    }
    // what is later than a moment does not count: the fifteenth day has a rank by fifteen closes only
    assert!(rows[13]["iv_rank_1m"].is_null() && rows[14]["iv_rank_1m"].is_number());
    let core = daemon.get(&format!("/datav2/hist/cores?ticker={NAME}&tradeDate={}", dates[DAYS - 1])).1;
    let core: Value = serde_json::from_str(&core).unwrap();
    let core = &core["data"][0];
    near(core, "priorCls", prices[DAYS - 2]);
    near(core, "clsPx1w", prices[DAYS - 6]);
    near(core, "stkPxChng1wk", 100.0 * (prices[DAYS - 1] / prices[DAYS - 6] - 1.0));
    near(core, "clsHv10d", realised(&returns[DAYS - 11..]));
    near(core, "ivPctile1m", 100.0 * Daemon::number(&rows[DAYS - 1], "iv_pctl_1m"));
    assert_eq!([&core["clsHv252d"], &core["clsPx1m"], &core["stkPxChng1m"]], [0.0; 3]);
    // the folder is in use
    let (code, said) = greeksd(&batch);
    assert!(code == 2 && said.contains("a daemon or another job uses this folder"), "{said}");
}
