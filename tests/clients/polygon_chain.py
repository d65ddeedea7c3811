"""Shared by the two packages of one vendor (`massive`, `polygon`), the same client under two names."""

import native

FIELDS = ("delta", "gamma", "theta", "vega", "svc_vol", "svc_theo")


def seen(contract):
    """Break-even is strike ± value, so it shows the theoretical value too."""
    details, greeks = contract.details, contract.greeks
    values = {name: getattr(greeks, name, None) for name in ("delta", "gamma", "theta", "vega")}
    values |= {"svc_vol": contract.implied_volatility, "svc_theo": contract.fair_market_value}
    symbol = details.ticker.removeprefix("O:")
    named = native.seen_by_osi(symbol, values)
    own = (details.expiration_date, float(details.strike_price), details.contract_type)
    native.require_equal(own, named.key, f"details of {symbol}")
    return named


def same_break_even(rows, contracts):
    by_symbol = {native.osi(row): row for row in rows}
    for contract in contracts:
        row = by_symbol[contract.details.ticker.removeprefix("O:")]
        if row["svc_theo"] is None:
            continue
        premium = row["svc_theo"] if row["right"] == "call" else -row["svc_theo"]
        expected = row["strike"] + premium
        native.require(abs(contract.break_even_price - expected) < 5.2e-5, f"break-even of {row['osym']}")


def same_time(daemon, contracts):
    """Nanoseconds of the snapshot, as integers: they have more digits than a double."""
    stamps = {contract.underlying_asset.last_updated for contract in contracts}
    native.require({type(stamp) for stamp in stamps} == {int}, f"times are not integers: {stamps}")
    native.require_equal({stamp // 1_000_000 for stamp in stamps}, {daemon.milliseconds()}, "time of the snapshot")


def check_with(client_class):
    """A check of one of the two packages."""

    def check(daemon):
        client = client_class(api_key="key", base=daemon.base)
        contracts = 0
        for symbol in daemon.symbols:
            rows = daemon.chain(symbol)
            for limit in (250, 97) if len(rows) < 5000 else (250,):
                answer = list(client.list_snapshot_options_chain(symbol, params={"limit": limit}))
                native.same_chain(rows, [seen(one) for one in answer], FIELDS, native.FOUR_OR_NULL)
                same_break_even(rows, answer)
                same_time(daemon, answer)
            _filtered(client, symbol, rows)
            some = native.sample(rows, symbol)
            single = [seen(client.get_snapshot_option(symbol, "O:" + native.osi(row))) for row in some]
            native.same_chain(some, single, FIELDS, native.FOUR_OR_NULL)
            if rows[0]["ex_style"] == "european":  # this vendor writes an index with a prefix
                index = list(client.list_snapshot_options_chain(f"I:{symbol}", params={"limit": 250}))
                native.same_contracts(rows, [seen(one) for one in index])
            contracts += len(rows)
        native.require_equal(list(client.list_snapshot_options_chain("ZZZZ")), [], "an unknown underlying")
        return f"{contracts} contracts"

    return check


def _filtered(client, symbol, rows):
    """Filters with a dot in their name have to survive from page to page."""
    day = native.expiries(rows)[-1]
    puts = [row for row in rows if row["expiry"] >= day and row["right"] == "put"]
    params = {"expiration_date.gte": day, "contract_type": "put", "limit": 7, "sort": "strike_price", "order": "desc"}
    answer = list(client.list_snapshot_options_chain(symbol, params=params))
    native.same_chain(puts, [seen(one) for one in answer], FIELDS, native.FOUR_OR_NULL)
    strikes = [one.details.strike_price for one in answer]
    native.require_equal(strikes, sorted(strikes, reverse=True), "order by strike")
