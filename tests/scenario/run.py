#!/usr/bin/env python3
"""Values scenarios of /l1/scenario again with QuantLib, from nothing but what /l1/explain prints, and compares.

usage: run.py [--greeksd PATH] [--points N]

The daemon serves the simulated market, its clock standing still. Contracts are American with dividends, over an ex-date
and to expiry, American without dividends, and European. Each point is a contract at another spot, volatility and moment.
QuantLib's finite differences with escrowed dividends (FdBlackScholesVanillaEngine) know days only; so time is stretched to
DAYS days, and rates and volatility shrink with it: a value depends on r·t, b·t and sigma²·t alone. European values are
Black's formula. Beside that: a scenario without a shock is the served row to the last digit, the profit until the next
trading day is the served decay, and the profit of a small move is explained by the served Greeks, order by order. Exercise
boundaries and costs of waiting of as many contracts are compared with Bermudan ones that wait as long, boundaries of puts
with the highest spot at which keeping is worth no more than exercise. Five trades of a desk go from a file of positions to
numbers: a covered call over an ex-date, a calendar over earnings, a condor of the day, an assigned weekly, a dear short. Makes a Python environment of its own in target/scenario-venv. Exit code 1 where something is further off than the tolerances.
"""
import argparse, datetime, math, pathlib, random, statistics, sys, tempfile, urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import environment
from daemon import PROGRAM, Daemon, knows_all

NOW = "2026-11-20T15:42:07.318-05:00"
NAMES = ["KO", "T", "JPM", "XOM", "AAPL", "AMZN", "BYND", "SPY", "SPX"]
SPOTS, VOLS = [-20, -10, -3, 0, 3, 10, 20], [-5, 0, 8]
DAYS = 20_000
STEPS, NODES = 500, 800
EXERCISES = 300  # dates of a contract that waits
STEP = 3 / 365  # years from NOW, a Friday, to the next session
TOLERANCE = 1e-4  # of the spot
COST_TOLERANCE = 5e-4  # of the spot: the served cost keeps the boundary where it is until the next session
BOUNDARY_TOLERANCE = 2e-3  # of the strike: nodes of the grid are about that far apart
EXCESS = 1e-5  # of the strike: more than that, keeping is worth more than exercise
DECAY_TOLERANCE = 1e-4  # of the spot: the served decay carries early exercise by a series


def parse(time):
    return datetime.datetime.fromisoformat(time)


