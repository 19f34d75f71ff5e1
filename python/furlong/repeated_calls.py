"""Calls of an algorithm's methods that are made twice: they write nothing but their results, and give the same."""

from __future__ import annotations

import time
from typing import Any, Callable, Mapping, Sequence, Tuple

import numpy

from . import first_step
from .algorithm import Algorithm
from .algorithm_state import AlgorithmState
from .errors import ProblemError, place_of_method
from .fits import LONGEST_REPEATED


class RepeatedCalls:
    """Of one method, by name. `writable`: the fix of a write to what it is given; `differs`: what a reply that differs
    is about."""

    def __init__(self, algorithm: Algorithm, problem: Any, method: str, writable: str, differs: str) -> None:
        self._algorithm, self._problem, self._method = algorithm, problem, method
        self._state = AlgorithmState(algorithm)
        self._writable, self._differs = writable, differs

    def once(self, call: Callable[[], bytes]) -> bytes:
        """The reply of the call. Raises ProblemError, or whatever the user's code raises."""
        reply = call()
        self._state.refuse_changed(self._method)
        return reply

    def twice(self, call: Callable[[], bytes], given: Mapping[str, numpy.ndarray],
              results: Sequence[Tuple[str, numpy.ndarray]]) -> bytes:
        """The same. A second call must write and reply what the first did, unless that takes long.

        given: arrays that must not change, results: those that are written, by names for messages.
        """
        method, place = self._method, place_of_method(self._algorithm, self._method)
        sums = first_step.checksums(given)
        self._state.remember()
        began = time.monotonic()
        reply = self.once(call)
        seconds = time.monotonic() - began
        now = first_step.checksums(given)
        name = next((name for name in sums if sums[name] != now[name]), None)
        if name is not None:
            raise ProblemError(f"{method}() changes {name}, which it must not write", self._writable, place)
        self._state.refuse_changed_contents(method)
        if seconds > LONGEST_REPEATED:
            return reply
        state = self._problem._state()
        first = [array.copy() for _, array in results]
        again = self.once(call)
        other = next((name for (name, array), old in zip(results, first) if array.tobytes() != old.tobytes()), None)
        if other is not None or again != reply:
            raise ProblemError(f"two calls of {method}() with the same seed give different values of "
                               f"{other if other is not None else self._differs}",
                               f"draw from {'s' if method == 'step' else 't'}.random, numpy.random, random or torch "
                               "only, begin with a new optimizer, and keep no state between calls but in groups", place)
        first_step.refuse_changed_state(self._problem, state, method, self._algorithm)
        return reply
