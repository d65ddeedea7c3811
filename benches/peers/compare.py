"""Prices the contracts of `{class}.csv` with every peer, and reports time, disagreement and who is right.

    python compare.py FOLDER        FOLDER as examples/peers.rs fills it; writes report.md and curve.csv there

Errors are relative to the greater of the value and 5 % of its size at the money (price: of the spot); delta and
dual_delta absolute. `curve.csv` has time and price error by program, for the plots.
"""

import csv
import importlib.util
import pathlib
import sys

import european
from rows import COLUMNS, Answer, by_column, errors, median_and_worst, read

HERE = pathlib.Path(__file__).resolve().parent
SHOWN = ("price", "delta", "gamma", "vega", "theta", "rho", "vanna", "charm", "speed", "color", "ultima")
# differences above these are looked into: what the engine promises, by class
LIMITS = {"price": 1e-4, "delta": 2e-4, "dual_delta": 2e-4, "gamma": 3e-3, "vega": 3e-3, "theta": 3e-3}
SECOND, THIRD = 5e-3, 2e-2
THIRD_ORDER = {"speed", "zomma", "color", "ultima", "vera"}
EUROPEAN_LIMIT = 1e-9
CLASSES = {
    "european": "European, continuous yield of 1.3 %",
    "american": "American, no dividends, borrow 0.5 %",
    "dividends": "American, quarterly dividends, borrow 0.3 %",
}
# strikes of an expiry
CHAIN = 60
# QuantLib's grids, steps and points; and the part of the contracts whose price error must not exceed the limit
GRIDS = ((50, 100), (100, 200), (200, 400), (400, 800), (600, 1200))
MOST = 0.9


def has(module):
    return importlib.util.find_spec(module) is not None


def limit(klass, name):
    if klass == "european":
        return EUROPEAN_LIMIT
    return LIMITS.get(name, THIRD if name in THIRD_ORDER else SECOND)


def committed_reference(klass):
    with open(HERE / "reference.csv", newline="") as file:
        return by_column([row for row in csv.DictReader(file) if row["class"] == klass])


def our_times(folder):
    with open(folder / "times.csv", newline="") as file:
        return {(row["class"], row["who"], row["what"]): float(row["ns"]) for row in csv.DictReader(file)}


def shown(ns):
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def table(heads, lines):
    def row(cells):
        return "| " + " | ".join(cells) + " |"

    return [row(heads), "|" + "---|" * len(heads), *map(row, lines), ""]


def european_peers(folder, contracts, times):
    answers = []
    for (klass, who, gives), ns in times.items():
        if klass == "european" and who != "greeksd":
            values = read(folder / f"european_{who}.csv")[1]
            kept = {"price": values["price"]} if gives == "price" else values
            answers.append(Answer(f"crate {who}", gives, ns, kept))
    for module, ask in (("fast_vollib", european.fast_vollib), ("pyvolr", european.pyvolr)):
        if has(module):
            answers += ask(contracts)
        else:
            print(f"skipped {module}: not installed")
    answers += european.black_calculator_cpp(folder)
    return answers + (european.black_calculator(contracts) if has("QuantLib") else [])


def american_peers(folder, contracts, reference, american):
    ql, few = american.ql, [o for o in contracts if o.id % 6 == 2]
    answers = american.qdfp(few, "fast", ql.QdFpAmericanEngine.fastScheme(), 3)
    answers += american.qdfp(few, "accurate", ql.QdFpAmericanEngine.accurateScheme(), 1)
    for scheme in ("fast", "accurate"):
        if found := european.quantlib_program(folder, scheme, "american.csv"):
            answers.append(Answer(f"QuantLib QdFp {scheme}, C++", "price", found[1], found[0]))
    overhead = american.call_overhead(few)
    return answers, f"Python's part of a QdFp price is at most {shown(overhead)}: a European option of the same process."


def dividend_peers(folder, contracts, reference, american):
    """Grids from coarse to fine, and the whole set from the first whose price error is about the limit."""
    few = [o for o in contracts if o.id % 6 == 2]
    answers, fitting = [], None
    for grid in GRIDS:
        one = american.finite_differences(few, *grid)
        answers.append(one)
        found = errors(few, "price", one.values["price"], reference["price"])
        if fitting is None and found[int(MOST * (len(found) - 1))][0] <= LIMITS["price"]:
            fitting = grid
    answers.append(american.finite_differences(few[::4], *(fitting or GRIDS[-1]), full=True))
    return answers, f"The grid whose price is within 1e-4 for 90 % of the contracts is {fitting}."


def differences(contracts, ours, answers):
    """One line for each program: time, ratio, and the worst difference from ours."""
    lines = []
    for a in answers:
        known = [n for n in SHOWN if n in a.values and a is not ours]
        worst = {n: median_and_worst(errors(contracts, n, a.values[n], ours.values[n]))[1] for n in known}
        cells = [f"{worst[n]:.0e}" if n in worst else "" for n in SHOWN]
        lines.append([a.who, a.gives, shown(a.ns), f"{a.ns / ours.ns:.3g}", *cells])
    return lines


