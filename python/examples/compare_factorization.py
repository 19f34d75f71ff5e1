"""Compares factorization.py with Furlong's own matrix factorization: python compare_factorization.py FOLDER [ROUNDS]

Both have the same ratings, split and initial values, so they select the same clients, and their losses and RMSE agree
up to the order of sums in float32. Exit code 1 if a figure differs by more than 1e-4 of itself.
"""

import os
import sys
from pathlib import Path

import furlong
import numpy

BUILT_IN = {
    "scenario": {"name": "built-in", "seed": 1, "rounds": 50},
    "data": {"source": "synthetic-ratings", "users": 300, "items": 100, "rank": 4, "ratings_per_user": 40,
             "split": [0.8, 0.1, 0.1], "unseen_users": {"validation": 0.1, "test": 0.1}},
    "model": {"kind": "matrix-factorization", "rank": 4, "user_bias": True, "item_bias": True, "mean": True,
              "private": ["user", "user_bias"]},
    "algorithm": {"kind": "fedavg", "client": {"lr": 0.1, "epochs": 2, "batch_size": 10, "shuffle": False},
                  "reconstruction": {"lr": 0.1, "epochs": 10}},
    "private": {"cold_start": "reconstruct"},
    "participation": {"per_round": 40},
    "evaluation": {"every": 10},
}
PYTHON = {**BUILT_IN, "data": {"source": "python"}, "model": {"kind": "python", "private": ["user", "user_bias"]},
          "python": {"order": "numbered"}}  # that of the exported ratings


def figures(run):
    """Losses of rounds, then losses of evaluations, and what the rounds counted."""
    rounds = run._lines("metrics.jsonl")
    losses = [row["loss"] for row in rounds]
    losses += [group["loss"] for row in rounds for group in row.get("eval", {}).values()]
    counted = [[row[key] for key in ("selected", "folded", "examples", "bytes_up", "bytes_down")] for row in rounds]
    return numpy.array(losses), counted


def main(folder, rounds):
    folder.mkdir(parents=True)
    split, start = folder / "ratings.csv", folder / "initial.npz"
    first = furlong.run(BUILT_IN, set={"scenario.rounds": 1}, out=folder / "first")
    first.export(split=split)
    os.environ["FURLONG_RATINGS"] = str(split)
    from factorization import Factorization

    numpy.savez(start, **Factorization().parameters(1))
    worst = 0.0
    for kind in ("fedavg", "furl", "fedrecon"):
        changes = {"algorithm.kind": kind, "scenario.rounds": rounds}
        built_in = furlong.run(BUILT_IN, set={**changes, "model.start_from": str(start)},
                               out=folder / f"built-in-{kind}")
        python = furlong.run(PYTHON, set=changes, problem=Factorization, out=folder / f"python-{kind}")
        (a, counted_a), (b, counted_b) = figures(built_in), figures(python)
        difference = float(numpy.max(numpy.abs(a - b) / a))
        same = "the same" if counted_a == counted_b else "DIFFERENT"
        print(f"{kind}: losses differ by {difference:.1e} at most; selected, aggregated, examples and bytes are {same}")
        worst = max(worst, difference if counted_a == counted_b else 1.0)
    return 0 if worst <= 1e-4 else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: compare_factorization.py FOLDER [ROUNDS]; FOLDER is made, and holds the runs")
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 50))
