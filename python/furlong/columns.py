"""Columns of a user's data, whatever holds them, as numpy arrays; and the checks of arguments.

Nothing is imported for it: pandas columns, torch tensors and data sets are recognised by what they have.
"""

from __future__ import annotations

from typing import Any, NoReturn, Optional, Tuple

import numpy

from .errors import ProblemError, describe, place_of_caller


def refuse(reason: str, fix: str) -> NoReturn:
    """A mistake in an argument: its place is the user's call."""
    raise ProblemError(reason, fix, place_of_caller())


def as_array(name: str, values: Any) -> numpy.ndarray:
    """An array, list, pandas column or torch tensor as a numpy array of one dimension, without missing values. Raises
    ProblemError."""
    if isinstance(values, (str, bytes, dict)) or hasattr(values, "column_names") or not hasattr(values, "__len__"):
        refuse(f"{name} is {describe(values)}",
               'give an array or a column with one entry for each example, such as dataset["label"]')
    missing = values.isna() if hasattr(values, "isna") else None
    if hasattr(values, "detach"):  # a torch tensor, on any device
        values = values.detach().cpu().numpy()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    elif not hasattr(values, "dtype"):
        values = list(values)
        if any(hasattr(value, "__len__") and not isinstance(value, (str, bytes)) for value in values[:1]):
            refuse(f"{name}[0] is {describe(values[0])}", "give one number or string for each example")
    array = numpy.asarray(values)
    if array.ndim != 1:
        refuse(f"{name} has the shape {array.shape}",
               "give one entry for each example: of one-hot rows argmax(1), of a single column reshape(-1)")
    if missing is None:  # before numpy makes "nan" of a NaN among strings
        each = isinstance(values, list) or array.dtype == object
        missing = [value is None or value != value for value in values] if each else array != array
    places = numpy.flatnonzero(missing)
    if len(places):
        refuse(f"{name}[{places[0]}] is missing (NaN or None)",
               "leave out these examples, or give them an entry of their own")
    return array


def classes_of(labels: Any) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """The class of each example as a number, int64, and the number of examples of each class. Classes have the order of
    their labels. `labels` may also be a data set that has them as `targets` or `labels`. Raises ProblemError."""
    if not hasattr(labels, "dtype"):
        labels = getattr(labels, "targets", getattr(labels, "labels", labels))
    array = as_array("labels", labels)
    if not len(array):
        refuse("labels is empty", "give one label for each example")
    if array.dtype.kind == "f" and not (numpy.floor(array) == array).all():
        index = int(numpy.argmax(numpy.floor(array) != array))
        refuse(f"labels[{index}] is {array[index]}, which is no class",
               "give whole numbers or strings; numpy.digitize makes classes of measured values")
    numbers = _numbered("labels", array)
    return numbers, numpy.bincount(numbers)


def values_of(column: Any) -> numpy.ndarray:
    """The number of each entry's value, int64, in the order of the values. Raises ProblemError."""
    array = as_array("column", column)
    if not len(array):
        refuse("column is empty", "give one value for each example")
    return _numbered("column", array)


def _numbered(name: str, array: numpy.ndarray) -> numpy.ndarray:
    try:
        return numpy.unique(array, return_inverse=True)[1].reshape(-1).astype(numpy.int64)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in array})
        refuse(f"{name} has values of the types {', '.join(kinds)}, which have no order",
               "make all of them numbers, or all strings")


def number_of(examples: Any) -> int:
    """A number of examples, or that of the data that is given instead. Raises ProblemError."""
    if isinstance(examples, (int, numpy.integer)) and not isinstance(examples, bool):
        return count("examples", examples, 1)
    shape = getattr(examples, "shape", None)
    length = shape[0] if shape else len(examples) if hasattr(examples, "__len__") and shape is None else None
    if length is None or isinstance(examples, (str, bytes, dict)):
        refuse(f"examples is {describe(examples)}", "give their number, or the data itself")
    return count("examples", length, 1)


def count(name: str, value: Any, least: int, most: Optional[int] = None, bound: str = "") -> int:
    """A whole number within its bounds; `bound` says what `most` is. Raises ProblemError."""
    whole = isinstance(value, (int, numpy.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}{bound and f', {bound}'}"
        refuse(f"{name} is {value if whole else describe(value)}", f"give a whole number {bounds}")
    return int(value)


def clients_for(clients: Any, examples: int) -> int:
    """A number of clients that can each have an example. Raises ProblemError."""
    return count("clients", clients, 1, examples, "the number of examples")


def real(name: str, value: Any, least: float, most: float) -> float:
    """A number within its bounds, both included. Raises ProblemError."""
    number = isinstance(value, (int, float, numpy.integer, numpy.floating)) and not isinstance(value, bool)
    if not number or not least <= value <= most:  # NaN lies nowhere
        refuse(f"{name} is {describe(value)}", f"give a number from {least:g} to {most:g}")
    return float(value)


def seed_of(seed: Any) -> int:
    """Raises ProblemError."""
    return count("seed", seed, 0, 2**64 - 1)
