"""What a PyTorch module has besides the parameters that are trained: constants, other names, buffers, attributes."""

from __future__ import annotations

import hashlib
import types
import zlib
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy
import torch

from .problem import Constant, Same

_BatchNorm = torch.nn.modules.batchnorm._BatchNorm
_MOST_COMPARED = 64 << 20  # bytes of fixed values that are compared in later steps too


def trained(module: torch.nn.Module) -> Dict[str, torch.nn.Parameter]:
    """The parameters that are trained, by the first of their names."""
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def keeps_statistics(module: torch.nn.Module) -> Optional[Tuple[str, torch.nn.Module]]:
    """The first layer whose running statistics change in training, with its name."""
    module.train(True)  # a module that holds such a layer fixed leaves it in evaluation mode
    for name, layer in module.named_modules():
        if getattr(layer, "track_running_stats", False) and layer.training:
            return name, layer
    return None


def layers_over_batches(module: torch.nn.Module) -> List[str]:
    """The layers that normalize by the batch in evaluation too, as texts for messages."""
    return [named(name, layer) for name, layer in module.named_modules()
            if isinstance(layer, _BatchNorm) and layer.running_mean is None]


def named(name: str, layer: torch.nn.Module) -> str:
    return f'the layer "{name}" ({type(layer).__name__})'


def layer_of_batch_of_one(module: torch.nn.Module, error: BaseException) -> Optional[str]:
    """The layer that cannot normalize by a batch of one example, if this is the error."""
    if not str(error).startswith("Expected more than 1 value per channel"):
        return None
    names = {id(layer): name for name, layer in module.named_modules()}
    trace: Optional[types.TracebackType] = error.__traceback__
    while trace is not None:
        layer = trace.tb_frame.f_locals.get("self")
        if isinstance(layer, _BatchNorm):
            return named(names.get(id(layer), ""), layer)
        trace = trace.tb_next
    return "a layer of the module"


def _tensors(module: torch.nn.Module) -> Dict[str, torch.Tensor]:
    return {name: value for name, value in module.state_dict(keep_vars=True).items()
            if isinstance(value, torch.Tensor)}


def aliases(module: torch.nn.Module, parameters: Mapping[str, torch.nn.Parameter]) -> Dict[str, str]:
    """Other names in state_dict() of trained parameters, to the name that each has there."""
    names = {id(parameter): name for name, parameter in parameters.items()}
    return {name: names[id(value)] for name, value in _tensors(module).items()
            if names.get(id(value), name) != name}


def constants(module: torch.nn.Module, parameters: Mapping[str, torch.nn.Parameter]) -> List[Constant]:
    """The entries of state_dict() that are no trained parameters: frozen ones and persistent buffers."""
    ours = {id(parameter) for parameter in parameters.values()}
    return [_constant(name, value) for name, value in _tensors(module).items() if id(value) not in ours]


def sparse_constant(module: torch.nn.Module) -> Optional[str]:
    """The name of an entry of state_dict() that no file of arrays can have."""
    return next((name for name, value in _tensors(module).items() if value.layout is not torch.strided), None)


def _constant(name: str, value: torch.Tensor) -> Constant:
    return Constant(name, tuple(value.shape), str(value.dtype).rpartition(".")[2], _bytes(value.detach().cpu()))


def _bytes(value: torch.Tensor) -> numpy.ndarray:
    if value.layout is not torch.strided:
        value = (value if value.is_sparse else value.to_sparse()).coalesce()
        return numpy.concatenate([_bytes(value.indices()), _bytes(value.values())])
    # numpy has no bfloat16.
    return value.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy()


def constants_digest(module: torch.nn.Module, parameters: Mapping[str, torch.nn.Parameter]) -> str:
    """SHA-256 of the constants and of the buffers that are not in state_dict(); "" if there are none."""
    every = constants(module, parameters)
    known = {one.name for one in every}
    every += [_constant(name, value) for name, value in module.named_buffers() if name not in known]
    if not every:
        return ""
    digest = hashlib.sha256()
    for one in every:
        digest.update(f"{one.name} {one.dtype} {list(one.shape)}\n".encode())
        digest.update(one.content)
    return digest.hexdigest()


class _Held(NamedTuple):
    """A buffer or frozen parameter as it was at first."""

    owner: Dict[str, Any]
    name: str
    value: Optional[torch.Tensor]
    version: int
    checksum: int
    text: str
    end: str


class Fixed:
    """What a module must not change: its buffers and the parameters that are not trained, as they were at first. Every
    call compares identities and the versions that PyTorch counts; a change through .data counts none, therefore some
    calls compare bytes as well."""

    def __init__(self, module: torch.nn.Module, parameters: Mapping[str, torch.nn.Parameter]) -> None:
        ours = {id(parameter) for parameter in parameters.values()}
        self._held: List[_Held] = []
        self._size = 0
        self._calls = {"training": 0, "evaluation": 0}
        for prefix, layer in module.named_modules():
            before = f"{prefix}." if prefix else ""
            for name, value in layer._buffers.items():
                self._hold(layer._buffers, name, value, f'the buffer "{before}{name}" of the module',
                           ", and is no parameter")
            for name, value in layer._parameters.items():
                if value is not None and id(value) not in ours:
                    self._hold(layer._parameters, name, value,
                               f'the parameter "{before}{name}" of the module has requires_grad=False, and', "")

    @classmethod
    def of(cls, module: torch.nn.Module, parameters: Mapping[str, torch.nn.Parameter]) -> Optional["Fixed"]:
        """None if there is nothing of this kind besides the trained parameters."""
        made = cls(module, parameters)
        return made if made._held else None

    def changed(self, when: str) -> Optional[str]:
        """After a call in "training" or "evaluation": says what is another one now, or None."""
        self._calls[when] = number = self._calls[when] + 1
        # The first step and its repetition always, then ever more rarely. The order of calls alone decides.
        compared = number <= 2 or (self._size <= _MOST_COMPARED and (number % 64 == 0 or number & (number - 1) == 0))
        for owner, name, value, version, checksum, text, end in self._held:
            if (owner.get(name) is not value or (value is not None and value._version != version)
                    or (compared and _checksum(value) != checksum)):
                return f"{text} changes in {when}{end}"
        return None

    def _hold(self, owner: Dict[str, Any], name: str, value: Optional[torch.Tensor], text: str, end: str) -> None:
        version = -1 if value is None else value._version
        self._held.append(_Held(owner, name, value, version, _checksum(value), text, end))
        self._size += 0 if value is None else value.element_size() * value.numel()


def _checksum(value: Optional[torch.Tensor]) -> int:
    return 0 if value is None else zlib.crc32(_bytes(value.detach().cpu()))


def attributes(module: torch.nn.Module) -> Dict[str, Any]:
    """Numbers, arrays and tensors among the attributes of all layers, and the identity of their parameters."""
    found: Dict[str, Any] = {}
    for prefix, layer in module.named_modules():
        before = f"{prefix}." if prefix else ""
        for name, value in vars(layer).items():
            if name != "training":
                copy = _copy(value)
                if copy is not None:
                    found[before + name] = copy
        for name, value in (*layer._buffers.items(), *layer._parameters.items()):
            found[before + name] = Same(value)
    return found


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _bytes(value.detach().cpu().clone())
    if isinstance(value, numpy.ndarray):
        return value.copy()
    return value if isinstance(value, (int, float, complex, numpy.generic)) else None
