"""A problem that a trainer has opened: what it is, its initial values and constants (docs/trainer-protocol.md)."""

from __future__ import annotations

import gc
import itertools
import os
from typing import Any, Dict, Mapping, Optional

import numpy

from . import loading, options, process, sources, values
from .algorithm import Algorithm, describe_algorithm, scores_of
from .memory import Memory
from .problem import Problem

#: Each constant begins at a multiple of so many bytes, as tensors do.
_ALIGNED = 64


class Opened:
    """Constructs the class of an open request. Raises ProblemError, or whatever the user's code raises.

    classes  those that this process has (furlong.inline), by "problem" and "algorithm"; others are imported
    """

    def __init__(self, request: Dict[str, Any], memory: Memory,
                 classes: Optional[Mapping[str, Optional[type]]] = None) -> None:
        self.given: str = request["problem"]
        self.file = os.path.abspath(loading.split_name(self.given)[0])
        self.memory = memory
        self.warned = False  # of values that are not finite
        self.seed: int = request["seed"]
        self._has_others = classes is not None  # modules that have nothing to do with the class
        problem = loading.load(self.given, self.seed, request.get("options"), bool(request.get("algorithm")),
                               (classes or {}).get("problem"), request.get("device", ""))
        self._options = {name: getattr(problem, name) for name in options.defaults_of(type(problem))}
        problem._start(request["threads"], request["deterministic"])
        self._per_client = values.per_client_of(problem)
        self._metrics = {**values.metrics_of(problem), **self._per_client}
        self.initial: Optional[Dict[str, numpy.ndarray]] = values.parameters_of(problem, self.seed)
        self._clients = values.clients_of(problem)
        #: Names and shapes of the parameters, in the order of messages.
        self.shapes = [(name, array.shape) for name, array in self.initial.items()]
        memory.describe(self.shapes)
        #: The number of clients, and that of the parameters.
        self.clients = len(self._clients)
        self.count = len(self.shapes)
        self.problem: Problem = problem
        #: That of the request, if it names one.
        self.algorithm: Optional[Algorithm] = None
        self.given_algorithm: Optional[str] = request.get("algorithm")
        #: Further figures of a personalization, with their better directions.
        self.scores: Dict[str, str] = {}
        if self.given_algorithm:
            self.algorithm = loading.load_algorithm(self.given_algorithm, problem, self.seed,
                                                    request.get("algorithm_options"),
                                                    (classes or {}).get("algorithm"))
            self._description = describe_algorithm(self.algorithm, problem, dict(self.shapes), self.clients)
            self.scores = scores_of(self.algorithm, self._metrics, values.MOST_METRICS)

    def reply(self, first: bool) -> Dict[str, Any]:
        """What the open reply says; to the first trainer also the clients."""
        problem = self.problem
        buffers = problem._buffers()
        reply: Dict[str, Any] = {
            "parameters": [{"name": name, "shape": list(shape), **({"buffer": True} if name in buffers else {})}
                           for name, shape in self.shapes],
            "metrics": {**self._metrics, **self.scores},
            "per_client": list(self._per_client),
            "gradient": problem._has_gradient(),
            "fit": problem._fits(),
            "plain": values.plain_of(problem),
            "predicts": problem._predicts(),
            "labels": problem._has_labels(),
            "arithmetic": problem._arithmetic(),
            "options": self._options,
            "constants": [{"name": one.name, "shape": list(one.shape), "dtype": one.dtype}
                          for one in problem._constants()],
            "aliases": dict(problem._aliases()),
            "constants_sha256": problem._constants_digest(),
            "files": self._digests(),
        }
        if self.algorithm is not None:
            reply["algorithm"] = self._description
        if first:
            reply["clients"] = [
                {"name": c.name, "group": c.group, "train": int(c.train), "validation": int(c.validation),
                 "test": int(c.test)}
                for c in self._clients
            ]
        return reply

    def _digests(self) -> Dict[str, str]:
        """Of the source files of the classes."""
        given = [loading.split_name(self.given_algorithm)[0]] if self.given_algorithm else []
        if not self._has_others:
            return sources.digests(self.file, *given)
        kinds = [type(one) for one in (self.problem, self.algorithm) if one is not None]
        return sources.digests(self.file, *given, of=kinds)

    def write_initial(self, offset: int) -> None:
        """Writes the initial values to the memory file."""
        initial = self.initial or values.parameters_of(self.problem, self.seed)
        for value in initial.values():
            self.memory.array(offset, value.shape)[...] = value
            offset += value.nbytes

    def place_constants(self, offset: int, written: bool) -> None:
        """Writes the constants to the memory file, unless another trainer has done so, and uses those: all trainers
        have one copy."""
        constants = self.problem._constants()
        ends = list(itertools.accumulate(-(-one.content.nbytes // _ALIGNED) * _ALIGNED for one in constants))
        own = self.memory.copy_on_write(offset, ends[-1])
        places = {}
        for one, first in zip(constants, [0, *ends]):
            content = self.memory.bytes_at(offset + first, one.content.nbytes)
            if not written:
                content[...] = one.content
            places[one.name] = own[first : first + one.content.nbytes], content
        del constants, one
        self.problem._use_constants(places)
        gc.collect()
        process.release_memory()
