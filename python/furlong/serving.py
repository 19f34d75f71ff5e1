"""Answers the requests of the furlong command for one problem (docs/trainer-protocol.md)."""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import weakref
from typing import Any, Dict, Mapping, Optional

from . import blas, errors, loading
from .errors import ProblemError
from .fits import Fits
from .memory import Memory
from .messages import (CONSTANTS, CONSTANTS_AT, COSTS, ERROR, EVALUATE, FIT, GRADIENT, HEAD, INITIAL, LABELS, OFFSET,
                       OPEN, PERSONALIZE, PREDICT, PROTOCOL, SERVER_STEP, TRAIN, message, to_json)
from .opened import Opened
from .steps import Steps
from .tasks import Tasks

#: Those whose connection must end in a process that the user's code forks.
_connected: "weakref.WeakSet[Trainer]" = weakref.WeakSet()


class Trainer:
    """Serves one connection. All methods run in one thread.

    classes  in a process that does other work too (furlong.inline): "problem" and "algorithm" with their classes, or None
             where these are to be imported
    """

    def __init__(self, control: socket.socket, memory: Memory,
                 classes: Optional[Mapping[str, Optional[type]]] = None) -> None:
        self._control = control
        self._memory = memory
        self._classes = classes
        self._buffer = bytearray(1 << 16)
        self._have = 0
        self._names: Dict[str, str] = {}  # the files of the classes, as the command names them
        self._file: Optional[str] = None
        self._opened: Optional[Opened] = None
        self._steps: Optional[Steps] = None
        self._fits: Optional[Fits] = None
        self._tasks: Optional[Tasks] = None
        self._forked = False
        self._working = False
        self._profile: Any = None  # a cProfile.Profile
        self._profile_file = ""
        #: The last exception of the user's code.
        self.error: Optional[BaseException] = None
        _connected.add(self)

    def serve(self) -> None:
        """Answers requests until the connection ends."""
        while self.serve_one():
            pass

    def serve_one(self) -> bool:
        """Waits for a request and answers it. False: the connection has ended."""
        receive = self._control.recv_into
        have = self._have
        while have < 8:
            more = receive(memoryview(self._buffer)[have:] if have else self._buffer)
            if not more:
                return False
            have += more
        length, kind = HEAD.unpack_from(self._buffer)
        end = 4 + length
        if end > len(self._buffer):
            self._buffer += bytes(end - len(self._buffer))
        while have < end:
            more = receive(memoryview(self._buffer)[have:])
            if not more:
                return False
            have += more
        try:
            self._working = True
            steps = self._steps
            if self._profile is not None:
                reply = self._profile.runcall(self._answer, kind, end)
            else:
                reply = steps.gradient(self._buffer) if kind == GRADIENT and steps else self._answer(kind, end)
            self._working = False
        except BaseException as error:  # also exit() in user code: the trainer stays usable
            self._working = False
            reply = self._failure(error)
        if self._forked:
            os._exit(0)  # a child that the user's code forked: its parent answers
        self._control.sendall(reply)
        self._have = have = have - end
        if have:
            self._buffer[:have] = self._buffer[end : end + have]
        return True

    def write_profile(self) -> None:
        """To the file that the open request names, if it does."""
        if self._profile is None:
            return
        os.makedirs(os.path.dirname(self._profile_file), exist_ok=True)
        self._profile.dump_stats(self._profile_file)
        print(f"profile: {self._profile_file}", file=sys.stderr)

    def close(self) -> None:
        """Ends the connection, and gives the memory back once the user's code has no part of it."""
        _connected.discard(self)
        self.write_profile()
        self._control.close()
        self._opened = self._steps = self._fits = self._tasks = None
        self._memory.close()

    def _answer(self, kind: int, end: int) -> bytes:
        if kind == OPEN:
            return message(OPEN, to_json(self._open(json.loads(bytes(self._buffer[8:end])))))
        opened, steps, fits, request = self._opened, self._steps, self._fits, self._buffer
        if opened is None or steps is None or fits is None:
            raise ProblemError("a request came before a problem was opened", "open one first")
        if kind == INITIAL:
            opened.write_initial(OFFSET.unpack_from(request, 8)[0])
            return message(INITIAL, b"")
        if kind == CONSTANTS:
            opened.place_constants(*CONSTANTS_AT.unpack_from(request, 8))
            return message(CONSTANTS, b"")
        if kind == GRADIENT:
            return bytes(steps.gradient(request))
        if kind == FIT:
            return fits.fit(request)
        if kind == EVALUATE:
            return steps.evaluate(request)
        if kind == PREDICT:
            return steps.predict(request)
        if kind == LABELS:
            return steps.labels(request)
        tasks = self._tasks
        if kind == TRAIN and tasks:
            return tasks.train(request)
        if kind == PERSONALIZE and tasks:
            return tasks.personalize(request)
        if kind == SERVER_STEP and tasks:
            return tasks.server.step(request)
        if kind == COSTS and tasks:
            return tasks.costs(bytes(request[8:end]))
        raise ProblemError(f"requests of kind {kind} are unknown", "use a furlong command and a package of one version")

    def _open(self, request: Dict[str, Any]) -> Dict[str, Any]:
        if request["protocol"] != PROTOCOL:
            raise ProblemError(f"protocol {request['protocol']} is asked for, the package in {errors.PACKAGE} has "
                               f"{PROTOCOL}", "use a furlong command and a package of one version")
        self._opened = self._steps = self._fits = self._tasks = None
        given = [loading.split_name(request[name], name)[0] for name in ("problem", "algorithm") if request.get(name)]
        self._names = {os.path.abspath(file): file for file in given}
        self._file = os.path.abspath(given[0])
        if self._classes is not None:
            blas.limit(request["threads"])
        if request.get("profile") and self._profile is None:
            import cProfile  # which takes time that most trainers save

            self._profile = cProfile.Profile()
            self._profile_file = f"{request['profile']}-{os.getpid()}.pstats"
        self._opened = opened = Opened(request, self._memory, self._classes)
        self._steps, self._fits = Steps(opened), Fits(opened)
        self._tasks = Tasks(opened) if opened.algorithm is not None else None
        reply = {"protocol": PROTOCOL, **opened.reply(request["first"])}
        if self._classes is None:
            gc.collect()
            gc.freeze()
        return reply

    # ---- errors and processes ---------------------------------------------------------------------------------------

    def _failure(self, error: BaseException) -> bytes:
        if self._forked:
            errors.report_in_child(error)
        self.error = error if self._classes is not None else None
        file, line = errors.place_of(error, self._file)
        text, fix = errors.text_of(error)
        file = errors.in_one_line(self._names.get(file, file)) if file else None
        reply: Dict[str, Any] = {"error": text, "fix": fix, "traceback": errors.traceback_of(error)}
        if file:
            reply["file"] = file
        if line:
            reply["line"] = line
        return message(ERROR, to_json(reply))

    def interrupt(self, *_: Any) -> None:
        """The handler of SIGUSR1: stops the user's code, so that the error reply names its line."""
        if self._working:
            self._working = False
            raise errors.TimedOut()

    def leave_connection(self) -> None:
        """In a forked child: the connection is the parent's."""
        self._forked = True
        os.close(self._control.detach())


def _leave_connections() -> None:
    for trainer in list(_connected):
        trainer.leave_connection()


os.register_at_fork(after_in_child=_leave_connections)
