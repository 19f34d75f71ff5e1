#!/usr/bin/env python3
"""The perceptron of trainer_problem.py in a bare PyTorch loop on one thread: trainer_torch.py STEPS BATCH LR. Prints
the examples per CPU-second and the BLAS in use."""
import json
import pathlib
import sys
import time

import numpy
import torch
from blas import blas_in_use

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from trainer_problem import EXAMPLES, Perceptron  # noqa: E402

WARM_UP = 10


def main():
    steps, batch, rate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    problem = Perceptron()
    module = problem.module()
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    draw = numpy.random.default_rng(1)
    began = 0.0
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            began = time.process_time()
        first = step * batch % EXAMPLES
        if first == 0:
            order = draw.permutation(EXAMPLES)
        inputs, targets = problem.batch(0, "train", order[first:first + batch])
        optimizer.zero_grad()
        loss = problem.loss(module(inputs), targets)
        loss.backward()
        optimizer.step()
        loss.item()
    print(json.dumps({"examples_per_cpu_second": steps * batch / (time.process_time() - began), "blas": blas_in_use()}))


if __name__ == "__main__":
    main()
