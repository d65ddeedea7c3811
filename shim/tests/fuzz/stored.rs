//! Bodies for files that the program itself writes, for answers of daemons and vendors to its commands, and for
//! requests over a connection. The program makes most of their first inputs, since the formats change with it.

use crate::bodies::{Kind, about, mix};
use crate::history_support::{Folder, csv, greeks, market, rows_of, time};
use crate::market;
use engine::pass::Passes;
use engine::snapshot::saved::{self, ExpiryClock};
use feeds::lines::parse_lines;
use history::manifest::{MANIFEST, Manifest, job_folder};
use history::recipe::Recipe;
use history::reference::ReferenceSet;
use history::tables::{StoredChains, read_chains};
use host::secret::Keys;
use http::{Limits, Metrics, Server, ServerConfig};
use jiff::{SignedDuration, Timestamp};
use kernel::quality::Quality;
use shim::app::route_names;
use shim::config::{Invocation, read as read_words};
use shim::market::feed::Feed;
use shim::market::store_feed::StoreFeed;
use sources::facts::SourceFacts;
use sources::{Delivery, Moment, QuoteSource};
use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tools::compare;

/// The name that saved markets are tried under.
const MARKET: &str = "fuzz";

/// A file of this process and thread with these bytes.
fn file(name: &str, data: &[u8]) -> PathBuf {
    let thread: String = format!("{:?}", std::thread::current().id()).chars().filter(char::is_ascii_digit).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{thread}", std::process::id()));
    fs::write(&path, data).unwrap();
    path
}

/// First inputs of a body, made by the program: whole, truncated, and with a changed byte.
pub(crate) fn seeds(name: &str) -> Vec<Vec<u8>> {
    let whole = match name {
        "saved" => {
            let (mut bytes, snapshot) = (Vec::new(), market::market());
            saved::write(MARKET, snapshot.chains().iter().map(|chain| &**chain), &mut bytes).unwrap();
            bytes
        }
        "greeks" => JOB.greeks.clone(),
        "manifests" => JOB.manifest.clone(),
        _ => return Vec::new(),
    };
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 0x10;
    vec![whole[..middle].to_vec(), changed, whole]
}

/// A saved market: restored chains have values of the served form.
pub(crate) fn saved(mut data: &[u8]) -> Kind {
    let clock = ExpiryClock::At(market::NOW);
    match saved::read(MARKET, clock, |_| true, &mut data) {
        Ok(found) => {
            for chain in &found.chains {
                assert!(chain.slices.iter().all(|slice| slice.rows.end <= chain.rows()), "{}", chain.underlying);
                assert_eq!(chain.right.len(), chain.strike_milli.len());
            }
            mix([1, about(found.chains.len()), u64::from(found.is_damaged)])
        }
        Err(error) => mix([2, about(error.to_string().len())]),
    }
}

/// A job of `greeksd batch` on one name with one expiry: what it left.
struct Job {
    greeks: Vec<u8>,
    manifest: Vec<u8>,
}

const CLOSE: &str = "2024-01-03T16:00:00-05:00";

static JOB: LazyLock<Job> = LazyLock::new(|| {
    let folder = Folder::new("fuzz-greeks");
    let (quotes, out) = (folder.path("quotes"), folder.path("out"));
    fs::create_dir_all(&quotes).unwrap();
    fs::write(quotes.join("day.csv"), csv(&rows_of(&market(time(CLOSE)), 0, time(CLOSE), 1))).unwrap();
    let mut batch = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    batch
        .arg("batch")
        .arg(&quotes)
        .arg("-o")
        .arg(&out)
        .args(["--accuracy", "preliminary", "--quiet", "--reference-as-named"])
        .stdin(Stdio::null());
    assert!(batch.status().unwrap().success());
    let made = greeks(&out).into_values().next().unwrap();
    Job { greeks: made, manifest: fs::read(job_folder(&out).join(MANIFEST)).unwrap() }
});

/// A file of Greeks that `history:` serves again.
pub(crate) fn greeks_files(data: &[u8]) -> Kind {
    let path = file("greeks", data);
    let row = &rows_of(&market(time(CLOSE)), 0, time(CLOSE), 1)[0];
    let unit = (row.quote.underlying, time(CLOSE).to_zoned_datetime(jiff::tz::TimeZone::UTC).date());
    let recipe = Recipe { quality: Quality::Preliminary, quotes: false };
    let read = read_chains(&path, unit, &ReferenceSet::default(), recipe);
    fs::remove_file(&path).unwrap();
    match read {
        Ok(StoredChains::Same(chains)) => {
            for (_, chain) in &chains {
                assert!(chain.slices.iter().all(|slice| slice.rows.end <= chain.rows()));
            }
            mix([1, about(chains.len())])
        }
        Ok(StoredChains::OtherRecipe) => 2,
        Ok(StoredChains::OtherReference) => 3,
        Err(why) => mix([4, about(why.len())]),
    }
}

/// The list of finished files of a job.
pub(crate) fn manifests(data: &[u8]) -> Kind {
    let folder = file("manifest", b"");
    fs::remove_file(&folder).unwrap();
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(MANIFEST), data).unwrap();
    let manifest = Manifest::open(&folder).unwrap();
    let first = String::from_utf8_lossy(data).lines().nth(1).and_then(|line| line.split(',').next().map(str::to_owned));
    let found = first.and_then(|name| manifest.get(&name).map(|entry| entry.bytes));
    fs::remove_dir_all(&folder).unwrap();
    mix([u64::from(found.is_some()), about(data.len())])
}

