#!/usr/bin/env python3
"""Errors of `greeksd batch` against what is true of the made-up market, by class and by delta, as one table.

usage: truth.py [--greeksd PATH] [--names N] [--days N] [--every TIME] [--of A,B,C] [--made DIR...] [--worst N] [--options TEXT]

Days (20 names, 60 days) are written in Cboe DataShop's end-of-day layout, minutes (KO, SPX and TSLA, each of one day) in its
layout of intervals, by `greeksd generate`, with what is true beside them. --made names folders that it has
written before, and --worst prints the contracts that are furthest off. Makes a Python environment of its own in
target/truth-venv; takes a quarter of an hour and 2 GB of disk.

Volatilities of all contracts and of classes are those of contracts with deltas of 0.02 to 0.98: beyond, no price tells them.
A cell has the error that half of the contracts do not exceed, and the one that 99 of 100 do not. Units: the value in basis
points of the underlying; volatilities and deltas in 1e-4; gamma, vega and theta in parts of a thousand of the largest of
their expiry; forwards in basis points.
"""
import argparse, pathlib, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import environment

CLASSES = """case when t.underlying = 'VIX' then 'VIX, european' when kind = 'index' then kind || ', ' || style
    when dividends > 0 then kind || ', dividends' else kind || ', none' end"""
DELTAS = """case when abs(t.delta) < 0.02 then '0 to 0.02' when abs(t.delta) < 0.1 then '0.02 to 0.1'
    when abs(t.delta) < 0.3 then '0.1 to 0.3' when abs(t.delta) < 0.7 then '0.3 to 0.7'
    when abs(t.delta) < 0.9 then '0.7 to 0.9' when abs(t.delta) < 0.98 then '0.9 to 0.98' else '0.98 to 1' end"""
# what is compared: name, error
ERRORS = {
    "value": "1e4 * abs(g.svc_theo - t.value) / t.und_price",
    "vol": "1e4 * abs(g.svc_vol - t.vol)",
    "delta": "1e4 * abs(g.delta - t.delta)",
    "gamma": "1e3 * abs(g.gamma - t.gamma) / max(t.gamma) over expiries",
    "vega": "1e3 * abs(g.vega - t.vega) / max(t.vega) over expiries",
    "theta": "1e3 * abs(g.theta - t.theta) / max(abs(t.theta)) over expiries",
    "forward": "1e4 * abs(g.fwd_price / t.forward - 1)",
}


def joined(connection, made, greeks):
    """A table `error` with a row for each contract of the truth."""
    connection.execute(f"""create or replace table truth as
        select *, cast(round(1000 * strike) as integer) as strike_milli from read_csv('{made}/_truth.csv')""")
    connection.execute(f"create or replace view greeks as from read_parquet('{greeks}/**/*.parquet', hive_partitioning = false)")
    columns = ", ".join(f"{error} as {name}_error" for name, error in ERRORS.items())
    connection.execute(f"""create or replace table error as
        select t.*, {CLASSES} as class, {DELTAS} as bucket, g.svc_theo, g.svc_vol, g.delta as got_delta, g.bid, g.ask,
            g.fwd_price, g.days, g.conf_vol, g.delta is null as is_missing, g.osym is null as has_no_row, {columns}
        from truth t left join greeks g using (quote_time, root, expiry, "right", strike_milli)
        window expiries as (partition by t.quote_time, t.root, t.expiry)""")


def table(connection, by):
    """Rows of a table: a group, how many contracts, parts of the errors."""
    # far from the money no price tells the volatility: only the rows of such deltas show how far off it is
    tells = "true" if by == "bucket" else "abs(delta) between 0.02 and 0.98"
    of = lambda name: f"case when {tells} then vol_error end" if name == "vol" else f"{name}_error"
    parts = [f"quantile_cont({of(name)}, {part})" for name in ERRORS for part in (0.5, 0.99)]
    parts += ["max(value_error)", f"max({of('vol')})"]
    rows = f"select {by}, count(*), sum(is_missing::int), {', '.join(parts)} from error group by 1"
    return connection.execute(rows + " order by min(abs(delta)), 1" if by == "bucket" else rows + " order by 1").fetchall()


