//! `greeksd` as it is installed: starts the build beside it that this processor can run, and is that build from then on.

use launcher::choice::{self, VARIABLE};
use launcher::level::Processor;
use std::path::PathBuf;
use std::process::ExitCode;

#[cfg(windows)]
mod windows;

fn main() -> ExitCode {
    let wanted = std::env::var_os(VARIABLE);
    let chosen = match folders() {
        Ok(folders) => choice::build(&Processor::here(), &folders, wanted.as_deref()),
        Err(error) => return failed(1, &format!("cannot find out where this program is: {error}")),
    };
    match chosen {
        Ok(build) => match start(&build) {
            Ok(code) => code,
            Err(error) => failed(1, &format!("cannot start {}: {error}", build.display())),
        },
        Err(refusal) => failed(refusal.exit_code(), &refusal.to_string()),
    }
}

/// Where the builds are; links to the launcher are followed.
fn folders() -> std::io::Result<Vec<PathBuf>> {
    let launcher = std::env::current_exe().or_else(|error| as_started().ok_or(error))?.canonicalize()?;
    Ok(launcher.parent().map(choice::folders).unwrap_or_default())
}

/// This program by the name that it was started with, for a root without `/proc`.
fn as_started() -> Option<PathBuf> {
    let name = PathBuf::from(std::env::args_os().next()?);
    if name.components().count() > 1 {
        return Some(name);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

fn failed(code: u8, why: &str) -> ExitCode {
    eprintln!("greeksd: {why}");
    ExitCode::from(code)
}

/// Replaces this process: same number, same files, signals go to the build.
#[cfg(unix)]
fn start(build: &std::path::Path) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| "greeksd".into());
    Err(std::process::Command::new(build).arg0(name).args(arguments).exec())
}

#[cfg(windows)]
use windows::start;
