//! The version of the program, and facts of its build for support. Never: the version of another program.

use host::cpu;

/// The version.
#[must_use]
pub fn line() -> String {
    concat!("greeksd ", env!("CARGO_PKG_VERSION"), "\n").to_owned()
}

/// The version, and one line each for commit, build, target, processor and features.
#[must_use]
pub fn lines() -> String {
    let commit = match env!("GREEKSD_BUILT_COMMIT") {
        "" => "not recorded: built with cargo, without the script that makes packages",
        commit => commit,
    };
    format!(
        "{}commit: {commit}\nbuild: {}, {}\ntarget: {}\nprocessor level: {}\nfeatures: {}\n",
        line(),
        env!("GREEKSD_BUILT_PROFILE"),
        env!("GREEKSD_BUILT_COMPILER"),
        env!("GREEKSD_BUILT_TARGET"),
        cpu::built_for(),
        features(),
    )
}

/// The optional features of the build.
fn features() -> String {
    let all = [
        ("tables", cfg!(feature = "tables")),
        ("view", cfg!(feature = "view")),
        ("databento-live", cfg!(feature = "databento-live")),
        ("fault-injection", cfg!(feature = "fault-injection")),
    ];
    let has: Vec<&str> = all.into_iter().filter(|(_, is_in)| *is_in).map(|(name, _)| name).collect();
    if has.is_empty() { "none".to_owned() } else { has.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_says_something() {
        let text = lines();
        assert!(text.starts_with(&line()), "{text}");
        let names: Vec<&str> = text.lines().skip(1).map(|line| line.split_once(": ").unwrap().0).collect();
        assert_eq!(names, ["commit", "build", "target", "processor level", "features"]);
        for line in text.lines() {
            assert!(!line.ends_with([' ', ':', ',']), "{line}");
        }
        assert!(text.contains(std::env::consts::ARCH) && text.contains("rustc 1."), "{text}");
    }
}
