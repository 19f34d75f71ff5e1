"""Problems whose module has BatchNorm; the environment variable TROUBLE makes them fail or slow."""
import os
import time
from collections import OrderedDict

import furlong.data
import furlong.torch
import torch

TROUBLE = os.environ.get("TROUBLE", "")
CLIENTS, TRAIN, TEST, INPUTS, CLASSES = 12, 20, 10, 6, 3


class Normalized(furlong.torch.Problem):
    """Each client has inputs of a scale and a place of its own."""
    metrics = {"accuracy": "max"}

    def __init__(self):
        random = torch.Generator().manual_seed(3)
        examples = CLIENTS * (TRAIN + TEST)
        x = torch.randn(examples, INPUTS, generator=random)
        y = (x @ torch.randn(INPUTS, CLASSES, generator=random)).argmax(1)
        own = torch.arange(examples).reshape(CLIENTS, -1)
        for client, rows in enumerate(own):
            x[rows] = x[rows] * (0.5 + client / 4) + client / 3 - 2
        self.data = furlong.data.Data(x, y, [rows.numpy() for rows in own], test=0.34,
                                      unseen=2 if TROUBLE == "unseen" else 0)

    def module(self):
        return torch.nn.Sequential(OrderedDict(first=torch.nn.Linear(INPUTS, 8), bn=torch.nn.BatchNorm1d(8),
                                               act=torch.nn.ReLU(), last=torch.nn.Linear(8, CLASSES)))

    def _arithmetic(self):
        return os.environ.get("ARITHMETIC") or super()._arithmetic()

    def loss(self, outputs, targets):
        if TROUBLE == "slow":
            time.sleep(0.004)
        return torch.nn.functional.cross_entropy(outputs, targets)

    def score(self, outputs, targets):
        return {"accuracy": ((outputs.argmax(1) == targets).sum(), len(targets))}


class Fitted(Normalized):
    """By a loop of its own, which takes the same steps."""
    plain = True

    def fit(self, phase):
        parameters = [one for one in phase.module.parameters() if one.requires_grad]
        optimizer = torch.optim.SGD(parameters, phase.rate)
        for inputs, targets in phase.batches():
            loss = self.loss(phase.module(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            phase.correct()
            optimizer.step()
            phase.record(loss, len(targets))


class Named(Normalized):
    """The statistics are the class's own."""
    buffers = ["*.mean", "*.spread"]

    def module(self):
        return torch.nn.Sequential(OrderedDict(first=torch.nn.Linear(INPUTS, 8), own=Own(),
                                               last=torch.nn.Linear(8, CLASSES)))


class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("spread", torch.ones(()))

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)  # another tensor
            with torch.no_grad():
                self.spread.mul_(0.9).add_(0.1 * x.std())
        return torch.tanh((x - self.mean) / self.spread)
