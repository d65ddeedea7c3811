//! Benchmarks of greeksd: see `benches/`.
