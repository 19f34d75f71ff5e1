#!/usr/bin/env python3
"""scenarios/million.toml at 10,000 and at 1,000,000 clients: memory, and the cost of a round. `./dev bench population` runs
this; by hand: bench/population.py [BUILD_FOLDER] [--starved]. JSON lines on stdout, a table on stderr.

Two runs of each size, a short and a long one; the additional rounds of the long one are compared, without loading and
start. Under FURL clients of the small population return, and their stored values are read and trained further, while cold
starts are free; FedRecon, which stores nothing, is the same comparison without the store.

Starved: an asynchronous run that wants 2,000 tasks in flight of clients that rest for one to three hours after each, so
that all that are eligible are always selected. One run of each size; the cost of a task. --starved measures only this.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEW, MANY = 10_000, 1_000_000
FIRST, ROUNDS = 20, 100  # rounds before the ones compared, and these
REPETITIONS = 5
MEMORY_BAR = 2 << 30
COST_BAR = 1 / 1.2  # a round of the large population against one of the small
STARVED = """
[scenario]
name = "starved"
until = {virtual_seconds = 21600}
[data]
source = "synthetic-ratings"
users = 2500
items = 100
ratings_per_user = 12
[model]
kind = "matrix-factorization"
rank = 2
private = ["user"]
[algorithm]
kind = "fedrecon"
client = {lr = 0.05}
[participation]
mode = "async"
buffer = 20
concurrency = 2000
reconnect = [3600, 10800]
[devices]
speed = {ms_per_example = 100, sigma = 1.0}
"""
STARVED_BAR = 1 / 3  # a task in the larger populations against one in the smallest


def run_million(build, algorithm, clients, rounds):
    """The summary of a run on two threads, with the seconds outside of its rounds, evaluations and checkpoints."""
    return run(build, ROOT / "scenarios/million.toml", 2, {
        "algorithm.kind": algorithm, "data.users": clients, "scenario.rounds": rounds, "checkpoint.every": 10,
        "evaluation.every": 0, "private.cold_start": "default"})


def run(build, scenario, threads, settings):
    with tempfile.TemporaryDirectory() as scratch:
        command = [build / "furlong", "run", scenario, "--out", Path(scratch) / "run",
                   "--threads", threads, "--format", "json"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        begun = time.monotonic()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # 1: the expectations of the full run do not hold for this one
            sys.exit(f"bench population: furlong run ended with status {done.returncode}: {done.stderr[-300:]}")
        summary = json.loads(done.stdout)
        summary["around_seconds"] = time.monotonic() - begun - summary["wall_seconds"]
        return summary


def costs(build, algorithm, clients):
    """Seconds of a round, wall and processor, with its share of the checkpoints; and the longer run's summary."""
    short = run_million(build, algorithm, clients, FIRST)
    long = run_million(build, algorithm, clients, FIRST + ROUNDS)
    return [(long[key] - short[key]) / ROUNDS for key in ("wall_seconds", "cpu_seconds")], long


def tell(case, metric, value, unit, baseline=None, ratio=None, bar=None):
    print(json.dumps({"bench": "population", "case": case, "metric": metric, "value": value, "unit": unit,
                      "baseline": baseline, "ratio": ratio}), flush=True)
    verdict = "" if ratio is None else f"{ratio:9.3g} x {baseline}"
    if bar is not None:
        verdict += f" (bar {bar:.3g}: {'held' if ratio >= bar else 'MISSED'})"
    print(f"{'population':11} {case:16} {metric:22} {value:14.4g} {unit:6} {verdict}", file=sys.stderr)


def compare(build, algorithm):
    taken = {FEW: [], MANY: []}
    last = {}
    for _ in range(REPETITIONS):  # alternating, so that other load affects both
        for clients, all_costs in taken.items():
            cost, last[clients] = costs(build, algorithm, clients)
            all_costs.append(cost)
    for which, metric in enumerate(("wall_per_round", "cpu_per_round")):
        small, large = ([cost[which] for cost in taken[clients]] for clients in (FEW, MANY))
        tell(f"{algorithm}-10k", metric, statistics.median(small), "s")
        ratio = statistics.median(few / many for few, many in zip(small, large))
        tell(f"{algorithm}-1m", metric, statistics.median(large), "s", f"{algorithm}-10k", ratio,
             COST_BAR if metric == "cpu_per_round" else None)
    for clients, name in ((FEW, "10k"), (MANY, "1m")):
        bar = (f"{MEMORY_BAR} bytes", MEMORY_BAR / last[clients]["peak_rss_bytes"], 1.0) if clients == MANY else ()
        tell(f"{algorithm}-{name}", "peak_rss", last[clients]["peak_rss_bytes"], "bytes", *bar)
        tell(f"{algorithm}-{name}", "before_and_after", last[clients]["around_seconds"], "s")


def starve(build):
    with tempfile.TemporaryDirectory() as scratch:
        scenario = Path(scratch) / "starved.toml"
        scenario.write_text(STARVED, encoding="utf-8")
        smallest = None
        for clients in (2500, 20_000, 1_000_000):
            summary = run(build, scenario, 1, {"data.users": clients})
            cost = 1e6 * summary["cpu_seconds"] / summary["selected"]
            case = f"starved-{clients}"
            if smallest is None:
                smallest = cost
                tell(case, "cpu_per_task", cost, "us")
            else:
                tell(case, "cpu_per_task", cost, "us", "starved-2500", smallest / cost, STARVED_BAR)
            tell(case, "cpu", summary["cpu_seconds"], "s")


def main():
    words = [word for word in sys.argv[1:] if word != "--starved"]
    build = Path(words[0] if words else os.environ.get("FURLONG_BUILD", ROOT / "build/release"))
    for algorithm in ("furl", "fedrecon") if len(words) == len(sys.argv) - 1 else ():
        compare(build, algorithm)
    starve(build)


if __name__ == "__main__":
    main()
