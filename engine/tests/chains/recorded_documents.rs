//! Vendors' documents as they were recorded, against what other programs read in them. The recordings are not in the
//! repository: `just chains FOLDER` runs this.

use feeds::cboe::parse_cboe;
use feeds::csv::decompress;
use feeds::databento::parse_dbn;
use feeds::massive::parse_massive_snapshot;
use feeds::tradier::parse_tradier_chain;
use history::layouts::read_chains;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::error::Instead;
use kernel::records::QuoteRecord;
use std::fs;
use std::path::Path;
use testkit::documents::has_same_quote;

fn original(name: &str) -> Vec<u8> {
    let path = testkit::recorded::folder().join("original").join(name);
    let (bytes, error) = decompress(&path, fs::read(&path).unwrap());
    assert!(error.is_none(), "{name}");
    bytes
}

fn symbol(text: &str) -> Symbol {
    Symbol::parse(text).unwrap()
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn cboes_file_has_the_quotes_that_were_taken_from_it() {
    let file = original("cboe_delayed_quotes_CLX.json");
    let (batch, report) = parse_cboe(Path::new("CLX"), &file, symbol("CLX"), &Calendar::embedded());
    assert_eq!((report.refused_total(), report.errors.len(), batch.reset.len()), (0, 0, 1), "{:?}", report.places);
    assert_eq!(batch.spots[0].price.to_bits(), 95.55f64.to_bits());
    let path = testkit::recorded::folder().join("chains/clx_2026-07-24.csv.gz");
    let (bytes, _) = decompress(&path, fs::read(&path).unwrap());
    let (chains, _) = read_chains(&path, &bytes);
    assert_eq!(chains.quotes.len(), batch.quotes.len());
    for (got, want) in batch.quotes.iter().zip(&chains.quotes) {
        assert!(has_same_quote(got, &QuoteRecord { ts: got.ts, ..*want }), "{got:?} is not {want:?}");
    }
    // made at 00:43 UTC on a Saturday, after the last trade of Friday
    assert_eq!(batch.quotes[0].ts, "2026-07-25T00:28:14Z".parse().unwrap());
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn massives_examples_are_read() {
    for name in ["polygon_snapshot_option_contract_AAPL.json", "polygon_snapshot_options_chain_AAPL.json"] {
        let (page, report) = parse_massive_snapshot(Path::new(name), &original(name), symbol("AAPL"));
        assert_eq!((report.refused_total(), report.errors.len(), page.batch.quotes.len()), (0, 0, 1), "{name}");
        let q = &page.batch.quotes[0];
        assert_eq!((q.bid, q.ask, q.contract.strike_milli), (28.9, 29.25, 150_000));
        assert_eq!(page.batch.spots[0].price.to_bits(), 159.9606f64.to_bits());
    }
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn tradiers_chains_of_two_ages_are_read() {
    let asked_at: Timestamp = "2026-09-11T20:00:00Z".parse().unwrap();
    for (name, underlying, least) in
        [("tradier_option_GDXJ_2026-09-11.json", "GDXJ", 1), ("tradier_chain_AAPL_2013_nogreeks.json.gz", "AAPL", 100)]
    {
        let (batch, report) = parse_tradier_chain(Path::new(name), &original(name), symbol(underlying), asked_at);
        assert_eq!((report.refused_total(), report.errors.len()), (0, 0), "{name}: {:?}", report.places);
        assert!(batch.quotes.len() >= least && batch.quotes.iter().all(|q| q.ts == asked_at), "{name}");
    }
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn databentos_files_have_what_the_vendors_own_library_reads() {
    let read = |name: &str| parse_dbn(Path::new(name), &original(name), &RootTable::embedded(), None);
    for (name, ts, [bid, ask, bid_size, ask_size]) in [
        ("opra_cbbo-1s_AAPL_2025-02-20.dbn.zst", 1_740_061_803, [0.22, 0.24, 9.0, 13.0]),
        ("opra_cbbo-1m_AAPL_2025-02-20.dbn.zst", 1_740_061_980, [0.34, 0.36, 62.0, 79.0]),
    ] {
        let (batch, report) = read(name);
        assert_eq!((report.records, report.refused_total(), report.errors.len()), (4, 0, 0), "{name}");
        let [q] = batch.quotes.as_slice() else { panic!("{name}: {} contracts", batch.quotes.len()) };
        assert_eq!((q.ts.as_second(), q.underlying.as_str(), q.contract.strike_milli), (ts, "AAPL", 250_000));
        let bits = |numbers: [f64; 4]| numbers.map(f64::to_bits);
        assert_eq!(bits([q.bid, q.ask, q.bid_size, q.ask_size]), bits([bid, ask, bid_size, ask_size]));
    }
    let (batch, report) = read("opra_definition_AAPL_2025-02-20.dbn.zst");
    assert_eq!((batch.quotes.len(), report.errors.len()), (1, 0));
    assert!(batch.quotes[0].bid.is_nan());
    // version 1, with 13,492 symbols in its metadata
    let (batch, report) = read("opra_definition_SPY_2023-08.dbn.zst");
    assert_eq!((report.records, report.refused_total(), report.errors.len()), (2, 0, 0));
    let strikes: Vec<_> =
        batch.quotes.iter().map(|q| (q.contract.strike_milli, q.contract.expiry.to_string())).collect();
    assert_eq!(strikes, [(340_000, "2024-01-19".to_owned()), (370_000, "2024-01-19".to_owned())]);
    for name in ["trades", "tbbo", "mbp-1"] {
        let (batch, report) = read(&format!("opra_{name}_AAPL_2025-02-20.dbn.zst"));
        assert!(batch.quotes.is_empty());
        assert!(report.errors[0].to_string().ends_with(&Instead::NoQuotes.to_string()), "{name}: {}", report.errors[0]);
    }
}
