//! tastytrade's Open API as JSON: the contracts of a name with their symbols at the streamer, and the token of the
//! streamer. Bytes to records. Never: a quote, which the streamer alone has (`dxlink.rs`).

use super::intake::{Fault, at, read_listed};
use super::json::{self, Given, Listed, Text, objects};
use super::spelling::parse_contract;
use core::fmt;
use kernel::contract::ContractKey;
use kernel::error::{Instead, Reason};
use kernel::report::Report;
use std::path::Path;

objects! {
    struct TastyChains {
        data: Given<TastyRoots<'a>> = "data",
        error: Given<TastyError<'a>> = "error",
    }
    struct TastyRoots {
        items: Listed<TastyRoot<'a>> = "items",
    }
    struct TastyRoot {
        expirations: Listed<TastyExpiration<'a>> = "expirations",
    }
    struct TastyExpiration {
        strikes: Listed<TastyStrike<'a>> = "strikes",
    }
    struct TastyStrike {
        call: Text<'a> = "call",
        call_streamer: Text<'a> = "call-streamer-symbol",
        put: Text<'a> = "put",
        put_streamer: Text<'a> = "put-streamer-symbol",
    }
    struct TastyError {
        code: Text<'a> = "code",
    }
    struct TastyTokens {
        data: Given<TastyToken<'a>> = "data",
        error: Given<TastyError<'a>> = "error",
    }
    struct TastyToken {
        token: Text<'a> = "token",
        url: Text<'a> = "dxlink-url",
    }
}

/// A contract, and its symbol at the streamer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamedContract {
    /// Symbol at the streamer.
    pub symbol: String,
    /// The contract.
    pub contract: ContractKey,
}

/// Address of the streamer, and the token that opens it.
#[derive(Clone, PartialEq, Eq)]
pub struct StreamerToken {
    /// Token of the streamer.
    pub token: String,
    /// Address of the streamer, `wss://HOST/PATH`.
    pub url: String,
}

impl fmt::Debug for StreamerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamerToken").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Reads the nested option chain of a name: every root, expiration and strike. A right without a symbol is not listed.
#[must_use]
pub fn parse_tasty_chain(source: &Path, bytes: &[u8]) -> (Vec<StreamedContract>, Report) {
    let mut report = Report::default();
    let Some(document) = json::parse::<TastyChains<'_>>(source, bytes, &mut report) else {
        return (Vec::new(), report);
    };
    let Some(roots) = document.data.0 else {
        report.say_instead(source, instead(&document.error));
        return (Vec::new(), report);
    };
    let mut rights = Listed { items: Vec::new(), cut: roots.items.cut };
    for expiration in roots.items.items.into_iter().flat_map(|root| root.expirations.items) {
        for strike in expiration.strikes.items {
            for right in [(strike.call, strike.call_streamer), (strike.put, strike.put_streamer)] {
                if right.1.is_some() {
                    rights.push(right);
                }
            }
        }
    }
    if rights.items.is_empty() {
        report.say_instead(source, Instead::Nothing);
    }
    read_listed(source, report, &rights, streamed)
}

fn streamed(symbols: &(Text<'_>, Text<'_>)) -> Result<StreamedContract, Fault> {
    let (osi, streamer) = symbols;
    let symbol = at("streamer-symbol", streamer.read(Reason::NotASymbol, plain))?;
    let contract = at("call", parse_contract(at("call", osi.get(Reason::NotASymbol))?))?;
    Ok(StreamedContract { symbol, contract })
}

/// Reads the answer with the token of the streamer.
#[must_use]
pub fn parse_tasty_token(source: &Path, bytes: &[u8]) -> (Option<StreamerToken>, Report) {
    let mut report = Report::default();
    let Some(document) = json::parse::<TastyTokens<'_>>(source, bytes, &mut report) else { return (None, report) };
    let token = document.data.0.as_ref().and_then(|data| {
        let token = data.token.read(Reason::NotAWord, plain).ok()?;
        Some(StreamerToken { token, url: data.url.read(Reason::NotAWord, plain).ok()? })
    });
    if token.is_none() {
        report.say_instead(source, instead(&document.error));
    }
    (token, report)
}

/// A text that can be sent within quotation marks as it is.
fn plain(text: &str) -> Option<String> {
    let fits = text.len() <= 4096 && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\'));
    fits.then(|| text.to_owned())
}

fn instead(error: &Given<TastyError<'_>>) -> Instead {
    let Some(error) = &error.0 else { return Instead::OtherFormat };
    match error.code.get(Reason::NotAWord) {
        // who has no account has no quotes
        Ok("quote_streamer.customer_not_found_error") => Instead::NotPermitted,
        Ok(_) => Instead::WrongQuestion,
        Err(_) => Instead::OtherFormat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contracts_of_every_root_are_listed_with_their_symbols_at_the_streamer() {
        let text = r#"{"data":{"items":[{"root-symbol":"SPX","expirations":[{"expiration-date":"2026-12-18","strikes":[
            {"strike-price":"5000.0","call":"SPX   261218C05000000","call-streamer-symbol":".SPX261218C5000",
            "put":"SPX   261218P05000000","put-streamer-symbol":""}]}]},
            {"root-symbol":"SPXW","expirations":[{"strikes":[{"call":"SPXW  261218C05000000",
            "call-streamer-symbol":".SPXW261218C5000","put":"what","put-streamer-symbol":".SPXW261218P5000"}]}]}]}}"#;
        let (contracts, report) = parse_tasty_chain(Path::new("tasty"), text.as_bytes());
        let listed: Vec<_> = contracts.iter().map(|c| (c.symbol.as_str(), c.contract.root.as_str())).collect();
        assert_eq!(listed, [(".SPX261218C5000", "SPX"), (".SPXW261218C5000", "SPXW")]);
        assert_eq!((report.records, report.refused[Reason::NotASymbol as usize]), (3, 1));
    }

    #[test]
    fn what_is_no_chain_and_no_token_has_its_reason() {
        for (text, want) in [
            (r#"{"error":{"code":"quote_streamer.customer_not_found_error"}}"#, Instead::NotPermitted),
            (r#"{"error":{"code":"invalid_request"}}"#, Instead::WrongQuestion),
            ("<html>", Instead::OtherFormat),
        ] {
            let source = Path::new("tasty");
            let reports = [parse_tasty_chain(source, text.as_bytes()).1, parse_tasty_token(source, text.as_bytes()).1];
            for report in reports {
                assert_eq!(report.errors[0].to_string(), format!("tasty: {want}"), "{text}");
            }
        }
        let empty = parse_tasty_chain(Path::new("tasty"), br#"{"data":{"items":[]}}"#).1;
        assert_eq!(empty.errors[0].to_string(), format!("tasty: {}", Instead::Nothing));
    }

    #[test]
    fn a_token_is_read_and_not_shown() {
        let text = r#"{"data":{"token":"hunter2","dxlink-url":"wss://x.example/realtime","level":"api"}}"#;
        let token = parse_tasty_token(Path::new("tasty"), text.as_bytes()).0.unwrap();
        assert_eq!((token.token.as_str(), token.url.as_str()), ("hunter2", "wss://x.example/realtime"));
        assert!(!format!("{token:?}").contains("hunter2"));
        let broken = text.replace("hunter2", "a\\\"b");
        assert_eq!(parse_tasty_token(Path::new("tasty"), broken.as_bytes()).0, None);
    }
}
