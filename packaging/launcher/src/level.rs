//! Levels of x86-64 processors, as compilers name them, and which of them a processor has.
//!
//! A level counts only with all of its features, and with the system's word that it keeps the wide registers of each
//! thread (XGETBV). macOS turns AVX-512 on at a thread's first use and does not report it before, so that x86-64-v3 is
//! found there.

/// Processor level of a build; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every x86-64 processor.
    Base,
    /// SSE4.2, since about 2009.
    V2,
    /// AVX2 and FMA, since about 2015.
    V3,
    /// AVX-512 with its byte, word, doubleword and vector length parts.
    V4,
}

impl Level {
    /// All, from the lowest.
    pub const ALL: [Level; 4] = [Level::Base, Level::V2, Level::V3, Level::V4];

    /// As compilers write it: `x86-64-v3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Base => "x86-64",
            Level::V2 => "x86-64-v2",
            Level::V3 => "x86-64-v3",
            Level::V4 => "x86-64-v4",
        }
    }

    /// The level of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// Where an answer of a processor stands; leaves are those of the manuals of Intel and AMD.
#[derive(Clone, Copy)]
enum Answer {
    /// Leaf 1, ECX.
    Basic,
    /// Leaf 7, EBX.
    Ebx7,
    /// Leaf 8000_0001h, ECX.
    Amd,
    /// Extended control register 0: which registers the system keeps.
    Kept,
}
use Answer::{Amd, Basic, Ebx7, Kept};

/// A feature: its level, its name as compilers and /proc/cpuinfo write it, and the bits that are all set where it is
/// there.
type Feature = (Level, &'static str, Answer, u32);

/// Features of the levels, by the psABI of x86-64.
#[rustfmt::skip]
static FEATURES: [Feature; 23] = [
    (Level::V2, "sse3", Basic, 1 << 0),
    (Level::V2, "ssse3", Basic, 1 << 9),
    (Level::V2, "cmpxchg16b", Basic, 1 << 13),
    (Level::V2, "sse4.1", Basic, 1 << 19),
    (Level::V2, "sse4.2", Basic, 1 << 20),
    (Level::V2, "popcnt", Basic, 1 << 23),
    (Level::V2, "lahf", Amd, 1 << 0),
    (Level::V3, "fma", Basic, 1 << 12),
    (Level::V3, "movbe", Basic, 1 << 22),
    (Level::V3, "osxsave", Basic, 1 << 27),
    (Level::V3, "avx", Basic, 1 << 28),
    (Level::V3, "f16c", Basic, 1 << 29),
    (Level::V3, "bmi1", Ebx7, 1 << 3),
    (Level::V3, "avx2", Ebx7, 1 << 5),
    (Level::V3, "bmi2", Ebx7, 1 << 8),
    (Level::V3, "lzcnt", Amd, 1 << 5),
    // registers of SSE and of AVX
    (Level::V3, "registers of avx that the system keeps", Kept, 0b110),
    (Level::V4, "avx512f", Ebx7, 1 << 16),
    (Level::V4, "avx512dq", Ebx7, 1 << 17),
    (Level::V4, "avx512cd", Ebx7, 1 << 28),
    (Level::V4, "avx512bw", Ebx7, 1 << 30),
    (Level::V4, "avx512vl", Ebx7, 1 << 31),
    // masks, and the upper halves and the upper sixteen of the wide registers
    (Level::V4, "registers of avx512 that the system keeps", Kept, 0b1110_0110),
];

/// Answers of a processor and its system; the fields are registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processor {
    basic: u32,
    ebx7: u32,
    amd: u32,
    kept: u32,
}

