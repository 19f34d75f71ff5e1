"""Answers requests for tasks: Algorithm.train(), personalize() and cost() (docs/trainer-protocol.md)."""

from __future__ import annotations

import itertools
import json
import math
import struct
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy

from .errors import ProblemError, place_of_method
from .groups import Group, tensors_of
from .memory import FROZEN
from .messages import ASKED_HEAD, COSTS, HEAD, PERSONALIZE, TRAIN, TRAIN_HEAD, TRAINED, message, to_json
from .opened import Opened
from .phase import Room, Spare
from .problem import PARTS
from .server_runs import ServerSteps
from .settings import Settings
from .task_request import Asked, Placed, TaskRequest
from .task_runs import NOTHING, TaskRuns, cost_of, results_of

_MOST_ROOMS = 64
_TRAINS, _HAS_STATE, _KNOWN = 1, 2, 4

Tensor = Tuple[str, str, Tuple[int, ...]]


class Tasks:
    """Of one opened problem with an algorithm. The methods take a request with its head, and return a reply."""

    def __init__(self, opened: Opened) -> None:
        assert opened.algorithm is not None
        self._opened = opened
        #: Those of the server.
        self.server = ServerSteps(opened)
        self._algorithm = opened.algorithm
        self._groups: Dict[str, Group] = opened.algorithm._all_groups()
        self._runs = TaskRuns(opened.algorithm, opened.problem)
        self._rooms: Dict[bytes, Room] = {}
        self._spare = Spare()
        self._copies: List[Any] = []
        self._text = b""
        self._settings: Mapping[str, Any] = {}
        self._tensors: List[Tensor] = []

    def train(self, request: bytearray) -> bytes:
        """Algorithm.train()."""
        head = TRAIN_HEAD.unpack_from(request, HEAD.size)
        made = self._read(request, head, HEAD.size + TRAIN_HEAD.size, None)
        reply = self._runs.perform(made, NOTHING)
        if not self._opened.warned:
            self._warn_of_infinite(made, reply)
        return message(TRAIN, reply)

    def personalize(self, request: bytearray) -> bytes:
        """Algorithm.personalize(), and the scores or predictions of the examples that are asked for."""
        head = TRAIN_HEAD.unpack_from(request, HEAD.size)
        flags, what, asked = ASKED_HEAD.unpack_from(request, HEAD.size + TRAIN_HEAD.size)
        made = self._read(request, head, HEAD.size + TRAIN_HEAD.size + ASKED_HEAD.size, (flags, asked))
        return message(PERSONALIZE, self._runs.perform(made, what))

    def costs(self, body: bytes) -> bytes:
        """Algorithm.cost() of several sizes."""
        request = json.loads(body)
        settings = Settings(request["settings"]["client"])
        return message(COSTS, to_json([cost_of(self._algorithm, size, settings) for size in request["sizes"]]))

    def _warn_of_infinite(self, request: TaskRequest, reply: bytes) -> None:
        """Once: values that are not finite. Training may diverge, so that they are no error of the class."""
        loss_sum, _, _ = TRAINED.unpack(reply)
        what = None
        if not math.isfinite(loss_sum):
            what = "counts a loss that is not finite"
        else:
            name = next((name for name, array in results_of(request) if not numpy.isfinite(array).all()), None)
            what = name and f"leaves values in {name} that are not finite"
        if what is None:
            return
        self._opened.warned = True
        file, line = place_of_method(self._algorithm, "train")
        print(f"{file}:{line}: train() {what} for client {request.client}: look at its data and the steps, or lower "
              "algorithm.client.lr", file=sys.stderr)

    # ---- requests ---------------------------------------------------------------------------------------------------

    def _read(self, request: bytearray, head: Tuple[int, ...], at: int, asked: Optional[Tuple[int, int]]) -> TaskRequest:
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
        groups = self._placed(struct.unpack_from(f"<{2 * tensors}Q", request, at))
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
        shapes, buffers = dict(self._opened.shapes), self._opened.problem._buffers()
        self._tensors = [(name, tensor, shape) for name, _, tensors in
                         tensors_of(self._groups, shapes, settings["private"], buffers)
                         for tensor, shape in tensors.items()]

    def _placed(self, offsets: Sequence[int]) -> Dict[str, Placed]:
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
            self._rooms[offsets] = room = Room(starts, results, self._opened.problem._buffers(), self._spare)
        return room
