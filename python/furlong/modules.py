"""What a PyTorch module has besides what training moves: constants, other names, attributes."""

from __future__ import annotations

import hashlib
import types
import zlib
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy
import torch

from .buffers import Refuse
from .problem import Constant, Same

_BatchNorm = torch.nn.modules.batchnorm._BatchNorm
_PIECE = 1 << 20  # bytes that are compared at once
_MOST_COMPARED = 64 << 20  # bytes of fixed values that are compared in later steps too


def as_tensors(values: Any) -> Any:
    """Arrays as tensors, also within a tuple or dict; all else as it is."""
    if isinstance(values, tuple):
        return tuple(as_tensors(entry) for entry in values)
    if isinstance(values, dict):
        return {key: as_tensors(entry) for key, entry in values.items()}
    return torch.from_numpy(values) if isinstance(values, numpy.ndarray) and values.dtype.kind in "biuf" else values


def joined(batches: Sequence[Any], refuse: Refuse) -> Any:
    """Outputs or targets of several batches, one after the other: tensors, arrays, and tuples, lists or dicts of such."""
    first = batches[0]
    if len(batches) == 1:
        return first
    if isinstance(first, dict):
        entries = {key: joined([batch[key] for batch in batches], refuse) for key in first}
        return entries if type(first) is dict else type(first)(**entries)  # such as those of transformers
    if isinstance(first, (tuple, list)):
        return type(first)(joined(entry, refuse) for entry in zip(*batches))
    try:
        if isinstance(first, torch.Tensor):
            return torch.cat(list(batches))
        return numpy.concatenate(batches)
    except (RuntimeError, ValueError) as error:
        refuse(f"outputs or targets of batches cannot be joined for score_client(): {error}",
               "return tensors whose first dimension is that of the examples, and whose others are the same in all batches, "
               "or raise evaluation.batch_size", "score_client")


def trained(module: torch.nn.Module, refuse: Refuse) -> Dict[str, torch.nn.Parameter]:
    """The parameters that are trained, by the first of their names; refuses what cannot be."""
    for name, parameter in module.named_parameters():
        if isinstance(parameter, torch.nn.parameter.UninitializedParameter):
            refuse(f'parameter "{name}" has no shape yet', "use the module without Lazy, with its sizes")
    found = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    if not found and next(module.parameters(), None) is not None:
        refuse("all parameters of the module have requires_grad=False", "leave it True for those that are trained")
    for name, parameter in found.items():
        if parameter.dtype != torch.float32:
            refuse(f'parameter "{name}" is {parameter.dtype}', "make the module float32: module.float()")
    sparse = next((name for name, value in _tensors(module).items() if value.layout is not torch.strided), None)
    if sparse is not None:
        refuse(f'"{sparse}" in the state_dict() of the module is sparse, and no model file can have it',
               "make it dense, or register_buffer(..., persistent=False)")
    return found


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


def aliases(module: torch.nn.Module, moved: Mapping[str, torch.Tensor]) -> Dict[str, str]:
    """Other names in state_dict() of what training moves, to the name that each has there."""
    names = {id(tensor): name for name, tensor in moved.items()}
    return {name: names[id(value)] for name, value in _tensors(module).items()
            if names.get(id(value), name) != name}


def constants(module: torch.nn.Module, moved: Mapping[str, torch.Tensor]) -> List[Constant]:
    """The entries of state_dict() that training does not move: frozen parameters and persistent buffers."""
    return [_constant(name, value) for name, value in _fixed_tensors(module, moved).items()]


