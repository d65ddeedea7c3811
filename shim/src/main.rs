//! The `greeksd` program.

use host::cpu;
use shim::program;
use std::process::ExitCode;

/// The allocator of musl has one lock for all threads: eight threads wait a sixth of their time for it.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if cpu::can_run() { run() } else { ExitCode::FAILURE }
}

/// Runs the program. It is not inlined into `main`, since its first instructions may be some that the processor lacks.
#[inline(never)]
fn run() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    host::glibc::return_large_blocks();
    program::run(std::env::args_os())
}
