"""Buffers of a PyTorch module that are tensors of the model: running statistics, and what a class names in `buffers`."""

from __future__ import annotations

import difflib
import fnmatch
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple

import numpy
import torch

#: Reason, fix: raises.
Refuse = Callable[[str, str], NoReturn]

_STATISTICS = ("running_mean", "running_var")


class _Place(NamedTuple):
    """A buffer of a module. The tensor stays the same object; where its values are changes."""

    layer: torch.nn.Module
    leaf: str
    tensor: torch.Tensor


class _Bound(NamedTuple):
    """A buffer that has its values at `target`, which begin as those at `start`; None: they are there."""

    name: str
    place: _Place
    start: Optional[torch.Tensor]
    target: torch.Tensor


class Binding:
    """Where all buffers have their values in a request."""

    def __init__(self, bound: List[_Bound], moved: List[torch.nn.Module]) -> None:
        self.bound = bound
        #: The layers of the buffers that the request moves, also where nothing is drawn: they are in training mode.
        self.moved = moved


class Buffers:
    """Of one module, by their names."""

    def __init__(self, places: Dict[str, _Place]) -> None:
        self._places = places
        self._dropped: Dict[str, torch.Tensor] = {}
        layers = {id(place.layer): place.layer for place in places.values()}
        #: Integers and others beside them, which begin anew with each request (num_batches_tracked).
        self._beside = [(value, value.clone()) for layer in layers.values() for value in layer._buffers.values()
                        if value is not None and not value.is_floating_point()]

    def tensors(self) -> Dict[str, torch.Tensor]:
        return {name: place.tensor for name, place in self._places.items()}

    def beside(self) -> List[torch.Tensor]:
        return [value for value, _ in self._beside]

    def binding(self, values: Mapping[str, numpy.ndarray], results: Mapping[str, numpy.ndarray],
                in_place: Sequence[str], on_device: Optional[Mapping[str, torch.Tensor]] = None) -> Binding:
        """For requests with these values: the new ones go to `results`, or take the place of the values. Those of other
        buffers are dropped. With `on_device`, all go to these tensors, which have the values."""
        bound = []
        for name, place in self._places.items():
            value = torch.from_numpy(values[name])
            if on_device is not None:
                bound.append(_Bound(name, place, None if name in in_place else value, on_device[name]))
            elif name in in_place:
                bound.append(_Bound(name, place, None, value))
            elif name in results:
                bound.append(_Bound(name, place, value, torch.from_numpy(results[name])))
            else:
                if name not in self._dropped:
                    self._dropped[name] = torch.empty_like(value)
                bound.append(_Bound(name, place, value, self._dropped[name]))
        moved = {id(one.place.layer): one.place.layer for one in bound if one.name in results or one.name in in_place}
        return Binding(bound, list(moved.values()))

    def begin(self, binding: Binding) -> None:
        """All values are those at the start of the request."""
        for _, place, start, target in binding.bound:
            if start is not None:
                target.copy_(start)
            place.tensor.data = target
            place.layer._buffers[place.leaf] = place.tensor  # a call that failed may have left another
        self.reset_beside()

    def reset_beside(self) -> None:
        for value, first in self._beside:
            value.copy_(first)

    def end(self, binding: Binding, refuse: Refuse) -> None:
        """The values are at their targets, also those of a buffer that the module has replaced by another tensor."""
        for name, place, _, target in binding.bound:
            now = place.layer._buffers.get(place.leaf)
            if now is place.tensor and now.data_ptr() == target.data_ptr():
                continue
            place.layer._buffers[place.leaf] = place.tensor
            if now is None or now.dtype != torch.float32 or now.shape != target.shape:
                what = "nothing" if now is None else f"{now.dtype} of the shape {tuple(now.shape)}"
                refuse(f'the buffer "{name}" becomes {what} in training',
                       f"leave float32 of the shape {tuple(target.shape)}")
            target.copy_(now.detach())

    def restore(self) -> None:
        """After a fit() that has failed: the module has its own tensors."""
        for place in self._places.values():
            place.layer._buffers[place.leaf] = place.tensor

    def moved_in_evaluation(self, binding: Binding) -> Optional[str]:
        """The name of a buffer that an evaluation has changed."""
        for name, place, start, target in binding.bound:
            now = place.layer._buffers.get(place.leaf)
            if (now is not place.tensor or now.data_ptr() != target.data_ptr()
                    or (start is not None and not torch.equal(start.view(torch.int32), target.cpu().view(torch.int32)))):
                place.layer._buffers[place.leaf] = place.tensor
                return name
        return None


