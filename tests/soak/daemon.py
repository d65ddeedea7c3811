"""A daemon that a script starts, watches and ends by its own process id."""

import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    def __init__(self, binary, feed, *more, log=None):
        self.port = free_port()
        command = [binary, "serve", "--feed", feed, "--listen", f"127.0.0.1:{self.port}", *more]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log or subprocess.DEVNULL,
            cwd=tempfile.gettempdir(),
        )

    def get(self, target, timeout=60):
        """Status and body; fails where the body is not whole."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def health(self):
        return json.loads(self.get("/health")[1])

    def wait_served(self, seconds=600):
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self.process.poll() is not None:
                raise RuntimeError(f"the daemon ended with {self.process.returncode}")
            try:
                health = self.health()
                if health["status"] != "starting" and health["pending"] == 0:
                    return health
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(0.05)
        raise RuntimeError("the daemon does not serve")

    def metric(self, name):
        for line in self.get("/metrics")[1].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise RuntimeError(f"no metric {name}")

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def signal(self, which):
        self.process.send_signal(which)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends in order; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)