def _fixed_tensors(module: torch.nn.Module, moved: Mapping[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    ours = {id(tensor) for tensor in moved.values()}
    return {name: value for name, value in _tensors(module).items() if id(value) not in ours}


def use_constants(module: torch.nn.Module, moved: Mapping[str, torch.Tensor], own: Iterable[torch.Tensor],
                  places: Mapping[str, Tuple[Any, numpy.ndarray]]) -> Dict[int, numpy.ndarray]:
    """Gives the constants their values at these places, memory that can be written and its bytes as they are to stay,
    and frees those that they have; returns the bytes by the identity of the tensor.

    own: tensors that keep their memory
    """
    kept = {id(value) for value in own}
    bytes_of: Dict[int, numpy.ndarray] = {}
    for name, value in _fixed_tensors(module, moved).items():
        if (value.layout is not torch.strided or value.device.type != "cpu" or value.is_quantized or value.is_conj()
                or value.is_neg() or not value.is_contiguous() or not value.numel() or id(value) in kept):
            continue
        memory, content = places[name]
        value.data = torch.frombuffer(memory, dtype=value.dtype).view(value.shape)
        bytes_of[id(value)] = content
    return bytes_of


def _constant(name: str, value: torch.Tensor) -> Constant:
    return Constant(name, tuple(value.shape), str(value.dtype).rpartition(".")[2], _bytes(value.detach().cpu()))


def _bytes(value: torch.Tensor) -> numpy.ndarray:
    if value.layout is not torch.strided:
        value = (value if value.is_sparse else value.to_sparse()).coalesce()
        return numpy.concatenate([_bytes(value.indices()), _bytes(value.values())])
    # numpy has no bfloat16.
    return value.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy()


def constants_digest(module: torch.nn.Module, moved: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 of the constants and of the buffers that are not in state_dict(); "" if there are none."""
    every = constants(module, moved)
    known = {one.name for one in every} | moved.keys()
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
    content: Optional[numpy.ndarray]  # its bytes, if they are kept elsewhere
    checksum: int
    text: str
    end: str

    def differs(self) -> bool:
        if self.value is None:
            return False
        if self.content is not None:
            own = _bytes(self.value.detach().cpu())
            return not all(numpy.array_equal(own[at : at + _PIECE], self.content[at : at + _PIECE])
                           for at in range(0, len(own), _PIECE))
        return _checksum(self.value) != self.checksum


class Fixed:
    """What a module must not change: parameters and buffers that training does not move, as they were at first. Every
    call compares identities and the versions that PyTorch counts; a change through .data counts none, therefore some
    calls compare bytes as well."""

    def __init__(self, module: torch.nn.Module, moved: Iterable[torch.Tensor]) -> None:
        ours = {id(tensor) for tensor in moved}
        self._held: List[_Held] = []
        self._size = 0
        self._calls = {"training": 0, "evaluation": 0}
        for prefix, layer in module.named_modules():
            before = f"{prefix}." if prefix else ""
            for name, value in layer._buffers.items():
                if value is None or id(value) not in ours:
                    self._hold(layer._buffers, name, value, f'the buffer "{before}{name}" of the module',
                               ", and is not in buffers")
            for name, value in layer._parameters.items():
                if value is not None and id(value) not in ours:
                    self._hold(layer._parameters, name, value,
                               f'the parameter "{before}{name}" of the module has requires_grad=False, and', "")

    @classmethod
    def of(cls, module: torch.nn.Module, moved: Iterable[torch.Tensor]) -> Optional["Fixed"]:
        """None if there is nothing of this kind besides what training moves."""
        made = cls(module, moved)
        return made if made._held else None

    def changed(self, when: str) -> Optional[str]:
        """After a call in "training" or "evaluation": says what is another one now, or None."""
        self._calls[when] = number = self._calls[when] + 1
        # The first step and its repetition always, then ever more rarely. The order of calls alone decides.
        compared = number <= 2 or (self._size <= _MOST_COMPARED and (number % 64 == 0 or number & (number - 1) == 0))
        for held in self._held:
            value = held.value
            if (held.owner.get(held.name) is not value or (value is not None and value._version != held.version)
                    or (compared and held.differs())):
                return f"{held.text} changes in {when}{held.end}"
        return None

    def compare_with(self, bytes_of: Mapping[int, numpy.ndarray]) -> None:
        """Tensors, by identity, whose bytes are kept there."""
        self._held = [held._replace(content=bytes_of.get(id(held.value)),
                                    version=-1 if held.value is None else held.value._version) for held in self._held]

    def _hold(self, owner: Dict[str, Any], name: str, value: Optional[torch.Tensor], text: str, end: str) -> None:
        version = -1 if value is None else value._version
        self._held.append(_Held(owner, name, value, version, None, _checksum(value), text, end))
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
