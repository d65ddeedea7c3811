"""A daemon of a test's own: on the loopback, on a free port, ended by its own process id."""

import json
import os
import pathlib
import random
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target" / "release" / ("greeksd.exe" if os.name == "nt" else "greeksd")

START_SECONDS = 120
STOP_SECONDS = 10


def free_port():
    """A port that nobody listens on, below those that the system hands to clients."""
    while True:
        port = random.randint(10_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class Daemon:
    """`greeksd serve` with these arguments; it may be stopped and started again on its port."""

    def __init__(self, program, *arguments, port=None):
        self.port = port or free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.folder = tempfile.TemporaryDirectory(prefix="greeksd-test-")
        where = ["--listen", f"127.0.0.1:{self.port}", "--state-dir", os.path.join(self.folder.name, "state")]
        self.command = [str(program), "serve", *where, *arguments]
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()

    def start(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GREEKSD_")}
        self.process = subprocess.Popen(
            self.command, cwd=self.folder.name, env=kept, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )
        began = time.monotonic()
        while True:
            try:
                if self.json("/health")["status"] != "starting":
                    return
            except (urllib.error.URLError, ConnectionError):
                pass
            if self.process.poll() is not None or time.monotonic() - began > START_SECONDS:
                raise SystemExit(f"the daemon does not serve: {self.said()}")
            time.sleep(0.1)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def get(self, target):
        with urllib.request.urlopen(self.base + target, timeout=60) as answer:
            return answer.read().decode()

    def json(self, target):
        return json.loads(self.get(target))
