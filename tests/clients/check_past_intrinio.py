"""intrinio-sdk: whole chains and single contracts at the end of recorded days, and Greeks by contract and by ticker."""

import datetime

import native
import past
from check_intrinio import client_of

FIELDS = ("delta", "gamma", "theta", "vega", "svc_vol")


def values(greeks):
    shown = {name: getattr(greeks, name) for name in ("delta", "gamma", "theta", "vega")}
    return shown | {"svc_vol": greeks.implied_volatility}


def check(daemon):
    api = client_of(daemon)
    contracts = 0
    for symbol in past.NAMES:
        for day in past.DAYS:
            rows = past.rows(daemon, symbol, day)
            for expiry in native.expiries(rows):
                chain = api.get_options_chain_eod(symbol, expiry, date=datetime.date.fromisoformat(day)).chain
                of_expiry = [row for row in rows if row["expiry"] == expiry]
                named = [native.seen_by_osi(one.option.code, values(one.prices)) for one in chain]
                native.same_chain(of_expiry, named, FIELDS, native.FOUR_OR_NULL)
                native.require_equal({one.prices._date for one in chain}, {day}, "date of the prices")
                native.require(all(one.prices.close_bid > 0 for one in chain), "bids of the day")
                contracts += len(chain)
    code = "ACME261218C00100000"
    prices = api.get_options_prices_eod(code, start_date=past.DAYS[0], end_date=past.DAYS[-1])
    native.require_equal([one._date for one in prices.prices], list(past.DAYS), "days of one contract")
    native.require_equal(prices.option.code, code, "the contract")
    last = next(row for row in past.rows(daemon, "ACME", past.DAYS[-1]) if native.osi(row) == code)
    native.same_chain([last], [native.seen_by_osi(code, values(prices.prices[-1]))], FIELDS, native.FOUR_OR_NULL)
    one = api.get_options_greeks_by_contract(code)
    native.require_equal(one.greeks.delta, prices.prices[-1].delta, "delta of the contract alone")
    all_of = api.get_options_greeks_by_ticker("ACME", expiration_end_date="2026-12-31")
    native.require_equal(len(all_of.contracts), 18, "contracts of the ticker to the end of the year")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
