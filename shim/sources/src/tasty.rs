//! tastytrade: the contracts of names by HTTP, their quotes over `dxLink`. A session that is opened again has the
//! contracts of that time. Never: a format, a socket.

use super::poll::client::{AnswerBounds, Client, Received, ServerBase};
use super::poll::failure::{Failed, Failure};
use super::poll::plan::VendorTerms;
use super::poll::sign_in::SignIn;
use super::session::{HAND_OVER, Session, SessionSource};
use super::socket::Socket;
use feeds::dxlink::{self, DxEvent, DxEvents};
use feeds::tasty::{StreamedContract, StreamerToken, parse_tasty_chain, parse_tasty_token};
use host::clock::MarketClock;
use host::secret::Secret;
use kernel::contract::Symbol;
use kernel::report::Report;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Interval at which new contracts are looked for.
const LIST_AGAIN: Duration = Duration::from_secs(3600);
/// Rate limits of requests; the vendor names none, and asks for streams in place of requests.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(5),
    every_closed: Duration::from_secs(5),
    per_minute: 60.0,
    burst: 20.0,
    at_once: 1,
    delay: Duration::ZERO,
};
/// The vendor refuses requests without a user agent of this form.
const USER_AGENT: &str = concat!("greeksd/", env!("CARGO_PKG_VERSION"));

/// Settings of a session.
#[derive(Debug)]
pub struct TastyTerms {
    /// Names whose contracts are streamed.
    pub names: Vec<Symbol>,
    /// Address of the server of contracts and tokens.
    pub base: ServerBase,
    /// The sign-in of the user.
    pub sign_in: SignIn,
    /// CA certificates to use instead of those of the system.
    pub authorities: Option<PathBuf>,
    /// Limits of responses.
    pub bounds: AnswerBounds,
    /// Time without a message of the streamer after which it counts as dead.
    pub silence: Duration,
    /// Clock of the market.
    pub clock: MarketClock,
}

/// The vendor's servers, and the names whose contracts a session streams.
#[derive(Debug)]
struct Streamer {
    client: Client,
    names: Vec<Symbol>,
    authorities: Option<PathBuf>,
    connect: Duration,
    silence: Duration,
    clock: MarketClock,
}

/// Starts the thread of a source; `name` is the feed, as the user specified it.
///
/// # Errors
/// The certificates cannot be read, the system has no thread, or no name is given.
pub fn start(name: String, terms: TastyTerms) -> Result<SessionSource, String> {
    let TastyTerms { names, base, sign_in, authorities, bounds, silence, clock } = terms;
    if names.is_empty() {
        return Err("expected symbols, such as tasty:SPY,QQQ".to_owned());
    }
    let headers = vec![("accept", Secret::plain("application/json")), ("user-agent", Secret::plain(USER_AGENT))];
    let client = Client::new(base, headers, authorities.as_deref(), bounds)?.signed_in(Some(sign_in));
    let streamer = Streamer { client, names, authorities, connect: bounds.connect, silence, clock };
    let names = streamer.names.clone();
    SessionSource::start("tasty", name, &names, TERMS, clock, move |session| streamer.run(session))
        .map_err(|error| error.to_string())
}

