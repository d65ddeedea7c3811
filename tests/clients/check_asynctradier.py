"""asynctradier: expirations, strikes and chains; an unknown underlying gives an empty list."""

import asyncio

import native
import tradier_chain
from asynctradier.tradier import TradierClient


def as_mapping(quote):
    contract = vars(quote)
    contract["option_type"] = getattr(contract["option_type"], "value", contract["option_type"])
    greeks = contract["greeks"]
    return contract | {"greeks": greeks if isinstance(greeks, dict) else vars(greeks)}


async def chain_of(base, symbol, day):
    client = TradierClient("account", "token")
    client.session.base_url = base
    return [as_mapping(quote) for quote in await client.get_option_chains(symbol, str(day), greeks=True)]


def check(daemon):
    native.require_equal(asyncio.run(chain_of(daemon.base, "ZZZZ", "2030-01-18")), [], "an unknown underlying")
    return tradier_chain.same_by_expiration(
        daemon, lambda symbol, day: asyncio.run(chain_of(daemon.base, symbol, day))
    )


if __name__ == "__main__":
    native.main(check)
