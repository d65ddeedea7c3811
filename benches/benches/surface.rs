//! Fitting the curves of the embedded market, by the size of a slice: nanoseconds a slice, one thread.
//! The inputs are what a pass published: volatilities at bid, mid and ask, a second apart.
#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::print_stdout, reason = "what was fitted belongs beside its time")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::contract::Right;
use engine::pass::Computed;
use engine::store::chain::Slice;
use engine::store::columns::Col;
use engine::surface::{SurfaceInput, fit};
use greeksd_benches::market::{NOW, Sim, passes};
use jiff::SignedDuration;
use std::hint::black_box;

/// Instants a second apart.
const INSTANTS: i64 = 8;
/// Strikes of a slice, least and greatest, by group.
const SIZES: [(usize, usize); 4] = [(4, 9), (10, 19), (20, 45), (90, 250)];

/// One (root, expiry) as a pass published it.
struct Quoted {
    t: f64,
    fwd: f64,
    strike_milli: Vec<u32>,
    right: Vec<Right>,
    vols: [Vec<f64>; 3],
    used: Vec<bool>,
}

impl Quoted {
    fn of(done: &Computed, slice: &Slice) -> Self {
        let rows = slice.rows.start as usize..slice.rows.end as usize;
        let column = |col: Col| done.chain.columns.get(col)[rows.clone()].to_vec();
        let vols = [column(Col::BidVol), column(Col::MidVol), column(Col::AskVol)];
        Self {
            t: slice.days / 365.0,
            fwd: slice.fwd_price,
            strike_milli: done.chain.strike_milli[rows.clone()].to_vec(),
            right: done.chain.right[rows.clone()].to_vec(),
            used: vols[1].iter().zip(&vols[2]).map(|(mid, ask)| mid.is_finite() && ask.is_finite()).collect(),
            vols,
        }
    }

    fn input(&self) -> SurfaceInput<'_> {
        SurfaceInput {
            t: self.t,
            fwd: self.fwd,
            strike_milli: &self.strike_milli,
            right: &self.right,
            vol_bid: &self.vols[0],
            vol_mid: &self.vols[1],
            vol_ask: &self.vols[2],
            used: &self.used,
        }
    }

    fn strikes(&self) -> usize {
        1 + self.strike_milli.windows(2).filter(|w| w[0] != w[1]).count()
    }
}

/// All chains at all instants.
fn recorded() -> Vec<Vec<Vec<Quoted>>> {
    let (sim, mut passes) = (Sim::of(&[]), passes());
    let mut books = sim.books(&passes);
    (0..INSTANTS)
        .map(|i| {
            let at = NOW + SignedDuration::from_secs(i);
            sim.update(&mut books, at, &passes);
            let of_chain = |done: &Computed| -> Vec<Quoted> {
                let live = done.chain.slices.iter().filter(|s| !s.adjusted);
                live.map(|slice| Quoted::of(done, slice)).collect()
            };
            sim.pass(&books, at, &mut passes).iter().map(of_chain).collect()
        })
        .collect()
}

fn surface(c: &mut Criterion) {
    let recorded = recorded();
    let mut sizes: Vec<usize> = recorded[0].iter().flatten().map(Quoted::strikes).collect();
    sizes.sort_unstable();
    let at = |p: usize| sizes[(sizes.len() - 1) * p / 100];
    println!("{} slices, strikes: {} {} {} {} {}", sizes.len(), at(1), at(10), at(50), at(90), at(99));
    let mut group = c.benchmark_group("surface");
    group.sample_size(20);
    for (least, most) in SIZES {
        let in_size = |chains: &'_ Vec<Vec<Quoted>>| -> Vec<Vec<usize>> {
            let of = |c: &Vec<Quoted>| (0..c.len()).filter(|&i| (least..=most).contains(&c[i].strikes())).collect();
            chains.iter().map(of).collect()
        };
        let inputs: Vec<Vec<Vec<SurfaceInput<'_>>>> = recorded
            .iter()
            .map(|chains| {
                let picked = in_size(chains);
                chains.iter().zip(picked).map(|(c, p)| p.iter().map(|&i| c[i].input()).collect()).collect()
            })
            .collect();
        let slices: usize = inputs[0].iter().map(Vec::len).sum();
        let strikes: usize = recorded[0].iter().flatten().map(Quoted::strikes).filter(|n| (least..=most).contains(n)).sum();
        println!("{least} to {most} strikes: {slices} slices, {:.1} strikes", strikes as f64 / slices as f64);
        group.throughput(Throughput::Elements(slices as u64));
        let mut instant = 0;
        group.bench_function(format!("{least} to {most} strikes"), |b| {
            b.iter(|| {
                instant = (instant + 1) % inputs.len();
                for chain in &inputs[instant] {
                    black_box(fit(chain));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, surface);
criterion_main!(benches);
