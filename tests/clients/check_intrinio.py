"""intrinio-sdk: each expiration by itself, every expiration at once, and the answer without stats."""

import intrinio_sdk
import native

FIELDS = ("delta", "gamma", "theta", "vega", "svc_vol", "und_price")
STYLES = {"A": "american", "E": "european", None: None}


def seen(contract):
    option, stats = contract.option, contract.stats
    values = {name: getattr(stats, name) for name in ("delta", "gamma", "theta", "vega")}
    values |= {"svc_vol": stats.implied_volatility, "und_price": stats.underlying_price}
    named = native.seen_by_osi(option.code, values)
    own = (str(option.expiration)[:10], float(option.strike), option.type)
    native.require_equal(own, named.key, f"identity of {option.code}")
    return named


def client_of(daemon):
    client = intrinio_sdk.ApiClient()
    client.configuration.host = daemon.base
    client.set_api_key("key")
    return intrinio_sdk.OptionsApi(client)


def same_style(rows, chain):
    styles = {native.osi(row): row["ex_style"] for row in rows}
    for contract in chain:
        style = STYLES[contract.price.exercise_style]
        native.require_equal(style, styles[contract.option.code], f"style of {contract.option.code}")


def check(daemon):
    api = client_of(daemon)
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        for day in native.expiries(rows):
            chain = api.get_options_chain_realtime(symbol, day, show_stats=True, include_related_symbols=True).chain
            of_day = [row for row in rows if row["expiry"] == day]
            native.same_chain(of_day, [seen(one) for one in chain], FIELDS, native.FOUR_OR_NULL)
            same_style(of_day, chain)
        standard = [row for row in rows if not native.is_adjusted(row)]
        whole = api.get_options_chain_realtime(symbol, "*", source="delayed", type="put").chain
        puts = [row for row in standard if row["right"] == "put"]
        native.same_chain(puts, [seen(one) for one in whole], FIELDS, native.FOUR_OR_NULL)
        bare = api.get_options_chain_realtime(symbol, native.expiries(rows)[0], show_stats=False).chain
        native.require(bare and all(one.stats is None for one in bare), "stats left out")
        contracts += len(rows)
    native.require_equal(api.get_options_chain_realtime("ZZZZ", "2030-01-18").chain, [], "an unknown underlying")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
