//! From a processor, a folder of builds and what the user wants to the build that is started.

use crate::level::{Level, Processor};
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The variable that names a level, for tests and support.
pub const VARIABLE: &str = "GREEKSD_LEVEL";

/// Why no build is started.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The variable names no level that builds are for.
    Unknown(String),
    /// The variable names a level of which the processor lacks these.
    Lacking(Level, Vec<&'static str>),
    /// The variable names a level without a build in these folders.
    Missing(Level, Vec<PathBuf>),
    /// The processor lacks these of the lowest level that builds are for.
    TooOld(Vec<&'static str>),
    /// The folders have no build that the processor can run.
    NoBuild(Vec<PathBuf>),
}

impl Refusal {
    /// The program's exit code: 2 for what a user set, 1 for what is the machine's or the package's.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Refusal::Unknown(_) | Refusal::Lacking(..) | Refusal::Missing(..) => 2,
            Refusal::TooOld(_) | Refusal::NoBuild(_) => 1,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folders = |folders: &[PathBuf]| {
            folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" or ")
        };
        match self {
            Refusal::Unknown(value) => {
                write!(f, "{VARIABLE}={value}: levels are x86-64-v2, x86-64-v3 and x86-64-v4")
            }
            Refusal::Lacking(level, lacking) => {
                write!(f, "{VARIABLE}={}: this processor lacks {}", level.name(), lacking.join(", "))
            }
            Refusal::Missing(level, places) => {
                write!(f, "{VARIABLE}={}: no build for it in {}", level.name(), folders(places))
            }
            Refusal::TooOld(lacking) => write!(
                f,
                "builds are for x86-64-v2, processors since about 2009, and this one lacks {}",
                lacking.join(", ")
            ),
            Refusal::NoBuild(places) => {
                write!(f, "no build that this processor can run in {}: install the package again", folders(places))
            }
        }
    }
}

/// Where builds are, seen from the folder of the launcher: below it as in an archive, or beside it as below `/usr`.
#[must_use]
pub fn folders(launcher: &Path) -> Vec<PathBuf> {
    let mut all = vec![launcher.join("lib").join("greeksd")];
    all.extend(launcher.parent().map(|above| above.join("lib").join("greeksd")));
    all
}

/// The level to run: the one that is wanted (none, or empty: the processor's).
///
/// # Errors
///
/// Nothing has that name, or the processor lacks some of it, or has less than every build needs.
pub fn level(processor: &Processor, wanted: Option<&OsStr>) -> Result<Level, Refusal> {
    if let Some(value) = wanted.filter(|value| !value.is_empty()) {
        let level = value.to_str().and_then(Level::named).filter(|level| *level > Level::Base);
        let level = level.ok_or_else(|| Refusal::Unknown(value.to_string_lossy().into_owned()))?;
        let lacking = processor.lacks(level);
        return if lacking.is_empty() { Ok(level) } else { Err(Refusal::Lacking(level, lacking)) };
    }
    match processor.level() {
        Level::Base => Err(Refusal::TooOld(processor.lacks(Level::V2))),
        level => Ok(level),
    }
}

/// The build to start from the first of the folders that has one: of the wanted level, or the highest that is there and
/// that the processor can run.
///
/// # Errors
///
/// As [`level`], or no such build is there.
pub fn build(processor: &Processor, folders: &[PathBuf], wanted: Option<&OsStr>) -> Result<PathBuf, Refusal> {
    let highest = level(processor, wanted)?;
    let is_wanted = wanted.is_some_and(|value| !value.is_empty());
    let lowest = if is_wanted { highest } else { Level::V2 };
    let levels = || Level::ALL.into_iter().rev().filter(|level| (lowest..=highest).contains(level));
    let builds = folders.iter().flat_map(|folder| levels().map(|level| folder.join(file(level))));
    builds.into_iter().find(|build| build.is_file()).ok_or_else(|| {
        if is_wanted { Refusal::Missing(highest, folders.to_vec()) } else { Refusal::NoBuild(folders.to_vec()) }
    })
}

/// The file name of a level's build.
#[must_use]
pub fn file(level: Level) -> String {
    format!("greeksd-{}{}", level.name(), std::env::consts::EXE_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A temporary folder with builds of some levels; it is removed when dropped.
    struct Builds(PathBuf);

    impl Builds {
        fn of(name: &str, levels: &[Level]) -> Self {
            let folder = std::env::temp_dir().join(format!("greeksd-choice-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            for level in levels {
                fs::write(folder.join(file(*level)), "").unwrap();
            }
            Self(folder)
        }
    }

    impl Drop for Builds {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn wanted(level: &str) -> Option<&OsStr> {
        Some(OsStr::new(level))
    }

    #[test]
    fn a_processor_without_a_level_is_told_what_it_lacks() {
        let refusal = build(&Processor::default(), &[], None).unwrap_err();
        assert_eq!(refusal.exit_code(), 1);
        assert!(refusal.to_string().contains("this one lacks sse3, ssse3, cmpxchg16b, sse4.1, sse4.2, popcnt, lahf"));
        let refusal = build(&Processor::default(), &[], wanted("x86-64-v4")).unwrap_err();
        assert_eq!(refusal.exit_code(), 2);
        assert!(refusal.to_string().starts_with("GREEKSD_LEVEL=x86-64-v4: this processor lacks sse3, "), "{refusal}");
    }

    #[test]
    fn only_levels_of_builds_may_be_wanted() {
        for value in ["x86-64", "v3", "x86-64-v5", " x86-64-v2"] {
            assert_eq!(level(&Processor::here(), wanted(value)), Err(Refusal::Unknown(value.into())));
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_highest_build_that_is_there_is_taken() {
        let processor = Processor::here();
        assert!(processor.level() >= Level::V3, "a test machine has AVX2");
        let builds = Builds::of("highest", &[Level::V2, Level::V3]);
        let empty = Builds::of("empty", &[]);
        let folders = [empty.0.clone(), builds.0.clone()];
        assert_eq!(build(&processor, &folders, None), Ok(builds.0.join(file(Level::V3))));
        assert_eq!(build(&processor, &folders, wanted("")), Ok(builds.0.join(file(Level::V3))));
        assert_eq!(build(&processor, &folders, wanted("x86-64-v2")), Ok(builds.0.join(file(Level::V2))));
        assert_eq!(build(&processor, &folders[..1], None), Err(Refusal::NoBuild(folders[..1].to_vec())));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_wanted_build_is_not_replaced_by_another() {
        let builds = Builds::of("wanted", &[Level::V3]);
        let folders = [builds.0.clone()];
        let refusal = build(&Processor::here(), &folders, wanted("x86-64-v2")).unwrap_err();
        assert_eq!(refusal, Refusal::Missing(Level::V2, folders.to_vec()));
        assert!(refusal.to_string().starts_with("GREEKSD_LEVEL=x86-64-v2: no build for it in "), "{refusal}");
    }
}
