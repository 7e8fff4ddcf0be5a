"""What lab/packets/guest said: pktgen of the guest's kernel, by its own count, its interface's and ours."""

import json
import sys

wrong = []
said = {}
name = None
marks = {}
for line in open(sys.argv[1]):
    if line.startswith("@pktgen "):
        name = line.split()[1]
        said[name] = []
    elif line.startswith("@"):
        name = None
        mark, _, rest = line[1:].strip().partition(" ")
        marks.setdefault(mark, []).append(rest)
    elif name:
        said[name].append(line)

for name, rate in [("max", None), ("paced", 2000), ("large", 1000), ("ports", 2000)]:
    try:
        result = json.loads("".join(said.get(name, [])))["results"][0]
    except ValueError as error:
        wrong.append(f"{name}: {error}")
        continue
    way = (result["directions"] or [{}])[0]
    came = (result["estimate"] or {}).get("value") or 0.0
    sent, left, arrived = way.get("sent_packets"), way.get("out_packets"), way.get("received_packets")
    print(f"pktgen, {name}: {came:,.0f} packets/s; {sent} sent by its count, {left} left, {arrived} came")
    if not sent or sent != arrived or not sent <= left <= sent + 50:
        wrong.append(f"{name}: {way}")
    if rate and abs(came / rate - 1) > 0.02:
        wrong.append(f"{name}: {came} packets/s, and {rate} were asked for")
if marks.get("over") != ["0", "0", "0", "0", "5"]:
    wrong.append(f"exit codes {marks.get('over')}: all but the one that is in use are to be 0")
left = "Running:  Stopped:"
if marks.get("left", [""])[0].strip() != left:
    wrong.append(f"it left {marks.get('left')}")
if int(marks.get("running", ["0"])[0]) < 1000:
    wrong.append(f"it did not run before it was killed: {marks.get('running')}")
if marks.get("after-kill") != ["0"]:
    wrong.append(f"{marks.get('after-kill')} packets left after narrows was killed")
print(f"pktgen, killed: {marks.get('after-kill')} packets in the two seconds after")
for line in wrong:
    print(f"wrong: {line}", file=sys.stderr)
sys.exit(1 if wrong else 0)
