"""Values without rates of one's own, against the same with the recorded rates.

    python3 benches/rates.py --data REALDATA [--greeksd PATH] [--names N]

REALDATA has chains/, market335/, dividends.csv and rates.csv. For each feed (a folder, lines that are pushed, a stand-in for
Cboe, batch), with and without an index, it prints the source of the curve, the share of values inside their own two-sided
quotes by days to expiry, and the share of contracts with |delta| above 1.001; beside each the same with the recorded rates.
Daemons are its own, on the loopback, and end with it.
"""

import argparse
import csv
import gzip
import http.server
import io
import json
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

DAY, LATER = "2023-09-14", "2026-08-19"
BUCKETS = [(0, 60), (60, 400), (400, 1e9)]


def read(path, quoted):
    """The rows of a recorded chain, all quoted at one instant of the session."""
    with gzip.open(path, "rt") as file:
        return [{**row, "quote_time": quoted} for row in csv.DictReader(file)]


def osi(row):
    _, year, month, day = row["expiry"], *row["expiry"].split("-")
    strike = round(float(row["strike"]) * 1000)
    return f"{row['root']}{year[2:]}{month}{day}{row['right'][0].upper()}{strike:08}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def folder(at, rows, given):
    """A market folder; `given`: the recorded rates and dividends are in it."""
    (at / "chains").mkdir(parents=True)
    columns = ["quote_time", "underlying", "und_price", "root", "expiry", "right", "strike", "bid", "ask"]
    for name in sorted({row["underlying"] for row in rows}):
        with gzip.open(at / "chains" / f"{name}.csv.gz", "wt", compresslevel=1) as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(row for row in rows if row["underlying"] == name)
    for name, text in given.items():
        (at / name).write_text(text)


def lines(rows):
    """The same as lines to push."""
    prices = {row["underlying"]: row for row in rows}
    for name, row in prices.items():
        yield {"symbol": name, "price": float(row["und_price"]), "time": row["quote_time"]}
    for row in rows:
        sides = {side: float(row[side]) or None for side in ("bid", "ask") if row[side]}
        yield {"root": row["root"], "underlying": row["underlying"], "expiry": row["expiry"], "right": row["right"],
               "strike": float(row["strike"]), "time": row["quote_time"], **sides}


def given_lines(given):
    for row in csv.DictReader(io.StringIO(given.get("rates.csv", ""))):
        yield {"date": row["date"], "tenor_days": float(row["tenor_days"]), "rate": float(row["rate"])}
    for row in csv.DictReader(io.StringIO(given.get("dividends.csv", ""))):
        yield {"symbol": row["underlying"], "ex_date": row["ex_date"], "amount": float(row["amount"])}


def cboe(rows):
    """A server of Cboe's documents."""
    documents = {}
    for name in {row["underlying"] for row in rows}:
        own = [row for row in rows if row["underlying"] == name]
        spelt = f"_{name}" if name == "SPX" else name
        options = [{"option": osi(row), "bid": float(row["bid"] or 0), "ask": float(row["ask"] or 0), "bid_size": 1.0,
                    "ask_size": 1.0, "last_trade_time": None} for row in own]
        documents[spelt] = json.dumps({"timestamp": f"{DAY} 20:14:00", "symbol": spelt, "data": {
            "symbol": spelt, "current_price": float(own[0]["und_price"]), "options": options}}).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = documents.get(self.path.rsplit("/", 1)[-1].removesuffix(".json"))
            self.send_response(200 if body else 403)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Daemon:
    def __init__(self, program, feeds, more=()):
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        said = [word for feed in feeds for word in ("--feed", feed)]
        self.child = subprocess.Popen([program, "serve", *said, "--listen", f"127.0.0.1:{port}", "--show-quotes", *more,
                                       "--state-dir", "/dev/null/state", "--log-level", "error"])

    def get(self, target):
        with urllib.request.urlopen(self.base + target, timeout=120) as answer:
            return answer.read().decode()

    def wait(self, names):
        """Until every name is there at full accuracy and stays; what the daemon says of its rates."""
        still, before = 0, None
        for _ in range(6000):
            try:
                health = json.loads(self.get("/health"))
            except OSError:
                health = {"underlyings": -1}
            number = health.get("snapshot_number")
            whole = health["underlyings"] == names and not health["pending"] and not health["rough"]
            still = still + 1 if whole and number == before else 0
            before = number
            if still >= 30:
                return health["rates"]
            time.sleep(0.1)
        raise SystemExit(f"no whole market: {health}")

    def rows(self, names):
        for name in names:
            text = self.get(f"/l1/greeks?underlying={name}&greeks=core,chain,quote&format=csv")
            yield from csv.DictReader(io.StringIO(text))

    def end(self):
        self.child.terminate()
        self.child.wait()


