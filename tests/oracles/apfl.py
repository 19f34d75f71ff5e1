"""APFL: personal values, and the share of them in the mixture that predicts (federated/algorithms/apfl.cpp)."""
from world import ALL, copy, difference, gradient, mean

SCENARIOS = {
    "plain": {},
    "fixed share": {"algorithm.apfl.adaptive": False, "algorithm.apfl.alpha": 0.25},
    "fast share": {"algorithm.apfl.alpha_lr": 1.0},
    "few steps": {"algorithm.client.max_steps": 3},
    "from the initial model": {"algorithm.apfl.start": "initial"},
}


def mix(a, p, w):
    return {name: a * p[name] + (1 - a) * w[name] for name in ALL}


def run(world):
    eta, start = world["algorithm.client.lr"], world.get("algorithm.apfl.alpha", 0.5)
    share_rate = world.get("algorithm.apfl.alpha_lr", eta)
    w, kept, shares = copy(world.initial), {}, {}
    first = world.initial if world.get("algorithm.apfl.start", "received") == "initial" else None
    for cohort in world.cohorts():
        changes = []
        for i in cohort:
            mine, p, a = copy(w), world.personal(i, w, kept.get(i, first)), shares.get(i, start)
            for batch in world.steps(i):
                at_w, at_m = gradient(mine, batch), gradient(mix(a, p, mine), batch)
                slope = sum(((p[name] - mine[name]) * at_m[name]).sum() for name in ALL)
                world.step(mine, at_w, ALL)
                world.step(p, at_m, ALL, eta * a)
                if world.get("algorithm.apfl.adaptive", True):
                    a = min(max(a - share_rate * slope, 0.0), 1.0)
            kept[i], shares[i] = p, a
            changes.append(difference(mine, w, ALL))
        world.step(w, mean(changes, world.weights(cohort)), ALL, -world["algorithm.server.lr"])
    stored = {i: {**world.at_rest(i, values, "apfl/personal/"), "apfl/mixture/alpha": [[shares[i]]]}
              for i, values in kept.items()}
    return w, stored, {i: mix(shares[i], world.personal(i, w, kept[i]), w) if i in kept else w for i in world.clients}
