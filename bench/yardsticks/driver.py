"""Shared by the benchmarks against PyTorch: parallel processes, and PyTorch's fastest setting."""
import json
import os
import statistics
import subprocess
import sys

# Equal up to the order in which float32 numbers are added.
LOSS_TOLERANCE = 1e-5
# They tell OpenBLAS to assume another processor than this one: yardsticks run without them.
FORCED_KERNELS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def fail(why):
    sys.exit(f"{sys.argv[0]}: {why}")


def environment(**more):
    """This process's, for a program whose library is to choose its kernels itself. Memory that it frees stays its own:
    given back and taken again, large arrays cost more than the work on them where page faults are slow."""
    kept = {name: value for name, value in os.environ.items() if name not in FORCED_KERNELS}
    most = str(4 * 10**9)
    memory = {"MALLOC_MMAP_THRESHOLD_": most, "MALLOC_TRIM_THRESHOLD_": most}
    return {**memory, **kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def results_of(*commands, **more):
    """Runs the commands in parallel, `more` added to their environment; returns the output of each as objects."""
    running = [subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True, env=environment(**more)) for command in commands]
    printed = [one.communicate()[0] for one in running]
    if any(one.returncode for one in running):
        fail(f"{commands[0][0]} {commands[0][1]} failed")
    return [[json.loads(line) for line in text.splitlines()] for text in printed]


def run_torch(command, threads, processes):
    """Models that train at once, each on `threads` threads: the rates of all together, rates per CPU-second of one.
    Fails unless their results agree with Furlong's, with an optimized BLAS."""
    # Spinning threads would take the processor from working ones.
    settings = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive",
                "GOMP_SPINCOUNT": "0"}
    results = [lines[0] for lines in results_of(*[command] * processes, **settings)]
    for one in results:
        blas, difference = one.pop("blas"), one.pop("loss_difference")
        check_blas("torch", blas)
        if difference > LOSS_TOLERANCE:
            fail(f"PyTorch's losses are off by {difference:.1e} of Furlong's")
    return {metric: sum(one[metric] for one in results) / (processes if "cpu" in metric else 1)
            for metric in results[0]}


def check_blas(library, blas):
    """Rejects the slow reference implementation; tells the kernels of a library once."""
    if not any("openblas" in name or "mkl" in name for name in blas):
        fail(f"{library} computes products with {', '.join(blas)}: install libopenblas0-pthread")
    if library not in told:
        told.add(library)
        bench = os.path.basename(sys.argv[0]).removesuffix(".py")
        print(json.dumps({"bench": bench, "case": library, "metric": "blas", "value": ", ".join(blas)}), flush=True)
        print(f"{bench:10} {library} computes products with {', '.join(blas)}", file=sys.stderr)


told = set()


def median_ratio(ours, theirs):
    """Neighbouring runs, so that other load affects both."""
    return statistics.median(a / b for a, b in zip(ours, theirs))


def tell(bench, case, metric, value, unit, baseline=None, ratio=None, verdict="", data=None):
    """A JSON line on stdout, a row of the table on stderr. `data`: the data set, if it varies."""
    line = {"bench": bench, "case": case, "metric": metric, "value": value, "unit": unit, "baseline": baseline,
            "ratio": ratio}
    print(json.dumps(line if data is None else {**line, "data": data}), flush=True)
    if ratio is not None:
        verdict = f"{ratio:9.3g} x {baseline} {verdict}"
    if data is not None:
        unit = f"{unit} ({data})"
    print(f"{bench:10} {case:36} {metric:24} {value:12.4g} {unit:{12 if data is None else 22}} {verdict}", file=sys.stderr)


def judged(bar, held):
    return f"(bar {bar:g}: {'held' if held else 'MISSED'})"
