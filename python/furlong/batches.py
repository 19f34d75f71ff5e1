"""The batches of a client's examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional

import numpy

if TYPE_CHECKING:
    from .local_data import LocalData


class Batches:
    """The batches of some epochs."""

    def __init__(self, data: "LocalData", epochs: int, batch_size: int, examples: Optional[numpy.ndarray], steps: int,
                 drop_last: bool) -> None:
        self._data = data
        self._epochs = epochs
        self._examples = examples
        self._count = len(data.examples if examples is None else examples)
        self._size = batch_size or max(self._count, 1)
        self._steps = steps
        self._drop_last = drop_last

    def __len__(self) -> int:
        batches = self._count // self._size if self._drop_last else -(-self._count // self._size)
        return min(batches * self._epochs, self._steps or batches * self._epochs)

    def numbers(self) -> Iterator[numpy.ndarray]:
        """The example numbers of each batch."""
        left = len(self)
        while left:
            order = self._data._next_order(self._examples)
            for first in range(0, self._count - self._size + 1 if self._drop_last else self._count, self._size):
                if not left:
                    return
                left -= 1
                yield order[first : first + self._size]

    def __iter__(self) -> Iterator[Any]:
        for numbers in self.numbers():
            yield self._data._load(numbers)