/// A file of keys: refusals contain no value of it.
pub(crate) fn keys(data: &[u8]) -> Kind {
    let path = file("keys", data);
    let read = Keys::read(Some(&path), &|_| None);
    fs::remove_file(&path).unwrap();
    match read {
        Ok(keys) => mix([1, u64::from(keys.warning().is_some()), about(data.len())]),
        Err(why) => mix([2, about(why.len())]),
    }
}

/// A vendor's file with Greeks, compared.
pub(crate) fn compared(data: &[u8]) -> Kind {
    let path = file("compared", data);
    let words = ["greeksd", "compare", "--reference-as-named"].map(OsString::from);
    let words = words.into_iter().chain([path.clone().into_os_string()]);
    let Ok(Invocation::Compare(args)) = read_words(words, &|_| None) else { unreachable!("the words are right") };
    let report = compare::report(&args);
    fs::remove_file(&path).unwrap();
    match report {
        Ok(json) => {
            assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
            mix([1, about(json.len())])
        }
        Err(why) => mix([2, about(why.len())]),
    }
}

/// An answer of another daemon to the viewer.
pub(crate) fn views(data: &[u8]) -> Kind {
    let forms = view::forms_of(data);
    mix(forms.into_iter().map(u64::from))
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let metrics = Arc::new(Metrics::new(&route_names()));
    let config = ServerConfig {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        allow_hosts: Vec::new(),
        limits: Limits::default(),
        bulk_threads: 1,
        metrics,
        clock: || market::NOW,
    };
    Server::start(config, market::service(market::market())).unwrap()
});

/// Header lines of a request for rows (Range, If-Range, If-None-Match and any other): a part has the length and the
/// place that its head says.
pub(crate) fn ranges(data: &[u8]) -> Kind {
    let mut socket = TcpStream::connect(SERVER.addresses()[0]).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let lines = String::from_utf8_lossy(data).replace("\r\n\r\n", "\r\n");
    let target = "GET /l1/greeks?underlying=ACME&format=csv HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    // a server that has refused the head closes, and the rest cannot be written
    let _ = socket.write_all(format!("{target}{lines}\r\n\r\n").as_bytes());
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return about(answer.len()) };
    let (head, body) = (String::from_utf8_lossy(&answer[..end]).into_owned(), answer.len() - end - 4);
    let status: u64 = head.get(9..12).and_then(|text| text.parse().ok()).unwrap_or(0);
    assert!([200, 206, 304, 400, 403, 408, 413, 416, 421, 431, 501, 505].contains(&status), "{head}");
    let number = |text: &str| text.parse::<usize>().ok();
    if let Some(range) = head.lines().find_map(|line| line.strip_prefix("Content-Range: bytes "))
        && let Some((first, last)) = range.split('/').next().and_then(|range| range.split_once('-'))
    {
        assert_eq!(number(last).zip(number(first)).map(|(last, first)| last + 1 - first), Some(body), "{head}");
    }
    mix([status, about(body)])
}

/// A source that hands out what it is given.
struct Given(Arc<Mutex<Option<Delivery>>>, bool);

impl QuoteSource for Given {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        self.0.lock().unwrap().take()
    }

    fn is_vendors(&self) -> bool {
        self.1
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts::default()
    }
}

/// Lines from two sources, a user's and a vendor's, in turns: each line goes to the source that its first byte says,
/// and a clock goes on and back between them. Whatever comes, books stay in order and no time is ahead of the clock.
pub(crate) fn turns(data: &[u8]) -> Kind {
    let next = [(); 2].map(|()| Arc::<Mutex<Option<Delivery>>>::default());
    let sources: Vec<Box<dyn QuoteSource>> =
        vec![Box::new(Given(Arc::clone(&next[0]), false)), Box::new(Given(Arc::clone(&next[1]), true))];
    let mut feed = StoreFeed::new(sources, None);
    let passes = PASSES.lock().unwrap();
    let (mut listed, mut refused) = (0, 0);
    for (turn, line) in data.split(|&b| b == b'\n').take(40).enumerate() {
        let at = usize::from(line.first().is_some_and(|first| first % 2 == 1));
        let (batch, report) = parse_lines(Path::new("x"), line.get(1..).unwrap_or_default());
        refused += report.refused_total();
        *next[at].lock().unwrap() = Some(Delivery { batch, report });
        let minutes = [0, 1, 5, 60, -30, 600, 1440][turn % 7];
        let now: Timestamp = market::NOW + SignedDuration::from_mins(minutes);
        let moment = Moment { now, latest: now, elapsed: Duration::from_secs(turn as u64), log: &|_| () };
        let due = feed.poll(&moment);
        listed = listed.max(feed.names().len());
        for (book, valued_at) in feed.books(&due, now, &passes) {
            assert!(valued_at <= market::NOW + SignedDuration::from_hours(49), "{} at {valued_at}", book.underlying);
            for slice in &book.slices {
                assert!(slice.strike_milli.is_sorted() && slice.rows() > 0, "{}", book.underlying);
            }
        }
    }
    mix([about(listed), about(refused as usize)])
}

static PASSES: LazyLock<Mutex<Passes>> = LazyLock::new(|| Mutex::new(Passes::new(1, |_| ()).unwrap()));
