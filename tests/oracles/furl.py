"""FURL: SGD on all tensors; a client keeps its private ones (federated/algorithms/furl.cpp)."""
from world import PRIVATE, SHARED, copy, difference, gradient, mean

SCENARIOS = {"plain": {}, "all": {"participation.per_round": 21, "algorithm.client.epochs": 1}}


def run(world):
    shared = {name: world.initial[name] for name in SHARED}
    kept = {}
    for cohort in world.cohorts():
        changes = []
        for i in cohort:
            w = copy({**world.initial, **shared, **kept.get(i, {})})
            for batch in world.batches(i):
                world.step(w, gradient(w, batch), SHARED + PRIVATE)
            kept[i] = {name: w[name] for name in PRIVATE}
            changes.append(difference(w, shared, SHARED))
        change = mean(changes, [len(world.ratings(i)[0]) for i in cohort])
        shared = {name: shared[name] + world["algorithm.server.lr"] * change[name] for name in SHARED}
    personal = {i: {**world.initial, **shared, **kept.get(i, {})} for i in world.clients}
    return shared, kept, personal
