//! Runs the program from its arguments to its exit code, for the executable and for the Python package. Never: an
//! option.

use crate::config::{self, ConfigError, Invocation};
#[cfg(feature = "view")]
use crate::view;
use crate::{chains, serve};
use std::ffi::OsString;
use std::process::ExitCode;
use tools::{batch, compare, generate, price, ready};

/// Runs the command of the arguments, of which the first is the program's name.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match config::read(arguments, &|name| std::env::var_os(name)) {
        Ok(Invocation::Serve(config)) => serve::run(&config),
        #[cfg(windows)]
        Ok(Invocation::Service(config)) => crate::service::run(*config),
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
        Ok(Invocation::Explain(args, keys)) => chains::explain(&args, &keys),
        Ok(Invocation::Ready(args)) => ready::run(&args),
        Ok(Invocation::ExplainPositions(args, keys)) => chains::explain_positions(&args, &keys),
        Ok(Invocation::Scenario(args, keys)) => chains::scenario(&args, &keys),
        Ok(Invocation::Print(report)) => print(&report),
        Err(ConfigError::Usage(error)) => error.exit(),
        Err(error @ ConfigError::Value(_)) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Writes to standard output. Unlike `print!`, it does not panic if the reader has gone.
fn print(text: &str) -> ExitCode {
    use std::io::Write;
    if std::io::stdout().write_all(text.as_bytes()).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
