"""The trainer process: answers the requests of the furlong command for one problem (docs/trainer-protocol.md).

Started by the command as ``python -m furlong.trainer``, with the control socket at descriptor 3 and the memory file at
descriptor 4.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import math
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from typing import Any, Callable, Dict, List, NoReturn, Optional, Set, Tuple

import numpy

from . import errors, first_step, loading, process, values
from .errors import ProblemError
from .memory import Layout, Memory, mark_unwritten
from .messages import (CONSTANTS, ERROR, EVALUATE, GRADIENT, GROUP, HEAD, INITIAL, LABELS, LOSS, OFFSET, OFFSETS, OPEN,
                       PREDICT, PROTOCOL, STEP, message, to_json)
from .problem import PARTS, Problem, Step

CONTROL, MEMORY = 3, 4

Group = Tuple[int, str, numpy.ndarray]


class Trainer:
    """Serves one connection. All methods run in the main thread."""

    def __init__(self, control: socket.socket, memory: Memory) -> None:
        self._control = control
        self._memory = memory
        self._buffer = bytearray(1 << 16)
        self._problem: Optional[Problem] = None
        self._file: Optional[str] = None
        self._given = ""
        self._seed = 0
        self._initial: Optional[Dict[str, numpy.ndarray]] = None
        self._names: List[str] = []
        self._parameters = 0
        self._offsets = b""
        self._layout: Optional[Layout] = None
        self._written: Set[Tuple[str, ...]] = set()  # the sets of gradients whose first step was checked
        self._unchecked = False
        self._scored = False  # whether the first step of an evaluation was checked
        self._checksums: Dict[str, int] = {}
        self._round = 0
        self._warned = False
        self._forked = False
        self._working = False
        self._loss = bytearray(LOSS.size)
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
                reply = self._gradient() if kind == GRADIENT else self._answer(kind, end)
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
        if self._problem is None:
            raise ProblemError("a request came before a problem was opened", "open one first")
        if kind == INITIAL:
            self._write_initial(OFFSET.unpack_from(self._buffer, 8)[0])
            return message(INITIAL, b"")
        if kind == CONSTANTS:
            self._write_constants(OFFSET.unpack_from(self._buffer, 8)[0])
            return message(CONSTANTS, b"")
        if kind == EVALUATE:
            scores = self._evaluate()
            return message(EVALUATE, struct.pack(f"<{len(scores)}d", *scores))
        if kind == PREDICT:
            return self._predict()
        if kind == LABELS:
            return self._labels()
        raise ProblemError(f"requests of kind {kind} are unknown", "use a furlong command and a package of one version")

    def _open(self, request: Dict[str, Any]) -> Dict[str, Any]:
        if request["protocol"] != PROTOCOL:
            raise ProblemError(f"protocol {request['protocol']} is asked for, this package has {PROTOCOL}",
                               "use a furlong command and a package of one version")
        self._problem = None
        self._given = request["problem"]
        self._file = os.path.abspath(loading.split_name(self._given)[0])
        self._seed = request["seed"]
        problem = loading.load(self._given, self._seed, request.get("options"))
        options = {name: getattr(problem, name) for name in loading.options_of(type(problem))}
        problem._start(request["threads"], request["deterministic"])
        metrics = values.metrics_of(problem)
        self._initial = values.parameters_of(problem, self._seed)
        clients = values.clients_of(problem)
        shapes = [(name, array.shape) for name, array in self._initial.items()]
        self._memory.describe(shapes)
        self._parameters = len(shapes)
        self._names = ["loss", *metrics]
        self._offsets, self._layout = b"", None
        self._written.clear()
        self._scored = False
        self._problem = problem
        reply: Dict[str, Any] = {
            "protocol": PROTOCOL,
            "parameters": [{"name": name, "shape": list(shape)} for name, shape in shapes],
            "metrics": metrics,
            "predicts": problem._predicts(),
            "labels": problem._has_labels(),
            "options": options,
            "constants": [{"name": one.name, "shape": list(one.shape), "dtype": one.dtype}
                          for one in problem._constants()],
            "aliases": dict(problem._aliases()),
            "constants_sha256": problem._constants_digest(),
            "files": loading.digests_of_sources(self._file),
        }
        if request["first"]:
            reply["clients"] = [
                {"name": c.name, "group": c.group, "train": int(c.train), "validation": int(c.validation),
                 "test": int(c.test)}
                for c in clients
            ]
        gc.collect()
        gc.freeze()
        return reply

    def _write_initial(self, offset: int) -> None:
        assert self._problem is not None
        initial = self._initial or values.parameters_of(self._problem, self._seed)
        for value in initial.values():
            self._memory.array(offset, value.shape)[...] = value
            offset += value.nbytes

    def _write_constants(self, offset: int) -> None:
        assert self._problem is not None
        for one in self._problem._constants():
            self._memory.write(offset, one.content)
            offset += -(-one.content.nbytes // 8) * 8

    # ---- steps ------------------------------------------------------------------------------------------------------

    def _gradient(self) -> bytearray:
        buffer = self._buffer
        seed, self._round, count, groups = STEP.unpack_from(buffer, 8)
        at = OFFSETS + 16 * count
        if buffer[OFFSETS:at] != self._offsets:
            self._use(bytes(buffer[OFFSETS:at]), count)
        layout = self._layout
        problem = self._problem
        assert layout is not None and problem is not None
        if groups != 1:
            loss = self._pooled_gradient(problem, layout, seed, self._groups(at, groups))
        else:
            client, part, size = GROUP.unpack_from(buffer, at)
            examples = numpy.frombuffer(buffer, numpy.uint32, size, at + 12).astype(numpy.int64)
            loss = self._mean_loss(problem, Step(layout, client, PARTS[part], examples, seed, self._round))
            if self._unchecked:
                self._check_first(problem, layout, (client, PARTS[part], examples), seed, loss)
            if not self._warned and not math.isfinite(loss):
                self._warn(f"returned the loss {loss} for client {client}")
            loss *= size
        LOSS.pack_into(self._loss, 0, 12, GRADIENT, loss)
        return self._loss

    @staticmethod
    def _mean_loss(problem: Problem, step: Step) -> float:
        loading.seed_globals(step.seed)
        loss = problem.gradient(step)
        return loss if type(loss) is float else values.check_loss(problem, "gradient", loss)

    def _warn(self, what: str) -> None:
        """Once: values that are not finite. Training may diverge, so that they are no error."""
        self._warned = True
        file, line = errors.place_of_method(self._problem, "gradient")
        print(f"{file}:{line}: gradient() {what}: look at its data and the function "
              f"(python -m furlong.check {self._given}), or lower algorithm.client.lr", file=sys.stderr)

    def _pooled_gradient(self, problem: Problem, layout: Layout, seed: int, groups: List[Group]) -> float:
        """The gradient of the mean loss over several clients: the sum of theirs, weighted by their examples."""
        total = sum(len(examples) for _, _, examples in groups)
        scratch = layout.scratch()
        if self._unchecked:
            mark_unwritten(scratch.gradients)
        for array in layout.gradients.values():
            array.fill(0.0)
        loss = 0.0
        for number, (client, part, examples) in enumerate(groups):
            own_seed = (seed + number * 0x9E3779B97F4A7C15) % 2**64 or 1 if seed else 0
            mean = self._mean_loss(problem, Step(scratch, client, part, examples, own_seed, self._round))
            if self._unchecked:
                self._check_first(problem, scratch, (client, part, examples), own_seed, mean)
            weight = numpy.float32(len(examples) / total)
            for name, array in scratch.gradients.items():
                array *= weight
                layout.gradients[name][...] += array
            loss += mean * len(examples)
        return loss

    def _use(self, offsets: bytes, count: int) -> None:
        """Makes the arrays at these offsets those of the next steps."""
        if self._problem is None:
            raise ProblemError("a request came before a problem was opened", "open one first")
        if count != self._parameters:
            raise ProblemError(f"a request has {count} parameters, the problem {self._parameters}",
                               "use a furlong command and a package of one version")
        self._initial = None
        self._layout = layout = self._memory.layout(offsets)
        self._offsets = offsets
        self._unchecked = tuple(layout.gradients) not in self._written
        if self._unchecked and layout.gradients:
            mark_unwritten(layout.gradients)
            self._checksums = first_step.checksums(layout.values)

    def _check_first(self, problem: Problem, layout: Layout, group: Group, seed: int, loss: float) -> None:
        """After the first step with these gradients."""
        first_step.check(problem, layout, loss,
                         lambda: self._mean_loss(problem, Step(layout, *group, seed, self._round)))
        first_step.refuse_changed_values(problem, self._checksums, layout.values, "gradient")
        name = next((name for name, gradient in layout.gradients.items() if not numpy.isfinite(gradient).all()), None)
        if name is not None and math.isfinite(loss) and not self._warned:
            self._warn(f'wrote values that are not finite to step.gradients["{name}"] for client {group[0]}')
        self._written.add(tuple(layout.gradients))
        self._checksums = {}
        self._unchecked = False

    def _groups(self, at: int, groups: int) -> List[Group]:
        heads = [GROUP.unpack_from(self._buffer, at + 12 * group) for group in range(groups)]
        at += 12 * groups
        made = []
        for client, part, size in heads:
            examples = numpy.frombuffer(self._buffer, numpy.uint32, size, at).astype(numpy.int64)
            made.append((client, PARTS[part], examples))
            at += 4 * size
        return made

    def _read_steps(self) -> List[Step]:
        """The steps of an evaluation or prediction."""
        _, number, count, groups = STEP.unpack_from(self._buffer, 8)
        at = OFFSETS + 8 * count
        if self._buffer[OFFSETS:at] != self._offsets:
            self._use(bytes(self._buffer[OFFSETS:at]), count)
        assert self._layout is not None
        loading.seed_globals(0)
        return [Step(self._layout, client, part, examples, 0, number)
                for client, part, examples in self._groups(at, groups)]

    def _evaluate(self) -> List[float]:
        assert self._problem is not None
        sums = [0.0] * (2 * len(self._names))
        for step in self._read_steps():
            scores = self._problem.evaluate(step)
            flat = values.check_scores(self._problem, self._names, scores, len(step.examples))
            if not self._scored:
                self._check_first_scores(self._problem, step)
            sums = [a + b for a, b in zip(sums, flat)]
        return sums

    def _check_first_scores(self, problem: Problem, step: Step) -> None:
        """After the first step of an evaluation: a second one must leave the same state."""
        state = problem._state()
        loading.seed_globals(0)
        problem.evaluate(step)
        first_step.refuse_changed_state(problem, state, values.method_of_scores(problem))
        self._scored = True

    def _predict(self) -> bytes:
        assert self._problem is not None
        if not self._problem._predicts():
            method = "predictions(outputs)" if hasattr(self._problem, "predictions") else "predict(step)"
            raise ProblemError(f"the class has no {method.split('(')[0]}(), so there is nothing to answer with",
                               f"define {method}, which returns a number or a string for each example",
                               errors.place_of_method(self._problem, "loss"))
        entries: List[Any] = []
        for step in self._read_steps():
            entries += values.predictions_of(self._problem, step)
        return message(PREDICT, values.entries_as_json(self._problem, "predictions", entries))

    def _labels(self) -> bytes:
        assert self._problem is not None
        entries: List[Any] = []
        for step in self._read_steps():
            entries += values.labels_of(self._problem, step) or [None] * len(step.examples)
        return message(LABELS, values.entries_as_json(self._problem, "labels", entries))

    # ---- errors and processes ---------------------------------------------------------------------------------------

    def _failure(self, error: BaseException) -> bytes:
        if self._forked:
            errors.report_in_child(error)
        file, line = errors.place_of(error, self._file)
        text, fix = errors.text_of(error)
        if file == self._file and self._given:
            file = loading.split_name(self._given)[0]
        file = errors.in_one_line(file) if file else None
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
