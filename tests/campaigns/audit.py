#!/usr/bin/env python3
"""Audits of honest runs, and of runs with less noise than is claimed: scenarios/private.toml from twenty seeds.

usage: audit.py [--furlong PROGRAM] [--seeds N] [--users N]

All clients that train are canaries. `furlong audit` attacks runs of four kinds: Poisson sampling of all clients and of
a few, cohorts of fixed size, and all clients with dropout. `contradicted` counts the honest runs whose lower bound of
epsilon at 95 % is above the accounted epsilon: the bar is none. The runs of `half` and `quarter` have that share of the noise that is
claimed; `caught` is how many of them are contradicted: the bar is all of `quarter`.
"""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from campaign import BUILD, ROOT, figure

EVERYBODY = {"participation": "{{policy='poisson', rate=1.0, cap={users}}}", "privacy.noise": 2.8, "scenario.rounds": 2}
KINDS = {
    "poisson-all": EVERYBODY,
    "poisson": {"participation": "{{policy='poisson', rate=0.1, cap={users}}}", "privacy.noise": 0.8,
                "scenario.rounds": 10},
    "fixed-size": {"participation": "{{policy='uniform', fraction=0.5}}", "privacy.noise": 4.0, "scenario.rounds": 2},
    "dropout": {"participation": "{{policy='uniform', fraction=1.0}}", "dropout": "{{upload=0.2}}",
                "privacy.noise": 4.0, "scenario.rounds": 3},
}


def parse_arguments():
    parser = argparse.ArgumentParser(description="Audits of honest runs, and of runs with less noise than is claimed.")
    parser.add_argument("--furlong", type=Path, default=BUILD / "furlong", help="the furlong program")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each kind (default 20)")
    parser.add_argument("--users", type=int, default=6000, help="of the scenario (default 6000)")
    return parser.parse_args()


def audit(options, seed, settings, *more):
    words = [options.furlong, "audit", ROOT / "scenarios/private.toml", "--seed", seed, "--format", "json",
             "--canaries", int(0.8 * options.users), *more]
    for key, value in {"data.users": options.users, "data.items": options.users // 4, **settings}.items():
        words += ["--set", f"{key}=" + str(value).format(users=options.users)]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    options = parse_arguments()
    seeds = range(1, options.seeds + 1)
    missed = 0
    for name, settings in KINDS.items():
        made = [audit(options, seed, settings) for seed in seeds]
        wrong = sum(one["contradicted"] for one in made)
        missed += wrong
        bounds = [one["lower_bound"] for one in made]
        figure(name, "contradicted", wrong, "")
        figure(name, "lower_bound", round(statistics.median(bounds), 4), "")
        print(f"{name}: epsilon {made[0]['claimed']:.3f}, {made[0]['canaries']} canaries, lower bounds {min(bounds):.3f} "
              f"to {max(bounds):.3f} (median {statistics.median(bounds):.3f}), {wrong} of {len(made)} contradicted",
              file=sys.stderr)
    claim = audit(options, 1, EVERYBODY)["claimed"]
    for name, share in (("half", 0.5), ("quarter", 0.25)):
        less = {**EVERYBODY, "privacy.noise": share * EVERYBODY["privacy.noise"]}
        made = [audit(options, seed, less, "--claim", claim) for seed in seeds]
        caught = sum(one["contradicted"] for one in made)
        missed += len(made) - caught if name == "quarter" else 0
        figure(name, "caught", caught, "")
        bounds = [one["lower_bound"] for one in made]
        print(f"{name}: claimed {claim:.3f}, lower bounds {min(bounds):.3f} to {max(bounds):.3f}, {caught} of {len(made)} "
              "caught", file=sys.stderr)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
