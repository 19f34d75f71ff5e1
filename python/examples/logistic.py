"""Logistic regression in plain Python: lists, loops and math. Arrays appear only where Furlong reads and writes."""

import math
import random

import furlong


class Logistic(furlong.Problem):
    metrics = {"accuracy": "max"}

    def __init__(self):
        draw = random.Random(5)
        self.examples = [[point(draw, shift) for _ in range(40)] for shift in (draw.gauss(0, 1) for _ in range(60))]

    def parameters(self, seed):
        return {"weight": [0.0, 0.0], "bias": 0.0, "own_bias": 0.0}

    def clients(self):
        groups = ["train"] * 50 + ["validation"] * 5 + ["test"] * 5
        return [furlong.Client(f"client {c}", 30, 5, 5, group) for c, group in enumerate(groups)]

    def chances(self, step):
        """Of each example: x, y and the model's chance of y = 1."""
        first = {"train": 0, "validation": 30, "test": 35}[step.part]
        w = step.parameters["weight"].tolist()
        bias = float(step.parameters["bias"]) + float(step.parameters["own_bias"])
        for number in step.examples:
            x, y = self.examples[step.client][first + number]
            yield x, y, 1 / (1 + math.exp(-(w[0] * x[0] + w[1] * x[1] + bias)))

    def gradient(self, step):
        loss, slope, bias, count = 0.0, [0.0, 0.0], 0.0, len(step.examples)
        for x, y, chance in self.chances(step):
            loss -= math.log(chance if y else 1 - chance) / count
            error = (chance - y) / count
            slope = [slope[0] + error * x[0], slope[1] + error * x[1]]
            bias += error
        for name, value in (("weight", slope), ("bias", bias), ("own_bias", bias)):
            if name in step.gradients:
                step.gradients[name][...] = value
        return loss

    def evaluate(self, step):
        loss = right = 0.0
        for _, y, chance in self.chances(step):
            loss -= math.log(chance if y else 1 - chance)
            right += (chance > 0.5) == y
        return {"loss": (loss, len(step.examples)), "accuracy": (right, len(step.examples))}

    def predict(self, step):
        return [chance for _, _, chance in self.chances(step)]


def point(draw, shift):
    """An example of a client whose threshold is shifted."""
    x = [draw.gauss(0, 1), draw.gauss(0, 1)]
    return x, int(2 * x[0] - x[1] + 2 * shift + draw.gauss(0, 0.5) > 0)