impl Processor {
    /// This machine's. On other architectures it has none of the levels.
    #[must_use]
    pub fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        return x86_64::processor();
        #[cfg(not(target_arch = "x86_64"))]
        Self::default()
    }

    /// The highest level that it has.
    #[must_use]
    pub fn level(&self) -> Level {
        Level::ALL.into_iter().rev().find(|level| self.lacks(*level).is_empty()).unwrap_or(Level::Base)
    }

    /// Returns the missing features of a level and the levels before it.
    #[must_use]
    pub fn lacks(&self, wanted: Level) -> Vec<&'static str> {
        let lacking = |(level, _, answer, bits): &&Feature| *level <= wanted && self.answer(*answer) & bits != *bits;
        FEATURES.iter().filter(lacking).map(|(_, name, _, _)| *name).collect()
    }

    fn answer(&self, answer: Answer) -> u32 {
        match answer {
            Basic => self.basic,
            Ebx7 => self.ebx7,
            Amd => self.amd,
            Kept => self.kept,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::Processor;
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

    const OSXSAVE: u32 = 1 << 27;

    pub(super) fn processor() -> Processor {
        let basic = __cpuid(1).ecx;
        let ebx7 = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        let amd = if __cpuid(0x8000_0000).eax >= 0x8000_0001 { __cpuid(0x8000_0001).ecx } else { 0 };
        let kept = if basic & OSXSAVE != 0 { kept() } else { 0 };
        Processor { basic, ebx7, amd, kept }
    }

    #[allow(unsafe_code, reason = "one instruction")]
    fn kept() -> u32 {
        #[target_feature(enable = "xsave")]
        fn register_0() -> u64 {
            // SAFETY: register 0 is there wherever the instruction is.
            unsafe { _xgetbv(0) }
        }
        // SAFETY: the caller has seen that the system lets programs use the instruction.
        (unsafe { register_0() } & 0xffff_ffff) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of processors under Linux, as the manuals' leaves give them.
    const NEHALEM: Processor = Processor { basic: 0x0098_e3fd, ebx7: 0, amd: 1, kept: 0 };
    const HASWELL: Processor = Processor { basic: 0x7ffa_fbff, ebx7: 0x0000_27ab, amd: 0x21, kept: 0x7 };
    const SKYLAKE_SERVER: Processor = Processor { basic: 0x7ffe_fbff, ebx7: 0xd39f_fffb, amd: 0x121, kept: 0x2e7 };

    #[test]
    fn levels_are_those_of_the_processors() {
        assert_eq!(Processor::default().level(), Level::Base);
        assert_eq!(NEHALEM.level(), Level::V2);
        assert_eq!(HASWELL.level(), Level::V3);
        assert_eq!(SKYLAKE_SERVER.level(), Level::V4);
    }

    #[test]
    fn registers_that_the_system_does_not_keep_are_not_used() {
        assert_eq!(Processor { kept: 0x7, ..SKYLAKE_SERVER }.level(), Level::V3);
        assert_eq!(Processor { kept: 0x3, ..SKYLAKE_SERVER }.level(), Level::V2);
        assert_eq!(Processor { kept: 0x3, ..HASWELL }.lacks(Level::V3), ["registers of avx that the system keeps"]);
    }

    #[test]
    fn one_feature_less_is_a_level_less() {
        for (level, name, answer, bits) in FEATURES {
            let mut less = SKYLAKE_SERVER;
            let register = match answer {
                Basic => &mut less.basic,
                Ebx7 => &mut less.ebx7,
                Amd => &mut less.amd,
                Kept => &mut less.kept,
            };
            *register &= !bits;
            assert!(less.level() < level, "{name}");
            assert!(less.lacks(Level::V4).contains(&name), "{name}");
        }
    }

    #[test]
    fn names_go_there_and_back() {
        for level in Level::ALL {
            assert_eq!(Level::named(level.name()), Some(level));
        }
        assert_eq!(Level::named("x86-64-v5"), None);
    }

    /// On a processor that it can ask, the standard library knows the same features; `lahf` is not one that it names.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_standard_library_finds_the_same_level() {
        macro_rules! all {
            ($($name:tt),*) => { true $(&& std::is_x86_feature_detected!($name))* };
        }
        let v2 = all!("sse3", "ssse3", "cmpxchg16b", "sse4.1", "sse4.2", "popcnt");
        let v3 = v2 && all!("fma", "movbe", "avx", "f16c", "bmi1", "avx2", "bmi2", "lzcnt");
        let v4 = v3 && all!("avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl");
        let found = if v4 {
            Level::V4
        } else if v3 {
            Level::V3
        } else if v2 {
            Level::V2
        } else {
            Level::Base
        };
        assert_eq!(Processor::here().level(), found);
    }
}