def figures(rows):
    """Shares in percent: inside by bucket, and |delta| above 1.001; and how many contracts those are."""
    inside, seen, steep, valued = [0] * 3, [0] * 3, 0, 0
    for row in rows:
        if not row["svc_theo"] or not row["delta"]:
            continue
        valued += 1
        steep += abs(float(row["delta"])) > 1.001
        if row["bid"] and row["ask"] and 0 < float(row["bid"]) < float(row["ask"]):
            days = float(row["days"])
            at = next(i for i, (low, high) in enumerate(BUCKETS) if low <= days < high)
            seen[at] += 1
            inside[at] += float(row["bid"]) <= float(row["svc_theo"]) <= float(row["ask"])
    return [100 * i / s if s else float("nan") for i, s in zip(inside, seen)], 100 * steep / max(valued, 1), steep


def show(feed, market, source, out, given):
    cells = " ".join(f"{a:6.2f}/{b:6.2f}" for a, b in zip(out[0], given[0]))
    print(f"{feed:<6} {market:<28} {source:<22} {cells}   {out[1]:6.3f}/{given[1]:6.3f}  {out[2]:>6}/{given[2]}", flush=True)


def served(program, kind, rows, given, now):
    """Source of the rates and figures of one feed."""
    names = sorted({row["underlying"] for row in rows})
    with tempfile.TemporaryDirectory() as at:
        at, more, stand_in = pathlib.Path(at), ["--now", now], None
        if kind == "dir":
            folder(at / "m", rows, given)
            feeds, more = [f"dir:{at / 'm'}"], []
        elif kind == "tcp":
            port = free_port()
            feeds = [f"tcp:{port}"]
        else:
            stand_in = cboe(rows)
            (at / "given").mkdir()
            for name, text in given.items():
                (at / "given" / name).write_text(text)
            feeds = [f"cboe:{','.join(names)}@http://127.0.0.1:{stand_in.server_port}"]
            feeds += [f"dir:{at / 'given'}"] if given else []
        daemon = Daemon(program, feeds, more)
        try:
            if kind == "tcp":
                text = "".join(json.dumps(line) + "\n" for line in [*given_lines(given), *lines(rows)])
                for _ in range(100):
                    try:
                        with socket.create_connection(("127.0.0.1", port)) as to:
                            to.sendall(text.encode())
                        break
                    except ConnectionRefusedError:
                        time.sleep(0.1)
            rates = daemon.wait(len(names))
            return f"{rates['source']} {rates['as_of']}", figures(daemon.rows(names))
        finally:
            daemon.end()
            if stand_in:
                stand_in.shutdown()


def batch(program, rows, given):
    with tempfile.TemporaryDirectory() as at:
        at = pathlib.Path(at)
        folder(at / "m", rows, given)
        subprocess.run([program, "batch", at / "m", "-o", at / "out", "--format", "csv", "--quotes", "--quiet"], check=True)
        out = []
        for path in (at / "out").rglob("greeks.csv*"):
            opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
            with opened as file:
                out += csv.DictReader(file)
        return "(see its report)", figures(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--greeksd", default="target/release/greeksd")
    parser.add_argument("--names", type=int, default=40, help="of market335")
    parser.add_argument("--feeds", default="dir,tcp,cboe,batch")
    args = parser.parse_args()
    quoted, later = f"{DAY}T15:59:00-04:00", f"{LATER}T16:00:00-04:00"
    spx, spy = (read(args.data / f"chains/{name}_{DAY}.csv.gz", quoted) for name in ("spx", "spy"))
    close = args.data / f"market335/{LATER}_close"
    files = sorted((close / "chains").glob("*.csv.gz"))
    files = files[:: max(1, len(files) // args.names)]
    many = [row for path in files for row in read(path, later)]
    rates, dividends = (args.data / name for name in ("rates.csv", "dividends.csv"))
    known = {"dividends.csv": dividends.read_text()}
    closes = {"dividends.csv": (close / "dividends.csv").read_text()}
    markets = [
        ("SPX, SPY of 2023-09-14", spx + spy, known, {**known, "rates.csv": rates.read_text()}, quoted),
        ("SPY of 2023-09-14", spy, known, {**known, "rates.csv": rates.read_text()}, quoted),
        (f"{len(files)} names of {LATER}", many, closes, {**closes, "rates.csv": (close / "rates.csv").read_text()}, later),
    ]
    print("feed   market                       rates without any      inside up to 60, 400, more days: without/with"
          "          |delta| > 1.001, %        count")
    for kind in args.feeds.split(","):
        for market, rows, without, given, now in markets:
            if kind == "cboe" and now != quoted:
                continue  # one day is enough for the stand-in
            run = (lambda g: batch(args.greeksd, rows, g)) if kind == "batch" else (
                lambda g: served(args.greeksd, kind, rows, g, now))
            source, out = run(without)
            _, told = run(given)
            show(kind, market, source, out, told)


if __name__ == "__main__":
    main()
