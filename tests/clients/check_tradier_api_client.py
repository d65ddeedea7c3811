"""tradier-api-client: expirations and chains as plain mappings."""

import datetime

import native
import tradier_chain
from tradier_api_client.rest.rest_client import RestClient

TIMES = ("trade_date", "bid_date", "ask_date")
INTEGERS = (*TIMES, "volume", "average_volume", "last_volume", "bidsize", "asksize", "open_interest", "contract_size")


def same_times(daemon, symbol, chain):
    """This client shows the answer as it came: the snapshot in milliseconds, and in words as UTC; the times of quotes."""
    milliseconds = daemon.milliseconds()
    words = datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    quoted = {round(time.timestamp() * 1000) for time in daemon.quote_times(symbol)}
    for contract in chain:
        native.require_integers(contract, INTEGERS)
        native.require_equal(contract["trade_date"], milliseconds, "time of the snapshot")
        native.require({contract["bid_date"], contract["ask_date"]} <= quoted, "times of quotes")
        native.require_equal(contract["greeks"]["updated_at"], words, "time of the snapshot in words")


def check(daemon):
    client = RestClient(base_url=f"{daemon.base}/v1", api_key="key", account_number="1")
    tradier_chain.same_expirations(daemon, lambda symbol: client.get_option_expirations(symbol)["expirations"]["date"])
    symbol = daemon.symbols[0]
    day = native.expiries(daemon.chain(symbol))[0]
    same_times(daemon, symbol, client.get_option_chains(symbol, day, greeks=True)["options"]["option"])
    return tradier_chain.same_by_expiration(
        daemon, lambda symbol, day: client.get_option_chains(symbol, str(day), greeks=True)["options"]["option"]
    )


if __name__ == "__main__":
    native.main(check)
