"""The rule that every client trades: a short strangle of a month, closed after ten days. Only Python's own library.

A chain is a list of `Strike`. Money is in cents, so that equal trades have equal profits.
"""

from typing import NamedTuple

DAYS_TO_EXPIRY = 30
HELD_DAYS = 10
DELTAS = {"call": 0.25, "put": 0.75}  # of the call of that strike: some vendors show no other
SHARES = 100


class Strike(NamedTuple):
    """Call and put of a strike as a vendor shows them; dates as text, prices in dollars a share."""

    expiry: str
    days: int
    strike: float
    call_delta: float
    call_bid: float
    call_ask: float
    put_bid: float
    put_ask: float


def cents(price):
    return round(100 * price)


def strangle(chain):
    """The call and the put to sell: of the expiry nearest to a month the strikes whose calls have these deltas."""
    days = min({row.days for row in chain}, key=lambda days: (abs(days - DAYS_TO_EXPIRY), days))
    of_expiry = [row for row in chain if row.days == days and row.call_bid > 0 and row.put_bid > 0]
    nearest = lambda delta: min(of_expiry, key=lambda row: (abs(round(row.call_delta, 4) - delta), row.strike))
    return {right: nearest(delta) for right, delta in DELTAS.items()}


def sides(row, right):
    return (cents(row.call_bid), cents(row.call_ask)) if right == "call" else (cents(row.put_bid), cents(row.put_ask))


def trade(days, chain_of):
    """The trades, and the profit in cents at the end of each day, open legs at their asks."""
    trades, profits, open_legs, banked, seen = [], [], {}, 0, {}
    for number, day in enumerate(days):
        chain = chain_of(day)
        # a strike that is not listed today has the prices of the last day on which it was
        seen |= {(row.expiry, row.strike): row for row in chain}
        to_close = lambda: sum(sides(seen[leg], right)[1] for right, leg in open_legs.items())
        if open_legs and number % HELD_DAYS == 0:
            cost = SHARES * to_close()
            banked -= cost
            trades.append({"day": day, "side": "buy", "cents": cost})
            open_legs = {}
        if not open_legs and number % HELD_DAYS == 0 and number + HELD_DAYS < len(days):
            chosen = strangle(chain)
            got = SHARES * sum(sides(row, right)[0] for right, row in chosen.items())
            banked += got
            open_legs = {right: (row.expiry, row.strike) for right, row in chosen.items()}
            legs = {right: list(leg) for right, leg in open_legs.items()}
            trades.append({"day": day, "side": "sell", "cents": got, "legs": legs})
        profits.append(banked - SHARES * to_close())
    return {"trades": trades, "profits": profits}
