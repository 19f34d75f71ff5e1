"""Implicit alternating least squares (federated/algorithms/ials.cpp): both sides in closed form, in float64."""
import numpy
from implicit_world import ITEMS, RANK, ImplicitWorld


class World(ImplicitWorld):
    SCENARIO = {**ImplicitWorld.SCENARIO,
                "model": {"kind": "matrix-factorization", "rank": RANK, "private": ["user"]}}

    @staticmethod
    def first_values(draw) -> dict:
        return {"user": draw(1, RANK), "item": draw(ITEMS, RANK)}


WORLD = World
SCENARIOS = {
    "all clients": {"participation.per_round": 24, "scenario.rounds": 4, "evaluation.every": 4},
    "default gamma": {},
    "gamma": {"algorithm.ials.gamma": 0.9, "algorithm.ials.alpha": 0.2, "algorithm.ials.ridge": 0.05},
}


def own_vector(y, own, alpha: float, ridge: float):
    """A client's vector, from the items' rows and the numbers of its own items."""
    left = y[own].T @ y[own] + alpha * y.T @ y + ridge * (len(own) + alpha * ITEMS) * numpy.eye(RANK)
    return numpy.linalg.solve(left, y[own].sum(axis=0))


def solved_items(a, b, n, h, clients: float, alpha: float, ridge: float):
    """The items' rows, from sums over clients: a, b and n of each item, h over all clients."""
    return numpy.array([numpy.linalg.solve(a[i] + alpha * h + ridge * (n[i] + alpha * clients) * numpy.eye(RANK), b[i])
                        for i in range(ITEMS)])


def run(world):
    option = lambda name, fallback: world.settings.get(f"algorithm.ials.{name}", fallback)
    alpha, ridge = option("alpha", 0.5), option("ridge", 0.003)
    y = world.initial["item"].copy()
    a, b, n = numpy.zeros((ITEMS, RANK, RANK)), numpy.zeros((ITEMS, RANK)), numpy.zeros(ITEMS)
    h, clients = numpy.zeros((RANK, RANK)), 0.0
    for cohort in world.cohorts():
        gamma = option("gamma", 1 - len(cohort) / len(world.trains))
        a, b, n, h, clients = gamma * a, gamma * b, gamma * n, gamma * h, gamma * clients
        for i in cohort:
            own = world.interactions(i)
            x = own_vector(y, own, alpha, ridge)
            a[own] += numpy.outer(x, x)
            b[own] += x
            n[own] += 1
            h += numpy.outer(x, x)
            clients += 1
        y = solved_items(a, b, n, h, clients, alpha, ridge)
    return {"item": y}, {}, None
