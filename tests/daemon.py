"""A daemon for one test: on the loopback, on a free port, ended by its process id. Uses Python's library alone."""

import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "target" / "release" / ("greeksd.exe" if os.name == "nt" else "greeksd")

# the signal to end a daemon: on Windows Ctrl-Break, which reaches a group of processes
END = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM)
OWN_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)

START_SECONDS = 300
STOP_SECONDS = 30


class NotServing(SystemExit):
    """The daemon ended or did not start; the text is the reason, for the user who runs the test."""


def free_port():
    """A free port below the ephemeral ones."""
    while True:
        port = random.randint(10_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def serves(health):
    """True if the daemon serves rows, by its `/health`."""
    return health["status"] != "starting"


def knows_all(health):
    """True if every name has a chain at full accuracy."""
    return serves(health) and health["pending"] == 0 and health["preliminary"] == 0


def runner(program):
    """The command prefix for a program of another system: wine for one of Windows."""
    return ["wine"] if pathlib.Path(program).suffix == ".exe" and os.name != "nt" else []


class Daemon:
    """`greeksd serve` with these arguments; it may be stopped and started again on its port.

    `until` is a condition on the document of `/health` for a complete start, within `seconds`. Its log goes to `log`,
    by default a temporary file; `environment` is added to the inherited variables. It runs in a temporary folder, which
    also keeps its state unless an argument names another.
    """

    def __init__(self, program, *arguments, port=None, until=serves, seconds=START_SECONDS, log=None, environment=None,
                 stdin=subprocess.DEVNULL):
        self.port = port or free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.folder = tempfile.TemporaryDirectory(prefix="greeksd-test-")
        where = ["--listen", f"127.0.0.1:{self.port}"]
        if "--state-dir" not in arguments:
            where += ["--state-dir", os.path.join(self.folder.name, "state")]
        self.command = [*runner(program), str(pathlib.Path(program).resolve()), "serve", *where, *map(str, arguments)]
        self.until, self.seconds, self.environment, self.stdin = until, seconds, environment or {}, stdin
        self.log = log or tempfile.TemporaryFile(mode="w+")
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()

    def launch(self):
        """Starts the process without waiting; returns the daemon."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GREEKSD_")}
        # wine's own complaints are not the daemon's
        kept |= {"WINEDEBUG": "-all"} if self.command[0] == "wine" else {}
        self.process = subprocess.Popen(
            self.command, cwd=self.folder.name, env=kept | self.environment, stdin=self.stdin, stdout=self.log,
            stderr=self.log, creationflags=OWN_GROUP,
        )
        return self

    def start(self):
        """Starts the process, and waits until `until` holds."""
        self.launch()
        try:
            self.wait(self.until, self.seconds)
        except BaseException:
            self.stop()
            raise

    def wait(self, until, seconds=START_SECONDS):
        """Waits until the document of `/health` meets a condition; returns the document."""
        began = time.monotonic()
        while True:
            try:
                health = self.health(timeout=5)
                if until(health):
                    return health
            except (OSError, http.client.HTTPException, ValueError):
                pass
            if self.process.poll() is not None:
                raise NotServing(f"the daemon ended with {self.process.returncode}: {self.said()}")
            if time.monotonic() - began > seconds:
                raise NotServing(f"the daemon is not ready after {seconds} s: {self.said()}")
            time.sleep(0.05)

    def stop(self, seconds=STOP_SECONDS):
        """Stops the daemon, and kills it after `seconds`; returns the exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(END if self.command[0] != "wine" else signal.SIGINT)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
        code, self.process = self.process.wait(), None
        return code

    def kill(self):
        """Kills the daemon if it runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def signal(self, which):
        self.process.send_signal(which)

    def said(self):
        """The end of the log."""
        if not self.log.seekable() or not self.log.readable():
            return ""
        self.log.seek(0)
        return self.log.read()[-2000:]

    def ask(self, target, timeout=60):
        """Status and body of an answer, without a proxy; fails if the body is incomplete."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, target):
        """The body of an answer, as text; fails for a refusal."""
        status, body = self.ask(target)
        if status >= 400:
            raise RuntimeError(f"{target}: {status}: {body[:300]!r}")
        return body.decode()

    def json(self, target):
        return json.loads(self.get(target))

    def health(self, timeout=60):
        return json.loads(self.ask("/health", timeout)[1])

    def metric(self, name):
        for line in self.get("/metrics").splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise RuntimeError(f"no metric {name}")

    def memory_mb(self):
        """Resident memory, MB; None where the system does not report it."""
        try:
            lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
        except OSError:
            return None

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))
