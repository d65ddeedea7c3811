//! Plans the files of a job and the units of each. A name that was quoted once on a day goes into the day's file, a
//! name that was quoted several times gets a file of its own: this depends on its rows alone, not on the rest of the
//! job. Never: a computation.

use crate::digest::Digest;
use crate::unit::HistoryUnit;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::path::Path;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// Path in the folder of outputs, with slashes.
    pub file: String,
    /// The units that can be computed, in their order.
    pub units: Vec<usize>,
    /// Digest of the inputs of all units, including those that cannot be computed.
    pub from: Digest,
    /// True if the file has one name at several times.
    pub is_of_name: bool,
}

/// Layout of the files of Greeks in the folder of outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputLayout {
    /// A folder for each day: `day=2024-01-03/greeks.parquet` has the names that were quoted once,
    /// `day=2024-01-03/greeks-SPY.parquet` one that was quoted several times. All files are equally deep, so readers
    /// that look for partitions find `day`.
    #[default]
    Day,
    /// A folder for each name: `root_symbol=SPY/day=2024-01-03/greeks.parquet`.
    Name,
    /// No folders: `greeks-2024-01-03.parquet` and `greeks-2024-01-03-SPY.parquet`.
    Flat,
}

/// Begin of the names of files of Greeks.
const STEM: &str = "greeks";

impl OutputLayout {
    /// The name in options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Name => "name",
            Self::Flat => "flat",
        }
    }

    /// True if a name that was quoted once or several times on a day has a file of its own.
    #[must_use]
    pub fn is_of_name(self, is_quoted_once: bool) -> bool {
        !is_quoted_once || self == Self::Name
    }

    /// Returns the file of a day, or of one name on it, by its path in the folder of outputs.
    #[must_use]
    pub fn file_of(self, day: Date, name: Option<Symbol>, extension: &str) -> String {
        match (self, name) {
            (Self::Day, None) | (Self::Name, None) => format!("day={day}/{STEM}.{extension}"),
            (Self::Day, Some(name)) => format!("day={day}/{STEM}-{name}.{extension}"),
            (Self::Name, Some(name)) => format!("root_symbol={name}/day={day}/{STEM}.{extension}"),
            (Self::Flat, None) => format!("{STEM}-{day}.{extension}"),
            (Self::Flat, Some(name)) => format!("{STEM}-{day}-{name}.{extension}"),
        }
    }
}

/// Path of a file with another word in place of `greeks`, for the same names and day.
#[must_use]
pub fn named(file: &str, word: &str) -> String {
    let (folder, name) = file.rsplit_once('/').map_or((None, file), |(folder, name)| (Some(folder), name));
    let name = format!("{word}{}", name.strip_prefix(STEM).unwrap_or(name));
    folder.map_or(name.clone(), |folder| format!("{folder}/{name}"))
}

/// Day and name of a file of Greeks, from its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileUnit {
    /// The layout of the path.
    pub layout: OutputLayout,
    /// The day.
    pub day: Date,
    /// The name; `None`: all names of the day that were quoted once.
    pub name: Option<Symbol>,
}

impl FileUnit {
    /// Parses a path, as the inverse of [`OutputLayout::file_of`]; `None`: not the path of a file of Greeks.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let stem = path.file_stem()?.to_str()?.strip_prefix(STEM)?;
        let folder = path.parent();
        let named =
            |folder: Option<&Path>, key: &str| folder?.file_name()?.to_str()?.strip_prefix(key).map(str::to_owned);
        if let Some(day) = named(folder, "day=") {
            let day = day.parse().ok()?;
            if let Some(name) = stem.strip_prefix('-') {
                return Some(Self { layout: OutputLayout::Day, day, name: Some(Symbol::parse(name)?) });
            }
            let name = named(folder.and_then(Path::parent), "root_symbol=").and_then(|name| Symbol::parse(&name));
            let layout = if name.is_some() { OutputLayout::Name } else { OutputLayout::Day };
            return stem.is_empty().then_some(Self { layout, day, name });
        }
        let flat = stem.strip_prefix('-')?;
        let (day, name) = flat.split_at_checked(DATE_LENGTH)?;
        let name = match name.strip_prefix('-') {
            Some(name) => Some(Symbol::parse(name)?),
            None if name.is_empty() => None,
            None => return None,
        };
        Some(Self { layout: OutputLayout::Flat, day: day.parse().ok()?, name })
    }
}

/// The length of `2024-01-03`.
const DATE_LENGTH: usize = 10;

