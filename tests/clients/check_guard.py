"""The guard itself: outside addresses and names are refused, in plain and in asynchronous sockets; loopback works."""

import asyncio
import http.client
import socket

import guard
import native

OUTSIDE = "192.0.2.1"  # reserved for documentation: nobody answers there


async def _open(host):
    await asyncio.open_connection(host, 80)


def check(daemon):
    daemon.json("/health")
    attempts = [
        lambda: socket.create_connection((OUTSIDE, 80), timeout=1),
        lambda: socket.getaddrinfo("vendor.example", 443),
        lambda: http.client.HTTPSConnection("vendor.example", timeout=1).connect(),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", (OUTSIDE, 53)),
        lambda: asyncio.run(_open(OUTSIDE)),
        lambda: socket.create_connection(("127.0.0.1", guard.NOWHERE), timeout=1),
    ]
    for attempt in attempts:
        try:
            attempt()
        except guard.Refused:
            continue
        raise native.Different("an outside address was not refused")
    native.require_equal(len(guard.attempts), len(attempts), "refusals remembered")
    return f"{len(attempts)} ways out refused"


if __name__ == "__main__":
    native.main(check, tries_the_guard=True)
