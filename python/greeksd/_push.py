"""Quotes, prices, dividends and rates to a daemon's ``tcp:`` feed, as lines or as Arrow (docs/feeds/lines.md)."""

from __future__ import annotations

import datetime
import json
import math
import socket
import threading
import time as clock
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from ._columns import TableLike, frame
from ._table import Table
from .errors import DaemonError, InputError

Instant = datetime.datetime | str | int | float | None

#: Bytes per send.
_AT_ONCE = 1 << 16
#: Interval between two attempts to reconnect, seconds.
_PAUSE = 0.2
#: Fields of a line that are left out if missing; bid and ask are null instead.
_PRICES = ("bid", "ask")
#: Rows of a message of Arrow.
_ROWS = 50_000
#: Columns that make a line, of which each kind has all.
_KINDS: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "osym bid ask time",
        "root expiry strike right bid ask time",
        "symbol price time",
        "symbol ex_date amount",
        "date tenor_days rate",
        "forget",
    )
)
_FIELDS = frozenset().union(*_KINDS) | {"underlying", "bid_size", "ask_size", "volume", "open_interest", "status"}


class Pusher:
    """A connection to a daemon's feed: `push` makes one.

    Every call sends at once. `time` is when a thing was so: a datetime with its zone, RFC 3339, or a count since 1970
    (seconds to nanoseconds); now where it is not given. A side that is not quoted is None, NaN or 0. Where the daemon
    was restarted the connection is made again, for `retry` seconds; what it had not read is lost, as quotes are that
    nobody received. The daemon answers nothing: lines that it refuses are counted in its ``/health``, and its
    log names the first.
    May be used by several threads.
    """

    def __init__(self, address: str = "127.0.0.1:2113", *, timeout: float = 10.0, retry: float = 30.0) -> None:
        host, _, port = address.rpartition(":")
        if not port.isdigit():
            raise InputError(f"address: not one such as 127.0.0.1:2113: {address}")
        self._address = (host.strip("[]") or "127.0.0.1", int(port))
        self._timeout, self._retry = timeout, retry
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        #: Number of lines sent.
        self.sent = 0
        with self._lock:
            self._socket = self._connected()

    def quote(
        self,
        osym: str | None = None,
        *,
        bid: Any,
        ask: Any,
        root: str | None = None,
        expiry: Any = None,
        strike: Any = None,
        right: str | None = None,
        bid_size: Any = None,
        ask_size: Any = None,
        volume: Any = None,
        open_interest: Any = None,
        underlying: str | None = None,
        time: Instant = None,
    ) -> None:
        """A quote of one contract, per share: by its OSI symbol, or by root, expiry, strike and right."""
        if osym is None and None in (root, expiry, strike, right):
            raise InputError("quote: give osym, or root, expiry, strike and right")
        sizes = {"bid_size": bid_size, "ask_size": ask_size, "volume": volume, "open_interest": open_interest}
        contract = {"osym": osym, "root": root, "expiry": expiry, "strike": strike, "right": right}
        self.send([{**contract, "underlying": underlying, "bid": bid, "ask": ask, **sizes, "time": time}])

    def price(self, symbol: str, price: Any, *, time: Instant = None) -> None:
        """The price of an underlying, currency per share."""
        self.send([{"symbol": symbol, "price": price, "time": time}])

    def dividend(self, symbol: str, ex_date: Any, amount: Any, *, status: str | None = None) -> None:
        """A cash dividend per share; 0 takes it away. The status ``projected`` says that it is not declared."""
        self.send([{"symbol": symbol, "ex_date": ex_date, "amount": amount, "status": status}])

    def rate(self, date: Any, tenor_days: Any, rate: Any) -> None:
        """A point of a day's discount curve: continuously compounded, decimal; None takes it away."""
        self.send([{"date": date, "tenor_days": tenor_days, "rate": rate}])

    def forget(self, symbol: str) -> None:
        """Forgets everything that was quoted of a name: what follows begins it again."""
        self.send([{"forget": symbol}])

    def table(self, data: TableLike) -> int:
        """Rows of a table, each a line of whatever kind its columns make it; how many. They go as Arrow, which costs the
        daemon a part of what lines do; as lines where a time is missing, which is then now.

        The columns are those of the lines: ``osym`` (or ``root, expiry, strike, right``), ``bid``, ``ask``, ``time``,
        …; or ``symbol, price, time``; ``symbol, ex_date, amount``; ``date, tenor_days, rate``.
        """
        table = frame("table", data)
        if _is_arrow(table):
            named = table.columns_of([name for name in table.fields() if name in _FIELDS])
            for first in range(0, len(table), _ROWS):
                # a stream for each: one that is cut off by a restart is sent again whole
                self._send([named.rows_of(first, _ROWS).ipc()], min(_ROWS, len(table) - first))
            return len(table)
        columns = Table._of(table).to_dict()
        names = list(columns)
        rows = list(zip(*columns.values()))
        self.send(dict(zip(names, row)) for row in rows)
        return len(rows)

    def send(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Lines as they stand in docs/feeds/lines.md. What is missing is left out, and is null as bid, ask or rate."""
        waiting: list[bytes] = []
        size = 0
        for fields in lines:
            waiting.append(_line(fields))
            size += len(waiting[-1])
            if size > _AT_ONCE:
                self._send(waiting, len(waiting))
                waiting, size = [], 0
        self._send(waiting, len(waiting))

    def close(self) -> None:
        """Ends the connection when everything was sent."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def __enter__(self) -> Pusher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, pieces: list[bytes], count: int) -> None:
        if not pieces:
            return
        with self._lock:
            if self._socket is None:
                raise DaemonError("this pusher is closed")
            try:
                self._socket.sendall(b"".join(pieces))
            except OSError:
                self._socket.close()
                self._socket = self._connected()
                self._socket.sendall(b"".join(pieces))
            self.sent += count

    def _connected(self) -> socket.socket:
        until = clock.monotonic() + (self._retry if self.sent else 0.0)
        while True:
            try:
                return socket.create_connection(self._address, timeout=self._timeout)
            except OSError as error:
                if clock.monotonic() > until:
                    where = "{}:{}".format(*self._address)
                    raise DaemonError(
                        f"{where}: {error.strerror or error}; does a daemon run with --feed tcp:{self._address[1]}?"
                    ) from error
            clock.sleep(_PAUSE)


def push(address: str = "127.0.0.1:2113", *, timeout: float = 10.0, retry: float = 30.0) -> Pusher:
    """A connection that hands quotes, prices, dividends and rates to a daemon with ``--feed tcp:2113``.

    ::

        with greeksd.push("127.0.0.1:2113") as out:
            out.price("ACME", 101.27)
            out.quote("ACME  261218C00100000", bid=4.1, ask=4.2, bid_size=12, ask_size=7)
            out.table(frame)            # a row a line

    Raises `DaemonError` where nothing listens.
    """
    return Pusher(address, timeout=timeout, retry=retry)


def _is_arrow(table: Any) -> bool:
    """Whether the daemon reads the table as Arrow: it has every column of a kind, and no time is missing or of no zone."""
    fields = table.fields()
    if not any(kind <= fields.keys() for kind in _KINDS):
        return False
    if "time" not in fields:
        return True
    kind, time = fields["time"]["type"], table.column("time")
    is_naive = kind.startswith("Timestamp") and '"' not in kind
    return not is_naive and time["kind"] != "word" and time["missing"] is None and None not in (time["texts"] or ())


def _line(fields: Mapping[str, Any]) -> bytes:
    line = {}
    is_quote = not any(name in fields for name in ("price", "ex_date", "tenor_days", "forget"))
    for name, value in fields.items():
        value = _value(name, value)
        if value is not None or name == "rate" or (is_quote and name in _PRICES):
            line[name] = value
    if (is_quote or "price" in fields) and line.get("time") is None:
        line["time"] = clock.time_ns() // 1000
    return json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _value(name: str, value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise InputError(f"{name}: {value} has no time zone")
        return value.isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {value!r} is no number, text, date or time") from None
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise InputError(f"{name}: not a finite number")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
