//! The `greeksd` program.

use shim::{cpu, program};
use std::process::ExitCode;

/// That of musl has one lock for all threads, which eight of them wait for a sixth of their time.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if cpu::can_run() { run() } else { ExitCode::FAILURE }
}

/// Apart from `main`, as its first instructions may be those that the processor lacks.
#[inline(never)]
fn run() -> ExitCode {
    program::run(std::env::args_os())
}
