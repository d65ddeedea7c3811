"""A running daemon, and one that this process starts."""

from __future__ import annotations

import atexit
import collections
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import warnings
from collections.abc import Iterable
from types import TracebackType
from typing import IO, Any

from ._native import native
from ._table import Table
from .errors import DaemonError, GreeksWarning, InputError

_URL = "http://127.0.0.1:2112"
#: Environment variable with the name of a daemon, which `/health` shows.
_TOKEN = "GREEKSD_INSTANCE"
#: Statuses of a request that is to be repeated.
_NOT_YET = (502, 503)
#: Words of a warning about names that are computed for the first time
_LATE = "not computed yet"
#: Polling interval of a daemon that starts, seconds.
_LOOK = 0.05
#: Time limit for a daemon to end, seconds; it saves its state within eight.
_END = 12.0


class Daemon:
    """A greeksd that runs somewhere: `connect` makes one.

    Only the standard library is used, and no proxy. One object may be used by several threads. ``timeout`` is how many
    seconds a response may take, ``wait`` for how many a name may be asked for again that is being computed.
    """

    def __init__(self, url: str = _URL, *, timeout: float = 60.0, wait: float = 60.0) -> None:
        parts = urllib.parse.urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"url: not one such as {_URL}: {url}")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.timeout, self.wait = timeout, wait
        self._parts = parts

    def __repr__(self) -> str:
        return f"<greeksd.{type(self).__name__} at {self.url}>"

    def chain(
        self,
        underlying: str | Iterable[str] | None = None,
        *,
        root: str | Iterable[str] | None = None,
        osym: str | Iterable[str] | None = None,
        greeks: str = "all",
        **filters: Any,
    ) -> Table:
        """Contracts with their Greeks, a row each, as the daemon has them now.

        One of `underlying`, `root`, `osym` says which: a name, or several. `greeks` are groups of fields (``core``,
        ``extra``, ``exotic``, ``chain``, ``vt``, ``prob``, ``quote``; ``all`` is the first four). `filters` are the
        parameters of ``/l1/greeks`` (docs/api.md): ``exp``, ``min_days``, ``max_days``, ``right``, ``min_strike``, ``max_strike``,
        ``min_delta``, ``center``, ``strike_count``, ``as_of`` (a past moment), … Units are in `Table.units`.
        """
        return self._table({"underlying": underlying, "root": root, "osym": osym, "greeks": greeks, **filters})

    def term_structure(self, underlying: str, *, center: str = "atf", **filters: Any) -> Table:
        """A row for each expiry (and root) of an underlying: the call at its forward.

        ``expiry``, ``days``, ``fwd_price``, ``disc_rate``, ``borr_rate``, ``divs``, and ``svc_vol`` and the Greeks of
        the strike nearest to the forward. `center` is ``atf``, ``atm`` (the spot) or a delta: ``0.25`` of the call,
        ``-0.25`` of the put.
        """
        right = "put" if str(center).startswith("-") else "call"
        asked = {"underlying": underlying, "center": center, "right": right, "greeks": "core,chain", **filters}
        return self._table(asked)

    def history(
        self,
        underlying: str | Iterable[str] | None = None,
        *,
        start: Any,
        end: Any,
        interval: str = "1d",
        greeks: str = "all",
        **filters: Any,
    ) -> Table:
        """Contracts at each of many past moments, by time; of a daemon with ``--feed history:DIR``.

        `start` and `end` are dates (``2024-01-03``) or instants, `interval` ``1d``, ``1h``, ``1m``, …
        """
        moments = {"start": start, "end": end, "interval": interval}
        return self._table({"underlying": underlying, "greeks": greeks, **moments, **filters})

    def metrics(
        self, underlying: str | Iterable[str] = "*", *, by: str = "name", **filters: Any
    ) -> list[dict[str, Any]]:
        """Numbers of names, or of their expiries with ``by="expiry"`` (docs/metrics.md): a row each.

        ``iv30d``, ``skew25_30d``, ``event_move`` and others; ``None`` is not known, and ``missing`` says why. `filters`
        are ``where`` (``"iv_rank_1y>0.8"``), ``sort`` (``"-iv30d"``), ``limit``, ``as_of``, ``strict``; with ``start``,
        ``end`` and ``interval`` (``"1d"``) a row for each past moment, as in `history`.
        """
        rows: list[dict[str, Any]] = self._json("/l1/metrics", {"underlying": underlying, "by": by, **filters})
        return rows

    def exposure(self, underlying: str | Iterable[str], *, by: str = "name", **filters: Any) -> list[dict[str, Any]]:
        """Exposures of open contracts (docs/metrics.md), a row for each ``name``, ``expiry``, ``strike`` or
        ``expiry_strike``; of a daemon with ``show_quotes``.

        ``gex``, ``vanna_exp`` and ``charm_exp`` are calls less puts: they assume that dealers are long calls and short
        puts. `filters` are ``where``, ``sort``, ``limit``, ``as_of`` and those of `chain`.
        """
        rows: list[dict[str, Any]] = self._json("/l1/exposure", {"underlying": underlying, "by": by, **filters})
        return rows

    def explain(self, osym: str, *, as_of: Any = None) -> dict[str, Any]:
        """Everything behind one contract's numbers (docs/explain.md)."""
        why: dict[str, Any] = self._json("/l1/explain", {"osym": osym, "as_of": as_of})
        return why

    def strategy(self, legs: str | Iterable[str], *, entry: str | None = None, as_of: Any = None) -> dict[str, Any]:
        """Legs as a whole (``/l1/strategy``): ``strategy(["-1 SPY 12/18 712 C", "+1 SPY 12/18 720 C"])``."""
        asked = {"legs": legs if isinstance(legs, str) else ",".join(legs), "entry": entry, "as_of": as_of}
        whole: dict[str, Any] = self._json("/l1/strategy", asked)
        return whole

    def explain_positions(self, since: str = "session", *, as_of: Any = None, **filters: Any) -> list[dict[str, Any]]:
        """Why the values of the daemon's positions have changed (docs/positions.md), by time, spot, volatility, skew,
        carry and dividends; of a daemon with positions and ``--feed history:DIR``.

        `since` is a recorded moment or ``session``, the last recorded day before the later moment: `as_of`, else now.
        `filters` are ``by``, ``account``, ``underlying``.
        """
        asked = {"explain": f"since:{since}", "as_of": as_of, **filters}
        rows: list[dict[str, Any]] = self._json("/l1/positions", asked)
        return rows

    def symbols(self, **filters: Any) -> list[dict[str, Any]]:
        """The underlyings that are served (``/l1/symbols``)."""
        rows: list[dict[str, Any]] = self._json("/l1/symbols", filters)
        return rows

    def health(self) -> dict[str, Any]:
        """How the daemon is (docs/running.md). A daemon that is still starting answers too."""
        status, body, *_ = self._get("/health", {})
        health: dict[str, Any] = _parsed(body, status)
        return health

    def _table(self, parameters: dict[str, Any]) -> Table:
        body = self._asked("/l1/greeks", {**parameters, "format": "arrow"})
        return Table._of(native.frame_of_ipc(body))

    def _json(self, path: str, parameters: dict[str, Any]) -> Any:
        return _parsed(self._asked(path, parameters), 200)

    def _asked(self, path: str, parameters: dict[str, Any]) -> bytes:
        """The body of an answer; a name that is not computed yet is requested again."""
        until = time.monotonic() + self.wait
        while True:
            status, body, retry_after, warning = self._get(path, parameters)
            is_late = _LATE in warning if status == 200 else status in _NOT_YET and retry_after is not None
            pause = min(retry_after if retry_after is not None else 1.0, 1.0)
            if not is_late or time.monotonic() + pause > until:
                if status != 200:
                    raise DaemonError(f"{self.url}{path}: {status}: {_said(body)}", status)
                if warning:
                    warnings.warn(f"{self.url}{path}: {warning}", GreeksWarning, stacklevel=4)
                return body
            time.sleep(pause)

    def _get(self, path: str, parameters: dict[str, Any]) -> tuple[int, bytes, float | None, str]:
        given = {name: _parameter(value) for name, value in parameters.items() if value is not None}
        target = self._parts.path.rstrip("/") + path + ("?" + urllib.parse.urlencode(given) if given else "")
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=self.timeout)
        try:
            connection.request("GET", target, headers={"Accept-Encoding": "identity"})
            response = connection.getresponse()
            after, warning = response.getheader("Retry-After"), response.getheader("Warning", "")
            # 199 greeksd "not served: …"
            said = warning.partition('"')[2].rstrip('"')
            return response.status, response.read(), float(after) if after and after.isdigit() else None, said
        except (OSError, http.client.HTTPException) as error:
            raise DaemonError(f"{self.url}{path}: no answer: {error}") from error
        finally:
            connection.close()


