"""FedBABU: SGD on the shared tensors; fine-tuning of the private ones before a prediction (federated/algorithms/
fedbabu.cpp)."""
from world import SHARED, copy, difference, gradient, mean, reconstructed

SCENARIOS = {
    "plain": {},
    "all tensors": {"evaluation.reconstruct": ["user", "user_bias", "item", "item_bias", "mean"],
                    "algorithm.reconstruction.epochs": 2, "algorithm.reconstruction.lr": 0.05},
    "no fine-tuning, uniform weights": {"evaluation.reconstruct": [], "algorithm.aggregation.rule": "uniform-mean"},
}


def run(world):
    model = copy(world.initial)
    for cohort in world.cohorts():
        changes = []
        for i in cohort:
            w = copy(model)
            for batch in world.steps(i):
                world.step(w, gradient(w, batch), SHARED)
            changes.append(difference(w, model, SHARED))
        world.add(model, mean(changes, world.weights(cohort)))
    tuned = world.get("evaluation.reconstruct", ["user", "user_bias"])
    world.settings.setdefault("algorithm.reconstruction.epochs", 5)
    personal = {i: {**model, **reconstructed(world, model, world.known(i), tuned)} for i in world.clients}
    return {name: model[name] for name in SHARED}, {}, personal
