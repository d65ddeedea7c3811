#!/usr/bin/env python3
"""Tries the program of Windows: on Windows, or elsewhere under wine.

    python3 tests/windows/run.py target/packages/x86_64-pc-windows-gnu-x86-64-v3/x86_64-pc-windows-gnu/release/greeksd.exe
    python3 tests/windows/run.py greeksd-0.1.0-windows-x86_64 --only launcher,service     an unpacked archive

Python 3.11 with its standard library; wine (wine64 of Debian), tmux for consoles, and mingw where wine lacks a library.
Everything happens in a folder of its own, wine's too, on the loopback and on free ports; it ends what it has started.
A line for each trial, then `N passed, N failed, N skipped`; exit code 1 where one failed.
"""

import argparse
import contextlib
import http.client
import io
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "soak"))
# before levels, which finds another one of that name
import market

sys.path.insert(0, str(HERE.parent / "packages"))
import levels
from daemon import Daemon, free_port, knows_all, runner

NOW = "2026-11-20T15:42:00-05:00"
SIM = ("--feed", "sim", "--now", NOW)
IS_WINDOWS = os.name == "nt"
PATIENCE = 90.0


# what moves the cursor or sets a colour
SEQUENCES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|.)")


class Failed(Exception):
    """An expected result did not come."""


class Skipped(Exception):
    """A trial's requirement is missing."""


def expect(holds, what):
    if not holds:
        raise Failed(what)


def until(found, what, patience=PATIENCE):
    """Polls until there is a result; returns it."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            if value := found():
                return value
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(0.1)
    raise Failed(f"after {patience:.0f} s: {what}")


class Place:
    """The program, and a folder for everything that a trial leaves."""

    def __init__(self, program, folder):
        self.folder = pathlib.Path(folder)
        self.launcher = program / "bin" / "greeksd.exe" if program.is_dir() else None
        self.program = (self.picked() if self.launcher else program).resolve()

    def picked(self):
        """The build that the launcher picks. Trials of an archive run it and the launcher."""
        command = [*runner(self.launcher), str(self.launcher.resolve()), "--version", "--verbose"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE).stdout
        level = re.search(r"^processor level: (\S+)", said, re.MULTILINE)
        expect(level, f"the launcher starts nothing: {said}")
        return self.launcher.parents[1] / "lib" / "greeksd" / f"greeksd-{level.group(1)}.exe"

    def new(self, name):
        path = self.folder / name
        path.mkdir()
        return path

    def run(self, *arguments, patience=PATIENCE):
        """The program to its end: code, standard output, standard error."""
        command = [*runner(self.program), str(self.program), *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=patience)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def system(self, *command):
        """A command of Windows."""
        done = subprocess.run([*([] if IS_WINDOWS else ["wine"]), *command], capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def path(self, path):
        """A path as Windows has it."""
        return str(path) if IS_WINDOWS else "Z:" + str(path).replace("/", "\\")


def prepare_wine(folder):
    """Wine's own folder, without windows on a screen; a library that old ones lack is put there."""
    if not shutil.which("wine"):
        raise SystemExit("missing, wine: Debian's wine64 and wine")
    os.environ |= {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}
    os.environ.pop("DISPLAY", None)
    subprocess.run(["wine", "wineboot", "--init"], check=True, capture_output=True, timeout=300)
    library = folder / "wine" / "drive_c" / "windows" / "system32" / "bcryptprimitives.dll"
    if not library.exists():
        command = ["x86_64-w64-mingw32-gcc", "-shared", "-O2", "-o", library, HERE / "bcryptprimitives.c", "-ladvapi32"]
        subprocess.run(command, check=True)


def starts(place):
    code, out, err = place.run("--version")
    expect(code == 0 and out.startswith("greeksd "), f"{code}: {out}{err}")
    code, _, err = place.run("--listen", "nonsense")
    expect(code == 2 and "nonsense" in err, f"{code}: {err}")
    return out.strip()


def first_number(place):
    """Seconds from the start of the program, launcher and all, to the first Greek over HTTP."""
    began = time.monotonic()
    level = {name: value for name, value in os.environ.items() if name == "GREEKSD_LEVEL"}
    with Daemon(place.launcher or place.program, until=lambda _: True, environment=level) as daemon:
        row = until(lambda: first_row(daemon.port), "no number comes")
        took = time.monotonic() - began
        # wine hands a signal to the launcher alone, which leaves Ctrl-C to the build
        daemon.kill()
    expect(0.4 < row["delta"] < 0.7, row)
    return f"{place.program.stem}: after {took:.1f} s"


