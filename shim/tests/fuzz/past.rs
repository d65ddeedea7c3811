//! A body for targets that ask about recorded days: a service with an archive behind it.

use crate::bodies::{Kind, about, mix};
use crate::market;
use api::listing::{GatheredContracts, StrikePool};
use engine::store::chain::Chain;
use http::{Answer, Body, Progress};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, Symbol};
use shim::app::Service;
use shim::past::archive::DayChains;
use shim::past::cache::{CachedArchive, RecordedDays};
use shim::past::index::DayIndex;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Recorded days, the first of which cannot be used.
const DAYS: [Date; 4] = [date(2026, 11, 17), date(2026, 11, 18), date(2026, 11, 19), date(2026, 11, 20)];
const TIMES: [(i8, i8); 2] = [(10, 0), (16, 0)];
/// The most of an answer that is read.
const ANSWER: usize = 8 << 20;

/// The chains of the usual market, on each day at each time.
struct Recorded(Vec<Arc<Chain>>);

impl RecordedDays for Recorded {
    fn index(&self) -> Option<Arc<DayIndex>> {
        let mut index = DayIndex::default();
        for (chain, day) in self.0.iter().flat_map(|chain| DAYS.map(|day| (chain, day))) {
            index.note(chain.underlying, day, 1);
            let mut listed = GatheredContracts::default();
            for (slice, row) in chain.slices.iter().flat_map(|s| s.rows.clone().map(move |row| (s, row as usize))) {
                let (strike_milli, right) = (chain.strike_milli[row], chain.right[row]);
                listed.add(&ContractKey { root: slice.root, expiry: slice.expiry, strike_milli, right });
            }
            index.note_listing(chain.underlying, day, Arc::new(listed.into_listing(&mut StrikePool::default())));
        }
        Some(Arc::new(index))
    }

    fn compute(&self, name: Symbol, day: Date) -> Result<DayChains, String> {
        if day == DAYS[0] {
            return Err("a.csv:7: bid: not_a_number".to_owned());
        }
        let chain = self.0.iter().find(|chain| chain.underlying == name).ok_or("no such name")?;
        let at = |(hour, minute)| Calendar::embedded().instant(day.at(hour, minute, 0, 0));
        let valued = |at: Timestamp| (at, Arc::new(Chain { valued_at: at, ..(**chain).clone() }));
        Ok(DayChains::new(TIMES.map(|time| valued(at(time))).into()))
    }
}

static SERVICE: LazyLock<Service> = LazyLock::new(|| {
    let market = market::market();
    let archive = CachedArchive::start(Recorded(market.chains().to_vec()), 1 << 20, 2, || {}).unwrap();
    market::service(market).with_archive(Arc::new(archive))
});

/// Path and query of a target, with recorded days: an answer of a known status; one that is whole and JSON is JSON.
pub(crate) fn past(data: &[u8]) -> Kind {
    let text: String = data.iter().filter(|b| b.is_ascii_graphic()).map(|&b| char::from(b)).take(4096).collect();
    let (path, query) = text.split_once('?').unwrap_or((&text, ""));
    let (answer, body, is_whole) = read(SERVICE.answer_to(path, query));
    let status = answer.status;
    assert!([200, 400, 404, 472, 501, 502, 503].contains(&status), "{status}: {text}");
    let json = is_whole && answer.content_type.starts_with("application/json");
    if json {
        let parsed = serde_json::from_slice::<&serde_json::value::RawValue>(&body);
        assert!(parsed.is_ok(), "{text}: no JSON: {}", String::from_utf8_lossy(&body));
    }
    mix([u64::from(status), about(body.len()), u64::from(is_whole), answer.content_type.len() as u64])
}

/// Reads an answer: the rest of it, its body, and true if the body is whole.
fn read(mut answer: Answer) -> (Answer, Vec<u8>, bool) {
    let mut body = Vec::new();
    match std::mem::replace(&mut answer.body, Body::Full(Vec::new())) {
        Body::Full(bytes) => body = bytes,
        Body::Awaited(mut awaited) => loop {
            if let Some(answer) = awaited.look() {
                return read(answer);
            }
            std::thread::sleep(Duration::from_micros(100));
        },
        Body::Socket(_) => panic!("no socket was asked for"),
        Body::Stream(mut stream) => {
            let mut piece = Vec::new();
            loop {
                piece.clear();
                let progress = stream.fill(&mut piece);
                body.extend_from_slice(&piece);
                match progress {
                    Progress::Done => break,
                    Progress::Broken => return (answer, body, false),
                    Progress::More if body.len() > ANSWER => return (answer, body, false),
                    Progress::More => {}
                    Progress::Later => std::thread::sleep(Duration::from_micros(100)),
                }
            }
        }
    }
    (answer, body, true)
}