/// The files of some units, which stand by day and underlying, in the order of their first units. A file may be left
/// without a unit that can be computed.
#[must_use]
pub fn plan_files(units: &[HistoryUnit], layout: OutputLayout, extension: &str) -> Vec<FilePlan> {
    let mut plans: Vec<FilePlan> = Vec::new();
    let mut of_day: Option<usize> = None;
    for (i, unit) in units.iter().enumerate() {
        if i > 0 && units[i - 1].day != unit.day {
            of_day = None;
        }
        let is_of_name = layout.is_of_name(unit.snapshots <= 1);
        let at = match of_day.filter(|_| !is_of_name) {
            Some(at) => at,
            None => {
                let file = layout.file_of(unit.day, is_of_name.then_some(unit.underlying), extension);
                plans.push(FilePlan { file, units: Vec::new(), from: Digest::default(), is_of_name });
                plans.len() - 1
            }
        };
        if !is_of_name {
            of_day = Some(at);
        }
        let plan = &mut plans[at];
        plan.from.bytes(unit.underlying.as_str().as_bytes());
        plan.from.digest(unit.digest);
        match &unit.fault {
            None => plan.units.push(i),
            Some(fault) => plan.from.bytes(fault.name().as_bytes()),
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference_digest::UnitReference;
    use crate::whole::UnitFault;
    use jiff::civil::date;

    fn unit(day: i8, underlying: &str, snapshots: u32) -> HistoryUnit {
        HistoryUnit {
            day: date(2024, 1, day),
            underlying: Symbol::parse(underlying).unwrap(),
            first: 0,
            rows: 1,
            snapshots,
            digest: Digest::default(),
            known: UnitReference { last_expiry: date(2024, 6, 21), digest: Digest::default() },
            fault: None,
        }
    }

    #[test]
    fn names_quoted_once_share_the_file_of_their_day() {
        let mut units = vec![unit(3, "F", 1), unit(3, "KO", 9), unit(3, "SPX", 1), unit(4, "F", 1), unit(4, "KO", 9)];
        let plans = plan_files(&units, OutputLayout::Day, "csv");
        let seen: Vec<(&str, &[usize])> = plans.iter().map(|plan| (plan.file.as_str(), &plan.units[..])).collect();
        assert_eq!(
            seen,
            [
                ("day=2024-01-03/greeks.csv", &[0, 2][..]),
                ("day=2024-01-03/greeks-KO.csv", &[1]),
                ("day=2024-01-04/greeks.csv", &[3]),
                ("day=2024-01-04/greeks-KO.csv", &[4]),
            ]
        );
        // a fault takes its unit out and makes it another file
        units[2].fault = Some(Box::new(UnitFault::Computation));
        units[4].fault = units[2].fault.clone();
        let faulty = plan_files(&units, OutputLayout::Day, "csv");
        assert_eq!(faulty.iter().map(|plan| plan.units.len()).collect::<Vec<_>>(), [1, 1, 1, 0]);
        let same: Vec<bool> = plans.iter().zip(&faulty).map(|(a, b)| a.from == b.from).collect();
        assert_eq!(same, [false, true, true, false]);
    }

    #[test]
    fn a_path_says_what_its_file_is_of() {
        let (day, brk) = (date(2024, 1, 3), Symbol::parse("BRK.B"));
        for layout in [OutputLayout::Day, OutputLayout::Name, OutputLayout::Flat] {
            let file = layout.file_of(day, brk, "parquet");
            assert_eq!(FileUnit::of(Path::new(&file)), Some(FileUnit { layout, day, name: brk }), "{file}");
            if layout != OutputLayout::Name {
                let file = layout.file_of(day, None, "csv");
                let path = Path::new("a").join(&file);
                assert_eq!(FileUnit::of(&path), Some(FileUnit { layout, day, name: None }), "{file}");
            }
        }
        for (file, other) in [
            ("root_symbol=greeks/day=2024-01-03/greeks.csv", "root_symbol=greeks/day=2024-01-03/metrics.csv"),
            ("day=2024-01-03/greeks-SPY.parquet", "day=2024-01-03/metrics-SPY.parquet"),
            ("greeks-2024-01-03.csv", "metrics-2024-01-03.csv"),
        ] {
            assert_eq!(named(file, "metrics"), other);
        }
        for other in
            ["greeks.parquet", "day=soon/greeks.parquet", "day=2024-01-03/quotes.csv", "greeks-2024-01-03x.csv"]
        {
            assert_eq!(FileUnit::of(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_layout_of_names_has_a_file_for_each() {
        let units = [unit(3, "F", 1), unit(3, "KO", 9)];
        let files: Vec<String> =
            plan_files(&units, OutputLayout::Name, "csv").into_iter().map(|plan| plan.file).collect();
        assert_eq!(files, ["F", "KO"].map(|name| format!("root_symbol={name}/day=2024-01-03/greeks.csv")));
    }
}
