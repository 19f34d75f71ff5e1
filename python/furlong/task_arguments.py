"""What the methods of a task are given, checked. All functions raise ProblemError."""

from __future__ import annotations

import difflib
import fnmatch
import math
from typing import Any, Collection, List, Sequence

import numpy

from .errors import describe
from .groups import MOST_OF_METRICS
from .local_data import refuse


def tensors_named(tensors: Any, every: Sequence[str], private: Collection[str]) -> List[str]:
    """Those of the parameters of "all", "shared", "private" or patterns."""
    if tensors in ("all", "shared", "private"):
        return [name for name in every if tensors == "all" or (name in private) is (tensors == "private")]
    patterns = [tensors] if isinstance(tensors, str) else tensors
    if not isinstance(patterns, (list, tuple)) or not all(isinstance(one, str) for one in patterns):
        refuse(f"t.fit() is given tensors = {describe(tensors)}",
               'give "all", "shared", "private" or a list of patterns of names')
    for pattern in patterns:
        if not fnmatch.filter(every, pattern):
            near = difflib.get_close_matches(pattern, every, 1, 0.4)
            refuse(f"t.fit() is given the tensors {pattern!r}, which match no parameter",
                   f'the nearest is "{near[0]}"' if near else f"there are: {', '.join(every)}")
    return [name for name in every if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def learning_rate(rate: Any) -> float:
    number = not isinstance(rate, bool) and isinstance(rate, (int, float, numpy.number))
    if not number or not 0 <= rate < math.inf:
        refuse(f"t.fit() is given rate = {describe(rate)}", "give a number of at least 0")
    return float(rate)


def count_of_examples(method: str, n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, numpy.integer)) or not 1 <= n < 2**32:
        refuse(f"t.{method}() is given {describe(n)} as the number of examples",
               "give a whole number above 0, such as len(targets)")
    return int(n)


def add_to_metric(sums: numpy.ndarray, row: int, total: Any, count: Any) -> None:
    """Adds to a row of sum and count."""
    try:
        added = numpy.array([float(total), float(count)], numpy.float32)
    except (TypeError, ValueError, RuntimeError):
        refuse(f"t.metric() is given {describe(total)} and {describe(count)}", "give two numbers: a sum, and a count")
    sums[row] += added
    if not added[1] >= 0 or not numpy.linalg.norm(sums.astype(numpy.float64)) <= MOST_OF_METRICS:
        refuse(f"t.metric() is given {added[0]:.9g} and {added[1]:.9g}",
               f"give finite numbers, a count of at least 0, and at most {MOST_OF_METRICS:,.0f} in all")
