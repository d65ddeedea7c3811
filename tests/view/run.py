#!/usr/bin/env python3
"""Drives `greeksd view` in tmux at three sizes, as a person would: pages, search, watch list, columns, copying, another
size of the window, a daemon that goes and comes back, and every way to end, after which the terminal must be as it was.

Python 3.11 with its standard library, tmux 3.2 or later, a release build. Talks to loopback only and ends only what it
started. Exit code 1 where something failed. `--screens DIR` keeps what was seen, as text.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from daemon import PROGRAM, Daemon

SIZES = [(80, 24), (120, 40), (200, 60)]
NOW = "2026-11-20T15:42:00-05:00"
PATIENCE = 60.0
PAGES = {"1": "Strike", "2": "Smile", "3": "Term structure", "4": "Watch", "5": "Exposure of all expiries"}


class Failed(Exception):
    """An expected text did not appear; shows the screen."""


class Window:
    """A shell in a separate tmux server."""

    def __init__(self, server: str, name: str, size: tuple[int, int], folder: Path):
        self.server, self.name, self.folder = server, name, folder
        self.marks = 0
        shell = f"env -i PATH=/usr/bin:/bin HOME={folder} LANG=C.UTF-8 TERM=tmux-256color PS1='$ ' sh"
        self.tmux("new-session", "-d", "-s", name, "-x", str(size[0]), "-y", str(size[1]), shell)
        self.tmux("set-option", "-g", "escape-time", "0")
        self.tmux("set-option", "-s", "set-clipboard", "on")
        self.expect("$")

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self.server, "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def keys(self, *keys: str):
        for key in keys:
            self.tmux("send-keys", "-t", self.name, key)
            time.sleep(0.05)

    def type(self, text: str):
        self.tmux("send-keys", "-t", self.name, "-l", text)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", self.name)

    def expect(self, *words: str, without: str | None = None) -> str:
        until = time.monotonic() + PATIENCE
        while True:
            screen = self.screen()
            if all(word in screen for word in words) and (without is None or without not in screen):
                return screen
            if time.monotonic() > until:
                raise Failed(f"{self.name}: not all of {words} (without {without!r}) in\n{screen}")
            time.sleep(0.1)

    def terminal(self) -> str:
        """Terminal state that a program could leave behind: line modes, the alternate screen, a hidden cursor."""
        self.marks += 1
        kept = self.folder / f"{self.name}.{self.marks}"
        self.type(f"stty -a > {kept}; echo mark-''{self.marks}-made\n")
        # what was typed has quotation marks, what is printed has none
        self.expect(f"mark-{self.marks}-made")
        flags = self.tmux("display-message", "-p", "-t", self.name, "#{alternate_on} #{cursor_flag} #{mouse_any_flag}")
        return kept.read_text() + flags

    def view(self, program: Path, *arguments: str):
        """Starts the viewer in the shell, which stays its parent."""
        self.type(f"{program} view {' '.join(arguments)}; echo ended-$?\n")

    def viewer(self) -> int:
        """The process of the viewer."""
        shell = self.tmux("display-message", "-p", "-t", self.name, "#{pane_pid}").strip()
        children = subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True).stdout.split()
        if len(children) != 1:
            raise Failed(f"{self.name}: {len(children)} children of the shell")
        return int(children[0])


def numbers_are_there(screen: str):
    """Rows of a chain: two deltas on either side of a strike."""
    if not re.search(r"0\.\d{3}.*\s\d{3,5}(\.5)?\s.*-0\.\d{3}", screen):
        raise Failed(f"no row of a chain in\n{screen}")


def look_around(window: Window, daemon: Daemon, program: Path, keep):
    """Walks through all pages and keys, except ways to end."""
    window.view(program, "spy", "--url", daemon.base, "--color", "never", "--watch", "QQQ")
    keep("chain", window.expect("SPY", "SIMULATED", "spot", "forward", "Calls", "Puts", "Expiry"))
    numbers_are_there(window.screen())
    for key, word in PAGES.items():
        window.keys(key)
        keep(word.split()[0].lower(), window.expect(word))
    window.keys("t")
    keep("exposure_of_one", window.expect("Exposure of SPY ", "no exposure: no open interest"))
    window.keys("3", "t")
    keep("variance", window.expect("by variance days", "Skew%", "Move%", "event"))
    window.keys("t", "4", "w")
    window.expect("SPY is on the watch list")
    window.keys("Up", "Enter")
    window.expect(" QQQ ", "QQQ Mon", "[1 chain]")
    window.keys("/")
    window.type("aap")
    keep("search", window.expect("Symbol: AAP", "AAPL"))
    window.keys("Enter")
    window.expect(" AAPL  ", " AAPL Mon 2026-11-30 ")
    window.keys("Right", "Down", "Enter")
    keep("strike", window.expect("Lambda", "Ultima", "Esc close"))
    window.keys("Escape")
    window.expect("Calls", without="Ultima")
    window.keys("g", "g")
    keep("extra", window.expect("Calls (extra", "BidVol%"))
    window.keys("g", "g", "g", "g", "g")
    window.expect("serves no quotes")
    window.keys("g", "c")
    keep("columns", window.expect("[x] Value"))
    window.keys("Escape")
    window.keys("?")
    keep("keys", window.expect("follow the strike at the money", "Ctrl-C"))
    window.keys("Escape")
    window.expect("Calls", without="follow the strike")


def past_days(window: Window, program: Path, folder: Path):
    """Recorded days: from a moment, by snapshot, and back to the latest."""
    days = folder / "days"
    if not days.exists():
        made = [program, "generate", days, "--names", "SPY", "--days", "2", "--every", "1h", "--from", "2026-08-18"]
        subprocess.run([str(word) for word in made], check=True, capture_output=True)
    with Daemon(program, "--feed", f"history:{days}") as daemon:
        times = [daemon.json(f"/l1/snapshots?underlying=SPY&as_of={day}")["times"] for day in ["2026-08-18", "2026-08-19"]]
        mark = lambda time: f"PAST {time[:10]} {time[11:19]}"
        window.view(program, "SPY", "--url", daemon.base, "--color", "never", "--as-of", times[0][-2][:16])
        window.expect("SPY", mark(times[0][-2]), "Calls", "spot")
        numbers_are_there(window.screen())
        window.keys("]")
        window.expect(mark(times[0][-1]), "Calls")
        window.keys("]")
        window.expect(mark(times[1][0]), "Calls")
        window.keys("[")
        window.expect(mark(times[0][-1]))
        window.keys("n")
        window.expect("Calls", without="PAST")
        window.keys("q")
        window.expect("ended-0")
        window.view(program, "SPY", "--url", daemon.base, "--color", "never", "--as-of", "2026-08-17")
        window.expect("PAST 2026-08-17", "available days: 2026-08-18 to 2026-08-19")
        window.keys("q")
        window.expect("ended-0")


def copies(window: Window, daemon: Daemon, program: Path):
    """Copies to the terminal's clipboard; prints the copy at the end."""
    window.keys("a", "y")
    window.expect("copied as CSV")
    clipboard = window.tmux("show-buffer")
    lines = clipboard.splitlines()
    if len(lines) != 3 or not lines[0].startswith("underlying,root,expiry,strike,right,osym"):
        raise Failed(f"no rows on the clipboard: {clipboard}")
    window.keys("q")
    window.expect("ended-0", "AAPL")
    printed = window.tmux("capture-pane", "-p", "-J", "-S", "-50", "-t", window.name)
    if lines[1] not in printed.replace("\n", "") and lines[1] not in printed:
        raise Failed(f"not printed at the end: {lines[1]}\n{printed}")


