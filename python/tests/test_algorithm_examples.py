"""The algorithms of docs/python-examples.md in the furlong command, against the loops of algorithm_loops.py."""

import importlib.util
import re
from pathlib import Path

import numpy
import pytest

import furlong
from furlong import command

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")
import algorithm_loops as loops  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python-examples.md"
FILES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S))
CLASSES = {"moon": "Moon", "ditto": "Ditto", "apfl": "Apfl", "fedphp": "FedPhp", "per_fedavg": "PerFedAvg",
           "scaffold": "Scaffold"}
ALL = {"scenario.rounds": 3, "participation.per_round": 20, "evaluation.every": 3, "algorithm.client.shuffle": False,
       "python.order": "numbered", "algorithm.aggregation.norm_bound": "fixed"}
#: Clients whose kept values are compared one by one; the losses are of all.
SOME = (0, 7)
#: Float32 against float32 in another order, over three rounds.
TOLERANCE = 1e-5


@pytest.fixture
def folder(tmp_path, monkeypatch):
    try:
        command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def module_of(file):
    """The module of a file, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"example_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problem_of(kind, **options):
    problem = kind.__new__(kind)
    for name, value in options.items():
        setattr(problem, name, value)
    problem.__init__()
    return problem


def save(net, file):
    numpy.savez(file, **{name: value.numpy() for name, value in loops.values_of(net).items()})


def close(values, expected, what):
    for name, value in expected.items():
        found, value = numpy.ravel(values[name]), numpy.ravel(value)
        error = numpy.abs(found - value).max() / max(1.0, numpy.abs(value).max())
        assert error <= TOLERANCE, f"{what}, {name}: {error:.2e}"


def digits(folder, file, rounds=3):
    """The run, the federation that is to repeat it, and each client's test part."""
    module = module_of(folder / "digits.py")
    problem = problem_of(module.Digits, alpha=0.3)
    torch.manual_seed(3)
    net = module.Net()
    save(net, folder / "initial.npz")
    more = {"algorithm.aggregation.rule": "uniform-mean"} if file == "scaffold" else {}
    run = furlong.run("digits.toml", algorithm=f"{file}.py:{CLASSES[file]}", out="run", threads=2, progress=False,
                      set={**ALL, "model.start_from": str(folder / "initial.npz"), **more})
    assert run.summary["rejected"] == {}
    parts = {part: [problem.batch(c, part, numpy.arange(getattr(client, part)))
                    for c, client in enumerate(problem.clients())] for part in ("train", "test")}
    return run, loops.Federation(parts["train"], net, rounds=rounds), parts["test"]


def figures(run):
    """Of the last evaluation of seen clients."""
    return [row for row in run._lines("metrics.jsonl") if "eval" in row][-1]["eval"]["seen"]


def loss_of(world, tested, values):
    """The mean loss over all test examples; `values` are one model, or one for each client."""
    total, count = 0.0, 0
    for i, (x, y) in enumerate(tested):
        with torch.no_grad():
            total += len(y) * loops.F.cross_entropy(world.net_at(values[i] if i in values else values)(x), y).item()
        count += len(y)
    return total / count


@pytest.mark.parametrize("file", CLASSES)
def test_weights_are_those_of_a_loop(folder, file):
    assert len(FILES[f"{file}.py"].splitlines()) <= 40
    run, world, tested = digits(folder, file)
    model, own = getattr(loops, file)(world)
    close(run.model(), model, "model")
    group = {"moon": "previous", "ditto": "own", "fedphp": "own", "scaffold": "own"}.get(file)
    for client in SOME if group else ():
        kept = run.private(client)
        close({name: kept[f"python/{group}/{name}"] for name in own[client]}, own[client], f"client {client}")
    predicting = own if file in ("ditto", "apfl", "fedphp", "per_fedavg") else model
    assert figures(run)["loss"] == pytest.approx(loss_of(world, tested, predicting), rel=1e-5)
    if file == "per_fedavg":
        assert figures(run)["before_loss"] == pytest.approx(loss_of(world, tested, model), rel=1e-5)


@pytest.mark.parametrize("file, settings, ours, theirs", [
    ("ditto", {"algorithm.ditto.lambda": 1.0, "algorithm.ditto.personal_lr": 0.05}, "python/own", "ditto/personal"),
    ("apfl", {"algorithm.apfl.alpha": 0.5, "algorithm.apfl.alpha_lr": 0.1}, "python/own", "apfl/personal"),
    ("scaffold", {"algorithm.aggregation.rule": "uniform-mean"}, "python/own", "scaffold/own"),
])
def test_weights_are_those_of_the_built_in_algorithm(folder, file, settings, ours, theirs):
    run, _, _ = digits(folder, file)
    other = furlong.run("digits.toml", out="other", threads=2, progress=False,
                        set={**ALL, **settings, "algorithm.kind": file,
                             "model.start_from": str(folder / "initial.npz")})
    close(run.model(), other.model(), "model")
    found, expected = run.private(SOME[0]), other.private(SOME[0])
    close(found, {name.replace(theirs, ours): value for name, value in expected.items() if name.startswith(theirs)}, "kept")
    assert figures(run)["loss"] == pytest.approx(figures(other)["loss"], rel=1e-5)


