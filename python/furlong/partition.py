"""Partitions of a data set over clients.

Each function returns a list with the numbers of each client's examples: int64 arrays in ascending order, which share
none. `examples` is a number, or the data itself. `labels` is an array, a list, a pandas column, a torch tensor, a
column of a data set such as ``dataset["label"]``, or a data set that has `targets` or `labels`.

The same arguments give the same arrays with every version of Python and numpy and on every processor (see draws.py). A
wrong argument raises ProblemError, with the line of the call.
"""

from __future__ import annotations

from typing import Any, Callable, List

import numpy

from .columns import classes_of, clients_for, count, number_of, real, refuse, seed_of, values_of
from .draws import Draws, cumulative_shares, exponentials, logarithm, whole_numbers
from .errors import describe

#: How often dirichlet() draws until each client has its least number of examples.
MOST_DRAWS = 1000

_LEAST_ALPHA, _MOST_ALPHA = 1e-6, 1e6
_BLOCK = 1 << 13
_IID, _DIRICHLET, _PATHOLOGICAL, _SHARDS, _SIZES, _INNER, _LOG_NORMAL, _POWER_LAW = range(1, 9)

Parts = List[numpy.ndarray]


def iid(examples: Any, clients: int, seed: int = 0) -> Parts:
    """At random, in equal numbers: they differ by one at most. Covers all examples."""
    total = number_of(examples)
    clients = clients_for(clients, total)
    order = Draws(seed_of(seed), _IID).permutation(total)
    return [numpy.sort(part) for part in numpy.array_split(order, clients)]


