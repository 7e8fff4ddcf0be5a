"""Studies of narrows as rows and tables, and measurements from Python.

The program does all that is computed; this starts it and reads what it prints.
"""

import json
import os
import subprocess

__all__ = ["Failed", "measure", "medians", "read", "report", "rows"]

#: Exit codes that come with results: all is well, a bad verdict, something undecided.
_WITH_RESULTS = (0, 1, 4)


class Failed(Exception):
    """The program refused or could not: its message, its hint, its exit code."""

    def __init__(self, code, said):
        lines = said.strip().splitlines()
        told = {
            mark: line[len(mark) :].strip()
            for line in lines
            for mark in ("error:", "hint:")
            if line.startswith(mark)
        }
        #: ``None`` where the program could not be started.
        self.code = code
        self.message = told.get("error:", said.strip() or f"narrows ended with {code}")
        self.hint = told.get("hint:")
        super().__init__(self.message if self.hint is None else f"{self.message} ({self.hint})")


def rows(*files, program=None):
    """A dictionary for every run of the files: docs/report.md has the keys.

    ``file`` is the file that the run is of; a figure that was not measured is ``None``.
    """
    all_rows = []
    for file in files:
        printed = _said(["export", os.fspath(file), "--format", "jsonl"], program, (0,))
        for line in printed.splitlines():
            all_rows.append({"file": os.fspath(file), **json.loads(line)})
    return all_rows


def read(*files, program=None):
    """The same as a pandas DataFrame; ``began`` is the time at which a run began, UTC."""
    import pandas

    table = pandas.DataFrame(rows(*files, program=program))
    if not table.empty:
        table["began"] = pandas.to_datetime(table["began_unix_ns"], unit="ns", utc=True)
    return table


def report(file, program=None):
    """The whole report of a study as narrows computes it: results, predictions, findings."""
    return json.loads(_said(["report", os.fspath(file), "--format", "json"], program, (0,)))


def medians(file, program=None):
    """A dictionary for every cell: label, kind, factors, median, its interval, its unit.

    ``median``, ``low`` and ``high`` are ``None`` where no run had a figure.
    """
    document = report(file, program)
    factors = {trial["label"]: trial.get("levels") or [] for trial in document["trials"]}
    cells = []
    for result in document["results"]:
        estimate = result.get("estimate") or {}
        cell = {"label": result["label"], "kind": result["kind"]}
        for level in factors.get(result["label"], []):
            cell[f"factor_{level['factor']}"] = level["level"]
        cell["median"] = estimate.get("value")
        for key in ("low", "high", "unit", "n"):
            cell[key] = estimate.get(key)
        cells.append(cell)
    return cells


def measure(*words, program=None):
    """Runs a measuring command, such as ``measure("tcp", "server2")``; its JSON document.

    The study file stays where the command puts it (``--out``). A bad verdict is a result, and no
    exception.
    """
    return json.loads(_said([*map(str, words), "--json"], program, _WITH_RESULTS))


def _said(words, program, with_results):
    name = program or os.environ.get("NARROWS") or "narrows"
    try:
        done = subprocess.run(
            [os.fspath(name), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        hint = "hint: install narrows, or name it with program= or the variable NARROWS"
        raise Failed(None, f"error: {name}: {error.strerror}\n{hint}") from error
    if done.returncode not in with_results or not done.stdout.strip():
        raise Failed(done.returncode, done.stderr)
    return done.stdout
