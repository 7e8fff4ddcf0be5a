"""Ratios of `narrows mpi` to the OSU micro-benchmarks, from the outputs of lab/mpi/osu in this folder.

usage: osu.py ROUNDS
"""
import random
import re
import sqlite3
import statistics
import sys

BYTES = {"8 B": 8, "64 B": 64, "1 KiB": 1 << 10, "8 KiB": 8 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20}
DRAWS = 2000


def osu(what, number):
    """Figures of a run by bytes of its messages: ns, or bit/s."""
    lines = [line.split() for line in open(f"osu.{what}.{number}") if re.match(r"\d", line)]
    scale = 1e3 if what == "latency" else 8e6
    return {int(line[0]): float(line[1]) * scale for line in lines}


def narrows(what, number):
    """Of each size the median iteration, and the time or rate of the mean one."""
    rows = sqlite3.connect(f"narrows.{what}.{number}").execute("SELECT label, name, value FROM figure")
    figures = {}
    for label, name, value in rows:
        size = next(BYTES[text] for text in BYTES if re.search(rf"ranks {re.escape(text)}( |$)", label))
        figures.setdefault(size, {})[name] = value
    return figures


def interval(ratios):
    """The median of ratios, and what 95 % of medians of draws of them lie between."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(DRAWS))
    return statistics.median(ratios), medians[DRAWS // 40], medians[-DRAWS // 40 - 1]


def main():
    rounds = int(sys.argv[1])
    off = wide = False
    for what in ("latency", "bw"):
        pairs = [(osu(what, n), narrows(what, n)) for n in range(1, rounds + 1)]
        for size in BYTES.values():
            for name in ("p50", "mean"):
                ratios = [ours[size][name] / theirs[size] for theirs, ours in pairs]
                median, low, high = interval(ratios)
                theirs = [theirs[size] for theirs, _ in pairs]
                print(f"{what:8} {size:8} {name:5} {median:.3f} ({low:.3f} to {high:.3f})  OSU {statistics.median(theirs):.4g}")
                if name == "p50":
                    off |= low > 1.05 or high < 0.95
                    wide |= low < 0.95 or high > 1.05
    sys.exit(1 if off else 4 if wide else 0)


main()
