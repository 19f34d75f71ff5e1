"""Answers requests for phases of training: Problem.fit() (docs/trainer-protocol.md)."""

from __future__ import annotations

import json
import math
import os
import struct
import sys
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

import numpy

from . import errors, first_step, loading, local_loop
from .errors import ProblemError
from .memory import FROZEN
from .messages import FIT, FIT_HEAD, FITTED, HEAD, TERM, message
from .opened import Opened
from .phase import Recorded, Room, Spare, Task, Term
from .problem import PARTS, Problem

#: These phases of each set of parameters are repeated, unless they take longer, in seconds.
REPEATED = (1, 4, 16, 64)
LONGEST_REPEATED = 5.0
#: Seconds that threads have to end after fit().
_TIME_TO_END = 2.0
_MOST_ROOMS = 64


def run(problem: Problem, task: Task, watched: bool = False, unread: Optional[List[str]] = None) -> Recorded:
    """Calls fit(); the result is in the task's room. Raises ProblemError, or whatever the user's code raises.

    watched: tests whether the steps of a class that says plain are such, where the algorithm has corrections. Costs a
        gradient's memory and time a step.
    unread: receives notes on settings that fit() ignores.
    """
    task.room.begin()
    loading.seed_globals(task.seed)
    phase = problem._phase(task)
    if watched and problem.plain:
        phase._watch_steps()
    threads = threading.enumerate()
    if task.room.trained:
        problem.fit(phase)
    else:  # the examples pass through the module, so that its buffers move
        local_loop.fit_by_gradients(problem, phase)
    refuse_left_thread(threads, problem, "fit")
    if unread is not None:
        unread += phase._unread()
    return phase._end()


def refuse_left_thread(before: List[threading.Thread], owner: Any, method: str) -> None:
    """Raises ProblemError if a method has started a thread that goes on, such as one of a DataLoader that is kept: what
    it draws and writes would depend on what a trainer did before. Not those of installed packages' own, such as a
    progress bar's."""
    end = time.monotonic() + _TIME_TO_END
    for thread in threading.enumerate():
        if thread in before or isinstance(thread, threading._DummyThread) or _is_of_package(thread):
            continue
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            raise ProblemError(f'{method}() leaves the thread "{thread.name}" running', f"let it end before {method}() "
                               "returns: join it, shut a pool down, make a DataLoader without persistent_workers in it",
                               errors.place_of_method(owner, method))


def _is_of_package(thread: threading.Thread) -> bool:
    """Whether a thread runs code of an installed package."""
    code = getattr(getattr(thread, "_target", None) or type(thread).run, "__code__", None)
    return code is not None and bool({"site-packages", "dist-packages"} & {*code.co_filename.split(os.sep)})


def repeat(problem: Problem, task: Task, done: Recorded) -> None:
    """A phase a second time: it must give the same, and leave the same state. Raises ProblemError."""
    state = problem._state()
    first = {name: task.room.values[name].copy() for name in task.room.results}
    again = run(problem, task, watched=True)
    values = task.room.values
    other = next((name for name, value in first.items() if values[name].tobytes() != value.tobytes()), None)
    if other is not None or FITTED.pack(*again) != FITTED.pack(*done):
        what = f'values of "{other}"' if other is not None else "losses or steps"
        raise ProblemError(f"two calls of fit() with the same seed give different {what}",
                           "draw from phase.random, numpy.random, random or torch only, begin with a new optimizer, and "
                           "keep no state between calls", errors.place_of_method(problem, "fit"))
    first_step.refuse_changed_state(problem, state, "fit")


class Fits:
    """Of one opened problem."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._problem = opened.problem
        self._rooms: Dict[bytes, Room] = {}
        self._spare = Spare()
        self._text = b""
        self._settings: Mapping[str, Any] = {}
        self._noted: Set[str] = set()
        self._phases: Dict[Tuple[str, ...], int] = {}  # how many there were, by the parameters that they train

    def fit(self, request: bytearray) -> bytes:
        """Takes a request with its head, and returns a reply."""
        task = self._read(request)
        began = time.monotonic()
        unread: List[str] = []
        done = run(self._problem, task, unread=unread)
        self._note(unread)
        number = self._phases.get(task.room.trained, 0) + 1
        if number in REPEATED and time.monotonic() - began < LONGEST_REPEATED:
            repeat(self._problem, task, done)
        self._phases[task.room.trained] = number
        if not self._opened.warned:
            self._warn_of_infinite(task, done)
        return message(FIT, FITTED.pack(*done))

    def _note(self, texts: List[str]) -> None:
        """Each once: what of the scenario has no effect."""
        for text in texts:
            if text not in self._noted:
                self._noted.add(text)
                file, line = errors.place_of_method(self._problem, "fit")
                print(f"{file}:{line}: {text}", file=sys.stderr)

    def _warn_of_infinite(self, task: Task, done: Recorded) -> None:
        """Once: values that are not finite. Training may diverge, so that they are no error of the class."""
        what = None
        if not math.isfinite(done.loss_sum):
            what = "records a loss that is not finite"
        else:
            name = next((name for name in task.room.trained if not numpy.isfinite(task.room.values[name]).all()), None)
            if name is not None:
                what = f'leaves values in "{name}" that are not finite'
        if what is None:
            return
        self._opened.warned = True
        file, line = errors.place_of_method(self._problem, "fit")
        print(f"{file}:{line}: fit() {what} for client {task.client}: look at its data and the steps "
              f"(python -m furlong.check {self._opened.given}), or lower algorithm.client.lr", file=sys.stderr)

    def _read(self, request: bytearray) -> Task:
        seed, number, count, terms, client, part, per_epoch, examples, length = FIT_HEAD.unpack_from(request, HEAD.size)
        if count != self._opened.count:
            raise ProblemError(f"a request has {count} parameters, the problem {self._opened.count}",
                               "use a furlong command and a package of one version")
        self._opened.initial = None
        at = HEAD.size + FIT_HEAD.size
        room = self._room(bytes(request[at : at + 16 * count]))
        at += 16 * count
        found = []
        for _ in range(terms):
            factor, form = TERM.unpack_from(request, at)
            at += TERM.size
            found.append(Term(factor, form, self._arrays(bytes(request[at : at + 8 * count]))))
            at += 8 * count
        orders = numpy.frombuffer(request, numpy.uint32, examples, at).astype(numpy.int64).reshape(-1, per_epoch)
        at += 4 * examples
        text = bytes(request[at : at + length])
        if text != self._text:
            self._settings = json.loads(text)
            self._text = text
        return Task(room, seed, number, tuple(found), client, PARTS[part], orders, self._settings)

    def _arrays(self, offsets: bytes) -> Dict[str, numpy.ndarray]:
        """Those at the offsets of a request, by name; those that are left out are not there."""
        return {name: self._opened.memory.array(at, shape)
                for (name, shape), at in zip(self._opened.shapes, struct.unpack(f"<{len(offsets) // 8}Q", offsets))
                if at != FROZEN}

    def _room(self, offsets: bytes) -> Room:
        room = self._rooms.get(offsets)
        if room is None:
            if len(self._rooms) >= _MOST_ROOMS:
                self._rooms.clear()
            half = len(offsets) // 2
            self._rooms[offsets] = room = Room(self._arrays(offsets[:half]), self._arrays(offsets[half:]),
                                               self._problem._buffers(), self._spare)
        return room
