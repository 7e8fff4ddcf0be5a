"""Draws what lab/traffic/run counted: the tables of docs/traffic.md, between their marks, and its
figure. Nothing in them is written by hand.

    draw.py COUNTS.csv DOCS      DOCS/traffic.md gets its tables, DOCS/traffic.svg is the figure
"""

import csv
import html
import pathlib
import re
import sys

PARTS = [("CPU read", ["fills"], "#4878a8"),
         ("CPU wrote", ["write_backs", "streamed"], "#e08214"),
         ("NIC read", ["device_reads"], "#7fbf7b"),
         ("NIC wrote", ["device_writes"], "#af8dc3"),
         ("written for the NIC", ["device_flushes"], "#c0392b")]
LINE_BYTES = 64
# What must cross the bus at least, by the paths of the bytes: case, cache, figure, why.
LEAST = [("mem", "mem-copy", "1M:16", "1.5", "of two bytes counted, one fetched, one fetched and written back"),
         ("mem", "mem-write-past", "1M:16", "1", "written, nothing fetched"),
         ("lo", "tcp-hot", "4M:16", "0", "all stays in the cache"),
         ("lo", "tcp-cold-dropped", "4M:16", "1", "source fetched"),
         ("lo", "tcp-cold", "4M:16", "3", "and destination fetched and written back"),
         ("nics", "tcp-hot", "4M:16", "1 + 2",
          "read by a NIC; written by a NIC and read (the paper's best case, in cache)"),
         ("nics", "tcp-cold", "4M:16", "2 + 4",
          "and source fetched; destination fetched and written back (the paper's, not in cache)"),
         ("nics", "tcp-cold-zerocopy", "4M:16", "1 + 4", "read by a NIC where the program has it"),
         ("nics", "tcp-cold-sendfile", "4M:16", "1 + 4", "the same of a file in memory"),
         ("nics", "tcp-cold-dropped", "4M:16", "2 + 2", "written by a NIC, and read for its checksum"),
         ("nics", "tcp-hot", "4M:16:io2", "0", "NICs read and write in the cache")]

# The OSU paper's minima of a NIC without ways in the cache: load, sender, receiver.
PAPER = [("tcp-64K-hot", "1", "2"), ("tcp-64K-cold", "2", "4"), ("tcp-1K-cold", "2", "4"),
         ("tcp-64K-cold-zerocopy", "1", "4"), ("tcp-64K-cold-sendfile", "1", "4"),
         ("tcp-64K-cold-dropped", "2", "2"), ("udp", "1", "2")]


def read(path):
    with open(path, newline="") as file:
        return [row for row in csv.DictReader(file) if row["ratio"]]


def per_byte(row, keys):
    return sum(int(row[key]) for key in keys) * LINE_BYTES / int(row["payload_bytes"])


def by_cache(rows, part, host):
    """A table: a row for each load, a column for each cache, memory's bytes a payload byte."""
    rows = [row for row in rows if row["part"] == part and row["host"] == host]
    if not rows:
        return "Not counted in this run."
    caches = list(dict.fromkeys(row["cache"] for row in rows))
    lines = ["| load | payload, MB | " + " | ".join(f"`{cache}`" for cache in caches) + " |",
             "|---|---|" + "---|" * len(caches)]
    for case in dict.fromkeys(row["case"] for row in rows):
        cells = {row["cache"]: row for row in rows if row["case"] == case}
        payload = int(next(iter(cells.values()))["payload_bytes"]) / 1e6
        figures = [f"{float(cells[cache]['ratio']):.2f}" if cache in cells else "-" for cache in caches]
        lines.append(f"| {case} | {payload:.1f} | " + " | ".join(figures) + " |")
    return "\n".join(lines)


def least(rows):
    """What arithmetic asks for at least, beside what was counted."""
    found = {(row["part"], row["case"], row["cache"]): row for row in rows}
    lines = ["| load | cache | at least | counted | why |", "|---|---|---|---|---|"]
    for part, case, cache, figure, why in LEAST:
        row = found.get(("lo" if part == "mem" else part, case, cache))
        if row:
            counted = float(row["ratio"])
            lines.append(f"| {case} ({part}) | `{cache}` | {figure} | {counted:.2f} | {why} |")
    return "\n".join(lines)


