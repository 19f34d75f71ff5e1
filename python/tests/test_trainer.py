"""The trainer, called by a host in Python."""

import hashlib
import json
import os
import signal
import struct
import time

import numpy
import pytest
from host import Host, TrainerError

LINEAR = """
import numpy, furlong

class Linear(furlong.Problem):
    '''w x + b, squared error; metric mae.'''
    metrics = {"mae": "min", "big": "max"}

    def __init__(self):
        random = numpy.random.default_rng(3)
        self.x = random.normal(size=(3, 40, 5)).astype(numpy.float32)
        self.y = self.x.sum(axis=2)

    def parameters(self, seed):
        random = numpy.random.default_rng(seed)
        return {"w": random.normal(size=5).astype(numpy.float32), "b": numpy.zeros((), numpy.float32)}

    def clients(self):
        return [furlong.Client("anna", 30, 5, 5), furlong.Client("ben", 40), furlong.Client("cleo", 0, 0, 40, "test")]

    def errors(self, step):
        x = self.x[step.client, step.examples]
        return x, x @ step.parameters["w"] + step.parameters["b"] - self.y[step.client, step.examples]

    def gradient(self, step):
        print("a line of the user")
        x, error = self.errors(step)
        if "w" in step.gradients:
            step.gradients["w"][:] = 2 * error @ x / len(error)
        if "b" in step.gradients:
            step.gradients["b"][...] = 2 * error.mean()
        return (error ** 2).mean()

    def evaluate(self, step):
        _, error = self.errors(step)
        return {"loss": ((error ** 2).sum(), len(error)), "mae": (abs(error).sum(), len(error)),
                "big": (error.max(), 1)}

    def predict(self, step):
        return [{"error": e} for e in self.errors(step)[1]]
"""


def problem(folder, text, name):
    file = folder / "taste.py"
    file.write_text(text)
    return f"{file}:{name}"


@pytest.fixture
def linear(tmp_path):
    with Host(problem(tmp_path, LINEAR, "Linear")) as host:
        host.reply = host.open()
        host.first = host.initial()
        yield host


def test_open_describes_the_problem(linear):
    assert linear.reply == {
        "protocol": 2,
        "parameters": [{"name": "w", "shape": [5]}, {"name": "b", "shape": []}],
        "metrics": {"big": "max", "mae": "min"},
        "per_client": [],
        "gradient": True,
        "fit": False,
        "plain": False,
        "predicts": True,
        "labels": False,
        "arithmetic": "",
        "options": {},
        "constants": [],
        "aliases": {},
        "constants_sha256": "",
        "files": {"taste.py": hashlib.sha256(LINEAR.encode()).hexdigest()},
        "clients": [
            {"name": "anna", "group": "train", "train": 30, "validation": 5, "test": 5},
            {"name": "ben", "group": "train", "train": 40, "validation": 0, "test": 0},
            {"name": "cleo", "group": "test", "train": 0, "validation": 0, "test": 40},
        ],
    }


def test_only_the_first_trainer_lists_clients(tmp_path):
    with Host(problem(tmp_path, LINEAR, "Linear")) as host:
        assert "clients" not in host.open(first=False)


def test_initial_values_follow_from_the_seed(linear):
    assert numpy.array_equal(linear.first["w"], numpy.random.default_rng(7).normal(size=5).astype(numpy.float32))
    linear.gradient([(0, "train", range(30))])
    linear.values["w"][:] = 0
    assert numpy.array_equal(linear.initial()["w"], linear.first["w"])


def expected(host, client, examples):
    random = numpy.random.default_rng(3)
    x = random.normal(size=(3, 40, 5)).astype(numpy.float32)
    error = x[client, examples] @ host.values["w"] + host.values["b"] - x[client, examples].sum(axis=1)
    return x[client, examples], error


def test_the_gradient_is_that_of_the_mean_loss(linear):
    loss, gradients = linear.gradient([(1, "train", [3, 1, 8])])
    x, error = expected(linear, 1, [3, 1, 8])
    assert loss == pytest.approx((error**2).sum(), rel=1e-5)
    assert gradients["w"] == pytest.approx(2 * error @ x / 3, rel=1e-5)
    assert gradients["b"] == pytest.approx(2 * error.mean(), rel=1e-5)


