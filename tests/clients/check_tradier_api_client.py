"""tradier-api-client: expirations and chains as plain mappings."""

import native
import tradier_chain
from tradier_api_client.rest.rest_client import RestClient


def check(daemon):
    client = RestClient(base_url=f"{daemon.base}/v1", api_key="key", account_number="1")
    tradier_chain.same_expirations(
        daemon, lambda symbol: client.get_option_expirations(symbol)["expirations"]["date"]
    )
    return tradier_chain.same_by_expiration(
        daemon, lambda symbol, day: client.get_option_chains(symbol, str(day), greeks=True)["options"]["option"]
    )


if __name__ == "__main__":
    native.main(check)
