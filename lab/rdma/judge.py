"""Judges what the guest of lab/rdma/test said: every line that fails is named, and one table tells
narrows beside perftest. Exit code 1 when something is not as it should be, 4 when a guest was starved
by its host: what it did not get to is inconclusive, and nothing else was wrong."""

import json
import math
import re
import statistics
import sys


def cases(path):
    """(name, exit code, lines) of every case, in order."""
    name, lines = None, []
    for line in open(path, errors="replace"):
        line = line.rstrip("\n")
        if line.startswith("@case "):
            name, lines = line[6:], []
        elif line.startswith("@rc ") and name:
            yield name, int(line[4:]), lines
            name = None
        elif name is not None:
            lines.append(line)


class Case:
    def __init__(self, name, rc, lines):
        self.name, self.rc, self.lines = name, rc, lines
        self.text = "\n".join(lines)
        self.documents = [json.loads(line) for line in lines if line.startswith("{")]

    def runs(self):
        return [d for d in self.documents if d["event"] == "run"]

    def values(self):
        return [run["value"] for run in self.runs() if run["outcome"] == "done"]

    def summary(self):
        return self.documents[-1]["results"]["results"][0]


ALL = {name: Case(name, rc, lines) for name, rc, lines in cases(sys.argv[1])}
WRONG, INCONCLUSIVE = [], []
# lab/vm/boot says how a guest ended: this one had less CPU time than it was allowed.
STARVED = re.search(r"^@ended starved$", open(sys.argv[1], errors="replace").read(), re.M)
# Judged by several cases, of which a starved guest may have made some.
OF_SEVERAL = {"import", "left", "list"}


def check(name, good, says):
    if good:
        return
    sure = not STARVED or name in ALL and name not in OF_SEVERAL
    (WRONG if sure else INCONCLUSIVE).append(f"{name}: {says}")


def case(name):
    if name not in ALL:
        check(name, False, "the guest did not get so far")
        return Case(name, -1, [])
    return ALL[name]


MEASURED = """
rxe-write rxe-write-cm rxe-write-uc rxe-write-lists rxe-write-two rxe-write-both rxe-write-verify
rxe-write-cold rxe-write-mtu rxe-write-small rxe-write-reverse rxe-write-imm rxe-read
rxe-read-verify rxe-send rxe-send-verify rxe-send-uc rxe-send-ud rxe-atomic rxe-send-latency
rxe-send-ud-latency rxe-write-imm-latency rxe-read-latency rxe-atomic-latency rxe-write-latency
rxe-gid rxe-huge-verify two-peers fabric-rxe0-write fabric-rxe0-read-verify
fabric-rxe0-send-verify fabric-rxe0-send-latency fabric-siw0-write fabric-siw0-read-verify
fabric-siw0-send-verify fabric-siw0-send-latency fabric-tcp-write siw-write siw-write-named siw-write-verify siw-write-two siw-write-both siw-read
siw-read-verify siw-send siw-send-verify siw-send-latency siw-read-latency rxe-sweep bar-rxe-write
bar-siw-write bar-rxe-latency bar-siw-latency siw-by-name as-nobody device-removed after-removal after-port-down
""".split()
for name in MEASURED:
    one = case(name)
    runs = one.runs()
    check(name, one.rc == 0 and runs, f"exit code {one.rc}: {one.text[-300:]}")
    for run in runs:
        good = run["outcome"] == "done" and run["value"] and math.isfinite(run["value"])
        check(name, good, f"{run['outcome']}, {run['value']}, {run['why']}")

for name in [name for name in MEASURED if name.endswith("-verify")]:
    found = re.search(r'"verified_bytes":(\d+)', case(name).text.replace(" ", ""))
    check(name, found and int(found.group(1)) > 0, "nothing was compared")

# What nobody acknowledges is counted whole at both ends: within one host nothing is lost on a wire.
for name in ["rxe-send-uc", "rxe-send-ud"]:
    if name in ALL and ALL[name].rc == 0:
        counted = ALL[name].summary()["unacknowledged"] or {"sent": 0, "received": 0}
        check(name, 0 < counted["received"] <= counted["sent"], f"counts {counted}")

