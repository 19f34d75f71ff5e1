#!/usr/bin/env python3
"""FedRecon on ratings with torch in its usual style: a client's item rows are gathered, autograd gives the
gradient of each batch's mean squared error, and SGD steps are taken without recording. One thread: the tensors are
small, more would only add waiting."""
import numpy as np
import torch
from mf_work import batches, main
from torch.nn.functional import mse_loss


def train(work, rounds):
    torch.set_num_threads(1)
    items = torch.from_numpy(work.first_items.copy())
    users = torch.from_numpy(work.users)
    losses = np.zeros(rounds)
    for t in range(rounds):
        total = torch.zeros_like(items)
        weight, loss = 0, 0.0
        for client, first in zip(work.cohorts[t], users[t]):
            ids, labels = (torch.from_numpy(column) for column in work.ratings(client))
            change, examples, client_loss = train_client(work.facts, items[ids], first, labels)
            total.index_add_(0, ids, change, alpha=examples)
            weight += examples
            loss += client_loss
        items.add_(total, alpha=work.facts["server_lr"] / weight)
        losses[t] = loss / weight
    return items.numpy(), losses


def train_client(facts, before, first, labels):
    """By how much the client's item rows moved, the examples that moved them, and their loss."""
    size = facts["batch_size"]
    rows, ratings = before.split(size), labels.split(size)

    # Reconstruct the user on the even batches, items frozen.
    user = first.clone().requires_grad_()
    support = list(zip(rows[0::2], ratings[0::2])) * facts["recon_epochs"]
    for q, y in support[: facts["recon_steps"]]:
        (gradient,) = torch.autograd.grad(mse_loss(q @ user, y), user)
        with torch.no_grad():
            user.sub_(gradient, alpha=facts["recon_lr"])
    user = user.detach()

    # Train the items on the odd batches, the user frozen. A client rates an item once: each row is in one batch.
    change = torch.zeros_like(before)
    loss, examples = 0.0, 0
    moved = change.split(size)[1::2]
    for q, y, to in list(zip(rows[1::2], ratings[1::2], moved))[: facts["client_steps"]]:
        q = q.detach().requires_grad_()
        error = mse_loss(q @ user, y)
        (gradient,) = torch.autograd.grad(error, q)
        torch.mul(gradient, -facts["client_lr"], out=to)
        loss += error.item() * len(y)
        examples += len(y)
    return change, examples, loss


if __name__ == "__main__":
    main("torch", train)
