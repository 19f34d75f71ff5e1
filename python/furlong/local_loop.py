"""The loop that Problem.fit() is by default: that of [algorithm.client], as furlong's own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, List, Tuple

import numpy

from .first_step import refuse_unwritten
from .memory import mark_unwritten
from .values import mean_loss

if TYPE_CHECKING:
    from .phase import Phase
    from .problem import Problem


class LocalOptimizer:
    """The optimizer of [algorithm.client], as furlong's own: float32, zero moments at first."""

    def __init__(self, phase: "Phase") -> None:
        self._settings = settings = phase.settings
        self._adam = settings["optimizer"] != "sgd"
        self._steps = 0
        values, gradients = phase._room.values, phase.gradients
        moments = 2 if self._adam else 1 if settings["momentum"] else 0
        self._tensors: List[Tuple[numpy.ndarray, numpy.ndarray, numpy.float32, List[numpy.ndarray]]] = [
            (values[name], gradients[name],
             numpy.float32(phase.private_rate if name in phase.private else phase.rate),
             [numpy.zeros_like(values[name]) for _ in range(moments)])
            for name in phase.trained]

    def step(self) -> None:
        """Moves the weights by the gradients."""
        self._steps += 1
        self._clip()
        for weights, gradient, rate, moments in self._tensors:
            if self._adam:
                weights -= self._adam_change(weights, gradient, rate, *moments)
                continue
            if self._settings["weight_decay"]:
                gradient = gradient + numpy.float32(self._settings["weight_decay"]) * weights
            if moments:
                (velocity,) = moments
                velocity *= numpy.float32(self._settings["momentum"])
                velocity += gradient
                gradient = velocity
            weights -= rate * gradient

    def _clip(self) -> None:
        """Scales the gradients to the largest norm that the settings allow."""
        longest = self._settings["clip"]
        if not longest:
            return
        norm = math.sqrt(sum(float(numpy.square(gradient, dtype=numpy.float64).sum())
                             for _, gradient, _, _ in self._tensors))
        if norm > longest:
            for _, gradient, _, _ in self._tensors:
                gradient *= numpy.float32(longest / norm)

    def _adam_change(self, weights: numpy.ndarray, gradient: numpy.ndarray, rate: numpy.float32, first: numpy.ndarray,
                     second: numpy.ndarray) -> numpy.ndarray:
        settings = self._settings
        beta1, beta2, eps, decay = (numpy.float32(settings[key]) for key in ("beta1", "beta2", "eps", "weight_decay"))
        one = numpy.float32(1)
        decoupled = settings["optimizer"] == "adamw"
        if not decoupled:
            gradient = gradient + decay * weights
        first *= beta1
        first += (one - beta1) * gradient
        second *= beta2
        second += (one - beta2) * gradient * gradient
        of_first = numpy.float32(1 / (1 - float(beta1) ** self._steps))
        of_second = numpy.float32(1 / (1 - float(beta2) ** self._steps))
        change = rate * (first * of_first) / (numpy.sqrt(second * of_second) + eps)
        return change + rate * decay * weights if decoupled else change


def fit_by_gradients(problem: "Problem", phase: "Phase") -> None:
    """The loop of [algorithm.client] with Problem.gradient(): the same as furlong's own, up to rounding."""
    optimizer = LocalOptimizer(phase)
    for examples in phase.batches().numbers():
        if not phase._room.written:
            mark_unwritten(phase.gradients)
        loss = mean_loss(problem, phase.step(examples))
        if not phase._room.written:
            refuse_unwritten(problem, phase.gradients)
            phase._room.written = True
        phase.correct()
        optimizer.step()
        phase.record(loss, len(examples))
