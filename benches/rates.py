"""Values without rates of one's own, against the same with the recorded rates.

    python3 benches/rates.py --data REALDATA [--greeksd PATH] [--names N]

REALDATA has chains/, market335/, dividends.csv and rates.csv. The feeds are a folder, pushed lines, stand-ins for
Cboe, ThetaData, Tradier, Massive and Alpaca, and batch. For each, with and without an index, it prints the source of
the curve, the share of values inside their own two-sided quotes by days to expiry, and the share of contracts with
|delta| above 1.001. Beside each stands the same with the recorded rates. Daemons and stand-ins are its own, on the
loopback, and end with it.
"""

import argparse
import csv
import datetime
import gzip
import http.server
import io
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

DAY, LATER = "2023-09-14", "2026-08-19"
# the stand-ins check no key, but the daemon does not start without one
KEYS = ["GREEKSD_TRADIER_TOKEN", "GREEKSD_MASSIVE_KEY", "GREEKSD_ALPACA_KEY_ID", "GREEKSD_ALPACA_SECRET_KEY"]
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


def by_expiry(rows):
    out = {}
    for row in rows:
        out.setdefault(row["expiry"], []).append(row)
    return out


def sides(row):
    """Bid and ask as vendors write them: a side that is not there is 0."""
    return float(row["bid"] or 0), float(row["ask"] or 0)


def pages(target, rows, most):
    """A page of at most so many rows, and where the next one begins (`cursor` or `page_token` in the address)."""
    words = urllib.parse.parse_qs(target.query)
    at = int((words.get("cursor") or words.get("page_token") or ["0"])[0])
    return rows[at:at + most], at + most if at + most < len(rows) else None


def cboe(target, market, _):
    """The whole chain of a name in one document."""
    name = target.path.rsplit("/", 1)[-1].removesuffix(".json").removeprefix("_")
    options = [{"option": osi(row), "bid": sides(row)[0], "ask": sides(row)[1], "bid_size": 1.0, "ask_size": 1.0,
                "last_trade_time": None} for row in market[name]]
    return {"timestamp": f"{DAY} 20:14:00", "symbol": name, "data": {
        "symbol": name, "current_price": float(market[name][0]["und_price"]), "options": options}}


def theta(target, market, at):
    """The terminal's csv: quotes of a root, the price of a stock, the price of an index."""
    root, eastern = urllib.parse.parse_qs(target.query)["symbol"][0], at.strftime("%Y-%m-%dT%H:%M:%S.000")
    if target.path == "/v3/option/snapshot/quote":
        out = ["timestamp,symbol,expiration,strike,right,"
               "bid_size,bid_exchange,bid,bid_condition,ask_size,ask_exchange,ask,ask_condition\n"]
        for row in (row for rows in market.values() for row in rows if row["root"] == root):
            bid, ask = sides(row)
            contract = f"{root},{row['expiry']},{float(row['strike']):.3f},{row['right'].upper()}"
            out.append(f"{eastern},{contract},1,5,{bid},50,1,5,{ask},50\n")
        return "".join(out) if len(out) > 1 else None
    price = market[root][0]["und_price"]
    if "index" in target.path:
        return f"timestamp,symbol,price\n{eastern},{root},{price}\n"
    return ("timestamp,symbol,bid_size,bid_exchange,bid,bid_condition,ask_size,ask_exchange,ask,ask_condition\n"
            f"{eastern},{root},1,1,{price},0,1,1,{price},0\n")


def tradier(target, market, at):
    """Expirations of a name, its price, the chain of one expiration."""
    words, millis = urllib.parse.parse_qs(target.query), int(at.timestamp() * 1000)
    name = (words.get("symbol") or words.get("symbols"))[0]
    if target.path.endswith("/expirations"):
        return {"expirations": {"date": sorted(by_expiry(market[name]))}}
    if target.path.endswith("/quotes"):
        price = float(market[name][0]["und_price"])
        return {"quotes": {"quote": {"symbol": name, "last": price, "trade_date": millis}}}
    return {"options": {"option": [
        {"symbol": osi(row), "underlying": name, "root_symbol": row["root"], "strike": float(row["strike"]),
         "option_type": row["right"], "expiration_date": row["expiry"], "contract_size": 100, "bid": sides(row)[0],
         "ask": sides(row)[1], "bidsize": 1, "asksize": 1, "bid_date": millis, "ask_date": millis}
        for row in by_expiry(market[name])[words["expiration"][0]]]}}


