"""A small transformer that predicts the next character of commit subjects, with private low-rank adapters.

All clients share the transformer. Each has its own correction of the output layer, of rank 2 (Hu et al.: "LoRA:
low-rank adaptation of large language models", 2021). Texts: FURLONG_DATA/furl-openstack/data.tsv (user, class, text) if it
is there, else generated ones.
"""

import os
import random
from pathlib import Path

import furlong.torch
import torch

CLIENTS, TEXTS, LENGTH, WIDTH, RANK = 40, 24, 48, 32, 2
LETTERS = " abcdefghijklmnopqrstuvwxyz0123456789_-.,'/()"  # 0 is the space and all other characters


class Adapted(torch.nn.Module):
    """A linear layer plus down @ up, which is zero at first."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.shared = torch.nn.Linear(inputs, outputs)
        self.down = torch.nn.Parameter(0.1 * torch.randn(inputs, RANK))
        self.up = torch.nn.Parameter(torch.zeros(RANK, outputs))

    def forward(self, x):
        return self.shared(x) + x @ self.down @ self.up


class Language(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.letter = torch.nn.Embedding(len(LETTERS), WIDTH)
        self.place = torch.nn.Parameter(0.1 * torch.randn(LENGTH, WIDTH))
        self.block = torch.nn.TransformerEncoderLayer(WIDTH, nhead=2, dim_feedforward=2 * WIDTH, dropout=0.0,
                                                      batch_first=True, norm_first=True)
        self.output = Adapted(WIDTH, len(LETTERS))
        self.register_buffer("future", torch.full((LENGTH, LENGTH), float("-inf")).triu(1))

    def forward(self, text):
        return self.output(self.block(self.letter(text) + self.place, src_mask=self.future))


class Texts(furlong.torch.Problem):
    metrics = {"accuracy": "max"}

    def __init__(self):
        self.texts = [torch.tensor([encode(text) for text in texts]) for texts in read()]

    def module(self):
        return Language()

    def clients(self):
        # The first texts are for training, the last for the test; the last clients are never trained.
        groups = ["train"] * (len(self.texts) - 8) + ["validation"] * 4 + ["test"] * 4
        return [furlong.torch.Client(f"author {c}", TEXTS - 8, 4, 4, group) for c, group in enumerate(groups)]

    def batch(self, client, part, examples):
        rows = torch.as_tensor(examples) + {"train": 0, "validation": TEXTS - 8, "test": TEXTS - 4}[part]
        text = self.texts[client][rows]
        return text[:, :-1], text[:, 1:]

    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs.transpose(1, 2), targets)

    def score(self, outputs, targets):
        return {"accuracy": ((outputs.argmax(2) == targets).sum(), targets.numel())}

    def predictions(self, outputs):
        return ["".join(LETTERS[letter] for letter in text) for text in outputs.argmax(2).tolist()]


def encode(text):
    """LENGTH + 1 numbers of letters."""
    return [max(LETTERS.find(letter), 0) for letter in text.lower().ljust(LENGTH + 1)[: LENGTH + 1]]


def read():
    """The last TEXTS subjects of each of CLIENTS authors."""
    file = Path(os.environ.get("FURLONG_DATA", "data"), "furl-openstack", "data.tsv")
    if not file.is_file():
        return generate(random.Random(5))
    texts = {}
    with open(file, encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            user, _, text = line.rstrip("\n").split("\t")
            texts.setdefault(user, []).append(text)
            if len(texts) > CLIENTS:
                break
    return [own[-TEXTS:] for own in list(texts.values())[:CLIENTS]]


def generate(draw):
    """Sentences of a few words, of which each client prefers some."""
    verbs = ["add", "fix", "remove", "test", "update"]
    nouns = ["driver", "volume", "network", "image", "router", "quota"]
    clients = []
    for _ in range(CLIENTS):
        verb, own = draw.choice(verbs), draw.sample(nouns, 2)
        clients.append([f"{verb if draw.random() < 0.7 else draw.choice(verbs)} the {draw.choice(own)} of the "
                        f"{draw.choice(nouns)}" for _ in range(TEXTS)])
    return clients
