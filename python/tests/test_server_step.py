"""The server's step of algorithms in the trainer, called by a host in Python."""

import numpy
import pytest
from host import TrainerError
from test_tasks import close, host_of

W = numpy.array([1.0, -2.0, 0.5, 3.0, 4.0], numpy.float32)

SCAFFOLD = """
groups = {"c": shared("shared", rule="sum"), "own": kept("shared"), "h": furlong.server("w", first=0.5),
          "n": report((2,), rule="sum"), "sent": broadcast("model", first="received")}
"""


def ones(host, scale=1.0):
    return {name: numpy.full(shape, scale, numpy.float32) for name, shape in host.shapes.items()}


def test_a_step_computes_with_what_is_reported(tmp_path):
    members = SCAFFOLD + """
def step(self, s):
    s["c"] = s["c"] + s.reported["c"] / s.clients
    s["h"] -= 0.5 * s.mean
    s["sent"]["w"][...] = s.reported["n"].sum()
    s.optimize(s.mean + 2 * s["c"])
"""
    with host_of(tmp_path, members) as host:
        assert host.reply["algorithm"]["step"] is True
        assert host.reply["algorithm"]["groups"][2] == {"name": "h", "place": "server", "of": ["w"], "first": 0.5}
        reported = {"c": ones(host, 6.0), "n": {"": numpy.array([3.0, 4.0])}}
        optimized, model, change, groups = host.step(mean=ones(host), reported=reported)
        assert optimized == 1
        close(model, host.start)
        close(change, ones(host, 5.0))
        close(groups["c"], ones(host, 2.0))
        close(groups["h"], {"w": numpy.zeros(host.shapes["w"])})
        close(groups["sent"], {"w": numpy.full(host.shapes["w"], 7.0), "b": host.start["b"]})
        assert set(groups) == {"c", "h", "sent"}


def test_a_step_writes_the_model(tmp_path):
    members = """
sends_model = False
groups = {"v": furlong.server((5,)), "sum": report((5,), rule="sum")}
def step(self, s):
    s["v"] = 0.5 * s["v"] + s.reported["sum"]
    s.model["w"] = s["v"] / s.count + s.round / s.rounds
    assert s.settings["lr"] == 0.25 and s.settings["optimizer"] == "adam" and s.weight == 24
"""
    with host_of(tmp_path, members) as host:
        more = {"reported": {"sum": {"": W}}, "groups": {"v": {"": 2 * W}}, "round": 3, "lr": 0.25, "optimizer": "adam"}
        optimized, model, _, groups = host.step(**more)
        assert optimized == 0
        close(groups["v"], {"": 2 * W})
        close(model, {"w": W + 0.3, "b": host.start["b"]})


def test_the_default_may_be_extended(tmp_path):
    members = SCAFFOLD + """
def step(self, s):
    super().step(s)
    s["h"]["w"] = s.random.normal(size=5)
"""
    with host_of(tmp_path, members.replace("super()", "super(Own, self)")) as host:
        optimized, _, change, groups = host.step(mean=ones(host), reported={"c": ones(host, 6.0)},
                                                 groups={"c": ones(host, 1.0)})
        assert optimized == 1
        close(change, ones(host))
        close(groups["c"], ones(host, 7.0))
        assert host.step(seed=6)[3]["h"]["w"][0] != groups["h"]["w"][0] == host.step()[3]["h"]["w"][0]


def test_private_parameters_are_not_the_servers(tmp_path):
    members = """
def step(self, s):
    assert list(s.model) == list(s.mean) == ["w"]
    s.model = s.model + s.mean
"""
    with host_of(tmp_path, members, private=["b"]) as host:
        optimized, model, _, _ = host.step(mean={"w": W})
        assert optimized == 0
        close(model, {"w": host.start["w"] + W})