def first_row(port):
    """A row with a delta; None where there is none yet."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("GET", "/l1/greeks?underlying=SPY&center=atf&right=call&max_days=40&min_days=20")
        answer = connection.getresponse()
        rows = json.loads(answer.read())
    return rows[0] if answer.status == 200 and rows and rows[0].get("delta") is not None else None


def numbers(place):
    """Golden rows, held to the bounds of golden/tolerances.csv. Their last digits are those of this C library."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        beyond = levels.judged("Windows", "golden rows", levels.values([*runner(place.program), place.program]))
    expect(beyond == 0, said.getvalue())
    return said.getvalue().strip().removeprefix("Windows: ")


def keep_alive(place):
    """Many answers on one connection, small and large ones, in the order of the requests."""
    with Daemon(place.program, *SIM) as daemon:
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
        sizes, first = [], {}
        for target in ["/l1/greeks?underlying=SPY&format=csv", "/health", "/l1/greeks?underlying=*&format=csv", "/health"] * 3:
            connection.request("GET", target)
            answer = connection.getresponse()
            body = answer.read()
            expect(answer.status == 200, f"{target}: {answer.status}")
            expect(target == "/health" or first.setdefault(target, body) == body, f"{target}: another body than before")
            sizes.append(len(body))
        # requests that come together are answered in order
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=60) as raw:
            request = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
            raw.sendall(request * 3 + request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
            heard = b"".join(iter(lambda: raw.recv(65536), b""))
        expect(heard.count(b"HTTP/1.1 200 OK") == 4, f"{heard.count(b'HTTP/1.1 200 OK')} answers of 4")
    return f"{len(sizes)} answers on one connection, up to {max(sizes) / 1e6:.1f} MB"


def slow_reader(place):
    """A client that rests while a large answer comes, the first time and when its body is kept: the rest arrives."""
    with Daemon(place.program, *SIM) as daemon:
        longest = 0.0
        for turn in range(6):
            with socket.create_connection(("127.0.0.1", daemon.port), timeout=60) as client:
                client.sendall(b"GET /l1/greeks?underlying=SPX&greeks=all HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                time.sleep(0.5)
                heard, began = bytearray(), time.monotonic()
                while part := client.recv(4096):
                    heard += part
                    if len(heard) % (1 << 18) < 4096:
                        time.sleep(0.01)
            longest = max(longest, time.monotonic() - began)
            head, body = bytes(heard).split(b"\r\n\r\n", 1)
            promised = re.search(rb"(?i)content-length: (\d+)", head)
            whole = len(body) == int(promised[1]) if promised else body.endswith(b"\r\n0\r\n\r\n")
            expect(whole, f"cut after {len(body)} bytes")
        expect(longest < 20, f"{longest:.1f} s for one answer")
    return f"{turn + 1} answers of {len(heard) / 1e6:.1f} MB, {longest:.1f} s at most"


def port_of_one(place):
    """A port is one program's: neither a second daemon nor a program that wants to share it gets it."""
    with Daemon(place.program, *SIM) as daemon:
        code, _, err = place.run("serve", *SIM, "--listen", f"127.0.0.1:{daemon.port}")
        expect(code == 1 and "in use by another greeksd or another program" in err, f"{code}: {err}")
        if IS_WINDOWS:
            for address in ("127.0.0.1", "0.0.0.0"):
                with socket.socket() as other:
                    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        other.bind((address, daemon.port))
                    except OSError:
                        continue
                    raise Failed(f"another program shares {address}:{daemon.port}")
    # the port is free at once for the next one
    with Daemon(place.program, *SIM, port=daemon.port):
        pass
    return "a second daemon is refused, the next one has the port"


def folder_feed(place):
    """A recorded folder is read, read again when a file changes, and a spoiled file is reported."""
    folder = market.Folder(place.new("market"), steady=3, spoiled=1)
    with Daemon(place.program, "--feed", f"dir:{folder.path}", "--refresh", "0.2", until=knows_all) as daemon:
        rows = daemon.get("/l1/greeks?underlying=*&format=csv").splitlines()
        expect(len(rows) - 1 == 4 * market.ROWS, f"{len(rows) - 1} rows")
        shown = lambda name: daemon.get(f"/l1/greeks?underlying={name}&format=csv")
        before = shown("STA")
        folder.spot = 104.0
        folder.restore("STA")
        until(lambda: shown("STA") != before, "a changed file is not read")
        folder.file("SPA").unlink()
        folder.file("STB").write_bytes(b"\x00\xff" * 5000)
        until(lambda: daemon.health()["files_unusable"], "a spoiled file is not told")
    return f"{len(rows) - 1} rows; a changed file is read, a spoiled one told"


def state(place):
    """The market is served again after a stop and after a kill."""
    folder = market.Folder(place.new("kept-market"), steady=3, spoiled=0)
    kept = place.folder / "kept"
    ends = []
    with Daemon(place.program, "--feed", f"dir:{folder.path}", "--state-dir", kept, "--refresh", "0.2", until=knows_all) as daemon:
        until(lambda: list(kept.glob("*.saved")), "no market is saved")
        for graceful in (True, False):
            ends.append(daemon.stop() if graceful else daemon.kill())
            daemon.start()
            until(lambda: "restored in" in daemon.said(), "nothing is restored")
        expect(ends[0] == 0, f"ended with {ends[0]}")
        expect(not list(kept.glob("*.bad")), "a file of the state was damaged")
    return "restored after an orderly end and after none"


def ctrl_c(place):
    daemon = Daemon(place.program, *SIM)
    with daemon:
        began = time.monotonic()
        code = daemon.stop()
        expect(code == 0 and "stopping" in daemon.said(), f"{code}: {daemon.said()}")
    return f"ends with 0 after {time.monotonic() - began:.1f} s"


def log_file(place):
    file = place.folder / "logs" / "greeksd.log"
    with Daemon(place.program, *SIM, "--log-file", file) as daemon:
        until(lambda: "serving" in file.read_text(), "no banner in the file")
        expect(daemon.said() == "", f"standard error has {daemon.said()!r}")
        daemon.stop()
    expect("stopping" in file.read_text(), file.read_text())
    return "banner and end are in the file"


def service(place):
    """The service manager installs, starts, queries, stops and removes the service."""
    name, port = f"greeksd-trial-{os.getpid()}", free_port()
    log, kept = place.folder / "service.log", place.folder / "service-state"
    folder = market.Folder(place.new("service-market"), steady=2, spoiled=0)
    arguments = f'serve --service --listen 127.0.0.1:{port} --feed "dir:{place.path(folder.path)}"'
    arguments += f' --log-file "{place.path(log)}" --state-dir "{place.path(kept)}"'
    code, said = place.system("sc", "create", name, "binPath=", f'"{place.path(place.program)}" {arguments}')
    if code == 5 and IS_WINDOWS:
        raise Skipped("only an administrator may make services")
    expect(code == 0, f"sc create: {code}: {said}")
    try:
        code, said = place.system("sc", "start", name)
        expect(code == 0, f"sc start: {code}: {said}; {log.read_text() if log.exists() else 'no log'}")
        daemon = Daemon(place.program, port=port)
        until(lambda: knows_all(daemon.health()), "the service does not serve")
        if "RUNNING" not in (state := place.system("sc", "query", name)[1]):
            raise Failed(f"the service manager does not know that it runs: {state}")
        began = time.monotonic()
        code, said = place.system("sc", "stop", name)
        expect(code == 0, f"sc stop: {code}: {said}")
        until(lambda: "STOPPED" in place.system("sc", "query", name)[1], "the service does not stop")
        took = time.monotonic() - began
        expect("stopping" in log.read_text(), f"no orderly end: {log.read_text()}")
        expect(list(kept.glob("*.saved")), "the state is not saved")
    finally:
        place.system("sc", "stop", name)
        place.system("sc", "delete", name)
    code, _, err = place.run("serve", "--service", *SIM)
    expect(code == 2 and "service manager" in err, f"by hand: {code}: {err}")
    return f"runs, stops after {took:.1f} s with its state saved"


def launcher(place):
    """The launcher passes streams, exit codes and console to the build, and both end together."""
    if not place.launcher:
        raise Skipped("a build alone; give an unpacked archive")
    build, place.program = place.program, place.launcher.resolve()
    source = levels.ROOT / "golden" / "european.csv"
    code, out, _ = place.run("price", source)
    expect(code == 0 and out.count("\n") > 100, f"{code}: {out[:200]}")
    expect(place.run("--listen", "nonsense")[0] == 2, "another exit code than the build's")
    os.environ["GREEKSD_LEVEL"] = "x86-64-v9"
    code, _, err = place.run("--version")
    del os.environ["GREEKSD_LEVEL"]
    expect(code == 2 and "levels are" in err, f"{code}: {err}")
    with Daemon(place.program, *SIM) as daemon:
        daemon.kill()
        until(lambda: not answers(daemon.port), "the build outlives a launcher that was killed")
    if IS_WINDOWS:
        return f"starts {build.name}; ends with it"
    with Console(place) as console:
        console.type(f"wine {place.program} serve {' '.join(SIM)} --listen 127.0.0.1:{daemon.port}; echo ended-$?")
        console.expect("serving http://")
        console.keys("C-c")
        console.expect("stopping", "ended-0")
    return f"starts {build.name}, ends with it; Ctrl-C ends both in order"


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Console:
    """A console in tmux."""

    def __init__(self, place):
        if IS_WINDOWS or not shutil.which("tmux"):
            raise Skipped("consoles are tried in tmux under wine")
        self.server = f"greeksd-windows-{place.folder.name}"
        variables = [f"{name}={os.environ[name]}" for name in ("WINEPREFIX", "WINEDEBUG", "PATH", "HOME") if name in os.environ]
        self.tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", str(place.folder), "env", "-i", *variables, "LANG=C.UTF-8", "TERM=xterm-256color", "sh")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *arguments):
        command = ["tmux", "-L", self.server, "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text + "\n")

    def printed(self, file):
        """From now on everything that is written to the screen goes to a file as well."""
        self.tmux("pipe-pane", "-o", f"cat > {file}")

    def expect(self, *words):
        try:
            return until(lambda: (screen := self.tmux("capture-pane", "-p")) and all(w in screen for w in words) and screen, "")
        except Failed:
            raise Failed(f"not all of {words} in\n{self.tmux('capture-pane', '-p')}") from None


def console(place):
    """Ctrl-C in a console reaches a daemon; a program that starts it does not end before it."""
    with Console(place) as console:
        console.type(f"wine {place.program} serve {' '.join(SIM)} --listen 127.0.0.1:{free_port()}; echo ended-$?")
        console.expect("serving http://")
        console.keys("C-c")
        console.expect("stopping", "ended-0")
    return "Ctrl-C ends it in order"


def view(place):
    """The viewer in a console: pages, keys, the end. Wine's console hands sequences on and reckons the cursor without
    them, so that its screens are not those of Windows: what is looked at is what was written, without the places."""
    written = place.folder / "written"
    with Console(place) as console:
        console.printed(written)
        console.type(f"wine {place.program} view spy --feed sim -- --now {NOW}; echo ended-$?")

        def shows(*words, after=0):
            lines = lambda: written.read_bytes().decode(errors="replace")[after:]
            plain = lambda: SEQUENCES.sub("", re.sub(r"[\r\n]", "", lines()))
            try:
                until(lambda: all(word in plain() for word in words), "")
            except Failed:
                raise Failed(f"not all of {words} in {plain()[-3000:]}") from None
            return after + len(lines())

        at = shows("SPY", "Calls", "Puts", "spot", "forward", "SIMULATED")
        for key, words in (("2", ["Smile"]), ("3", ["Term structure"]), ("4", ["Watch"]), ("1", ["Strike"])):
            console.keys(key)
            at = shows(*words, after=at)
        console.keys("/")
        at = shows("Symbol", after=at)
        console.keys("a", "a", "p", "Enter")
        at = shows("AAPL", after=at)
        console.keys("q")
        shows("ended-0", after=at)
    return "pages, search, end (of what is written; wine draws it elsewhere than Windows)"


TRIALS = [starts, first_number, numbers, keep_alive, slow_reader, port_of_one, folder_feed, state, ctrl_c, log_file, service, console, view, launcher]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("--only", help="parts of names of trials, separated by commas")
    options = arguments.parse_args()
    wanted = [trial for trial in TRIALS if not options.only or any(part in trial.__name__ for part in options.only.split(","))]
    counts = {"ok": 0, "FAILED": 0, "SKIPPED": 0}
    with tempfile.TemporaryDirectory(prefix="greeksd-windows-", ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        if not IS_WINDOWS:
            prepare_wine(folder)
        try:
            for trial in wanted:
                began = time.monotonic()
                try:
                    outcome, why = "ok", trial(Place(options.program, tempfile.mkdtemp(dir=folder)))
                except Skipped as reason:
                    outcome, why = "SKIPPED", str(reason)
                except (Failed, SystemExit, subprocess.SubprocessError, OSError, RuntimeError, KeyError, ValueError) as error:
                    outcome, why = "FAILED", str(error) or repr(error)
                counts[outcome] += 1
                print(f"{trial.__name__:14} {outcome:8} {why}  ({time.monotonic() - began:.1f} s)", flush=True)
        finally:
            if not IS_WINDOWS:
                subprocess.run(["wineserver", "-k"], capture_output=True)
    print(f"{counts['ok']} passed, {counts['FAILED']} failed, {counts['SKIPPED']} skipped")
    return 1 if counts["FAILED"] or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
