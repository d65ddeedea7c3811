"""The numbers are those of the program, to the last bit."""
import csv, io, pathlib, tempfile, unittest

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

import greeksd
import market


class Batch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        home = pathlib.Path(cls.folder.name)
        cls.want = market.bits(market.batch_of(home / "plain"))
        cls.quotes = market.quotes()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def same(self, quotes, **more):
        known = {"dividends": market.DIVIDENDS, "rates": market.RATES, **more}
        got = greeksd.greeks(quotes, **known)
        self.assertEqual(got.counts["rows"], len(self.quotes))
        self.assertEqual(len(got.refused) + len(got.failed), 0)
        got = market.bits(got)
        self.assertEqual(list(got), list(self.want))
        for name, values in self.want.items():
            self.assertEqual(got[name], values, name)

    def test_pandas(self):
        self.same(self.quotes)

    def test_pandas_with_types_of_its_own(self):
        typed = self.quotes.copy()
        typed["quote_time"] = pd.to_datetime(typed.quote_time)
        typed["expiry"] = pd.to_datetime(typed.expiry)
        for name in ("underlying", "root", "right"):
            typed[name] = typed[name].astype("category")
        self.same(typed)
        typed["quote_time"] = typed.quote_time.dt.tz_convert("America/New_York").dt.as_unit("ns")
        self.same(typed)

    def test_polars(self):
        frame = pl.concat(pl.read_csv(path, schema_overrides={"bid": pl.Float64, "und_price": pl.Float64, "strike": pl.Float64}) for path in sorted((market.MARKET / "quotes").glob("*.csv")))
        self.same(frame)
        self.same(frame.with_columns(
            pl.col("quote_time").str.to_datetime(time_zone="UTC"), pl.col("expiry").str.to_date(),
            pl.col("underlying", "root", "right").cast(pl.Categorical),
        ))

    def test_duckdb(self):
        self.same(duckdb.read_csv(str(market.MARKET / "quotes" / "*.csv")))

    def test_pyarrow_in_many_pieces_and_any_order(self):
        table = pa.Table.from_pandas(self.quotes.sample(frac=1, random_state=7), preserve_index=False)
        self.same(pa.Table.from_batches(table.to_batches(max_chunksize=999)))

    def test_columns(self):
        self.same(self.quotes.to_dict(orient="list"))
        self.same({name: self.quotes[name].to_numpy() for name in self.quotes})

    def test_tables_of_reference_data(self):
        self.same(self.quotes, dividends=pd.read_csv(market.DIVIDENDS), rates=pl.read_csv(market.RATES))
        dated = pl.read_csv(market.DIVIDENDS, try_parse_dates=True)
        self.assertEqual(dated["ex_date"].dtype, pl.Date)
        self.same(self.quotes, dividends=dated, rates=pd.read_csv(market.RATES, parse_dates=["date"]))

    def test_threads(self):
        for threads in (1, 2, 5):
            self.same(self.quotes, threads=threads)

    def test_a_part_of_the_names_and_days(self):
        part = self.quotes[(self.quotes.underlying == "KO") & self.quotes.quote_time.str.startswith("2025-01-03")]
        got = market.bits(greeksd.greeks(part, dividends=market.DIVIDENDS, rates=market.RATES))
        places = [i for i, (name, at) in enumerate(zip(self.want["underlying"], self.want["quote_time"])) if name == "KO" and at.day == 3]
        self.assertEqual(len(places), len(part))
        for name, values in got.items():
            self.assertEqual(values, [self.want[name][i] for i in places], name)

    def test_other_recipes(self):
        for options, keywords in [
            (["--accuracy", "preliminary"], {"accuracy": "preliminary"}),
            (["--quotes"], {"show_quotes": True}),
            (["--rates", "zero"], {"rates": "zero"}),
        ]:
            with tempfile.TemporaryDirectory() as folder:
                want = market.bits(market.batch_of(pathlib.Path(folder) / "out", *options))
            got = greeksd.greeks(self.quotes, **{"dividends": market.DIVIDENDS, "rates": market.RATES, **keywords})
            self.assertEqual(market.bits(got), want, options)

    def test_rates_that_the_chains_imply(self):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            market.program("batch", *(market.MARKET / "quotes").glob("*.csv"), "-o", home / "out", "--reference-as-named", "--dividends", market.DIVIDENDS)
            import pyarrow.parquet as pq

            want = market.bits(pa.concat_tables([pq.read_table(path, partitioning=None) for path in sorted((home / "out").rglob("*.parquet"))]))
        got = greeksd.greeks(self.quotes, dividends=market.DIVIDENDS)
        self.assertEqual(market.bits(got), want)
        self.assertEqual(set(got.rates.to_dict()["source"]), {"implied"})

    def test_several_snapshots_of_a_vendors_layout(self):
        path = min((market.MARKET / "minutes" / "quotes").glob("*"))
        with tempfile.TemporaryDirectory() as folder:
            market.program("batch", path, "-o", pathlib.Path(folder) / "out", "--rates", "zero")
            import pyarrow.parquet as pq

            want = market.bits(pa.concat_tables([pq.read_table(p, partitioning=None) for p in pathlib.Path(folder).rglob("*.parquet")]))
        got = greeksd.greeks(pd.read_csv(path), dividends=market.MARKET / "minutes" / "dividends.csv", rates="zero")
        self.assertEqual(got.layout, "cboe-datashop-intervals")
        self.assertGreater(got.counts["snapshots"], 2)
        self.assertEqual(market.bits(got), want)

    def test_batch_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            report = greeksd.batch(market.MARKET / "quotes", out, metrics=pathlib.Path(folder) / "metrics")
            self.assertTrue(report.complete)
            own = {path.relative_to(out): path.read_bytes() for path in out.rglob("*.parquet")}
            again = greeksd.batch([market.MARKET / "quotes"], out)
            self.assertEqual(again.report["files"], {"written": 0, "there_already": len(own)})
            other = pathlib.Path(folder) / "other"
            market.program("batch", market.MARKET / "quotes", "-o", other, "--metrics", pathlib.Path(folder) / "others")
            self.assertEqual(own, {path.relative_to(other): path.read_bytes() for path in other.rglob("*.parquet")})
            self.assertEqual(len(own), 2)
            import pyarrow.parquet as pq

            for path in own:
                name = path.with_name("metrics.parquet")
                metrics, others = [pathlib.Path(folder) / half / name for half in ("metrics", "others")]
                self.assertEqual(metrics.read_bytes(), others.read_bytes())
                table = pq.read_table(metrics, partitioning=None)
                names = pq.read_table(out / path, partitioning=None, columns=["underlying"])["underlying"]
                self.assertEqual(table["underlying"].to_pylist(), list(dict.fromkeys(names.to_pylist())))
                self.assertEqual((table.column_names[0], table.column_names[-1]), ("underlying", "missing"))


