"""Memory traffic of each load in one guest: narrows' own record of the payload beside the plugin's
counts between the marks of the window.

    counts.py OUT        a CSV row for each load, cache and host
"""

import csv
import json
import pathlib
import sys

LINE_BYTES = 64
READ = ["fills", "device_reads"]
WRITTEN = ["write_backs", "device_writes", "device_flushes", "streamed"]
BESIDE = ["device_hits", "device_allocs", "between"]
COLUMNS = ["part", "case", "host", "cache", "payload_bytes", "ratio", *READ, *WRITTEN, *BESIDE,
           "device_read_bytes", "device_written_bytes", "arguments"]


def words(line):
    return dict(word.split("=", 1) for word in line.split()[1:])


def loads_of(text):
    """Marks of each load, with what every cache had counted by then."""
    loads, open_ends = [], 0
    for line in text.splitlines():
        if line.startswith("mark "):
            mark = words(line)
            if mark["what"] == "begins":
                if open_ends == 0:
                    loads.append([])
                open_ends += 1
            open_ends -= mark["what"].startswith("closes")
            mark["caches"] = {}
            loads[-1].append(mark)
        elif line.startswith("cache "):
            cache = words(line)
            key = cache.pop("name"), int(cache.pop("host"))
            loads[-1][-1]["caches"][key] = {name: int(value) for name, value in cache.items()}
    return loads


def cases_of(text):
    """Name of each case, the payload of the run that narrows printed, and the end that counted it."""
    cases = []
    for line in text.splitlines():
        if line.startswith("@case "):
            cases.append([line.split()[1], None, "receiver"])
        elif line.startswith('{"event":"run"'):
            run = json.loads(line)
            if run["outcome"] == "done" and run.get("intervals"):
                cases[-1][1:] = payload_of(run)
    return cases


def payload_of(run):
    """Bytes of a run's window, and the end that counted them. What is written into another's memory
    by RDMA nobody receives, and no interval has it: the sender's rate times the window then."""
    slices = run["intervals"]
    payload = sum(slice["bytes"] for slice in slices)
    if payload > 0 or run["unit"] != "bit/s":
        return payload, "receiver"
    window_ns = sum(slice["length_ns"] for slice in slices)
    return round(run["value"] / 8 * window_ns / 1e9), "sender"


def window(marks, counted_by):
    """Opening and closing of the end whose count is the figure, or of the one end that counts."""
    for end in counted_by, "receiver", "sender":
        edges = [next((mark for mark in marks if mark["what"] == f"{edge}-{end}"), None)
                 for edge in ("opens", "closes")]
        if all(edges):
            return edges
    return None


def rows(out):
    out = pathlib.Path(out)
    asked = {}
    for line in (out / "cases").read_text().splitlines():
        if line.strip():
            name, rest = line.split(None, 1)
            asked[name] = rest
    part = (out / "part").read_text().strip()
    cases, loads = cases_of((out / "said").read_text()), loads_of((out / "counts").read_text())
    if len(cases) != len(loads):
        sys.exit(f"{out}: {len(cases)} cases were run and {len(loads)} loads marked")
    for (name, payload, counted_by), marks in zip(cases, loads):
        edges = window(marks, counted_by)
        if not payload or not edges:
            yield {"part": part, "case": name, "arguments": asked[name], "ratio": ""}
            continue
        opened, closed = edges
        for cache, host in opened["caches"]:
            before, after = opened["caches"][cache, host], closed["caches"][cache, host]
            lines = {key: after[key] - before[key] for key in READ + WRITTEN + BESIDE}
            device = {key: int(closed[f"{key}_{host}"]) - int(opened[f"{key}_{host}"])
                      for key in ("device_read_bytes", "device_written_bytes")}
            crossed = sum(lines[key] for key in READ + WRITTEN) * LINE_BYTES
            yield {"part": part, "case": name, "cache": cache, "payload_bytes": payload,
                   "host": ["sender", "receiver"][host] if part == "wire" else "both",
                   "ratio": f"{crossed / payload:.4f}", "arguments": asked[name], **lines, **device}


def main():
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for out in sys.argv[1:]:
        writer.writerows(rows(out))


if __name__ == "__main__":
    main()
