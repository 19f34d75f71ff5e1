"""One batch, as the methods of a problem see it."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import numpy


class Step:
    """One batch of one client. Valid during the call only: the arrays are views of shared memory."""

    __slots__ = ("parameters", "gradients", "client", "part", "examples", "seed", "round", "dropout",
                 "_layout", "_random")

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
    #: Whether the step is one of training with dropout: not in a reconstruction, nor in evaluation.
    dropout: bool

    def __init__(self, layout: Any, client: int, part: str, examples: numpy.ndarray, seed: int,
                 round: int = 0, dropout: bool = False) -> None:
        self.parameters = layout.parameters
        self.gradients = layout.gradients
        self.client = client
        self.part = part
        self.examples = examples
        self.seed = seed
        self.round = round
        self.dropout = dropout
        self._layout = layout
        self._random: Optional[numpy.random.Generator] = None

    @property
    def random(self) -> Optional[numpy.random.Generator]:
        """A generator seeded by the step; None in evaluation, where nothing is drawn."""
        if self._random is None and self.seed:
            self._random = numpy.random.Generator(numpy.random.Philox(key=self.seed))
        return self._random