def test_values_are_read_from_shared_memory(linear):
    linear.gradient([(1, "train", [0])])
    linear.values["w"][:] = 1
    loss, gradients = linear.gradient([(1, "train", range(10))])
    assert loss == pytest.approx(0, abs=1e-8)


def test_a_frozen_gradient_is_not_written(linear):
    linear.gradients["w"][:] = 5
    _, gradients = linear.gradient([(0, "train", range(4))], frozen={"w"})
    assert set(gradients) == {"b"}
    assert (linear.gradients["w"] == 5).all()


def test_pooled_groups_are_weighted_by_their_examples(linear):
    loss, gradients = linear.gradient([(0, "train", [1, 2, 3]), (1, "train", [4])])
    parts = [expected(linear, 0, [1, 2, 3]), expected(linear, 1, [4])]
    x, error = (numpy.concatenate(column) for column in zip(*parts))
    assert loss == pytest.approx((error**2).sum(), rel=1e-5)
    assert gradients["w"] == pytest.approx(2 * error @ x / 4, rel=1e-5)
    assert gradients["b"] == pytest.approx(2 * error.mean(), rel=1e-5)


def test_scores_are_sums_over_groups(linear):
    _, first = expected(linear, 0, [0, 1])
    _, second = expected(linear, 2, [5])
    error = numpy.concatenate([first, second])
    scores = linear.evaluate([(0, "validation", [0, 1]), (2, "test", [5])])
    big = first.max() + second.max()
    assert scores == pytest.approx([(error**2).sum(), 3, big, 2, abs(error).sum(), 3], rel=1e-5)  # by name


def test_predictions_have_one_entry_for_each_example(linear):
    _, error = expected(linear, 2, [7, 9])
    predictions = linear.predict([(2, "test", [7, 9])])
    assert [p["error"] for p in predictions] == pytest.approx(list(error), rel=1e-5)
    assert linear.labels([(2, "test", [7, 9])]) == [None, None]  # the class does not say


def test_requests_can_be_split_and_joined(linear):
    body = linear._step([(1, "train", range(40))], 1, ())
    message = struct.pack("<II", 4 + len(body), 3) + body
    reply = struct.pack("<II", 12, 3) + linear.call(3, body)
    for byte in message[:40]:
        linear.socket.sendall(bytes([byte]))
    linear.socket.sendall(message[40:] + message)
    assert linear._receive(32) == reply + reply


def test_a_long_request_enlarges_the_buffer(linear):
    examples = list(range(40)) * 1000
    loss, _ = linear.gradient([(1, "train", examples)])
    _, error = expected(linear, 1, examples)
    assert loss == pytest.approx((error**2).sum(), rel=1e-4)


def test_prints_go_to_standard_output(linear):
    linear.gradient([(1, "train", [0])])
    code, output = linear.close()
    assert code == 0 and output == 2 * "a line of the user\n"  # the first step is repeated


DRAWS = """
import random, numpy, furlong

class Draws(furlong.Problem):
    def parameters(self, seed):
        return {"w": [0.0, 0.0, 0.0]}
    def clients(self):
        return [furlong.Client("a", 10)]
    def gradient(self, step):
        own = step.random.random() if step.random else -1.0
        step.gradients["w"][:] = own, random.random(), numpy.random.random()
        return 0.0
"""


def test_random_numbers_follow_from_the_seed_of_the_step(tmp_path):
    with Host(problem(tmp_path, DRAWS, "Draws")) as host:
        host.open()
        draws = [host.gradient([(0, "train", [0])], seed=seed)[1]["w"] for seed in (2**63 + 5, 6, 2**63 + 5, 0)]
        assert numpy.array_equal(draws[0], draws[2])
        assert (draws[0] != draws[1]).all()
        assert draws[3][0] == -1


def test_pooled_groups_draw_different_numbers(tmp_path):
    with Host(problem(tmp_path, DRAWS, "Draws")) as host:
        host.open()
        alone = host.gradient([(0, "train", [0])], seed=5)[1]["w"]
        assert (host.gradient([(0, "train", [0]), (0, "train", [1])], seed=5)[1]["w"] != alone).all()


