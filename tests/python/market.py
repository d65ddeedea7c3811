"""Shared by the tests: a simulated market, the program, tables compared bit by bit."""
import os, pathlib, subprocess, sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

MARKET = pathlib.Path(os.environ["GREEKSD_MARKET"])
PROGRAM = os.environ["GREEKSD_PROGRAM"]
DIVIDENDS, RATES = MARKET / "dividends.csv", MARKET / "rates.csv"
KEYS = ["quote_time", "underlying", "osym"]


def quotes(**reading):
    """All quotes of the market, as pandas reads its files."""
    return pd.concat([pd.read_csv(path, **reading) for path in sorted((MARKET / "quotes").glob("*.csv"))], ignore_index=True)


def chain(name="KO"):
    """One name on the first day."""
    frame = pd.read_csv(min((MARKET / "quotes").glob("*.csv")))
    return frame[frame.underlying == name].reset_index(drop=True)


def program(*arguments, **options):
    """Runs the program; returns its standard output."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)
    return done.stdout


def batch_of(folder, *arguments):
    """The output of `greeksd batch` for the market, as a table."""
    program("batch", MARKET / "quotes", "-o", folder, *arguments)
    return pa.concat_tables([pq.read_table(path, partitioning=None) for path in sorted(folder.rglob("*.parquet"))])


class Bits(dict):
    """Columns by name; a failed comparison does not print all of them."""

    def __repr__(self):
        return f"<{len(self)} columns of {len(next(iter(self.values()), []))} rows>"


def bits(table):
    """Columns whose comparison is one of bits: numbers as integers, words as text; rows in the order of their keys."""
    table = pa.table(table)
    columns = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.cast(pa.string())
        columns[name] = column
    table = pa.table(columns).sort_by([(key, "ascending") for key in KEYS]).combine_chunks()
    out = Bits()
    for name in table.column_names:
        column = table[name].combine_chunks()
        values = column.to_pylist()
        if pa.types.is_floating(column.type):
            values = [None if value is None else value.hex() for value in values]
        out[name] = values
    return out


def run(code, *arguments, **options):
    """Runs Python code in a new process."""
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, **options)
