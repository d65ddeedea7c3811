"""pandas and polars on the native csv and ndjson: the same rows as the native JSON, missing ones included."""

import io

import native
import pandas
import polars

READERS = {
    "pandas csv": (
        "csv",
        lambda body: _records(pandas.read_csv(io.BytesIO(body), keep_default_na=False, na_values=[""])),
    ),
    "pandas ndjson": (
        "ndjson",
        lambda body: _records(pandas.read_json(io.BytesIO(body), lines=True, convert_dates=False)),
    ),
    "polars csv": ("csv", lambda body: polars.read_csv(io.BytesIO(body), infer_schema_length=None).to_dicts()),
    "polars ndjson": ("ndjson", lambda body: polars.read_ndjson(io.BytesIO(body), infer_schema_length=None).to_dicts()),
}


def _records(frame):
    return [
        {name: None if pandas.isna(value) else value for name, value in record.items()}
        for record in frame.to_dict("records")
    ]


def same(rows, records, what):
    native.require_equal(len(records), len(rows), f"number of contracts in {what}")
    # polars shuffles the columns when it looks at more than one line of ndjson
    order = sorted if what == "polars ndjson" else list
    native.require_equal(order(records[0]), order(rows[0]), f"columns in {what}")
    for row, record in zip(rows, records, strict=True):
        for name, value in row.items():
            found = record[name]
            alike = found == value if isinstance(value, (str, type(None))) else abs(found - value) <= 1e-12 * abs(value)
            native.require(alike, f"{what}: {row['osym']} {name} is {found!r}, in JSON {value!r}")


def check(daemon):
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        for what, (form, read) in READERS.items():
            same(rows, read(daemon.get("/l1/greeks", underlying=symbol, greeks="all", format=form)), what)
        contracts += len(rows)
    empty = pandas.read_csv(f"{daemon.base}/l1/greeks?underlying=ZZZZ&format=csv")
    native.require_equal((len(empty), "osym" in empty.columns), (0, True), "an unknown underlying")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
