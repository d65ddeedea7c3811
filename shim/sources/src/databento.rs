//! Databento's live gateway: a session with the contracts of some roots. This is the only file that names `databento`
//! and its asynchronous runtime; it is built with the feature `databento-live`. Never: a record's layout.

use super::poll::failure::{Failed, Failure};
use super::poll::plan::VendorTerms;
use super::poll::vendor::roots_of;
use super::session::{HAND_OVER, Session, SessionSource};
use databento::dbn::{ErrorCode, ErrorMsg, SType, Schema};
use databento::live::Subscription;
use databento::{Error, LiveClient};
use feeds::databento_live::DbnRecords;
use host::clock::MarketClock;
use host::secret::Secret;
use kernel::contract::{RootTable, Symbol};
use std::path::Path;
use std::time::{Duration, Instant};

/// The consolidated quotes of every US options exchange.
const DATASET: &str = "OPRA.PILLAR";
/// Schemas of quotes: the last best quote of each second, or each change of it.
pub const SCHEMAS: [(&str, Schema); 2] = [("cbbo-1s", Schema::Cbbo1S), ("cmbp-1", Schema::Cmbp1)];
/// Rate limits for opening sessions; a list of unusable names is tried once a minute.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(60),
    every_closed: Duration::from_secs(60),
    per_minute: 30.0,
    burst: 3.0,
    at_once: 1,
    delay: Duration::ZERO,
};

/// Settings of a session.
#[derive(Clone, Debug)]
pub struct SessionTerms {
    /// Underlyings whose contracts are requested.
    pub names: Vec<Symbol>,
    /// Schema of quotes.
    pub schema: Schema,
    /// `HOST:PORT` to connect to instead of the vendor's gateway.
    pub address: Option<String>,
    /// The key; the gateway is sent a digest of it.
    pub key: Secret,
    /// Clock of the market.
    pub clock: MarketClock,
}

/// Starts the thread of a source; `name` is the feed, as the user specified it.
///
/// # Errors
/// The system has no thread for it, or no name is given.
pub fn start(name: String, terms: SessionTerms) -> std::io::Result<SessionSource> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (names, clock) = (terms.names.clone(), terms.clock);
    SessionSource::start("databento", name, &names, TERMS, clock, move |session| {
        runtime.block_on(terms.run(session)).unwrap_or_else(|error| Err(failure_of(&error).into()))
    })
}

impl SessionTerms {
    /// Runs a session until it fails, `Err`, or until the source ends.
    async fn run(&self, session: &Session) -> databento::Result<Result<(), Failed>> {
        let roots = RootTable::embedded();
        let mut builder = LiveClient::builder();
        if let Some(address) = &self.address {
            builder = builder.addr(address.as_str()).await?;
        }
        let mut client = builder.key(self.key.expose())?.dataset(DATASET).build().await?;
        let parents = self.names.iter().flat_map(|&name| roots_of(&roots, name)).map(|root| format!("{root}.OPT"));
        let parents: Vec<String> = parents.collect();
        for schema in [Schema::Definition, self.schema] {
            let asked = Subscription::builder().symbols(parents.clone()).schema(schema).stype_in(SType::Parent);
            client.subscribe(asked.build()).await?;
        }
        let version = client.start().await?.version;
        session.connected();
        let mut records = DbnRecords::new(Path::new("databento"), version, roots);
        let mut handed_over = Instant::now();
        while !session.is_ending() {
            let ended = match tokio::time::timeout(HAND_OVER, client.next_record()).await {
                Err(_) => None,
                // after an orderly end by the gateway no further record comes
                Ok(Ok(None)) => Some(Failure::Cut),
                Ok(Ok(Some(record))) => match record.get::<ErrorMsg>() {
                    Some(said) => said.code().ok().and_then(failure_of_code),
                    None => records.add(record.as_ref()).err().map(Failure::instead),
                },
                Ok(Err(error)) => Some(failure_of(&error)),
            };
            if ended.is_some() || handed_over.elapsed() >= HAND_OVER {
                handed_over = Instant::now();
                let (batch, report) = records.take();
                session.put(batch, report);
            }
            if let Some(failure) = ended {
                return Ok(Err(failure.into()));
            }
        }
        Ok(Ok(()))
    }
}

/// The kind of an error of the library. Its text is never shown, since the server may have written it.
fn failure_of(error: &Error) -> Failure {
    match error {
        Error::Auth(_) | Error::BadArgument { param_name: "key", .. } => Failure::Refused,
        Error::BadArgument { .. } => Failure::Connect,
        Error::ConnectTimeout(_) | Error::AuthTimeout(_) | Error::HeartbeatTimeout(_) => Failure::Timeout,
        Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Failure::Cut,
        Error::Io(_) => Failure::Connect,
        _ => Failure::Malformed,
    }
}

/// The kind of an error message of the gateway; `None`: the session goes on.
fn failure_of_code(code: ErrorCode) -> Option<Failure> {
    match code {
        ErrorCode::AuthFailed | ErrorCode::ApiKeyDeactivated => Some(Failure::Refused),
        ErrorCode::ConnectionLimitExceeded => Some(Failure::Limited),
        ErrorCode::SymbolResolutionFailed | ErrorCode::InvalidSubscription => Some(Failure::NotFound),
        ErrorCode::InternalError => Some(Failure::Server),
        _ => None,
    }
}
