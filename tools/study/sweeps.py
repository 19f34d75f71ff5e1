"""Sweeps of a study: what they run, running them, keeping their figures, and what they would cost."""
import hashlib
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

    @property
    def arguments(self):
        words = ["--seeds", ",".join(map(str, self.seeds))]
        for key, values in self.grid.items():
            words += ["--grid", f"{key}=" + ",".join(map(toml, values))]
        for key, value in self.settings.items():
            words += ["--set", f"{key}={toml(value)}"]
        return words + ["--smoke"] * self.smoke

    def command(self, furlong, out, jobs):
        scenario = ROOT / "scenarios" / self.scenario
        return [*map(str, (furlong, "sweep", scenario, "--out", out, "--jobs", jobs)), *self.arguments]

    @property
    def identity(self):
        """Differs if other arguments or another scenario would be run."""
        scenario = (ROOT / "scenarios" / self.scenario).read_text()
        return hashlib.sha256("\0".join([scenario, *self.arguments]).encode()).hexdigest()[:16]


def data_root(folders):
    """The first folder that has all of these; where none has, the first, so that furlong's message names it."""
    roots = [os.environ.get("FURLONG_DATA") or ROOT / "data", ROOT / "data", ROOT.parent / "shared" / "data"]
    complete = (root for root in roots if all((pathlib.Path(root) / folder).is_dir() for folder in folders))
    return str(next(complete, roots[0]))


class Figures:
    """What tables read of the summaries of finished sweeps, in a file with a line for each sweep."""
    PARTS = ("cpu_seconds", "eval", "client_groups", "participation", "private_staleness", "privacy", "bytes_up", "folded")
    NAMES = {*PARTS, "validation", "seen", "unseen", "by_participation", "rmse", "accuracy", "full_hr_10",
             "sampled_hr_10", "full_ndcg_10", "sampled_ndcg_10", "clients", "least", "most",
             "never_folded", "mean", "epsilon", "client_groups", "honest", "attack_success"}

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.sweeps = {one["sweep"]: one for one in map(json.loads, lines)}

    @classmethod
    def of(cls, summary):
        """The same structure, with these names only and seven digits. Of ratings the accuracy is shown nowhere."""
        if isinstance(summary, dict):
            left_out = {"accuracy"} if "rmse" in summary else set()
            return {key: cls.of(value) for key, value in summary.items() if key in cls.NAMES - left_out}
        if isinstance(summary, list):
            return [cls.of(value) for value in summary]
        return float(f"{summary:.7g}") if isinstance(summary, float) else summary

    def rows(self, sweep):
        """Those of the same sweep, or None."""
        known = self.sweeps.get(sweep.folder, {})
        return known["runs"] if known.get("identity") == sweep.identity else None

    def keep(self, sweep, rows):
        runs = [{"seed": row["seed"], "grid": row["grid"],
                 "summary": self.of({part: row["summary"][part] for part in self.PARTS if part in row["summary"]})}
                for row in rows]
        self.sweeps[sweep.folder] = {"sweep": sweep.folder, "identity": sweep.identity, "runs": runs}
        self.path.parent.mkdir(exist_ok=True)
        written = self.path.with_suffix(".new")
        written.write_text("".join(json.dumps(self.sweeps[folder], separators=(",", ":")) + "\n"
                                   for folder in sorted(self.sweeps)))
        written.replace(self.path)


class Runner:
    """Gives the rows of a sweep: its kept figures, else those of its sweep.json, each with the run's summary. Runs what is
    not finished."""

    def __init__(self, options, folders, figures=None):
        self.options, self.environment = options, dict(os.environ, FURLONG_DATA=data_root(folders))
        self.figures = figures
        self.runs, self.cpu_seconds = 0, 0.0

    def __call__(self, sweep):
        rows = self.figures.rows(sweep) if self.figures else None
        if rows is None:
            rows = self.run(sweep)
            if self.figures:
                self.figures.keep(sweep, rows)
        self.runs += len(rows)
        self.cpu_seconds += sum(row["summary"].get("cpu_seconds", 0.0) for row in rows)
        return [{**sweep.about, **row} for row in rows]

    def run(self, sweep):
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
            rows.append({"seed": run["seed"], "grid": run["grid"], "summary": summary})
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
