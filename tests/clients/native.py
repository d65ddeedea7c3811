"""The native answers, and the comparison of a client's view with them.

A check asks `/l1/greeks` once per symbol, asks its client for the same chain, turns what the client shows into `Seen`
values under native names, and hands both to `same_chain`. Vendor units are undone here, in `Scale`, and nowhere else.
Importing this module guards the process (see `guard`). Only Python's own library is used, so that each environment
of clients can run it.
"""

import datetime
import json
import random
import sys
import traceback
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field

import guard

guard.install()

SKIPPED = 77
"""Exit code of a check that does not apply here; its last line says why."""

CORE = ("delta", "gamma", "theta", "vega", "rho")
NATIVE_DECIMALS = 6
CONTRACTS_SAMPLED = 5
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Skip(Exception):
    """This client cannot be tried here; the text is the reason."""


class Different(AssertionError):
    """The client's values differ from those of the native interface."""


@dataclass(frozen=True)
class Scale:
    """How a layer prints numbers: decimals, factor over the native unit by field, and the missing value."""

    decimals: int
    factors: dict = field(default_factory=dict)
    missing: object = None

    def expected(self, name, native):
        """The value in the layer's unit, and how far rounding (the layer's and the native one) may move it."""
        factor = self.factors.get(name, 1.0)
        slack = 0.5 * 10**-self.decimals + 0.5 * 10**-NATIVE_DECIMALS * abs(factor)
        value = native * factor
        return value, slack * (1 + 1e-9) + 4e-16 * abs(value)


NATIVE = Scale(6)
FOUR_OR_NULL = Scale(4)
FOUR_OR_ZERO = Scale(4, missing=0)
ENVELOPE = Scale(5)
COLUMNAR = Scale(4, factors={"vega": 100.0, "rho": 100.0, "epsilon": 100.0, "veta": 1 / 365}, missing=0)


@dataclass(frozen=True)
class Seen:
    """One contract as a client shows it: its identity, and its numbers under native names."""

    expiry: str
    strike: float
    right: str
    values: dict
    osi: str = None

    @property
    def key(self):
        return (self.expiry, float(self.strike), self.right)


def osi(row):
    """The compact OSI symbol of a native row."""
    return row["osym"].replace(" ", "")


def osi_parts(symbol):
    """Expiry, strike and right out of a compact OSI symbol, read from the right because roots may end in a digit."""
    date, right, strike = symbol[-15:-9], symbol[-9], symbol[-8:]
    return f"20{date[:2]}-{date[2:4]}-{date[4:]}", int(strike) / 1000, {"C": "call", "P": "put"}[right]


def seen_by_osi(symbol, values):
    """A contract of which the client shows the OSI symbol."""
    return Seen(*osi_parts(symbol), values, osi=symbol)


def is_adjusted(row):
    """True if a native row belongs to an adjusted root, which has an identity and no numbers."""
    return row["root"][-1].isdigit()


def sample(rows, symbol):
    """Some contracts that have Greeks, the same ones in each run."""
    whole = [row for row in rows if row["delta"] is not None]
    return random.Random(symbol).sample(whole, min(CONTRACTS_SAMPLED, len(whole)))


def expiries(rows):
    """The expirations of some rows, ascending."""
    return sorted({row["expiry"] for row in rows})


@dataclass
class Native:
    """The native answers of a running daemon."""

    base: str
    symbols: list

    def get(self, path, **query):
        """The body of an answer, as bytes."""
        url = f"{self.base}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()

    def json(self, path, **query):
        """The body of an answer, decoded."""
        return json.loads(self.get(path, **query))

    def chain(self, symbol):
        """Every row of an underlying, with every field, in native order."""
        rows = self.json("/l1/greeks", underlying=symbol, greeks="all")
        require(rows, f"/l1/greeks has no contract of {symbol}")
        return rows

    def quotes(self, symbol):
        """Every row of an underlying with its quotes; skips the check if the daemon shows no quotes."""
        try:
            return self.json("/l1/greeks", underlying=symbol, greeks="all,quote")
        except urllib.error.HTTPError as refused:
            require_equal(refused.code, 400, "status of a daemon without quotes")
            raise Skip("needs a daemon that shows quotes (--show-quotes)") from refused

    def quote_times(self, symbol):
        """Quote times of an underlying in the layers: that of the snapshot if the daemon shows no quotes."""
        try:
            return {datetime.datetime.fromisoformat(row["quote_time"]) for row in self.quotes(symbol)}
        except Skip:
            return {self.snapshot()[1]}

    def snapshot(self):
        """Number and time of the published snapshot; the time carries the Eastern offset."""
        health = self.json("/health")
        return health["snapshot_number"], datetime.datetime.fromisoformat(health["snapshot_time"])

    def milliseconds(self):
        """The time of the published snapshot in whole milliseconds since 1970."""
        _, published = self.snapshot()
        return (published - EPOCH) // datetime.timedelta(milliseconds=1)


