#!/usr/bin/env bash
# The same bytes from builds for AVX2 and for AVX-512: contracts with given parameters (golden/), and a day of quotes of
# made-up names from text to Greeks. Needs a processor with AVX-512; says so where it has none.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! grep -qw avx512dq /proc/cpuinfo; then
    echo "missing, a processor with AVX-512: this one has one level only" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the second is what a plain build is here
RUSTFLAGS="-C target-cpu=x86-64-v3" cargo build --release --locked --target-dir target/avx2
cargo build --release --locked
cargo run --release --locked -p greeksd-history --example generate -- datashop "$work/made" --names 20 --days 2
for level in avx2/release release; do
    out=$work/${level%%/*}
    mkdir -p "$out"
    for rows in european american_nodiv american_div; do
        "target/$level/greeksd" price "golden/$rows.csv" -o "$out/$rows.csv"
    done
    "target/$level/greeksd" batch "$work/made/quotes" -o "$out/greeks" --format csv -q
done
diff -r "$work/avx2" "$work/release"
echo "the same $(find "$work/release" -type f | wc -l) files, $(du -sh "$work/release" | cut -f1), from both"
