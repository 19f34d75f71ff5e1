"""Answers requests about single batches: gradients, evaluations, predictions and labels (docs/trainer-protocol.md)."""

from __future__ import annotations

import math
import struct
import sys
from typing import Any, List, Optional, Set, Tuple

import numpy

from . import errors, first_step, loading, values
from .errors import ProblemError
from .memory import Layout, mark_unwritten
from .messages import EVALUATE, GRADIENT, GROUP, LABELS, LOSS, OFFSETS, PREDICT, STEP, message
from .opened import Opened
from .problem import PARTS, Problem, Step

Group = Tuple[int, str, numpy.ndarray]


class Steps:
    """Of one opened problem. The methods take a request with its head, and return a reply."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._problem = opened.problem
        self._offsets = b""
        self._layout: Optional[Layout] = None
        self._written: Set[Tuple[str, ...]] = set()  # the sets of gradients whose first step was checked
        self._unchecked = False
        self._scored = False  # whether the first step of an evaluation was checked
        self._checksums: Any = {}
        self._round = 0
        self._batch_size = 0
        self._dropout = 1
        self._loss = bytearray(LOSS.size)

    def gradient(self, request: bytearray) -> bytearray:
        """One batch of training."""
        seed, self._round, count, groups, self._dropout = STEP.unpack_from(request, 8)
        at = OFFSETS + 16 * count
        if request[OFFSETS:at] != self._offsets:
            self._use(bytes(request[OFFSETS:at]), count)
        layout = self._layout
        problem = self._problem
        problem._forget_values()
        assert layout is not None
        if groups != 1:
            loss = self._pooled_gradient(problem, layout, seed, _groups(request, at, groups))
        else:
            client, part, size = GROUP.unpack_from(request, at)
            examples = numpy.frombuffer(request, numpy.uint32, size, at + 12).astype(numpy.int64)
            loss = values.mean_loss(problem, self._step(layout, (client, PARTS[part], examples), seed))
            if self._unchecked:
                self._check_first(problem, layout, (client, PARTS[part], examples), seed, loss)
            if not self._opened.warned and not math.isfinite(loss):
                self._warn(f"returned the loss {loss} for client {client}")
            loss *= size
        LOSS.pack_into(self._loss, 0, 12, GRADIENT, loss)
        return self._loss

    def _step(self, layout: Layout, group: Group, seed: int) -> Step:
        """One of training."""
        return Step(layout, *group, seed, self._round, self._dropout != 0)

    def _warn(self, what: str) -> None:
        """Once: values that are not finite. Training may diverge, so that they are no error."""
        self._opened.warned = True
        file, line = errors.place_of_method(self._problem, "gradient")
        print(f"{file}:{line}: gradient() {what}: look at its data and the function "
              f"(python -m furlong.check {self._opened.given}), or lower algorithm.client.lr", file=sys.stderr)

    def _pooled_gradient(self, problem: Problem, layout: Layout, seed: int, groups: List[Group]) -> float:
        """The gradient of the mean loss over several clients: the sum of theirs, weighted by their examples."""
        total = sum(len(examples) for _, _, examples in groups)
        scratch = layout.scratch()
        if self._unchecked:
            mark_unwritten(scratch.gradients)
        for array in layout.gradients.values():
            array.fill(0.0)
        loss = 0.0
        for number, (client, part, examples) in enumerate(groups):
            own_seed = (seed + number * 0x9E3779B97F4A7C15) % 2**64 or 1
            mean = values.mean_loss(problem, self._step(scratch, (client, part, examples), own_seed))
            if self._unchecked:
                self._check_first(problem, scratch, (client, part, examples), own_seed, mean)
            weight = numpy.float32(len(examples) / total)
            for name, array in scratch.gradients.items():
                array *= weight
                layout.gradients[name][...] += array
            loss += mean * len(examples)
        return loss

    def _use(self, offsets: bytes, count: int) -> None:
        """Makes the arrays at these offsets those of the next steps."""
        opened = self._opened
        if count != opened.count:
            raise ProblemError(f"a request has {count} parameters, the problem {opened.count}",
                               "use a furlong command and a package of one version")
        opened.initial = None
        self._layout = layout = opened.memory.layout(offsets)
        self._offsets = offsets
        self._unchecked = tuple(layout.gradients) not in self._written
        if self._unchecked and layout.gradients:
            mark_unwritten(layout.gradients)
            self._checksums = first_step.checksums(layout.values)

    def _check_first(self, problem: Problem, layout: Layout, group: Group, seed: int, loss: float) -> None:
        """After the first step with these gradients."""
        first_step.check(problem, layout, loss,
                         lambda: values.mean_loss(problem, self._step(layout, group, seed)))
        first_step.refuse_changed_values(problem, self._checksums, layout.values, "gradient")
        name = next((name for name, gradient in layout.gradients.items() if not numpy.isfinite(gradient).all()), None)
        if name is not None and math.isfinite(loss) and not self._opened.warned:
            self._warn(f'wrote values that are not finite to step.gradients["{name}"] for client {group[0]}')
        self._written.add(tuple(layout.gradients))
        self._checksums = {}
        self._unchecked = False

    def _read_steps(self, request: bytearray) -> List[Step]:
        """The steps of an evaluation or prediction."""
        _, number, count, groups, self._batch_size = STEP.unpack_from(request, 8)
        at = OFFSETS + 8 * count
        if request[OFFSETS:at] != self._offsets:
            self._use(bytes(request[OFFSETS:at]), count)
        assert self._layout is not None
        self._problem._forget_values()
        loading.seed_globals(0)
        return [Step(self._layout, client, part, examples, 0, number)
                for client, part, examples in _groups(request, at, groups)]

    def evaluate(self, request: bytearray) -> bytes:
        """Sums and counts over all groups."""
        problem, sums = self._problem, []
        for step in self._read_steps(request):
            figures = values.figures_of(problem, self._batches(step), problem.evaluate)
            if not self._scored:
                self._check_first_scores(problem, self._batches(step)[0])
            sums = [a + b for a, b in zip(sums, figures)] if sums else figures
        sums += [0.0] * (2 * len(self._opened.scores))  # figures of personalizations
        return message(EVALUATE, struct.pack(f"<{len(sums)}d", *sums))

    def _batches(self, step: Step) -> List[Step]:
        """The batches of an evaluation."""
        size = self._batch_size or len(step.examples)
        return [Step(step._layout, step.client, step.part, step.examples[first : first + size], 0, step.round)
                for first in range(0, len(step.examples), size)]

    def _check_first_scores(self, problem: Problem, step: Step) -> None:
        """After the first step of an evaluation: a second one must leave the same state."""
        state = problem._state()
        loading.seed_globals(0)
        problem.evaluate(step)
        first_step.refuse_changed_state(problem, state, values.method_of_scores(problem))
        self._scored = True

    def predict(self, request: bytearray) -> bytes:
        """An entry for each example."""
        if not self._problem._predicts():
            method = "predictions(outputs)" if hasattr(self._problem, "predictions") else "predict(step)"
            raise ProblemError(f"the class has no {method.split('(')[0]}(), so there is nothing to answer with",
                               f"define {method}, which returns a number or a string for each example",
                               errors.place_of_method(self._problem, "loss"))
        entries: List[Any] = []
        for step in self._read_steps(request):
            entries += values.predictions_of(self._problem, step)
        return message(PREDICT, values.entries_as_json(self._problem, "predictions", entries))

    def labels(self, request: bytearray) -> bytes:
        """An entry for each example."""
        entries: List[Any] = []
        for step in self._read_steps(request):
            entries += values.labels_of(self._problem, step) or [None] * len(step.examples)
        return message(LABELS, values.entries_as_json(self._problem, "labels", entries))


def _groups(request: bytearray, at: int, groups: int) -> List[Group]:
    heads = [GROUP.unpack_from(request, at + 12 * group) for group in range(groups)]
    at += 12 * groups
    made = []
    for client, part, size in heads:
        examples = numpy.frombuffer(request, numpy.uint32, size, at).astype(numpy.int64)
        made.append((client, PARTS[part], examples))
        at += 4 * size
    return made