def _parameter(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if isinstance(value, (list, tuple, set)):
        return ",".join(_parameter(item) for item in value)
    return str(value)


def _parsed(body: bytes, status: int) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise DaemonError(f"an answer that is no JSON: {error}", status) from None


def _said(body: bytes) -> str:
    """The text of a refusal."""
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")


def connect(url: str = _URL, *, timeout: float = 60.0, wait: float = 60.0) -> Daemon:
    """A daemon that runs; asks it whether it is there.

    Raises `DaemonError` where nothing answers.
    """
    daemon = Daemon(url, timeout=timeout, wait=wait)
    daemon.health()
    return daemon


class Server(Daemon):
    """A daemon that this process has started, and that ends with it: `serve` makes one."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, *, timeout: float, wait: float) -> None:
        super().__init__(url, timeout=timeout, wait=wait)
        self._process = process
        atexit.register(self.close)

    @property
    def pid(self) -> int:
        """The process of the daemon."""
        return self._process.pid

    def ended(self) -> int | None:
        """The exit code of the daemon; None while it runs."""
        return self._process.poll()

    def close(self) -> None:
        """Ends the daemon, which saves its state; one that does not end is killed."""
        atexit.unregister(self.close)
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self.ended() is None:
            self._process.terminate()
        try:
            self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(
    *feeds: str,
    listen: str | None = None,
    options: Iterable[str] = (),
    log: Any = None,
    start: float = 60.0,
    timeout: float = 60.0,
    wait: float = 60.0,
    **settings: Any,
) -> Server:
    """Starts a daemon and waits until it answers: a context manager that ends it.

    `feeds` are those of ``--feed`` (``"sim"`` where none is given; ``"dir:PATH"``, ``"tcp:2113"``, …), `settings` the
    other options by name (``show_quotes=True``, ``state_dir="…"``), `options` further arguments as they stand. It
    listens on a free port of this machine, or on `listen` (``"127.0.0.1:2112"``). `log` is where its log goes: a file,
    or None for nowhere. The daemon ends with the block, with this process however that ends, and with `Server.close`.

    Raises `DaemonError` where it ends at once, with its last lines of log, or does not answer within `start` seconds.

    >>> with serve("sim") as daemon:
    ...     terms = daemon.term_structure("SPX", max_days=40)
    ...     "fwd_price" in terms.columns and len(terms) > 0
    True
    """
    address = listen or f"127.0.0.1:{_free_port()}"
    # the child imports the package of this process, and nothing from the current folder
    main = "import sys; sys.path = [path for path in sys.path if path]; from greeksd._child import child; child()"
    command = [sys.executable, "-c", main, "serve", "--listen", address]
    command += [argument for feed in feeds or ("sim",) for argument in ("--feed", feed)]
    for name, value in settings.items():
        option = "--" + name.replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is not None and item is not False:
                command += [option] if item is True else [option, str(item)]
    command += [os.fspath(option) for option in options]
    # its last lines before it serves are the reason if it does not
    errors = subprocess.PIPE if log is None else log
    token = secrets.token_hex(16)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), _TOKEN: token},
        start_new_session=True,
    )
    last_lines = _LastLines(process.stderr) if process.stderr is not None else None
    server = Server(process, f"http://{address}", timeout=timeout, wait=wait)
    try:
        _answered(server, address, token, last_lines, start)
    except BaseException:
        server.close()
        raise
    return server


def _answered(server: Server, address: str, token: str, last_lines: _LastLines | None, seconds: float) -> None:
    """Waits until the daemon itself answers, and not another program at its address."""
    until = time.monotonic() + seconds
    while True:
        try:
            if server.health().get("instance") == token:
                return
        except (DaemonError, AttributeError):
            pass
        code = server.ended()
        if code is not None:
            reason = last_lines.text() if last_lines is not None else "its log says why"
            raise DaemonError(f"the daemon ended with code {code}: {reason}")
        if time.monotonic() > until:
            raise DaemonError(f"the daemon did not answer at {address} within {seconds:g} s")
        time.sleep(_LOOK)


class _LastLines:
    """The last lines of a log. It must be read, since a full pipe would block the daemon."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=20)
        self._thread = threading.Thread(target=self._read, args=(stream,), name="greeksd-log", daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._lines.append(line.decode(errors="replace").rstrip())

    def text(self) -> str:
        self._thread.join(1.0)
        return "; ".join(line for line in self._lines if line)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
