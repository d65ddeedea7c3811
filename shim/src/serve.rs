//! The daemon: feed, pass loop and server, from start to drained stop.

use crate::config::Config;
use std::process::ExitCode;

/// Runs until a signal ends it.
#[must_use]
pub fn run(config: &Config) -> ExitCode {
    eprintln!("greeksd: this build has no engine behind its server yet: {config:?}");
    ExitCode::FAILURE
}
