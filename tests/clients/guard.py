"""Keeps a check on this machine: sockets of this process reach loopback and nothing else.

A client whose address was not redirected would otherwise ask its vendor, and a check could pass on the vendor's answer.
Every attempt is refused and remembered, because clients swallow errors; a check with a remembered attempt fails.

Covers Python's own sockets (asyncio included). Libraries with sockets of their own see the proxy of `run.py`, a port
that leads nowhere; asking it counts as an attempt too. Never: a list of vendors.
"""

import ipaddress
import socket

LOCAL_NAMES = {None, "", "localhost", b"localhost"}

NOWHERE = 9
"""The loopback port that `run.py` names as the proxy for everything else."""

attempts = []
"""What was refused so far, as text."""


class Refused(OSError):
    """A connection that would have left this machine."""


def _is_loopback(host):
    if host in LOCAL_NAMES:
        return True
    try:
        text = host.decode() if isinstance(host, bytes) else str(host)
        return ipaddress.ip_address(text.split("%")[0]).is_loopback
    except ValueError:
        return False


def _require_loopback(host, port=None):
    if not _is_loopback(host) or port == NOWHERE:
        attempts.append(str(host) if port != NOWHERE else "the proxy")
        raise Refused(f"the check tried to reach {attempts[-1]}")


def _guard_address(method):
    """Wraps a socket method whose last argument is the address."""

    def guarded(self, *args):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _require_loopback(*args[-1][:2])
        return method(self, *args)

    return guarded


def _guard_lookup(lookup):
    def guarded(host, *args, **kwargs):
        _require_loopback(host)
        return lookup(host, *args, **kwargs)

    return guarded


def install():
    """Guards every socket made from now on, and the look-up of names."""
    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, _guard_address(getattr(socket.socket, name)))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        setattr(socket, name, _guard_lookup(getattr(socket, name)))
