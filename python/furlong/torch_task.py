"""Algorithms for problems in PyTorch, and their tasks: the module at the weights, and at other values."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy
import torch

from . import devices, values
from .algorithm import Algorithm as _Algorithm
from .arrays import Values
from .errors import ProblemError, place_of_class, place_of_method
from .step import Step
from .task import Task as _Task
from .task_request import TaskRequest

if TYPE_CHECKING:
    from .problem import Problem as _Problem
    from .torch import Problem


class Algorithm(_Algorithm):
    """An algorithm for problems in PyTorch. Their tasks have `module`, `frozen` and `generator`."""

    def outputs(self, t: "Task", inputs: Any) -> Any:
        """What predicts for a client after personalize(), where it is no set of weights: it is called without gradients,
        the module in evaluation mode. Optional; the default is Problem.outputs(t.module, inputs)."""
        return t.problem.outputs(t.module, inputs)

    def _has_outputs(self) -> bool:
        return type(self).outputs is not Algorithm.outputs

    def _check_problem(self, problem: "_Problem") -> None:
        from .torch import Problem  # which needs this module

        if not isinstance(problem, Problem):
            raise ProblemError(f"class {type(self).__name__} needs a problem in PyTorch, and {type(problem).__name__} is "
                               "none", "derive the algorithm from furlong.Algorithm, or the problem from "
                               "furlong.torch.Problem", place_of_class(type(self)))


class Task(_Task):
    """A task of a module: `batches` gives what Problem.batch() returns."""

    problem: "Problem"

    def __init__(self, problem: "Problem", algorithm: _Algorithm, request: TaskRequest) -> None:
        super().__init__(problem, algorithm, request)
        self._handed = False
        self._generator: Optional[torch.Generator] = None
        self._frozen: Dict[Any, int] = {}
        self._held: List[Values] = []
        torch.manual_seed(self.seed)

    @property
    def module(self) -> torch.nn.Module:
        """The module. Its parameters are `weights`: what an optimizer does to one is in the other."""
        if not self._handed:
            self._handed = True
            self._return_to_weights()
        assert self.problem._module is not None
        return self.problem._module

    @property
    def weights(self) -> Values:
        self._leave_weights()
        if self._handed and self.problem._copies:
            return Values(self._room.values, "t.weights", "the module has them on a device: assign all, t.weights = ...")
        return self._weights

    @weights.setter
    def weights(self, given: Mapping[str, Any]) -> None:
        self._leave_weights()
        self._weights.update(given)
        if self.problem._copies:
            self._return_to_weights()

    weights.__doc__ = _Task.weights.__doc__

    @property
    def generator(self) -> torch.Generator:
        """A generator seeded by the task, of the module's device."""
        if self._generator is None:
            self._generator = torch.Generator(self.problem.device).manual_seed(self.seed)
        return self._generator

    def frozen(self, which: Union[str, Values]) -> torch.nn.Module:
        """A copy of the module at other values, in evaluation mode and without gradients: at "received", at those of the
        group of this name, or at such values; other parameters are as received."""
        given = self.received if which == "received" else self._values(which, "frozen")
        key = which if isinstance(which, str) else id(which)
        self._held.append(given)
        number = self._frozen.setdefault(key, len(self._frozen))
        copies = self._request.copies
        if number == len(copies):
            copies.append(self._copied())
        module, arrays = copies[number]
        needed = {name: given[name] if name in given else self.received[name] for name in self.problem._moved()}
        if isinstance(arrays, devices.Placement):
            arrays.upload(needed)
        else:
            for name, array in arrays.items():
                array[...] = needed[name]
        return module.eval()

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _copied(self) -> Tuple[torch.nn.Module, Union[Dict[str, numpy.ndarray], devices.Placement]]:
        """A module with the same constants, and what training moves of its own, which are these arrays or tensors."""
        module, moved = self.problem._module, self.problem._moved()
        assert module is not None
        ours = {id(tensor) for tensor in moved.values()}
        constants = {id(one): one for one in (*module.parameters(), *module.buffers()) if id(one) not in ours}
        made = copy.deepcopy(module, constants)
        named = {**dict(made.named_parameters()), **dict(made.named_buffers())}
        for name in moved:
            named[name].requires_grad_(False)
        if self.problem._copies:
            placed = devices.Placement(self.problem.device, moved)
            for name, tensor in placed.tensors.items():
                named[name].data = tensor
            return made, placed
        return made, {name: named[name].numpy() for name in moved}

    def _current_weights(self) -> Values:
        self._leave_weights()
        return self._weights

    def _leave_weights(self) -> None:
        if self._handed:
            self.problem._copy_moved(self._room, self._algorithm, "train")

    def _return_to_weights(self) -> None:
        if self._handed:
            self.problem._bind_room(self._room, self._request.settings["dropout"])

    def _evaluate(self, step: Step) -> Mapping[str, Any]:
        if not self._algorithm._has_outputs():
            return super()._evaluate(step)
        return self.problem._scores(*self._outputs(step), len(step.examples))

    def _predictions(self, step: Step) -> List[Any]:
        if not self._algorithm._has_outputs():
            return super()._predictions(step)
        with torch.no_grad():
            entries = self.problem.predictions(self._outputs(step)[0])
        return values.entries_of(entries, "predictions", len(step.examples), place_of_method(self.problem, "predictions"))

    def _outputs(self, step: Step) -> Tuple[Any, Any]:
        """Those of Algorithm.outputs(), and the targets."""
        self.module.eval()
        devices.seed_generators(self.problem.device, 0)
        with torch.no_grad():
            inputs, targets = self.problem._examples(step.client, step.part, step.examples)
            return self._algorithm.outputs(self, inputs), targets

    def _kept_draws(self, call: Any) -> Any:
        kept = devices.states(self.problem.device)
        result = super()._kept_draws(call)
        devices.restore(self.problem.device, kept)
        return result

    def _end(self, method: str) -> None:
        if self._handed:
            self.problem._collect(self._room, self._algorithm, method)
            self._handed = False


__all__ = ["Algorithm", "Task"]
