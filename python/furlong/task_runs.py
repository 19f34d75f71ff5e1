"""Runs the methods of an algorithm: Algorithm.train() and personalize(), with the checks of their first tasks."""

from __future__ import annotations

import itertools
import struct
import threading
from typing import Any, Dict, Iterator, Tuple

import numpy

from . import errors, loading, values
from .algorithm import Algorithm
from .errors import ProblemError, place_of_method
from .fits import REPEATED, refuse_left_thread
from .groups import KEPT, METRICS
from .messages import TRAINED
from .repeated_calls import RepeatedCalls
from .settings import Settings
from .task import Task
from .task_request import TaskRequest, named

#: What the reply to a personalization has besides the source of the weights.
NOTHING, SCORE, PREDICT = range(3)
_WRITABLE = ("write to t.weights (all at once, t.weights = values, where the module is on a device), to t.report or to a "
             "group that the client keeps, or to a copy: values.copy()")


def run(algorithm: Algorithm, problem: Any, request: TaskRequest) -> Task:
    """Calls train() or personalize(); the results are in the request's arrays. Raises ProblemError, or whatever the
    user's code raises."""
    request.begin()
    loading.seed_globals(request.seed)
    task = problem._task(algorithm, request)
    method = "train" if request.asked is None else "personalize"
    threads = threading.enumerate()
    try:
        getattr(algorithm, method)(task)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise ProblemError(f"{method}() writes to values that are read-only: {error}", _WRITABLE,
                           errors.place_of(error, None)) from None
    refuse_left_thread(threads, algorithm, method)
    task._end(method)
    return task


def answer(task: Task, what: int) -> bytes:
    """The body of the reply. Raises ProblemError."""
    if task._request.asked is None:
        return TRAINED.pack(*task._trained())
    source = struct.pack("<I", task._source())
    if what == SCORE:
        algorithm = task._algorithm
        missing = next((name for name in algorithm.scores if name not in task._scored), None)
        if missing is not None:
            raise ProblemError(f'personalize() does not call t.score("{missing}")', "call it for each name in scores",
                               place_of_method(algorithm, "personalize"))
        figures = list(itertools.chain(task._figures(), *(task._scored[name] for name in algorithm.scores)))
        return source + struct.pack(f"<{len(figures)}d", *figures)
    if what == PREDICT:
        task._leave_weights()
        entries = [entry for step in task._asked_steps() for entry in task._predictions(step)]
        return source + values.entries_as_json(task.problem, "predictions", entries)
    return source


def cost_of(algorithm: Algorithm, size: int, settings: Settings) -> int:
    """Calls cost() for a client with so many examples. Raises ProblemError."""
    cost: Any = algorithm.cost(size, settings)
    number = isinstance(cost, (int, float, numpy.number)) and not isinstance(cost, bool)
    if not number or not 0 <= cost < 2**53 or cost != int(cost):
        raise ProblemError(f"cost() returned {errors.describe(cost)}", "return the number of examples that a task "
                           "processes, counting repeats", place_of_method(algorithm, "cost"))
    return int(cost)


class TaskRuns:
    """Of one problem with an algorithm."""

    def __init__(self, algorithm: Algorithm, problem: Any) -> None:
        self._algorithm = algorithm
        self._problem = problem
        self._trained = RepeatedCalls(algorithm, problem, "train", _WRITABLE, "losses or counts")
        self._personalized = RepeatedCalls(algorithm, problem, "personalize", _WRITABLE, "figures")
        self._tasks: Dict[Tuple[Any, ...], int] = {}  # how many there were, by kind

    def perform(self, request: TaskRequest, what: int) -> bytes:
        """The body of the reply; the results are in the request's arrays. Raises ProblemError, or whatever the user's
        code raises."""
        kind = (what, request.asked and request.asked[:3])
        number = self._tasks.get(kind, 0) + 1
        calls = self._trained if request.asked is None else self._personalized
        checked = request._replace(checked=True)
        if number in REPEATED:
            reply = calls.twice(lambda: answer(run(self._algorithm, self._problem, checked), what), _given(request),
                                list(results_of(request)))
        else:
            reply = calls.once(lambda: answer(run(self._algorithm, self._problem, request), what))
        if number == 1 and request.asked is None:
            self._refuse_idle(request)
        self._tasks[kind] = number
        return reply

    def _refuse_idle(self, request: TaskRequest) -> None:
        """Raises ProblemError if training changes nothing and reports nothing."""
        room = request.room
        moved = any(room.values[name].tobytes() != start.tobytes() for name, start in room.starts.items())
        for group, placed in request.groups.items():
            for name, array in placed.results.items() if group != METRICS else ():
                moved = moved or (array.tobytes() != placed.starts[name].tobytes() if placed.group.place == KEPT
                                  else bool(array.any()))
        if not moved:
            raise ProblemError("train() changes no weights and no group, and reports nothing", "train t.module, write "
                               "t.weights or t.report, or call t.fit()", place_of_method(self._algorithm, "train"))


def _given(request: TaskRequest) -> Dict[str, numpy.ndarray]:
    """All arrays that must not be written, by names for messages."""
    found = {f't.received["{name}"]': array for name, array in request.room.starts.items()}
    for group, placed in request.groups.items():
        found.update({named(f't["{group}"]', name): array for name, array in placed.starts.items()})
    return found


def results_of(request: TaskRequest) -> Iterator[Tuple[str, numpy.ndarray]]:
    """All arrays that a task writes, by names for messages."""
    for name, array in request.room.values.items():
        yield f't.weights["{name}"]', array
    for group, placed in request.groups.items():
        called = f't["{group}"]' if placed.group.place == KEPT else f't.report["{group}"]'
        for name, array in placed.results.items():
            yield named(called, name), array
