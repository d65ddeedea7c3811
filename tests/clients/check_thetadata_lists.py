"""thetadata 0.9.11: the client's lists of expirations, strikes and dates, on recorded days."""

import datetime

import native
import past
from recorded import EXPIRIES
from thetadata import OptionReqType, OptionRight, ThetaClient
from thetadata.enums import SecType


def check(daemon):
    host, port = daemon.base.removeprefix("http://").split(":")
    # the package's paths have no version: it goes where the port is said
    at = {"host": host, "port": f"{port}/v2"}
    client = ThetaClient(launch=False)
    days = [datetime.date.fromisoformat(day) for day in past.DAYS]
    expiries = [datetime.date.fromisoformat(day) for day in EXPIRIES]
    found = client.get_expirations_REST("ACME", **at)
    native.require_equal([day.date() for day in found], expiries, "expirations")
    strikes = client.get_strikes_REST("ACME", expiries[0], **at)
    wanted = sorted({row["strike"] for row in past.rows(daemon, "ACME", past.DAYS[-1])})
    native.require_equal(list(strikes), wanted, "strikes")
    of_chain = client.get_dates_opt_bulk_REST(OptionReqType.QUOTE, "ACME", expiries[0], **at)
    native.require_equal([day.date() for day in of_chain], days, "days of a chain")
    of_one = client.get_dates_opt_REST(OptionReqType.QUOTE, "DULL", expiries[1], 40.0, OptionRight.PUT, **at)
    native.require_equal([day.date() for day in of_one], days, "days of a contract")
    try:
        client.get_expirations_REST("NONE", **at)
    except ValueError:
        pass  # the vendor's status for no data has a sentence for a body, which the package cannot read
    else:
        raise native.Different("a list of a name of which nothing was recorded")
    return f"{len(found) + len(strikes) + len(of_chain) + len(of_one)} entries"


if __name__ == "__main__":
    native.main(check)
