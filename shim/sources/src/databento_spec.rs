//! The specification of Databento's live gateway: `databento:SPX,SPY`, `databento:SPY,schema=cmbp-1@HOST:PORT`. Without
//! the feature `databento-live` it is refused, with the command that builds the program with it. Never: a session.

use crate::QuoteSource;
#[cfg(feature = "databento-live")]
use crate::databento::{self, SessionTerms};
use crate::feed_names::add_name;
use host::clock::MarketClock;
use host::secret::Keys;
use kernel::contract::Symbol;
use std::fmt;

/// Environment variable of the key.
pub const KEY: &str = "GREEKSD_DATABENTO_KEY";
/// Schemas of quotes; the first is the default.
const SCHEMAS: [&str; 2] = ["cbbo-1s", "cmbp-1"];
/// Error of a build without the gateway.
#[cfg(not(feature = "databento-live"))]
const NOT_BUILT: &str = "this program is built without Databento's live gateway: build it with `cargo build --release --features \
    databento-live`, or push to tcp: from a script (docs/feeds.md)";

/// Live quotes of some underlyings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabentoSpec {
    names: Vec<Symbol>,
    schema: &'static str,
    /// Address to connect to instead of the vendor's gateway.
    address: Option<String>,
}

impl DatabentoSpec {
    /// Parses the text after `databento:`.
    ///
    /// # Errors
    /// Why the text is refused, for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[cfg(not(feature = "databento-live"))]
        return Err(format!("{text}: {NOT_BUILT}"));
        #[cfg(feature = "databento-live")]
        Self::read(text)
    }

    #[cfg_attr(not(feature = "databento-live"), allow(dead_code, reason = "refused before it is read"))]
    fn read(text: &str) -> Result<Self, String> {
        let (list, address) = match text.split_once('@') {
            Some((list, address)) => (list, Some(address_of(address)?)),
            None => (text, None),
        };
        let (mut names, mut schema) = (Vec::new(), SCHEMAS[0]);
        for item in list.split(',') {
            match item.split_once('=') {
                Some(("schema", word)) => {
                    let known = SCHEMAS.into_iter().find(|&known| known == word);
                    schema = known.ok_or_else(|| format!("schema: expected {}", SCHEMAS.join(" or ")))?;
                }
                Some((option, _)) => return Err(format!("unknown option {option}; the only option is schema")),
                None => add_name(&mut names, item)?,
            }
        }
        if names.is_empty() {
            return Err("expected names, such as databento:SPX,SPY".to_owned());
        }
        Ok(Self { names, schema, address })
    }

    /// Opens the feed.
    ///
    /// # Errors
    /// There is no key, or no thread.
    #[cfg(feature = "databento-live")]
    pub fn source(&self, name: String, keys: &Keys, clock: MarketClock) -> Result<Box<dyn QuoteSource>, String> {
        let schema = databento::SCHEMAS.iter().find(|(word, _)| *word == self.schema).map(|&(_, schema)| schema);
        let session = SessionTerms {
            names: self.names.clone(),
            schema: schema.ok_or("no such schema")?,
            address: self.address.clone(),
            key: keys.need(KEY)?.clone(),
            clock,
        };
        Ok(Box::new(databento::start(name, session).map_err(|error| error.to_string())?))
    }

    /// Refuses to open the feed.
    ///
    /// # Errors
    /// Always: this build has no gateway.
    #[cfg(not(feature = "databento-live"))]
    pub fn source(&self, _: String, _: &Keys, _: MarketClock) -> Result<Box<dyn QuoteSource>, String> {
        Err(NOT_BUILT.to_owned())
    }
}

impl fmt::Display for DatabentoSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names.iter().map(Symbol::as_str).collect();
        write!(f, "databento:{}", names.join(","))?;
        if self.schema != SCHEMAS[0] {
            write!(f, ",schema={}", self.schema)?;
        }
        self.address.iter().try_for_each(|address| write!(f, "@{address}"))
    }
}

/// Checks an address `HOST:PORT`.
#[cfg_attr(not(feature = "databento-live"), allow(dead_code, reason = "refused before it is read"))]
fn address_of(text: &str) -> Result<String, String> {
    let port =
        text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).and_then(|(_, port)| port.parse::<u16>().ok());
    port.map(|_| text.to_owned()).ok_or_else(|| format!("@{text}: expected HOST:PORT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_schema_and_an_address_are_read() {
        let shown = |text: &str| DatabentoSpec::read(text).map(|spec| spec.to_string());
        for (text, wanted) in [
            ("SPX,_SPX,brk/b", "databento:SPX,BRK.B"),
            ("SPY,schema=cbbo-1s", "databento:SPY"),
            ("SPY,schema=cmbp-1@127.0.0.1:13000", "databento:SPY,schema=cmbp-1@127.0.0.1:13000"),
        ] {
            assert_eq!(shown(text), Ok(wanted.to_owned()), "{text}");
        }
        for (text, wanted) in [
            ("", "is not a symbol"),
            ("schema=cmbp-1", "expected names"),
            ("SPY,schema=mbo", "expected cbbo-1s or cmbp-1"),
            ("SPY,rate=1", "unknown option rate"),
            ("SPY@127.0.0.1", "expected HOST:PORT"),
        ] {
            assert!(shown(text).unwrap_err().contains(wanted), "{text}: {:?}", shown(text));
        }
    }
}
