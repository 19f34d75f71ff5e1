"""The test of a problem's score_client(), for furlong.check."""

from __future__ import annotations

from typing import Dict, List

import numpy

from . import loading, values
from .errors import ProblemError, place_of_method
from .memory import Layout
from .problem import Problem, Step


def figures_of_client(problem: Problem, layout: Layout, client: int, part: str, examples: int, batch: int) -> Dict[str, float]:
    """The figures of a client by name, without those that it has not; {} if the class has none. Batches of another size
    must give the same. Raises ProblemError, or whatever the user's code raises."""
    names = list(values.per_client_of(problem))

    def figures(size: int) -> List[float]:
        loading.seed_globals(0)
        steps = [Step(layout, client, part, numpy.arange(first, min(first + size, examples)), 0, 1)
                 for first in range(0, examples, size)]
        return values.figures_of(problem, steps, problem.evaluate)[-2 * len(names):]

    if not names:
        return {}
    found, others = figures(batch), figures(max(1, batch // 2))
    for name, value, other in zip(names, found[::2], others[::2]):
        if not numpy.isclose(value, other, rtol=1e-3, atol=1e-4):
            raise ProblemError(f'"{name}" of client {client} is {value:.5g} from batches of {batch} and {other:.5g} from '
                               f"batches of {max(1, batch // 2)}", "compute it from all examples, and draw nothing",
                               place_of_method(problem, "score_client"))
    return {name: value for name, value, count in zip(names, found[::2], found[1::2]) if count}
