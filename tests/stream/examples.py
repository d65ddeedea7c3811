#!/usr/bin/env python3
"""Runs the examples of the WebSocket against a daemon: those of docs/stream.md in JavaScript and Python, and the one in Rust.

usage: examples.py [--greeksd PATH]

Node runs the one for browsers, where it has a WebSocket. The one in Rust is run where `cargo build --example socket` has made it.
"""
import pathlib, re, shutil, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environment
from daemon import ROOT, Daemon


def trial(greeksd, folder):
    text = (ROOT / "docs" / "stream.md").read_text().partition("## Over a WebSocket")[2].partition("\n## ")[0]
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", text, re.S))
    with Daemon(greeksd, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00") as daemon:
        rows = len(daemon.json("/l1/greeks?underlying=SPY&max_days=10"))
        address = f"127.0.0.1:{daemon.port}"
        here = {language: block.replace("127.0.0.1:2112", address) for language, block in blocks.items()}
        said = subprocess.run([sys.executable, "-c", here["python"]], capture_output=True, text=True, timeout=60, check=True).stdout
        counts = [int(line.split()[2]) for line in said.splitlines()]
        assert sum(counts) == rows and "image" in said, said
        print(f"ok   Python: {rows} rows in {len(counts)} tables")
        node = shutil.which("node")
        flags = [["--experimental-websocket"], []]
        for flag in flags if node else []:
            asked = [node, *flag, "-e", here["js"]]
            ran = subprocess.run(asked, capture_output=True, text=True, timeout=60)
            if ran.returncode == 0:
                assert ran.stdout.startswith("subscribed") and sum(int(line.split()[1]) for line in ran.stdout.splitlines()) == rows, ran.stdout
                print("ok   JavaScript")
                break
        else:
            print(f"     JavaScript was not run: {'Node has no WebSocket' if node else 'there is no Node'}")
        example = greeksd.parent / "examples" / "socket"
        if example.exists():
            query = "underlying=SPY&max_days=10"
            said = subprocess.run([example, query, address], capture_output=True, text=True, timeout=60, check=True).stdout
            of = [int(line.split()[1]) for line in said.splitlines()]
            assert sum(of) == rows + len(daemon.json("/l1/greeks?underlying=KO&max_days=10")) and '"subscribed"' in said, said
            print("ok   Rust")
        else:
            print("     Rust was not run: cargo build --release --example socket")


if __name__ == "__main__":
    environment.run(trial, "stream-venv", HERE / "requirements.txt", __doc__)
