"""The loop that Problem.fit() is by default: that of [algorithm.client], as furlong's own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, List, Mapping, Tuple

import numpy

from .errors import ProblemError, place_of_caller
from .first_step import refuse_unwritten
from .memory import mark_unwritten
from .values import mean_loss

if TYPE_CHECKING:
    from .phase import Phase
    from .problem import Problem


class LocalOptimizer:
    """The optimizer of [algorithm.client], as furlong's own: float32, zero moments at first. `values` and `gradients`
    are arrays, or tensors of furlong.torch."""

    def __init__(self, phase: "Phase", values: Mapping[str, Any], gradients: Mapping[str, Any]) -> None:
        self._settings = settings = phase.settings
        self._adam = settings["optimizer"] != "sgd"
        self._steps = 0
        moments = 2 if self._adam else 1 if settings["momentum"] else 0
        self._tensors: List[Tuple[Any, Any, numpy.float32, List[Any]]] = [
            (values[name], gradients[name],
             numpy.float32(phase.private_rate if name in phase.private else phase.rate),
             [self._zeros(values[name]) for _ in range(moments)])
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
                gradient = gradient + weights * numpy.float32(self._settings["weight_decay"])
            if moments:
                (velocity,) = moments
                velocity *= numpy.float32(self._settings["momentum"])
                velocity += gradient
                gradient = velocity
            weights -= gradient * rate

    def _clip(self) -> None:
        """Scales the gradients to the largest norm that the settings allow."""
        longest = self._settings["clip"]
        if not longest:
            return
        norm = math.sqrt(sum(self._square_sum(gradient) for _, gradient, _, _ in self._tensors))
        if norm > longest:
            for _, gradient, _, _ in self._tensors:
                gradient *= numpy.float32(longest / norm)

    # A tensor is the left operand: numpy's numbers would make an array of one at their right.

    def _adam_change(self, weights: Any, gradient: Any, rate: numpy.float32, first: Any, second: Any) -> Any:
        settings = self._settings
        beta1, beta2, eps, decay = (numpy.float32(settings[key]) for key in ("beta1", "beta2", "eps", "weight_decay"))
        one = numpy.float32(1)
        decoupled = settings["optimizer"] == "adamw"
        if not decoupled:
            gradient = gradient + weights * decay
        first *= beta1
        first += gradient * (one - beta1)
        second *= beta2
        second += gradient * (one - beta2) * gradient
        of_first = numpy.float32(1 / (1 - float(beta1) ** self._steps))
        of_second = numpy.float32(1 / (1 - float(beta2) ** self._steps))
        change = first * of_first * rate / (self._root(second * of_second) + eps)
        return change + weights * (rate * decay) if decoupled else change

    def _zeros(self, like: Any) -> Any:
        return numpy.zeros_like(like)

    def _root(self, array: Any) -> Any:
        return numpy.sqrt(array)

    def _square_sum(self, array: Any) -> float:
        """In float64."""
        return float(numpy.square(array, dtype=numpy.float64).sum())


def fit_by_gradients(problem: "Problem", phase: "Phase") -> None:
    """The loop of [algorithm.client] with Problem.gradient(): the same as furlong's own, up to rounding."""
    if not problem._has_gradient():
        raise ProblemError(f"class {type(problem).__name__} has neither gradient() nor fit(), and the algorithm trains by "
                           "one of them", "define one, or let train() do without t.fit()", place_of_caller())
    optimizer = phase._optimizer()
    for examples in phase.batches().numbers():
        loss = phase._loss_with_gradients(examples)
        phase.correct()
        optimizer.step()
        phase.record(loss, len(examples))


def loss_with_gradients(problem: "Problem", phase: "Phase", examples: numpy.ndarray) -> float:
    """The mean loss of a batch, by Problem.gradient(); the gradients are those of the phase."""
    if not phase._room.written:
        mark_unwritten(phase.gradients)
    loss = mean_loss(problem, phase.step(examples))
    if not phase._room.written:
        refuse_unwritten(problem, phase.gradients)
        phase._room.written = True
    return loss
