"""Says whether the searches of lab/search/test found what was planted, in 9 of 10 seeds, and nothing else."""

import json
import sys
from pathlib import Path

SEEDS = int(sys.argv[2])
# What could be run on this machine.
RAN = sys.argv[3:]
# What was planted, in words; the sentence must name these options, and put back that one.
PLANTED = {
    "small": ("a policer of small datagrams", "message size", ["512 B datagrams"]),
    "verb": ("a peer that delays the verb send", "verb", ["the verb send"]),
    "devices": ("siw beside rxe", "device", ["the device that has the address"]),
}
HEALTHY = {"bare": "the wire alone", "well": "healthy RDMA devices"}


def searches(folder):
    """Each search: case, seed, and its JSON, or what it said in place of that."""
    for file in sorted(folder.glob("*.json")):
        case, seed = file.stem.split("-")
        yield case, int(seed), file.read_text()
    for file in sorted(folder.glob("guest-*")):
        for part in file.read_text(errors="replace").split("@search ")[1:]:
            head, rest = part.split("\n", 1)
            case, seed = head.split()
            yield case, int(seed), rest.split("\n@rc")[0]


def read(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def is_named(found, option, words):
    return any(one["option"] == option and one["with"] == words for one in found)


if not RAN:
    sys.exit("skipped: nothing of it can be run here")
failed, cases = [], {}
for case, seed, text in searches(Path(sys.argv[1])):
    told = read(text)
    cases.setdefault(case, {})[seed] = told
    if told is None:
        print(f"{case}, seed {seed}: no answer: {text[-400:]}")
    else:
        runs = told["anomalies"]["runs"]
        print(f"{case}, seed {seed}: {runs} runs: {'; '.join(told['says']) or 'nothing'}")
print()
for case, (what, option, words) in PLANTED.items():
    if case not in RAN:
        continue
    seen = cases.get(case, {})
    named = [told for told in seen.values() if told and is_named(told["anomalies"]["found"], option, words)]
    is_well = len(seen) == SEEDS and 10 * len(named) >= 9 * SEEDS
    print(f"{'ok  ' if is_well else 'FAIL'} {what}: named in {len(named)} of {SEEDS}")
    failed += [] if is_well else [case]
for case, what in HEALTHY.items():
    if case not in RAN:
        continue
    seen = cases.get(case, {})
    clear = [told for told in seen.values() if told and not told["anomalies"]["found"]]
    is_well = len(seen) == len(clear) == SEEDS
    print(f"{'ok  ' if is_well else 'FAIL'} {what}: nothing claimed in {len(clear)} of {SEEDS}")
    failed += [] if is_well else [case]
# A delayed verb must not be told as another.
for seed, told in cases.get("verb", {}).items():
    others = [one["with"] for one in (told or {"anomalies": {"found": []}})["anomalies"]["found"]]
    others = [words for words in others if "the verb send" not in words]
    if others:
        print(f"FAIL beside the delayed verb, seed {seed}: {others}")
        failed.append("verb")
sys.exit(1 if failed else 0)
