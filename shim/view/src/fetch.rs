//! The thread that queries the daemon: once a second for its status, and for the data on the screen when there is a new
//! snapshot. The screen never waits for it. Never: a widget.

use super::metrics::{self, ExposureRow, ExposureScope, NameMetrics, TermPoint};
use super::model::{ChainRows, DaemonFacts, ExpiryRow, Moments, NameFacts, WatchRow};
use super::pages::TextPage;
use super::parse;
use super::wants::{FetchedAnswers, Request, Subject, Wants};
use host::secret::Secret;
use sources::poll::client::{AnswerBounds, Client, Received, ServerBase};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Status while a name is computed for the first time.
const PENDING: u16 = 502;
/// Status of a request for a group that is not served.
const REFUSED: u16 = 400;
/// Status if there is no snapshot of a moment.
const MISSING: u16 = 404;
/// Time limit for the begin of an answer: of the present, and of a past day, which is computed on request.
const PATIENCE: Duration = Duration::from_secs(10);
const PAST_PATIENCE: Duration = Duration::from_secs(120);

/// Fetched data.
#[derive(Debug)]
pub(crate) enum News {
    /// Status of the daemon.
    Daemon(DaemonFacts),
    /// Why the daemon does not answer.
    Offline(String),
    /// All names of the market, to choose one.
    AnyName(Vec<NameFacts>),
    /// Status of a name; `None`: it is not served.
    Name(String, Option<NameFacts>),
    /// The snapshots of a name around a moment.
    Moments(String, Option<String>, Moments),
    /// Why there is no snapshot of the moment.
    NoMoment(String),
    /// The expiries of a name.
    Expiries(String, Vec<ExpiryRow>),
    /// Rows of a slice.
    Chain(ChainRows),
    /// All numbers of contracts, by symbol.
    Detail([String; 2], Vec<(String, [f64; super::column::N_COLUMNS])>),
    /// Number of a copy, and its rows as the API writes them.
    Copied(u64, String),
    /// The watch list.
    Watch(Vec<WatchRow>),
    /// Numbers of names.
    Metrics(Vec<NameMetrics>),
    /// Numbers of the expiries of a name.
    Term(String, Vec<TermPoint>),
    /// Exposures of a name: by strike, or of all strikes.
    Exposure(String, ExposureScope, bool, Vec<ExposureRow>),
    /// Why the daemon has no exposures of a name.
    NoExposure(String, String),
    /// Names that begin with a text.
    Found(String, Vec<NameFacts>),
    /// A page of text.
    Text(TextPage, Vec<String>),
    /// The data are not computed yet.
    Pending(Subject),
    /// The daemon serves no quotes.
    NoQuotes,
    /// Why an answer is unusable.
    Failed(String),
}

/// The wanted data, shared with the thread; true ends the thread.
#[derive(Debug, Default)]
struct SharedWants {
    wants: Mutex<(Wants, bool)>,
    changed: Condvar,
}

impl SharedWants {
    fn lock(&self) -> MutexGuard<'_, (Wants, bool)> {
        self.wants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Handle of the thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Fetcher(Arc<SharedWants>);

impl Fetcher {
    /// Starts the thread; `deliver` takes fetched data, and returns false once nobody receives them.
    ///
    /// # Errors
    /// There is no client or no thread.
    pub(crate) fn start(
        base: ServerBase,
        every: Duration,
        deliver: impl Fn(News) -> bool + Send + 'static,
    ) -> Result<Self, String> {
        let shared = Arc::<SharedWants>::default();
        let (patient, client) = (client(base.clone(), PAST_PATIENCE)?, client(base, PATIENCE)?);
        let fetching =
            FetchLoop { client, patient, every, shared: Arc::clone(&shared), known: FetchedAnswers::default() };
        std::thread::Builder::new()
            .name("view-fetch".to_owned())
            .spawn(move || fetching.work(&deliver))
            .map_err(|error| format!("no thread: {error}"))?;
        Ok(Self(shared))
    }

