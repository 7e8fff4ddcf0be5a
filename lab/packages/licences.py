"""usage: licences.py TARGET: the licences of all crates that are built in, with their texts.

A program that has others' code in it goes out with their notices (MIT, BSD, Apache-2.0).
"""

import gzip
import json
import pathlib
import subprocess
import sys


def crates(target):
    """The packages that cargo resolves for the program on this target, without its own."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    document = json.loads(subprocess.check_output([*command, "--filter-platform", target]))
    nodes = {node["id"]: node for node in document["resolve"]["nodes"]}
    packages = {package["id"]: package for package in document["packages"]}
    own = set(document["workspace_members"])
    seen, waiting = set(), [one for one in own if packages[one]["name"] == "narrows"]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        waiting += [dep["pkg"] for dep in nodes[one]["deps"] if is_built_in(dep)]
    return sorted((packages[one] for one in seen - own), key=lambda p: (p["name"], p["version"]))


def is_built_in(dependency):
    """Not one of tests or of build scripts alone."""
    return any(kind["kind"] is None for kind in dependency["dep_kinds"])


def texts(package):
    """Files of its folder that are licences or notices."""
    folder = pathlib.Path(package["manifest_path"]).parent
    named = ("license", "licence", "copying", "notice", "unlicense", "copyright")
    files = sorted(one for one in folder.iterdir() if one.name.lower().startswith(named))
    return [one for one in files if one.is_file()]


def names_of_devices():
    """The notice of the list of PCI names, which is a file and no crate."""
    with gzip.open("crates/host/data/pci.ids.gz", "rt", encoding="utf-8") as list_of_names:
        head = [line for line in list_of_names if line.startswith("#")]
    terms = pathlib.Path("packaging/bsd-3-clause.txt").read_text()
    print(f"{'=' * 80}\npci.ids: BSD-3-Clause\n\n{''.join(head)}\n{terms}")


def main():
    without = []
    for package in crates(sys.argv[1]):
        print(f"{'=' * 80}\n{package['name']} {package['version']}: {package['license']}\n")
        files = texts(package)
        for file in files:
            print(f"--- {file.name}\n{file.read_text(errors='replace').strip()}\n")
        if not files:
            without.append(package)
            print("\n".join(package["authors"]))
    names_of_devices()
    for package in without:
        print(f"{package['name']}: no file with its licence", file=sys.stderr)


main()
