"""Handwritten digits as byzfl divides MNIST: the share `similar` of the training images is divided evenly at random,
the rest is sorted by class and cut into equal parts. The bad clients, which come last, have one image each.

A perceptron with one hidden layer, in numpy.
"""

import furlong
import numpy
from sklearn.datasets import load_digits

HONEST, HIDDEN, CLASSES, PIXELS = 10, 48, 10, 64


class Digits(furlong.Problem):
    metrics = {"accuracy": "max"}
    options = {"similar": 1.0, "bad": 1}

    def __init__(self):
        images, labels = load_digits(return_X_y=True)  # 1,797 images of 8 x 8 pixels, values 0 ... 16
        self.images = (images / 16).astype(numpy.float32)
        self.labels = labels
        order = numpy.random.default_rng(7).permutation(len(labels))
        self.test, training = numpy.split(order, [len(order) // 6])
        own = divide(training, labels, self.similar)
        #: By client: the images that it trains on, and those on which its own model is scored.
        self.own = [numpy.split(rows, [len(rows) * 4 // 5]) for rows in own]
        self.own += [[rows[:1], rows[:0]] for rows in (training[i:] for i in range(int(self.bad)))]

    def parameters(self, seed):
        random = numpy.random.default_rng(seed)
        return {"body.weight": random.normal(0, (2 / PIXELS) ** 0.5, (PIXELS, HIDDEN)).astype(numpy.float32),
                "body.bias": numpy.zeros(HIDDEN, numpy.float32),
                "head.weight": random.normal(0, HIDDEN**-0.5, (HIDDEN, CLASSES)).astype(numpy.float32),
                "head.bias": numpy.zeros(CLASSES, numpy.float32)}

    def clients(self):
        clients = [furlong.Client(f"client {number}", len(train), 0, len(test))
                   for number, (train, test) in enumerate(self.own)]
        # Never asked to train: the common test images.
        return [*clients, furlong.Client("everybody", 0, 0, len(self.test), group="test")]

    def rows(self, step):
        if step.client == len(self.own):
            return self.test[step.examples]
        return self.own[step.client][0 if step.part == "train" else 1][step.examples]

    def forward(self, step):
        weights, rows = step.parameters, self.rows(step)
        hidden = numpy.maximum(self.images[rows] @ weights["body.weight"] + weights["body.bias"], 0)
        scores = hidden @ weights["head.weight"] + weights["head.bias"]
        scores = scores - scores.max(1, keepdims=True)
        shares = numpy.exp(scores) / numpy.exp(scores).sum(1, keepdims=True)
        return rows, hidden, shares

    def gradient(self, step):
        rows, hidden, shares = self.forward(step)
        count, labels = len(rows), self.labels[rows]
        loss = -numpy.log(shares[numpy.arange(count), labels] + 1e-12).mean()
        d_scores = shares
        d_scores[numpy.arange(count), labels] -= 1
        d_scores /= count
        d_hidden = (d_scores @ step.parameters["head.weight"].T) * (hidden > 0)
        images = self.images[rows]
        gradients = {"head.weight": hidden.T @ d_scores, "head.bias": d_scores.sum(0), "body.weight": images.T @ d_hidden,
                     "body.bias": d_hidden.sum(0)}
        for name, gradient in step.gradients.items():  # of what is trained
            gradient[...] = gradients[name]
        return float(loss)

    def evaluate(self, step):
        rows, _, shares = self.forward(step)
        labels = self.labels[rows]
        losses = -numpy.log(shares[numpy.arange(len(rows)), labels] + 1e-12)
        return {"loss": (float(losses.sum()), len(rows)),
                "accuracy": (float((shares.argmax(1) == labels).sum()), len(rows))}


def divide(rows, labels, similar):
    """The rows of each honest client."""
    alike, others = numpy.split(rows, [round(len(rows) * similar)])
    others = others[numpy.argsort(labels[others], kind="stable")]
    parts = zip(numpy.array_split(alike, HONEST), numpy.array_split(others, HONEST))
    random = numpy.random.default_rng(8)
    return [random.permutation(numpy.concatenate(pair)) for pair in parts]
