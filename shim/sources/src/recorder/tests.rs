use super::*;
use engine::store::ingest::{Admitted, Store};
use feeds::dir::DirFeed;
use history::layouts::read_chains;
use jiff::civil::date;
use kernel::contract::{ContractKey, Right};
use kernel::records::{Activity, QuoteRecord, SpotRecord};
use proptest::prelude::*;
use std::fs;

const NAMES: [&str; 3] = ["AA", "BRK.B", "SPX"];
const ROOTS: [&str; 3] = ["AA", "BRKB", "SPXW"];

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_795_207_320 + second).unwrap()
}

fn sym(text: &str) -> Symbol {
    Symbol::parse(text).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("greeksd-record-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn writer(folder: &Path) -> Writer {
    Writer::new(folder.to_path_buf(), Arc::default())
}

fn quote(strike: u32, bid: f64, second: i64) -> QuoteRecord {
    let contract =
        ContractKey { root: sym("AA"), expiry: date(2026, 12, 18), strike_milli: 1000 * strike, right: Right::Call };
    let nan = f64::NAN;
    QuoteRecord {
        ts: at(second),
        underlying: sym("AA"),
        contract,
        bid,
        ask: 9.5,
        bid_size: nan,
        ask_size: nan,
        activity: Activity::default(),
    }
}

fn of(quotes: Vec<QuoteRecord>) -> Batch {
    Batch { quotes, ..Batch::default() }
}

fn store() -> Store {
    Store::new(RootTable::embedded(), Calendar::embedded())
}

fn books(mut store: Store) -> String {
    store.books_mut().iter_mut().flat_map(|book| &mut book.slices).for_each(|slice| slice.stale = false);
    // a name of which nothing is known but that it was forgotten has no book in one and none in the other
    format!("{:?} {:?}", store.books(), store.curves())
}

/// The records read from a folder of recordings.
fn read(folder: &Path) -> Store {
    let mut store = store();
    let read = DirFeed::open(folder, read_chains).unwrap().poll(Duration::ZERO).unwrap();
    let (batch, report) = read.unwrap();
    assert_eq!((report.places, report.errors.len()), (vec![], 0));
    store.ingest(&batch, Timestamp::MAX);
    store
}

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let quote = (0..3usize, 0..4u32, any::<bool>(), 0..9i64, 0..500u32, 0..4u32).prop_map(
        |(name, strike, put, ts, bid, ask)| {
            let right = if put { Right::Put } else { Right::Call };
            let contract =
                ContractKey { root: sym(ROOTS[name]), expiry: date(2026, 12, 18), strike_milli: 500 + strike, right };
            let bid = if bid == 0 { f64::NAN } else { f64::from(bid) / 100.0 };
            let underlying = sym(if ts % 2 == 0 { NAMES[name] } else { ROOTS[name] });
            let ts = at(ts);
            QuoteRecord {
                ts,
                underlying,
                contract,
                bid,
                ask: f64::from(ask),
                bid_size: 1.0,
                ask_size: f64::NAN,
                activity: Activity::default(),
            }
        },
    );
    let spot = (0..3usize, 0..9i64, 1..4u32).prop_map(|(name, ts, price)| SpotRecord {
        ts: at(ts),
        underlying: sym(NAMES[name]),
        price: f64::from(price) / 3.0,
    });
    let dividend = (0..3usize, 1..4i8, 0..4u32).prop_map(|(name, day, amount)| DividendRecord {
        underlying: sym(ROOTS[name]),
        ex_date: date(2026, 12, day),
        amount: f64::from(amount) / 7.0,
        projected: amount == 2,
    });
    let rate = (1..4i8, 1..3u32, 0..9u32).prop_map(|(day, tenor, rate)| RateRecord {
        date: date(2026, 11, day),
        tenor_days: 30.0 * f64::from(tenor),
        rate: f64::from(rate) / 300.0,
    });
    let some = |strategy| prop::option::weighted(0.4, prop::collection::vec(strategy, 0..4));
    let rates = prop::option::weighted(0.4, prop::collection::btree_map(1..3u8, rate, 0..3));
    let reset = prop::collection::vec((0..3usize).prop_map(|name| sym(NAMES[name])), 0..2);
    let batch = (prop::collection::vec(quote, 0..12), prop::collection::vec(spot, 0..3), reset, some(dividend), rates);
    let batch = batch.prop_map(|(quotes, spots, reset, dividends, rates)| {
        let rates = rates.map(|rates: BTreeMap<u8, RateRecord>| {
            // one of each date and tenor: of two the larger counts in a file, and the last of lines
            let one: BTreeMap<_, _> = rates.into_values().map(|r| ((r.date, r.tenor_days.to_bits()), r)).collect();
            one.into_values().collect()
        });
        Batch { reset, quotes, spots, dividends, rates, ..Batch::default() }
    });
    prop::collection::vec(batch, 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn what_is_recorded_is_the_same_market_when_it_is_read(batches in batches(), every in 1..4usize) {
        let folder = folder("same");
        let (mut original, mut recorder) = (store(), writer(&folder));
        let mut quoted = false;
        for (i, batch) in batches.iter().enumerate() {
            let mut admitted = Admitted::default();
            original.ingest_with_admitted(batch, Timestamp::MAX, Some(&mut admitted));
            quoted |= !admitted.quotes.is_empty();
            recorder.take(&Batch { quotes: admitted.quotes, spots: admitted.spots, ..batch.clone() }, Timestamp::MAX);
            if i % every == 0 {
                // as at the end of a program
                recorder.flush();
            }
            if i % 3 == 2 {
                recorder.file = None;
            }
        }
        recorder.flush();
        let has_quotes = original.books().iter().any(|book| !book.slices.is_empty());
        if quoted && has_quotes {
            prop_assert_eq!(books(read(&folder)), books(original));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn a_name_whose_dividends_are_gone_stays_covered() {
    let folder = folder("covered");
    let (mut original, mut recorder) = (store(), writer(&folder));
    let ex = |day| DividendRecord { underlying: sym("AA"), ex_date: date(2026, 12, day), amount: 0.5, projected: true };
    let dividends = |records| Batch { dividends: Some(records), ..Batch::default() };
    for batch in [dividends(vec![ex(1), ex(3)]), dividends(vec![]), of(vec![quote(5, 9.0, 1)])] {
        original.ingest(&batch, Timestamp::MAX);
        recorder.take(&batch, Timestamp::MAX);
    }
    recorder.flush();
    let read = read(&folder);
    assert!(read.books()[0].dividends_known && read.books()[0].dividends.is_empty());
    assert_eq!(books(read), books(original));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_day_has_its_file_and_a_wrong_time_moves_nothing() {
    let folder = folder("days");
    let mut recorder = writer(&folder);
    let monday = at(3 * 86_400);
    let dividends =
        vec![DividendRecord { underlying: sym("AA"), ex_date: date(2026, 12, 1), amount: 0.5, projected: false }];
    recorder.take(&Batch { dividends: Some(dividends), ..Batch::default() }, at(0));
    recorder.take(&of(vec![quote(1, 1.0, 0)]), at(0));
    recorder.take(&of(vec![quote(2, 1.0, 80_000)]), at(5));
    recorder.take(&of(vec![quote(3, 1.0, 3 * 86_400), quote(4, 1.0, 10)]), monday);
    recorder.take(&of(vec![quote(5, 1.0, 20)]), monday);
    recorder.flush();
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["quotes-2026-11-20.ndjson.gz", "quotes-2026-11-23.ndjson.gz"]);
    let strikes = |path: &Path| {
        let store = read(path);
        let book = store.book(sym("AA")).unwrap();
        let slice = &book.slices[0];
        (slice.strike_milli.iter().map(|k| k / 1000).collect::<Vec<_>>(), book.dividends.len())
    };
    assert_eq!(strikes(&folder), (vec![3, 4, 5], 1), "of a folder the last day");
    assert_eq!(strikes(&folder.join(&names[0])), (vec![1, 2], 1), "a day by its file");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_fault_costs_its_batch_and_is_counted() {
    let folder = folder("fault");
    let (to, waiting) = channel();
    let shared = Arc::<WriterShared>::default();
    let mut recorder = Writer::new(folder.clone(), Arc::clone(&shared));
    let dividends =
        vec![DividendRecord { underlying: sym("AA"), ex_date: date(2026, 12, 1), amount: 0.5, projected: false }];
    let first = Batch { dividends: Some(dividends), ..of(vec![quote(1, 1.0, 0)]) };
    let put = |batch: Batch| {
        shared.waiting.fetch_add(batch.quotes.len() + 1, Ordering::AcqRel);
        to.send(Message::Records(Box::new(batch), at(0))).unwrap();
    };
    recorder.take(&first, at(0));
    put(of(vec![quote(2, 1.0, 0), quote(3, 1.0, 0)]));
    host::faults::order("record");
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| write_all(&waiting, &mut recorder))).is_err());
    put(of(vec![quote(4, 1.0, 0)]));
    to.send(Message::End).unwrap();
    write_all(&waiting, &mut recorder);
    let store = read(&folder);
    let book = store.book(sym("AA")).unwrap();
    let strikes: Vec<u32> = book.slices[0].strike_milli.iter().map(|k| k / 1000).collect();
    assert_eq!((strikes, book.dividends.len()), (vec![1, 4], 1));
    assert_eq!((shared.dropped.load(Ordering::Relaxed), shared.waiting.load(Ordering::Relaxed)), (2, 0));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_member_that_was_cut_off_is_taken_away_and_nothing_else() {
    let folder = folder("cut");
    let mut recorder = writer(&folder);
    recorder.take(&of(vec![quote(1, 1.0, 0)]), at(0));
    recorder.flush();
    let path = folder.join("quotes-2026-11-20.ndjson.gz");
    let whole = fs::read(&path).unwrap();
    recorder.take(&of(vec![quote(2, 1.0, 0)]), at(0));
    recorder.flush();
    let both = fs::read(&path).unwrap();
    fs::write(&path, &both[..both.len() - 3]).unwrap();
    let mut again = writer(&folder);
    again.take(&of(vec![quote(3, 1.0, 0)]), at(0));
    again.flush();
    assert!(fs::read(&path).unwrap().starts_with(&whole));
    let slice = read(&folder).book(sym("AA")).unwrap().slices[0].clone();
    assert_eq!(slice.strike_milli, [1000, 3000]);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_cannot_be_written_or_does_not_fit_is_counted_and_nobody_waits() {
    let folder = folder("full");
    let mut recorder = writer(&folder);
    // a file where the folder was
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "").unwrap();
    recorder.take(&of(vec![quote(1, 1.0, 0), quote(2, 1.0, 0)]), at(0));
    recorder.flush();
    let shared = Arc::clone(&recorder.shared);
    assert_eq!((shared.dropped.load(Ordering::Relaxed), shared.failing.load(Ordering::Relaxed)), (2, true));
    fs::remove_file(&folder).unwrap();
    fs::create_dir_all(&folder).unwrap();
    recorder.take(&of(vec![quote(1, 1.0, 0)]), at(0));
    recorder.flush();
    assert_eq!((shared.written.load(Ordering::Relaxed), shared.failing.load(Ordering::Relaxed)), (1, false));
    // nobody takes anything from this queue
    let (to, waiting) = channel();
    let mut tap = RecordTap { to, shared: Arc::default(), held: Batch::default() };
    tap.put(of(vec![quote(1, 1.0, 0)]), at(0));
    tap.shared.waiting.store(WAITING_MOST, Ordering::Relaxed);
    let forgets = Batch { reset: vec![sym("AA")], rates: Some(Vec::new()), ..of(vec![quote(2, 1.0, 0); 5]) };
    tap.put(forgets, at(0));
    assert_eq!((tap.facts().dropped, waiting.try_iter().count()), (5, 1));
    tap.shared.waiting.store(0, Ordering::Relaxed);
    tap.put(of(vec![quote(3, 1.0, 0)]), at(0));
    let Ok(Message::Records(batch, _)) = waiting.try_recv() else { panic!("nothing came") };
    assert_eq!((batch.reset.len(), batch.rates.is_some()), (1, true), "what must not be lost goes with the next");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_is_recorded_to_by_one_program() {
    let folder = folder("lock");
    let first = Recorder::start(&folder, None).unwrap();
    assert!(Recorder::start(&folder, None).err().unwrap().contains("another process"));
    let mut tap = first.tap();
    tap.put(of(vec![quote(1, 1.0, 0)]), at(0));
    first.end();
    first.finish(Duration::from_secs(60));
    assert_eq!(tap.facts().written, 1);
    let second = Recorder::start(&folder, None).unwrap();
    second.end();
    second.finish(Duration::from_secs(60));
    assert!(DirFeed::open(&folder, read_chains).is_ok());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_oldest_days_go_and_nothing_else() {
    let left = |keep| {
        let folder = folder("kept");
        for day in 17..=20 {
            fs::write(folder.join(format!("quotes-2026-11-{day}.ndjson.gz")), [0; 100]).unwrap();
        }
        for other in ["quotes-2026-11-01.csv", "mine-2026-11-02.ndjson.gz", LOCK] {
            fs::write(folder.join(other), [0; 100]).unwrap();
        }
        let mut writer = Writer { keep: Some(keep), ..writer(&folder) };
        writer.begin();
        writer.take(&of(vec![quote(20, 1.0, 0)]), at(0));
        writer.flush();
        assert!(folder.join(LOCK).exists() && folder.join("mine-2026-11-02.ndjson.gz").exists());
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut days: Vec<String> =
            names.filter_map(|name| Some(name.strip_prefix("quotes-2026-11-")?.get(..2)?.to_owned())).collect();
        days.sort();
        fs::remove_dir_all(&folder).unwrap();
        days.join(" ")
    };
    assert_eq!(left(RecordKeep::Days(2)), "01 19 20");
    assert_eq!(left(RecordKeep::Days(9)), "01 17 18 19 20");
    assert_eq!(left(RecordKeep::Bytes(1)), "01 20", "the newest day stays");
    assert_eq!(left(RecordKeep::Bytes(100_000)), "01 17 18 19 20");
}
