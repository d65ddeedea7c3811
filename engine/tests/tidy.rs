//! The house rules that a reviewer should not have to check: which module may know which, and what each never does.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Modules of the engine from the sources to the right end; an import may only point left.
const FLOW: [&str; 10] = ["feeds", "store", "sim", "early", "calibrate", "surface", "price", "snapshot", "pass", "lib"];
/// Leaves: everything may use them, and they use only each other.
const LEAVES: [&str; 5] = ["kernel", "contract", "calendar", "limits", "error"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn sources(under: &str) -> Vec<(String, String)> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let base = root().join(under);
    let mut paths = Vec::new();
    walk(&base, &mut paths);
    paths.sort();
    let name = |p: &Path| p.strip_prefix(&base).unwrap().to_string_lossy().replace('\\', "/");
    let own_tests = |name: &String| name.ends_with("/tests.rs") || name.ends_with("/testing.rs");
    let code = paths.iter().map(|p| (name(p), fs::read_to_string(p).unwrap()));
    code.filter(|(name, _)| !own_tests(name)).collect()
}

/// The top module that a file belongs to: `store/book.rs` is of `store`.
fn module(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The lines of a file that are code: no comments, nothing from its test module on.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|l| !l.starts_with("#[cfg(test)]")).filter(|l| !l.trim_start().starts_with("//"))
}

fn forbid(under: &str, within: impl Fn(&str) -> bool, words: &[&str], why: &str) {
    for (file, text) in sources(under).iter().filter(|(f, _)| within(f)) {
        for line in code(text) {
            for word in words {
                assert!(!line.contains(word), "{under}/{file}: `{word}`: {why}\n  {line}");
            }
        }
    }
}

#[test]
fn arrows_point_left() {
    for (file, text) in sources("engine/src") {
        let own = module(&file);
        for line in code(&text) {
            let Some(rest) = line.split("crate::").nth(1) else { continue };
            let used = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            let place = |m: &str| FLOW.iter().position(|x| *x == m);
            let allowed = used == own
                || LEAVES.contains(&used)
                || matches!((place(used), place(own)), (Some(left), Some(right)) if left < right);
            assert!(allowed, "engine/src/{file} ({own}) uses {used}, which stands to its right\n  {line}");
        }
    }
}

#[test]
fn each_library_is_named_in_one_room() {
    forbid("engine/src", |f| f != "kernel/lanes.rs", &["use wide", "wide::"], "only kernel/lanes.rs names `wide`");
    forbid("engine/src", |f| module(f) != "pass", &["rayon"], "only pass names `rayon`");
    forbid("engine/src", |f| module(f) == "kernel", &["jiff", "Timestamp", "Symbol"], "kernels know numbers only");
    forbid(
        "engine/src",
        |_| true,
        &["std::env", "SystemTime::now", "Instant::now", "Timestamp::now"],
        "no clock, no globals",
    );
    forbid("engine/src", |_| true, &["println!", "eprintln!", "static mut"], "no output, no globals");
    forbid("shim/src", |f| f.starts_with("http/"), &["engine::", "vendors", "Col::"], "http knows bytes only");
    forbid("shim/src", |f| f.starts_with("rows/"), &["vendors::", "http::"], "rows know columns and tables only");
}

#[test]
fn rooms_have_names_of_the_domain() {
    for under in ["engine/src", "shim/src"] {
        for (file, text) in sources(under) {
            for bad in ["util", "helper", "manager", "common", "handler", "misc"] {
                assert!(!file.contains(bad), "{under}/{file}: `{bad}` is no noun of the domain");
            }
            assert!(text.starts_with("//!"), "{under}/{file} does not say what it is for");
            let lines = code(&text).count();
            assert!(lines <= 700, "{under}/{file} has {lines} lines of code");
        }
    }
}

/// Lists of all variants are written by hand; one that is left out would never be counted or shown.
#[test]
fn lists_of_all_variants_are_whole() {
    let mut seen = 0;
    for (file, text) in sources("engine/src") {
        for (at, start) in text.match_indices("pub const ALL: [Self; ") {
            let listed = text[at + start.len()..].split(']').next().unwrap();
            let name = text[..at].rsplit("impl ").next().unwrap().split(' ').next().unwrap();
            let body = text.split(&format!("pub enum {name} {{")).nth(1).unwrap().split("\n}").next().unwrap();
            let variants = body.lines().filter(|line| line.trim_start().starts_with(char::is_uppercase)).count();
            assert_eq!(listed, variants.to_string(), "engine/src/{file}: {name}");
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen} lists");
}

#[test]
fn nothing_unsafe_and_no_panic_by_habit() {
    for under in ["engine/src", "shim/src"] {
        forbid(
            under,
            |_| true,
            &["unsafe ", "unsafe{", ".unwrap()", "todo!(", "unimplemented!(", "dbg!("],
            "see STYLE in ARCHITECTURE.md",
        );
    }
}
