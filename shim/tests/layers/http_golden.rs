//! The wire, byte for byte: `golden/http/*.http` hold a target and the whole answer.
//!
//! A changed golden is looked at, never just written again: `UPDATE_GOLDEN=1 cargo test --test http_golden` writes the
//! files, `git diff` shows what clients will notice.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/http"))
}

fn answer(target: &str) -> String {
    let got = market::get(target);
    let headers: String = got.headers.iter().map(|header| format!("{header}\n")).collect();
    format!("GET {target}\n\n{} {}\n{headers}\n{}", got.status, got.content_type, got.body)
}

#[test]
fn answers_are_what_they_were() {
    let mut n_files = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ext| ext != "http") {
            continue;
        }
        n_files += 1;
        let golden = fs::read_to_string(&path).unwrap();
        let target = golden.lines().next().and_then(|line| line.strip_prefix("GET ")).unwrap();
        let now = answer(target);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &now).unwrap();
        } else {
            assert!(golden == now, "{}\nwas\n{golden}\nis\n{now}", path.display());
        }
    }
    assert!(n_files >= 15, "only {n_files} golden answers were found");
}
