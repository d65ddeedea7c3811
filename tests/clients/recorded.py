"""A folder of recorded quotes for a daemon that serves the past: two names, three days, four times each.

The quotes are those of a flat volatility without carry, so that every contract has Greeks. Only Python's own library.
"""

import datetime
import math
import pathlib

NAMES = {"ACME": 100.0, "DULL": 40.0}
DAYS = ("2026-11-18", "2026-11-19", "2026-11-20")
TIMES = ("09:30", "10:30", "12:00", "16:00")
EXPIRIES = ("2026-12-18", "2027-01-15")
VOLATILITY = 0.3
HEADER = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size"
YEAR_SECONDS = 365 * 86400


def normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def value(spot, strike, years, sign):
    deviation = VOLATILITY * math.sqrt(years)
    d1 = math.log(spot / strike) / deviation + deviation / 2
    return sign * (spot * normal(sign * d1) - strike * normal(sign * (d1 - deviation)))


def rows(name, day, clock):
    """The quotes of a name at one time; its price moves from time to time."""
    at = datetime.datetime.fromisoformat(f"{day}T{clock}:00-05:00")
    spot = NAMES[name] * (1 + 0.002 * DAYS.index(day) + 0.0005 * TIMES.index(clock))
    for expiry in EXPIRIES:
        settles = datetime.datetime.fromisoformat(f"{expiry}T16:00:00-05:00")
        years = (settles - at).total_seconds() / YEAR_SECONDS
        for step in range(-4, 5):
            strike = NAMES[name] * (1 + 0.05 * step)
            for right, sign in (("call", 1), ("put", -1)):
                middle = value(spot, strike, years, sign)
                bid, ask = max(middle - 0.02, 0.01), middle + 0.02
                yield f"{at.isoformat()},{name},{spot:.4f},{name},{expiry},{right},{strike:g},{bid:.2f},{ask:.2f},10,20"


def write(folder):
    """Writes the folder: a file a day."""
    folder = pathlib.Path(folder)
    for day in DAYS:
        lines = [row for clock in TIMES for name in NAMES for row in rows(name, day, clock)]
        (folder / f"quotes-{day}.csv").write_text("\n".join([HEADER, *lines]) + "\n")
