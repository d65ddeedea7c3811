"""massive: Greeks of past days, page by page. The client has no method for them yet."""

import native
import past
from massive import RESTClient


def pages(client, **params):
    return list(client._paginate(path="/options/v1/analytics", params=params, raw=False, deserializer=dict))


def check(daemon):
    client = RESTClient("key", base=daemon.base)
    contracts = 0
    for symbol in past.NAMES:
        for day in past.DAYS:
            rows = {native.osi(row): row for row in past.rows(daemon, symbol, day)}
            shown = pages(client, underlying_ticker=symbol, date=day)
            native.require_equal({row["ticker"].removeprefix("O:") for row in shown}, set(rows), "contracts of the day")
            for row in shown:
                ours = rows[row["ticker"].removeprefix("O:")]
                for name, own in (("delta", "delta"), ("gamma", "gamma"), ("rho", "rho"), ("implied_volatility", "svc_vol")):
                    native.require(abs(row[name] - ours[own]) <= 5.1e-5, f"{name}: {row[name]} is not {ours[own]}")
                native.require_equal(row["date"], day, "date")
            contracts += len(shown)
    one = pages(client, **{"ticker": "O:ACME261218C00100000", "date.gte": past.DAYS[0], "date.lte": past.DAYS[-1]})
    native.require_equal([row["date"] for row in one], list(past.DAYS), "days of one contract")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
