"""Options of a class: keys of the scenario that become attributes before its constructor runs."""

from __future__ import annotations

import difflib
import json
import keyword
import math
import re
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import ProblemError, describe, place_of_caller, place_of_class

#: A value of an option.
Value = Union[bool, int, float, str]


class Option(NamedTuple):
    """A default with the values that are allowed."""

    default: Value
    above: Optional[float] = None
    least: Optional[float] = None
    most: Optional[float] = None
    among: Tuple[Value, ...] = ()

    def lack(self, value: Value) -> Optional[str]:
        """What the value is not, or None."""
        if self.among and value not in self.among:
            return "one of " + ", ".join(map(repr, self.among))
        for bound, holds, text in ((self.above, lambda bound: value > bound, "above"),
                                   (self.least, lambda bound: value >= bound, "at least"),
                                   (self.most, lambda bound: value <= bound, "at most")):
            if bound is not None and not holds(bound):
                return f"{text} {bound:g}"
        return None


def option(default: Value, *, above: Optional[float] = None, least: Optional[float] = None,
           most: Optional[float] = None, among: Sequence[Value] = ()) -> Option:
    """An option with the values that are allowed: ``options = {"tau": furlong.option(0.5, above=0)}``. Raises
    ProblemError."""
    made = Option(default, above, least, most, tuple(among))
    bounded = (above, least, most) != (None, None, None)
    if bounded and (isinstance(default, bool) or not isinstance(default, (int, float))):
        raise ProblemError(f"an option has bounds, and the default {describe(default)}", "give a number as the default, "
                           "or among=(...)", place_of_caller())
    lack = made.lack(default)
    if lack is not None:
        raise ProblemError(f"the default {default!r} of an option is not {lack}", "correct the default or the bound",
                           place_of_caller())
    return made


def defaults_of(kind: type) -> Dict[str, Value]:
    """The options that a class declares, with their defaults, checked. Raises ProblemError."""
    return {name: one.default for name, one in _declared(kind).items()}


def values_of(kind: type, given: Mapping[str, Any]) -> Dict[str, Value]:
    """The given values, checked, and the defaults of the others. Raises ProblemError."""
    declared = _declared(kind)
    place = place_of_class(kind)
    values = {name: one.default for name, one in declared.items()}
    for name, value in given.items():
        if name not in declared:
            near = difflib.get_close_matches(name, declared, 1, 0.4)
            fix = (f'the nearest is "{near[0]}"' if near else f"it has: {', '.join(declared)}" if declared else
                   f'declare it on the class: options = {{"{name}": {value!r}}}')
            raise ProblemError(f'class {kind.__name__} has no option "{name}"', fix, place)
        one = declared[name]
        wanted = type(one.default)
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted or not _fits(value):
            raise ProblemError(f'the option "{name}" is {describe(value)}, and its default {describe(one.default)}',
                               f"give a value of type {wanted.__name__}", place)
        lack = one.lack(value)
        if lack is not None:
            raise ProblemError(f'the option "{name}" is {value!r}', f"give a value that is {lack}", place)
        values[name] = value
    return values


def of_text(text: str) -> Tuple[str, Value]:
    """ "alpha=0.3" -> ("alpha", 0.3): numbers, true and false are values of their type, all else is a string. Raises
    ProblemError."""
    name, separator, value = text.partition("=")
    if not separator:
        raise ProblemError(f'the option "{text}" has no value', 'write NAME=VALUE, such as "alpha=0.3"')
    try:
        found = json.loads(value)
    except ValueError:
        return name, value
    return name, found if isinstance(found, (bool, int, float, str)) else value


def _declared(kind: type) -> Dict[str, Option]:
    declared = getattr(kind, "options")
    place = place_of_class(kind)
    if not isinstance(declared, Mapping):
        raise ProblemError(f"options is {describe(declared)}", 'set it to a dict such as {"alpha": 0.1}', place)
    ours = {name for base in kind.__mro__ if base.__module__.startswith("furlong.") for name in vars(base)}
    made = {}
    for name, one in declared.items():
        if not isinstance(name, str) or not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) or keyword.iskeyword(name):
            raise ProblemError(f"options has the name {name!r}",
                               "use letters, digits and _: it becomes an attribute and a key of the scenario", place)
        hidden = getattr(kind, name, None)
        if name in ours or callable(hidden) or isinstance(hidden, property):
            raise ProblemError(f'the option "{name}" hides {kind.__name__}.{name}', "give it another name", place)
        made[name] = one if isinstance(one, Option) else Option(one)
        default = made[name].default
        if type(default) not in (bool, int, float, str) or not _fits(default):
            raise ProblemError(f'the option "{name}" has the default {describe(default)}',
                               "give a finite number, a string, True or False", place)
    return made


def _fits(value: Any) -> bool:
    """Whether a scenario can have this value."""
    return math.isfinite(value) if type(value) is float else type(value) is not int or -2**63 <= value < 2**63
