"""A classifier of handwritten digits in PyTorch. Each client has mostly two of the ten classes."""

import furlong.torch
import numpy
import torch
from sklearn.datasets import load_digits

CLIENTS, UNSEEN = 60, 6


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.ReLU(), torch.nn.Dropout(0.1))
        self.head = torch.nn.Linear(48, 10)

    def forward(self, images):
        return self.head(self.body(images))


class Digits(furlong.torch.Problem):
    metrics = {"accuracy": "max"}

    def __init__(self):
        images, labels = load_digits(return_X_y=True)  # 1,797 images of 8 x 8 pixels, values 0 ... 16
        self.images = torch.tensor(images / 16, dtype=torch.float32)
        self.labels = torch.tensor(labels)
        self.own = divide(labels, numpy.random.default_rng(7))

    def module(self):
        return Classifier()

    def clients(self):
        return [furlong.torch.Client(f"client {c}", *(len(part) for part in own.values()), group=group_of(c))
                for c, own in enumerate(self.own)]

    def batch(self, client, part, examples):
        rows = self.own[client][part][examples]
        return self.images[rows], self.labels[rows]

    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)

    def score(self, outputs, targets):
        return {"accuracy": ((outputs.argmax(1) == targets).sum(), len(targets))}

    def predictions(self, outputs):
        return outputs.argmax(1)


def group_of(client):
    return "train" if client < CLIENTS - 2 * UNSEEN else "validation" if client < CLIENTS - UNSEEN else "test"


def divide(labels, random):
    """The images of each client by part: nine tenths of two classes, the rest of any."""
    left = {digit: list(random.permutation(numpy.flatnonzero(labels == digit))) for digit in range(10)}
    size = len(labels) // CLIENTS
    clients = []
    for _ in range(CLIENTS):
        favourites = random.choice(10, 2, replace=False)
        rows = []
        while len(rows) < size:
            digit = random.choice(favourites) if random.random() < 0.9 else random.integers(10)
            if not left[digit]:
                digit = max(left, key=lambda d: len(left[d]))
            rows.append(left[digit].pop())
        parts = numpy.split(numpy.array(rows), [size * 7 // 10, size * 8 // 10])
        clients.append(dict(zip(furlong.PARTS, parts)))
    return clients
