"""Whether the training examples of clients are sorted by class: a part of furlong.check."""

from __future__ import annotations

from typing import Callable, List, Optional

import numpy

from . import values
from .memory import Layout
from .problem import Client, Problem
from .step import Step

#: Clients whose labels are looked at, with at least so many examples, and the most examples of each.
_CLIENTS, _FEW_LABELS, _LABELS = 20, 8, 256


def note_of_order(problem: Problem, clients: List[Client], layout: Layout, limit: Callable[[], None]) -> Optional[str]:
    """A note if the training examples are sorted by class, in a sample of clients.

    limit: gives the next call of the class its time.
    """
    sample = [i for i, client in enumerate(clients) if client.train >= _FEW_LABELS][:_CLIENTS]
    sorted_ones = 0
    for index in sample:
        limit()
        picks = numpy.unique(numpy.linspace(0, clients[index].train - 1, _LABELS).astype(numpy.int64))
        try:
            labels = values.labels_of(problem, Step(layout, index, "train", picks, 0))
        except Exception:  # a class may know labels of what is scored only
            return None
        if labels is None or not all(isinstance(label, int) for label in labels) or labels[0] == labels[-1]:
            continue
        sorted_ones += sorted(labels) in (labels, labels[::-1])
    if not sorted_ones:
        return None
    return (f"the training examples of {sorted_ones} of {len(sample)} clients are sorted by class: batches are "
            "shuffled by default (algorithm.client.shuffle), keep it so")
