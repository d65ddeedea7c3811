"""alphavantage-core: the chain as JSON and CSV; this one sends `require_greeks` itself."""

import csv

import av_api.client
import native
from av_api.context import set_api_key
from av_api.tools.options_data_apis import realtime_options
from check_alpha_vantage import same


def check(daemon):
    av_api.client.API_BASE_URL = f"{daemon.base}/query"
    set_api_key("key")
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        same(rows, realtime_options(symbol, require_greeks=True, datatype="json")["data"])
        text = realtime_options(symbol, require_greeks=True)
        same(rows, list(csv.DictReader(text.splitlines())))
        contracts += len(rows)
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
