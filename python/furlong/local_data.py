"""One client's examples, as a training loop sees them: their orders, batches and random draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Optional

import numpy

from .batches import Batches
from .errors import ProblemError, describe, place_of_caller
from .settings import Settings

if TYPE_CHECKING:
    from .problem import Problem


class LocalData:
    """The base of what Problem.fit() and Algorithm.train() are called with."""

    __slots__ = ("settings", "rate", "client", "part", "round", "rounds", "examples", "seed", "_problem", "_orders",
                 "_epoch", "_random")

    #: What the object is called in messages.
    _called = "phase"

    #: [algorithm.client] as it is now: lr, epochs, batch_size, max_steps, shuffle, momentum, proximal, optimizer, beta1,
    #: beta2, eps, weight_decay, clip.
    settings: Settings
    #: Learning rate of shared parameters in this round.
    rate: float
    #: Index of the client in Problem.clients(), and the part that the examples are of.
    client: int
    part: str
    #: The round that is being made, 1, 2, ...; in evaluation those made so far. And how many the run has.
    round: int
    rounds: int
    #: Numbers of the examples, int64.
    examples: numpy.ndarray
    #: 64 bits. random, numpy.random and torch are seeded by it.
    seed: int

    def __init__(self, problem: "Problem", request: Any) -> None:
        settings = request.settings
        self._problem = problem
        self._orders: numpy.ndarray = request.orders
        self._epoch = 0
        self._random: Optional[numpy.random.Generator] = None
        self.settings = Settings(settings["client"])
        self.rate = self.settings["lr"]
        self.rounds = settings["rounds"]
        self.client, self.part, self.round, self.seed = request.client, request.part, request.round, request.seed
        self.examples = request.orders[0]

    @property
    def random(self) -> numpy.random.Generator:
        """A generator seeded by `seed`."""
        if self._random is None:
            self._random = numpy.random.Generator(numpy.random.Philox(key=self.seed))
        return self._random

    def batches(self, epochs: Optional[int] = None, batch_size: Optional[int] = None, examples: Any = None,
                steps: Optional[int] = None, drop_last: bool = False) -> Batches:
        """Goes over the client's examples, by default as [algorithm.client] says and in the order that furlong would.

        epochs: passes. A further call of batches() goes on with the orders of the next epochs. Those beyond
            settings["epochs"] are drawn from `random`, where settings["shuffle"] says so.
        batch_size: 0: all examples in one batch.
        examples: only these numbers, of `examples`; their orders are drawn from `random`.
        steps: at most so many batches; 0: no limit.
        drop_last: leaves out the last batch of an epoch if it is smaller.

        Each batch is an array of example numbers, or with furlong.torch what Problem.batch() returns.
        """
        settings = self.settings
        return Batches(self, self._count("epochs", settings["epochs"] if epochs is None else epochs),
                       self._count("batch_size", settings["batch_size"] if batch_size is None else batch_size),
                       self._chosen(examples),
                       self._count("steps", settings["max_steps"] if steps is None else steps), bool(drop_last))

    def _load(self, examples: numpy.ndarray) -> Any:
        """What batches() gives for these examples."""
        return self._problem._load(self.client, self.part, examples)

    def _chosen(self, examples: Any, method: str = "batches") -> Optional[numpy.ndarray]:
        if examples is None:
            return None
        chosen = numpy.asarray(examples)
        numbers = chosen.ndim == 1 and (chosen.dtype.kind in "iu" or not chosen.size)
        if not numbers or not numpy.isin(chosen, self.examples).all():
            refuse(f"{self._called}.{method}() is given examples = {describe(examples)}",
                   f"give numbers out of {self._called}.examples, such as {self._called}.examples[:10]")
        return chosen.astype(numpy.int64)

    def _next_order(self, chosen: Optional[numpy.ndarray]) -> numpy.ndarray:
        """That of the next epoch."""
        if chosen is None:
            epoch, self._epoch = self._epoch, self._epoch + 1
            if epoch < len(self._orders):
                return self._orders[epoch]
        numbers = self.examples if chosen is None else chosen
        return self.random.permutation(numbers) if self.settings["shuffle"] else numbers

    def _count(self, name: str, value: Any, method: str = "batches") -> int:
        if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)) or value < 0:
            refuse(f"{self._called}.{method}() is given {name} = {describe(value)}", "give a whole number of at least 0")
        return int(value)


def refuse(reason: str, fix: str) -> NoReturn:
    """A mistake in a call: its place is the user's line."""
    raise ProblemError(reason, fix, place_of_caller())
