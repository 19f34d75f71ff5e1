#!/usr/bin/env python3
"""Whole runs of an algorithm are equal to its short numpy version, up to float32 rounding.

usage: oracle_test.py FURLONG KIND    exit code 3: numpy is not there
"""
import importlib
import os
import sys
import tempfile
from pathlib import Path

try:
    import numpy
except ImportError:
    print("skipped: needs python3-numpy")
    sys.exit(3)

os.environ["FURLONG"] = sys.argv[1]
sys.path.insert(0, str(Path(__file__).parent))
from world import World, predict

# Float32 against float64 over a whole run.
TOLERANCE = 2e-5


def differs(what: str, found, expected) -> list:
    found, expected = numpy.asarray(found, float), numpy.asarray(expected, float)
    if found.shape != expected.shape:
        return [f"{what}: shape {found.shape}, expected {expected.shape}"]
    error = float(numpy.max(numpy.abs(found - expected) / numpy.maximum(1.0, numpy.abs(expected)), initial=0.0))
    return [f"{what}: differs by {error:.2e}"] if not error <= TOLERANCE else []


def compare(world: World, run) -> list:
    """What differs between the two: the shared model, the private values of each client, and the losses."""
    shared, kept, personal = run(world)
    problems = [] if list(map(sorted, world.cohorts())) == world.selected else ["the cohorts differ"]
    model = world.result.model()
    for name, value in shared.items():
        problems += differs(f"shared tensor {name}", model[name], value)
    stored = world.stored()
    for client, values in kept.items():
        for name, value in values.items():
            problems += differs(f"client {client}, private tensor {name}", stored[client][name], numpy.ravel(value))
    if personal is None:  # of rankings there is no loss to compare
        return problems
    last = [row for row in world.result._lines("metrics.jsonl") if "eval" in row][-1]["eval"]
    for group, clients in (("seen", world.trains), ("unseen", sorted(set(world.clients) - set(world.trains)))):
        errors = [(predict(personal[i], items) - labels) ** 2 for i in clients if i in personal
                  for items, labels in (world.tested(i),)]
        if errors:
            problems += differs(f"eval.{group}.loss", last[group]["loss"], numpy.concatenate(errors).mean())
    return problems


def main(kind: str) -> int:
    oracle = importlib.import_module(kind)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in oracle.SCENARIOS.items():
            world = getattr(oracle, "WORLD", World)(Path(folder, name), kind, settings)
            problems = compare(world, oracle.run)
            print(f"{kind}, {name}: {'; '.join(problems) if problems else 'equal'}")
            failed += bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[2]))
