"""Tests a problem, and an algorithm, before they run: ``python -m furlong.check taste.py:Taste --private 'head.*'``.

Exit code 0 if nothing is wrong, 1 if there is an error, 2 for an invalid command line.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy

from . import command, errors, first_step, loading, options, values
from .check_algorithm import AlgorithmCheck
from .check_clients import figures_of_client
from .check_fit import FitCheck
from .check_labels import note_of_order
from .errors import ProblemError, place_of_method, say
from .memory import Layout, mark_unwritten
from .problem import PARTS, Step


class Check:
    """The tests of one problem, in order. Raises the first error; warnings are collected."""

    def __init__(self, name: str, options: Sequence[str], private: Sequence[str], seed: int, batch: int,
                 timeout: int) -> None:
        self.name = name
        self.options = options
        self.private = private
        self.seed = seed
        self.batch = batch
        self.timeout = timeout
        self.warnings: List[str] = []

    def open(self, has_algorithm: bool) -> None:
        """Loads the problem; parameters and clients."""
        self._limit()
        given = dict(map(options.of_text, self.options))
        self.problem = problem = loading.load(self.name, self.seed, given, has_algorithm)
        problem._start(1, True)
        self.metrics = values.metrics_of(problem)
        values.plain_of(problem)
        self.values = {k: v.copy() for k, v in values.parameters_of(problem, self.seed).items()}
        again = values.parameters_of(problem, self.seed)
        for name, value in self.values.items():
            if name not in again or not numpy.array_equal(value, again[name]):
                self._refuse("parameters", f'two calls of parameters({self.seed}) give different values of "{name}"',
                             "draw them from a generator made from the seed, such as numpy.random.default_rng(seed)")
        self.clients = values.clients_of(problem)
        trained = [i for i, c in enumerate(self.clients) if c.group == "train" and c.train]
        if not trained:
            self._refuse("clients", "no client of the group train has training examples", "give at least one some")
        self.client = max(trained, key=lambda i: self.clients[i].train)
        self.examples = numpy.arange(min(self.batch, self.clients[self.client].train))
        self.constants, self.constants_digest = problem._constants(), problem._constants_digest()
        self.gradients = {name: numpy.empty_like(value) for name, value in self.values.items()}
        self.layout = Layout(self.values, self.gradients)
        self.frozen = Layout(self.values, {})

    def private_names(self) -> List[str]:
        """The parameters that the patterns match."""
        names: List[str] = []
        for pattern in self.private:
            matched = fnmatch.filter(self.values, pattern)
            fixed = fnmatch.filter([one.name for one in self.constants], pattern)
            aliases = self.problem._aliases()
            others = fnmatch.filter(aliases, pattern)
            if not matched and fixed:
                self._refuse("parameters", f'private: "{fixed[0]}" is fixed', "name parameters that are trained")
            if not matched and others:
                self._refuse("parameters", f'private: "{others[0]}" is another name of "{aliases[others[0]]}"',
                             "use that one")
            if not matched:
                near = difflib.get_close_matches(pattern, self.values, 1, 0.4)
                self._refuse("parameters", f'private: "{pattern}" matches no parameter',
                             f"the nearest is \"{near[0]}\"" if near else f"there are: {', '.join(self.values)}")
            names += [name for name in matched if name not in names]
        if not {*self.values} - {*names, *self.problem._buffers()}:
            self._refuse("parameters", "private: the patterns match all parameters", "leave at least one shared")
        return names

    def description(self) -> str:
        """Clients, options, parameters and what is fixed, in lines."""
        private = self.private_names()
        buffers = self.problem._buffers()
        trained = {name: value for name, value in self.values.items() if name not in buffers}
        return "\n".join([
            f"clients     {len(self.clients)}: {values.describe_clients(self.clients)}",
            *(f"option      {name} = {getattr(self.problem, name)!r}"
              for name in options.defaults_of(type(self.problem))),
            f"parameters  {sum(value.size for value in trained.values())} in {len(trained)} arrays",
            *(f"            {'private' if name in private else 'shared '}  {name} {list(value.shape)}"
              + (", a buffer" if name in buffers else "") for name, value in self.values.items()),
            *(f"            fixed    {one.name} {list(one.shape)}" for one in self.constants),
            *(f"            alias    {name} of {first}" for name, first in self.problem._aliases().items())])

    def gradient(self) -> None:
        """Shapes, finite values, untouched parameters, the same bytes twice, and with other parameters frozen."""
        before = {name: value.copy() for name, value in self.values.items()}
        mark_unwritten(self.gradients)
        loss = self._loss(self.layout, 1)
        first_step.check(self.problem, self.layout, loss, self._again)
        first = {name: value.copy() for name, value in self.gradients.items()}
        for name, value in first.items():
            if not numpy.isfinite(value).all():
                self._refuse("gradient", f'the gradient of "{name}" has values that are not finite (NaN or infinity)',
                             "look for a division by zero, a logarithm of 0, or an overflow")
        self._unchanged(before, "gradient")
        private = self.private_names()
        for wanted in ([*private], [n for n in self.values if n not in private] if private else []):
            if not wanted:
                continue
            part = Layout(self.values, {name: numpy.full_like(self.values[name], 1e30) for name in wanted})
            self._loss(part, 1)
            for name in wanted:
                if not numpy.allclose(part.gradients[name], first[name], rtol=1e-3, atol=1e-6):
                    self._refuse("gradient", f'the gradient of "{name}" is another one when only {", ".join(wanted)} '
                                 "are in step.gradients", "compute each gradient by itself; the others are frozen")
        self.first = first

    def differences(self) -> float:
        """Compares sampled values of the gradient with finite differences. Returns the largest relative error."""
        random = numpy.random.default_rng(0)
        worst = 0.0
        for name in [name for name in self.first if name not in self.problem._buffers()]:
            gradient = self.first[name]
            flat, values = gradient.reshape(-1), self.values[name].reshape(-1)
            scale = float(numpy.abs(flat).max())
            picks = {int(i) for i in numpy.argsort(-numpy.abs(flat), kind="stable")[:3]}
            picks |= {int(i) for i in random.integers(flat.size, size=3)}
            slopes = {i: self._slope(values, i, float(flat[i]), scale) for i in sorted(picks)}
            if scale == 0.0 and not any(abs(s) > 1e-3 for s in slopes.values()):
                self.warnings.append(f'the loss of this batch does not depend on "{name}"')
                continue
            for i, slope in slopes.items():
                error = abs(slope - float(flat[i]))
                if error > 0.05 * abs(float(flat[i])) + 0.02 * scale + 2e-3:
                    at = tuple(int(x) for x in numpy.unravel_index(i, gradient.shape))
                    self._refuse("gradient", f'the gradient of "{name}" at {list(at)} is {flat[i]:.4g}, but the loss '
                                 f"changes by {slope:.4g} per unit",
                                 "correct the derivative, or the mean over the batch")
                worst = max(worst, error / max(scale, 1e-3))
        return worst

    def evaluate(self) -> str:
        """Sums and counts of one batch of what evaluations score, which must be those of its halves; predictions.
        Returns the figures."""
        before = {name: value.copy() for name, value in self.values.items()}
        names = ["loss", *self.metrics]

        def scores(examples: numpy.ndarray, client: int, part: str) -> numpy.ndarray:
            self._limit()
            loading.seed_globals(0)
            given = self.problem.evaluate(Step(self.frozen, client, part, examples, 0, 1))
            return numpy.array(values.check_scores(self.problem, names, given, len(examples)))

        method = values.method_of_scores(self.problem)
        parts = values.scored_parts(self.clients) or [(self.client, "train")]
        client, part = max(parts, key=lambda one: getattr(self.clients[one[0]], one[1]))
        examples = numpy.arange(min(self.batch, getattr(self.clients[client], part)))
        whole = scores(examples, client, part)
        if not numpy.isfinite(whole).all():
            bad = names[int(numpy.flatnonzero(~numpy.isfinite(whole))[0]) // 2]
            self._refuse(method, f'"{bad}" of the evaluation is not finite (NaN or infinity)',
                         "correct its sum and count")
        state = self.problem._state()
        if not numpy.array_equal(whole, scores(examples, client, part), equal_nan=True):
            self._refuse(method, "two evaluations of a batch give different figures", "draw nothing in evaluation")
        first_step.refuse_changed_state(self.problem, state, method)
        over_batches = self.problem._layers_over_batches()
        self.warnings += [f"{layer} normalizes by the batch in evaluation too: scores depend on the other examples of "
                          "a batch, and a batch of one fails; use GroupNorm or LayerNorm" for layer in over_batches]
        if len(examples) > 1 and not over_batches:
            middle = len(examples) // 2
            halves = scores(examples[:middle], client, part) + scores(examples[middle:], client, part)
            for i, name in enumerate(names):
                if not numpy.allclose(halves[2 * i : 2 * i + 2], whole[2 * i : 2 * i + 2], rtol=1e-3, atol=1e-4):
                    self._refuse(method, f'"{name}" of a batch is (sum, count) = ({whole[2 * i]:.5g}, '
                                 f"{whole[2 * i + 1]:g}), of its halves together ({halves[2 * i]:.5g}, "
                                 f"{halves[2 * i + 1]:g})", self._fix_of_halves())
        self._unchanged(before, method)
        for name in PARTS:
            of_part = [index for index, scored in parts if scored == name]
            for index in {*of_part[:1], *of_part[-1:]}:
                scores(numpy.array([0, getattr(self.clients[index], name) - 1]), index, name)
        if self.problem._predicts():
            self._limit()
            step = Step(self.frozen, client, part, examples, 0)
            values.entries_as_json(self.problem, "predictions", values.predictions_of(self.problem, step))
            values.entries_as_json(self.problem, "labels", values.labels_of(self.problem, step) or [])
        found = {name: total / count for name, total, count in zip(names, whole[::2], whole[1::2]) if count}
        self._limit()
        found.update(figures_of_client(self.problem, self.frozen, client, part, getattr(self.clients[client], part), self.batch))
        return ", ".join(f"{name} {figure:.4g}" for name, figure in found.items()) + f" on a {part} batch of the initial model"

    def phases(self) -> FitCheck:
        """The tests of the class's fit()."""
        return FitCheck(self.problem, self.values, self.private_names(), self.client, self.clients[self.client].train,
                        self.batch, self._limit)

    def other_process(self, algorithm: Optional[AlgorithmCheck] = None) -> None:
        """Values, clients, gradient and tasks must be the same in another process."""
        signal.alarm(0)  # the other process has limits of its own
        arguments = [sys.executable, "-m", "furlong.check", self.name, "--digest", "--seed", str(self.seed), "--batch",
                     str(self.batch), *(f"--option={option}" for option in self.options),
                     *(algorithm.arguments if algorithm else ())]
        if self.private:
            arguments += ["--private", *self.private]
        environment = dict(os.environ, PYTHONHASHSEED="1" if os.environ.get("PYTHONHASHSEED") != "1" else "2")
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        environment["PYTHONPATH"] = os.pathsep.join([package, environment.get("PYTHONPATH", "")])
        done = subprocess.run(arguments, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise ProblemError("the problem fails in a second process: " + done.stderr.strip(), "correct this error",
                               place_of_method(self.problem, "clients"))
        given = json.loads(done.stdout.splitlines()[-1])
        for method, digest in {**self.digests(), **(algorithm.digests() if algorithm else {})}.items():
            if given[method] != digest:
                if algorithm is not None and method in ("train", "step"):
                    algorithm.refuse_other_process(method)
                self._refuse(method, f"{method}() gives different values in another process",
                             "do not let them depend on the order of a set, a time, a process id or os.urandom")

    def digests(self) -> Dict[str, str]:
        """Hashes of what must be equal in every process."""
        if self.problem._has_gradient():
            self._loss(self.layout, 1)

        def sha(values: Any) -> str:
            return hashlib.sha256(b"".join(k.encode() + v.tobytes() for k, v in values.items())).hexdigest()

        found = {"parameters": sha(self.values), "module": self.constants_digest,
                 "clients": hashlib.sha256(repr([tuple(map(str, c)) for c in self.clients]).encode()).hexdigest()}
        if self.problem._has_gradient():
            found["gradient"] = sha(self.gradients)
        if self.problem._fits():
            found["fit"] = sha(self.phases().results())
        return found

    def time_of(self, call: Callable[[], Any]) -> float:
        """Median seconds of a call."""
        times = []
        began = time.perf_counter()
        while len(times) < 5 or (time.perf_counter() - began < 0.5 and len(times) < 200):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def times(self) -> str:
        """What a step and a phase of training take."""
        texts = []
        if self.problem._has_gradient():
            seconds = self.time_of(lambda: self._loss(self.layout, 1))
            texts.append(f"{1e6 * seconds:.0f} us for a step of {len(self.examples)} examples")
        if self.problem._fits():
            seconds = self.time_of(self.phases().run)
            texts.append(f"{1e3 * seconds:.3g} ms for fit() on {self.clients[self.client].train} examples")
        return ", ".join(texts)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _loss(self, layout: Layout, seed: int) -> float:
        self._limit()
        loading.seed_globals(seed)
        value = self.problem.gradient(Step(layout, self.client, "train", self.examples, seed, 1, True))
        loss = values.check_loss(self.problem, "gradient", value)
        if not numpy.isfinite(loss):
            self._refuse("loss" if hasattr(self.problem, "loss") else "gradient", f"the loss is {loss}",
                         "look for a division by zero, a logarithm of 0, or an overflow")
        return loss

    def _again(self) -> float:
        """The first step again, after another one, over gradients of another content."""
        for value in self.gradients.values():
            value.fill(1e30)
        self._loss(self.layout, 2)
        return self._loss(self.layout, 1)

    def _fix_of_halves(self) -> str:
        if hasattr(self.problem, "module"):
            return ("return sums over examples, not means, from score(), and the mean from loss(); a layer must not "
                    "compute with the other examples of a batch")
        return "return sums over examples, not means"

    def _slope(self, values: numpy.ndarray, index: int, expected: float, scale: float) -> float:
        """The derivative by central differences; of several steps the one that fits best, because of kinks."""
        old = values[index]
        slopes = []
        for h in (1e-2, 1e-3, 3e-2):
            values[index] = old + numpy.float32(h)
            up, above = self._loss(self.layout, 1), float(values[index])
            values[index] = old - numpy.float32(h)
            down, below = self._loss(self.layout, 1), float(values[index])
            values[index] = old
            slopes.append((up - down) / (above - below))
            if abs(slopes[-1] - expected) <= 0.01 * scale:
                break
        return min(slopes, key=lambda slope: abs(slope - expected))

    def _unchanged(self, before: Dict[str, numpy.ndarray], method: str) -> None:
        for name, value in self.values.items():
            if not numpy.array_equal(value, before[name]):
                self._refuse(method, f'{method}() changes the parameter "{name}"',
                             "write gradients only; the optimizer is Furlong's")

    def _refuse(self, method: str, reason: str, fix: str) -> None:
        if not hasattr(self.problem, method):
            method = "gradient"
        raise ProblemError(reason, fix, place_of_method(self.problem, method))

    def _limit(self) -> None:
        """Gives the next call its time."""
        signal.alarm(self.timeout)


def _interrupt(*_: Any) -> None:
    raise errors.TimedOut()


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m furlong.check",
                                     description="Tests a problem, and an algorithm, before they run.")
    parser.add_argument("problem", help='the class, as "FILE.py:CLASS"')
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="a value of an option of the class, as in python.options")
    parser.add_argument("--algorithm", metavar="FILE.py:CLASS", help="tests this algorithm on the problem, too")
    parser.add_argument("--algorithm-option", action="append", default=[], metavar="NAME=VALUE",
                        help="a value of an option of the algorithm, as in algorithm.python")
    parser.add_argument("--private", nargs="+", default=[], metavar="PATTERN",
                        help="patterns of names of private parameters, as in model.private")
    parser.add_argument("--seed", type=int, default=1, help="seed of the initial values (default 1)")
    parser.add_argument("--batch", type=int, default=32, help="examples of a batch (default 32)")
    parser.add_argument("--timeout", type=int, default=60, help="seconds that one call may take (default 60)")
    parser.add_argument("--digest", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    check = Check(given.problem, given.option, given.private, given.seed, given.batch, given.timeout)
    previous = signal.signal(signal.SIGALRM, _interrupt)
    parent = os.getpid()
    outside = os.environ.get(command.TRAINER)
    os.environ[command.TRAINER] = "1"  # the file is imported as by a trainer
    try:
        check.open(given.algorithm is not None)
        algorithm = AlgorithmCheck(check, given.algorithm, given.algorithm_option) if given.algorithm else None
        if given.digest:
            say(json.dumps({**check.digests(), **(algorithm.digests() if algorithm else {})}))
            return 0
        say(check.description())
        if check.problem._has_gradient():
            check.gradient()
            say("gradient    finite, and the same for the same seed")
            say("            differs from finite differences by "
                f"{100 * check.differences():.2g} % of the largest value")
        if check.problem._fits():
            say(f"fit         {check.phases().check(check.warnings)}")
        say(f"evaluation  {check.evaluate()}")
        if algorithm is not None:
            say(algorithm.description())
            say(f"tasks       {algorithm.check(check.warnings)}")
        check.other_process(algorithm)
        say("processes   the same values in a second process")
        note = note_of_order(check.problem, check.clients, check.frozen, check._limit)
        if note:
            say(f"note        {note}")
        if check.problem._has_gradient() or check.problem._fits():
            say(f"time        {check.times()}")
    except BaseException as error:
        signal.alarm(0)
        if os.getpid() != parent:
            errors.report_in_child(error)
        if isinstance(error, KeyboardInterrupt):
            raise
        errors.tell(given.problem, error)
        return 1
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        os.environ.pop(command.TRAINER)
        if outside is not None:
            os.environ[command.TRAINER] = outside
    for warning in check.warnings:
        say(f"warning     {warning}")
    say("no errors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
