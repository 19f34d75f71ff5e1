"""Implicit ALS in which clients report the differences of their sums (federated/algorithms/ials.cpp), in float64."""
import numpy
from ials import World, own_vector, solved_items
from implicit_world import ITEMS

WORLD = World
SCENARIOS = {
    "all clients": {"participation.per_round": 24, "scenario.rounds": 4, "evaluation.every": 4},
    "each client twice": {},
    "weights": {"algorithm.ials-differences.alpha": 0.2, "algorithm.ials-differences.ridge": 0.05},
}


def run(world):
    """The sums over all clients that have reported, each with its newest vector, are computed anew in each round."""
    alpha, ridge = (world.get(f"algorithm.ials-differences.{name}", fallback)
                    for name, fallback in (("alpha", 0.5), ("ridge", 0.003)))
    y, newest = world.initial["item"].copy(), {}
    for cohort in world.cohorts():
        newest.update({i: own_vector(y, world.interactions(i), alpha, ridge) for i in cohort})
        x = numpy.array(list(newest.values()))
        has = numpy.array([numpy.isin(numpy.arange(ITEMS), world.interactions(i)) for i in newest], float)
        y = solved_items(numpy.einsum("ui,uk,ul->ikl", has, x, x), has.T @ x, has.sum(axis=0), x.T @ x, len(x), alpha,
                         ridge)
    return {"item": y}, {i: {"user": x} for i, x in newest.items()}, None
