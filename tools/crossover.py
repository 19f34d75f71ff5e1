#!/usr/bin/env python3
"""Makes the figure and the tables of docs/crossover.md: when does keeping private values pay?

usage: crossover.py --furlong PROGRAM [--out DIR] [--jobs N] [--smoke]

Runs a `furlong sweep` per scenario of scenarios/crossover/ and dropout rate into DIR (runs/crossover; what is finished
there is kept), then writes docs/images/crossover.svg and the tables of docs/crossover.md, between its two markers. With
--smoke a few tiny runs, and figure and tables go into DIR instead, a temporary folder unless --out is given.
MovieLens-1M is looked for under $FURLONG_DATA, data/ and ../shared/data. Exit codes are those of furlong: 3 for missing
data.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import crossover_figure
import crossover_tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "scenarios" / "crossover"
PAGE = ROOT / "docs" / "crossover.md"
FIGURE = ROOT / "docs" / "images" / "crossover.svg"
BEGIN, END = "<!-- tables: written by ./dev crossover -->", "<!-- end of tables -->"
ALGORITHMS = ("furl", "furl-cold-start", "fedrecon", "fedrecon-sgd", "fedavg", "fedavg-shared")
STATEFUL = ("furl", "furl-cold-start")
SEEDS = "1,2,3"
# A round asks 10 p clients: the scenarios' 483 rounds ask each of 4,832 training users p times on average.
PARTICIPATIONS = (100, 30, 10, 3, 1, 0.5)
WITH_DROPOUT = (30, 10, 3, 1, 0.5)  # all but the dearest
DROPOUT = (0, 10, 30, 50)  # percent of the tasks
SMOKE_PARTICIPATIONS, SMOKE_DROPOUT = (30, 3), (0, 50)
# The ridge of these is also varied, by these factors, on all ratings and on the first 20 of each user.
RIDGES = {"furl-cold-start": 0.07, "fedrecon": 6.0, "fedavg": 0.07}
FACTORS = (0.3, 1, 3, 10, 30)
RIDGE_RATINGS = (0, 20)  # most of a user; 0: all
RIDGE_PARTICIPATIONS = (10, 1)
SMOKE_FACTORS, SMOKE_RIDGE_RATINGS, SMOKE_RIDGE_PARTICIPATIONS = (1, 10), (20,), (3,)


@dataclass(frozen=True)
class Part:
    """A sweep: one scenario at one rate of dropout."""
    algorithm: str
    dropout: int = 0
    commit: str = "after-training"

    @property
    def folder(self):
        return f"{self.algorithm}-dropout-{self.dropout}" + ("-after-ack" if self.commit == "after-ack" else "")

    def participations(self, smoke):
        if smoke:
            return SMOKE_PARTICIPATIONS
        return PARTICIPATIONS if self.dropout == 0 else WITH_DROPOUT

    def words(self, _smoke):
        stage = 1 - (1 - self.dropout / 100) ** 0.5  # twice: while training, and while sending the update
        made = []
        if self.dropout > 0:
            made += ["--set", f"dropout.train={stage:.6f}", "--set", f"dropout.upload={stage:.6f}"]
        if self.commit != "after-training":
            made += ["--set", f'private.commit="{self.commit}"']
        return made

    def about(self, _grid):
        return {"dropout": self.dropout, "commit": self.commit}


@dataclass(frozen=True)
class RidgePart:
    """A sweep: one scenario with its ridge varied, on so many ratings of each user (0: all)."""
    algorithm: str
    ratings: int

    @property
    def folder(self):
        return f"{self.algorithm}-ridge" + (f"-{self.ratings}-ratings" if self.ratings else "")

    def participations(self, smoke):
        return SMOKE_RIDGE_PARTICIPATIONS if smoke else RIDGE_PARTICIPATIONS

    def words(self, smoke):
        ridges = ",".join(f"{RIDGES[self.algorithm] * factor:g}" for factor in (SMOKE_FACTORS if smoke else FACTORS))
        return ["--grid", f"algorithm.reconstruction.ridge={ridges}", "--set", f"data.max_examples={self.ratings}"]

    def about(self, grid):
        factor = grid["algorithm.reconstruction.ridge"] / RIDGES[self.algorithm]
        return {"ratings": self.ratings, "factor": float(f"{factor:.3g}")}


def data_root():
    """The first folder that has ml-1m; where none has, the first, so that furlong's message names it."""
    roots = [os.environ.get("FURLONG_DATA") or ROOT / "data", ROOT / "data", ROOT.parent / "shared" / "data"]
    return str(next((root for root in roots if (pathlib.Path(root) / "ml-1m").is_dir()), roots[0]))


