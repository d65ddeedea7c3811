"""orats: one row per root, expiration and strike, with calls and puts side by side; filters by days and delta."""

import native
from orats.api.data import DataApi

CALL = {
    "delta": "delta",
    "gamma": "gamma",
    "theta": "theta",
    "vega": "vega",
    "rho": "rho",
    "svc_vol": "iv",
    "svc_theo": "call_value",
    "bid_vol": "call_bid_iv",
    "ask_vol": "call_ask_iv",
    "und_price": "spot_price",
}
PUT = {
    "svc_vol": "iv",
    "svc_theo": "put_value",
    "bid_vol": "put_bid_iv",
    "ask_vol": "put_ask_iv",
    "und_price": "underlying_price",
}
INTEGERS = (
    "dte",
    "callVolume",
    "callOpenInterest",
    "callBidSize",
    "callAskSize",
    "putVolume",
    "putOpenInterest",
    "putBidSize",
    "putAskSize",
)


def seen(strikes, right, names):
    """One side of the rows. Their Greeks are the call's, so the put shows only its value and volatilities."""
    return [
        native.Seen(
            str(row.expiration_date), row.strike, right, {ours: getattr(row, name) for ours, name in names.items()}
        )
        for row in strikes
    ]


def same(rows, strikes):
    for right, names in (("call", CALL), ("put", PUT)):
        side = [row for row in rows if row["right"] == right]
        native.same_chain(side, seen(strikes, right, names), tuple(names), native.FOUR_OR_ZERO)


def same_filtered(api, symbol, strikes, days):
    """The client's filters, at both ends inclusive; what the printed delta leaves open at an end may come or not."""
    few = api.strikes(symbol, days_to_expiration=f"0,{days}", delta=".3,.5")
    near = [row for row in strikes if row.days_to_expiration <= days]
    inside = [row for row in near if 0.3001 <= row.delta <= 0.4999]
    allowed = [row for row in near if 0.2999 <= row.delta <= 0.5001]
    native.require(all(row in few for row in inside), f"strikes of {symbol} missing from a filtered answer")
    native.require(all(row in allowed for row in few), f"strikes of {symbol} too many in a filtered answer")


def check(daemon):
    DataApi._base_url = f"{daemon.base}/datav2"
    api = DataApi("token")
    contracts = 0
    for symbol in daemon.symbols:
        rows = daemon.chain(symbol)
        strikes = api.strikes(symbol)
        same(rows, strikes)

        updated = {(row.updated_at - native.EPOCH).total_seconds() for row in strikes}
        native.require_equal(updated, {daemon.milliseconds() // 1000}, "time of the snapshot")
        dates = {row.expiration_date: row.days_to_expiration for row in strikes}
        for date, days in dates.items():
            native.require_equal(days, (date - strikes[0].trade_date).days, f"days to {date}")
        same_filtered(api, symbol, strikes, sorted(dates.values())[len(dates) // 2])
        contracts += len(rows)
    native.require_equal(api.strikes("ZZZZ"), [], "an unknown underlying")
    first = daemon.json("/datav2/strikes", ticker=daemon.symbols[0])["data"][0]
    native.require_integers(first, INTEGERS)
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