def dirichlet(labels: Any, clients: int, alpha: float, least: int = 10, seed: int = 0) -> Parts:
    """Each class by shares of the clients that a Dirichlet(alpha) distribution gives. Covers all examples.

    The partition by class of Yurochkin et al.: "Bayesian nonparametric federated learning of neural networks", 2019, as
    most research code has it (FedLab, flwr-datasets, NIID-Bench of Li et al.: "Federated learning on non-IID data
    silos", 2022): classes are divided in their order, a client that has its equal share of all examples gets none of
    the later classes, and all is drawn again until each client has at least `least` examples, MOST_DRAWS times at
    most. Clients differ in their classes and in their numbers of examples. In Hsu et al.: "Measuring the effects of
    non-identical data distribution for federated visual classification", 2019, each client draws shares of the classes
    instead: inner_dirichlet() with equal sizes.
    """
    numbers, amounts = classes_of(labels)
    total = len(numbers)
    clients = clients_for(clients, total)
    alpha = real("alpha", alpha, _LEAST_ALPHA, _MOST_ALPHA)
    least = count("least", least, 0, total // clients, "the mean number of examples of a client")
    draws = Draws(seed_of(seed), _DIRICHLET)
    best = 0
    for _ in range(MOST_DRAWS):
        logs = draws.log_gamma(alpha, len(amounts) * clients).reshape(len(amounts), clients)
        taken = numpy.zeros((len(amounts), clients), numpy.int64)
        sizes = numpy.zeros(clients, numpy.int64)
        for number, amount in enumerate(amounts):
            room = numpy.where(sizes * clients < total, logs[number], -numpy.inf)
            taken[number] = whole_numbers(cumulative_shares(exponentials(room)), amount)
            sizes += taken[number]
        if sizes.min() >= least:
            return _by_class(numbers, taken, draws)
        best = max(best, int(sizes.min()))
    refuse(f"in {MOST_DRAWS} draws with alpha {alpha:g} some client always had fewer than {least} examples",
           f"set least to {best} at most, or raise alpha, or give fewer clients")


def pathological(labels: Any, clients: int, classes: int = 2, seed: int = 0) -> Parts:
    """Each client has examples of `classes` classes, drawn such that each class has as many clients as any other, or
    one more or less; its examples are divided among them equally. Covers all examples if clients times classes is at
    least the number of classes; else classes of no client are left out.

    "Quantity-based label imbalance" of Li et al. 2022, with classes drawn in turn instead of independently.
    """
    numbers, amounts = classes_of(labels)
    clients = clients_for(clients, len(numbers))
    classes = count("classes", classes, 1, len(amounts), "the number of classes")
    draws = Draws(seed_of(seed), _PATHOLOGICAL)
    holds = numpy.zeros((len(amounts), clients), bool)
    holders = numpy.zeros(len(amounts), numpy.int64)
    for client in range(clients):
        order = draws.permutation(len(amounts))
        chosen = order[numpy.argsort(holders[order], kind="stable")][:classes]  # those with the fewest clients
        holds[chosen, client] = True
        holders[chosen] += 1
    taken = numpy.zeros(holds.shape, numpy.int64)
    for number, (amount, among) in enumerate(zip(amounts, holders)):
        if among > amount:
            refuse(f"the class number {number} has {amount} examples for {among} clients",
                   "give fewer clients, or fewer classes to each")
        if among:
            taken[number, holds[number]] = amount // among + (numpy.arange(among) < amount % among)
    return _by_class(numbers, taken, draws)


def shards(labels: Any, clients: int, shards: int = 2, seed: int = 0) -> Parts:
    """The examples, sorted by class, are cut into clients times `shards` shards of equal size, and each client gets
    `shards` of them at random: mostly so many classes. Covers all examples; shards differ by one at most.

    McMahan et al.: "Communication-efficient learning of deep networks from decentralized data", 2017. Within a class
    the order is random.
    """
    numbers, _ = classes_of(labels)
    clients = clients_for(clients, len(numbers))
    shards = count("shards", shards, 1, len(numbers) // clients, "the mean number of examples of a client")
    draws = Draws(seed_of(seed), _SHARDS)
    order = draws.permutation(len(numbers))
    pieces = numpy.array_split(order[numpy.argsort(numbers[order], kind="stable")], clients * shards)
    hands = draws.permutation(clients * shards).reshape(clients, shards)
    return [numpy.sort(numpy.concatenate([pieces[piece] for piece in hand])) for hand in hands]


def sizes(examples: Any, numbers: Any, seed: int = 0) -> Parts:
    """At random, with a given number of examples for each client, such as those of log_normal_sizes(). Covers all
    examples if the numbers add up to theirs."""
    total = number_of(examples)
    given = _sizes(numbers, total)
    order = Draws(seed_of(seed), _SIZES).permutation(total)
    return [numpy.sort(part) for part in numpy.split(order, numpy.cumsum(given))[:-1]]


def log_normal_sizes(examples: Any, clients: int, sigma: float, least: int = 1, seed: int = 0) -> numpy.ndarray:
    """Numbers of examples of the clients, which add up to all: `least`, and a share of the rest in proportion to a
    log-normal number. With sigma 0 the numbers are equal; with 1 the largest of 1,000 is about 25 times the
    median. Returns int64."""
    sigma = real("sigma", sigma, 0, 100)
    return _drawn_sizes(examples, clients, least, seed, _LOG_NORMAL, lambda draws, n: sigma * draws.normal(n))


def power_law_sizes(examples: Any, clients: int, exponent: float, least: int = 1, seed: int = 0) -> numpy.ndarray:
    """The same in proportion to a number whose density falls as x^-exponent, from 1 on. With exponents from 2 to 3 a
    few clients have much of the data. Returns int64."""
    exponent = real("exponent", exponent, 1.01, 100)
    return _drawn_sizes(examples, clients, least, seed, _POWER_LAW,
                        lambda draws, n: -logarithm(draws.uniform(n)) / (exponent - 1))


def inner_dirichlet(labels: Any, numbers: Any, alpha: float, seed: int = 0) -> Parts:
    """Each client has a given number of examples, and shares of the classes that a Dirichlet(alpha) distribution gives.
    Covers all examples if the numbers add up to theirs.

    Acar et al.: "Federated learning based on dynamic regularization", 2021, as in FedLab: the places of all clients are
    filled in random order, each with a class that its client's shares draw among the classes that have examples left.
    With equal numbers this is the partition by client of Hsu et al. 2019 for classes of equal size; their alpha is the
    one here times the number of classes.
    """
    classes, amounts = classes_of(labels)
    given = _sizes(numbers, len(classes))
    alpha = real("alpha", alpha, _LEAST_ALPHA, _MOST_ALPHA)
    draws = Draws(seed_of(seed), _INNER)
    logs = draws.log_gamma(alpha, len(given) * len(amounts)).reshape(len(given), len(amounts))
    places = numpy.repeat(numpy.arange(len(given)), given)
    places = places[draws.permutation(len(places))]
    uniform = draws.uniform(len(places))
    taken = numpy.zeros((len(amounts), len(given)), numpy.int64)
    left = amounts.copy()
    weights = exponentials(logs)
    done = 0
    while done < len(places):
        # Many places at once, up to the one that takes the last example of a class: then the shares change.
        weights[:, left == 0] = 0
        empty = ~weights.any(axis=1)  # what is left was too small beside what is gone
        weights[empty] = exponentials(numpy.where(left > 0, logs[empty], -numpy.inf))
        shares = cumulative_shares(weights) + numpy.arange(len(given))[:, None]
        clients = places[done : done + _BLOCK]
        drawn = numpy.searchsorted(shares.reshape(-1), clients + uniform[done : done + _BLOCK], side="right")
        drawn = numpy.minimum(drawn - clients * len(left), numpy.flatnonzero(left)[-1])
        last = numpy.flatnonzero(_earlier_equals(drawn) + 1 == left[drawn])
        used = int(last[0]) + 1 if len(last) else len(drawn)
        numpy.add.at(taken, (drawn[:used], clients[:used]), 1)
        left -= numpy.bincount(drawn[:used], minlength=len(left))
        done += used
    return _by_class(classes, taken, draws)


def natural(column: Any) -> Parts:
    """One client for each value of a column, such as an author or a hospital, in the order of the values: those of
    ``numpy.unique(column)``, which can be the clients' names. Covers all examples."""
    return _members(values_of(column))


# ---- inside ---------------------------------------------------------------------------------------------------------


def _members(numbers: numpy.ndarray) -> Parts:
    """The examples of each class, or of each value, in ascending order."""
    order = numpy.argsort(numbers, kind="stable").astype(numpy.int64)
    return numpy.split(order, numpy.cumsum(numpy.bincount(numbers))[:-1])


def _earlier_equals(drawn: numpy.ndarray) -> numpy.ndarray:
    """How many entries before each one are equal to it."""
    order = numpy.argsort(drawn, kind="stable")
    counts = numpy.bincount(drawn)
    earlier = numpy.empty(len(drawn), numpy.int64)
    earlier[order] = numpy.arange(len(drawn)) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
    return earlier


def _by_class(numbers: numpy.ndarray, taken: numpy.ndarray, draws: Draws) -> Parts:
    """Random examples of each class: taken[k, c] of class k for client c."""
    parts: List[Parts] = [[] for _ in range(taken.shape[1])]
    for members, amounts in zip(_members(numbers), taken):
        members = members[draws.permutation(len(members))]
        for part, piece in zip(parts, numpy.split(members, numpy.cumsum(amounts))):
            part.append(piece)
    return [numpy.sort(numpy.concatenate(part)) for part in parts]


def _sizes(numbers: Any, total: int) -> numpy.ndarray:
    given = numpy.asarray(numbers)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given) or given.min() < 1:
        refuse(f"numbers is {describe(numbers)}", "give a whole number of at least 1 for each client")
    if int(given.sum()) > total:
        refuse(f"numbers add up to {int(given.sum())}, and there are {total} examples", "lower them")
    return given.astype(numpy.int64)


def _drawn_sizes(examples: Any, clients: Any, least: Any, seed: Any, purpose: int,
                 log_weights: Callable[[Draws, int], numpy.ndarray]) -> numpy.ndarray:
    total = number_of(examples)
    clients = clients_for(clients, total)
    least = count("least", least, 0, total // clients, "the mean number of examples of a client")
    shares = cumulative_shares(exponentials(log_weights(Draws(seed_of(seed), purpose), clients)))
    return least + whole_numbers(shares, total - least * clients)


__all__ = ["dirichlet", "iid", "inner_dirichlet", "log_normal_sizes", "natural", "pathological", "power_law_sizes",
           "shards", "sizes"]
