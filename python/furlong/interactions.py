"""Files of ratings for rankings: each user's last items are held out, to be ranked among items without a rating."""

from __future__ import annotations

import math
import os
from typing import Dict, Iterator, List, Sequence, Tuple, Union

import numpy

from .columns import count, refuse, seed_of
from .draws import Draws
from .errors import ProblemError

_LEAVE_ONE_OUT = 32
_COLUMNS = 3, 4


class Interactions(Sequence[numpy.ndarray]):
    """The items of each user that are not held out: ``own[user]`` is an int64 array in the order of time."""

    def __init__(self, own: List[numpy.ndarray], known: List[numpy.ndarray], names: List[str],
                 item_names: List[str]) -> None:
        self._own = own
        self._known = known
        #: The users' numbers in the file.
        self.names = names
        #: The items' numbers in the file; here they are numbered 0, 1, ... in this order.
        self.item_names = item_names

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.item_names)

    def __len__(self) -> int:
        return len(self._own)

    def __getitem__(self, user: int) -> numpy.ndarray:  # type: ignore[override]
        return self._own[user]

    def absent(self, user: int, number: int, random: numpy.random.Generator) -> numpy.ndarray:
        """Draws items, also repeatedly, that the user has nowhere in the file: never one that is held out. int64.

        As negatives of a training these leak which item is held out, as in much published code: all items but it and the
        user's own are pushed down. See `negatives`.
        """
        return self._outside(self._known[user], number, random)

    def negatives(self, user: int, number: int, random: numpy.random.Generator) -> numpy.ndarray:
        """Draws items, also repeatedly, that are not among the user's own: those held out may be drawn too. int64."""
        return self._outside(numpy.unique(self._own[user]), number, random)

    def _outside(self, known: numpy.ndarray, number: int, random: numpy.random.Generator) -> numpy.ndarray:
        return _absent(known, random.integers(self.items - len(known), size=number))


def leave_one_out(file: Union[str, "os.PathLike[str]"], negatives: int = 99, validation: bool = True,
                  seed: int = 0) -> Tuple[Interactions, Dict[str, numpy.ndarray]]:
    """Holds out each user's last item for the test, and the one before for the validation.

    The protocol of He et al.: "Neural collaborative filtering", 2017. Ratings count as interactions, whatever their
    value. Items of equal time have the order of the file. Returns `own`, see Interactions, and `asked`: by part, "test"
    and, if wanted, "validation", an int64 array [users, 1, 1 + negatives]. Its entry [user, 0] has the item that is
    held out and then `negatives` others, all different, that the user has nowhere in the file; each part has its own.
    As a batch of the user's only example in the part: ``asked[part][user][examples]``.

    The file has lines USER::ITEM::RATING::TIMESTAMP (MovieLens 1M), the same between tabs (MovieLens 100K) or commas,
    with or without a first line of names such as userId,movieId,rating,timestamp (MovieLens 25M). USER and ITEM are
    whole numbers. Without timestamps, the order of the file is that of time. A relative path is relative to the working
    directory. The same seed gives the same items on every machine. Raises ProblemError with the line of the file, or of
    the call.
    """
    path = os.fspath(file)
    negatives = count("negatives", negatives, 1)
    seed = seed_of(seed)
    users, items, times = _read(path)
    user_names, user_numbers = numpy.unique(users, return_inverse=True)
    item_names, item_numbers = numpy.unique(items, return_inverse=True)
    order = numpy.lexsort((times, user_numbers.reshape(-1)))
    ends = numpy.cumsum(numpy.bincount(user_numbers.reshape(-1)))
    sequences = numpy.split(item_numbers.reshape(-1)[order].astype(numpy.int64), ends[:-1])
    parts = ["validation", "test"] if validation else ["test"]
    asked = {part: numpy.empty((len(sequences), 1, 1 + negatives), numpy.int64) for part in parts}
    draws = Draws(seed, _LEAVE_ONE_OUT)
    own, known = [], []
    for user, sequence in enumerate(sequences):
        if len(sequence) <= len(parts):
            refuse(f"user {user_names[user]} of {path} has {len(sequence)} ratings, and {len(parts)} are held out",
                   f"remove users with fewer than {len(parts) + 1}")
        every = numpy.unique(sequence)
        left = len(item_names) - len(every)
        if left < negatives:
            refuse(f"user {user_names[user]} of {path} has rated all but {left} of {len(item_names)} items",
                   f"lower negatives to {left}" if left else "remove this user")
        for part, held_out in zip(parts, sequence[-len(parts):]):
            asked[part][user, 0] = numpy.append(held_out, _absent(every, draws.distinct(negatives, left)))
        own.append(sequence[: -len(parts)])
        known.append(every)
    return Interactions(own, known, [str(name) for name in user_names], [str(name) for name in item_names]), asked


def _absent(known: numpy.ndarray, ranks: numpy.ndarray) -> numpy.ndarray:
    """The items with these ranks among those that are not known. `known` is ascending."""
    return ranks + numpy.searchsorted(known - numpy.arange(len(known)), ranks, side="right")


def _read(path: str) -> Tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Users, items and times, in the order of the file."""
    if not os.path.isfile(path):
        refuse(f"{path} does not exist", "correct the path; a relative one starts at the working directory, and "
               "Path(__file__).with_name() is beside the class")
    users: List[int] = []
    items: List[int] = []
    times: List[float] = []
    first = 1
    for number, fields in _lines(path):
        first = number if not users else first
        try:
            user, item = int(fields[0]), int(fields[1])
            time = float(fields[3]) if len(fields) == 4 else 0.0
            if not (0 <= user < 2**63 and 0 <= item < 2**63 and math.isfinite(float(fields[2]) + time)):
                raise ValueError
        except ValueError:
            raise ProblemError(f"found {', '.join(fields)}", "write user, item, rating and, if there is one, time: "
                               "user and item are whole numbers", (path, number)) from None
        users.append(user)
        items.append(item)
        times.append(time)
    if not users:
        raise ProblemError("the file has no ratings", "write one a line", (path, 1))
    columns = numpy.array(users, numpy.int64), numpy.array(items, numpy.int64), numpy.array(times)
    order = numpy.lexsort(columns[1::-1])
    again = numpy.flatnonzero((numpy.diff(columns[0][order]) == 0) & (numpy.diff(columns[1][order]) == 0))
    if len(again):
        pair = [int(entry) for entry in order[again[0] : again[0] + 2]]
        raise ProblemError(f"user {users[pair[0]]} rated item {items[pair[0]]} more than once, on lines "
                           f"{first + pair[0]} and {first + pair[1]}", "keep one of them", (path, first + pair[1]))
    return columns


def _lines(path: str) -> Iterator[Tuple[int, List[str]]]:
    """Numbers and fields of the lines, but for a first line of names."""
    separator, columns = "", 0
    with open(path, encoding="utf-8-sig", errors="replace") as stream:
        for number, line in enumerate(stream, 1):
            line = line.rstrip("\n")
            if number == 1:
                separator = next((mark for mark in ("::", "\t") if mark in line), ",")
                columns = len(line.split(separator))
            fields = line.split(separator)
            if len(fields) != columns or columns not in _COLUMNS:
                wanted = columns if columns in _COLUMNS else "3 or 4"
                raise ProblemError(f"found {len(fields)} fields", f"write {wanted}, between ::, tabs or commas: user, "
                                   "item, rating and, if there is one, time", (path, number))
            if number > 1 or fields[0].strip().lstrip("-").isdigit():
                yield number, fields


__all__ = ["Interactions", "leave_one_out"]
