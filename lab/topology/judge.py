"""Judges what `narrows host` said in each guest of lab/topology against what was built."""

import json
import pathlib
import sys

top = pathlib.Path(sys.argv[1])
wrong, labels = [], 0


def value(fact):
    return fact.get("value") if isinstance(fact, dict) and fact.get("state") == "known" else None


def judge(name, expect, document, drawing):
    host, results = document["host"], document["results"]
    memory = results["memory"]
    said = []

    def same(what, have, want):
        if have != want:
            said.append(f"{what} is {have}, not {want}")

    if "populated" in expect:
        slots = value(host["memory"]["slots"]) or []
        filled = [slot for slot in slots if slot["module"]]
        same("populated", sorted(slot["locator"] for slot in filled), expect["populated"])
        counts = [0] * len(expect["modules_by_socket"])
        for slot in filled:
            counts[slot["at"]["socket"]] += 1
        same("modules by socket", counts, expect["modules_by_socket"])
        same("the paper's label", memory["lenovo_2019_balanced"], expect["lenovo_2019_balanced"])
        same("sockets differ", memory["sockets_differ"], expect["sockets_differ"])
    found = {rule["rule"]: rule for rule in results["rules"] if rule["verdict"] == "found"}
    if "names" in expect:
        text = json.dumps(found.get("dimm-balance", {}))
        if expect["names"] not in text:
            said.append(f"the rule on balance does not name slot {expect['names']}: {text[:300]}")
    if "finds" in expect and expect["finds"] not in found:
        said.append(f"{expect['finds']} was not found, but {sorted(found)}")
    nodes = value(host["nodes"]) if isinstance(host["nodes"], dict) else host["nodes"]
    same("nodes", len(nodes), expect["nodes"])
    if "distances" in expect:
        same("distances", [value(node["distances"]) for node in nodes], expect["distances"])
        bare = [node["id"] for node in nodes if not node["cpus"]]
        same("nodes without CPUs", bare, expect["without_cpus"])
        nics = {value(nic["driver"]): value(nic["node"]) for nic in host["nics"]}
        for number, (rate, latency) in expect["hmat"].items():
            access = nodes[int(number)].get("access") or {}
            same(f"HMAT of node {number}", [access.get("read_bytes_per_second", 0) / 2**20,
                                            access.get("read_latency_ns")], [rate, latency])
        ports = [value(hop["link"]) for device in host["devices"] for hop in device["path"][:-1]]
        told = [[port[key] for key in ("speed_gts", "width", "speed_max_gts", "width_max")] for port in ports]
        same("ports below what they can", sorted(told), expect["ports"])
        # A slot that could do more than its device is nobody's fault.
        same("what limits a link", drawing.count("  device  "), len(expect["ports"]))
        same("faults of links", [name for name in found if name == "pcie-link"], [])
        same("nodes of NICs", {k: v for k, v in nics.items() if k in expect["nics"]}, expect["nics"])
    return said


count = 0
for folder in sorted(path for path in top.iterdir() if (path / "expect.json").exists()):
    count += 1
    expect = json.loads((folder / "expect.json").read_text())
    text = (folder / "said").read_text(errors="replace") if (folder / "said").exists() else ""
    try:
        document = json.loads(text.split("@json\n")[1].split("@drawing")[0])
        said = judge(folder.name, expect, document, text)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        said = [f"no answer: {error!r}: {text[-400:]}"]
    if folder.name[:3] in ("one", "two") and not said:
        labels += 1
    wrong += [f"{folder.name}: {line}" for line in said]

print(f"{count} machines; the paper's populations: {labels} of 18 as they were built")
for line in wrong:
    print(f"wrong: {line}")
sys.exit(1 if wrong else 0)