# A target whose program takes no part uses next to no CPU.
for name in ["rxe-write", "rxe-read", "siw-write", "siw-read"]:
    if name in ALL and ALL[name].rc == 0:
        share = ALL[name].summary()["cpu"]["sink_share"]
        check(name, share < 0.05, f"the target's CPU is {share:.2f}")

# What cannot be done says why; exit code and a part of the words.
REFUSED = {
    "rxe-huge-missing": (5, "vm.nr_hugepages"),
    "siw-write-imm": (5, "no write with immediate"),
    "siw-atomic": (5, "no atomic operations"),
    "siw-write-uc": (5, "reliable connections only"),
    "rxe-ud-write": (2, "ud has no such verb"),
    "rxe-ud-large": (5, "larger than the path MTU of 4096 B"),
    "rxe-write-latency-asleep": (2, "wakes no thread"),
    "no-device": (5, "no RDMA device 'mlx5_7': there is rxe0, siw0"),
    "no-gid": (5, "no identifier 77"),
    "other-device": (5, "10.9.1.1 belongs to siw0, not to rxe0"),
    "no-manager": (5, "connects through the connection manager only"),
    "wrong-key": (3, "keys do not match"),
    "no-permission": (5, "/dev/infiniband need read and write permission"),
    "memlock": (5, "raise the limit"),
    "port-down": (5, "is not up"),
    # Whichever notices first: the control channel, or the requests under way.
    "peer-death": ((3, 5), None),
    "worker-death": (5, "worker"),
    "port-lost": (5, "a request failed"),
}
for name, (rc, words) in REFUSED.items():
    one = case(name)
    check(name, one.rc in (rc if isinstance(rc, tuple) else (rc,)), f"exit code {one.rc}, not {rc}: {one.text[-400:]}")
    check(name, words is None or words in one.text, f"does not say '{words}': {one.text[-400:]}")
    check(name, "hint: " in one.text, "gives no hint")
    check(name, not re.search(r"\b(inf|nan)\b", one.text, re.I), "prints inf or nan")

fabrics = case("fabrics")
check("fabrics", fabrics.rc == 0, f"exit code {fabrics.rc}: {fabrics.text[-400:]}")
for word in ["siw0", "rxe0", "tcp", "6 of 6 runs"]:
    check("fabrics", word in fabrics.text, f"does not say '{word}': {fabrics.text[-400:]}")

for number, name in enumerate(["perftest-rxe-write-1", "perftest-siw-latency-1", "perftest-rxe-read"]):
    rows = re.findall(r"^\s*\d+\s+\d+\s+[\d.]+.*$", case(name).text, re.M)
    latency = name.startswith("perftest-siw-latency")
    printed = float(rows[-1].split()[4 if latency else 3]) if rows else 0
    unit = 1000 if latency else 8 * 2**20
    values = [float(word) for word in re.findall(r"(?<=,)[\d.]+(?:e\d+)?(?=,|$)", case("imported").text, re.M)]
    check("import", any(abs(value - printed * unit) < 1 for value in values), f"{name} was not read as {printed}")
crosscheck = case("crosscheck")
for tool in ["narrows", "perftest", "qperf"]:
    # A run that failed, as some of qperf's do, is made again.
    check("crosscheck", re.search(rf"^ *{tool} +[\d.]+ [MG]b/s", crosscheck.text, re.M), f"no {tool}")

# The table of devices against the kernel's own tools.
listed = case("list").text
for device, state in re.findall(r"link (\w+)/1 state (\w+)", case("link").text):
    row = re.search(rf"^{device} +1 .*$", listed, re.M)
    check("list", row and state in row.group(0), f"{device} is {state} for `rdma link`")
for device, transport in re.findall(r"hca_id:\s*(\w+)\s*transport:\s*(\w+)", case("devinfo").text):
    kind = {"iWARP": "iWARP", "InfiniBand": "RoCE"}[transport]
    row = re.search(rf"^{device} .*$", listed, re.M)
    check("list", row and kind in row.group(0), f"{device} is {transport} for ibv_devinfo")
