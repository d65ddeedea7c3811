# Everything a contributor types, and what CI runs. `just` alone lists the recipes.

# the recipes
default:
    @just --list --unsorted

# format, lints as errors, docs
check:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets --locked -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --locked

# every test, as a release build
test:
    cargo test --release --workspace --locked

# one crate's tests, in a build that keeps what did not change: `just quick kernel`, `just quick greeksd --test layers`
quick crate *args:
    cargo test --profile fast --locked -p {{ if crate == "greeksd" { crate } else { "greeksd-" + crate } }} {{ args }}

# the same kernels and golden files without AVX2 and FMA
test-isa:
    RUSTFLAGS="" cargo test --release --locked -p greeksd-kernel -p greeksd-engine --target-dir target/portable

# what the program writes when it is built for AVX2 and for AVX-512, compared byte by byte; needs AVX-512
test-levels:
    bash tests/levels.sh

# what the program says on processors that lack what it needs, in an emulator; needs qemu-user
test-processors:
    cargo build --release --locked
    bash tests/processors.sh

# the same for aarch64, in an emulator; says what is missing where it cannot
test-aarch64 *args:
    python3 tests/aarch64.py {{ args }}

# golden files against the program itself: worst error by Greek
golden:
    cargo test --release --locked -p greeksd-engine --test kernel golden -- --nocapture

# every golden file made again from its own input columns, by programs that share nothing with the engine; FILE: only that
golden-remake *args:
    python3 -m venv target/golden-venv
    target/golden-venv/bin/pip install --quiet --disable-pip-version-check -r golden/make/requirements.txt
    target/golden-venv/bin/python golden/make/remake.py {{ args }}

# the same, compared with the files there: exit code 1 and the rows where a value differs by more than its error
golden-check *args:
    @just golden-remake --check {{ args }}

# golden/frozen.csv.gz: reference values of this build, which later builds are compared with; SHARE rows in a hundred
freeze share="66":
    cargo run --release --locked -p greeksd-testkit --example freeze -- {{ share }} "$(git rev-parse --short HEAD)" > target/frozen.csv.gz
    mv target/frozen.csv.gz golden/frozen.csv.gz

# a folder of recorded chains (absolute path): forwards, volatilities and Greeks against the vendors', dirt, reading
chains folder:
    GREEKSD_REALDATA={{ folder }} cargo test --release --locked -p greeksd-engine --test chains -- --ignored --nocapture

# mutations of the saved inputs in shim/tests/fuzz/corpus to everything that reads what others wrote
# (or to some of them: just fuzz 3600 saved,views)
fuzz seconds="60" *bodies:
    GREEKSD_FUZZ_SECONDS={{ seconds }} {{ if bodies == "" { "" } else { "GREEKSD_FUZZ_BODIES=" + bodies } }} cargo test --release --locked -p greeksd --test fuzz -- --ignored --nocapture

# a market folder (absolute path): what each row shows over HTTP belongs together (docs/model.md)
together folder:
    GREEKSD_MARKET={{ folder }} cargo test --release --locked -p greeksd --test past together -- --ignored --nocapture

# the daemon on a market that is spoiled while clients misbehave: tests/soak/README.md; exit code 1 where something fails
soak *args:
    cargo build --release --locked
    python3 tests/soak/soak.py {{ args }}

# a market that is pushed as lines, Arrow and DBN: rates, lag and processor time of each, beside the first pass and after it
push *args:
    cargo build --release --locked
    cargo run --release --locked -p greeksd-benches --example push -- target/release/greeksd {{ args }}

# killed 200 times at random moments while files and state are written: every restart serves, the state is whole
kill *args:
    cargo build --release --locked
    python3 tests/soak/kill.py {{ args }}

# killed 100 times while quotes are pushed to it: what is served one second after each start, and how old it is
restart *args:
    cargo build --release --locked
    python3 tests/soak/restart.py {{ args }}

# one panic in each thread of a daemon: what /health says, how long it lasts, what is lost, as a table
faults *args:
    cargo build --release --locked -p greeksd --features fault-injection --target-dir target/fault-injection
    python3 tests/faults/run.py {{ args }}

