#!/usr/bin/env python3
"""Tests the small variant of a scenario, on its data where they are, else on their stand-in.

usage: run_smoke.py FURLONG SCENARIO STANDIN

Data are looked for under $FURLONG_DATA, data, ../shared/data and STANDIN, the folder that make_texts.py wrote; the exit
code is that of `furlong test`, 3 where they are in none of these.
"""
import os
import re
import sys
from pathlib import Path


def data_root(scenario: Path, standin: str) -> str:
    """The first folder that has what the scenario reads; the first of all where none has."""
    path = re.search(r'^ *path *= *"(.*?)"', scenario.read_text(encoding="utf-8"), re.MULTILINE)
    roots = [root for root in (os.environ.get("FURLONG_DATA"), "data", "../shared/data", standin) if root]
    return next((root for root in roots if path and (Path(root) / path[1]).exists()), roots[0])


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    furlong, scenario, standin = sys.argv[1:]
    os.environ["FURLONG_DATA"] = data_root(Path(scenario), standin)
    print("data root:", os.environ["FURLONG_DATA"], flush=True)
    os.execv(furlong, [furlong, "test", "--smoke", scenario])


if __name__ == "__main__":
    main()
