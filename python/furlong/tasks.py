"""Answers requests for tasks: Algorithm.train(), personalize() and cost() (docs/trainer-protocol.md)."""

from __future__ import annotations

import itertools
import json
import math
import struct
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

import numpy

from . import errors, first_step, loading, values
from .algorithm import Algorithm
from .algorithm_state import AlgorithmState
from .errors import ProblemError, place_of_method
from .groups import BROADCAST, KEPT, REPORT, SHARED, Group
from .memory import FROZEN
from .messages import (ASKED_HEAD, COSTS, HEAD, PERSONALIZE, TRAIN, TRAIN_HEAD, TRAINED, message, to_json)
from .opened import Opened
from .phase import Room, Spare
from .problem import PARTS
from .settings import Settings
from .task import Task
from .task_request import ONLY, Asked, Placed, TaskRequest

#: The first task of each kind is repeated unless it takes longer, in seconds.
_LONGEST_REPEATED = 5.0
_MOST_ROOMS = 64
_TRAINS, _HAS_STATE, _KNOWN = 1, 2, 4
_VALUES, _SCORE, _PREDICT, _LABELS = range(4)

Tensor = Tuple[str, str, Tuple[int, ...]]


def run(algorithm: Algorithm, problem: Any, request: TaskRequest) -> Task:
    """Calls train() or personalize(); the results are in the request's arrays. Raises ProblemError, or whatever the
    user's code raises."""
    request.begin()
    loading.seed_globals(request.seed)
    task = problem._task(algorithm, request)
    method = "train" if request.asked is None else "personalize"
    try:
        getattr(algorithm, method)(task)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise ProblemError(f"{method}() writes to values that are read-only: {error}", "write to t.weights, to t.report "
                           "or to a group that the client keeps, or to a copy: values.copy()",
                           errors.place_of(error, None)) from None
    task._end(method)
    return task


def answer(task: Task, what: int) -> bytes:
    """The body of the reply. Raises ProblemError."""
    if task._request.asked is None:
        return TRAINED.pack(*task._trained())
    source = struct.pack("<I", task._source())
    if what == _SCORE:
        algorithm = task._algorithm
        missing = next((name for name in algorithm.scores if name not in task._scored), None)
        if missing is not None:
            raise ProblemError(f'personalize() does not call t.score("{missing}")', "call it for each name in scores",
                               place_of_method(algorithm, "personalize"))
        figures = list(itertools.chain(task._figures(), *(task._scored[name] for name in algorithm.scores)))
        return source + struct.pack(f"<{len(figures)}d", *figures)
    if what == _PREDICT:
        task._leave_weights()
        entries = [entry for step in task._asked_steps() for entry in task._predictions(step)]
        return source + values.entries_as_json(task.problem, "predictions", entries)
    if what == _LABELS:
        task._leave_weights()
        labels = [label for step in task._asked_steps()
                  for label in values.labels_of(task.problem, step) or [None] * len(step.examples)]
        return source + values.entries_as_json(task.problem, "labels", labels)
    return source