#: The negatives that a task of the built-in pfedrec draws, by its oracle's streams.
BUILT_IN_DRAWS = """
import sys
sys.path.append("{oracles}")
from implicit_world import NEGATIVES, Stream


def drawn(t, items):
    own = t.problem.own
    stream, known = Stream(7, NEGATIVES, t.round - 1, t.client), set(own[t.client].tolist())
    found = {{}}
    for item in own[t.client].tolist():
        found[item] = []
        while len(found[item]) < 4:
            other = stream.below(own.items)
            found[item] += [other] * (other not in known)
    return [other for item in items.tolist() for other in found[item]]
"""


def test_pfedrec_is_the_built_in_one(folder):
    exec(compile(FILES["ratings.py"], "ratings.py", "exec"), {})
    ratings = folder / "ratings.csv"
    ratings.write_text("user,item,rating,time\n" + ratings.read_text())
    text = FILES["pfedrec.py"].replace("validation=False", "validation=True")
    text = text.replace("t.problem.own.negatives(t.client, 4 * len(items), t.random)", "drawn(t, items)")
    (folder / "pfedrec.py").write_text(text + BUILT_IN_DRAWS.format(oracles=PAGE.parents[1] / "tests/oracles"))
    net = module_of(folder / "pfedrec.py").Items(200)
    values = loops.values_of(net)
    save(net, folder / "python.npz")
    names = {"item": "items.weight", "score": "score.weight", "score_bias": "score.bias"}
    numpy.savez(folder / "built-in.npz", **{name: values[theirs].numpy().reshape(-1, 16 if name != "score_bias" else 1)
                                            for name, theirs in names.items()})
    common = {**ALL, "participation.per_round": 60, "algorithm.client.epochs": 2}
    ours = furlong.run("pfedrec.toml", out="ours", progress=False, seed=7, set={
        **common, "algorithm.client.batch_size": 10, "model.start_from": str(folder / "python.npz")})
    theirs = furlong.run({
        "scenario": {"name": "built-in"},
        "data": {"source": "interactions", "path": str(ratings), "user_column": "user", "item_column": "item",
                 "time_column": "time", "split_by": "leave-one-out", "order": "time"},
        "model": {"kind": "score-function", "rank": 16, "private": ["score", "score_bias"]},
        "algorithm": {"kind": "pfedrec", "pfedrec": {"item_lr": 4.0}, "client": {"lr": 0.1, "batch_size": 50}},
    }, out="theirs", progress=False, seed=7, set={
        **{key: value for key, value in common.items() if not key.startswith("python.")},
        "model.start_from": str(folder / "built-in.npz")})
    close({"items.weight": theirs.model()["item"]}, {"items.weight": ours.model()["items.weight"]}, "model")
    for client in SOME:
        kept, built_in = ours.private(client), theirs.private(client)
        close({name: built_in[name] for name in ("score", "score_bias")},
              {name: kept[names[name]] for name in ("score", "score_bias")}, f"client {client}")
        scores = numpy.ravel(built_in["pfedrec/own/scores"])
        trained = numpy.flatnonzero(scores)
        rows = kept["python/items/items.weight"].reshape(-1, 16)[trained]
        close({"scores": scores[trained]}, {"scores": rows @ numpy.ravel(kept["score.weight"]) + kept["score.bias"]},
              f"client {client}")


@pytest.mark.parametrize("name, kind", [("pfedrec", "PFedRec"), ("gpfedrec", "GpFedRec")])
def test_recommendations(folder, name, kind):
    assert len(FILES[f"{name}.py"].split(f"class {kind}")[1].splitlines()) <= 45
    exec(compile(FILES["ratings.py"], "ratings.py", "exec"), {})
    for file in ("pfedrec.py", "gpfedrec.py"):
        (folder / file).write_text(FILES[file].replace("t.random", "t.own_random"))
    module = module_of(folder / "pfedrec.py")
    problem = problem_of(module.Ratings, file="ratings.csv")
    torch.manual_seed(3)
    net = module.Items(problem.own.items)
    save(net, folder / "initial.npz")
    run = furlong.run("pfedrec.toml", algorithm=f"{name}.py:{kind}", out="run", threads=2, progress=False, seed=7,
                      set={**ALL, "participation.per_round": 60, "algorithm.client.batch_size": 10,
                           "model.start_from": str(folder / "initial.npz")})
    draws = lambda client: lambda: numpy.random.Generator(numpy.random.Philox(key=numpy.array([7, client], numpy.uint64)))
    clients = [(torch.tensor(own), draws(client)) for client, own in enumerate(problem.own)]
    model, own, *near = getattr(loops, name)(loops.Federation(clients, net), problem.own.negatives)
    close(run.model(), model, "model")
    if near:
        close({"near": run.groups()["python/near/items.weight"]}, {"near": torch.stack(list(near[0].values()))}, "near")
    for client in SOME:
        kept = run.private(client)
        close({name: kept[f"python/items/{name}" if name.startswith("items") else name] for name in own[client]},
              own[client], f"client {client}")
    with torch.no_grad():
        net_of = loops.Federation(clients, net).net_at
        outputs = torch.cat([net_of(own[i])(torch.tensor(problem.asked["test"][i])) for i in own])
    assert figures(run)["loss"] == pytest.approx(
        loops.F.cross_entropy(outputs, torch.zeros(len(own)).long()).item(), rel=1e-5)