check("list", len(re.findall(r"hca_id", case("devinfo").text)) == 2, "two devices were made")

# These devices are the kernel's own work, and the report says so.
for name in ["rxe-write", "siw-write"]:
    if name in ALL and ALL[name].rc == 0:
        check(name, "software" in ALL[name].summary()["labels"], "is not labelled as software")

# libfabric over devices is no program's work, over TCP it is; the list has both.
for name, software in [("fabric-rxe0-write", False), ("fabric-siw0-write", False), ("fabric-tcp-write", True)]:
    if name in ALL and ALL[name].rc == 0:
        used = ALL[name].summary()["effective"]["rdma"]
        check(name, used["software"] == software, f"software: {used['software']}")
        check(name, used["provider"].startswith("tcp" if software else "verbs"), used["provider"])
check("fabrics-list", re.search(r"^  verbs +device ", case("fabrics-list").text, re.M), "no verbs provider")

# Ctrl-C ends a run at once and keeps those that were done.
interrupted = case("interrupted")
check("interrupted", interrupted.rc == 130, f"exit code {interrupted.rc}: {interrupted.text[-400:]}")
peers = case("two-peers")
check("two-peers", {run["trial"] for run in peers.runs()} != set() and len(peers.runs()) == 2,
      f"{len(peers.runs())} runs of two peers")

# Nothing is left behind.
check("left", case("left-processes").lines == [], f"processes: {case('left-processes').lines}")
for line in case("left-resources").lines + case("left-by-verbs").lines:
    left = [word for word in re.findall(r"(qp|cm_id|mr|ctx) (\d+)", line) if word[1] != "0"]
    # The kernel keeps one queue pair a port for management.
    left = [word for word in left if word != ("qp", "1")]
    check("left", not left, f"resources: {line}")
tests = case("tests")
check("tests", tests.rc == 0 and "4 passed" in tests.text, tests.text[-600:])
check("tests", "skipped" not in tests.text, "a test was skipped")


def theirs(name, column):
    """A column of perftest's rows of figures, counted from the size."""
    found = []
    for turn in "12":
        rows = re.findall(r"^\s*\d+\s+\d+\s+[\d.]+.*$", case(f"{name}-{turn}").text, re.M)
        found += [float(rows[-1].split()[column])] if rows else []
    # Where its clock failed it prints 0 or inf and exits with 0: no figure then.
    return [value for value in found if value > 0 and math.isfinite(value)]


print("\n| device | figure | narrows | perftest | ratio | wanted |")
print("|---|---|---|---|---|---|")
for device in ["rxe", "siw"]:
    own = [value / 8 / 2**20 for value in case(f"bar-{device}-write").values()]
    other = theirs(f"perftest-{device}-write", 3)
    if own and other:
        own, other = statistics.median(own), statistics.median(other)
        print(f"| {device} | write 64 KiB, MiB/s | {own:.2f} | {other:.2f} | {own / other:.3f} | >= 1 |")
        check(f"bar-{device}-write", own >= other, f"{own:.2f} is below {other:.2f}")
    else:
        check(f"bar-{device}-write", False, "no figures to compare")
    # Both are medians: its typical time.
    own = [value / 2000 for value in case(f"bar-{device}-latency").values()]
    other = theirs(f"perftest-{device}-latency", 4)
    if own and other:
        own, other = statistics.median(own), statistics.median(other)
        print(f"| {device} | send 8 B asleep, half a round trip, us | {own:.2f} | {other:.2f} "
              f"| {own / other:.3f} | <= 1 |")
        check(f"bar-{device}-latency", own <= other, f"{own:.2f} is above {other:.2f}")
    else:
        check(f"bar-{device}-latency", False, "no figures to compare")

print(f"\n{len(ALL)} cases in the guest, {len(WRONG)} not as they should be")
for line in WRONG:
    print(f"wrong: {line}")
missed = sorted({line.split(":")[0] for line in INCONCLUSIVE})
if missed:
    print(f"inconclusive: this host gave a guest too little CPU time for {', '.join(missed)}")
sys.exit(1 if WRONG else 4 if missed else 0)
