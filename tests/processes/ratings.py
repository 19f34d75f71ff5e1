"""The problem of python_test.py: a linear model with a private offset. TROUBLE in the environment makes it fail."""
import os
import time

import furlong
import numpy

TROUBLE = os.environ.get("TROUBLE", "")
CLIENTS = 200


class Ratings(furlong.Problem):
    metrics = {"mse": "min", "close": "max"}

    def __init__(self):
        random = numpy.random.default_rng(1)
        self.inputs = random.normal(size=(CLIENTS, 24, 3)).astype(numpy.float32)
        offsets = random.normal(size=(CLIENTS, 1))
        self.targets = (self.inputs @ [1.0, -2.0, 0.5] + offsets).astype(numpy.float32)
        if TROUBLE in ("nan", "all nan"):
            clients = 11 if TROUBLE == "nan" else slice(None)
            self.targets[clients, -1] = numpy.nan  # of the test part, or of an unseen client's queries

    def parameters(self, seed):
        if TROUBLE == "shape":
            return {"weights": numpy.zeros(4, numpy.float32), "user.offset": numpy.zeros(1, numpy.float32)}
        return {"weights": numpy.zeros(3, numpy.float32), "user.offset": numpy.zeros(1, numpy.float32)}

    def clients(self):
        for number in range(CLIENTS):
            group = "train" if number % 10 < 8 else "validation" if number % 10 == 8 else "test"
            sizes = (16, 4, 4) if group == "train" else (24, 0, 0)
            yield furlong.Client(f"user {number}", *sizes, group=group)

    def errors(self, step):
        rows = step.examples + {"train": 0, "validation": 16, "test": 20}[step.part]
        inputs = self.inputs[step.client, rows]
        values = inputs @ step.parameters["weights"] + step.parameters["user.offset"]
        return inputs, values - self.targets[step.client, rows]

    def gradient(self, step):
        if step.client == 11 and TROUBLE == "raise":
            raise ValueError("no gradient for this user")
        if TROUBLE == "late" and step.parameters["weights"][0] > 0.5 and step.client % 3 == 0:
            raise ValueError("no gradient any more")
        if step.client == 11 and TROUBLE == "hang":
            time.sleep(3600)
        if step.client == 11 and TROUBLE == "exit":
            os._exit(3)
        if step.client == 11 and TROUBLE == "shrink":
            os.ftruncate(4, 0)
        if TROUBLE == "flood":
            print("0123456789abcde\n" * 20000)
        if TROUBLE == "slow":
            time.sleep(0.002)
        print("looks at", step.client)
        inputs, errors = self.errors(step)
        if "weights" in step.gradients:
            step.gradients["weights"][...] = 2 * inputs.T @ errors / len(errors)
        if "user.offset" in step.gradients:
            step.gradients["user.offset"][...] = 2 * errors.mean()
        return float((errors**2).mean())

    def evaluate(self, step):
        if TROUBLE == "late score of one" and step.client == 11 and step.parameters["weights"][0] > 0.5:
            raise ValueError("no score for this user")
        if TROUBLE == "score" or (TROUBLE == "late score" and step.parameters["weights"][0] > 0.5):
            raise ZeroDivisionError("division by zero")
        errors = self.errors(step)[1]
        squares = float((errors**2).sum())
        close = float((abs(errors) < 0.5).sum())
        return {"loss": (squares, len(errors)), "mse": (squares, len(errors)), "close": (close, len(errors))}

    def predict(self, step):
        if TROUBLE == "predict":
            raise KeyError("offset")
        return [float(value) for value in self.errors(step)[1]]
