"""The interface between Furlong and a model: named parameters, clients, a loss with its gradient.

Furlong keeps the loop. Algorithms, local optimizer, reconstruction, clipping, aggregation and store are in the furlong
command; it calls the methods below for one batch at a time. A problem has no state that a result depends on: every call
can be repeated in another process and must give the same bytes.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

import numpy

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


class Step:
    """One batch of one client. Valid during the call only: the arrays are views of shared memory."""

    __slots__ = ("parameters", "gradients", "client", "part", "examples", "seed", "round", "_layout", "_random")

    #: Values by name, float32 in the shapes of Problem.parameters; read-only.
    parameters: Mapping[str, numpy.ndarray]
    #: Where gradient() writes, by name and in the same shapes. Only parameters that are trained in this step are
    #: present. The arrays have arbitrary contents before the call: assign all of each (``g[...] = value``), or set
    #: them to zero first. Empty in evaluate() and predict().
    gradients: Mapping[str, numpy.ndarray]
    #: Index of the client in Problem.clients().
    client: int
    #: "train", "validation" or "test".
    part: str
    #: Numbers of the batch's examples in that part, int64, in order.
    examples: numpy.ndarray
    #: Seed of this step, 64 bits; 0 in evaluation.
    seed: int
    #: In training the number of the round that is being made: 1, 2, ...; in evaluation the number of rounds made so
    #: far. 0 if unknown, as in predict().
    round: int

    def __init__(self, layout: Any, client: int, part: str, examples: numpy.ndarray, seed: int,
                 round: int = 0) -> None:
        self.parameters = layout.parameters
        self.gradients = layout.gradients
        self.client = client
        self.part = part
        self.examples = examples
        self.seed = seed
        self.round = round
        self._layout = layout
        self._random: Optional[numpy.random.Generator] = None

    @property
    def random(self) -> Optional[numpy.random.Generator]:
        """A generator seeded by the step; None in evaluation, where nothing is drawn."""
        if self._random is None and self.seed:
            self._random = numpy.random.Generator(numpy.random.Philox(key=self.seed))
        return self._random


class Constant(NamedTuple):
    """An entry of a module's state that is not trained."""

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

    def evaluate(self, step: Step) -> Mapping[str, Score]:
        """Sums and counts of "loss" and of all metrics over the batch. The default calls gradient(), for problems
        without metrics."""
        examples = len(step.examples)
        return {"loss": (float(self.gradient(step)) * examples, examples)}

    def predict(self, step: Step) -> List[Any]:
        """One entry for each example: a number, a string, or a list or dict of such. Optional."""
        raise NotImplementedError

    def true_labels(self, step: Step) -> Optional[Any]:
        """What predict() is to be compared with, one entry for each example: None where there is none. None alone: the
        class does not say. For ``furlong export --predictions``."""
        return None

    def _start(self, threads: int, deterministic: bool) -> None:
        """Called once after the constructor."""

    def _predicts(self) -> bool:
        return type(self).predict is not Problem.predict

    def _has_labels(self) -> bool:
        """True if true_labels() may say something."""
        return type(self).true_labels is not Problem.true_labels

    def _constants(self) -> List[Constant]:
        """Values that are no parameters and belong to the model; after parameters()."""
        return []

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
