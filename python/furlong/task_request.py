"""A request for a task of a client: its arrays, and what is asked for."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy

from .arrays import Values, assign
from .errors import describe
from .groups import KEPT, ONLY, Group
from .local_data import refuse
from .phase import Room


class Placed(NamedTuple):
    """A group of a task: its tensors by name."""

    group: Group
    #: As they are at the start; empty: none.
    starts: Dict[str, numpy.ndarray]
    #: Where kept values, or what is reported, go; empty: nowhere.
    results: Dict[str, numpy.ndarray]

    def begin(self) -> None:
        """Sets the results to what they are at first."""
        for name, result in self.results.items():
            result[...] = self.starts[name] if self.group.place == KEPT else 0.0


class Asked(NamedTuple):
    """What a personalization is for."""

    trains: bool
    has_state: bool
    known: bool
    #: Client, part and numbers of each batch.
    batches: Sequence[Tuple[int, str, numpy.ndarray]]


class TaskRequest(NamedTuple):
    """A request for a task. `asked` is that of a personalization."""

    room: Room
    groups: Mapping[str, Placed]
    seed: int
    round: int
    client: int
    part: str
    orders: numpy.ndarray
    #: docs/trainer-protocol.md.
    settings: Mapping[str, Any]
    asked: Optional[Asked]
    #: Of all clients, for own_random.
    run_seed: int
    #: Copies of the module, for frozen().
    copies: List[Any]
    #: Whether gradients are tested for values that were not written, and plain steps.
    checked: bool

    def begin(self) -> None:
        """Sets all results to what they are at the start."""
        self.room.begin()
        for placed in self.groups.values():
            placed.begin()


class Reports:
    """What the client reports, by group: zeros at first, to be written."""

    def __init__(self, groups: Mapping[str, Placed]) -> None:
        self._groups = {name: placed for name, placed in groups.items() if placed.group.is_reported and placed.results}
        self._values = {name: Values(placed.results, f't.report["{name}"]') for name, placed in self._groups.items()
                        if not placed.group.has_shape}

    def __getitem__(self, name: str) -> Any:
        if name not in self._groups:
            reported = ", ".join(self._groups)
            refuse(f"t.report has no {name!r}", f"it has: {reported}" if reported else "only train() reports groups, "
                   "which furlong.report or furlong.shared make")
        return self._values[name] if name in self._values else self._groups[name].results[ONLY]

    def __setitem__(self, name: str, value: Any) -> None:
        set_values(self[name], value, f't.report["{name}"]')


def set_values(target: Any, value: Any, called: str) -> None:
    """Copies arrays by name to Values, or numbers to an array. Raises ProblemError."""
    if isinstance(target, Values):
        if isinstance(value, Mapping):
            target.update(value)
            return
        refuse(f"{called} is set to {describe(value)}", "give arrays by name, such as those of the model or of a group")
    assign(target, value, called)


def named(group: str, tensor: str) -> str:
    """What a tensor of a group is called."""
    return group if tensor == ONLY else f'{group}["{tensor}"]'
