"""The program as a child of `greeksd.serve`: it ends when its standard input does, so when its parent is gone."""

from __future__ import annotations

import os
import signal
import sys
import threading

from .__main__ import main


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def child() -> None:
    """Runs the program with the arguments of this process."""
    threading.Thread(target=_end_with_parent, name="greeksd-parent", daemon=True).start()
    sys.exit(main())