def parts(rates):
    """All sweeps. Without dropout every update reaches the server, and it does not matter when clients commit."""
    for rate in rates:
        for algorithm in ALGORITHMS:
            yield Part(algorithm, rate)
            if rate > 0 and algorithm in STATEFUL:
                yield Part(algorithm, rate, "after-ack")


def ridge_parts(numbers):
    return [RidgePart(algorithm, ratings) for ratings in numbers for algorithm in RIDGES]


def sweep(part, options):
    """Runs what is not finished of a part; its rows of sweep.json, each with the run's summary."""
    print(f"crossover: {part.folder}", file=sys.stderr, flush=True)
    out = options.out / part.folder
    sizes = [round(10 * p) for p in part.participations(options.smoke)]
    command = [options.furlong, "sweep", SCENARIOS / f"{part.algorithm}.toml", "--out", out, "--jobs", options.jobs]
    command += ["--seeds", "1,2" if options.smoke else SEEDS]
    command += ["--grid", "participation.per_round=" + ",".join(map(str, sizes)), *part.words(options.smoke)]
    if options.smoke:
        command.append("--smoke")
    done = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=False,
                          env=dict(os.environ, FURLONG_DATA=data_root()))
    if done.returncode != 0:
        sys.exit(done.returncode)
    rows = []
    for run in json.loads((out / "sweep.json").read_text())["runs"]:
        summary = json.loads((out / run["run"] / "summary.json").read_text())
        rows.append({"algorithm": part.algorithm, "seed": run["seed"], **part.about(run["grid"]),
                     "participations": run["grid"]["participation.per_round"] / 10, "summary": summary})
    return rows


def replace_tables(page, tables):
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def parse_arguments():
    parser = argparse.ArgumentParser(description="Makes the figure and the tables of docs/crossover.md.")
    parser.add_argument("--furlong", required=True, type=pathlib.Path, help="the furlong program")
    parser.add_argument("--out", type=pathlib.Path, help="folder of the runs (default: runs/crossover)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at once (default: one per core)")
    parser.add_argument("--smoke", action="store_true", help="a few tiny runs; nothing in docs/ changes")
    return parser.parse_args()


def make(options):
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for part in parts(SMOKE_DROPOUT if options.smoke else DROPOUT):
        rows += sweep(part, options)
    ridges = ridge_parts(SMOKE_RIDGE_RATINGS if options.smoke else RIDGE_RATINGS)
    ridge_rows = [row for part in ridges for row in sweep(part, options)]
    tables = crossover_tables.markdown(rows, ridge_rows)
    figure = crossover_figure.svg(rows)
    if options.smoke:
        (options.out / "tables.md").write_text(tables)
        (options.out / "crossover.svg").write_text(figure)
    else:
        FIGURE.write_text(figure)
        PAGE.write_text(replace_tables(PAGE.read_text(), tables))
    seconds = sum(row["summary"]["cpu_seconds"] for row in rows + ridge_rows)
    print(f"crossover: {len(rows + ridge_rows)} runs, {seconds:.0f} CPU seconds; written to "
          f"{options.out if options.smoke else 'docs/'}", file=sys.stderr)


def main():
    options = parse_arguments()
    if options.out is None and options.smoke:
        with tempfile.TemporaryDirectory() as folder:
            options.out = pathlib.Path(folder)
            make(options)
        return
    options.out = options.out or ROOT / "runs" / "crossover"
    make(options)


if __name__ == "__main__":
    main()
