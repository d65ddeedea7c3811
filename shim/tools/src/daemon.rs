//! Queries of commands to a running daemon. Never: what an answer means.

use host::log::say;
use sources::poll::client::{AnswerBounds, Client, Received, ServerBase};
use std::io::Write;
use std::process::ExitCode;

/// Status and body of the answer of the daemon at `url` to a path with its query.
///
/// # Errors
/// No daemon answers there, for the user.
pub fn get(url: &str, target: &str) -> Result<(u16, Vec<u8>), String> {
    let client = Client::new(ServerBase::parse(url)?, Vec::new(), None, AnswerBounds::default())?;
    let received = client.get(target, None).map_err(|failed| {
        format!(
            "{url}: {}: is a daemon running there? (`greeksd serve` starts one, --feed does without)",
            failed.failure.name()
        )
    })?;
    match received {
        Received::Body { status, bytes, .. } => Ok((status, bytes)),
        Received::Unchanged => Err(format!("{url}: no response")),
    }
}

/// Writes the body of an answer to standard output, for the command of that name; a refusal is reported.
#[must_use]
pub fn show(command: &str, url: &str, target: &str) -> ExitCode {
    let written = get(url, target).and_then(|(status, body)| match status {
        200 => std::io::stdout().write_all(&body).map_err(|error| format!("cannot write: {error}")),
        _ => Err(format!("{url}: status {status}: {}", String::from_utf8_lossy(&body))),
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&format!("greeksd {command}: {why}"));
            ExitCode::FAILURE
        }
    }
}
