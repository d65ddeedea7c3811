"""pandas.read_html, and so any spreadsheet's web import, on the html of each layer: one table, a row per contract."""

import io

import native
import pandas

SIDES = ("call", "put")
LAYERS = {
    # layer: path, query, and the columns that show expiry, delta and vega
    "native": ("/l1/greeks", {"underlying": "{}", "greeks": "all"}, ("expiry", "delta", "vega")),
    "envelope": (
        "/query",
        {"function": "REALTIME_OPTIONS", "symbol": "{}", "require_greeks": "true", "datatype": "html"},
        ("expiration", "delta", "vega"),
    ),
    "strikes": ("/datav2/strikes", {"ticker": "{}"}, ("expirDate", "delta", "vega")),
    "quotes": ("/allaccess/market/option-and-underlying-quotes", {"symbol": "{}"}, ("expiry", "delta", "vega")),
    "columnar": (
        "/v3/option/snapshot/greeks/all",
        {"symbol": "{}", "expiration": "*"},
        ("expiration", "delta", "vega"),
    ),
    "chains": (
        "/v1/markets/options/chains",
        {"symbol": "{}", "greeks": "true"},
        ("expiration_date", "greeks.delta", "greeks.vega"),
    ),
    "alpaca": ("/v1beta1/options/snapshots/{}", {}, (None, "greeks.delta", "greeks.vega")),
    "intrinio": (
        "/options/chain/{}/*/realtime",
        {"include_related_symbols": "true"},
        ("option.expiration", "stats.delta", "stats.vega"),
    ),
    "marketdata": ("/v1/options/chain/{}/", {"expiration": "all", "nonstandard": "true"}, (None, "delta", "vega")),
    "polygon": ("/v3/snapshot/options/{}", {}, ("details.expiration_date", "greeks.delta", "greeks.vega")),
}


def page(daemon, symbol, path, query):
    query = {name: value.format(symbol) for name, value in query.items()}
    return daemon.get(path.format(symbol), **query, **({} if "datatype" in query else {"format": "html"}))


def one_table(body, layer):
    native.require(b"<script" not in body.lower(), f"{layer}: no script")
    tables = pandas.read_html(io.BytesIO(body))
    native.require_equal(len(tables), 1, f"{layer}: tables")
    return tables[0]


def same_sorted(rows, column, name, scale):
    """Compares numbers in any order to the four printed decimals, and counts missing ones separately."""
    numbers = sorted(value for value in pandas.to_numeric(column, errors="coerce") if pandas.notna(value))
    factor = scale.factors.get(name, 1.0)
    expected = sorted(row[name] * factor for row in rows if row[name] is not None)
    zeros = len(numbers) - len(expected)
    native.require(zeros in (0, sum(row[name] is None for row in rows)), f"{len(numbers)} numbers in {name}")
    for value in [0] * zeros:
        numbers.remove(value)
    for found, value in zip(numbers, expected, strict=True):
        native.require(abs(found - value) <= 5e-5 + 5e-7 * factor + 1e-12, f"{name}: {found} for {value}")


def call_sides(rows):
    """One row per root, expiration and strike: its call; where only the put is listed, the put without its delta."""
    sides = {}
    for row in rows:
        key = (row["root"], row["expiry"], row["strike"])
        if row["right"] == "call" or key not in sides:
            sides[key] = row if row["right"] == "call" else row | {"delta": None}
    return list(sides.values())


def check_layer(daemon, symbol, rows, layer):
    path, query, (expiry, delta, vega) = LAYERS[layer]
    table = one_table(page(daemon, symbol, path, query), layer)
    shown = call_sides(rows) if layer == "strikes" else rows
    native.require_equal(len(table), len(shown), f"{layer}: rows of {symbol}")
    if expiry:
        native.require_equal(sorted(set(table[expiry].astype(str))), native.expiries(rows), f"{layer}: expirations")
    scale = native.COLUMNAR if layer == "columnar" else native.FOUR_OR_NULL
    same_sorted(shown, table[delta], "delta", scale)
    same_sorted(shown, table[vega], "vega", scale)


def check(daemon):
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        for layer in LAYERS:
            check_layer(daemon, symbol, rows, layer)
    return f"{len(LAYERS)} layers"


if __name__ == "__main__":
    native.main(check)
