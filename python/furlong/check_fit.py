"""Tests the fit() of a class before it runs: a part of furlong.check."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, List, Mapping, Sequence

import numpy

from . import fits
from .errors import ProblemError, place_of_method
from .phase import VALUES, Room, Spare, Task, Term
from .problem import Problem
from .settings import client_settings


class FitCheck:
    """Phases of one epoch of one client, from the initial values."""

    def __init__(self, problem: Problem, values: Mapping[str, numpy.ndarray], private: Sequence[str], client: int,
                 examples: int, batch: int, limit: Callable[[], None]) -> None:
        self._problem = problem
        self._values = dict(values)
        self._private = list(private)
        self._client = client
        self._order = numpy.random.default_rng(0).permutation(examples)[None, :]
        self._batch = batch
        self._limit = limit

    def check(self, warnings: List[str]) -> str:
        """Finite values, the same twice, and with other parameters frozen. Returns a line about it; raises what is
        wrong."""
        task = self._task(self._values)
        done = fits.run(self._problem, task)
        for name in task.room.trained:
            if not numpy.isfinite(task.room.values[name]).all():
                raise ProblemError(f'fit() leaves values in "{name}" that are not finite (NaN or infinity)',
                                   "look for a division by zero, or take steps of phase.rate",
                                   place_of_method(self._problem, "fit"))
        if all(task.room.values[name].tobytes() == task.room.starts[name].tobytes() for name in task.room.trained):
            warnings.append("fit() changes no parameter: let it train phase.module, or write its result to phase.weights")
        fits.repeat(self._problem, task, done)
        shared = [name for name in self._values if name not in self._private]
        for trained in (self._private, shared) if self._private else ():
            fits.run(self._problem, self._task(trained))
        nothing = Term(1.0, VALUES, {name: numpy.zeros_like(value) for name, value in self._values.items()})
        try:
            fits.run(self._problem, self._task(self._values, nothing), watched=True)
        except ProblemError as error:
            if "phase.correct()" not in error.reason:
                raise
            warnings.append("fit() does not call phase.correct(), so that algorithms with corrections (scaffold, "
                            "feddyn, ditto) and algorithm.client.proximal end with an error")
        return (f"{done.steps} steps on {done.examples} examples, mean loss {done.loss_sum / done.examples:.4g}, and "
                "the same for the same seed")

    def results(self) -> Dict[str, numpy.ndarray]:
        """The values that a phase ends with."""
        task = self._task(self._values)
        fits.run(self._problem, task)
        return task.room.values

    def run(self) -> None:
        """One phase."""
        fits.run(self._problem, self._task(self._values))

    def _task(self, trained: Iterable[str], *terms: Term) -> Task:
        self._limit()
        room = Room(self._values, {name: numpy.empty_like(self._values[name]) for name in trained},
                    self._problem._buffers(), Spare())
        settings = {"client": client_settings(self._batch)._values, "private_lr": 0.01, "private": self._private,
                    "rounds": 1, "dropout": True}
        return Task(room, 1, 1, terms, self._client, "train", self._order, settings)
