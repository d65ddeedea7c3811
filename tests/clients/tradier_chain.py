"""Shared by the checks of the chains layer: a contract as its vendor describes it, and comparisons by expiration."""

import datetime

import native

FIELDS = (*native.CORE, "svc_vol", "bid_vol", "ask_vol")
NAMES = {"svc_vol": "smv_vol", "bid_vol": "bid_iv", "ask_vol": "ask_iv"}


def seen(contract):
    """A contract as a mapping; Greeks nested or flattened with a dot."""
    greeks = contract.get("greeks") or {name[7:]: value for name, value in contract.items() if name[:7] == "greeks."}
    values = {name: greeks[NAMES.get(name, name)] for name in FIELDS}
    named = native.seen_by_osi(contract["symbol"], values)
    own = (str(contract["expiration_date"])[:10], float(contract["strike"]), str(contract["option_type"]))
    native.require_equal(own, named.key, f"identity of {named.osi}")
    native.require_equal(contract["root_symbol"], named.osi[:-15], f"root of {named.osi}")
    return named


def same_by_expiration(daemon, chain_of):
    """Compares every expiration of every symbol with `chain_of(symbol, date)`, a list of mappings."""
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        for day in native.expiries(rows):
            of_day = [row for row in rows if row["expiry"] == day]
            chain = chain_of(symbol, datetime.date.fromisoformat(day))
            native.same_chain(of_day, [seen(contract) for contract in chain], FIELDS, native.FOUR_OR_ZERO)
        contracts += len(rows)
    return f"{contracts} contracts"


def dates_in(expirations):
    """The dates of an expirations answer: plain, or objects when anything besides dates was asked for."""
    return expirations["date"] if "date" in expirations else [one["date"] for one in expirations["expiration"]]


def same_expirations(daemon, dates_of):
    """Compares the dates that the client lists, as `YYYY-MM-DD`, with the native ones."""
    for symbol in daemon.symbols:
        expected = native.expiries(daemon.chain(symbol))
        native.require_equal([str(date)[:10] for date in dates_of(symbol)], expected, f"expirations of {symbol}")
