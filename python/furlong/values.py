"""Calls the methods of a problem that describe it, and checks what its methods return."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy

from .errors import Place, ProblemError, describe, in_one_line, place_of_class, place_of_method
from .loading import is_missing, seed_globals
from .messages import to_json
from .problem import PARTS, Client, Problem, Step

_NAME = re.compile(r"[A-Za-z0-9_.:\[\]-]+")
MOST_METRICS = 16
#: Metrics that are shares, whatever the problem.
_SHARES = ("accuracy", "auc")
_ROUNDING = 1e-4


def parameters_of(problem: Problem, seed: int) -> Dict[str, numpy.ndarray]:
    """Calls parameters() and checks names, shapes and types. Raises ProblemError."""
    seed_globals(seed)
    given = problem.parameters(seed)
    place = place_of_method(problem, "parameters")
    if not isinstance(given, Mapping) or not given:
        raise ProblemError(f"parameters() returned {describe(given)}", "return a dict of arrays by name", place)
    arrays: Dict[str, numpy.ndarray] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ProblemError(f"parameters() has the name {name!r}",
                               "use letters, digits and the characters _ . : - [ ]", place)
        try:
            array = value if isinstance(value, numpy.ndarray) else numpy.asarray(value, numpy.float32)
        except (TypeError, ValueError):
            raise ProblemError(f'parameter "{name}" is {describe(value)}', "return a float32 array", place) from None
        if array.dtype != numpy.float32:
            raise ProblemError(f'parameter "{name}" is an array of {array.dtype}',
                               "return float32: array.astype(numpy.float32)", place)
        if array.size == 0:
            raise ProblemError(f'parameter "{name}" has the shape {array.shape}, so no values',
                               "leave it out, or give it a size", place)
        if not numpy.isfinite(array).all():
            raise ProblemError(f'parameter "{name}" has values that are not finite (NaN or infinity)',
                               "correct its initial values", place)
        arrays[name] = array
    return arrays


def plain_of(problem: Problem) -> bool:
    """Whether an own fit() takes plain gradient steps. Raises ProblemError."""
    try:
        inspect.signature(problem.fit).bind(None)
    except TypeError:
        raise ProblemError("fit() has no argument for the phase", "write def fit(self, phase)",
                           place_of_method(problem, "fit")) from None
    if not isinstance(problem.plain, bool):
        raise ProblemError(f"plain is {describe(problem.plain)}", "set it to True if each step of fit() is weights -= "
                           "rate * gradient, else leave it out", place_of_class(type(problem)))
    return problem.plain


def metrics_of(problem: Problem) -> Dict[str, str]:
    """The metrics with their better directions, checked, in the order of their names. Raises ProblemError."""
    return _metrics(problem, "metrics")


def per_client_of(problem: Problem) -> Dict[str, str]:
    """The same of the metrics of single clients. Raises ProblemError."""
    metrics, others = _metrics(problem, "per_client"), _metrics(problem, "metrics")
    place = place_of_class(type(problem))
    twice = next((name for name in metrics if name in others), None)
    if twice is not None:
        raise ProblemError(f'"{twice}" is in metrics and in per_client', "leave it in one of them", place)
    if len(metrics) + len(others) > MOST_METRICS:
        raise ProblemError(f"metrics and per_client have {len(metrics) + len(others)} names", f"leave {MOST_METRICS} at most",
                           place)
    if metrics and is_missing(type(problem), "score_client"):
        raise ProblemError("the class has per_client, and no method score_client()",
                           'define it: it returns a dict such as {"auc": 0.9}', place)
    return metrics


def _metrics(problem: Problem, attribute: str) -> Dict[str, str]:
    metrics = getattr(problem, attribute)
    place = place_of_class(type(problem))
    if not isinstance(metrics, Mapping):
        raise ProblemError(f"{attribute} is {describe(metrics)}", 'set it to a dict such as {"accuracy": "max"}', place)
    if len(metrics) > MOST_METRICS:
        raise ProblemError(f"{attribute} has {len(metrics)} names", f"leave {MOST_METRICS} at most", place)
    for name, better in metrics.items():
        if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name) or name in (
                "loss", "examples", "clients", "unscored"):
            raise ProblemError(f"{attribute} has the name {name!r}",
                               "use small letters, digits and _, and not loss, examples, clients or unscored", place)
        if better not in ("max", "min"):
            raise ProblemError(f'{attribute}["{name}"] is {better!r}', 'write "max" if more is better, else "min"', place)
    return dict(sorted(metrics.items()))


def clients_of(problem: Problem) -> List[Client]:
    """Calls clients() and checks names, sizes and groups. Raises ProblemError."""
    place = place_of_method(problem, "clients")
    try:
        clients = list(problem.clients())
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            raise ProblemError("clients() returned no list", "return a list of furlong.Client", place) from None
        raise
    if not clients:
        raise ProblemError("clients() returned no client", "return a list of furlong.Client", place)
    seen = set()
    for index, client in enumerate(clients):
        if not isinstance(client, Client):
            raise ProblemError(f"clients()[{index}] is {describe(client)}",
                               "return furlong.Client(name, train, validation, test, group)", place)
        if not isinstance(client.name, str) or not client.name or client.name in seen:
            raise ProblemError(f"clients()[{index}] has the name {client.name!r}, which is empty or used twice",
                               "give each client a name of its own", place)
        if in_one_line(client.name) != client.name:
            raise ProblemError(f"clients()[{index}] has the name {in_one_line(repr(client.name))}",
                               "use one short line of characters that UTF-8 can have", place)
        seen.add(client.name)
        for part in PARTS:
            size = getattr(client, part)
            if isinstance(size, bool) or not isinstance(size, (int, numpy.integer)) or not 0 <= size < 2**32:
                raise ProblemError(f'client "{client.name}" has {part} = {size!r}', "give a number of examples", place)
        if client.group not in PARTS:
            raise ProblemError(f'client "{client.name}" has the group {client.group!r}',
                               'use "train", "validation" or "test"', place)
    examples = sum(int(getattr(client, part)) for client in clients for part in PARTS)
    if examples >= 2**32:
        raise ProblemError(f"clients() has {examples} examples in all", "give fewer than 2^32", place)
    return clients


def scored_parts(clients: List[Client]) -> List[Tuple[int, str]]:
    """What evaluations score: clients by index, each with a part. Unseen clients without a part of their own are scored
    on train examples; validation parts of trained clients count if no client is of the group validation."""
    held_out = any(client.group == "validation" for client in clients)
    scored = []
    for index, client in enumerate(clients):
        if client.group != "train":
            scored.append((index, client.group if getattr(client, client.group) else "train"))
            continue
        scored += [(index, part) for part in (("test",) if held_out else ("validation", "test"))]
    return [(index, part) for index, part in scored if getattr(clients[index], part)]


def describe_clients(clients: List[Client]) -> str:
    """The numbers of clients and of their examples."""
    groups = [f"{sum(c.group == g for c in clients)} of group {g}" for g in PARTS if any(c.group == g for c in clients)]
    return f"{', '.join(groups)}; {sum(c.train for c in clients)} training examples"


def check_loss(problem: Problem, method: str, value: Any) -> float:
    """The returned mean loss as a float. Raises ProblemError."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        raise ProblemError(f"{method}() returned {describe(value)}", "return the mean loss of the batch, a number",
                           place_of_method(problem, method)) from None


