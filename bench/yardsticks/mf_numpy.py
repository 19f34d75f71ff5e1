#!/usr/bin/env python3
"""FedRecon on ratings with numpy, optimized: only a client's own item rows are gathered, a batch is a view of them and
costs a few library calls, no Python code runs per example, and aggregation adds rows (a client rates an item once, so
plain indexing suffices)."""
import numpy as np
from mf_work import batches, main


def train(work, rounds):
    facts = work.facts
    items = work.first_items.copy()
    losses = np.zeros(rounds)
    for t in range(rounds):
        total = np.zeros_like(items)
        weight, loss = 0, 0.0
        for client, first in zip(work.cohorts[t], work.users[t]):
            ids, change, examples, client_loss = train_client(facts, items, first, *work.ratings(client))
            change *= np.float32(examples)
            total[ids] += change
            weight += examples
            loss += client_loss
        total *= np.float32(facts["server_lr"] / weight)
        items += total
        losses[t] = loss / weight
    return items, losses


def train_client(facts, items, first, ids, labels):
    """The client's item numbers, by how much their rows moved, the examples that moved them, and their loss."""
    cut = batches(len(ids), facts["batch_size"])
    before = items[ids]
    q = before.copy()
    user = first.copy()

    # Reconstruct the user on the even batches, items frozen.
    support = [(q[at], labels[at], np.float32(2 * facts["recon_lr"] / (at.stop - at.start))) for at in cut[0::2]]
    for rows, y, step in (support * facts["recon_epochs"])[: facts["recon_steps"]]:
        residual = rows.dot(user)
        residual -= y
        residual *= step
        user -= residual.dot(rows)

    # Train the items on the odd batches, the user frozen.
    loss, examples = 0.0, 0
    for at in cut[1::2][: facts["client_steps"]]:
        rows = q[at]
        residual = rows.dot(user)
        residual -= labels[at]
        loss += residual.dot(residual)
        residual *= np.float32(2 * facts["client_lr"] / len(residual))
        rows -= residual[:, None] * user
        examples += len(residual)
    q -= before
    return ids, q, examples, loss


if __name__ == "__main__":
    main("numpy", train)