def paper(rows):
    """Two hosts, each end's memory beside the least of its path."""
    caches = ["4M:16", "512K:16"]
    found = {(row["case"], row["host"], row["cache"]): float(row["ratio"]) for row in rows
             if row["part"] == "wire"}
    if not found:
        return "Not counted in this run."
    heads = [f"{end}, `{cache}`" for end in ("sender", "receiver") for cache in caches]
    heads.insert(0, "sender, least")
    heads.insert(3, "receiver, least")
    lines = ["| load | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for case, *minima in PAPER:
        cells = []
        for end, least in zip(("sender", "receiver"), minima):
            counted = [found.get((case, end, cache)) for cache in caches]
            cells += [least, *("-" if one is None else f"{one:.2f}" for one in counted)]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def asked(rows):
    """What narrows was called with, for each load."""
    lines = ["| load | `narrows` with |", "|---|---|"]
    seen = dict.fromkeys((row["part"], row["case"], row["arguments"]) for row in rows)
    for part, case, arguments in seen:
        how, command = arguments.split(None, 1)
        cut = ", without GSO, TSO and GRO" if how == "cut" else ""
        lines.append(f"| {case} ({part}) | `{command}`{cut} |")
    return "\n".join(lines)


def bars(rows):
    """The figure: a stacked bar for each load and host."""
    width, left, line, top = 360, 128, 13, 34
    most = max(float(row["ratio"]) for row in rows)
    scale = (width - left - 30) / most
    height = top + line * len(rows) + 26
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="7">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>',
           '<text x="6" y="11" font-size="8.5">Bytes over the memory bus a payload byte</text>']
    x = 6
    for name, _, colour in PARTS:
        out.append(f'<rect x="{x}" y="18" width="7" height="7" fill="{colour}"/>'
                   f'<text x="{x + 9}" y="24.5">{name}</text>')
        x += 20 + 3.9 * len(name)
    for tick in range(int(most) + 1):
        at = left + tick * scale
        out.append(f'<path d="M{at:.1f} {top - 4}V{height - 20}" stroke="#ddd" stroke-width=".5"/>'
                   f'<text x="{at:.1f}" y="{height - 12}" text-anchor="middle">{tick}</text>')
    for index, row in enumerate(rows):
        y = top + index * line
        where = row["part"] if row["host"] == "both" else row["host"]
        label = html.escape(f"{row['case']}, {where}")
        out.append(f'<text x="{left - 4}" y="{y + 7}" text-anchor="end">{label}</text>')
        x = left
        for _, keys, colour in PARTS:
            size = per_byte(row, keys) * scale
            out.append(f'<rect x="{x:.1f}" y="{y}" width="{size:.1f}" height="9" fill="{colour}"/>')
            x += size
        out.append(f'<text x="{x + 3:.1f}" y="{y + 7}">{float(row["ratio"]):.2f}</text>')
    out.append(f'<text x="6" y="{height - 3}" fill="#555">cache {html.escape(rows[0]["cache"])}; '
               'lo is loopback, nics a host with two NICs, sender and receiver two hosts</text></svg>')
    return "\n".join(out) + "\n"


def main():
    source, docs = sys.argv[1], pathlib.Path(sys.argv[2])
    rows = read(source)
    tables = {"least": least(rows), "lo": by_cache(rows, "lo", "both"), "nics": by_cache(rows, "nics", "both"),
              "sender": by_cache(rows, "wire", "sender"),
              "receiver": by_cache(rows, "wire", "receiver"), "paper": paper(rows), "asked": asked(rows)}
    page = (docs / "traffic.md").read_text()
    for name, table in tables.items():
        page, many = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->)",
                             lambda found, table=table: f"{found[1]}{table}\n{found[2]}", page,
                             flags=re.S)
        if many != 1:
            sys.exit(f"{docs / 'traffic.md'}: not one place for the table `{name}`")
    (docs / "traffic.md").write_text(page)
    shown = [row for row in rows if row["cache"] == "1M:16" and not row["case"].startswith("mem-")]
    (docs / "traffic.svg").write_text(bars(shown))


if __name__ == "__main__":
    main()
