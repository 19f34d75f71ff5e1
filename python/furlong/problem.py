"""The interface between Furlong and a model: named parameters, clients, a loss with its gradient.

Furlong keeps the loop. Algorithms, local optimizer, reconstruction, clipping, aggregation and store are in the furlong
command; it calls the methods below for one batch at a time. A problem has no state that a result depends on: every call
can be repeated in another process and must give the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Collection, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy

from .errors import ProblemError, place_of_class
from .phase import Phase
from .phase import Task as PhaseTask
from .step import Step

if TYPE_CHECKING:
    from .algorithm import Algorithm
    from .task import Task
    from .task_request import TaskRequest

#: The parts of a client's examples, by their number in the protocol; also the groups of clients.
PARTS = ("train", "validation", "test")
_NUMBERS = (int, float, complex, numpy.generic)


class Client(NamedTuple):
    """A client and the sizes of its parts.

    Its examples are numbered 0 ... size - 1 in each part. Clients of the group ``train`` are trained; those of the
    groups ``validation`` and ``test`` are never seen in training and only evaluated.
    """

    name: str
    train: int
    validation: int = 0
    test: int = 0
    group: str = "train"


class Constant(NamedTuple):
    """An entry of a module's state that training does not move."""

    name: str
    shape: Tuple[int, ...]
    dtype: str
    #: Its bytes in C order, as uint8.
    content: numpy.ndarray


class Same(NamedTuple):
    """In a state: an object that must stay the same one."""

    value: Any


#: Sum and count; the figure is sum / count, pooled over batches and clients.
Score = Tuple[float, float]


class Problem:
    """Base class of problems in numpy or plain Python; `furlong.torch.Problem` is the one for PyTorch.

    The class is constructed without arguments, once in each trainer process; see `options`. Methods run in one thread.
    ``random`` and ``numpy.random`` are seeded before each call.
    """

    #: Names of the metrics that evaluate() returns, each with its better direction, "max" or "min". "loss" is always
    #: there and not listed.
    metrics: Mapping[str, str] = {}

    #: Further metrics, which score_client() returns: of each client by itself, such as the area under a curve. The figure
    #: is the mean over clients.
    per_client: Mapping[str, str] = {}

    #: Names of options with their defaults: numbers, strings, True or False. Each is an attribute of the object before
    #: __init__ runs: the value of the scenario's key python.options.NAME, else the default.
    options: Mapping[str, Any] = {}

    #: A furlong.data.Data: clients() and, in PyTorch, batch() are its, where the class does not define them.
    data: Any

    def parameters(self, seed: int) -> Mapping[str, Any]:
        """Initial values by name: float32 arrays, or nested lists of numbers. Depends on nothing but the seed."""
        raise NotImplementedError

    def clients(self) -> Iterable[Client]:
        """All clients, in the same order in every process. The default: those of self.data (furlong.data.Data)."""
        return self.data.clients()

    def gradient(self, step: Step) -> float:
        """Returns the batch's mean loss and writes its gradient to step.gradients."""
        raise NotImplementedError

    #: Whether each step of an own fit() is weights -= rate * gradient, which SCAFFOLD and FedDyn need.
    plain: bool = False

    def fit(self, phase: Phase) -> None:
        """Trains a phase: moves phase.weights. The default takes the steps of [algorithm.client] by gradient(); it runs
        in the place of furlong's own loop with python.loop = "trainer"."""
        from .local_loop import fit_by_gradients  # which needs this module

        fit_by_gradients(self, phase)

    def evaluate(self, step: Step) -> Mapping[str, Score]:
        """Sums and counts of "loss" and of all metrics over the batch. The default calls gradient(), for problems
        without metrics."""
        examples = len(step.examples)
        return {"loss": (float(self.gradient(step)) * examples, examples)}

    def score_client(self, step: Step) -> Mapping[str, Optional[float]]:
        """The metrics of `per_client` for a client: step.examples are all its examples that are scored. None: the client
        has no such figure, and is not in the mean."""
        raise NotImplementedError

    def predict(self, step: Step) -> List[Any]:
        """One entry for each example: a number, a string, or a list or dict of such. Optional."""
        raise NotImplementedError

    def true_labels(self, step: Step) -> Optional[Any]:
        """What predict() is to be compared with, one entry for each example: None where there is none. None alone: the
        class does not say. For ``furlong export --predictions``."""
        return None

    def _use_device(self, name: str) -> None:
        """Called once before the constructor, if python.devices names one. Raises ProblemError."""
        raise ProblemError(f"python.devices is set, and {type(self).__name__} is no problem in PyTorch", "derive it from "
                           "furlong.torch.Problem, or remove python.devices", place_of_class(type(self)))

    def _start(self, threads: int, deterministic: bool) -> None:
        """Called once after the constructor."""

    def _arithmetic(self) -> str:
        """What results depend on besides the class; "" if that is not known."""
        return ""

    def _forget_values(self) -> None:
        """Before a request: the values at its offsets may be others than before."""

    def _seed(self, seed: int) -> None:
        """Seeds all generators that the class may draw from."""
        from .loading import seed_globals  # which needs this module

        seed_globals(seed)

    def _phase(self, task: PhaseTask) -> Phase:
        """What fit() is called with."""
        return Phase(self, task)

    def _task(self, algorithm: "Algorithm", request: "TaskRequest") -> "Task":
        """What the algorithm's methods are called with."""
        from .task import Task  # which needs this module

        return Task(self, algorithm, request)

    def _load(self, client: int, part: str, examples: numpy.ndarray) -> Any:
        """What a batch of a training loop is."""
        return examples

    def _begin_client(self) -> None:
        """Before the batches of a client are evaluated one by one."""

    def _end_client(self, steps: Sequence[Step]) -> Any:
        """Calls score_client() for the examples of these."""
        first = steps[0]
        examples = numpy.concatenate([step.examples for step in steps])
        return self.score_client(Step(first._layout, first.client, first.part, examples, 0, first.round))

    def _fits(self) -> bool:
        """Whether the class has a fit() of its own."""
        return type(self).fit is not Problem.fit

    def _has_gradient(self) -> bool:
        return type(self).gradient is not Problem.gradient

    def _predicts(self) -> bool:
        return type(self).predict is not Problem.predict

    def _has_labels(self) -> bool:
        """True if true_labels() may say something."""
        return type(self).true_labels is not Problem.true_labels

    def _buffers(self) -> Collection[str]:
        """Names of parameters that training moves without a gradient; after parameters()."""
        return ()

    def _constants(self) -> List[Constant]:
        """Values that are no parameters and belong to the model; after parameters()."""
        return []

    def _use_constants(self, places: Mapping[str, Tuple[memoryview, numpy.ndarray]]) -> None:
        """Memory for each of them that has their values, and the bytes that these must keep."""

    def _aliases(self) -> Mapping[str, str]:
        """Other names of parameters, to their names in parameters()."""
        return {}

    def _constants_digest(self) -> str:
        """SHA-256 of what must be equal in all processes besides the parameters; "" if there is nothing."""
        return ""

    def _layers_over_batches(self) -> List[str]:
        """Layers whose results for an example depend on the other examples of its batch, in evaluation."""
        return []

    def _state(self) -> Dict[str, Any]:
        """What may have changed since the last call: plain numbers among the attributes, by a name for messages."""
        return {f"self.{name}": value for name, value in vars(self).items() if isinstance(value, _NUMBERS)}


__all__ = ["Client", "Problem", "Score", "Step", "PARTS"]
