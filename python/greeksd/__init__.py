"""Option Greeks of US listed chains: calibrated from quotes, on this machine.

- `greeks`: tables of quotes to the Greeks of every contract; `price`: contracts with explicit parameters;
  `batch`: days of recorded quotes to files.
- `connect`: a running daemon; `serve`: starts one; `push`: hands quotes to one.

Tables come as anything that speaks Arrow (pandas, polars, pyarrow, DuckDB) or as a dict of arrays, and go out as
`Table`, which any of these reads. Numbers are per share; units are in `Table.units`. The same program is the command
``greeksd``. docs/python.md has examples.
"""

from __future__ import annotations

from ._compute import BatchReport, Greeks, Prices, batch, greeks, price
from ._daemon import Daemon, Server, connect, serve
from ._native import native as _module
from ._push import Pusher, push
from ._table import Table
from .errors import DaemonError, Error, GreeksWarning, InputError, JobError

__version__: str = _module.VERSION

__all__ = [
    "BatchReport",
    "Daemon",
    "DaemonError",
    "Error",
    "Greeks",
    "GreeksWarning",
    "InputError",
    "JobError",
    "Prices",
    "Pusher",
    "Server",
    "Table",
    "batch",
    "connect",
    "greeks",
    "price",
    "push",
    "serve",
]
