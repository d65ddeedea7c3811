//! Tokens of vendors that are signed in to by OAuth 2: responses of token servers, and files with a refresh token.
//! Never: a request.

use super::json::{self, Number, Text, objects};
use super::times::{of_number, parse_rfc3339};
use core::fmt;
use jiff::Timestamp;
use kernel::error::Reason;
use kernel::report::Report;
use std::path::Path;

/// A response of a token server, or the contents of a token file.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TokenDocument {
    /// Token of requests.
    pub access: Option<String>,
    /// Token that brings the next access token.
    pub refresh: Option<String>,
    /// Seconds for which the access token is valid.
    pub expires_in_s: Option<u64>,
    /// Time at which the user signed in.
    pub issued: Option<Timestamp>,
}

impl fmt::Debug for TokenDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenDocument").finish_non_exhaustive()
    }
}

objects! {
    struct TokenObject {
        access: Text<'a> = "access_token",
        refresh: Text<'a> = "refresh_token",
        expires_in: Number = "expires_in",
        issued: Text<'a> = "refresh_token_issued",
        created: Number = "creation_timestamp",
        inner: TokenFields<'a> = "token",
        dictionary: TokenFields<'a> = "token_dictionary",
    }
    /// The response itself, in the files of schwab-py (`token`) and Schwabdev (`token_dictionary`).
    struct TokenFields {
        refresh: Text<'a> = "refresh_token",
    }
}

/// Reads a response of a token server, or a token file: such a response as it came, or a file of schwab-py or
/// Schwabdev. `None`: it is no object in JSON.
#[must_use]
pub fn parse_token(bytes: &[u8]) -> Option<TokenDocument> {
    let object = json::parse::<TokenObject<'_>>(Path::new("token"), bytes, &mut Report::default())?;
    // a token is sent in a header or in a form
    let token = |text: &Text<'_>| {
        let is_plain = |text: &str| text.len() <= 4096 && text.bytes().all(|b| b.is_ascii_graphic());
        text.get(Reason::NotAWord).ok().filter(|text| is_plain(text)).map(str::to_owned)
    };
    let refresh = [&object.refresh, &object.inner.refresh, &object.dictionary.refresh].into_iter().find_map(token);
    let issued = object.issued.read(Reason::NotATime, parse_rfc3339).ok();
    let created = if let Number::Is(seconds) = object.created { of_number(seconds) } else { None };
    let expires_in_s = match object.expires_in {
        Number::Is(seconds) if (1.0..1e9).contains(&seconds) => Some(seconds as u64),
        _ => None,
    };
    Some(TokenDocument { access: token(&object.access), refresh, expires_in_s, issued: issued.or(created) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_and_the_files_of_two_clients_are_read() {
        let read = |text: &str| parse_token(text.as_bytes()).unwrap();
        let response =
            read(r#"{"expires_in":1800,"token_type":"Bearer","scope":"api","refresh_token":"r","access_token":"a"}"#);
        assert_eq!((response.access.as_deref(), response.refresh.as_deref()), (Some("a"), Some("r")));
        assert_eq!((response.expires_in_s, response.issued), (Some(1800), None));
        let by_py = read(r#"{"creation_timestamp":1795207320,"token":{"access_token":"a","refresh_token":"r"}}"#);
        let by_dev =
            read(r#"{"refresh_token_issued":"2026-11-20T20:42:00+00:00","token_dictionary":{"refresh_token":"r"}}"#);
        assert_eq!((&by_py.refresh, by_py.issued), (&by_dev.refresh, by_dev.issued));
        assert_eq!(by_py.issued, Some("2026-11-20T20:42:00Z".parse().unwrap()));
        assert_eq!(format!("{response:?}"), "TokenDocument { .. }", "a token is not shown");
    }

    #[test]
    fn what_cannot_be_sent_is_no_token() {
        for text in [r#"{"refresh_token":"a b"}"#, r#"{"refresh_token":"a\nb"}"#, r#"{"refresh_token":7}"#, "[]"] {
            assert_eq!(parse_token(text.as_bytes()).unwrap().refresh, None, "{text}");
        }
        assert!(parse_token(b"<html>").is_none() && parse_token(b"").is_none());
    }
}
