#!/usr/bin/env python3
"""Every scenario expects a figure of its whole run's evaluation, and bounds it on both sides, 2 % from its middle.

usage: expectations_test.py SCENARIO...
"""
import sys
import tomllib
from pathlib import Path

WIDTH = 0.02
ROUNDED = 0.001  # bounds are written with three digits or more


def problems(expected):
    if not expected:
        return ["has no [expect]"]
    figures = {key: bounds for key, bounds in expected.items() if key.startswith("eval.") and set(bounds) != SAME}
    if not figures:
        return ["expects no figure of an evaluation"]
    found = []
    for key, bounds in figures.items():
        least, most = bounds.get("at_least"), bounds.get("at_most")
        if least is None or most is None:
            found.append(f"{key} needs at_least and at_most")
        elif not 0 < least < most or (most - least) / (most + least) > WIDTH + ROUNDED:
            found.append(f"{key}: {least} to {most} is not within 2 % of the middle")
    return found


SAME = {"within", "baseline"}  # as another run's, whatever that is


def main():
    wrong = [f"{name}: {why}" for name in sys.argv[1:]
             for why in problems(tomllib.loads(Path(name).read_text(encoding="utf-8")).get("expect"))]
    print("\n".join(wrong) or f"{len(sys.argv) - 1} scenarios")
    return 1 if wrong or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
