"""Answers requests for the server's step: Algorithm.step() (docs/trainer-protocol.md)."""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, Mapping, Tuple

import numpy

from . import errors
from .algorithm import Algorithm
from .errors import ProblemError
from .fits import REPEATED
from .groups import ADDRESSED, SERVED, Group, tensors_of
from .memory import FROZEN
from .messages import HEAD, SERVER_STEP, STEP_HEAD, message
from .opened import Opened
from .repeated_calls import RepeatedCalls
from .server_step import WRITABLE, Arrays, ServerStep, StepRequest, given_of, results_of
from .task_request import Placed

#: What replies say: the model is as step() left it, or the server optimizer is to move it.
WRITTEN, OPTIMIZED = struct.pack("<I", 0), struct.pack("<I", 1)


class ServerRuns:
    """Of one problem with an algorithm."""

    def __init__(self, algorithm: Algorithm, problem: Any) -> None:
        self._algorithm = algorithm
        self._problem = problem
        self._calls = RepeatedCalls(algorithm, problem, "step", WRITABLE, "whether s.optimize() is called")
        self._steps = 0  # that have been made

    def perform(self, request: StepRequest) -> bytes:
        """The body of the reply; the results are in the request's arrays. Raises ProblemError, or whatever the user's
        code raises."""
        call = lambda: _run(self._algorithm, self._problem, request)  # noqa: E731
        number = self._steps + 1
        reply = self._calls.twice(call, given_of(request), results_of(request)) if number in REPEATED \
            else self._calls.once(call)
        self._steps = number
        return reply


def _run(algorithm: Algorithm, problem: Any, request: StepRequest) -> bytes:
    request.begin()
    problem._seed(request.seed)
    step = ServerStep(problem, algorithm, request)
    method = "step"
    try:
        if algorithm._overrides("cohort"):
            method = "cohort"
            step._see_updates(True)
            algorithm.cohort(step)
            step._see_updates(False)
            method = "step"
        algorithm.step(step)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise ProblemError(f"{method}() writes to values that are read-only: {error}", WRITABLE,
                           errors.place_of(error, None)) from None
    step._end()
    return OPTIMIZED if step._optimizes else WRITTEN


class ServerSteps:
    """Of one opened problem with an algorithm."""

    def __init__(self, opened: Opened) -> None:
        assert opened.algorithm is not None
        self._opened = opened
        self._groups: Dict[str, Group] = opened.algorithm._all_groups()
        self._sends_model = opened.algorithm.sends_model
        self._runs = ServerRuns(opened.algorithm, opened.problem)

    def step(self, request: bytearray) -> bytes:
        """Takes a request with its head, and returns a reply."""
        seed, number, count, length = STEP_HEAD.unpack_from(request, HEAD.size)
        at = HEAD.size + STEP_HEAD.size
        offsets = iter(struct.unpack_from(f"<{2 * count}Q", request, at))
        settings = json.loads(bytes(request[at + 16 * count : at + 16 * count + length]))
        opened = self._opened
        opened.initial = None

        def arrays(shapes: Mapping[str, Tuple[int, ...]]) -> Tuple[Arrays, Arrays]:
            found: Tuple[Arrays, Arrays] = {}, {}
            for name, shape in shapes.items():
                for into in found:
                    offset = next(offsets)
                    if offset != FROZEN:
                        into[name] = opened.memory.array(offset, shape)
            return found

        shapes = dict(opened.shapes)
        shared = {name: shape for name, shape in shapes.items() if name not in settings["private"]}
        groups: Dict[str, Placed] = {}
        reported: Dict[str, Dict[str, numpy.ndarray]] = {}
        try:
            (starts, model), (mean, change) = arrays(shared), arrays(shared)
            described = list(tensors_of(self._groups, shapes, settings["private"], opened.problem._buffers()))
            for name, group, tensors in described:
                if group.place == ADDRESSED:
                    tensors = {tensor: (opened.clients, *shape) for tensor, shape in tensors.items()}
                groups[name] = Placed(group, *(arrays(tensors) if group.place in SERVED else ({}, {})))
                if group.is_reported:
                    reported[name] = arrays(tensors)[0]
            sent = shared if self._sends_model else {}
            updates = [(client, weight, arrays(sent)[0],
                        {name: arrays(tensors)[0] for name, group, tensors in described if group.is_reported})
                       for client, weight in settings["updates"]]
        except StopIteration:
            raise ProblemError(f"a request for a step has {count} arrays, and the class has more groups",
                               "use a furlong command and a package of one version") from None
        return message(SERVER_STEP, self._runs.perform(
            StepRequest(starts, model, mean, change, groups, reported, seed, number, settings, updates)))

