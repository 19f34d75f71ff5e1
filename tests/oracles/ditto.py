"""Ditto: FedAvg, and personal copies that are pulled to the received model (federated/algorithms/ditto.cpp)."""
from world import ALL, copy, difference, gradient, mean

SCENARIOS = {
    "plain": {},
    "local": {"algorithm.ditto.lambda": 0.0, "algorithm.ditto.personal_lr": 0.05},
    "strong pull, more epochs": {"algorithm.ditto.lambda": 4.0, "algorithm.ditto.personal_epochs": 3},
    "some tensors": {"algorithm.ditto.personal": ["user", "item_bias"]},
    "from the initial model": {"algorithm.ditto.start": "initial"},
    "some tensors, from the initial model": {"algorithm.ditto.personal": ["item", "mean"],
                                             "algorithm.ditto.start": "initial"},
    "uniform weights, few steps": {"algorithm.aggregation.rule": "uniform-mean", "algorithm.client.max_steps": 3},
}


def run(world):
    rate, pull = world.get("algorithm.ditto.personal_lr", 0.02), world.get("algorithm.ditto.lambda", 1.0)
    names = world.get("algorithm.ditto.personal", ALL)
    epochs = world.get("algorithm.ditto.personal_epochs", world["algorithm.client.epochs"])
    w, kept = copy(world.initial), {}
    initial = world.get("algorithm.ditto.start", "received") == "initial"
    first = {name: world.initial[name] for name in names} if initial else None
    for cohort in world.cohorts():
        changes = []
        for i in cohort:
            mine, p = copy(w), world.personal(i, w, kept.get(i, first))
            for batch in world.steps(i):
                world.step(mine, gradient(mine, batch), ALL)
            for batch in world.steps(i, epochs):
                g = gradient(p, batch)
                for name in names:
                    p[name] -= rate * (g[name] + pull * (p[name] - w[name]))
            kept[i] = {name: p[name] for name in names}
            changes.append(difference(mine, w, ALL))
        world.step(w, mean(changes, world.weights(cohort)), ALL, -world["algorithm.server.lr"])
    stored = {i: world.at_rest(i, values, "ditto/personal/") for i, values in kept.items()}
    return w, stored, {i: world.personal(i, w, kept.get(i)) for i in world.clients}