# a line for each; what they write is in target/trials; exit code 1 where one fails
# what CI does not run, one after another, for hours: `just trials soak kill` runs those two
trials *names="explain scenario positions stream scale nautilus lean backtest truth faults restart kill soak":
    #!/usr/bin/env bash
    mkdir -p target/trials
    failed=0
    for name in {{ names }}; do
      start=$SECONDS said=passed
      "{{ just_executable() }}" "$name" > "target/trials/$name.log" 2>&1 || { said=FAILED failed=1; }
      printf '%-10s %s %6d s  %s\n' "$name" "$said" $((SECONDS - start)) "$(tail -n 1 "target/trials/$name.log")"
    done
    exit $failed

# what passes over a simulated market do, counted, and how long their stages take: `just steady full=0.05`
steady *args:
    cargo run --release --locked -p greeksd-testkit --example steady -- {{ args }}

# another build in turn with this one: cold start, steady passes, memory, batch, pulls; ratios with their spread
beside *args:
    cargo build --release --locked
    python3 benches/beside.py {{ args }}

# criterion benches; `just bench kernels` runs one
bench name="":
    cargo bench --locked -p greeksd-benches {{ if name == "" { "" } else { "--bench " + name } }}

# the same contracts priced by QuantLib, fast-vollib, pyvolr and Rust crates: time, disagreement, who is right; error and
# time of QuantLib's American engines at several settings (alone with `--accuracy`), on golden rows and on files of rows
peers *args:
    python3 benches/peers/run.py {{ args }}

# volatility curves of recorded chains beside published codes: benches/surface-peers/README.md says what BASE and MOMENT are
surface-peers base moment *args:
    python3.13 -m venv target/surface-peers/venv
    target/surface-peers/venv/bin/pip install --quiet --disable-pip-version-check -r benches/surface-peers/requirements.txt
    target/surface-peers/venv/bin/python benches/surface-peers/run.py {{ base }} {{ moment }} {{ args }}

# pulls over HTTP beside nginx serving the same bytes, small requests beside pulls, memory; needs nginx and wrk
bench-http *args:
    cargo build --release --locked
    python3 benches/pulls.py {{ args }}

# the built-in history of US Treasury par yields, with what was published since; `--from FILE` takes a file of daily yields
rates-table *args:
    python3 engine/data/refresh_treasury.py {{ args }}

# the built-in dates of news of the whole market, with what its publishers announce; `--page KIND FILE` reads saved pages
market-events *args:
    python3 engine/kernel/data/refresh_market_events.py {{ args }}

# pandas, polars, DuckDB and pyarrow on the daemon's URLs while snapshots change
frames *args:
    cargo build --release --locked
    python3 tests/frames/run.py {{ args }}

# fresh American rows as a market has them, with their reference values: `just market-rows --seed 1 OUT.csv`
market-rows *args:
    python3 golden/make/market.py {{ args }}

# errors of American values on files of rows, by class, payer, distance to the boundary and to the ex-date, against what is aimed at
early-errors *files:
    cargo run --release --locked -p greeksd-testkit --example early_errors -- {{ files }}

# jumps of American values along sweeps of spot, volatility, time, rate and borrow
early-jumps *args:
    cargo run --release --locked -p greeksd-testkit --example early_jumps -- {{ args }}

# nanoseconds of American values, and time and bytes of their tables, by payer and term
early-times *args:
    cargo run --release --locked -p greeksd-testkit --example early_times -- {{ args }}

# errors by class, by distance to the exercise boundary and to the ex-date: target/maps.md and docs/plots
maps:
    cargo run --release --locked -p greeksd-benches --example maps

# Databento's live gateway, which is behind a feature: lints, and a session against one of the test's own
databento:
    cargo clippy --release -p greeksd -p greeksd-sources --all-targets --features greeksd/databento-live,greeksd-sources/databento-live --locked -- -D warnings
    cargo test --release -p greeksd --features databento-live --locked --test databento

# the daemon on its embedded market
run *args:
    cargo run --release -- {{ args }}

# a program of Windows, or an unpacked archive of one, on Windows or under wine: `just windows PATH`
windows *args:
    python3 tests/windows/run.py {{ args }}

# programs or archives of macOS, read and not run: `just macos dist/greeksd-*-macos-*.tar.gz`
macos *args:
    python3 tests/macos/run.py {{ args }}

# the vendors' published clients against a running daemon, in a Python environment of their own
clients *args:
    cargo build --release --locked
    python3 tests/clients/run.py {{ args }}

# the viewer in tmux at three sizes, its daemon taken away and brought back, and every way to end it
view *args:
    cargo build --release --locked
    python3 tests/view/run.py {{ args }}

