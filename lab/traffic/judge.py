"""Judges what lab/traffic/test counted: each figure against what arithmetic demands of it.

    judge.py LO LO-AGAIN NICS      folders that lab/traffic/boot filled
"""

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
        if case == "siw-write-cold" and not cache.startswith("4M"):
            # The same of RDMA in software, whose payload is told by completions: a message or two
            # that are under way are on the wrong side of an edge.
            within(f"{name}: fills", per["fills"], 1.8, 2.4)
            within(f"{name}: write-backs", per["write_backs"], 0.9, 1.3)
        if case == "tcp-cold-dropped" and not cache.startswith("4M"):
            # No destination: the source alone, and what of the socket's memory does not stay.
            within(f"{name}: fills", per["fills"], 0.9, 2.2)
    for case in {case for case, _, _ in cells}:
        small, large = (cells[case, "both", cache]["ratio"] for cache in ("512K:16", "4M:16"))
        check(case, large <= small * 1.01, f"more crosses with 4 MiB ({large}) than 512 KiB ({small})")


def agree(first, second):
    """Two boots have other random numbers and a serial line that this host empties: nearly the same."""
    first, second = by_cell(first), by_cell(second)
    check("two boots", first.keys() == second.keys(), "did not count the same loads")
    for cell in first.keys() & second.keys():
        one, other = first[cell]["ratio"], second[cell]["ratio"]
        check(f"{cell} of two boots", abs(one - other) <= 0.1 + 0.15 * max(one, other),
              f"{one:.3f} and {other:.3f}")


def through_devices(out):
    cells = by_cell(out)
    for (case, _, cache), per in cells.items():
        name = f"{case} {cache} through devices"
        # Payload, headers and descriptors, once out of memory and once into it.
        for key in "device_read_bytes", "device_written_bytes":
            within(f"{name}: {key}", per[key], 0.95, 1.2)
        if ":io" in cache:
            # What a device reads is there already, but for what had to go.
            check(name, per["device_flushes"] == 0, "a line was written for a device that may ask caches")
            continue
        # The paper's least figures of both ends together: out of memory and into it once each, and
        # read by the receiver (1 + 2); from and to a span that no cache holds also fetched, fetched
        # and written back (2 + 4). What is dropped the kernel has read for its checksum (2 + 2).
        least = {"tcp-hot": 2.9, "tcp-cold": 5.7, "tcp-cold-dropped": 3.8}[case]
        # A small cache loses the kernel's own memory too, and how much is no arithmetic.
        most = least * (1.6 if cache.startswith("4M") else 5)
        within(name, per["ratio"], least, most)
        within(f"{name}: read or flushed for the sender's device",
               per["device_reads"] + per["device_flushes"], 0.95, 1.5)
        within(f"{name}: written by the receiver's device", per["device_writes"], 0.95, 1.6)
    for case in {case for case, _, _ in cells}:
        plain, ways = (cells[case, "both", cache]["ratio"] for cache in ("1M:16", "1M:16:io2"))
        check(case, ways < plain, f"devices with ways of the cache move more ({ways} and {plain})")


def main():
    first, second, nics = sys.argv[1:]
    one_host(first)
    agree(first, second)
    through_devices(nics)
    print(f"{asked} figures asked, {len(wrong)} not as arithmetic has them")
    for line in wrong:
        print(f"wrong: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
