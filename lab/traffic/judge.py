"""Judges what lab/traffic/test counted: each figure against what arithmetic demands of it.

    judge.py LO LO-AGAIN WIRE      folders that lab/traffic/boot filled; WIRE may be `-`
"""

import pathlib
import sys

import counts

wrong, asked = [], 0


def check(what, good, said):
    global asked
    asked += 1
    if not good:
        wrong.append(f"{what}: {said}")


def within(what, value, least, most):
    check(what, least <= value <= most, f"{value:.3f} is not in {least} to {most}")


def by_cell(out):
    found = {}
    for row in counts.rows(out):
        if row["ratio"] == "":
            check(row["case"], False, "narrows gave no figure, or no window was marked")
            continue
        per = {key: row[key] * counts.LINE_BYTES / row["payload_bytes"]
               for key in counts.READ + counts.WRITTEN + counts.BESIDE}
        per["ratio"] = float(row["ratio"])
        for key in "device_read_bytes", "device_written_bytes":
            per[key] = row[key] / row["payload_bytes"]
        found[row["case"], row["host"], row["cache"]] = per
    return found


def one_host(out):
    cells = by_cell(out)
    for (case, _, cache), per in cells.items():
        name = f"{case} {cache}"
        check(name, per["device_read_bytes"] + per["device_written_bytes"] < 0.01,
              "loopback has no device, but one moved bytes")
        if case == "tcp-hot" and cache.startswith("4M"):
            within(name, per["ratio"], 0, 0.1)
        if case == "tcp-cold" and not cache.startswith("4M"):
            # Source read, destination fetched for its stores and written back; the socket's memory
            # crosses at most: fetched, written, and read once more.
            within(f"{name}: fills", per["fills"], 1.9, 4.2)
            within(f"{name}: write-backs", per["write_backs"], 0.9, 2.2)
        if case == "tcp-dropped" and not cache.startswith("4M"):
            # No destination: the source alone, and what of the socket's memory does not stay.
            within(f"{name}: fills", per["fills"], 0.9, 2.2)
    for case in {case for case, _, _ in cells}:
        small, large = (cells[case, "both", cache]["ratio"] for cache in ("512K:16", "4M:16"))
        check(case, large <= small * 1.01, f"more crosses with 4 MiB ({large}) than 512 KiB ({small})")


def two_hosts(out):
    cells = by_cell(out)
    for (case, host, cache), per in cells.items():
        name = f"{case} {host} {cache}"
        moved = per["device_read_bytes" if host == "sender" else "device_written_bytes"]
        within(f"{name}: bytes that the device moved", moved, 0.9, 1.3)
        if ":io" in cache:
            continue
        # The paper's least figures: a sender's NIC fetches each byte, a receiver's writes it and the
        # program reads it; from and to a span that no cache holds once or twice more.
        least = {"tcp-hot": (0.9, 1.8), "tcp-cold": (1.8, 3.6)}[case][host == "receiver"]
        check(name, per["ratio"] >= least, f"{per['ratio']:.3f} is below {least}")
        check(name, per["ratio"] <= 6.5, f"{per['ratio']:.3f} is more than every copy missing")


def main():
    first, second, wire = sys.argv[1:]
    one_host(first)
    told = [(pathlib.Path(out) / "counts").read_text() for out in (first, second)]
    check("two boots", told[0] == told[1], "count differently, though instructions are the clock")
    if wire != "-":
        two_hosts(wire)
    print(f"{asked} figures asked, {len(wrong)} not as arithmetic has them")
    for line in wrong:
        print(f"wrong: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
