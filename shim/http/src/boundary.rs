//! Refuses requests of browsers that are for another host, or come from a page of another site. Never: a path.
//!
//! Every page in the user's browser can reach a server on the loopback. A page whose name resolves to this machine (DNS
//! rebinding) sends its own name in `Host`; a cross-site request has `Sec-Fetch-Site`. An IP address as host cannot be
//! rebound. Any page may open a WebSocket and read it, as no rule of browsers forbids that: its `Origin` must be ours.

use super::request::{Fault, Request};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The accepted host names, besides IP addresses, `localhost` and `*.localhost`.
#[derive(Clone, Debug, Default)]
pub(super) struct Boundary {
    allowed: Vec<String>,
}

impl Boundary {
    /// Accepts these names, too, in any case and on any port.
    pub(super) fn new(allow_hosts: &[String]) -> Self {
        Self { allowed: allow_hosts.iter().map(|name| name.trim_end_matches('.').to_ascii_lowercase()).collect() }
    }

    /// Why a request is refused; `None`: it is accepted.
    pub(super) fn fault(&self, request: &Request<'_>) -> Option<Fault> {
        if !request.hosts().all(|host| self.admits(host)) {
            return Some(Fault::OtherHost);
        }
        let says = |name: &str, word: &str| request.header(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
        // a link on another site may lead here: the browser then shows the page, and the other site cannot read it
        let crosses = says("sec-fetch-site", "cross-site") && !says("sec-fetch-mode", "navigate");
        (crosses || (request.wants_socket() && !has_own_origin(request))).then_some(Fault::CrossSite)
    }

    /// True if a host, with or without a port, is accepted. An empty one is, too: old programs send it, and browsers
    /// never do.
    fn admits(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else { return false };
        if host.is_empty() {
            return true;
        }
        if let Some(rest) = host.strip_prefix('[') {
            let Some((address, port)) = rest.split_once(']') else { return false };
            let address = address.split_once('%').map_or(address, |(address, _zone)| address);
            return is_port(port) && address.parse::<Ipv6Addr>().is_ok();
        }
        let (name, port) = host.find(':').map_or((host, ""), |colon| host.split_at(colon));
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        is_port(port)
            && (name == "localhost"
                || name.ends_with(".localhost")
                || name.parse::<Ipv4Addr>().is_ok()
                || self.allowed.contains(&name))
    }
}

/// True if a request comes from a page of the host that it asks, or from no page.
fn has_own_origin(request: &Request<'_>) -> bool {
    let Some(origin) = request.header("origin") else { return !request.has("origin") };
    let is_of = |host: &str| {
        [("http://", ":80"), ("https://", ":443")].into_iter().any(|(scheme, port)| {
            let page = origin.get(..scheme.len()).filter(|start| start.eq_ignore_ascii_case(scheme));
            let whole = |name: &str| name.strip_suffix(port).unwrap_or(name).to_ascii_lowercase();
            page.is_some() && whole(&origin[scheme.len()..]) == whole(host)
        })
    };
    request.host().is_some_and(is_of)
}

/// True for an empty text, or a colon and a port, which may be empty.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_in_digits_and_local_names_are_ours() {
        let boundary = Boundary::new(&["Greeks.Example".to_owned(), "box".to_owned()]);
        let ours = "127.0.0.1 127.0.0.1:2112 192.168.1.7:80 0.0.0.0 [::1] [::1]:2112 [fe80::1%25eth0]:1 localhost \
                    LocalHost:2112 localhost. a.localhost:1 x.y.localhost greeks.example GREEKS.EXAMPLE:443 box. box:";
        for host in ours.split_whitespace().chain([""]) {
            assert!(boundary.admits(host.as_bytes()), "{host}");
        }
        let others = "evil evil:2112 evil.example notlocalhost localhost.evil 127.0.0.1.evil 127.0.0.1@evil \
                      evil@127.0.0.1 [::1 [::1]evil ::1 1.2.3 127.1 0x7f.0.0.1 127.0.0.1:x greeks.example.evil \
                      sub.box .localhost.evil [evil] 127.0.0.1,evil";
        for host in others.split_whitespace() {
            assert!(!boundary.admits(host.as_bytes()), "{host}");
        }
        assert!(!boundary.admits(b"\xff") && !Boundary::default().admits(b"box"));
    }

    proptest! {
        #[test]
        fn no_host_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40), text in "[\\[\\]:.%a-z0-9@]{0,20}") {
            let boundary = Boundary::default();
            let _ = (boundary.admits(&bytes), boundary.admits(text.as_bytes()));
        }
    }
}