def require(condition, text):
    """Fails the check unless the condition holds."""
    if not condition:
        raise Different(text)


def require_equal(found, expected, what):
    """Fails the check with both values unless they are equal."""
    if found != expected:
        raise Different(f"{what}: the client has {_short(found)}, the native interface {_short(expected)}")


def _short(value):
    text = repr(value)
    return text if len(text) < 200 else f"{text[:200]}…"


def require_integers(record, names):
    """Fails the check where one of the fields came as anything but a JSON integer: typed clients reject `0.0`."""
    for name in names:
        require(type(record[name]) is int, f"{name} is {record[name]!r}, not an integer")


def same_contracts(rows, seen):
    """Requires equal contracts on both sides: number, expirations, strikes, rights, and symbols where shown."""
    require_equal(len(seen), len(rows), "number of contracts")
    _require_same({s.expiry for s in seen}, {r["expiry"] for r in rows}, "expirations")
    _require_same({float(s.strike) for s in seen}, {float(r["strike"]) for r in rows}, "strikes")
    _require_same({s.right for s in seen}, {r["right"] for r in rows}, "rights")
    if all(s.osi for s in seen):
        _require_same({s.osi for s in seen}, {osi(r) for r in rows}, "symbols")
    require_equal(sorted(s.key for s in seen), sorted(_key(r) for r in rows), "contracts")


def _require_same(found, expected, what):
    """Fails the check with what is missing and what is too many, unless two sets are equal."""
    missing, extra = sorted(expected - found)[:5], sorted(found - expected)[:5]
    require(not missing and not extra, f"{what}: the client lacks {missing}, has {extra} too many")


def _key(row):
    return (row["expiry"], float(row["strike"]), row["right"])


def _pairs(rows, seen):
    """Native row and client's view of the same contract.

    Without a symbol two roots can share date, strike and right; both sides then stand in native order.
    """
    by_symbol = {osi(row): row for row in rows}
    by_key = {}
    for row in rows:
        by_key.setdefault(_key(row), []).append(row)
    for contract in seen:
        yield (by_symbol[contract.osi] if contract.osi else by_key[contract.key].pop(0)), contract


def same_numbers(rows, seen, fields, scale):
    """Requires each field to equal the native one in the layer's unit, to half a unit of the last decimal."""
    wrong = []
    for row, contract in _pairs(rows, seen):
        for name in fields:
            complaint = _complaint(row[name], contract.values.get(name), name, scale)
            if complaint:
                wrong.append(f"{row['osym']} {name}: {complaint}")
    if wrong:
        raise Different(f"{len(wrong)} numbers differ, among them " + "; ".join(wrong[:3]))


def _complaint(native, found, name, scale):
    if native is None:
        return None if found == scale.missing else f"missing natively, the client has {found!r}"
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        return f"{native} natively, the client has {found!r}"
    value, slack = scale.expected(name, native)
    return None if abs(found - value) <= slack else f"{value:.8g} expected within {slack:.1g}, the client has {found!r}"


def same_chain(rows, seen, fields, scale):
    """Requires equal contracts and numbers."""
    same_contracts(rows, seen)
    same_numbers(rows, seen, fields, scale)


def _steadily(check, daemon):
    """Runs a check, and repeats it if it failed while the daemon published another snapshot."""
    for _ in range(3):
        before = daemon.snapshot()
        try:
            return check(daemon)
        except Different:
            if daemon.snapshot() == before:
                raise
    raise Different("each of three attempts met a new snapshot: give the daemon a clock that stands still (--now)")


def main(check, tries_the_guard=False):
    """Runs one check as a program: `check_x.py BASE_URL SYMBOL,SYMBOL`. Its last line is what `run.py` shows."""
    daemon = Native(sys.argv[1].rstrip("/"), sys.argv[2].split(","))
    try:
        note = _steadily(check, daemon)
        require(tries_the_guard or not guard.attempts, f"the client tried to reach {guard.attempts}")
        print(note or "")
    except Skip as reason:
        print(reason)
        sys.exit(SKIPPED)
    except Different as difference:
        print(difference)
        sys.exit(1)
    except Exception as error:
        traceback.print_exc()
        print(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        sys.exit(1)
