//! Sign-ins by OAuth 2: the token of requests, renewed before it ends, and the refresh token that brings it, which the
//! user has from the vendor's page. Never: a socket.

use super::failure::{Failed, Failure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feeds::token::{TokenDocument, parse_token};
use host::private;
use host::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time before its end from which a token is renewed.
const EARLY: Duration = Duration::from_secs(60);
/// Minimum time for which a token is used: one that ends sooner is renewed where it is not taken.
const LEAST: Duration = Duration::from_secs(30);
/// Time for which a token is used whose end the server does not say.
const UNKNOWN: Duration = Duration::from_secs(300);
/// Time before the end of a refresh token from which the log reminds of it.
const REMIND: SignedDuration = SignedDuration::from_hours(24);

/// A request to the server of tokens.
#[derive(Debug)]
pub struct TokenRequest {
    /// Path of the server.
    pub path: &'static str,
    /// Media type of the body.
    pub content_type: &'static str,
    /// Headers besides those of every request.
    pub headers: Vec<(&'static str, Secret)>,
    /// The body.
    pub body: Secret,
}

/// How a vendor renews tokens.
#[derive(Clone, Copy, Debug)]
pub struct TokenTerms {
    /// Word of the vendor in the log.
    pub vendor: &'static str,
    /// Path of the server of tokens.
    pub path: &'static str,
    /// Form of the request.
    pub form: TokenForm,
    /// Time for which a refresh token is valid; `None`: until the user ends it.
    pub lasts: Option<SignedDuration>,
    /// Page that says how to sign in again.
    pub page: &'static str,
}

/// Form of the request for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenForm {
    /// A form, with the application's key and secret in a header.
    Form,
    /// An object in JSON, with the application's secret in it.
    Json,
}

/// Where the refresh token is.
#[derive(Clone, Debug)]
pub enum RefreshToken {
    /// Given by the user, and never another.
    Fixed(Secret),
    /// In a file of the user, which is read for every renewal.
    File(PathBuf),
}

/// The sign-in of a user and an application.
#[derive(Debug)]
pub struct SignIn {
    terms: TokenTerms,
    /// Key of the application, where the form has one.
    key: Option<Secret>,
    secret: Secret,
    refresh: RefreshToken,
    state: Mutex<SignInState>,
}

#[derive(Debug, Default)]
struct SignInState {
    /// Token of requests, and when it is to be renewed.
    token: Option<(Secret, Instant)>,
    /// The time of sign-in that was warned of.
    warned_of: Option<Timestamp>,
}

impl SignIn {
    /// A sign-in; tokens are requested when they are needed.
    #[must_use]
    pub fn new(terms: TokenTerms, key: Option<Secret>, secret: Secret, refresh: RefreshToken) -> Self {
        Self { terms, key, secret, refresh, state: Mutex::default() }
    }

    /// Warning if other users can read the token file, for the user.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let RefreshToken::File(path) = &self.refresh else { return None };
        let shown = path.display();
        private::is_open_to_others(path)
            .then(|| format!("other users can read or change the token file {shown}: chmod 600 {shown}"))
    }

    /// The token of requests. `post` sends a request to the server of tokens, and returns the status and the body.
    ///
    /// # Errors
    /// The sign-in has ended ([`Failure::SignIn`]), or there is no response.
    pub fn token(&self, post: impl FnOnce(&TokenRequest) -> Result<(u16, Vec<u8>), Failed>) -> Result<Secret, Failed> {
        // others wait for the one that asks: two renewals at once could end each other's token
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, until)) = &state.token
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let (refresh, issued) = self.refresh_token()?;
        let (status, bytes) = post(&self.request(&refresh))?;
        if matches!(status, 400 | 401) {
            self.say_ended(issued);
            return Err(Failure::SignIn.into());
        }
        if let Some(failure) = Failure::of_status(status) {
            return Err(failure.into());
        }
        let document = parse_token(&bytes).unwrap_or_default();
        let Some(access) = document.access.clone() else { return Err(Failure::Malformed.into()) };
        let is_other = document.refresh.as_ref().is_some_and(|other| other != refresh.expose());
        if is_other {
            self.keep(&document);
        } else {
            self.remind(issued, &mut state);
        }
        let lasts = document.expires_in_s.map_or(UNKNOWN, Duration::from_secs);
        let until = Instant::now() + lasts.saturating_sub(EARLY).max(LEAST);
        let token = Secret::new(access);
        state.token = Some((token.clone(), until));
        Ok(token)
    }

    /// Forgets a token that the server takes no more.
    pub fn drop_token(&self, used: &Secret) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.token.take_if(|(token, _)| token == used);
    }

    /// The refresh token, and when the user signed in, if known.
    fn refresh_token(&self) -> Result<(Secret, Option<Timestamp>), Failure> {
        let path = match &self.refresh {
            RefreshToken::Fixed(token) => return Ok((token.clone(), None)),
            RefreshToken::File(path) => path,
        };
        let vendor = self.terms.vendor;
        let unusable = |why: &str| {
            tracing::warn!("{vendor}: token file {}: {why} ({})", path.display(), self.terms.page);
            Failure::SignIn
        };
        let bytes = private::read_short_regular(path).map_err(|error| unusable(&error.to_string()))?;
        let document = parse_token(&bytes).unwrap_or_default();
        let refresh = document.refresh.ok_or_else(|| unusable("it has no refresh_token"))?;
        let modified = || fs::metadata(path).and_then(|facts| facts.modified()).ok();
        let issued = document.issued.or_else(|| Timestamp::try_from(modified()?).ok());
        Ok((Secret::new(refresh), issued))
    }

    fn request(&self, refresh: &Secret) -> TokenRequest {
        let TokenTerms { path, form, .. } = self.terms;
        let (refresh, secret) = (refresh.expose(), self.secret.expose());
        match form {
            TokenForm::Form => {
                let all = percent_encoding::NON_ALPHANUMERIC;
                let refresh = percent_encoding::utf8_percent_encode(refresh, all);
                let both = format!("{}:{secret}", self.key.as_ref().map_or("", Secret::expose));
                TokenRequest {
                    path,
                    content_type: "application/x-www-form-urlencoded",
                    headers: vec![("authorization", Secret::new(format!("Basic {}", STANDARD.encode(both))))],
                    body: Secret::new(format!("grant_type=refresh_token&refresh_token={refresh}")),
                }
            }
            TokenForm::Json => {
                let text = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
                let (refresh, secret) = (text(refresh), text(secret));
                let body = format!(
                    "{{\"grant_type\":\"refresh_token\",\"refresh_token\":\"{refresh}\",\"client_secret\":\"{secret}\"}}"
                );
                TokenRequest { path, content_type: "application/json", headers: Vec::new(), body: Secret::new(body) }
            }
        }
    }

    /// Writes another refresh token into the user's file.
    fn keep(&self, document: &TokenDocument) {
        let (RefreshToken::File(path), Some(refresh)) = (&self.refresh, &document.refresh) else { return };
        let refresh = refresh.replace('\\', "\\\\").replace('"', "\\\"");
        let text = format!("{{\"refresh_token\":\"{refresh}\",\"refresh_token_issued\":\"{}\"}}\n", Timestamp::now());
        if let Err(error) = private::replace(path, |file| file.write_all(text.as_bytes())) {
            let vendor = self.terms.vendor;
            tracing::warn!("{vendor}: the next refresh token cannot be written to {}: {error}", path.display());
        }
    }

    /// Logs once that a refresh token ends within a day.
    fn remind(&self, issued: Option<Timestamp>, state: &mut SignInState) {
        let (Some(issued), Some(lasts)) = (issued, self.terms.lasts) else { return };
        let left = lasts.saturating_sub(Timestamp::now().duration_since(issued));
        if left < REMIND && state.warned_of.replace(issued) != Some(issued) {
            let (vendor, page, hours) = (self.terms.vendor, self.terms.page, left.as_hours().max(0));
            tracing::warn!("{vendor}: the sign-in ends in about {hours} hours: sign in again ({page})");
        }
    }

    /// Logs why a refresh token is not taken.
    fn say_ended(&self, issued: Option<Timestamp>) {
        let TokenTerms { vendor, page, lasts, .. } = self.terms;
        let age = issued.map(|issued| Timestamp::now().duration_since(issued));
        match (age, lasts) {
            (Some(age), Some(lasts)) if age >= lasts => tracing::warn!(
                "{vendor}: the sign-in has ended: it lasts {} days, and is {} days old. Sign in again ({page})",
                lasts.as_hours() / 24,
                age.as_hours() / 24
            ),
            _ => tracing::warn!(
                "{vendor}: the refresh token, or the application's key or secret, is not taken: check them, or sign in \
                 again ({page})"
            ),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_token_file_is_a_regular_file() {
        let terms =
            TokenTerms { vendor: "schwab", path: "/", form: TokenForm::Form, lasts: None, page: "docs/feeds.md" };
        let key = || Secret::new("key".to_owned());
        let path = std::env::temp_dir().join(format!("greeksd-token-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let sign_in = SignIn::new(terms, None, key(), RefreshToken::File(path.clone()));
        // nobody writes to the pipe: who opens it waits for ever
        let refused = sign_in.token(|_| panic!("no token was read"));
        assert_eq!(refused.err(), Some(Failure::SignIn.into()));
        std::fs::remove_file(&path).unwrap();
    }
}
