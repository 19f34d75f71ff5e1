"""Measures the Python side of a step against a host in Python: python bench_trainer.py [CORE]. No test."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from host import Host

EMPTY = """
import numpy, furlong
class Empty(furlong.Problem):
    def parameters(self, seed):
        return {f"p{i}": numpy.zeros((%d, 100), numpy.float32) for i in range(4)}
    def clients(self):
        return [furlong.Client("a", 1000)]
    def gradient(self, step):
        return 0.0
"""
# The first step must write all: the trainer checks it.
EMPTY = EMPTY.replace("        return 0.0", "        if self.first:\n            self.first = False\n"
                      "            for g in step.gradients.values():\n                g.fill(0)\n        return 0.0")
EMPTY = EMPTY.replace("(furlong.Problem):\n", "(furlong.Problem):\n    first = True\n")

MLP = """
import torch, furlong.torch
class Perceptron(furlong.torch.Problem):
    def __init__(self):
        self.x = torch.randn(1024, 256)
        self.y = torch.randint(10, (1024,))
    def module(self):
        return torch.nn.Sequential(torch.nn.Linear(256, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))
    def clients(self):
        return [furlong.torch.Client("a", 1024)]
    def batch(self, client, part, examples):
        return self.x[examples], self.y[examples]
    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)
"""


def steps(problem, count, batch=32):
    with Host(problem, core=CORE) as host:
        host.open()
        host.initial()
        body = host._step([(0, "train", range(batch))], 5, ())
        for _ in range(50):
            host.call(3, body)
        times = []
        for _ in range(count):
            began = time.perf_counter()
            host.call(3, body)
            times.append(time.perf_counter() - began)
    return 1e6 * statistics.median(times)


def bare(hidden, count):
    import torch

    torch.set_num_threads(1)
    x, y = torch.randn(1024, 256), torch.randint(10, (1024,))
    module = torch.nn.Sequential(torch.nn.Linear(256, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 10))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.0)
    times = []
    examples = torch.arange(32)
    for step in range(count + 50):
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(module(x[examples]), y[examples]).backward()
        optimizer.step()
        times.append(time.perf_counter() - began)
    return 1e6 * statistics.median(times[50:])


if __name__ == "__main__":
    import os

    CORE = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    os.sched_setaffinity(0, [CORE])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "empty.py")
        for name, rows in (("100 kB", 64), ("4 MB", 2500)):
            file.write_text(EMPTY % rows)
            print(f"empty gradient, {name}: {steps(f'{file}:Empty', 5000):.1f} us round trip")
        for hidden, name in ((375, "100,000"), (1500, "400,000")):
            mlp = Path(folder, "mlp.py")
            mlp.write_text(MLP.replace("HIDDEN", str(hidden)))
            count = 300
            ours, other = steps(f"{mlp}:Perceptron", count), bare(hidden, count)
            print(f"perceptron of {name} parameters: {ours:.0f} us, bare PyTorch with SGD {other:.0f} us: "
                  f"{other / ours:.2f}")
