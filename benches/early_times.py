"""Two builds of engine/testkit/examples/early_times.rs in turn, and what one takes beside the other.

    python3 benches/early_times.py BEFORE AFTER [--rounds 3] [--only PART]

BEFORE and AFTER are the two programs. Each name's least of all rounds counts: a machine that others use only adds.
"""

import argparse
import subprocess


def measured(program, only):
    """Number and unit by name, in the order of the program."""
    text = subprocess.run([program, only], capture_output=True, text=True, check=True).stdout
    lines = (line.rsplit(None, 2) for line in text.splitlines() if line.strip())
    return {name: (float(value), unit) for name, value, unit in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", metavar="PART", help="names that have this in them")
    args = parser.parse_args()
    best = [{}, {}]
    for _ in range(args.rounds):
        for least, program in zip(best, (args.before, args.after)):
            for name, (value, unit) in measured(program, args.only).items():
                least[name] = (min(value, least.get(name, (value,))[0]), unit)
    print(f"{'':60} {'before':>10} {'after':>10}      ratio")
    for name in [*best[0], *(name for name in best[1] if name not in best[0])]:
        pair = [least.get(name) for least in best]
        cells = [f"{one[0]:10.1f}" if one else f"{'':10}" for one in pair]
        ratio = f"{pair[1][0] / pair[0][0]:10.3f}" if all(pair) and pair[0][0] else ""
        print(f"{name:60} {cells[0]} {cells[1]} {(pair[0] or pair[1])[1]:3} {ratio}")


if __name__ == "__main__":
    main()
