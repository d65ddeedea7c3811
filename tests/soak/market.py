"""A market folder of a few names, written by hand-made numbers, and the ways to spoil a file of it."""

import datetime
import gzip
import math
import os
import pathlib
import random

HEADER = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size\n"
STRIKES = range(70, 131, 2)
ROWS = 2 * len(STRIKES)


def norm_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def rows(name, spot, day=datetime.date(2026, 11, 20), expiry=datetime.date(2026, 12, 18), vol=0.25):
    """Quotes of one expiry at 25 % volatility without carry."""
    out = []
    sd = vol * math.sqrt((expiry - day).days / 365)
    for strike in STRIKES:
        d1 = math.log(spot / strike) / sd + 0.5 * sd
        for right, phi in (("call", 1), ("put", -1)):
            value = phi * (spot * norm_cdf(phi * d1) - strike * norm_cdf(phi * (d1 - sd)))
            bid, ask = max(value - 0.03, 0), value + 0.03
            out.append(
                f"{day}T15:59:00-05:00,{name},{spot},{name},{expiry},{right},{strike},{bid:.2f},{ask:.2f},9,9\n"
            )
    return out


def write_whole(path, text):
    """Writes a file beside, then renames it."""
    beside = path.with_name("." + path.name + ".tmp")
    beside.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.replace(beside, path)


class Folder:
    """`steady` names are never touched, `spoiled` ones in every wrong way."""

    def __init__(self, path, steady=6, spoiled=4):
        self.path = pathlib.Path(path)
        self.chains = self.path / "chains"
        self.chains.mkdir(parents=True)
        self.steady = [f"ST{chr(65 + i)}" for i in range(steady)]
        self.spoiled = [f"SP{chr(65 + i)}" for i in range(spoiled)]
        self.spot = 100.0
        for name in self.steady + self.spoiled:
            self.restore(name)
        (self.path / "rates.csv").write_text("date,tenor_days,rate\n2026-11-20,365,0.0\n")

    def file(self, name):
        return self.chains / f"{name.lower()}.csv"

    def packed(self, name):
        return self.chains / f"{name.lower()}.csv.gz"

    def restore(self, name):
        self.packed(name).unlink(missing_ok=True)
        write_whole(self.file(name), HEADER + "".join(rows(name, self.spot)))

    def spoil(self, name, chance: random.Random):
        """Spoils a file in a random way; returns the way."""
        ways = [self.half, self.remove, self.garbage, self.cut_gzip, self.future, self.stray, self.empty, self.in_place]
        way = chance.choice(ways)
        way(name, chance)
        return way.__name__

    def half(self, name, chance):
        text = HEADER + "".join(rows(name, self.spot))
        self.file(name).write_text(text[: chance.randrange(len(text))])

    def remove(self, name, _):
        self.file(name).unlink(missing_ok=True)

    def garbage(self, name, chance):
        self.file(name).write_bytes(chance.randbytes(20_000))

    def cut_gzip(self, name, chance):
        packed = gzip.compress((HEADER + "".join(rows(name, self.spot))).encode())
        self.file(name).unlink(missing_ok=True)
        self.packed(name).write_bytes(packed[: chance.randrange(20, len(packed))])

    def future(self, name, _):
        ahead = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=700)
        late = f"{ahead:%Y-%m-%dT%H:%M:%SZ},{name},777,{name},2099-12-18,call,100,1,2,9,9\n"
        write_whole(self.file(name), HEADER + "".join(rows(name, self.spot)) + late)

    def stray(self, name, chance):
        lines = rows(name, self.spot)
        at = chance.randrange(len(lines))
        lines[at] = lines[at].replace(f",{name},", f',"{name},', 1)
        write_whole(self.file(name), HEADER + "".join(lines))

    def empty(self, name, _):
        self.file(name).write_text("")

    def in_place(self, name, chance):
        """Writes the file in place, in two halves with a pause."""
        self.spot = 95 + chance.randrange(40) / 4
        text = HEADER + "".join(rows(name, self.spot))
        with open(self.file(name), "w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            file.write(text[len(text) // 2 :])
