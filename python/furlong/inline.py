"""The calling process as the trainer of a command: furlong.run(..., trainer="inline")."""

from __future__ import annotations

import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, List, Optional

import numpy

from . import blas
from .command import Beside
from .memory import Memory
from .serving import Trainer


class Inline(Beside):
    """Answers the command's requests between those of other `Beside`s, in the thread that starts the command. Generators
    and settings of numpy, PyTorch and BLAS are put back at the end.

    problem, algorithm  the classes; None: they are imported from the files that the command names
    """

    variable = "FURLONG_CALLER"

    def __init__(self, problem: Optional[type], algorithm: Optional[type]) -> None:
        self._classes = {"problem": problem, "algorithm": algorithm}
        self._trainers: List[Trainer] = []
        self._undo: List[Callable[[], Any]] = []
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._pid = os.getpid()

    def attach(self, selector: selectors.BaseSelector) -> socket.socket:
        """The end for the command."""
        self._selector = selector
        self._ours, theirs = socket.socketpair()
        self._remember_state()
        selector.register(self._ours, selectors.EVENT_READ, self._accept)
        return theirs

    def watch(self, process: "subprocess.Popen[bytes]") -> None:
        """The command runs: Ctrl-C is for it, and does not end the user's code, unless it comes twice."""
        self._process = process
        if threading.current_thread() is threading.main_thread():
            self._undo.append(lambda before=signal.getsignal(signal.SIGINT): signal.signal(signal.SIGINT, before))
            signal.signal(signal.SIGINT, self._interrupt)

    def close(self) -> None:
        """After the command."""
        for trainer in self._trainers:
            trainer.close()
        self._ours.close()
        for undo in reversed(self._undo):
            undo()

    def _accept(self) -> None:
        """The command opens a trainer, or ends."""
        data, descriptors, _, _ = socket.recv_fds(self._ours, 1, 2)
        if not data:
            self._selector.unregister(self._ours)
            return
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        control = socket.socket(fileno=descriptors[0])
        trainer = Trainer(control, Memory(descriptors[1]), self._classes)
        os.close(descriptors[1])
        self._trainers.append(trainer)
        self._selector.register(control, selectors.EVENT_READ, lambda: self._serve(trainer, control))

    def _serve(self, trainer: Trainer, control: socket.socket) -> None:
        if self._process is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._interrupt)  # a debugger may have put its own there
        try:
            goes_on = trainer.serve_one()
            self.error = trainer.error or self.error
            if goes_on:
                return
        except (BrokenPipeError, ConnectionResetError):
            pass  # the command has ended
        self._selector.unregister(control)
        self._trainers.remove(trainer)
        trainer.close()

    def _interrupt(self, number: int, frame: Optional[FrameType]) -> None:
        if os.getpid() != self._pid or self._process is None:  # a process that the user's code has forked
            raise KeyboardInterrupt
        if not self.interrupted:
            self.interrupted = True
            self._process.send_signal(signal.SIGINT)
            return
        self._process.kill()
        raise KeyboardInterrupt

    def _remember_state(self) -> None:
        self._undo += [lambda state=random.getstate(): random.setstate(state),
                       lambda state=numpy.random.get_state(): numpy.random.set_state(state),
                       lambda threads=blas.threads(): blas.limit(threads)]
        torch = sys.modules.get("torch")
        if torch is not None:
            deterministic: Dict[str, Any] = {"mode": torch.are_deterministic_algorithms_enabled(),
                                             "warn_only": torch.is_deterministic_algorithms_warn_only_enabled()}
            self._undo += [lambda state=torch.get_rng_state(): torch.set_rng_state(state),
                           lambda threads=torch.get_num_threads(): torch.set_num_threads(threads),
                           lambda: torch.use_deterministic_algorithms(**deterministic)]
