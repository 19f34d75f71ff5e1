"""FedRAP: items are sums of shared and private rows, kept apart by a regularizer (federated/algorithms/fedrap.cpp)."""
import numpy
from implicit_world import ITEMS, RANK, ImplicitWorld, sigmoid
from world import copy, mean


class World(ImplicitWorld):
    PRIVATE = ["score", "score_bias", "own_item"]
    SCENARIO = {**ImplicitWorld.SCENARIO,
                "model": {"kind": "score-function", "rank": RANK, "own_items": True, "private": PRIVATE}}

    @staticmethod
    def first_values(draw) -> dict:
        return {**ImplicitWorld.first_values(draw), "own_item": numpy.zeros((ITEMS, RANK), numpy.float32)}


WORLD = World
SCENARIOS = {
    "plain": {},
    "rates, epochs": {"algorithm.fedrap.item_lr": 0.4, "algorithm.client.lr": 0.1, "algorithm.client.epochs": 3},
    "weights of the regularizers": {"algorithm.fedrap.lambda": 2.0, "algorithm.fedrap.mu": 1.0,
                                    "algorithm.fedrap.item_lr": 0.2, "algorithm.client.exclude": "all"},
    "few steps, negatives": {"algorithm.client.max_steps": 3, "algorithm.client.negatives": 2},
}


def slopes(w: dict, items, labels, apart: float, sparse: float) -> dict:
    """The gradient of a batch's objective; both weights are those of the round."""
    rows = w["item"][items] + w["own_item"][items]
    error = (sigmoid(rows @ w["score"][0] + w["score_bias"][0, 0]) - labels) / len(items)
    found = {name: numpy.zeros_like(value) for name, value in w.items()}
    found["score"][0], found["score_bias"][...] = error @ rows, error.sum()
    difference = 2 * apart * (w["own_item"] - w["item"])[items] / (len(items) * RANK)
    sign = sparse * numpy.sign(w["item"][items]) / (len(items) * RANK)
    numpy.add.at(found["item"], items, error[:, None] * w["score"] + difference + sign)
    numpy.add.at(found["own_item"], items, error[:, None] * w["score"] - difference)
    return found


def run(world):
    option = lambda name, fallback: world.get(f"algorithm.fedrap.{name}", fallback)
    model, kept = copy(world.initial), {}
    rate = world["algorithm.client.lr"]
    item_rate = option("item_lr", rate)
    for version, cohort in enumerate(world.cohorts()):
        growth, changes = numpy.tanh(version / 10), []
        for i in cohort:
            w = copy({**model, **kept.get(i, {})})
            for items, labels in world.task(i, version):
                found = slopes(w, items, labels, growth * option("lambda", 0.1), growth * option("mu", 0.01))
                world.step(w, found, ("score", "score_bias"), rate)
                world.step(w, found, ("item", "own_item"), item_rate)
            kept[i] = {name: w[name] for name in World.PRIVATE}
            changes.append({"item": w["item"] - model["item"]})
        world.add(model, mean(changes))
    return {"item": model["item"]}, kept, None
