#!/usr/bin/env python3
"""Scores a model that reads nothing under the batching of protocol "fedatt-2018", by the size of the scored batches.

usage: score_by_position.py [FOLDER]

The model knows how frequent each word is at each position of a sentence, counted over the training sentences as that
protocol cuts them. FOLDER has ptb.train.txt and ptb.test.txt; default ptb under $FURLONG_DATA, else under data/.
What it reaches is what the figures of that protocol are to be compared with (docs/results-texts.md).
"""
import math
import os
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

TRAINED_BATCH = 10
SCORED_BATCHES = (10, 32, 128, 512)
DRAWS = 5  # of the order of the sentences
MISSING_DATA = 3
PRIOR = 50  # examples that the frequency at any position counts for, beside that at one


def sentences(file: Path) -> list[list[str]]:
    words = (line.lower().split() for line in file.read_text().splitlines())
    return [["<start>", *sentence, "<end>"] for sentence in words if sentence]


def targets(text: list[list[str]], batch_size: int, order: random.Random):
    """What the protocol predicts, position and word: of all but a batch's first sentence, as far as its shortest."""
    text = list(text)
    order.shuffle(text)
    for first in range(0, len(text), batch_size):
        batch = text[first:first + batch_size]
        for sentence in batch[1:]:
            yield from enumerate(sentence[:min(map(len, batch))])


class Frequencies:
    def __init__(self, text: list[list[str]], vocabulary: int):
        self.at, self.anywhere, self.vocabulary = defaultdict(Counter), Counter(), vocabulary
        for draw in range(DRAWS):
            for position, word in targets(text, TRAINED_BATCH, random.Random(draw)):
                self.at[position][word] += 1
                self.anywhere[word] += 1
        self.totals = {position: sum(words.values()) for position, words in self.at.items()}
        self.total = sum(self.anywhere.values())

    def probability(self, position: int, word: str) -> float:
        anywhere = (self.anywhere[word] + 0.5) / (self.total + 0.5 * self.vocabulary)
        return (self.at[position][word] + PRIOR * anywhere) / (self.totals.get(position, 0) + PRIOR)


def score(model: Frequencies, text: list[list[str]], batch_size: int, order: random.Random) -> tuple[float, float]:
    """Perplexity, and the share of start tokens among what is predicted."""
    nats = predictions = starts = 0.0
    for position, word in targets(text, batch_size, order):
        nats -= math.log(model.probability(position, word))
        predictions += 1
        starts += position == 0
    return math.exp(nats / predictions), starts / predictions


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(os.environ.get("FURLONG_DATA", "data")) / "ptb"
    try:
        train, test = (sentences(folder / f"ptb.{part}.txt") for part in ("train", "test"))
    except OSError as why:
        print(f"score_by_position: {why.filename}: the file or folder does not exist; name PTB's folder", file=sys.stderr)
        return MISSING_DATA
    model = Frequencies(train, len({word for sentence in train + test for word in sentence}))
    print("scored at once  perplexity of the test sentences (mean and range of 5 orders)  start tokens")
    for batch_size in SCORED_BATCHES:
        scores = [score(model, test, batch_size, random.Random(100 + draw)) for draw in range(DRAWS)]
        figures = [perplexity for perplexity, _ in scores]
        print(f"{batch_size:14}  {sum(figures) / DRAWS:10.1f}  {min(figures):.1f} to {max(figures):.1f}"
              f"  {sum(starts for _, starts in scores) / DRAWS:7.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
