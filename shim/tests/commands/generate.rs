//! `greeksd generate`: what it writes is read again by `greeksd batch`, whatever its layout, and the same twice.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use sim::days::layouts::MadeLayout;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder that is gone after its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("greeksd-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

/// Every file below a folder.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(tree(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

fn relative(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    tree(folder).into_iter().map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_path_buf(), bytes)).collect()
}

#[test]
fn every_layout_is_read_by_batch() {
    let folder = Folder::new("generate");
    for layout in MadeLayout::ALL {
        let (out, greeks) = (folder.0.join(layout.name()), folder.0.join(format!("{}-greeks", layout.name())));
        let (quotes, results) = (out.to_str().unwrap(), greeks.to_str().unwrap());
        let (code, said) = run(&["generate", quotes, "--layout", layout.name(), "--names", "KO", "--days", "2"]);
        assert!(code == 0 && said.contains("2 days"), "{}: {said}", layout.name());
        let (code, said) = run(&["batch", quotes, "-o", results, "--accuracy", "preliminary"]);
        assert_eq!(code, 0, "{}: {said}", layout.name());
        let told = ["names and days: 2 computed", "rates: user on 2 days", " 0 refused"];
        assert!(told.iter().all(|words| said.contains(words)), "{}: {said}", layout.name());
        assert_eq!(tree(&greeks).len(), 2, "{}", layout.name());
    }
}

#[test]
fn the_same_options_write_the_same_bytes_and_nothing_is_overwritten() {
    let folder = Folder::new("generate-twice");
    let write = |name: &str, more: &[&str]| {
        let out = folder.0.join(name);
        let options = ["generate", out.to_str().unwrap(), "--names", "KO,F", "--days", "3", "--every", "3h", "--gzip"];
        let (code, said) = run(&[&options[..], more].concat());
        assert_eq!(code, 0, "{said}");
        out
    };
    let first = write("one", &["--threads", "1", "--truth"]);
    assert!(relative(&first) == relative(&write("two", &["--threads", "3", "--truth"])));
    assert!(relative(&first) != relative(&write("other", &["--seed", "2", "--truth"])));
    let names: Vec<PathBuf> = relative(&first).into_keys().collect();
    assert_eq!(names.len(), 3 + 3, "three days, dividends, rates, truth: {names:?}");
    for (arguments, words) in [
        (vec![first.to_str().unwrap()], "not empty"),
        (vec!["x", "--layout", "orats"], "orats-strikes"),
        (vec!["x", "--names", "KO,NOBODY"], "NOBODY"),
        (vec!["x", "--names", "999"], "1 to"),
        (vec!["x", "--layout", "orats-strikes", "--every", "1m"], "14 minutes before the close"),
        (vec!["x", "--every", "0s"], "--every"),
        (vec!["x", "--days", "0"], "--days"),
    ] {
        let (code, said) = run(&[&["generate"][..], &arguments].concat());
        assert!(code == 2 && said.contains(words), "{arguments:?}: {said}");
    }
}
