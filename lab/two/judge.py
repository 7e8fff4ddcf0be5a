"""Judges what the guests of lab/two/test said: every line that is not as it should be is named. Exit
code 1 when there is one."""

import json
import math
import pathlib
import re
import sys

TEXT = (pathlib.Path(sys.argv[1]) / "a").read_text(errors="replace")
FOUND = re.findall(r"^@case (.*?)\n(.*?)^@rc (\d+)\n@took (\d+)$", TEXT, re.M | re.S)
CASES = {name: (said, int(rc), int(took)) for name, said, rc, took in FOUND}
WRONG = []


def check(name, good, says):
    if not good:
        WRONG.append(f"{name}: {says}")


def case(name):
    if name not in CASES:
        WRONG.append(f"{name}: the guest did not get so far")
    return CASES.get(name, ("", -1, 0))


def document(name):
    said, rc, _ = case(name)
    try:
        made = json.loads(said[said.index("{"):said.rindex("}") + 1])
    except ValueError as error:
        check(name, False, f"exit code {rc}, no JSON: {error}: {said[-400:]}")
        return None
    # Both machines have most of their memory channels empty, which is a fault wherever no port tells
    # that it costs little: exit code 1, and for nothing else.
    faults = sorted({found["rule"] for found in made.get("findings", []) if found["weight"] == "fault"})
    want = (1, ["dimm-balance"]) if faults else (0, [])
    check(name, (rc, faults) == want, f"exit code {rc}, faults {faults}")
    return made


print("| from one guest to another | figure |")
print("|---|---|")
for name in ["tcp", "tcp-reverse", "tcp-rr", "udp", "rxe-write", "rxe-read-verify", "rxe-send",
             "rxe-send-latency", "siw-write", "siw-read-verify", "siw-send-latency", "fabric-tcp",
             "fabric-verbs"]:
    made = document(name)
    if made is None:
        continue
    result = made["results"][0]
    value = result["estimate"] and result["estimate"]["value"]
    check(name, value and math.isfinite(value) and value > 0, f"{value}, {result['failed']}")
    check(name, result["path"] == "peer" and not result["one_machine"], "two hosts are not told apart")
    if name.endswith("-verify"):
        check(name, (result["verified_bytes"] or 0) > 0, "nothing was compared")
    if name in ("rxe-write", "rxe-read-verify", "siw-write", "siw-read-verify"):
        # The asking end looks without rest; the other takes no part, but for what interrupts cost.
        cpu = result["cpu"] or {}
        ends = cpu.get("source_share"), cpu.get("sink_share")
        check(name, None not in ends and ends[1] < ends[0] / 4, f"CPU of the ends {ends}")
    if value:
        print(f"| {name} | {value:.4g} {result['estimate']['unit']} |")
# What rules say of a wire that loses packets, and of a whole one.
for name, lossy in [("rxe-write", False), ("rxe-send", False), ("rxe-write-small", False),
                    ("rxe-write-lossy", True)]:
    made = document(name)
    found = made and any(finding["rule"] == "rdma-retries" for finding in made["findings"])
    check(name, made is None or found == lossy, f"rdma-retries found: {found}")
rates = {}
for name in ["rxe-write-small", "rxe-write-lossy"]:
    result = (document(name) or {"results": [{}]})["results"][0]
    if result.get("estimate"):
        rates[name] = result["estimate"]["value"]
    else:
        check(name, False, f"no figure: {result.get('failed')}")
if len(rates) == 2:
    check("rxe-write-lossy", rates["rxe-write-lossy"] < rates["rxe-write-small"], f"not slower: {rates}")

# Receive offload that was taken away is named, and only then.
for name, off in [("tcp-reverse", False), ("tcp-reverse-no-gro", True)]:
    made = document(name)
    says = [finding["says"] for finding in made["findings"] if finding["rule"] == "nic-offloads"] if made else []
    # Segmentation offload cannot be had over this wire, and is not asked for.
    want = ["eth0 leaves work to the CPU: gro off"] if off else []
    check(name, made is None or says == want, f"nic-offloads says {says}")

# Every counter of frames that stop a link is kept, by the driver's own name, and none was sent.
counted = set(re.findall(r"^ *(\w*xoff\w*): \d+$", case("counted")[0], re.M))
kept = re.findall(r'"\w+\.(?:received|sent):(\w+)_frames": *(\d+)', case("kept")[0])
check("counted", len(counted) >= 2, f"the driver names {counted}")
check("kept", {name for name, _ in kept} == counted and {n for _, n in kept} == {"0"},
      f"kept {kept[:8]}, the driver names {counted}")
