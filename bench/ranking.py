#!/usr/bin/env python3
"""Rankings of all items for 6,040 users against numpy, which computes the same scores, ranks and lists of 20 by blocks
of users. `./dev bench ranking` runs this; by hand: bench/ranking.py [BUILD_FOLDER]. JSON lines on stdout, tables on stderr.
"""
# packages: python3-numpy libopenblas0-pthread
import os
import pathlib
import statistics
import sys

from yardsticks.driver import check_blas, fail, judged, median_ratio, results_of, tell

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
REPETITIONS = 5
BAR, AIM_SECONDS = 2.0, 0.15
CASE = "all-items-top-20"


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FURLONG_BUILD", ROOT / "build/release"))
    program = build.resolve() / "bench" / "bench_ranking"
    if not program.exists():
        fail(f"{program} is not built")
    os.chdir(ROOT)
    ours, numpys = {}, []
    for _ in range(REPETITIONS):
        (figures,) = results_of([program, "--repetitions", 1])
        for figure in figures:
            ours.setdefault(figure["case"], []).append(figure["value"])
        ((told,),) = results_of([sys.executable, HERE / "yardsticks" / "ranking_numpy.py"], OPENBLAS_NUM_THREADS="1")
        check_blas("numpy", told["blas"])
        numpys.append(told["cpu_seconds"])
    tell("ranking", "numpy", "cpu_seconds", statistics.median(numpys), "s")
    ratio, seconds = median_ratio(numpys, ours[CASE]), statistics.median(ours[CASE])
    tell("ranking", CASE, "cpu_seconds", seconds, "s", "numpy", ratio, judged(BAR, ratio >= BAR))
    tell("ranking", CASE, "cpu_seconds", seconds, "s", verdict=judged(AIM_SECONDS, seconds <= AIM_SECONDS))
    tell("ranking", "all-figures", "cpu_seconds", statistics.median(ours["all-figures"]), "s")


if __name__ == "__main__":
    main()
