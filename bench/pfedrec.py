#!/usr/bin/env python3
"""PFedRec's tasks against a bare C++ loop and a sparse PyTorch loop with the same work on the same clients.

`./dev bench pfedrec` runs this; by hand: bench/pfedrec.py [BUILD_FOLDER]. JSON lines on stdout, tables on stderr.
"""
# packages: python3-torch libopenblas0-pthread
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from yardsticks.driver import check_blas, fail, judged, median_ratio, results_of, tell

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
REPETITIONS = 5
BARS = {"bare-loop": 0.8, "torch": 20.0}


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FURLONG_BUILD", ROOT / "build/release"))
    program = build.resolve() / "bench" / "bench_pfedrec"
    if not program.exists():
        fail(f"{program} is not built")
    os.chdir(ROOT)
    taken = {"bare-loop": [], "client_work": [], "torch": []}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder) / "work.json"
        subprocess.run([program, "--dump", work], check=True)
        for _ in range(REPETITIONS):
            (figures,) = results_of([program, "--repetitions", 1, "--passes", 1])
            for figure in figures:
                taken[figure["case"]].append(figure["value"])
            ((told,),) = results_of([sys.executable, HERE / "yardsticks" / "pfedrec_torch.py", work],
                                    OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
            check_blas("torch", told["blas"])
            taken["torch"].append(told["tasks_per_cpu_second"])
    ours = taken.pop("client_work")
    for case, theirs in taken.items():
        tell("pfedrec", case, "tasks_per_cpu_second", statistics.median(theirs), "tasks/s")
        ratio = median_ratio(ours, theirs)
        tell("pfedrec", "client_work", "tasks_per_cpu_second", statistics.median(ours), "tasks/s", case, ratio,
             judged(BARS[case], ratio >= BARS[case]))


if __name__ == "__main__":
    main()