MISUSE = """
import os, sys, threading, time, subprocess, furlong

class Misuse(furlong.Problem):
    def parameters(self, seed):
        return {"w": [0.0]}
    def clients(self):
        return [furlong.Client("a", 10)]
    def gradient(self, step):
        step.gradients["w"][:] = 0
        what = int(step.examples[0])
        if what == 0:
            sys.exit(3)
        if what == 1 and os.fork() == 0:
            return 1.0
        if what == 2:
            threading.Thread(target=time.sleep, args=(600,)).start()
        if what == 3:
            while True: pass
        if what == 4:
            time.sleep(600)
        if what == 5:
            subprocess.run(["true"], check=True)
        if what == 10:
            os.ftruncate(4, 0)
        if what == 9:
            os.closerange(3, 10)
        if what == 6:
            raise KeyboardInterrupt
        return float("nan") if what == 8 else float(what)
"""


@pytest.fixture
def misuse(tmp_path):
    with Host(problem(tmp_path, MISUSE, "Misuse")) as host:
        host.open()
        yield host


def test_exit_is_an_error_and_the_trainer_goes_on(misuse):
    with pytest.raises(TrainerError) as error:
        misuse.gradient([(0, "train", [0])])
    assert error.value.reply["error"] == "the problem called exit(3)"
    assert (error.value.reply["file"], error.value.reply["line"]) == (misuse.problem[:-7], 13)
    with pytest.raises(TrainerError):
        misuse.gradient([(0, "train", [6])])
    assert misuse.gradient([(0, "train", [7])])[0] == 7


def test_a_loss_that_is_not_finite_is_named_once(misuse):
    for what in (8, 7, 8):
        misuse.gradient([(0, "train", [what])])
    _, output = misuse.close()
    assert output.count(f"{misuse.problem[:-7]}:9: gradient() returned the loss nan for client 0") == 1
    assert output.count("\n") == 1


def test_a_forked_child_does_not_answer(misuse):
    for _ in range(5):
        assert misuse.gradient([(0, "train", [1])])[0] == 1
    assert misuse.gradient([(0, "train", [5])])[0] == 5


def test_a_thread_of_the_user_does_not_keep_the_trainer(misuse):
    misuse.gradient([(0, "train", [2])])
    assert misuse.close()[0] == -signal.SIGKILL


@pytest.mark.parametrize("what", [3, 4])
def test_a_busy_trainer_ends_with_its_host(misuse, what):
    body = misuse._step([(0, "train", [what])], 1, ())
    misuse.socket.sendall(struct.pack("<II", 4 + len(body), 3) + body)
    time.sleep(0.1)
    assert misuse.close()[0] == -signal.SIGKILL


@pytest.mark.parametrize("what, line", [(3, 19), (4, 21)])
def test_a_step_that_is_too_long_is_interrupted(misuse, what, line):
    body = misuse._step([(0, "train", [what])], 1, ())
    misuse.socket.sendall(struct.pack("<II", 4 + len(body), 3) + body)
    time.sleep(0.2)
    os.kill(misuse.process.pid, signal.SIGUSR1)
    with pytest.raises(TrainerError) as error:
        length, kind = struct.unpack("<II", misuse._receive(8))
        raise TrainerError(json.loads(misuse._receive(length - 4)))
    assert error.value.reply["line"] == line and "too long" in error.value.reply["error"]
    assert misuse.gradient([(0, "train", [7])])[0] == 7
    assert f"line {line} in gradient" in misuse.close()[1]


def test_the_memory_file_keeps_its_size(misuse):
    with pytest.raises(TrainerError, match="PermissionError"):
        misuse.gradient([(0, "train", [10])])
    assert misuse.gradient([(0, "train", [7])])[0] == 7


def test_code_that_closes_small_descriptors_does_not_end_the_trainer(misuse):
    assert misuse.gradient([(0, "train", [9])])[0] == 9
    assert misuse.gradient([(0, "train", [7])])[0] == 7


def test_a_signal_between_steps_does_nothing(misuse):
    os.kill(misuse.process.pid, signal.SIGUSR1)
    assert misuse.gradient([(0, "train", [7])])[0] == 7


def test_another_protocol_is_refused(linear):
    with pytest.raises(TrainerError, match="protocol 1"):
        linear.call(1, b'{"protocol":1,"problem":"a.py:A","seed":1,"threads":1,"deterministic":true,"first":true}')
    with pytest.raises(TrainerError, match="kind 9"):
        linear.call(9, b"")
