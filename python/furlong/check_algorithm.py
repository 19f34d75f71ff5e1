"""Tests an algorithm on a problem before it runs: a part of furlong.check."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy

from . import loading, options, server_step, values
from .algorithm import describe_algorithm, scores_of
from .errors import ProblemError, place_of_class, place_of_method
from .groups import ADDRESSED, KEPT, METRICS, ONLY, REPORT, SERVED, SERVER, Group, tensors_of
from .messages import TRAINED
from .phase import Room, Spare
from .problem import PARTS
from .server_runs import OPTIMIZED, ServerRuns
from .settings import SERVER_SETTINGS, client_settings
from .task_request import Asked, Placed, TaskRequest
from .task_runs import NOTHING, PREDICT, SCORE, TaskRuns, cost_of, results_of

if TYPE_CHECKING:
    from .check import Check

Arrays = Dict[str, numpy.ndarray]


class AlgorithmCheck:
    """Tasks of one epoch of a client, from the initial values. Raises the first error."""

    def __init__(self, check: "Check", name: str, given: Sequence[str]) -> None:
        self._check = check
        self._name = name
        #: For another process.
        self.arguments = ["--algorithm", name, *(f"--algorithm-option={one}" for one in given)]
        check._limit()
        self._algorithm = loading.load_algorithm(name, check.problem, check.seed, dict(map(options.of_text, given)))
        self._about = describe_algorithm(self._algorithm, check.problem,
                                         {name: value.shape for name, value in check.values.items()},
                                         len(check.clients))
        scores_of(self._algorithm, check.metrics, values.MOST_METRICS)
        self._groups = self._algorithm._all_groups()
        self._private = check.private_names()
        if self._about["private"] == "required" and not self._private:
            raise ProblemError('the algorithm has private = "required"', "name private parameters: --private PATTERN",
                               place_of_class(type(self._algorithm)))
        self._runs = TaskRuns(self._algorithm, check.problem)
        self._server_runs = ServerRuns(self._algorithm, check.problem)
        self._optimized = False  # by the last step
        self._spare = Spare()
        self._copies: List[Any] = []

    def description(self) -> str:
        """Options and groups, in lines."""
        return "\n".join([
            f"algorithm   {type(self._algorithm).__name__}",
            *(f"option      {name} = {value!r}" for name, value in self._about["options"].items()),
            *(f"            {one['place']:9} {one['name']}: {_extent(one)}" for one in self._about["groups"])])

    def check(self, warnings: List[str]) -> str:
        """Finite values, the same twice and after other tasks, and a personalization. Returns a line about them."""
        first = self._task()
        loss_sum, weight, examples = TRAINED.unpack(self._perform(first, NOTHING))
        for name, array in results_of(first):
            if not numpy.isfinite(array).all():
                raise ProblemError(f"train() leaves values in {name} that are not finite (NaN or infinity)",
                                   "look for a division by zero, or take steps of t.rate", self._place("train"))
        self._warn_of_idle(first)
        trained = {name: array.copy() for name, array in results_of(first)}
        self._perform(self._task(seed=2, starts=first.room.values), NOTHING)
        self._perform(first, NOTHING)
        other = next((name for name, array in results_of(first) if array.tobytes() != trained[name].tobytes()), None)
        if other is not None:
            raise ProblemError(f"train() gives different values of {other} after another task", "keep no state between "
                               "tasks but in groups", self._place("train"))
        kept = {name: placed.results for name, placed in first.groups.items() if placed.group.place == KEPT}
        figures = ""
        if self._about["personalizes"] or self._about["outputs"]:
            client = self._check.clients[self._check.client]
            part = next(part for part in PARTS[::-1] if getattr(client, part))
            for state in (None, kept):
                self._perform(self._task(kept=state, asked=part, starts=first.room.values), SCORE)
                if self._check.problem._predicts():
                    self._perform(self._task(kept=state, asked=part, starts=first.room.values), PREDICT)
            figures = ", and personalized with and without kept values"
        if self._about["cost"]:
            self._cost(examples)
        if self._about["step"]:
            figures += "; a step of the server after it"
            self._warn_of_still(self._step(first, weight))
        return (f"{examples} examples, weight {weight}, mean loss {loss_sum / weight:.4g}, the same for the same "
                f"seed{figures}")

    def digests(self) -> Dict[str, str]:
        """Hashes of what a task and a step give, which must be equal in every process."""
        request = self._task()
        _, weight, _ = TRAINED.unpack(self._perform(request, NOTHING))
        found = {"train": _digest(results_of(request))}
        if self._about["step"]:
            found["step"] = _digest(server_step.results_of(self._step(request, weight)))
        return found

    def refuse_other_process(self, method: str) -> None:
        """Raises that a task or a step gives other values in another process."""
        raise ProblemError(f"{method}() gives different values in another process", "do not let them depend on the order "
                           "of a set, a time, a process id or os.urandom", self._place(method))

    def _step(self, task: TaskRequest, weight: int) -> server_step.StepRequest:
        """The server's step of a round of this task alone, as it was made."""
        starts = {name: value for name, value in task.room.starts.items() if name not in self._private}
        sent = self._about["sends_model"]
        mean = {name: task.room.values[name] - value if sent else numpy.zeros_like(value) for name, value in starts.items()}
        groups, reported = {}, {}
        for name, group, shapes in self._tensors():
            first = self._first(group, shapes) if group.place in SERVED else {}
            if group.place == ADDRESSED:
                first = {one: numpy.stack([value] * len(self._check.clients)) for one, value in first.items()}
            groups[name] = Placed(group, first, {one: value.copy() for one, value in first.items()})
            if group.is_reported:
                reported[name] = {one: array.copy() for one, array in task.groups[name].results.items()}
        copied = lambda arrays: {name: array.copy() for name, array in arrays.items()}  # noqa: E731
        settings = {"server": SERVER_SETTINGS, "rounds": 1, "training_clients": task.settings["training_clients"],
                    "count": 1, "weight": weight}
        update = (task.client, weight, mean if sent else {}, reported)
        request = server_step.StepRequest(starts, copied(starts), mean, copied(mean), groups, reported, 1, 1, settings,
                                          [update])
        self._check._limit()
        self._optimized = self._server_runs.perform(request) == OPTIMIZED
        return request

    def _warn_of_still(self, request: server_step.StepRequest) -> None:
        """Of a step that does not use the model's change."""
        moved = any(request.model[name].tobytes() != start.tobytes() for name, start in request.starts.items())
        if self._about["sends_model"] and not moved and not self._optimized:
            self._check.warnings.append("step() leaves the model as it is: call s.optimize(s.mean) or write s.model; if "
                                        "clients report groups alone, set sends_model = False")

    def _perform(self, request: TaskRequest, what: int) -> bytes:
        self._check._limit()
        return self._runs.perform(request, what)

    def _cost(self, examples: int) -> None:
        client = self._check.clients[self._check.client]
        cost = cost_of(self._algorithm, client.train, client_settings(self._check.batch))
        if cost != examples:
            self._check.warnings.append(f"cost() is {cost} for {client.train} examples, and a task counts {examples}: virtual "
                                        "time has the first, figures the second; call t.count() in every loop, and "
                                        "t.weigh(n) for another weight")

    def _warn_of_idle(self, request: TaskRequest) -> None:
        """Of what a task leaves as it is."""
        room = request.room
        idle = [f't.report["{name}"]' for name, placed in request.groups.items()
                if placed.group.is_reported and name != METRICS
                and not any(array.any() for array in placed.results.values())]
        if self._about["sends_model"] and all(room.values[name].tobytes() == start.tobytes()
                                              for name, start in room.starts.items()):
            idle.append("t.weights")
        self._check.warnings += [f"train() does not write {one}: no task sends anything by it" for one in idle]
        if METRICS in request.groups:
            counts = request.groups[METRICS].results[ONLY][:, 1]
            self._check.warnings += [f'train() does not call t.metric("{name}"): no round has a figure of it'
                                     for name, count in zip(self._algorithm.metrics, counts) if not count]

    def _place(self, method: str) -> Any:
        return place_of_method(self._algorithm, method)

    def _tensors(self) -> Iterator[Tuple[str, Group, Dict[str, Tuple[int, ...]]]]:
        shapes = {name: value.shape for name, value in self._check.values.items()}
        return tensors_of(self._groups, shapes, self._private, self._check.problem._buffers())

    def _first(self, group: Group, shapes: Mapping[str, Tuple[int, ...]], received: Optional[Arrays] = None) -> Arrays:
        """What a group begins with."""
        model = received if received is not None and group.first == "received" else self._check.values
        return {one: model[one].copy() if isinstance(group.first, str) else numpy.full(shape, group.first, numpy.float32)
                for one, shape in shapes.items()}

    def _task(self, seed: int = 1, starts: Optional[Arrays] = None, kept: Optional[Dict[str, Arrays]] = None,
              asked: str = "") -> TaskRequest:
        """A training task, or, where a part is asked for, a personalization with the kept values, if there are any."""
        check = self._check
        starts = {name: value.copy() for name, value in (starts or check.values).items()}
        room = Room(starts, {name: numpy.empty_like(value) for name, value in starts.items()}, check.problem._buffers(),
                    self._spare)
        groups = {}
        for name, group, shapes in self._tensors():
            first = self._first(group, shapes, starts)
            written = {one: numpy.empty(shape, numpy.float32) for one, shape in shapes.items()}
            given = {} if group.place in (REPORT, SERVER) else first
            if asked and group.place == KEPT:
                given = (kept or {}).get(name, {})
            writes = not asked and (group.place == KEPT or group.is_reported)
            groups[name] = Placed(group, given, written if writes else {})
        client = check.clients[check.client]
        order = numpy.random.default_rng(0).permutation(client.train)[None, :]
        personal = None
        if asked:
            count = min(check.batch, getattr(client, asked))
            personal = Asked(True, kept is not None, True, [(check.client, asked, numpy.arange(count))])
            if self._about["predicts"] != "examples":
                order = order[:, :0]
        settings = {"client": client_settings(check.batch)._values, "private_lr": 0.01, "private": self._private,
                    "rounds": 1, "dropout": True, "evaluation_batch": check.batch,
                    "training_clients": sum(one.group == "train" for one in check.clients)}
        return TaskRequest(room, groups, seed, 1, check.client, "train", order, settings, personal, check.seed,
                           self._copies, False)


def _digest(results: Iterable[Tuple[str, numpy.ndarray]]) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for _, array in results)).hexdigest()


def _extent(described: Dict[str, Any]) -> str:
    of = described.get("of", described.get("shape"))
    return of if isinstance(of, str) else ", ".join(map(str, of)) if "of" in described else f"shape {of}"
