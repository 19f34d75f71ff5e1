"""The attributes of an algorithm's object, which its methods must not change."""

from __future__ import annotations

import pickle
from typing import Any, Dict, Optional, Tuple

from .algorithm import Algorithm
from .errors import ProblemError, place_of_method


class AlgorithmState:
    """What the attributes were after the constructor."""

    def __init__(self, algorithm: Algorithm) -> None:
        self._algorithm = algorithm
        self._first = self._identities()
        self._contents: Dict[str, Optional[bytes]] = {}

    def remember(self) -> None:
        """Before a task whose end refuse_changed_contents() is."""
        self._contents = self._pickled()

    def refuse_changed(self, method: str) -> None:
        """Raises ProblemError if an attribute is another object, or has another length."""
        self._refuse(self._first, self._identities(), method)

    def refuse_changed_contents(self, method: str) -> None:
        """The same of what the attributes contain."""
        self._refuse(self._contents, self._pickled(), method)

    def _refuse(self, before: Dict[str, Any], now: Dict[str, Any], method: str) -> None:
        name = next((name for name in {**before, **now} if before.get(name, self) != now.get(name, self)), None)
        if name is not None:
            place, owner = ("server", "the server") if method == "step" else ("kept", "a client")
            group = f'groups = {{"{name.lower().strip("_")}": furlong.{place}("model")}}'
            raise ProblemError(f"{method}() changes self.{name}", f"an algorithm has no state of its own: what {owner} "
                               f"keeps is a group, such as {group}, and what is computed once belongs into __init__()",
                               place_of_method(self._algorithm, method))

    def _identities(self) -> Dict[str, Tuple[int, int]]:
        return {name: (id(value), len(value) if isinstance(value, (dict, list, set, bytearray)) else 0)
                for name, value in vars(self._algorithm).items()}

    def _pickled(self) -> Dict[str, Optional[bytes]]:
        found: Dict[str, Optional[bytes]] = {}
        for name, value in vars(self._algorithm).items():
            try:
                found[name] = pickle.dumps(value)
            except Exception:  # of objects that have no such form
                found[name] = None
        return found
