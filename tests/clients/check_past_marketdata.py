"""marketdata-sdk-py: chains, expirations and strikes of past days; one contract over several days; a day without data."""

import datetime
import os
import sys

import native
import past

os.environ["MARKETDATA_BASE_URL"] = sys.argv[1]  # read when the package is imported

from check_marketdata import good, same  # noqa: E402
from marketdata import MarketDataClient, OutputFormat  # noqa: E402


def check(daemon):
    client = MarketDataClient(token="token")
    contracts = 0
    for symbol in past.NAMES:
        for day in past.DAYS:
            rows = past.rows(daemon, symbol, day)
            answer = good(client.options.chain(symbol, date=day, expiration="all", output_format=OutputFormat.JSON))
            same(rows, answer)
            days = good(client.options.expirations(symbol, date=day, output_format=OutputFormat.INTERNAL)).expirations
            native.require_equal([str(day)[:10] for day in days], native.expiries(rows), "expirations")
            contracts += len(rows)
        one = native.osi(past.rows(daemon, symbol, past.DAYS[0])[0])
        span = {"from_date": past.DAYS[0], "to_date": past.DAYS[2], "output_format": OutputFormat.JSON}
        several = good(client.options.quotes([one], **span))
        stamps = [datetime.datetime.fromtimestamp(at, datetime.timezone.utc).date() for at in several["updated"]]
        native.require_equal([str(day) for day in stamps], list(past.DAYS[:2]), "days up to, but not with, the last")
        same([past.rows(daemon, symbol, past.DAYS[0])[0]], {name: [values[0]] for name, values in several.items()})
    none = client.options.chain("ACME", date="2026-11-17", output_format=OutputFormat.JSON)
    native.require("Error" in type(none).__name__, "a day without data is an error result")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
