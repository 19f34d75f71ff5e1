"""Problems in PyTorch: a module and a loss are enough."""

from __future__ import annotations

from typing import Any, Collection, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

import numpy
import torch

from . import buffers, modules
from .algorithm import Algorithm as _Algorithm
from .buffers import Binding, Buffers
from .errors import ProblemError, place_of_method
from .phase import Room, Task
from .problem import Problem as _Problem
from .problem import Client, Constant, Score, Step
from .task_request import TaskRequest
from .torch_phase import Phase
from .torch_task import Algorithm
from .torch_task import Task as TorchTask

_INSTEAD = "use torch.nn.GroupNorm or LayerNorm"


class Problem(_Problem):
    """A problem whose parameters are those of a PyTorch module.

    Parameters and gradients are views of the memory that is shared with furlong. Random generators of torch, numpy and
    random are seeded for each step; torch uses deterministic algorithms and one thread, unless the scenario states
    otherwise. The module is in training mode in training and in evaluation mode otherwise. Parameters with
    requires_grad=False keep the values of module(), and so do buffers that are not in `buffers`.
    """

    #: Patterns of float32 buffers in the state of the module that forward() moves in training: they are tensors of the
    #: model, and a change is sent or kept as that of parameters. None: the running statistics of layers such as
    #: BatchNorm.
    buffers: Optional[Sequence[str]] = None

    _required = ("module", "clients", "batch", "loss")
    _module: Optional[torch.nn.Module] = None
    _layout: Any = None
    _trained: Dict[str, torch.nn.Parameter]
    _fitting = False
    _fixed: Optional[modules.Fixed] = None
    _moving: Optional[Buffers] = None  # None: the module has no buffers that move
    _binding: Binding
    _training_layers: Sequence[torch.nn.Module] = ()  # those in training mode where the module is not

    def module(self) -> torch.nn.Module:
        """Makes a new module, with initial values by torch's generator, which is seeded. All parameters that are
        trained are float32. Called several times."""
        raise NotImplementedError

    def batch(self, client: int, part: str, examples: numpy.ndarray) -> Tuple[Any, Any]:
        """Inputs and targets of a client's examples (numbers in the part "train", "validation" or "test"). The default:
        those of self.data (furlong.data.Data), arrays as tensors."""
        inputs, targets = self.data.batch(client, part, examples)
        return modules.as_tensors(inputs), modules.as_tensors(targets)

    def outputs(self, module: torch.nn.Module, inputs: Any) -> Any:
        """Calls the module: a tuple or list of inputs as its arguments, a dict as its named arguments."""
        if isinstance(inputs, (tuple, list)):
            return module(*inputs)
        if isinstance(inputs, dict):
            return module(**inputs)
        return module(inputs)

    def loss(self, outputs: Any, targets: Any) -> torch.Tensor:
        """The mean loss over the batch's examples, a scalar."""
        raise NotImplementedError

    def score(self, outputs: Any, targets: Any) -> Mapping[str, Score]:
        """The sum and count of each metric of `metrics` over the batch."""
        return {}

    def predictions(self, outputs: Any) -> Any:
        """A list, array or tensor with one entry for each example of the batch. Optional."""
        raise NotImplementedError

    def true_labels(self, step: Step) -> Optional[Any]:
        """As in furlong.Problem. The default: the targets of batch(), if these are one number for each example."""
        targets = self.batch(step.client, step.part, step.examples)[1]
        count = len(step.examples)
        if tuple(getattr(targets, "shape", ())) not in ((count,), (count, 1)):
            return None
        labels = targets.reshape(-1).tolist()
        return labels if all(isinstance(label, (int, float)) for label in labels) else None

    # ---- the interface of furlong.Problem ---------------------------------------------------------------------------

    def parameters(self, seed: int) -> Mapping[str, numpy.ndarray]:
        torch.manual_seed(seed)
        module = self.module()
        if not isinstance(module, torch.nn.Module):
            self._refuse(f"module() returned a {type(module).__name__}", "return a torch.nn.Module")
        if module is self._module:
            self._refuse("module() returned the same module twice", "make a new one in it, or return "
                         "copy.deepcopy(self.net): parameters of the first are Furlong's now")
        parameters = modules.trained(module, self._refuse)
        moving = buffers.find(module, self.buffers, self._refuse)
        if self._module is None:
            self._module = module
            self._trained = parameters
            self._moving = moving if moving.tensors() else None
            self._fixed = modules.Fixed.of(module, [*parameters.values(), *moving.tensors().values(), *moving.beside()])
        return {name: tensor.detach().cpu().contiguous().numpy()
                for name, tensor in (*parameters.items(), *moving.tensors().items())}

    def gradient(self, step: Step) -> float:
        if step._layout is not self._layout:
            self._bind(step._layout)
        module = self._module
        assert module is not None
        training = step.dropout
        self._set_mode(training, () if training or self._moving is None else self._binding.moved)
        torch.default_generator.manual_seed(step.seed)
        if self._moving is not None:
            self._moving.begin(self._binding)
        inputs, targets = self.batch(step.client, step.part, step.examples)
        try:
            outputs = self.outputs(module, inputs)
        except ValueError as error:
            self._refuse_batch_of_one(error)
            raise
        loss = self.loss(outputs, targets)
        for gradient in self._gradients:
            gradient.zero_()
        if self._gradients:
            try:
                loss.backward()
            except (AttributeError, RuntimeError):
                self._check_loss(loss)
                raise
        if self._moving is not None:
            self._moving.end(self._binding, self._refuse)
        if self._fixed is not None:
            self._check_fixed("training")
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            self._check_loss(loss)
        return loss.item()

    def evaluate(self, step: Step) -> Mapping[str, Score]:
        return self._scores(*self._forward(step), len(step.examples))

    def _scores(self, outputs: Any, targets: Any, examples: int) -> Mapping[str, Score]:
        """Those of evaluate()."""
        with torch.no_grad():
            loss = self.loss(outputs, targets)
            scores = self.score(outputs, targets)
        self._check_evaluated()
        if not isinstance(loss, (float, torch.Tensor)) or (isinstance(loss, torch.Tensor) and loss.numel() != 1):
            self._check_loss(loss)
        if not isinstance(scores, Mapping):
            self._refuse(f"score() returned a {type(scores).__name__}",
                         "return a dict of (sum, count) by name", "score")
        if "loss" in scores:
            self._refuse('score() returned "loss", which is that of loss()', "leave it out, or give it another name",
                         "score")
        return {"loss": (float(loss) * examples, examples), **scores}

    def predict(self, step: Step) -> List[Any]:
        with torch.no_grad():
            predictions = self.predictions(self._forward(step)[0])
        self._check_evaluated()
        return predictions.tolist() if hasattr(predictions, "tolist") else list(predictions)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _start(self, threads: int, deterministic: bool) -> None:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)

    def _moved(self) -> Dict[str, torch.Tensor]:
        """What training moves."""
        return {**self._trained, **(self._moving.tensors() if self._moving is not None else {})}

    def _buffers(self) -> Collection[str]:
        return self._moving.tensors() if self._moving is not None else ()

    def _constants(self) -> List[Constant]:
        if self._moving is not None:
            self._moving.reset_beside()
        return modules.constants(self._module, self._moved()) if self._module is not None else []

    def _use_constants(self, places: Mapping[str, Tuple[memoryview, numpy.ndarray]]) -> None:
        assert self._module is not None
        beside = self._moving.beside() if self._moving is not None else []
        bytes_of = modules.use_constants(self._module, self._moved(), beside, places)
        if self._fixed is not None:
            self._fixed.compare_with(bytes_of)

    def _aliases(self) -> Mapping[str, str]:
        return modules.aliases(self._module, self._moved()) if self._module is not None else {}

    def _constants_digest(self) -> str:
        return modules.constants_digest(self._module, self._moved()) if self._module is not None else ""

    def _layers_over_batches(self) -> List[str]:
        return modules.layers_over_batches(self._module) if self._module is not None else []

    def _state(self) -> Dict[str, Any]:
        return {**super()._state(), **(modules.attributes(self._module) if self._module is not None else {})}

    def _has_labels(self) -> bool:
        return True

    def _predicts(self) -> bool:
        return type(self).predictions is not Problem.predictions or type(self).predict is not Problem.predict

    def _bind(self, layout: Any) -> None:
        """Makes the module's parameters and gradients views of the layout's arrays."""
        assert self._module is not None
        self._leave_fit()
        if layout.tensors is None:
            layout.tensors = [
                (parameter, torch.from_numpy(layout.values[name]),
                 torch.from_numpy(layout.gradients[name]) if name in layout.gradients else None)
                for name, parameter in self._trained.items()
            ], self._moving and self._moving.binding(layout.values, layout.gradients, layout.in_place)
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

    def _phase(self, task: Task) -> Phase:
        return Phase(self, task)

    def _task(self, algorithm: _Algorithm, request: TaskRequest) -> TorchTask:
        return TorchTask(self, algorithm, request)

    def _load(self, client: int, part: str, examples: numpy.ndarray) -> Any:
        return self.batch(client, part, examples)

    def _bind_room(self, room: Room, training: bool) -> torch.nn.Module:
        """Makes the module's parameters and buffers views of the room's values, without gradients."""
        assert self._module is not None
        self._leave_fit()
        self._fitting = True
        self._layout = None
        if room.tensors is None:
            room.tensors = ({name: torch.from_numpy(room.values[name]) for name in self._trained},
                            self._moving and self._moving.binding(room.values, {}, room.moved))
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

    def _forward(self, step: Step) -> Tuple[Any, Any]:
        if step._layout is not self._layout:
            self._bind(step._layout)
        module = self._module
        assert module is not None
        self._set_mode(False, ())
        torch.default_generator.manual_seed(0)
        if self._moving is not None:
            self._moving.begin(self._binding)
        with torch.no_grad():
            inputs, targets = self.batch(step.client, step.part, step.examples)
            try:
                return self.outputs(module, inputs), targets
            except ValueError as error:
                self._refuse_batch_of_one(error)
                raise

    def _refuse_batch_of_one(self, error: ValueError) -> None:
        assert self._module is not None
        layer = modules.layer_of_batch_of_one(self._module, error)
        if layer is not None:
            self._refuse(f"{layer} normalizes by the batch, and this batch has one example",
                         "choose algorithm.client.batch_size such that no client has a last batch of one example, or "
                         + _INSTEAD)

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

    def _check_evaluated(self) -> None:
        """After an evaluation."""
        moved = self._moving and self._moving.moved_in_evaluation(self._binding)
        if moved:
            self._refuse(f'the buffer "{moved}" of the module changes in evaluation', "change it if self.training alone")
        if self._fixed is not None:
            self._check_fixed("evaluation")

    def _check_fixed(self, when: str) -> None:
        assert self._fixed is not None
        changed = self._fixed.changed(when)
        if changed is not None:
            self._refuse(changed, "leave it as module() makes it, or make it a parameter that is trained, or a buffer that "
                         "is named in buffers")

    def _check_loss(self, loss: Any) -> None:
        fix = "return the mean over the batch, such as torch.nn.functional.cross_entropy(outputs, targets)"
        if not isinstance(loss, torch.Tensor):
            self._refuse(f"loss() returned a {type(loss).__name__}", fix, "loss")
        if loss.numel() != 1:
            self._refuse(f"loss() returned a tensor of the shape {tuple(loss.shape)}", fix, "loss")
        if not loss.requires_grad:
            self._refuse("the loss does not depend on the parameters that are trained",
                         "compute it from the outputs, without detach(), item() or no_grad()", "loss")

    def _refuse(self, reason: str, fix: str, method: str = "module", owner: Any = None) -> NoReturn:
        """`method` is that of the class, or of `owner`."""
        raise ProblemError(reason, fix, place_of_method(owner or self, method))


__all__ = ["Algorithm", "Client", "Phase", "Problem", "Score", "Step"]
