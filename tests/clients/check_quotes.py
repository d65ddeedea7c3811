"""requests on the quotes layer: its vendor has published no package, and its users write exactly this."""

import native
import requests

FIELDS = (*native.CORE, "svc_vol", "svc_theo", "und_price")
NAMES = {"svc_vol": "iv", "svc_theo": "vendor_theo", "und_price": "underlying_mid"}
PATH = "/allaccess/market/option-and-underlying-quotes"
ALWAYS_NULL = (
    "option_last_trade_price",
    "option_open",
    "option_high",
    "option_low",
    "option_close",
    "option_prev_day_close",
)


def seen(contract):
    named = native.seen_by_osi(contract["option"], {name: contract[NAMES.get(name, name)] for name in FIELDS})
    right = {"C": "call", "P": "put"}[contract["option_type"]]
    native.require_equal((contract["expiry"], float(contract["strike"]), right), named.key, f"identity of {named.osi}")
    native.require(all(contract[name] is None for name in ALWAYS_NULL), f"nulls of {named.osi}")
    return named


def chain(daemon, **query):
    answer = requests.get(daemon.base + PATH, params=query, headers={"Authorization": "Bearer token"}, timeout=60)
    answer.raise_for_status()
    return [seen(contract) for contract in answer.json()]


def check(daemon):
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        native.same_chain(rows, chain(daemon, symbol=symbol, date="2026-11-20"), FIELDS, native.FOUR_OR_ZERO)
        day, root = native.expiries(rows)[0], rows[0]["root"]
        puts = [row for row in rows if row["expiry"] <= day and row["right"] == "put" and row["root"] == root]
        some = chain(daemon, symbol=symbol, root=root, option_type="P", max_expiry=day)
        native.same_chain(puts, some, FIELDS, native.FOUR_OR_ZERO)
        contracts += len(rows)
    native.require_equal(chain(daemon, symbol="ZZZZ"), [], "an unknown underlying")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