impl Streamer {
    /// Runs a session until the source ends.
    fn run(&self, session: &Session) -> Result<(), Failed> {
        let mut events = DxEvents::new(Path::new("tasty"));
        let mut wanted = self.list(session, &mut events)?;
        if !session.permit() {
            return Ok(());
        }
        let StreamerToken { token, url } = match self.ask("/api-quote-tokens", parse_tasty_token)? {
            (Some(token), _) => token,
            (None, report) => return Err(failure_of(&report).into()),
        };
        let mut socket = Socket::connect(&url, self.authorities.as_deref(), self.connect)?;
        socket.send(&dxlink::setup())?;
        let (mut is_signed, mut is_open) = (false, false);
        let mut listed = Instant::now();
        let (mut received, mut sent, mut handed_over) = (listed, listed, listed);
        while !session.is_ending() {
            let text = socket.next(HAND_OVER)?;
            let event = match &text {
                Some(text) => {
                    received = Instant::now();
                    events.take_in(text, self.clock.now()).map_err(Failure::instead)?
                }
                None => DxEvent::Taken,
            };
            match event {
                DxEvent::Unauthorized if !is_signed => {
                    is_signed = true;
                    socket.send(&dxlink::auth(&token))?;
                }
                DxEvent::Unauthorized => return Err(Failure::Refused.into()),
                DxEvent::Authorized if !is_open => {
                    is_open = true;
                    socket.send(&dxlink::channel_request())?;
                }
                DxEvent::Opened => {
                    socket.send(&dxlink::feed_setup())?;
                    wanted.drain(..).try_for_each(|text| socket.send(&text))?;
                    session.connected();
                }
                DxEvent::Closed => return Err(Failure::Cut.into()),
                DxEvent::Error(what) => return Err(Failure::instead(what).into()),
                DxEvent::Authorized | DxEvent::Taken => {}
            }
            if received.elapsed() > self.silence {
                return Err(Failure::Timeout.into());
            }
            if sent.elapsed() > self.silence.mul_f64(0.5) {
                sent = Instant::now();
                socket.send(dxlink::keepalive())?;
            }
            if handed_over.elapsed() >= HAND_OVER {
                handed_over = Instant::now();
                let (batch, report) = events.take();
                session.put(batch, report);
            }
            if listed.elapsed() > LIST_AGAIN && wanted.is_empty() {
                listed = Instant::now();
                // what is streamed goes on, whatever the server of contracts answers
                let new = self.list(session, &mut events).unwrap_or_default();
                new.iter().try_for_each(|text| socket.send(text))?;
            }
        }
        Ok(())
    }

    /// Lists the contracts of every name; returns the messages that subscribe to new ones. A name that the vendor does
    /// not have costs itself.
    fn list(&self, session: &Session, events: &mut DxEvents) -> Result<Vec<String>, Failed> {
        let (mut wanted, mut last) = (Vec::new(), None);
        for (i, &name) in self.names.iter().enumerate() {
            if i > 0 && !session.permit() {
                break;
            }
            let target = format!("/option-chains/{}/nested", name.as_str().replace('.', "%2F"));
            match self.contracts(&target) {
                Ok(contracts) => wanted.extend(events.add(name, &name.as_str().replace('.', "/"), contracts)),
                Err(failed) if failed.failure.is_of_vendor() => return Err(failed),
                Err(failed) => {
                    let (kind, says) = (failed.failure.name(), failed.failure.sentence());
                    tracing::warn!("{}: {target}: {kind}: {says}; continuing without it", session.name());
                    last = Some(failed);
                }
            }
        }
        match last {
            Some(failed) if wanted.is_empty() => Err(failed),
            _ => Ok(wanted),
        }
    }

    fn contracts(&self, target: &str) -> Result<Vec<StreamedContract>, Failed> {
        let (contracts, report) = self.ask(target, parse_tasty_chain)?;
        if report.errors.is_empty() { Ok(contracts) } else { Err(failure_of(&report).into()) }
    }

    /// Sends a request, and reads the response.
    fn ask<T>(&self, target: &str, read: fn(&Path, &[u8]) -> (T, Report)) -> Result<(T, Report), Failed> {
        match self.client.get(target, None)? {
            Received::Unchanged => Err(Failure::Status.into()),
            Received::Body { status, bytes, retry_after, .. } => match Failure::of_status(status) {
                Some(failure) => Err(Failed { failure, retry_after }),
                None => Ok(read(Path::new("tasty"), &bytes)),
            },
        }
    }
}

fn failure_of(report: &Report) -> Failure {
    report.errors.first().map_or(Failure::Malformed, Failure::of_error)
}
