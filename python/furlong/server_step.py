"""The server's step of a round, as Algorithm.step() sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple

import numpy

from .arrays import Values, assign
from .errors import ProblemError, describe, place_of_method
from .groups import KEPT, ONLY, REPORT
from .local_data import refuse
from .settings import Settings
from .task_request import Placed, named, set_values

if TYPE_CHECKING:
    from .algorithm import Algorithm
    from .problem import Problem

Arrays = Dict[str, numpy.ndarray]

#: The fix of a value that step() must not write.
WRITABLE = "write to s.model or to a group of the server; .copy() may be written too"
_MADE = "it is what the clients report"


class Update(NamedTuple):
    """The update of one client: read-only."""

    #: Its index in Problem.clients(), and the weight of the update.
    client: int
    weight: int
    #: Of the shared parameters and buffers; empty with sends_model = False.
    change: Values
    #: What it reports, by group.
    report: "Reported"


class StepRequest(NamedTuple):
    """A request for a step: its arrays, by name."""

    #: The shared parameters and buffers of the model, and what becomes of them.
    starts: Arrays
    model: Arrays
    #: Their mean change, and the change for the server optimizer.
    mean: Arrays
    change: Arrays
    #: The server's groups; and what is reported, by group.
    groups: Mapping[str, Placed]
    reported: Mapping[str, Arrays]
    seed: int
    round: int
    #: docs/trainer-protocol.md.
    settings: Mapping[str, Any]
    #: Client, weight, change, and what is reported by group.
    updates: Sequence[Tuple[int, int, Arrays, Mapping[str, Arrays]]] = ()

    def begin(self) -> None:
        """Sets all results to what they are at the start."""
        for name, start in self.starts.items():
            self.model[name][...] = start
            self.change[name][...] = self.mean[name]
        for placed in self.groups.values():
            for name, result in placed.results.items():
                result[...] = placed.starts[name]


class Reported(Mapping[str, Any]):
    """The aggregates of what clients report, by group: arrays by name, or the array of a group with a shape."""

    def __init__(self, arrays: Mapping[str, Arrays], called: str = "s.reported") -> None:
        self._called = called
        self._groups: Dict[str, Any] = {}
        for name, tensors in arrays.items():
            values = Values(tensors, f'{called}["{name}"]', _MADE, WRITABLE)
            self._groups[name] = values[ONLY] if ONLY in tensors else values

    def __getitem__(self, name: str) -> Any:
        if name not in self._groups:
            reported = ", ".join(self._groups)
            refuse(f"{self._called} has no {name!r}", f"it has: {reported}" if reported else
                   "furlong.report and furlong.shared make groups that clients report")
        return self._groups[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __setitem__(self, name: str, value: Any) -> NoReturn:
        refuse(f'{self._called}["{name}"] cannot be written: {_MADE}', WRITABLE)


class ServerStep:
    """The server's step of one round: what clients report in sum, and the values that follow from it. Valid during the
    call only."""

    #: The problem.
    problem: "Problem"
    #: What the clients' reports add up to, by group, as its rule says.
    reported: Reported
    #: The number of updates in the sums, or under privacy.noise the public number that means are divided by.
    count: int
    #: The sum of their weights.
    weight: int
    #: The number of clients that train.
    clients: int
    #: The round that is being made, 1, 2, ..., and how many the run has.
    round: int
    rounds: int
    #: [algorithm.server]: optimizer, lr, momentum, beta1, beta2, eps, initial_accumulator, bias_correction.
    settings: Settings
    #: 64 bits. random, numpy.random and torch are seeded by it.
    seed: int

    def __init__(self, problem: "Problem", algorithm: "Algorithm", request: StepRequest) -> None:
        self.problem = problem
        self._algorithm = algorithm
        self._request = request
        self._model = Values(request.model, "s.model")
        self._mean = Values(request.mean, "s.mean", _MADE, WRITABLE)
        self.reported = Reported(request.reported)
        self._groups: Dict[str, Any] = {}
        told = request.settings
        self.count, self.weight = told["count"], told["weight"]
        self.clients, self.rounds = told["training_clients"], told["rounds"]
        self.settings = Settings(told["server"])
        self.round, self.seed = request.round, request.seed
        self._random: Optional[numpy.random.Generator] = None
        self._updates: Optional[List[Update]] = None
        #: Whether the server optimizer is to move the model.
        self._optimizes = False

    @property
    def model(self) -> Values:
        """The shared parameters and buffers, to be written. Buffers that are left as they are move by their mean."""
        return self._model

    @model.setter
    def model(self, values: Mapping[str, Any]) -> None:
        self._model.update(values)

    @property
    def mean(self) -> Values:
        """The change of the model that clients report, as algorithm.aggregation.rule makes it of theirs."""
        if not self._algorithm.sends_model:
            refuse("s.mean is read, and sends_model is False: clients report groups alone",
                   "remove sends_model from the class, or use s.reported")
        return self._mean

    @mean.setter
    def mean(self, values: Mapping[str, Any]) -> None:
        if self._updates is None:
            refuse("s.mean is set in step()", "set it in cohort(), or give another change to s.optimize()")
        arrays = {name: array.copy() for name, array in self._request.mean.items()}
        Values(arrays, "s.mean").update(values)
        self._mean = Values(arrays, "s.mean", _MADE, WRITABLE)

    @property
    def updates(self) -> List[Update]:
        """In cohort(): the updates of the round, by client."""
        if self._updates is None:
            refuse("s.updates is read in step(), which has sums", "define cohort(self, s): it sees them before step()")
        return self._updates

    @property
    def random(self) -> numpy.random.Generator:
        """A generator seeded by `seed`."""
        if self._random is None:
            self._random = numpy.random.Generator(numpy.random.Philox(key=self.seed))
        return self._random

    def __getitem__(self, name: str) -> Any:
        """The values of a group of the server, to be written: arrays by name, or the array of a group with a shape. Those
        of an addressed group have a row for each client."""
        placed = self._request.groups.get(name)
        if placed is None:
            groups = ", ".join(self._request.groups)
            refuse(f"s[{name!r}] is no group", f"the groups are: {groups}" if groups else "declare it on the class: "
                   f'groups = {{"{name}": furlong.server("model")}}')
        if placed.group.place == REPORT:
            refuse(f'the group "{name}" is reported, and has no values on the server', f'use s.reported["{name}"], and '
                   "furlong.server for what the server keeps")
        if placed.group.place == KEPT:
            refuse(f'the group "{name}" is kept by clients, and the server does not have it',
                   "report what the server needs: furlong.report")
        if name not in self._groups:
            values = Values(placed.results, f's["{name}"]')
            self._groups[name] = values[ONLY] if placed.group.has_shape else values
        return self._groups[name]

    def __setitem__(self, name: str, value: Any) -> None:
        set_values(self[name], value, f's["{name}"]')

    def optimize(self, change: Mapping[str, Any]) -> None:
        """Lets the server optimizer ([algorithm.server]) move the model by a change, such as s.mean, when step() ends:
        once, and in the place of writing s.model. Buffers that it has no change of move by their mean."""
        if self._optimizes:
            refuse("s.optimize() is called a second time", "add the changes, and call it once")
        if not isinstance(change, Mapping):
            refuse(f"s.optimize() is given {describe(change)}", "give arrays by name, such as s.mean")
        buffers = self.problem._buffers()
        targets = self._request.change
        unknown = next((name for name in change if name not in targets), None)
        missing = next((name for name in targets if name not in change and name not in buffers), None)
        if unknown is not None:
            refuse(f's.optimize() is given "{unknown}", which s.model has not', f"it has: {', '.join(targets)}")
        if missing is not None:
            refuse(f's.optimize() is given no change of "{missing}"', "give arrays for all parameters of s.model")
        for name, target in targets.items():
            assign(target, change[name] if name in change else self._mean[name], f'the change of "{name}"')
        self._optimizes = True

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _see_updates(self, seen: bool) -> None:
        """Before cohort(), and after it."""
        self._updates = [Update(client, weight, Values(change, "the change of an update", _MADE, WRITABLE),
                                Reported(report, "the report of an update"))
                         for client, weight, change, report in self._request.updates] if seen else None

    def _end(self) -> None:
        """After step(). Raises ProblemError."""
        request, place = self._request, place_of_method(self._algorithm, "step")
        still = {name for name, start in request.starts.items() if start.tobytes() == request.model[name].tobytes()}
        moved = next((name for name in request.model if name not in still), None)
        if self._optimizes and moved is not None:
            raise ProblemError(f's.model["{moved}"] is written, and s.optimize() is called', "do one of the two: add "
                               "what you write to the change", place)
        if not self._optimizes:
            for name in still.intersection(self.problem._buffers()):
                request.model[name] += self._mean[name]
        name = next((name for name, array in results_of(request) if not numpy.isfinite(array).all()), None)
        if name is not None:
            raise ProblemError(f"step() leaves values in {name} that are not finite (NaN or infinity)", "look for a "
                               "division by a count of zero, or lower the server's step size", place)


def results_of(request: StepRequest) -> List[Any]:
    """All arrays that a step writes, by names for messages."""
    found = [(f's.model["{name}"]', array) for name, array in request.model.items()]
    for group, placed in request.groups.items():
        found += [(named(f's["{group}"]', name), array) for name, array in placed.results.items()]
    return found + [(f'the change of "{name}"', array) for name, array in request.change.items()]


def given_of(request: StepRequest) -> Dict[str, numpy.ndarray]:
    """All arrays that a step must not write, by names for messages."""
    found = {f's.model["{name}"] before the step': array for name, array in request.starts.items()}
    found.update({f's.mean["{name}"]': array for name, array in request.mean.items()})
    for group, tensors in request.reported.items():
        found.update({named(f's.reported["{group}"]', name): array for name, array in tensors.items()})
    for group, placed in request.groups.items():
        found.update({named(f's["{group}"]', name) + " before the step": array for name, array in placed.starts.items()})
    for client, _, change, report in request.updates:
        for tensors in (change, *report.values()):
            found.update({f'"{name}" of the update of client {client}': array for name, array in tensors.items()})
    return found


__all__ = ["ServerStep", "Update"]
