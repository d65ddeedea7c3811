//! How well the curve of an expiry without a quote tells what its neighbours in time make likely. Every third
//! well-quoted expiry of a name is emptied, never the first or the last of them, and `svc_vol` near the money is held
//! against the mids that were taken away.

use super::{QUOTES_LEAST, VolQuote, chains, good};
use crate::moments::Moment;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use std::sync::Arc;
use testkit::quantile;

/// Quotes count within so many standard deviations of the forward.
const NEAR: f64 = 0.5;
/// Days to the expiry, up to which the distances are put together.
const CLASSES: [f64; 4] = [10.0, 35.0, 120.0, f64::INFINITY];

/// The places of the well-quoted expiries of a chain that are emptied in turn `turn` of three.
fn emptied(chain: &Chain, turn: usize) -> Vec<usize> {
    let well = |i: &usize| !chain.slices[*i].adjusted && good(chain, &chain.slices[*i]).len() >= QUOTES_LEAST;
    let well: Vec<usize> = (0..chain.slices.len()).filter(well).collect();
    (1..well.len().max(1) - 1).filter(|at| at % 3 == turn).map(|at| well[at]).collect()
}

/// Median distance of `svc_vol` from the mids near the money, vol points, with its sign.
fn distance(rest: &Chain, at: usize, held: &[VolQuote]) -> Option<f64> {
    let slice = &rest.slices[at];
    let nearest = held.iter().min_by(|a, b| a.k.abs().total_cmp(&b.k.abs()))?;
    let near = NEAR * nearest.mid * (slice.days / 365.0).sqrt();
    let mut rows = slice.rows.start as usize..slice.rows.end as usize;
    let vols = rest.columns.get(Col::SvcVol);
    let miss = |q: &VolQuote| {
        rows.find(|&row| rest.strike_milli[row] == q.strike_milli).map(|row| 100.0 * (vols[row] - q.mid))
    };
    let mut all: Vec<f64> = held.iter().filter(|q| q.k.abs() <= near.max(nearest.k.abs())).filter_map(miss).collect();
    (!all.is_empty()).then(|| quantile(&mut all, 0.5))
}

/// Distances of a moment, by class of days.
fn distances(moment: &Moment) -> [Vec<f64>; CLASSES.len()] {
    let mut books = moment.books.clone();
    books.retain(Book::has_spot);
    books.sort_by_key(|book| book.underlying);
    let full = chains(&books, moment.market(), |book| book.ts);
    let mut found = [const { Vec::new() }; CLASSES.len()];
    for turn in 0..3 {
        let mut books = books.clone();
        let held: Vec<Vec<usize>> = full.iter().map(|chain| emptied(chain, turn)).collect();
        for ((chain, book), held) in full.iter().zip(&mut books).zip(&held) {
            for slice in held.iter().map(|&at| &chain.slices[at]) {
                let of = book.slices.iter_mut().find(|s| s.root == slice.root && s.expiry == slice.expiry).unwrap();
                of.bid.fill(f64::NAN);
                of.ask.fill(f64::NAN);
            }
        }
        let rest: Vec<Arc<Chain>> = chains(&books, moment.market(), |book| book.ts);
        for ((chain, rest), held) in full.iter().zip(&rest).zip(held) {
            for at in held {
                let class = CLASSES.iter().position(|&days| chain.slices[at].days <= days).unwrap();
                found[class].extend(distance(rest, at, &good(chain, &chain.slices[at])));
            }
        }
    }
    found
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn an_expiry_without_quotes_is_near_what_was_quoted() {
    let mut moments = vec![Moment::of(&testkit::recorded::folder())];
    moments.append(&mut Moment::all());
    for moment in moments {
        println!("{}: expiries emptied, vol points off", moment.name);
        for (days, found) in CLASSES.iter().zip(distances(&moment)) {
            let mut off: Vec<f64> = found.iter().map(|x| x.abs()).collect();
            let rms = (off.iter().map(|x| x * x).sum::<f64>() / off.len() as f64).sqrt();
            let [p50, p90] = [0.5, 0.9].map(|p| quantile(&mut off, p));
            println!("  to {days:3} days: n {:4}, median {p50:.3}, 90 % {p90:.3}, rms {rms:.3}", off.len());
            // twice what is measured: a curve that is not the neighbours' is off by more
            assert!(off.is_empty() || p50 < 2.5, "{}, to {days} days: {p50}", moment.name);
        }
    }
}
