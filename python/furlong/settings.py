"""[algorithm.client] of a scenario, as training loops see it, and [algorithm.server]."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Set


class Settings(Mapping[str, Any]):
    """[algorithm.client] of a phase, or [algorithm.server], and which keys were read."""

    #: Keys that an own loop has to act on itself, each with the value that means nothing.
    _LOOP = {"momentum": 0.0, "weight_decay": 0.0, "clip": 0.0, "optimizer": "sgd"}

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._read: Set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def asks_plain_steps(self) -> bool:
        """Whether a loop that acts on all keys takes steps of rate * gradient."""
        return all(self._values[key] == neutral for key, neutral in self._LOOP.items())

    def unread(self) -> List[str]:
        """Settings without an effect, as texts."""
        return [f'algorithm.client.{key} = {self._values[key]} has no effect: fit() does not read phase.settings["{key}"]'
                for key, neutral in self._LOOP.items() if self._values[key] != neutral and key not in self._read]


def client_settings(batch_size: int) -> Settings:
    """Those of furlong.check: one epoch of plain steps."""
    return Settings({"lr": 0.01, "epochs": 1, "batch_size": batch_size, "max_steps": 0, "shuffle": True, "momentum": 0.0,
                     "proximal": 0.0, "optimizer": "sgd", "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0,
                     "clip": 0.0})


#: [algorithm.server] of furlong.check.
SERVER_SETTINGS = {"optimizer": "sgd", "lr": 1.0, "momentum": 0.0, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3,
                   "initial_accumulator": 0.0, "bias_correction": False}
