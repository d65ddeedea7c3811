#!/usr/bin/env python3
"""Files of `greeksd batch` read back by pyarrow, pandas, polars, DuckDB and, where asked for, Spark.

usage: run.py [--greeksd PATH] [--quotes PATH...] [--options TEXT] [--spark]

Each reader must have every row of every file, every number to the last bit, a null exactly where the file has one, and
its own type for each column. Field units and the facts of the file must be there, and the numbers must equal those of
`--format csv`. Without --quotes a simulated market is written first: days with one snapshot and a day with several.
--spark needs Java 17 and a download of 400 MB; without them it is left out with a message. Makes the Python environment
target/readback-venv.
"""
import argparse, importlib.util, pathlib, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests"))
import environment

KEYS = ["quote_time", "underlying", "root", "osym"]
WORDS = ["underlying", "root", "right", "greeks", "ex_style", "settle"]
KINDS = {
    "quote_time": "time", "quote_date": "date", "expiry": "date", "strike_milli": "int", "osym": "text",
    **dict.fromkeys(WORDS, "word"),
}
# types of each reader for the kinds of columns; a reader without a type for words has text
TYPES = {
    "pyarrow": {"time": "timestamp[us, tz=UTC]", "date": "date32[day]", "int": "int32", "text": "string", "number": "double",
                "word": "dictionary<values=string, indices=int32, ordered=0>"},
    "pandas": {"time": "datetime64[us, UTC]", "date": "date32[day][pyarrow]", "int": "int32", "text": "str", "number": "float64",
               "word": "category"},
    "polars": {"time": "Datetime(time_unit='us', time_zone='UTC')", "date": "Date", "int": "Int32", "text": "String",
               "number": "Float64", "word": "Categorical"},
    "DuckDB": {"time": "TIMESTAMP WITH TIME ZONE", "date": "DATE", "int": "INTEGER", "text": "VARCHAR", "number": "DOUBLE",
               "word": "VARCHAR"},
    "Spark": {"time": "timestamp", "date": "date", "int": "int", "text": "string", "number": "double", "word": "string"},
}
# columns whose unit a reader must not have to guess: the words of the file's own fields
UNITS = {
    "quote_time": "UTC", "strike": "currency per share", "vega": "per 1 %", "rho": "per 1 %", "epsilon": "per 1 %",
    "theta": "per calendar day", "charm": "per year", "veta": "per year", "color": "per year",
    "svc_vol": "per square root of a year, decimal", "disc_rate": "per year, decimal", "days": "calendar days",
}
FACTS = ["accuracy", "greeks", "known", "missing", "order", "recipe", "recipe_version", "version"]
# half of the last of six decimals, plus the rounding error of the largest number
ROUNDED = 5.0001e-7


class Trial:
    """The trial, and its failures."""

    def __init__(self):
        self.failures = []

    def check(self, what, holds):
        print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)
        if not holds:
            self.failures.append(what)


def kind(name):
    return KINDS.get(name, "number")


def plain(table):
    """A table for comparison: words as text, in the order of its keys."""
    import pyarrow as pa

    columns, names = [], []
    for name in table.column_names:
        column = table[name]
        if pa.types.is_dictionary(column.type) or pa.types.is_string_view(column.type) or pa.types.is_large_string(column.type):
            column = column.cast(pa.string())
        elif pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", tz="UTC"))
        columns.append(column.combine_chunks())
        names.append(name)
    table = pa.table(columns, names=names)
    return table.sort_by([(key, "ascending") for key in KEYS])


def compare(trial, name, got, want, types):
    """Types, rows and numbers of one reader; of the first one, which the others are held against, types."""
    off = [f"{column}: {said}" for column, said in types.items() if said != TYPES[name][kind(column)]]
    trial.check(f"{name}: {len(types)} columns of the types that it has for them {off[:3] or ''}", not off and len(types) > 40)
    if got is want:
        return
    got = plain(got.select(want.column_names))
    trial.check(f"{name}: {got.num_rows:,} rows of {want.num_rows:,}", got.num_rows == want.num_rows)
    differs = [column for column in want.column_names if not got[column].equals(want[column])]
    nulls = sum(got[column].null_count for column in got.column_names)
    trial.check(f"{name}: every value and {nulls:,} nulls, to the last bit {differs[:5] or ''}", not differs)