class Tasks:
    """Of one opened problem with an algorithm. The methods take a request with its head, and return a reply."""

    def __init__(self, opened: Opened) -> None:
        assert opened.algorithm is not None
        self._opened = opened
        self._algorithm = opened.algorithm
        self._groups: Dict[str, Group] = dict(opened.algorithm.groups)
        self._state = AlgorithmState(opened.algorithm)
        self._rooms: Dict[bytes, Room] = {}
        self._spare = Spare()
        self._copies: List[Any] = []
        self._text = b""
        self._settings: Mapping[str, Any] = {}
        self._tensors: List[Tensor] = []
        self._checked: Set[Tuple[Any, ...]] = set()  # the kinds of tasks whose first was repeated

    def train(self, request: bytearray) -> bytes:
        """Algorithm.train()."""
        head = TRAIN_HEAD.unpack_from(request, HEAD.size)
        made = self._read(request, head, HEAD.size + TRAIN_HEAD.size, None, TRAIN)
        return message(TRAIN, self._perform(made, _VALUES))

    def personalize(self, request: bytearray) -> bytes:
        """Algorithm.personalize(), and the scores, predictions or labels of the examples that are asked for."""
        head = TRAIN_HEAD.unpack_from(request, HEAD.size)
        flags, what, asked = ASKED_HEAD.unpack_from(request, HEAD.size + TRAIN_HEAD.size)
        made = self._read(request, head, HEAD.size + TRAIN_HEAD.size + ASKED_HEAD.size, (flags, asked), PERSONALIZE)
        return message(PERSONALIZE, self._perform(made, what))

    def costs(self, body: bytes) -> bytes:
        """Algorithm.cost() of several sizes."""
        request = json.loads(body)
        settings = Settings(request["settings"]["client"])
        found = []
        for size in request["sizes"]:
            cost = self._algorithm.cost(size, settings)
            number = isinstance(cost, (int, float, numpy.number)) and not isinstance(cost, bool)
            if not number or not math.isfinite(cost) or cost != int(cost) or not 0 <= cost < 2**53:
                raise ProblemError(f"cost() returned {errors.describe(cost)}", "return the number of examples that a task "
                                   "processes, counting repeats", place_of_method(self._algorithm, "cost"))
            found.append(int(cost))
        return message(COSTS, to_json(found))

    def _perform(self, request: TaskRequest, what: int) -> bytes:
        kind = (what, request.asked and request.asked[:3]) if request.asked else (TRAIN,)
        if kind in self._checked:
            reply = self._once(request, what)
        else:
            reply = self._checked_first(request._replace(checked=True), what)
            self._checked.add(kind)
        if request.asked is None and not self._opened.warned:
            self._warn_of_infinite(request, reply)
        return reply

    def _once(self, request: TaskRequest, what: int) -> bytes:
        reply = answer(run(self._algorithm, self._opened.problem, request), what)
        self._state.refuse_changed("train" if request.asked is None else "personalize")
        return reply

    def _checked_first(self, request: TaskRequest, what: int) -> bytes:
        """A first task: nothing is written but the results, and a second time gives the same."""
        method = "train" if request.asked is None else "personalize"
        place = place_of_method(self._algorithm, method)
        problem = self._opened.problem
        given = first_step.checksums(_given(request))
        self._state.remember()
        began = time.monotonic()
        reply = self._once(request, what)
        seconds = time.monotonic() - began
        now = first_step.checksums(_given(request))
        name = next((name for name in given if given[name] != now[name]), None)
        if name is not None:
            raise ProblemError(f"{method}() changes {name}, which it must not write", "write to t.weights, to t.report or "
                               "to a group that the client keeps, or to a copy: values.copy()", place)
        self._state.refuse_changed_contents(method)
        if request.asked is None:
            self._refuse_idle(request)
        if seconds > _LONGEST_REPEATED:
            return reply
        state = problem._state()
        first = {name: array.copy() for name, array in _results(request)}
        again = self._once(request, what)
        other = next((name for name, array in _results(request) if array.tobytes() != first[name].tobytes()), None)
        if other is not None or again != reply:
            what_differs = other if other is not None else "losses or counts" if method == "train" else "figures"
            raise ProblemError(f"two calls of {method}() with the same seed give different values of {what_differs}",
                               "draw from t.random, numpy.random, random or torch only, begin with a new optimizer, and "
                               "keep no state between calls but in groups", place)
        first_step.refuse_changed_state(problem, state, method, self._algorithm)
        return reply

    def _refuse_idle(self, request: TaskRequest) -> None:
        """Raises ProblemError if training changes nothing and reports nothing."""
        room = request.room
        moved = any(room.values[name].tobytes() != start.tobytes() for name, start in room.starts.items())
        for placed in request.groups.values():
            for name, array in placed.results.items():
                moved = moved or (array.tobytes() != placed.starts[name].tobytes() if placed.group.place == KEPT
                                  else bool(array.any()))
        if not moved:
            raise ProblemError("train() changes no weights and no group, and reports nothing", "train t.module, write "
                               "t.weights or t.report, or call t.fit()", place_of_method(self._algorithm, "train"))

    def _warn_of_infinite(self, request: TaskRequest, reply: bytes) -> None:
        """Once: values that are not finite. Training may diverge, so that they are no error of the class."""
        loss_sum, _, _ = TRAINED.unpack(reply)
        what = None
        if not math.isfinite(loss_sum):
            what = "counts a loss that is not finite"
        else:
            name = next((name for name, array in _results(request) if not numpy.isfinite(array).all()), None)
            what = name and f"leaves values in {name} that are not finite"
        if what is None:
            return
        self._opened.warned = True
        file, line = place_of_method(self._algorithm, "train")
        print(f"{file}:{line}: train() {what} for client {request.client}: look at its data and the steps, or lower "
              "algorithm.client.lr", file=sys.stderr)

    # ---- requests ---------------------------------------------------------------------------------------------------

    def _read(self, request: bytearray, head: Tuple[int, ...], at: int, asked: Optional[Tuple[int, int]],
              kind: int) -> TaskRequest:
        seed, number, count, tensors, client, part, per_epoch, examples, length = head
        opened = self._opened
        opened.initial = None
        end = at + 16 * (count + tensors) + 4 * examples + 8 * (asked[1] if asked else 0)
        text = bytes(request[end : end + length])
        if text != self._text:
            self._use(json.loads(text))
            self._text = text
        if count != opened.count or tensors != len(self._tensors):
            raise ProblemError(f"a request has {count} parameters and {tensors} tensors of groups, the problem "
                               f"{opened.count} and the algorithm {len(self._tensors)}",
                               "use a furlong command and a package of one version")
        room = self._room(bytes(request[at : at + 16 * count]))
        at += 16 * count
        groups = self._placed(struct.unpack_from(f"<{2 * tensors}Q", request, at), kind)
        at += 16 * tensors
        numbers = numpy.frombuffer(request, numpy.uint32, examples, at).astype(numpy.int64)
        orders = numbers.reshape(-1, per_epoch) if per_epoch else numbers.reshape(1, 0)
        at += 4 * examples
        personal = None
        if asked is not None:
            flags, size = asked
            pairs = numpy.frombuffer(request, numpy.uint32, 2 * size, at).astype(numpy.int64).reshape(-1, 2)
            personal = Asked(bool(flags & _TRAINS), bool(flags & _HAS_STATE), bool(flags & _KNOWN),
                             list(self._batches(client, pairs)))
        return TaskRequest(room, groups, seed, number, client, PARTS[part], orders, self._settings, personal,
                           opened.seed, self._copies, False)

    def _batches(self, client: int, pairs: numpy.ndarray) -> Iterator[Tuple[int, str, numpy.ndarray]]:
        """The asked examples, in batches of one part."""
        size = self._settings["evaluation_batch"]
        for part, some in itertools.groupby(pairs, key=lambda pair: int(pair[0])):
            numbers = numpy.array([pair[1] for pair in some], numpy.int64)
            for first in range(0, len(numbers), size):
                yield client, PARTS[part], numbers[first : first + size]

    def _use(self, settings: Mapping[str, Any]) -> None:
        """Settings other than those of the last request."""
        self._settings = settings
        shapes = dict(self._opened.shapes)
        self._tensors = []
        for name, group in self._groups.items():
            if group.has_shape:
                self._tensors.append((name, ONLY, group.extent))
            else:
                self._tensors += [(name, tensor, shapes[tensor]) for tensor in group.tensors(shapes, settings["private"])]

    def _placed(self, offsets: Sequence[int], kind: int) -> Dict[str, Placed]:
        found = {name: Placed(group, {}, {}) for name, group in self._groups.items()}
        for (name, tensor, shape), start, result in zip(self._tensors, offsets[::2], offsets[1::2]):
            for arrays, at in ((found[name].starts, start), (found[name].results, result)):
                if at != FROZEN:
                    arrays[tensor] = self._opened.memory.array(at, shape)
        return found

    def _room(self, offsets: bytes) -> Room:
        room = self._rooms.get(offsets)
        if room is None:
            if len(self._rooms) >= _MOST_ROOMS:
                self._rooms.clear()
            numbers = struct.unpack(f"<{len(offsets) // 8}Q", offsets)
            shapes = self._opened.shapes
            starts, results = ({name: self._opened.memory.array(at, shape) for (name, shape), at in zip(shapes, half)}
                               for half in (numbers[: len(shapes)], numbers[len(shapes):]))
            self._rooms[offsets] = room = Room(starts, results, self._spare)
        return room


def _given(request: TaskRequest) -> Dict[str, numpy.ndarray]:
    """All arrays that must not be written, by names for messages."""
    found = {f't.received["{name}"]': array for name, array in request.room.starts.items()}
    for group, placed in request.groups.items():
        found.update({_named(f't["{group}"]', name): array for name, array in placed.starts.items()})
    return found


def _results(request: TaskRequest) -> Iterator[Tuple[str, numpy.ndarray]]:
    """All arrays that a task writes, by names for messages."""
    for name, array in request.room.values.items():
        yield f't.weights["{name}"]', array
    for group, placed in request.groups.items():
        called = f't["{group}"]' if placed.group.place == KEPT else f't.report["{group}"]'
        for name, array in placed.results.items():
            yield _named(called, name), array


def _named(group: str, tensor: str) -> str:
    return group if tensor == ONLY else f'{group}["{tensor}"]'
