//! The library as Python finds it. What it does is tried by tests/python, where there is a Python.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

#[test]
fn python_finds_the_start_of_the_module() {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let library = std::fs::read(folder.join(format!("{DLL_PREFIX}_greeksd{DLL_SUFFIX}"))).unwrap();
    let start = b"PyInit__greeksd\0";
    assert!(library.windows(start.len()).any(|bytes| bytes == start));
}
