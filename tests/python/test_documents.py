"""The code of the docstrings and of docs/python.md runs; recipes on objects of the clients that they are for."""
import datetime, doctest, importlib, os, pathlib, pkgutil, re, shutil, socket, subprocess, sys, tempfile, types, unittest, unittest.mock

import polars as pl

import greeksd
import market

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python (run|recipe \w+)\n(.*?)^```", re.M | re.S)
BLOCKS = BLOCK.findall((ROOT / "docs" / "python.md").read_text())


def recipe(name):
    """The names that a recipe defines."""
    (code,) = [code for kind, code in BLOCKS if kind == f"recipe {name}"]
    namespace = {}
    exec(compile(code, f"docs/python.md, {name}", "exec"), namespace)
    return namespace


class Pusher:
    """Stands in for a pusher, and keeps the lines that would be sent, or the rows of one table."""

    def __init__(self):
        self.lines = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self._out = greeksd.push("127.0.0.1:{}".format(self._server.getsockname()[1]))
        self._peer, _ = self._server.accept()

    def __enter__(self):
        return self._out

    def __exit__(self, *_):
        import json

        from greeksd._native import native

        self._out.close()
        with self._peer, self._server, self._peer.makefile("rb") as file:
            sent = file.read()
        if sent.startswith(b"\xff"):
            table = greeksd.Table(native.frame_of_ipc(sent))
            self.lines = [table[row] for row in range(len(table))]
        else:
            self.lines = [json.loads(line) for line in sent.splitlines()]


class Docstrings(unittest.TestCase):
    def test_examples(self):
        attempted = 0
        for module in pkgutil.iter_modules(greeksd.__path__, "greeksd."):
            if module.name.split(".")[-1] in ("__main__", "_child", "_greeksd"):
                continue
            result = doctest.testmod(importlib.import_module(module.name))
            self.assertEqual(result.failed, 0, module.name)
            attempted += result.attempted
        self.assertGreater(attempted, 12)

    def test_everything_public_has_one(self):
        for name in greeksd.__all__:
            thing = getattr(greeksd, name)
            self.assertTrue(thing.__doc__, name)
            for member, function in vars(thing).items() if isinstance(thing, type) else ():
                if isinstance(function, types.FunctionType) and not member.startswith("_"):
                    self.assertTrue(function.__doc__, f"{name}.{member}")


class Page(unittest.TestCase):
    def run_block(self, number, home, **names):
        blocks = [code for kind, code in BLOCKS if kind == "run"]
        before = os.getcwd()
        os.chdir(home)
        try:
            exec(compile(blocks[number], f"docs/python.md, block {number}", "exec"), namespace := dict(names))
        finally:
            os.chdir(before)
        return namespace

    def test_the_first_example(self):
        names = self.run_block(0, market.MARKET)
        self.assertEqual(names["frame"].shape[1], 47)

    def test_the_backtest(self):
        (code,) = [code for kind, code in BLOCKS if kind == "run" and "trades" in code]
        self.assertLessEqual(len([line for line in code.splitlines() if line.strip()]), 21)
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            market.program("generate", home / "history", "--names", "SPX", "--days", 4, "--quiet")
            trades = self.run_block(1, home)["result"]
        self.assertEqual(len(trades), 3)
        self.assertTrue(trades["total"].is_finite().all())
        # sold at the bid and bought at the ask an hour later on the same day: at most the spread is lost
        self.assertLess(trades["total"].abs().max(), 200.0)

    def test_a_daemon(self):
        self.assertGreater(len(self.run_block(2, ".")["near"]), 10)

    def test_pushing(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        quotes = {"osym": ["KO    270115C00060000"], "bid": [6.4], "ask": [6.5], "time": [now]}
        with tempfile.TemporaryDirectory() as folder:
            self.run_block(3, ".", port=port, folder=folder, now=now, quotes=quotes)
        self.assertEqual(len([kind for kind, _ in BLOCKS if kind == "run"]), 4)


class Recipes(unittest.TestCase):
    KO = "KO    270115C00062500"

    def test_ib_async(self):
        import ib_async

        push_tickers = recipe("ib_async")["push_tickers"]
        time = datetime.datetime(2026, 11, 20, 18, 0, tzinfo=datetime.timezone.utc)
        option = ib_async.Option("KO", "20270115", 62.5, "C", "SMART", localSymbol=self.KO)

        def ticker(contract, **ticks):
            # a new one is empty, and ticks fill it
            made = ib_async.Ticker(contract=contract, time=time)
            vars(made).update(ticks)
            return made

        tickers = [
            ticker(option, bid=4.1, bidSize=12.0, ask=4.2, askSize=7.0),
            ticker(option, bid=-1.0, bidSize=0.0, ask=4.2, askSize=7.0),
            ticker(ib_async.Stock("KO", "SMART", "USD"), bid=61.8, ask=61.9, last=61.84),
            ticker(ib_async.Stock("F", "SMART", "USD")),
        ]
        ib = ib_async.IB()
        with (pusher := Pusher()) as out:
            # the client's own event, as ib.run() raises it
            ib.pendingTickersEvent += lambda tickers: push_tickers(out, tickers)
            ib.pendingTickersEvent.emit(tickers)
        at = "2026-11-20T18:00:00+00:00"
        self.assertEqual(pusher.lines, [
            {"osym": self.KO, "bid": 4.1, "ask": 4.2, "bid_size": 12, "ask_size": 7, "time": at},
            {"osym": self.KO, "bid": None, "ask": 4.2, "bid_size": 0, "ask_size": 7, "time": at},
            {"symbol": "KO", "price": 61.84, "time": at},
        ])

    def test_schwab(self):
        import asyncio, json

        from schwab.streaming import StreamClient

        push_options = recipe("schwab")["push_options"]
        client = StreamClient(unittest.mock.Mock())

        def frame(**fields):
            content = {"key": self.KO, **fields}
            return json.dumps({"data": [{"service": "LEVELONE_OPTIONS", "timestamp": 1, "command": "SUBS", "content": [content]}]})

        frames = [
            frame(**{"2": 4.1, "3": 4.2, "16": 12, "17": 7, "38": 1795197600000}),
            frame(**{"3": 4.25, "38": 1795197601000, "22": "KO", "35": 61.84}),
        ]

        class Wire:
            async def recv(self):
                return frames.pop(0)

        client._socket = Wire()
        with (pusher := Pusher()) as out:
            client.add_level_one_option_handler(lambda message: push_options(out, message))

            async def listen():
                while frames:
                    await client.handle_message()

            asyncio.run(listen())
        first = {"osym": self.KO, "bid": 4.1, "ask": 4.2, "bid_size": 12, "ask_size": 7, "time": 1795197600000}
        self.assertEqual(pusher.lines, [
            first, {**first, "ask": 4.25, "time": 1795197601000}, {"symbol": "KO", "price": 61.84, "time": 1795197601000},
        ])

    def test_tastytrade(self):
        from tastytrade.dxfeed import Quote

        push_quote = recipe("tastytrade")["push_quote"]
        fields = list(Quote.model_fields)
        values = {"event_time": 0, "sequence": 0, "time_nano_part": 0, "bid_time": 1795197600000, "ask_time": 1795197601000,
                  "bid_exchange_code": "Q", "ask_exchange_code": "Q", "bid_size": 12, "ask_size": 7}
        rows = [(".KO270115C62.5", 4.1, 4.2), (".BRK/B270115P480", "NaN", 4.2), ("KO", 61.8, 61.9)]
        # as the client makes events of the arrays on its wire
        wire = [value for symbol, bid, ask in rows for value in
                [{**values, "event_symbol": symbol, "bid_price": bid, "ask_price": ask}[name] for name in fields]]
        with (pusher := Pusher()) as out:
            with unittest.mock.patch("tastytrade.dxfeed.event.logger", create=True):
                quotes = Quote.from_stream(wire)
            [push_quote(out, quote) for quote in quotes]
        option = {"expiry": "2027-01-15", "bid_size": 12, "ask_size": 7, "time": 1795197601000}
        self.assertEqual(pusher.lines[0], {"root": "KO", "strike": 62.5, "right": "C", "bid": 4.1, "ask": 4.2, **option})
        self.assertEqual(pusher.lines[-1], {"symbol": "KO", "price": 61.85, "time": 1795197601000})

    def test_databento(self):
        import databento as db

        push_record = recipe("databento")["push_record"]
        mapping = db.SymbolMappingMsg(
            publisher_id=30, instrument_id=7, ts_event=0, stype_in=db.SType.PARENT, stype_in_symbol="KO.OPT", stype_out=db.SType.RAW_SYMBOL,
            stype_out_symbol=self.KO, start_ts=0, end_ts=0,
        )
        level = db.ConsolidatedBidAskPair(bid_px=4_100_000_000, ask_px=db.UNDEF_PRICE, bid_sz=12, ask_sz=0)
        record = lambda instrument: db.CBBOMsg(
            rtype=db.RType.from_schema(db.Schema.CBBO_1S), publisher_id=30, instrument_id=instrument, ts_event=0, price=0, size=0,
            side=db.Side.NONE, ts_recv=1795197600123456789, levels=level,
        )
        with (pusher := Pusher()) as out:
            [push_record(out, each) for each in (record(7), mapping, record(7), record(8))]
        self.assertEqual(pusher.lines, [
            {"osym": self.KO, "bid": 4.1, "ask": None, "bid_size": 12, "ask_size": 0, "time": 1795197600123456789},
        ])

    def test_thetadata(self):
        push_chain = recipe("thetadata")["push_chain"]
        with (pusher := Pusher()) as out:
            push_chain(out, self.theta_frame())
        self.assertEqual(pusher.lines, [{
            "root": "KO", "expiry": "2027-01-15", "strike": 62.5, "right": "call", "bid": 4.1, "ask": 4.2, "bid_size": 12, "ask_size": 7,
            "time": datetime.datetime(2026, 11, 20, 18, 0, tzinfo=datetime.timezone.utc),
        }])

    def theta_frame(self):
        """A chain as the client makes it of an answer; where the client cannot be installed, with the types that it gives."""
        at = datetime.datetime(2026, 11, 20, 18, 0, tzinfo=datetime.timezone.utc)
        if sys.version_info < (3, 12):
            from zoneinfo import ZoneInfo

            return pl.DataFrame({"symbol": ["KO"], "expiration": ["2027-01-15"], "strike": [62.5], "right": ["CALL"],
                                 "timestamp": [at.astimezone(ZoneInfo("America/New_York"))], "bid_size": [12], "bid": [4.1],
                                 "ask_size": [7], "ask": [4.2]})
        import thetadata
        from thetadata._proto.endpoints_pb2 import CompressionAlgo, DataTable, ResponseData, TimeZone

        table = DataTable()
        table.headers.extend(["symbol", "expiration", "strike", "right", "timestamp", "bid_size", "bid", "ask_size", "ask"])
        row = table.data_table.add()
        for name in table.headers:
            value = row.values.add()
            if name in ("symbol", "expiration", "right"):
                value.text = {"symbol": "KO", "expiration": "2027-01-15", "right": "CALL"}[name]
            elif name == "timestamp":
                value.timestamp.epoch_ms, value.timestamp.zone = int(at.timestamp() * 1000), TimeZone.NEW_YORK
            elif name in ("bid_size", "ask_size"):
                value.number = {"bid_size": 12, "ask_size": 7}[name]
            else:
                # hundredths: the client's table of price types says so
                value.price.type, value.price.value = 8, {"strike": 6250, "bid": 410, "ask": 420}[name]
        response = ResponseData()
        response.compression_description.algo = CompressionAlgo.NONE
        response.compressed_data = table.SerializeToString()
        client = thetadata.ThetaClient.__new__(thetadata.ThetaClient)
        client.dataframe_type = "polars"
        return client._convert_response_stream([response])


if __name__ == "__main__":
    unittest.main()
