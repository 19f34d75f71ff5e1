"""PFedRec's tasks as a sparse loop in PyTorch, on the work that `bench_pfedrec --dump` wrote: draws negatives, takes the
rows of the items that a task names, and for each batch a step on the score function, then one on these rows. Prints one
JSON object. By hand: pfedrec_torch.py FILE --clients 300
"""
import argparse
import json
import pathlib
import time

import torch
from blas import blas_in_use
from torch.nn.functional import binary_cross_entropy_with_logits

RANK, BATCH, NEGATIVES, RATE = 32, 256, 4, 0.1


def draw_examples(own, items):
    """Items and labels in a new order; negatives are drawn again where the client has them."""
    taken = torch.zeros(items, dtype=torch.bool)
    taken[own] = True
    negatives = torch.randint(items, (NEGATIVES * len(own),))
    while len(again := taken[negatives].nonzero().squeeze(1)):
        negatives[again] = torch.randint(items, (len(again),))
    order = torch.randperm((1 + NEGATIVES) * len(own))
    labels = torch.cat([torch.ones(len(own)), torch.zeros(len(negatives))])
    return torch.cat([own, negatives])[order], labels[order]


def train_client(table, score, bias, own):
    """Moves the score function; returns the named items, and the changes of their rows."""
    examples, labels = draw_examples(own, len(table))
    named, places = examples.unique(return_inverse=True)
    before = table[named]
    rows = before.clone().requires_grad_()
    item_rate = RATE * 80 * len(table)
    for batch, wanted in zip(places.split(BATCH), labels.split(BATCH)):
        loss = binary_cross_entropy_with_logits(rows[batch].detach() @ score + bias, wanted)
        slopes = torch.autograd.grad(loss, (score, bias))
        with torch.no_grad():
            score.sub_(slopes[0], alpha=RATE)
            bias.sub_(slopes[1], alpha=RATE)
        taken = rows.detach()[batch].requires_grad_()  # the gradient of the batch alone, not of all rows
        loss = binary_cross_entropy_with_logits(taken @ score.detach() + bias.detach(), wanted)
        (slope,) = torch.autograd.grad(loss, taken)
        with torch.no_grad():
            rows.index_add_(0, batch, slope, alpha=-item_rate)
    return named, rows.detach() - before


def main():
    words = argparse.ArgumentParser()
    words.add_argument("work", type=pathlib.Path)
    words.add_argument("--clients", type=int, default=300)
    options = words.parse_args()
    work = json.loads(options.work.read_text())
    torch.manual_seed(1)
    torch.set_num_threads(1)
    table = torch.randn(work["items"], RANK)
    clients = [torch.tensor(own) for own in work["clients"][: options.clients]]
    first = (torch.rand(RANK) * 2 - 1) / RANK**0.5
    kept = [(first.clone().requires_grad_(), torch.zeros((), requires_grad=True)) for _ in clients]
    start = time.process_time()
    for own, (score, bias) in zip(clients, kept):
        train_client(table, score, bias, own)
    seconds = time.process_time() - start
    print(json.dumps({"tasks_per_cpu_second": len(clients) / seconds, "blas": blas_in_use()}))


if __name__ == "__main__":
    main()
