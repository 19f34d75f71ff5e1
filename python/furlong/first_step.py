"""The check of a first step: it is repeated, and must give the same. A trainer and furlong.check use it."""

from __future__ import annotations

import struct
import zlib
from typing import Any, Callable, Dict, Mapping, Optional

import numpy

from .errors import ProblemError, place_of_method
from .memory import Layout, first_unwritten
from .problem import Problem, Same

_KEEP = "keep no state between calls"


def check(problem: Problem, layout: Layout, loss: float, repeat: Callable[[], float]) -> None:
    """After a step whose gradients were marked before (mark_unwritten). Raises ProblemError if values were left
    unwritten, or if the second time gives others or another state: such a run could not be repeated or resumed."""
    place = place_of_method(problem, "gradient")
    refuse_unwritten(problem, layout.gradients)
    first = {name: gradient.copy() for name, gradient in layout.gradients.items()}
    state = problem._state()
    again = repeat()
    changed = [name for name, gradient in layout.gradients.items() if gradient.tobytes() != first[name].tobytes()]
    if changed or struct.pack("<d", again) != struct.pack("<d", loss):
        what = f'gradients of "{changed[0]}"' if changed else "losses"
        raise ProblemError(f"two calls of gradient() with the same seed give different {what}",
                           f"draw from step.random, numpy.random, random or torch only, {_KEEP}, "
                           "and overwrite gradients, do not add to their old values", place)
    refuse_changed_state(problem, state, "gradient")


def refuse_unwritten(problem: Problem, gradients: Mapping[str, numpy.ndarray]) -> None:
    """Raises ProblemError if gradient() left values that mark_unwritten() has marked."""
    name = first_unwritten(gradients)
    if name is not None:
        raise ProblemError(
            f'gradient() did not write all of step.gradients["{name}"]',
            f'assign it: step.gradients["{name}"][...] = value (set it to zero first if only rows are written)',
            place_of_method(problem, "gradient"))


def refuse_changed_state(problem: Problem, before: Mapping[str, Any], method: str, owner: Any = None) -> None:
    """Raises ProblemError if a number or tensor among the problem's attributes differs from that after an equal call of
    a method: of the problem, or of `owner`."""
    name = _changed(before, problem._state())
    if name is not None:
        raise ProblemError(f'two calls of {method}() with the same seed leave different values of "{name}"',
                           f"{_KEEP}: what a trainer counts or averages depends on the number of trainers; "
                           "step.round has the round", place_of_method(owner or problem, method))


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> Optional[str]:
    return next((name for name in {**before, **now}
                 if name not in before or name not in now or not _equal(before[name], now[name])), None)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, Same) or isinstance(other, Same):
        return isinstance(one, Same) and isinstance(other, Same) and one.value is other.value
    if isinstance(one, numpy.ndarray) and isinstance(other, numpy.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and repr(one) == repr(other)  # two NaN are equal


def checksums(values: Mapping[str, numpy.ndarray]) -> Dict[str, int]:
    """To find values that a call changes."""
    return {name: zlib.crc32(numpy.ascontiguousarray(value).reshape(-1).view(numpy.uint8))
            for name, value in values.items()}


def refuse_changed_values(problem: Problem, before: Mapping[str, int], values: Mapping[str, numpy.ndarray],
                          method: str) -> None:
    """Raises ProblemError if a call has changed a parameter."""
    now = checksums(values)
    name = next((name for name in before if before[name] != now[name]), None)
    if name is not None:
        raise ProblemError(f'{method}() changes the parameter "{name}"', "write gradients only; the optimizer is "
                           "Furlong's", place_of_method(problem, method))