def accuracies(contracts, reference, answers):
    lines = []
    for a in answers:
        known = [n for n in SHOWN if n in a.values]
        found = {n: median_and_worst(errors(contracts, n, a.values[n], reference[n])) for n in known}
        cells = [f"{found[n][0]:.0e} / {found[n][1]:.0e}" if n in found else "" for n in SHOWN]
        lines.append([a.who, a.gives, *cells])
    return lines


def verdicts(klass, contracts, ours, reference, answers):
    """For each value on which a program differs from us by more than the limit: who is off, at the worst contract that
    the reference has."""
    lines = []
    for a in (a for a in answers[1:] if a.judged):
        for name in (name for name in COLUMNS if name in a.values and name in reference):
            known = [o for o in contracts if o.id in reference[name]]
            apart = errors(known, name, a.values[name], ours.values[name])
            above = [pair for pair in apart if pair[0] > limit(klass, name)]
            if not above:
                continue
            worst, at = above[-1]
            o = next(o for o in contracts if o.id == at)
            mine, theirs, truth = ours.values[name][at], a.values[name][at], reference[name][at]
            off = [errors([o], name, {at: v}, {at: truth})[0][0] for v in (mine, theirs)]
            right = "greeksd" if off[0] < off[1] else a.who
            values = [f"{v:.9g}" for v in (mine, theirs, truth)]
            who = f"{a.who}, {a.gives}"
            count = f"{len(above)} of {len(apart)}"
            lines.append([who, name, count, str(at), *values, f"{off[0]:.0e}", f"{off[1]:.0e}", right])
    return lines


def about_tables(ns):
    """What the times above leave out: tables are built once, and kept while spot and quotes move."""
    tables, each = ns["tables"], ns["tables"] / CHAIN
    yield (
        f"Not in greeksd's time: its tables, {shown(tables)} for an expiry and right, built once and kept while spot and "
        f"quotes move. For a chain of {CHAIN} strikes that is {shown(each)} each: {shown(each + ns['all'])} a contract "
        f"if it is priced only once, and {shown(tables + ns['all'])} for a contract alone."
    )
    yield f"The accurate scheme's tables: {shown(ns['tables, accurate'])} for an expiry and right."


def report(klass, title, contracts, reference, answers, notes):
    ours = answers[0]
    lines = [f"## {title}", "", f"{len(contracts)} contracts; the reference has {len(reference['price'])} of them.", ""]
    lines += ["Time of the processor a contract, and the worst difference from greeksd:", ""]
    lines += table(["program", "gives", "time", "ratio", *SHOWN], differences(contracts, ours, answers))
    lines += ["Error against the reference, median / worst:", ""]
    lines += table(["program", "gives", *SHOWN], accuracies(contracts, reference, answers))
    disputed = verdicts(klass, contracts, ours, reference, answers)
    lines += ["Differences above the limit, the worst of each:" if disputed else "No difference above the limit.", ""]
    heads = ["program", "value", "above", "contract", "greeksd", "theirs", "reference", "greeksd off", "theirs off"]
    lines += table([*heads, "right"], disputed) if disputed else []
    return lines + [f"- {note}" for note in [*notes, *(f"{a.who}: {a.note}" for a in answers if a.note)]] + [""]


def curve(klass, contracts, reference, answers):
    """Cost and price error of each program, for the plots."""
    for a in answers:
        if "price" in a.values:
            found = errors(contracts, "price", a.values["price"], reference["price"])
            if found:
                most = found[int(MOST * (len(found) - 1))][0]
                yield [klass, a.who, a.gives, f"{a.ns:.1f}", f"{most:.2e}", f"{found[-1][0]:.2e}"]


def main(folder):
    times = our_times(folder)
    american = importlib.import_module("american") if has("QuantLib") else None
    if not american:
        print("skipped QuantLib: not installed")
    lines, points = ["# Peers", ""], []
    for klass, title in CLASSES.items():
        contracts, values = read(folder / f"{klass}.csv")
        accurate = read(folder / f"{klass}_accurate.csv")[1]
        ns = {what: ns for (of, who, what), ns in times.items() if (of, who) == (klass, "greeksd")}
        answers = [Answer("**greeksd**", "all 21", ns["all"], values)]
        alone = ns["all, one contract at a time"]
        notes = [f"greeksd one contract at a time instead of a block of 8: {shown(alone)}."]
        if klass == "european":
            reference = european.reference(contracts)
            answers += european_peers(folder, contracts, times)
        else:
            reference = committed_reference(klass)
            answers.append(Answer("greeksd, accurate", "all 21", ns["all, accurate"], accurate))
            notes += about_tables(ns)
            if american:
                ask = american_peers if klass == "american" else dividend_peers
                found, note = ask(folder, contracts, reference, american)
                answers += found
                notes.append(note)
        lines += report(klass, title, contracts, reference, answers, notes)
        points += curve(klass, contracts, reference, answers)
    text = "\n".join(lines)
    print(text)
    (folder / "report.md").write_text(text)
    with open(folder / "curve.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["class", "who", "gives", "ns", "p90", "worst"], *points])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
