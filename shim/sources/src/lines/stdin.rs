//! Lines from standard input. After its end the last values stay in use.

use super::reading::{Ended, PushedBytes, read_pushed};
use super::{LineSource, LinesShared};
use host::clock::MarketClock;
use host::threads;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl PushedBytes for io::StdinLock<'_> {}

/// Starts to read standard input; lines later than the clock are refused.
///
/// # Errors
/// The system has no thread for it.
pub fn start(clock: MarketClock) -> io::Result<LineSource> {
    let shared = LinesShared::new(clock);
    let reader = Arc::clone(&shared);
    threads::spawn_lasting("stdin", move || {
        let ended = read_pushed(io::stdin().lock(), "stdin", "stdin", &reader);
        reader.ended.store(true, Ordering::Relaxed);
        match ended {
            Ended::Done => tracing::info!("stdin: closed; the last values stay in use"),
            Ended::Unknown => tracing::error!("stdin: {}; nothing is read", Ended::UNKNOWN),
            Ended::Refused(why) => tracing::error!("stdin: {why}; the last values stay in use"),
            Ended::Broken(kind) => tracing::error!("stdin: {kind}; the last values stay in use"),
        }
    })?;
    Ok(LineSource::new("stdin:".to_owned(), shared))
}
