"""asynctradier: expirations with their strikes, and chains; an unknown underlying gives an empty list."""

import asyncio

import native
import tradier_chain
from asynctradier.tradier import TradierClient


def as_mapping(quote):
    contract = vars(quote)
    contract["option_type"] = getattr(contract["option_type"], "value", contract["option_type"])
    greeks = contract["greeks"]
    return contract | {"greeks": greeks if isinstance(greeks, dict) else vars(greeks)}


def client_of(base):
    client = TradierClient("account", "token")
    client.session.base_url = base
    return client


async def chain_of(base, symbol, day):
    return [as_mapping(quote) for quote in await client_of(base).get_option_chains(symbol, str(day), greeks=True)]


async def dates_of(base, symbol, strikes):
    return [expiration.date for expiration in await client_of(base).get_option_expirations(symbol, strikes=strikes)]


def check(daemon):
    native.require_equal(asyncio.run(chain_of(daemon.base, "ZZZZ", "2030-01-18")), [], "an unknown underlying")
    tradier_chain.same_expirations(daemon, lambda symbol: asyncio.run(dates_of(daemon.base, symbol, True)))
    return tradier_chain.same_by_expiration(daemon, lambda symbol, day: asyncio.run(chain_of(daemon.base, symbol, day)))


if __name__ == "__main__":
    native.main(check)
