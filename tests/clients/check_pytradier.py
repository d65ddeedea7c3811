"""pytradier: like tradier-python, in another package with other types."""

import native
import tradier_chain
from pytradier.tradier_api import TradierAPI


def check(daemon):
    client = TradierAPI("token")
    client.endpoint = f"{daemon.base}/"
    tradier_chain.same_expirations(daemon, client.get_option_expirations)
    return tradier_chain.same_by_expiration(
        daemon,
        lambda symbol, day: [contract.model_dump() for contract in client.get_option_chains(symbol, day, greeks=True)],
    )


if __name__ == "__main__":
    native.main(check)
