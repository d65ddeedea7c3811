"""Exceptions, whose texts name place and reason."""

from __future__ import annotations


class Error(Exception):
    """Whatever greeksd raises by itself."""


class InputError(Error, ValueError):
    """An argument, a table or a file cannot be used; the text begins with its place."""


class JobError(Error, RuntimeError):
    """Work broke off: a folder cannot be written to, another job has it."""


class DaemonError(Error, OSError):
    """A daemon refused a request, or is not there.

    ``status`` is that of HTTP; 0 if there was no answer.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class GreeksWarning(UserWarning):
    """Numbers were computed, and not all that were asked for."""
