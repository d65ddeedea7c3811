//! The `greeksd` program: arguments to one configuration, threads, start.

use shim::config::{self, ConfigError, Invocation};
#[cfg(feature = "view")]
use shim::view;
use shim::{batch, compare, cpu, explain, generate, price, scenario, serve};
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
    match config::read(std::env::args_os(), &|name| std::env::var_os(name)) {
        Ok(Invocation::Serve(config)) => serve::run(&config),
        #[cfg(windows)]
        Ok(Invocation::Service(config)) => shim::service::run(*config),
        Ok(Invocation::Price(args)) => price::run(&args),
        Ok(Invocation::Batch(args)) => batch::run(&args),
        Ok(Invocation::Generate(args)) => generate::run(&args),
        #[cfg(not(feature = "view"))]
        Ok(Invocation::View(_)) => {
            eprintln!(
                "greeksd: built without the feature `view`; a running daemon has a viewer at http://127.0.0.1:2112/"
            );
            ExitCode::from(2)
        }
        #[cfg(feature = "view")]
        Ok(Invocation::View(plan)) => view::run(&plan, &|name| std::env::var(name).ok()),
        Ok(Invocation::Compare(args)) => compare::run(&args),
        Ok(Invocation::Explain(args, keys)) => explain::run(&args, &keys),
        Ok(Invocation::Scenario(args, keys)) => scenario::run(&args, &keys),
        Ok(Invocation::Print(report)) => print(&report),
        Err(ConfigError::Usage(error)) => error.exit(),
        Err(error @ ConfigError::Value(_)) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Writes to standard output; a reader that has gone is no reason to panic.
fn print(text: &str) -> ExitCode {
    use std::io::Write;
    if std::io::stdout().write_all(text.as_bytes()).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
