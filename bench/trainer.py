#!/usr/bin/env python3
"""What it costs that a model is a Python class: `furlong run` with trainer processes. `./dev bench trainer` runs this;
by hand: bench/trainer.py [BUILD_FOLDER] [--smoke]; --smoke measures each once. JSON lines on stdout, tables on stderr.

Every figure of furlong is the difference of a long run and a short one: starting, loading and initial values cancel,
and so do the phases that a trainer repeats as a check (the 1st, 4th, 16th and 64th): none is in the difference.
"""
# packages: python3-numpy python3-torch libopenblas0-pthread
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

from yardsticks.driver import check_blas, environment, fail, judged, median_ratio, results_of, tell

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PYTHON = "/usr/bin/python3"
EXAMPLES, BATCH, RATE = 1024, 32, 0.01  # of a client, see yardsticks/trainer_problem.py
STEPS = EXAMPLES // BATCH  # of an epoch
CLIENTS = 2

# Floats, the bar in microseconds.
CALLS = {"100-kB": (25_000, 40.0), "4-MB": (1_000_000, 60.0)}
CALL_EPOCHS, CALL_ROUNDS = 64, (1, 7)
# Layers, rounds of the short and of the long run, epochs, the bar. Tasks of training loops in Python (fit) take 100 ms
# and more.
PERCEPTRONS = {"100-thousand": ("256 375 10", (2, 14), 5, 0.85), "4-million": ("256 1875 1875 10", (1, 2), 3, 0.95)}
FITS = {"2-thousand": ("32 64 5", (2, 7), 160, 0.97), "100-thousand": ("256 375 10", (2, 7), 60, 0.97)}
COPY_BAR = 0.95  # of a module with values of its own, beside one that is in the memory of requests
TASK_FLOATS, TASK_ROUNDS, TASK_CLIENTS, TASK_BAR = 250_000, (2, 22), 50, 1000.0
WORKERS_BAR = 1.8
# Frozen values of half precision; the trainers that have them, and in how many copies.
FROZEN, FROZEN_TRAINERS, FROZEN_ROUNDS, FROZEN_BAR = 100_000_000, 4, 40, 1.1

# One thread for each trainer and yardstick.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "FURLONG_PYTHON": PYTHON,
               "PYTHONPATH": str(ROOT / "python")}


def scenario(problem, epochs=1, **settings):
    lines = {"scenario.name": '"bench"', "scenario.rounds": 1, "participation.fraction": 1.0,
             "data.source": '"python"', "model.kind": '"python"',
             "python.problem": f'"{HERE}/yardsticks/trainer_problem.py:{problem}"', "algorithm.kind": '"fedavg"',
             "algorithm.client": f"{{lr = {RATE}, epochs = {epochs}, batch_size = {BATCH}}}",
             "algorithm.aggregation.norm_bound": '"fixed"',  # else the first updates are only measured, and none counts
             **settings}
    return "".join(f"{key} = {value}\n" for key, value in lines.items())


def run(furlong, sizes, threads, text, **more):
    """Seconds of the rounds, and CPU-seconds of the command with its trainers."""
    with tempfile.TemporaryDirectory() as folder:
        file, out, log = (pathlib.Path(folder) / name for name in ("bench.toml", "run", "log"))
        file.write_text(text)
        with log.open("w") as to:
            process = subprocess.Popen([furlong, "run", file, "--threads", str(threads), "--out", out], stdout=to,
                                       stderr=to, env=environment(**ENVIRONMENT, **more, BENCH_SIZES=sizes))
            _, status, usage = os.wait4(process.pid, 0)  # of children too that it has waited for
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            fail(f"furlong run ended with status {process.returncode}: {log.read_text()[-500:]}")
        return json.loads((out / "summary.json").read_text())["train_seconds"], usage.ru_utime + usage.ru_stime


def difference(furlong, sizes, threads, texts):
    """Seconds and CPU-seconds of the second run beyond the first."""
    short, long = (run(furlong, sizes, threads, text) for text in texts)
    return tuple(b - a for a, b in zip(short, long))


