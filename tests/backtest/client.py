"""One vendor's own client trades the rule on a daemon: `client.py VENDOR URL SYMBOL DAY,DAY,...`; prints trades as JSON."""

import datetime
import json
import os
import sys

import rule
from rule import Strike


def days_between(day, expiry):
    return (datetime.date.fromisoformat(expiry) - datetime.date.fromisoformat(day)).days


def paired(day, contracts):
    """Strikes of contracts `(expiry, strike, right, delta, bid, ask)` that list both rights."""
    found = {}
    for expiry, strike, right, *numbers in contracts:
        found.setdefault((expiry, strike), {})[right] = numbers
    both = [(key, of) for key, of in found.items() if len(of) == 2]
    return [
        Strike(expiry, days_between(day, expiry), strike, of["call"][0], *of["call"][1:], *of["put"][1:])
        for (expiry, strike), of in both
    ]


def marketdata(base, symbol):
    os.environ["MARKETDATA_BASE_URL"] = base  # read when the package is imported
    from marketdata import MarketDataClient, OutputFormat

    client = MarketDataClient(token="token")

    def chain(day):
        answer = client.options.chain(symbol, date=day, expiration="all", output_format=OutputFormat.JSON)
        expiries = [f"{datetime.datetime.fromtimestamp(at, datetime.timezone.utc):%Y-%m-%d}" for at in answer["expiration"]]
        columns = (answer[name] for name in ["strike", "side", "delta", "bid", "ask"])
        return paired(day, zip(expiries, *columns, strict=True))

    return chain


def alpha_vantage(base, symbol):
    from alpha_vantage.alphavantage import AlphaVantage
    from alpha_vantage.options import Options

    AlphaVantage._ALPHA_VANTAGE_API_URL = f"{base}/query?"
    client = Options(key="key")

    def chain(day):
        frame, _ = client.get_historical_options(symbol, date=day)
        known = frame[frame["delta"] != "-"]
        rows = zip(known["expiration"], known["strike"], known["type"], known["delta"], known["bid"], known["ask"])
        return paired(day, ((expiry, float(strike), right, *map(float, rest)) for expiry, strike, right, *rest in rows))

    return chain


def intrinio(base, symbol):
    import intrinio_sdk

    client = intrinio_sdk.ApiClient()
    client.configuration.host = base
    client.set_api_key("key")
    api = intrinio_sdk.OptionsApi(client)

    def chain(day):
        date = datetime.date.fromisoformat(day)
        expiries = [str(expiry)[:10] for expiry in api.get_options_expirations_eod(symbol, after=day).expirations]
        rows = []
        for expiry in expiries:
            # the rule needs the expiry nearest to a month, and that of its open legs: those from a week to two months
            if not 7 <= days_between(day, expiry) <= 60:
                continue
            for one in api.get_options_chain_eod(symbol, expiry, date=date).chain:
                prices = one.prices
                # a side that is not quoted is null here and 0 at others
                numbers = (prices.delta or 0, prices.close_bid or 0, prices.close_ask or 0)
                rows.append((expiry, float(one.option.strike), one.option.type, *numbers))
        return paired(day, rows)

    return chain


def orats(base, symbol):
    from orats.api.data import DataApi

    DataApi._base_url = f"{base}/datav2"
    api = DataApi("token")

    def chain(day):
        rows = api.strikes_history(symbol, trade_date=datetime.date.fromisoformat(day))
        return [
            Strike(
                str(row.expiration_date),
                (row.expiration_date - row.trade_date).days,
                row.strike,
                row.delta,
                row.call_bid_price,
                row.call_ask_price,
                row.put_bid_price,
                row.put_ask_price,
            )
            for row in rows
        ]

    return chain


if __name__ == "__main__":
    vendor, base, symbol, days = sys.argv[1:5]
    chain_of = {"marketdata": marketdata, "alpha_vantage": alpha_vantage, "intrinio": intrinio, "orats": orats}[vendor]
    print(json.dumps(rule.trade(days.split(","), chain_of(base, symbol))))
