//! The `greeksd` program.

use shim::{cpu, program};
use std::process::ExitCode;

fn main() -> ExitCode {
    if cpu::can_run() { run() } else { ExitCode::FAILURE }
}

/// Apart from `main`, as its first instructions may be those that the processor lacks.
#[inline(never)]
fn run() -> ExitCode {
    program::run(std::env::args_os())
}
