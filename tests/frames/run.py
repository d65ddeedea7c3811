#!/usr/bin/env python3
"""Chains as frames: pandas, polars, DuckDB and pyarrow read from the URLs of a daemon whose snapshots change five times a second.

usage: run.py [--greeksd PATH] [--repeats N] [--feed FEED] [--underlying NAME] [--market]

Each reader must have every row, and rows of one snapshot only. Prints how many rows a second each of them reads. With --market
the whole market is read, too. Makes a Python environment of its own in target/frames-venv.
"""
import argparse, pathlib, statistics, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import environment
from daemon import PROGRAM, Daemon


def readers(duck):
    """Each reader: format, and how it makes a frame of a URL."""
    import pandas as pd, polars as pl, pyarrow.ipc
    from urllib.request import urlopen

    arrow = lambda url: pyarrow.ipc.open_stream(urlopen(url)).read_all()
    from_arrow = lambda url: duck(arrow(url))
    return {
        "pandas.read_csv": ("csv", pd.read_csv),
        "pandas.read_json": ("json", pd.read_json),
        "pandas.read_json(lines=True)": ("ndjson", lambda url: pd.read_json(url, lines=True)),
        "pandas.read_parquet": ("parquet", pd.read_parquet),
        "pyarrow.ipc.open_stream": ("arrow", arrow),
        "pyarrow.ipc.open_stream, to_pandas": ("arrow", lambda url: arrow(url).to_pandas(date_as_object=False)),
        "polars.read_ipc_stream": ("arrow", pl.read_ipc_stream),
        "polars.read_csv": ("csv", pl.read_csv),
        "polars.scan_csv": ("csv", lambda url: pl.scan_csv(url).collect()),
        "polars.read_ndjson": ("ndjson", lambda url: pl.read_ndjson(url, infer_schema_length=None)),
        "polars.scan_ndjson": ("ndjson", lambda url: pl.scan_ndjson(url, infer_schema_length=None).collect()),
        "polars.read_parquet": ("parquet", pl.read_parquet),
        "polars.scan_parquet": ("parquet", lambda url: pl.scan_parquet(url).collect()),
        "duckdb.read_csv": ("csv", lambda url: duck(f"from read_csv('{url}')")),
        "duckdb.read_json": ("json", lambda url: duck(f"from read_json('{url}')")),
        "duckdb.read_ndjson": ("ndjson", lambda url: duck(f"from read_ndjson('{url}')")),
        "duckdb.read_parquet": ("parquet", lambda url: duck(f"from read_parquet('{url}')")),
        "duckdb of pyarrow.ipc.open_stream": ("arrow", from_arrow),
    }


def connect():
    """A connection of DuckDB that reads URLs: frames of queries, or of Arrow tables."""
    import duckdb, duckdb_extension_httpfs

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    found = list(pathlib.Path(duckdb_extension_httpfs.__file__).parent.rglob("httpfs.duckdb_extension*"))
    connection.execute(f"LOAD '{found[0]}'")

    def read(what):
        if isinstance(what, str):
            return connection.execute(what).fetch_df()
        connection.register("frame", what)
        return connection.execute("from frame").fetch_df()

    return read


def columns(frame, *names):
    """Columns of any kind of frame, as lists."""
    return [getattr(column, "to_pylist", getattr(column, "to_list", None))() for column in (frame[name] for name in names)]


def trouble(frame, rows):
    """The first fault of a frame; None if it has none."""
    roots, expiries, settlements, days = columns(frame, "root", "expiry", "settle", "days")
    if len(days) != rows:
        return f"{len(days)} rows, not {rows}"
    of = {}
    for root, expiry, settle, n in zip(roots, expiries, settlements, days):
        of.setdefault((str(expiry)[:10], str(settle)), set()).add(round(n, 5))
    # days count down together: at one moment those of two expiries differ by whole hours
    first = {key: min(values) for key, values in of.items()}
    if any(max(values) - first[key] > 1.5e-5 for key, values in of.items()):
        return f"rows of several snapshots: {[sorted(v) for v in of.values() if len(v) > 1][0]}"
    least = min(first.values())
    odd = [(24 * (n - least)) % 0.25 for n in first.values()]
    if any(min(x, 0.25 - x) > 1e-3 for x in odd):
        return f"expiries of several snapshots: {sorted(first.values())[:3]}"


def has_rows(health):
    return health["pending"] == 0 and health["contracts_priced"] > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--greeksd", default=PROGRAM, type=pathlib.Path)
    parser.add_argument("--repeats", default=10, type=int)
    parser.add_argument("--feed", default="sim")
    parser.add_argument("--underlying", default="SPX")
    parser.add_argument("--market", action="store_true")
    wanted = parser.parse_args()
    environment.enter("frames-venv", pathlib.Path(__file__).with_name("requirements.txt"))
    failed = 0
    # a Friday morning: outside of sessions nothing would change
    moving = ["--clock", "2026-11-20T10:30:00-05:00", "--speed", "5", "--refresh", "0.2"]
    with Daemon(wanted.greeksd, "--feed", wanted.feed, *moving, until=has_rows, seconds=600) as daemon:
        number = lambda: daemon.health()["snapshot_number"]
        before, first = daemon.memory_mb(), number()
        url = lambda shape, name=wanted.underlying: f"{daemon.base}/l1/greeks?underlying={name}&greeks=all&format={shape}"
        rows = len(daemon.json(url("json").removeprefix(daemon.base)))
        duck = connect()
        print(f"{wanted.underlying}: {rows} rows, 38 columns, {wanted.repeats} times each\n\nrows a second  reader")
        for name, (shape, read) in readers(duck).items():
            took, wrong = [], []
            for _ in range(wanted.repeats):
                began = time.perf_counter()
                try:
                    frame = read(url(shape))
                    took.append(time.perf_counter() - began)
                    found = trouble(frame, rows)
                except Exception as error:
                    found = f"{type(error).__name__}: {str(error)[:300]}"
                if found:
                    wrong.append(found)
            rate = f"{rows / statistics.median(took):13,.0f}" if took else " " * 13
            print(f"{rate}  {name}" + (f"  FAILED {len(wrong)} times: {wrong[0]}" if wrong else ""), flush=True)
            failed += bool(wrong)
        published = number() - first
        print(f"\n{published} snapshots were published meanwhile")
        failed += published < 2
        megabytes = lambda mb: "?" if mb is None else f"{mb:.0f}"
        print(f"memory of the daemon: {megabytes(before)} MB before, {megabytes(daemon.memory_mb())} MB after")
        if wanted.market:
            of_market = ["polars.read_ipc_stream", "pyarrow.ipc.open_stream", "pyarrow.ipc.open_stream, to_pandas"]
            for name in [*of_market, "pandas.read_parquet", "pandas.read_csv"]:
                shape, read = readers(duck)[name]
                began = time.perf_counter()
                frame = read(url(shape, "*"))
                seconds = time.perf_counter() - began
                print(f"whole market, {name}: {len(frame)} rows in {seconds:.2f} s", flush=True)
    print(f"{len(readers(duck)) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