def find(module: torch.nn.Module, patterns: Optional[Sequence[str]], refuse: Refuse) -> Buffers:
    """The buffers that patterns name; without patterns the running statistics that change in training."""
    module.train(True)  # a module that holds a layer with statistics fixed leaves it in evaluation mode
    every = _places(module)
    statistics = [name for name, (layer, leaf, _) in every.items()
                  if leaf in _STATISTICS and getattr(layer, "track_running_stats", False) and layer.training]
    if patterns is None:
        chosen = statistics
    else:
        chosen = _matched(module, every, patterns, refuse)
        left = next((name for name in statistics if name not in chosen), None)
        if left is not None:
            refuse(f"{_layer_of(module, every[left])} keeps running statistics, which buffers does not name",
                   f'add "{left}" to buffers, leave buffers out, or use torch.nn.GroupNorm or LayerNorm; statistics of '
                   "a pretrained module stay as they are if the module's train() leaves this layer in eval()")
    for name in chosen:
        layer, leaf, value = every[name]
        if leaf in _STATISTICS and getattr(layer, "momentum", 0.1) is None:
            refuse(f"{_layer_of(module, every[name])} has momentum=None: its statistics are means over all batches "
                   "that it has seen, which differ with the tasks of a trainer", "give it a momentum, such as 0.1")
        if value.dtype != torch.float32:
            refuse(f'the buffer "{name}" is {value.dtype}, and training moves it',
                   "make it float32; integers begin anew with each task, and are not named")
    return Buffers({name: every[name] for name in chosen})


def _places(module: torch.nn.Module) -> Dict[str, _Place]:
    """The buffers of the module's state by the first of their names."""
    state = module.state_dict(keep_vars=True)
    found: Dict[str, _Place] = {}
    seen = set()
    for prefix, layer in module.named_modules():
        for leaf, value in layer._buffers.items():
            name = f"{prefix}.{leaf}" if prefix else leaf
            if value is not None and name in state and id(value) not in seen:
                seen.add(id(value))
                found[name] = _Place(layer, leaf, value)
    return found


def _matched(module: torch.nn.Module, every: Mapping[str, _Place], patterns: Any, refuse: Refuse) -> List[str]:
    if isinstance(patterns, str) or not all(isinstance(pattern, str) for pattern in patterns):
        refuse(f"buffers is {patterns!r}", 'set it to a list of patterns, such as ["*.running_*"]')
    chosen: List[str] = []
    for pattern in patterns:
        names = fnmatch.filter(every, pattern)
        moved = [name for name in names if every[name].tensor.is_floating_point()] or names
        if not names:
            parameters = fnmatch.filter([name for name, _ in module.named_parameters()], pattern)
            near = difflib.get_close_matches(pattern, every, 1, 0.4)
            refuse(f'buffers: "{pattern}" matches no buffer in the state_dict() of the module',
                   f'"{parameters[0]}" is a parameter: leave it out, those are trained' if parameters
                   else f'the nearest is "{near[0]}"' if near
                   else f"there are: {', '.join(every)}" if every else "leave buffers out: the module has none")
        chosen += [name for name in moved if name not in chosen]
    return chosen


def _layer_of(module: torch.nn.Module, place: Tuple[torch.nn.Module, str, torch.Tensor]) -> str:
    name = next(name for name, layer in module.named_modules() if layer is place[0])
    return f'the layer "{name}" ({type(place[0]).__name__})'
