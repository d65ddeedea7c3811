"""marketdata-sdk-py: with and without token; expirations, strikes, lookup, quotes, and the chain in each output."""

import csv
import datetime
import os
import sys

import native

os.environ["MARKETDATA_BASE_URL"] = sys.argv[1]  # read when the package is imported

from marketdata import MarketDataClient, OutputFormat  # noqa: E402

FIELDS = ("delta", "gamma", "theta", "vega", "svc_vol", "und_price")
NAMES = {"svc_vol": "iv", "und_price": "underlyingPrice"}
SCALE = native.FOUR_OR_NULL
EASTERN_DAY = "%Y-%m-%d"


def good(result):
    """The client returns errors instead of raising them."""
    native.require("Error" not in type(result).__name__, f"{getattr(result, 'error', '')!r}")
    return result


def seen(columns):
    """Contracts of a column-wise answer."""
    rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    for row in rows:
        values = {name: row[NAMES.get(name, name)] for name in FIELDS}
        named = native.seen_by_osi(row["optionSymbol"], values)
        native.require_equal((float(row["strike"]), row["side"]), named.key[1:], f"identity of {named.osi}")
        yield named


def columns_of(answer):
    return {name: values for name, values in answer.items() if name != "s"}


def same(rows, answer):
    native.same_chain(rows, list(seen(columns_of(answer))), FIELDS, SCALE)


def standard(rows):
    return [row for row in rows if not native.is_adjusted(row)]


def same_chain(client, symbol, rows, seconds):
    raw = {"expiration": "all", "output_format": OutputFormat.JSON}
    answer = good(client.options.chain(symbol, **raw))
    same(standard(rows), answer)
    native.require(set(answer["updated"]) <= seconds, "times of quotes")
    first = {name: values[0] for name, values in columns_of(answer).items()}
    native.require_integers(first, ("expiration", "updated", "dte", "bidSize", "askSize", "openInterest", "volume"))

    frame = good(client.options.chain(symbol, expiration="all", side="put", output_format=OutputFormat.DATAFRAME))
    puts = [row for row in standard(rows) if row["right"] == "put"]
    same(puts, frame.reset_index().to_dict("list"))
    days = sorted({str(stamp)[:10] for stamp in frame["expiration"]})
    native.require_equal(days, native.expiries(puts), "expirations of the data frame")

    objects = good(client.options.chain(symbol, expiration="all", output_format=OutputFormat.INTERNAL))
    same(standard(rows), vars(objects))
    by_default = good(client.options.chain(symbol, output_format=OutputFormat.JSON))
    native.require_equal(len(set(by_default["expiration"])), 1, "expirations without a parameter")


def same_forms(client, symbol, rows):
    """Options of the client for the form of an answer: fewer columns, readable names, a csv file."""
    whole = {"expiration": "all", "output_format": OutputFormat.JSON}
    few = good(client.options.chain(symbol, columns=["optionSymbol", "delta"], **whole))
    native.require_equal(list(few), ["optionSymbol", "delta"], "columns asked for")

    words = good(
        client.options.chain(symbol, expiration="all", use_human_readable=True, output_format=OutputFormat.INTERNAL)
    )
    native.require_equal(sorted(words.Symbol), sorted(native.osi(row) for row in standard(rows)), "symbols in words")

    file = good(client.options.chain(symbol, expiration="all", output_format=OutputFormat.CSV))
    with open(file, newline="") as lines:
        cells = [{name: number(name, value) for name, value in line.items()} for line in csv.DictReader(lines)]
    same(standard(rows), {name: [line[name] for line in cells] for name in cells[0]})


def number(name, text):
    """A cell of the csv as JSON would have it."""
    if name in ("optionSymbol", "side", "underlying", "inTheMoney"):
        return text
    return float(text) if text else None


def same_neighbours(client, symbol, rows):
    days = good(client.options.expirations(symbol, output_format=OutputFormat.INTERNAL)).expirations
    native.require_equal([day.strftime(EASTERN_DAY) for day in days], native.expiries(rows), "expirations")

    day = native.expiries(rows)[0]
    strikes = good(client.options.strikes(symbol, expiration=day, output_format=OutputFormat.JSON))[day]
    native.require_equal(sorted(strikes), sorted({row["strike"] for row in rows if row["expiry"] == day}), "strikes")

    some = native.sample(rows, symbol)
    for row in some[:1]:
        date = datetime.date.fromisoformat(row["expiry"])
        text = f"{row['root']} {date.month}/{date.day}/{date.year} {row['strike']} {row['right']}"
        found = good(client.options.lookup(text, output_format=OutputFormat.INTERNAL)).optionSymbol
        native.require_equal(found, native.osi(row), f"lookup of {text}")
    same(some, good(client.options.quotes([native.osi(row) for row in some], output_format=OutputFormat.JSON)))


def check(daemon):
    contracts = 0
    for token in (None, "token"):
        client = MarketDataClient(token=token)
        for symbol in daemon.symbols:
            rows = daemon.chain(symbol)
            same_chain(client, symbol, rows, {int(time.timestamp()) for time in daemon.quote_times(symbol)})
            same_forms(client, symbol, rows)
            same_neighbours(client, symbol, rows)
            contracts += len(rows)
    unknown = client.options.chain("ZZZZ", output_format=OutputFormat.JSON)
    native.require("Error" in type(unknown).__name__, "an unknown underlying is an error result")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
