"""Rows of `lab/bench`: ours against the best of the peers, in rounds that go on until every bar is
decided, or time or rounds are over. A ratio is the median over rounds of ours divided by the best
peer's value of the same round, with the interval that order statistics give. Bars are looked at a
few times, each time with as much less chance of error, so that all looks together have 5 %."""
import dataclasses
import math
import random
import statistics
import subprocess
import sys
import time

# Chance of error at each end of an interval, all looks together.
TAIL = 0.025
# Rounds after which bars are looked at; fewer than the first decide nothing.
LOOKS = (8, 14, 20)


@dataclasses.dataclass
class Run:
    """What one run gave: its figure, CPU seconds for each 10^9 bytes, the share that was lost, and
    the rate at the far interface in its busiest half second, in bit/s."""
    value: float
    cost: float | None = None
    lost: float = 0
    wire: float | None = None


@dataclasses.dataclass
class Row:
    """A claim: the best of ours against the best of the peers, by `part` of their runs."""
    what: str
    ours: list
    peers: list
    bar: float | None
    low_is_good: bool = False
    part: str = "value"
    unit: float = 1e9
    name: str = "Gb/s"
    lost: bool = False

    def best(self, names, values):
        known = [name for name in names if middle(values[name], self.part) is not None]
        pick = min if self.low_is_good else max
        return pick(known, key=lambda name: middle(values[name], self.part), default=None)

    def both(self, values):
        """The best of either side; `None` where one has no value."""
        pair = self.best(self.ours, values), self.best(self.peers, values)
        return pair if None not in pair else None

    def ratio(self, values, part=None):
        """The ratio, the ends of its interval, and those of single pairs of runs."""
        pair = self.both(values)
        if not pair:
            return None
        runs = zip(*(values[name] for name in pair))
        parts = [[run and getattr(run, part or self.part) for run in of] for of in runs]
        ratios = [ours / theirs for ours, theirs in parts if ours and theirs]
        if not ratios:
            return None
        return (statistics.median(ratios), *interval(ratios), ratios)

    def verdict(self, values):
        ratio = self.ratio(values)
        if not self.bar or not ratio:
            return ""
        ratios, tail = ratio[3], TAIL / len(LOOKS)
        if 0.5 ** len(ratios) > tail:
            return "undecided"
        low, high = interval(ratios, tail)
        worst, kindest = (high, low) if self.low_is_good else (low, high)
        meets = (lambda end: end <= self.bar) if self.low_is_good else (lambda end: end >= self.bar)
        return "met" if meets(worst) else "undecided" if meets(kindest) else "not met"

    def is_decided(self, values):
        return self.verdict(values) != "undecided"

    def says(self, values):
        """Its line of the table."""
        pair, ratio = self.both(values), self.ratio(values)
        if not ratio:
            return f"| {self.what} | - | - | - | - | - | not measured |"
        ours, best = pair
        lost = middle(values[ours], "lost") or 0
        lost = f", lost {100 * lost:.2f} %" if self.lost else ""
        wanted = f"{'at most' if self.low_is_good else 'at least'} {self.bar}" if self.bar else "-"
        wire = self.ratio(values, "wire") if self.part == "value" and not self.low_is_good else None
        wire = "-" if wire is None else "{:.2f} ({:.2f} to {:.2f})".format(*wire[:3])
        which = f" by {ours}" if len(self.ours) > 1 else ""
        return (f"| {self.what}{which} | {middle(values[ours], self.part) / self.unit:.3g}"
                f" {self.name}{lost} | {best} {middle(values[best], self.part) / self.unit:.3g} | "
                + "{:.2f} ({:.2f} to {:.2f})".format(*ratio[:3]) + f", {len(ratio[3])} pairs"
                + f" | {wire} | {wanted} | {self.verdict(values)} |")


def middle(runs, part="value"):
    known = [getattr(run, part) for run in runs if run and getattr(run, part) is not None]
    return statistics.median(known) if known else None


def interval(ratios, tail=TAIL):
    """Ends of the median's interval by order statistics: 95 % or a little more from 6 values on."""
    ratios, skip = sorted(ratios), 0
    # Values beyond each end are fewer than so many with a chance of at most `tail` (binomial, 1/2).
    while sum(math.comb(len(ratios), k) for k in range(skip + 2)) <= tail * 2 ** len(ratios):
        skip += 1
    return ratios[skip], ratios[-1 - skip]


def measure(cells, rows, rounds_max, seconds_max):
    """Runs all cells in rounds, each in an order of its own, until no row is undecided, or as many
    rounds or so much time has passed; then prints the rows."""
    values, began, number = {name: [] for name in cells}, time.monotonic(), 0
    while number < rounds_max:
        order = list(cells)
        random.shuffle(order)
        for name in order:
            try:
                run = cells[name]()
            except (RuntimeError, IndexError, KeyError, AttributeError, ValueError,
                    subprocess.CalledProcessError) as error:
                print(f"  {name}: {error}".replace("\n", " ")[:300], file=sys.stderr)
                run = None
            # A run that failed keeps its place: what stands beside it is of the same round.
            values[name].append(run)
        number += 1
        print(f"  round {number}", file=sys.stderr)
        is_late = time.monotonic() - began > seconds_max
        # Whatever the rows say meanwhile, they are asked at these rounds alone, or at the end.
        if is_late or number in LOOKS and all(row.is_decided(values) for row in rows):
            break
    for row in rows:
        print(row.says(values), flush=True)