def by_pyarrow(trial, files):
    """The reference tables of all files, read by pyarrow; checks the schema."""
    import pyarrow as pa, pyarrow.parquet as pq, pyarrow.compute as pc

    # not by the folder's name: a reader that is given a path takes `day` from it
    tables = [pq.ParquetFile(file).read() for file in files]
    schema = tables[0].schema
    # facts of the names of a file, and the discount curve of its day, differ between files
    of_a_file = (b"greeksd.known", b"greeksd.rates")
    facts = lambda table: {key: fact for key, fact in table.schema.metadata.items() if key not in of_a_file}
    fields = lambda table: table.schema.with_metadata(None)
    same = all(fields(table).equals(fields(tables[0]), check_metadata=True) and facts(table) == facts(tables[0]) for table in tables)
    trial.check(f"pyarrow: {len(files)} files with the same fields and facts, but for their names and rates", same)
    want = pa.concat_tables([plain(table) for table in tables]).sort_by([(key, "ascending") for key in KEYS])
    compare(trial, "pyarrow", want, want, {field.name: str(field.type) for field in schema})
    numbers = [name for name in want.column_names if kind(name) == "number"]
    not_a_number = sum(pc.sum(pc.is_nan(want[name])).as_py() or 0 for name in numbers)
    trial.check(f"pyarrow: {len(numbers)} columns of numbers, no NaN and no infinity", not_a_number == 0 and all(
        pc.all(pc.is_finite(want[name])).as_py() is not False for name in numbers))
    nullable = {field.name for field in schema if field.nullable}
    never = [name for name in want.column_names if name not in nullable and want[name].null_count]
    trial.check("pyarrow: what may not be missing is not", not never and not nullable & (set(KINDS) | {"strike"}))
    trial.check("pyarrow: prev_vol is missing everywhere", want["prev_vol"].null_count == want.num_rows)
    said = {name: (schema.field(name).metadata or {}).get(b"unit", b"").decode() for name in UNITS}
    trial.check("pyarrow: units of fields", said == UNITS)
    trial.check("pyarrow: every field says what it means", all(b"meaning" in (f.metadata or {}) for f in schema))
    trial.check("pyarrow: facts of the file", all(f"greeksd.{fact}".encode() in schema.metadata for fact in FACTS))
    return want


def by_pandas(trial, files, folder, want):
    import pandas as pd, pyarrow as pa

    frames = [pd.read_parquet(file, partitioning=None) for file in files]
    types = {name: str(dtype) for name, dtype in frames[0].dtypes.items()}
    got = pa.concat_tables([plain(pa.Table.from_pandas(frame, preserve_index=False)) for frame in frames])
    compare(trial, "pandas", got, want, types)
    whole = pd.read_parquet(folder)
    trial.check(f"pandas: the folder in one line, {len(whole):,} rows", len(whole) == want.num_rows and "day" in whole.columns)
    objects = [name for name, dtype in whole.dtypes.items() if dtype == object]
    trial.check(f"pandas: no column of objects ({', '.join(objects)})", not objects)
    # a filter goes by the statistics of row groups
    name = want["underlying"][0].as_py()
    kept = pd.read_parquet(folder, filters=[("underlying", "==", name)], columns=["osym"])
    trial.check(f"pandas: {name} of the whole folder by a filter", len(kept) == want["underlying"].to_pylist().count(name))


def by_polars(trial, files, folder, want):
    import polars as pl

    types = {name: str(dtype) for name, dtype in pl.read_parquet_schema(files[0]).items()}
    got = pl.concat([pl.read_parquet(file, hive_partitioning=False) for file in files])
    compare(trial, "polars", got.to_arrow(), want, types)
    facts = pl.read_parquet_metadata(files[0])
    trial.check("polars: facts of the file", all(f"greeksd.{fact}" in facts for fact in FACTS))
    whole = pl.read_parquet(folder)
    trial.check(f"polars: the folder in one line, {whole.height:,} rows", whole.height == want.num_rows and whole["day"].dtype == pl.Date)
    lazy = pl.scan_parquet(f"{folder}/**/*.parquet")
    trial.check("polars: the whole folder by a pattern", lazy.select(pl.len()).collect().item() == want.num_rows)


def by_duckdb(trial, files, folder, want):
    import duckdb

    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    names = [str(file) for file in files]
    connection.execute(f"create view greeks as from read_parquet({names}, hive_partitioning = false)")
    types = {name: said for name, said, *_ in connection.execute("describe greeks").fetchall()}
    compare(trial, "DuckDB", connection.execute("from greeks").to_arrow_table(), want, types)
    rows = connection.execute(f"select count(*) from '{folder}/**/*.parquet'").fetchone()[0]
    trial.check("DuckDB: the whole folder by a pattern", rows == want.num_rows)
    by_day = connection.execute(f"select day, count(*) from read_parquet('{folder}/**/*.parquet', hive_partitioning = true) group by day")
    trial.check("DuckDB: the folder with its partitions", sum(rows for _, rows in by_day.fetchall()) == want.num_rows)
    keys = connection.execute(f"select decode(key) from parquet_kv_metadata('{files[0]}')").fetchall()
    trial.check("DuckDB: facts of the file", {f"greeksd.{fact}" for fact in FACTS} <= {key for (key,) in keys})


