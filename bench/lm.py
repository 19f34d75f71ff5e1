#!/usr/bin/env python3
"""gru-lm small with tied weights on Penn Treebank, trained like FedAtt's clients, in batches of 10 and 20 sentences;
PyTorch does the same work from the same initial values. Then FedAtt's aggregation of ten such models. `./dev bench lm`
runs this; by hand: bench/lm.py [BUILD_FOLDER]. JSON lines on stdout, tables on stderr.
"""
# packages: python3-numpy python3-torch libopenblas0-pthread
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from yardsticks.driver import fail, judged, median_ratio, results_of, run_torch, tell

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
YARDSTICK = HERE / "yardsticks" / "lm_torch.py"
BATCHES = (10, 20)
STEPS, REPETITIONS = 40, 5
BAR = 1.6
AGGREGATION_BAR_MS = 50.0
PEAK_SHARE_AIM = 0.70


class Torch:
    """The yardstick in all its settings; the fastest counts."""

    def __init__(self, folder):
        self.folder = folder

    def command(self, *options):
        return ["/usr/bin/python3", YARDSTICK, self.folder, *options]

    def run(self, batch, form, threads, processes):
        command = self.command("--batch", batch, "--form", form, "--threads", threads, "--steps", STEPS)
        return run_torch(command, threads, processes)

    def alone(self, *options):
        """Runs it on one thread, of either library; returns its output."""
        (printed,) = results_of(self.command(*options), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        return printed[0]

    def best_setting(self, batch, threads):
        """The form, and of two threads whether they are one model's or two models'."""
        shapes = [(1, 1)] if threads == 1 else [(2, 1), (1, 2)]
        settings = [(form, *shape) for form in ("packed", "padded") for shape in shapes]
        # On one thread wall time would depend on other load.
        metric = "tokens_per_cpu_second" if threads == 1 else "tokens_per_second"
        return max(settings, key=lambda one: self.run(batch, *one)[metric])


class Furlong:
    def __init__(self, program):
        self.program = program

    def run(self, *options):
        (figures,) = results_of([self.program, *options])
        return figures

    def train(self, batch, threads):
        figures = self.run("--batch", batch, "--threads", threads, "--steps", STEPS)
        return {one["metric"]: one["value"] for one in figures}


def compare(report, ours, torch, batch, threads):
    setting = torch.best_setting(batch, threads)
    taken = [(ours.train(batch, threads), torch.run(batch, *setting)) for _ in range(REPETITIONS)]
    suffix = f"batch-{batch}-{threads}-thread" + ("s" if threads > 1 else "")
    form, in_model, processes = setting
    print(f"{'lm':8} fastest PyTorch for {suffix}: {form}, {processes} model(s) on {in_model} thread(s) each",
          file=sys.stderr)
    for metric in ("tokens_per_second", "tokens_per_cpu_second"):
        mine, theirs = ([one[metric] for one in column] for column in zip(*taken))
        ratio = median_ratio(mine, theirs)
        report(f"torch-{suffix}", metric, statistics.median(theirs), "tokens/s")
        report(suffix, metric, statistics.median(mine), "tokens/s", f"torch-{threads}", ratio,
               judged(BAR, ratio >= BAR) if metric == "tokens_per_second" else "")
    return statistics.median(one["products_per_cpu_second"] for one, _ in taken)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FURLONG_BUILD", ROOT / "build/release"))
    program = build.resolve() / "bench" / "bench_lm"
    if not program.exists():
        fail(f"{program} is not built")
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "--dump", folder], check=True)
        source = json.loads((pathlib.Path(folder) / "facts.json").read_text())["source"]
        report = functools.partial(tell, "lm", data=source)
        ours, torch = Furlong(program), Torch(folder)
        speeds = {}
        for threads in (1, 2):
            for batch in BATCHES:
                speeds[batch, threads] = compare(report, ours, torch, batch, threads)
        products = ours.run("--part", "products")
        for one in products:
            report(one["case"], one["metric"], one["value"], one["unit"])
        torch_product = torch.alone("--product")["gflops"]
        report("torch-product", "speed", torch_product, "GFLOP/s")
        peak = max(torch_product, *(one["value"] for one in products))
        for batch in BATCHES:
            speed = speeds[batch, 1]
            report(f"batch-{batch}-1-thread", "products_per_cpu_second", speed, "GFLOP/s", "peak", speed / peak,
                   f"(aim {PEAK_SHARE_AIM:g})")
        aggregation = {one["case"]: one["value"] for one in ours.run("--part", "aggregation")}
        mine, other = aggregation["fedatt-10-models"], torch.alone("--aggregate", 5)["cpu_ms"]
        report("torch-fedatt-10-models", "cpu_time", other, "ms")
        report("fedatt-10-models", "cpu_time", mine, "ms", "torch-1", other / mine,
               judged(AGGREGATION_BAR_MS, mine <= AGGREGATION_BAR_MS))
        report("fedatt-10-models-spectral", "cpu_time", aggregation["fedatt-10-models-spectral"], "ms")


if __name__ == "__main__":
    main()