def mean_loss(problem: Problem, step: Step) -> float:
    """Calls gradient(), with the generators seeded by the step. Raises ProblemError."""
    seed_globals(step.seed)
    loss = problem.gradient(step)
    return loss if type(loss) is float else check_loss(problem, "gradient", loss)


def method_of_scores(problem: Problem) -> str:
    """The method that a message about the figures of an evaluation names."""
    return "score" if hasattr(problem, "score") and problem.metrics else "evaluate"


def check_scores(problem: Problem, names: List[str], scores: Any, examples: int) -> List[float]:
    """The sums and counts of "loss" and the metrics, flat, in the order of `names`. Raises ProblemError."""
    method = "score" if hasattr(problem, "score") else "evaluate"
    place = place_of_method(problem, method)
    if not isinstance(scores, Mapping):
        raise ProblemError(f"{method}() returned {describe(scores)}", "return a dict of (sum, count) by name", place)
    flat: List[float] = []
    for name in names:
        if name not in scores:
            raise ProblemError(f'{method}() returned no "{name}"',
                               f'return "{name}": (sum, count), or take it out of metrics', place)
        try:
            total, count = scores[name]
            flat += (float(total), float(count))
        except (TypeError, ValueError, RuntimeError):
            raise ProblemError(f'{method}() returned {describe(scores[name])} for "{name}"', "return (sum, count)",
                               place) from None
    if flat[1] != examples:
        raise ProblemError(f'{method}() returned "loss" with the count {flat[1]:g} for {examples} examples',
                           "count examples; a mean over something else, such as tokens, is a metric of its own", place)
    for index, name in enumerate(names[1:], 1):
        flat[2 * index : 2 * index + 2] = _metric(name, *flat[2 * index : 2 * index + 2], method, place,
                                                  math.isfinite(flat[0]))
    if len(scores) > len(names):
        extra = sorted(set(scores) - set(names))[0]
        raise ProblemError(f'{method}() returned "{extra}", which is not in metrics',
                           f'add "{extra}" to metrics', place)
    return flat


