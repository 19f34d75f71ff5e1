"""A device that a PyTorch module computes on, with values of its own: they are copied once for each task."""

from __future__ import annotations

import platform
from typing import Any, Dict, Mapping, Sequence

import numpy
import torch

from .errors import ProblemError

#: The path of a device, on the processor.
COPY = "cpu:copy"


def device_of(name: str) -> torch.device:
    """The device that python.devices names. Raises ProblemError where the interpreter cannot use it."""
    kind = name.partition(":")[0]
    place = ("python.devices", None)
    if kind == "cuda" and not torch.cuda.is_available():
        raise ProblemError(f'the interpreter has no device "{name}": torch.cuda.is_available() is False',
                           "install PyTorch for the GPU and its driver, or remove python.devices", place)
    if kind == "mps" and not (hasattr(torch.backends, "mps") and torch.backends.mps.is_available()):
        raise ProblemError('the interpreter has no device "mps"', "remove python.devices", place)
    return torch.device("cpu" if name == COPY else name)


def arithmetic(device: torch.device) -> str:
    """What results depend on, such as "torch 2.4.1, NVIDIA H100"."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return f"torch {torch.__version__.partition('+')[0]}, {name if device.type != 'cpu' else platform.machine()}"


def seed_generators(device: torch.device, seed: int) -> None:
    """Torch's global generators: that of the processor and that of the device."""
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def states(device: torch.device) -> Any:
    """Those of the generators, for restore()."""
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def restore(device: torch.device, kept: Any) -> None:
    torch.set_rng_state(kept[0])
    if kept[1] is not None:
        torch.cuda.set_rng_state(kept[1], device)


def moved_to(values: Any, device: torch.device) -> Any:
    """Tensors that are elsewhere, also within tuples, lists and dicts, on the device; all else as it is."""
    if isinstance(values, torch.Tensor):
        return values.to(device)
    if isinstance(values, (tuple, list)):
        moved = [moved_to(entry, device) for entry in values]
        return type(values)(*moved) if hasattr(values, "_fields") else type(values)(moved)
    if isinstance(values, dict):
        return {key: moved_to(entry, device) for key, entry in values.items()}
    return values


class Placement:
    """Float32 tensors by name on a device, in one block: all are copied at once, on the way to a GPU from pinned memory."""

    def __init__(self, device: torch.device, tensors: Mapping[str, torch.Tensor]) -> None:
        total = sum(tensor.numel() for tensor in tensors.values())
        self._block = torch.zeros(total, device=device)
        self._host = torch.zeros(total, pin_memory=device.type == "cuda")
        #: On the device.
        self.tensors: Dict[str, torch.Tensor] = {}
        self._arrays: Dict[str, numpy.ndarray] = {}
        at = 0
        for name, tensor in tensors.items():
            own = slice(at, at + tensor.numel())
            self.tensors[name] = self._block[own].view(tensor.shape)
            self._arrays[name] = self._host[own].view(tensor.shape).numpy()
            at = own.stop

    def upload(self, values: Mapping[str, numpy.ndarray]) -> None:
        """Copies arrays to the tensors."""
        for name, array in self._arrays.items():
            array[...] = values[name]
        self._block.copy_(self._host)

    def download(self, to: Mapping[str, numpy.ndarray], names: Sequence[str]) -> None:
        """Copies the tensors of these names to arrays."""
        if not names:
            return
        self._host.copy_(self._block)
        for name in names:
            to[name][...] = self._arrays[name]


__all__ = ["COPY", "Placement"]
