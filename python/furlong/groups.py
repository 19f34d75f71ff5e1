"""Groups: the tensors that an algorithm adds to those of the model, and where they are."""

from __future__ import annotations

import difflib
import fnmatch
import math
import re
from typing import Any, Collection, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple, Union

import numpy

from .errors import Place, ProblemError, describe, place_of_caller

KEPT, BROADCAST, REPORT, SHARED, SERVER, ADDRESSED = "kept", "broadcast", "report", "shared", "server", "addressed"
#: Places of values that the server has.
SERVED = (BROADCAST, SHARED, SERVER, ADDRESSED)
#: The name of the only tensor of a group with a shape.
ONLY = ""
_RULES = ("mean", "uniform-mean", "sum")
_WHOLE = ("model", "shared", "private")
#: Largest L2 norm of a reported tensor; larger ones are rejected.
_MAX_NORM = 1024.0
#: Of what clients report by t.metric(): a row of sum and count for each name. Whole numbers are exact up to its norm.
METRICS = "metrics"
MOST_OF_METRICS = 2.0**24

Shapes = Mapping[str, Tuple[int, ...]]
#: "model", "shared", "private", a pattern, or a list of patterns of names of parameters; or a shape.
Extent = Union[str, Sequence[str], Tuple[int, ...], int]


class Group(NamedTuple):
    """What kept(), broadcast(), report(), shared(), server() and addressed() make."""

    place: str
    #: "model", "shared", "private", a tuple of patterns, or a shape.
    extent: Any
    first: Union[float, str]
    rule: str
    max_norm: float
    exact: bool
    declared: Place

    @property
    def has_shape(self) -> bool:
        """Whether it is one tensor of a shape; else it has tensors of the model."""
        return isinstance(self.extent, tuple) and isinstance(self.extent[0], int)

    @property
    def is_reported(self) -> bool:
        return self.place in (REPORT, SHARED)

    def tensors(self, shapes: Shapes, private: Iterable[str], buffers: Collection[str]) -> List[str]:
        """Names of the model's tensors that it has, in the order of the model: of "shared" and "private" ones the
        parameters alone."""
        if self.extent == "model":
            return list(shapes)
        if self.extent in ("shared", "private"):
            own = set(private)
            return [name for name in shapes if name not in buffers and (name in own) is (self.extent == "private")]
        return [name for name in shapes if any(fnmatch.fnmatchcase(name, one) for one in self.extent)]

    def description(self, name: str, shapes: Shapes, clients: int) -> Dict[str, Any]:
        """As in the open reply. Raises ProblemError if a pattern matches nothing."""
        found: Dict[str, Any] = {"name": name, "place": self.place}
        if self.place == ADDRESSED:
            found["clients"] = clients
        if self.has_shape:
            found["shape"] = list(self.extent)
        elif isinstance(self.extent, str):
            found["of"] = self.extent
        else:
            for pattern in self.extent:
                if not fnmatch.filter(shapes, pattern):
                    near = difflib.get_close_matches(pattern, shapes, 1, 0.4)
                    raise ProblemError(f'the group "{name}" has "{pattern}", which matches no parameter',
                                       f'the nearest is "{near[0]}"' if near else f"there are: {', '.join(shapes)}",
                                       self.declared)
            found["of"] = self.tensors(shapes, (), ())
        if self.place != REPORT:
            found["first"] = self.first
        if self.is_reported:
            found.update(rule=self.rule, max_norm=self.max_norm, exact=self.exact)
        return found


def kept(of: Extent, first: Union[float, str] = 0.0) -> Group:
    """Values that a client keeps: in its private store, never sent.

    of: "model": its parameters and buffers; "shared" or "private" parameters; patterns of names; or a shape such as
        (10, 16).
    first: what a client begins with: a number, "received": the model as it receives it, or "initial": the model before
        any training.
    """
    return _made(KEPT, of, first)


def broadcast(of: Extent, first: Union[float, str] = 0.0) -> Group:
    """Values of the server that clients receive; see kept()."""
    return _made(BROADCAST, of, first)


def report(of: Extent, rule: str = "uniform-mean", max_norm: float = _MAX_NORM, exact: bool = False) -> Group:
    """Values that clients send, and of which the server has the aggregate.

    rule: "mean", weighted as the updates, "uniform-mean" or "sum".
    max_norm: updates with a tensor of a larger L2 norm are rejected.
    exact: sent as float32 whatever network.compression says.
    """
    return _made(REPORT, of, 0.0, rule, max_norm, exact)


