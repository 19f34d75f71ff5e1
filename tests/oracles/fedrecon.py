"""FedRecon: private tensors are found anew from the support batches, then the shared ones trained on the query batches
(federated/algorithms/fedrecon.cpp)."""
import numpy

from world import ALL, PRIVATE, SHARED, copy, difference, gradient, mean

SCENARIOS = {
    "plain": {},
    "longer reconstruction": {"algorithm.reconstruction.epochs": 4, "algorithm.reconstruction.lr": 0.05},
    "few steps of both": {"algorithm.reconstruction.epochs": 3, "algorithm.reconstruction.max_steps": 2,
                          "algorithm.client.batch_size": 3, "algorithm.client.max_steps": 1},
    "no split, uniform weights": {"algorithm.reconstruction.split": False,
                                  "algorithm.aggregation.rule": "uniform-mean"},
    "joint": {"algorithm.reconstruction.joint": True},
    "batches of the reconstruction": {"algorithm.client.batch_size": 2, "algorithm.reconstruction.batch_size": 3},
    "least squares": {"algorithm.reconstruction.solver": "least-squares", "algorithm.reconstruction.ridge": 0.7},
    "ridge of each example": {"algorithm.reconstruction.solver": "least-squares",
                              "algorithm.reconstruction.ridge": 0.1,
                              "algorithm.reconstruction.ridge_per_example": True},
}


def joined(batches):
    """All examples of some batches: items and ratings."""
    return tuple(numpy.concatenate(column) for column in zip(*batches))


def cut(examples, size):
    items, labels = examples
    return [(items[k:k + size], labels[k:k + size]) for k in range(0, len(items), size)]


def solved(option, w, examples):
    """The minimiser of the summed squared errors and ridge |l|^2, in the vector and the bias together."""
    items, labels = examples
    x = numpy.column_stack([w["item"][items], numpy.ones(len(items))])
    y = labels - w["item_bias"][items, 0] - w["mean"][0, 0]
    ridge = option("ridge", 1.0) * (len(items) if option("ridge_per_example", False) else 1)
    found = numpy.linalg.solve(x.T @ x + ridge * numpy.eye(x.shape[1]), x.T @ y)
    return {"user": found[None, :-1], "user_bias": found[None, -1:]}


def reconstruct(world, model, support):
    """The private tensors from these batches, from their initial values; all others are frozen."""
    option = lambda name, fallback: world.get(f"algorithm.reconstruction.{name}", fallback)
    w, examples = copy(model), joined(support)
    if option("solver", "sgd") == "least-squares":
        return solved(option, w, examples)
    batches = cut(examples, option("batch_size", 0) or world["algorithm.client.batch_size"])
    for batch in (batches * option("epochs", 1))[:option("max_steps", 0) or None]:
        world.step(w, gradient(w, batch), PRIVATE, option("lr", 0.1))
    return {name: w[name] for name in PRIVATE}


def run(world):
    model = copy(world.initial)  # its private tensors stay the initial ones
    splits = world.get("algorithm.reconstruction.split", True)
    trained = ALL if world.get("algorithm.reconstruction.joint", False) else SHARED
    for cohort in world.cohorts():
        changes, weights = [], []
        for i in cohort:
            batches = world.batches(i, 1)
            support, query = (batches[::2], batches[1::2]) if splits else (batches, batches)
            steps = (query * world["algorithm.client.epochs"])[:world.get("algorithm.client.max_steps", 0) or None]
            w = copy({**model, **reconstruct(world, model, support)})
            for batch in steps:
                world.step(w, gradient(w, batch), trained)
            changes.append(difference(w, model, SHARED))
            weights.append(sum(len(labels) for _, labels in steps))
        uniform = world.get("algorithm.aggregation.rule", "mean") == "uniform-mean"
        world.add(model, mean(changes, None if uniform else weights))
    personal = {i: {**model, **reconstruct(world, model, world.known(i))} for i in world.clients}
    return {name: model[name] for name in SHARED}, {}, personal
