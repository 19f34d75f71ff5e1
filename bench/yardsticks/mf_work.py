"""The work that `bench_mf --dump` wrote, and how the yardsticks report. Arrays are little-endian."""
import argparse
import json
import pathlib
import time

import numpy as np
from blas import blas_in_use


class Work:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.facts = json.loads((folder / "facts.json").read_text())
        rank, per_round = self.facts["rank"], self.facts["per_round"]
        self.offsets = np.fromfile(folder / "offsets.u32", "<u4").astype(np.int64)
        self.features = np.fromfile(folder / "features.u32", "<u4").astype(np.int64)
        self.labels = np.fromfile(folder / "labels.f32", "<f4")
        self.first_items = np.fromfile(folder / "first_items.f32", "<f4").reshape(-1, rank)
        self.last_items = np.fromfile(folder / "last_items.f32", "<f4").reshape(-1, rank)
        self.cohorts = np.fromfile(folder / "cohorts.u32", "<u4").astype(np.int64).reshape(-1, per_round)
        self.users = np.fromfile(folder / "users.f32", "<f4").reshape(-1, per_round, rank)
        self.test = np.fromfile(folder / "test.u32", "<u4").astype(np.int64)
        self.test_users = np.fromfile(folder / "test_users.f32", "<f4").reshape(-1, rank)

    def ratings(self, client):
        """Item numbers and ratings of a client, in their fixed order."""
        mine = slice(self.offsets[client], self.offsets[client + 1])
        return self.features[mine], self.labels[mine]


def batches(count, size):
    """Slices of `size` examples, the last maybe shorter: the even ones reconstruct, the odd ones update."""
    return [slice(at, min(at + size, count)) for at in range(0, count, size)]


def main(library, train):
    """train(work, rounds) returns the items at the end and the mean loss of each round. Prints one JSON object."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("--rounds", type=int, default=1)
    asked = arguments.parse_args()
    work = Work(asked.folder)
    rounds = min(asked.rounds, len(work.cohorts))
    train(work, 1)  # warm up
    begun = time.process_time()
    items, losses = train(work, rounds)
    seconds = time.process_time() - begun
    clients = rounds * work.facts["per_round"]
    expected = np.array(work.facts["losses"][:rounds])
    result = {
        "library": library,
        "clients": clients,
        "clients_per_cpu_second": clients / seconds,
        "blas": blas_in_use(),
        "loss_difference": float(np.max(np.abs(losses - expected) / expected)),
    }
    if rounds == len(work.cohorts):
        result["item_difference"] = float(np.max(np.abs(items - work.last_items)))
        result["test_rmse"] = test_rmse(work, items)
        result["expected_test_rmse"] = work.facts["test_rmse"]
    print(json.dumps(result))


def test_rmse(work, items):
    """Reconstruction on the support of each unseen user, root mean squared error on the query half."""
    facts = work.facts
    squared, count = 0.0, 0
    for client, first in zip(work.test, work.test_users):
        ids, labels = work.ratings(client)
        user = first.copy()
        known, known_labels = items[ids[0::2]], labels[0::2]
        for at in (batches(len(known), facts["batch_size"]) * facts["recon_epochs"])[: facts["recon_steps"]]:
            user -= facts["recon_lr"] * 2 / (at.stop - at.start) * ((known[at] @ user - known_labels[at]) @ known[at])
        squared += float(np.sum((items[ids[1::2]] @ user - labels[1::2]) ** 2))
        count += len(ids) // 2
    return (squared / max(count, 1)) ** 0.5
