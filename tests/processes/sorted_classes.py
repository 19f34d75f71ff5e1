"""The problem of python_test.py's test_sorted_classes: softmax regression whose clients have their examples sorted by
class, or not (SORTED in the environment)."""
import os

import furlong
import numpy

CLIENTS, CLASSES, SIZE = 60, 6, 60


class Classes(furlong.Problem):
    metrics = {"accuracy": "max"}

    def __init__(self):
        random = numpy.random.default_rng(3)
        centers = random.normal(size=(CLASSES, 8))
        self.labels = random.integers(CLASSES, size=(CLIENTS, SIZE + 30))
        self.inputs = (centers[self.labels] + 2.0 * random.normal(size=(CLIENTS, SIZE + 30, 8))).astype(numpy.float32)
        if os.environ.get("SORTED") == "1":  # training examples, and for unseen clients all
            for client in range(CLIENTS):
                end = SIZE if client < 40 else SIZE + 30
                order = numpy.argsort(self.labels[client, :end], kind="stable")
                self.labels[client, :end] = self.labels[client, order]
                self.inputs[client, :end] = self.inputs[client, order]

    def parameters(self, seed):
        return {"weights": numpy.zeros((8, CLASSES), numpy.float32), "bias": numpy.zeros(CLASSES, numpy.float32)}

    def clients(self):
        return [furlong.Client(f"c{c}", SIZE, 0, 30) if c < 40 else furlong.Client(f"c{c}", SIZE + 30, group="test")
                for c in range(CLIENTS)]

    def outputs(self, step):
        rows = step.examples + (SIZE if step.part == "test" else 0)
        inputs, labels = self.inputs[step.client, rows], self.labels[step.client, rows]
        scores = inputs @ step.parameters["weights"] + step.parameters["bias"]
        scores -= scores.max(1, keepdims=True)
        shares = numpy.exp(scores)
        shares /= shares.sum(1, keepdims=True)
        return inputs, labels, shares

    def gradient(self, step):
        inputs, labels, shares = self.outputs(step)
        loss = -numpy.log(shares[numpy.arange(len(labels)), labels] + 1e-9).mean()
        shares[numpy.arange(len(labels)), labels] -= 1
        if "weights" in step.gradients:
            step.gradients["weights"][...] = inputs.T @ shares / len(labels)
        if "bias" in step.gradients:
            step.gradients["bias"][...] = shares.mean(0)
        return float(loss)

    def evaluate(self, step):
        _, labels, shares = self.outputs(step)
        loss = -numpy.log(shares[numpy.arange(len(labels)), labels] + 1e-9).sum()
        return {"loss": (float(loss), len(labels)), "accuracy": (float((shares.argmax(1) == labels).sum()), len(labels))}

    def predict(self, step):
        return [[step.client, step.part, int(example)] for example in step.examples]
