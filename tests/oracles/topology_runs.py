#!/usr/bin/env python3
"""Records what runs with several aggregators or with nodes write: for a change that must not move anything in them.

Each is made with one thread, with two, and with two in two lives: stopped at half of its rounds and resumed. A line for
each has the SHA-256 of metrics.jsonl and of events.jsonl, and the hashes of the model and of the private values. To
compare two builds, record both and compare the files:

    tests/oracles/topology_runs.py build/release/furlong > before.tsv
    tests/oracles/topology_runs.py build/release/furlong -k processes     only runs whose name contains a word
"""
import argparse
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

import check

COLUMNS = ("name", "way", "exit", "metrics", "events", "model", "private")
WAYS = {"1 thread": 1, "2 threads": 2, "resumed": 2}
# Without [topology] in their scenarios, which are processes.toml and those of check.cases() that set it.
MORE = {
    "tree-secure": ("secure", ["topology.aggregators=4", "scenario.rounds=6", "evaluation.every=3"]),
    "tree-async": ("quickstart", [*check.QUICK, "topology.aggregators=4", "participation.mode=async",
                                  "participation.buffer=8", "participation.concurrency=30"]),
    "tree-faults": ("faults", ["topology.aggregators=3"]),
    "processes-deep": ("processes", [*check.BRANCHES, "topology.aggregators=5", "topology.fan_in=2"]),
    "processes-async": ("processes", [*check.BRANCHES, "participation.mode=async", "participation.buffer=4",
                                      "participation.concurrency=10"]),
    "processes-exact": ("processes", [*check.BRANCHES, "algorithm.kind=scaffold"]),
}


def cases():
    """name -> (scenario, settings)"""
    return {name: case for name, case in check.cases().items()
            if case[0] == "processes" or any(setting.startswith("topology.") for setting in case[1])} | MORE


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else "-"


def rounds_of(furlong, folder, scenario, settings):
    """Of the whole run."""
    check.run(furlong, folder, scenario, settings)
    summary = Path(folder, "run", "summary.json")
    return json.loads(summary.read_text())["rounds"] if summary.exists() else 0


def finished(furlong, folder, scenario, settings, way):
    """How it ended; its files are in the folder."""
    if way != "resumed":
        return check.run(furlong, folder, scenario, settings, threads=WAYS[way])
    with tempfile.TemporaryDirectory() as other:
        rounds = rounds_of(furlong, other, scenario, settings)
    others = [setting for setting in settings if not setting.startswith("scenario.rounds=")]
    check.run(furlong, folder, scenario, [*others, f"scenario.rounds={max(1, rounds // 2)}"], threads=WAYS[way])
    return check.run(furlong, folder, scenario, [*others, f"scenario.rounds={rounds}"], "--resume", threads=WAYS[way])


def row_of(furlong, name, scenario, settings, way):
    with tempfile.TemporaryDirectory() as folder:
        ended = finished(furlong, folder, scenario, settings, way)
        model, private = check.row_of(name, ended, folder)[2:4]
        files = Path(folder, "run")
        return [name, way, str(ended.returncode), digest(files / "metrics.jsonl"), digest(files / "events.jsonl"),
                model, private]


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("furlong")
    words.add_argument("-k", default="", help="only runs whose name contains this")
    options = words.parse_args()
    os.environ["FURLONG_KERNEL_LEVEL"] = "portable"
    print(*COLUMNS, sep="\t")
    failed = 0
    for name, case in cases().items():
        for way in WAYS if options.k in name else ():
            row = row_of([os.path.abspath(options.furlong)], name, *case, way)
            failed += row[2] != "0"
            print(*row, sep="\t", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