def by_spark(trial, files, folder, want):
    from pyspark.sql import SparkSession

    spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
             .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
             .config("spark.driver.memory", "3g").config("spark.sql.session.timeZone", "UTC")
             .config("spark.driver.maxResultSize", "2g").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    try:
        frame = spark.read.parquet(*[str(file) for file in files])
        compare(trial, "Spark", frame.toArrow(), want, dict(frame.dtypes))
        print(f"     Spark {spark.version}")
        whole = spark.read.parquet(str(folder))
        trial.check("Spark: the whole folder by its path, with its partitions", whole.count() == want.num_rows and "day" in whole.columns)
    finally:
        spark.stop()


def by_csv(trial, folder, want):
    """The job as text: its numbers have six decimals, and nothing else may differ."""
    import numpy, pyarrow as pa, pyarrow.csv as csv, pyarrow.compute as pc

    numbers = {name: pa.float64() for name in want.column_names if kind(name) == "number"}
    options = csv.ConvertOptions(column_types={**numbers, "osym": pa.string(), "quote_time": pa.string()})
    tables = [csv.read_csv(file, convert_options=options) for file in sorted(folder.glob("**/greeks*.csv"))]
    got = pa.concat_tables(tables)
    zoned = pc.assume_timezone(pc.cast(pc.utf8_slice_codeunits(got["quote_time"], 0, 19), pa.timestamp("us")), "America/New_York")
    got = got.set_column(got.column_names.index("quote_time"), "quote_time", zoned.cast(pa.timestamp("us", tz="UTC")))
    got = got.sort_by([(key, "ascending") for key in KEYS])
    trial.check(f"csv: {got.num_rows:,} rows", got.num_rows == want.num_rows)
    if got.num_rows != want.num_rows:
        return
    worst = ("", 0.0)
    for name in [name for name in numbers if name in got.column_names]:
        a, b = (table[name].combine_chunks() for table in (got, want))
        if not a.is_null().equals(b.is_null()):
            trial.check(f"csv: {name} is missing in the same rows", False)
        a, b = (numpy.nan_to_num(column.to_numpy(zero_copy_only=False)) for column in (a, b))
        off = float(numpy.max(numpy.abs(a - b) - 4e-16 * numpy.abs(b), initial=0.0))
        worst = max(worst, (name, off), key=lambda pair: pair[1])
    trial.check(f"csv: every number within half of its sixth decimal (worst {worst[0]} {worst[1]:.2e})", worst[1] < ROUNDED)


def job(greeksd, quotes, out, options, form):
    command = [greeksd, "batch", *quotes, "-o", out, "--quotes", "--quiet", "--format", form, *options]
    return subprocess.run(command).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=ROOT / "target/release/greeksd", type=pathlib.Path)
    parser.add_argument("--quotes", nargs="+", type=pathlib.Path, help="files and folders of quotes [default: a made-up market]")
    parser.add_argument("--options", default="", help="further options of batch, with blanks between them")
    parser.add_argument("--spark", action="store_true", help="Spark's reader, too")
    wanted = parser.parse_args()
    environment.enter("readback-venv", HERE / ("requirements-spark.txt" if wanted.spark else "requirements.txt"))
    trial = Trial()
    with tempfile.TemporaryDirectory(prefix="greeksd-readback-") as work:
        work, quotes = pathlib.Path(work), wanted.quotes
        if not quotes:
            day = environment.made_up_market(wanted.greeksd, work / "days", "--names", "4", "--days", "3")
            minutes = environment.made_up_market(
                wanted.greeksd, work / "minutes", "--names", "F", "--days", "1", "--every", "1h", "--from", "2025-02-03")
            quotes = [day, minutes]
        out, text = work / "greeks", work / "text"
        options = wanted.options.split()
        trial.check("batch writes Parquet", job(wanted.greeksd, quotes, out, options, "parquet") == 0)
        trial.check("batch writes CSV", job(wanted.greeksd, quotes, text, options, "csv") == 0)
        files = sorted(out.glob("**/greeks*.parquet"))
        want = by_pyarrow(trial, files)
        by_csv(trial, text, want)
        by_pandas(trial, files, out, want)
        by_polars(trial, files, out, want)
        by_duckdb(trial, files, out, want)
        if not wanted.spark:
            print("     Spark was not asked for: --spark")
        elif not shutil.which("java"):
            print("     Spark was not tried: no Java here")
        elif importlib.util.find_spec("pyspark"):
            by_spark(trial, files, out, want)
    if trial.failures:
        sys.exit(f"{len(trial.failures)} of what was tried is not so")


if __name__ == "__main__":
    main()
