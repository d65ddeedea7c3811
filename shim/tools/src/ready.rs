//! `greeksd ready`: asks a daemon whether its market is whole, for programs that start or supervise it. Never: the
//! contents of the market.

use crate::arguments::ReadyArgs;
use host::log::say;
use sources::poll::client::{AnswerBounds, Client, Received, ServerBase};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Polling interval.
const AGAIN: Duration = Duration::from_millis(250);

/// Runs the command.
#[must_use]
pub fn run(args: &ReadyArgs) -> ExitCode {
    let began = Instant::now();
    loop {
        match ask(&args.url) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(why) if began.elapsed() >= Duration::from_secs(args.wait) => {
                say(&format!("greeksd ready: {}: {why}", args.url));
                return ExitCode::FAILURE;
            }
            Err(_) => std::thread::sleep(AGAIN),
        }
    }
}

fn ask(url: &str) -> Result<(), String> {
    let client = Client::new(ServerBase::parse(url)?, Vec::new(), None, AnswerBounds::default())?;
    match client.get("/health?ready", None) {
        Ok(Received::Body { status: 200, .. }) => Ok(()),
        Ok(Received::Body { status, .. }) => Err(format!("the market is not whole (status {status})")),
        Ok(Received::Unchanged) => Err("no response".to_owned()),
        Err(failed) => Err(failed.failure.name().to_owned()),
    }
}
