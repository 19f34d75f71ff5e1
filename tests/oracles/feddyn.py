"""FedDyn: the local loss has a linear and a quadratic term (federated/algorithms/feddyn.cpp)."""
from world import PRIVATE, SHARED, copy, difference, gradient, mean

# The server has no step size.
SCENARIOS = {
    "private tensors": {"algorithm.server.lr": 1.0},
    "all tensors shared": {"algorithm.server.lr": 1.0, "model.private": []},
    "another alpha": {"algorithm.server.lr": 1.0, "algorithm.feddyn.alpha": 0.5, "participation.per_round": 9},
}


def run(world):
    own_names = tuple(world.settings.get("model.private", PRIVATE))
    names = tuple(name for name in PRIVATE + SHARED if name not in own_names)
    alpha = world.settings.get("algorithm.feddyn.alpha", 0.1)
    shared = {name: world.initial[name] for name in names}
    zero = {name: 0 * world.initial[name] for name in names}
    h, own, kept = copy(zero), {}, {}
    for cohort in world.cohorts():
        changes = []
        for i in cohort:
            before = own.get(i, zero)
            y = copy({**world.initial, **shared, **kept.get(i, {})})
            for batch in world.batches(i):
                g = gradient(y, batch)
                corrected = {name: g[name] - before[name] + alpha * (y[name] - shared[name]) for name in names}
                world.step(y, {**g, **corrected}, names + own_names)
            kept[i] = {name: y[name] for name in own_names}
            changes.append(difference(y, shared, names))
            own[i] = {name: before[name] - alpha * changes[-1][name] for name in names}
        change = mean(changes)
        for name in names:
            h[name] = h[name] - alpha * len(cohort) / len(world.trains) * change[name]
            shared[name] = shared[name] + change[name] - h[name] / alpha
    personal = {i: {**world.initial, **shared, **kept.get(i, {})} for i in world.clients}
    stored = {i: {**kept[i], **{f"feddyn/g/{name}": own[i][name] for name in names}} for i in kept}
    return shared, stored, personal
