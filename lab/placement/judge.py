"""Says whether the guest of lab/placement/test did what `narrows placement` says of it."""

import json
import sqlite3
import sys

text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
failed = []


def section(name):
    parts = text.split(f"@{name}\n")
    return parts[1].split("\n@")[0] if len(parts) > 1 else ""


def expect(name, is_so, told):
    print(f"{'ok  ' if is_so else 'FAIL'} {name}")
    if not is_so:
        failed.append(name)
        print("     ", str(told)[-2000:])


def senders(record):
    """Reports of the ends that send, which are this host's: the first by itself, then all others."""
    more = [one["report"] for one in record.get("more", []) if one["role"] == "source"]
    return [one for one in [record["source"], *more] if one]


nics = [line.split() for line in text.splitlines() if line.startswith("@nic ")]
nodes = {words[2][-2:]: words[4] for words in nics}
names = {words[2][-2:]: words[1] for words in nics}
expect("the NICs are on their nodes", nodes == {"0a": "0", "0b": "1", "0c": "0"}, nics)

printed = section("print")
near, other = names.get("0a"), names.get("0b")
expect("without a limit of time all 64 placements of two NICs are there", printed.count("affinity = ") == 64, printed)
first = [line for line in printed.splitlines() if "affinity" in line][:2]
expect("each NIC begins with its own node", f'"{near}: node 0' in first[0] and f'"{other}: node 1' in first[1], first)

run = section("run")
codes = [line for line in text.splitlines() if line.startswith("@rc ")]
expect("both studies end well", codes == ["@rc 0", "@rc 0"], codes + [run[-1500:]])
expect("what does not fit the time is counted", "of 64 placements" in run, run)
expect("what a NIC costs stands beside what it reaches", "480.00" in run and "260.00" in run, run)
irqs = [line for line in text.splitlines() if line.startswith("@irqs ")]
expect("interrupts go where they went before", len(irqs) == 2 and irqs[0] == irqs[1], irqs)

store = sqlite3.connect(sys.argv[2])
trials = {key: json.loads(text) for key, text in store.execute("SELECT id, json FROM trial")}
records = [json.loads(text) for (text,) in store.execute("SELECT json FROM record")]
cpus = {"0": {0, 1}, "1": {2, 3}}
wrong, bound, steered, beside, failures = [], 0, set(), 0, []
for record in records:
    trial = trials[record["trial"]]
    levels = {level["factor"]: level["level"] for level in trial["levels"]}
    here = levels["placement"].split(": ")[1].split(" > ")[0]
    steered.add(here)
    beside += levels["beside"] != "nothing"
    if record["outcome"] not in ("done", {"outcome": "done"}):
        failures.append(record["outcome"])
    for source in senders(record):
        for thread in source["threads"]:
            bound += 1
            allowed = set(thread.get("allowed", []))
            if not allowed or not allowed <= cpus[here.split("node ")[1][0]]:
                wrong.append((levels["placement"], sorted(allowed)))
expect("no run failed", records and not failures, failures)
expect("threads of this host's end are on the node that the placement names", bound > 0 and not wrong, (bound, wrong))
expect("some placements move interrupts apart from the process", any("irq" in one for one in steered), steered)
expect("half of the runs have a load over the link beside them", beside * 2 == len(records) > 0, beside)

outlook = section("paths")
for path in ["siw0, node 0", "siw0, node 1", "siw1, node 0", "siw1, node 1", "siw0 > siw1", "siw1 > siw0"]:
    expect(f"{path} is a path of the host", path in outlook, outlook)
even = " ".join(section("even").split())
codes = [line for line in text.splitlines() if line.startswith("@paths-rc ")]
expect("like paths are not accused", "no path is shown to be slower than its like" in even, even)
expect("devices in software are said to be", "devices in software" in even, even)
expect("loop-back is said to be no network result", "not a network result" in even, even)
expect("equal paths are no bad verdict", codes == ["@paths-rc 0"], codes)

coalescing = section("coalescing")
lines = [line.strip() for line in coalescing.splitlines() if line.startswith("rx-usecs:")]
expect("coalescing is put back", len(lines) == 2 and lines[0] == lines[1], lines)
sys.exit(1 if failed else 0)
