//! The specification of tastytrade: `tasty:SPX,SPY`, `tasty:SPY@https://HOST`. Never: a session.

use crate::feed_names::add_name;
use crate::poll::client::{AnswerBounds, ServerBase};
use crate::poll::sign_in::{RefreshToken, SignIn, TokenForm, TokenTerms};
use crate::session::SessionSource;
use crate::tasty::{self, TastyTerms};
use host::clock::MarketClock;
use host::secret::Keys;
use kernel::contract::Symbol;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// Environment variables of the application's secret and of the refresh token.
pub const KEYS: [&str; 2] = ["GREEKSD_TASTY_CLIENT_SECRET", "GREEKSD_TASTY_REFRESH_TOKEN"];
/// The vendor's server.
const BASE: &str = "https://api.tastyworks.com";
/// Time without a message of the streamer after which it counts as dead.
const SILENCE: Duration = Duration::from_secs(feeds::dxlink::KEEPALIVE_S);
/// A refresh token is valid until the user ends it.
const TOKEN: TokenTerms = TokenTerms {
    vendor: "tasty",
    path: "/oauth/token",
    form: TokenForm::Json,
    lasts: None,
    page: "docs/feeds/brokers.md",
};

/// Streamed quotes of some names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TastySpec {
    names: Vec<Symbol>,
    /// Address of a server to ask instead of the vendor's own.
    base: Option<ServerBase>,
}

impl TastySpec {
    /// Parses the text after `tasty:`.
    ///
    /// # Errors
    /// Why the text is refused, for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (list, base) = match text.split_once('@') {
            Some((list, base)) => (list, Some(ServerBase::parse(base)?)),
            None => (text, None),
        };
        let mut names = Vec::new();
        for item in list.split(',') {
            if let Some((option, _)) = item.split_once('=') {
                return Err(format!("unknown option {option}; tasty has none"));
            }
            add_name(&mut names, item)?;
        }
        Ok(Self { names, base })
    }

    /// Opens the feed.
    ///
    /// # Errors
    /// A key is missing, or the address would let others read it, or there is no thread.
    pub fn source(
        &self,
        name: String,
        keys: &Keys,
        authorities: Option<&Path>,
        clock: MarketClock,
    ) -> Result<SessionSource, String> {
        let base = self.base.clone().map_or_else(|| ServerBase::parse(BASE), Ok)?;
        let [secret, refresh] = [keys.need(KEYS[0])?.clone(), keys.need(KEYS[1])?.clone()];
        if !base.is_private() {
            return Err(format!("{base}: keys are sent over https or to this machine only"));
        }
        let terms = TastyTerms {
            names: self.names.clone(),
            base,
            sign_in: SignIn::new(TOKEN, None, secret, RefreshToken::Fixed(refresh)),
            authorities: authorities.map(Path::to_path_buf),
            bounds: AnswerBounds::default(),
            silence: SILENCE,
            clock,
        };
        tasty::start(name, terms)
    }
}

impl fmt::Display for TastySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names.iter().map(Symbol::as_str).collect();
        write!(f, "tasty:{}", names.join(","))?;
        self.base.iter().try_for_each(|base| write!(f, "@{base}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_an_address_are_read() {
        let shown = |text: &str| TastySpec::parse(text).map(|spec| spec.to_string());
        for (text, wanted) in [
            ("SPX,_SPX,brk/b", "tasty:SPX,BRK.B"),
            ("SPY@https://api.cert.tastyworks.com/", "tasty:SPY@https://api.cert.tastyworks.com"),
        ] {
            assert_eq!(shown(text), Ok(wanted.to_owned()), "{text}");
        }
        for (text, wanted) in [("", "symbol"), ("SPY,every=1", "unknown option every"), ("SPY@x", "expected http://")] {
            assert!(shown(text).unwrap_err().contains(wanted), "{text}: {:?}", shown(text));
        }
    }

    #[test]
    fn a_key_that_is_missing_and_an_open_address_are_refused() {
        let open = |text: &str, keys: &Keys| {
            let spec = TastySpec::parse(text).unwrap();
            spec.source(spec.to_string(), keys, None, MarketClock::Running).map(drop)
        };
        assert!(open("SPY", &Keys::default()).unwrap_err().contains(KEYS[0]));
        let keys = Keys::read(None, &|_| Some("x".into())).unwrap();
        let said = open("SPY@http://192.0.2.1:80", &keys).unwrap_err();
        assert!(said.contains("keys are sent over https"), "{said}");
    }
}
