"""The memory file shared with the host: arrays over it, built once for each set of offsets."""

from __future__ import annotations

import math
import mmap
import os
import struct
from types import MappingProxyType
from typing import Any, Dict, Mapping, NoReturn, Optional, Sequence, Tuple

import numpy

from . import process
from .errors import ProblemError, place_of_caller

#: The offset of the gradient of a frozen parameter.
FROZEN = 2**64 - 1
#: Written to gradients before their first use, to find what a problem does not write: a NaN with a payload.
UNWRITTEN = 0x7FC0F0D1

Shapes = Sequence[Tuple[str, Tuple[int, ...]]]


class NoGradient(ProblemError, KeyError):
    """step.gradients[name] of a parameter that is not trained in this step."""

    def __init__(self, name: object) -> None:
        super().__init__(f"step.gradients has no {name!r}", "parameters that are not trained in this step are left "
                         f"out, in evaluation all: assign it under if {name!r} in step.gradients", place_of_caller())


class _Gradients(Dict[str, numpy.ndarray]):
    def __missing__(self, name: object) -> NoReturn:
        raise NoGradient(name)


class Layout:
    """The arrays of one set of offsets."""

    __slots__ = ("parameters", "gradients", "values", "in_place", "tensors", "_scratch")

    def __init__(self, values: Dict[str, numpy.ndarray], gradients: Dict[str, numpy.ndarray],
                 in_place: Sequence[str] = ()) -> None:
        #: Writable arrays by name; `parameters` has read-only views of them.
        self.values = values
        self.parameters: Mapping[str, numpy.ndarray] = MappingProxyType({k: _read_only(v) for k, v in values.items()})
        self.gradients: Mapping[str, numpy.ndarray] = MappingProxyType(_Gradients(gradients))
        #: Buffers whose new values take the place of the values: those of others go to `gradients`.
        self.in_place = in_place
        #: What furlong.torch keeps for this layout.
        self.tensors: Any = None
        self._scratch: Optional["Layout"] = None

    def scratch(self) -> "Layout":
        """The same parameters, and gradients in memory of this process; made once."""
        if self._scratch is None:
            self._scratch = Layout(self.values, {name: numpy.empty_like(g) for name, g in self.gradients.items()})
        return self._scratch


class Memory:
    """Maps the memory file of a descriptor. Not thread-safe."""

    most_layouts = 1024

    def __init__(self, descriptor: int) -> None:
        self._descriptor = process.copy_of(descriptor)  # the user's code may close small numbers
        self._map = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        self._layouts: Dict[bytes, Layout] = {}
        self._shapes: Shapes = ()

    def close(self) -> None:
        """Arrays over the file stay valid, and its memory there until they are gone."""
        self._layouts.clear()
        os.close(self._descriptor)

    def describe(self, shapes: Shapes) -> None:
        """Sets names and shapes of the parameters, in the order of the offsets in requests."""
        self._shapes = shapes
        self._layouts.clear()

    def array(self, offset: int, shape: Tuple[int, ...]) -> numpy.ndarray:
        """A float32 array over the file, C order."""
        return numpy.frombuffer(self._map, numpy.float32, math.prod(shape), offset).reshape(shape)

    def bytes_at(self, offset: int, size: int) -> numpy.ndarray:
        """Those of the file."""
        return numpy.frombuffer(self._map, numpy.uint8, size, offset)

    def copy_on_write(self, offset: int, size: int) -> memoryview:
        """The same bytes: what this process writes there, no other one sees, and as long as it does not, they are in
        memory once."""
        first = offset % mmap.ALLOCATIONGRANULARITY
        return memoryview(mmap.mmap(self._descriptor, first + size, access=mmap.ACCESS_COPY, offset=offset - first))[first:]

    def layout(self, offsets: bytes) -> Layout:
        """The arrays at the offsets of a request: those of the values, then, unless left out, of the gradients."""
        found = self._layouts.get(offsets)
        if found is not None:
            return found
        numbers = struct.unpack(f"<{len(offsets) // 8}Q", offsets)
        count = len(self._shapes)
        values = {name: self.array(at, shape) for (name, shape), at in zip(self._shapes, numbers)}
        gradients = {
            name: self.array(at, shape) for (name, shape), at in zip(self._shapes, numbers[count:]) if at != FROZEN
        }
        if len(self._layouts) >= self.most_layouts:
            self._layouts.clear()
        self._layouts[offsets] = made = Layout(values, gradients)
        return made


def mark_unwritten(gradients: Mapping[str, numpy.ndarray]) -> None:
    """Fills the gradients so that first_unwritten() finds what is not written."""
    for array in gradients.values():
        array.view(numpy.uint32)[...] = UNWRITTEN


def first_unwritten(gradients: Mapping[str, numpy.ndarray]) -> Optional[str]:
    """The name of a gradient with values that were not written since mark_unwritten(), or None."""
    for name, array in gradients.items():
        if (array.view(numpy.uint32) == UNWRITTEN).any():
            return name
    return None


def _read_only(array: numpy.ndarray) -> numpy.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
