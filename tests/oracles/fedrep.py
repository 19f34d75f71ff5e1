"""FedRep: the private tensors, then the shared ones; a client keeps the private ones (federated/algorithms/fedrep.cpp)."""
from world import PRIVATE, SHARED, copy, difference, gradient, mean, reconstructed

SCENARIOS = {
    "plain": {},
    "longer body": {"algorithm.fedrep.head_epochs": 2, "algorithm.client.epochs": 3},
    "few steps, uniform weights": {"algorithm.client.max_steps": 3, "algorithm.aggregation.rule": "uniform-mean"},
    "cold start": {"private.cold_start": "reconstruct", "algorithm.reconstruction.epochs": 3},
}


def run(world, head="algorithm.fedrep.head_epochs", head_lr="algorithm.client.lr", epochs=10):
    model, kept = copy(world.initial), {}
    cold = world.get("private.cold_start", "default") == "reconstruct"
    for version, cohort in enumerate(world.cohorts()):
        changes = []
        for i in cohort:
            first = reconstructed(world, model, world.batches(i, 1), PRIVATE) if cold else {}
            w = copy({**model, **kept.get(i, first)})
            for batch in world.steps(i, world.get(head, epochs)):
                world.step(w, gradient(w, batch), PRIVATE, world.rate(head_lr, version))
            for batch in world.steps(i):
                world.step(w, gradient(w, batch), SHARED, world.rate("algorithm.client.lr", version))
            kept[i] = {name: w[name] for name in PRIVATE}
            changes.append(difference(w, model, SHARED))
        world.add(model, mean(changes, world.weights(cohort)))
    shared = {name: model[name] for name in SHARED}
    first = {i: reconstructed(world, model, world.known(i), PRIVATE) if cold else {} for i in world.clients}
    return shared, kept, {i: {**model, **kept.get(i, first[i])} for i in world.clients}
