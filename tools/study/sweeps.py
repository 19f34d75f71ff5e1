"""Sweeps of a study: what they run, running them, and what they would cost."""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field

from tables import table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAILED = 4  # exit code of furlong: some runs failed, others may be finished


def toml(value):
    """A value as a scenario has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


@dataclass(frozen=True)
class Sweep:
    """A `furlong sweep` of one scenario. Values of settings and grid are Python's, not TOML."""
    scenario: str  # below scenarios/
    folder: str  # below the study's
    about: dict  # columns of all its rows
    grid: dict  # key: values
    seeds: tuple
    settings: dict = field(default_factory=dict)
    smoke: bool = False
    may_diverge: bool = False  # rows of diverged runs have no "eval" in their summary; else they end the study
    group: str = ""  # the line of --plan that it is part of
    cpu_seconds: float = 0.0  # expected, of all its runs

    @property
    def runs(self):
        return len(self.seeds) * math.prod(len(values) for values in self.grid.values())

    def command(self, furlong, out, jobs):
        command = [furlong, "sweep", ROOT / "scenarios" / self.scenario, "--out", out, "--jobs", jobs]
        command += ["--seeds", ",".join(map(str, self.seeds))]
        for key, values in self.grid.items():
            command += ["--grid", f"{key}=" + ",".join(map(toml, values))]
        for key, value in self.settings.items():
            command += ["--set", f"{key}={toml(value)}"]
        return [str(word) for word in command] + ["--smoke"] * self.smoke


def data_root(folders):
    """The first folder that has all of these; where none has, the first, so that furlong's message names it."""
    roots = [os.environ.get("FURLONG_DATA") or ROOT / "data", ROOT / "data", ROOT.parent / "shared" / "data"]
    complete = (root for root in roots if all((pathlib.Path(root) / folder).is_dir() for folder in folders))
    return str(next(complete, roots[0]))


class Runner:
    """Runs what is not finished of a sweep; gives the rows of its sweep.json, each with the run's summary."""

    def __init__(self, options, folders):
        self.options, self.environment = options, dict(os.environ, FURLONG_DATA=data_root(folders))
        self.runs, self.cpu_seconds = 0, 0.0

    def __call__(self, sweep):
        out = self.options.out / sweep.folder
        print(f"{self.options.name}: {sweep.folder}", file=sys.stderr, flush=True)
        done = subprocess.run(sweep.command(self.options.furlong, out, self.options.jobs), stdout=subprocess.DEVNULL,
                              check=False, env=self.environment)
        if done.returncode not in (0, FAILED if sweep.may_diverge else 0):
            sys.exit(done.returncode)
        rows = []
        for run in json.loads((out / "sweep.json").read_text())["runs"]:
            if run["status"] not in ("done", "diverged"):
                sys.exit(FAILED)
            summary = json.loads((out / run["run"] / "summary.json").read_text())
            # No page needs it, and SCAFFOLD's on MovieLens takes 5 GB a run.
            shutil.rmtree(out / run["run"] / "private", ignore_errors=True)
            if run["status"] == "diverged":
                summary.pop("eval", None)
            self.runs += 1
            self.cpu_seconds += summary.get("cpu_seconds", 0.0)
            rows.append({**sweep.about, "seed": run["seed"], "grid": run["grid"], "summary": summary})
        return rows


class Planner:
    """Stands in for a Runner: runs nothing, and gives no rows."""

    def __init__(self):
        self.cost = defaultdict(lambda: [0, 0.0])

    def __call__(self, sweep):
        line = self.cost[sweep.group]
        line[0] += sweep.runs
        line[1] += sweep.cpu_seconds
        return []

    def table(self):
        lines = [[group, str(runs), f"{seconds:.0f}"] for group, (runs, seconds) in self.cost.items()]
        runs, seconds = (sum(column) for column in zip(*self.cost.values()))
        return table(["sweeps", "runs", "CPU s"],
                     [*lines, ["all", str(runs), f"{seconds:.0f} ({seconds / 3600:.2f} core-hours)"]])
