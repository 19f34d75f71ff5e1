"""Problems in PyTorch: a module and a loss are enough."""

from __future__ import annotations

from typing import Any, Collection, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy
import torch

from . import buffers, devices, modules
from .algorithm import Algorithm as _Algorithm
from .bound_module import BoundModule
from .data import Data
from .phase import Task
from .problem import Client, Constant, Score, Step
from .task_request import TaskRequest
from .torch_phase import Phase
from .torch_task import Algorithm
from .torch_task import Task as TorchTask

_INSTEAD = "use torch.nn.GroupNorm or LayerNorm"


class Problem(BoundModule):
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
    _moved_data: Optional[Tuple[Data, Data]] = None  # the data, and the same on the device
    _seen: Optional[List[Tuple[Any, Any]]] = None  # outputs and targets of batches, for score_client()

    def module(self) -> torch.nn.Module:
        """Makes a new module, with initial values by torch's generator, which is seeded. All parameters that are
        trained are float32. Called several times."""
        raise NotImplementedError

    def batch(self, client: int, part: str, examples: numpy.ndarray) -> Tuple[Any, Any]:
        """Inputs and targets of a client's examples (numbers in the part "train", "validation" or "test"). The default:
        those of self.data (furlong.data.Data), arrays as tensors. On a device these are there as a whole."""
        data = self.data
        if self._copies:
            if self._moved_data is None or self._moved_data[0] is not data:
                self._moved_data = data, data.with_arrays(
                    lambda values: devices.moved_to(modules.as_tensors(values), self.device))
            data = self._moved_data[1]
        inputs, targets = data.batch(client, part, examples)
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

    def score_client(self, outputs: Any, targets: Any) -> Mapping[str, Optional[float]]:  # type: ignore[override]
        """As in furlong.Problem, of what score() gets in batches, joined."""
        raise NotImplementedError

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
        module.to(self.device)
        parameters = modules.trained(module, self._refuse)
        moving = buffers.find(module, self.buffers, self._refuse)
        if self._module is None:
            self._module = module
            self._trained = parameters
            self._moving = moving if moving.tensors() else None
            self._fixed = modules.Fixed.of(module, [*parameters.values(), *moving.tensors().values(), *moving.beside()])
            if self._copies:
                self._values = devices.Placement(self.device, self._moved())
        return {name: tensor.detach().cpu().contiguous().numpy()
                for name, tensor in (*parameters.items(), *moving.tensors().items())}

    def gradient(self, step: Step) -> float:
        if step._layout is not self._layout or self._copies:
            self._bind(step._layout)
        loss = self._backward(step)
        if self._copies:
            assert self._slopes is not None
            layout = step._layout
            trained = [name for name in self._trained if name in layout.gradients]
            self._slopes.download(layout.gradients, trained)
            self._values.download(layout.gradients, [name for name in layout.gradients if name not in self._trained])
            self._values.download(layout.values, layout.in_place)
        return loss

    def _backward(self, step: Step) -> float:
        """The mean loss of a batch, after which the bound parameters have its gradient."""
        module = self._module
        assert module is not None
        training = step.dropout
        self._set_mode(training, () if training or self._moving is None else self._binding.moved)
        devices.seed_generators(self.device, step.seed)
        if self._moving is not None:
            self._moving.begin(self._binding)
        inputs, targets = self._examples(step.client, step.part, step.examples)
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
        if self._seen is not None:
            self._seen.append((outputs, targets))
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
        torch.backends.cudnn.benchmark = False
        if self._copies and type(self).gradient is not Problem.gradient:
            self._refuse("python.devices is set, and the class has a gradient() of its own, which has arrays of the "
                         "processor", "define loss() and leave gradient() out, or remove python.devices", "gradient")

    def _arithmetic(self) -> str:
        return devices.arithmetic(self.device)

    def _examples(self, client: int, part: str, examples: numpy.ndarray) -> Tuple[Any, Any]:
        """batch(), on the device."""
        batch = self.batch(client, part, examples)
        return devices.moved_to(batch, self.device) if self._copies else batch

    def _begin_client(self) -> None:
        self._seen = []

    def _end_client(self, steps: Sequence[Step]) -> Any:
        seen, self._seen = self._seen, None
        if not seen:
            self._refuse("evaluate() does not call score(), and the class has per_client", "leave evaluate() out",
                         "evaluate")
        with torch.no_grad():
            return self.score_client(*(modules.joined([batch[i] for batch in seen], self._refuse) for i in (0, 1)))

    def _buffers(self) -> Collection[str]:
        return self._moving.tensors() if self._moving is not None else ()

    def _constants(self) -> List[Constant]:
        if self._moving is not None:
            self._moving.reset_beside()
        return modules.constants(self._module, self._moved()) if self._module is not None else []

    def _use_constants(self, places: Mapping[str, Tuple[memoryview, numpy.ndarray]]) -> None:
        assert self._module is not None
        if self._copies:
            return  # the module has its own, on the device
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

    def _phase(self, task: Task) -> Phase:
        return Phase(self, task)

    def _seed(self, seed: int) -> None:
        super()._seed(seed)
        torch.manual_seed(seed)

    def _task(self, algorithm: _Algorithm, request: TaskRequest) -> TorchTask:
        return TorchTask(self, algorithm, request)

    def _load(self, client: int, part: str, examples: numpy.ndarray) -> Any:
        return self._examples(client, part, examples)

    def _forward(self, step: Step) -> Tuple[Any, Any]:
        if step._layout is not self._layout:
            self._bind(step._layout)
        module = self._module
        assert module is not None
        self._set_mode(False, ())
        devices.seed_generators(self.device, 0)
        if self._moving is not None:
            self._moving.begin(self._binding)
        with torch.no_grad():
            inputs, targets = self._examples(step.client, step.part, step.examples)
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

    def _check_evaluated(self) -> None:
        """After an evaluation."""
        moved = self._moving and self._moving.moved_in_evaluation(self._binding)
        if moved:
            self._refuse(f'the buffer "{moved}" of the module changes in evaluation', "change it if self.training alone")
        if self._fixed is not None:
            self._check_fixed("evaluation")

    def _check_loss(self, loss: Any) -> None:
        fix = "return the mean over the batch, such as torch.nn.functional.cross_entropy(outputs, targets)"
        if not isinstance(loss, torch.Tensor):
            self._refuse(f"loss() returned a {type(loss).__name__}", fix, "loss")
        if loss.numel() != 1:
            self._refuse(f"loss() returned a tensor of the shape {tuple(loss.shape)}", fix, "loss")
        if not loss.requires_grad:
            self._refuse("the loss does not depend on the parameters that are trained",
                         "compute it from the outputs, without detach(), item() or no_grad()", "loss")


__all__ = ["Algorithm", "Client", "Phase", "Problem", "Score", "Step"]
