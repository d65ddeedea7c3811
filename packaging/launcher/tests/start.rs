//! The launcher as it is installed, with scripts in the builds' place.

#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test")]

use launcher::choice::file;
use launcher::level::{Level, Processor};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held while a folder is there: a program that another thread's fork has open for writing cannot be started.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A folder of a package, removed at the end.
struct Installed(PathBuf, #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Installed {
    /// `greeksd` in `launcher`, and in `builds` a script for each level, both seen from the folder.
    fn of(name: &str, launcher: &str, builds: &str, script: &str) -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("greeksd-start-{}-{name}", std::process::id()));
        let (launcher, builds) = (folder.join(launcher), folder.join(builds));
        fs::create_dir_all(&launcher).unwrap();
        fs::create_dir_all(&builds).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_greeksd-launcher"), launcher.join("greeksd")).unwrap();
        for level in &Level::ALL[1..] {
            let build = builds.join(file(*level));
            fs::write(&build, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&build, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(folder, turn)
    }

    fn run(&self, program: &str, arguments: &[&str], level: Option<&str>) -> Output {
        let mut command = Command::new(self.0.join(program));
        command.args(arguments).env_remove("GREEKSD_LEVEL").stdin(Stdio::null());
        level.map(|level| command.env("GREEKSD_LEVEL", level));
        command.output().unwrap()
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn arguments_streams_and_exit_code_are_the_builds() {
    let script = r#"echo "$(basename "$0") $#"; for each; do echo "<$each>"; done; echo problem >&2; exit 70"#;
    let installed = Installed::of("archive", "", "lib/greeksd", script);
    let output = installed.run("greeksd", &["price", "two words", ""], None);
    let build = file(Processor::here().level());
    assert_eq!(text(&output.stdout), format!("{build} 3\n<price>\n<two words>\n<>\n"));
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), ("problem\n", Some(70)));
}

#[test]
fn builds_beside_the_launcher_are_found_through_links() {
    let installed = Installed::of("prefix", "usr/bin", "usr/lib/greeksd", "basename \"$0\"");
    symlink(Path::new("usr/bin/greeksd"), installed.0.join("linked")).unwrap();
    for program in ["usr/bin/greeksd", "linked"] {
        let output = installed.run(program, &[], Some("x86-64-v2"));
        assert_eq!(text(&output.stdout), "greeksd-x86-64-v2\n", "{output:?}");
    }
}

#[test]
fn the_process_stays_the_same() {
    let installed = Installed::of("process", "", "lib/greeksd", "echo $$");
    let child = Command::new(installed.0.join("greeksd")).stdout(Stdio::piped()).spawn().unwrap();
    let number = child.id();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), format!("{number}\n"));
}

#[test]
fn what_cannot_be_started_is_said() {
    let installed = Installed::of("refused", "", "lib/greeksd", "echo started");
    let output = installed.run("greeksd", &[], Some("avx2"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "greeksd: GREEKSD_LEVEL=avx2: levels are x86-64-v2, x86-64-v3 and x86-64-v4\n");

    let build = installed.0.join("lib/greeksd/greeksd-x86-64-v2");
    fs::set_permissions(&build, fs::Permissions::from_mode(0o644)).unwrap();
    let output = installed.run("greeksd", &[], Some("x86-64-v2"));
    assert_eq!(output.status.code(), Some(1));
    let build = build.canonicalize().unwrap();
    assert_eq!(
        text(&output.stderr),
        format!("greeksd: cannot start {}: Permission denied (os error 13)\n", build.display())
    );

    fs::remove_dir_all(installed.0.join("lib")).unwrap();
    let output = installed.run("greeksd", &[], None);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no build that this processor can run in "), "{output:?}");
}
