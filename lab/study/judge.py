"""Judges what the guests of lab/study/test said: every line that is not as it should be is named.
Exit code 1 when there is one."""

import json
import pathlib
import re
import sys

TOP = pathlib.Path(sys.argv[1])
WRONG = []


def check(name, good, says):
    if not good:
        WRONG.append(f"{name}: {says}")


class Session:
    def __init__(self, name):
        text = (TOP / name).read_text(errors="replace")
        self.boot = re.findall(r"^@boot (\S+)$", text, re.M)
        self.cut = re.findall(r"^@cut after (\d+) runs$", text, re.M)
        found = re.findall(r"^@case (.*?)\n(.*?)^@rc (\d+)$", text, re.M | re.S)
        self.cases = {words: (said, int(rc)) for words, said, rc in found}

    def said(self, words):
        return self.cases.get(words, ("the guest did not get so far", -1))


first, wrong, cut, second, third, fourth = [
    Session(name) for name in ["first", "wrong", "cut", "second", "third", "fourth"]]


def grid(session):
    """Runs of each population, as `study status` prints them: TCP, memory."""
    said, _ = session.said("status")
    return re.findall(r"^  [1-4]\s+(\S+)\s+(\S+)$", said, re.M)


LEFT = ("0/3", "0/3")
DONE = ("3", "3")
said, rc = first.said("run")
check("first", rc == 0, f"exit code {rc}: {said[-400:]}")
check("first", "put a DIMM into DIMM 14" in said, f"does not say what to change: {said[-400:]}")
check("first", grid(first) == [DONE, LEFT, LEFT, LEFT], f"{grid(first)}")

said, rc = wrong.said("resume")
check("wrong", rc == 2, f"exit code {rc}: {said[-400:]}")
check("wrong", "move the DIMM of DIMM 7 to DIMM 14" in said, f"does not say what to change: {said[-400:]}")
check("wrong", grid(wrong) == [DONE, LEFT, LEFT, LEFT], f"{grid(wrong)}")

check("cut", len(cut.cut) == 1 and 6 < int(cut.cut[0]) < 12, f"the power did not fail in between: {cut.cut}")
check("cut", "resume" not in cut.cases, "the session ended all the same")

said, rc = second.said("resume")
check("second", rc == 0, f"exit code {rc}: {said[-400:]}")
check("second", grid(second) == [DONE, DONE, LEFT, LEFT], f"{grid(second)}")
said, rc = third.said("resume")
check("third", rc == 0 and grid(third) == [DONE, DONE, DONE, LEFT], f"exit code {rc}, {grid(third)}")
said, rc = fourth.said("resume")
check("fourth", rc == 0 and grid(fourth) == [DONE] * 4, f"exit code {rc}, {grid(fourth)}: {said[-400:]}")

said, rc = fourth.said("verify")
check("verify", rc == 0 and "whole" in said, f"exit code {rc}: {said}")
said, rc = fourth.said("report")
ODD, EVEN = "near-balanced (lenovo-2019: unbalanced)", "near-balanced (lenovo-2019: balanced)"
# One row a population, one column a processor.
rows = [re.split(r"  +", line.strip()) for line in said.splitlines()]
for dimms, classes in enumerate([[ODD, "none"], [ODD, ODD], [EVEN, ODD], [EVEN, EVEN]], 1):
    check("report", rc == 0 and any(row[:3] == [str(dimms), *classes] for row in rows),
          f"has no row of {dimms} DIMMs with {classes}: {said[:3000]}")

said, _ = fourth.said("export --format json")
try:
    runs = json.loads(said[said.index("{"):])["records"]
except (ValueError, KeyError) as error:
    runs = []
    check("export", False, f"{error}: {said[:300]}")
boots = {}
for run in runs:
    boots.setdefault(run.get("session", 0), []).append(run)
done = [run for run in runs if run["outcome"]["outcome"] == "done"]
keys = {(run["trial"], run["repeat"]) for run in done}
check("export", len(done) == 24 and len(keys) == 24, f"{len(done)} runs done, {len(keys)} of them different")
# What was done before the power failed was not done again.
before = int(cut.cut[0]) - 6 if cut.cut else 0
kept = [len(boots[session]) for session in sorted(boots)]
check("export", sum(kept) == 24, f"runs by session: {kept}")
check("export", len(kept) == 5 and kept[0] == 6 and kept[1] >= before, f"runs by session: {kept}, {before} were done")
everyone = [session.boot for session in [first, wrong, cut, second, third, fourth]]
check("boots", len({boot[0] for boot in everyone if boot}) == 6, f"{everyone}")

print(f"six boots of a machine, one study: runs by session {kept}, the power failed after {before} of six")
print(f"{len(WRONG)} not as they should be")
for line in WRONG:
    print(f"wrong: {line}")
sys.exit(1 if WRONG else 0)
