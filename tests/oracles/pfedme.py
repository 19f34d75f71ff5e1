"""pFedMe: theta minimises the loss close to w_i, and w_i moves to theta (federated/algorithms/pfedme.cpp)."""
from world import ALL, copy, difference, gradient, mean

SCENARIOS = {
    "plain": {},
    "few inner steps": {"algorithm.pfedme.inner_steps": 2, "algorithm.pfedme.lambda": 3.0,
                        "algorithm.pfedme.outer_lr": 0.2},
    "few steps": {"algorithm.client.max_steps": 3},
    "reset": {"algorithm.pfedme.reset": True, "algorithm.pfedme.outer_lr": 0.05},
}


def run(world):
    lr, pull = world["algorithm.client.lr"], world.get("algorithm.pfedme.lambda", 15.0)
    outer, inner = world.get("algorithm.pfedme.outer_lr", 0.005), world.get("algorithm.pfedme.inner_steps", 5)
    w, kept, resets = copy(world.initial), {}, world.get("algorithm.pfedme.reset", False)
    for cohort in world.cohorts():
        changes = []
        for i in cohort:
            mine, theta = copy(w), copy(w) if resets else world.personal(i, w, kept.get(i))
            for batch in world.steps(i):
                for _ in range(inner):
                    g = gradient(theta, batch)
                    for name in ALL:
                        theta[name] -= lr / (1 + lr * pull) * (g[name] + pull * (theta[name] - mine[name]))
                for name in ALL:
                    mine[name] -= outer * pull * (mine[name] - theta[name])
            kept[i] = theta
            changes.append(difference(mine, w, ALL))
        world.step(w, mean(changes), ALL, -world["algorithm.server.lr"])
    stored = {i: world.at_rest(i, values, "pfedme/theta/") for i, values in kept.items()}
    return w, stored, {i: world.personal(i, w, kept.get(i)) for i in world.clients}
