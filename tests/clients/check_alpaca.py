"""alpaca-py: whole chains page by page, filters, and single contracts by symbol."""

import datetime

import native
from alpaca.data.historical.option import OptionHistoricalDataClient
from alpaca.data.requests import OptionChainRequest, OptionSnapshotRequest

FIELDS = (*native.CORE, "svc_vol")


def seen(symbol, snapshot):
    """Greeks stand together: all five or none."""
    greeks = {name: getattr(snapshot.greeks, name) for name in native.CORE} if snapshot.greeks else {}
    return native.seen_by_osi(symbol, greeks | {"svc_vol": snapshot.implied_volatility})


def chain(client, **request):
    answer = client.get_option_chain(OptionChainRequest(**request))
    return [seen(symbol, snapshot) for symbol, snapshot in answer.items()]


def check(daemon):
    client = OptionHistoricalDataClient("key", "secret", url_override=daemon.base)
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        native.same_chain(rows, chain(client, underlying_symbol=symbol), FIELDS, native.FOUR_OR_NULL)

        day = native.expiries(rows)[-1]
        calls = [row for row in rows if row["expiry"] == day and row["right"] == "call"]
        request = {"underlying_symbol": symbol, "type": "call", "expiration_date": datetime.date.fromisoformat(day)}
        native.same_chain(calls, chain(client, **request), FIELDS, native.FOUR_OR_NULL)

        some = native.sample(rows, symbol)
        answer = client.get_option_snapshot(OptionSnapshotRequest(symbol_or_symbols=[native.osi(row) for row in some]))
        native.same_chain(some, [seen(*item) for item in answer.items()], FIELDS, native.FOUR_OR_NULL)
        contracts += len(rows)
    native.require_equal(chain(client, underlying_symbol="ZZZZ"), [], "an unknown underlying")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