def resizes(window: Window, daemon: Daemon, program: Path, size: tuple[int, int]):
    """Shrinks the running terminal, and restores its size."""
    window.view(program, "SPX", "--url", daemon.base)
    window.expect("SPX", "Calls", "spot")
    for width, height, word in [(60, 16, "Calls"), (40, 10, "needs 60 x 16"), (*size, "Calls")]:
        window.tmux("resize-window", "-t", window.name, "-x", str(width), "-y", str(height))
        window.expect(word)
    numbers_are_there(window.expect("spot", "forward"))


def goes_and_comes_back(window: Window, daemon: Daemon):
    daemon.stop()
    window.expect("offline for", "cannot connect", "Calls")
    window.keys("Down", "2")
    window.expect("Smile")
    daemon.start()
    window.expect("Smile", without="offline for")
    window.keys("1")
    window.expect("Calls", "spot")


def ends(window: Window, url: str, program: Path, before: str):
    """Ends the viewer in every way; the terminal and its text are restored each time."""
    for name, end, code in [
        ("q", lambda: window.keys("q"), 0),
        ("Ctrl-C", lambda: window.keys("C-c"), 0),
        ("SIGTERM", lambda: os.kill(window.viewer(), signal.SIGTERM), 0),
        ("SIGINT", lambda: os.kill(window.viewer(), signal.SIGINT), 0),
    ]:
        window.type("clear; echo what-stood-''here\n")
        window.expect("what-stood-here", without="echo")
        window.view(program, "SPY", "--url", url)
        window.expect("SPY", "Calls")
        end()
        window.expect("what-stood-here", f"ended-{code}", without="Calls")
        if (after := window.terminal()) != before:
            raise Failed(f"after {name} the terminal is another\n{before}\n{after}")


