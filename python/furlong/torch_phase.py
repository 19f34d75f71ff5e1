"""Phases of training of a PyTorch module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

import numpy
import torch

from .local_data import refuse
from .local_loop import LocalOptimizer
from .phase import DIFFERENCE, VALUES, Recorded, Room, Task, Term, Weights
from .phase import Phase as _Phase
from .step import Step

if TYPE_CHECKING:
    from .torch import Problem


class _CopiedWeights(Weights):
    """Those of a module on a device, as they are when they are read."""

    def __init__(self, room: Room, problem: "Problem") -> None:
        super().__init__(room)
        self._problem = problem

    def __getitem__(self, name: str) -> numpy.ndarray:
        array = super().__getitem__(name)
        self._problem._copy_moved(self._room, self._problem, "fit")
        copy = array.copy()
        copy.flags.writeable = False
        return copy

    def __setitem__(self, name: str, value: Any) -> None:
        refuse(f'phase.weights["{name}"] is set, and the module is on a device', "set the parameters of phase.module")


class _TensorOptimizer(LocalOptimizer):
    """Of tensors on a device."""

    def _zeros(self, like: Any) -> Any:
        return torch.zeros_like(like)

    def _root(self, array: Any) -> Any:
        return torch.sqrt(array)

    def _square_sum(self, array: Any) -> float:
        if array.device.type == "cpu":
            return super()._square_sum(array.numpy())
        return float(array.double().square().sum())


class Phase(_Phase):
    """A phase of a module: `batches` gives what Problem.batch() returns, `correct` changes the parameters' grad."""

    __slots__ = ("module", "_generator", "_placed")

    #: The module, whose parameters are the phase's weights: those that are trained require gradients. In training mode
    #: if the phase trains with dropout.
    module: torch.nn.Module
    _problem: "Problem"

    def __init__(self, problem: "Problem", task: Task) -> None:
        super().__init__(problem, task)
        self.module = problem._bind_room(task.room, self.dropout)
        self._generator: Optional[torch.Generator] = None
        self._placed: Dict[int, torch.Tensor] = {}  # the terms, on the device
        if problem._copies:
            self.weights = _CopiedWeights(task.room, problem)
        torch.manual_seed(self.seed)

    @property
    def generator(self) -> torch.Generator:
        """A generator seeded by the phase, of the module's device."""
        if self._generator is None:
            self._generator = torch.Generator(self._problem.device).manual_seed(self.seed)
        return self._generator

    @property
    def gradients(self) -> Mapping[str, numpy.ndarray]:
        """As in furlong.Phase; not where the module is on a device."""
        if self._problem._copies:
            refuse("phase.gradients is read, and the module is on a device", "use the grad of the parameters of "
                   "phase.module")
        return super().gradients

    def step(self, examples: numpy.ndarray) -> Step:
        """As in furlong.Phase; not where the module is on a device."""
        if self._problem._copies:
            refuse("phase.step() is called, and the module is on a device", "call phase.module and loss.backward()")
        return super().step(examples)

    def _optimizer(self) -> LocalOptimizer:
        problem = self._problem
        if not problem._copies:
            return super()._optimizer()
        gradients = problem._gradient_tensors()
        problem._gradients = [gradients[name] for name in self.trained]
        for name in self.trained:
            problem._trained[name].grad = gradients[name]
        return _TensorOptimizer(self, problem._values.tensors, gradients)

    def _loss_with_gradients(self, examples: numpy.ndarray) -> float:
        if not self._problem._copies:
            return super()._loss_with_gradients(examples)
        return self._problem._backward(super().step(examples))

    def _add(self, term: Term) -> None:
        with torch.no_grad():
            for name, array in term.values.items():
                parameter = self._problem._trained[name]
                values = self._on_device(array)
                if term.form != VALUES:
                    values = parameter - values if term.form == DIFFERENCE else parameter
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameter.grad.add_(values, alpha=term.factor)

    def _on_device(self, array: numpy.ndarray) -> torch.Tensor:
        """The values of a term, which stay as they are."""
        if not self._problem._copies:
            return torch.from_numpy(array)
        if id(array) not in self._placed:
            self._placed[id(array)] = torch.from_numpy(array).to(self._problem.device)
        return self._placed[id(array)]

    def _gradient(self, name: str) -> Any:
        gradient = self._problem._trained[name].grad
        return 0.0 if gradient is None else gradient.detach().cpu().numpy()

    def _end(self) -> Recorded:
        self._problem._collect(self._room)
        return super()._end()
