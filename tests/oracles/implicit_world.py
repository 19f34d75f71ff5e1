"""The federation of world.py on implicit feedback: interactions, and negatives drawn from furlong's own streams."""
import re
from pathlib import Path

import numpy
from world import SCENARIO, World

ITEMS, RANK = 30, 3
PURPOSES = Path(__file__).parents[2] / "base/random.hpp"
NEGATIVES = int(re.search(r"\bnegatives = (\d+),", PURPOSES.read_text(encoding="utf-8"))[1])


class Stream:
    """Philox4x32-10, as base/random.cpp has it."""

    def __init__(self, seed: int, purpose: int, round: int, client: int, part: int = 0) -> None:
        self.key = (seed & 0xFFFFFFFF, seed >> 32)
        self.counter = [0, purpose | part << 8, round, client]
        self.block = []

    def word(self) -> int:
        if not self.block:
            (x, y, z, w), (k, m) = self.counter, self.key
            for _ in range(10):
                a, b = 0xD2511F53 * x, 0xCD9E8D57 * z
                x, y, z, w = (b >> 32) ^ y ^ k, b & 0xFFFFFFFF, (a >> 32) ^ w ^ m, a & 0xFFFFFFFF
                k, m = (k + 0x9E3779B9) & 0xFFFFFFFF, (m + 0xBB67AE85) & 0xFFFFFFFF
            self.block = [x, y, z, w]
            self.counter[0] += 1
        return self.block.pop(0)

    def below(self, bound: int) -> int:
        product = self.word() * bound
        if (product & 0xFFFFFFFF) < bound:
            while (product & 0xFFFFFFFF) < (2**32 - bound) % bound:
                product = self.word() * bound
        return product >> 32


class ImplicitWorld(World):
    SCENARIO = {
        **SCENARIO,
        "data": {"source": "synthetic-ratings", "users": 24, "items": ITEMS, "rank": 2, "ratings_per_user": 14,
                 "min_ratings": 10, "spread": 0.2, "popularity": 0.0, "feedback": "implicit",
                 "split": [0.8, 0.1, 0.1]},
        "model": {"kind": "score-function", "rank": RANK, "private": ["score", "score_bias"]},
        "evaluation": {"every": 12},
    }

    @staticmethod
    def first_values(draw) -> dict:
        return {"item": draw(ITEMS, RANK), "score": draw(1, RANK), "score_bias": draw(1, 1)}

    def interactions(self, client: int):
        """The items of a client's training."""
        return self.ratings(client)[0]

    def examples(self, client: int, version: int):
        """Of a task: each interaction, then its negatives. Items and labels."""
        items, known = [], set(self.interactions(client).tolist())
        excluded = set(known)
        if self.get("algorithm.client.exclude", "train") == "all":
            excluded |= {int(i) for part in ("validation", "test") for i in self.ratings(client, part)[0]}
        free = [i for i in range(ITEMS) if i not in excluded]
        stream, negatives = Stream(3, NEGATIVES, version, client), self.get("algorithm.client.negatives", 4)

        def draw() -> int:
            if len(free) <= ITEMS // 2:
                return free[stream.below(len(free))]
            while (item := stream.below(ITEMS)) in excluded:
                pass
            return item

        for item in self.interactions(client):
            items += [int(item)] + [draw() for _ in range(negatives)]
        labels = numpy.tile([1.0] + [0.0] * negatives, len(items) // (1 + negatives))
        return numpy.array(items), labels

    def task(self, client: int, version: int):
        """The batches of a task, in order."""
        items, labels = self.examples(client, version)
        size = self["algorithm.client.batch_size"]
        one = [(items[k:k + size], labels[k:k + size]) for k in range(0, len(items), size)]
        return (one * self["algorithm.client.epochs"])[:self.get("algorithm.client.max_steps", 0) or None]


def sigmoid(odds):
    return 1.0 / (1.0 + numpy.exp(-odds))