def american(right, style, spot, strike, t, r, b, sigma, dividends, after=None):
    """Value by QuantLib; dividends are (years from now, amount). `after`: not exercised in so many years, the end included."""
    import QuantLib as ql

    shrink = t / (DAYS / 365)
    today = ql.Date(1, 1, 2020)
    ql.Settings.instance().evaluationDate = today
    days = ql.Actual365Fixed()
    kind = ql.Option.Call if right == "call" else ql.Option.Put
    if style == "european":
        carry = r - b
        escrowed = sum(d * math.exp(-carry * u) for u, d in dividends)
        forward = (spot - escrowed) * math.exp(carry * t)
        return ql.blackFormula(kind, strike, forward, sigma * math.sqrt(t), math.exp(-r * t))
    flat = lambda rate: ql.YieldTermStructureHandle(ql.FlatForward(today, rate * shrink, days))
    vol = ql.BlackConstantVol(today, ql.NullCalendar(), sigma * math.sqrt(shrink), days)
    process = ql.BlackScholesMertonProcess(
        ql.QuoteHandle(ql.SimpleQuote(spot)), flat(b), flat(r), ql.BlackVolTermStructureHandle(vol)
    )
    place = lambda u: min(DAYS, max(1, round(u / t * DAYS)))
    exercise = ql.AmericanExercise(today, today + DAYS)
    if after is not None:
        first = min(DAYS, place(after) + 1)
        days_of = {first + (DAYS - first) * i // EXERCISES for i in range(EXERCISES + 1)}
        days_of |= {place(u) - 1 for u, _ in dividends if place(u) - 1 > first}
        exercise = ql.BermudanExercise([today + day for day in sorted(days_of)])
    option = ql.VanillaOption(ql.PlainVanillaPayoff(kind, strike), exercise)
    paid = ql.DividendVector([today + place(u) for u, _ in dividends], [d for _, d in dividends])
    engine = ql.FdBlackScholesVanillaEngine(
        process, paid, STEPS, NODES, 0, ql.FdmSchemeDesc.Douglas(), False, -sys.float_info.max,
        ql.FdBlackScholesVanillaEngine.Escrowed,
    )
    option.setPricingEngine(engine)
    return option.NPV()


def expected(x, spot_move, vol_move, tau, borrow=0.0, sigma=None):
    """Value and state of a contract in a scenario, tau years ahead, from its explanation; `sigma` replaces its volatility."""
    c, right, style, strike = x["carry"], x["contract"]["right"], x["contract"]["ex_style"], x["contract"]["strike"]
    t, r, b = c["t_years"], c["rate"], c["borrow"] + borrow
    sigma = sigma or x["volatility"]["svc_vol"]
    sigma = max(sigma + vol_move / 100, min(0.01, sigma)) if vol_move else sigma
    moved = x["spot"]["used"] * (1 + spot_move / 100)
    dividends = [(d["t_years"], d["amount"]) for d in c["dividends"] if d["t_years"] <= t]
    at = lambda u: moved - sum(d for v, d in dividends if v <= u)
    left = lambda u: [(v - u, d) for v, d in dividends if v > u]
    phi = 1 if right == "call" else -1
    value = lambda u: american(right, style, at(u), strike, t - u, r, b, sigma, left(u))
    if style == "american" and right == "call":
        for u, d in dividends:
            if u > min(tau, t) + 2e-6:
                break
            pays = at(u) + d - strike
            floor = max((at(u) - sum(e * math.exp(-(r - b) * v) for v, e in left(u))) * math.exp(-b * (t - u)) - strike * math.exp(-r * (t - u)), 0)
            if pays > floor and pays >= (value(u) if u < t - 2e-6 else max(at(u) - strike, 0)):
                return pays, "exercised"
    if tau >= t - 2e-6:
        return max(phi * (at(t) - strike), 0.0), "settled"
    return value(tau), "open"


def ask(daemon, **parameters):
    return daemon.json("/l1/scenario?" + urllib.parse.urlencode(parameters, safe=",:"))


def drawn(daemon, name, n, rng):
    rows = daemon.json(f"/l1/greeks?underlying={name}&greeks=core,chain&max_days=420")
    rows = [r for r in rows if r.get("svc_theo") and 0.05 < abs(r["delta"]) < 0.97 and r["days"] > 12]
    return rng.sample(rows, min(n, len(rows)))


def check_points(daemon, wanted, rng):
    """Points against QuantLib; the number of failures."""
    failed, worst, states, n = 0, (0, ""), {}, 0
    per_name = max(2, wanted // (6 * len(NAMES)) + 1)
    for name in NAMES:
        for row in drawn(daemon, name, per_name, rng):
            osym = row["osym"].replace(" ", "")
            x = daemon.json(f"/l1/explain?osym={osym}")
            now, settles = parse(NOW), parse(NOW) + datetime.timedelta(days=x["carry"]["t_years"] * 365)
            moments = {"+7d", row["expiry"]}
            for d in x["carry"]["dividends"][:2]:
                after = now + datetime.timedelta(days=d["t_years"] * 365 + 1.5)
                if after < settles:
                    moments.add(after.strftime("%Y-%m-%dT%H:%M"))
            found = ask(daemon, osym=osym, spot=",".join(map(str, SPOTS)), vol=",".join(map(str, VOLS)), at="now," + ",".join(sorted(moments)))
            moved = [p for p in found if p["spot_move"] or p["vol_move"] or parse(p["at"]) > now + datetime.timedelta(minutes=1)]
            # moves around the strike are where early exercise matters
            for p in rng.sample(moved, min(6, len(moved))):
                if n >= wanted:
                    break
                # times are shown by the second
                at = parse(p["at"])
                tau = max(0.0, (at - now).total_seconds() / 86400 / 365) if at > now + datetime.timedelta(minutes=1) else 0.0
                value, state = expected(x, p["spot_move"], p["vol_move"], tau)
                n += 1
                states[(row["ex_style"], state)] = states.get((row["ex_style"], state), 0) + 1
                off = abs(value - p["value"]) / x["spot"]["used"] if p["value"] is not None else math.inf
                what = f"{osym} spot {p['spot_move']:+} % vol {p['vol_move']:+} at {p['at']} ({p['state']})"
                # a tie between exercise and keeping may fall either way
                is_tie = {state, p["state"]} == {"open", "exercised"} and off <= TOLERANCE
                if off > TOLERANCE or (state != p["state"] and not is_tie):
                    failed += 1
                    print(f"FAIL {what}: {p['value']}, QuantLib {value:.6f} ({state})")
                worst = max(worst, (off, f"{what}: {p['value']}, QuantLib {value:.6f}"))
    print(f"ok   {n} points, {failed} beyond {TOLERANCE:.0e} of the spot; worst {worst[0]:.1e}: {worst[1]}")
    print("     " + ", ".join(f"{style} {state}: {count}" for (style, state), count in sorted(states.items())))
    return failed + (n < min(wanted, 100))


def waiting(right, spot, strike, t, r, b, sigma, dividends, boundary, step=STEP):
    """Cost of waiting by QuantLib, and of a call before an ex-date what exercise at its boundary gains; None: not defined."""
    phi = 1 if right == "call" else -1
    paid = [(u, d) for u, d in dividends if 0 < u <= t]
    until, gain = min(step, t), None
    if right == "call" and paid:
        until = paid[0][0]
        # without a boundary, exercise gains nothing however deep the call
        place, now = boundary or 4 * strike, sum(d for u, d in paid if u - until < 1e-9)
        left = [(u - until, d) for u, d in paid if u - until >= 1e-9]
        kept = american(right, "american", place - now, strike, t - until, r, b, sigma, left) if t > until else max(place - now - strike, 0)
        gain = place - strike - kept
    style, after = ("american", until) if until < t else ("european", None)
    payoff = phi * (spot - strike)
    cost = payoff - american(right, style, spot, strike, t, r, b, sigma, paid, after) if payoff > 0 else None
    return cost, gain


def put_boundary(strike, t, r, b, sigma, dividends):
    """The highest spot at which a put is worth its payoff, by QuantLib."""
    low, high = 0.01 * strike, strike
    for _ in range(14):
        spot = (low + high) / 2
        gains = american("put", "american", spot, strike, t, r, b, sigma, dividends) - (strike - spot) > EXCESS * strike
        low, high = (low, spot) if gains else (spot, high)
    # above the boundary the excess begins with the square of the distance, by smooth pasting
    return low - sigma * low * math.sqrt(EXCESS * strike / max(r * strike - b * low, 1e-3 * strike))


def check_exercise(daemon, wanted, rng):
    """Exercise boundaries and costs of waiting against QuantLib; the number of failures."""
    failed, n, worst = 0, [0, 0, 0], [(0, "")] * 3
    for name in NAMES:
        rows = daemon.json(f"/l1/greeks?underlying={name}&greeks=core,chain,exercise&max_days=420")
        rows = [r for r in rows if r["ex_style"] == "american" and r["cost_of_waiting"] is not None and r["days"] > 12]
        for row in rng.sample(rows, min(wanted // (len(NAMES) - 1) + 1, len(rows))):
            x = daemon.json(f"/l1/explain?osym={row['osym'].replace(' ', '')}")
            c, contract = x["carry"], x["contract"]
            dividends = [(d["t_years"], d["amount"]) for d in c["dividends"]]
            terms = (contract["strike"], c["t_years"], c["rate"], c["borrow"], x["volatility"]["svc_vol"], dividends)
            cost, gain = waiting(contract["right"], x["spot"]["used"], *terms, row["exercise_boundary"])
            gain_off = None if gain is None else abs(gain) if row["exercise_boundary"] else max(gain, 0)
            place = put_boundary(*terms) if contract["right"] == "put" and row["exercise_boundary"] else None
            place_off = place and abs(place - row["exercise_boundary"]) * x["spot"]["used"] / contract["strike"]
            for i, off in enumerate([abs(cost - row["cost_of_waiting"]), gain_off, place_off]):
                if off is None:
                    continue
                name = ("cost", "gain at the boundary", "boundary")[i]
                off, what = off / x["spot"]["used"], f"{row['osym']} {name}: {row}, QuantLib {cost} {gain} {place}"
                n[i] += 1
                worst[i] = max(worst[i], (off, what))
                if off > (COST_TOLERANCE, TOLERANCE, BOUNDARY_TOLERANCE)[i]:
                    failed += 1
                    print(f"FAIL {what}")
    kinds = ["costs of waiting, of the spot", "exercise boundaries before an ex-date, of the spot", "boundaries of puts, of the strike"]
    for i, what in enumerate(kinds):
        print(f"ok   {n[i]} {what}: worst {worst[i][0]:.1e}: {worst[i][1]}")
    return failed + (n[0] < min(wanted, 100)) + (n[2] < min(wanted // 4, 30))


def check_trades(daemon, book):
    """Trades of a desk from a file of positions to numbers, by QuantLib and by hand; the number of failures."""
    at = lambda name, days, strike=0, right="call": min(
        (r for r in daemon.json(f"/l1/greeks?underlying={name}&right={right}&greeks=core,chain") if r["svc_theo"] is not None and r["days"] > days),
        key=lambda r: (r["days"], abs(r["strike"] - r["und_price"] * (1 + strike))))
    near, far = at("NVDA", 13), at("NVDA", 27)
    condor = [at("SPX", 0, strike, right) for strike, right in [(-0.01, "put"), (-0.004, "put"), (0.004, "call"), (0.01, "call")]]
    weekly, later, call, put = at("NVDA", 6, 0.05), at("NVDA", 13, 0.05), at("T", 27, -0.1), at("BYND", 27, 0, "put")
    held = [("covered", "T", 200, 26.4), ("covered", call, -2, 2.6), ("calendar", near, -5, 5.3), ("calendar", far, 5, 7.4),
            *[("condor", leg, by, price) for leg, by, price in zip(condor, [1, -1, -1, 1], [0.4, 2.1, 2.3, 0.5])],
            ("weekly", weekly, -10, 1.1), ("weekly", later, 10, 2.2), ("short", "BYND", -1000, 7.3), ("short", put, -10, 0.95)]
    lines = [f"{account},{',' + of if isinstance(of, str) else of['osym'].replace(' ', '') + ','},{by},{price}" for account, of, by, price in held]
    book.write_text("\n".join(["account,osym,symbol,quantity,price", *lines]) + "\n")
    daemon.wait(lambda _: sum(row["positions"] for row in daemon.json("/l1/positions?by=total")) == len(held))
    explained = {of["osym"]: daemon.json(f"/l1/explain?osym={of['osym'].replace(' ', '')}") for _, of, _, _ in held if not isinstance(of, str)}
    now, failed = parse(NOW), []

    def holds(is_so, what):
        failed.extend([] if is_so else [what])
        print(f"{'ok  ' if is_so else 'FAIL'} {what}")

    def rows(account, moment, **more):
        """The rows of an account, each valued by QuantLib, the profit counted from its price."""
        borrow, states = more.get("borrow", 0) / 100, []
        found, worst = ask(daemon, positions=account, at=moment, since="entry", **more), 0
        tau = (parse(found[0]["at"]) - now).total_seconds() / 86400 / 365
        mine = [(of, by, price) for name, of, by, price in held if name == account]
        for of, by, price in mine:
            osym = None if isinstance(of, str) else of["osym"]
            row = next(r for r in found if r["osym"] == osym)
            if osym is None:
                # what was paid on the way stays with the shares
                value, state = daemon.json(f"/l1/greeks?underlying={of}&center=atm&right=call&max_days=40")[0]["und_price"] * (1 + more.get("spot", 0) / 100), "open"
            else:
                value, state = expected(explained[osym], more.get("spot", 0), 0, tau, borrow, row["vol"])
            many = by * (1 if osym is None else 100)
            worst = max(worst, abs(row["value"] / many - value) / row["spot"], abs(row["profit"] - row["value"] + many * price) / abs(many))
            states.append((row["state"], state))
        is_so = worst < TOLERANCE and all(served == own for served, own in states)
        holds(is_so, f"{account} at {moment} {more}: {', '.join(own for _, own in states)}; values and profits by hand to {worst:.0e} of the spot")
        return found

    total = lambda found, field: sum(row[field] for row in found)
    # a covered call over the ex-date: called away the day before, the dividend with it
    after = (now + datetime.timedelta(days=explained[call["osym"]]["carry"]["dividends"][0]["t_years"] * 365 + 1.5)).strftime("%Y-%m-%dT%H:%M")
    called = rows("covered", after, spot=5)
    holds(abs(total(called, "dollar_delta")) < 0.01, "covered call: shares and assignment leave no delta")
    holds(abs(total(called, "profit") - 200 * (call["strike"] - 26.4 + 2.6)) < 0.05, "covered call: the most that it gains")
    rows("covered", after, spot=-15)
    # a calendar over earnings: nothing of the event is left the day after, the sold leg loses it first
    event = {"event": "NVDA:2026-12-02:amc:5%", "clock": "variance"}
    calm = {"event": "NVDA:2026-12-02:amc:0%", "clock": "variance"}
    for spot in (-5, 0):
        passed, without = (rows("calendar", "2026-12-03T12:00", spot=spot, **what) for what in (event, calm))
        for row, plain in zip(passed, without):
            x = explained[row["osym"]]
            left = 1 - 0.05**2 / (x["volatility"]["svc_vol"] ** 2 * x["carry"]["t_years"])
            holds(abs((row["vol"] / plain["vol"]) ** 2 - left) < 2e-3, f"calendar: {row['osym']} has {left:.1%} of its variance after the event")
    # a condor of the day: by Black until the close, then cash
    rows("condor", "2026-11-20T15:55", spot=0.2)
    settled = rows("condor", "2026-11-20T16:30", spot=2)
    width, credit = condor[3]["strike"] - condor[2]["strike"], 2.1 + 2.3 - 0.4 - 0.5
    holds(abs(total(settled, "profit") - 100 * (credit - width)) < 0.01 and all(row["dollar_delta"] == 0 for row in settled), "condor: beyond a wing the width less the credit, in cash")
    whole = daemon.json("/l1/strategy?positions=condor&underlying=SPX")
    evens = [condor[1]["strike"] - credit, condor[2]["strike"] + credit]
    holds(whole["strategy"] == "iron condor" and all(abs(a - b) < 1e-6 for a, b in zip(whole["breakevens"], evens)), f"condor: breakevens {whole['breakevens']}")
    holds(abs(whole["largest_gain"] - 100 * credit) < 1e-6, "condor: gains its credit")
    # a short weekly that ends in the money is assigned: short shares beside the next week's calls
    assigned = rows("weekly", "2026-11-27T13:00", spot=10)
    delta = {row["osym"]: row["dollar_delta"] for row in assigned}
    holds(abs(delta[weekly["osym"]] + 1000 * assigned[0]["spot"]) < 0.01, "weekly: assigned to 1,000 short shares")
    holds(-0.35 * 1000 * assigned[0]["spot"] < total(assigned, "dollar_delta") < 0, "weekly: the net risk is short")
    cash = ask(daemon, positions="weekly", at="2026-11-27T13:00", spot=10, delivery="cash")
    holds(total(cash, "dollar_delta") > 0.6e3 * assigned[0]["spot"], "weekly: without delivery the other leg alone")
    # short and dear to borrow: the put's value, at its borrow rate and at another, and epsilon by differences
    for more in ({"spot": 0}, {"spot": -20}, {"spot": 10, "borrow": 10}):
        rows("short", "+7d", **more)
    total_of = lambda **more: total(ask(daemon, positions="short", **more), "value")
    slope = (total_of(borrow=0.5) - total_of(borrow=-0.5)) / 1
    epsilon = daemon.json("/l1/positions?account=short&by=total")[0]["epsilon"]
    holds(explained[put["osym"]]["carry"]["borrow"] > 0.5 and abs(slope / epsilon - 1) < 0.01, f"short: {slope:.2f} for a point of borrow, served {epsilon:.2f}")
    return len(failed)


def check_zero(daemon):
    """A scenario without a shock is the served row, digit by digit."""
    failed = n = 0
    for name in NAMES:
        served = {}
        for line in daemon.get(f"/l1/greeks?underlying={name}&format=csv").split("\r\n")[1:]:
            cells = line.split(",")
            if len(cells) > 10:
                # delta gamma vega theta decay rho svc_theo svc_vol
                _, delta, gamma, vega, theta, _, rho, value, vol = cells[7:16]
                served[cells[5]] = (vol, value, delta, gamma, vega, theta, rho)
        for line in daemon.get(f"/l1/scenario?underlying={name}&format=csv").split("\r\n")[1:]:
            cells = line.split(",")
            if len(cells) > 10 and cells[10] == "open":
                vol, value, profit, *greeks = cells[11:]
                n += 1
                if (vol, value, *greeks) != served[cells[5]] or float(profit) != 0:
                    failed += 1
                    print(f"FAIL {cells[5]}: {cells[11:]}, served {served[cells[5]]}")
    print(f"ok   {n} scenarios without a shock, {failed} differ from the served row")
    return failed + (n < 1000)


def check_decay(daemon):
    """The profit until the same time on the next trading day is the served decay."""
    worst, n = (0, ""), 0
    for name in NAMES:
        rows = {r["osym"]: r for r in daemon.json(f"/l1/greeks?underlying={name}")}
        for p in ask(daemon, underlying=name, at="next", greeks="none"):
            row = rows[p["osym"]]
            if p["profit"] is not None and row["decay"] is not None and p["state"] == "open":
                n += 1
                worst = max(worst, (abs(p["profit"] - row["decay"]) / row["und_price"], p["osym"]))
    failed = worst[0] > DECAY_TOLERANCE
    print(f"{'FAIL' if failed else 'ok  '} {n} profits until the next trading day: off the served decay by {worst[0]:.1e} of the spot at most ({worst[1]})")
    return failed


def check_explained(daemon):
    """The profit of the next day's spot, volatility and time against sums of served Greeks, order by order."""
    left = {0: [], 1: [], 2: [], 3: []}
    for name in NAMES:
        rows = {r["osym"]: r for r in daemon.json(f"/l1/greeks?underlying={name}&greeks=all&min_days=20&max_days=400")}
        for p in ask(daemon, underlying=name, min_days=20, max_days=400, spot=1, vol=1, at="+1d", greeks="none"):
            r = rows[p["osym"]]
            if p["state"] != "open" or r["delta"] is None or not 0.1 < abs(r["delta"]) < 0.9 or r["divs"]:
                continue
            s, v, t = 0.01 * r["und_price"], 0.01, 1 / 365
            first = r["delta"] * s + r["vega"] + r["theta"]
            second = r["gamma"] * s * s / 2 + r["volga"] * v * v / 2 + r["vanna"] * s * v + r["charm"] * s * t + r["veta"] * v * t
            third = r["speed"] * s**3 / 6 + r["ultima"] * v**3 / 6 + r["zomma"] * s * s * v / 2 + r["color"] * s * s * t / 2
            for order, explained in enumerate([0, first, first + second, first + second + third]):
                left[order].append(abs(p["profit"] - explained) / r["und_price"])
    medians = [statistics.median(left[order]) for order in range(4)]
    failed = not (medians[0] > 5 * medians[1] > 5 * medians[2] and medians[3] <= medians[2])
    print(f"{'FAIL' if failed else 'ok  '} {len(left[0])} profits of +1 % spot, +1 vol, +1 day: of the spot, median {medians[0]:.1e}; left after first order {medians[1]:.1e}, second {medians[2]:.1e}, third {medians[3]:.1e}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=PROGRAM, type=pathlib.Path)
    parser.add_argument("--points", default=300, type=int)
    wanted = parser.parse_args()
    environment.enter("scenario-venv", pathlib.Path(__file__).with_name("requirements.txt"))
    with tempfile.TemporaryDirectory(prefix="greeksd-trades-") as folder:
        book = pathlib.Path(folder) / "book.csv"
        book.write_text("account,osym,symbol,quantity,price\n")
        still = ["--feed", "sim", "--now", NOW, "--log-level", "error", "--positions", book]
        sys.exit(1 if trial(wanted, still, book) else 0)


def trial(wanted, still, book):
    with Daemon(wanted.greeksd, *still, until=knows_all) as daemon:
        failed = check_trades(daemon, book)
        failed += check_zero(daemon) + check_decay(daemon) + check_explained(daemon)
        failed += check_points(daemon, wanted.points, random.Random(27))
        return failed + check_exercise(daemon, wanted.points, random.Random(28))


if __name__ == "__main__":
    main()
