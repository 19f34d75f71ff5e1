#!/usr/bin/env python3
"""FedRecon's matrix factorization with its published settings: the actor engine against the reference loop, a numpy
loop and a torch loop that do the same work on the same clients, from the same initial values. `./dev bench mf` runs this;
by hand: bench/mf.py [BUILD_FOLDER]. JSON lines on stdout, tables on stderr.
"""
# packages: python3-numpy python3-torch libopenblas0-pthread
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from yardsticks.driver import check_blas, environment

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BARS = {"numpy": 20.0, "torch": 100.0}
ROUNDS = {"numpy": 30, "torch": 6}  # 3,000 and 600 clients
REPETITIONS = 5
METRIC = "clients_per_cpu_second"
# Equal up to the order in which float32 numbers are added.
LOSS_TOLERANCE, RMSE_TOLERANCE = 1e-4, 1e-4


def fail(why):
    sys.exit(f"bench mf: {why}")


def find_python():
    """An interpreter with the archive's numpy and torch, which may not be the first in the path."""
    for python in (sys.executable, "/usr/bin/python3"):
        probe = subprocess.run([python, "-c", "import numpy, torch"], capture_output=True, check=False)
        if probe.returncode == 0:
            return python
    fail("no interpreter has numpy and torch; install python3-numpy and python3-torch")


def run(command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode != 0:
        fail(f"{command[0]} ended with status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_yardstick(python, library, folder):
    """Clients per CPU-second, after checking its results against Furlong's."""
    script = HERE / "yardsticks" / f"mf_{library}.py"
    (result,) = run([python, script, folder, "--rounds", ROUNDS[library]],
                    env=environment(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"))
    check_blas(library, result["blas"])
    if result["loss_difference"] > LOSS_TOLERANCE:
        fail(f"{library}'s losses are off by {result['loss_difference']:.1e} of Furlong's")
    if "test_rmse" in result and abs(result["test_rmse"] - result["expected_test_rmse"]) > RMSE_TOLERANCE:
        fail(f"{library} ends at RMSE {result['test_rmse']:.5f}, Furlong at {result['expected_test_rmse']:.5f}")
    return result["clients_per_cpu_second"]


def run_engine(program):
    """The actor engine on one thread."""
    quiet = {"stderr": subprocess.DEVNULL}
    figures = run([program, "--repetitions", 1, "--threads", 1], **quiet)
    (value,) = (one["value"] for one in figures if one["case"] == "actors-1-thread" and one["metric"] == METRIC)
    return value


def run_command(build, folder):
    """`furlong run` of the published scenario on one thread: clients per second of training. None where there is no
    command or no MovieLens."""
    program, scenario = build / "furlong", ROOT / "scenarios" / "movielens-fedrecon.toml"
    roots = [os.environ.get("FURLONG_DATA") or ROOT / "data", ROOT / "data", ROOT.parent / "shared" / "data"]
    root = next((root for root in roots if (pathlib.Path(root) / "ml-1m").is_dir()), None)
    if not program.exists() or not scenario.exists() or root is None:
        return None
    out = pathlib.Path(folder) / "run"
    command = [program, "run", scenario, "--threads", "1", "--out", out]
    done = subprocess.run(command, env=dict(os.environ, FURLONG_DATA=str(root)), capture_output=True, check=False)
    if done.returncode != 0:
        fail(f"furlong run ended with status {done.returncode}: {done.stderr.decode()[-300:]}")
    return json.loads((out / "summary.json").read_text())["clients_per_second"]


def tell(case, metric, value, baseline=None, ratio=None):
    print(json.dumps({"bench": "mf", "case": case, "metric": metric, "value": value, "unit": "clients/s",
                      "baseline": baseline, "ratio": ratio}), flush=True)
    verdict = ""
    if ratio is not None:
        held = "held" if ratio >= BARS[baseline] else "MISSED"
        verdict = f"{ratio:9.3g} x {baseline} (bar {BARS[baseline]:g}: {held})"
    print(f"{'mf':8} {case:32} {metric:26} {value:12.0f} clients/s     {verdict}", file=sys.stderr)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FURLONG_BUILD", ROOT / "build/release"))
    program = build / "bench" / "bench_mf"
    if not program.exists():
        fail(f"{program} is not built")
    python = find_python()
    os.chdir(ROOT)

    # The engine against the reference loop; its lines and its table are passed on.
    if subprocess.run([program], check=False).returncode != 0:
        fail("bench_mf failed")

    # The engine, numpy and torch alternate, so that other load affects all three.
    taken = {"actors-1-thread": [], "numpy": [], "torch": []}
    with tempfile.TemporaryDirectory() as folder:
        run([program, "--dump", folder, "--rounds", ROUNDS["numpy"]])
        for _ in range(REPETITIONS):
            taken["actors-1-thread"].append(run_engine(program))
            for library in BARS:
                taken[library].append(run_yardstick(python, library, folder))
        command = run_command(build, folder)

    for library in BARS:
        tell(f"{library}-loop", METRIC, statistics.median(taken[library]))
    for library in BARS:
        ratios = [ours / theirs for ours, theirs in zip(taken["actors-1-thread"], taken[library])]
        tell("actors-1-thread", METRIC, statistics.median(taken["actors-1-thread"]), library, statistics.median(ratios))
    if command is not None:
        for library in BARS:
            tell("furlong-run-1-thread", "clients_per_second", command, library,
                 command / statistics.median(taken[library]))


if __name__ == "__main__":
    main()
