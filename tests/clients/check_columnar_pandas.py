"""pandas on the columnar layer: every order in csv, json and ndjson, and the earlier version's nested answer."""

import io
import math

import columnar
import native
import pandas

READERS = {
    "csv": lambda body: pandas.read_csv(io.BytesIO(body)),
    "json": lambda body: pandas.read_json(io.BytesIO(body), convert_dates=False),
    "ndjson": lambda body: pandas.read_json(io.BytesIO(body), lines=True, convert_dates=False),
}
V2 = {"greeks": "first_order", "greeks_second_order": "second_order", "all_greeks": "all"}


def same_v3(daemon, symbol, rows):
    for order in columnar.ORDERS:
        for form, read in READERS.items():
            frame = read(daemon.get(columnar.path(order), symbol=symbol, expiration="*", format=form))
            native.require_equal(list(frame.columns), columnar.columns(order), f"columns of {order} in {form}")
            if form == "csv":  # from JSON pandas makes whole numbers integers by itself
                floats = [name for name in frame if name not in columnar.FIRST and "timestamp" not in name]
                types = {str(frame[name].dtype) for name in floats}
                native.require_equal(types, {"float64"}, f"types of {order} in {form}")
            columnar.same(daemon, symbol, rows, frame.to_dict("records"), order)
            if order == "all":
                same_d(rows, frame)


def same_d(rows, frame):
    """d1 and d2 follow from the native forward, volatility and time; near settlement rounding hides them."""
    for row, d1, d2, slope in zip(rows, frame["d1"], frame["d2"], frame["dual_delta"], strict=True):
        if row["svc_vol"] is None or row["days"] < 5:
            continue
        deviation = row["svc_vol"] * math.sqrt(row["days"] / 365)
        expected = math.log(row["fwd_price"] / row["strike"]) / deviation + deviation / 2
        native.require(abs(d1 - expected) < 2e-4 * (1 + abs(expected)), f"d1 of {row['osym']}: {d1} for {expected}")
        native.require(abs(d1 - d2 - deviation) < 2e-4, f"d1 - d2 of {row['osym']}")
        native.require(slope <= 0 if row["right"] == "call" else slope >= 0, f"dual_delta of {row['osym']}: {slope}")


def v2_records(answer):
    """The nested answer as flat records under the names of version 3."""
    names = answer["header"]["format"]
    for element in answer["response"]:
        contract, (tick,) = element["contract"], element["ticks"]
        date = str(contract["expiration"])
        record = dict(zip(names, tick, strict=True)) | {
            "expiration": f"{date[:4]}-{date[4:6]}-{date[6:]}",
            "strike": contract["strike"] / 1000,
            "right": {"C": "CALL", "P": "PUT"}[contract["right"]],
        }
        yield contract["root"], record


def same_v2(daemon, symbol, rows):
    for name, order in V2.items():
        answer = daemon.json(f"/v2/bulk_snapshot/option/{name}", root=symbol, exp=0)
        roots, records = zip(*v2_records(answer), strict=True)
        native.require_equal(list(roots), [row["root"] for row in rows], "roots")
        shown = [field for field in columnar.fields(order) if name == "all_greeks" or field != "vera"]
        seen = [columnar.seen(record | {"vera": record.get("vera")}, order) for record in records]
        native.same_chain(rows, seen, shown, native.COLUMNAR)


def check(daemon):
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        same_v3(daemon, symbol, rows)
        same_v2(daemon, symbol, rows)
        contracts += len(rows)
    empty = pandas.read_csv(f"{daemon.base}{columnar.path('all')}?symbol=ZZZZ&expiration=*")
    native.require_equal((len(empty), list(empty.columns)), (0, columnar.columns("all")), "an unknown symbol")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
