"""What lab/packets/test has measured: figures, and what must be so of them on any machine."""

import json
import os
import sys

LIMIT = 20_000
# Cells and searches of ntop's study, and those of its cells that need another node.
CELLS, SEARCHES, ELSEWHERE = 9, 7, 3
# A twentieth may be lost, and 500 pass at once in a window of 0.4 s and its warm-up.
MOST = LIMIT / 0.95 * 1.10

# Packets beside those of the test that an interface counts in the runs of one cell.
BESIDE = 200

out = sys.argv[1]
wrong = []
# What others that had the CPUs kept from being shown.
starved = []


def read(name):
    with open(os.path.join(out, name)) as file:
        return json.load(file)


rates = {}
for sender in ("xdp", "af-xdp", "ring", "sendmmsg"):
    result = read(f"{sender}.json")["results"][0]
    rates[sender] = (result["estimate"] or {}).get("value") or 0.0
    took = result["effective"]["sender"]
    if took.removesuffix("-zero-copy").removesuffix("-copy") != sender:
        wrong.append(f"{sender}: {took} sent")
    if rates[sender] <= 0.0:
        wrong.append(f"{sender}: no packet came")
    print(f"{sender}: {rates[sender]:,.0f} packets/s came")

rate = os.path.join(out, "trafgen-rate")
if os.path.exists(rate):
    with open(rate) as file:
        trafgen = float(file.read())
    print(f"trafgen: {trafgen:,.0f} packets/s came; xdp has {rates['xdp'] / max(trafgen, 1):.1f} times that")
else:
    print("trafgen: not installed, left out")

search = read("search.json")["searches"][0]
passes, loses = search["passes_packets_per_second"], search["loses_packets_per_second"]
print(f"policer of {LIMIT:,}/s: {search['end']}, passes {passes}, loses {loses}, {search['runs']} runs")
if loses is None:
    wrong.append("the search found no rate that loses")
if passes is not None and passes > MOST:
    wrong.append(f"{passes} packets/s cannot have passed {LIMIT}/s")
study = read("study.json")
ran = {result["label"]: result for result in study["results"] if result["done"]}
labels_of = {result["label"]: result["labels"] for result in study["results"]}
searched = [search["of"] for search in study["searches"]]
left = [
    result["label"]
    for result in study["results"]
    if not result["done"] and not any(result["label"].startswith(of) for of in searched)
]
cells = [label for label in ran if not any(label.startswith(of) for of in searched)]
print(f"ntop's study: {len(cells)} cells and {len(searched)} searches, and of its cells not run here: {left}")
if len(cells) + len(left) != CELLS or len(cells) < CELLS - ELSEWHERE:
    wrong.append(f"{len(cells)} cells ran and {len(left)} did not, of {CELLS}")
if len(searched) != SEARCHES:
    wrong.append(f"{len(searched)} searches, and not {SEARCHES}")
# One node has no other: of any other cell there is no reason not to run.
wrong += [f"{label}: not run" for label in left if "node 1" not in label and "other node" not in label]
for name in ("packets 64 B, as fast as they go", "packets 64 B, both ways"):
    result = ran.get(name)
    ways = (result or {}).get("effective", {})
    if (ways.get("sender"), ways.get("receiver")) != ("xdp", "xdp"):
        wrong.append(f"{name}: sent and counted by {ways.get('sender')} and {ways.get('receiver')}")
for search in study["searches"]:
    if not search["runs"]:
        wrong.append(f"{search['of']}: no run")
        continue
    passes = search["passes_packets_per_second"]
    won = [point for point in search["curve"] if point["asked_packets_per_second"] <= (passes or 0)]
    runs = [labels for label, labels in labels_of.items() if label.startswith(search["of"])]
    beside = [labels for labels in runs if {"noisy", "behind-schedule"} <= set(labels)]
    if not won and search["end"] == "sender-bound" and 2 * len(beside) > len(runs):
        starved.append(f"{search['of']}: the sender kept no rate beside others")
    elif not won:
        wrong.append(f"{search['of']}: no rate that was asked for passed")
    # The rates from the one that passes down: their median run lost nothing.
    wrong += [
        f"{search['of']}: {point['lost_share']} lost of {point['asked_packets_per_second']}/s, which passes"
        for point in won
        if point["lost_share"] != 0.0
    ]
generators = {cell["label"]: cell for cell in read("generators.json")["results"] if cell["done"]}
for name, cell in generators.items():
    median = (cell["estimate"] or {}).get("value") or 0.0
    print(f"{name}: {median:,.0f} packets/s came")
    if not cell["engine"]:
        continue
    way = cell["directions"][0]
    # The tool's count is what left, and ours what came in: a driver may lose packets between the two. An
    # interface counts what the kernel says of its neighbours too.
    pairs = [(way["sent_packets"], way["out_packets"]), (way["received_packets"], way["in_packets"])]
    if any(not said <= counted <= said + BESIDE for said, counted in pairs) or "tool-miscounts" in cell["labels"]:
        wrong.append(f"{name}: {way}")
for line in starved:
    print(f"inconclusive: {line}")
for line in wrong:
    print(f"wrong: {line}", file=sys.stderr)
sys.exit(1 if wrong else 4 if starved else 0)
