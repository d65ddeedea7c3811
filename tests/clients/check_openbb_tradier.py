"""openbb-tradier: drops contracts without a quote, so that it shows something only where the daemon shows quotes.

Its address stands in its source: its requests are passed on to the daemon, nothing else of it is touched.
"""

import asyncio

import native
from openbb_core.provider.utils import helpers
from openbb_tradier.models.options_chains import TradierOptionsChainsFetcher

VENDOR = "https://api.tradier.com"
ACCOUNT = {"tradier_api_key": "token", "tradier_account_type": "live"}
FIELDS = (*native.CORE, "svc_vol", "bid_vol", "ask_vol", "bid", "ask", "bid_size", "ask_size")
NAMES = {"svc_vol": "orats_final_iv", "bid_vol": "bid_iv", "ask_vol": "ask_iv"}


def pass_on(base):
    """Sends what the client asks its vendor to the daemon."""
    ask = helpers.amake_request
    helpers.amake_request = lambda url, *args, **more: ask(url.replace(VENDOR, base, 1), *args, **more)


def seen(columns, i):
    """A contract of the client, which shows zeros as nothing."""
    values = {name: columns[NAMES.get(name, name)][i] or 0 for name in FIELDS if columns.get(NAMES.get(name, name))}
    return native.seen_by_osi(columns["contract_symbol"][i], {name: values.get(name, 0) for name in FIELDS})


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
        columns = chain.model_dump()
        shown = [seen(columns, i) for i in range(len(columns["contract_symbol"]))]
        native.same_chain(rows, shown, FIELDS, native.FOUR_OR_ZERO)
        native.require_equal({float(price) for price in columns["underlying_price"]}, {rows[0]["und_price"]}, "price")
        times = {str(row["quote_time"])[:19] for row in rows}
        native.require({str(time)[:19].replace(" ", "T") for time in columns["bid_time"]} <= times, "times of quotes")
        if not any(native.is_adjusted(row) for row in rows):
            same_straddle(rows, chain)
        contracts += len(rows)
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
