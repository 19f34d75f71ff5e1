"""The examples of a problem's clients, from one data set and a partition of it (see furlong.partition)."""

from __future__ import annotations

import copy
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy

from .columns import count, real, refuse, seed_of
from .draws import Draws
from .errors import describe
from .interactions import Interactions, leave_one_out
from .problem import Client

_SPLIT, _UNSEEN = 16, 17

Reader = Callable[[numpy.ndarray], Any]


class Data:
    """Examples, the clients that have them, and the parts into which each client's examples are split.

    A problem with ``self.data = Data(...)`` needs no clients(), and in PyTorch no batch().

    - `x`, `y`: inputs and targets, of equal length. Arrays and torch tensors are indexed as they are, of pandas objects
      rows are taken, and of other data sets items, which are stacked. A list of numbers, or of lists of one length,
      becomes an array; a tuple or dict has several inputs, each of them such data. With `y` None the items of `x` are
      pairs of input and target.
    - `own`: the numbers of each client's examples. Examples of no client are not used.
    - `validation`, `test`: the shares of each client's examples in these parts, rounded down and drawn at random. The
      train part has the rest, and so at least one example. Within a part the order is that of `own`.
    - `unseen`: the number of clients of the group "test", or a pair: of the groups "validation" and "test". They are
      drawn at random and never trained. They are split like the others: adapted on their train part, and scored on the
      part of their group.
    - `names`: those of the clients; by default "client 0", "client 1", ...

    The same seed gives the same split on every machine. A wrong argument raises ProblemError.
    """

    def __init__(self, x: Any, y: Any, own: Sequence[Any], validation: float = 0.0, test: float = 0.0,
                 unseen: Union[int, Tuple[int, int]] = 0, seed: int = 0,
                 names: Optional[Sequence[str]] = None) -> None:
        total = count("the length of x", _length("x", x), 1)
        if y is not None and _length("y", y) != total:
            refuse(f"x has {total} examples and y has {_length('y', y)}", "give one target for each input")
        self._values = x, y
        self._inputs = _reader(x)
        self._targets = _reader(y) if y is not None else None
        if y is None and not _has_pairs(x):
            refuse("y is None, and the items of x are no pairs of input and target", "give the targets as y")
        owned = _owned(own, total)
        seed = seed_of(seed)
        #: The names of the clients.
        self.names = _names(names, len(owned))
        #: The group of each client: "train", "validation" or "test".
        self.groups = _groups(len(owned), unseen, seed)
        self._parts = _split(owned, real("validation", validation, 0, 1), real("test", test, 0, 1), seed)

    def clients(self) -> List[Client]:
        """As Problem.clients()."""
        return [Client(name, len(parts["train"]), len(parts["validation"]), len(parts["test"]), group)
                for name, parts, group in zip(self.names, self._parts, self.groups)]

    def with_arrays(self, convert: Callable[[Any], Any]) -> "Data":
        """The same with what becomes of arrays and tensors, also of those in a tuple or dict."""
        made = copy.copy(self)
        x, y = made._values = _converted(self._values, convert)
        made._inputs = _reader(x)
        made._targets = _reader(y) if y is not None else None
        return made

    def rows(self, client: int, part: str) -> numpy.ndarray:
        """The numbers in `x` of a client's examples in a part: int64, not to be changed."""
        return self._parts[client][part]

    def batch(self, client: int, part: str, examples: numpy.ndarray) -> Tuple[Any, Any]:
        """Inputs and targets of a client's examples, by their numbers in a part."""
        rows = self._parts[client][part][examples]
        if self._targets is None:
            inputs, targets = self._inputs(rows)
            return inputs, targets
        return self._inputs(rows), self._targets(rows)


# ---- clients --------------------------------------------------------------------------------------------------------


def _owned(own: Any, total: int) -> List[numpy.ndarray]:
    """The numbers of each client's examples, int64, checked."""
    if not isinstance(own, (list, tuple)) or not len(own):
        refuse(f"own is {describe(own)}", "give a list with an array of numbers for each client, such as "
               "furlong.partition.iid(len(x), 10)")
    owned = []
    for client, given in enumerate(own):
        array = numpy.asarray(given.cpu() if hasattr(given, "cpu") else given)
        if not array.size:
            refuse(f"own[{client}] is empty", "leave out this client, or give it examples")
        if array.dtype.kind not in "iu" or array.ndim != 1:
            fix = "numpy.flatnonzero() of a mask are its numbers" if array.dtype == bool else \
                "give the numbers of its examples, an array of integers"
            refuse(f"own[{client}] is an array of {array.dtype} of the shape {array.shape}", fix)
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= total:
            refuse(f"own[{client}] has the number {low if low < 0 else high}, and the last example of x is {total - 1}",
                   "give numbers of examples of x")
        owned.append(array.astype(numpy.int64))
    holder = numpy.full(total, -1, numpy.int64)
    for client, array in enumerate(owned):
        taken = holder[array] >= 0
        if taken.any():
            example = int(array[numpy.argmax(taken)])
            refuse(f"example {example} is in own[{holder[example]}] and own[{client}]", "give it to one client only")
        holder[array] = client
        values, amounts = numpy.unique(array, return_counts=True)
        if len(values) != len(array):
            refuse(f"own[{client}] has the example {values[numpy.argmax(amounts)]} twice", "name each example once")
    return owned


