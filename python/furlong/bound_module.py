"""A PyTorch module whose parameters and buffers are at the offsets of requests, or on a device."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

import torch

from . import devices, modules
from .buffers import Binding, Buffers
from .errors import ProblemError, place_of_method
from .phase import Room
from .problem import Problem


class BoundModule(Problem):
    """Its values are views of the memory that is shared with furlong; on a device they are copied once for each
    request."""

    #: Where the module is; set before __init__. What module() makes is moved there, and what batch() returns.
    device: torch.device = torch.device("cpu")

    _module: Optional[torch.nn.Module] = None
    _layout: Any = None
    _trained: Dict[str, torch.nn.Parameter]
    _fitting = False
    _fixed: Optional[modules.Fixed] = None
    _moving: Optional[Buffers] = None  # None: the module has no buffers that move
    _binding: Binding
    _training_layers: Sequence[torch.nn.Module] = ()  # those in training mode where the module is not
    _copies = False  # whether the module has values of its own, on its device
    _values: devices.Placement
    _slopes: Optional[devices.Placement] = None  # the gradients
    _gradients: List[torch.Tensor]

    def _use_device(self, name: str) -> None:
        self.device = devices.device_of(name)
        self._copies = True

    def _forget_values(self) -> None:
        if self._copies:
            self._layout = None

    def _moved(self) -> Dict[str, torch.Tensor]:
        """What training moves."""
        return {**self._trained, **(self._moving.tensors() if self._moving is not None else {})}

    def _bind(self, layout: Any) -> None:
        """Makes the module's parameters and gradients views of the layout's arrays."""
        assert self._module is not None
        self._leave_fit()
        if layout.tensors is None:
            values, gradients = self._tensors_of(layout)
            layout.tensors = [(parameter, values[name], gradients.get(name)) for name, parameter in self._trained.items()
                              ], self._moving and self._moving.binding(layout.values, layout.gradients, layout.in_place,
                                                                       values if self._copies else None)
        if self._copies:
            self._values.upload(layout.values)
        self._gradients = []
        parameters, self._binding = layout.tensors
        for parameter, value, gradient in parameters:
            parameter.grad = None
            parameter.requires_grad_(gradient is not None)
            parameter.data = value
            if gradient is not None:
                parameter.grad = gradient
                self._gradients.append(gradient)
        self._layout = layout

    def _tensors_of(self, layout: Any) -> Tuple[Mapping[str, torch.Tensor], Mapping[str, torch.Tensor]]:
        """Those of values, and of the gradients of parameters that are trained."""
        if not self._copies:
            return ({name: torch.from_numpy(layout.values[name]) for name in self._trained},
                    {name: torch.from_numpy(array) for name, array in layout.gradients.items()})
        return self._values.tensors, {name: tensor for name, tensor in self._gradient_tensors().items()
                                      if name in layout.gradients}

    def _gradient_tensors(self) -> Mapping[str, torch.Tensor]:
        """On the device."""
        if self._slopes is None:
            self._slopes = devices.Placement(self.device, self._trained)
        return self._slopes.tensors

    def _bind_room(self, room: Room, training: bool) -> torch.nn.Module:
        """Makes the module's parameters and buffers views of the room's values, without gradients."""
        assert self._module is not None
        self._leave_fit()
        self._fitting = True
        self._layout = None
        if room.tensors is None:
            on_device = self._values.tensors if self._copies else None
            room.tensors = ({name: torch.from_numpy(room.values[name]) if on_device is None else on_device[name]
                             for name in self._trained},
                            self._moving and self._moving.binding(room.values, {}, room.moved, on_device))
        if self._copies:
            self._values.upload(room.values)
        tensors, self._binding = room.tensors
        for name, tensor in tensors.items():
            parameter = self._trained[name]
            parameter.grad = None
            parameter.requires_grad_(name in room.trained)
            parameter.data = tensor
        self._set_mode(training, () if training or self._moving is None else self._binding.moved)
        if self._moving is not None:
            self._moving.begin(self._binding)
        return self._module

    def _collect(self, room: Room, owner: Any = None, method: str = "fit") -> None:
        """Copies values to the room, wherever the parameters have them now. `method` is that of the class, or of `owner`,
        that has moved them."""
        self._fitting = True
        self._layout = None
        self._end_moving(room)
        replaced = self._leave_fit()
        if replaced is not None:
            self._refuse(f'{method}() replaces the parameter "{replaced}" of the module', "change its values: "
                         "parameter.data = ..., parameter.copy_(...) under torch.no_grad(), or an optimizer", method, owner)
        self._copy_moved(room, owner, method)
        for name in room.tensors[0]:
            self._trained[name].grad = None
        if self._fixed is not None:
            self._check_fixed("training")

    def _end_moving(self, room: Room) -> None:
        """The room has the values of buffers, also of those that the module has replaced by other tensors."""
        if self._moving is not None and self._binding is room.tensors[1]:  # the package's loop has others
            self._moving.end(self._binding, self._refuse)

    def _copy_moved(self, room: Room, owner: Any, method: str) -> None:
        """Makes parameters and buffers that have got other memory views of the room again, with their values."""
        self._end_moving(room)
        for name, tensor in room.tensors[0].items():
            parameter = self._trained[name]
            data = parameter.data
            if data.data_ptr() == tensor.data_ptr() and data.stride() == tensor.stride() and data.shape == tensor.shape:
                continue
            if data.dtype != torch.float32 or data.shape != tensor.shape:
                self._refuse(f'{method}() leaves "{name}" as {data.dtype} of the shape {tuple(data.shape)}',
                             f"leave float32 of the shape {tuple(tensor.shape)}", method, owner)
            tensor.copy_(data)
            parameter.data = tensor
        if self._copies:
            self._values.download(room.values, [*room.tensors[0], *room.moved])

    def _leave_fit(self) -> Optional[str]:
        """After a fit(), also one that has failed: puts back parameters that it has replaced, and returns the name of
        one. All layers are in the same mode again."""
        if not self._fitting:
            return None
        self._fitting = False
        assert self._module is not None
        self._module.train(True)
        if self._moving is not None:
            self._moving.restore()
        now = dict(self._module.named_parameters())
        replaced = [name for name, parameter in self._trained.items() if now.get(name) is not parameter]
        for name in replaced:
            owner, _, leaf = name.rpartition(".")
            self._module.get_submodule(owner)._parameters[leaf] = self._trained[name]
        return replaced[0] if replaced else None

    def _set_mode(self, training: bool, layers: Sequence[torch.nn.Module]) -> None:
        """Of the module; and layers that are in training mode in any case."""
        module = self._module
        assert module is not None
        if module.training is training and self._training_layers is layers:
            return
        module.train(training)
        for layer in layers:
            layer.training = True
        self._training_layers = layers

    def _check_fixed(self, when: str) -> None:
        assert self._fixed is not None
        changed = self._fixed.changed(when)
        if changed is not None:
            self._refuse(changed, "leave it as module() makes it, or make it a parameter that is trained, or a buffer that "
                         "is named in buffers")

    def _refuse(self, reason: str, fix: str, method: str = "module", owner: Any = None) -> NoReturn:
        """`method` is that of the class, or of `owner`."""
        raise ProblemError(reason, fix, place_of_method(owner or self, method))


__all__ = ["BoundModule"]
