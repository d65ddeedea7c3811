//! Tokens and cursors of pages: text that a client sends to get the next page. The daemon keeps nothing between two
//! pages: a token is the last contract of a page, a cursor is that contract with the parameters of the first request.
//!
//! Never: an order of rows (that is [`crate::selection::order`]'s), a vendor's address.

use crate::query::Query;
use crate::refusal::Refusal;
use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD as PADDED, URL_SAFE_NO_PAD as URL};
use kernel::contract::ContractKey;
use kernel::contract::osi::OSI_LEN;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Reads tokens, in the standard alphabet and without padding; bits that no byte has must be zero.
const READER: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, NO_PAD);
/// Characters that an address holds unescaped.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parameter of a cursor that names the last contract.
const LAST: &str = "ap";

/// The OSI symbol of a contract, without spaces.
#[must_use]
pub fn compact(key: &ContractKey) -> String {
    let mut text = [0; OSI_LEN];
    let n = key.write_compact(&mut text);
    String::from_utf8_lossy(&text[..n]).into_owned()
}

/// The token of a page that ends with a contract.
#[must_use]
pub fn token(last: &ContractKey) -> String {
    PADDED.encode(compact(last))
}

/// The last contract of the page before, from its token.
///
/// # Errors
/// [`Refusal::Invalid`] if the text is no token.
pub fn parse_token(parameter: &str, text: &str) -> Result<ContractKey, Refusal> {
    let key = decode(text).and_then(|symbol| ContractKey::parse_osi(&symbol));
    key.ok_or_else(|| Refusal::invalid(parameter, text, "a page token"))
}

/// Writes the `parameters` that a query has as a query text, sorted by name.
#[must_use]
pub fn filters<'a>(query: &Query<'_>, parameters: impl IntoIterator<Item = &'a str>) -> String {
    let pair = |name: &str| Some(format!("{name}={}", percent_encode(query.first(name)?)));
    let mut pairs: Vec<String> = parameters.into_iter().filter_map(pair).collect();
    pairs.sort();
    pairs.join("&")
}

/// The cursor of a page that ends with a contract, for a request with these [`filters`].
#[must_use]
pub fn cursor(filters: &str, last: &ContractKey) -> String {
    URL.encode(format!("{LAST}={}&as=&{filters}", percent_encode(&format!("O:{}", compact(last)))))
}

/// The query text of a cursor, and the last contract of the page before.
///
/// # Errors
/// [`Refusal::Invalid`] if the text is no cursor.
pub fn parse_cursor(parameter: &str, text: &str) -> Result<(String, ContractKey), Refusal> {
    let parsed = decode(text).and_then(|query| {
        let last = ContractKey::parse_osi(Query::parse(&query).first(LAST)?)?;
        Some((query, last))
    });
    parsed.ok_or_else(|| Refusal::invalid(parameter, text, "a cursor"))
}

/// Escapes everything but letters, digits, `-`, `.`, `_` and `~` as `%XX`.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// The text of a token in either alphabet, padded or not, because clients pass tokens on as they like; `None` for
/// anything else. A space counts as the `+` that it was before a form decoder read it.
fn decode(token: &str) -> Option<String> {
    let bare = token.strip_suffix("==").or_else(|| token.strip_suffix('=')).unwrap_or(token);
    let standard: String = bare
        .chars()
        .map(|letter| match letter {
            '-' | ' ' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    String::from_utf8(READER.decode(standard).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> ContractKey {
        ContractKey::parse_osi(text).unwrap()
    }

    #[test]
    fn a_token_is_the_last_symbol_in_base64() {
        assert_eq!(token(&key("AAPL  240426C00152500")), "QUFQTDI0MDQyNkMwMDE1MjUwMA==");
        assert_eq!(parse_token("t", "QUFQTDI0MDQyNkMwMDE1MjUwMA=="), Ok(key("AAPL240426C00152500")));
        for bad in ["QUFQTA==", "%%%", "QUFQTDI0MDQyNkMwMDE1MjUwM", "AAPL240426C00152500"] {
            assert_eq!(parse_token("t", bad), Err(Refusal::invalid("t", bad, "a page token")));
        }
    }

    #[test]
    fn a_cursor_carries_the_parameters_of_the_first_request() {
        let query = Query::parse("expiration_date.gte=2026-12-01&limit=250&apiKey=k&sort=&x=1&q=a%26b%3D%2B");
        let said = filters(&query, ["limit", "q", "expiration_date.gte", "sort"]);
        let text = cursor(&said, &key("ACME261218C00100000"));
        assert!(!text.contains(['=', '+', '/', '&']), "{text}");
        let (again, last) = parse_cursor("cursor", &text).unwrap();
        assert_eq!(last, key("ACME261218C00100000"));
        let wanted = "ap=O%3AACME261218C00100000&as=&expiration_date.gte=2026-12-01&limit=250&q=a%26b%3D%2B";
        assert_eq!(again, wanted);
        assert_eq!(Query::parse(&again).first("q"), Some("a&b=+"));
        for bad in ["abc", "", "YXA9", "YXA9T%3A", "bGltaXQ9Mw"] {
            assert_eq!(parse_cursor("cursor", bad).map(drop), Err(Refusal::invalid("cursor", bad, "a cursor")));
        }
    }

    #[test]
    fn the_vectors_of_rfc_4648_hold() {
        for (text, token) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
            ("ACME261218C00100000", "QUNNRTI2MTIxOEMwMDEwMDAwMA=="),
        ] {
            assert_eq!(PADDED.encode(text), token);
            assert_eq!(URL.encode(text), token.trim_end_matches('='));
            assert_eq!(decode(token).as_deref(), Some(text));
        }
        assert_eq!(PADDED.encode("?>~"), "Pz5+");
        assert_eq!(URL.encode("?>~"), "Pz5-");
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for bad in ["Z", "Zh", "Zm9=", "Zg===", "Zg=a", "é", "Zm9v!", "gICA"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(text in ".{0,60}") {
            let plain = PADDED.encode(&text);
            prop_assert_eq!(decode(&plain), Some(text.clone()));
            prop_assert_eq!(decode(&plain.replace('+', " ")), Some(text.clone()));
            prop_assert_eq!(decode(&URL.encode(&text)), Some(text));
        }

        #[test]
        fn no_token_panics(token in ".{0,40}") {
            let _ = decode(&token);
        }
    }
}
