"""openbb-tradier: drops contracts without a quote, so that it shows something only where the daemon shows quotes.

Its address stands in its source: its requests are passed on to the daemon, nothing else of it is touched.
"""

import asyncio
import datetime
import os

import native
from openbb_core.provider.utils import helpers
from openbb_tradier.models.options_chains import TradierOptionsChainsFetcher

VENDOR = "https://api.tradier.com"
ACCOUNT = {"tradier_api_key": "token", "tradier_account_type": "live"}
FIELDS = (*native.CORE, "svc_vol", "bid_vol", "ask_vol", "bid", "ask", "bid_size", "ask_size")
NAMES = {"svc_vol": "orats_final_iv", "bid_vol": "bid_iv", "ask_vol": "ask_iv"}


def pass_on(base):
    """Redirects the client's requests to the daemon, past the proxy, since the client ignores `no_proxy`."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        os.environ.pop(name, None)
    ask = helpers.amake_request
    helpers.amake_request = lambda url, *args, **more: ask(url.replace(VENDOR, base, 1), *args, **more)


def seen(chain):
    """The contracts of the client. It shows zeros as nothing, and a column of nothing as an empty one."""
    columns = {name: getattr(chain, NAMES.get(name, name)) for name in FIELDS}
    for i, symbol in enumerate(chain.contract_symbol):
        yield native.seen_by_osi(symbol, {name: column[i] or 0 if column else 0 for name, column in columns.items()})


def same_straddle(rows, chain):
    """A straddle of the client's own making costs what the quotes say."""
    days = chain.dataframe.dte.max()
    if days < 0:
        return  # it counts days by the clock of this machine, which is past all expirations of the simulated market
    straddle = chain.straddle(days=int(days))["Long Straddle"]
    asks = {(row["expiry"], row["strike"], row["right"]): row["ask"] for row in rows}
    legs = [(straddle["Strike 1"], "call"), (straddle["Strike 2"], "put")]
    cost = sum(asks[straddle["Expiration"], float(strike), right] for strike, right in legs)
    native.require(abs(straddle["Cost"] - cost) < 1e-9, f"a straddle for {straddle['Cost']}, quoted at {cost}")


def check(daemon):
    pass_on(daemon.base)
    contracts = 0
    for symbol in daemon.symbols:
        rows = [row for row in daemon.quotes(symbol) if row["bid"] or row["ask"]]
        chain = asyncio.run(TradierOptionsChainsFetcher.fetch_data({"symbol": symbol}, ACCOUNT))
        native.same_chain(rows, list(seen(chain)), FIELDS, native.FOUR_OR_ZERO)
        native.require_equal({float(price) for price in chain.underlying_price}, {rows[0]["und_price"]}, "price")
        quoted = sorted(datetime.datetime.fromisoformat(row["quote_time"]) for row in rows)
        native.require_equal(sorted(chain.bid_time), quoted, "times of quotes")
        if not any(native.is_adjusted(row) for row in rows):
            same_straddle(rows, chain)
        contracts += len(rows)
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
