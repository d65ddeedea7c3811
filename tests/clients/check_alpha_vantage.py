"""alpha_vantage: the chain as JSON and CSV, and single contracts.

The package's method knows no `require_greeks`, so the redirect line carries it in the address.
"""

import native
from alpha_vantage.alphavantage import AlphaVantage
from alpha_vantage.options import Options

FIELDS = (*native.CORE, "svc_vol")


def number(text):
    """The number in a text; None for a dash, the client's missing value."""
    native.require(isinstance(text, str), f"{text!r} is not text")
    return None if text == "-" else float(text)


def seen(row):
    values = {name: number(row[name]) for name in native.CORE} | {"svc_vol": number(row["implied_volatility"])}
    named = native.seen_by_osi(row["contractID"], values)
    native.require_equal((row["expiration"], row["type"]), (named.expiry, named.right), f"identity of {named.osi}")
    native.require(abs(float(row["strike"]) - named.strike) <= 0.005, f"strike of {named.osi}")
    return named


def same(rows, records):
    native.same_chain(rows, [seen(record) for record in records], FIELDS, native.ENVELOPE)


def check(daemon):
    AlphaVantage._ALPHA_VANTAGE_API_URL = f"{daemon.base}/query?require_greeks=true&"
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        frame, _ = Options(key="key").get_realtime_options(symbol)
        same(rows, frame.to_dict("records"))
        lines, _ = Options(key="key", output_format="csv").get_realtime_options(symbol)
        header, *cells = list(lines)
        same(rows, [dict(zip(header, line, strict=True)) for line in cells])
        for row in native.sample(rows, symbol):
            one, _ = Options(key="key").get_realtime_options(symbol, contract=native.osi(row))
            same([row], one.to_dict("records"))
        contracts += len(rows)
    empty, _ = Options(key="key").get_realtime_options("ZZZZ")
    native.require_equal(len(empty), 0, "contracts of an unknown underlying")
    refused(daemon)
    return f"{contracts} contracts"


def refused(daemon):
    """Without require_greeks the client raises what the daemon's error body says."""
    AlphaVantage._ALPHA_VANTAGE_API_URL = f"{daemon.base}/query?"
    try:
        Options(key="key").get_realtime_options(daemon.symbols[0])
    except ValueError as error:
        native.require("require_greeks" in str(error), f"the refusal names the parameter: {error}")
    else:
        raise native.Different("an answer without require_greeks")


if __name__ == "__main__":
    native.main(check)