# the viewer at / in headless Chromium (which must be there, with chromedriver), in a Python environment of its own
browser *args:
    cargo build --release --locked
    python3 tests/browser/run.py {{ args }}

# /openapi.json against its standard, and a running daemon against it
openapi *args:
    cargo build --release --locked
    python3 tests/openapi/run.py {{ args }}

# every request and command that the documents show, against a daemon; the book, where mdbook is there
book *args:
    cargo build --release --locked
    python3 tests/book/run.py {{ args }}

# American contracts by QuantLib from what `greeksd explain` prints, in a Python environment of its own
explain *args:
    cargo build --release --locked
    python3 tests/explain/run.py {{ args }}

# scenarios by QuantLib from what `greeksd explain` prints, in a Python environment of its own
scenario *args:
    cargo build --release --locked
    python3 tests/scenario/run.py {{ args }}

# a book of 2,000 lines on a market that moves: `--feed sim:full` takes the whole one
positions *args:
    cargo build --release --locked
    python3 tests/positions/run.py {{ args }}

# 200 clients of /l1/stream, one stopped, one slow, one that comes back, beside polling; examples of its WebSocket
stream *args:
    cargo build --release --locked --package greeksd --bin greeksd --example socket
    python3 tests/stream/run.py {{ args }}
    python3 tests/stream/examples.py

# batch work on two Ray nodes, two Dask workers and two Spark executors of this machine, one of each killed in the middle
scale *args:
    cargo build --release --locked
    python3 tests/scale/run.py {{ args }}

# files of batch read back by pyarrow, pandas, polars, DuckDB; with --spark by Spark (Java 17)
readback *args:
    cargo build --release --locked
    python3 tests/readback/run.py {{ args }}

# the Python package from this source: built, put together, tried beside the program; `--wheel FILE` tries a wheel
python *args:
    cargo build --release --locked
    python3 tests/python/run.py {{ args }}

# a recorded or simulated chain by this package, py_vollib and QuantLib: seconds, contracts a second, differences
python-beside *args:
    python3 tests/python/beside.py {{ args }}

# files of batch in a catalog of NautilusTrader, read back by its loaders
nautilus *args:
    cargo build --release --locked
    python3 tests/nautilus/run.py {{ args }}

# files of batch as option universe files of LEAN, read back by the columns that LEAN reads
lean *args:
    cargo build --release --locked
    python3 tests/lean/run.py {{ args }}

# a backtest of sixty days through four vendors' clients on generated history: the same profit to the cent
backtest *args:
    cargo build --release --locked
    python3 tests/backtest/run.py {{ args }}

# errors of batch against what is true of a made-up market, by class and delta, as a table
truth *args:
    cargo build --release --locked
    python3 benches/truth.py {{ args }}

# the notebooks of docs/notebooks from first to last cell, on a made-up market
notebooks *args:
    cargo build --release --locked
    python3 tests/notebooks/run.py {{ args }}

# a release build for every x86-64 processor, for copying: target/portable/release/greeksd
portable:
    RUSTFLAGS="" cargo build --release --locked --target-dir target/portable

# the same for processors with AVX2 and FMA, every server and desktop since about 2015: target/avx2/release/greeksd
avx2:
    RUSTFLAGS="-C target-cpu=x86-64-v3" cargo build --release --locked --target-dir target/avx2

# packages below dist, with checksums and a manifest: all, or of linux, windows, macos, wheel (docs/releasing.md)
packages *kinds:
    python3 packaging/make.py {{ kinds }}

# the Python wheel below dist
wheel:
    python3 packaging/make.py wheel

# packages of Linux, each installed, started and removed in a bare root file system; needs root, debootstrap, qemu-user
try-packages *files="dist/*-linux-*.tar.gz dist/*.deb dist/*-oci-*.tar":
    python3 tests/packages/bare.py {{ files }}

# which build an installed launcher picks on older processors, and what that computes; needs qemu-user
try-levels prefix="target/packages/x86_64-unknown-linux-musl-prefix":
    python3 tests/packages/levels.py {{ prefix }}

# licenses, sources, bans and known advisories of the dependencies (advisories need the network)
deny:
    command -v cargo-deny > /dev/null || cargo install --locked cargo-deny
    cargo deny --locked check

# every figure of the benches at this commit, as one dated file in benches/record
record *args:
    python3 benches/record.py {{ args }}

# what CI runs
ci:
    bash .ci/run
