#!/usr/bin/env python3
"""The perceptron of trainer_problem.py in a bare PyTorch loop on one thread: trainer_torch.py STEPS BATCH LR. Prints
the examples per CPU-second and the BLAS in use."""
import json
import pathlib
import sys

import torch
from blas import blas_in_use

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from trainer_problem import EXAMPLES, BareLoop, Perceptron  # noqa: E402


def main():
    steps, batch, rate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    loop = BareLoop(Perceptron(), batch, rate)
    loop.run(EXAMPLES // batch)
    seconds = loop.run(steps)
    print(json.dumps({"examples_per_cpu_second": steps * batch / seconds, "blas": blas_in_use()}))


if __name__ == "__main__":
    main()
