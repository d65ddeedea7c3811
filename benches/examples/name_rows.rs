//! Metrics of every name beside a pass over the simulated market: processor time of the pass, of rows, of their text.
//!
//! ```text
//! cargo run --release -p greeksd-benches --example name_rows -- [SHARE [PASSES]]
//! ```
//!
//! `SHARE` of the contracts of `sim:full` (0.2); the names are as many whatever it is. The last one of `PASSES` (4)
//! steady passes is timed; 0: the preliminary pass alone, in minutes less. `interest`: every contract has open interest
//! and a volume.
#![allow(clippy::print_stdout, reason = "a report")]

use api::metrics::{NameRow, NameRows, RowInputs};
use api::rows::frame::Format;
use api::vendors::facts::FactForm;
use api::vendors::native_metrics::file;
use engine::closes::Closes;
use engine::pass::{FIRST, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::chain::Chain;
use engine::store::quotes::ChainQuotes;
use greeksd_benches::cpu::{Took, timed};
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use kernel::quality::Quality;
use sim::SimMarket;
use std::sync::Arc;

/// 15:42 Eastern on a Friday.
const NOW: Timestamp = Timestamp::constant(1_795_207_320, 0);
fn main() {
    let number = |n: usize| std::env::args().nth(n).and_then(|text| text.parse::<f64>().ok());
    let (share, steady) = (number(1).unwrap_or(0.2), number(2).unwrap_or(4.0) as i64);
    let sim = SimMarket::full(1, 1.0, NOW, share);
    let rates = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
    let (calendar, roots) = (Calendar::embedded(), RootTable::embedded());
    let data = MarketData { calendar: &calendar, rates: &rates };
    let mut passes = Passes::new(0, |_| ()).expect("threads");
    let mut books: Vec<_> = passes.map(0..sim.len(), |i| sim.book(i, NOW)).into_iter().flatten().collect();
    let (mut at, mut last) = (NOW, (Vec::new(), Took::default()));
    for n in 0..=steady {
        let work: Vec<_> = books.iter().map(|book| (book, at)).collect();
        // the first pass of all are several
        let qualities: &[Quality] = match (n, steady) {
            (0, 0) => &[Quality::Preliminary],
            (0, _) => FIRST,
            _ => &[Quality::Full],
        };
        for &quality in qualities {
            last.0.clear();
            last = timed(|| passes.run_to(quality, data, &work));
        }
        at += SignedDuration::from_secs(1);
        passes.map(&mut books, |book| sim.update(book, at));
    }
    let (computed, pass) = last;
    let chains: Vec<Arc<Chain>> = computed.into_iter().map(|done| done.chain).collect();
    let contracts: usize = chains.iter().map(|chain| chain.rows() as usize).sum();
    println!("{} names, {contracts} contracts: the last pass takes {} ms of processor", chains.len(), ms(pass));
    let closes = Closes::default();
    let inputs = RowInputs { closes: &closes, calendar: &calendar, roots: &roots };
    let with_interest: Vec<Arc<Chain>> = chains.iter().map(|chain| Arc::new(interested(chain))).collect();
    for (name, chains) in [("quotes not shown", &chains), ("interest", &with_interest)] {
        let all = NameRows::default();
        let find = || -> Vec<Arc<NameRow>> { chains.iter().map(|chain| all.brief(chain, inputs)).collect() };
        let (rows, anew) = timed(find);
        let (_, again) = timed(find);
        let of_pass = 100.0 * anew.processor.as_secs_f64() / pass.processor.as_secs_f64();
        println!("{name}: rows {} ms, {of_pass:.1} % of the pass; again {} ms", ms(anew), ms(again));
        for (format, word) in [(Format::Json, "json"), (Format::PointCsv, "csv"), (Format::Html, "html")] {
            let rows: Vec<NameRow> = rows.iter().map(|row| NameRow::clone(row)).collect();
            let (body, took) = timed(|| file(FactForm::Text(format), rows, &calendar).expect("text is written"));
            println!("  {word}: {} ms, {} kB", ms(took), body.len() / 1000);
        }
    }
}

fn ms(took: Took) -> String {
    format!("{:.1}", 1e3 * took.processor.as_secs_f64())
}

/// A chain whose contracts are all open.
fn interested(chain: &Chain) -> Chain {
    let rows = chain.rows() as usize;
    let quotes = ChainQuotes::new(vec![[1.0, 1.1]; rows], vec![[10.0; 4]; rows], vec![chain.valued_at; rows]);
    Chain { quotes: Some(Box::new(quotes)), ..chain.clone() }
}