tcp = document("tcp")
if tcp:
    said = [rule["verdict"] for rule in tcp["rules"] if rule["rule"] == "pause-frames"]
    # Another card's counters tell nothing of the wire, whose own are none.
    check("tcp", said == ["unknown"], f"pause-frames says {said}")

# What nobody acknowledges is counted at both ends, whole: what the wire's queue dropped is missing,
# but for a few packets of other traffic among it; a receiver that is late has no buffer for more.
def unacknowledged(name):
    made = document(name)
    counted = made and made["results"][0]["unacknowledged"]
    good = counted and 0 < counted["received"] <= counted["sent"]
    check(name, good, f"counts {counted}")
    return counted["sent"] - counted["received"] if good else None


def dropped(name):
    return int(re.search(r"dropped (\d+)", case(name)[0]).group(1))


unacknowledged("rxe-ud")
lost, by_queue = unacknowledged("rxe-ud-lossy"), dropped("after-ud") - dropped("before-ud")
print(f"UD: {lost} messages lost, the queue dropped {by_queue} packets")
check("rxe-ud-lossy", by_queue > 10, f"the queue dropped {by_queue} packets alone")
check("rxe-ud-lossy", lost is not None and lost >= by_queue - max(5, 0.1 * by_queue),
      f"{lost} lost, {by_queue} dropped")

# Sockets and RDMA by message size, with the CPU of both ends, on one page.
said, rc, _ = case("osu")
check("osu", rc == 0 and "failed" not in said, f"exit code {rc}: {said[-600:]}")
page, rc, _ = case("osu-page")
for head in ["Medians", "CPU of the busiest thread, sender / receiver"]:
    table = page.split(f"## {head}", 1)[-1].split("\n## ", 1)[0]
    for test in ["TCP stream", "TCP round trip", "RDMA write", "RDMA read", "RDMA send round trip"]:
        row = next((line for line in table.splitlines() if line.startswith(f"| {test}")), "")
        cells = [cell.strip() for cell in row.split("|")[2:-1]]
        check("osu-page", len(cells) == 3 and "-" not in cells, f"{head}, {test}: {row}")
medians = page.split("## Medians", 1)[-1].split("\n## ", 1)[0].strip()
print(f"\n{medians}\n")

udp = document("udp")
if udp:
    loss = udp["results"][0]["loss"]
    check("udp", loss is not None, "does not tell of loss")

said, rc, _ = case("study-here")
check("study-here", rc == 0 and "1 of 1 runs" in said, f"exit code {rc}: {said[-400:]}")
said, rc, _ = case("study-both")
check("study-both", rc == 2 and "power down the peer, put a DIMM into DIMM 14 there" in said,
      f"exit code {rc}: {said[-400:]}")
stored = document("peer-host")
if stored:
    def modules(host):
        slots = host["memory"]["slots"]["value"]
        return sum(1 for slot in slots if slot["module"])

    peer = stored["peer_hosts"] or stored["sessions"][0].get("peer_hosts") or [{}]
    names = [stored["sessions"][0]["host"]["name"]["value"], peer[0].get("name", {}).get("value")]
    check("peer-host", names == ["guest-a", "guest-b"], f"hosts: {names}")
    counts = [modules(stored["sessions"][0]["host"]), modules(peer[0]) if peer[0] else None]
    check("peer-host", counts == [2, 1], f"modules: {counts}")

# A mesh of RDMA: both ways between two agents, by the device of the address that each is reached at.
for name, unit in [("mesh", "bit/s"), ("mesh-rr", "ns")]:
    said, rc, _ = case(name)
    try:
        mesh = json.loads(said[said.index("{"):said.rindex("}") + 1])["mesh"]
    except (ValueError, KeyError) as error:
        check(name, False, f"exit code {rc}, {error}: {said[-400:]}")
        continue
    values = [cell["looks"][0]["value"] for cell in mesh["cells"] if cell["looks"]]
    good = len(values) == 2 and all(value and value > 0 for value in values)
    check(name, mesh["unit"] == unit and good, f"{values} {mesh['unit']}, exit code {rc}")
devices = set(re.findall(r'"device": *"(\w+)"', case("mesh-kept")[0]))
check("mesh-kept", devices == {"rxe0"}, f"devices {devices}")

said, rc, took = case("peer-gone")
check("peer-gone", rc in (3, 5), f"exit code {rc}: {said[-600:]}")
check("peer-gone", "hint: " in said, f"gives no hint: {said[-600:]}")
check("peer-gone", took < 90, f"took {took} s")
print(f"\na peer whose power was cut: noticed, exit code {rc} after {took} s")
print(f"{len(CASES)} cases, {len(WRONG)} not as they should be")
for line in WRONG:
    print(f"wrong: {line}")
sys.exit(1 if WRONG else 0)