class Price(unittest.TestCase):
    ROWS = [
        # style, right, s, k, t_years, r, b, sigma, divs
        ("european", "call", 100.0, 90.0, 0.5, 0.04, 0.01, 0.25, ""),
        ("american", "put", 100.0, 110.0, 0.75, 0.05, 0.0, 0.3, "0.2:1.1;0.45:1.1"),
        ("american", "call", 51.5, 50.0, 0.1, 0.03, 0.02, 0.6, "0.05:0.5"),
        ("American", "x", 100.0, 100.0, 1.0, 0.02, 0.0, 0.2, ""),
        ("american", "call", 100.0, 100.0, 1.0, 0.02, 0.0, -0.2, ""),
        ("european", "put", 1e-3, 100.0, 4.0, 0.02, 0.0, 0.2, "1:5"),
    ]
    HEADER = ["style", "right", "s", "k", "t_years", "r", "b", "sigma", "divs"]

    def own(self, rows, header, *arguments):
        text = io.StringIO()
        csv.writer(text).writerows([header, *rows])
        out = market.program("price", *arguments, "-", input=text.getvalue().encode())
        return list(csv.DictReader(io.StringIO(out.decode())))

    def compare(self, rows, header, *arguments, **keywords):
        want = self.own(rows, header, *arguments)
        columns = {name: list(values) for name, values in zip(header, zip(*rows))}
        for table in (columns, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
            got = greeksd.price(table, **keywords)
            frame = got.to_dict()
            self.assertEqual(list(frame), list(want[0]))
            for row, wanted in enumerate(want):
                for name, text in wanted.items():
                    value = frame[name][row]
                    if name in header or name == "error":
                        self.assertEqual(str(value or ""), str(text) if name == "error" else str(columns[name][row] or ""))
                    else:
                        self.assertEqual(value, float(text) if text else None, (row, name))
            self.assertEqual(len(got.refused), sum(1 for row in want if row["error"]))
        return got

    def test_values(self):
        got = self.compare(self.ROWS, self.HEADER)
        self.assertEqual(got.refused.to_dict()["row"], [3, 4, 5])
        self.assertEqual(got.refused.to_dict()["reason"][1], "sigma: not above 0: -0.2")
        self.compare(self.ROWS[:3], self.HEADER, "--accurate", accurate=True)

    def test_implied_volatilities(self):
        header = ["id", *self.HEADER[:7], "price", "divs"]
        rows = [(f"row {i}", *row[:7], price, row[8]) for i, (row, price) in enumerate(zip(self.ROWS[:3], (14.0, 13.5, 4.5)))]
        rows.append(("none", *self.ROWS[0][:7], 1000.0, ""))
        self.compare(rows, header)

    def test_dividends_may_be_pairs(self):
        one = {name: [value] for name, value in zip(self.HEADER, self.ROWS[1])}
        want = greeksd.price(one).to_dict()["price"]
        self.assertEqual(greeksd.price({**one, "divs": [[(0.2, 1.1), (0.45, 1.1)]]}).to_dict()["price"], want)

    def test_many_rows_on_threads(self):
        n = 3000
        table = {"style": ["european", "american"] * (n // 2), "right": ["call"] * n, "s": [100.0] * n, "k": [60.0 + i / 40 for i in range(n)],
                 "t_years": [0.5] * n, "r": [0.03] * n, "b": [0.0] * n, "sigma": [0.2] * n}
        one = greeksd.price(table, threads=1).to_dict()
        self.assertEqual(greeksd.price(table, threads=4).to_dict(), one)
        self.assertEqual(one["error"], [None] * n)


if __name__ == "__main__":
    unittest.main()
