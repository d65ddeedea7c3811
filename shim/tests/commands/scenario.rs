//! `greeksd scenario` from outside: contracts and files of positions, without a daemon.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::collections::HashMap;
use std::process::Command;

const NOW: [&str; 4] = ["--feed", "sim", "--now", "2026-11-20T15:42:07-05:00"];

/// Exit code, rows by the names of the header, standard error.
fn scenario(arguments: &[&str]) -> (i32, Vec<HashMap<String, String>>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    let output = command.arg("scenario").args(NOW).args(arguments).arg("format=csv").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row =
        |line: &str| header.iter().map(|name| (*name).to_owned()).zip(line.split(',').map(str::to_owned)).collect();
    let rows = lines.map(row).collect();
    (output.status.code().unwrap(), rows, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn contracts_and_positions_are_revalued_from_a_feed() {
    let (code, rows, said) = scenario(&["osym=KO261218C00074000", "spot=-5,0,5", "at=now,+5d"]);
    assert_eq!((code, rows.len(), said.as_str()), (0, 6, ""));
    assert_eq!(rows[1]["profit"], "0.0");
    let value = |row: &HashMap<String, String>| row["value"].parse::<f64>().unwrap();
    assert!(
        value(&rows[0]) < value(&rows[1]) && value(&rows[1]) < value(&rows[2]) && value(&rows[4]) < value(&rows[1])
    );
    let book = std::env::temp_dir().join(format!("greeksd-book-{}.csv", std::process::id()));
    std::fs::write(&book, "account,osym,symbol,quantity\na,KO261218C00074000,,-2\na,,KO,100\nb,X1,,1\n").unwrap();
    let (code, sums, said) = scenario(&["--positions", book.to_str().unwrap(), "spot=0", "sum=total"]);
    std::fs::remove_file(&book).unwrap();
    assert_eq!((code, sums.len()), (0, 1), "{said}");
    assert!(said.contains(":4: osym: not_a_symbol"), "{said}");
    let held = 100.0 * rows[1]["spot"].parse::<f64>().unwrap() - 200.0 * value(&rows[1]);
    assert!((value(&sums[0]) - held).abs() < 1e-3, "{held} {sums:?}");
}

#[test]
fn what_cannot_be_computed_has_a_reason() {
    for (arguments, why) in [
        (&["spot=1"][..], "underlying, root, osym or positions is required"),
        (&["underlying=NOPE"], "the feed lists no contract of NOPE"),
        (&["underlying=KO", "spt=1"], "unknown parameter: spt"),
        (&["underlying=KO", "at=2020-01-01"], "not a moment from 2026-11-20 on"),
        (&["--positions", "/nowhere/at/all.csv"], "/nowhere/at/all.csv"),
    ] {
        let (code, rows, said) = scenario(arguments);
        assert!(code == 1 && rows.is_empty() && said.contains(why), "{arguments:?}: {code} {said}");
    }
}
