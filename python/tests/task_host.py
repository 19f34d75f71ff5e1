"""A host that calls the trainer with tasks of an algorithm: train, personalize and costs (docs/trainer-protocol.md)."""

import json
import math
import struct
from typing import NamedTuple

import numpy
from host import FROZEN, PARTS, Host

CLIENT = {"lr": 0.1, "epochs": 1, "batch_size": 4, "max_steps": 0, "shuffle": False, "momentum": 0.0, "proximal": 0.0,
          "optimizer": "sgd", "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0, "clip": 0.0}
#: Where arrays of tasks begin in the memory file.
_BEGIN = 1 << 24


class Trained(NamedTuple):
    """A reply to train: figures, weights by name, and by group arrays by name ("" of a group with a shape)."""

    loss_sum: float
    weight: int
    examples: int
    weights: dict
    kept: dict
    reported: dict


class TaskHost(Host):
    """Opens a problem with an algorithm."""

    def __init__(self, problem, algorithm, private=(), options=None, **more):
        super().__init__(problem)
        self.private = list(private)
        self.reply = self.open(algorithm=str(algorithm), algorithm_options=options or {}, **more)
        self.groups = {one["name"]: one for one in self.reply["algorithm"]["groups"]}
        self.start = self.initial()

    def tensors(self, group):
        """Names and shapes of a group's tensors."""
        one = self.groups[group]
        if "shape" in one:
            return {"": tuple(one["shape"])}
        trained = [one["name"] for one in self.reply["parameters"] if not one.get("buffer")]
        named = {"model": list(self.shapes), "private": [name for name in trained if name in self.private],
                 "shared": [name for name in trained if name not in self.private]}
        names = one["of"] if isinstance(one["of"], list) else named[one["of"]]
        return {name: self.shapes[name] for name in self.shapes if name in names}

    def first(self, group, received):
        """The values that a kept, broadcast or shared group begins with."""
        first = self.groups[group]["first"]
        values = received if first == "received" else self.start
        return {name: values[name].copy() if isinstance(first, str) else numpy.full(shape, first, numpy.float32)
                for name, shape in self.tensors(group).items()}

    def train(self, client, received=None, groups=None, orders=None, seed=5, round=1, examples=12, **settings):
        """A task of `client` that receives this model, with the given values of groups, by default the first ones."""
        orders = numpy.arange(examples)[None, :] if orders is None else numpy.asarray(orders)
        received = dict(self.start, **(received or {}))
        values = {name: (groups or {}).get(name) or self.first(name, received) for name, one in self.groups.items()
                  if one["place"] != "report"}
        kept = [name for name, one in self.groups.items() if one["place"] == "kept"]
        reported = [name for name, one in self.groups.items() if one["place"] in ("report", "shared")]
        body, places = self._body(received, values, kept + reported, 0, client, orders, seed, round, settings)
        loss, weight, work = struct.unpack("<dQQ", self.call(8, body))
        out = lambda name: {tensor: self._view(at, shape).copy() for tensor, shape, at in places[name]}
        return Trained(loss, weight, work, out("weights"), {name: out(name) for name in kept},
                       {name: out(name) for name in reported})

    def personalize(self, client, asked, received=None, groups=None, orders=None, seed=5, round=1, examples=12, what=1,
                    trains=True, known=True, **settings):
        """A personalization with kept values if `groups` has any. `asked`: pairs of part and example. Returns the
        source, the reply to `what`, and the weights."""
        orders = numpy.arange(examples)[None, :] if orders is None else numpy.asarray(orders)
        received = dict(self.start, **(received or {}))
        values = {name: (groups or {}).get(name) or self.first(name, received) for name, one in self.groups.items()
                  if one["place"] in ("broadcast", "shared") or name in (groups or {})}
        flags = trains + 2 * (groups is not None) + 4 * known
        pairs = numpy.array([(PARTS[part], example) for part, example in asked], "<u4")
        body, places = self._body(received, values, [], (flags, what, pairs), client, orders, seed, round, settings)
        reply = self.call(9, body)
        (source,) = struct.unpack_from("<I", reply)
        answer = struct.unpack_from(f"<{len(reply) // 8}d", reply, 4) if what == 1 else \
            json.loads(reply[4:]) if what else None
        weights = {tensor: self._view(at, shape).copy() for tensor, shape, at in places["weights"]}
        return source, answer, weights

    def step(self, mean=None, reported=None, groups=None, model=None, seed=5, round=1, count=2, weight=24, clients=3,
             rounds=10, updates=(), **server):
        """A step of the server. The values given replace the first ones, those reported the zeros. An update is client,
        weight, change and what is reported by group. Returns whether the server optimizer is used, the model, the change
        for it, and the groups by name."""
        shared = {name: shape for name, shape in self.shapes.items() if name not in self.private}
        start = {name: (model or {}).get(name, self.start[name]) for name in shared}
        mean = {name: numpy.asarray((mean or {}).get(name, numpy.zeros(shape))) for name, shape in shared.items()}
        self._next = _BEGIN
        pairs, places = [], {"model": [], "change": []}

        def add(name, tensor, value, shape, written=True):
            start, result = self._place(value), self._place(numpy.full(shape, 77, numpy.float32)) if written else FROZEN
            if written:
                places.setdefault(name, []).append((tensor, shape, result))
            pairs.extend([start, result])

        for place, values in (("model", start), ("change", mean)):
            for name, shape in shared.items():
                add(place, name, values[name], shape)
        for name, group in self.groups.items():
            for tensor, shape in self.tensors(name).items():
                if group["place"] in ("broadcast", "shared", "server", "addressed"):
                    value = ((groups or {}).get(name) or self.first(name, start))[tensor]
                    rows = (group["clients"],) if group["place"] == "addressed" else ()
                    add(name, tensor, numpy.broadcast_to(value, (*rows, *shape)), (*rows, *shape))
            for tensor, shape in self.tensors(name).items():
                if group["place"] in ("report", "shared"):
                    value = (reported or {}).get(name, {}).get(tensor, numpy.zeros(shape))
                    add(name, tensor, value, shape, False)
        for _, _, change, report in updates:
            for name, shape in shared.items():
                add("", "", change[name], shape, False)
            for name, group in self.groups.items():
                for tensor, shape in self.tensors(name).items():
                    if group["place"] in ("report", "shared"):
                        add("", "", report[name][tensor], shape, False)
        settings = {"server": {"optimizer": "sgd", "lr": 1.0, **server}, "private": self.private, "rounds": rounds,
                    "training_clients": clients, "count": count, "weight": weight, "updates": [one[:2] for one in updates]}
        text = json.dumps(settings).encode()
        body = struct.pack(f"<Q3I{len(pairs)}Q", seed, round, len(pairs) // 2, len(text), *pairs) + text
        (optimized,) = struct.unpack("<I", self.call(10, body))
        out = {name: {tensor: self._view(at, shape).copy() for tensor, shape, at in tensors}
               for name, tensors in places.items()}
        return optimized, out.pop("model"), out.pop("change"), out

    def costs(self, sizes, **settings):
        return json.loads(self.call(12, json.dumps({"settings": self._settings(settings), "sizes": sizes}).encode()))

    def _settings(self, settings):
        client = {**CLIENT, **settings}
        rounds, dropout = client.pop("rounds", 10), client.pop("dropout", True)
        return {"client": client, "private_lr": client.pop("private_lr", client["lr"]), "private": self.private,
                "rounds": rounds, "dropout": dropout, "evaluation_batch": 5,
                "training_clients": sum(one["group"] == "train" for one in self.reply["clients"])}

    def _body(self, received, values, results, asked, client, orders, seed, round, settings):
        self._next = _BEGIN
        places = {"weights": []}
        starts = [self._place(received[name]) for name in self.shapes]
        for name, shape in self.shapes.items():
            places["weights"].append((name, shape, self._place(numpy.full(shape, 77, numpy.float32))))
        pairs = []
        for group in self.groups:
            places[group] = []
            for tensor, shape in self.tensors(group).items():
                start = self._place(values[group][tensor]) if group in values else FROZEN
                result = self._place(numpy.full(shape, 77, numpy.float32)) if group in results else FROZEN
                places[group].append((tensor, shape, result))
                pairs += [start, result]
        text = json.dumps(self._settings(settings)).encode()
        body = struct.pack("<Q8I", seed, round, len(self.shapes), len(pairs) // 2, client, 0, orders.shape[1], orders.size,
                           len(text))
        if asked:
            body += struct.pack("<3I", asked[0], asked[1], len(asked[2]))
        body += struct.pack(f"<{2 * len(starts) + len(pairs)}Q", *starts, *(at for _, _, at in places["weights"]), *pairs)
        return body + orders.astype("<u4").tobytes() + (asked[2].tobytes() if asked else b"") + text, places

    def _place(self, array):
        array = numpy.asarray(array, numpy.float32)
        at, self._next = self._next, self._next + 4 * max(array.size, 1)
        self._view(at, array.shape)[...] = array
        return at

    def _view(self, at, shape):
        return numpy.frombuffer(self.map, numpy.float32, math.prod(shape), at).reshape(shape)