def calls(furlong, repetitions, case, floats, bar):
    """Of an empty gradient: alone, where all but 8 parameters are frozen (a reconstruction), and with what follows, the
    local optimizer's step on all of them."""
    steps = (CALL_ROUNDS[1] - CALL_ROUNDS[0]) * CALL_EPOCHS * STEPS
    half = steps / 2  # a reconstruction has every other batch
    options = f"lr = {RATE}, batch_size = {BATCH}"
    alone = {"algorithm.kind": '"fedrecon"', "model.private": '["own"]',
             "algorithm.client": f"{{{options}, epochs = 1}}",
             "algorithm.reconstruction": f"{{{options}, epochs = {CALL_EPOCHS}}}"}
    trained = {"algorithm.client": f"{{{options}, epochs = {CALL_EPOCHS}}}"}
    alone, trained = ([scenario("Empty", **{**settings, "scenario.rounds": rounds}) for rounds in CALL_ROUNDS]
                      for settings in (alone, trained))
    taken = [[1e6 * difference(furlong, str(floats), 1, texts)[0] / count
              for texts, count in ((alone, half), (trained, steps))] for _ in range(repetitions)]
    call, step = (statistics.median(column) for column in zip(*taken))
    tell("trainer", f"empty-{case}", "call", call, "us", "bar", bar / call,
         judged(1, call <= bar))
    tell("trainer", f"empty-{case}", "call_and_optimizer", step, "us")


def tasks(furlong, repetitions):
    """Processor time of a task of 1 MB whose loop in Python computes nothing: the call, and all that a round does with
    the update."""
    texts = [scenario("EmptyFit", **{"scenario.rounds": count}) for count in TASK_ROUNDS]
    count = (TASK_ROUNDS[1] - TASK_ROUNDS[0]) * TASK_CLIENTS
    taken = statistics.median(1e6 * difference(furlong, str(TASK_FLOATS), 1, texts)[1] / count
                              for _ in range(repetitions))
    tell("trainer", "fit-1-MB", "cpu_per_task", taken, "us", "bar", TASK_BAR / taken, judged(1, taken <= TASK_BAR))


def perceptron(furlong, repetitions, case, layers, rounds, epochs, bar):
    """Against the bare loop, runs alternating."""
    texts = [scenario("Perceptron", epochs, **{"scenario.rounds": count}) for count in rounds]
    steps = (rounds[1] - rounds[0]) * CLIENTS * epochs * STEPS
    yardstick = [PYTHON, HERE / "yardsticks" / "trainer_torch.py", steps, BATCH, RATE]
    ours, theirs = [], []
    for _ in range(repetitions):
        ours.append(steps * BATCH / difference(furlong, layers, 1, texts)[1])
        ((one,),) = results_of(yardstick, **ENVIRONMENT, BENCH_SIZES=layers)
        check_blas("torch", one["blas"])
        theirs.append(one["examples_per_cpu_second"])
    ratio = median_ratio(ours, theirs)
    tell("trainer", f"torch-{case}", "examples_per_cpu_second", statistics.median(theirs), "examples/s")
    tell("trainer", f"perceptron-{case}", "examples_per_cpu_second", statistics.median(ours), "examples/s",
         f"torch-{case}", ratio, judged(bar, ratio >= bar))


def fits(furlong, repetitions, case, layers, rounds, epochs, bar):
    """Against the bare loop, phases alternating in one trainer."""
    examples = (rounds[1] - rounds[0]) * CLIENTS * epochs * EXAMPLES
    ours, theirs, copied = [], [], []
    for _ in range(repetitions):
        seconds, of_bare = fit_seconds(furlong, layers, rounds, epochs)
        theirs.append(examples / of_bare)
        ours.append(examples / seconds)
        seconds, of_other = fit_seconds(furlong, layers, rounds, epochs, **{"python.devices": '["cpu:copy"]'})
        copied.append(examples / seconds * of_other / of_bare)  # at the speed of the machine that the others had
    ratio, of_copies = median_ratio(ours, theirs), median_ratio(copied, ours)
    tell("trainer", f"torch-{case}-fit", "examples_per_cpu_second", statistics.median(theirs), "examples/s")
    tell("trainer", f"perceptron-{case}-fit", "examples_per_cpu_second", statistics.median(ours), "examples/s",
         f"torch-{case}-fit", ratio, judged(bar, ratio >= bar))
    tell("trainer", f"perceptron-{case}-fit-cpu-copy", "examples_per_cpu_second", statistics.median(copied), "examples/s",
         f"perceptron-{case}-fit", of_copies, judged(COPY_BAR, of_copies >= COPY_BAR))


