#!/usr/bin/env python3
"""What `furlong tune` finds, and what it costs, compared with training every setting: the quickstart's data from ten seeds.

usage: tune.py [--furlong PROGRAM] [--seeds N] [--rounds N]

Twenty-four settings of FURL on scenarios/quickstart.toml (learning rates of clients and server, local epochs) are trained
whole by `furlong sweep`. `furlong tune` then has a budget of 30 % of these rounds, for each seed by itself: it sees one
draw of the data. `excess` is how much higher the validation RMSE of the setting that it chooses is, trained whole, than
that of the best of all settings; the bar is 1 % on every seed. `rounds` is the share of the sweep's rounds that it trained.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
METRIC = "eval.validation.rmse"
GRID = {"algorithm.client.lr": (0.05, 0.1, 0.2, 0.4, 0.8, 1.6), "algorithm.server.lr": (0.5, 1.0),
        "algorithm.client.epochs": (1, 4)}
# The quickstart's data, fewer of them: 24 whole runs for each seed are made.
SMALLER = {"data.users": 400, "data.items": 200, "data.ratings_per_user": 60, "participation.per_round": 40}
SHARE, MOST_EXCESS = 0.3, 0.01


def parse_arguments():
    parser = argparse.ArgumentParser(description="What furlong tune finds, compared with training every setting.")
    parser.add_argument("--furlong", type=Path, default=ROOT / "build/release/furlong", help="the furlong program")
    parser.add_argument("--seeds", type=int, default=10, help="draws of the data (default 10)")
    parser.add_argument("--rounds", type=int, default=300, help="of a whole run (default 300)")
    return parser.parse_args()


def furlong(options, command, out, *more):
    words = [options.furlong, command, ROOT / "scenarios/quickstart.toml", "--out", out]
    for key, value in {**SMALLER, "scenario.rounds": options.rounds}.items():
        words += ["--set", f"{key}={value}"]
    for key, values in GRID.items():
        words += ["--grid", f"{key}=" + ",".join(map(str, values))]
    done = subprocess.run([str(word) for word in [*words, *more]], stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 4):  # 4: some settings diverged
        sys.exit(done.returncode)


def key_of(grid):
    return tuple(sorted(grid.items()))


def figures_of_all(options, out):
    """{seed: {setting: figure}} of the runs that did not diverge."""
    seeds = range(1, options.seeds + 1)
    furlong(options, "sweep", out, "--seeds", ",".join(map(str, seeds)), "--set", 'evaluation.groups=["validation"]')
    figures = {seed: {} for seed in seeds}
    for run in json.loads((out / "sweep.json").read_text())["runs"]:
        if run["status"] == "done":
            figures[run["seed"]][key_of(run["grid"])] = run["figures"][METRIC]
    return figures


def say(case, metric, value, unit, baseline="sweep", ratio=None):
    print(json.dumps({"bench": "tune", "case": case, "metric": metric, "value": value, "unit": unit,
                      "baseline": baseline, "ratio": ratio}), flush=True)


def main():
    options = parse_arguments()
    settings = 1
    for values in GRID.values():
        settings *= len(values)
    budget = int(SHARE * settings * options.rounds)
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        every = figures_of_all(options, Path(folder) / "sweep")
        for seed, figures in every.items():
            out = Path(folder) / f"tune-{seed}"
            furlong(options, "tune", out, "--seeds", seed, "--metric", METRIC, "--budget", budget)
            found = json.loads((out / "tune.json").read_text())
            best = min(figures.values())
            excess = figures[key_of(found["best"]["grid"])] / best - 1
            share = found["rounds_trained"] / found["rounds_of_grid"]
            missed += excess > MOST_EXCESS or share > SHARE
            say(f"seed-{seed}", "excess", round(excess, 5), "", ratio=round(best / (best * (1 + excess)), 5))
            say(f"seed-{seed}", "rounds", round(share, 4), "", ratio=round(1 / share, 2))
            near = sum(one <= best * (1 + MOST_EXCESS) for one in figures.values())
            print(f"seed {seed}: {found['best']['name']}, {100 * excess:.2f} % above the best of {settings} settings "
                  f"({near} within 1 %), with {100 * share:.1f} % of the rounds", file=sys.stderr)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
