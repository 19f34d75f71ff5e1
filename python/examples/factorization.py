"""Matrix factorization in numpy: rating = mean + user_bias + item_bias[i] + <user, item[i]>, squared error.

The same model as Furlong's own matrix-factorization. Ratings are generated; FURLONG_RATINGS=FILE reads the CSV that
``furlong export RUN --split FILE`` writes instead, for a comparison (compare_factorization.py).
"""

import csv
import os

import furlong
import numpy

RANK, USERS, ITEMS, PER_USER, MEAN = 4, 200, 100, 40, 3.5


class Factorization(furlong.Problem):
    def __init__(self):
        path = os.environ.get("FURLONG_RATINGS")
        self.groups, self.ratings = read(path) if path else generate()
        self.items = 1 + max(int(item.max()) for item, _ in self.ratings.values() if len(item))

    def parameters(self, seed):
        random = numpy.random.default_rng(seed)
        vectors = lambda rows: random.uniform(-0.1, 0.1, (rows, RANK)).astype(numpy.float32)
        zeros = lambda rows: numpy.zeros((rows, 1), numpy.float32)
        return {"user": vectors(1), "user_bias": zeros(1), "item": vectors(self.items), "item_bias": zeros(self.items),
                "mean": zeros(1) + numpy.float32(MEAN)}

    def clients(self):
        size = lambda client, part: len(self.ratings.get((client, part), ((),))[0])
        return [furlong.Client(f"user {c}", *(size(c, part) for part in furlong.PARTS), group=group)
                for c, group in enumerate(self.groups)]

    def batch(self, step):
        item, label = (column[step.examples] for column in self.ratings[step.client, step.part])
        p = step.parameters
        predicted = p["item"][item] @ p["user"][0] + p["item_bias"][item, 0] + p["user_bias"][0, 0] + p["mean"][0, 0]
        return item, label, predicted

    def gradient(self, step):
        item, label, predicted = self.batch(step)
        error = 2 * (predicted - label) / len(item)
        g, p = step.gradients, step.parameters
        for name in g:
            g[name][...] = 0
        if "user" in g:
            g["user"][0] = error @ p["item"][item]
        if "item" in g:
            numpy.add.at(g["item"], item, error[:, None] * p["user"])
        if "item_bias" in g:
            numpy.add.at(g["item_bias"], item, error[:, None])
        for name in {"user_bias", "mean"} & set(g):
            g[name][...] = error.sum()
        return float(((predicted - label) ** 2).mean())

    def predict(self, step):
        return self.batch(step)[2].tolist()


def generate():
    """Groups of the clients, and items and labels by client and part."""
    random = numpy.random.default_rng(5)
    user, item = random.normal(0, 0.6, (USERS, RANK)), random.normal(0, 0.6, (ITEMS, RANK))
    groups = ["train"] * (USERS * 8 // 10) + ["validation"] * (USERS // 10) + ["test"] * (USERS // 10)
    ratings = {}
    for client in range(USERS):
        rated = random.choice(ITEMS, PER_USER, replace=False)
        label = (MEAN + item[rated] @ user[client] + random.normal(0, 0.4, PER_USER)).astype(numpy.float32)
        split = numpy.split(numpy.arange(PER_USER), [PER_USER * 8 // 10, PER_USER * 9 // 10])
        for part, rows in zip(furlong.PARTS, split):
            ratings[client, part] = rated[rows], label[rows]
    return groups, ratings


def read(path):
    """The same from a CSV with the columns client, group, part, item and label."""
    groups, ratings = {}, {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            client = int(row["client"])
            groups[client] = row["group"]
            items, labels = ratings.setdefault((client, row["part"]), ([], []))
            items.append(int(row["item"]))
            labels.append(float(row["label"]))
    columns = {key: (numpy.array(items), numpy.array(labels, numpy.float32))
               for key, (items, labels) in ratings.items()}
    return [groups.get(client, "train") for client in range(max(groups) + 1)], columns
