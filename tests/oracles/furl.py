"""FURL: SGD on all tensors; a client keeps its private ones (federated/algorithms/furl.cpp). FedSim: the private ones
at another rate."""
from world import PRIVATE, SHARED, copy, difference, gradient, mean

SCENARIOS = {
    "plain": {},
    "all": {"participation.per_round": 21, "algorithm.client.epochs": 1},
    "FedSim": {"algorithm.furl.private_lr": 0.2},
    "FedSim, linear schedule, few steps": {"algorithm.furl.private_lr": 0.15, "algorithm.client.schedule": "linear",
                                           "algorithm.client.max_steps": 3},
}


def run(world):
    model, kept = copy(world.initial), {}
    for version, cohort in enumerate(world.cohorts()):
        changes = []
        for i in cohort:
            w = copy({**model, **kept.get(i, {})})
            for batch in world.steps(i):
                found = gradient(w, batch)
                world.step(w, found, SHARED, world.rate("algorithm.client.lr", version))
                world.step(w, found, PRIVATE, world.rate("algorithm.furl.private_lr", version))
            kept[i] = {name: w[name] for name in PRIVATE}
            changes.append(difference(w, model, SHARED))
        world.add(model, mean(changes, world.weights(cohort)))
    shared = {name: model[name] for name in SHARED}
    return shared, kept, {i: {**model, **kept.get(i, {})} for i in world.clients}
