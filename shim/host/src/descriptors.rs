//! The limit of open files and sockets. Never: a socket.

/// Descriptors reserved for listeners, polls, the log, and files of the feed and of the state.
const OTHERS: u64 = 64;

/// Raises the limit of open files as far as possible. Returns the number of connections that it leaves room for;
/// `None`: unlimited.
#[must_use]
pub fn for_connections() -> Option<usize> {
    raise().map(|limit| usize::try_from(limit.saturating_sub(OTHERS)).unwrap_or(usize::MAX))
}

#[cfg(unix)]
fn raise() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Maximum that macOS accepts although it reports an infinite hard limit.
    const MOST: u64 = 10_240;
    let before = getrlimit(Resource::Nofile);
    for wanted in [before.maximum, before.maximum.map_or(Some(MOST), |most| Some(most.min(MOST)))] {
        let is_more = before.current.is_some_and(|now| wanted.is_none_or(|wanted| wanted > now));
        // a limit that cannot be raised stays
        if is_more && setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum: before.maximum }).is_ok() {
            break;
        }
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
fn raise() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        use rustix::process::{Resource, getrlimit};
        let before = getrlimit(Resource::Nofile);
        let room = super::for_connections();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.maximum, before.maximum);
        if let Some(hard) = before.maximum.filter(|&hard| hard < 1 << 20) {
            assert_eq!(now.current, Some(hard));
        }
        assert_eq!(room, now.current.map(|limit| usize::try_from(limit - super::OTHERS).unwrap()));
    }
}
