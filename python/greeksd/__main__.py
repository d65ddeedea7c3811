"""The program ``greeksd``: the native module has all of it."""

from __future__ import annotations

import signal
import sys

from ._native import native


def main() -> int:
    """Runs ``greeksd`` with the arguments of this process; returns its exit code."""
    # the program handles signals itself; signals that it does not handle must end it
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code: int = native.main(["greeksd", *sys.argv[1:]])
    return code


if __name__ == "__main__":
    sys.exit(main())
