"""The vendors' JavaScript clients: a script prints what its client shows, this program compares it.

`check_node.py BASE_URL SYMBOLS SCRIPT`, in the environment that `run.py` made of the folder `node`.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import native

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "target" / "clients-venv" / "node"
GREEKS = ("delta", "gamma", "theta", "vega", "svc_vol")
FIELDS = {"alpaca": (*GREEKS, "rho"), "massive": (*GREEKS, "svc_theo"), "intrinio": GREEKS}
WITHOUT_ADJUSTED = {"intrinio"}  # this client cannot ask for adjusted roots, which its layer hides unless asked
NODE_OLDEST = 20


def require_node():
    """Skips the check where JavaScript cannot run."""
    if not shutil.which("node"):
        raise native.Skip("node is not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE_OLDEST:
        raise native.Skip(f"node {version} is older than {NODE_OLDEST}")


def contracts_of(base, script, symbols):
    """The contracts of the client, by symbol."""
    command = ["node", "--require", "./guard.cjs", f"{script}.mjs", base, *symbols]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    native.require(done.returncode == 0, " ".join(done.stderr.split())[:400])
    shown = {symbol: [] for symbol in symbols}
    for line in done.stdout.splitlines():
        contract = json.loads(line)
        shown[contract["symbol"]].append(native.seen_by_osi(contract["osi"], contract["values"]))
    return shown


def check(daemon):
    require_node()
    script = sys.argv[3]
    shown = contracts_of(daemon.base, script, daemon.symbols)
    contracts = 0
    for symbol, seen in shown.items():
        rows = [row for row in daemon.chain(symbol) if script not in WITHOUT_ADJUSTED or not native.is_adjusted(row)]
        native.same_chain(rows, seen, FIELDS[script], native.FOUR_OR_NULL)
        contracts += len(rows)
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
