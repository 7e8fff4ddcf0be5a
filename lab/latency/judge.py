"""Judges what the guest of lab/latency/test said: the grade of a full queue, and of one kept short."""

import re
import sys


def said(text):
    """What narrows said of each case, by its name."""
    cases = re.findall(r"^@latency (\S+)\s*\n(.*?)^@over (\d+)", text, re.S | re.M)
    return {name: (says, int(code)) for name, says, code in cases}


def grade(says):
    """The grade, and by how many milliseconds a round trip is longer."""
    found = re.search(r"grade (A\+|[ABCDF]): (-?[\d.]+) (ns|us|ms|s) longer under load", says)
    assert found, f"no grade in: {says}"
    scale = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
    return found[1], float(found[2]) * scale[found[3]]


def main():
    cases = said(open(sys.argv[1], encoding="utf-8", errors="replace").read().replace("\r", ""))
    assert set(cases) == {"bucket", "fq_codel"}, f"cases: {sorted(cases)}"
    for name, (says, code) in cases.items():
        assert code == 0, f"{name}: exit code {code}: {says}"
    full, kept = grade(cases["bucket"][0]), grade(cases["fq_codel"][0])
    print(f"bucket of 100 ms: grade {full[0]}, {full[1]:.1f} ms longer")
    print(f"fq_codel in it: grade {kept[0]}, {kept[1]:.1f} ms longer")
    # Cubic leaves between 0.7 of a full queue and all of it.
    assert 60 <= full[1] <= 120 and full[0] == "C", full
    # The queue aims at 5 ms, and requests are a flow of their own.
    assert kept[1] < 30 and kept[0] in ("A+", "A"), kept


main()
