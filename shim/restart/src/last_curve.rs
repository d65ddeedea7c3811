//! Keeps the last implied or published discount curve over a restart: `last-rates.csv` in the state folder. Never: the
//! choice of a curve.
//!
//! The file has the columns of `rates.csv` and one date. A thread of its own writes it under another name and renames
//! it, so that the market loop does not wait for a disk. An unusable file is moved aside.

use engine::rates::curve::{DiscountCurve, DiscountCurves};
use engine::rates::source::RateSource;
use engine::rates::table::DatedCurve;
use feeds::reference::parse_rates;
use host::newest::NewestJob;
use host::private::{self, DAMAGED_OR_FOREIGN};
use jiff::civil::Date;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum wait for the writing thread at the end.
const PATIENCE: Duration = Duration::from_secs(2);
const NAME: &str = "last-rates.csv";
/// Days per year in curves.
const YEAR_DAYS: f64 = 365.0;

/// The file of the last curve, and its contents.
#[derive(Debug)]
pub struct LastCurve {
    path: PathBuf,
    kept: Option<(Date, DiscountCurve)>,
    /// Thread that writes the texts of curves; started with the first one.
    writer: Option<NewestJob<String>>,
}

impl LastCurve {
    /// Reads the file of a state folder, if there is one.
    #[must_use]
    pub fn open(folder: &Path) -> Self {
        let path = folder.join(NAME);
        let kept = match fs::read(&path) {
            Ok(bytes) => read(&path, &bytes).or_else(|| {
                private::move_aside(&path, DAMAGED_OR_FOREIGN);
                None
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!("{}: {error}", path.display());
                None
            }
        };
        Self { path, kept, writer: None }
    }

    /// Returns the date and the curve of the file.
    #[must_use]
    pub fn kept(&self) -> Option<&(Date, DiscountCurve)> {
        self.kept.as_ref()
    }

    /// Saves the curve in force if it is implied or published, and newer than that of the file, or another one of its
    /// date.
    pub fn keep(&mut self, in_force: &DatedCurve<'_>) {
        let (RateSource::Implied | RateSource::Treasury, Some(as_of)) = (in_force.origin.source, in_force.origin.as_of)
        else {
            return;
        };
        let is_other =
            self.kept.as_ref().is_none_or(|(of, curve)| *of < as_of || *of == as_of && curve != in_force.curve);
        if !is_other {
            return;
        }
        self.kept = Some((as_of, in_force.curve.clone()));
        let path = self.path.clone();
        let write = move |text: String| {
            if let Err(error) = private::replace(&path, |file| file.write_all(text.as_bytes())) {
                tracing::warn!("{}: {error}", path.display());
            }
        };
        // if no thread can be started, the next change is tried again
        self.writer = self.writer.take().or_else(|| NewestJob::start("last-rates", write).ok());
        if let Some(writer) = &self.writer {
            writer.put(|_| text(as_of, in_force.curve));
        }
    }

    /// Waits until the last curve is on the disk.
    fn finish(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.end();
            // a disk that hangs keeps the previous file
            let _ = writer.has_ended_within(PATIENCE);
        }
    }
}

impl Drop for LastCurve {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The curve of a file; `None` if any part is unusable.
fn read(path: &Path, bytes: &[u8]) -> Option<(Date, DiscountCurve)> {
    let (records, report) = parse_rates(path, bytes);
    let as_of = records.first()?.date;
    let is_whole = report.refused_total() == 0 && report.errors.is_empty() && bytes.ends_with(b"\n");
    let is_one = records.iter().all(|record| record.date == as_of);
    let curve = DiscountCurves::new(&records).on(as_of)?.clone();
    (is_whole && is_one).then_some((as_of, curve))
}

fn text(as_of: Date, curve: &DiscountCurve) -> String {
    let mut out = "date,tenor_days,rate\n".to_owned();
    for (years, rate) in curve.nodes() {
        // writing to a string does not fail
        let _ = writeln!(out, "{as_of},{},{rate}", years * YEAR_DAYS);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::rates::source::RateOrigin;
    use jiff::civil::date;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("greeksd-last-rates-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn keep(last: &mut LastCurve, source: RateSource, as_of: Date, rate: f64) {
        let curve = DiscountCurve::flat(rate);
        last.keep(&DatedCurve { curve: &curve, origin: RateOrigin { source, as_of: Some(as_of) } });
    }

    fn reread(folder: &Folder) -> Option<(Date, f64)> {
        LastCurve::open(&folder.0).kept().map(|(as_of, curve)| (*as_of, curve.rate(2.0)))
    }

    #[test]
    fn the_newest_implied_or_published_curve_is_read_back() {
        let folder = Folder::new("kept");
        let (old, new) = (date(2026, 11, 19), date(2026, 11, 20));
        let mut last = LastCurve::open(&folder.0);
        assert_eq!(last.kept(), None, "there is no folder yet");
        keep(&mut last, RateSource::User, new, 0.01);
        keep(&mut last, RateSource::BuiltIn, new, 0.02);
        assert_eq!(last.kept(), None, "these are there at every start");
        keep(&mut last, RateSource::Implied, new, 0.04);
        keep(&mut last, RateSource::Treasury, old, 0.05);
        keep(&mut last, RateSource::Implied, new, 0.041);
        drop(last);
        assert_eq!(reread(&folder), Some((new, 0.041)));
        let names: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [NAME]);
    }

    #[test]
    fn a_damaged_file_is_moved_aside() {
        for (i, text) in [
            "",
            "date,tenor_days,rate\n",
            "x",
            "date,tenor_days,rate\n2026-11-20,30,0.04\n2026-11-20,x,1\n",
            "date,tenor_days,rate\n2026-11-20,30,0.0",
            "date,tenor_days,rate\n2026-11-20,30,0.04\n2026-11-19,30,0.04\n",
        ]
        .iter()
        .enumerate()
        {
            let folder = Folder::new(&format!("damaged-{i}"));
            fs::create_dir_all(&folder.0).unwrap();
            fs::write(folder.0.join(NAME), text).unwrap();
            assert_eq!(reread(&folder), None, "{text:?}");
            assert!(folder.0.join("last-rates.csv.bad").exists() && !folder.0.join(NAME).exists(), "{text:?}");
        }
    }
}