def shared(of: Extent, first: Union[float, str] = 0.0, rule: str = "uniform-mean", max_norm: float = _MAX_NORM,
           exact: bool = False) -> Group:
    """Values of the server that clients receive, and to which the aggregate of what they report is added; see kept()
    and report()."""
    return _made(SHARED, of, first, rule, max_norm, exact)


def server(of: Extent, first: Union[float, str] = 0.0) -> Group:
    """Values of the server alone, which clients do not receive: what Algorithm.step() keeps from one round to the next;
    see kept()."""
    return _made(SERVER, of, first)


def addressed(of: Extent, first: Union[float, str] = 0.0) -> Group:
    """Values of the server for each client, which receives its own: Algorithm.cohort() writes them. Not in federations;
    see kept()."""
    return _made(ADDRESSED, of, first)


def _made(place: str, of: Any, first: Any, rule: Any = "uniform-mean", max_norm: Any = _MAX_NORM,
          exact: Any = False) -> Group:
    where = place_of_caller()

    def refuse(reason: str, fix: str) -> None:
        raise ProblemError(f"{place}() is given {reason}", fix, where)

    extent = (of,) if _is_size(of) or (isinstance(of, str) and of not in _WHOLE) else of
    if isinstance(extent, list) and extent and all(isinstance(one, str) for one in extent):
        extent = tuple(extent)
    of_names = isinstance(extent, str) or (isinstance(extent, tuple) and len(extent) > 0
                                           and all(isinstance(one, str) and one for one in extent))
    if not of_names:
        if not isinstance(extent, tuple) or not extent or not all(map(_is_size, extent)):
            refuse(describe(of), 'give "model", "shared", "private", a list of patterns of names, or a shape such as '
                   "(10, 16)")
        extent = tuple(map(int, extent))
    named = ("received", "initial") if place == KEPT else ("received",)
    number = isinstance(first, (int, float, numpy.number)) and not isinstance(first, bool) and math.isfinite(first)
    if not number and (not isinstance(first, str) or first not in named or not of_names):
        allowed = " or ".join(f'"{one}"' for one in named)
        refuse(f"first = {describe(first)}", f"give a number, or {allowed}" if of_names else "give a number: a group "
               "with a shape is no copy of the model")
    if rule not in _RULES:
        refuse(f"rule = {describe(rule)}", 'give "mean", "uniform-mean" or "sum"')
    if isinstance(max_norm, bool) or not isinstance(max_norm, (int, float)) or not 0 < max_norm < math.inf:
        refuse(f"max_norm = {describe(max_norm)}", "give a number above 0")
    if not isinstance(exact, bool):
        refuse(f"exact = {describe(exact)}", "give True or False")
    return Group(place, extent, float(first) if number else first, rule, float(max_norm), exact, where)


def metrics_group(names: Sequence[str], place: Place) -> Group:
    return Group(REPORT, (len(names), 2), 0.0, "sum", MOST_OF_METRICS, True, place)


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, numpy.integer)) and not isinstance(value, bool) and value > 0


def check_groups(groups: Any, place: Place) -> Dict[str, Group]:
    """The groups of a class, by name. Raises ProblemError."""
    if not isinstance(groups, Mapping):
        raise ProblemError(f"groups is {describe(groups)}", 'set it to a dict such as {"own": furlong.kept("model")}',
                           place)
    for name, group in groups.items():
        if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name) or name in ("received", "model"):
            raise ProblemError(f"groups has the name {name!r}",
                               "use small letters, digits and _, and not received or model", place)
        if not isinstance(group, Group):
            raise ProblemError(f'the group "{name}" is {describe(group)}',
                               "make it by furlong.kept, broadcast, report, shared, server or addressed", place)
    return dict(groups)


def tensors_of(groups: Mapping[str, Group], shapes: Shapes, private: Collection[str], buffers: Collection[str]
               ) -> Iterator[Tuple[str, Group, Dict[str, Tuple[int, ...]]]]:
    """The groups, with names and shapes of their tensors."""
    for name, group in groups.items():
        yield name, group, {ONLY: group.extent} if group.has_shape else {
            tensor: shapes[tensor] for tensor in group.tensors(shapes, private, buffers)}


__all__ = ["Group", "addressed", "broadcast", "kept", "report", "server", "shared"]