STATE = "groups = {'c': shared('shared'), 'own': kept('shared'), 'n': report((2,)), 'h': furlong.server('w')}\n"
MISTAKES = {
    "s['x'] = 1": ("s['x'] is no group", "the groups are: c, own, n, h"),
    "s['own']": ('the group "own" is kept by clients', "furlong.report"),
    "s['n']": ('the group "n" is reported', 's.reported["n"]'),
    "s.reported['h']": ("s.reported has no 'h'", "it has: c, n"),
    "s.reported['n'] = 1": ('s.reported["n"] cannot be written: it is what the clients report', "write to s.model"),
    "s.reported['n'][0] = 1": ("step() writes to values that are read-only", "write to s.model"),
    "s.reported['c']['w'] = 1": ('s.reported["c"] cannot be written', "write to s.model"),
    "s.mean['w'] += 1": ("step() writes to values that are read-only", "write to s.model"),
    "s.mean = 2 * s.mean": ("s.mean is set in step()", "set it in cohort()"),
    "s['h'] = numpy.ones(7)": ('s["h"] is set to', "give arrays by name"),
    "s['h']['w'] = numpy.ones(7)": ('s["h"]["w"] is set to an array of float64 of the shape (7,)', "of the shape (5,)"),
    "s['h']['b'] = 1": ("s[\"h\"] has no 'b'", "it has: w"),
    "s.model = {'x': 1}": ('s.model has "w" and no "x"', "use values over the same parameters"),
    "s.optimize(s.mean); s.optimize(s.mean)": ("s.optimize() is called a second time", "call it once"),
    "s.optimize(1.0)": ("s.optimize() is given 1.0", "such as s.mean"),
    "s.optimize({'w': 0})": ('s.optimize() is given no change of "b"', "for all parameters"),
    "s.optimize({'w': 0, 'b': 0, 'x': 0})": ('s.optimize() is given "x", which s.model has not', "it has: w, b"),
    "s.optimize({'w': [1, 2], 'b': 0})": ('the change of "w" is set to an array', "of the shape (5,)"),
    "s.model['w'] += 1; s.optimize(s.mean)": ('s.model["w"] is written, and s.optimize() is called', "do one of the two"),
    "s.model['w'] = numpy.nan": ('step() leaves values in s.model["w"] that are not finite', "count of zero"),
    "s['h'] = s['h'] / numpy.float32(0)": ('values in s["h"]["w"] that are not finite', "count of zero"),
    "s.optimize(s.mean / numpy.float32(0))": ('values in the change of "w" that are not finite', "count of zero"),
    "self.v = 1": ("step() changes self.v", 'furlong.server("model")'),
    "s['h']['w'] = __import__('time').time_ns() % 8999": ("two calls of step() with the same seed", "s.random"),
    "1 / 0": ("ZeroDivisionError: division by zero", ""),
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_errors_with_place_and_fix(tmp_path, line):
    reason, fix = MISTAKES[line]
    with host_of(tmp_path, f"{STATE}def step(self, s):\n    with numpy.errstate(all='ignore'):\n        {line}") as host:
        with pytest.raises(TrainerError) as told:
            host.step()
        reply = told.value.reply
        assert reason in reply["error"] and fix in reply["fix"], reply
        assert reply["file"].endswith(".py") and reply["line"] >= 20
        with pytest.raises(TrainerError):  # the trainer stays usable
            host.step()


def test_what_opens_with_a_mistake(tmp_path):
    for members, reason in (
            ("groups = {'h': furlong.server('w')}", 'the group "h" is the server\'s alone, and the class has no step()'),
            ("groups = {'h': furlong.server((2,), first='received')}", "server() is given first = 'received'"),
            ("def step(self):\n    pass", "step() has other arguments"),
            ("sends_model = False\ngroups = {'n': report((1,))}\ndef step(self, s):\n    s.mean", None)):
        folder = tmp_path / str(abs(hash(members)))
        folder.mkdir()
        if reason is None:
            with host_of(folder, members) as host, pytest.raises(TrainerError, match="s.mean is read, and sends_model is"):
                host.step()
        else:
            with pytest.raises(TrainerError) as told:
                host_of(folder, members)
            assert reason in str(told.value)


def test_clients_do_not_see_the_servers_groups(tmp_path):
    members = STATE + "def train(self, t):\n    t['h']\ndef step(self, s):\n    pass"
    with host_of(tmp_path, members) as host, pytest.raises(TrainerError, match='the group "h" is the server\'s alone'):
        host.train(0, groups={"h": {"w": W}})


COHORT = """
groups = {"near": furlong.addressed("w", first="received"), "n": report((2,), rule="sum")}
"""


def updates(host):
    return [(client, 10 + client, ones(host, client), {"n": {"": numpy.full(2, client)}}) for client in (0, 2)]


def test_a_cohort_sees_updates_and_addresses_values(tmp_path):
    members = COHORT + """
def train(self, t):
    t.weights["w"] = t["near"]["w"]
    t.count(12, 0.0)
def cohort(self, s):
    assert [(u.client, u.weight, u.report["n"][0]) for u in s.updates] == [(0, 10, 0), (2, 12, 2)]
    for update in s.updates:
        s["near"]["w"][update.client] = update.change["w"]
    s.mean = 3 * s.updates[1].change
"""
    with host_of(tmp_path, members) as host:
        about = host.reply["algorithm"]
        assert about["cohort"] and about["step"]
        assert about["groups"][0] == {"name": "near", "place": "addressed", "clients": 3, "of": ["w"], "first": "received"}
        optimized, _, change, groups = host.step(updates=updates(host))
        assert optimized == 1  # the default step
        close(change, ones(host, 6.0))
        assert groups["near"]["w"][0].tolist() == [0.0] * 5 and groups["near"]["w"][2].tolist() == [2.0] * 5
        close({"w": groups["near"]["w"][1]}, {"w": host.start["w"]})
        close(host.train(1, groups={"near": {"w": W}}).weights, {"w": W, "b": host.start["b"]})


@pytest.mark.parametrize("method, line, reason, fix", [
    ("step", "s.updates", "s.updates is read in step()", "define cohort(self, s)"),
    ("step", "s.mean = s.mean", "s.mean is set in step()", "set it in cohort()"),
    ("cohort", "s.updates[0].change['w'] = 1", "the change of an update cannot be written", "write to s.model"),
    ("cohort", "s.updates[0].report['x']", "the report of an update has no 'x'", "it has: n"),
    ("cohort", "s.updates[0].report['n'][0] = 1", "cohort() writes to values that are read-only", "write to s.model"),
    ("cohort", "s.mean = {'w': 1}", "", ""),
    ("cohort", "s.mean = {'x': 1}", 's.mean has "w" and no "x"', "over the same parameters"),
    ("cohort", "s['near']['w'][7] = 1", "IndexError", ""),
])
def test_mistakes_with_updates(tmp_path, method, line, reason, fix):
    other = "" if method == "cohort" else "def cohort(self, s):\n    pass\n"
    with host_of(tmp_path, f"{COHORT}{other}def {method}(self, s):\n    {line}") as host:
        if not reason:
            host.step(updates=updates(host))
            return
        with pytest.raises(TrainerError) as told:
            host.step(updates=updates(host))
        assert reason in told.value.reply["error"] and fix in told.value.reply["fix"], told.value.reply


def test_addressed_values_need_a_cohort(tmp_path):
    with pytest.raises(TrainerError, match='the group "near" has values for each client, and the class has no cohort'):
        host_of(tmp_path, COHORT)
