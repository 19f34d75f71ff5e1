"""The problems of python_fit_test.py: loops of their own for ratings.py. TROUBLE in the environment makes them fail."""
import os
import signal
import time
from pathlib import Path

import furlong
import numpy

from ratings import TROUBLE, Ratings


class Momentum(Ratings):
    """Heavy-ball steps with a rate that falls, over more epochs than [algorithm.client] has, and drawn noise."""

    def fit(self, phase):
        velocity = {name: numpy.zeros_like(phase.weights[name]) for name in phase.trained}
        for number, examples in enumerate(phase.batches(epochs=3, batch_size=5)):
            if TROUBLE == "slow":
                time.sleep(0.001)
            if TROUBLE == "die" and number == 2 and phase.client % 7 == 3:
                self.die_once(phase)
            rate = phase.rate / (1.0 + 0.1 * number)
            loss = self.gradient(phase.step(examples))
            phase.correct(rate)
            for name in phase.trained:
                noise = 0.01 * phase.random.standard_normal(phase.weights[name].shape)
                velocity[name] = 0.5 * velocity[name] + phase.gradients[name] + noise
                phase.weights[name] -= rate * velocity[name]
            phase.record(loss, len(examples))

    @staticmethod
    def die_once(phase):
        """The trainer that does this work first is killed in the middle of it."""
        mark = Path(os.environ["MARKS"]) / f"{phase.client}-{phase.round}-{'-'.join(phase.trained)}"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Plain(Ratings):
    """The loop of [algorithm.client] itself."""

    plain = True

    def fit(self, phase):
        for examples in phase.batches():
            loss = self.gradient(phase.step(examples))
            phase.correct()
            for name in phase.trained:
                phase.weights[name] -= numpy.float32(phase.rate) * phase.gradients[name]
            phase.record(loss, len(examples))


class Exact(Ratings):
    """No gradient: the parameters that are trained by least squares, and half of the way there."""

    gradient = furlong.Problem.gradient

    def fit(self, phase):
        inputs = self.inputs[phase.client, phase.examples].astype(float)
        targets = self.targets[phase.client, phase.examples].astype(float)
        columns = {"weights": inputs, "user.offset": numpy.ones((len(inputs), 1))}
        error = targets - sum(columns[name] @ phase.weights[name] for name in columns)
        design = numpy.concatenate([columns[name] for name in phase.trained], axis=1)
        change = numpy.linalg.solve(design.T @ design + 0.1 * numpy.eye(design.shape[1]), design.T @ error)
        at = 0
        for name in phase.trained:
            size = phase.weights[name].size
            phase.weights[name] += (0.5 * change[at : at + size]).astype(numpy.float32)
            at += size
        phase.record((error**2).mean(), len(error))
