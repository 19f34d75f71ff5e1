"""The trainer process: answers the requests of the furlong command for one problem (docs/trainer-protocol.md).

Started by the command as ``python -m furlong.trainer``, with the control socket at descriptor 3 and the memory file at
descriptor 4.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import sys
import threading
from typing import Any, Dict, Optional

from . import errors, loading, process
from .errors import ProblemError
from .fits import Fits
from .memory import Memory
from .messages import (CONSTANTS, CONSTANTS_AT, COSTS, ERROR, EVALUATE, FIT, GRADIENT, HEAD, INITIAL, LABELS, OFFSET,
                       OPEN, PERSONALIZE, PREDICT, PROTOCOL, TRAIN, message, to_json)
from .opened import Opened
from .steps import Steps
from .tasks import Tasks

CONTROL, MEMORY = 3, 4


class Trainer:
    """Serves one connection. All methods run in the main thread."""

    def __init__(self, control: socket.socket, memory: Memory) -> None:
        self._control = control
        self._memory = memory
        self._buffer = bytearray(1 << 16)
        self._names: Dict[str, str] = {}  # the files of the classes, as the command names them
        self._file: Optional[str] = None
        self._opened: Optional[Opened] = None
        self._steps: Optional[Steps] = None
        self._fits: Optional[Fits] = None
        self._tasks: Optional[Tasks] = None
        self._forked = False
        self._working = False
        os.register_at_fork(after_in_child=self._leave_connection)

    def serve(self) -> None:
        """Answers requests until the connection ends."""
        receive = self._control.recv_into
        send = self._control.sendall
        have = 0
        while True:
            while have < 8:
                more = receive(memoryview(self._buffer)[have:] if have else self._buffer)
                if not more:
                    return
                have += more
            length, kind = HEAD.unpack_from(self._buffer)
            end = 4 + length
            if end > len(self._buffer):
                self._buffer += bytes(end - len(self._buffer))
            while have < end:
                more = receive(memoryview(self._buffer)[have:])
                if not more:
                    return
                have += more
            try:
                self._working = True
                steps = self._steps
                reply = steps.gradient(self._buffer) if kind == GRADIENT and steps else self._answer(kind, end)
                self._working = False
            except BaseException as error:  # also exit() in user code: the trainer stays usable
                self._working = False
                reply = self._failure(error)
            if self._forked:
                os._exit(0)  # a child that the user's code forked: its parent answers
            send(reply)
            have -= end
            if have:
                self._buffer[:have] = self._buffer[end : end + have]

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
        self._opened = opened = Opened(request, self._memory)
        self._steps, self._fits = Steps(opened), Fits(opened)
        self._tasks = Tasks(opened) if opened.algorithm is not None else None
        return {"protocol": PROTOCOL, **opened.reply(request["first"])}

    # ---- errors and processes ---------------------------------------------------------------------------------------

    def _failure(self, error: BaseException) -> bytes:
        if self._forked:
            errors.report_in_child(error)
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

    def _leave_connection(self) -> None:
        """In a forked child: the connection is the parent's."""
        self._forked = True
        os.close(self._control.detach())


def main() -> None:
    """Serves the connection at descriptor 3 until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides when a trainer ends
    sys.stdin = open(os.devnull)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    try:
        control = process.take_connection(CONTROL)
        memory = Memory(MEMORY)
    except OSError:
        sys.exit("furlong.trainer is started by the furlong command, with a socket and a memory file; "
                 "to test a problem: python -m furlong.check FILE.py:CLASS")
    os.set_inheritable(MEMORY, False)
    threading.Thread(target=process.end_with, args=(control,), daemon=True).start()
    trainer = Trainer(control, memory)
    signal.signal(signal.SIGUSR1, trainer.interrupt)
    faulthandler.register(signal.SIGUSR1, chain=True)  # also shows where code in C is
    faulthandler.enable()
    os._exit = process.shown(os._exit)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    try:
        trainer.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the command has ended
    except OSError as error:
        sys.exit(f"the trainer cannot go on: {error}; a problem must not close descriptors that it has not opened")


if __name__ == "__main__":
    main()