    /// Sets the wanted data.
    pub(crate) fn want(&self, wants: Wants) {
        let mut now = self.0.lock();
        if now.0 != wants {
            now.0 = wants;
            self.0.changed.notify_all();
        }
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        self.0.lock().1 = true;
        self.0.changed.notify_all();
    }
}

/// A client of a daemon; answers are uncompressed, since the daemon is near.
fn client(base: ServerBase, patience: Duration) -> Result<Client, String> {
    let seconds = Duration::from_secs;
    let bounds = AnswerBounds {
        connect: seconds(3),
        first: patience,
        whole: patience.saturating_add(seconds(10)),
        bytes: 16 << 20,
    };
    Client::new(base, vec![("accept-encoding", Secret::plain("identity"))], None, bounds)
}

struct FetchLoop {
    client: Client,
    /// Client for past moments, with a longer time limit.
    patient: Client,
    every: Duration,
    shared: Arc<SharedWants>,
    known: FetchedAnswers,
}

impl FetchLoop {
    /// Queries the daemon until the end.
    fn work(mut self, deliver: &impl Fn(News) -> bool) {
        let mut number = None;
        let mut looked: Option<Instant> = None;
        loop {
            if looked.is_none_or(|at| at.elapsed() >= self.every) {
                looked = Some(Instant::now());
                let daemon = self.daemon();
                number = daemon.as_ref().ok().map(|daemon| daemon.number);
                if number.is_none() {
                    self.known.forget();
                }
                if !deliver(daemon.map_or_else(News::Offline, News::Daemon)) {
                    return;
                }
            }
            let shared = self.shared.lock();
            if shared.1 {
                return;
            }
            let requests = shared.0.requests();
            if let Some((request, number)) =
                number.and_then(|number| Some((self.known.next(requests, number)?, number)))
            {
                drop(shared);
                let news = self.request(request.clone());
                // if the daemon does not answer, its status is queried again first
                if matches!(news, News::Offline(_)) {
                    looked = None;
                    self.known.forget();
                    self.rest();
                } else {
                    self.known.note(request, number);
                }
                if !deliver(news) {
                    return;
                }
            } else {
                let rest = looked.map_or(Duration::ZERO, |at| self.every.saturating_sub(at.elapsed()));
                drop(self.shared.changed.wait_timeout(shared, rest).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Waits before a daemon that did not answer is queried again.
    fn rest(&self) {
        let shared = self.shared.lock();
        drop(self.shared.changed.wait_timeout_while(shared, self.every, |(_, is_over)| !*is_over));
    }

    fn daemon(&self) -> Result<DaemonFacts, String> {
        match self.get("/health") {
            // any status has a body: a starting or stale daemon has a status other than 200
            Ok((_, bytes)) => parse::daemon(&bytes),
            Err(why) => Err(why),
        }
    }

    fn get(&self, target: &str) -> Result<(u16, Vec<u8>), String> {
        let client = if target.contains("as_of=") { &self.patient } else { &self.client };
        match client.get(target, None) {
            Ok(Received::Body { status, bytes, .. }) => Ok((status, bytes)),
            Ok(Received::Unchanged) => Ok((304, Vec::new())),
            Err(failed) => Err(failed.failure.sentence().to_owned()),
        }
    }

    fn request(&self, request: Request) -> News {
        match self.get(&request.target) {
            Err(why) => News::Offline(why),
            Ok((200, bytes)) => {
                let subject = request.subject;
                news(subject, &bytes).unwrap_or_else(News::Failed)
            }
            Ok((PENDING, _)) => News::Pending(request.subject),
            // the error of the daemon is shown in place of the page
            Ok((_, bytes)) if matches!(request.subject, Subject::Text(_)) => {
                let Subject::Text(page) = request.subject else { return News::Failed("no page".to_owned()) };
                News::Text(page, vec![printable(&bytes)])
            }
            Ok((_, bytes)) if matches!(request.subject, Subject::Exposure(..)) => {
                let Subject::Exposure(name, ..) = request.subject else { return News::Failed("no page".to_owned()) };
                News::NoExposure(name, parse::reason(&bytes).unwrap_or_else(|| "no exposures".to_owned()))
            }
            Ok((REFUSED, _)) if request.target.contains("quote") => News::NoQuotes,
            Ok((REFUSED | MISSING, bytes)) if request.target.contains("as_of=") => {
                let why = parse::reason(&bytes).unwrap_or_else(|| "no such moment".to_owned());
                let is_chain = matches!(request.subject, Subject::Expiries(_) | Subject::Chain(..));
                if is_chain { News::NoMoment(why) } else { News::Failed(why) }
            }
            Ok((status, _)) => News::Failed(format!("status {status} for {}", request.target)),
        }
    }
}

fn news(subject: Subject, bytes: &[u8]) -> Result<News, String> {
    Ok(match subject {
        Subject::AnyName => News::AnyName(parse::names(bytes)?),
        Subject::Name(name) => {
            let found = parse::names(bytes)?.into_iter().find(|found| found.symbol == name);
            News::Name(name, found)
        }
        Subject::Moments(name, as_of) => News::Moments(name, as_of, parse::moments(bytes)?),
        Subject::Expiries(name) => News::Expiries(name, parse::expiries(bytes)?),
        Subject::Chain(name, key) => News::Chain(parse::chain(bytes, &name, &key)?),
        Subject::Detail(pair) => News::Detail(pair, parse::values(bytes)?),
        Subject::Copy(number, _) => News::Copied(number, printable(bytes)),
        Subject::Watch(names) => News::Watch(parse::watch(bytes, &names)?),
        Subject::Metrics(_) => News::Metrics(metrics::names(bytes)?),
        Subject::Term(name) => News::Term(name, metrics::term(bytes)?),
        Subject::Exposure(name, scope, is_by_strike) => {
            News::Exposure(name, scope, is_by_strike, metrics::exposures(bytes)?)
        }
        Subject::Found(prefix) => News::Found(prefix, parse::names(bytes)?),
        Subject::Text(page) => {
            let lines = page.lines(bytes)?;
            News::Text(page, lines)
        }
    })
}

/// The text of an answer, without control characters.
fn printable(bytes: &[u8]) -> String {
    host::printable::printable(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_has_no_control_characters() {
        assert_eq!(printable(b"a,b\r\n1,\x1b]0;x\x07\xff\n"), "a,b\n1,]0;x\u{fffd}\n");
    }
}
