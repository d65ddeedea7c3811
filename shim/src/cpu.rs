//! Whether this processor can run this build, asked before anything else runs. Never: a choice between code paths.
//!
//! It asks the processor itself: `std::is_x86_feature_detected!` is `true` at compile time for every feature that the
//! build is made for, so here it would always say that all is well.

/// What the build needs and the processor lacks, as a sentence for the user; `None` if it can run.
#[cfg(target_arch = "x86_64")]
#[must_use]
pub fn missing() -> Option<String> {
    let cpu = raw_cpuid::CpuId::new();
    let (basic, extended) = (cpu.get_feature_info(), cpu.get_extended_feature_info());
    let has_avx2 = extended.as_ref().is_some_and(raw_cpuid::ExtendedFeatures::has_avx2);
    let has_fma = basic.as_ref().is_some_and(|features| features.has_fma() && features.has_oxsave());
    let needs = [("AVX2", cfg!(target_feature = "avx2"), has_avx2), ("FMA", cfg!(target_feature = "fma"), has_fma)];
    sentence(&needs)
}

/// Other architectures are built for their common base.
#[cfg(not(target_arch = "x86_64"))]
#[must_use]
pub fn missing() -> Option<String> {
    None
}

/// Names those that are needed and not there: (name, needed, there).
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "nothing is asked there"))]
fn sentence(needs: &[(&str, bool, bool)]) -> Option<String> {
    let lacking: Vec<&str> =
        needs.iter().filter(|(_, needed, there)| *needed && !there).map(|&(name, ..)| name).collect();
    (!lacking.is_empty()).then(|| {
        format!(
            "greeksd: this build needs a processor with AVX2 and FMA (2015 or later); this one lacks {}. \
             Use the portable build (`just portable`).",
            lacking.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_the_tests_can_run_the_build() {
        assert_eq!(missing(), None);
    }

    #[test]
    fn the_sentence_names_what_is_lacking() {
        assert_eq!(sentence(&[("AVX2", false, false), ("FMA", true, true)]), None);
        let text = sentence(&[("AVX2", true, false), ("FMA", true, false)]).unwrap();
        assert!(text.contains("lacks AVX2 and FMA."), "{text}");
    }
}
