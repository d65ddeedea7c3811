"""polars on the columnar layer: it infers types from the first rows, so a number has to look alike in all of them."""

import io
import json

import columnar
import native
import polars

READERS = {
    "csv": lambda body: polars.read_csv(io.BytesIO(body), infer_schema_length=1),
    "json": lambda body: polars.DataFrame(json.loads(body)),
    "ndjson": lambda body: polars.read_ndjson(io.BytesIO(body), infer_schema_length=1),
}


def check(daemon):
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        for order in columnar.ORDERS:
            for form, read in READERS.items():
                frame = read(daemon.get(columnar.path(order), symbol=symbol, expiration="*", format=form))
                native.require_equal(frame.columns, columnar.columns(order), f"columns of {order} in {form}")
                types = {str(frame[name].dtype) for name in (*columnar.ORDERS[order], "strike")}
                native.require_equal(types, {"Float64"}, f"types of {order} in {form}")
                columnar.same(daemon, symbol, rows, frame.to_dicts(), order)
        contracts += len(rows)
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
