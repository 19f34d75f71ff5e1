"""The models of bench/trainer.py. BENCH_SIZES has the layers of Perceptron, or the floats of Empty; BENCH_LOOP names the
file to which PerceptronFit adds the processor time of the bare loop."""
import os
import time

import furlong.torch
import numpy
import torch

SIZES = [int(size) for size in os.environ["BENCH_SIZES"].split()]
EXAMPLES, CLIENTS = 1024, 2


class Empty(furlong.Problem):
    """A gradient that computes nothing: it writes values when the trainer first asks for a set of gradients, to pass
    its check that all is written."""

    written = ()

    def parameters(self, seed):
        floats = SIZES[0] // 4
        return {"own": numpy.zeros(8, numpy.float32), **{f"p{i}": numpy.zeros(floats, numpy.float32) for i in range(4)}}

    def clients(self):
        return [furlong.Client("client", EXAMPLES)]

    def gradient(self, step):
        if step.gradients is not self.written:
            self.written = step.gradients
            for gradient in step.gradients.values():
                gradient.fill(1e-6)
        return 0.0


class EmptyFit(Empty):
    """A training loop that computes nearly nothing, of many clients."""

    def clients(self):
        return [furlong.Client(f"client {c}", EXAMPLES) for c in range(50)]

    def fit(self, phase):
        phase.weights["own"] += 1e-6
        phase.record(0.0, len(phase.examples))


class Perceptron(furlong.torch.Problem):
    def __init__(self):
        self.x = torch.randn(EXAMPLES, SIZES[0])
        self.y = torch.randint(SIZES[-1], (EXAMPLES,))

    def module(self):
        layers = []
        for inputs, outputs in zip(SIZES, SIZES[1:]):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1])

    def clients(self):
        return [furlong.torch.Client(f"client {c}", EXAMPLES) for c in range(CLIENTS)]

    def batch(self, client, part, examples):
        return self.x[examples], self.y[examples]

    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)


class BareLoop:
    """Training of a perceptron by PyTorch alone."""

    def __init__(self, problem, batch, rate):
        self.problem, self.batch = problem, batch
        self.module = problem.module()
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=rate)
        self.draw = numpy.random.default_rng(1)

    def run(self, steps):
        """The processor time of these steps."""
        began = time.process_time()
        for step in range(steps):
            first = step * self.batch % EXAMPLES
            if first == 0:
                order = self.draw.permutation(EXAMPLES)
            inputs, targets = self.problem.batch(0, "train", order[first:first + self.batch])
            self.optimizer.zero_grad()
            loss = self.problem.loss(self.module(inputs), targets)
            loss.backward()
            self.optimizer.step()
            loss.item()
        return time.process_time() - began


class PerceptronFit(Perceptron):
    """The bare loop, and before each phase as many steps of that itself: both meet the same load of the machine."""

    loops = {}  # of this process

    def fit(self, phase):
        bare = self.loops.setdefault("bare", BareLoop(self, phase.settings["batch_size"], phase.rate))
        with open(os.environ["BENCH_LOOP"], "a", encoding="utf8") as file:
            print(bare.run(len(phase.batches())), file=file)
        optimizer = torch.optim.SGD(phase.module.parameters(), lr=phase.rate)
        for inputs, targets in phase.batches():
            optimizer.zero_grad()
            loss = self.loss(phase.module(inputs), targets)
            loss.backward()
            optimizer.step()
            phase.record(loss.item(), len(targets))


class Backbone(furlong.torch.Problem):
    """Frozen values of half precision, of which a step uses some, below a layer that is trained."""

    def module(self):
        frozen = torch.nn.Embedding(SIZES[0] // 10, 10).half().requires_grad_(False)
        return torch.nn.ModuleDict({"frozen": frozen, "head": torch.nn.Linear(10, 2)})

    def clients(self):
        return [furlong.torch.Client(f"client {c}", 64) for c in range(16)]

    def batch(self, client, part, examples):
        rows = torch.from_numpy(examples + 7 * client) % (SIZES[0] // 10)
        return rows, rows % 2

    def outputs(self, module, inputs):
        return module["head"](module["frozen"](inputs).float())

    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)
