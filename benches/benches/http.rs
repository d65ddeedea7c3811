//! Compares our server, may_minihttp and hyper over loopback, all with the same service: a whole chain, and a small
//! request. The clients run on the same cores: figures are of server and client together.
#![allow(missing_docs, reason = "criterion's macros")]

mod peers;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use greeksd_benches::client::Client;
use greeksd_benches::market::{CHAIN, ROW, Sim, service};
use std::net::SocketAddr;
use std::sync::Arc;

/// The bytes of an answer.
fn body(address: SocketAddr, target: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let got = Client::connect(address).and_then(|mut c| c.fetch(target, |piece| body.extend_from_slice(piece)));
    got.expect("an answer");
    body
}

fn http(c: &mut Criterion) {
    let snapshot = Sim::of(&["SPX"]).snapshot();
    let (app, metrics) = service(snapshot.clone());
    let server = peers::own(app, metrics);
    let shared = Arc::new(service(snapshot).0);
    let servers = [
        ("greeksd", server.addresses()[0]),
        ("may_minihttp", peers::minihttp::start(Arc::clone(&shared))),
        ("hyper", peers::hyper_tokio::start(shared)),
    ];
    for (what, target) in [("chain", CHAIN), ("small", ROW)] {
        let wanted = body(servers[0].1, target);
        let mut group = c.benchmark_group(what);
        group.throughput(Throughput::Bytes(wanted.len() as u64));
        if what == "chain" {
            group.sampling_mode(SamplingMode::Flat).sample_size(20);
        }
        for (name, address) in servers {
            assert!(body(address, target) == wanted, "{name} serves other bytes");
            let mut client = Client::connect(address).expect("a connection");
            group.bench_function(format!("{name}, {} bytes", wanted.len()), |b| {
                b.iter(|| client.get(target).expect("an answer"));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, http);
criterion_main!(benches);
