"""The interface between Furlong and an algorithm: what a client does with a task, and which values it keeps and sends."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence

from . import options as _options
from .errors import ProblemError, describe, place_of_class, place_of_method
from .groups import ADDRESSED, KEPT, METRICS, SERVER, SHARED, Group, check_groups, metrics_group

if TYPE_CHECKING:
    from .groups import Shapes
    from .problem import Problem
    from .server_step import ServerStep
    from .settings import Settings
    from .task import Task

_PRIVATE, _PREDICTS = ("ignored", "allowed", "required"), ("model", "kept", "examples")


class Algorithm:
    """Base class of algorithms; `furlong.torch.Algorithm` is the one for problems in PyTorch.

    The class is constructed without arguments, once in each trainer process. Its methods have no state that a result
    depends on: what a client keeps from one task to the next is a group. ``random`` and ``numpy.random`` are seeded
    before each call.
    """

    #: As Problem.options; the scenario's keys are algorithm.python.NAME.
    options: Mapping[str, Any] = {}
    #: Tensors besides those of the model, by name: furlong.kept, broadcast, report, shared, server, addressed.
    groups: Mapping[str, Group] = {}
    #: What t.score(name) scores in personalize(): further figures of an evaluation, "NAME_loss", "NAME_accuracy".
    scores: Sequence[str] = ()
    #: What t.metric(name, sum, count) counts in train(): sum / count over the updates of a round, in metrics.jsonl.
    metrics: Sequence[str] = ()
    #: "allowed", "ignored" or "required": private parameters of the model.
    private: str = "allowed"
    #: Whether updates have the change of the model's shared parameters; False: reports alone.
    sends_model: bool = True
    #: Whether what a client keeps must agree with what the server has from it, as SCAFFOLD's control variates.
    exact_state: bool = False
    #: Whether each step must be weights -= rate * gradient.
    plain: bool = False
    #: The aggregation rules that it allows; empty: all.
    rules: Sequence[str] = ()
    #: What personalize() uses besides the model: "model": nothing, "kept" values, or "examples" of the client.
    predicts: str = "model"

    def train(self, t: "Task") -> None:
        """Trains a client: moves t.weights, which begin as received. The default is the local training of FedAvg."""
        t.fit()

    def personalize(self, t: "Task") -> None:
        """Sets t.weights to what predicts for a client; they begin as received. Optional."""

    def cohort(self, s: "ServerStep") -> None:
        """Sees the update of each client, s.updates, before step(): sets s.mean, and the values of addressed groups. For
        research: in synchronous runs of one process, not in federations. Optional."""

    def step(self, s: "ServerStep") -> None:
        """Makes the server's values of the next round, once in each: by s.optimize() or in s.model, and in its groups.
        A function of what clients report in sum. The default lets the server optimizer move the model by the mean
        change, and adds to shared groups what is reported."""
        if self.sends_model:
            s.optimize(s.mean)
        for name, group in self.groups.items():
            if group.place == SHARED:
                s[name] = s[name] + s.reported[name]

    def cost(self, examples: int, settings: "Settings") -> int:
        """The examples that a task of a client with so many processes, for virtual time. Depends on nothing else.
        Optional; the default is that of [algorithm.client]."""
        raise NotImplementedError

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _all_groups(self) -> Dict[str, Group]:
        """The groups, and that of the metrics."""
        found = dict(self.groups)
        if self.metrics:
            found[METRICS] = metrics_group(self.metrics, place_of_class(type(self)))
        return found

    def _check_problem(self, problem: "Problem") -> None:
        """Raises ProblemError if the algorithm cannot be used with it."""

    def _overrides(self, method: str) -> bool:
        code = getattr(getattr(type(self), method, None), "__code__", None)
        return code is not None and code is not getattr(Algorithm, method, None).__code__

    def _has_outputs(self) -> bool:
        """Whether outputs() is the class's own."""
        return False


