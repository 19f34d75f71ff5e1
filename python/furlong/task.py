"""One task of a client, as the methods of an Algorithm see it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import fits, values
from .arrays import Values, assign
from .errors import ProblemError, describe, place_of_method
from .first_step import refuse_unwritten
from .groups import ADDRESSED, BROADCAST, KEPT, METRICS, ONLY, REPORT, SERVER, SHARED
from .local_data import LocalData, refuse
from .memory import Layout, mark_unwritten
from .phase import DIFFERENCE, VALUES, Recorded, Room, Term
from .phase import Task as PhaseTask
from .step import Step
from .task_arguments import add_to_metric, count_of_examples, learning_rate, tensors_named
from .task_request import Reports, TaskRequest, set_values

if TYPE_CHECKING:
    from .algorithm import Algorithm
    from .problem import Problem

_UNREPORTED = "clients only receive them"


class Task(LocalData):
    """One task of one client. Valid during the call only.

    What is kept, sent and predicts is in `weights`, the groups ``t["NAME"]`` and `report`.
    """

    _called = "t"

    #: The problem.
    problem: "Problem"
    #: The model as the client has received it, with its own private parameters: read-only.
    received: Values
    #: What the client reports, by group.
    report: Reports
    #: Steps of fit() on the weights, and the sum of their learning rates.
    steps: int
    rates: float
    #: The number of clients that train.
    clients: int
    #: In personalize(): whether the client may be selected for training, and whether it is one of the population.
    trains: bool
    known: bool

    def __init__(self, problem: "Problem", algorithm: "Algorithm", request: TaskRequest) -> None:
        super().__init__(problem, request)
        self.problem = problem
        self._algorithm = algorithm
        self._request = request
        self._room = request.room
        self._weights = Values(request.room.values, "t.weights")
        self.received = Values(request.room.starts, "t.received", "they are what the client has received")
        self.report = Reports(request.groups)
        self._groups: Dict[str, Any] = {}
        self.steps, self.rates = 0, 0.0
        self.clients = request.settings["training_clients"]
        asked = request.asked
        self.trains, self.known = (asked.trains, asked.known) if asked else (True, True)
        self._counted = Recorded(0.0, 0, 0, 0.0)
        self._work = 0
        self._weight: Optional[int] = None
        self._phases = 0
        self._own_random: Optional[numpy.random.Generator] = None
        self._uses_kept = self._uses_examples = False
        #: By name of a score.
        self._scored: Dict[str, List[float]] = {}

    @property
    def weights(self) -> Values:
        """The parameters, to be written: what the client sends, and keeps of private ones. They begin as `received`."""
        return self._weights

    @weights.setter
    def weights(self, values: Mapping[str, Any]) -> None:
        self.weights.update(values)

    @property
    def has_state(self) -> bool:
        """In personalize(): whether the client has what it kept in training."""
        if self._request.asked is None:
            refuse("t.has_state is read in train()", "leave it to personalize(): in train() a kept group has values in "
                   "any case, at first those of first=")
        return self._request.asked.has_state

    @property
    def own_random(self) -> numpy.random.Generator:
        """A generator that is the same in every task of this client."""
        if self._own_random is None:
            key = numpy.array([self._request.run_seed, self.client], numpy.uint64)
            self._own_random = numpy.random.Generator(numpy.random.Philox(key=key))
        return self._own_random

    def __getitem__(self, name: str) -> Any:
        """The values of a group: arrays by name, or the array of a group with a shape. Those that the client keeps can
        be written in train()."""
        placed = self._request.groups.get(name)
        if placed is None:
            groups = ", ".join(self._request.groups)
            refuse(f"t[{name!r}] is no group", f"the groups are: {groups}" if groups else "declare it on the class: "
                   f'groups = {{"{name}": furlong.kept("model")}}')
        group = placed.group
        if group.place == REPORT:
            refuse(f'the group "{name}" is reported, and has no values here', f'write to t.report["{name}"]')
        if group.place == SERVER:
            refuse(f'the group "{name}" is the server\'s alone', "make it furlong.broadcast, or leave it to step()")
        if group.place == KEPT:
            self._uses_kept = True
            if not placed.starts:
                refuse(f'the client has kept no "{name}"', "read it only if t.has_state")
        if name not in self._groups:
            writable = group.place == KEPT and bool(placed.results)
            reason = "" if writable else ("in personalize() values are only read" if group.place == KEPT else _UNREPORTED
                                          if group.place in (BROADCAST, ADDRESSED) else f'the change goes to t.report["{name}"]')
            found = Values(placed.results if writable else placed.starts, f't["{name}"]', reason)
            self._groups[name] = found[ONLY] if group.has_shape else found
        return self._groups[name]

    def __setitem__(self, name: str, value: Any) -> None:
        values = self[name]
        place = self._request.groups[name].group.place
        if place != KEPT or self._request.asked is not None:
            refuse(f't["{name}"] cannot be written: it is '
                   + ("only read in personalize()" if place == KEPT else f"a {place} group"),
                   f'report a change: t.report["{name}"] = ...' if place == SHARED else
                   "write it in train()" if place == KEPT else "make it furlong.shared to report a change, or a copy")
        set_values(values, value, f't["{name}"]')

    # ---- training ---------------------------------------------------------------------------------------------------

    def fit(self, tensors: Union[str, Sequence[str]] = "all", at: Union[str, Values, None] = None,
            rate: Optional[float] = None, epochs: Optional[int] = None, batch_size: Optional[int] = None,
            steps: Optional[int] = None, examples: Any = None, add: Sequence[Tuple[float, Mapping[str, Any]]] = (),
            pull: float = 0.0, toward: Optional[Mapping[str, Any]] = None) -> Recorded:
        """A phase of local training: by Problem.fit(), which by default takes the steps of [algorithm.client]. Returns
        its loss_sum, examples, steps and rates (the sum of the learning rates).

        tensors: those that are trained: "all", "shared", "private", or patterns of names. The buffers of their sides
            (shared, private) move with them.
        at: what is trained: the weights, or the group of this name, or such values; other tensors are as received.
        rate, epochs, batch_size, steps: replace lr, epochs, batch_size and max_steps of `settings`.
        examples: only these numbers, of `examples`.
        add: each (factor, values) adds factor * values to the gradient of each step.
        pull: adds pull * (w - toward) to it; `toward` are by default the received values.

        A phase of the weights counts for the update, as count() does; another one only as work.
        """
        settings = self.settings
        target = self._current_weights() if at is None else self._values(at, "fit")
        private = self._request.settings["private"]
        trained = [name for name in tensors_named(tensors, list(self._room.trained), private) if name in target]
        if not trained:
            refuse(f"t.fit() is given tensors = {describe(tensors)}, of which {target._called} has none",
                   f"it has: {', '.join(target)}")
        target._refuse_read_only()
        epochs = self._count("epochs", settings["epochs"] if epochs is None else epochs, "fit")
        size = self._count("batch_size", settings["batch_size"] if batch_size is None else batch_size, "fit")
        steps = self._count("steps", settings["max_steps"] if steps is None else steps, "fit")
        chosen = self._chosen(examples, "fit")
        self._use_examples("fit")
        if not len(self.examples if chosen is None else chosen):
            return Recorded(0.0, 0, 0, 0.0)
        orders = [self._next_order(chosen) for _ in range(max(epochs, 1) if settings["shuffle"] else 1)]
        spare = self._room._spare
        starts = {name: spare.like("start", name, array) for name, array in self.received.items()}
        for name, start in starts.items():
            start[...] = target[name] if name in target else self.received[name]
        moved = self._moved(trained, target)
        room = Room(starts, {name: target[name] for name in (*trained, *moved)}, moved, spare)
        terms = [self._term(factor, VALUES, one, room) for factor, one in add]
        if settings["proximal"] and at is None:
            shared = {name: self.received[name] for name in trained if name not in private}
            terms += [Term(settings["proximal"], DIFFERENCE, shared)] if shared else []
        if pull:
            terms.append(self._term(pull, DIFFERENCE, self.received if toward is None else toward, room))
        given = self._request.settings
        client = {**settings._values, "epochs": epochs, "batch_size": size, "max_steps": steps}
        private_rate = given["private_lr"]
        if rate is not None:
            client["lr"] = private_rate = learning_rate(rate)
        phase = PhaseTask(room, self._next_seed(), self.round, tuple(terms), self.client, self.part, numpy.array(orders),
                          {**given, "client": client, "private_lr": private_rate})
        self._leave_weights()
        done = fits.run(self._problem, phase, watched=self._request.checked and self._algorithm.plain)
        self._return_to_weights()
        self._work += done.examples
        if at is None:
            self.steps += done.steps
            self.rates += done.rates
            loss_sum, counted, *_ = self._counted
            self._counted = Recorded(loss_sum + done.loss_sum, counted + done.examples, 0, 0.0)
        return done

    def gradient(self, examples: Any, at: Union[str, Values, None] = None) -> Tuple[float, Values]:
        """The mean loss of a batch and its gradient, by Problem.gradient().

        examples: numbers, such as those of ``t.batches().numbers()``.
        at: where: the weights, or the group of this name, or such values; other tensors are as received. Their buffers
            move, unless they are read-only.
        """
        if not self._problem._has_gradient():
            refuse(f"t.gradient() is called, and {type(self._problem).__name__} has no gradient()",
                   "define gradient() on the problem, or train by t.fit()")
        target = self._current_weights() if at is None else self._values(at, "gradient")
        chosen = self._chosen(examples, "gradient")
        if chosen is None or not len(chosen):
            refuse("t.gradient() is given no examples", "give numbers out of t.examples")
        buffers = self._problem._buffers()
        gradients = {name: numpy.empty_like(array) for name, array in target.items() if name not in buffers}
        layout = Layout({name: target[name] if name in target else array for name, array in self._room.starts.items()},
                        gradients, [] if target._read_only else [name for name in buffers if name in target])
        if self._request.checked:
            mark_unwritten(gradients)
        self._use_examples("gradient")
        seed = self._next_seed()
        self._leave_weights()
        loss = values.mean_loss(self._problem, Step(layout, self.client, self.part, chosen, seed, self.round,
                                                    self._request.settings["dropout"]))
        self._return_to_weights()
        if self._request.checked:
            refuse_unwritten(self._problem, gradients)
        return loss, Values(gradients, "the gradient")

    def batches(self, *arguments: Any, **more: Any) -> Any:
        self._use_examples("batches")
        return super().batches(*arguments, **more)

    batches.__doc__ = LocalData.batches.__doc__

    def count(self, n: int, loss: Any) -> None:
        """Counts a step of a loop of the algorithm's own: the examples of its batch, and their mean loss. They are the
        weight of the update, and its training loss."""
        n = count_of_examples("count", n)
        try:
            mean = float(loss)
        except (TypeError, ValueError, RuntimeError):
            refuse(f"t.count() is given {describe(loss)} as the loss", "give the mean loss of the batch")
        loss_sum, counted, *_ = self._counted
        self._counted = Recorded(loss_sum + mean * n, counted + n, 0, 0.0)
        self._work += n

    def weigh(self, n: int) -> None:
        """Sets the weight of the update, which otherwise is the number of examples that were counted."""
        self._weight = count_of_examples("weigh", n)

    def metric(self, name: str, total: Any, count: float = 1) -> None:
        """In train(): adds to a figure of the round, one of `Algorithm.metrics`: the sum of the totals of its updates
        divided by that of their counts, in metrics.jsonl. The server sees a client's total and count, or with
        privacy.secure_aggregation the sums alone."""
        if self._request.asked is not None:
            refuse("t.metric() is called in personalize()", "call it in train(), or score the weights: t.score()")
        if name not in self._algorithm.metrics:
            refuse(f"t.metric() is given {name!r}", f"the class has metrics = {tuple(self._algorithm.metrics)!r}: add it")
        sums = self._request.groups[METRICS].results[ONLY]
        add_to_metric(sums, self._algorithm.metrics.index(name), total, count)

    def score(self, name: str) -> None:
        """In personalize(): scores the examples that are asked for with the weights as they are, for the figures
        "NAME_loss" and "NAME_METRIC" of the evaluation."""
        if self._request.asked is None:
            refuse("t.score() is called in train()", "call it in personalize()")
        if name not in self._algorithm.scores:
            refuse(f"t.score() is given {name!r}", f"the class has scores = {tuple(self._algorithm.scores)!r}: add it")
        self._scored[name] = self._kept_draws(self._figures)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _figures(self) -> List[float]:
        """Sums and counts of the loss and the metrics over what is asked."""
        self._leave_weights()
        sums = values.figures_of(self._problem, self._asked_steps(), self._evaluate)
        self._return_to_weights()
        return sums

    def _asked_steps(self) -> List[Step]:
        assert self._request.asked is not None
        self.problem._forget_values()
        return [Step(self._room.layout, client, part, examples, 0, self.round)
                for client, part, examples in self._request.asked.batches]

    def _evaluate(self, step: Step) -> Mapping[str, Any]:
        return self._problem.evaluate(step)

    def _predictions(self, step: Step) -> List[Any]:
        return values.predictions_of(self._problem, step)

    def _kept_draws(self, call: Any) -> Any:
        """Calls it, and sets the global generators to what they were."""
        state = numpy.random.get_state()
        result = call()
        numpy.random.set_state(state)
        return result

    def _current_weights(self) -> Values:
        """To be written."""
        return self._weights

    def _leave_weights(self) -> None:
        """Before the problem is called with other arrays."""

    def _return_to_weights(self) -> None:
        """After that."""

    def _end(self, method: str) -> None:
        """After the method: the results are in the request's room and groups. Raises ProblemError."""

    def _trained(self) -> Tuple[float, int, int]:
        """Sum of losses, weight and examples of the update. Raises ProblemError."""
        loss_sum, counted, *_ = self._counted
        if not counted:
            raise ProblemError("train() counts no examples", "call t.count(len(targets), loss) after each step, or train "
                               "by t.fit()", place_of_method(self._algorithm, "train"))
        weight = counted if self._weight is None else self._weight
        return loss_sum * (weight / counted), weight, self._work

    def _use_examples(self, method: str) -> None:
        if self._request.asked is not None and self._algorithm.predicts != "examples":
            refuse(f't.{method}() is called in personalize(), and predicts is "{self._algorithm.predicts}"',
                   'set predicts = "examples" on the class: then a client has the examples that it is known by')
        self._uses_examples = True

    def _source(self) -> int:
        """Where the weights that predict came from: an enumerator of personal_source."""
        stored, model, initial, tuned = 0, 2, 3, 4
        if self._uses_examples and len(self.examples):
            return tuned
        if self._request.settings["private"] and not self.has_state:
            return initial
        return stored if self.has_state and (self._uses_kept or self._request.settings["private"]) else model

    def _values(self, which: Union[str, Values], method: str) -> Values:
        """The group of this name, or the values themselves."""
        found = self[which] if isinstance(which, str) else which
        if not isinstance(found, Values) or any(name not in self._room.starts for name in found):
            refuse(f"t.{method}() is given {describe(which)}", "give a group of tensors of the model, or values over its "
                   "parameters")
        return found

    def _moved(self, trained: Sequence[str], target: Values) -> List[str]:
        """The buffers that move with parameters: those of a side, shared or private, that has one of them, or that has
        buffers alone."""
        private = set(self._request.settings["private"])
        still = {name in private for name in self._room.trained} - {name in private for name in trained}
        return [name for name in self._room.moved if name in target and (name in private) not in still]

    def _term(self, factor: Any, form: int, given: Any, room: Room) -> Term:
        """For the trained tensors of a phase. Values that the phase itself moves are those at its start."""
        number = not isinstance(factor, bool) and isinstance(factor, (int, float, numpy.number))
        if not number or not math.isfinite(factor):
            refuse(f"t.fit() is given the factor {describe(factor)}", "give a finite number")
        if isinstance(given, str):
            given = self._values(given, "fit")
        if not isinstance(given, Mapping) or not any(name in given for name in room.trained):
            refuse(f"t.fit() is given {describe(given)} for the gradient",
                   "give values over the tensors that are trained")
        found = {}
        for name in room.trained:
            if name in given:
                array = numpy.empty_like(room.starts[name])
                assign(array, given[name], f'the term of "{name}"')
                found[name] = array
        return Term(float(factor), form, found)

    def _next_seed(self) -> int:
        """Of the next phase or gradient: mixed (splitmix64) from the task's seed and its number."""
        self._phases += 1
        mixed = (self.seed + 0x9E3779B97F4A7C15 * self._phases) % 2**64
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        return (mixed ^ (mixed >> 31)) or 1


__all__ = ["Task"]
