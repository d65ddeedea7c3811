//! Which files a job writes, and which units each of them has. A name that was quoted once on a day stands in the day's
//! file, one that was quoted several times has a file of its own: by its rows alone, whatever else the job has. Never:
//! a computation.

use crate::digest::Digest;
use crate::unit::HistoryUnit;
use jiff::civil::Date;
use kernel::contract::Symbol;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// Its path in the folder of outputs, with slashes.
    pub file: String,
    /// Its units, in their order: those that can be computed.
    pub units: Vec<usize>,
    /// What all of it is computed from, units that cannot be computed too.
    pub from: Digest,
    /// One name at several times.
    pub is_of_name: bool,
}

/// The file of a day, or of one name on it, by its path in the folder of outputs.
#[must_use]
pub fn file_of(day: Date, name: Option<Symbol>, extension: &str) -> String {
    let file = format!("day={day}/greeks.{extension}");
    name.map_or(file.clone(), |name| format!("root_symbol={name}/{file}"))
}

/// The files of some units, which stand by day and underlying, in the order of their first units. A file may be left
/// without a unit that can be computed.
#[must_use]
pub fn plan_files(units: &[HistoryUnit], extension: &str) -> Vec<FilePlan> {
    let mut plans: Vec<FilePlan> = Vec::new();
    let mut of_day: Option<usize> = None;
    for (i, unit) in units.iter().enumerate() {
        if i > 0 && units[i - 1].day != unit.day {
            of_day = None;
        }
        let is_of_name = unit.snapshots > 1;
        let at = match of_day.filter(|_| !is_of_name) {
            Some(at) => at,
            None => {
                let file = file_of(unit.day, is_of_name.then_some(unit.underlying), extension);
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
        let plans = plan_files(&units, "csv");
        let seen: Vec<(&str, &[usize])> = plans.iter().map(|plan| (plan.file.as_str(), &plan.units[..])).collect();
        assert_eq!(
            seen,
            [
                ("day=2024-01-03/greeks.csv", &[0, 2][..]),
                ("root_symbol=KO/day=2024-01-03/greeks.csv", &[1]),
                ("day=2024-01-04/greeks.csv", &[3]),
                ("root_symbol=KO/day=2024-01-04/greeks.csv", &[4]),
            ]
        );
        // a fault takes its unit out and makes it another file
        units[2].fault = Some(Box::new(UnitFault::Computation));
        units[4].fault = units[2].fault.clone();
        let faulty = plan_files(&units, "csv");
        assert_eq!(faulty.iter().map(|plan| plan.units.len()).collect::<Vec<_>>(), [1, 1, 1, 0]);
        let same: Vec<bool> = plans.iter().zip(&faulty).map(|(a, b)| a.from == b.from).collect();
        assert_eq!(same, [false, true, true, false]);
    }
}
