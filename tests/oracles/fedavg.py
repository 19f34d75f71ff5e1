"""FedAvg with each server optimizer (federated/rounds/server_optimizer.cpp), by their papers' equations: Reddi et al. 2021,
algorithm 2, and with bias_correction Kingma and Ba 2015, algorithm 1."""
import numpy

from world import ALL, copy, difference, gradient, mean

ADAM = {"algorithm.server.optimizer": "adam", "algorithm.server.lr": 0.05, "algorithm.server.eps": 0.02}
YOGI = {**ADAM, "algorithm.server.optimizer": "yogi"}
ADAGRAD = {**ADAM, "algorithm.server.optimizer": "adagrad"}

SCENARIOS = {
    "plain": {},
    "uniform weights, few steps": {"algorithm.aggregation.rule": "uniform-mean", "algorithm.client.max_steps": 3},
    "momentum": {"algorithm.server.momentum": 0.9, "algorithm.server.lr": 0.3},
    "adagrad": ADAGRAD,
    "adagrad from tau squared": {**ADAGRAD, "algorithm.server.initial_accumulator": 0.0004},
    "adam": ADAM,
    "adam, corrected": {**ADAM, "algorithm.server.bias_correction": True},
    "adam, other decays": {**ADAM, "algorithm.server.beta1": 0.5, "algorithm.server.beta2": 0.9,
                           "algorithm.server.initial_accumulator": 0.0004},
    "yogi": YOGI,
    "yogi, corrected": {**YOGI, "algorithm.server.bias_correction": True},
}


class Server:
    """The optimizer of one tensor: step(change) is what is added to it."""

    def __init__(self, world, shape) -> None:
        self.option = lambda name, fallback: world.get(f"algorithm.server.{name}", fallback)
        self.kind = self.option("optimizer", "sgd")
        self.m, self.t = numpy.zeros(shape), 0
        self.v = numpy.full(shape, float(self.option("initial_accumulator", 0.0)))

    def step(self, change):
        self.t += 1
        lr, eps = self.option("lr", 1.0), self.option("eps", 1e-3)
        b1, b2 = self.option("beta1", 0.9), self.option("beta2", 0.99)
        if self.kind == "sgd":
            self.m = self.option("momentum", 0.0) * self.m + change
            return lr * self.m
        squared = change ** 2
        if self.kind == "adagrad":
            self.v = self.v + squared
            return lr * change / (numpy.sqrt(self.v) + eps)
        self.m = b1 * self.m + (1 - b1) * change
        if self.kind == "adam":
            self.v = b2 * self.v + (1 - b2) * squared
        else:
            self.v = self.v - (1 - b2) * numpy.sign(self.v - squared) * squared
        if not self.option("bias_correction", False):
            return lr * self.m / (numpy.sqrt(self.v) + eps)
        return lr * (self.m / (1 - b1 ** self.t)) / (numpy.sqrt(self.v / (1 - b2 ** self.t)) + eps)


def run(world):
    model = copy(world.initial)
    servers = {name: Server(world, model[name].shape) for name in ALL}
    for cohort in world.cohorts():
        changes = []
        for i in cohort:
            w = copy(model)
            for batch in world.steps(i):
                world.step(w, gradient(w, batch), ALL)
            changes.append(difference(w, model, ALL))
        for name, change in mean(changes, world.weights(cohort)).items():
            model[name] += servers[name].step(change)
    return model, {}, {i: model for i in world.clients}
