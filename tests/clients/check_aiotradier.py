"""aiotradier: expirations and chains over asynchronous sockets."""

import asyncio

import native
import tradier_chain
from aiotradier import TradierAPIAdapter


def check(daemon):
    adapter = TradierAPIAdapter(None)
    adapter.url = daemon.base

    def chain_of(symbol, day):
        return asyncio.run(adapter.api_get_option_chains(symbol, day, greeks=True))["options"]["option"]

    def dates_of(symbol):
        return asyncio.run(adapter.api_get_option_expirations(symbol))["expirations"]

    tradier_chain.same_expirations(daemon, lambda symbol: tradier_chain.dates_in(dates_of(symbol)))
    return tradier_chain.same_by_expiration(daemon, chain_of)


if __name__ == "__main__":
    native.main(check)