def figures_of(problem: Problem, steps: Sequence[Step], evaluate: Callable[[Step], Any]) -> List[float]:
    """The sums and counts of "loss", the metrics and those of a client, flat, over batches of a client, whose scores are
    those of `evaluate`. Raises ProblemError."""
    names, per_client = ["loss", *metrics_of(problem)], per_client_of(problem)
    if per_client:
        problem._begin_client()
    sums = [0.0] * (2 * len(names))
    for step in steps:
        sums = [a + b for a, b in zip(sums, check_scores(problem, names, evaluate(step), len(step.examples)))]
    return sums + _check_client(problem, list(per_client), steps, math.isfinite(sums[0])) if per_client else sums


def _check_client(problem: Problem, names: List[str], steps: Sequence[Step], trained: bool) -> List[float]:
    """Those of score_client(): a figure counts once for its client, and one that is None or NaN not at all."""
    scores = problem._end_client(steps)
    place = place_of_method(problem, "score_client")
    if not isinstance(scores, Mapping) or set(scores) != set(names):
        given = f"the names {sorted(map(str, scores))}" if isinstance(scores, Mapping) else describe(scores)
        raise ProblemError(f"score_client() returned {given}", f"return a dict with a number for each of {', '.join(names)}, "
                           "None for a client that has no such figure", place)
    flat: List[float] = []
    for name in names:
        try:
            value = math.nan if scores[name] is None else float(scores[name])
        except (TypeError, ValueError, RuntimeError):
            raise ProblemError(f'score_client() returned {describe(scores[name])} for "{name}"', "return a number, or None",
                               place) from None
        flat += (0.0, 0.0) if math.isnan(value) else _metric(name, value, 1.0, "score_client", place, trained)
    return flat


def _metric(name: str, total: float, count: float, method: str, place: Place, trained: bool) -> Tuple[float, float]:
    """Sum and count of a metric, checked; those of no example are left out. Values that are not finite are let through
    where the loss is not finite either: a model that has diverged."""
    where = f'{method}() returned "{name}" with the'
    if count < 0 or (trained and not math.isfinite(count)):
        raise ProblemError(f"{where} count {count:g}", "count what the sum is over, such as the examples", place)
    if count == 0:
        if math.isfinite(total) and total != 0:
            raise ProblemError(f"{where} sum {total:g} and the count 0", "count what the sum is over", place)
        return 0.0, 0.0
    if not math.isfinite(total):
        if trained:
            raise ProblemError(f"{where} sum {total}, and the loss is finite", "look for a division by zero or a "
                               "logarithm of 0; a count of 0 leaves a batch out", place)
    elif name in _SHARES and not -_ROUNDING <= total / count <= 1 + _ROUNDING:
        raise ProblemError(f"{where} sum {total:g} and the count {count:g}, and it is no share of 0 to 1",
                           "return a sum over examples and their number, or give the metric another name", place)
    return total, count


def method_of_predictions(problem: Problem) -> str:
    """The method that a message about predictions names."""
    return "predictions" if hasattr(problem, "predictions") else "predict"


def predictions_of(problem: Problem, step: Step) -> List[Any]:
    """Calls predict(). Raises ProblemError."""
    return entries_of(problem.predict(step), "predictions", len(step.examples),
                    place_of_method(problem, method_of_predictions(problem)))


def labels_of(problem: Problem, step: Step) -> Optional[List[Any]]:
    """Calls true_labels(); numbers that are not finite are no labels. None: the class has none for these examples.
    Raises ProblemError."""
    labels = type(problem).true_labels(problem, step)  # an attribute may have the name
    if labels is None:
        return None
    entries = entries_of(labels, "labels", len(step.examples), place_of_method(problem, "true_labels"))
    return [None if isinstance(entry, float) and not math.isfinite(entry) else entry for entry in entries]


def entries_of(given: Any, name: str, examples: int, place: Place) -> List[Any]:
    """A list with one entry for each example."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, (list, tuple)) or len(given) != examples:
        count = f"{len(given)} entries" if hasattr(given, "__len__") else describe(given)
        raise ProblemError(f"the {name} of {examples} examples are {count}", "return a list with one entry for each",
                           place)
    return list(given)


def entries_as_json(problem: Problem, name: str, entries: List[Any]) -> bytes:
    """Of all "predictions" or "labels" of a request. Raises ProblemError."""
    try:
        return to_json(entries)
    except (TypeError, ValueError) as error:
        method = "true_labels" if name == "labels" else method_of_predictions(problem)
        raise ProblemError(f"the {name} are not JSON: {error}",
                           "return finite numbers, strings, or lists or dicts of such",
                           place_of_method(problem, method)) from None