def _names(names: Optional[Sequence[str]], clients: int) -> List[str]:
    if names is None:
        return [f"client {number}" for number in range(clients)]
    given = [str(name) for name in names]
    if len(given) != clients:
        refuse(f"own has {clients} clients and names has {len(given)}", "give each client a name")
    return given


def _groups(clients: int, unseen: Any, seed: int) -> List[str]:
    given = unseen if isinstance(unseen, (tuple, list)) else (0, unseen)
    if len(given) != 2:
        refuse(f"unseen is {describe(unseen)}", "give a number of clients, or one for validation and one for test")
    validation, test = (count("unseen", number, 0, clients - 1, "all clients but one") for number in given)
    if validation + test >= clients:
        refuse(f"unseen is {describe(unseen)}, and there are {clients} clients", "leave one at least for training")
    order = Draws(seed, _UNSEEN).permutation(clients)
    groups = ["train"] * clients
    for rank, client in enumerate(order[: validation + test]):
        groups[client] = "validation" if rank < validation else "test"
    return groups


def _split(owned: List[numpy.ndarray], validation: float, test: float, seed: int) -> List[Dict[str, numpy.ndarray]]:
    if validation + test >= 1:
        refuse(f"validation is {validation:g} and test {test:g}", "leave a share for training: lower one of them")
    draws = Draws(seed, _SPLIT)
    clients = []
    for own in owned:
        rank = draws.permutation(len(own))
        ends = numpy.cumsum([int(len(own) * share + 1e-9) for share in (validation, test)])
        number = numpy.searchsorted(ends, rank, side="right")  # 0: validation, 1: test, 2: train
        clients.append({"train": own[number == 2], "validation": own[number == 0], "test": own[number == 1]})
    for part, share in (("validation", validation), ("test", test)):
        if share and not any(len(parts[part]) for parts in clients):
            refuse(f"{part} is {share:g}, and no client has {1 / share:.0f} examples: all these parts are empty",
                   "raise it, or give clients more examples")
    return clients


# ---- examples -------------------------------------------------------------------------------------------------------


def _length(name: str, values: Any) -> int:
    if isinstance(values, (tuple, dict)):
        lengths = {_length(name, column) for column in (values.values() if isinstance(values, dict) else values)}
        if len(lengths) != 1:
            refuse(f"the inputs of {name} have {' and '.join(map(str, sorted(lengths))) or 'no'} examples",
                   "give each as many as the others; several examples in a row are a list")
        return lengths.pop()
    shape = getattr(values, "shape", None)
    if isinstance(values, (str, bytes)) or not (shape or (shape is None and hasattr(values, "__len__")
                                                          and hasattr(values, "__getitem__"))):
        refuse(f"{name} is {describe(values)}", "give an array, a tensor, a table, or a data set with a length")
    return int(shape[0]) if shape else len(values)


def _reader(values: Any) -> Reader:
    """What takes rows, an int64 array, from the values."""
    if isinstance(values, dict):
        readers = {key: _reader(column) for key, column in values.items()}
        return lambda rows: {key: reader(rows) for key, reader in readers.items()}
    if isinstance(values, tuple):
        several = [_reader(column) for column in values]
        return lambda rows: tuple(reader(rows) for reader in several)
    if hasattr(values, "column_names"):  # of Hugging Face: a dict of columns
        return lambda rows: values[rows.tolist()]
    if hasattr(values, "iloc"):
        return lambda rows: values.iloc[rows]
    if hasattr(values, "shape"):
        return lambda rows: values[rows]
    rectangle = isinstance(values, list) and isinstance(values[0], list)
    if rectangle and len({len(row) for row in values}) > 1:
        refuse("the lists in a list differ in length", "pad them to one length")
    if rectangle or isinstance(values[0], (bool, int, float, str, numpy.generic)):
        array = numpy.asarray(list(values))
        return lambda rows: array[rows]
    return lambda rows: _stacked([values[row] for row in rows.tolist()])


def _converted(values: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(values, tuple):
        return tuple(_converted(column, convert) for column in values)
    if isinstance(values, dict):
        return {key: _converted(column, convert) for key, column in values.items()}
    return convert(values) if hasattr(values, "shape") and not hasattr(values, "iloc") else values


def _has_pairs(x: Any) -> bool:
    if hasattr(x, "shape") or hasattr(x, "column_names") or isinstance(x, (tuple, dict)):
        return False
    return isinstance(x[0], (tuple, list)) and len(x[0]) == 2


def _stacked(items: List[Any]) -> Any:
    """Items as one batch: tensors and arrays are stacked, numbers become an array or, beside tensors, a tensor."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(leaf, torch.Tensor) for leaf in _leaves(items[0])):
        return torch.utils.data.default_collate(items)
    if isinstance(items[0], tuple):
        return tuple(_stacked(list(column)) for column in zip(*items))
    if isinstance(items[0], dict):
        return {key: _stacked([item[key] for item in items]) for key in items[0]}
    return numpy.stack([numpy.asarray(item) for item in items])


def _leaves(item: Any) -> List[Any]:
    if isinstance(item, (tuple, list, dict)):
        return [leaf for entry in (item.values() if isinstance(item, dict) else item) for leaf in _leaves(entry)]
    return [item]


__all__ = ["Data", "Interactions", "leave_one_out"]