def massive(target, market, at):
    """A page of a name's contracts, each with the price of the underlying."""
    name, nanos = target.path.rsplit("/", 1)[-1].removeprefix("I:"), int(at.timestamp()) * 10**9
    rows, after = pages(target, market[name], 250)
    clock = {"last_updated": nanos, "timeframe": "REAL-TIME"}
    underlying = {"price": float(market[name][0]["und_price"]), "ticker": name, **clock}
    page = {"status": "OK", "results": [
        {"details": {"contract_type": row["right"], "expiration_date": row["expiry"], "shares_per_contract": 100,
                     "strike_price": float(row["strike"]), "ticker": f"O:{osi(row)}"},
         "last_quote": {"bid": sides(row)[0], "ask": sides(row)[1], "bid_size": 1, "ask_size": 1, **clock},
         "underlying_asset": underlying} for row in rows]}
    return {**page, "next_url": f"https://api.massive.com{target.path}?cursor={after}"} if after else page


def alpaca(target, market, at):
    """A page of a name's contracts, or the price of a stock. Indices have none, as at the vendor."""
    time = at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    if target.path.startswith("/v2/stocks"):
        name = urllib.parse.parse_qs(target.query)["symbols"][0]
        price = float(market[name][0]["und_price"])
        return {} if name == "SPX" else {name: {"latestTrade": {"t": time, "p": price}}}
    rows, after = pages(target, market[target.path.rsplit("/", 1)[-1]], 1000)
    quotes = {osi(row): {"bp": sides(row)[0], "ap": sides(row)[1], "bs": 1, "as": 1, "t": time} for row in rows}
    return {"next_page_token": after and str(after),
            "snapshots": {symbol: {"latestQuote": quote} for symbol, quote in quotes.items()}}


# what answers, and the feed's options: each name is asked for once, without a pause; dividends are the folder's alone
VENDORS = {
    "cboe": (cboe, ""),
    "theta": (theta, ",every=86400"),
    "tradier": (tradier, ",every=86400,rate=6000,dividends=no"),
    "massive": (massive, ",every=86400,rate=6000,dividends=no"),
    "alpaca": (alpaca, ",every=86400,rate=6000"),
}


def stand_in_of(kind, rows):
    """A server that answers as a vendor does, with all quotes of one instant; 404 for a name that it does not have."""
    market, at = {}, datetime.datetime.fromisoformat(rows[0]["quote_time"])
    for row in rows:
        market.setdefault(row["underlying"], []).append(row)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            try:
                answer = VENDORS[kind][0](urllib.parse.urlsplit(self.path), market, at)
            except KeyError:
                answer = None
            body = b"" if answer is None else (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

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
                                       "--state-dir", "/dev/null/state", "--log-level", "error"],
                                      stdout=subprocess.DEVNULL,
                                      env={**os.environ, **{name: "a-key-of-nobody" for name in KEYS}})

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
            whole = health["underlyings"] == names and not health["pending"] and not health["preliminary"]
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
    steep = f"{out[1]:6.3f}/{given[1]:6.3f}  {out[2]:>6}/{given[2]}"
    print(f"{feed:<7} {market:<28} {source:<22} {cells}   {steep}", flush=True)


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
            stand_in = stand_in_of(kind, rows)
            (at / "given").mkdir()
            for name, text in given.items():
                (at / "given" / name).write_text(text)
            feeds = [f"{kind}:{','.join(names)}{VENDORS[kind][1]}@http://127.0.0.1:{stand_in.server_port}"]
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
        subprocess.run([program, "batch", at / "m", "-o", at / "out", "--format", "csv", "--quotes", "--quiet"],
                       check=True)
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
    parser.add_argument("--feeds", default="dir,tcp,cboe,theta,tradier,massive,alpaca,batch")
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
        (f"{len(files)} names of {LATER}", many, closes, {**closes, "rates.csv": (close / "rates.csv").read_text()},
         later),
    ]
    print("feed    market                       rates without any      inside up to 60, 400, more days: without/with"
          "          |delta| > 1.001, %        count")
    for kind in args.feeds.split(","):
        for market, rows, without, given, now in markets:
            if kind in VENDORS and now != quoted:
                continue  # one day is enough for the stand-ins
            run = (lambda g: batch(args.greeksd, rows, g)) if kind == "batch" else (
                lambda g: served(args.greeksd, kind, rows, g, now))
            source, out = run(without)
            _, told = run(given)
            show(kind, market, source, out, told)


if __name__ == "__main__":
    main()
