#!/usr/bin/env python3
"""The document classifier trained on ragged texts of 100 to 200 characters; PyTorch does the same work on packed
sequences from the same initial values. `./dev bench classifier` runs this; by hand: bench/classifier.py [BUILD_FOLDER].
JSON lines on stdout, tables on stderr.
"""
# packages: python3-numpy python3-torch libopenblas0-pthread
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from yardsticks.driver import fail, judged, median_ratio, results_of, run_torch, tell

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
YARDSTICK = HERE / "yardsticks" / "classifier_torch.py"
# Units of the LSTM in each of its directions, texts a batch.
CASES = ((128, 16), (128, 32), (64, 16))
REPETITIONS = 3
BAR = 3.0


def run_furlong(program, units, batch, threads):
    (figures,) = results_of([program, "--units", units, "--batch", batch, "--threads", threads])
    return {one["metric"]: one["value"] for one in figures}


def compare(program, work, units, batch, threads):
    """Both, alternating. With two threads PyTorch uses the faster of both for one model and one for each of two."""
    def torch(in_model, processes):
        command = ["/usr/bin/python3", YARDSTICK, work, "--threads", in_model]
        return run_torch(command, in_model, processes)

    shapes = [(1, 1)] if threads == 1 else [(2, 1), (1, 2)]
    shape = max(shapes, key=lambda one: torch(*one)["texts_per_second"])
    taken = [(run_furlong(program, units, batch, threads), torch(*shape)) for _ in range(REPETITIONS)]
    suffix = f"units-{units}-batch-{batch}-{threads}-thread" + ("s" if threads > 1 else "")
    for metric in ("texts_per_second", "texts_per_cpu_second"):
        ours, theirs = ([one[metric] for one in column] for column in zip(*taken))
        ratio = median_ratio(ours, theirs)
        tell("classifier", f"torch-{suffix}", metric, statistics.median(theirs), "texts/s")
        tell("classifier", suffix, metric, statistics.median(ours), "texts/s", f"torch-{threads}", ratio,
             judged(BAR, ratio >= BAR))


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FURLONG_BUILD", ROOT / "build/release"))
    program = build / "bench" / "bench_classifier"
    if not program.exists():
        fail(f"{program} is not built")
    with tempfile.TemporaryDirectory() as folder:
        for units, batch in CASES:
            work = pathlib.Path(folder) / f"{units}-{batch}.json"
            subprocess.run([program, "--dump", work, "--units", str(units), "--batch", str(batch)], check=True)
            for threads in (1, 2):
                compare(program, work, units, batch, threads)


if __name__ == "__main__":
    main()
