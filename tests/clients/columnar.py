"""Shared by the readers of the columnar layer: its orders, its names, and a record as a contract."""

import datetime

import native

ORDERS = {
    "first_order": ("delta", "theta", "vega", "rho", "epsilon", "lambda"),
    "second_order": ("gamma", "vanna", "charm", "vomma", "veta", "vera"),
    "third_order": ("speed", "zomma", "color", "ultima"),
    "implied_volatility": (),
}
ORDERS["all"] = (*ORDERS["first_order"], *ORDERS["second_order"], *ORDERS["third_order"])
ALONE = ("d1", "d2", "dual_delta", "dual_gamma")
NAMES = {"volga": "vomma", "svc_vol": "implied_vol", "und_price": "underlying_price"}
FIRST = ("symbol", "expiration", "strike", "right", "timestamp", "bid", "ask")
LAST = ("implied_vol", "iv_error", "underlying_timestamp", "underlying_price")


def path(order):
    return f"/v3/option/snapshot/greeks/{order}"


def columns(order):
    """The columns of an order, in its sequence."""
    return [*FIRST, *ORDERS[order], *(ALONE if order == "all" else ()), *LAST]


def fields(order):
    """The native names of the fields of an order."""
    native_name = {vendor: ours for ours, vendor in NAMES.items()}
    return tuple(native_name.get(name, name) for name in ORDERS[order]) + ("svc_vol", "und_price")


def seen(record, order):
    """A record, whatever its reader made of the date."""
    values = {name: record[NAMES.get(name, name)] for name in fields(order)}
    return native.Seen(str(record["expiration"])[:10], record["strike"], record["right"].lower(), values)


def same(daemon, symbol, rows, records, order):
    """Requires an equal chain, and the times of the quotes and of the single snapshot, in Eastern wall time."""
    native.same_chain(rows, [seen(record, order) for record in records], fields(order), native.COLUMNAR)
    _, published = daemon.snapshot()
    for name, expected in {"timestamp": daemon.quote_times(symbol), "underlying_timestamp": {published}}.items():
        wall = {time.replace(tzinfo=None, microsecond=time.microsecond // 1000 * 1000) for time in expected}
        times = {datetime.datetime.fromisoformat(str(record[name])) for record in records}
        native.require_equal(times, wall, f"{name} of {symbol}")
    native.require_equal({record["symbol"] for record in records}, {symbol}, "symbol")
