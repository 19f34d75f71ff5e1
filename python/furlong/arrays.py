"""Arrays by name, with arithmetic: the model's weights, and groups of an algorithm."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict, Iterator, Mapping, Optional

import numpy

from .errors import ProblemError, describe, place_of_caller
from .local_data import refuse


#: The fix of a value that a task must not write.
WRITABLE = "write to t.weights, to t.report or to a group that the client keeps; .copy() may be written too"


class NoValue(ProblemError, KeyError):
    """values[name] of a name that they do not have."""


class Values(Mapping[str, numpy.ndarray]):
    """float32 arrays by name. ``+ - * /`` with a number or other Values, array by array: where one of two has more
    names, the result has those of the other. ``values[name] = x`` and ``values[name][...] = x`` write, unless they are
    read-only. Valid during the call only; a copy() is valid for longer."""

    def __init__(self, arrays: Dict[str, numpy.ndarray], called: str = "a result of arithmetic",
                 read_only: str = "", writable: str = WRITABLE) -> None:
        #: What they are called in messages, why they cannot be written, and what can be.
        self._called = called
        self._read_only = read_only
        self._writable = writable
        if read_only:
            arrays = {name: array.view() for name, array in arrays.items()}
            for array in arrays.values():
                array.flags.writeable = False
        self._arrays = arrays

    def __getitem__(self, name: str) -> numpy.ndarray:
        if name not in self._arrays:
            raise NoValue(f"{self._called} has no {name!r}", f"it has: {', '.join(self._arrays)}", place_of_caller())
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    __array_ufunc__ = None  # an array or a numpy number at the left leaves arithmetic to this class
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in self._arrays.items())
        return f"<furlong.Values: {shapes}>"

    def __setitem__(self, name: str, value: Any) -> None:
        self._refuse_read_only()
        target = self[name]
        assign(target, value, f'{self._called}["{name}"]')

    def update(self, values: Mapping[str, Any]) -> None:
        """Writes all arrays of the given values that these have too: either must have all names of the other."""
        self._refuse_read_only()
        if not isinstance(values, Mapping):
            refuse(f"{self._called} is set to {describe(values)}", "give arrays by name, or values of a group")
        for name in self._common(values):
            assign(self._arrays[name], values[name], f'{self._called}["{name}"]')

    def copy(self) -> "Values":
        """The same in memory of their own, which may be written."""
        return Values({name: array.copy() for name, array in self._arrays.items()}, "a copy")

    def norm(self) -> float:
        """The L2 norm of all values."""
        return math.sqrt(self.dot(self))

    def dot(self, other: Mapping[str, Any]) -> float:
        """The scalar product over the names of both."""
        wide = numpy.float64
        return float(sum(numpy.vdot(self._arrays[name].astype(wide), _as_array(other[name]).astype(wide))
                         for name in self._common(other)))

    def __add__(self, other: Any) -> "Values":
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> "Values":
        return self._with(other, operator.sub)

    def __mul__(self, other: Any) -> "Values":
        return self._with(other, operator.mul)

    def __truediv__(self, other: Any) -> "Values":
        return self._with(other, operator.truediv)

    def __radd__(self, other: Any) -> "Values":
        return self._with(other, operator.add)

    def __rsub__(self, other: Any) -> "Values":
        return self._with(other, lambda one, two: two - one)

    def __rmul__(self, other: Any) -> "Values":
        return self._with(other, operator.mul)

    def __neg__(self) -> "Values":
        return self._with(-1.0, operator.mul)

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> "Values":
        if isinstance(other, Mapping):
            return Values({name: numpy.asarray(operation(self._arrays[name], _as_array(other[name])), numpy.float32)
                           for name in self._common(other)})
        number = _number(other)
        if number is None:
            refuse(f"{self._called} is computed with {describe(other)}", "give a number, or arrays by name")
        return Values({name: numpy.asarray(operation(array, number), numpy.float32)
                       for name, array in self._arrays.items()})

    def _common(self, other: Mapping[str, Any]) -> Dict[str, None]:
        """The names of both."""
        common = {name: None for name in self._arrays if name in other}
        if not common or len(common) not in (len(self), len(other)):
            one = next((name for name in self._arrays if name not in other), "")
            two = next((name for name in other if name not in self._arrays), "")
            refuse(f'{self._called} has "{one}" and no "{two}", and the other values have "{two}" and no "{one}"',
                   "use values over the same parameters, or one with all names of the other")
        return common

    def _refuse_read_only(self) -> None:
        if self._read_only:
            refuse(f"{self._called} cannot be written: {self._read_only}", self._writable)


def assign(target: numpy.ndarray, value: Any, called: str) -> None:
    """Copies numbers of the same shape, or one number. Raises ProblemError."""
    try:
        array = _as_array(value)
    except (TypeError, ValueError, RuntimeError):
        refuse(f"{called} is set to {describe(value)}", f"give numbers of the shape {target.shape}")
    if array.dtype.kind not in "fiub" or (array.shape != target.shape and array.size != 1):
        refuse(f"{called} is set to an array of {array.dtype} of the shape {array.shape}",
               f"give numbers of the shape {target.shape}")
    target[...] = array if array.shape == target.shape else array.reshape(())


def _as_array(value: Any) -> numpy.ndarray:
    """Also of a tensor, on any device."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else numpy.asarray(value)


def _number(value: Any) -> Optional[numpy.float32]:
    try:
        array = _as_array(value)
    except (TypeError, ValueError, RuntimeError):
        return None
    return numpy.float32(array.reshape(())) if array.dtype.kind in "fiub" and array.size == 1 else None


__all__ = ["Values"]
