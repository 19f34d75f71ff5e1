"""PFedRec: in each batch a step on the score function, then one on the items (federated/algorithms/pfedrec.cpp)."""
import numpy
from implicit_world import ITEMS, ImplicitWorld, sigmoid
from world import copy, mean

WORLD = ImplicitWorld
SCENARIOS = {
    "plain": {},
    "rates, epochs": {"algorithm.pfedrec.item_lr": 0.4, "algorithm.client.lr": 0.1, "algorithm.client.epochs": 3},
    "held-out items never drawn": {"algorithm.client.exclude": "all", "algorithm.pfedrec.evaluate": "shared"},
    "few steps, negatives": {"algorithm.client.max_steps": 3, "algorithm.client.negatives": 2},
}


def odds(w: dict, items):
    return w["item"][items] @ w["score"][0] + w["score_bias"][0, 0]


def run(world):
    model, kept = copy(world.initial), {}
    item_rate = world.get("algorithm.pfedrec.item_lr", world["algorithm.client.lr"])
    for version, cohort in enumerate(world.cohorts()):
        changes = []
        for i in cohort:
            w = copy({**model, **kept.get(i, {})})
            for items, labels in world.task(i, version):
                error = (sigmoid(odds(w, items)) - labels) / len(items)
                w["score"][0] -= world["algorithm.client.lr"] * (error @ w["item"][items])
                w["score_bias"] -= world["algorithm.client.lr"] * error.sum()
                error = (sigmoid(odds(w, items)) - labels) / len(items)
                numpy.add.at(w["item"], items, -item_rate * error[:, None] * w["score"])
            kept[i] = {name: w[name] for name in ("score", "score_bias")}
            if world.get("algorithm.pfedrec.evaluate", "own") == "own":
                trained = numpy.unique(world.examples(i, version)[0])
                scores = numpy.zeros(ITEMS)
                scores[trained] = odds(w, trained)
                kept[i]["pfedrec/own/scores"] = scores
            changes.append({"item": w["item"] - model["item"]})
        world.add(model, mean(changes))
    return {"item": model["item"]}, kept, None
