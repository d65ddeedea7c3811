"""lumiwealth-tradier: expirations with their strikes, then the chain of each as a data frame."""

import lumiwealth_tradier.base
import native
import tradier_chain
from lumiwealth_tradier import Tradier


def check(daemon):
    lumiwealth_tradier.base.TRADIER_LIVE_URL = lumiwealth_tradier.base.TRADIER_SANDBOX_URL = daemon.base
    market = Tradier("account", "token").market

    tradier_chain.same_expirations(daemon, lambda symbol: market.get_option_expirations(symbol).index)
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        for day, strikes in market.get_option_expirations(symbol)["strikes"].items():
            expected = sorted({row["strike"] for row in rows if row["expiry"] == str(day)})
            native.require_equal([float(strike) for strike in strikes], expected, f"strikes of {symbol} {day}")

    return tradier_chain.same_by_expiration(
        daemon, lambda symbol, day: market.get_option_chains(symbol, day, greeks=True).to_dict("records")
    )


if __name__ == "__main__":
    native.main(check)