def show(title, connection):
    print(f"\n{title}\n")
    print("| | contracts | missing | " + " | ".join(ERRORS) + " | value, worst | vol, worst |")
    print("|---|" + "---|" * (4 + len(ERRORS)))
    number = lambda part: "" if part is None else f"{part:.2g}" if part < 99.5 else f"{part:.0f}"
    for by in ("'all'", "class", "bucket"):
        for name, count, missing, *parts in table(connection, by):
            pairs = [f"{number(parts[i])}, {number(parts[i + 1])}" for i in range(0, 2 * len(ERRORS), 2)]
            cells = " | ".join(pairs + [number(part) for part in parts[2 * len(ERRORS) :]])
            print(f"| {name} | {count:,} | {missing:,} | {cells} |", flush=True)


def worst(connection, count):
    """The contracts that are furthest off, by value and by volatility, one of each expiry."""
    for name in ("value", "vol"):
        print(f"\nfurthest off by {name}, one of each expiry and day:\n")
        found = connection.execute(f"""
            select strftime(quote_time, '%Y-%m-%dT%H:%MZ') as time, root, expiry, "right" as kind, strike, class, round(und_price, 2) as spot, bid, ask,
                round(value, 3) as true_value, round(svc_theo, 3) as got, round(vol, 4) as true_vol, round(svc_vol, 4) as got_vol,
                round(delta, 4) as true_delta, round(1e4 * (fwd_price / forward - 1), 2) as fwd_bp, round(conf_vol, 3) as conf,
                case when value between coalesce(bid, 0) and ask then '' else 'yes' end as quote_is_wrong,
                round({name}_error, 1) as off
            from error where {name}_error is not null and ('{name}' = 'value' or abs(delta) between 0.02 and 0.98)
            qualify row_number() over (partition by quote_time::date, root, expiry order by {name}_error desc) = 1
            order by {name}_error desc limit {count}""")
        print("| " + " | ".join(column[0] for column in found.description) + " |\n" + "|---" * len(found.description) + "|")
        for row in found.fetchall():
            print("| " + " | ".join(str(cell) for cell in row) + " |")


def made_up(greeksd, out, layout, *arguments):
    """The folder that has the quotes, and what is true, of days of the made-up market."""
    return environment.made_up_market(greeksd, out, *arguments, "--layout", layout, "--truth").parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=ROOT / "target/release/greeksd", type=pathlib.Path)
    parser.add_argument("--names", default="20")
    parser.add_argument("--days", default="60")
    parser.add_argument("--every", default="1m")
    parser.add_argument("--of", default="KO,SPX,TSLA")
    parser.add_argument("--made", nargs="+", type=pathlib.Path)
    parser.add_argument("--worst", default=0, type=int)
    parser.add_argument("--options", default="", help="further options of batch, with blanks between them")
    wanted = parser.parse_args()
    environment.enter("truth-venv", ROOT / "tests/readback/requirements.txt")
    import duckdb

    with tempfile.TemporaryDirectory(prefix="greeksd-truth-") as work:
        work, options = pathlib.Path(work), wanted.options.split()
        made = wanted.made or [
            made_up(wanted.greeksd, work / "days", "cboe-datashop-eod", "--names", wanted.names, "--days", wanted.days),
            made_up(wanted.greeksd, work / "minutes", "cboe-datashop-intervals", "--names", wanted.of, "--days", 1, "--every", wanted.every),
        ]
        unknown = 0
        for number, folder in enumerate(made):
            greeks = work / f"greeks-{number}"
            subprocess.run([wanted.greeksd, "batch", folder / "quotes", "-o", greeks, "--quotes", "--quiet", *options], check=True)
            connection = duckdb.connect(str(work / f"{number}.duckdb"))
            joined(connection, folder, greeks)
            show(f"{folder.name}, {' '.join(options) or 'full'}", connection)
            if wanted.worst:
                worst(connection, wanted.worst)
            unknown += connection.execute("select count(*) from error where has_no_row").fetchone()[0]
            connection.close()
    if unknown:
        sys.exit(f"{unknown} contracts have no row of Greeks")


if __name__ == "__main__":
    main()