def panics(window: Window, test: str | None, before: str):
    """A panic of the drawing thread is reported on a restored terminal."""
    if test is None:
        print("without --test-program: panics were not looked at")
        return
    window.type(f"clear; {test} --ignored --nocapture view::tests::a_panic_leaves_the_terminal; echo ended-$?\n")
    window.expect("panicked at", "a fault while drawing", "ended-")
    if (after := window.terminal()) != before:
        raise Failed(f"after a panic the terminal is another\n{before}\n{after}")


def by_itself(window: Window, program: Path, before: str):
    """Without a daemon: the service is within, with quotes, and ends with it."""
    window.type("clear\n")
    window.view(program, "SPY", "--feed", "sim", "--", "--now", NOW)
    window.expect("SPY", "rates simulated", "spot", "Calls")
    window.keys("g", "g", "g", "g", "g", "g", "g")
    window.expect("Calls (quote", "Bid", "Ask")
    window.keys("q")
    window.expect("ended-0")
    if (after := window.terminal()) != before:
        raise Failed(f"after its own service the terminal is another\n{before}\n{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--test-program", help="the test binary of the library, for what a panic leaves behind")
    parser.add_argument("--screens", type=Path, help="a folder for what was seen")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    server = f"greeksd-view-{os.getpid()}"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        # a market whose clock stands still
        daemon = Daemon(program, "--feed", "sim", "--now", NOW, until=lambda health: health["status"] == "ok")
        try:
            daemon.start()
            for size in SIZES:
                name = f"{size[0]}x{size[1]}"

                def keep(what: str, screen: str):
                    if arguments.screens:
                        arguments.screens.mkdir(parents=True, exist_ok=True)
                        (arguments.screens / f"{what}_{name}.txt").write_text(screen)

                window = Window(server, name, size, Path(folder))
                try:
                    before = window.terminal()
                    look_around(window, daemon, program, keep)
                    copies(window, daemon, program)
                    resizes(window, daemon, program, size)
                    goes_and_comes_back(window, daemon)
                    window.keys("q")
                    window.expect("ended-0")
                    ends(window, daemon.base, program, before)
                    panics(window, arguments.test_program, before)
                    by_itself(window, program, before)
                    past_days(window, program, Path(folder))
                    print(f"{name}: well")
                except Failed as why:
                    failed += 1
                    print(f"{name}: {why}", file=sys.stderr)
        finally:
            daemon.stop()
            subprocess.run(["tmux", "-L", server, "kill-server"], capture_output=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
