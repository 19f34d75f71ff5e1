"""Functions of the user that see a run while it computes (furlong.run, on_round and on_evaluation)."""

from __future__ import annotations

import json
import selectors
import socket
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from .command import Beside, Stop
from .errors import place_of, text_of
from .results import evaluation_rows, round_row

Row = Dict[str, Any]
Callback = Optional[Callable[[Row], Any]]


class Callbacks(Beside):
    """Reads the lines that the command sends during a run (tools/runs/calling_script.hpp), and calls the functions in the
    thread of furlong.run. The command waits meanwhile."""

    variable = "FURLONG_LINES"

    def __init__(self, on_round: Callback = None, on_evaluation: Callback = None) -> None:
        for name, given in (("on_round", on_round), ("on_evaluation", on_evaluation)):
            if given is not None and not callable(given):
                raise TypeError(f"{name}={given!r} cannot be called; pass a function of one argument, a dict")
        self._on_round = on_round
        self._on_evaluation = on_evaluation
        self._warned: List[Callable[[Row], Any]] = []
        self._line = b""
        #: Whether one of them has stopped the run.
        self.stopped = False
        #: The directory of the run, once it has one.
        self.folder: Optional[Path] = None

    def attach(self, selector: selectors.BaseSelector) -> socket.socket:
        """The end for the command."""
        self._ours, theirs = socket.socketpair()
        selector.register(self._ours, selectors.EVENT_READ, lambda: self._read(selector))
        return theirs

    def close(self) -> None:
        """After the command."""
        self._ours.close()

    def _read(self, selector: selectors.BaseSelector) -> None:
        data = self._ours.recv(1 << 16)
        if not data:
            selector.unregister(self._ours)
        self._line += data
        if self._line.endswith(b"\n"):  # the command waits for the answer before it sends another
            line, self._line = json.loads(self._line), b""
            try:
                self._take(line)
            finally:
                self._answer()

    def _answer(self) -> None:
        wanted = self._on_round is not None or self._on_evaluation is not None
        try:
            self._ours.sendall(b"s" if self.stopped else b"g" if wanted else b"n")
        except OSError:
            pass  # the command has ended

    def _take(self, line: Row) -> None:
        if "run" in line:
            self.folder = Path(line["run"])
        elif "eval" in line:
            for row in evaluation_rows(line):
                self._call(self._on_evaluation, "on_evaluation", row)
        else:
            self._call(self._on_round, "on_round", round_row(line))

    def _call(self, function: Callback, name: str, row: Row) -> None:
        if function is None:
            return
        try:
            function(row)
        except Stop:
            self.stopped = True
        except Exception as error:
            if function in self._warned:
                return
            self._warned.append(function)
            file, line = place_of(error, None)
            warnings.warn(f"{name} failed in round {row['round']} ({file}:{line}): {text_of(error)[0]}; the run goes on, and "
                          "it is called again, without another warning", RuntimeWarning, stacklevel=2)
