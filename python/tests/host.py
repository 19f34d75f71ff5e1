"""The host's side of the trainer protocol (docs/trainer-protocol.md), for tests and measurements."""

import fcntl
import json
import math
import mmap
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import numpy

PACKAGE = Path(__file__).resolve().parents[1]
FROZEN = 2**64 - 1
ITEM = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "bool": 1, "float64": 8}
PARTS = {"train": 0, "validation": 1, "test": 2}


class TrainerError(Exception):
    """An error reply."""

    def __init__(self, reply):
        super().__init__(reply["error"])
        self.reply = reply


class Host:
    """Starts a trainer and calls it. `values` and `gradients` are arrays by name over the memory file."""

    def __init__(self, problem, seed=7, size=1 << 30, core=None):
        self.problem, self.seed = str(problem), seed
        self.socket, other = socket.socketpair()
        memory = os.memfd_create("furlong", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, size)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.map = mmap.mmap(memory, size)
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (other.fileno(), memory)]

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
            if core is not None:
                os.sched_setaffinity(0, [core])

        env = dict(os.environ, PYTHONPATH=str(PACKAGE), OMP_NUM_THREADS="1", FURLONG_TRAINER="1")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "furlong.trainer"], env=env, preexec_fn=place, pass_fds=(3, 4),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        other.close()
        os.close(memory)
        for fd in high:
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the connection; returns the exit code and what the trainer printed."""
        self.socket.close()
        output = self.process.communicate(timeout=10)[0].decode()
        return self.process.returncode, output

    def call(self, kind, body):
        self.socket.sendall(struct.pack("<II", 4 + len(body), kind) + body)
        length, answer = struct.unpack("<II", self._receive(8))
        reply = self._receive(length - 4)
        if answer == 255:
            raise TrainerError(json.loads(reply))
        assert answer == kind
        return reply

    def _receive(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError(f"the trainer has ended: {self.close()}")
            data += more
        return data

    def open(self, first=True, **more):
        file = self.problem.rpartition(":")[0]
        request = {"protocol": 2, "problem": self.problem, "file": file, "seed": self.seed, "threads": 1,
                   "deterministic": True, "first": first, **more}
        reply = json.loads(self.call(1, json.dumps(request).encode()))
        self.shapes = {p["name"]: tuple(p["shape"]) for p in reply["parameters"]}
        self.offsets, self.gradient_offsets = {}, {}
        at = 4096
        self.begin = at
        for offsets in (self.offsets, self.gradient_offsets):
            for name, shape in self.shapes.items():
                offsets[name] = at
                at += 4 * math.prod(shape)
        view = lambda at, shape: numpy.frombuffer(self.map, numpy.float32, math.prod(shape), at).reshape(shape)
        self.values = {name: view(at, self.shapes[name]) for name, at in self.offsets.items()}
        self.gradients = {name: view(at, self.shapes[name]) for name, at in self.gradient_offsets.items()}
        return reply

    def initial(self):
        assert self.call(2, struct.pack("<Q", self.begin)) == b""
        return {name: value.copy() for name, value in self.values.items()}

    def constants(self, reply, at=1 << 20, written=False):
        """The bytes of the constants by name, which the trainer writes, or uses as they are."""
        size = lambda one: math.prod(one["shape"]) * ITEM[one["dtype"]]
        assert self.call(6, struct.pack("<QI", at, written)) == b""
        found = {}
        for one in reply["constants"]:
            found[one["name"]] = self.map[at : at + size(one)]
            at += -(-size(one) // 64) * 64
        return found

    def _step(self, groups, seed, frozen=None, round=1, dropout=False):
        offsets = list(self.offsets.values())
        if frozen is not None:
            offsets += [FROZEN if name in frozen else at for name, at in self.gradient_offsets.items()]
        body = struct.pack(f"<QIIII{len(offsets)}Q", seed, round, len(self.shapes), len(groups), dropout, *offsets)
        for client, part, examples in groups:
            body += struct.pack("<III", client, PARTS[part], len(examples))
        return body + b"".join(numpy.asarray(examples, "<u4").tobytes() for _, _, examples in groups)

    def fit(self, client, orders, seed=1, trained=None, terms=(), round=1, rounds=10, private=(), dropout=True,
            private_lr=None, part="train", **settings):
        """Trains a phase from `values`. A term is (factor, form, arrays by name). Returns the sum of losses, examples,
        steps and sum of learning rates, and the trained values."""
        trained = list(self.shapes) if trained is None else [name for name in self.shapes if name in trained]
        orders = numpy.asarray(orders, "<u4")
        at = max(self.gradient_offsets.values()) + 4 * max(math.prod(shape) for shape in self.shapes.values())
        places = []
        for _, _, arrays in terms:
            places.append([])
            for name, shape in self.shapes.items():
                places[-1].append(at if name in arrays else FROZEN)
                if name in arrays:
                    numpy.frombuffer(self.map, numpy.float32, math.prod(shape), at)[:] = numpy.ravel(arrays[name])
                    at += 4 * math.prod(shape)
        client_settings = {"lr": 0.1, "epochs": len(orders), "batch_size": 4, "max_steps": 0, "shuffle": False,
                           "momentum": 0.0, "proximal": 0.0, "optimizer": "sgd", "beta1": 0.9, "beta2": 0.999,
                           "eps": 1e-8, "weight_decay": 0.0, "clip": 0.0, **settings}
        text = json.dumps({"client": client_settings, "private_lr": private_lr or client_settings["lr"],
                           "private": list(private), "rounds": rounds, "dropout": dropout}).encode()
        count = len(self.shapes)
        body = struct.pack("<Q8I", seed, round, count, len(terms), client, PARTS[part], orders.shape[1], orders.size,
                           len(text))
        body += struct.pack(f"<{2 * count}Q", *self.offsets.values(),
                            *(at if name in trained else FROZEN for name, at in self.gradient_offsets.items()))
        for (factor, form, _), numbers in zip(terms, places):
            body += struct.pack(f"<fI{count}Q", factor, form, *numbers)
        figures = struct.unpack("<dQQd", self.call(7, body + orders.tobytes() + text))
        return figures, {name: self.gradients[name].copy() for name in trained}

    def gradient(self, groups, seed=1, frozen=(), round=1, dropout=True):
        (loss,) = struct.unpack("<d", self.call(3, self._step(groups, seed, frozen, round, dropout)))
        return loss, {name: g.copy() for name, g in self.gradients.items() if name not in frozen}

    def evaluate(self, groups, round=0):
        reply = self.call(4, self._step(groups, 0, round=round))
        return struct.unpack(f"<{len(reply) // 8}d", reply)

    def predict(self, groups):
        return json.loads(self.call(5, self._step(groups, 0, round=0)))

    def labels(self, groups):
        return json.loads(self.call(13, self._step(groups, 0, round=0)))
