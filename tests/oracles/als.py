"""Alternating least squares (federated/algorithms/als.cpp): both sides in closed form, in float64."""
import numpy

SCENARIOS = {
    "all clients": {"participation.per_round": 21, "scenario.rounds": 4, "evaluation.every": 4},
    "default gamma": {},
    "gamma": {"algorithm.als.gamma": 0.6, "algorithm.als.ridge": 0.5, "algorithm.als.ridge_per_rating": 0.3,
              "algorithm.reconstruction.ridge": 1.5},
}


def ridge(x, y, weight):
    return numpy.linalg.solve(x.T @ x + weight * numpy.eye(x.shape[1]), x.T @ y)


def reconstruct(world, shared, examples):
    """The client's vector and bias."""
    items, labels = examples
    x = numpy.column_stack([shared["item"][items], numpy.ones(len(items))])
    y = labels - shared["item_bias"][items, 0] - shared["mean"][0, 0]
    w = ridge(x, y, world.settings.get("algorithm.reconstruction.ridge", 5.0))
    return {"user": w[None, :-1], "user_bias": w[None, -1:]}


def support(world, client):
    """What an unseen client is known by."""
    items, labels = zip(*world.support(client))
    return numpy.concatenate(items), numpy.concatenate(labels)


def run(world):
    option = lambda name, fallback: world.settings.get(f"algorithm.als.{name}", fallback)
    shared = {name: world.initial[name].copy() for name in ("item", "item_bias", "mean")}
    items, p = len(shared["item"]), shared["item"].shape[1] + 1
    a, b, n = numpy.zeros((items, p, p)), numpy.zeros((items, p)), numpy.zeros(items)
    for cohort in world.cohorts():
        gamma = option("gamma", 1 - len(cohort) / len(world.trains))
        a, b, n = gamma * a, gamma * b, gamma * n
        for i in cohort:
            own = reconstruct(world, shared, world.ratings(i))
            x = numpy.append(own["user"][0], 1.0)
            for item, label in zip(*world.ratings(i)):
                a[item] += numpy.outer(x, x)
                b[item] += (label - shared["mean"][0, 0] - own["user_bias"][0, 0]) * x
                n[item] += 1
        for item in range(items):
            left = a[item] + (option("ridge", 2.0) + option("ridge_per_rating", 0.05) * n[item]) * numpy.eye(p)
            row = numpy.linalg.solve(left, b[item])
            shared["item"][item], shared["item_bias"][item] = row[:-1], row[-1]
    known = lambda i: world.ratings(i) if i in world.trains else support(world, i)
    return shared, {}, {i: {**shared, **reconstruct(world, shared, known(i))} for i in world.clients}
