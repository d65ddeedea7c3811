//! Lines from standard input. After its end the last values stay in use.

use super::{Ended, LineSource, LinesShared, read_lines};
use host::clock::MarketClock;
use host::threads;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Starts to read standard input; lines later than the clock are refused.
///
/// # Errors
/// The system has no thread for it.
pub fn start(clock: MarketClock) -> io::Result<LineSource> {
    let shared = LinesShared::new(clock);
    let reader = Arc::clone(&shared);
    threads::spawn_lasting("stdin", move || {
        let ended = read_lines(io::stdin().lock(), "stdin", "stdin", &reader);
        reader.ended.store(true, Ordering::Relaxed);
        match ended {
            Ended::Done => tracing::info!("stdin: closed; the last values stay in use"),
            Ended::NotLines => tracing::error!("stdin: the first line is not a JSON object; nothing is read"),
            Ended::Broken(kind) => tracing::error!("stdin: {kind}; the last values stay in use"),
        }
    })?;
    Ok(LineSource::new("stdin:".to_owned(), shared))
}