def describe_algorithm(algorithm: Algorithm, problem: "Problem", shapes: "Shapes", clients: int) -> Dict[str, Any]:
    """What the open reply says about it. Raises ProblemError."""
    kind = type(algorithm)
    place = place_of_class(kind)

    def one_of(name: str, allowed: Sequence[Any]) -> Any:
        value = getattr(algorithm, name)
        if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
            raise ProblemError(f"{name} is {describe(value)}", f"set it to {' or '.join(map(repr, allowed))}", place)
        return value

    if "traits" in algorithm.options:
        raise ProblemError('the option "traits" has a name that furlong uses', "give it another name", place)
    for method, arguments in (("train", "t"), ("personalize", "t"), ("step", "s"), ("cohort", "s"),
                              ("cost", "examples, settings")):
        try:
            inspect.signature(getattr(algorithm, method)).bind(*arguments.split(", "))
        except TypeError:
            raise ProblemError(f"{method}() has other arguments", f"write def {method}(self, {arguments})",
                               place_of_method(kind, method)) from None
    groups = check_groups(algorithm.groups, place)
    metrics = _names_of(algorithm, "metrics")
    if metrics and METRICS in groups:
        raise ProblemError(f'the group "{METRICS}" has the name of what t.metric() reports', "give it another name",
                           groups[METRICS].declared)
    rules = algorithm.rules
    if isinstance(rules, str) or not isinstance(rules, Sequence) or not all(isinstance(one, str) for one in rules):
        raise ProblemError(f"rules is {describe(rules)}", 'set it to names of aggregation rules, such as ("mean",)',
                           place)
    found = {"options": {name: getattr(algorithm, name) for name in _options.defaults_of(kind)},
             "groups": [group.description(name, shapes, clients) for name, group in algorithm._all_groups().items()],
             "metrics": list(metrics),
             "private": one_of("private", _PRIVATE),
             **{name: one_of(name, (True, False)) for name in ("sends_model", "exact_state", "plain")},
             "rules": list(rules), "predicts": one_of("predicts", _PREDICTS),
             "personalizes": algorithm._overrides("personalize"), "outputs": algorithm._has_outputs(),
             "cost": algorithm._overrides("cost"), "cohort": algorithm._overrides("cohort")}
    found["step"] = algorithm._overrides("step") or found["cohort"]
    if not algorithm.sends_model and not any(group.is_reported for group in groups.values()):
        raise ProblemError("sends_model is False, and no group is reported", "add a furlong.report or furlong.shared "
                           "group, or remove sends_model", place)
    idle = next((name for name, group in groups.items() if group.place == SERVER), None)
    unsent = next((name for name, group in groups.items() if group.place == ADDRESSED), None)
    if unsent is not None and not found["cohort"]:
        raise ProblemError(f'the group "{unsent}" has values for each client, and the class has no cohort(), which makes '
                           "them", "define cohort(self, s), or make it furlong.broadcast", groups[unsent].declared)
    if idle is not None and not found["step"]:
        raise ProblemError(f'the group "{idle}" is the server\'s alone, and the class has no step(), which would use it',
                           "define step(self, s), or remove the group", groups[idle].declared)
    if algorithm.plain and problem._fits() and not problem.plain:
        raise ProblemError(f"class {kind.__name__} needs plain gradient steps (plain = True), and fit() of "
                           f"{type(problem).__name__} does not say that it takes such", "set plain = True on the problem "
                           "if each step is weights -= rate * gradient, or use another algorithm",
                           place_of_method(problem, "fit"))
    if algorithm.predicts == "kept" and not any(group.place == KEPT for group in groups.values()):
        raise ProblemError('predicts is "kept", and no group is kept', "add a furlong.kept group, or remove predicts",
                           place)
    return found


def _names_of(algorithm: Algorithm, attribute: str) -> Sequence[str]:
    """Names of figures. Raises ProblemError."""
    names, place = getattr(algorithm, attribute), place_of_class(type(algorithm))
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ProblemError(f"{attribute} is {describe(names)}", 'set it to names such as ("before",)', place)
    for number, name in enumerate(names):
        if not isinstance(name, str) or not name.isidentifier() or name != name.lower() or name[0] == "_" \
                or not name.isascii() or name in names[:number]:
            raise ProblemError(f"{attribute} has the name {name!r}", "use small letters, digits and _, each name once",
                               place)
    return names


def scores_of(algorithm: Algorithm, metrics: Mapping[str, str], most: int) -> Dict[str, str]:
    """The figures that t.score() adds to the metrics, with their better directions. Raises ProblemError."""
    scores, place = _names_of(algorithm, "scores"), place_of_class(type(algorithm))
    if scores and not algorithm._overrides("personalize"):
        raise ProblemError("scores has names, and the class has no personalize(), which calls t.score()",
                           "define it, or remove scores", place)
    found: Dict[str, str] = {}
    for name in scores:
        added = {f"{name}_loss": "min", **{f"{name}_{metric}": better for metric, better in metrics.items()}}
        twice = next((one for one in added if one in metrics or one in found), None)
        if twice is not None:
            raise ProblemError(f'scores has the name "{name}", and "{twice}" is a metric of the problem',
                               "give it another name", place)
        found.update(added)
    if len(metrics) + len(found) > most:
        raise ProblemError(f"the metrics and scores are {len(metrics) + len(found)} figures besides the loss",
                           f"leave {most} at most: each score adds one for the loss and each metric", place)
    return found


__all__ = ["Algorithm"]