def fit_seconds(furlong, layers, rounds, epochs, **settings):
    """Processor time of the phases of the second run beyond the first, and of the bare loops between them."""
    bare, both = [], []
    with tempfile.TemporaryDirectory() as folder:
        for count in rounds:
            file = pathlib.Path(folder) / f"{count}"
            text = scenario("PerceptronFit", epochs, **{"scenario.rounds": count, **settings})
            both.append(run(furlong, layers, 1, text, BENCH_LOOP=str(file))[1])
            bare.append(sum(map(float, file.read_text().split())))
    of_bare = bare[1] - bare[0]
    return both[1] - both[0] - of_bare, of_bare


def workers(furlong, repetitions):
    layers, rounds, epochs, _ = PERCEPTRONS["100-thousand"]
    texts = [scenario("Perceptron", epochs, **{"scenario.rounds": count}) for count in rounds]
    examples = (rounds[1] - rounds[0]) * CLIENTS * epochs * EXAMPLES
    taken = [[examples / difference(furlong, layers, threads, texts)[0] for threads in (1, 2)]
             for _ in range(repetitions)]
    one, two = zip(*taken)
    ratio = median_ratio(two, one)
    tell("trainer", "1-worker", "examples_per_second", statistics.median(one), "examples/s")
    tell("trainer", "2-workers", "examples_per_second", statistics.median(two), "examples/s", "1-worker", ratio,
         judged(WORKERS_BAR, ratio >= WORKERS_BAR))


def memory_of(furlong, frozen):
    """Bytes of the command and its trainers in late rounds, pages of several processes counted once."""
    with tempfile.TemporaryDirectory() as folder:
        file, out, log = (pathlib.Path(folder) / name for name in ("bench.toml", "run", "log"))
        file.write_text(scenario("Backbone", 1, **{"scenario.rounds": FROZEN_ROUNDS}))
        with log.open("w") as to:
            process = subprocess.Popen([furlong, "run", file, "--threads", str(FROZEN_TRAINERS), "--out", out], stdout=to,
                                       stderr=to, env=environment(**ENVIRONMENT, BENCH_SIZES=str(frozen)))
        most = 0
        while process.poll() is None:
            time.sleep(0.02)
            try:
                trainers = [one for task in pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")
                            for one in task.read_text().split()]
                if len(trainers) < FROZEN_TRAINERS or (out / "metrics.jsonl").read_text().count("\n") < FROZEN_ROUNDS // 2:
                    continue
                pages = [pathlib.Path(f"/proc/{one}/smaps_rollup").read_text() for one in (process.pid, *trainers)]
            except OSError:  # not yet, or not any more
                continue
            most = max(most, sum(1024 * int(re.search(r"^Pss: +(\d+)", text, re.M)[1]) for text in pages))
        if process.returncode != 0 or not most:
            fail(f"furlong run ended with status {process.returncode}: {log.read_text()[-500:]}")
    return most


def frozen_memory(furlong):
    copies = (memory_of(furlong, FROZEN) - memory_of(furlong, 1000)) / (2 * FROZEN)
    tell("trainer", f"frozen-200-MB-{FROZEN_TRAINERS}-trainers", "copies", copies, "copies", "bar", FROZEN_BAR / copies,
         judged(1, copies <= FROZEN_BAR))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("build", nargs="?", type=pathlib.Path,
                       default=pathlib.Path(os.environ.get("FURLONG_BUILD", ROOT / "build/release")))
    words.add_argument("--smoke", action="store_true", help="one repetition of each")
    given = words.parse_args()
    furlong, repetitions = given.build / "furlong", 1 if given.smoke else 3
    if not furlong.exists():
        fail(f"{furlong} is not built")
    for case, settings in CALLS.items():
        calls(furlong, repetitions, case, *settings)
    for case, settings in PERCEPTRONS.items():
        perceptron(furlong, repetitions, case, *settings)
    tasks(furlong, repetitions)
    for case, settings in FITS.items():
        fits(furlong, repetitions, case, *settings)
    workers(furlong, repetitions)
    frozen_memory(furlong)


if __name__ == "__main__":
    main()
