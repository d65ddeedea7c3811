//! Hands what only Cargo knows to `src/version.rs`. What is built does not depend on git, so that a commit alone makes
//! nothing new; packaging names the commit.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GREEKSD_COMMIT");
    let get = |name: &str| env::var(name).unwrap_or_default();
    // OUT_DIR is .../PROFILE/build/greeksd-HASH/out; PROFILE itself is only release or debug
    let out = get("OUT_DIR");
    let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name).map(|name| name.to_string_lossy());
    let compiler = Command::new(get("RUSTC")).arg("--version").output().ok();
    let compiler = compiler.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    for (name, value) in [
        ("COMMIT", get("GREEKSD_COMMIT")),
        ("TARGET", get("TARGET")),
        ("PROFILE", profile.unwrap_or_default().into_owned()),
        ("COMPILER", compiler.unwrap_or_default()),
    ] {
        println!("cargo:rustc-env=GREEKSD_BUILT_{name}={value}");
    }
}
