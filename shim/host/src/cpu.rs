//! Checks, before anything else runs, that this processor can run this build. Never: a choice between code paths.
//!
//! The check reads the processor's registers: `std::is_x86_feature_detected!` is `true` at compile time for every
//! feature that the build is made for, so it would always succeed. This module is built for the same processor as the
//! rest, so it avoids everything that the compiler has special instructions for: it formats no text, shifts nothing,
//! and compares bits in place. `tests/processors.sh` runs it on processors without these instructions.

/// The level of x86-64 that this build is made for; on other processors the architecture.
#[must_use]
pub fn built_for() -> &'static str {
    if cfg!(not(target_arch = "x86_64")) {
        return std::env::consts::ARCH;
    }
    // a level has all of its features: its newest ones identify it
    if cfg!(all(target_feature = "avx512vl", target_feature = "avx512bw", target_feature = "avx512dq")) {
        "x86-64-v4"
    } else if cfg!(all(target_feature = "avx2", target_feature = "fma", target_feature = "bmi2")) {
        "x86-64-v3"
    } else if cfg!(all(target_feature = "sse4.2", target_feature = "popcnt")) {
        "x86-64-v2"
    } else {
        "x86-64"
    }
}

/// True if the processor has all features that the build needs; else writes the missing ones to standard error.
#[must_use]
pub fn can_run() -> bool {
    #[cfg(target_arch = "x86_64")]
    return x86_64::can_run();
    // other architectures are built for their common base
    #[cfg(not(target_arch = "x86_64"))]
    true
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::io::{Write, stderr};

    /// Registers of the CPUID instruction; leaves are numbered as in the manuals of Intel and AMD.
    #[derive(Clone, Copy)]
    enum Answer {
        /// Leaf 1, ECX.
        Basic,
        /// Leaf 7, EBX, ECX and EDX.
        Ebx7,
        Ecx7,
        Edx7,
        /// Leaf 7, subleaf 1, EAX and EDX.
        Eax71,
        Edx71,
        /// Leaf 8000_0001h, ECX.
        Amd,
    }
    use Answer::{Amd, Basic, Eax71, Ebx7, Ecx7, Edx7, Edx71};

    struct Feature {
        /// Name in the compiler and in /proc/cpuinfo.
        name: &'static str,
        /// True if the compiler may use it in this build.
        needed: bool,
        answer: Answer,
        mask: u32,
        /// True if the standard library detects it.
        #[cfg(test)]
        detected: fn() -> bool,
    }

    macro_rules! features {
        ($($name:tt $answer:ident $bit:literal,)*) => {
            [$(Feature {
                name: $name,
                needed: cfg!(target_feature = $name),
                answer: $answer,
                mask: 1 << $bit,
                #[cfg(test)]
                detected: || std::is_x86_feature_detected!($name),
            }),*]
        };
    }

    /// Features that compilers and libraries use if the build is for a processor with them.
    static FEATURES: [Feature; 46] = features! {
        "sse3" Basic 0, "pclmulqdq" Basic 1, "ssse3" Basic 9, "fma" Basic 12, "cmpxchg16b" Basic 13, "sse4.1" Basic 19,
        "sse4.2" Basic 20, "movbe" Basic 22, "popcnt" Basic 23, "aes" Basic 25,
        // the system saves registers wider than those of SSE
        "xsave" Basic 27,
        "avx" Basic 28, "f16c" Basic 29, "rdrand" Basic 30,
        "bmi1" Ebx7 3, "avx2" Ebx7 5, "bmi2" Ebx7 8, "avx512f" Ebx7 16, "avx512dq" Ebx7 17, "rdseed" Ebx7 18,
        "adx" Ebx7 19, "avx512ifma" Ebx7 21, "avx512cd" Ebx7 28, "sha" Ebx7 29, "avx512bw" Ebx7 30, "avx512vl" Ebx7 31,
        "avx512vbmi" Ecx7 1, "avx512vbmi2" Ecx7 6, "gfni" Ecx7 8, "vaes" Ecx7 9, "vpclmulqdq" Ecx7 10,
        "avx512vnni" Ecx7 11, "avx512bitalg" Ecx7 12, "avx512vpopcntdq" Ecx7 14,
        "avx512vp2intersect" Edx7 8, "avx512fp16" Edx7 23,
        "sha512" Eax71 0, "avxvnni" Eax71 4, "avx512bf16" Eax71 5, "avxifma" Eax71 23,
        "avxvnniint8" Edx71 4, "avxneconvert" Edx71 5, "avxvnniint16" Edx71 10,
        "lzcnt" Amd 5, "sse4a" Amd 6, "tbm" Amd 21,
    };

    /// Registers of the processor, by [`Answer`].
    fn answers() -> [u32; 7] {
        let [mut ebx7, mut ecx7, mut edx7, mut eax71, mut edx71] = [0; 5];
        if __cpuid(0).eax >= 7 {
            let seven = __cpuid_count(7, 0);
            (ebx7, ecx7, edx7) = (seven.ebx, seven.ecx, seven.edx);
            if seven.eax >= 1 {
                let more = __cpuid_count(7, 1);
                (eax71, edx71) = (more.eax, more.edx);
            }
        }
        [__cpuid(1).ecx, ebx7, ecx7, edx7, eax71, edx71, __cpuid(0x8000_0001).ecx]
    }

    pub(super) fn can_run() -> bool {
        let answers = answers();
        let mut all = true;
        for feature in &FEATURES {
            if feature.needed && answers[feature.answer as usize] & feature.mask == 0 {
                say(if all { "greeksd: this build is for processors that have what this one lacks: " } else { ", " });
                say(feature.name);
                all = false;
            }
        }
        if !all {
            say(". Build it on this machine (`cargo build --release`), or for all of its kind (`just portable`).\n");
        }
        all
    }

    /// Writes to standard error; if it is closed, the text is lost.
    fn say(text: &str) {
        let _ = stderr().write_all(text.as_bytes());
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_runs_the_tests_can_run_the_build() {
            assert!(can_run());
        }

        #[test]
        fn the_standard_library_finds_the_same() {
            let answers = answers();
            for feature in &FEATURES {
                let has = answers[feature.answer as usize] & feature.mask != 0;
                assert_eq!(has, (feature.detected)(), "{}", feature.name);
            }
        }
    }
}
