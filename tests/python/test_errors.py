"""Errors name place and reason, and affect nothing else."""
import ctypes, datetime, os, pathlib, signal, struct, subprocess, sys, tempfile, unittest, warnings

import pandas as pd
import polars as pl
import pyarrow as pa

import greeksd
import market


class Streamed:
    """A table of which nothing is known but its stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__()


class CArray(ctypes.Structure):
    """An array of Arrow's interface for C."""


CArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.c_void_p),
    ("children", ctypes.POINTER(ctypes.POINTER(CArray))),
    *((name, ctypes.c_void_p) for name in ("dictionary", "release", "private_data")),
]


def uneven(rows, lengths):
    """A table of two columns that says so many rows, and of whose columns each says a length of its own."""
    array = pa.array([{"strike": 1.0, "bid": 2.0}] * 3)
    said = CArray()
    array._export_to_c(ctypes.addressof(said))
    said.length = rows
    for column, length in zip(said.children[: len(lengths)], lengths):
        column.contents.length = length
    return pa.chunked_array([pa.Array._import_from_c(ctypes.addressof(said), array.type)])


class Errors(unittest.TestCase):
    def refused(self, text, call, *arguments, kind=greeksd.InputError, **keywords):
        with self.assertRaises(kind) as caught:
            call(*arguments, **keywords)
        self.assertIn(text, str(caught.exception))
        return caught.exception

    def test_tables(self):
        frame = market.chain()
        refused = self.refused
        self.assertIsInstance(refused("<quotes>: 13 columns of no known layout; greeksd has `strike` (here `strik`?)", greeksd.greeks,
                                      frame.rename(columns={"strike": "strik"})), ValueError)
        refused("quotes: a path, where a table is needed; greeksd.batch reads files", greeksd.greeks, "quotes.csv")
        refused("quotes: list is no table", greeksd.greeks, [1, 2])
        refused("quotes: a lazy frame; call its collect() first", greeksd.greeks, pl.LazyFrame({"a": [1]}))
        refused("quotes: bid has 2 rows, and the columns before 3", greeksd.greeks, {"strike": [1, 2, 3], "bid": [1, 2]})
        columns = {name: list(frame[name][:2]) for name in frame}
        refused("quotes: bid, row 1: dict is no number, text, date or time", greeksd.greeks, {**columns, "bid": ["x", {}]})
        refused("quotes: bid: function is no array or list", greeksd.greeks, {**columns, "bid": refused.__func__})
        refused("rates: 4 is 400% a year; rates are decimal", greeksd.greeks, frame, rates=4)
        refused("`strike` is in the index: call reset_index()", greeksd.greeks, frame.set_index("strike"))
        refused("`expiry`, `strike` are in the index", greeksd.greeks, frame.set_index(["expiry", "strike"]))
        refused("at: not an instant such as", greeksd.greeks, frame, at="yesterday")
        refused("at: 2025-01-02 15:30:00 has no time zone", greeksd.greeks, frame, at=datetime.datetime(2025, 1, 2, 15, 30))
        refused("threads: not a whole number from 1: 0", greeksd.greeks, frame, threads=0)
        refused("invalid value 'rough!' for 'accuracy <ACCURACY>'\n  [possible values: preliminary, full]", greeksd.greeks, frame, accuracy="rough!")
        refused("zone: unknown time zone Mars/Base", greeksd.greeks, frame, zone="Mars/Base")
        refused("columns: no column is called 'stroke'", greeksd.greeks, frame, columns={"stroke": "K"})
        refused("<quotes>: the header has no column `K`", greeksd.greeks, frame, columns={"strike": "K"})
        refused("<dividends>: no column `ex_date`", greeksd.greeks, frame, dividends={"underlying": ["KO"], "amount": [1.0]})
        refused("absent.csv", greeksd.greeks, frame, rates="absent.csv")
        refused("<contracts>: the input has no column t_years, r, b, sigma", greeksd.price, {"style": [], "right": [], "s": [], "k": []})
        refused("contracts: a path", greeksd.price, pathlib.Path("rows.csv"))

    def test_a_stream_that_breaks_off(self):
        def broken():
            yield pa.record_batch({"strike": [1.0]})
            raise ValueError("the source is gone")

        reader = pa.RecordBatchReader.from_batches(pa.schema({"strike": pa.float64()}), broken())
        self.refused("the source is gone", greeksd.greeks, reader)

    def test_a_table_that_points_beyond_its_bytes(self):
        frame = market.chain()
        table = pa.Table.from_pandas(frame.drop(columns="right"), preserve_index=False)
        ends = [0, *(int(n) for n in frame["right"].str.len().cumsum())]
        whole = table.append_column("right", pa.array(frame["right"], pa.string()))
        written = pa.BufferOutputStream()
        with pa.ipc.new_stream(written, whole.schema) as to:
            to.write_table(whole)
        packed = lambda ends: struct.pack(f"<{len(ends)}i", *ends)
        for place in (2, len(frame)):
            spoiled = packed([*ends[:place], 1 << 30, *ends[place + 1 :]])
            file = written.getvalue().to_pybytes().replace(packed(ends), spoiled)
            damaged = pa.ipc.open_stream(file).read_all()
            self.refused("quotes: ", greeksd.greeks, damaged)
            self.refused("quotes: ", greeksd.greeks, pa.ipc.open_stream(file))
            columns = {name: frame[name] for name in frame}
            self.refused("quotes: right: ", greeksd.greeks, {**columns, "right": damaged["right"]})
            if place == 2:
                self.refused("quotes: ", greeksd.greeks, Streamed(damaged))
        places = pa.DictionaryArray.from_arrays(pa.array([9] * len(frame)), ["call", "put"], safe=False)
        self.refused("quotes: ", greeksd.greeks, Streamed(table.append_column("right", places)))

    def test_a_table_whose_columns_differ_in_length(self):
        for rows, lengths in ((3, (3, 2)), (1 << 40, (3, 3))):
            self.refused("quotes: ", greeksd.greeks, uneven(rows, lengths))
            self.refused("quotes: columns of unequal length", greeksd.greeks, Streamed(uneven(rows, lengths)))
        whole = greeksd.Table(Streamed(uneven(2, (3, 2))))
        self.assertEqual(whole.to_dict(), {"strike": [1.0, 1.0], "bid": [2.0, 2.0]})
        self.refused("quotes: ", greeksd.greeks, pa.chunked_array([[1.0, 2.0]]))
        for call in (greeksd.greeks, greeksd.price, greeksd.Table):
            self.refused("bid has 2 rows, and the columns before 3", call, {"strike": [1.0, 2.0, 3.0], "bid": [1.0, 2.0]})

    def test_what_ended_processes_left_goes(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TMPDIR": folder}
            code = "import greeksd, market, os, signal; greeksd.greeks(market.chain(), rates='zero', dividends=[]{})"
            killed = ", progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
            left = lambda: list(pathlib.Path(folder).glob("greeksd-*"))
            run = lambda more: subprocess.run([sys.executable, "-c", code.format(more)], env=environment).returncode
            self.assertEqual((run(killed), len(left())), (-signal.SIGKILL, 1))
            self.assertEqual((run(""), left()), (0, []))

    def test_refused_rows_come_back_with_their_places(self):
        frame = market.chain()
        want = greeksd.greeks(frame, rates="zero", dividends=[])
        bad = frame.iloc[:4].copy().astype({"bid": object})
        bad["bid"] = ["no number", 1.0, -3.0, 1.0]
        bad.loc[1, "right"] = "straddle"
        bad.loc[3, "expiry"] = "2024-01-19"
        together = pd.concat([bad, frame.astype({"bid": object})], ignore_index=True)
        got = greeksd.greeks(together, rates="zero", dividends={"underlying": ["KO"], "ex_date": ["soon"], "amount": [0.5]})
        refused = list(zip(*got.refused.to_dict().values()))
        self.assertEqual(refused, [
            ("<quotes>", 0, "bid", "not_a_number", 1, "no number"), ("<quotes>", 1, "right", "not_a_right", 1, "straddle"),
            ("<quotes>", 2, "bid", "out_of_range", 1, "-3.0"), ("<dividends>", 2, "ex_date", "not_a_date", 1, "soon"),
            ("<quotes>", None, None, "expired", 1, None),
        ])
        self.assertEqual(market.bits(got), market.bits(want))
        self.assertEqual(pa.table(want.refused).num_rows, 0)
        self.assertEqual(want.refused.columns, got.refused.columns)

    def test_every_refused_row_comes_back(self):
        frame = market.chain()
        together = pd.concat([frame.assign(strike=-1.0), frame], ignore_index=True)
        got = greeksd.greeks(together, rates="zero", dividends=[])
        self.assertEqual(got.refused.to_dict()["row"], list(range(len(frame))))

    def test_a_part_of_a_chain_is_no_chain(self):
        frame = market.quotes()
        spx = frame[(frame.underlying == "SPX") & frame.quote_time.str.startswith("2025-01-02")]
        first = spx.expiry.min()
        part = spx[(spx.expiry != first) | (spx.right == "call")]
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            got = greeksd.greeks(pd.concat([part, market.chain()]), rates="zero", dividends=[])
        self.assertEqual(got.failed.to_dict()["why"], ["one_sided"])
        self.assertEqual(set(got.to_dict()["underlying"]), {"KO"})
        self.assertIn("no Greeks of SPX on 2025-01-02", str(heard[0].message))
        self.assertTrue(issubclass(heard[0].category, greeksd.GreeksWarning))
        self.assertIn("test_errors.py", heard[0].filename)
        all_the_same = greeksd.greeks(part, rates="zero", dividends=[], allow_partial=True)
        self.assertEqual(len(all_the_same), len(part))

    def test_nothing_at_all_is_said(self):
        with self.assertWarnsRegex(greeksd.GreeksWarning, "no row could be used: 3 strike: out_of_range"):
            got = greeksd.greeks(market.chain().head(3).assign(strike=-1.0), rates="zero", dividends=[])
        self.assertEqual((len(got), got.to_pandas().shape[0], pa.table(got).num_rows), (0, 0, 0))

    def test_batch(self):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            self.refused("nowhere: no such file or folder", greeksd.batch, home / "nowhere", home / "out")
            self.refused("invalid value 'xlsx' for 'format", greeksd.batch, market.MARKET / "quotes", home / "out", format="xlsx")
            self.refused("is a feed, not files of quotes", greeksd.batch, "sim", home / "out")
            (home / "bad.csv").write_text("a,b\n1,2\n")
            (home / "rows.csv").write_text(
                (market.MARKET / "quotes" / "2025-01-02.csv").read_text().replace("SPX,", "S!X,", 2)
            )
            report = greeksd.batch(home, home / "out", rates="zero")
            self.assertFalse(report.complete)
            damaged = [file for file in report.report["files_read"] if "damage" in file]
            self.assertIn("bad.csv: 2 columns of no known layout", damaged[0]["damage"])
            self.assertEqual(report.refused.to_dict()["reason"], ["not_a_symbol", "not_a_symbol"])
            self.assertEqual(report.refused.to_dict()["row"], [2, 3])
            (home / "file").write_text("")
            self.refused("", greeksd.batch, market.MARKET / "quotes", home / "file", kind=greeksd.JobError)


if __name__ == "__main__":
    unittest.main()
