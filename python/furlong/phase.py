"""One phase of local training, as Problem.fit() sees it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Collection, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

import numpy

from .errors import Place, ProblemError, describe, place_of_method
from .local_data import LocalData, refuse
from .memory import Layout
from .step import Step

if TYPE_CHECKING:
    from .local_loop import LocalOptimizer
    from .problem import Problem


class Term(NamedTuple):
    """What is added to the gradient of each step: factor * values, and of other forms factor * w or factor * (w -
    values), w being the weights before the step."""

    factor: float
    form: int
    values: Mapping[str, numpy.ndarray]


VALUES, WEIGHTS, DIFFERENCE = range(3)


class Spare:
    """Memory of this process for phases, which take turns."""

    def __init__(self) -> None:
        self._arrays: Dict[Tuple[str, str], numpy.ndarray] = {}

    def like(self, purpose: str, name: str, array: numpy.ndarray) -> numpy.ndarray:
        """One array for each purpose and parameter, with arbitrary contents."""
        if (purpose, name) not in self._arrays:
            self._arrays[purpose, name] = numpy.empty_like(array)
        return self._arrays[purpose, name]


class Room:
    """The arrays of a phase: where it starts, where its result goes, and memory for gradients."""

    def __init__(self, starts: Dict[str, numpy.ndarray], results: Dict[str, numpy.ndarray], buffers: Collection[str],
                 spare: Spare) -> None:
        #: At the start, never written.
        self.starts = starts
        #: What the phase ends with: the parameters that are trained, and the buffers that move.
        self.results = tuple(results)
        self.trained = tuple(name for name in results if name not in buffers)
        self.moved = tuple(name for name in results if name in buffers)
        #: What training works on, by name: those that are trained are in the memory file.
        self.values = {name: results[name] if name in results else spare.like("frozen", name, start)
                       for name, start in starts.items()}
        self._spare = spare
        self.layout = Layout(self.values, {})
        #: Whether gradient() was seen to write all gradients.
        self.written = False
        #: What furlong.torch keeps for this room.
        self.tensors: Any = None
        self._steps: Optional[Layout] = None

    @property
    def steps(self) -> Layout:
        """The same values with gradients, made once."""
        if self._steps is None:
            self._steps = Layout(self.values, {name: self._spare.like("gradient", name, self.values[name])
                                               for name in self.trained}, self.moved)
        return self._steps

    def begin(self) -> None:
        """Sets all values to those at the start."""
        for name, start in self.starts.items():
            self.values[name][...] = start


class Task(NamedTuple):
    """A request for a phase."""

    room: Room
    seed: int
    round: int
    terms: Tuple[Term, ...]
    client: int
    part: str
    #: The orders of the epochs, example numbers, one row each.
    orders: numpy.ndarray
    #: docs/trainer-protocol.md.
    settings: Mapping[str, Any]


class Recorded(NamedTuple):
    """What a phase has processed."""

    loss_sum: float
    examples: int
    steps: int
    #: The sum of the learning rates.
    rates: float


class Weights(Mapping[str, numpy.ndarray]):
    """The parameters and buffers by name, float32. Those that the phase trains and moves can be written: ``w[...] =
    value``, or ``weights[name] = value``, which copies. The others are read-only."""

    def __init__(self, room: Room) -> None:
        self._room = room

    def __getitem__(self, name: str) -> numpy.ndarray:
        return (self._room.values if name in self._room.results else self._room.layout.parameters)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._room.values)

    def __len__(self) -> int:
        return len(self._room.values)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._room.values:
            refuse(f"phase.weights has no {name!r}", f"it has: {', '.join(self._room.values)}")
        if name not in self._room.results:
            refuse(f'phase.weights["{name}"] is not trained in this phase',
                    "assign only those in phase.trained: an algorithm may train some at a time")
        array = numpy.asarray(value)
        target = self._room.values[name]
        if array.shape != target.shape or array.dtype.kind not in "fiub":
            refuse(f'phase.weights["{name}"] is set to an array of {array.dtype} of the shape {array.shape}',
                    f"give numbers of the shape {target.shape}")
        target[...] = array


class Phase(LocalData):
    """One phase of local training of one client. Valid during the call only.

    `batches` goes over the client's examples; each step is announced by `record`, and before that its gradient
    corrected by `correct`, if the algorithm corrects gradients.
    """

    __slots__ = ("weights", "trained", "private", "dropout", "_room", "_terms", "_step_rate", "_corrected", "_recorded",
                 "_moved", "_private_rate", "_read_private_rate")

    #: The parameters by name; those of `trained` can be written.
    weights: Weights
    #: Names of the parameters that this phase trains.
    trained: Tuple[str, ...]
    #: Those of them that are private.
    private: Tuple[str, ...]
    #: Whether the phase trains with dropout: a reconstruction does not.
    dropout: bool

    def __init__(self, problem: "Problem", task: Task) -> None:
        super().__init__(problem, task)
        room, settings = task.room, task.settings
        self._room = room
        self._terms = task.terms
        self.weights = Weights(room)
        self.trained = room.trained
        self.private = tuple(name for name in settings["private"] if name in room.trained)
        self._private_rate = settings["private_lr"]
        self._read_private_rate = False
        self.dropout = settings["dropout"]
        self._recorded = Recorded(0.0, 0, 0, 0.0)
        self._step_rate = self.rate
        self._corrected = False
        self._moved: Optional[Dict[str, numpy.ndarray]] = None

    @property
    def private_rate(self) -> float:
        """Learning rate of private parameters in this round."""
        self._read_private_rate = True
        return self._private_rate

    @property
    def gradients(self) -> Mapping[str, numpy.ndarray]:
        """Arrays for the gradients of the trained parameters, which `correct` corrects. With arbitrary contents at
        first."""
        return self._room.steps.gradients

    def step(self, examples: numpy.ndarray) -> Step:
        """What Problem.gradient() is called with for a batch: the weights as they are, and `gradients`. Draws from a
        seed of its own."""
        seed = (self.seed + 0x9E3779B97F4A7C15 * (1 + self._recorded.steps)) % 2**64 or 1
        return Step(self._room.steps, self.client, self.part, examples, seed, self.round, self.dropout)

    def correct(self, rate: Optional[float] = None) -> None:
        """Adds the algorithm's corrections (SCAFFOLD, FedDyn, proximal terms) to the gradient of a step: to be called
        between the backward pass and the optimizer's step, once in each step.

        rate: the learning rate of this step, if it is not that of the phase.
        """
        if self._corrected:
            refuse("phase.correct() is called again before phase.record()", "call each once for a step: correct() "
                    "before the step of the optimizer, record(loss, n) after it")
        if rate is not None:
            if isinstance(rate, bool) or not isinstance(rate, (int, float, numpy.number)) or not 0 <= rate < math.inf:
                refuse(f"phase.correct() is given the learning rate {describe(rate)}", "give a number of at least 0")
            self._step_rate = float(rate)
        self._corrected = True
        for term in self._terms:
            self._add(term)
        for name, moved in (self._moved or {}).items():
            moved += self._step_rate * self._gradient(name)

    def record(self, loss: Any, n: int) -> None:
        """Announces a step: the mean loss of its batch before the step, and how many examples the batch has."""
        if isinstance(n, bool) or not isinstance(n, (int, numpy.integer)) or n < 1:
            refuse(f"phase.record() is given {describe(n)} as the number of examples",
                    "give that of the batch, such as len(targets)")
        try:
            if isinstance(loss, (str, bytes)):
                raise TypeError
            mean = float(loss)
        except (TypeError, ValueError, RuntimeError):
            refuse(f"phase.record() is given {describe(loss)} as the loss", "give the mean loss of the batch")
        if self._terms and not self._corrected:
            refuse("a step is recorded without phase.correct(), and the algorithm corrects the gradient of each step",
                    "call phase.correct() between the backward pass and the step of the optimizer")
        loss_sum, number, steps, rates = self._recorded
        self._recorded = Recorded(loss_sum + mean * int(n), number + int(n), steps + 1, rates + self._step_rate)
        self._step_rate = self.rate
        self._corrected = False

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _optimizer(self) -> "LocalOptimizer":
        """That of the loop of [algorithm.client]."""
        from .local_loop import LocalOptimizer  # which needs this module

        return LocalOptimizer(self, self._room.values, self.gradients)

    def _loss_with_gradients(self, examples: numpy.ndarray) -> float:
        """A batch of that loop: its mean loss, after which the gradients are there."""
        from .local_loop import loss_with_gradients

        return loss_with_gradients(self._problem, self, examples)

    def _add(self, term: Term) -> None:
        for name, values in term.values.items():
            gradient = self.gradients[name]
            if term.form != VALUES:
                values = self._room.values[name] - values if term.form == DIFFERENCE else self._room.values[name]
            gradient += numpy.float32(term.factor) * values

    def _gradient(self, name: str) -> Any:
        """That of a trained parameter, with the corrections."""
        return self.gradients[name]

    def _watch_steps(self) -> None:
        """Before fit(): _end() tests whether the steps are plain, if each is announced by correct()."""
        if self._terms and self.settings.asks_plain_steps():
            self._moved = {name: numpy.zeros(self._room.values[name].shape) for name in self.trained
                           if name not in self.private}

    def _refuse_other_steps(self, place: Place) -> None:
        for name, moved in (self._moved or {}).items():
            start = self._room.starts[name].astype(numpy.float64)
            error = start - self._room.values[name] - moved
            rounding = 1e-5 * float(numpy.linalg.norm(start))
            # Not of values that are not finite.
            if numpy.linalg.norm(error) > 1e-2 * float(numpy.linalg.norm(moved)) + rounding:
                raise ProblemError(f'plain is True, and "{name}" does not change by the sum of rate * gradient',
                                   "give phase.correct() the rate of each step, and use no momentum and no clipping; or "
                                   "remove plain", place)

    def _end(self) -> Recorded:
        """After fit(): the results are in the room. Raises ProblemError."""
        place = place_of_method(self._problem, "fit")
        if self._recorded.steps == 0:
            raise ProblemError("fit() records no step", "call phase.record(loss, n) after each step: the update weighs "
                               "as many examples", place)
        if self._corrected:
            raise ProblemError("fit() corrects a step and does not record it", "call phase.record(loss, n) after it",
                               place)
        for name, start in self._room.starts.items():
            if name not in self._room.results and self._room.values[name].tobytes() != start.tobytes():
                raise ProblemError(f'fit() changes "{name}", which is not trained in this phase',
                                   "train only what phase.trained names: an algorithm may train some at a time", place)
        if self._problem.plain and self._terms and not self._recorded.rates:
            raise ProblemError("all steps of fit() have the learning rate 0, by which the algorithm divides",
                               "give phase.correct() the rate of each step, one of them above 0", place)
        self._refuse_other_steps(place)
        return self._recorded

    def _unread(self) -> List[str]:
        """Settings that fit() did not look at and that have no effect without it, as texts."""
        unread = self.settings.unread()
        if self.private and self._private_rate != self.rate and not self._read_private_rate:
            unread.append("the learning rate of private parameters has no effect: fit() does not read "
                          "phase.private_rate")
        return unread


__all__ = ["Phase"]
