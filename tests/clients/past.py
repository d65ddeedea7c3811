"""Native answers about the past, for the checks of history calls."""

import native
from recorded import DAYS, NAMES

__all__ = ["DAYS", "NAMES", "rows"]


def rows(daemon, symbol, as_of):
    """Every row of an underlying at a past moment, with every field."""
    found = daemon.json("/l1/greeks", underlying=symbol, greeks="all", as_of=as_of)
    native.require(found, f"/l1/greeks has no contract of {symbol} as of {as_of}")
    return found
