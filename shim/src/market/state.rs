//! The volatilities of the last session, kept in the state folder as `vols-YYYY-MM-DD.csv`. Never: a clock.

use engine::calendar::Calendar;
use engine::snapshot::Snapshot;
use engine::store::session::SessionVols;
use jiff::Timestamp;
use jiff::civil::Date;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// Sessions that are kept.
const KEPT: usize = 5;

/// The volatilities of the latest session before the one of `now`; nothing where none were kept.
#[must_use]
pub fn load_prior(folder: &Path, calendar: &Calendar, now: Timestamp) -> SessionVols {
    let session = calendar.session_on_or_before(calendar.eastern(now).date());
    let Some((_, path)) = sessions(folder).into_iter().rfind(|&(date, _)| date < session) else {
        return SessionVols::default();
    };
    match File::open(&path) {
        Ok(file) => {
            let (vols, refused) = SessionVols::read(BufReader::new(file));
            if refused > 0 {
                tracing::warn!("{}: {refused} lines left out", path.display());
            }
            vols
        }
        Err(error) => {
            tracing::warn!("{}: {error}", path.display());
            SessionVols::default()
        }
    }
}

/// Writes the volatilities of a snapshot under its session's date, whole or not at all, and drops the oldest files.
pub fn keep(folder: &Path, calendar: &Calendar, snapshot: &Snapshot) {
    if snapshot.chains().is_empty() {
        return;
    }
    let session = calendar.session_on_or_before(calendar.eastern(snapshot.time).date());
    let mut vols = SessionVols::default();
    snapshot.chains().iter().for_each(|chain| vols.add(chain));
    let path = folder.join(format!("vols-{session}.csv"));
    if let Err(error) = write(folder, &path, &vols) {
        tracing::warn!("{}: {error}", path.display());
    }
    let old = sessions(folder);
    for (_, path) in old.iter().take(old.len().saturating_sub(KEPT)) {
        let _ = fs::remove_file(path);
    }
}

fn write(folder: &Path, path: &Path, vols: &SessionVols) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let unfinished = path.with_extension("unfinished");
    vols.write(BufWriter::new(File::create(&unfinished)?))?;
    fs::rename(unfinished, path)
}

/// The kept sessions, oldest first.
fn sessions(folder: &Path) -> Vec<(Date, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let dated = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let date = name.strip_prefix("vols-")?.strip_suffix(".csv")?.parse().ok()?;
        Some((date, path))
    };
    let mut sessions: Vec<(Date, PathBuf)> = entries.filter_map(|e| dated(e.path())).collect();
    sessions.sort();
    sessions
}
