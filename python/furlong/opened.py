"""A problem that a trainer has opened: what it is, its initial values and constants (docs/trainer-protocol.md)."""

from __future__ import annotations

import gc
import os
from typing import Any, Dict, List, Optional

import numpy

from . import loading, values
from .memory import Memory
from .problem import Problem


class Opened:
    """Constructs the class of an open request. Raises ProblemError, or whatever the user's code raises."""

    def __init__(self, request: Dict[str, Any], memory: Memory) -> None:
        self.given: str = request["problem"]
        self.file = os.path.abspath(loading.split_name(self.given)[0])
        self.memory = memory
        self.warned = False  # of values that are not finite
        self._seed: int = request["seed"]
        problem = loading.load(self.given, self._seed, request.get("options"))
        self._options = {name: getattr(problem, name) for name in loading.options_of(type(problem))}
        problem._start(request["threads"], request["deterministic"])
        self._metrics = values.metrics_of(problem)
        self.initial: Optional[Dict[str, numpy.ndarray]] = values.parameters_of(problem, self._seed)
        self._clients = values.clients_of(problem)
        #: Names and shapes of the parameters, in the order of messages.
        self.shapes = [(name, array.shape) for name, array in self.initial.items()]
        memory.describe(self.shapes)
        #: The number of parameters.
        self.count = len(self.shapes)
        #: "loss" and the metrics, in the order of messages.
        self.names: List[str] = ["loss", *self._metrics]
        self.problem: Problem = problem

    def reply(self, first: bool) -> Dict[str, Any]:
        """What the open reply says; to the first trainer also the clients."""
        problem = self.problem
        reply: Dict[str, Any] = {
            "parameters": [{"name": name, "shape": list(shape)} for name, shape in self.shapes],
            "metrics": self._metrics,
            "gradient": problem._has_gradient(),
            "fit": problem._fits(),
            "plain": values.plain_of(problem),
            "predicts": problem._predicts(),
            "labels": problem._has_labels(),
            "options": self._options,
            "constants": [{"name": one.name, "shape": list(one.shape), "dtype": one.dtype}
                          for one in problem._constants()],
            "aliases": dict(problem._aliases()),
            "constants_sha256": problem._constants_digest(),
            "files": loading.digests_of_sources(self.file),
        }
        if first:
            reply["clients"] = [
                {"name": c.name, "group": c.group, "train": int(c.train), "validation": int(c.validation),
                 "test": int(c.test)}
                for c in self._clients
            ]
        gc.collect()
        gc.freeze()
        return reply

    def write_initial(self, offset: int) -> None:
        """Writes the initial values to the memory file."""
        initial = self.initial or values.parameters_of(self.problem, self._seed)
        for value in initial.values():
            self.memory.array(offset, value.shape)[...] = value
            offset += value.nbytes

    def write_constants(self, offset: int) -> None:
        """Writes the constants to the memory file."""
        for one in self.problem._constants():
            self.memory.write(offset, one.content)
            offset += -(-one.content.nbytes // 8) * 8
