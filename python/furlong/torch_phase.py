"""Phases of training of a PyTorch module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import torch

from .phase import DIFFERENCE, VALUES, Recorded, Task, Term
from .phase import Phase as _Phase

if TYPE_CHECKING:
    from .torch import Problem


class Phase(_Phase):
    """A phase of a module: `batches` gives what Problem.batch() returns, `correct` changes the parameters' grad."""

    __slots__ = ("module", "_generator")

    #: The module, whose parameters are the phase's weights: those that are trained require gradients. In training mode
    #: if the phase trains with dropout.
    module: torch.nn.Module
    _problem: "Problem"

    def __init__(self, problem: "Problem", task: Task) -> None:
        super().__init__(problem, task)
        self.module = problem._bind_room(task.room, self.dropout)
        self._generator: Optional[torch.Generator] = None
        torch.manual_seed(self.seed)

    @property
    def generator(self) -> torch.Generator:
        """A generator seeded by the phase."""
        if self._generator is None:
            self._generator = torch.Generator().manual_seed(self.seed)
        return self._generator

    def _add(self, term: Term) -> None:
        with torch.no_grad():
            for name, array in term.values.items():
                parameter = self._problem._trained[name]
                values = torch.from_numpy(array)
                if term.form != VALUES:
                    values = parameter - values if term.form == DIFFERENCE else parameter
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameter.grad.add_(values, alpha=term.factor)

    def _gradient(self, name: str) -> Any:
        gradient = self._problem._trained[name].grad
        return 0.0 if gradient is None else gradient.detach().cpu().numpy()

    def _end(self) -> Recorded:
        self._problem._collect(self._room)
        return super()._end()
