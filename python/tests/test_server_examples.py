"""The algorithms of docs/python-examples.md with a step of the server in the furlong command, against the built-in ones
and the loops of server_loops.py."""

import numpy
import pytest
import server_loops as loops
from test_algorithm_examples import ALL, FILES, close, folder, module_of, problem_of  # noqa: F401

import furlong

torch = pytest.importorskip("torch")

#: Clients whose choices are compared.
SOME = (1, 4, 11)
#: Cohorts of half of the clients.
HALF = {"scenario.rounds": 10, "evaluation.every": 10, "algorithm.aggregation.norm_bound": "fixed"}
UNIFORM = {"algorithm.aggregation.rule": "uniform-mean"}
CONVEX = '''
import torch
from digits import Digits

class Convex(Digits):
    def module(self):
        return torch.nn.Linear(64, 10)
'''


def run(name, scenario="digits.toml", **settings):
    done = furlong.run(scenario, out=name, threads=2, progress=False, set=settings.pop("set"), **settings)
    assert done.summary["rejected"] == {}
    return done


@pytest.mark.parametrize("file, kind, settings, server, kept", [
    ("scaffold.py:Scaffold", "scaffold", UNIFORM, "c", "own"),
    ("feddyn.py:FedDyn", "feddyn", UNIFORM, "h", "g"),
    ("fedadagrad.py:FedAdagrad", "fedavg", {}, None, None),
])
def test_servers_are_the_built_in_ones(folder, file, kind, settings, server, kept):  # noqa: F811
    assert len(FILES[file.split(":")[0]].splitlines()) <= 40
    (folder / "convex.py").write_text(CONVEX)
    settings = {**HALF, **settings, "python.problem": "convex.py:Convex"}
    ours = run("ours", algorithm=file, set=settings)
    optimizer = {"algorithm.server.optimizer": "adagrad", "algorithm.server.lr": 0.1, "algorithm.server.eps": 0.001}
    theirs = run("theirs", set={**settings, "algorithm.kind": kind, **({} if server else optimizer)})
    close(ours.model(), theirs.model(), "model")
    assert ours.summary["eval"]["seen"]["loss"] == pytest.approx(theirs.summary["eval"]["seen"]["loss"], rel=1e-5)
    assert ours.summary["eval"]["seen"]["accuracy"] > 0.8
    if server is None:
        return
    close(ours.groups(), {f"python/{server}/{name}": theirs.groups()[f"{kind}/{server}/{name}"]
                          for name in ("weight", "bias")}, "the server")
    found, expected = ours.private(3), theirs.private(3)
    close(found, {f"python/{kept}/{name}": expected[f"{kind}/{kept}/{name}"] for name in ("weight", "bias")}, "a client")


def digits(folder, file, problem="digits.py:Digits", rounds=3, **options):  # noqa: F811
    """The clients' train parts, initial weights and the run."""
    digits_module = module_of(folder / problem.split(":")[0])
    kind = getattr(digits_module, problem.split(":")[1])
    opened = problem_of(kind, **kind.options)
    clients = [tuple(one.numpy() for one in opened.batch(c, "train", numpy.arange(client.train)))
               for c, client in enumerate(opened.clients())]
    torch.manual_seed(3)
    start = {name: value.detach().numpy().astype(float) for name, value in opened.module().named_parameters()}
    numpy.savez(folder / "initial.npz", **{name: value.astype(numpy.float32) for name, value in start.items()})
    done = run("run", algorithm=file, seed=7, set={
        **ALL, "scenario.rounds": rounds, "evaluation.every": rounds, "python.problem": problem,
        "model.start_from": str(folder / "initial.npz"), **options})
    return clients, start, done


def test_fedproto(folder):  # noqa: F811
    assert len(FILES["fedproto.py"].splitlines()) <= 40
    clients, start, done = digits(folder, "fedproto.py:FedProto")
    means, own = loops.fedproto(clients, start, 3)
    close(done.groups(), {"python/means/values": means}, "prototypes")
    kept = done.private(7)
    close({name: kept[f"python/own/{name}"] for name in start}, own[7], "a client")


def test_ifca(folder):  # noqa: F811
    assert len(FILES["ifca.py"].split("class Ifca")[1].splitlines()) <= 40
    clients, start, done = digits(folder, "ifca.py:Ifca", "ifca.py:Turned", rounds=6)
    first = [int(numpy.random.Generator(numpy.random.Philox(key=numpy.array([7, client], numpy.uint64))).integers(3))
             for client in range(20)]
    nets, chosen = loops.ifca(clients, start, 6, first)
    assert [int(done.private(client)["python/last/values"]) for client in SOME] == [chosen[client] for client in SOME]
    for k, net in enumerate(nets):
        close(done.groups(), {f"python/net{k}/{name}": value for name, value in net.items()}, f"net {k}")


def test_ifca_finds_the_clusters(folder):  # noqa: F811
    clients, start, done = digits(folder, "ifca.py:Ifca", "ifca.py:Turned", rounds=30)
    groups = done.groups()
    nets = [{name: groups[f"python/net{k}/{name}"] for name in start} for k in range(3)]
    chosen = [int(numpy.argmin([loops.loss_of(net, x, y) for net in nets])) for x, y in clients]
    assert not set(chosen[::2]) & set(chosen[1::2]), chosen  # no model for clients of both kinds
    assert numpy.mean([loops.loss_of(nets[k], x, y) for k, (x, y) in zip(chosen, clients)]) < 0.5


def points(file, kind):
    problem = problem_of(getattr(module_of(file), kind))
    x = numpy.concatenate([problem.data.batch(c, "train", numpy.arange(client.train))[0]
                           for c, client in enumerate(problem.clients())])
    return problem, x


def test_kmeans(folder):  # noqa: F811
    problem, x = points(folder / "kmeans.py", "Points")
    done = run("run", "sums.toml", set={})
    start = problem.parameters(int(done.summary["seed"]))["centers"]
    close(done.model(), {"centers": loops.kmeans(x, start.astype(float), 10)}, "k-means")


def test_statistics(folder):  # noqa: F811
    _, x = points(folder / "moments.py", "Moments")
    done = run("run", "sums.toml", set={"python.problem": "moments.py:Moments", "scenario.rounds": 1,
                                        "python.algorithm": "moments.py:Statistics"})
    close(done.model(), {"mean": x.mean(axis=0), "variance": x.var(axis=0)}, "statistics")
    expected = [numpy.histogram(column, 30, (-15, 15))[0] for column in x.T]
    assert (done.groups()["python/histogram/values"] == expected).all()


def test_partial_fit(folder):  # noqa: F811
    module = module_of(folder / "linear.py")
    problem = problem_of(module.Linear)
    weights = problem.parameters(0)
    sizes = [client.train for client in problem.clients()]
    done = run("run", set={**ALL, "python.problem": "linear.py:Linear"})
    for _ in range(3):
        made = []
        for client, size in enumerate(sizes):
            model = problem.model(weights, learning_rate="constant", eta0=0.1, shuffle=False)
            for first in [*range(0, size, 10)] * 2:
                x, y = problem.data.batch(client, "train", numpy.arange(first, min(first + 10, size)))
                model.partial_fit(x, y, classes=model.classes_)
            made.append({"coef": model.coef_.copy(), "intercept": model.intercept_.copy()})
        weights = {name: sum(size * one[name] for size, one in zip(sizes, made)) / sum(sizes) for name in weights}
    close(done.model(), weights, "scikit-learn")
