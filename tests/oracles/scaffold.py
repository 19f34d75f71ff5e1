"""SCAFFOLD, option II: steps are corrected by the clients' control variates (federated/algorithms/scaffold.cpp)."""
from world import PRIVATE, SHARED, copy, difference, gradient, mean

SCENARIOS = {
    "private tensors": {},
    "all tensors shared": {"model.private": []},
    "few steps": {"algorithm.client.max_steps": 3, "participation.per_round": 9},
}


def run(world):
    own_names = tuple(world.settings.get("model.private", PRIVATE))
    names = tuple(name for name in PRIVATE + SHARED if name not in own_names)
    steps = world.settings.get("algorithm.client.max_steps")
    rate = world["algorithm.client.lr"]
    shared = {name: world.initial[name] for name in names}
    zero = {name: 0 * world.initial[name] for name in names}
    c, own, kept = copy(zero), {}, {}
    for cohort in world.cohorts():
        changes, control_changes = [], []
        for i in cohort:
            before = own.get(i, zero)
            y = copy({**world.initial, **shared, **kept.get(i, {})})
            batches = world.batches(i)[:steps]
            for batch in batches:
                g = gradient(y, batch)
                world.step(y, {**g, **{name: g[name] - before[name] + c[name] for name in names}}, names + own_names)
            own[i] = {name: before[name] - c[name] + (shared[name] - y[name]) / (len(batches) * rate)
                      for name in names}
            kept[i] = {name: y[name] for name in own_names}
            changes.append(difference(y, shared, names))
            control_changes.append(difference(own[i], before, names))
        change, control_change = mean(changes), mean(control_changes)
        for name in names:
            shared[name] = shared[name] + world["algorithm.server.lr"] * change[name]
            c[name] = c[name] + len(cohort) / len(world.trains) * control_change[name]
    personal = {i: {**world.initial, **shared, **kept.get(i, {})} for i in world.clients}
    stored = {i: {**kept[i], **{f"scaffold/own/{name}": own[i][name] for name in names}} for i in kept}
    return shared, stored, personal
