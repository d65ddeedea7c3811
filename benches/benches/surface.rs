//! Fitting and reading the curves of the embedded market, by the size of a slice, on one thread; times are processor
//! time. The inputs are what passes published: volatilities at bid, mid and ask, a second apart.
#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::print_stdout, reason = "what was fitted belongs beside its time")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::pass::Computed;
use engine::store::chain::Slice;
use engine::store::columns::Col;
use engine::store::ladder::Ladder;
use engine::surface::{Curve, Fitted, Fitter, SurfaceInput};
use greeksd_benches::cpu::of_thread;
use greeksd_benches::market::{NOW, Sim, passes};
use jiff::SignedDuration;
use kernel::contract::Right;
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

/// The slices of every chain that have so many strikes.
fn in_size(chains: &[Vec<Quoted>], least: usize, most: usize) -> Vec<Vec<SurfaceInput<'_>>> {
    let of_size = |slice: &&Quoted| (least..=most).contains(&slice.strikes());
    chains.iter().map(|chain| chain.iter().filter(of_size).map(Quoted::input).collect()).collect()
}

fn surface(c: &mut Criterion) {
    let recorded = recorded();
    let mut group = c.benchmark_group("surface");
    group.sample_size(20);
    for size in SIZES {
        let instants: Vec<_> = recorded.iter().map(|chains| in_size(chains, size.0, size.1)).collect();
        let slices: usize = instants[0].iter().map(Vec::len).sum();
        let rows: usize = instants[0].iter().flatten().map(|slice| slice.right.len()).sum();
        let name = format!("{} to {} strikes", size.0, size.1);
        println!("{name}: {slices} slices, {rows} rows");
        group.throughput(Throughput::Elements(slices as u64));
        group.bench_function(format!("{name}, cold"), |b| {
            b.iter_custom(|n| {
                of_thread(n, || {
                    for chain in &instants[0] {
                        black_box(Fitter::default().fit(chain));
                    }
                })
            });
        });
        let (mut fitter, mut instant) = (Fitter::default(), 0);
        group.bench_function(format!("{name}, steady"), |b| {
            b.iter_custom(|n| {
                of_thread(n, || {
                    instant = (instant + 1) % instants.len();
                    for chain in &instants[instant] {
                        black_box(fitter.fit(chain));
                    }
                })
            });
        });
        let curves: Vec<Vec<Curve>> = instants[0].iter().map(|chain| fitter.fit(chain).to_vec()).collect();
        let ladders: Vec<Ladder> =
            instants[0].iter().flatten().map(|slice| Ladder::new(slice.strike_milli, slice.right)).collect();
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_function(format!("{name}, curves read"), |b| {
            b.iter_custom(|n| {
                of_thread(n, || {
                    for (ladder, curve) in ladders.iter().zip(curves.iter().flatten()) {
                        (0..ladder.blocks()).for_each(|block| {
                            black_box(curve.at_strikes(ladder.block(block)));
                        });
                    }
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, surface);
criterion_main!(benches);
